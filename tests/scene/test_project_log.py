"""Whoever tampers with a project's command log is found out by `oniyanma log verify`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oniyanma.registry.log import LogEntry, line_hash
from oniyanma.scene.project import ProjectError, open_or_create, verify_project
from tests.scene.project_values import MODEL, PERSON, line

LINES = 8
Tamper = Callable[[sqlite3.Connection], Any]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A project with a log, as bytes to be tampered with."""
    path = tmp_path_factory.mktemp("log") / "a.oniyanma"
    store, state = open_or_create(path)
    for number in range(LINES):
        store.write(
            line(f"command{number}", MODEL if number % 3 else PERSON, n=number), state, state
        )
    store.close()
    return path.read_bytes()


def tampered(folder: Path, whole: bytes, tamper: Tamper) -> Path:
    path = folder / "tampered.oniyanma"
    path.write_bytes(whole)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript("DROP TRIGGER log_stays; DROP TRIGGER log_remains;")
        tamper(connection)
    return path


def lines_of(connection: sqlite3.Connection) -> dict[int, dict[str, Any]]:
    return {seq: json.loads(text) for seq, text in connection.execute("SELECT seq, line FROM log")}


def put(connection: sqlite3.Connection, seq: int, value: Any) -> None:
    connection.execute("UPDATE log SET line = ? WHERE seq = ?", (json.dumps(value), seq))


def test_a_log_nobody_touched_is_whole(tmp_path: Path, whole: bytes) -> None:
    verdict = verify_project(tampered(tmp_path, whole, lambda connection: None))
    assert (verdict.ok, verdict.count) == (True, LINES)


def test_every_field_of_a_line_is_under_the_hash(tmp_path: Path, whole: bytes) -> None:
    path = tampered(tmp_path, whole, lambda connection: None)
    with closing(sqlite3.connect(path)) as connection:
        fields = lines_of(connection)[3]
    for name in fields:
        changed = {**fields, name: {"kind": "human"} if name == "actor" else "0" * 64}
        found = verify_project(
            tampered(tmp_path, whole, lambda connection, c=changed: put(connection, 3, c))
        )
        assert any("line 3" in problem for problem in found.problems), name
    without = {
        key: value for key, value in fields.items() if key != "affected" and key != "outcome"
    }
    found = verify_project(tampered(tmp_path, whole, lambda c: put(c, 3, without)))
    assert not found.ok


def test_a_missing_line_is_found(tmp_path: Path, whole: bytes) -> None:
    found = verify_project(
        tampered(tmp_path, whole, lambda c: c.execute("DELETE FROM log WHERE seq = 4"))
    )
    assert any("line 4 is missing" in problem for problem in found.problems)


def test_reordered_lines_are_found(tmp_path: Path, whole: bytes) -> None:
    def swap(connection: sqlite3.Connection) -> None:
        lines = lines_of(connection)
        put(connection, 2, lines[5])
        put(connection, 5, lines[2])

    assert not verify_project(tampered(tmp_path, whole, swap)).ok


@pytest.mark.parametrize("kept", [0, 1, LINES - 1])
def test_a_cut_tail_is_found_by_what_stands_apart(tmp_path: Path, whole: bytes, kept: int) -> None:
    path = tampered(tmp_path, whole, lambda c: c.execute("DELETE FROM log WHERE seq > ?", (kept,)))
    problems = verify_project(path).problems
    assert any(f"{kept} lines are here, but {LINES} were written" in each for each in problems)


def test_a_line_forged_with_a_hash_of_its_own_breaks_the_next(tmp_path: Path, whole: bytes) -> None:
    def forge(connection: sqlite3.Connection) -> None:
        value = lines_of(connection)[4]
        body = {k: v for k, v in value.items() if k not in ("seq", "prev", "hash")}
        body["command"] = "innocent"
        put(connection, 4, {**value, **body, "hash": line_hash(4, value["prev"], body)})

    problems = verify_project(tampered(tmp_path, whole, forge)).problems
    assert any("line 5 does not follow" in each for each in problems)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_change_of_any_stored_text_is_found(
    tmp_path: Path, whole: bytes, data: st.DataObject
) -> None:
    """One character of one line becomes another."""
    seq = data.draw(st.integers(1, LINES))
    changed: list[bool] = []

    def scratch(connection: sqlite3.Connection) -> None:
        (text,) = connection.execute("SELECT line FROM log WHERE seq = ?", (seq,)).fetchone()
        place = data.draw(st.integers(0, len(text) - 1))
        other = data.draw(st.characters(min_codepoint=32, max_codepoint=126))
        scratched = text[:place] + other + text[place + 1 :]
        changed.append(scratched != text)
        connection.execute("UPDATE log SET line = ? WHERE seq = ?", (scratched, seq))

    assert verify_project(tampered(tmp_path, whole, scratch)).ok is not changed[0]


def test_steps_of_a_batch_stand_behind_their_line_in_one_transaction(tmp_path: Path) -> None:
    store, state = open_or_create(tmp_path / "a.oniyanma")
    entry: LogEntry = replace(line("acceptBatch"), steps=(line("one"), line("two")))
    store.write(entry, state, state)
    assert [found.body["command"] for found in store.entries()] == ["acceptBatch", "one", "two"]
    assert store.head()[1] == 3
    store.close()
    assert verify_project(tmp_path / "a.oniyanma").ok


def test_what_is_no_project_can_not_be_verified(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="no such file"):
        verify_project(tmp_path / "none.oniyanma")
