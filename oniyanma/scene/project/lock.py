"""One program writes a project: a lock the system lets go of when its holder dies.

The lock is on a small file beside the project that says who holds it. Where the drive knows no
locks, that text decides: a holder on this machine that is gone holds nothing.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import sys
from pathlib import Path

import psutil

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # beyond the text, which stays readable
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


_HELD: set[str] = set()  # lock files of this process


class Locked(Exception):
    """Somebody else writes this project; the message says who."""


class Lock:
    """The right to write one project, from creation until `release`.

    Raises Locked when another program has it, OSError when no lock file can be made there.
    """

    def __init__(self, project: Path) -> None:
        self.path = lock_path(project)
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                self._take(descriptor)
                if self._is_current(descriptor):
                    break  # else its last holder removed it in between: once more
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
        self._descriptor: int | None = descriptor
        try:
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, _own_text())
        except OSError:
            self.release()
            raise
        _HELD.add(str(self.path))

    def _take(self, descriptor: int) -> None:
        try:
            _try_lock(descriptor)
        except (BlockingIOError, PermissionError):
            raise Locked(_who(self.path)) from None
        except OSError:  # a drive without locks
            if _is_alive(self.path):
                raise Locked(_who(self.path)) from None

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        _HELD.discard(str(self.path))
        if sys.platform == "win32":
            os.close(descriptor)
            self.path.unlink(missing_ok=True)
        else:
            self.path.unlink(missing_ok=True)
            os.close(descriptor)


def lock_path(project: Path) -> Path:
    return project.with_name(project.name + ".lock")


def is_locked(project: Path) -> bool:
    """Whether a living program writes this project now."""
    if not lock_path(project).exists():
        return False
    try:
        Lock(project).release()
    except (Locked, OSError):
        return True
    return False


def _own_text() -> bytes:
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "somebody"
    return json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "user": user}).encode()


def _read(path: Path) -> dict[str, object]:
    try:
        holder = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return holder if isinstance(holder, dict) else {}


def _who(path: Path) -> str:
    holder = _read(path)
    if not holder:
        return "another program"
    pid, user, host = (holder.get(key, "?") for key in ("pid", "user", "host"))
    return f"another program (process {pid} of {user} on {host})"


def _is_alive(path: Path) -> bool:
    holder = _read(path)
    if not holder:
        return False
    if holder.get("pid") == os.getpid():
        return str(path) in _HELD
    if holder.get("host") != socket.gethostname():
        return True
    pid = holder.get("pid")
    return isinstance(pid, int) and psutil.pid_exists(pid)
