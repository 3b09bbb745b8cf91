"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import BinaryIO


def part_of(path: Path, pid: int) -> Path:
    """The name under which process ``pid`` writes ``path`` where it needs one."""
    return path.with_name(f".{path.name}.{pid}.part")


class AtomicFile:
    """A file written beside ``path`` and put in its place by `commit`.

    Where the system allows it has no name until then, so that a killed writer leaves nothing;
    elsewhere it is ``.NAME.PID.part`` and is removed on every way out that Python sees.
    ``file`` is open for reading and writing in binary.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = part_of(path, os.getpid())
        self._named = False
        self._done = False
        self.file: BinaryIO
        fd = self._nameless()
        if fd is None:
            self.file = self._part.open("wb+")
            self._named = True
        else:
            self.file = os.fdopen(fd, "wb+")

    def _nameless(self) -> int | None:
        if sys.platform != "linux":
            return None
        try:
            return os.open(self.path.parent, os.O_TMPFILE | os.O_RDWR, 0o666)
        except OSError:
            return None  # this file system has no nameless files

    def commit(self, durable: bool = True) -> None:
        """Puts the file in its place, over what was there. Raises OSError.

        ``durable`` waits until the disk has it, as users' files deserve and caches don't.
        """
        self.file.flush()
        if durable:
            os.fsync(self.file.fileno())
        if not self._named:
            self._part.unlink(missing_ok=True)
            # with a folder given, Python asks the system to follow the link to the file itself
            folder = os.open("/proc/self/fd", os.O_RDONLY)
            try:
                name = str(self.file.fileno())
                os.link(name, self._part, src_dir_fd=folder, follow_symlinks=True)
            finally:
                os.close(folder)
            self._named = True
        self.file.close()
        os.replace(self._part, self.path)
        self._done = True

    def __enter__(self) -> AtomicFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.file.close()
        except OSError:
            pass  # what could not be flushed is thrown away with the file
        if self._named and not self._done:
            self._part.unlink(missing_ok=True)
