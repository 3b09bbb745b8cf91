"""A small cloud on disk, a session on it, and the plain reading of both that tests compare to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import laspy
import numpy as np

from oniyanma.app import Session
from oniyanma.handle import Handle
from oniyanma.registry import Actor
from oniyanma.rules.block import PointBlock, PointState
from oniyanma.rules.evaluate import evaluate
from oniyanma.scene import history
from oniyanma.scene.ports import CLIPPED, DELETED, HIDDEN, SELECTED

PERSON = Actor("human", "Mei")
AI = Actor("ai", "model", "make it tidy")
ORIGIN = (500_000.0, 5_000_000.0, 100.0)
SIZE = 100.0


def write_cloud(path: Path, n: int = 45_000, seed: int = 1, *, color: bool = False) -> Path:
    """A square of rough ground with a block on it, LAS 1.4, centimetres; classes 1..6."""
    rng = np.random.default_rng(seed)
    header = laspy.LasHeader(point_format=7 if color else 6, version="1.4")
    header.scales, header.offsets = (0.01, 0.01, 0.01), ORIGIN
    las = laspy.LasData(header)
    xy = rng.integers(0, int(SIZE * 100), (2, n))
    las.X, las.Y = xy[0], xy[1]
    las.Z = rng.integers(0, 400, n) + np.where((xy > 3000).all(0) & (xy < 6000).all(0), 1500, 0)
    las.classification = rng.integers(1, 7, n)
    las.intensity = rng.integers(0, 1000, n)
    las.gps_time = rng.random(n) * 1e5
    las.return_number = rng.integers(1, 4, n)
    if color:
        las.red = rng.integers(0, 255, n) * 257
    las.write(str(path))
    return path


@contextmanager
def opened(path: Path, **more: Any) -> Iterator[tuple[Session, Handle]]:
    """A session without processes on one cloud, and a person's handle of it."""
    with Session(inline_workers=True, allow_read=[path.parent], actor=PERSON, **more) as session:
        answer = session.call("openCloud", path=str(path))
        assert answer["ok"], answer
        session.settle()
        yield session, session.handle(PERSON)


class Reference:
    """The log read as its words say, over all points, with nothing remembered but hits."""

    def __init__(self, block: PointBlock) -> None:
        self.block = block
        self.hits: dict[str, np.ndarray] = {}

    def at(self, events: tuple, position: int | None = None) -> tuple[np.ndarray, ...]:
        classes = self.block.attributes["classification"].copy()
        hidden, deleted = np.zeros(len(self.block), bool), np.zeros(len(self.block), bool)
        paint = np.zeros((len(self.block), 4), np.uint8)
        for event, edit in history.active_edits(events, position):
            key = f"{event.seq}/{edit.id}"
            if key not in self.hits:
                self.block.as_at = lambda p: self.state(events, p)
                self.hits[key] = evaluate(edit.rule, self.block)
            hit = self.hits[key]
            if edit.kind == "hide":
                hidden |= hit
            elif edit.kind == "delete":
                deleted |= hit
            elif edit.kind == "reclassify":
                classes[hit] = edit.params["class"]
            else:
                color = edit.params["color"]
                paint[hit] = (0, 0, 0, 0) if color is None else (*bytes.fromhex(color[1:]), 255)
        return classes, hidden, deleted, paint

    def state(self, events: tuple, position: int) -> PointState:
        classes, hidden, deleted, _ = self.at(events, position)
        return PointState(classes, hidden | deleted)


def visible_count(session: Session) -> int:
    """Selected points that one can see, counted the plain way."""
    hidden = list(session.state.hidden_classes)
    total = 0
    for node in session.view.resident():
        seen = (node.flags & (HIDDEN | DELETED | CLIPPED)) == 0
        seen &= (node.flags & SELECTED) != 0
        total += int((seen & ~np.isin(node.classification, hidden)).sum())
    return total
