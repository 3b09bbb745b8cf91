"""The front and the back of a LAS file as bytes: what an export must carry over untouched.

Layout: ASPRS LAS 1.4 R15. The header, VLRs and EVLRs are copied; only counts, bounds and places
are written anew.
"""

from __future__ import annotations

import copy
import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import laspy
import numpy as np

from oniyanma.clouds.index.facts import EVLR
from oniyanma.clouds.index.records import WAVEFORM_FORMATS
from oniyanma.clouds.index.writer import GEOTIFF, VLR, Totals
from oniyanma.clouds.model import CloudError, Source
from oniyanma.clouds.reading import ByteSource, open_bytes
from oniyanma.clouds.sources.las import LasSource, file_of

COPY_BYTES = 1 << 22
OWN = frozenset({("copc", 1), ("copc", 1000), ("laszip encoded", 22204), ("oniyanma", 1)})
WAVEFORM = ("LASF_Spec", 65535)
HEADER_14 = 375
WKT_BIT = 16


@dataclass(frozen=True)
class Record:
    """A VLR or EVLR: ``head`` and where its data is, in memory or in the source file."""

    id: tuple[str, int]
    head: bytes
    data: bytes = b""
    offset: int = 0
    length: int = 0

    def parts(self, file: ByteSource | None) -> Iterator[bytes]:
        """Head and data, in pieces."""
        yield self.head
        if self.data or file is None:
            yield self.data
            return
        done = 0
        while done < self.length:
            piece = file.read_at(self.offset + done, min(COPY_BYTES, self.length - done))
            if not piece:
                raise CloudError(f"the source ends within its record {self.id[0]}/{self.id[1]}.")
            yield piece
            done += len(piece)


@dataclass(eq=False)
class Front:
    """``header`` as it will be written; ``file`` is where records' data are read from."""

    header: bytearray
    vlrs: list[Record] = field(default_factory=list)
    evlrs: list[Record] = field(default_factory=list)
    file: ByteSource | None = None

    @property
    def minor(self) -> int:
        return self.header[25]

    @property
    def format_id(self) -> int:
        return self.header[104] & 0x3F

    def close(self) -> None:
        if self.file is not None:
            self.file.close()

    def start(self, out: BinaryIO, laszip: bytes | None, record_length: int) -> None:
        """Writes header and VLRs; points follow. ``laszip`` is its VLR's data for LAZ."""
        records = list(self.vlrs)
        if laszip is not None:
            head = VLR.pack(0, b"laszip encoded", 22204, len(laszip), b"")
            records.append(Record(("laszip encoded", 22204), head, laszip))
        size = sum(len(r.head) + max(len(r.data), r.length) for r in records)
        header = self.header
        struct.pack_into("<II", header, 96, len(header) + size, len(records))
        header[104] = self.format_id | (0x80 if laszip is not None else 0)
        struct.pack_into("<H", header, 105, record_length)
        out.write(header)
        for record in records:
            for part in record.parts(self.file):
                out.write(part)

    def finish(self, out: BinaryIO, totals: Totals, scale: np.ndarray, offset: np.ndarray) -> None:
        """Writes EVLRs behind the points and the header again, now that all is known."""
        at = out.seek(0, io.SEEK_END)
        waveform = 0
        for record in self.evlrs:
            if record.id == WAVEFORM:
                waveform = out.tell()
            for part in record.parts(self.file):
                out.write(part)
        header = self.header
        ends = np.stack([totals.low, totals.high]) * scale + offset
        if not totals.points:
            ends = np.zeros((2, 3))
        low, high = ends.min(axis=0), ends.max(axis=0)
        bounds = [v for pair in zip(high, low, strict=True) for v in pair]
        struct.pack_into("<6d", header, 179, *bounds)
        legacy = totals.points < 1 << 32 and self.format_id < 6
        if self.minor < 4 and not legacy:
            raise CloudError(
                f"LAS 1.{self.minor} can't count {totals.points} points; export as COPC."
            )
        counts = [int(n) for n in totals.returns[1:16]]
        struct.pack_into("<6I", header, 107, *([totals.points, *counts[:5]] if legacy else [0] * 6))
        if self.minor >= 3:
            struct.pack_into("<Q", header, 227, waveform)
        if self.minor >= 4:
            struct.pack_into("<QI", header, 235, at if self.evlrs else 0, len(self.evlrs))
            struct.pack_into("<16Q", header, 247, totals.points, *counts)
        out.seek(0)
        out.write(header)


