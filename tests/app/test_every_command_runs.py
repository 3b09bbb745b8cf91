"""Every command on a real scene: it does its work, a fault at any write undoes all of it, and no
valid arguments bring out a fault of ours."""

from __future__ import annotations

import errno
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from oniyanma.commands import build_registry
from oniyanma.registry import Job
from oniyanma.scene.project import content
from tests.app.scenes import AI, API, HUMAN, fitting, prepared
from tests.commands.strategies import valid
from tests.scene.sqlite_faults import FILLS, intercepted

REGISTRY = build_registry()
READY = [command.name for command in REGISTRY if command.ready]
WRITES = [name for name in READY if not REGISTRY[name].readonly]
GATED = [name for name in READY if REGISTRY[name].destructive]
READS = [name for name in READY if REGISTRY[name].readonly]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """name → what its first call did that succeeded in a `prepared` session."""
    folder = tmp_path_factory.mktemp("other")
    other = folder / "other.oniyanma"
    with prepared(folder) as session:
        saved = session.handle(HUMAN).call("saveProject", {"path": str(other)})
        assert saved["ok"], saved
    known: dict[str, dict[str, Any]] = {}

    def find(name: str) -> dict[str, Any]:
        if name not in known:
            scratch = tmp_path_factory.mktemp("scratch")
            (scratch / "other.oniyanma").write_bytes(other.read_bytes())
            with prepared(scratch) as session:
                jobs: list[Any] = []
                session.context.jobs.listen(jobs.append)
                run = fitting(session, REGISTRY[name], scratch)
            assert run is not None, f"{name} succeeds with nothing that is here"
            text = json.dumps(run.args).replace(str(scratch), "{folder}")
            known[name] = {"text": text, "other": other.read_bytes(), "run": run}
            known[name]["job"] = any(job["command"] == name for job in jobs)
        return known[name]

    return find


def _here(known: dict[str, Any], folder: Path, nth: int = 0) -> Any:
    """The arguments in this folder; a file to write has another name each time."""
    folder.mkdir(exist_ok=True)
    if not (folder / "other.oniyanma").exists():
        (folder / "other.oniyanma").write_bytes(known["other"])
    text = known["text"].replace("{folder}", str(folder)).replace("{nth}", f"file{nth}")
    return json.loads(text)


@pytest.mark.parametrize("name", READY)
def test_it_works_and_its_answer_is_json(name: str, runs: Any) -> None:
    """by a person: lines in the log for a write, none and no change for a read."""
    run = runs(name)["run"]
    assert run.answer["ok"] is True and run.answer["revision"] == run.revision
    json.dumps(run.answer, allow_nan=False)
    if REGISTRY[name].readonly:
        assert not run.changed and run.lines == []
    else:
        first = run.lines[0]
        assert (first["command"], first["outcome"]) == (name, "ok")
        assert first["actor"] == {"kind": "human", "name": HUMAN.name}
        assert len(run.lines) == 1 or all("proposedBy" in line for line in run.lines[1:])


