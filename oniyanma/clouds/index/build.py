"""Any source to a COPC file: two passes over the points, bounded memory, all cores in use.

The first pass sorts stretches of the source by cell into a nameless temporary file; the second
builds each bucket, an octree cell that fits in memory, and appends its compressed nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.atomic import AtomicFile
from oniyanma.clouds.cache import check_space
from oniyanma.clouds.checks import PointChecks, merge
from oniyanma.clouds.crs import settle
from oniyanma.clouds.index import facts as facts_vlr
from oniyanma.clouds.index.crew import Crew
from oniyanma.clouds.index.levels import Cube, cube_for, key_of
from oniyanma.clouds.index.plan import plan_buckets
from oniyanma.clouds.index.records import RecordMap, record_map
from oniyanma.clouds.index.spill import Spill, disk_error
from oniyanma.clouds.index.tasks import COARSE, Bucket, Built, Key, Run, Setup, Sorted
from oniyanma.clouds.index.writer import CopcWriter, RawVlr, Totals, raw_vlr
from oniyanma.clouds.model import CloudInfo, Source
from oniyanma.clouds.octree import MAX_DEPTH
from oniyanma.clouds.sources.las import LasSource, file_of
from oniyanma.clouds.sources.laz import CodecError

Progress = Callable[[float, str], None]
Coarse = tuple[Path, Callable[[Path], None]]

MIN_MEMORY = 512 << 20
PROCESS_BYTES = 110 << 20
"""What an indexing process takes before it holds any point."""

WAVEFORM_PACKETS = 65535

COARSE_FROM = 4_000_000
"""Clouds of fewer points are indexed before a finer sample would be on screen."""

COARSE_POINTS = 2_000_000


@dataclass(frozen=True)
class BuildResult:
    """Points written, and the source's info with what all points say."""

    points: int
    info: CloudInfo


@dataclass(frozen=True)
class _Sizes:
    """Points of a run and of a bucket, so that the whole process tree keeps its limit."""

    run: int
    bucket: int


@dataclass(frozen=True, eq=False)
class _Order:
    """What is asked of one build."""

    source: Source
    target: Path
    sizes: _Sizes
    progress: Progress
    cancelled: Callable[[], bool]
    workers: int
    facts: Callable[[CloudInfo], bytes] | None
    evlrs: bool
    coarse: Coarse | None


