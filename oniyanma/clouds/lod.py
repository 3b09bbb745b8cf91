"""Which nodes are resident: a pure function of the trees, the view and the point budget.

A node is wanted when it touches the view and its parent is too coarse there: the parent's
spacing, projected to logical pixels at the nearest depth of its cell, is more than
``ViewParams.min_spacing``. Depth is measured along the view axis, so moving the camera forward
never makes a node less wanted. Wanted nodes are taken coarse to fine (by projected spacing, a
child never before its parent) as long as the budget holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import Hierarchy

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

DEFAULT_POINT_BUDGET = 2_000_000
"""Points that may be resident, all clouds together, unless `setPointBudget` said otherwise."""


@dataclass(frozen=True, eq=False)
class ViewParams:
    """All that the cut may depend on besides the trees and the budget.

    ``matrix`` float64 (4, 4) takes world coordinates to clip space (``clip = matrix @ (x, y, z,
    1)``, column vectors); ``eye`` is the camera's place in world coordinates; ``viewport`` is the
    width and height in logical pixels; ``min_spacing`` is the projected distance between points,
    in logical pixels, below which a node isn't refined further.
    """

    matrix: FloatArray
    eye: tuple[float, float, float]
    viewport: tuple[float, float]
    perspective: bool = True
    min_spacing: float = 1.0


def cut(trees: Sequence[Hierarchy], view: ViewParams, budget: int) -> list[IntArray]:
    """The resident nodes of each tree as indices into its arrays, most important first.

    The points of all chosen nodes are at most ``budget``, and with a node all its ancestors are
    chosen. Several trees share the budget fairly: a tree that wants no more than an equal share
    gets all it wants, and what it leaves is shared equally by the others. The same arguments
    always give the same answer.
    """
    wanted = [_wanted(tree, view) for tree in trees]
    demands = np.array([int(t.counts[w].sum()) for t, w in zip(trees, wanted, strict=True)])
    shares = fair_shares(demands, budget)
    return [
        w[np.cumsum(t.counts[w]) <= share]
        for t, w, share in zip(trees, wanted, shares, strict=True)
    ]


def fair_shares(demands: npt.NDArray[np.int64], budget: int) -> npt.NDArray[np.int64]:
    """Max-min fair shares (n,) of ``budget`` for ``demands`` (n,): none gets more than it asks."""
    shares = np.zeros(len(demands), np.int64)
    left = max(0, int(budget))
    order = np.argsort(demands, kind="stable")
    for place, which in enumerate(order):
        shares[which] = min(int(demands[which]), left // (len(order) - place))
        left -= int(shares[which])
    return shares


def projected_spacing(
    tree: Hierarchy, view: ViewParams
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """(n,) distance between a node's points in logical pixels at its nearest depth, (n,) in view.

    A cell that reaches behind the eye has an infinite spacing. In view means that the cell's box
    is not wholly outside one of the view's four sides or behind the eye; near and far planes
    hide nothing, they follow from the bounds.
    """
    rows = np.asarray(view.matrix, np.float64)
    planes = [rows[3] + rows[0], rows[3] - rows[0], rows[3] + rows[1], rows[3] - rows[1], rows[3]]
    low, high = np.ascontiguousarray(tree.mins.T), np.ascontiguousarray(tree.maxs.T)
    seen = np.ones(len(tree.counts), np.bool_)
    for plane in planes:
        seen &= _extreme(plane, high, low) >= 0.0
    nearest = _extreme(rows[3], low, high)
    per_unit = 0.5 * max(
        view.viewport[0] * float(np.sqrt((rows[0, :3] ** 2).sum())),
        view.viewport[1] * float(np.sqrt((rows[1, :3] ** 2).sum())),
    )
    with np.errstate(divide="ignore", over="ignore"):  # infinite is right
        pixels = np.where(nearest > 0.0, tree.spacing * per_unit / nearest, np.inf)
    return pixels, seen


def _extreme(plane: FloatArray, where_positive: FloatArray, where_negative: FloatArray) -> Any:
    """``a·x + b`` (n,) at the corner whose coordinate (3, n) the sign of each factor chooses."""
    value = np.full(where_positive.shape[1], plane[3])
    for axis in range(3):
        corner = where_positive if plane[axis] > 0.0 else where_negative
        value += plane[axis] * corner[axis]
    return value


def _wanted(tree: Hierarchy, view: ViewParams) -> IntArray:
    """Indices of every node the view asks for, coarse to fine, parents before children."""
    if not len(tree.counts):
        return np.zeros(0, np.int64)
    pixels, seen = projected_spacing(tree, view)
    parents = np.maximum(tree.parents, 0)
    rooted = tree.parents < 0
    keep = seen & (rooted | (pixels[parents] > view.min_spacing))
    depth = tree.keys[:, 0]
    # a parent's spacing bounds its children's, level by level, so the order never breaks the tree
    chosen = np.flatnonzero(keep)
    if (np.diff(depth) < 0).any():
        chosen = chosen[np.argsort(depth[chosen], kind="stable")]
    for level in np.split(chosen, np.flatnonzero(np.diff(depth[chosen])) + 1):
        inner = level[~rooted[level]]
        above = tree.parents[inner]
        keep[inner] &= keep[above]
        pixels[inner] = np.minimum(pixels[inner], pixels[above])
    chosen = chosen[keep[chosen]]
    # stable: of equals the coarser one, which may be the parent, comes first
    return chosen[np.argsort(-pixels[chosen], kind="stable")]
