"""A session: any thread may ask, counts repeat, and nothing is left behind."""

from __future__ import annotations

import asyncio
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

import oniyanma
from oniyanma.commands import build_registry
from oniyanma.registry import Actor, Command, Job, Outcome, Work
from oniyanma.scene.project import recoverable
from oniyanma.scene.project.places import recovery_folder
from tests.app.scenes import AI, API, HUMAN, small_cloud


@pytest.fixture
def session(tmp_path: Path) -> Iterator[oniyanma.Session]:
    with oniyanma.Session(allow_read=[tmp_path], inline_workers=True) as one:
        yield one


def test_a_script_asks_without_an_event_loop_and_a_notebook_with_one(
    session: oniyanma.Session, tmp_path: Path
) -> None:
    assert session.call("openCloud", path=str(small_cloud(tmp_path / "a.las")))["ok"]
    plain = session.call("queryElevation", {"bins": 16})
    assert plain["ok"] and len(plain["bins"]) == 16 and plain["basis"] == "resident"

    async def ask() -> Any:
        return await session.execute("queryElevation", {"bins": 16})

    assert asyncio.run(ask()) == plain


def test_a_sessions_own_actor_is_a_client_and_nothing_changes_that(
    session: oniyanma.Session,
) -> None:
    session.call("setPointSize", pixels=3)
    assert session.call("setPointSize", pixels=3, actor="human")["ok"] is False
    for entry in session.call("getCommandLog")["entries"]:
        assert entry["actor"] == {"kind": "api", "name": "python"}


def test_each_handle_has_its_actor_and_surface_bound_in_it(session: oniyanma.Session) -> None:
    for actor in (HUMAN, AI, API):
        handle = session.handle(actor)
        assert handle.call("setPointSize", {"pixels": 4})["ok"]
        told = handle.call("getSession")
        assert told["actor"]["kind"] == actor.kind and told["surface"] == "all"
    reading = session.handle(API, "read")
    assert reading.call("setPointSize", {"pixels": 5})["error"]["code"] == "surface_denied"
    assert {t["name"] for t in reading.tool_defs()} == {
        c.name for c in session.registry if c.readonly
    }
    kinds = [entry["actor"]["kind"] for entry in session.call("getCommandLog")["entries"]]
    assert kinds == ["human", "ai", "api", "api"]


def test_many_threads_ask_at_once_and_each_write_has_its_revision(
    session: oniyanma.Session,
) -> None:
    handle = session.handle(API)

    def ask(number: int) -> int:
        answer = handle.call("setPointSize", {"pixels": 1 + number % 30})
        assert answer["ok"]
        return int(answer["revision"])

    with ThreadPoolExecutor(8) as pool:
        revisions = list(pool.map(ask, range(80)))
    assert len(set(revisions)) == 80
    assert session.call("getCommandLog")["count"] == 80


def test_an_event_loop_asks_many_at_once(session: oniyanma.Session) -> None:
    async def ask() -> list[Any]:
        return await asyncio.gather(*(session.execute("getSession") for _ in range(50)))

    assert all(answer["ok"] for answer in asyncio.run(ask()))


def test_the_scene_is_touched_on_its_thread_only(tmp_path: Path) -> None:
    threads: set[int] = set()

    def look(call: Any, args: Any) -> Outcome:
        threads.add(threading.get_ident())
        return Outcome({})

    planted = Command(
        name="planted",
        title="Planted",
        group="Test",
        description="Tells where it ran.",
        input_schema={"type": "object", "properties": {}, "additionalProperties": False},
        example={},
        readonly=True,
        cached=False,
        run=look,
    )
    with oniyanma.Session(registry=build_registry(planted), inline_workers=True) as session:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: session.call("planted"), range(20)))
        assert "planted" in [tool["name"] for tool in session.tool_defs()]
    assert len(threads) == 1 and threading.get_ident() not in threads


