"""The tables of a project file, and the steps from an older version to this one.

``user_version`` counts the steps a file has been through. A step is SQL that takes a file from
the version of its index to the next; the first one makes an empty project. A step is never
changed once it was released: what comes after it is a new step.

Values are the JSON of `oniyanma.scene.project.codec` in ``body``. Events and log lines can only
be added; a trigger refuses everything else, so a slip of our own can't rewrite them either.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from oniyanma.scene.project.errors import NewerProject, ProjectError

APPLICATION_ID = 0x4F4E4959  # "ONIY"

_FIRST = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE sources (
    id TEXT PRIMARY KEY, position INTEGER NOT NULL, open INTEGER NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE TABLE events (seq INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE measurements (
    id TEXT PRIMARY KEY, position INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE findings (id TEXT PRIMARY KEY, position INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE batches (id TEXT PRIMARY KEY, position INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE bookmarks (id TEXT PRIMARY KEY, position INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE blobs (hash TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE view (name TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE log (seq INTEGER PRIMARY KEY, line TEXT NOT NULL) STRICT;
CREATE TABLE log_head (
    one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL, hash TEXT NOT NULL
) STRICT;
CREATE TRIGGER events_stay BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'an event is never removed'); END;
CREATE TRIGGER log_stays BEFORE UPDATE ON log
    BEGIN SELECT RAISE(ABORT, 'a log line is never changed'); END;
CREATE TRIGGER log_remains BEFORE DELETE ON log
    BEGIN SELECT RAISE(ABORT, 'a log line is never removed'); END;
"""

MIGRATIONS: tuple[str, ...] = (_FIRST,)


def version_of(connection: sqlite3.Connection, path: object) -> int:
    """The schema version of an open file. Raises ProjectError for a file that is no project."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise ProjectError(f"Project {path}: it is not an oniyanma project.")
    return int(version)


def require_known(version: int, path: object, steps: Sequence[str] | None = None) -> None:
    """Raises NewerProject for a version that this program does not know."""
    known = len(MIGRATIONS if steps is None else steps)
    if version > known:
        raise NewerProject(
            f"Project {path} was written by a newer oniyanma (file version {version}, this program "
            f"reads up to {known}); update oniyanma to open it. The file was not touched."
        )


def upgrade(connection: sqlite3.Connection, steps: Sequence[str] | None = None) -> None:
    """Take a file (also an empty one) to the newest version, in one transaction."""
    plan = MIGRATIONS if steps is None else steps
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == len(plan):
        return
    script = "".join(plan[version:])
    try:
        connection.executescript(
            f"BEGIN IMMEDIATE; {script} PRAGMA application_id = {APPLICATION_ID};"
            f" PRAGMA user_version = {len(plan)}; COMMIT;"
        )
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing was ever written to the file: its making was cut short."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return int(tables) == 0
