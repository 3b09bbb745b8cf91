"""Where unsaved work is kept: recovery projects in the user's data folder."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from oniyanma.scene.history import active_edits
from oniyanma.scene.project import rows, schema
from oniyanma.scene.project.errors import ProjectError
from oniyanma.scene.project.file import reading, remove_project
from oniyanma.scene.project.lock import is_locked

SUFFIX = ".oniyanma"


def data_folder() -> Path:
    """The user's data folder; the environment's ``ONIYANMA_DATA`` overrides it."""
    return Path(os.environ.get("ONIYANMA_DATA") or platformdirs.user_data_dir("oniyanma", False))


def recovery_folder() -> Path:
    return data_folder() / "recovery"


def new_recovery_path() -> Path:
    """A path for unsaved work, its folder made. Raises OSError."""
    folder = recovery_folder()
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return folder / f"{stamp}-{uuid.uuid4().hex[:8]}{SUFFIX}"


def is_recovery(path: Path) -> bool:
    return path.resolve().parent == recovery_folder().resolve()


@dataclass(frozen=True)
class Recovery:
    """Unsaved work a session left behind. Open it with `openProject` and its ``path``.

    ``origin``: the project it was a copy of, if it was one. ``problem``: why it can't be read;
    then the counts are 0. ``edits``: the steps whose point edits are in force, not those undone.
    """

    path: str
    time: str  # UTC, ISO 8601: the last write
    clouds: tuple[str, ...] = ()  # names
    edits: int = 0
    records: int = 0  # measurements, findings, batches, bookmarks
    origin: str | None = None
    problem: str | None = None


def recoverable() -> list[Recovery]:
    """Unsaved work of sessions that are gone, the latest first.

    What they left without any work in it is cleared away.
    """
    found = []
    folder = recovery_folder()
    for path in sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else ():
        if is_locked(path):
            continue
        described = _describe(path)
        if described is None:
            remove_project(path)
        else:
            found.append(described)
    return sorted(found, key=lambda each: each.time, reverse=True)


def _describe(path: Path) -> Recovery | None:
    """What is in a recovery project; None: no work."""
    try:
        written = max(
            each.stat().st_mtime
            for each in (path, path.with_name(path.name + "-wal"))
            if each.exists()
        )
        time = datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds")
        with reading(path) as connection:
            if path.stat().st_size == 0 or schema.is_empty(connection):
                return None  # killed before it began
            schema.require_known(schema.version_of(connection, path), path)
            facts = dict(connection.execute("SELECT name, value FROM facts"))
            if "work" not in facts:
                return None
            count = {
                table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in rows.RECORDS
            }
            edits = len({event.seq for event, _ in active_edits(rows.events(connection))})
            clouds = tuple(entry.name for entry in rows.known_sources(connection))
    except (ProjectError, ValueError, OSError) as error:
        return Recovery(str(path), "", problem=str(error))
    return Recovery(str(path), time, clouds, edits, sum(count.values()), origin=facts.get("origin"))