def test_a_closed_session_leaves_no_thread_and_takes_no_command(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    session = oniyanma.Session(allow_read=[tmp_path])
    session.call("openCloud", path=str(small_cloud(tmp_path / "a.las")))
    session.close()
    session.close()
    assert set(threading.enumerate()) <= before
    with pytest.raises(RuntimeError, match="closed"):
        session.call("getSession")


def test_a_machine_opens_only_where_it_was_allowed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    inside = small_cloud(tmp_path / "in" / "a.las", 100)
    outside = small_cloud(tmp_path / "out" / "b.las", 100)
    with oniyanma.Session(allow_read=[tmp_path / "in"], inline_workers=True) as session:
        error = session.call("openCloud", path=str(outside))["error"]
        assert error["code"] == "refused" and "person" in error["message"]
        assert session.call("openCloud", path=str(inside))["ok"]
        assert session.submit("openCloud", {"path": str(outside)}, session.handle(HUMAN)).result()[
            "ok"
        ]
        target = str(tmp_path / "out" / "c.las")
        assert session.call("exportCloud", path=target)["error"]["code"] == "refused"
        session.reach.allow(tmp_path / "out", "write")
        assert session.call("exportCloud", path=target)["ok"]
        again = session.call("exportCloud", path=target, overwrite=True)
        assert again["error"]["code"] == "human_only"
        assert session.call("exportCloud", path=target)["error"]["code"] == "refused"


def test_a_finding_of_the_session_survives_in_its_project(tmp_path: Path) -> None:
    path = tmp_path / "site.oniyanma"
    with oniyanma.Session(project=path, inline_workers=True) as session:
        assert session.call("addFinding", title="Pole", position=[1, 2, 3])["ok"]
    with oniyanma.Session(project=path, inline_workers=True) as session:
        assert [f["title"] for f in session.call("listFindings")["findings"]] == ["Pole"]
        assert session.call("getSession")["project"]["path"] == str(path)
        assert session.call("getCommandLog")["count"] == 1


NOTE = {"title": "Pole", "position": [1, 2, 3]}


def _left() -> int:
    """Findings that ended sessions left to be recovered; every other file is an error."""
    found = recoverable()
    assert len(list(recovery_folder().glob("*"))) == len(found)
    return sum(each.records for each in found)


def test_a_scripts_unsaved_work_goes_with_it_and_a_persons_stays() -> None:
    with oniyanma.Session(inline_workers=True) as session:
        assert session.call("addFinding", NOTE)["ok"]
    assert _left() == 0
    with oniyanma.Session(inline_workers=True, actor=HUMAN) as session:
        session.call("setPointSize", pixels=3)
    assert _left() == 0, "a view is no work"
    with oniyanma.Session(inline_workers=True, actor=HUMAN) as session:
        assert session.call("addFinding", NOTE)["ok"]
    assert _left() == 1


def test_a_script_that_breaks_off_leaves_its_unsaved_work() -> None:
    with pytest.raises(ZeroDivisionError), oniyanma.Session(inline_workers=True) as session:
        assert session.call("addFinding", NOTE)["ok"]
        raise ZeroDivisionError
    assert _left() == 1


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "raise SystemError", "pass"])
def test_a_script_that_never_closed_leaves_its_unsaved_work(end: str) -> None:
    program = (
        "import os, oniyanma\n"
        "session = oniyanma.Session(inline_workers=True)\n"
        f"assert session.call('addFinding', {NOTE!r})['ok']\n{end}\n"
    )
    subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120)
    assert _left() == 1


