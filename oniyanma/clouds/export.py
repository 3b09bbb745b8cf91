"""Writing clouds at full resolution: the sources' points with edits applied, streaming.

LAS and LAZ keep header, VLRs and every untouched field of the source byte for byte; COPC, PLY
and CSV keep what they can and warn about the rest. Files appear whole or not at all.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import laspy
import lazrs
import numpy as np
import numpy.typing as npt

from oniyanma.clouds.atomic import AtomicFile
from oniyanma.clouds.checks import PointChecks
from oniyanma.clouds.crs import crs_title, same_crs
from oniyanma.clouds.export_text import CsvWriter, PlyWriter
from oniyanma.clouds.index.build import build_copc
from oniyanma.clouds.index.crew import Cancelled
from oniyanma.clouds.index.records import WAVEFORM_FORMATS, RecordMap
from oniyanma.clouds.index.spill import disk_error
from oniyanma.clouds.index.writer import Totals
from oniyanma.clouds.lasfront import front_of, raise_format, raised_format
from oniyanma.clouds.model import CloudError, CloudInfo, CloudWarning, Source
from oniyanma.clouds.sources.tiles import Tile, TileSource, systems_of

Edit = Callable[
    [laspy.PackedPointRecord, laspy.LasHeader],
    tuple[laspy.PackedPointRecord, npt.NDArray[np.bool_]],
]
Progress = Callable[[float, str], None]

FORMATS = ("las", "laz", "copc", "ply", "csv")
CHUNK = 500_000
CARRIED = frozenset(
    {"bounds_mismatch", "points_missing", "tile_refused", "tiles_crs_differ", "tiles_differ"}
)
LOSSY_IN_LAZ = frozenset({9, 10})
"""lazrs 0.8 does not give back the waveform fields of these formats as they were."""


@dataclass(frozen=True)
class ExportResult:
    """What was written: how many points, and what the format could not hold."""

    points: int
    warnings: tuple[CloudWarning, ...] = ()


@dataclass(eq=False)
class _Plan:
    """The points to write under ``header``, and what is found while they pass."""

    source: Source
    header: laspy.LasHeader
    map: RecordMap | None
    edit: Edit | None
    progress: Progress
    cancelled: Callable[[], bool]
    warnings: list[CloudWarning] = field(default_factory=list)

    def records(self, chunk_size: int = CHUNK) -> Iterator[npt.NDArray[Any]]:
        """Packed records, edited, without those that were dropped. Raises `Cancelled`."""
        total, done = max(1, self.source.info.points), 0
        self.progress(0.0, "writing")
        for chunk in self.source.records(chunk_size):
            if self.cancelled():
                raise Cancelled("cancelled")
            done += len(chunk)
            array = chunk.array if self.map is None else self.map(chunk.array)
            if self.edit is not None:
                record = laspy.PackedPointRecord(array.copy(), self.header.point_format)
                record, keep = self.edit(record, self.header)
                array = record.array if keep.all() else record.array.compress(keep)
            if len(array):
                yield np.ascontiguousarray(array)
            self.progress(min(1.0, done / total), "writing")


def format_of(path: str | Path) -> str:
    """The format a file name asks for. Raises `CloudError` when it names none."""
    name = Path(path).name.lower()
    if name.endswith(".copc.laz"):
        return "copc"
    ending = name.rpartition(".")[2]
    ending = "csv" if ending in ("txt", "xyz") else ending
    if "." not in name or ending not in FORMATS:
        raise CloudError(
            f"{Path(path).name} names no format to write; end it with .las, .laz, .copc.laz, .ply "
            "or .csv, or say the format."
        )
    return ending


def export(
    sources: Sequence[Source],
    path: str | Path,
    *,
    format: str | None = None,
    edit: Edit | None = None,
    needs_class: int = 0,
    overwrite: bool = False,
    progress: Progress = lambda share, stage: None,
    cancelled: Callable[[], bool] = lambda: False,
    memory: int = 4 << 30,
    workers: int = 2,
) -> ExportResult:
    """Writes all points of ``sources`` to ``path``.

    ``edit`` gets a copy of each chunk and the header it is under, and gives the changed records
    and which (n,) to keep. ``needs_class`` is the highest class that ``edit`` sets: where the
    point format can't hold it, the format is raised first, with a warning. ``memory`` and
    ``workers`` are for COPC. Raises `CloudError`; then no file is left.
    """
    path = Path(path)
    kind = format or format_of(path)
    if kind not in FORMATS:
        raise CloudError(f"{kind} is no format to write; choose {', '.join(FORMATS)}.")
    if not sources:
        raise CloudError("there is no cloud to export; open one first.")
    _check_target(sources, path, overwrite)
    _check_systems(sources)
    source = sources[0] if len(sources) == 1 else _merged(sources)
    plan = _plan(source, edit, needs_class, progress, cancelled)
    try:
        if kind == "copc":
            return _write_copc(plan, path, memory, workers)
        with AtomicFile(path) as out:
            if kind in ("las", "laz"):
                points = _write_las(plan, out.file, kind == "laz")
            else:
                points = _write_text(plan, out.file, kind)
            out.commit()
    except OSError as error:
        raise disk_error(error, str(path)) from None
    return ExportResult(points, (*plan.warnings, *_told(source.info)))


def _check_target(sources: Sequence[Source], path: Path, overwrite: bool) -> None:
    if path.is_dir():
        raise CloudError(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise CloudError(f"the folder {path.parent} does not exist; make it or choose another.")
    if not path.exists():
        return
    for source in sources:
        origin = Path(source.info.path)
        if origin.exists() and (origin.samefile(path) or origin in path.resolve().parents):
            raise CloudError(
                f"{path} is an open cloud's own file, which is never written; choose another name."
            )
    if not overwrite:
        raise CloudError(
            f"{path} exists already; choose another name or allow overwriting (overwrite, on the "
            "command line --overwrite)."
        )


def _check_systems(sources: Sequence[Source]) -> None:
    """Refuses what would put coordinates of different systems side by side in one file."""
    found = [named for source in sources for named in systems_of(source)]
    for name, crs in found[1:]:
        if not same_crs(crs, found[0][1]):
            raise CloudError(
                f"{found[0][0]} is in {crs_title(found[0][1])} and {name} in {crs_title(crs)}, and "
                "a file holds one coordinate system; write each to a file of its own."
            )


def _merged(sources: Sequence[Source]) -> Source:
    """Several clouds as one stream under one header."""
    return TileSource(
        sources[0].info.path,
        "tiles",
        [Tile(source.info.name, lambda source=source: source) for source in sources],  # type: ignore[misc]
    )


def _plan(
    source: Source,
    edit: Edit | None,
    needs_class: int,
    progress: Progress,
    cancelled: Callable[[], bool],
) -> _Plan:
    header, fmt = source.header, source.header.point_format
    plan = _Plan(source, header, None, edit, progress, cancelled)
    if fmt.id < 6 and needs_class > 31:
        target = laspy.PointFormat(raised_format(fmt))
        target.dimensions.extend(fmt.extra_dimensions)
        plan.header = copy.deepcopy(header)
        plan.header.set_version_and_point_format(laspy.header.Version(1, 4), target)
        plan.map = RecordMap(fmt.dtype(), target.dtype(), True)
        plan.warnings.append(
            CloudWarning(
                "point_format_raised",
                f"Point format {fmt.id} holds classes up to 31 only; the file was written in "
                f"format {target.id} of LAS 1.4.",
            )
        )
    return plan


def _write_las(plan: _Plan, out: BinaryIO, compress: bool) -> int:
    point_format = plan.header.point_format
    if compress and point_format.id in LOSSY_IN_LAZ:
        raise CloudError(
            f"{plan.source.info.name} has waveforms in point format {point_format.id}, which the "
            "LAZ codec damages; export it as .las."
        )
    front = front_of(plan.source)
    try:
        if plan.map is not None:
            raise_format(front, point_format.id, plan.source.info.crs.wkt)
        laz = None
        if compress:
            laz = lazrs.LazVlr.new_for_compression(point_format.id, point_format.num_extra_bytes)
        front.start(out, bytes(laz.record_data()) if laz else None, point_format.size)
        checks = PointChecks(plan.header)
        sink = _Sink(out)
        compressor = lazrs.ParLasZipCompressor(sink, laz) if laz else None
        for array in plan.records():
            checks.add(laspy.PackedPointRecord(array, point_format))
            if compressor is None:
                out.write(array.view(np.uint8).data)
            else:
                sink.call(compressor.compress_many, array.view(np.uint8))
        if compressor is not None:
            sink.call(compressor.done)
        front.finish(
            out, totals_of(checks), np.asarray(plan.header.scales), np.asarray(plan.header.offsets)
        )
    finally:
        front.close()
    return checks.points


class _Sink:
    """The file given to lazrs, which would hide why a write failed."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._error: OSError | None = None
        self.seek, self.tell, self.flush = out.seek, out.tell, out.flush

    def write(self, data: bytes) -> int:
        try:
            return self._out.write(data)
        except OSError as error:
            self._error = error
            raise

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Calls lazrs; a failed write raises the file's own OSError."""
        try:
            function(*arguments)
        except BaseException:
            if self._error is not None:
                raise self._error from None
            raise


