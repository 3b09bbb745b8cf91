"""LAS, LAZ and COPC files as streams of their own records, untouched."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, BinaryIO, Literal

import laspy
import numpy as np
import numpy.typing as npt
from laspy.vlrs.known import ExtraBytesVlr

from oniyanma.clouds import crs as crs_module
from oniyanma.clouds.checks import PointChecks, color_depth, merge
from oniyanma.clouds.copc import LARGE_NODE
from oniyanma.clouds.model import (
    UNKNOWN_CRS,
    CloudError,
    CloudInfo,
    CloudWarning,
    Dimension,
    Vec3,
)
from oniyanma.clouds.sources.las_header import LasFile, read_las_header
from oniyanma.clouds.sources.laz import (
    MAX_POINTS_A_BYTE,
    VARIABLE,
    Chunk,
    CodecError,
    LazFormat,
    Lost,
    chunks_end,
    decode,
    read_chunk_table,
    rebuild_chunk_table,
    salvage,
    stream_chunks,
    stream_serial,
)
from oniyanma.clouds.sources.laz_sample import CHUNK_POINTS, GRID, ChunkPlan

logging.getLogger("laspy").setLevel(logging.CRITICAL)  # what it logs, our warnings say

TURN_POINTS = 1_600_000  # decoded in one go: some 60 MB
COPC_NODES = 128  # looked into for the sample of a COPC
SAMPLE_DECODE = 3_100_000  # points decoded at most for a sample: about 0.6 s of two cores
SAMPLE_BASE = 500  # points decoded of a chunk that is not decoded whole
SAMPLE_CHUNKS = 640  # of which at most so many are begun
SAMPLE_LOOKS = 9  # chunks decoded at most for a cell that is not found, where there is time
SAMPLE_CANDIDATES = 2048  # and the ways of at most so many looked at
WHOLE_FILE = 64 << 20  # an uncompressed file up to this size is read whole for a sample


def dimensions_of(header: laspy.LasHeader) -> tuple[Dimension, ...]:
    """The point format's dimensions with the scale, offset and no-data value of extra ones."""
    described = {
        item.format_name(): item
        for vlr in header.vlrs
        if isinstance(vlr, ExtraBytesVlr)
        for item in vlr.extra_bytes_structs
    }
    found = []
    for dim in header.point_format.dimensions:
        dtype = dim.dtype or np.dtype("u1")
        item = described.get(dim.name) if not dim.is_standard else None
        no_data = item.no_data if item is not None and item.data_type else None
        found.append(
            Dimension(
                name=dim.name,
                dtype=dtype.base.name if dim.num_elements == 1 else str(dtype),
                description=dim.description or "",
                scale=float(dim.scales[0]) if dim.scales is not None else None,
                offset=float(dim.offsets[0]) if dim.offsets is not None else None,
                no_data=no_data[0].item() if no_data is not None else None,
                extra=not dim.is_standard,
            )
        )
    return tuple(found)


def vec3(values: Any) -> Vec3:
    """Three numbers as a tuple of Python floats."""
    x, y, z = (float(v) for v in values)
    return x, y, z


