"""A project file holds the scene and its log, and one program at a time writes it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oniyanma.registry.errors import Refused
from oniyanma.registry.log import GENESIS
from oniyanma.scene import state as scene
from oniyanma.scene.project import (
    NewerProject,
    ProjectError,
    Store,
    content,
    open_or_create,
    open_project,
    recoverable,
    schema,
    verify_project,
)
from oniyanma.scene.project.lock import lock_path
from tests.scene.project_values import MODEL, PERSON, edit_step, line, states
from tests.support import ROOT

EMPTY = scene.SceneState()


def with_step(state: scene.SceneState) -> scene.SceneState:
    """The state after one more edit."""
    return replace(state, events=(*state.events, edit_step(len(state.events) + 1)))


def made(path: Path, steps: int = 3) -> scene.SceneState:
    """A closed project of that many edits, each with its log line; the state in it."""
    store, state = open_or_create(path)
    for _ in range(steps):
        after = with_step(state)
        store.write(line("reclassifySelection"), state, after)
        state = after
    store.close()
    return state


def reopened(path: Path) -> scene.SceneState:
    opened = open_project(path)
    opened.close()
    return opened.stored


# --- what is kept -----------------------------------------------------------------------


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(states(), min_size=1, max_size=2))
def test_any_scene_written_over_any_other_is_the_one_that_opens_again(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[scene.SceneState]
) -> None:
    """Also through scenes in between: only differences are written, and they add up."""
    path = tmp_path_factory.mktemp("p") / "a.oniyanma"
    store, before = open_or_create(path)
    for each in drawn:
        added = tuple(
            replace(event, seq=len(before.events) + i)
            for i, event in enumerate(each.events, start=1)
        )
        after = replace(each, events=(*before.events, *added))
        store.write(line(), before, after)
        before = after
    store.close()
    stored = reopened(path)
    assert stored == content(before)
    for table in ("measurements", "findings", "batches", "bookmarks"):
        assert list(getattr(stored, table)) == list(getattr(before, table))


def test_a_record_that_an_undo_brings_back_stands_where_it_stood(tmp_path: Path) -> None:
    marks = {name: scene.Bookmark(name, scene.Camera()) for name in "abc"}
    store, first = open_or_create(tmp_path / "a.oniyanma")
    whole = replace(first, bookmarks=MappingProxyType(marks))
    without = replace(first, bookmarks=MappingProxyType({k: marks[k] for k in "ac"}))
    for before, after in ((first, whole), (whole, without), (without, whole)):
        store.write(line(), before, after)
    store.close()
    assert list(reopened(tmp_path / "a.oniyanma").bookmarks) == ["a", "b", "c"]


def test_a_view_is_kept_with_no_log_line_and_is_no_work(tmp_path: Path) -> None:
    store, state = open_or_create(tmp_path / "a.oniyanma")
    store.write(None, state, replace(state, viewport=(640, 480)))
    assert store.head() == (GENESIS, 0)
    store.close()
    assert reopened(tmp_path / "a.oniyanma").viewport == (640, 480)


def test_the_edits_of_a_closed_cloud_stay_and_its_id_is_still_known(tmp_path: Path) -> None:
    store, empty = open_or_create(tmp_path / "a.oniyanma")
    entry = scene.CloudEntry("c1", "town", "/nowhere/town.laz", header_hash="ab")
    with_cloud = with_step(replace(empty, clouds=(entry,)))
    store.write(line("openCloud"), empty, with_cloud)
    store.write(line("closeCloud"), with_cloud, replace(with_cloud, clouds=()))
    assert store.known_sources() == (entry,)
    store.close()
    stored = reopened(tmp_path / "a.oniyanma")
    assert stored.clouds == () and len(stored.events) == 1


def test_events_and_log_lines_can_only_be_added(tmp_path: Path) -> None:
    state = made(tmp_path / "a.oniyanma")
    store, opened = open_or_create(tmp_path / "a.oniyanma")
    with pytest.raises(ValueError, match="can only grow"):
        store.write(line(), opened, replace(opened, events=opened.events[:1]))
    for statement in ("DELETE FROM log", "UPDATE log SET line = ''", "DELETE FROM events"):
        with pytest.raises(ProjectError, match="is never"):
            store._file.transaction(lambda connection, s=statement: connection.execute(s))
    store.close()
    assert reopened(tmp_path / "a.oniyanma") == content(state)


def test_an_edit_and_its_line_are_one_transaction(tmp_path: Path) -> None:
    """A line that can't be written takes the edit with it, and the next one still works."""
    path = tmp_path / "a.oniyanma"
    store, state = open_or_create(path)
    after = with_step(state)
    store._file.run(
        lambda connection: connection.execute(
            "CREATE TEMP TRIGGER fault BEFORE INSERT ON log BEGIN SELECT RAISE(ABORT, 'fault'); END"
        )
    )
    with pytest.raises(ProjectError, match="fault"):
        store.write(line(), state, after)
    store._file.run(lambda connection: connection.execute("DROP TRIGGER fault"))
    assert store.head() == (GENESIS, 0)
    store.write(line(), state, after)
    store.close()
    assert reopened(path) == content(after)
    assert verify_project(path).count == 1


