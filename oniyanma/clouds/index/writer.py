"""Writing a COPC file: header, VLRs, chunks in any order, then hierarchy and other EVLRs.

Layouts: ASPRS LAS 1.4 R15 (header, VLR, EVLR), COPC 1.0 (info VLR, hierarchy page).
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import laspy
import lazrs
import numpy as np
import numpy.typing as npt

from oniyanma.clouds.copc import ENTRY
from oniyanma.clouds.index.facts import EVLR
from oniyanma.clouds.index.levels import Cube

HEADER = struct.Struct("<4sHH16sBB32s32sHHHIIBHI5I12dQQIQ15Q")
VLR = struct.Struct("<H16sHH32s")
assert HEADER.size == 375 and VLR.size == 54 and EVLR.size == 60

WKT_BIT = 16
LEFT_OUT = frozenset({("copc", 1), ("copc", 1000), ("laszip encoded", 22204), ("oniyanma", 1)})
GEOTIFF = frozenset({34735, 34736, 34737})


@dataclass(frozen=True)
class RawVlr:
    """A VLR or EVLR as bytes."""

    user_id: str
    record_id: int
    description: str
    data: bytes


@dataclass(eq=False)
class Totals:
    """What the header says of all points: counts, integer bounds, returns, GPS times."""

    points: int = 0
    low: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, np.int64))
    high: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, np.int64))
    returns: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(16, np.int64))
    gps: tuple[float, float] = (0.0, 0.0)


class CopcWriter:
    """Writes chunks as they come; `finish` completes the file."""

    def __init__(
        self,
        file: BinaryIO,
        source: laspy.LasHeader,
        format_id: int,
        extra_bytes: int,
        cube: Cube,
        wkt: str | None,
    ) -> None:
        self._file = file
        self._source = source
        self._format_id = format_id
        self._laz = lazrs.LazVlr.new_for_compression(format_id, extra_bytes, True)
        self._cube = cube
        self._vlrs = _carried(source, wkt)
        self._table: list[tuple[int, int]] = []
        self._entries: list[tuple[tuple[int, int, int, int], int, int, int]] = []
        self._info = RawVlr("copc", 1, "COPC info VLR", bytes(160))
        head = [self._info, RawVlr("laszip encoded", 22204, "", bytes(self._laz.record_data()))]
        self._all_vlrs = [*head, *self._vlrs]
        self._points_at = HEADER.size + sum(VLR.size + len(v.data) for v in self._all_vlrs)
        self._place = self._points_at + 8
        file.seek(self._place)

    def add(
        self, nodes: Sequence[tuple[tuple[int, int, int, int], int, int]], payload: bytes
    ) -> None:
        """Appends compressed chunks; ``nodes`` are (key, points, bytes) in the payload's order."""
        for key, points, size in nodes:
            self._entries.append((key, self._place, size, points))
            self._table.append((points, size))
            self._place += size
        self._file.write(payload)

    def finish(self, totals: Totals, evlrs: Sequence[RawVlr]) -> None:
        """Writes chunk table, hierarchy, other EVLRs and, last, the header."""
        table_at = self._place
        lazrs.write_chunk_table(self._file, self._table, self._laz)
        self._file.flush()
        evlr_at = self._file.seek(0, io.SEEK_END)
        hierarchy = self._hierarchy()
        records = [RawVlr("copc", 1000, "EPT hierarchy", hierarchy), *evlrs]
        for record in records:
            self._file.write(
                EVLR.pack(
                    0,
                    record.user_id.encode(),
                    record.record_id,
                    len(record.data),
                    record.description.encode()[:32],
                )
            )
            self._file.write(record.data)
        self._file.seek(0)
        self._file.write(self._header(totals, evlr_at, len(records)))
        info = struct.pack(
            "<5d2Q2d",
            *(self._cube.origin + self._cube.side / 2),
            self._cube.side / 2,
            self._cube.spacing,
            evlr_at + EVLR.size,
            len(hierarchy),
            *totals.gps,
        ) + bytes(88)
        for vlr in self._all_vlrs:
            data = info if vlr is self._info else vlr.data
            self._file.write(
                VLR.pack(
                    0,
                    vlr.user_id.encode(),
                    vlr.record_id,
                    len(data),
                    vlr.description.encode("utf-8", "replace")[:32],
                )
            )
            self._file.write(data)
        self._file.write(struct.pack("<q", table_at))

    def _hierarchy(self) -> bytes:
        """One page of all nodes, and of the empty ancestors that hold them together."""
        page = {key: (offset, size, count) for key, offset, size, count in self._entries}
        for depth, x, y, z in list(page):
            while depth > 0:
                depth, x, y, z = depth - 1, x >> 1, y >> 1, z >> 1
                if (depth, x, y, z) in page:
                    break
                page[depth, x, y, z] = (0, 0, 0)
        if not page:
            page[0, 0, 0, 0] = (0, 0, 0)
        rows = [(key, *page[key]) for key in sorted(page)]
        return np.array(rows, ENTRY).tobytes()

    def _header(self, totals: Totals, evlr_at: int, evlrs: int) -> bytes:
        source, scale, offset = self._source, self._source.scales, self._source.offsets
        ends = np.stack([totals.low, totals.high]) * scale + offset
        if not totals.points:
            ends = np.zeros((2, 3))
        low, high = ends.min(axis=0), ends.max(axis=0)
        date = source.creation_date
        encoding = source.global_encoding.value & ~WKT_BIT & ~6  # no waveform packets here
        return HEADER.pack(
            b"LASF",
            source.file_source_id,
            encoding | WKT_BIT,  # LAS 1.4 asks for it in formats 6 to 10, with or without a CRS
            source.uuid.bytes_le,
            1,
            4,
            _text(source.system_identifier),
            b"oniyanma",
            date.timetuple().tm_yday if date else 0,
            date.year if date else 0,
            HEADER.size,
            self._points_at,
            len(self._all_vlrs),
            self._format_id | 0x80,
            self._laz.item_size(),
            0,
            *(0,) * 5,
            *scale,
            *offset,
            *(value for pair in zip(high, low, strict=True) for value in pair),
            0,
            evlr_at,
            evlrs,
            totals.points,
            *(int(n) for n in totals.returns[1:16]),
        )


def raw_vlr(vlr: Any) -> RawVlr:
    """A laspy VLR as bytes."""
    return RawVlr(
        str(vlr.user_id), int(vlr.record_id), str(vlr.description), vlr.record_data_bytes()
    )


def _carried(source: laspy.LasHeader, wkt: str | None) -> list[RawVlr]:
    """The source's VLRs that still hold; a CRS known only otherwise is added as WKT."""
    kept = [raw_vlr(vlr) for vlr in source.vlrs if (vlr.user_id, vlr.record_id) not in LEFT_OUT]
    has_wkt = any(v.user_id == "LASF_Projection" and v.record_id == 2112 for v in kept)
    if not has_wkt and wkt:
        kept = [v for v in kept if v.user_id != "LASF_Projection" or v.record_id not in GEOTIFF]
        kept.append(RawVlr("LASF_Projection", 2112, "WKT", wkt.encode() + b"\0"))
    return [v for v in kept if len(v.data) <= 0xFFFF]


def _text(value: Any) -> bytes:
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
    return data[:32]
