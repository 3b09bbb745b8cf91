"""What an indexing process does with points: sort runs, split crowded cells, build buckets.

A run is a stretch of the source, sorted by cell of the coarse grid, in the temporary file. A
bucket is all that lies in one octree cell; it is built in memory, alone.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import laspy
import lazrs
import numpy as np
import numpy.typing as npt

from oniyanma.clouds.checks import PointChecks
from oniyanma.clouds.index import levels
from oniyanma.clouds.index.levels import (
    Cube,
    cell_indices,
    codes_of,
    group_nodes,
    key_of,
    morton,
    point_levels,
    priorities,
    winner_depths,
)
from oniyanma.clouds.index.records import RecordMap
from oniyanma.clouds.index.spill import Spill
from oniyanma.clouds.octree import MAX_DEPTH
from oniyanma.clouds.reading import LocalFile
from oniyanma.clouds.sources.laz import LazFormat, decode

FINE = 5
"""Levels of the coarse grid below a cell: 32 cells along each side."""

COARSE = (-1, 0)
"""``Built.order`` of a finer sample's tree."""

COARSE_LEAF = 20_000

Key = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class Setup:
    """What all tasks of one build have in common.

    Of each run every ``every``-th record comes back for a finer sample (0: none).
    ``path``, ``laszip``, ``record_length`` and ``points_at`` say how to read the source file
    itself; they are empty when its records are sent along.
    """

    spill: str
    map: RecordMap
    source_format: int
    format_id: int
    extra_bytes: int
    path: str = ""
    laszip: bytes = b""
    record_length: int = 0
    points_at: int = 0
    every: int = 0


@dataclass(frozen=True, eq=False)
class Run:
    """A sorted stretch of the temporary file: ``start`` and the points of each cell in it.

    ``cells`` uint16 (m,) ascending, ``ends`` int64 (m + 1,) points before each of them;
    ``ranks`` uint64 (m,) the highest priority in each cell, where it was asked for.
    """

    start: int
    cells: npt.NDArray[np.uint16]
    ends: npt.NDArray[np.int64]
    ranks: npt.NDArray[np.uint64] | None = None

    def slice(self, low: int, high: int) -> tuple[int, int]:
        """Where the points of cells ``low`` to ``high`` (excluded) lie: first point, count."""
        first, last = np.searchsorted(self.cells, [low, high])
        begin, end = int(self.ends[first]), int(self.ends[last])
        return self.start + begin, end - begin


@dataclass(frozen=True, eq=False)
class Sorted:
    """A run read from the source, with what its points say."""

    run: Run
    checks: PointChecks
    gps: tuple[float, float]
    sample: bytes = b""


@dataclass(frozen=True, eq=False)
class Bucket:
    """One octree cell to build: depth, Morton code there, where its points lie.

    ``top`` and ``quotas`` are for `winner_depths` and `point_levels`.
    """

    depth: int
    cell: int
    count: int
    slices: list[tuple[int, int]]
    top: int
    quotas: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Built:
    """A bucket's own nodes, compressed, and the records it gives to nodes above it."""

    nodes: list[tuple[Key, int, int]] = field(default_factory=list)
    payload: bytes = b""
    above: list[tuple[int, int, bytes]] = field(default_factory=list)
    points: int = 0
    order: tuple[int, int] = (0, 0)


_FINE_SPREAD = [
    (morton([np.arange(1 << FINE)]) << np.uint64(axis)).astype(np.uint16) for axis in range(3)
]
"""For each axis, the part of a Morton code that a column of the coarse grid gives."""