def front_of(source: Source) -> Front:
    """The front of a LAS source as its file has it, of any other as its header says."""
    if isinstance(source, LasSource):
        return _front_of_file(source)
    out = io.BytesIO()
    header = copy.deepcopy(source.header)
    header.write_to(out)
    data = out.getvalue()
    (size,) = struct.unpack_from("<H", data, 94)
    front = Front(bytearray(data[:size]))
    place = size
    for vlr in header.vlrs:
        length = len(vlr.record_data_bytes())
        head, body = data[place : place + 54], data[place + 54 : place + 54 + length]
        place += 54 + length
        if (vlr.user_id, vlr.record_id) not in OWN:
            front.vlrs.append(Record((vlr.user_id, vlr.record_id), head, body))
    return front


def _front_of_file(source: LasSource) -> Front:
    file = open_bytes(source.info.path)
    head = file.read_at(0, 375)
    size, points_at, n_vlrs = struct.unpack_from("<HII", head, 94)
    front = Front(bytearray(file.read_at(0, size)), file=file)
    place = size
    for _ in range(n_vlrs):
        raw = file.read_at(place, VLR.size)
        if len(raw) < VLR.size or place + VLR.size > points_at:
            break
        _, user, record, length, _ = VLR.unpack(raw)
        if place + VLR.size + length > points_at:
            break
        id = (_name(user), record)
        if id not in OWN:
            front.vlrs.append(Record(id, raw, file.read_at(place + VLR.size, length)))
        place += VLR.size + length
    front.evlrs = list(_evlrs(source, file, front))
    return front


def _evlrs(source: LasSource, file: ByteSource, front: Front) -> Iterator[Record]:
    header = front.header
    wave = struct.unpack_from("<Q", header, 227)[0] if front.minor >= 3 else 0
    start, count = struct.unpack_from("<QI", header, 235) if front.minor >= 4 else (wave, 1)
    if front.minor < 3 or not start or start < file_of(source).points_at:
        return
    for _ in range(count):
        raw = file.read_at(start, EVLR.size)
        if len(raw) < EVLR.size:
            return
        _, user, record, length, _ = EVLR.unpack(raw)
        if start + EVLR.size + length > file.size:
            return
        id = (_name(user), record)
        if id not in OWN:
            yield Record(id, raw, offset=start + EVLR.size, length=length)
        start += EVLR.size + length


def raise_format(front: Front, format_id: int, wkt: str | None) -> None:
    """Makes the header one of LAS 1.4 with ``format_id`` (6-10); the CRS becomes WKT."""
    header = front.header
    if len(header) < HEADER_14:
        header.extend(bytes(HEADER_14 - len(header)))
    del header[HEADER_14:]
    if front.minor < 3:
        header[227:235] = bytes(8)
    header[25] = 4
    struct.pack_into("<H", header, 94, HEADER_14)
    header[104] = format_id
    has_wkt = any(record.id == ("LASF_Projection", 2112) for record in front.vlrs)
    if not has_wkt and wkt:
        data = wkt.encode() + b"\0"
        front.vlrs = [
            r for r in front.vlrs if r.id[0] != "LASF_Projection" or r.id[1] not in GEOTIFF
        ]
        head = VLR.pack(0, b"LASF_Projection", 2112, len(data), b"WKT")
        front.vlrs.append(Record(("LASF_Projection", 2112), head, data))
    (encoding,) = struct.unpack_from("<H", header, 6)
    struct.pack_into("<H", header, 6, encoding | WKT_BIT)


def raised_format(source: laspy.PointFormat) -> int:
    """The format of LAS 1.4 (6-10) that holds all fields of a format below 6."""
    names = set(source.dimension_names)
    wave = source.id in WAVEFORM_FORMATS
    if "red" in names:
        return 10 if wave else 7
    return 9 if wave else 6


def _name(user: bytes) -> str:
    return user.split(b"\0")[0].decode("utf-8", "replace")
