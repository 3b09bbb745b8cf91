"""Projects through the door: opened, saved, recovered, moved, and never lost."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pytest

from oniyanma import Session
from oniyanma.commands import build_registry
from oniyanma.registry import Actor
from oniyanma.scene.project import content, recoverable, verify_project
from oniyanma.scene.project.file import reading
from tests.app.scenes import small_cloud
from tests.support import ROOT

PERSON = Actor("human", "Ada")
REGISTRY = build_registry()


def started(**options: Any) -> Session:
    return Session(registry=REGISTRY, inline_workers=True, actor=PERSON, **options)


def ok(session: Session, command: str, **args: Any) -> dict[str, Any]:
    answer = session.call(command, args)
    assert answer["ok"], answer
    return answer


def error(session: Session, command: str, **args: Any) -> dict[str, Any]:
    answer = session.call(command, args)
    assert not answer["ok"], answer
    found: dict[str, Any] = answer["error"]
    return found


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return small_cloud(tmp_path / "site.las")


@pytest.fixture
def session(site: Path) -> Iterator[Session]:
    """An unsaved session with a cloud and one edit."""
    with started() as made:
        ok(made, "openCloud", path=str(site))
        ok(made, "selectWhere", classes=[6])
        ok(made, "reclassifySelection", **{"class": 17})
        yield made


def test_everything_is_there_again_after_saving_closing_and_opening(
    session: Session, tmp_path: Path
) -> None:
    ok(session, "saveBookmark", name="gate")
    ok(session, "addFinding", title="pole", position=[1010, 2010, 101])
    ok(session, "setColorMode", mode="classification")
    ok(session, "saveProject", path=str(tmp_path / "a.oniyanma"))
    ok(session, "setCamera", preset="top")  # the view is kept without saving
    count = ok(session, "getSelection")["points"]
    before, log = content(session.state), ok(session, "getCommandLog", limit=200)
    session.close()
    with started(project=tmp_path / "a.oniyanma") as again:
        assert content(again.state) == before
        assert ok(again, "getSelection")["points"] == count
        shown = ok(again, "getCommandLog", limit=200)
        assert shown["entries"][: log["count"]] == log["entries"]
        ok(again, "undo", steps=3)
        assert ok(again, "listEdits")["edits"][0]["undone"]
    assert verify_project(tmp_path / "a.oniyanma").ok


def test_opening_a_project_takes_the_place_of_all_that_was_there(
    session: Session, tmp_path: Path
) -> None:
    """Also where the same cloud id stands for another file."""
    ok(session, "saveProject", path=str(tmp_path / "a.oniyanma"))
    other = small_cloud(tmp_path / "other.las", count=900)
    with started(project=tmp_path / "b.oniyanma") as second:
        assert ok(second, "openCloud", path=str(other))["cloud"] == "c1"
        wanted = content(second.state)
    revision = session.state.revision
    answer = ok(session, "openProject", path=str(tmp_path / "b.oniyanma"))
    assert answer["clouds"] == [{"id": "c1", "name": "other.las", "path": str(other)}]
    assert answer["revision"] == revision + 1, "a revision is never used again"
    assert content(session.state) == wanted
    session.settle()
    assert ok(session, "queryElevation")["count"] == 900
    assert ok(session, "getSession")["project"]["path"] == str(tmp_path / "b.oniyanma")
    ok(session, "selectWhere", classes=[2])
    assert len(open_project_lines(tmp_path / "a.oniyanma")) == 4
    assert "openProject" in open_project_lines(tmp_path / "b.oniyanma")[-2]


def open_project_lines(path: Path) -> list[str]:
    with reading(path) as connection:
        return [text for (text,) in connection.execute("SELECT line FROM log ORDER BY seq")]


def test_opening_another_project_keeps_unsaved_work_to_be_recovered(
    session: Session, tmp_path: Path
) -> None:
    started(project=tmp_path / "b.oniyanma").close()
    before = content(session.state)
    ok(session, "openProject", path=str(tmp_path / "b.oniyanma"))
    (found,) = recoverable()
    assert (found.edits, found.clouds) == (1, ("site.las",))
    ok(session, "openProject", path=found.path)
    assert content(session.state) == before
    assert session.state.project.path is None, "it is unsaved still"
    assert recoverable() == []
    ok(session, "saveProject", path=str(tmp_path / "kept.oniyanma"))
    session.close()
    assert recoverable() == []


def test_what_can_not_be_opened_or_saved_changes_nothing(
    session: Session, tmp_path: Path, site: Path
) -> None:
    before = session.state
    assert error(session, "openProject", path=str(tmp_path / "none"))["code"] == "not_found"
    assert "not an oniyanma project" in error(session, "openProject", path=str(site))["message"]
    assert "say where" in error(session, "saveProject")["message"]
    missing = str(tmp_path / "no" / "a.oniyanma")
    assert "does not exist" in error(session, "saveProject", path=missing)["message"]
    refused = error(session, "saveProject", path=str(site), overwrite=True)
    assert "not an oniyanma project" in refused["message"]
    assert session.state is before
    ok(session, "undo")


def test_saving_where_the_project_is_and_over_another_one(session: Session, tmp_path: Path) -> None:
    path = str(tmp_path / "a.oniyanma")
    ok(session, "saveProject", path=path)
    assert ok(session, "saveProject")["path"] == path
    assert ok(session, "saveProject", path=path)["path"] == path, "also by its name"
    started(project=tmp_path / "b.oniyanma").close()
    other = str(tmp_path / "b.oniyanma")
    assert "exists" in error(session, "saveProject", path=other)["message"]
    ok(session, "saveProject", path=other, overwrite=True)
    ok(session, "undo")
    assert len(open_project_lines(Path(path))) == 7, "the old one stays as it was"
    assert len(open_project_lines(Path(other))) == 9


def test_a_fault_in_the_commit_leaves_the_old_project_in_use(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started(project=tmp_path / "b.oniyanma").close()
    ok(session, "saveProject", path=str(tmp_path / "a.oniyanma"))
    before = session.state

    def fault(*_: object) -> None:
        raise RuntimeError("planted")

    with monkeypatch.context() as patch:
        patch.setattr("oniyanma.scene.project.rows.write_difference", fault)
        for command, path in (("openProject", "b.oniyanma"), ("saveProject", "c.oniyanma")):
            answer = session.call(command, {"path": str(tmp_path / path)})
            assert answer["error"]["code"] == "internal"
    assert session.state is before
    ok(session, "undo")
    assert "undo" in open_project_lines(tmp_path / "a.oniyanma")[-1]
    with started(project=tmp_path / "b.oniyanma") as free:
        assert not free.state.project.read_only, "its lock was let go"


def test_a_project_open_elsewhere_is_shown_and_not_changed(
    session: Session, tmp_path: Path
) -> None:
    path = tmp_path / "a.oniyanma"
    ok(session, "saveProject", path=str(path))
    with started(project=path) as second:
        told = ok(second, "getSession")
        assert told["readOnly"] is True
        assert "is open in another program" in told["project"]["reason"]
        assert error(second, "undo")["code"] == "unavailable"
        assert "is open in another program" in error(second, "saveProject")["message"]
        assert ok(second, "queryClasses")["classes"]
        ok(second, "saveProject", path=str(tmp_path / "copy.oniyanma"))
        assert ok(second, "getSession")["readOnly"] is False
        ok(second, "undo")
    ok(session, "hideSelection")
    assert len(session.state.events) == 2


def test_a_folder_moved_with_its_clouds_opens_as_before(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    site = small_cloud(tmp_path / "job" / "site.las")
    with started(project=tmp_path / "job" / "a.oniyanma") as session:
        ok(session, "openCloud", path=str(site))
        ok(session, "selectWhere", classes=[6])
        ok(session, "deleteSelection")
    shutil.move(tmp_path / "job", tmp_path / "archive")
    with started() as session:
        answer = ok(session, "openProject", path=str(tmp_path / "archive" / "a.oniyanma"))
        assert [one["status"] for one in answer["sources"]] == ["moved"]
        session.settle()
        out = str(tmp_path / "out.las")
        assert ok(session, "exportCloud", path=out)["points"] == int(
            (laspy.read(tmp_path / "archive" / "site.las").classification != 6).sum()
        )


def test_a_missing_cloud_is_itself_again_when_it_is_opened_from_where_it_is(
    tmp_path: Path,
) -> None:
    """Its header says that it is the same; another cloud gets an id of its own."""
    for name in ("job", "elsewhere"):
        (tmp_path / name).mkdir()
    site = small_cloud(tmp_path / "site.las")
    with started(project=tmp_path / "job" / "a.oniyanma") as session:
        ok(session, "openCloud", path=str(site))
        ok(session, "selectWhere", classes=[6])
        ok(session, "deleteSelection")
    moved = shutil.move(site, tmp_path / "elsewhere" / "renamed.las")
    another = small_cloud(tmp_path / "another.las", count=500)
    with started(project=tmp_path / "job" / "a.oniyanma") as session:
        (listed,) = ok(session, "listClouds")["clouds"]
        assert listed["state"] == "failed"
        assert error(session, "exportCloud", path=str(tmp_path / "x.las"), cloud="c1")
        assert ok(session, "openCloud", path=str(another))["cloud"] == "c2"
        assert ok(session, "openCloud", path=str(moved))["cloud"] == "c1"
        ok(session, "exportCloud", path=str(tmp_path / "out.las"), cloud="c1")
    assert 6 not in laspy.read(tmp_path / "out.las").classification
    with started(project=tmp_path / "job" / "a.oniyanma") as session:
        assert {c["state"] for c in ok(session, "listClouds")["clouds"]} == {"ready"}


def test_a_project_whose_clouds_are_missing_is_still_drawn_and_reported(tmp_path: Path) -> None:
    """One of two files gone, and then both."""
    sites = [small_cloud(tmp_path / f"{name}.las") for name in "ab"]
    with started(project=tmp_path / "a.oniyanma") as session:
        for site in sites:
            ok(session, "openCloud", path=str(site))
    for number, site in enumerate(sites):
        site.unlink()
        with started(project=tmp_path / "a.oniyanma") as session:
            ok(session, "captureView", width=64, height=64)
            ok(session, "saveBookmark", name=f"without {number}")
            ok(session, "exportReport", what="report", path=str(tmp_path / f"{number}.pdf"))


def test_reclassified_killed_opened_again_and_exported(tmp_path: Path) -> None:
    """At the coarsest view, with no warning, and no save after it."""
    site = small_cloud(tmp_path / "site.las", count=120_000)
    project = tmp_path / "a.oniyanma"
    code = f"""
        import os, signal
        from oniyanma import Session
        from oniyanma.registry import Actor
        session = Session(project={str(project)!r}, inline_workers=True, viewport=(64, 64),
                          actor=Actor("human", "Ada"))
        for name, args in (
            ("openCloud", {{"path": {str(site)!r}}}),
            ("setPointBudget", {{"points": 100_000}}),
            ("setCamera", {{"eye": [1025, 2025, 90000], "target": [1025, 2025, 100]}}),
            ("selectBox", {{"min": [1010, 2010, 0], "max": [1040, 2030, 200]}}),
            ("reclassifySelection", {{"class": 17}}),
        ):
            assert session.call(name, args)["ok"]
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, check=False, capture_output=True
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    with started(project=project) as session:
        ok(session, "exportCloud", path=str(tmp_path / "out.laz"))
    las, out = laspy.read(site), laspy.read(tmp_path / "out.laz")
    x, y = las.X * 0.01 + 1000.0, las.Y * 0.01 + 2000.0
    hit = (x >= 1010) & (x <= 1040) & (y >= 2010) & (y <= 2030)
    assert np.array_equal(out.classification, np.where(hit, 17, las.classification))


