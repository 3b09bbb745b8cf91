"""Starting worker processes, and memory and messages shared with them.

A worker is a fresh interpreter with a pipe of its own on standard input and output: it needs no
main guard in the caller's script and ends when the pipe does, however the parent ended. Shared
memory has no name in the file system, so nothing is left behind when every holder is gone.
"""

from __future__ import annotations

import mmap
import os
import pickle
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO


class Arena:
    """A block of memory that a child can map too: ``spec`` is what the child needs to know."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.fd: int | None = None
        if sys.platform == "win32":
            name = f"oniyanma-{uuid.uuid4().hex}"
            self.map = mmap.mmap(-1, size, tagname=name)
            self.spec = f"name:{name}:{size}"
            return
        if hasattr(os, "memfd_create"):
            self.fd = os.memfd_create("oniyanma")
        else:
            with tempfile.TemporaryFile() as file:
                self.fd = os.dup(file.fileno())
        os.ftruncate(self.fd, size)
        self.map = mmap.mmap(self.fd, size)
        self.spec = f"fd:{self.fd}:{size}"

    @property
    def fds(self) -> tuple[int, ...]:
        """File descriptors that the child must inherit."""
        return () if self.fd is None else (self.fd,)

    def close(self) -> None:
        self.map.close()
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


def attach(spec: str) -> mmap.mmap:
    """The child's view of an `Arena`."""
    kind, name, size = spec.split(":")
    if kind == "fd":
        return mmap.mmap(int(name), int(size))
    if sys.platform == "win32":
        return mmap.mmap(-1, int(size), tagname=name)
    raise ValueError(f"no shared memory of kind {kind!r} on this system")


def spawn(
    module: str, arguments: Sequence[str], fds: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Starts ``python -m module`` with pipes on standard input and output."""
    root = str(Path(__file__).resolve().parents[2])
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [root, env.get("PYTHONPATH")]))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        env.setdefault(name, "1")
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        pass_fds=tuple(fds) if sys.platform != "win32" else (),
    )


def give_way(steps: int) -> None:
    """In a worker: let whoever draws and answers the mouse go first (Unix niceness)."""
    if hasattr(os, "nice"):
        os.nice(steps)


def claim_pipes() -> tuple[BinaryIO, BinaryIO]:
    """In a worker: its two pipe ends. Stray prints go nowhere near them."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(0, os.O_BINARY)
        msvcrt.setmode(1, os.O_BINARY)
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return source, sink


def send(pipe: BinaryIO, message: Any) -> None:
    """Writes one message. Raises OSError when the other end is gone."""
    data = pickle.dumps(message, protocol=5)
    pipe.write(len(data).to_bytes(8, "little") + data)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """The next message. Raises EOFError when the other end is gone."""
    head = pipe.read(8)
    if len(head) < 8:
        raise EOFError
    size = int.from_bytes(head, "little")
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)
