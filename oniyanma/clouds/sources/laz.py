"""LAZ point data: the chunk table, chunks decoded in parallel, damaged ones found and left out.

lazrs decodes. What it trusts blindly is checked before: the size of the chunk table, the sum of
its lengths, and in layered chunks (point formats 6-10) the layer sizes, any of which could make
it allocate gigabytes. It raises ``PanicException``, a ``BaseException``, for some damage.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import lazrs
import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import CloudError

VARIABLE = 0xFFFFFFFF
MAX_CHUNK_BYTES = 256 << 20  # a decoded chunk above this is streamed point by point
MAX_POINTS_A_BYTE = 1000  # no real LAZ packs more; a higher claim is damage
_FILL = 0xA5
# LASzip items 10-14 (formats 6-10): layers of each; BYTE14 has one a byte.
_LAYERS = {10: 9, 11: 1, 12: 2, 13: 1}


class CodecError(Exception):
    """lazrs could not decode; the text is its reason."""


def guarded(call: Any, *args: Any) -> Any:
    """``call(*args)``, any failure of lazrs (a Rust panic too) as `CodecError`."""
    try:
        return call(*args)
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:
        raise CodecError(str(error).split("\n", 1)[0] or type(error).__name__) from error


@dataclass(frozen=True)
class Chunk:
    """``points`` compressed points in ``size`` bytes at byte ``at``; ``first`` point number."""

    first: int
    points: int
    at: int
    size: int


@dataclass(frozen=True)
class Lost:
    """Points that could not be decoded, and where they should have been."""

    points: int
    at: int
    reason: str


class LazFormat:
    """What the LASzip record says, checked against the point record's length."""

    def __init__(self, record: bytes, record_length: int, name: str) -> None:
        if len(record) < 34:
            raise CloudError(f"{name} has a LASzip record of {len(record)} bytes instead of 34.")
        (items,) = struct.unpack_from("<H", record, 32)
        self.record = record
        self.record_length = record_length
        (self.compressor,) = struct.unpack_from("<H", record, 0)
        (self.chunk_size,) = struct.unpack_from("<I", record, 12)
        listed = [
            struct.unpack_from("<3H", record, 34 + 6 * i)
            for i in range(min(items, (len(record) - 34) // 6))
        ]
        if len(listed) != items or sum(item[1] for item in listed) != record_length:
            raise CloudError(
                f"{name} has a LASzip record that does not fit its point records of "
                f"{record_length} bytes: convert it again from its original."
            )
        self.layers = sum(size if kind == 14 else _LAYERS.get(kind, 0) for kind, size, _ in listed)
        try:
            self.vlr = guarded(lazrs.LazVlr, record)
            # Item versions are only looked at when a decoder is made: over an empty table here.
            empty = io.BytesIO(struct.pack("<qII", 8, 0, 0) + bytes(16))
            guarded(lazrs.LasZipDecompressor, empty, record)
        except CodecError as error:
            raise CloudError(
                f"{name} is compressed in a way that can't be decoded ({error}): "
                "write it again as LAS or with a current LAZ version."
            ) from error

    @property
    def layered(self) -> bool:
        """Whether each attribute is a layer of its own (point formats 6-10)."""
        return self.layers > 0

    def chunk_length(self, data: bytes) -> tuple[int, int] | None:
        """Points and bytes of the layered chunk that begins with ``data``; None if cut short."""
        at = self.record_length
        if len(data) < at + 4 + 4 * self.layers:
            return None
        count, *sizes = struct.unpack_from(f"<{1 + self.layers}I", data, at)
        return count, at + 4 + 4 * self.layers + sum(sizes)

    def beginning(self, stream: BinaryIO, chunk: Chunk, points: int) -> bytes:
        """The bytes at ``chunk`` that its first ``points`` are decoded from, as a chunk."""
        stream.seek(chunk.at)
        if points >= chunk.points:
            return stream.read(chunk.size)
        room = 2 * points * self.record_length + 1024
        if not self.layered:
            return stream.read(min(room, chunk.size))
        at = self.record_length + 4
        head = stream.read(at + 4 * self.layers)
        if len(head) < at + 4 * self.layers:
            return head
        sizes = struct.unpack_from(f"<{self.layers}I", head, at)
        layers, start = [], chunk.at + len(head)
        for size in sizes:
            stream.seek(start)
            layers.append(stream.read(min(size, room, max(chunk.at + chunk.size - start, 0))))
            start += size
        kept = struct.pack(f"<{self.layers}I", *map(len, layers))
        return b"".join([head[:at], kept, *layers])

    def safe(self, data: bytes) -> bool:
        """Whether a layered chunk's layers lie within its bytes (else lazrs may eat memory)."""
        if not self.layered:
            return True
        length = self.chunk_length(data)
        return length is not None and length[1] <= len(data)


def chunks_end(stream: BinaryIO, start: int) -> int:
    """The byte behind the chunks of point data from ``start`` on, where its table says it lies."""
    stream.seek(start)
    (table_at,) = struct.unpack("<q", stream.read(8))
    if table_at == -1:  # written without going back: the last eight bytes say it
        stream.seek(-8, io.SEEK_END)
        (table_at,) = struct.unpack("<q", stream.read(8))
    return int(table_at)


def read_chunk_table(
    stream: BinaryIO, start: int, end: int, size: int, laz: LazFormat, points: int
) -> list[Chunk] | None:
    """The chunk table of point data in bytes ``start`` to ``end``; None if absent or damaged."""
    if end - start < 8:
        return None
    table_at = chunks_end(stream, start)
    if not start + 8 <= table_at <= size - 8:
        return None
    stream.seek(table_at)
    version, count = struct.unpack("<II", stream.read(8))
    room = table_at - start - 8
    if version != 0 or count > room // laz.record_length + 2:
        return None
    stream.seek(table_at)
    raw = stream.read(min(size - table_at, 8 + 16 * count + 4096))
    try:
        entries = guarded(lazrs.read_chunk_table_only, io.BytesIO(raw), laz.vlr)
    except CodecError:
        return None
    if sum(entry[1] for entry in entries) > room:
        return None
    chunks: list[Chunk] = []
    first, at = 0, start + 8
    for held, length in entries:
        if laz.chunk_size != VARIABLE:
            held = min(laz.chunk_size, points - first)
        if held > 0:
            chunks.append(Chunk(first, int(held), at, int(length)))
        first, at = first + held, at + length
    return chunks


def rebuild_chunk_table(
    stream: BinaryIO, start: int, end: int, laz: LazFormat, points: int
) -> list[Chunk]:
    """The chunks of layered data found by walking them; the last may be cut short."""
    chunks: list[Chunk] = []
    first, at = 0, start + 8
    while at < end and first < points:
        stream.seek(at)
        length = laz.chunk_length(stream.read(laz.record_length + 4 + 4 * laz.layers))
        if length is None or length[0] == 0:
            break
        held = min(length[0], points - first)
        chunks.append(Chunk(first, held, at, min(length[1], end - at)))
        first, at = first + held, at + length[1]
    return chunks


def decode(laz: LazFormat, parts: list[tuple[int, bytes]]) -> npt.NDArray[np.uint8]:
    """The first points of each of ``parts`` (point count, chunk bytes), decoded in parallel.

    Raises:
        CodecError: one of the chunks is damaged.
    """
    if not all(laz.safe(data) for _, data in parts):
        raise CodecError("a layer is longer than its chunk")
    out = np.empty(sum(count for count, _ in parts) * laz.record_length, dtype=np.uint8)
    table = [(count, len(data)) for count, data in parts]
    guarded(
        lazrs.decompress_points_with_chunk_table,
        b"".join(data for _, data in parts),
        laz.record,
        out,
        table,
    )
    return out


def salvage(laz: LazFormat, count: int, data: bytes) -> tuple[npt.NDArray[np.uint8], str]:
    """What comes before the damage in one chunk, and what the damage is."""
    out = np.full(count * laz.record_length, _FILL, dtype=np.uint8)
    reason = ""
    if not laz.safe(data):
        return out[:0], "it is cut short or damaged"
    try:
        guarded(
            lazrs.decompress_points_with_chunk_table, data, laz.record, out, [(count, len(data))]
        )
    except CodecError as error:
        reason = str(error)
        out = _written(out, laz.record_length)
    return out, reason


def _written(out: npt.NDArray[np.uint8], record_length: int) -> npt.NDArray[np.uint8]:
    """The whole points that were written into a buffer of fill bytes, but the last touched."""
    rows = out.reshape(-1, record_length)
    touched = np.flatnonzero((rows != _FILL).any(axis=1))
    whole = int(touched[-1]) if len(touched) else 0
    return out[: whole * record_length]


def stream_chunks(
    stream: BinaryIO, laz: LazFormat, chunks: list[Chunk], batch: int, lost: list[Lost]
) -> Iterator[npt.NDArray[np.uint8]]:
    """Decoded bytes of ``chunks`` in order, some ``batch`` points at a time.

    Chunks that can't be decoded are left out and noted in ``lost``.
    """
    group: list[Chunk] = []
    waiting = 0
    for chunk in [*chunks, None]:
        full = chunk is None or (group and waiting + chunk.points > batch)
        if full and group:
            yield from _decode_group(stream, laz, group, lost)
            group, waiting = [], 0
        if chunk is None:
            return
        if chunk.points * laz.record_length > MAX_CHUNK_BYTES:
            yield from _large_chunk(stream, laz, chunk, lost)
            continue
        group.append(chunk)
        waiting += chunk.points


def _decode_group(
    stream: BinaryIO, laz: LazFormat, group: list[Chunk], lost: list[Lost]
) -> Iterator[npt.NDArray[np.uint8]]:
    parts = []
    for chunk in group:
        stream.seek(chunk.at)
        parts.append((chunk.points, stream.read(chunk.size)))
    try:
        yield decode(laz, parts)
        return
    except CodecError:
        pass
    for chunk, (count, data) in zip(group, parts, strict=True):
        out, reason = salvage(laz, count, data)
        if reason:
            lost.append(Lost(count - len(out) // laz.record_length, chunk.at, reason))
        if len(out):
            yield out


def _large_chunk(
    stream: BinaryIO, laz: LazFormat, chunk: Chunk, lost: list[Lost]
) -> Iterator[npt.NDArray[np.uint8]]:
    """One chunk too large for memory, a piece at a time."""
    if chunk.points > chunk.size * MAX_POINTS_A_BYTE:
        lost.append(Lost(chunk.points, chunk.at, f"{chunk.size} bytes can't hold so many points"))
        return
    if laz.layered:
        stream.seek(chunk.at)
        head = stream.read(laz.record_length + 4 + 4 * laz.layers)
        length = laz.chunk_length(head)
        if length is None or length[1] > chunk.size:
            lost.append(Lost(chunk.points, chunk.at, "it is cut short or damaged"))
            return
    yield from stream_serial(stream, laz, chunk, lost)


def stream_serial(
    stream: BinaryIO, laz: LazFormat, chunk: Chunk, lost: list[Lost]
) -> Iterator[npt.NDArray[np.uint8]]:
    """The points of ``chunk`` decoded one after another; it may span many chunks of the file."""
    step, done = 100_000, 0
    try:
        decoder = guarded(lazrs.LasZipDecompressor, _Tableless(stream, laz, chunk), laz.record)
    except CodecError as error:
        lost.append(Lost(chunk.points, chunk.at, str(error)))
        return
    while done < chunk.points:
        count = min(step, chunk.points - done)
        out = np.full(count * laz.record_length, _FILL, dtype=np.uint8)
        try:
            guarded(decoder.decompress_many, out)
        except CodecError as error:
            out = _written(out, laz.record_length)
            done += len(out) // laz.record_length
            if len(out):
                yield out
            lost.append(Lost(chunk.points - done, chunk.at, str(error)))
            return
        done += count
        yield out


class _Tableless:
    """Compressed bytes dressed as LAZ point data with a chunk table, which lazrs insists on.

    Position 0 holds the table's offset, position 8 the data, and far behind the data's end (where
    reading finds nothing) a made-up table.
    """

    def __init__(self, stream: BinaryIO, laz: LazFormat, chunk: Chunk) -> None:
        self._stream, self._start, self._end = stream, chunk.at - 8, 8 + chunk.size
        self._table_at = self._end + (1 << 20)
        table = io.BytesIO()
        lazrs.write_chunk_table(table, [(chunk.points, chunk.size)], laz.vlr)
        self._table = table.getvalue()
        self._at = 0

    def read(self, count: int) -> bytes:
        if self._at < 8:
            data = struct.pack("<q", self._table_at)[self._at : self._at + count]
        elif self._at < self._end:
            self._stream.seek(self._start + self._at)
            data = self._stream.read(min(count, self._end - self._at))
        else:
            begin = self._at - self._table_at
            data = self._table[begin : begin + count] if begin >= 0 else b""
        self._at += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        base = {0: 0, 1: self._at, 2: self._table_at + len(self._table)}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at
