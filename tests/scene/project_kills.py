"""Programs that die in the middle of writing a project: ``python -m tests.scene.project_kills``.

Imports once, then forks a child for each job that comes in as a line of JSON. A child follows a
plan that its seed alone decides, says after each command that it was done, and is killed in its
Nth write (half of it written), counted over all that it does: making the project, commands,
saving under another name, folding in the log, closing.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from oniyanma import Session
from oniyanma.commands import build_registry
from oniyanma.scene import state as scene
from oniyanma.scene.project import file as project_file
from oniyanma.scene.project import open_or_create
from oniyanma.scene.state import SceneState
from tests.scene.project_values import PERSON, edit_step, line
from tests.scene.sqlite_faults import Intercept, dying_at, intercepted

REGISTRY = build_registry()
COMMANDS = 12
SAVE = "saveProject"


def plan(seed: int) -> Iterator[tuple[str, SceneState]]:
    """The commands of a seed, each with the state (but its project) that it leads to."""
    rng = random.Random(seed)
    state = SceneState()
    for number in range(COMMANDS):
        command = rng.choice(list(_COMMANDS))
        if command != SAVE:
            state = _COMMANDS[command](rng, state, number)
        yield command, state


def _edit(rng: random.Random, state: SceneState, number: int) -> SceneState:
    return replace(state, events=(*state.events, edit_step(len(state.events) + 1)))


def _bookmark(rng: random.Random, state: SceneState, number: int) -> SceneState:
    marks = dict(state.bookmarks)
    if marks and rng.random() < 0.4:
        del marks[rng.choice(list(marks))]
    name = f"view {rng.randrange(6)}"
    marks[name] = scene.Bookmark(name, scene.Camera(fov=number + 1.0), rng.randbytes(9_000))
    return replace(state, bookmarks=MappingProxyType(marks))


def _finding(rng: random.Random, state: SceneState, number: int) -> SceneState:
    found = scene.Finding(
        f"f{rng.randrange(4)}", "crack", (1.0, 2.0, number / 7), "", "minor", "open", PERSON, "t"
    )
    return replace(state, findings=MappingProxyType({**state.findings, found.id: found}))


def _camera(rng: random.Random, state: SceneState, number: int) -> SceneState:
    return replace(state, camera=scene.Camera(eye=(rng.random(), 0.1, number + 0.3)))


def _cloud(rng: random.Random, state: SceneState, number: int) -> SceneState:
    if state.clouds and rng.random() < 0.5:
        return replace(state, clouds=state.clouds[1:])
    entry = scene.CloudEntry(f"c{number}", "a cloud", f"/nowhere/{number}.laz")
    return replace(state, clouds=(*state.clouds, entry))


_COMMANDS: dict[str, Any] = {
    "edit": _edit,
    "bookmark": _bookmark,
    "finding": _finding,
    "camera": _camera,
    "cloud": _cloud,
    SAVE: None,
}


def follow(seed: int, path: Path, acknowledge: int) -> None:
    """Run a seed's plan in a project at ``path`` (odd seeds begin unsaved)."""
    store, state = open_or_create(None if seed % 2 else path)
    saves = 0
    for command, after in plan(seed):
        project = state.project
        if command == SAVE:
            saves += 1
            project = store.save_as(path.with_name(f"saved{saves}.oniyanma"), state)
        after = replace(after, project=project)
        store.write(line(command), state, after)
        state = after
        os.write(acknowledge, b".")
    store.close()


def commands(seed: int, cloud: Path) -> list[tuple[str, dict[str, Any]]]:
    """What a person does with a small cloud, as a seed has it."""
    rng = random.Random(seed)
    spots = [[1000 + rng.uniform(0, 50), 2000 + rng.uniform(0, 50), 101.0] for _ in range(6)]
    low, high = [1000.0, 2000.0, 0.0], [1000 + rng.uniform(10, 50), 2050.0, 200.0]
    choices: list[tuple[str, dict[str, Any]]] = [
        ("selectBox", {"min": low, "max": high}),
        ("selectWhere", {"classes": [2, 6], "mode": "intersect"}),
        ("invertSelection", {}),
        ("reclassifySelection", {"class": rng.randrange(20)}),
        ("hideSelection", {}),
        ("deleteSelection", {}),
        ("colorSelection", {"color": "#ff8000"}),
        ("undo", {}),
        ("redo", {}),
        ("clearEdits", {}),
        ("setClip", {"box": {"min": low, "max": high}}),
        ("setCamera", {"preset": rng.choice(["top", "iso", "left"])}),
        ("setPointBudget", {"points": rng.randrange(100_000, 200_000)}),
        ("addMeasurement", {"kind": "distance", "points": spots[:2]}),
        ("addFinding", {"title": "crack", "position": spots[2]}),
        ("confirmFinding", {"id": "f1"}),
        ("saveBookmark", {"name": "gate"}),
        ("proposeBatch", {"title": "b", "commands": [{"name": "hideSelection", "args": {}}]}),
        ("acceptBatch", {"id": "b1"}),
    ]
    begin: list[tuple[str, dict[str, Any]]] = [("openCloud", {"path": str(cloud)}), choices[0]]
    return [*begin, *(rng.choice(choices) for _ in range(COMMANDS))]


def work(seed: int, path: Path, cloud: Path, acknowledge: int) -> None:
    """Do a seed's commands in a session on a project at ``path``."""
    session = Session(project=path, registry=REGISTRY, inline_workers=True, actor=PERSON)
    for name, arguments in commands(seed, cloud):
        session.call(name, arguments)
        os.write(acknowledge, b".")
    session.close()


def die(job: dict[str, Any], acknowledge: int) -> None:
    """The child: never comes back."""
    os.environ["ONIYANMA_DATA"] = job["data"]
    counted = [0]
    dying = dying_at(job["at"])

    def intercept(name: str, arguments: tuple[object, ...]) -> int:
        counted[0] += 1
        return dying(name, arguments)

    _watch_files(intercept)
    plain = project_file.connect

    def connect(name: str, *, uri: bool = False) -> sqlite3.Connection:
        connection = plain(name, uri=uri)
        connection.execute("PRAGMA wal_autocheckpoint=20")  # fold the log in often
        return connection

    project_file.connect = connect
    with intercepted(intercept):
        if "cloud" in job:
            work(job["seed"], Path(job["path"]), Path(job["cloud"]), acknowledge)
        else:
            follow(job["seed"], Path(job["path"]), acknowledge)
    os.write(acknowledge, b"|%d" % counted[0])
    os._exit(0)


def _watch_files(intercept: Intercept) -> None:
    for name in ("replace", "fsync", "unlink"):
        plain = getattr(os, name)

        def watched(*arguments: Any, _name: str = name, _plain: Any = plain, **more: Any) -> Any:
            intercept(_name, arguments)
            return _plain(*arguments, **more)

        setattr(os, name, watched)


def serve() -> None:
    for text in sys.stdin:
        job = json.loads(text)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            try:
                die(job, writing)
            finally:
                os._exit(1)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            done, _, writes = pipe.read().partition(b"|")
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        answer = {
            "done": len(done),
            "writes": int(writes or 0),
            "end": "killed" if killed else os.waitstatus_to_exitcode(status),
        }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
