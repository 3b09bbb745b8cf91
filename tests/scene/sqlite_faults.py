"""Faults in what SQLite asks of the system: the Nth write fails, or the process dies in it.

SQLite's unix VFS lets every system call be replaced (its own way of testing). The replacement
is set for the whole process, through the very library that Python's sqlite3 uses.
"""

from __future__ import annotations

import _sqlite3
import contextlib
import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

_POINTER = ctypes.c_void_p


class _Vfs(ctypes.Structure):
    _fields_ = [
        ("iVersion", ctypes.c_int),
        ("szOsFile", ctypes.c_int),
        ("mxPathname", ctypes.c_int),
        ("pNext", _POINTER),
        ("zName", ctypes.c_char_p),
        ("pAppData", _POINTER),
        *[(f"call{i}", _POINTER) for i in range(13)],
        ("xSetSystemCall", _POINTER),
        ("xGetSystemCall", _POINTER),
    ]


_SET = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, ctypes.c_char_p, _POINTER)
_GET = ctypes.CFUNCTYPE(_POINTER, _POINTER, ctypes.c_char_p)
_I, _P, _N, _S = ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_char_p
_CALLS = {
    "pwrite64": (_N, _I, _P, ctypes.c_size_t, ctypes.c_int64),
    "pwrite": (_N, _I, _P, ctypes.c_size_t, ctypes.c_int64),
    "write": (_N, _I, _P, ctypes.c_size_t),
    "pread64": (_N, _I, _P, ctypes.c_size_t, ctypes.c_int64),
    "pread": (_N, _I, _P, ctypes.c_size_t, ctypes.c_int64),
    "read": (_N, _I, _P, ctypes.c_size_t),
    "ftruncate": (_I, _I, ctypes.c_int64),
    "unlink": (_I, _S),
    "open": (_I, _S, _I, _I),
    "mmap": (_P, _P, ctypes.c_size_t, _I, _I, _I, ctypes.c_int64),
}
FILLS = ("pwrite64", "pwrite", "write", "ftruncate")  # what a full disk refuses
READS = ("pread64", "pread", "read", "open")
WRITES = ("pwrite64", "pwrite", "write", "ftruncate", "unlink")
Intercept = Callable[[str, tuple[object, ...]], int]  # an errno; 0: let it through


def _vfs_find() -> Callable[[object], Any]:
    # Through Python's own module: other packages bring an SQLite of theirs into the process.
    try:
        find = ctypes.CDLL(_sqlite3.__file__).sqlite3_vfs_find
    except (AttributeError, OSError):
        pytest.skip("Python's sqlite3 hides its system calls: no faults can be injected")
    find.restype = ctypes.POINTER(_Vfs)
    return find


@contextlib.contextmanager
def intercepted(intercept: Intercept, names: tuple[str, ...] = WRITES) -> Iterator[None]:
    """While inside, ``intercept`` is asked before each of these calls of any connection."""
    vfs = _vfs_find()(None)
    set_call, get_call = _SET(vfs.contents.xSetSystemCall), _GET(vfs.contents.xGetSystemCall)
    kept = []
    for name in names:
        address = get_call(vfs, name.encode())
        if not address:
            continue  # this build does without it
        kind = ctypes.CFUNCTYPE(*_CALLS[name], use_errno=True)
        original = kind(address)
        replacement = kind(_replacement(name, original, intercept))
        kept.append((name, address, replacement))
        set_call(vfs, name.encode(), ctypes.cast(replacement, _POINTER))
    try:
        yield
    finally:
        for name, address, _ in kept:
            set_call(vfs, name.encode(), address)


def _replacement(
    name: str, original: Callable[..., int], intercept: Intercept
) -> Callable[..., int]:
    def call(*arguments: object) -> int:
        wrong = intercept(name, arguments)
        if not wrong:
            return original(*arguments)
        ctypes.set_errno(wrong)
        return -1

    return call


def failing_at(n: int, error: int, counted: list[int]) -> Intercept:
    """Fails the Nth call and every one after it, as a full disk does; counts into ``counted``."""

    def intercept(_name: str, _arguments: tuple[object, ...]) -> int:
        counted[0] += 1
        return error if counted[0] >= n else 0

    return intercept


def dying_at(n: int) -> Intercept:
    """Kills the process in the Nth write, with half of it written."""
    counted = [0]

    def intercept(name: str, arguments: tuple[object, ...]) -> int:
        counted[0] += 1
        if counted[0] == n:
            if name.startswith("pwrite"):
                handle, buffer, size, offset = arguments
                half = ctypes.string_at(buffer, size // 2)  # type: ignore[arg-type, operator]
                os.pwrite(handle, half, offset)  # type: ignore[arg-type]
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    return intercept
