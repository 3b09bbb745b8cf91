"""Which octree node a point belongs to: Morton codes, and the level of every point.

Every cell of every depth has one winner among its points, chosen by a pseudo-random priority;
the winner of a cell is a winner of the smaller cell it lies in too. A point that wins a cell of
depth d first (coarsest) belongs to level d - 7, so a node holds at most one point in each of its
128³ cells. A node that would keep no more than `LEAF_POINTS` takes all that is left: it is a leaf.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.octree import GRID, MAX_DEPTH

GRID_DEPTH = 7
LEAF_POINTS = 40_000
INNER_POINTS = 100_000
"""More winners than this in one inner node go down a level, so that no node grows too large."""

NO_WINNER = MAX_DEPTH + GRID_DEPTH + 1
"""For points that share their finest cell with a winner: they only ever go into a leaf."""

Codes = npt.NDArray[np.uint64]
assert GRID == 1 << GRID_DEPTH


def _spread_table() -> Codes:
    values = np.arange(2048, dtype=np.uint64)
    out = np.zeros(2048, np.uint64)
    for bit in range(11):
        out |= ((values >> np.uint64(bit)) & np.uint64(1)) << np.uint64(3 * bit)
    return out


_SPREAD = _spread_table()


@dataclass(frozen=True, eq=False)
class Cube:
    """The root cell in world units, and how LAS integers become world units.

    ``origin``, ``scale``, ``offset`` float64 (3,); ``side`` the cube's edge.
    """

    origin: npt.NDArray[np.float64]
    side: float
    scale: npt.NDArray[np.float64]
    offset: npt.NDArray[np.float64]

    @property
    def spacing(self) -> float:
        """Distance between points at the root, world units."""
        return self.side / GRID


def cube_for(
    mins: npt.NDArray[np.int64],
    maxs: npt.NDArray[np.int64],
    scale: npt.NDArray[np.float64],
    offset: npt.NDArray[np.float64],
) -> Cube:
    """The cube for LAS integers from ``mins`` to ``maxs`` (3,), both included.

    It begins at the lowest corner and its side is the longest extent, as other COPC writers have
    it: some readers derive a node's box from the header's bounds instead of the COPC record.
    """
    scale, offset = np.asarray(scale, np.float64), np.asarray(offset, np.float64)
    ends = np.stack([mins, maxs]).astype(np.float64) * scale + offset
    side = float((ends.max(axis=0) - ends.min(axis=0)).max()) or float(np.abs(scale).max())
    return Cube(ends.min(axis=0), side, scale, offset)


def cell_indices(
    records: Mapping[str, npt.NDArray[Any]] | npt.NDArray[Any], cube: Cube, depth: int
) -> list[npt.NDArray[np.int64]]:
    """Column, row and layer (n,) of each record's cell at ``depth``; outsiders go to the edge."""
    out = []
    for axis, name in enumerate("XYZ"):
        factor = (1 << depth) / cube.side
        shift = (cube.offset[axis] - cube.origin[axis]) * factor
        value = records[name] * (cube.scale[axis] * factor)
        value += shift
        np.clip(value, 0, (1 << depth) - 1, out=value)
        out.append(value.astype(np.int64))
    return out


def morton(cells: list[npt.NDArray[np.int64]]) -> Codes:
    """Morton codes uint64 (n,) of cell indices up to 21 bits; x is the lowest bit."""
    code = np.zeros(len(cells[0]), np.uint64)
    for axis, cell in enumerate(cells):
        part = _SPREAD[cell >> 11]
        part <<= np.uint64(33)
        part |= _SPREAD[cell & 2047]
        part <<= np.uint64(axis)
        code |= part
    return code


def codes_of(records: npt.NDArray[Any], cube: Cube) -> Codes:
    """Morton codes at the finest depth for packed records."""
    return morton(cell_indices(records, cube, MAX_DEPTH))


def key_of(code: int, depth: int) -> tuple[int, int, int, int]:
    """The COPC key of a cell: ``code`` is its Morton code at ``depth``."""
    x = y = z = 0
    for bit in range(depth):
        part = code >> (3 * bit)
        x |= (part & 1) << bit
        y |= (part >> 1 & 1) << bit
        z |= (part >> 2 & 1) << bit
    return depth, x, y, z


def priorities(codes: Codes) -> Codes:
    """Pseudo-random priorities (n,), unique: a hash of the code above, the place below.

    The hash is the finaliser of MurmurHash3 (64 bits), shortened to 32.
    """
    h = codes.copy()
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    h &= np.uint64(0xFFFFFFFF00000000)
    h |= np.arange(len(codes), dtype=np.uint64)
    return h


