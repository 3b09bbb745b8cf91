"""The project of a session: every line of the log with what it changed, in one transaction.

A `Store` is the scene's `LogSink`. Unsaved work lies in a recovery project and moves with
`Store.save_as`; another project is opened beside it and takes its place with the commit of the
command that opened it, so that a fault on the way leaves the old one in use.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oniyanma.registry.log import (
    GENESIS,
    LogEntry,
    LogLine,
    Verdict,
    canonical_json,
    chain,
    verify,
)
from oniyanma.scene.project import places, rows, schema
from oniyanma.scene.project.errors import ProjectError, sentence
from oniyanma.scene.project.file import (
    ProjectFile,
    connect,
    copy_into,
    make_empty,
    put_in_place,
    reading,
    remove_project,
)
from oniyanma.scene.project.lock import Lock, Locked
from oniyanma.scene.project.sources import SourceReport, check_sources, header_hash
from oniyanma.scene.state import CloudEntry, Project, SceneState


@dataclass(frozen=True, eq=False)
class Opened:
    """A project opened but not yet the session's: `Store.stage` it, or `close` it.

    ``state`` has the project in it and the paths of moved clouds put right; ``stored`` is what
    the file holds. ``target``: where the file is put when it becomes the session's. ``made``: it
    is a recovery project begun with this, not one that an earlier session left.
    """

    file: ProjectFile
    stored: SceneState
    state: SceneState
    reports: tuple[SourceReport, ...] = ()
    target: Path | None = None
    made: bool = False

    @property
    def project(self) -> Project:
        return self.state.project

    def close(self) -> None:
        if self.target is not None:
            self.file.close(remove=True)
        else:
            _close(self.file, discard=False)


class Store:
    """Where a session keeps its scene. Used on the scene thread; close it at the end."""

    def __init__(self, opened: Opened) -> None:
        self._file = opened.file
        self._stored = opened.stored
        self._made = opened.made
        self._head = self._file.run(_read_head)
        self._pending: Opened | None = None
        self.reports = opened.reports

    @property
    def path(self) -> Path | None:
        """The file in use: a project, a recovery project, or None where only memory is left."""
        return self._file.path

    # --- LogSink ----------------------------------------------------------------------

    def write(self, entry: LogEntry | None, before: SceneState, after: SceneState) -> None:
        """Store the log line and what ``after`` differs in from what the file holds, all or
        nothing (``before`` is the port's; the file decides).

        Raises ProjectError, and then neither the file nor the project in use has changed.
        """
        pending, self._pending = self._pending, None
        if pending is not None and after.project is not pending.project:
            pending.close()  # the command that opened it came to nothing
            pending = None
        if pending is None:
            self._head = _commit(self._file, self._head, entry, self._stored, after)
            self._stored = after
            return
        try:
            head = pending.file.run(_read_head)
            head = _commit(pending.file, head, entry, pending.stored, after)
            if pending.target is not None:
                pending.file.move_to(pending.target)
        except BaseException:
            pending.close()
            raise
        former, self._file, self._stored = self._file, pending.file, after
        self._head, self._made = head, pending.made
        self.reports = pending.reports
        _close(former, discard=_is_saved_by(former, pending.file))

    def entries(
        self,
        *,
        limit: int | None = None,
        actor_kind: str | None = None,
        command: str | None = None,
        since: int | None = None,
    ) -> Sequence[LogLine]:
        """The last ``limit`` lines that fit, in order; ``since``: only with a greater seq."""
        query = (
            "SELECT line FROM log WHERE seq > ?"
            " AND (?2 IS NULL OR json_extract(line, '$.actor.kind') = ?2)"
            " AND (?3 IS NULL OR json_extract(line, '$.command') = ?3)"
            " ORDER BY seq DESC LIMIT ?4"
        )
        arguments = (since or 0, actor_kind, command, -1 if limit is None else limit)
        found = self._file.run(lambda connection: connection.execute(query, arguments).fetchall())
        return [LogLine.from_json(json.loads(line)) for (line,) in reversed(found)]

    def head(self) -> tuple[str, int]:
        return self._head

    # --- opening, saving, closing ---------------------------------------------------------

    def known_sources(self) -> tuple[CloudEntry, ...]:
        """Every cloud the project ever had, also closed ones, by their last path."""
        return self._file.run(rows.known_sources)

    def stage(self, opened: Opened) -> None:
        """Have the next `write` whose state has ``opened.project`` switch to it."""
        self._drop_pending()
        self._pending = opened

    def _drop_pending(self) -> None:
        if self._pending is not None:
            self._pending.close()
            self._pending = None

    def save_as(self, path: Path, state: SceneState, *, overwrite: bool = False) -> Project:
        """Copy everything into a new project file and have the next `write` switch to it.

        The file appears with that write, whole, or not at all. Raises ProjectError.
        """
        self._drop_pending()
        target = path.absolute()
        if target.exists() and not overwrite:
            raise ProjectError(f"{target} exists: choose another name, or overwrite it.")
        if target.exists():
            with reading(target) as connection:
                schema.version_of(connection, target)  # only a project is ever written over
        lock = _lock_for_saving(target)
        temporary = target.with_name(target.name + ".part")
        try:
            self._file.run(lambda connection: copy_into(connection, temporary))
            _forget_recovery(temporary)
            file = ProjectFile(temporary, lock)
        except (sqlite3.Error, OSError, ProjectError) as error:
            lock.release()
            remove_project(temporary)
            raise sentence(error, target) from error
        project = Project(path=str(target))
        self.stage(Opened(file, state, _with_project(state, project), target=target))
        return project

    def checkpoint(self) -> None:
        """Fold the write-ahead log into the file, so that a copy of it alone is whole."""
        self._file.run(lambda connection: connection.execute("PRAGMA wal_checkpoint").fetchone())

    @property
    def made(self) -> bool:
        """Whether what is unsaved here is this session's own, not left by an earlier one."""
        return self._made

    def close(self, *, discard: bool = False) -> None:
        """Close the file. Unsaved work stays to be recovered, unless ``discard``."""
        self._drop_pending()
        _close(self._file, discard=discard)


def open_or_create(path: Path | str | None = None) -> tuple[Store, SceneState]:
    """The store and state a session starts with: a project, a new one at a free path, or
    (None) unsaved work in a fresh recovery project. Raises ProjectError."""
    if path is None:
        opened = open_unsaved()
    elif Path(path).exists():
        opened = open_project(path)
    else:
        opened = _create(Path(path).absolute())
    return Store(opened), opened.state


def open_unsaved() -> Opened:
    """A fresh recovery project, or one in memory where the data folder can't be written."""
    try:
        path = places.new_recovery_path()
        file = ProjectFile(path, Lock(path))
        project = Project()
    except (OSError, Locked, ProjectError) as error:
        file = ProjectFile(None, None)
        project = Project(
            reason=f"Unsaved work can't survive a crash: {places.recovery_folder()} can't be "
            f"written ({error}); save the project to keep it."
        )
    state = _with_project(SceneState(), project)
    return Opened(file, SceneState(), state, made=True)


def open_project(path: Path | str, *, hash_of: Callable[[Path], str] = header_hash) -> Opened:
    """Open an existing project file, or unsaved work from `recoverable`.

    Where it can't be written (another program has it, a read-only file or folder) it is opened
    read-only with the reason: what is done then goes to a recovery project made from it. An
    older one is migrated on a copy that then takes its place; the old file stays beside it.
    Raises ProjectError, NewerProject.
    """
    target = Path(path).absolute()
    with reading(target) as connection:
        version = schema.version_of(connection, target)
        schema.require_known(version, target)
    try:
        lock, reason = _lock_for_writing(target)
        if lock is None:
            file = _working_copy(target)
        else:
            try:
                if version < len(schema.MIGRATIONS):
                    _migrate(target, version)
                file = ProjectFile(target, lock)
            except BaseException:
                lock.release()
                raise
    except (sqlite3.Error, OSError) as error:
        raise sentence(error, target) from error
    try:
        stored = file.run(rows.load)
        if lock is not None and places.is_recovery(target):
            origin = file.run(lambda connection: _fact(connection, "origin"))
            project, beside = Project(), Path(origin) if origin else None
        else:
            project, beside = Project(str(target), lock is None, reason), target
        state, reports = check_sources(_with_project(stored, project), beside, hash_of)
    except BaseException:
        _close(file, discard=False)
        raise
    return Opened(file, stored, state, reports, made=lock is None)


def verify_project(path: Path | str) -> Verdict:
    """Follow a project's command log from its first line to its head. Raises ProjectError."""
    target = Path(path)
    with reading(target) as connection:
        schema.require_known(schema.version_of(connection, target), target)
        stored = connection.execute("SELECT seq, line FROM log ORDER BY seq").fetchall()
        head, count = _read_head(connection)
    lines, unreadable = [], []
    for seq, text in stored:
        try:
            line = LogLine.from_json(json.loads(text))
            if line.seq != seq or canonical_json(line.as_json()) != text:
                raise ValueError
            lines.append(line)
        except (ValueError, TypeError, AttributeError):
            unreadable.append(f"line {seq} was changed: it is not as it was written")
            lines.append(LogLine(seq, "", "", {}))
    verdict = verify(lines, head, count)
    if not unreadable:
        return verdict
    return Verdict(verdict.count, verdict.head, (*unreadable, *verdict.problems))


# --- inside -----------------------------------------------------------------------------


def _commit(
    file: ProjectFile,
    head: tuple[str, int],
    entry: LogEntry | None,
    before: SceneState,
    after: SceneState,
) -> tuple[str, int]:
    lines = chain(entry, *head) if entry is not None else ()
    if not lines and after is before:
        return head
    texts = [(line.seq, canonical_json(line.as_json())) for line in lines]

    def write(connection: sqlite3.Connection) -> None:
        if rows.write_difference(connection, before, after):
            connection.execute(
                "INSERT INTO facts (name, value) VALUES ('work', '1') ON CONFLICT DO NOTHING"
            )
        if lines:
            connection.executemany("INSERT INTO log (seq, line) VALUES (?, ?)", texts)
            connection.execute(
                "INSERT INTO log_head (one, count, hash) VALUES (1, ?, ?) ON CONFLICT (one)"
                " DO UPDATE SET count = excluded.count, hash = excluded.hash",
                (lines[-1].seq, lines[-1].hash),
            )

    file.transaction(write)
    return (lines[-1].hash, lines[-1].seq) if lines else head


def _read_head(connection: sqlite3.Connection) -> tuple[str, int]:
    row = connection.execute("SELECT hash, count FROM log_head").fetchone()
    return (str(row[0]), int(row[1])) if row else (GENESIS, 0)


def _fact(connection: sqlite3.Connection, name: str) -> str | None:
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else None


def _with_project(state: SceneState, project: Project) -> SceneState:
    return replace(state, project=project)


def _create(target: Path) -> Opened:
    try:
        lock = Lock(target)
    except Locked as error:
        raise ProjectError(
            f"Project {target}: {error} is making it; choose another name."
        ) from None
    except OSError as error:
        raise sentence(error, target) from error
    temporary = target.with_name(target.name + ".part")
    try:
        remove_project(temporary)  # of a program that was killed here
        make_empty(temporary)
        put_in_place(temporary, target)  # so that nobody ever meets half a project
        file = ProjectFile(target, lock)
    except (OSError, sqlite3.Error, ProjectError) as error:
        lock.release()
        remove_project(temporary)
        raise sentence(error, target) from error
    state = _with_project(SceneState(), Project(str(target)))
    return Opened(file, SceneState(), state)


def _lock_for_writing(target: Path) -> tuple[Lock | None, str]:
    """The lock, or None and why the project can only be read."""
    if not os.access(target, os.W_OK):
        return None, f"{target.name} is a read-only file: save under another name to keep changes."
    try:
        return Lock(target), ""
    except Locked as error:
        return None, (
            f"{target.name} is open in {error}: close it there, or save under another name to keep "
            "changes."
        )
    except OSError as error:
        return None, (
            f"The folder of {target.name} can't be written ({error.strerror or error}): save to "
            "another folder to keep changes."
        )


def _lock_for_saving(target: Path) -> Lock:
    try:
        return Lock(target)
    except Locked as error:
        raise ProjectError(f"{target} is open in {error}; choose another name.") from None
    except OSError as error:
        raise sentence(error, target) from error


def _working_copy(target: Path) -> ProjectFile:
    """A recovery project made from one that can't be written; in memory as a last resort."""
    with reading(target) as source:
        try:
            copy = places.new_recovery_path()
            lock = Lock(copy)
        except (OSError, Locked):
            file = ProjectFile(None, None)
            file.run(lambda connection: source.backup(connection))
            return file
        try:
            copy_into(source, copy)
            file = ProjectFile(copy, lock)
        except BaseException:
            lock.release()
            remove_project(copy)
            raise

    def mark(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM facts WHERE name = 'work'")
        connection.execute(
            "INSERT INTO facts (name, value) VALUES ('origin', ?) ON CONFLICT (name)"
            " DO UPDATE SET value = excluded.value",
            (str(target),),
        )

    file.transaction(mark)
    return file


def _migrate(target: Path, version: int) -> None:
    """Bring an older file to this version: on a copy, which then takes its place."""
    copy = target.with_name(target.name + ".part")
    kept = target.with_name(f"{target.stem}.v{version}{target.suffix}")
    with reading(target) as source:
        copy_into(source, copy)
        if not kept.exists():
            copy_into(source, kept.with_name(kept.name + ".part"))
            os.replace(kept.with_name(kept.name + ".part"), kept)
    try:
        connection = connect(str(copy))
        try:
            schema.upgrade(connection)
            rows.load(connection)
        finally:
            connection.close()
    except BaseException:
        remove_project(copy)
        raise
    put_in_place(copy, target)


def _forget_recovery(path: Path) -> None:
    """Take what marks unsaved work out of a copy that is about to be a project."""
    connection = connect(str(path))
    try:
        connection.execute("DELETE FROM facts WHERE name IN ('work', 'origin')")
    finally:
        connection.close()


def _is_saved_by(former: ProjectFile, now: ProjectFile) -> bool:
    """Whether all that a recovery project held is in the file that takes its place."""
    if former.path is None or not places.is_recovery(former.path) or now.path is None:
        return False

    def lines(file: ProjectFile, count: int) -> Any:
        return file.run(
            lambda connection: connection.execute(
                "SELECT line FROM log WHERE seq = ?", (count,)
            ).fetchone()
        )

    _, count = former.run(_read_head)
    return not places.is_recovery(now.path) and lines(former, count) == lines(now, count)


def _close(file: ProjectFile, *, discard: bool) -> None:
    """Close a file; a recovery project goes with it if there is no work in it."""
    path = file.path
    if path is None or not places.is_recovery(path):
        file.close()
        return
    try:
        worthless = discard or file.run(lambda connection: _fact(connection, "work")) is None
    except ProjectError:
        worthless = False
    file.close(remove=worthless)
