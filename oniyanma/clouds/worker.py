"""A decode worker: ``python -m oniyanma.clouds.worker SHARED-MEMORY``.

Reads requests on standard input, writes points into shared memory and answers on standard
output. Ends when its input does.

Requests: ("format", number, NodeFormat); ("node", format, NodeJob, start, room); ("page", format,
offset, size). Answers: ("points", layout, overflow); ("page", bytes); ("failed", reason). The
layout is a list of (name, dtype, shape); the arrays lie one after the other from ``start``, each
at a multiple of 16 bytes, or in ``overflow`` when they need more than ``room``.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from oniyanma.clouds.decode import NodeError, NodeFormat, NodeJob, decode_node
from oniyanma.clouds.process import attach, claim_pipes, give_way, receive, send
from oniyanma.clouds.reading import ByteSource, open_bytes

Layout = list[tuple[str, str, tuple[int, ...]]]


class Files:
    """Opened files, at most a few at a time; one that was replaced is opened again."""

    def __init__(self, limit: int = 16) -> None:
        self._limit = limit
        self._open: dict[tuple[str, str], ByteSource] = {}

    def read_at(self, fmt: NodeFormat, offset: int, size: int) -> bytes:
        """Bytes of the file that ``fmt`` describes. Raises OSError or `CloudError`."""
        key = (fmt.path, fmt.stamp)
        source = self._open.get(key)
        if source is None:
            while len(self._open) >= self._limit:
                self._open.pop(next(iter(self._open))).close()
            source = self._open[key] = open_bytes(fmt.path)
        return source.read_at(offset, size)

    def close(self) -> None:
        for source in self._open.values():
            source.close()
        self._open.clear()


def layout_of(arrays: Mapping[str, np.ndarray[Any, Any]]) -> tuple[Layout, int]:
    """How arrays are laid out, and the bytes that takes."""
    layout = [(name, a.dtype.str, a.shape) for name, a in arrays.items()]
    return layout, sum(-(-a.nbytes // 16) * 16 for a in arrays.values())


def pack(arrays: Mapping[str, np.ndarray[Any, Any]], room: memoryview) -> None:
    """Copies arrays into ``room`` as `layout_of` says."""
    place = 0
    for a in arrays.values():
        room[place : place + a.nbytes] = a.reshape(-1).view(np.uint8).data
        place += -(-a.nbytes // 16) * 16


def unpack(layout: Layout, room: memoryview) -> dict[str, np.ndarray[Any, Any]]:
    """Fresh arrays copied out of ``room``."""
    place = 0
    out: dict[str, np.ndarray[Any, Any]] = {}
    for name, dtype, shape in layout:
        a = np.empty(shape, dtype)
        a.reshape(-1).view(np.uint8)[:] = np.frombuffer(room[place : place + a.nbytes], np.uint8)
        out[name] = a
        place += -(-a.nbytes // 16) * 16
    return out


def main(argv: list[str]) -> int:
    """Serves requests until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    give_way(5)
    source, sink = claim_pipes()
    arena = memoryview(attach(argv[0]))
    formats: dict[int, NodeFormat] = {}
    files = Files()
    try:
        while True:
            request = receive(source)
            if request[0] == "format":
                formats[request[1]] = request[2]
                continue
            send(sink, _answer(request, formats, files, arena))
    except (EOFError, OSError):
        return 0
    finally:
        files.close()


def _answer(
    request: Any, formats: Mapping[int, NodeFormat], files: Files, arena: memoryview
) -> tuple[Any, ...]:
    fmt = formats[request[1]]

    def read_at(offset: int, size: int) -> bytes:
        return files.read_at(fmt, offset, size)

    try:
        if request[0] == "page":
            return ("page", read_at(request[2], request[3]))
        job: NodeJob = request[2]
        xyz, attributes = decode_node(fmt, job, read_at)
    except NodeError as error:
        return ("failed", str(error))
    except Exception as error:
        return ("failed", f"{fmt.path} can't be read: {error or type(error).__name__}")
    arrays = {"": xyz, **attributes}
    layout, size = layout_of(arrays)
    start, room = request[3], request[4]
    if size <= room:
        pack(arrays, arena[start : start + size])
        return ("points", layout, None)
    overflow = bytearray(size)
    pack(arrays, memoryview(overflow))
    return ("points", layout, bytes(overflow))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
