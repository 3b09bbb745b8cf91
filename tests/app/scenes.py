"""A small cloud, a session with something of everything in it, and arguments that fit it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import laspy
import numpy as np

from oniyanma import Session
from oniyanma.registry import Actor, Command

HUMAN = Actor("human", "Aiko")
AI = Actor("ai", "model-1", instruction="tidy up")
API = Actor("api", "script")


def small_cloud(path: Path, count: int = 4000) -> Path:
    """A gentle slope of ``count`` points in classes 2 and 6 about (1000, 2000, 100), coloured."""
    random = np.random.default_rng(7)
    header = laspy.LasHeader(version="1.4", point_format=7)
    header.scales, header.offsets = (0.01, 0.01, 0.01), (1000.0, 2000.0, 0.0)
    las = laspy.LasData(header)
    xy = random.uniform(0, 50, (count, 2))
    las.x, las.y = 1000 + xy[:, 0], 2000 + xy[:, 1]
    las.z = 100 + xy[:, 0] * 0.1 + random.uniform(0, 0.5, count)
    las.classification = np.where(xy[:, 0] > 25, 6, 2).astype(np.uint8)
    las.intensity = random.integers(0, 60_000, count)
    las.gps_time = np.arange(count, dtype=float)
    las.red = las.green = las.blue = random.integers(256, 65_000, count)
    las.write(path)
    return path


def prepared(folder: Path, **options: Any) -> Session:
    """A session that has a cloud, a selection, edits, one undone step, a measurement, findings
    (one withdrawn), a saved view and a proposed batch: all by a person, all through the door."""
    folder.mkdir(exist_ok=True)
    cloud = small_cloud(folder / "site.las")
    small_cloud(folder / "more.las", 500)
    (folder / "out").mkdir(exist_ok=True)
    session = Session(
        allow_write=[folder / "out"],
        allow_read=[folder],
        viewport=(800, 600),
        inline_workers=True,
        **options,
    )
    person = session.handle(HUMAN)
    position = [1010.0, 2010.0, 101.0]
    steps: list[tuple[str, dict[str, Any]]] = [
        ("openCloud", {"path": str(cloud)}),
        ("addMeasurement", {"kind": "point", "points": [position]}),
        ("addFinding", {"title": "Pole", "position": position}),
        ("addFinding", {"title": "Gone", "position": position}),
        ("saveBookmark", {"name": "North gate"}),
        ("selectWhere", {"classes": [6]}),
        ("proposeBatch", {"title": "b", "commands": [{"name": "clearSelection", "args": {}}]}),
        ("colorSelection", {"color": "#ff0000"}),
        ("reclassifySelection", {"class": 5}),
    ]
    for name, args in steps:
        answer = session.submit(name, args, person).result()
        assert answer["ok"], (name, answer)
    gone = person.call("listFindings")["findings"][-1]["id"]
    for name, args in (("deleteFinding", {"id": gone}), ("reclassifySelection", {"class": 9})):
        answer = person.call(name, args)
        assert answer["ok"], (name, answer)
    assert person.call("undo")["ok"]
    return session


def _is_place(value: Any) -> bool:
    return isinstance(value, list) and np.asarray(value).dtype != object


def _ids(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("id"), str):
            yield value["id"]
        for inner in value.values():
            yield from _ids(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _ids(inner)


def candidates(session: Session, command: Command, folder: Path) -> Iterator[dict[str, Any]]:
    """Ways to fill a command's example with ids and paths that exist here.

    Ids are taken from the answers of the read-only commands, whatever they are.
    """
    properties = command.input_schema["properties"]
    found: list[str] = []
    for other in session.registry:
        if other.readonly and not other.input_schema.get("required") and other.cached:
            found += [i for i in _ids(session.call(other.name)) if i not in found]
    found += [cloud.id for cloud in session.state.clouds]
    corner = np.array([1010.0, 2010.0, 101.0])  # examples of places lie about zero
    choices: dict[str, list[Any]] = {}
    for key, value in command.example.items():
        choices[key] = [value]
        if key in ("id", "cloud"):
            choices[key] = found
        elif properties[key].get("x-unit") == "CRS unit" and _is_place(value):
            choices[key] = [(corner[: np.shape(value)[-1]] + value).tolist()]
        elif properties[key].get("x-path") == "read":
            choices[key] = [str(folder / "more.las"), str(folder / "other.oniyanma")]
        elif properties[key].get("x-path") == "write":
            name = f"{{nth}}{Path(value).suffix}"  # another one for each try
            choices[key] = [str(folder / "out" / name)]
    for chosen in itertools.product(*choices.values()):
        yield dict(zip(choices, chosen, strict=True))


@dataclass(frozen=True)
class Run:
    """What a call did that succeeded: ``lines`` are those it added to the log."""

    args: dict[str, Any]
    answer: dict[str, Any]
    changed: bool
    lines: list[Any]
    revision: int


def log(session: Session) -> Any:
    return session.scene.log


def fitting(session: Session, command: Command, folder: Path) -> Run | None:
    """The first call by a person that succeeds, with arguments from `candidates`."""
    person = session.handle(HUMAN)
    for args in candidates(session, command, folder):
        before, (_, count), place = session.state, log(session).head(), log(session).path
        answer = session.submit(command.name, args, person).result()
        if answer.get("ok"):
            moved = log(session).path != place  # to another project's log
            new = log(session).entries(limit=1) if moved else log(session).entries(since=count)
            lines = [line.body for line in new]
            changed = session.state is not before
            return Run(args, answer, changed, lines, session.state.revision)
    return None
