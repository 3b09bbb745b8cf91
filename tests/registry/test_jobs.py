"""Long commands: progress, cancel, and nothing half-done."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from oniyanma.registry import Actor, Job, Outcome, Registry
from oniyanma.registry.jobs import MAX_RUNNING


def _long(kit: Any, run: Any, discard: Any = None, **more: Any) -> Any:
    def handler(call: Any, args: Any) -> Any:
        def finish(call: Any, result: Any) -> Outcome:
            if result == "unusable":
                raise RuntimeError("it can't be used")
            value = call.state.value + result
            return Outcome({"value": value}, replace(call.state, value=value))

        return kit.Work(run, finish, discard)

    return kit.command("long", handler, **more)


def _door(kit: Any, run: Any, inline: bool = False, discard: Any = None) -> Any:
    return kit.Door(Registry([*kit.commands(), _long(kit, run, discard)], kit.conditions), inline)


def _finish(door: Any, job: Job) -> dict[str, Any]:
    """Play the scene thread until the job has its answer."""
    door.jobs.wait()
    while door.posted:
        door.posted.pop(0)()
    answer = job.answer
    assert answer is not None
    return answer


def test_a_job_answers_what_the_command_would_have_and_is_logged_once(kit: Any) -> None:
    door = _door(kit, lambda job: 5)
    job = door.ask("long")
    assert isinstance(job, Job) and job.answer is None
    assert [one["id"] for one in (j.describe() for j in door.jobs.running())] == [job.id]
    assert door.host.lines() == []
    assert _finish(door, job) == {"ok": True, "revision": 1, "value": 5}
    assert job.state == "done" and job.fraction == 1.0
    assert [line["outcome"] for line in door.host.lines()] == ["ok"]
    assert door.jobs.running() == ()


def test_a_job_commits_on_the_state_of_its_end(kit: Any) -> None:
    door = _door(kit, lambda job: 5)
    job = door.ask("long")
    door.ask("add", {"by": 3})
    assert _finish(door, job)["value"] == 8


def test_progress_only_grows_and_is_told_on_the_scene_thread(kit: Any) -> None:
    def run(job: Any) -> int:
        for fraction in (0.2, 0.9, 0.5, 7.0, -1.0):
            job.progress(fraction, f"stage {fraction}")
        return 1

    door = _door(kit, run)
    told: list[Any] = []
    end = door.jobs.listen(lambda facts: told.append((threading.get_ident(), dict(facts))))
    job = door.ask("long")
    _finish(door, job)
    assert {thread for thread, _ in told} == {threading.get_ident()}
    seen = [facts["progress"] for _, facts in told]
    assert seen == sorted(seen) and seen[0] >= 0.0 and seen[-1] == 1.0
    assert told[-1][1]["state"] == "done"
    end()
    end()
    _finish(door, door.ask("long"))
    assert len(told) == len(seen)


def test_a_cancelled_job_changes_nothing_and_says_so_once(kit: Any) -> None:
    started, go = threading.Event(), threading.Event()

    def run(job: Any) -> int:
        started.set()
        go.wait(30)
        job.check()
        return 5

    door = _door(kit, run)
    job = door.ask("long")
    assert started.wait(30)
    before = door.host.state
    door.jobs.cancel(job.id, kit.api)
    go.set()
    answer = _finish(door, job)
    assert answer["error"]["code"] == "cancelled" and job.state == "cancelled"
    assert door.host.state is before
    assert [line["outcome"] for line in door.host.lines()] == ["cancelled"]


def test_only_its_caller_and_a_person_can_cancel_a_job(kit: Any) -> None:
    go = threading.Event()

    def run(job: Any) -> int:
        go.wait(30)
        job.check()
        return 1

    door = _door(kit, run)
    job = door.ask("long", actor=kit.ai)
    for stranger in (kit.api, replace(kit.ai, participant="other"), replace(kit.ai, token="t")):
        with pytest.raises(Exception, match="somebody else"):
            door.jobs.cancel(job.id, stranger)
    with pytest.raises(Exception, match="no job"):
        door.jobs.cancel("job99", kit.human)
    assert not job.cancelled()
    door.jobs.cancel(job.id, Actor("human", "anybody", participant="window"))
    go.set()
    assert _finish(door, job)["error"]["code"] == "cancelled"


def test_a_fault_in_the_work_or_at_its_end_leaves_the_state(kit: Any) -> None:
    def broken(job: Any) -> int:
        raise ZeroDivisionError

    dropped: list[Any] = []
    for run in (broken, lambda job: "unusable"):
        door = _door(kit, run, discard=dropped.append)
        job = door.ask("long")
        assert _finish(door, job)["error"]["code"] == "internal"
        assert job.state == "failed" and door.host.state.revision == 0
    assert dropped == ["unusable"]


def test_inline_a_job_is_done_when_it_is_returned_and_no_thread_was_made(kit: Any) -> None:
    threads = threading.active_count()
    door = _door(kit, lambda job: 2, inline=True)
    job = door.ask("long")
    assert job.done and job.result() == {"ok": True, "revision": 1, "value": 2}
    assert threading.active_count() == threads


def test_too_many_jobs_at_once_are_refused(kit: Any) -> None:
    go = threading.Event()
    door = _door(kit, lambda job: int(go.wait(30)))
    jobs = [door.ask("long") for _ in range(MAX_RUNNING)]
    assert door.code("long") == "refused"
    go.set()
    for job in jobs:
        _finish(door, job)
    assert isinstance(door.ask("long"), Job)
    door.jobs.wait()


def test_a_job_nobody_can_finish_any_more_is_answered_as_cancelled(kit: Any) -> None:
    door = _door(kit, lambda job: 1)
    job = door.ask("long")
    door.jobs.stop()
    door.jobs.wait()
    door.jobs.abandon(0)
    assert job.result(1)["error"]["code"] == "cancelled"
    _finish(door, job)
    assert door.host.state.revision == 0


def test_a_long_command_can_be_no_step_of_a_batch_and_no_gesture(kit: Any) -> None:
    def accept(call: Any, args: Any) -> Outcome:
        return Outcome({}, call.run_steps([{"name": "long"}]).state)

    door = kit.Door(Registry([_long(kit, lambda job: 1), kit.command("accept", accept)]))
    assert door.code("accept", actor=kit.human) == "refused"


@pytest.mark.parametrize("discarding", [True, False])
def test_a_result_that_comes_after_the_cancel_is_let_go_or_used(kit: Any, discarding: bool) -> None:
    """let go where the command says how; used where it can't be taken back."""
    started, go = threading.Event(), threading.Event()
    dropped: list[Any] = []

    def run(job: Any) -> int:
        started.set()
        go.wait(30)
        return 5

    door = _door(kit, run, discard=dropped.append if discarding else None)
    job = door.ask("long")
    assert started.wait(30)
    door.jobs.cancel(job.id, kit.api)
    go.set()
    answer = _finish(door, job)
    if discarding:
        assert answer["error"]["code"] == "cancelled" and dropped == [5]
        assert door.host.state.revision == 0
    else:
        assert answer["ok"] and dropped == []
