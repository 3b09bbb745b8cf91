"""Hierarchies: an octree's nodes as flat arrays, built from COPC entries or made in memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import Hierarchy

GRID = 128
"""Cells along a node's side: an inner node holds at most one point in each."""

MAX_DEPTH = 21
"""Depth of the finest cell a Morton code of 63 bits can name."""


def make_hierarchy(
    keys: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    origin: npt.NDArray[np.float64],
    side: float,
    spacing: float,
    generation: int = 0,
) -> tuple[Hierarchy, npt.NDArray[np.int64]]:
    """A `Hierarchy` of ``keys`` int32 (n, 4) with ``counts`` (n,), and how it was ordered.

    ``origin`` (3,) and ``side`` are the root cube in world units, ``spacing`` the distance of
    points at the root. Nodes come coarse to fine. A node whose parent is missing hangs under its
    nearest ancestor; without one it is a root. The second value (n,) says which given key each
    node of the result was.
    """
    order = np.lexsort((keys[:, 3], keys[:, 2], keys[:, 1], keys[:, 0]))
    keys = np.ascontiguousarray(keys[order], np.int32)
    index = {tuple(key): i for i, key in enumerate(keys.tolist())}
    parents = np.full(len(keys), -1, np.int32)
    for i, (depth, x, y, z) in enumerate(keys.tolist()):
        while depth > 0:
            depth, x, y, z = depth - 1, x >> 1, y >> 1, z >> 1
            above = index.get((depth, x, y, z))
            if above is not None:
                parents[i] = above
                break
    cell = side / np.exp2(keys[:, 0].astype(np.float64))
    mins = np.asarray(origin, np.float64) + keys[:, 1:] * cell[:, None]
    tree = Hierarchy(
        keys=keys,
        counts=np.ascontiguousarray(np.asarray(counts, np.int64)[order]),
        parents=parents,
        mins=mins,
        maxs=mins + cell[:, None],
        spacing=spacing / np.exp2(keys[:, 0].astype(np.float64)),
        generation=generation,
    )
    return tree, order


def empty_hierarchy(generation: int = 0) -> Hierarchy:
    """The hierarchy of a cloud without points."""
    keys = np.zeros((0, 4), np.int32)
    return make_hierarchy(keys, np.zeros(0, np.int64), np.zeros(3), 1.0, 1.0, generation)[0]
