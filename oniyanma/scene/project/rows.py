"""What of a scene state is kept in which row, and which rows two states differ in."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, get_type_hints

from oniyanma.scene.project.codec import CodecError, dumps, loads, loads_many
from oniyanma.scene.project.errors import ProjectError
from oniyanma.scene.state import (
    Batch,
    Bookmark,
    CloudEntry,
    Event,
    Finding,
    Measurement,
    SceneState,
)

RECORDS: Mapping[str, type] = MappingProxyType(
    {
        "measurements": Measurement,
        "findings": Finding,
        "batches": Batch,
        "bookmarks": Bookmark,
    }
)
VIEW = ("camera", "viewport", "budget", "display", "hidden_classes", "clip", "selection")
_HINTS = get_type_hints(SceneState)


def load(connection: sqlite3.Connection) -> SceneState:
    """The state a project holds, with revision 0 and no project of its own.

    Raises ProjectError for rows that are not what this version writes.
    """
    blobs = dict(connection.execute("SELECT hash, data FROM blobs"))
    try:
        view: dict[str, Any] = {
            name: loads(_HINTS[name], body, blobs)
            for name, body in connection.execute("SELECT name, body FROM view")
            if name in VIEW
        }
        records = {
            table: _load_records(connection, table, kind, blobs) for table, kind in RECORDS.items()
        }
        clouds = _bodies(connection, "SELECT body FROM sources WHERE open ORDER BY position")
        events = _bodies(connection, "SELECT body FROM events ORDER BY seq")
        return SceneState(
            clouds=tuple(loads_many(CloudEntry, clouds, blobs)),
            events=tuple(loads_many(Event, events, blobs)),
            **{**view, **records},
        )
    except CodecError as error:
        raise ProjectError(f"The project is damaged: {error}; open a copy from before.") from error


def events(connection: sqlite3.Connection) -> tuple[Event, ...]:
    """The steps, undos and redos of a project, in their order.

    Raises ProjectError for rows that are not what this version writes.
    """
    blobs = dict(connection.execute("SELECT hash, data FROM blobs"))
    try:
        bodies = _bodies(connection, "SELECT body FROM events ORDER BY seq")
        return tuple(loads_many(Event, bodies, blobs))
    except CodecError as error:
        raise ProjectError(f"The project is damaged: {error}; open a copy from before.") from error


def known_sources(connection: sqlite3.Connection) -> tuple[CloudEntry, ...]:
    """Every cloud the project ever had, also closed ones: their edits are still here."""
    return tuple(
        loads_many(
            CloudEntry, _bodies(connection, "SELECT body FROM sources ORDER BY position"), {}
        )
    )


def write_difference(connection: sqlite3.Connection, before: SceneState, after: SceneState) -> bool:
    """Write what ``after`` changed of ``before``; whether it was work, not only a view.

    To be called inside a transaction. Events are only ever added; ValueError where the old
    ones are not all there.
    """
    blobs: dict[str, bytes] = {}
    worked = _write_events(connection, before.events, after.events, blobs)
    for table in RECORDS:
        worked |= _write_records(
            connection, table, getattr(before, table), getattr(after, table), blobs
        )
    for name in VIEW:
        value = getattr(after, name)
        if value is not (old := getattr(before, name)) and value != old:
            connection.execute(
                "INSERT INTO view (name, body) VALUES (?, ?)"
                " ON CONFLICT (name) DO UPDATE SET body = excluded.body",
                (name, dumps(value, blobs, _HINTS[name])),
            )
    if after.clouds is not before.clouds:
        _write_sources(connection, before.clouds, after.clouds)
    connection.executemany(
        "INSERT INTO blobs (hash, data) VALUES (?, ?) ON CONFLICT DO NOTHING", blobs.items()
    )
    return worked


def content(state: SceneState) -> SceneState:
    """A state without what a project does not keep: its revision and where it lies."""
    empty = SceneState()
    return replace(state, revision=empty.revision, project=empty.project)


def _bodies(connection: sqlite3.Connection, query: str) -> list[str]:
    return [body for (body,) in connection.execute(query)]


def _load_records(
    connection: sqlite3.Connection, table: str, kind: type, blobs: Mapping[str, bytes]
) -> Mapping[str, Any]:
    rows = connection.execute(f"SELECT id, body FROM {table} ORDER BY position").fetchall()
    values = loads_many(kind, [body for _, body in rows], blobs)
    return MappingProxyType({key: value for (key, _), value in zip(rows, values, strict=True)})


def _write_events(
    connection: sqlite3.Connection,
    before: tuple[Event, ...],
    after: tuple[Event, ...],
    blobs: dict[str, bytes],
) -> bool:
    if after is before:
        return False
    kept = len(before)
    # The same last event stands for the same before it: an event is only ever put behind others.
    same = 0 < kept <= len(after) and after[kept - 1] is before[-1]
    if not same and after[:kept] != before:
        raise ValueError("the log of edits can only grow: events were changed or taken away")
    connection.executemany(
        "INSERT INTO events (seq, body) VALUES (?, ?)",
        [(event.seq, dumps(event, blobs)) for event in after[kept:]],
    )
    return len(after) > kept


def _write_records(
    connection: sqlite3.Connection,
    table: str,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    blobs: dict[str, bytes],
) -> bool:
    if after is before:
        return False
    changed = [
        key
        for key, value in after.items()
        if value is not (old := before.get(key)) and value != old
    ]
    removed = [key for key in before if key not in after]
    connection.executemany(f"DELETE FROM {table} WHERE id = ?", [(key,) for key in removed])
    places = {key: place for place, key in enumerate(after)}
    if removed or list(before) != list(after)[: len(before)]:  # not only added at the end
        connection.executemany(
            f"UPDATE {table} SET position = ? WHERE id = ?",
            [(place, key) for key, place in places.items()],
        )
    connection.executemany(
        f"INSERT INTO {table} (id, position, body) VALUES (?, ?, ?) ON CONFLICT (id)"
        " DO UPDATE SET position = excluded.position, body = excluded.body",
        [(key, places[key], dumps(after[key], blobs)) for key in changed],
    )
    return bool(changed or removed)


def _write_sources(
    connection: sqlite3.Connection, before: tuple[CloudEntry, ...], after: tuple[CloudEntry, ...]
) -> None:
    here = {entry.id for entry in after}
    connection.executemany(
        "UPDATE sources SET open = 0 WHERE id = ?",
        [(entry.id,) for entry in before if entry.id not in here],
    )
    connection.executemany(
        "INSERT INTO sources (id, position, open, body) VALUES (?, ?, 1, ?) ON CONFLICT (id)"
        " DO UPDATE SET position = excluded.position, open = 1, body = excluded.body",
        [(entry.id, place, dumps(entry, {})) for place, entry in enumerate(after)],
    )
