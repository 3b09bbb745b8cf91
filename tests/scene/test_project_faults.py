"""A full or failing disk changes nothing, whichever write it hits."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from oniyanma.scene import state as scene
from oniyanma.scene.project import (
    ProjectError,
    content,
    open_or_create,
    open_project,
    recoverable,
    schema,
    verify_project,
)
from tests.scene.project_values import edit_step, line
from tests.scene.sqlite_faults import FILLS, READS, failing_at, intercepted

MOST = 400  # writes any of these takes, amply


def bigger(state: scene.SceneState) -> scene.SceneState:
    """One more edit and a bookmark with a picture of some pages."""
    mark = scene.Bookmark(f"b{len(state.events)}", scene.Camera(), os.urandom(20_000))
    return replace(
        state,
        events=(*state.events, edit_step(len(state.events) + 1)),
        bookmarks=MappingProxyType({**state.bookmarks, mark.name: mark}),
    )


def until_it_passes(once: Callable[[int, list[int]], bool]) -> int:
    """Fail the first, second, third … write until there is none left to fail; how many."""
    for n in range(1, MOST):
        counted = [0]
        passed = once(n, counted)
        if counted[0] < n:
            assert passed, "it failed with no write failing"
            return n - 1
    raise AssertionError("it never passed")


def stored_in(path: Path) -> scene.SceneState:
    opened = open_project(path)
    opened.close()
    return opened.stored


@pytest.mark.parametrize(
    ("error", "sentence"),
    [(errno.ENOSPC, "disk is full"), (errno.EIO, "could not be read or written")],
)
@pytest.mark.parametrize("network", [False, True])
def test_a_write_that_fails_at_any_point_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, sentence: str, network: bool
) -> None:
    """In both journals; and the store goes on working when the disk does again."""
    monkeypatch.setattr("oniyanma.scene.project.file.on_network", lambda path: network)
    path = tmp_path / "a.oniyanma"
    store, state = open_or_create(path)
    first = bigger(state)
    store.write(line("first"), state, first)
    state = first

    def once(n: int, counted: list[int]) -> bool:
        nonlocal state
        after, head = bigger(state), store.head()
        with intercepted(failing_at(n, error, counted)):
            try:
                store.write(line("again"), state, after)
            except ProjectError as failure:
                assert failure.code == "refused"
                passed = False
                if counted[0] == n and not network:
                    assert sentence in failure.message
            else:
                passed = True
        if passed:
            state = after
        else:
            assert store.head() == head
        return passed

    assert until_it_passes(once) > 3
    store.write(line("last"), state, last := bigger(state))
    store.close()
    assert stored_in(path) == content(last)
    verdict = verify_project(path)
    assert (verdict.ok, verdict.count) == (True, 3)


def test_saving_as_fails_at_any_point_and_leaves_the_old_one_in_use(tmp_path: Path) -> None:
    def once(n: int, counted: list[int]) -> bool:
        store, empty = open_or_create(None)
        state = bigger(empty)
        store.write(line(), empty, state)
        target = tmp_path / f"{n}.oniyanma"
        saved = True
        with intercepted(failing_at(n, errno.ENOSPC, counted), FILLS):
            try:
                project = store.save_as(target, state)
                store.write(line("saveProject"), state, replace(state, project=project))
            except ProjectError:
                saved = False
        assert not list(tmp_path.glob("*.part*")), "no half copy"
        assert store.path == target if saved else store.path != target
        assert target.exists() == saved, "nothing is left of a save that was refused"
        after = bigger(state)
        store.write(line(), state, after)
        store.close()
        left = target if saved else Path(recoverable()[0].path)
        assert stored_in(left) == content(after)
        assert verify_project(left).count == (3 if saved else 2)
        if not saved:
            left.unlink()
        assert recoverable() == []
        return saved

    assert until_it_passes(once) > 5


@pytest.mark.parametrize("broken", ["replace", "fsync"])
def test_saving_as_survives_what_the_folder_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    store, empty = open_or_create(None)
    state = bigger(empty)
    store.write(line(), empty, state)

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, broken, refuse)
        with pytest.raises(ProjectError, match="No space left on device"):
            project = store.save_as(tmp_path / "a.oniyanma", state)
            store.write(line("saveProject"), state, replace(state, project=project))
    assert list(tmp_path.iterdir()) == []
    store.write(line(), state, bigger(state))
    store.close()
    assert recoverable()[0].edits == 2


def test_a_save_over_another_project_whose_line_fails_leaves_that_one(tmp_path: Path) -> None:
    target = tmp_path / "a.oniyanma"
    other, empty = open_or_create(target)
    other.write(line(), empty, kept := bigger(empty))
    other.close()
    store, empty = open_or_create(None)
    state = bigger(bigger(empty))
    store.write(line(), empty, state)
    project = store.save_as(target, state, overwrite=True)
    with intercepted(failing_at(1, errno.ENOSPC, [0]), FILLS), pytest.raises(ProjectError):
        store.write(line("saveProject"), state, replace(state, project=project))
    assert list(tmp_path.iterdir()) == [target]
    assert stored_in(target) == content(kept)
    store.close()


def test_a_migration_fails_at_any_point_and_leaves_the_older_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.oniyanma"
    store, empty = open_or_create(path)
    state = bigger(empty)
    store.write(line(), empty, state)
    store.close()
    old = path.read_bytes()
    step = "CREATE TABLE later (id TEXT) STRICT;"
    known, newer = schema.MIGRATIONS, (*schema.MIGRATIONS, step)

    def once(n: int, counted: list[int]) -> bool:
        monkeypatch.setattr(schema, "MIGRATIONS", newer)
        with intercepted(failing_at(n, errno.ENOSPC, counted), FILLS):
            try:
                opened = open_project(path)
            except ProjectError:
                opened = None
        if opened is not None:
            opened.close()
            assert opened.stored == content(state)
            return True
        if path.read_bytes()[60:64] == len(known).to_bytes(4, "big"):  # the version
            assert path.read_bytes() == old
        else:  # migrated whole, then the disk was full
            monkeypatch.setattr(schema, "MIGRATIONS", newer)
            assert stored_in(path) == content(state)
            path.write_bytes(old)
        return False

    assert until_it_passes(once) > 5
    assert stored_in(path) == content(state)


def test_reading_that_fails_at_any_point_opens_nothing_and_changes_nothing(
    tmp_path: Path,
) -> None:
    """Opening gives the whole scene or a sentence; the file is let go and opens afterwards."""
    path = tmp_path / "a.oniyanma"
    store, empty = open_or_create(path)
    state = bigger(bigger(empty))
    store.write(line(), empty, state)
    store.close()

    def once(n: int, counted: list[int]) -> bool:
        opened = None
        with intercepted(failing_at(n, errno.EIO, counted), READS):
            try:
                opened = open_project(path)
            except ProjectError:
                pass
            verdict = None
            try:
                verdict = verify_project(path)
            except ProjectError:
                pass
        if opened is not None:
            opened.close()
            assert opened.stored == content(state)
        assert verdict is None or verdict.ok
        assert stored_in(path) == content(state)
        return opened is not None and verdict is not None

    assert until_it_passes(once) > 5


def test_making_a_project_fails_at_any_point_and_leaves_no_half_one(tmp_path: Path) -> None:
    def once(n: int, counted: list[int]) -> bool:
        path = tmp_path / f"{n}.oniyanma"
        with intercepted(failing_at(n, errno.ENOSPC, counted), FILLS):
            try:
                store, _ = open_or_create(path)
            except ProjectError:
                passed = False
            else:
                passed = True
        if passed:
            store.close()
        if passed or path.exists():
            assert stored_in(path) == scene.SceneState()
        return passed

    assert until_it_passes(once) > 5


def test_where_shared_memory_fails_a_rollback_journal_is_used(tmp_path: Path) -> None:
    """As on a network drive that does not say that it is one; also for a file already in WAL."""
    made, state = open_or_create(tmp_path / "wal.oniyanma")
    made.write(line(), state, before := bigger(state))
    assert made._file.journal == "wal"
    made.close()
    refused = [0]

    def no_sharing(_name: str, arguments: tuple[object, ...]) -> int:
        if not os.readlink(f"/proc/self/fd/{arguments[4]}").startswith(str(tmp_path)):
            return 0
        refused[0] += 1
        return errno.ENODEV

    for path, held in ((tmp_path / "wal.oniyanma", before), (tmp_path / "new.oniyanma", state)):
        with intercepted(no_sharing, ("mmap",)):
            store, opened = open_or_create(path)
            assert store._file.journal == "delete"
            assert content(opened) == content(held)
            after = bigger(opened)
            store.write(line(), opened, after)
            store.close()
        assert stored_in(path) == content(after)
    assert refused[0] > 0
