"""The header of a LAS or LAZ file, read with its promises checked against the file's size.

laspy parses it, after this module has made sure that nothing in it makes laspy run away: every
count and length is compared with the bytes that are there, and a copy of the header with the
impossible ones put right is what laspy gets to see.
"""

from __future__ import annotations

import hashlib
import io
import math
import struct
from dataclasses import dataclass, field
from typing import BinaryIO

import laspy
from laspy.point.dims import ALL_POINT_FORMATS_DTYPE
from laspy.vlrs.known import ExtraBytesStruct
from laspy.vlrs.vlrlist import VLRList

from oniyanma.clouds.model import CloudError, CloudWarning

# LAS 1.0-1.5: the least header size of each minor version.
HEADER_SIZES = {0: 227, 1: 227, 2: 227, 3: 235, 4: 375, 5: 393}
MAX_VLR_BYTES = 64 << 20
MAX_VLRS = 100_000
VLR_HEAD, EVLR_HEAD = 54, 60
LASZIP_ID = (b"laszip encoded", 22204)
EXTRA_BYTES_ID = (b"LASF_Spec", 4)
COPC_ID = (b"copc", 1)


@dataclass
class LasFile:
    """What the front of a LAS file says, made safe."""

    header: laspy.LasHeader
    declared: int  # points the header claims
    record_length: int
    points_at: int  # byte where point data begins
    points_end: int  # byte where point data must end
    compressed: bool
    copc: bool
    laszip: bytes | None
    head_hash: str
    vlrs: tuple[str, ...]
    warnings: list[CloudWarning] = field(default_factory=list)


@dataclass
class _Vlr:
    user_id: bytes
    record_id: int
    at: int  # in the front bytes
    length: int


def _fields(front: bytes) -> dict[str, int]:
    names = ("header_size", "offset", "n_vlrs", "format", "length", "legacy")
    return dict(zip(names, struct.unpack_from("<HIIBHI", front, 94), strict=True))


def read_las_header(stream: BinaryIO, size: int, name: str) -> LasFile:
    """Read and check the header of ``stream``, ``size`` bytes long.

    Raises:
        CloudError: the file is no LAS, or its header can't be right.
    """
    if size == 0:
        raise CloudError(f"{name} is empty (0 bytes): choose a file with points.")
    stream.seek(0)
    front = stream.read(393)
    if front[:4] != b"LASF":
        raise CloudError(
            f"{name} is no LAS file: it begins with {front[:4]!r} instead of 'LASF'; "
            "check that the right file was chosen."
        )
    if len(front) < 227:
        raise CloudError(
            f"{name} ends within its header (byte {size} of at least 227): copy the file again."
        )
    major, minor = front[24], front[25]
    if major != 1 or minor not in HEADER_SIZES:
        raise CloudError(
            f"{name} says it is LAS {major}.{minor} (byte 24); versions 1.0 to 1.5 can be read."
        )
    said = _fields(front)
    _check_sizes(said, minor, size, name)
    stream.seek(0)
    front = stream.read(min(said["header_size"], size))
    if len(front) < said["header_size"]:
        raise CloudError(
            f"{name} ends within its header (byte {size} of {said['header_size']}): "
            "copy the file again."
        )
    warnings: list[CloudWarning] = []
    if minor == 5:
        warnings.append(
            CloudWarning(
                "newer_version",
                "The file is LAS 1.5, newer than the 1.4 this program was made for; "
                "its points were read as 1.4 lays them out.",
            )
        )
    _check_scales(front, name)
    body, records = _read_vlrs(stream, said, min(size, said["offset"]), warnings)
    patched = bytearray(front + body)
    struct.pack_into("<I", patched, 100, len(records))
    _repair_extra_bytes(patched, records, said, warnings)
    declared = _declared(front, minor, said, warnings)
    header = _parse(bytes(patched), records, name, warnings)
    header.point_count = declared
    points_end = _read_evlrs(stream, header, front, minor, size, said["offset"], warnings)
    laszip = _record(patched, records, LASZIP_ID)
    compressed = bool(said["format"] & 0x80)
    if compressed and laszip is None:
        raise CloudError(
            f"{name} is marked as compressed but has no LASzip record, so its points can't be "
            "decoded: convert it again from its original."
        )
    return LasFile(
        header=header,
        declared=declared,
        record_length=said["length"],
        points_at=said["offset"],
        points_end=points_end,
        compressed=compressed,
        copc=compressed and any((v.user_id, v.record_id) == COPC_ID for v in records[:1]),
        laszip=laszip,
        head_hash=hashlib.sha256(front + body).hexdigest(),
        vlrs=_describe(header),
        warnings=warnings,
    )


