"""A temporary file without a name, shared by processes: it is gone when nobody holds it."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from pathlib import Path

from oniyanma.clouds.model import CloudError


class Spill:
    """Bytes on disk at given places. Children inherit it by ``spec`` and ``fds``."""

    def __init__(self, fd: int, spec: str) -> None:
        self._fd = fd
        self.spec = spec

    @classmethod
    def create(cls, folder: Path) -> Spill:
        """A new one on the disk of ``folder``. Raises OSError."""
        if sys.platform == "win32":
            handle, name = tempfile.mkstemp(suffix=".part", dir=folder)
            os.close(handle)
            return cls._open_windows(name)
        with tempfile.TemporaryFile(dir=folder) as file:
            fd = os.dup(file.fileno())
        return cls(fd, f"fd:{fd}")

    @classmethod
    def attach(cls, spec: str) -> Spill:
        """The same file in a child."""
        kind, _, name = spec.partition(":")
        if kind == "fd":
            return cls(int(name), spec)
        return cls._open_windows(name)

    @classmethod
    def _open_windows(cls, name: str) -> Spill:
        flags = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_TEMPORARY", 0)
        return cls(os.open(name, flags), f"name:{name}")

    @property
    def fds(self) -> tuple[int, ...]:
        """File descriptors that a child must inherit."""
        return (self._fd,) if self.spec.startswith("fd:") else ()

    def read(self, offset: int, size: int) -> bytes:
        """Bytes at ``offset``. Raises `CloudError` when they aren't all there."""
        parts: list[bytes] = []
        while size > 0:
            part = self._some(offset, size)
            if not part:
                raise CloudError("the temporary file of the index ended too early; try again.")
            parts.append(part)
            offset += len(part)
            size -= len(part)
        return b"".join(parts)

    def _some(self, offset: int, size: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._fd, size, offset)
        os.lseek(self._fd, offset, os.SEEK_SET)
        return os.read(self._fd, size)

    def write(self, offset: int, data: memoryview) -> None:
        """Writes all of ``data`` at ``offset``. Raises `CloudError` when the disk is full."""
        view = data.cast("B")
        try:
            while len(view):
                if hasattr(os, "pwrite"):
                    done = os.pwrite(self._fd, view, offset)
                else:
                    os.lseek(self._fd, offset, os.SEEK_SET)
                    done = os.write(self._fd, view)
                view, offset = view[done:], offset + done
        except OSError as error:
            raise disk_error(error, "the temporary file of the index") from None

    def close(self) -> None:
        os.close(self._fd)


def disk_error(error: OSError, what: str) -> CloudError:
    """A failed write as one sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CloudError(f"the disk is full: {what} could not be written; make room, try again.")
    return CloudError(f"{what} could not be written: {error.strerror or error}.")
