"""How fine the points are where a point lies: what adaptive sizes need. Pure NumPy.

A node's own spacing is right only where no finer node is loaded: a point of the root among the
points of a leaf would be drawn as a plate. So each point gets the level that is reached around it:
its own node's, or, inside the extent of a loaded child, the mean level reached in that child. A
stray point outside of them all is one level coarser than they are at the most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import NodeId, NodeKey

Bytes = npt.NDArray[np.uint8]
STRAY = 1.0  # levels


@dataclass(eq=False)
class _Node:
    xyz: npt.NDArray[np.int32]
    level: int
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    labels: Bytes | None = None  # which child a point lies in: 0 none, else 1 + its place
    children: dict[NodeId, int] = field(default_factory=dict)
    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    table: tuple[int, ...] = ()  # level by label


def parent(node: NodeId) -> NodeId:
    """The id of the cell around a cell."""
    depth, x, y, z = node.key
    return NodeId(node.cloud, NodeKey(depth - 1, x >> 1, y >> 1, z >> 1))


class Details:
    """Levels reached around the points of the nodes that are loaded."""

    def __init__(self) -> None:
        self._nodes: dict[NodeId, _Node] = {}

    def add(
        self, node: NodeId, xyz: npt.NDArray[np.int32], level: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """A node came, with its points (n, 3), n > 0, and its own level; their extent."""
        low, high = xyz.min(axis=0), xyz.max(axis=0)
        self._nodes[node] = _Node(xyz, level, low, high, table=(level,))
        return low, high

    def drop(self, node: NodeId) -> None:
        """A node went."""
        self._nodes.pop(node, None)

    def refresh(self, present: Iterable[NodeId]) -> list[NodeId]:
        """Work the levels out again for the nodes drawn now; which of them changed."""
        drawn = sorted(present, key=lambda node: -node.key.depth)
        families: dict[NodeId, list[NodeId]] = {}
        for node in drawn:
            families.setdefault(parent(node), []).append(node)
        reached: dict[NodeId, float] = {}
        changed = []
        for node in drawn:
            entry = self._nodes[node]
            children = [c for c in families.get(node, ()) if c in reached]
            for child in children:
                if child not in entry.children:
                    self._label(entry, child)
            levels = [float(entry.level)] * (1 + len(entry.children))
            for child in children:
                levels[entry.children[child]] = reached[child]
            if children:
                around = sum(reached[child] for child in children) / len(children)
                levels[0] = max(levels[0], around - STRAY)
            for label in range(1, len(levels)):  # a child that went: as where none is
                levels[label] = max(levels[label], levels[0])
            table = tuple(round(level) for level in levels)
            if table != entry.table:
                if any(level != entry.level for level in (*table, *entry.table)):
                    changed.append(node)
                entry.table = table
            reached[node] = (
                float(np.dot(levels, entry.counts) / len(entry.xyz))
                if entry.children
                else float(entry.level)
            )
        return changed

    def levels(self, node: NodeId) -> int | Bytes:
        """The level of each point, uint8 (n,), or one for all."""
        entry = self._nodes[node]
        if entry.labels is None or all(level == entry.level for level in entry.table):
            return entry.level
        return np.asarray(entry.table, np.uint8)[entry.labels]

    def _label(self, entry: _Node, child: NodeId) -> None:
        inner = self._nodes[child]
        if entry.labels is None:
            entry.labels = np.zeros(len(entry.xyz), np.uint8)
        inside = np.ones(len(entry.xyz), bool)
        for axis in range(3):
            column = entry.xyz[:, axis]
            inside &= (column >= inner.low[axis]) & (column <= inner.high[axis])
        label = len(entry.children) + 1
        entry.children[child] = label
        entry.labels[inside] = label
        entry.counts = np.bincount(entry.labels, minlength=label + 1)
