"""Which point is under the cursor, or nearest to a place: exact integers, no GPU.

Nodes are culled by their boxes first, all at once; only the few that remain are asked point by
point. Points that cannot be seen (hidden, deleted, clipped, hidden class) are never picked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import NodeId, Vec3
from oniyanma.scene.camera import Array, Matrices, as_vec3
from oniyanma.scene.ports import CLIPPED, DELETED, HIDDEN
from oniyanma.scene.resident import Held

REACH = 6.0  # logical pixels around the cursor
_GONE = np.uint8(HIDDEN | DELETED | CLIPPED)


@dataclass(frozen=True)
class Pick:
    """A point: its LAS integers, its world place (``X * scale + offset``), and how far off it
    was: logical pixels for `pick`, world units for `nearest`. ``depth``: view depth, or 0."""

    node: NodeId
    index: int
    integers: tuple[int, int, int]
    position: Vec3
    distance: float
    depth: float = 0.0


def pick(
    nodes: Iterable[Held],
    lens: Matrices,
    px: float,
    py: float,
    *,
    hidden_classes: frozenset[int] = frozenset(),
    reach: float = REACH,
) -> Pick | None:
    """The visible point under a pixel: the front-most within reach, of those the closest.

    Points lie on surfaces with gaps between them; of all that are hardly farther away than the
    first, the one nearest to the cursor is meant.
    """
    held = [h for h in nodes if h.block.n]
    if not held:
        return None
    found: list[tuple[Held, npt.NDArray[np.intp], Array, Array]] = []
    for place in np.flatnonzero(_near_cursor(_boxes(held), lens, px, py, reach)):
        one = held[place]
        some, off, depth = _close(one, lens, px, py, reach)
        if some.size:
            keep = _seen(one, some, hidden_classes)
            if keep.any():
                found.append((one, some[keep], off[keep], depth[keep]))
    if not found:
        return None
    front = min(float(depth.min()) for *_, depth in found)
    limit = front + 2.0 * reach * lens.units_per_pixel(max(front, 0.0))
    best: tuple[float, float, Held, int] | None = None
    for one, some, off, depth in found:
        off = np.where(depth <= limit, off, np.inf)
        at = int(np.lexsort((depth, off))[0])
        if best is None or (off[at], depth[at]) < best[:2]:
            best = (float(off[at]), float(depth[at]), one, int(some[at]))
    assert best is not None
    return _picked(best[2], best[3], best[0] ** 0.5, best[1])


def nearest(
    nodes: Iterable[Held],
    place: Vec3,
    *,
    radius: float = np.inf,
    hidden_classes: frozenset[int] = frozenset(),
) -> Pick | None:
    """The visible point nearest to a world place, within a radius."""
    held = [h for h in nodes if h.block.n]
    if not held:
        return None
    boxes, at = _boxes(held), np.asarray(place, dtype=np.float64)
    gaps = np.maximum(np.maximum(boxes[:, 0] - at, at - boxes[:, 1]), 0.0)
    ways = np.sqrt((gaps**2).sum(axis=1))
    best: Pick | None = None
    within = radius
    for which in np.argsort(ways, kind="stable"):
        if ways[which] > within:
            break
        one = held[which]
        points = one.block.points
        square = np.zeros(one.block.n)
        for axis in range(3):
            square += (points.axis(axis) - at[axis]) ** 2
        some = np.flatnonzero(square <= within * within)
        some = some[_seen(one, some, hidden_classes)]
        if some.size:
            index = int(some[np.argmin(square[some])])
            distance = float(square[index]) ** 0.5
            if best is None or distance < best.distance:
                best, within = _picked(one, index, distance, 0.0), distance
    return best


def _boxes(held: list[Held]) -> Array:
    """(n, 2, 3) world bounds of the nodes' points."""
    return np.array([h.block.points.bounds for h in held])


def _near_cursor(
    boxes: Array, lens: Matrices, px: float, py: float, reach: float
) -> npt.NDArray[np.bool_]:
    """Nodes whose rectangle on the screen comes within reach; all that reach behind the eye."""
    corner = np.indices((2, 2, 2)).reshape(3, 8)
    p = np.stack([boxes[:, corner[axis], axis] for axis in range(3)], axis=-1)  # (n, 8, 3)
    pixels, depth = lens.project(p.reshape(-1, 3))
    pixels, depth = pixels.reshape(-1, 8, 2), depth.reshape(-1, 8)
    slack = reach + 1.0
    low, high = pixels.min(axis=1) - slack, pixels.max(axis=1) + slack
    at = np.array((px, py))
    inside: npt.NDArray[np.bool_] = ((low <= at) & (at <= high)).all(axis=1)
    if lens.perspective:
        inside = np.where((depth > 0.0).all(axis=1), inside, (depth > 0.0).any(axis=1))
    return inside


def _close(
    one: Held, lens: Matrices, px: float, py: float, reach: float
) -> tuple[npt.NDArray[np.intp], Array, Array]:
    """Points before the near plane and within reach: indices, squared pixels off, view depth."""
    points, m, r = one.block.points, lens.relative, lens.rotation
    x, y, z = (points.axis(axis) - lens.eye[axis] for axis in range(3))
    depth = -(r[2, 0] * x + r[2, 1] * y + r[2, 2] * z)
    w = m[3, 0] * x + m[3, 1] * y + m[3, 2] * z + m[3, 3]
    width, height = lens.viewport
    # |pixel - cursor| without dividing: both sides times w
    cx, cy = 2.0 * px / width - 1.0, 1.0 - 2.0 * py / height
    dx = (m[0, 0] * x + m[0, 1] * y + m[0, 2] * z + m[0, 3] - cx * w) * (0.5 * width)
    dy = (m[1, 0] * x + m[1, 1] * y + m[1, 2] * z + m[1, 3] - cy * w) * (0.5 * height)
    square = dx * dx + dy * dy
    some = np.flatnonzero((square <= reach * reach * (w * w)) & (w > 0.0) & (depth >= lens.near))
    return some, square[some] / (w[some] * w[some]), depth[some]


def _seen(
    one: Held, some: npt.NDArray[np.intp], hidden_classes: frozenset[int]
) -> npt.NDArray[np.bool_]:
    node = one.node
    seen: npt.NDArray[np.bool_] = (node.flags[some] & _GONE) == 0
    if hidden_classes:
        seen &= ~np.isin(node.classification[some], list(hidden_classes))
    return seen


def _picked(one: Held, index: int, distance: float, depth: float) -> Pick:
    points = one.block.points
    x, y, z = (int(v) for v in points.xyz[index])
    place = [float(points.axis(axis, slice(index, index + 1))[0]) for axis in range(3)]
    return Pick(one.node.id, index, (x, y, z), as_vec3(place), distance, depth)