def build_copc(
    source: Source,
    target: Path,
    *,
    memory: int = 4 << 30,
    progress: Progress = lambda share, stage: None,
    cancelled: Callable[[], bool] = lambda: False,
    workers: int = 2,
    facts: Callable[[CloudInfo], bytes] | None = None,
    evlrs: bool = False,
    coarse: Coarse | None = None,
) -> BuildResult:
    """Writes ``source`` as a COPC file at ``target``, atomically.

    Every point is kept once with all attributes; formats 0-5 become 6-8 and waveforms are left
    out. ``memory`` bounds this process and its ``workers`` children together (at least
    512 MiB); with no workers all is done here. ``facts`` makes JSON kept within the file,
    ``evlrs`` carries the source's extended VLRs over. ``coarse`` is a path and whom to tell when
    a COPC file of a finer sample lies there, half-way through a large cloud; the caller removes
    it. Raises `CloudError`; nothing but that file is left then.
    """
    mapping, format_id, extra = record_map(source.header)
    order = _Order(
        source=source,
        target=target,
        sizes=_sizes(source, mapping, max(memory, MIN_MEMORY), max(workers, 1)),
        progress=progress,
        cancelled=cancelled,
        workers=workers,
        facts=facts,
        evlrs=evlrs,
        coarse=coarse,
    )
    points = source.info.points
    bytes_needed = int(points * mapping.target.itemsize * 1.3) + (16 << 20)
    check_space(target.parent, bytes_needed, f"indexing {source.info.name}")
    try:
        spill = Spill.create(target.parent)
    except OSError as error:
        raise disk_error(error, f"a temporary file in {target.parent}") from None
    every = max(10, points // COARSE_POINTS) if coarse and points >= COARSE_FROM else 0
    setup = Setup(spill.spec, mapping, source.header.point_format.id, format_id, extra, every=every)
    try:
        direct = _direct(source, setup)
        if direct is not None:
            try:
                return _Build(order, direct, spill).run()
            except CodecError:
                pass  # a damaged chunk: the source itself knows how to keep what is whole
        return _Build(order, setup, spill).run()
    finally:
        spill.close()


def _sizes(source: Source, mapping: RecordMap, memory: int, workers: int) -> _Sizes:
    room = (memory - (workers + 2) * PROCESS_BYTES) / workers
    item = mapping.target.itemsize
    bucket = int(room * 0.8 / (3 * item + 90))
    run = int(room * 0.5 / (mapping.source.itemsize + 3 * item + 60))
    share = max(source.info.points // (8 * workers), 100_000)
    return _Sizes(min(run, share, 1_000_000), min(bucket, share, 1_500_000))


def _direct(source: Source, setup: Setup) -> Setup | None:
    """How the processes can read the source file themselves, if it is a whole LAS or LAZ."""
    if not isinstance(source, LasSource) or source.info.points != source.info.declared_points:
        return None
    path = source.info.path
    if not Path(path).is_file():
        return None
    file = file_of(source)
    if file.compressed and (not source.chunks or file.laszip is None):
        return None
    return replace(
        setup,
        path=path,
        laszip=(file.laszip or b"") if file.compressed else b"",
        record_length=file.record_length,
        points_at=file.points_at,
    )


class _Build:
    """One run over a source, from its records to the finished file."""

    def __init__(self, order: _Order, setup: Setup, spill: Spill) -> None:
        self._order = order
        self._setup = setup
        self._header = order.source.header
        self._cube = _first_cube(order.source)
        self._checks = PointChecks(self._header)
        self._gps: list[tuple[float, float]] = []
        self._sample: list[bytes] = []
        self._expected = max(order.source.info.points, 1)
        self._crew = Crew(setup, spill, order.workers, order.cancelled)

    def run(self) -> BuildResult:
        """Both passes. Raises `CloudError`, or CodecError for damage in the source."""
        order = self._order
        try:
            runs = self._read()
            info = _info(order.source, self._checks, direct=bool(self._setup.path))
            runs = self._resort(runs)
            buckets = plan_buckets(runs, order.sizes.bucket, self._split)
            buckets.sort(key=lambda bucket: -bucket.count)
            with AtomicFile(order.target) as out:
                try:
                    writer = self._writer(out, info)
                    self._write(writer, buckets, info)
                    writer.finish(
                        _totals(self._checks, self._gps),
                        _evlrs(self._header, info, order.facts, order.evlrs),
                    )
                    out.commit(durable=order.facts is None)
                except OSError as error:
                    raise disk_error(error, str(order.target)) from None
            order.progress(1.0, "ready")
            return BuildResult(self._checks.points, info)
        finally:
            self._crew.close()

    def _read(self) -> list[Run]:
        """First pass: every record into the temporary file, in sorted runs."""
        order, checks = self._order, self._checks
        order.progress(0.0, "reading")
        runs: list[Run] = []
        tasks = _read_tasks(order.source, self._setup, self._cube, order.sizes.run)
        for done in self._crew.run(tasks):
            assert isinstance(done, Sorted)
            runs.append(done.run)
            self._gps.append(done.gps)
            if done.sample:
                self._sample.append(done.sample)
            _add(checks, done.checks)
            order.progress(min(0.45, 0.45 * checks.points / self._expected), "reading")
        return sorted(runs, key=lambda run: run.start)

    def _resort(self, runs: list[Run]) -> list[Run]:
        """Sorts anew where the claimed bounds were wrong."""
        checks, header = self._checks, self._header
        if not checks.points:
            return runs
        right = cube_for(checks.low, checks.high, header.scales, header.offsets)
        if _fits(self._cube, right):
            return runs
        self._cube = right
        again = [("resort", right, run.start, int(run.ends[-1])) for run in runs]
        return sorted(self._crew.run(again), key=lambda run: run.start)

    def _split(self, depth: int, cell: int, slices: list[tuple[int, int]]) -> list[Run]:
        parts = [slices[i : i + 16] for i in range(0, len(slices), 16)]
        found = self._crew.run(("split", self._cube, depth, cell, part) for part in parts)
        return sorted((run for some in found for run in some), key=lambda run: run.start)

    def _writer(self, out: AtomicFile, info: CloudInfo) -> CopcWriter:
        setup = self._setup
        return CopcWriter(
            out.file, self._header, setup.format_id, setup.extra_bytes, self._cube, info.crs.wkt
        )

    def _write(self, writer: CopcWriter, buckets: list[Bucket], info: CloudInfo) -> None:
        """Second pass: buckets as they are done, then the nodes above them."""
        above: dict[tuple[int, int], list[tuple[int, bytes]]] = {}
        written = 0
        tasks: Iterable[tuple[Any, ...]] = (("build", self._cube, b) for b in buckets)
        if self._sample:
            tasks = chain([("coarse", self._cube, b"".join(self._sample))], tasks)
            self._sample.clear()
        for built in self._crew.run(tasks):
            assert isinstance(built, Built)
            if built.order == COARSE:
                self._show(built, info)
                continue
            writer.add(built.nodes, built.payload)
            depth, cell = built.order
            for level, node, data in built.above:
                part = (cell << (3 * (MAX_DEPTH - depth)), data)
                above.setdefault((level, node), []).append(part)
            written += built.points
            self._order.progress(0.45 + 0.5 * written / self._expected, "building")
        for built in self._crew.run(_encode_tasks(above, self._setup.map.target.itemsize)):
            writer.add(built.nodes, built.payload)

    def _show(self, built: Built, info: CloudInfo) -> None:
        """Writes the finer sample's file and says that it is there."""
        if self._order.coarse is None:
            return
        path, tell = self._order.coarse
        with AtomicFile(path) as out:
            writer = self._writer(out, info)
            writer.add(built.nodes, built.payload)
            points = sum(count for _, count, _ in built.nodes)
            writer.finish(replace(_totals(self._checks, self._gps), points=points), [])
            out.commit(durable=False)
        tell(path)


def _first_cube(source: Source) -> Cube:
    """A cube from the bounds the source claims; nonsense gives any cube, put right later."""
    header, info = source.header, source.info
    low, high = np.zeros(3), np.zeros(3)
    if info.bounds_min is not None and info.bounds_max is not None:
        ends = (np.array([info.bounds_min, info.bounds_max]) - header.offsets) / header.scales
        if np.isfinite(ends).all():
            ends = np.clip(np.rint(ends), -(2.0**31), 2.0**31 - 1)
            low, high = ends.min(axis=0), ends.max(axis=0)
    return cube_for(low.astype(np.int64), high.astype(np.int64), header.scales, header.offsets)


def _fits(cube: Cube, right: Cube) -> bool:
    """Whether ``cube`` holds all of ``right`` and is hardly larger."""
    slack = 1e-9 * right.side
    inside = (cube.origin <= right.origin + slack).all() and (
        cube.origin + cube.side >= right.origin + right.side - slack
    ).all()
    return bool(inside) and cube.side <= 1.25 * right.side


def _read_tasks(source: Source, setup: Setup, cube: Cube, most: int) -> Iterator[tuple[Any, ...]]:
    if not setup.path:
        start = 0
        for chunk in source.records(most):
            yield ("sort_raw", cube, start, chunk.array.tobytes())
            start += len(chunk)
        return
    assert isinstance(source, LasSource)
    if not setup.laszip:
        for start in range(0, source.info.points, most):
            yield ("sort_las", cube, start, min(most, source.info.points - start))
        return
    group: list[tuple[int, int, int]] = []
    start = points = 0
    for chunk in source.chunks or ():
        if group and points + chunk.points > most:
            yield ("sort_laz", cube, start, group)
            start, points, group = start + points, 0, []
        group.append((chunk.points, chunk.at, chunk.size))
        points += chunk.points
    if group:
        yield ("sort_laz", cube, start, group)


def _encode_tasks(
    above: dict[tuple[int, int], list[tuple[int, bytes]]], item: int
) -> Iterable[tuple[Any, ...]]:
    """Nodes gathered from several buckets, about 200,000 points a task."""
    group: list[tuple[Key, list[bytes]]] = []
    size = 0
    for level, cell in sorted(above):
        parts = [data for _, data in sorted(above.pop((level, cell)), key=lambda part: part[0])]
        group.append((key_of(cell, level), parts))
        size += sum(map(len, parts))
        if size > 200_000 * item:
            yield ("encode", group)
            group, size = [], 0
    if group:
        yield ("encode", group)


def _add(checks: PointChecks, more: PointChecks) -> None:
    checks.points += more.points
    checks.low = np.minimum(checks.low, more.low)
    checks.high = np.maximum(checks.high, more.high)
    checks.classes += more.classes
    checks.returns += more.returns
    checks.rgb_max = max(checks.rgb_max, more.rgb_max)
    checks.gps_bad += more.gps_bad
    checks.gps_max = max(checks.gps_max, more.gps_max)


def _info(source: Source, checks: PointChecks, direct: bool) -> CloudInfo:
    if not direct:
        return source.info
    info = checks.apply(source.info)
    crs, said = settle(info.crs, info.bounds_min, info.bounds_max)
    return replace(info, crs=crs, warnings=merge(info.warnings, said))


def _totals(checks: PointChecks, gps: list[tuple[float, float]]) -> Totals:
    if not checks.points:
        return Totals()
    returns: npt.NDArray[np.int64] = checks.returns[:16]
    times = np.array(gps)
    return Totals(
        checks.points,
        checks.low,
        checks.high,
        returns,
        (float(times[:, 0].min()), float(times[:, 1].max())),
    )


def _evlrs(
    header: Any, info: CloudInfo, facts: Callable[[CloudInfo], bytes] | None, carry: bool
) -> list[RawVlr]:
    out = []
    if facts is not None:
        out.append(RawVlr(facts_vlr.USER_ID, facts_vlr.RECORD_ID, "", facts(info)))
    if carry:
        own = ("copc", facts_vlr.USER_ID)
        kept = [raw_vlr(v) for v in header.evlrs or [] if v.user_id not in own]
        out += [v for v in kept if v.record_id != WAVEFORM_PACKETS]
    return out