def _check_sizes(said: dict[str, int], minor: int, size: int, name: str) -> None:
    least = HEADER_SIZES[minor]
    if said["header_size"] < least:
        raise CloudError(
            f"{name} claims a header of {said['header_size']} bytes (byte 94); LAS 1.{minor} needs "
            f"at least {least}."
        )
    if said["offset"] < said["header_size"]:
        raise CloudError(
            f"{name} claims that its points begin at byte {said['offset']} (byte 96), within its "
            f"header of {said['header_size']} bytes."
        )
    kind = said["format"] & 0x3F
    if kind > 10:
        raise CloudError(f"{name} has point format {kind} (byte 104); formats 0 to 10 can be read.")
    least = ALL_POINT_FORMATS_DTYPE[kind].itemsize
    if said["length"] < least:
        raise CloudError(
            f"{name} claims point records of {said['length']} bytes (byte 105); format {kind} "
            f"needs at least {least}."
        )
    if said["offset"] > size:
        raise CloudError(
            f"{name} holds none of its points: they should begin at byte {said['offset']}, "
            f"but the file ends at byte {size}; copy the file again."
        )


def _check_scales(front: bytes, name: str) -> None:
    values = struct.unpack_from("<6d", front, 131)
    for axis, scale, offset in zip("XYZ", values[:3], values[3:], strict=True):
        reach = abs(scale) * 2.0**31 + abs(offset)
        if not math.isfinite(reach) or scale == 0:
            raise CloudError(
                f"{name} has the {axis} scale {scale:g} and offset {offset:g} (byte 131), which "
                "give no coordinates: repair the header."
            )


def _declared(front: bytes, minor: int, said: dict[str, int], warnings: list[CloudWarning]) -> int:
    if minor < 4:
        return said["legacy"]
    (count,) = struct.unpack_from("<Q", front, 247)
    legacy = said["legacy"]
    if count == 0 and legacy:
        warnings.append(
            CloudWarning(
                "legacy_count_only",
                f"The 64-bit point count is 0; the old 32-bit one ({legacy:,}) is used.",
            )
        )
        return legacy
    if legacy and legacy != count:
        warnings.append(
            CloudWarning(
                "legacy_count_differs",
                f"The header counts {count:,} points in its 64-bit field and {legacy:,} in its "
                "old 32-bit one; the first is used.",
            )
        )
    return int(count)


def _read_vlrs(
    stream: BinaryIO, said: dict[str, int], limit: int, warnings: list[CloudWarning]
) -> tuple[bytes, list[_Vlr]]:
    """The bytes of the VLRs that are whole, and of the gap behind them (1 MiB at most)."""
    start = said["header_size"]
    stream.seek(start)
    parts: list[bytes] = []
    records: list[_Vlr] = []
    at = start
    while len(records) < min(said["n_vlrs"], MAX_VLRS) and at - start < MAX_VLR_BYTES:
        head = stream.read(VLR_HEAD) if at + VLR_HEAD <= limit else b""
        if len(head) < VLR_HEAD:
            break
        record_id, length = struct.unpack_from("<HH", head, 18)
        if at + VLR_HEAD + length > limit:
            break
        data = stream.read(length)
        if len(data) < length:
            break
        user_id = head[2:18].split(b"\0")[0]
        if not _decodes(user_id):
            head = head[:2] + bytes(b if b < 128 else 63 for b in head[2:18]) + head[18:]
            warnings.append(
                CloudWarning("vlr_damaged", f"The VLR at byte {at} has a name that is no text.")
            )
        records.append(_Vlr(user_id, record_id, at + VLR_HEAD, length))
        parts += [head, data]
        at += VLR_HEAD + length
    if len(records) < said["n_vlrs"]:
        warnings.append(
            CloudWarning(
                "vlr_count",
                f"The header promises {said['n_vlrs']:,} VLRs, but {len(records):,} are whole "
                f"before the points; the one at byte {at} was not read.",
            )
        )
    stream.seek(at)
    parts.append(stream.read(min(max(limit - at, 0), 1 << 20)))
    return b"".join(parts), records


