"""A program killed at any write has lost nothing when it starts again."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oniyanma import Session
from oniyanma.scene.project import content, open_project, schema, verify_project
from oniyanma.scene.project.codec import dumps
from oniyanma.scene.project.file import reading
from oniyanma.scene.state import SceneState
from tests.app.scenes import small_cloud
from tests.scene.project_kills import COMMANDS, REGISTRY, commands, plan
from tests.scene.project_values import PERSON
from tests.support import ROOT

KILLS = int(os.environ.get("ONIYANMA_KILLS", "50"))
SEEDS = 10

Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """The server of children that die; a dict for a job."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.scene.project_kills"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert server.stdin is not None and server.stdout is not None

    def one(**job: Any) -> dict[str, Any]:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(job) + "\n")
        server.stdin.flush()
        answer: dict[str, Any] = json.loads(server.stdout.readline())
        return answer

    yield one
    server.stdin.close()
    server.wait(30)
    server.stdout.close()


def run(ask: Ask, folder: Path, seed: int, at: int, **more: Any) -> dict[str, Any]:
    folder.mkdir()
    path = str(folder / "a.oniyanma")
    return ask(data=str(folder / "data"), path=path, seed=seed, at=at, **more)


def left(folder: Path) -> tuple[int, SceneState | None]:
    """The most that any project left there has: how many log lines, and the scene."""
    best: tuple[int, SceneState | None] = (0, None)
    for path in (*folder.glob("*.oniyanma"), *(folder / "data" / "recovery").glob("*.oniyanma")):
        with reading(path) as connection:
            if schema.is_empty(connection):
                continue  # a recovery project that died while it was made
        verdict = verify_project(path)
        assert verdict.ok, verdict.problems
        opened = open_project(path)
        opened.close()
        if best[1] is None or verdict.count >= best[0]:
            best = verdict.count, opened.stored
    return best


@pytest.mark.timeout(60 + KILLS)
def test_killed_at_a_random_write_the_state_equals_the_log(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was answered is there, and what is there is a whole number of commands."""
    chance = random.Random(KILLS)
    writes = {}
    for seed in range(SEEDS):
        whole = run(ask, tmp_path / f"whole{seed}", seed, 0)
        assert (whole["end"], whole["done"]) == (0, COMMANDS)
        writes[seed] = whole["writes"]
    for kill in range(KILLS):
        seed = kill % SEEDS
        folder = tmp_path / f"kill{kill}"
        monkeypatch.setenv("ONIYANMA_DATA", str(folder / "data"))
        at = chance.randint(1, writes[seed])
        ended = run(ask, folder, seed, at)
        assert ended["end"] == "killed", (seed, at, ended)
        lines, scene = left(folder)
        told = f"seed {seed}, killed at write {at} after {ended['done']} commands"
        assert ended["done"] <= lines <= ended["done"] + 1, told
        if scene is not None:
            states = [SceneState(), *(state for _, state in plan(seed))]
            assert scene == content(states[lines]), told


def told(state: SceneState) -> str:
    """A scene as text, but for the times of day in it."""
    blobs: dict[str, bytes] = {}
    return re.sub(r"\d{4}-\d\d-\d\dT[^\"]*Z", "then", dumps(content(state), blobs))


@pytest.mark.timeout(60 + 2 * KILLS)
def test_a_session_killed_at_a_random_write_comes_back_as_its_log_says(
    ask: Ask, tmp_path: Path
) -> None:
    """Real commands of a person on a cloud; the scene found is that of the logged commands."""
    cloud = small_cloud(tmp_path / "site.las")
    chance = random.Random(7 * KILLS)
    for seed in range(max(2, KILLS // 10)):
        states = []
        with Session(registry=REGISTRY, inline_workers=True, actor=PERSON) as session:
            states.append(told(session.state))
            for name, arguments in commands(seed, cloud):
                session.call(name, arguments)
                states.append(told(session.state))
        job = {"seed": seed, "cloud": str(cloud)}
        whole = run(ask, tmp_path / f"whole{seed}", at=0, **job)
        assert (whole["end"], whole["done"]) == (0, len(states) - 1)
        for kill in range(4):
            folder = tmp_path / f"kill{seed}.{kill}"
            at = chance.randint(1, whole["writes"])
            ended = run(ask, folder, at=at, **job)
            assert ended["end"] == "killed", (seed, at, ended)
            lines, scene = left(folder)
            assert ended["done"] <= lines <= ended["done"] + 1
            if scene is not None:
                assert told(scene) == states[lines], f"seed {seed}, killed at write {at}"
