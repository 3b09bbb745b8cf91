"""An octree of a small cloud, or of a large cloud's first sample, held in memory."""

from __future__ import annotations

from typing import Any

import laspy
import numpy as np
import numpy.typing as npt

from oniyanma.clouds.copc import node_format
from oniyanma.clouds.decode import take_attributes
from oniyanma.clouds.index.levels import cube_for, key_of, small_tree
from oniyanma.clouds.model import Hierarchy, NodeKey
from oniyanma.clouds.octree import empty_hierarchy, make_hierarchy

SMALL_LEAF = 10_000


class MemoryTree:
    """Packed records (n,) ordered node by node, each node's points shuffled once."""

    def __init__(
        self, header: laspy.LasHeader, records: npt.NDArray[Any], generation: int = 0
    ) -> None:
        self.format = node_format("", header, b"")
        self._places: dict[NodeKey, tuple[int, int]] = {}
        self.points = len(records)
        self.hierarchy: Hierarchy = empty_hierarchy(generation)
        self._records = records
        if not len(records):
            return
        ends = [
            np.array([edge(records[axis]) for axis in "XYZ"], np.int64) for edge in (np.min, np.max)
        ]
        cube = cube_for(ends[0], ends[1], np.asarray(header.scales), np.asarray(header.offsets))
        order, nodes = small_tree(records, cube, SMALL_LEAF)
        keys = []
        start = 0
        for level, cell, count in nodes:
            key = NodeKey(*key_of(cell, level))
            shuffle = np.random.default_rng([*key, count]).permutation(count)
            order[start : start + count] = order[start : start + count][shuffle]
            self._places[key] = (start, start + count)
            keys.append(key)
            start += count
        self._records = records.take(order)
        self.hierarchy, _ = make_hierarchy(
            np.array(keys, np.int32).reshape(len(keys), 4),
            np.array([count for _, _, count in nodes], np.int64),
            cube.origin,
            cube.side,
            cube.spacing,
            generation,
        )

    def read(
        self, key: NodeKey, attributes: frozenset[str]
    ) -> tuple[npt.NDArray[np.int32], dict[str, npt.NDArray[Any]]] | None:
        """A node's xyz int32 (n, 3) and attributes; None when there is no such node."""
        place = self._places.get(key)
        if place is None:
            return None
        records = self._records[place[0] : place[1]]
        xyz = np.empty((len(records), 3), np.int32)
        for axis, name in enumerate("XYZ"):
            xyz[:, axis] = records[name]
        taken = take_attributes(self.format, records, sorted(attributes))
        return xyz, {name: a.copy() for name, a in taken.items()}
