"""The command line without a window: what it prints, and what it ends with."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oniyanma import cli
from oniyanma.exits import REFUSED, WRONG
from oniyanma.registry import Actor, LogEntry
from oniyanma.registry.actor import person
from oniyanma.scene.project import open_or_create
from oniyanma.scene.state import SceneState
from tests.support import ROOT


def _run(*args: str, env: dict[str, str] | None = None, text: str = "") -> Any:
    return subprocess.run(
        [sys.executable, "-m", "oniyanma", *args],
        capture_output=True,
        text=True,
        encoding="utf-8",
        input=text,
        env={**os.environ, **(env or {})},
        timeout=120,
    )


def test_importing_the_package_loads_neither_the_window_nor_the_renderer() -> None:
    """nor does a session that draws no picture, nor the command line."""
    code = (
        "import sys, oniyanma, oniyanma.cli, oniyanma.script\n"
        "with oniyanma.Session() as session:\n"
        "    session.call('getSession')\n"
        "bad = [m for m in sys.modules if m.split('.')[0] in ('PySide6', 'vispy', 'OpenGL')]\n"
        "sys.exit(' '.join(bad) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_package_says_what_it_has() -> None:
    import oniyanma

    assert {"Session", "Actor"} <= set(dir(oniyanma))
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = oniyanma.nothing_like_it


def test_markdown_is_exactly_the_committed_page() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "oniyanma", "commands", "--markdown"], capture_output=True
    )
    assert done.returncode == 0
    assert done.stdout == (ROOT / "docs" / "commands.md").read_bytes()


def test_commands_lists_them_and_takes_one_form_only() -> None:
    done = _run("commands")
    assert done.returncode == 0 and "deleteSelection" in done.stdout
    assert _run("commands", "--json", "--markdown").returncode == 2


def test_with_no_display_a_sentence_and_status_2() -> None:
    nothing = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": ""}
    done = _run(env=nothing)
    assert done.returncode == WRONG == 2
    assert done.stderr.count("\n") == 1 and "display" in done.stderr
    assert "Traceback" not in done.stderr
    done = _run(env=nothing | {"DISPLAY": ":93"})
    assert done.returncode == 2 and ":93" in done.stderr


def test_help_says_all_and_a_wrong_word_is_no_window() -> None:
    done = _run("--help")
    assert done.returncode == 0
    for name in cli.SUBCOMMANDS:
        assert name in done.stdout
    done = _run("rendr")
    assert done.returncode == REFUSED and "rendr" in done.stderr
    assert _run("--version").stdout.startswith("oniyanma ")


def _project(path: Path, lines: int) -> Path:
    store, state = open_or_create(path)
    for number in range(lines):
        entry = LogEntry(
            time="2026-01-01T00:00:00.000Z",
            actor=Actor("api", "test"),
            surface="all",
            command="setPointSize",
            arguments={"pixels": number + 1},
            outcome="ok",
        )
        store.write(entry, state, state)
    store.close()
    assert isinstance(state, SceneState)
    return path


def _forced(path: Path) -> sqlite3.Connection:
    """The project as somebody opens it who wants to change what was logged."""
    connection = sqlite3.connect(path)
    for (name,) in connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    ).fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    return connection


def test_log_verify_finds_a_whole_log_whole(tmp_path: Path) -> None:
    path = _project(tmp_path / "p.oniyanma", 5)
    done = _run("log", "verify", str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("5 lines, whole and in order")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE log SET line = replace(line, '\"pixels\":3', '\"pixels\":4')", "was changed"),
        ("DELETE FROM log WHERE seq = 3", "missing"),
        ("DELETE FROM log WHERE seq > 3", "cut off"),
        ("DELETE FROM log", "cut off"),
    ],
)
def test_log_verify_finds_what_was_done_to_it(tmp_path: Path, damage: str, told: str) -> None:
    path = _project(tmp_path / "p.oniyanma", 5)
    connection = _forced(path)
    with connection:
        connection.execute(damage)
    connection.close()
    done = _run("log", "verify", str(path))
    assert done.returncode == 1 and told in done.stdout


def test_log_verify_finds_two_lines_that_changed_places(tmp_path: Path) -> None:
    path = _project(tmp_path / "p.oniyanma", 5)
    connection = _forced(path)
    with connection:
        rows = dict(connection.execute("SELECT seq, line FROM log"))
        for seq, other in ((2, 4), (4, 2)):
            line = json.dumps({**json.loads(rows[other]), "seq": seq})
            connection.execute("UPDATE log SET line = ? WHERE seq = ?", (line, seq))
    connection.close()
    done = _run("log", "verify", str(path))
    assert done.returncode == 1 and done.stdout.strip()


def test_log_verify_of_what_is_no_project_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.oniyanma").write_text("no project")
    for name in ("x.oniyanma", "absent.oniyanma"):
        done = _run("log", "verify", str(tmp_path / name))
        assert done.returncode == REFUSED and done.stderr.strip()
        assert "Traceback" not in done.stderr


def test_the_person_at_the_machine_is_a_person() -> None:
    assert person().kind == "human"