def _deepest_inner(codes: Codes, leaf_points: int) -> int:
    """The deepest level at which some cell of sorted ``codes`` has more than ``leaf_points``."""
    if len(codes) <= leaf_points:
        return 0
    step = int((codes[leaf_points:] ^ codes[:-leaf_points]).min())
    return MAX_DEPTH - -(-step.bit_length() // 3)


def first_difference(codes: Codes) -> npt.NDArray[np.uint8]:
    """The coarsest depth (n,) at which each sorted code lies in another cell than the one before.

    0 for the first, `MAX_DEPTH` + 1 for one equal to the one before.
    """
    out = np.zeros(len(codes), np.uint8)
    step = codes[1:] ^ codes[:-1]
    step &= ~(step >> np.uint64(1))  # so that no rounding reaches the next power of two
    exponent = (step.astype(np.float64).view(np.int64) >> 52) - 1023
    out[1:] = np.where(step > 0, MAX_DEPTH - exponent // 3, MAX_DEPTH + 1)
    return out


def winner_depths(
    codes: Codes, priority: Codes, base: int, top: int, leaf_points: int | None = None
) -> npt.NDArray[np.uint8]:
    """For sorted ``codes`` of one cell of depth ``base``: the coarsest depth each point wins (n,).

    ``top`` <= base is the coarsest depth that the winner of the whole cell wins, decided outside.
    Points that win nothing get `NO_WINNER`, and so do those whose depth can't matter because no
    node of their level has more than ``leaf_points`` (default `LEAF_POINTS`) below it.
    """
    depths = np.full(len(codes), NO_WINNER, np.uint8)
    if not len(codes):
        return depths
    parts = first_difference(codes)
    finest = int(parts[parts <= MAX_DEPTH].max(initial=base))
    finest = min(finest, _deepest_inner(codes, leaf_points or LEAF_POINTS) + GRID_DEPTH)
    index: npt.NDArray[Any] = np.arange(len(codes))
    ranks = priority
    for depth in range(max(finest, base), base - 1, -1):
        starts = np.flatnonzero(parts <= depth)
        if len(starts) < len(index):
            ranks = np.maximum.reduceat(ranks, starts)
            index = (ranks & np.uint64(0xFFFFFFFF)).astype(np.int64)
            parts = parts[starts]
        depths[index] = depth
    depths[index[0]] = min(base, top)
    return depths


def point_levels(
    codes: Codes,
    priority: Codes,
    depths: npt.NDArray[np.uint8],
    base: int,
    leaf_points: int | None = None,
    quotas: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.uint8]:
    """The level (n,) each point of one cell of depth ``base`` belongs to; ``codes`` are sorted.

    Nodes above ``base`` are known to be inner ones; ``quotas`` (base,) is how many points this
    cell may give to each of them.
    """
    leaf_points = leaf_points or LEAF_POINTS
    levels = np.maximum(depths, GRID_DEPTH) - np.uint8(GRID_DEPTH)
    for level in range(base):
        quota = INNER_POINTS if quotas is None else int(quotas[level])
        _demote(levels, priority, level, quota)
    stack = [(base, 0, len(codes))] if len(codes) else []
    while stack:
        level, start, end = stack.pop()
        mine = levels[start:end]
        leaf = np.count_nonzero(mine >= level) <= leaf_points or level == MAX_DEPTH
        if leaf or codes[start] == codes[end - 1]:
            np.minimum(mine, level, out=mine)
            continue
        _demote(mine, priority[start:end], level, INNER_POINTS)
        shift = np.uint64(3 * (MAX_DEPTH - level - 1))
        first = codes[start] >> np.uint64(3 * (MAX_DEPTH - level)) << np.uint64(3)
        inner = (first + np.arange(1, 8, dtype=np.uint64)) << shift
        edges = [start, *(start + np.searchsorted(codes[start:end], inner)).tolist(), end]
        stack.extend((level + 1, a, b) for a, b in pairwise(edges) if a < b)
    return levels


def _demote(levels: npt.NDArray[np.uint8], priority: Codes, level: int, quota: int) -> None:
    """Of the points of ``level`` keeps the ``quota`` of highest priority, the rest go down."""
    surplus = np.count_nonzero(levels == level) - quota
    if surplus > 0:
        here = np.flatnonzero(levels == level)
        levels[here[np.argpartition(priority[here], surplus - 1)[:surplus]]] = level + 1


def group_nodes(
    codes: Codes, levels: npt.NDArray[np.uint8]
) -> tuple[npt.NDArray[np.int64], list[tuple[int, int, int]]]:
    """How to order points (n,) node by node, and the nodes as (level, cell code, count)."""
    order = np.argsort(levels, kind="stable")
    if not len(order):
        return order, []
    level = levels[order]
    cells = codes[order] >> (np.uint64(3) * (MAX_DEPTH - level).astype(np.uint64))
    change = (cells[1:] != cells[:-1]) | (level[1:] != level[:-1])
    starts = np.flatnonzero(np.concatenate([[True], change]))
    counts = np.diff(np.append(starts, len(order)))
    nodes = [(int(level[s]), int(cells[s]), int(c)) for s, c in zip(starts, counts, strict=True)]
    return order, nodes


def small_tree(
    records: npt.NDArray[Any], cube: Cube, leaf_points: int
) -> tuple[npt.NDArray[np.int64], list[tuple[int, int, int]]]:
    """Orders packed records (n,) node by node, all in memory; nodes as `group_nodes` gives them."""
    codes = codes_of(records, cube)
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    priority = priorities(codes)
    levels = point_levels(
        codes,
        priority,
        winner_depths(codes, priority, 0, 0, leaf_points),
        0,
        leaf_points=leaf_points,
    )
    inner, nodes = group_nodes(codes, levels)
    return order[inner], nodes
