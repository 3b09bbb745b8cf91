"""Reading a COPC file's header and hierarchy, local or over http(s) with range requests.

Formats: the COPC 1.0 specification (info VLR, hierarchy pages of 32-byte entries) and LAS 1.4.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import laspy
import numpy as np
import numpy.typing as npt
from laspy.point import dims

from oniyanma.clouds.decode import NodeFormat, NodeJob
from oniyanma.clouds.model import CloudError, CloudWarning, Hierarchy, NodeKey
from oniyanma.clouds.octree import make_hierarchy
from oniyanma.clouds.reading import ByteSource
from oniyanma.clouds.reading import open_bytes as open_bytes

ENTRY = np.dtype([("key", "<i4", 4), ("offset", "<u8"), ("size", "<i4"), ("count", "<i4")])
INFO = struct.Struct("<9d")  # centre xyz, halfsize, spacing, (root offset, size as u64), gps range
MAX_HEAD = 1 << 28
MAX_DEPTH = 30
LARGE_NODE = 500_000
"""Points of a node above which a COPC file's own tree is of no use: a node can only be shown
whole, so the coarsest view would take the whole point budget or show nothing."""


def node_format(path: str, header: laspy.LasHeader, laz_vlr: bytes) -> NodeFormat:
    """What a worker must know to decode records of ``header``."""
    subfields = {
        sub.name: (name, int(sub.mask), (int(sub.mask) & -int(sub.mask)).bit_length() - 1)
        for name, subs in dims.COMPOSED_FIELDS[header.point_format.id].items()
        for sub in subs
    }
    return NodeFormat(path, laz_vlr, header.point_format.dtype(), subfields, _stamp(path))


def _stamp(path: str) -> str:
    try:
        stat = os.stat(path)
    except OSError:
        return ""  # an address, or records in memory
    return f"{stat.st_ino} {stat.st_size} {stat.st_mtime_ns}"


@dataclass(eq=False)
class CopcFile:
    """An opened COPC file: header, cube and the hierarchy entries known so far.

    ``entries`` is a structured array (n,) of `ENTRY`, points only; ``pages`` are hierarchy pages
    not yet read, by the key of their top node. ``warnings`` lists oddities of the hierarchy.
    """

    path: str
    header: laspy.LasHeader
    format: NodeFormat
    center: npt.NDArray[np.float64]
    halfsize: float
    spacing: float
    file_size: int
    pages: dict[NodeKey, tuple[int, int]] = field(default_factory=dict)
    warnings: list[CloudWarning] = field(default_factory=list)
    _read_pages: set[int] = field(default_factory=set)
    _entries: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0, ENTRY))
    _new: list[npt.NDArray[Any]] = field(default_factory=list)
    _index: dict[NodeKey, int] = field(default_factory=dict)

    @property
    def entries(self) -> npt.NDArray[Any]:
        """All entries that may hold points; of a node named twice the first counts."""
        if self._new:
            merged = np.concatenate([self._entries, *self._new])
            self._new.clear()
            _, first = np.unique(merged["key"], axis=0, return_index=True)
            self._entries = merged[np.sort(first)]
            keys = map(tuple, self._entries["key"].tolist())
            self._index = {NodeKey(*key): i for i, key in enumerate(keys)}
        return self._entries

    def add_page(self, offset: int, data: bytes) -> None:
        """Takes in one hierarchy page's bytes; entries that can't be true are left out, warned."""
        self._read_pages.add(offset)
        page = np.frombuffer(data, ENTRY, count=len(data) // ENTRY.itemsize)
        keys, depth = page["key"].astype(np.int64), page["key"][:, 0].astype(np.int64)
        inside = (depth >= 0) & (depth <= MAX_DEPTH)
        width = np.int64(1) << np.clip(depth, 0, MAX_DEPTH)
        inside &= ((keys[:, 1:] >= 0) & (keys[:, 1:] < width[:, None])).all(axis=1)
        size = page["size"].astype(np.int64)
        end = page["offset"].astype(np.float64) + size
        has_data = (page["count"] > 0) | (page["count"] == -1)
        sound = inside & (page["count"] >= -1)
        sound &= ~has_data | ((size > 0) & (end <= self.file_size))
        if not sound.all():
            self.warnings.append(
                CloudWarning(
                    "copc_bad_entries",
                    f"{int((~sound).sum())} entries of the hierarchy page at byte {offset} name "
                    "places or nodes that can't exist; they are skipped.",
                )
            )
        for row in page[sound & (page["count"] == -1)]:
            if int(row["offset"]) not in self._read_pages:
                key = NodeKey(*row["key"].tolist())
                self.pages[key] = (int(row["offset"]), int(row["size"]))
        nodes = page[sound & (page["count"] >= 0)]
        self._new.append(nodes)
        for key in [k for k in self.pages if self.pages[k][0] == offset]:
            del self.pages[key]

    def hierarchy(self, generation: int = 0) -> Hierarchy:
        """The tree of all entries known; a page not yet read is a node with a count of 0."""
        have = set(map(tuple, self.entries["key"].tolist()))
        tops = [key for key in self.pages if tuple(key) not in have]
        keys = np.concatenate([self.entries["key"], np.array(tops, np.int32).reshape(len(tops), 4)])
        counts = np.concatenate([self.entries["count"].astype(np.int64), np.zeros(len(tops), int)])
        tree, _ = make_hierarchy(
            keys,
            counts,
            self.center - self.halfsize,
            2.0 * self.halfsize,
            self.spacing,
            generation,
        )
        return tree

    def job(self, key: NodeKey, attributes: Sequence[str]) -> NodeJob | None:
        """What to read for one node; None when it is unknown or holds no points."""
        entries = self.entries
        place = self._index.get(key)
        if place is None or entries["count"][place] <= 0:
            return None
        row = entries[place]
        return NodeJob(
            (key.depth, key.x, key.y, key.z),
            int(row["offset"]),
            int(row["size"]),
            int(row["count"]),
            tuple(attributes),
        )


def open_copc(path: str, *, max_pages: int | None = None) -> CopcFile:
    """Reads header, cube and hierarchy of a COPC file or address.

    At most ``max_pages`` hierarchy pages are read (None: all); the rest stays in ``pages``.
    Raises `CloudError` when it isn't COPC or can't be read.
    """
    try:
        source = open_bytes(path)
    except OSError as error:
        raise CloudError(f"{path} can't be opened: {error.strerror or error}.") from None
    try:
        return _read(path, source, max_pages)
    except (OSError, struct.error, ValueError, laspy.LaspyException) as error:
        raise CloudError(f"{path} can't be read as COPC: {error}.") from None
    finally:
        source.close()


def is_copc(path: str) -> bool:
    """Whether the file's first VLR says it is COPC. Raises OSError when it can't be read."""
    source = open_bytes(path)
    try:
        head = source.read_at(0, 589)
    finally:
        source.close()
    return _is_copc_head(head)


def _is_copc_head(head: bytes) -> bool:
    return len(head) >= 589 and head[:4] == b"LASF" and head[377:381] == b"copc"


def _read(path: str, source: ByteSource, max_pages: int | None) -> CopcFile:
    head = source.read_at(0, 65536)
    if not _is_copc_head(head):
        raise CloudError(f"{path} is not a COPC file: its first VLR is not the COPC info record.")
    header_size, data_start, n_vlrs = struct.unpack_from("<HII", head, 94)
    if data_start > min(source.size, MAX_HEAD) or n_vlrs * 54 > max(0, data_start - header_size):
        raise CloudError(
            f"{path} is damaged: the header at byte 96 names {n_vlrs} VLRs and points from byte "
            f"{data_start}, which can't both be true."
        )
    if len(head) < data_start:
        head += source.read_at(len(head), data_start - len(head))
    header = laspy.LasHeader.read_from(io.BytesIO(head))
    laz = header.vlrs.get("LasZipVlr")
    if not laz:
        raise CloudError(f"{path} is damaged: it has no laszip VLR, so no point can be decoded.")
    values = INFO.unpack_from(head, 429)
    root_offset, root_size = struct.unpack_from("<2Q", head, 429 + 40)
    if not (np.isfinite(values[:5]).all() and values[3] > 0 and values[4] > 0):
        raise CloudError(f"{path} is damaged: the COPC cube at byte 429 is not a finite box.")
    file = CopcFile(
        path=path,
        header=header,
        format=node_format(path, header, laz[0].record_data),
        center=np.array(values[:3]),
        halfsize=values[3],
        spacing=values[4],
        file_size=source.size,
    )
    if root_offset + root_size > source.size:
        raise CloudError(
            f"{path} is cut short: its hierarchy lies at byte {root_offset}, the file has "
            f"{source.size} bytes."
        )
    file.pages[NodeKey(0, 0, 0, 0)] = (int(root_offset), int(root_size))
    todo = 0
    while file.pages and (max_pages is None or todo < max_pages):
        offset, size = next(iter(file.pages.values()))
        file.add_page(offset, source.read_at(offset, size))
        todo += 1
    if not file.pages:
        total = int(file.entries["count"].sum())
        if total != header.point_count:
            file.warnings.append(
                CloudWarning(
                    "copc_count_differs",
                    f"The header says {header.point_count} points, the hierarchy holds {total}.",
                )
            )
    return file
