"""A project file as SQLite keeps it: one thread writes it, one lock says who may.

Journal: WAL with full sync, or a rollback journal where WAL can't work (network drives, or no
shared memory). Everything that reads or writes goes through `ProjectFile.run` and
`ProjectFile.transaction`, one after the other on the file's own thread.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import psutil

from oniyanma.scene.project import schema
from oniyanma.scene.project.errors import ProjectError, sentence
from oniyanma.scene.project.lock import Lock

T = TypeVar("T")

_NETWORK = frozenset(
    ("nfs", "nfs4", "cifs", "smbfs", "smb2", "smb3", "9p", "afpfs", "webdav", "davfs")
) | {"fuse.sshfs", "fuse.davfs2", "fuse.rclone"}
_NO_WAL = frozenset(  # what SQLite says where a write-ahead log can't work
    (
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
    )
)
_BUSY_SECONDS = 5.0


class ProjectFile:
    """An open project file of the newest schema. ``path`` None: in memory only.

    Owns ``lock`` and lets go of it in `close`. Raises ProjectError.
    """

    def __init__(self, path: Path | None, lock: Lock | None) -> None:
        self.path = path
        self._lock = lock
        self._tasks: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None]
        self._tasks = queue.SimpleQueue()
        self._connection: sqlite3.Connection | None = None
        self.journal = ""
        self._thread = threading.Thread(target=self._work, name="oniyanma project", daemon=True)
        self._thread.start()
        try:
            self._submit(self._open)
        except BaseException:
            self.close()
            raise

    def run(self, task: Callable[[sqlite3.Connection], T]) -> T:
        """Run it on the file's thread and wait. Raises ProjectError for what SQLite says."""
        return self._submit(lambda: task(self._opened()))

    def transaction(self, task: Callable[[sqlite3.Connection], T]) -> T:
        """Like `run`, all of it or nothing: what is raised inside leaves the file as it was."""

        def inside() -> T:
            connection = self._opened()
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = task(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return result

        return self._submit(inside)

    def move_to(self, target: Path) -> None:
        """Put the file in another's place, atomically and for good, and go on there.

        The lock is the target's already. Raises ProjectError, and then it can only be closed.
        """

        def move() -> None:
            assert self.path is not None
            connection, new = self._opened(), not target.exists()
            connection.execute("PRAGMA journal_mode=DELETE").fetchone()  # all of it in one file
            connection.close()
            self._connection = None
            try:
                put_in_place(self.path, target)
                self._connection, self.journal = connect_writing(target)
            except BaseException:
                if new:
                    remove_project(target)
                raise
            self.path = target

        self._submit(move)

    def close(self, *, remove: bool = False) -> None:
        """Close the file, end its thread, let go of the lock. May be called again.

        ``remove``: the file goes, before anybody else can open it.
        """
        if self._thread.is_alive():
            self._tasks.put(None)
            self._thread.join()
        if remove and self.path is not None:
            remove_project(self.path)
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # --- on the file's thread ---------------------------------------------------------

    def _work(self) -> None:
        while (item := self._tasks.get()) is not None:
            task, future = item
            try:
                future.set_result(task())
            except BaseException as error:  # the caller's to handle, whatever it is
                future.set_exception(error)
            del task, future, item
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _submit(self, task: Callable[[], T]) -> T:
        if not self._thread.is_alive():
            raise ProjectError(f"Project {self.path} is closed; open it again.")
        future: Future[T] = Future()
        self._tasks.put((task, future))
        try:
            return future.result()
        except UnicodeEncodeError as error:
            raise ProjectError(
                "A name has characters that are no text (a lone surrogate); write it again."
            ) from error
        except (sqlite3.Error, OSError) as error:
            raise sentence(error, self.path or "in memory") from error

    def _opened(self) -> sqlite3.Connection:
        assert self._connection is not None  # only the loop's end takes it away
        return self._connection

    def _open(self) -> None:
        self._connection, self.journal = connect_writing(self.path)
        schema.upgrade(self._connection)


def connect(name: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(name, timeout=_BUSY_SECONDS, isolation_level=None, uri=uri)


def connect_writing(path: Path | None) -> tuple[sqlite3.Connection, str]:
    """A connection that writes, and its journal: WAL, or "delete" where WAL can't work."""
    name = ":memory:" if path is None else str(path)
    if path is not None and not on_network(path):
        connection = connect(name)
        try:
            (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
            if mode == "wal":
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
                return connection, "wal"
            connection.close()
        except BaseException as error:
            connection.close()
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NO_WAL:
                raise
    connection = connect(name)
    try:
        # A file already in WAL leaves it without shared memory only under an exclusive lock.
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        (mode,) = connection.execute("PRAGMA journal_mode=DELETE").fetchone()
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA locking_mode=NORMAL")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # lets go of the lock
    except BaseException:
        connection.close()
        raise
    return connection, str(mode)


def on_network(path: Path) -> bool:
    """Whether the file lies on a drive of another machine, as far as the system says."""
    folder = str(path.resolve().parent)
    if folder.startswith("\\\\"):
        return True
    best = ("", "")
    for part in psutil.disk_partitions(all=True):
        inside = folder == part.mountpoint or folder.startswith(
            part.mountpoint.rstrip("/\\") + os.sep
        )
        if inside and len(part.mountpoint) > len(best[0]):
            best = (part.mountpoint, part.fstype.lower())
    return best[1] in _NETWORK


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection to a project, whoever else has it open; also in a folder that
    can't be written. Raises ProjectError."""
    if not path.is_file():
        raise ProjectError(f"Project {path}: there is no such file; check the path.")
    with contextlib.ExitStack() as stack:
        try:
            connection = stack.enter_context(contextlib.closing(_connect_reading(path, stack)))
            yield connection
        except (sqlite3.Error, OSError) as error:
            raise sentence(error, path) from error


def _connect_reading(path: Path, stack: contextlib.ExitStack) -> sqlite3.Connection:
    # Not mode=ro: that leaves its shared memory behind, and can't undo what a dead program began.
    connection = connect(f"{path.resolve().as_uri()}?mode=rw", uri=True)
    try:
        connection.execute("PRAGMA query_only=1")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        return connection
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode & 0xFF not in _NO_WAL:
            raise
    # A file in WAL where nothing can be written or shared beside it: read a copy, with its log.
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="oniyanma-")))
    copy = folder / "project"
    for end in ("", "-wal", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(path.with_name(path.name + end), copy.with_name(copy.name + end))
    return connect(str(copy))


def copy_into(source: sqlite3.Connection, target: Path) -> None:
    """Copy a whole open project into a new file and force it to the disk.

    What was at ``target`` is written over; on failure nothing is left there.
    """
    remove_project(target)
    try:
        with contextlib.closing(connect(str(target))) as connection:
            source.backup(connection)
            connection.execute("PRAGMA journal_mode=DELETE")
        sync(target)
    except BaseException:
        remove_project(target)
        raise


def make_empty(target: Path) -> None:
    """Make an empty project, whole in its one file. On failure the caller removes it."""
    with contextlib.closing(connect(str(target))) as connection:
        schema.upgrade(connection)
    sync(target)


def put_in_place(temporary: Path, target: Path) -> None:
    """Put a finished file in its place, atomically and for good.

    The caller holds the target's lock, and all of ``temporary`` is in its one file. A log left
    beside the target by a killed program is folded into it first: beside another file it would
    be replayed into that one.
    """
    try:
        if any(target.with_name(target.name + end).exists() for end in ("-wal", "-journal")):
            with contextlib.closing(connect(str(target))) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        os.replace(temporary, target)
    except BaseException:
        remove_project(temporary)
        raise
    sync(target.parent)


def sync(path: Path) -> None:
    """Force a file or folder to the disk; where folders can't be, nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    except PermissionError:  # Windows opens no folder
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_project(path: Path) -> None:
    """Remove a project's file and what SQLite keeps beside it, as far as that can be done."""
    for end in ("-wal", "-shm", "-journal", ""):
        try:
            path.with_name(path.name + end).unlink(missing_ok=True)
        except OSError:
            return