def _decodes(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _record(front: bytearray, records: list[_Vlr], wanted: tuple[bytes, int]) -> bytes | None:
    for vlr in records:
        if (vlr.user_id, vlr.record_id) == wanted:
            return bytes(front[vlr.at : vlr.at + vlr.length])
    return None


def _repair_extra_bytes(
    front: bytearray, records: list[_Vlr], said: dict[str, int], warnings: list[CloudWarning]
) -> None:
    """Make the Extra Bytes record fit the point records, or take its meaning away.

    Names are made unique and readable; a record that describes more bytes than a point has, or
    an undefined type, is renamed so that laspy carries the bytes along unexplained.
    """
    kind = said["format"] & 0x3F
    standard = ALL_POINT_FORMATS_DTYPE[kind]
    room = said["length"] - standard.itemsize
    for vlr in records:
        if (vlr.user_id, vlr.record_id) != EXTRA_BYTES_ID:
            continue
        raw = bytes(front[vlr.at : vlr.at + vlr.length])
        step = ExtraBytesStruct.size()
        total, problem = 0, "" if len(raw) % step == 0 else "its length is no multiple of 192"
        taken = {dim.name for dim in laspy.PointFormat(kind).dimensions} | set(standard.names or ())
        for index in range(0, len(raw) - step + 1, step):
            item = ExtraBytesStruct.from_buffer_copy(raw[index : index + step])
            if item.data_type > 30 or (item.data_type == 0 and item.options == 0):
                problem = f"dimension {index // step + 1} has the undefined type {item.data_type}"
                break
            total += item.dtype().itemsize
            text = item.name.decode("utf-8", "replace").replace("\ufffd", "_").strip()
            if not text or text in taken:
                text = f"{text or 'extra'}_{index // step + 1}"
            taken.add(text)
            encoded = text.encode()[:32]
            if encoded != item.name or not _decodes(item.description):
                base = vlr.at + index
                front[base + 4 : base + 36] = encoded.ljust(32, b"\0")
                clean = item.description.decode("utf-8", "replace").encode("ascii", "replace")
                front[base + 160 : base + 192] = clean[:32].ljust(32, b"\0")
        if not problem and total > room and room:
            problem = f"it describes {total} bytes and a point has {room} extra ones"
        if problem:
            front[vlr.at - VLR_HEAD + 2 : vlr.at - VLR_HEAD + 18] = b"LASF_Spec_broken"
            warnings.append(
                CloudWarning(
                    "extra_bytes_damaged",
                    f"The Extra Bytes record at byte {vlr.at} can't be right ({problem}); the "
                    f"{room} extra bytes of each point are kept without names.",
                )
            )


def _parse(
    front: bytes, records: list[_Vlr], name: str, warnings: list[CloudWarning]
) -> laspy.LasHeader:
    """laspy's header of the checked bytes, without the VLRs where laspy can't read them."""
    try:
        return laspy.LasHeader.read_from(io.BytesIO(front))
    except Exception as error:
        first = error
    bare = bytearray(front)
    struct.pack_into("<I", bare, 100, 0)
    try:
        header = laspy.LasHeader.read_from(io.BytesIO(bytes(bare)))
    except Exception as error:
        raise CloudError(f"{name} has a header that can't be read ({error}).") from error
    header.extra_vlr_bytes = b""
    warnings.append(
        CloudWarning("vlr_damaged", f"The {len(records)} VLRs can't be read ({first}).")
    )
    return header


def _read_evlrs(
    stream: BinaryIO,
    header: laspy.LasHeader,
    front: bytes,
    minor: int,
    size: int,
    points_at: int,
    warnings: list[CloudWarning],
) -> int:
    """Attach the EVLRs that fit in memory to ``header``; return where point data must end."""
    end = size
    wave = header.start_of_waveform_data_packet_record
    internal = minor >= 3 and header.global_encoding.waveform_data_packets_internal
    if internal and points_at <= wave < size:
        end = wave
    if minor < 4:
        return end
    header.evlrs = VLRList()
    start, count = struct.unpack_from("<QI", front, 235)
    if count == 0:
        return end
    at, read, total = start, 0, 0
    if points_at <= start < size:
        while read < min(count, MAX_VLRS) and at + EVLR_HEAD <= size:
            stream.seek(at)
            head = stream.read(EVLR_HEAD)
            (length,) = struct.unpack_from("<Q", head, 20)
            if len(head) < EVLR_HEAD or length > size - at - EVLR_HEAD:
                break
            total += length
            if length <= MAX_VLR_BYTES and total <= 4 * MAX_VLR_BYTES:
                _append_evlr(header.evlrs, head, stream.read(length), at, warnings)
            else:
                warnings.append(
                    CloudWarning(
                        "evlr_not_loaded",
                        f"The EVLR at byte {at} ({length:,} bytes) was not loaded into memory.",
                    )
                )
            at += EVLR_HEAD + length
            read += 1
        if read == count:
            end = min(end, start)
    if read < count:
        warnings.append(
            CloudWarning(
                "evlr_count",
                f"The header promises {count:,} EVLRs from byte {start} on, but {read:,} are "
                "whole.",
            )
        )
    return end


def _append_evlr(
    evlrs: VLRList, head: bytes, data: bytes, at: int, warnings: list[CloudWarning]
) -> None:
    if not _decodes(head[2:18].split(b"\0")[0]):
        warnings.append(
            CloudWarning("vlr_damaged", f"The EVLR at byte {at} has a name that is no text.")
        )
        return
    try:
        evlrs += VLRList.read_from(io.BytesIO(head + data), 1, extended=True)
    except Exception as error:
        warnings.append(CloudWarning("vlr_damaged", f"The EVLR at byte {at}: {error}."))


def _describe(header: laspy.LasHeader) -> tuple[str, ...]:
    lines = []
    for vlr in list(header.vlrs) + list(header.evlrs or []):
        about = vlr.description
        text = about.decode("latin-1") if isinstance(about, bytes) else about
        lines.append(f"{vlr.user_id}/{vlr.record_id} {text}".strip())
    return tuple(lines)