def test_the_log_is_asked_by_who_what_and_since(tmp_path: Path) -> None:
    store, state = open_or_create(tmp_path / "a.oniyanma")
    for number in range(6):
        actor = MODEL if number % 2 else PERSON
        store.write(line(f"command{number // 3}", actor, n=number), state, state)

    def seqs(**asked: object) -> list[int]:
        return [found.seq for found in store.entries(**asked)]  # type: ignore[arg-type]

    assert seqs() == [1, 2, 3, 4, 5, 6]
    assert seqs(limit=2) == [5, 6]
    assert seqs(actor_kind="ai") == [2, 4, 6]
    assert seqs(command="command0", limit=2) == [2, 3]
    assert seqs(since=4) == [5, 6]
    assert store.entries(limit=1)[0].body["arguments"] == {"n": 5}
    store.close()


def test_a_name_that_is_no_text_is_refused_with_a_sentence(tmp_path: Path) -> None:
    store, state = open_or_create(tmp_path / "a.oniyanma")
    bad = {"\ud800": scene.Bookmark("\ud800", scene.Camera())}
    with pytest.raises(Refused, match="no text"):
        store.write(line(), state, replace(state, bookmarks=bad))
    store.close()


# --- two programs -------------------------------------------------------------------------


def test_a_second_program_gets_it_read_only_and_is_told_why(tmp_path: Path) -> None:
    path = tmp_path / "town.oniyanma"
    state = made(path)
    code = f"""
        from oniyanma.scene.project import open_or_create
        store, state = open_or_create({str(path)!r})
        print("open", flush=True)
        input()
    """
    other = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        store, second = open_or_create(path)
        assert second.project.read_only
        assert f"process {other.pid}" in second.project.reason
        assert second.project.reason.startswith("town.oniyanma is open in another program")
        assert content(second) == content(state)

        changed = with_step(second)
        store.write(line(), second, changed)  # kept apart, as unsaved work
        project = store.save_as(tmp_path / "mine.oniyanma", changed)
        store.write(line("saveProject"), changed, replace(changed, project=project))
        store.close()
        assert len(reopened(tmp_path / "mine.oniyanma").events) == 4
    finally:
        other.kill()
        other.communicate()
    assert reopened(path) == content(state), "the first program's file was not touched"
    store, again = open_or_create(path)
    assert not again.project.read_only, "a lock dies with its program"
    store.close()
    assert not lock_path(path).exists()


def test_on_a_drive_without_locks_the_holder_written_down_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.oniyanma"
    made(path)

    def no_locks(_descriptor: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("oniyanma.scene.project.lock._try_lock", no_locks)
    first, state = open_or_create(path)
    second, other = open_or_create(path)
    assert not state.project.read_only and other.project.read_only
    first.close()
    second.close()
    lock_path(path).write_text(json.dumps({"pid": 2**30, "host": os.uname().nodename}))
    third, state = open_or_create(path)
    assert not state.project.read_only, "its holder on this machine is gone"
    third.close()
    lock_path(path).write_text(json.dumps({"pid": 1, "host": "another.example", "user": "bo"}))
    fourth, state = open_or_create(path)
    assert "process 1 of bo on another.example" in state.project.reason
    fourth.close()


def test_saving_over_a_project_in_use_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "a.oniyanma")
    holder, _ = open_or_create(tmp_path / "a.oniyanma")
    store, state = open_or_create(None)
    with pytest.raises(ProjectError, match="is open in another program"):
        store.save_as(tmp_path / "a.oniyanma", state, overwrite=True)
    with pytest.raises(ProjectError, match="exists"):
        store.save_as(tmp_path / "a.oniyanma", state)
    holder.close()
    store.close()


# --- other versions -----------------------------------------------------------------------


def test_a_newer_project_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.oniyanma"
    made(path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}")
    connection.close()
    before = path.read_bytes()
    for ask in (open_or_create, open_project, verify_project):
        with pytest.raises(NewerProject, match=r"newer oniyanma .* update oniyanma to open it"):
            ask(path)
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.oniyanma"]


def test_an_older_project_is_migrated_on_a_copy_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.oniyanma"
    state = made(path)
    before = path.read_bytes()
    version = len(schema.MIGRATIONS)
    step = "CREATE TABLE later (id TEXT) STRICT;"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    store, opened = open_or_create(path)
    assert content(opened) == content(state)
    assert store._file.run(lambda c: c.execute("SELECT count(*) FROM later").fetchone()) == (0,)
    store.close()
    assert verify_project(path).ok
    kept = tmp_path / f"a.v{version}.oniyanma"
    monkeypatch.undo()
    assert reopened(kept) == content(state)
    assert len(before) == kept.stat().st_size