def test_a_script_that_took_a_picture_and_never_closed_ends_quietly() -> None:
    program = (
        "import oniyanma\n"
        "session = oniyanma.Session()\n"
        "assert session.call('captureView', width=64, height=64)['ok']\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_script_that_opens_what_a_person_left_does_not_take_it_away() -> None:
    with oniyanma.Session(inline_workers=True, actor=HUMAN) as session:
        assert session.call("addFinding", NOTE)["ok"]
    (left,) = recoverable()
    with oniyanma.Session(project=left.path, inline_workers=True) as session:
        assert session.call("addFinding", NOTE)["ok"]
    assert _left() == 2
    with oniyanma.Session(inline_workers=True) as session:
        opened = session.submit("openProject", {"path": left.path}, session.handle(HUMAN))
        assert opened.result()["ok"]
    assert _left() == 2


def test_log_lines_of_the_session_are_what_the_chain_holds(session: oniyanma.Session) -> None:
    session.call("setPointSize", pixels=3)
    session.call("nothing")
    told = session.call("getCommandLog")
    assert [e["outcome"] for e in told["entries"]] == ["ok", "refused"]
    assert told["head"] == told["entries"][-1]["hash"] and told["count"] == 2
    assert session.call("getCommandLog", since=1)["entries"] == told["entries"][1:]
    json.dumps(told, allow_nan=False)


def test_settled_counts_repeat_in_another_session(tmp_path: Path) -> None:
    cloud = small_cloud(tmp_path / "a.las")

    def count() -> Any:
        with oniyanma.Session(allow_read=[tmp_path], viewport=(640, 480)) as session:
            session.call("openCloud", path=str(cloud))
            session.call("setCamera", preset="top")
            session.call(
                "selectPolygon", points=[[200, 100], [400, 100], [300, 400]], space="screen"
            )
            return session.call("getSelection")["points"], session.call("queryElevation")

    assert count() == count()


def test_a_gesture_is_one_command_and_one_line(session: oniyanma.Session) -> None:
    handle = session.handle(HUMAN)

    def drag() -> Any:
        gesture = handle.gesture("setPointSize")
        for pixels in (2, 3, 4):
            assert gesture.update({"pixels": pixels})["live"]
            assert session.scene.view.state.display.point_size == pixels
            assert session.state.display.point_size != pixels or pixels == 2
        return gesture.end()

    assert session._on_scene(drag)["ok"]
    assert session.state.display.point_size == 4
    entries = session.call("getCommandLog")["entries"]
    assert [e["arguments"]["pixels"] for e in entries] == [4]


def _slow(started: threading.Event, go: threading.Event) -> Command:
    """A long command that waits to be let go, and says when it is at it."""

    def run(job: Any) -> None:
        started.set()
        while not go.wait(0.01):
            job.check()

    return Command(
        name="slow",
        title="Slow",
        group="Test",
        description="Takes its time.",
        input_schema={"type": "object", "properties": {}, "additionalProperties": False},
        example={},
        run=lambda call, args: Work(run, lambda later, _: Outcome({"done": True})),
    )


def test_a_job_is_listed_cancelled_and_told_while_others_go_on_asking() -> None:
    started, go = threading.Event(), threading.Event()
    told: list[Any] = []
    with oniyanma.Session(registry=build_registry(_slow(started, go))) as session:
        end = session.handle(HUMAN).subscribe(told.append)
        future = session.submit("slow")
        assert started.wait(30)
        (job,) = session.call("getSession")["jobs"]
        assert job["command"] == "slow" and job["state"] == "running"
        assert session.handle(AI).cancel(job["id"])["error"]["code"] == "refused"
        assert session.handle(AI).cancel("job99")["error"]["code"] == "not_found"
        assert session.call("setPointSize", pixels=4)["ok"]
        assert session.handle(Actor("api", "python")).cancel(job["id"])["ok"]
        assert future.result(30)["error"]["code"] == "cancelled"
        end()
        session.call("setPointSize", pixels=5)
        entries = session.call("getCommandLog")["entries"]
    assert [e["outcome"] for e in entries if e["command"] == "slow"] == ["cancelled"]
    assert [e["revision"] for e in told if e["event"] == "revision"] == [1]
    states = [e["job"]["state"] for e in told if e["event"] == "job"]
    assert states[0] == "running" and states[-1] == "cancelled"


def test_closing_answers_whoever_waits_and_ends_jobs() -> None:
    started, go = threading.Event(), threading.Event()
    session = oniyanma.Session(registry=build_registry(_slow(started, go)))
    future = session.submit("slow")
    assert started.wait(30)
    session.close()
    assert future.result(30)["error"]["code"] == "cancelled"
    with pytest.raises(RuntimeError, match="closed"):
        session.handle(API).call("getSession")


def test_on_the_scenes_own_thread_a_job_is_never_waited_for() -> None:
    started, go = threading.Event(), threading.Event()
    with oniyanma.Session(registry=build_registry(_slow(started, go))) as session:
        handle = session.handle(API)
        with pytest.raises(RuntimeError, match="takes long"):
            session._on_scene(lambda: handle.call("slow"))
        go.set()
        job = handle.execute("slow")
        assert isinstance(job, Job) and job.result(30)["done"] is True


def test_a_request_taken_back_before_its_turn_never_runs(session: oniyanma.Session) -> None:
    hold = threading.Event()
    session.executor.post(lambda: hold.wait(30) and None)
    future = session.submit("setPointSize", {"pixels": 7})
    assert future.cancel()
    hold.set()
    assert session.call("getCommandLog")["count"] == 0


def test_a_warm_session_has_its_processes_up_and_leaves_none() -> None:
    with oniyanma.Session() as session:
        assert session.scene.clouds.store.processes == []
        session.warm()
        up = session.scene.clouds.store.processes
        assert len(up) == 3 and all(psutil.pid_exists(pid) for pid in up)
    assert not any(psutil.pid_exists(pid) for pid in up)


def test_a_window_brings_its_own_thread_and_loop(tmp_path: Path) -> None:
    """with an executor given, commands run at once on its thread and nobody waits."""

    class Here:
        def __init__(self) -> None:
            self.tasks: list[Any] = []

        def post(self, function: Any) -> None:
            self.tasks.append(function)

        def is_current(self) -> bool:
            return True

    with oniyanma.Session(executor=Here(), inline_workers=True, actor=HUMAN) as session:
        answer = session.call("setPointSize", pixels=9)
        assert answer["ok"] and session.state.display.point_size == 9
        handle = session.handle(HUMAN)
        assert handle.execute("openCloud", {"path": str(small_cloud(tmp_path / "a.las"))})
        assert session.unavailable("hideSelection") == "No selection (select something first)."
        assert session.unavailable("fitView") is None


@pytest.mark.parametrize("as_step", [False, True])
def test_attributes_that_are_not_loaded_are_waited_for_by_no_thread_of_a_scene(
    tmp_path: Path, as_step: bool
) -> None:
    """A selection by GPS time is a job until the times are there; in a batch it counts as right."""

    class Here:
        def __init__(self) -> None:
            self.tasks: queue.Queue[Any] = queue.Queue()

        def post(self, function: Any) -> None:
            self.tasks.put(function)

        def is_current(self) -> bool:
            return True

    path = small_cloud(tmp_path / "a.las")
    with oniyanma.Session(executor=(here := Here()), actor=HUMAN, viewport=(800, 600)) as session:
        handle = session.handle(HUMAN)

        def answer(asked: Any) -> Any:
            while isinstance(asked, Job) and not asked.done:
                try:
                    here.tasks.get(timeout=0.05)()
                except queue.Empty:
                    pass
                session.scene.pump(5.0)
            return asked.answer if isinstance(asked, Job) else asked

        assert answer(handle.execute("openCloud", {"path": str(path)}))["ok"]
        while session.scene.pump(50.0):
            pass
        where = {"gpsTime": [1000, 1999]}
        if as_step:
            commands = [{"name": "selectWhere", "args": where}, {"name": "hideSelection"}]
            proposed = handle.call("proposeBatch", {"title": "Dusk", "commands": commands})
            assert handle.call("acceptBatch", {"id": proposed["id"]})["points"] == 1000
            return
        asked = handle.execute("selectWhere", where)
        assert isinstance(asked, Job)
        assert handle.call("getSession")["ok"]  # the scene goes on meanwhile
        assert answer(asked)["points"] == 1000
        assert not isinstance(handle.execute("selectWhere", where), Job)  # they are there now
