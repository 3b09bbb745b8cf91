"""Decoding one COPC node into arrays: what a worker process does, and the inline mode too.

Imports NumPy and lazrs only, so that a worker starts quickly.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import lazrs
import numpy as np
import numpy.typing as npt

from oniyanma.clouds.packed import SCAN_ANGLE_STEP

MAX_NODE_BYTES = 1 << 30
"""A node that says it is larger than this, decoded, is refused: no header may eat the memory."""

ReadAt = Callable[[int, int], bytes]

_LAYERS: Mapping[str, int] = {
    "classification": lazrs.SELECTIVE_DECOMPRESS_CLASSIFICATION,
    "intensity": lazrs.SELECTIVE_DECOMPRESS_INTENSITY,
    "gps_time": lazrs.SELECTIVE_DECOMPRESS_GPS_TIME,
    "scan_angle": lazrs.SELECTIVE_DECOMPRESS_SCAN_ANGLE,
    "scan_angle_rank": lazrs.SELECTIVE_DECOMPRESS_SCAN_ANGLE,
    "user_data": lazrs.SELECTIVE_DECOMPRESS_USER_DATA,
    "point_source_id": lazrs.SELECTIVE_DECOMPRESS_POINT_SOURCE_ID,
    "red": lazrs.SELECTIVE_DECOMPRESS_RGB,
    "green": lazrs.SELECTIVE_DECOMPRESS_RGB,
    "blue": lazrs.SELECTIVE_DECOMPRESS_RGB,
    "nir": lazrs.SELECTIVE_DECOMPRESS_NIR,
    "bit_fields": 0,  # return number and number of returns come with x and y
    "classification_flags": lazrs.SELECTIVE_DECOMPRESS_FLAGS,
}


_ITEM_LAYERS = {10: 9, 11: 1, 12: 2, 13: 1}  # LASzip items of formats 6-10: layers of each


class NodeError(Exception):
    """A node's bytes that can't be read or decoded: one sentence."""


@dataclass(frozen=True)
class NodeFormat:
    """What decoding needs to know of a COPC file.

    ``dtype`` is the packed record; ``subfields`` maps a name to (field, mask, shift) in it;
    ``stamp`` tells the file from another one that takes its place.
    """

    path: str
    laz_vlr: bytes
    dtype: np.dtype[Any]
    subfields: Mapping[str, tuple[str, int, int]]
    stamp: str = ""

    @property
    def names(self) -> frozenset[str]:
        """Attributes that can be asked for."""
        extra = {"scan_angle_rank"} if "scan_angle" in (self.dtype.names or ()) else set()
        return frozenset(self.dtype.names or ()) | set(self.subfields) | extra


@dataclass(frozen=True)
class NodeJob:
    """One node to decode: where its chunk lies, how many points it says it holds, what for."""

    key: tuple[int, int, int, int]
    offset: int
    size: int
    count: int
    attributes: tuple[str, ...]


def decode_node(
    fmt: NodeFormat, job: NodeJob, read_at: ReadAt
) -> tuple[npt.NDArray[np.int32], dict[str, npt.NDArray[Any]]]:
    """The node's ``xyz`` int32 (n, 3) and its attributes, each (n,) raw, shuffled once.

    The order is the same each time and any prefix of it is a fair sample. Attributes the file
    has not are left out. Raises `NodeError`.
    """
    records = read_records(fmt, job, read_at, selection(fmt, job.attributes))
    order = np.random.default_rng([*job.key, job.count]).permutation(job.count)
    xyz = np.empty((job.count, 3), np.int32)
    for axis, name in enumerate("XYZ"):
        xyz[:, axis] = records[name]
    taken = take_attributes(fmt, records, job.attributes)
    return xyz.take(order, axis=0), {n: values.take(order, axis=0) for n, values in taken.items()}


def take_attributes(
    fmt: NodeFormat, records: npt.NDArray[Any], names: Iterable[str]
) -> dict[str, npt.NDArray[Any]]:
    """Each named attribute of packed ``records`` (n,) as its own contiguous raw array (n, …)."""
    fields = records.dtype.names or ()
    out: dict[str, npt.NDArray[Any]] = {}
    for name in names:
        if name in fields:
            out[name] = np.ascontiguousarray(records[name])
        elif name in fmt.subfields:
            field, mask, shift = fmt.subfields[name]
            out[name] = (records[field] & mask) >> shift
        elif name == "scan_angle_rank" and "scan_angle" in fields:
            # formats 0-5 count whole degrees; the index keeps them in steps
            out[name] = np.rint(records["scan_angle"] * SCAN_ANGLE_STEP).astype(np.int8)
    return out


def read_records(
    fmt: NodeFormat, job: NodeJob, read_at: ReadAt, layers: int = lazrs.SELECTIVE_DECOMPRESS_ALL
) -> npt.NDArray[Any]:
    """The node's packed records (n,) in file order. Raises `NodeError`."""
    if job.count * fmt.dtype.itemsize > MAX_NODE_BYTES:
        raise NodeError(
            f"node {_name(job)} says it holds {job.count} points, more than can be decoded at once"
        )
    try:
        data = read_at(job.offset, job.size)
    except OSError as error:
        raise NodeError(f"node {_name(job)} can't be read at byte {job.offset}: {error}") from None
    if len(data) != job.size:
        raise NodeError(
            f"node {_name(job)} should have {job.size} bytes at byte {job.offset}, "
            f"the file ends after {len(data)} of them"
        )
    if not _sound(fmt, job, data):
        raise NodeError(
            f"node {_name(job)} at byte {job.offset} is damaged: its layers don't fit into it"
        )
    raw = np.zeros(job.count * fmt.dtype.itemsize, np.uint8)
    try:
        lazrs.decompress_points_with_chunk_table(
            data,
            fmt.laz_vlr,
            raw,
            [(job.count, job.size)],
            lazrs.DecompressionSelection(layers),
        )
    except BaseException as error:  # lazrs panics with a BaseException of its own
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise NodeError(
            f"node {_name(job)} at byte {job.offset} is damaged and can't be decompressed: {error}"
        ) from None
    return raw.view(fmt.dtype)


def _sound(fmt: NodeFormat, job: NodeJob, data: bytes) -> bool:
    """Whether a layered chunk's own count and layer sizes can be true: lazrs trusts them.

    A chunk of formats 6-10 is the first record, a count, the sizes of all layers, the layers.
    """
    (items,) = struct.unpack_from("<H", fmt.laz_vlr, 32)
    kinds = [struct.unpack_from("<2H", fmt.laz_vlr, 34 + 6 * i) for i in range(items)]
    layers = sum(size if kind == 14 else _ITEM_LAYERS.get(kind, 0) for kind, size in kinds)
    at = fmt.dtype.itemsize
    if len(data) < at + 4 + 4 * layers:
        return False
    count, *sizes = struct.unpack_from(f"<{1 + layers}I", data, at)
    return count == job.count and at + 4 + 4 * layers + sum(sizes) <= len(data)


def selection(fmt: NodeFormat, names: Iterable[str]) -> int:
    """The LAZ layers that ``names`` need, coordinates included."""
    layers = lazrs.SELECTIVE_DECOMPRESS_XY_RETURNS_CHANNEL | lazrs.SELECTIVE_DECOMPRESS_Z
    for name in names:
        field = fmt.subfields[name][0] if name in fmt.subfields else name
        layers |= _LAYERS.get(field, lazrs.SELECTIVE_DECOMPRESS_ALL_EXTRA_BYTES)
    return int(layers)


def _name(job: NodeJob) -> str:
    return "-".join(map(str, job.key))