class LasSource:
    """A LAS, LAZ or COPC file; ``open_stream`` gives a fresh seekable binary stream of it."""

    def __init__(
        self, path: str, size: int, open_stream: Callable[[], BinaryIO], prj: Any = None
    ) -> None:
        self._open = open_stream
        self._size = size
        self._name = PurePath(path).name or path
        with open_stream() as stream:
            self._file = read_las_header(stream, size, self._name)
            self._laz: LazFormat | None = None
            self._chunks: list[Chunk] | None = None
            warnings = list(self._file.warnings)
            if self._file.compressed and self._file.laszip is not None:
                self._laz = LazFormat(self._file.laszip, self._file.record_length, self._name)
                self._chunks = self._plan_chunks(stream, self._laz, warnings)
            self._points = self._present(warnings)
        self._info = self._first_info(path, warnings, prj)

    @property
    def header(self) -> laspy.LasHeader:
        """The file's own header; its point count is what it claims, not what is there."""
        return self._file.header

    @property
    def info(self) -> CloudInfo:
        """The header's facts, and the points' own once `records` has run to its end."""
        return self._info

    @property
    def chunks(self) -> tuple[Chunk, ...] | None:
        """The LAZ chunks in file order; None for an uncompressed file or one without a table."""
        return tuple(self._chunks) if self._chunks is not None else None

    def close(self) -> None:
        """Nothing stays open between calls."""

    # -- what is there -----------------------------------------------------------------------

    def _plan_chunks(
        self, stream: BinaryIO, laz: LazFormat, warnings: list[CloudWarning]
    ) -> list[Chunk] | None:
        file = self._file
        if file.declared == 0:
            return []
        chunks = read_chunk_table(
            stream, file.points_at, file.points_end, self._size, laz, file.declared
        )
        if chunks is not None:
            held = sum(chunk.points for chunk in chunks)
            if held == file.declared:
                behind = chunks_end(stream, file.points_at) - chunks[-1].at - chunks[-1].size
                if behind > 0:
                    warnings.append(
                        CloudWarning(
                            "trailing_data",
                            f"Behind its {file.declared:,} points the file holds {behind:,} more "
                            "bytes of chunks, which were not read.",
                        )
                    )
                return chunks
            if laz.chunk_size == VARIABLE or held < file.declared:
                warnings.append(
                    CloudWarning(
                        "chunk_count",
                        f"The header counts {file.declared:,} points, the chunk table {held:,}; "
                        "the chunks are read.",
                    )
                )
            return chunks
        warnings.append(
            CloudWarning(
                "chunk_table_missing",
                "The LAZ chunk table is missing or damaged, as in a file cut short; its points "
                "are found by reading from the start.",
            )
        )
        if laz.layered:
            return rebuild_chunk_table(stream, file.points_at, file.points_end, laz, file.declared)
        return None

    def _present(self, warnings: list[CloudWarning]) -> int:
        """Points that are there as far as sizes tell, with a warning where that is not all."""
        file = self._file
        room = max(file.points_end - file.points_at, 0)
        if self._laz is not None:
            if self._chunks is not None:
                return sum(chunk.points for chunk in self._chunks)
            return min(file.declared, room * MAX_POINTS_A_BYTE)
        whole = room // file.record_length
        if whole < file.declared:
            warnings.append(self._missing(file.declared - whole, whole))
        elif whole > file.declared and file.points_end == self._size:
            warnings.append(
                CloudWarning(
                    "trailing_data",
                    f"Behind its {file.declared:,} points the file holds "
                    f"{room - file.declared * file.record_length:,} more bytes, which were "
                    "not read.",
                )
            )
        return min(whole, file.declared)

    def _missing(self, missing: int, there: int) -> CloudWarning:
        return CloudWarning(
            "points_missing",
            f"The header promises {self._file.declared:,} points, but {there:,} are whole and "
            f"{missing:,} are missing, as in a file cut short; copy it again.",
        )

    def _first_info(self, path: str, warnings: list[CloudWarning], prj: Any) -> CloudInfo:
        file, header = self._file, self._file.header
        low, high = vec3(header.mins), vec3(header.maxs)
        known, said = crs_module.crs_from_header(header)
        if known == UNKNOWN_CRS and prj is not None:
            known, more = crs_module.crs_from_prj(prj)
            said += more
        some = self._points > 0
        known, more = crs_module.settle(known, low if some else None, high if some else None)
        warnings += said + more
        names = set(header.point_format.dimension_names)
        if header.point_format.has_waveform_packet:
            warnings.append(
                CloudWarning(
                    "waveforms_not_shown",
                    "The points carry waveforms, which are kept on export but not shown.",
                )
            )
        gps: Literal["none", "week", "adjusted"] = "none"
        if "gps_time" in names:
            gps = "adjusted" if header.global_encoding.value & 1 else "week"
        if file.copc:
            kind = "copc"
        else:
            kind = "laz" if file.compressed else "las"
        software = header.generating_software
        return CloudInfo(
            path=path,
            name=self._name,
            format=kind,
            version=f"{header.version.major}.{header.version.minor}",
            point_format=header.point_format.id,
            points=self._points,
            declared_points=file.declared,
            bounds_min=low if some else None,
            bounds_max=high if some else None,
            scale=vec3(header.scales),
            offset=vec3(header.offsets),
            crs=known,
            dimensions=dimensions_of(header),
            color_depth=None,
            classes={},
            returns={},
            gps_time=gps,
            software=software.decode("latin-1") if isinstance(software, bytes) else software,
            created=header.creation_date.isoformat() if header.creation_date else None,
            vlrs=file.vlrs,
            warnings=merge((), warnings),
            header_hash=file.head_hash,
            extra={
                "recordLength": file.record_length,
                "globalEncoding": header.global_encoding.value,
                "fileSize": self._size,
            },
        )

    # -- points ------------------------------------------------------------------------------

    def _record(self, raw: Any) -> laspy.ScaleAwarePointRecord:
        header = self._file.header
        array = np.frombuffer(raw, dtype=header.point_format.dtype())
        return laspy.ScaleAwarePointRecord(
            array, header.point_format, header.scales, header.offsets
        )

    def _stream(self) -> BinaryIO:
        try:
            return self._open()
        except OSError as error:
            raise CloudError(
                f"{self._name} can't be read any more ({error.strerror or error}): "
                "put it back or close the cloud."
            ) from error

    def records(self, chunk_size: int = 1_000_000) -> Iterator[laspy.PackedPointRecord]:
        """Every whole point in file order; see `Source.records`."""
        checks = PointChecks(self._file.header)
        lost: list[Lost] = []
        with self._stream() as stream:
            for raw in self._raw(stream, chunk_size, lost):
                record = self._record(raw)
                for start in range(0, len(record), chunk_size):
                    whole = len(record) <= chunk_size
                    piece = record if whole else record[start : start + chunk_size]
                    checks.add(piece)
                    yield piece
        self._finish(checks, lost)

    def _raw(self, stream: BinaryIO, chunk_size: int, lost: list[Lost]) -> Iterator[Any]:
        if self._laz is not None:
            if self._chunks is not None:
                yield from stream_chunks(stream, self._laz, self._chunks, chunk_size, lost)
                return
            start = self._file.points_at + 8
            whole = Chunk(0, self._points, start, max(self._file.points_end - start, 0))
            yield from stream_serial(stream, self._laz, whole, lost)
            return
        length = self._file.record_length
        stream.seek(self._file.points_at)
        left = self._points
        while left:
            raw = bytearray(stream.read(min(left, chunk_size) * length))
            got = len(raw) // length
            if not got:
                lost.append(Lost(left, stream.tell(), "the file has become shorter"))
                return
            left -= got
            yield raw[: got * length]

    def _finish(self, checks: PointChecks, lost: list[Lost]) -> None:
        file = self._file
        info = checks.apply(self._info)
        if lost or (self._laz is not None and checks.points < file.declared):
            damaged = [item for item in lost if item.points]
            missing = max(file.declared - checks.points, sum(item.points for item in damaged))
            warning = self._missing(missing, checks.points)
            if damaged:
                first = damaged[0]
                warning = CloudWarning(
                    "points_missing",
                    f"The header promises {file.declared:,} points, but {checks.points:,} could "
                    f"be read and {missing:,} are missing; the first damage lies in the chunk at "
                    f"byte {first.at:,} ({first.reason}).",
                )
            info = replace(info, warnings=merge(info.warnings, [warning]))
        known, said = crs_module.settle(info.crs, info.bounds_min, info.bounds_max)
        self._info = replace(info, crs=known, warnings=merge(info.warnings, said))

    @property
    def sampled(self) -> bool:
        """A sample is read when it is asked for."""
        return False

    def sample(self, count: int) -> laspy.PackedPointRecord:
        """About ``count`` points spread over the whole cloud.

        LAZ: the beginnings of chunks all over the file; LAS: short runs at even strides. Also
        gives ``info.color_depth`` a first value, until `records` has seen every point.
        """
        return self.sample_within(count, SAMPLE_DECODE)

    def sample_within(self, count: int, decode_points: int) -> laspy.PackedPointRecord:
        """`sample`, with at most about ``decode_points`` points decoded for it (LAZ)."""
        with self._stream() as stream:
            if self._laz is not None:
                record = self._record(self._sample_laz(stream, count, decode_points))
            else:
                record = self._record(self._sample_las(stream, count))
        if not self._info.checked and "red" in record.array.dtype.names and len(record):
            top = max(int(record.array[name].max()) for name in ("red", "green", "blue"))
            self._info = replace(self._info, color_depth=color_depth(top))
        return record

    def _sample_las(self, stream: BinaryIO, count: int) -> bytes:
        length, points, at = self._file.record_length, self._points, self._file.points_at
        if points <= count or points * length <= WHOLE_FILE:
            stream.seek(at)
            raw = np.frombuffer(stream.read(points * length), dtype=np.uint8)
            rows = raw[: len(raw) // length * length].reshape(-1, length)
            return rows.take(even(len(rows), count), axis=0).tobytes()
        run = max(1, -(-count // 20_000))
        parts = []
        for first in even(points - run, -(-count // run)):
            stream.seek(at + int(first) * length)
            parts.append(stream.read(run * length))
        whole = b"".join(parts)
        return whole[: len(whole) // length * length]

    def _sample_laz(self, stream: BinaryIO, count: int, decode_points: int) -> bytes:
        if self._chunks is None:
            return self._sample_serial(stream, count, decode_points)
        if not self._chunks:
            return b""
        chunks = [self._chunks[int(i)] for i in even(len(self._chunks), SAMPLE_CANDIDATES)]
        copc = self._info.format == "copc"
        if copc and max(chunk.points for chunk in self._chunks) <= LARGE_NODE:
            # each node's points are spread over its cell
            some = min(COPC_NODES, max(count // SAMPLE_BASE, 1))
            nodes = [self._chunks[int(i)] for i in even(len(self._chunks), some)]
            each = -(-count // len(nodes))
            return thinned(
                self._starts(stream, [(node, min(each, node.points), 0) for node in nodes]), count
            )
        whole = sum(chunk.points for chunk in self._chunks) <= decode_points
        if whole and len(chunks) == len(self._chunks):
            rows = self._starts(stream, [(chunk, chunk.points, 0) for chunk in chunks])
        else:
            rows = self._sample_chunks(stream, chunks, count, decode_points)
        return thinned(rows, count)

    def _starts(
        self, stream: BinaryIO, wanted: Sequence[tuple[Chunk, int, int]]
    ) -> list[npt.NDArray[np.uint8]]:
        """Points of chunks decoded: (chunk, up to, from) each, an (n, record length) array for
        each; of a damaged chunk what comes before the damage.
        """
        assert self._laz is not None
        length = self._laz.record_length
        found: list[npt.NDArray[np.uint8]] = []
        parts: list[tuple[int, bytes]] = []
        for index, (chunk, points, _) in enumerate(wanted):
            parts.append((points, self._laz.beginning(stream, chunk, points)))
            last = index + 1 == len(wanted)
            if last or sum(n + CHUNK_POINTS for n, _ in parts) > TURN_POINTS - wanted[index + 1][1]:
                ends = np.cumsum([n * length for n, _ in parts])[:-1]
                try:
                    found += np.split(decode(self._laz, parts), ends)
                except CodecError:
                    found += [salvage(self._laz, n, data)[0] for n, data in parts]
                parts = []
        rows = [raw.reshape(-1, length) for raw in found]
        return [r[skip:] for r, (_, _, skip) in zip(rows, wanted, strict=True)]

    def _sample_chunks(
        self, stream: BinaryIO, chunks: list[Chunk], count: int, decode_points: int
    ) -> list[npt.NDArray[np.uint8]]:
        """Beginnings of all chunks, then what the plan says until all cells are covered."""
        plan = self._plan(stream, chunks)
        seen = np.zeros(GRID * GRID, dtype=np.int64)
        found: list[npt.NDArray[np.uint8]] = []
        left = decode_points

        def take(wanted: Mapping[int, int]) -> None:
            """Decodes chunks up to so many points each."""
            nonlocal left
            rows = self._starts(stream, [(chunks[i], n, plan.done[i]) for i, n in wanted.items()])
            for part in rows:
                array = part.reshape(-1).view(self._file.header.point_format.dtype())
                seen[:] += plan.cells(array["X"], array["Y"])
            for i, n in wanted.items():
                plan.done[i] = n
                left -= n
            found.extend(rows)

        take({int(i): min(SAMPLE_BASE, chunks[i].points) for i in plan.begin(SAMPLE_CHUNKS)})
        take({i: chunks[i].points for i in sorted(plan.choose(left // 2, seen))})
        for looks in range(1, SAMPLE_LOOKS + 1):
            while left > (decode_points // 4 if looks > 1 else 0) and (
                more := plan.extend(min(left, decode_points // 10), seen, looks)
            ):
                take(dict(sorted(more.items())))
        lacking = min(count, decode_points) - (decode_points - left)
        if lacking > 0:  # all covered: the rest for depth
            rest = np.flatnonzero(plan.done < [chunk.points for chunk in chunks])
            some = rest[even(len(rest), -(-lacking // chunks[0].points))]
            take({int(i): chunks[i].points for i in some})
        return found

    def _plan(self, stream: BinaryIO, chunks: list[Chunk]) -> ChunkPlan:
        """The plan that the uncompressed first points of ``chunks`` and their followers give."""
        assert self._chunks is not None
        after = {chunk.at: self._chunks[i + 1] for i, chunk in enumerate(self._chunks[:-1])}
        following = [after.get(chunk.at, chunk) for chunk in chunks]
        heads = {chunk.at: b"" for chunk in (*chunks, *following)}
        for at in sorted(heads):
            stream.seek(at)
            heads[at] = stream.read(8).ljust(8, b"\0")  # X and Y
        ways = [
            np.array([np.frombuffer(heads[chunk.at], "<i4") for chunk in row], dtype=np.float64)
            for row in (chunks, following)
        ]
        header = self._file.header
        corners = np.array([header.mins[:2], header.maxs[:2]])
        with np.errstate(all="ignore"):
            low, high = np.sort((corners - header.offsets[:2]) / header.scales[:2], axis=0)
        box = (low, high) if np.isfinite([low, high]).all() else None
        counts = np.array([chunk.points for chunk in chunks], dtype=np.int64)
        return ChunkPlan(counts, ways[0], ways[1], box)

    def _sample_serial(self, stream: BinaryIO, count: int, decode_points: int) -> bytes:
        assert self._laz is not None
        start = self._file.points_at + 8
        there = min(self._points, decode_points)
        whole = Chunk(0, there, start, max(self._file.points_end - start, 0))
        parts = list(stream_serial(stream, self._laz, whole, []))
        if not parts:
            return b""
        rows = np.concatenate(parts).reshape(-1, self._laz.record_length)
        return rows.take(even(len(rows), count), axis=0).tobytes()


def even(total: int, count: int) -> npt.NDArray[np.int64]:
    """``count`` different indices spread evenly over ``range(total)``; all if there are fewer."""
    if total <= count:
        return np.arange(max(total, 0), dtype=np.int64)
    return (np.arange(count, dtype=np.int64) * total) // count


def thinned(rows: list[npt.NDArray[np.uint8]], count: int) -> bytes:
    """``count`` records spread evenly over ``rows`` as one, each (n, record length)."""
    ends = np.cumsum([len(part) for part in rows])
    wanted = even(int(ends[-1]) if len(ends) else 0, count)
    cuts = np.searchsorted(wanted, ends[:-1])
    firsts = [0, *ends[:-1]]
    picked = np.split(wanted, cuts)
    return b"".join(
        part.take(index - first, axis=0).tobytes()
        for part, index, first in zip(rows, picked, firsts, strict=True)
    )


def file_of(source: LasSource) -> LasFile:
    """The checked header facts of ``source``, for those who read its chunks themselves."""
    return source._file
