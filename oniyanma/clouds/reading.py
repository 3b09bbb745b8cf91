"""Reading a file's bytes at given places, on disk or over http(s). Light: workers import it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol


class ByteSource(Protocol):
    """Random access to a file's bytes; ``read_at`` gives fewer at the end of the file."""

    @property
    def size(self) -> int: ...

    def read_at(self, offset: int, size: int) -> bytes: ...

    def close(self) -> None: ...


class LocalFile:
    """A local file read at given places. Raises OSError as the system does."""

    def __init__(self, path: str | Path) -> None:
        self._file = open(path, "rb")  # noqa: SIM115 - closed by close()
        self.size = os.fstat(self._file.fileno()).st_size

    def read_at(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(size)

    def close(self) -> None:
        self._file.close()


class RemoteFile:
    """A file on a web server that serves ranges. Raises `CloudError`."""

    def __init__(self, url: str) -> None:
        from oniyanma.clouds.sources.http import RangeReader  # requests takes its time to import

        self._reader = RangeReader(url)
        self.size = self._reader.size

    def read_at(self, offset: int, size: int) -> bytes:
        return self._reader.read_range(offset, size)

    def close(self) -> None:
        self._reader.close()


def open_bytes(path: str) -> ByteSource:
    """Opens a path or an http(s) address. Raises OSError, for an address `CloudError`."""
    if path.lower().startswith(("http://", "https://")):
        return RemoteFile(path)
    return LocalFile(path)