def test_the_log_of_a_project_is_verified_from_the_command_line(
    session: Session, tmp_path: Path
) -> None:
    path = tmp_path / "a.oniyanma"
    ok(session, "saveProject", path=str(path))
    command = [sys.executable, "-m", "oniyanma", "log", "verify", str(path)]
    whole = subprocess.run(command, capture_output=True, text=True, check=False)
    assert whole.returncode == 0, whole.stderr
    assert "4" in whole.stdout, "also while it is open"
    session.close()
    with sqlite3.connect(path) as connection:
        connection.executescript("DROP TRIGGER log_remains; DELETE FROM log WHERE seq = 4;")
    connection.close()
    cut = subprocess.run(command, capture_output=True, text=True, check=False)
    assert cut.returncode != 0
    assert "cut off" in cut.stdout + cut.stderr


def test_machines_open_projects_only_where_they_may_read(
    session: Session, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    private = tmp_path_factory.mktemp("private") / "b.oniyanma"
    started(project=private).close()
    machine = session.handle(Actor("api", "script"))

    def opened(path: Path) -> dict[str, Any]:
        return session.submit("openProject", {"path": str(path)}, machine).result()

    assert opened(private)["error"]["code"] == "refused"
    (tmp_path / "b.oniyanma").symlink_to(private)
    assert opened(tmp_path / "b.oniyanma")["error"]["code"] == "refused", "where a link leads"
    started(project=tmp_path / "c.oniyanma").close()
    assert opened(tmp_path / "c.oniyanma")["ok"], "beside an open cloud"