def _write_text(plan: _Plan, out: BinaryIO, kind: str) -> int:
    writer = (CsvWriter if kind == "csv" else PlyWriter)(out, plan.header, plan.source.info)
    plan.warnings += writer.warnings
    for array in plan.records(100_000 if kind == "csv" else CHUNK):
        writer.add(array)
    writer.finish()
    return writer.points


class _EditedSource:
    """A plan as a source, for the COPC builder."""

    def __init__(self, plan: _Plan) -> None:
        self._plan = plan
        self.header = plan.header
        self._checks: PointChecks | None = None

    @property
    def info(self) -> CloudInfo:
        info = self._plan.source.info
        return info if self._checks is None else self._checks.apply(info)

    def records(self, chunk_size: int = CHUNK) -> Iterator[laspy.PackedPointRecord]:
        checks = PointChecks(self.header)
        for array in self._plan.records(chunk_size):
            record = laspy.PackedPointRecord(array, self.header.point_format)
            checks.add(record)
            yield record
        self._checks = checks

    @property
    def sampled(self) -> bool:
        return self._plan.source.sampled

    def sample(self, count: int) -> laspy.PackedPointRecord:
        return self._plan.source.sample(count)

    def close(self) -> None:
        self._plan.source.close()


def _write_copc(plan: _Plan, path: Path, memory: int, workers: int) -> ExportResult:
    if plan.source.header.point_format.id in WAVEFORM_FORMATS:
        plan.warnings.append(
            CloudWarning(
                "waveforms_left_out", "COPC has no place for waveforms; they are left out."
            )
        )
    plain = plan.edit is None and plan.map is None
    source: Source = plan.source if plain else _EditedSource(plan)
    progress = plan.progress
    if not plain:
        plan.progress = lambda share, stage: None  # the builder's own counts
    result = build_copc(
        source,
        path,
        memory=memory,
        progress=progress,
        cancelled=plan.cancelled,
        workers=workers,
        evlrs=True,
    )
    return ExportResult(result.points, (*plan.warnings, *_told(result.info)))


def _told(info: CloudInfo) -> list[CloudWarning]:
    """What of the sources' oddities makes the file written another than may be thought."""
    return [w for w in info.warnings if w.code in CARRIED]


def totals_of(checks: PointChecks) -> Totals:
    """What the header says of the points that ``checks`` has seen."""
    if not checks.points:
        return Totals()
    return Totals(checks.points, checks.low, checks.high, checks.returns[:16])