class Hands:
    """Does tasks: one a process, or one in the caller."""

    def __init__(self, setup: Setup, spill: Spill | None = None) -> None:
        self.setup = setup
        self._spill = spill or Spill.attach(setup.spill)
        self._item = setup.map.target.itemsize
        self._source = LocalFile(setup.path) if setup.path else None
        self._laz = (
            LazFormat(setup.laszip, setup.record_length, setup.path) if setup.laszip else None
        )
        self._checked = SimpleNamespace(point_format=laspy.PointFormat(setup.source_format))

    def do(self, task: tuple[Any, ...]) -> Any:
        """Calls the method that the task names."""
        return getattr(self, task[0])(*task[1:])

    def close(self) -> None:
        """Closes the source file."""
        if self._source is not None:
            self._source.close()

    # -- reading and sorting -----------------------------------------------------------------

    def sort_laz(self, cube: Cube, start: int, chunks: list[tuple[int, int, int]]) -> Sorted:
        """Decodes LAZ chunks (points, byte, size). Raises CodecError when one is damaged."""
        assert self._laz is not None and self._source is not None
        parts = [(n, self._source.read_at(at, size)) for n, at, size in chunks]
        return self._sort(cube, start, decode(self._laz, parts).view(self.setup.map.source))

    def sort_las(self, cube: Cube, start: int, count: int) -> Sorted:
        """Reads uncompressed records from the source file."""
        assert self._source is not None
        length = self.setup.record_length
        data = self._source.read_at(self.setup.points_at + start * length, count * length)
        return self._sort(cube, start, np.frombuffer(data, self.setup.map.source))

    def sort_raw(self, cube: Cube, start: int, data: bytes) -> Sorted:
        """Takes records that were read elsewhere."""
        return self._sort(cube, start, np.frombuffer(data, self.setup.map.source))

    def resort(self, cube: Cube, start: int, count: int) -> Run:
        """Sorts a run of the temporary file anew, for another cube."""
        records = self._read([(start, count)])
        return self._store(start, records, _grid_cells(records, cube))

    def _sort(self, cube: Cube, start: int, records: npt.NDArray[Any]) -> Sorted:
        checks = PointChecks(self._checked)
        checks.add(SimpleNamespace(array=records))
        gps = (0.0, 0.0)
        if "gps_time" in (records.dtype.names or ()) and len(records):
            times = records["gps_time"]
            gps = (float(times.min()), float(times.max()))
            if not np.isfinite(gps).all():
                finite = times[np.isfinite(times)]
                gps = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
        mapped = self.setup.map(records)
        every = self.setup.every
        sample = mapped[::every].tobytes() if every else b""
        return Sorted(self._store(start, mapped, _grid_cells(mapped, cube)), checks, gps, sample)

    def split(self, cube: Cube, base: int, prefix: int, slices: list[tuple[int, int]]) -> list[Run]:
        """Sorts the stretches of one crowded cell by the grid below it, in place."""
        runs = []
        shift = np.uint64(3 * (MAX_DEPTH - base - FINE))
        for start, count in slices:
            records = self._read([(start, count)])
            codes = codes_of(records, cube)
            cells = ((codes >> shift) - np.uint64(prefix << (3 * FINE))).astype(np.uint16)
            run = self._store(start, records, cells)
            order = np.argsort(cells, kind="stable")
            ranks = priorities(codes)[order] >> np.uint64(32)
            runs.append(Run(start, run.cells, run.ends, np.maximum.reduceat(ranks, run.ends[:-1])))
        return runs

    def _store(self, start: int, records: npt.NDArray[Any], cells: npt.NDArray[np.uint16]) -> Run:
        order = np.argsort(cells, kind="stable")
        self._spill.write(start * self._item, records.take(order).data)
        counts = np.bincount(cells, minlength=1 << (3 * FINE))
        present = np.flatnonzero(counts)
        ends = np.concatenate([[0], np.cumsum(counts[present])])
        return Run(start, present.astype(np.uint16), ends)

    def _read(self, slices: list[tuple[int, int]]) -> npt.NDArray[Any]:
        item = self._item
        parts = [self._spill.read(start * item, count * item) for start, count in slices]
        return np.frombuffer(b"".join(parts), self.setup.map.target)

    # -- building ----------------------------------------------------------------------------

    def build(self, cube: Cube, bucket: Bucket) -> Built:
        """All nodes of one bucket."""
        return self._build(cube, bucket, self._read(bucket.slices), levels.LEAF_POINTS)

    def coarse(self, cube: Cube, sample: bytes) -> Built:
        """All nodes of a finer sample's own tree."""
        records = np.frombuffer(sample, self.setup.map.target)
        whole = Bucket(0, 0, len(records), [], 0, np.zeros(0, np.int64))
        built = self._build(cube, whole, records, COARSE_LEAF)
        return replace(built, points=0, order=COARSE)

    def _build(
        self, cube: Cube, bucket: Bucket, records: npt.NDArray[Any], leaf_points: int
    ) -> Built:
        codes = codes_of(records, cube)
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        priority = priorities(codes)
        depths = winner_depths(codes, priority, bucket.depth, bucket.top, leaf_points)
        level_of = point_levels(codes, priority, depths, bucket.depth, leaf_points, bucket.quotas)
        inner, nodes = group_nodes(codes, level_of)
        records = records.take(order[inner])
        above: list[tuple[int, int, bytes]] = []
        chunks: list[npt.NDArray[Any]] = []
        own: list[tuple[Key, int]] = []
        start = 0
        for level, cell, count in nodes:
            part = records[start : start + count]
            if level < bucket.depth:
                above.append((level, cell, part.tobytes()))
            else:
                own.append((key_of(cell, level), count))
                chunks.append(part)
            start += count
        sized, payload = self._compress(own, chunks)
        return Built(sized, payload, above, bucket.count, (bucket.depth, bucket.cell))

    def encode(self, nodes: list[tuple[Key, list[bytes]]]) -> Built:
        """Compresses nodes whose records were gathered from several buckets."""
        chunks = [np.frombuffer(b"".join(parts), self.setup.map.target) for _, parts in nodes]
        own = [(key, len(chunk)) for (key, _), chunk in zip(nodes, chunks, strict=True)]
        return Built(*self._compress(own, chunks), points=sum(count for _, count in own))

    def _compress(
        self, nodes: list[tuple[Key, int]], chunks: list[npt.NDArray[Any]]
    ) -> tuple[list[tuple[Key, int, int]], bytes]:
        if not nodes:
            return [], b""
        vlr = lazrs.LazVlr.new_for_compression(self.setup.format_id, self.setup.extra_bytes, True)
        out = io.BytesIO()
        compressor = lazrs.LasZipCompressor(out, vlr)
        compressor.compress_chunks([chunk.view(np.uint8) for chunk in chunks])
        compressor.done()
        out.seek(0)
        # lazrs may close with an empty chunk
        table = [entry for entry in lazrs.read_chunk_table(out, vlr) if entry[0]]
        size = sum(length for _, length in table)
        sized = [
            (key, count, length) for (key, count), (_, length) in zip(nodes, table, strict=True)
        ]
        return sized, bytes(out.getbuffer()[8 : 8 + size])


def _grid_cells(records: npt.NDArray[Any], cube: Cube) -> npt.NDArray[np.uint16]:
    code = np.zeros(len(records), np.uint16)
    for axis, cell in enumerate(cell_indices(records, cube, FINE)):
        code |= _FINE_SPREAD[axis][cell]
    return code