@pytest.mark.parametrize("name", WRITES)
def test_a_fault_at_any_write_leaves_everything_as_it_was(
    name: str, runs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """A command stores itself in one write of state and line: a fault of ours there, and a full
    disk at the Nth write of the file, N = 1, 2, …, until none is met."""
    caplog.set_level(logging.CRITICAL)
    _here(runs(name), tmp_path)
    with prepared(tmp_path) as session:
        person, before = session.handle(HUMAN), session.state
        kind, writes = type(session.scene.log), [0]
        real = kind.write

        def ask(nth: int) -> Any:
            writes[0] = 0
            answer = session.submit(name, _here(runs(name), tmp_path, nth), person).result()
            if not answer["ok"]:
                assert content(session.state) == content(before)
                assert not list((tmp_path / "out").iterdir()) or name == "saveProject"
            return answer

        def broken(self: Any, *given: Any) -> None:
            writes[0] += 1
            if writes[0] == 1:
                raise RuntimeError("injected")
            real(self, *given)

        monkeypatch.setattr(kind, "write", broken)
        assert ask(0)["error"]["code"] == "internal"
        assert session.state is before and writes[0] == 2  # the second: the line that it failed

        def counted(self: Any, *given: Any) -> None:
            writes[0] += 1
            real(self, *given)

        monkeypatch.setattr(kind, "write", counted)
        for nth in _numbers():
            seen = [0]

            def fail(call: str, given: Any, seen: list[int] = seen, nth: int = nth) -> int:
                seen[0] += 1
                return errno.ENOSPC if seen[0] == nth else 0

            with intercepted(fail, FILLS):
                answer = ask(nth)
            if answer["ok"]:
                break
            assert answer["error"]["code"] in ("refused", "internal"), answer
        assert writes[0] == 1


def _numbers() -> Iterator[int]:
    """1, 2, … 12, and then fewer and fewer of them: a picture is written in many pieces."""
    number = 1
    while number < 10_000:
        yield number
        number += max(1, number // 6)
    raise AssertionError("it writes without end")


def test_cancelled_at_any_point_a_long_command_leaves_nothing(
    runs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """at its Nth report of progress, N = 1, 2, … until it ends before that."""
    long = [n for n in READY if runs(n)["job"] or "full" in REGISTRY.schema(n)["properties"]]
    assert len(long) > 3
    cancelled = [_cancel_at_each(name, runs, tmp_path / name, monkeypatch) for name in long]
    assert sum(map(bool, cancelled)) >= 3


def _cancel_at_each(name: str, runs: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Cancel a command at each of its reports; how often that was."""
    real = Job.progress
    _here(runs(name), folder)
    with prepared(folder) as session:
        for nth in range(1, 100):
            args, met = _here(runs(name), folder, nth), [0]
            if "full" in REGISTRY.schema(name)["properties"]:
                args["full"] = True

            def progress(
                self: Job, fraction: float, stage: str = "", met: list[int] = met, nth: int = nth
            ) -> None:
                met[0] += 1
                if met[0] == nth:
                    session.handle(HUMAN).cancel(self.id)
                real(self, fraction, stage)

            before, files = session.state, sorted((folder / "out").iterdir())
            monkeypatch.setattr(Job, "progress", progress)
            answer = session.submit(name, args, session.handle(HUMAN)).result()
            monkeypatch.setattr(Job, "progress", real)
            if answer["ok"]:
                return nth - 1
            assert answer["error"]["code"] == "cancelled", answer
            assert session.state is before
            assert sorted((folder / "out").iterdir()) == files
            assert {cloud.id for cloud in before.clouds} == set(session.scene.store.clouds)
            assert session.scene.log.entries(limit=1)[0].body["outcome"] == "cancelled"
    raise AssertionError(f"{name} never comes to its end")


@pytest.mark.parametrize("name", GATED)
@pytest.mark.parametrize("actor", [AI, API], ids=lambda actor: actor.kind)
def test_a_machine_is_shown_the_count_and_then_may(
    name: str, actor: Any, runs: Any, tmp_path: Path
) -> None:
    args = _here(runs(name), tmp_path)
    with prepared(tmp_path) as session:
        machine = session.handle(actor)
        before = session.state
        preview = machine.call(name, args)
        assert preview["preview"] is True and preview["command"] == name
        counts = preview["wouldAffect"].keys() & {"points", "edits", "findings", "batches"}
        assert counts
        assert session.state is before
        entry = session.scene.log.entries()[-1].body
        assert (entry["outcome"], entry["actor"]["kind"]) == ("preview", actor.kind)
        confirmed = {**args, "confirm": True, "token": preview["token"]}
        answer = machine.call(name, confirmed)
        assert answer.get("ok") is True or answer["error"]["code"] == "refused", answer
        if answer["ok"]:
            assert machine.call(name, confirmed)["preview"] is True
            assert session.scene.log.entries()[-2].body["actor"]["kind"] == actor.kind


@pytest.mark.parametrize("name", GATED)
def test_with_nothing_there_a_gated_command_says_why(name: str, tmp_path: Path) -> None:
    from oniyanma import Session

    with Session(inline_workers=True) as session:
        example = dict(REGISTRY[name].example)
        answer = session.call(name, example)
        if "error" in answer:
            assert answer["error"]["code"] == "not_found" and "id" in example
        else:
            affected = answer["wouldAffect"]
            assert 0 in affected.values() and affected["note"]
            sure = session.call(name, {**example, "confirm": True})
            if "error" in sure:
                assert sure["error"]["code"] == "not_found" and "id" in example
            else:
                assert sure["ok"] and sure["note"]


@pytest.mark.parametrize("name", READS)
def test_with_nothing_there_a_read_only_command_gives_a_reason_not_an_error(name: str) -> None:
    from oniyanma import Session

    with Session(inline_workers=True) as session:
        answer = session.call(name, REGISTRY[name].example)
        if REGISTRY[name].conditions:
            assert answer["ok"] is True, answer
            assert answer["note"], answer


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("fuzz")
    session = prepared(folder)
    yield session
    session.close()


@pytest.mark.parametrize("name", READY)
def test_no_valid_arguments_bring_out_a_fault_of_ours(
    name: str, tmp_path: Path, scene: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """whatever the schema allows is answered, never as an internal fault, and always as JSON."""
    monkeypatch.chdir(tmp_path)
    schema = REGISTRY[name].input_schema

    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    @given(args=valid(schema))
    def check(args: Any) -> None:
        answer = scene.submit(name, args, scene.handle(API)).result()
        json.dumps(answer, allow_nan=False)
        assert answer.get("error", {}).get("code") not in ("internal", "invalid_schema"), answer

    check()