def test_a_migration_that_fails_leaves_the_older_project_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.oniyanma"
    state = made(path)
    before = path.read_bytes()
    broken = "CREATE TABLE later (id TEXT) STRICT; INSERT INTO nowhere VALUES (1);"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, broken))
    with pytest.raises(ProjectError, match="nowhere"):
        open_or_create(path)
    assert path.read_bytes() == before
    monkeypatch.undo()
    assert reopened(path) == content(state)
    assert not (tmp_path / "a.oniyanma.part").exists()


@pytest.mark.parametrize("garbage", [b"", b"not a project", b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_file_that_is_no_project_is_refused_and_not_touched(
    tmp_path: Path, garbage: bytes
) -> None:
    path = tmp_path / "a.oniyanma"
    path.write_bytes(garbage)
    with pytest.raises(ProjectError, match=r"a\.oniyanma"):
        open_or_create(path)
    assert path.read_bytes() == garbage


def test_a_damaged_row_is_said_and_the_file_let_go(tmp_path: Path) -> None:
    path = tmp_path / "a.oniyanma"
    made(path)
    with sqlite3.connect(path) as connection:
        connection.executescript("DROP TRIGGER events_stay; UPDATE events SET body = '{\"seq\":1}'")
    connection.close()
    with pytest.raises(ProjectError, match="damaged"):
        open_or_create(path)
    assert not lock_path(path).exists()


# --- drives and folders ---------------------------------------------------------------------


def test_a_network_drive_gets_a_rollback_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a project made in WAL elsewhere and copied there."""
    path = tmp_path / "a.oniyanma"
    state = made(path)
    monkeypatch.setattr("oniyanma.scene.project.file.on_network", lambda path: True)
    store, opened = open_or_create(path)
    assert store._file.journal == "delete"
    after = with_step(opened)
    store.write(line(), opened, after)
    with_reader = open_project(path)
    assert with_reader.stored == content(after), "a second program can still read"
    with_reader.close()
    store.close()
    assert len(reopened(path).events) == len(state.events) + 1


def test_a_read_only_folder_or_file_gives_a_read_only_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.oniyanma"
    state = made(path)
    with monkeypatch.context() as patch:
        patch.setattr("oniyanma.scene.project.store.Lock", _refusing_beside(path))
        store, opened = open_or_create(path)
        assert opened.project.read_only and "can't be written" in opened.project.reason
        assert content(opened) == content(state)
        store.close()
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        store, opened = open_or_create(path)
        assert opened.project.read_only and "read-only file" in opened.project.reason
        store.close()
    assert recoverable() == [], "nothing was done, so nothing is left to recover"


def _refusing_beside(path: Path) -> object:
    from oniyanma.scene.project.lock import Lock

    def lock(project: Path) -> Lock:
        if project == path:
            raise PermissionError(13, "Permission denied")
        return Lock(project)

    return lock


def test_no_place_for_unsaved_work_is_said_and_the_session_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ONIYANMA_DATA", str(tmp_path / "file"))
    store, state = open_or_create(None)
    assert "can't survive a crash" in state.project.reason
    after = with_step(state)
    store.write(line(), state, after)
    project = store.save_as(tmp_path / "a.oniyanma", after)
    store.write(line(), after, replace(after, project=project))
    store.close()
    assert len(reopened(tmp_path / "a.oniyanma").events) == 1


# --- unsaved work -----------------------------------------------------------------------------


def test_unsaved_work_is_offered_again_after_its_session_is_gone() -> None:
    store, state = open_or_create(None)
    entry = scene.CloudEntry("c1", "town", "/nowhere/town.laz")
    after = with_step(replace(state, clouds=(entry,)))
    store.write(line(), state, after)
    assert recoverable() == [], "its session is still at work"
    store.close()
    (found,) = recoverable()
    assert (found.edits, found.records, found.clouds, found.problem) == (1, 0, ("town",), None)
    again, back = open_or_create(found.path)
    assert back.project.path is None and content(back) == content(after)
    assert [report.status for report in again.reports] == ["missing"]
    again.close()
    again, _ = open_or_create(found.path)
    again.close(discard=True)
    assert recoverable() == []


def test_a_session_without_work_leaves_nothing_behind(tmp_path: Path) -> None:
    store, state = open_or_create(None)
    assert store.path is not None
    store.write(line("setCamera"), state, replace(state, camera=scene.Camera(fov=20.0)))
    store.close()
    assert list(store.path.parent.iterdir()) == []


def test_saving_moves_unsaved_work_into_the_project(tmp_path: Path) -> None:
    store, state = open_or_create(None)
    unsaved = store.path
    assert unsaved is not None
    after = with_step(state)
    store.write(line("reclassifySelection"), state, after)
    project = store.save_as(tmp_path / "a.oniyanma", after)
    saved = replace(after, project=project)
    store.write(line("saveProject"), after, saved)
    assert store.path == tmp_path / "a.oniyanma"
    assert not unsaved.exists() and recoverable() == []
    store.write(line(), saved, with_step(saved))
    store.close()
    assert len(reopened(tmp_path / "a.oniyanma").events) == 2
    verdict = verify_project(tmp_path / "a.oniyanma")
    assert (verdict.ok, verdict.count) == (True, 3)


def test_a_switch_that_comes_to_nothing_leaves_the_project_in_use(tmp_path: Path) -> None:
    """A fault after the other project was opened: its lock goes, the old one is written on."""
    made(tmp_path / "b.oniyanma")
    store, state = open_or_create(tmp_path / "a.oniyanma")
    store.stage(open_project(tmp_path / "b.oniyanma"))
    store.write(line("openProject"), state, state)  # the door's line of the failure
    assert not lock_path(tmp_path / "b.oniyanma").exists()
    assert store.path == tmp_path / "a.oniyanma"
    opened = open_project(tmp_path / "b.oniyanma")
    store.stage(opened)
    store.write(line("openProject"), state, opened.state)
    assert store.path == tmp_path / "b.oniyanma"
    assert not lock_path(tmp_path / "a.oniyanma").exists()
    store.close()
    assert verify_project(tmp_path / "b.oniyanma").count == 4


def test_saving_over_a_project_that_a_killed_program_left_keeps_its_log_out_of_the_new_one(
    tmp_path: Path,
) -> None:
    """A write-ahead log beside the old file must never be replayed into the new one."""
    path = tmp_path / "a.oniyanma"
    code = f"""
        import os, signal
        from tests.scene.test_project import made, with_step, line
        from oniyanma.scene.project import open_or_create
        store, state = open_or_create({str(path)!r})
        for _ in range(20):
            after = with_step(state)
            store.write(line(), state, after)
            state = after
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, check=False)
    assert path.with_name("a.oniyanma-wal").stat().st_size > 0
    store, state = open_or_create(None)
    after = with_step(state)
    store.write(line(), state, after)
    project = store.save_as(path, after, overwrite=True)
    store.write(line(), after, replace(after, project=project))
    store.close()
    assert reopened(path) == content(after)
    assert verify_project(path).ok


# --- clouds that moved ------------------------------------------------------------------------


@pytest.fixture
def with_clouds(tmp_path: Path) -> Path:
    """A project with three clouds in a folder that has since been moved away."""
    entries = tuple(
        scene.CloudEntry(
            f"c{i}", name, str(tmp_path / "gone" / name), header_hash=f"hash of {name}"
        )
        for i, name in enumerate(("a.las", "b.las", "c.las"))
    )
    store, state = open_or_create(tmp_path / "x.oniyanma")
    store.write(line(), state, replace(state, clouds=entries))
    store.close()
    return tmp_path / "x.oniyanma"


def test_moved_clouds_are_found_beside_the_project_by_name_and_header(with_clouds: Path) -> None:
    folder = with_clouds.parent
    (folder / "a.las").write_bytes(b"the same")
    (folder / "b.las").write_bytes(b"another file of that name")
    hashes = {"a.las": "hash of a.las", "b.las": "something else"}
    opened = open_project(with_clouds, hash_of=lambda path: hashes[path.name])
    found = {report.cloud: (report.status, report.message) for report in opened.reports}
    assert found["c0"][0] == "moved"
    assert found["c1"][0] == "missing" and "is another file" in found["c1"][1]
    assert found["c2"][0] == "missing" and "put it beside the project" in found["c2"][1]
    paths = [entry.path for entry in opened.state.clouds]
    assert paths[0] == str(folder / "a.las") and "gone" in paths[1] and "gone" in paths[2]

    store = Store(opened)
    store.write(line(), opened.stored, opened.state)
    store.close()
    assert reopened(with_clouds).clouds[0].path == str(folder / "a.las"), "it is remembered"


def test_a_cloud_that_changed_in_its_place_is_said(with_clouds: Path) -> None:
    gone = with_clouds.parent / "gone"
    gone.mkdir()
    for name in ("a.las", "b.las", "c.las"):
        (gone / name).write_bytes(b"x")
    opened = open_project(
        with_clouds,
        hash_of=lambda path: "new" if path.name == "b.las" else f"hash of {path.name}",
    )
    opened.close()
    (report,) = opened.reports
    assert (report.cloud, report.status) == ("c1", "changed")
    assert "its header differs" in report.message
