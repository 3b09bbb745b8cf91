"""Any source to a COPC file: two passes over the points, bounded memory, all cores in use.

The first pass sorts stretches of the source by cell into a nameless temporary file; the second
builds each bucket, an octree cell that fits in memory, and appends its compressed nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
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
from oniyanma.clouds.index.tasks import Built, Key, Run, Setup, Sorted
from oniyanma.clouds.index.writer import CopcWriter, RawVlr, Totals, raw_vlr
from oniyanma.clouds.model import CloudInfo, Source
from oniyanma.clouds.sources.las import LasSource, file_of
from oniyanma.clouds.sources.laz import CodecError

Progress = Callable[[float, str], None]

MIN_MEMORY = 512 << 20
PROCESS_BYTES = 110 << 20
"""What an indexing process takes before it holds any point."""

WAVEFORM_PACKETS = 65535


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
) -> BuildResult:
    """Writes ``source`` as a COPC file at ``target``, atomically.

    Every point is kept once with all attributes; formats 0-5 become 6-8 and waveforms are left
    out. ``memory`` bounds this process and its ``workers`` children together (at least
    512 MiB); with no workers all is done here. ``facts`` makes JSON kept within the file,
    ``evlrs`` carries the source's extended VLRs over. Raises `CloudError`; nothing is left then.
    """
    mapping, format_id, extra = record_map(source.header)
    sizes = _sizes(source, mapping, max(memory, MIN_MEMORY), max(workers, 1))
    bytes_needed = int(source.info.points * mapping.target.itemsize * 1.3) + (16 << 20)
    check_space(target.parent, bytes_needed, f"indexing {source.info.name}")
    try:
        spill = Spill.create(target.parent)
    except OSError as error:
        raise disk_error(error, f"a temporary file in {target.parent}") from None
    setup = Setup(spill.spec, mapping, source.header.point_format.id, format_id, extra)
    try:
        direct = _direct(source, setup)
        try:
            return _build(
                source,
                target,
                direct or setup,
                spill,
                sizes,
                progress,
                cancelled,
                workers,
                facts,
                evlrs,
            )
        except CodecError:
            if direct is None:
                raise
        # a damaged chunk: the source itself knows how to keep what is whole
        return _build(
            source, target, setup, spill, sizes, progress, cancelled, workers, facts, evlrs
        )
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


def _build(
    source: Source,
    target: Path,
    setup: Setup,
    spill: Spill,
    sizes: _Sizes,
    progress: Progress,
    cancelled: Callable[[], bool],
    workers: int,
    facts: Callable[[CloudInfo], bytes] | None,
    evlrs: bool,
) -> BuildResult:
    header = source.header
    cube = _first_cube(source)
    expected = max(source.info.points, 1)
    crew = Crew(setup, spill, workers, cancelled)
    try:
        progress(0.0, "reading")
        checks = PointChecks(header)
        gps: list[tuple[float, float]] = []
        runs: list[Run] = []
        for done in crew.run(_read_tasks(source, setup, cube, sizes.run)):
            assert isinstance(done, Sorted)
            runs.append(done.run)
            gps.append(done.gps)
            _add(checks, done.checks)
            progress(min(0.45, 0.45 * checks.points / expected), "reading")
        runs.sort(key=lambda run: run.start)
        info = _info(source, checks, direct=bool(setup.path))
        if checks.points:
            right = cube_for(checks.low, checks.high, header.scales, header.offsets)
            if not _fits(cube, right):
                cube = right
                again = [("resort", cube, run.start, int(run.ends[-1])) for run in runs]
                runs = sorted(crew.run(again), key=lambda run: run.start)

        def split(depth: int, cell: int, slices: list[tuple[int, int]]) -> list[Run]:
            parts = [slices[i : i + 16] for i in range(0, len(slices), 16)]
            found = crew.run(("split", cube, depth, cell, part) for part in parts)
            return sorted((run for some in found for run in some), key=lambda run: run.start)

        buckets = plan_buckets(runs, sizes.bucket, split)
        buckets.sort(key=lambda bucket: -bucket.count)
        with AtomicFile(target) as out:
            writer = CopcWriter(
                out.file, header, setup.format_id, setup.extra_bytes, cube, info.crs.wkt
            )
            try:
                above: dict[tuple[int, int], list[tuple[int, bytes]]] = {}
                written = 0
                for built in crew.run(("build", cube, bucket) for bucket in buckets):
                    assert isinstance(built, Built)
                    writer.add(built.nodes, built.payload)
                    depth, cell = built.order
                    for level, node, data in built.above:
                        above.setdefault((level, node), []).append(
                            (cell << (3 * (21 - depth)), data)
                        )
                    written += built.points
                    progress(0.45 + 0.5 * written / expected, "building")
                for built in crew.run(_encode_tasks(above, setup.map.target.itemsize)):
                    writer.add(built.nodes, built.payload)
                totals = _totals(checks, gps)
                writer.finish(totals, _evlrs(header, info, facts, evlrs))
                out.commit(durable=facts is None)
            except OSError as error:
                raise disk_error(error, str(target)) from None
        progress(1.0, "ready")
        return BuildResult(checks.points, info)
    finally:
        crew.close()


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
