"""``oniyanma script``: a line of commands in, a line of answers out, and an honest exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oniyanma.exits import REFUSED
from oniyanma.script import parser, viewport
from tests.app.scenes import small_cloud


def script(*args: str, lines: list[Any], cwd: Path | None = None) -> tuple[int, list[Any], str]:
    """Run lines from the input: status, answers, what was said on the error stream."""
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    done = subprocess.run(
        [sys.executable, "-m", "oniyanma", "script", *args],
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        timeout=180,
        env={**os.environ, "DISPLAY": ""},
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def ask(name: str, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args}


def test_each_line_is_answered_as_the_door_gives_it(tmp_path: Path) -> None:
    cloud = small_cloud(tmp_path / "é 点.las")
    lines = [
        ask("queryElevation", bins=8),
        "",
        ask("selectWhere", classes=[6]),
        ask("deleteSelection"),
        ask("deleteSelection", confirm=True),
        {"name": "getSelection"},
    ]
    status, answers, error = script("-", "--open", str(cloud), lines=lines)
    assert status == 0, error
    elevation, selected, preview, deleted, left = answers
    assert elevation["ok"] and len(elevation["bins"]) == 8 and elevation["count"] == 4000
    assert preview["preview"] and preview["wouldAffect"]["points"] == selected["points"] > 0
    assert deleted["ok"] and left["points"] == 0 and left["note"]


def test_a_failure_ends_it_with_1_unless_it_is_to_keep_going() -> None:
    lines = [ask("getSession"), ask("nothing"), ask("getSession")]
    status, answers, _ = script("-", lines=lines)
    assert status == 1 and [a["ok"] for a in answers] == [True, False]
    status, answers, _ = script("-", "--keep-going", lines=lines)
    assert status == 1 and [a["ok"] for a in answers] == [True, False, True]


@pytest.mark.parametrize(
    "line", ["{", "[]", "7", '{"args": {}}', '{"name": 3}', '{"name": "undo", "actor": "human"}']
)
def test_a_line_that_is_no_command_is_answered_in_its_place(line: str) -> None:
    status, answers, error = script("-", "--keep-going", lines=[line, ask("getSession")])
    assert status == 1 and "Traceback" not in error
    assert answers[0]["error"]["code"] == "invalid_arguments"
    assert answers[1]["ok"] and answers[1]["actor"] == {"kind": "api", "name": "script"}


def test_the_read_surface_of_a_script_writes_nothing(tmp_path: Path) -> None:
    cloud = small_cloud(tmp_path / "a.las")
    lines = [ask("setPointSize", pixels=3), ask("listClouds")]
    args = ("-", "--surface", "read", "--keep-going", "--open", str(cloud))
    status, answers, _ = script(*args, lines=lines)
    assert status == 1
    assert answers[0]["error"]["code"] == "surface_denied"
    assert len(answers[1]["clouds"]) == 1


def test_a_script_writes_only_where_its_person_said(tmp_path: Path) -> None:
    cloud = small_cloud(tmp_path / "a.las")
    (tmp_path / "out").mkdir()
    lines = [
        ask("exportCloud", path=str(tmp_path / "b.las")),
        ask("exportCloud", path=str(tmp_path / "out" / "b.las")),
    ]
    given = ["-", "--keep-going", "--open", str(cloud), "--allow-write", str(tmp_path / "out")]
    status, answers, _ = script(*given, lines=lines)
    assert [a["ok"] for a in answers] == [False, True] and status == 1
    assert answers[0]["error"]["code"] == "refused"
    assert not (tmp_path / "b.las").exists() and (tmp_path / "out" / "b.las").exists()


def test_a_file_of_lines_and_relative_paths(tmp_path: Path) -> None:
    small_cloud(tmp_path / "a.las")
    small_cloud(tmp_path / "b.las", 50)
    (tmp_path / "job.jsonl").write_text(
        json.dumps(ask("openCloud", path="b.las")) + "\n" + json.dumps(ask("listClouds")),
        encoding="utf-8",
    )
    status, answers, error = script("job.jsonl", "--open", "a.las", lines=[], cwd=tmp_path)
    assert status == 0, error
    assert [cloud["points"] for cloud in answers[1]["clouds"]] == [4000, 50]


def test_what_can_not_be_opened_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "bad.las").write_bytes(b"")
    status, answers, error = script("-", "--open", str(tmp_path / "bad.las"), lines=["x"])
    assert status == REFUSED and answers == [] and error.strip()
    assert "Traceback" not in error
    status, _, error = script(str(tmp_path / "absent.jsonl"), lines=[])
    assert status == REFUSED and "absent.jsonl" in error


def test_counts_repeat_from_run_to_run(tmp_path: Path) -> None:
    cloud = small_cloud(tmp_path / "a.las", 30_000)
    lines = [
        ask("setCamera", preset="top"),
        ask("selectPolygon", points=[[100, 100], [500, 100], [300, 400]], space="screen"),
        ask("getSelection"),
        ask("queryClasses"),
    ]
    args = ("-", "--open", str(cloud), "--viewport", "640x480")
    first, second = (script(*args, lines=lines)[1] for _ in range(2))
    assert first == second and first[2]["points"] > 0


def test_a_project_of_a_script_is_there_again(tmp_path: Path) -> None:
    project = str(tmp_path / "p.oniyanma")
    script("-", "--project", project, lines=[ask("addFinding", title="Pole", position=[1, 2, 3])])
    _, answers, _ = script("-", "--project", project, lines=[ask("listFindings")])
    assert [f["title"] for f in answers[0]["findings"]] == ["Pole"]


def test_the_size_of_the_viewport_is_checked() -> None:
    assert viewport("1280x720") == (1280, 720)
    for wrong in ("1280", "1x1", "99999x720", "axb", "1280x720x3", "-5x20"):
        with pytest.raises(SystemExit):
            parser().parse_args(["-", "--viewport", wrong])
