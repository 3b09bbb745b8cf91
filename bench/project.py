"""Project files: opening one with 10,000 edits against one without, writing, saving, verifying.

``python bench/project.py`` writes bench/results/project.json. Opening is compared with what a
plain read of the same rows (SQL and JSON) costs in the same run.
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from oniyanma import Session
from oniyanma.commands import build_registry
from oniyanma.registry import Actor, LogEntry
from oniyanma.rules.model import Polygon, Region, Rule
from oniyanma.scene.project import open_or_create, open_project, verify_project
from oniyanma.scene.project.file import reading
from oniyanma.scene.state import Event, PointEdit, SceneState

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "bench" / "results" / "project.json"
CLOUD = ROOT.parent / "shared" / "data" / "lion.copc.laz"
LOW, SIZE = (-4.99, 1.039), (4.2, 5.68)  # its bounds in plan
EDITS = 10_000
CORNERS = 12
WRITES = 1_000
ROUNDS = 7
CLOCK = time.process_time  # what this program does, however busy the machine is
ACTOR = Actor("human", "bench")
NOW = "2026-01-31T12:00:00.000Z"


def event(seq: int) -> Event:
    """A reclassification of a small lasso of its own, somewhere in the cloud."""
    x, y = LOW[0] + (seq % 100) / 100 * SIZE[0], LOW[1] + (seq // 100) / 100 * SIZE[1]
    ring = tuple(
        (x + 0.37 * i % 0.9 * SIZE[0] / 100, y + 0.61 * i % 0.9 * SIZE[1] / 100)
        for i in range(CORNERS)
    )
    edit = PointEdit(f"e{seq}", "reclassify", Rule((Region(Polygon(ring)),), seq), {"class": 6})
    return Event(
        seq, "step", "reclassifySelection", f"reclassify {seq}", ACTOR, NOW, (edit,), points=seq
    )


def line() -> LogEntry:
    return LogEntry(
        time=NOW,
        actor=ACTOR,
        surface="all",
        command="reclassifySelection",
        arguments={"class": 6},
        outcome="ok",
    )


def best(function: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """The least of some rounds, seconds of this process."""
    times = []
    for _ in range(rounds):
        start = CLOCK()
        function()
        times.append(CLOCK() - start)
    return min(times)


def write_edits(path: Path, events: int) -> tuple[SceneState, float]:
    """A project of so many edits; seconds of each of the last, one transaction each."""
    with Session(project=path, registry=REGISTRY, inline_workers=True, actor=ACTOR) as session:
        session.call("openCloud", {"path": str(CLOUD)})
    store, state = open_or_create(path)
    at_once = max(0, events - WRITES)
    after = replace(state, events=tuple(event(seq) for seq in range(1, at_once + 1)))
    store.write(line(), state, after)
    start = time.perf_counter()  # waiting for the disk counts
    for seq in range(at_once + 1, events + 1):
        state, after = after, replace(after, events=(*after.events, event(seq)))
        store.write(line(), state, after)
    each = (time.perf_counter() - start) / max(1, events - at_once)
    store.close()
    return after, each


def plain_read(path: Path) -> None:
    """What the rows cost whoever reads them."""
    with reading(path) as connection:
        for (body,) in connection.execute("SELECT body FROM events ORDER BY seq"):
            json.loads(body)


def open_session(path: Path) -> tuple[float, float]:
    """Seconds until the scene stands, with its cloud and edits, and until the view has settled."""
    start = CLOCK()
    with Session(project=path, registry=REGISTRY, inline_workers=True, actor=ACTOR) as session:
        ready = CLOCK()
        session.settle()
        return ready - start, CLOCK() - start


REGISTRY = build_registry()


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["ONIYANMA_DATA"] = str(folder / "data")
        few, many = folder / "few.oniyanma", folder / "many.oniyanma"
        write_edits(few, 0)
        state, each = write_edits(many, EDITS)
        empty = best(lambda: open_project(few).close())
        full = best(lambda: open_project(many).close())
        plain = best(lambda: plain_read(many))
        ready_few, settled_few = map(min, zip(*(open_session(few) for _ in range(3)), strict=True))
        ready, settled = map(min, zip(*(open_session(many) for _ in range(3)), strict=True))
        verify = best(lambda: verify_project(many), 3)
        store, _ = open_or_create(many)
        save = best(lambda: store.save_as(folder / "copy.oniyanma", state, overwrite=True), 3)
        store.close()
        size = many.stat().st_size
    aim = 1.5 * ready_few + plain
    rows = [
        {
            "what": f"opening a project with {EDITS:,} edits",
            "figure": f"{full * 1e3:.0f} ms; without {empty * 1e3:.1f} ms, "
            f"plain read of the rows {plain * 1e3:.0f} ms",
        },
        {
            "what": "the same with its session, cloud of 342,000 points, ready for commands",
            "figure": f"{ready * 1e3:.0f} ms; without {ready_few * 1e3:.0f} ms",
            "aim": f"at most 1.5 × without + plain read = {aim * 1e3:.0f} ms",
            "holds": ready <= aim,
        },
        {
            "what": "and until all of it is on screen with every edit applied",
            "figure": f"{settled * 1e3:.0f} ms; without {settled_few * 1e3:.0f} ms",
        },
        {
            "what": f"an edit with its log line, forced to disk, after {EDITS - WRITES:,} others",
            "figure": f"{each * 1e6:.0f} µs",
        },
        {"what": "following the whole log's hash chain", "figure": f"{verify * 1e3:.0f} ms"},
        {
            "what": f"saving it as another file ({size / 1e6:.1f} MB)",
            "figure": f"{save * 1e3:.0f} ms",
        },
    ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result = {
        "title": "Project files",
        "order": 50,
        "rows": rows,
        "notes": f"Each edit is a lasso of {CORNERS} corners. Peak memory: {peak:.0f} MB.",
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
