"""What the door costs: a trivial read command through it, called directly, and a plain loop.

Run ``python bench/door.py``; writes bench/results/door.json. Figures are best of several rounds
in one run, so that they can be compared with each other.
"""

from __future__ import annotations

import json
import resource
import tempfile
import timeit
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from oniyanma.registry import (
    Actor,
    Args,
    Call,
    Command,
    Context,
    Jobs,
    LogEntry,
    MemoryLog,
    Outcome,
    Registry,
    execute_command,
)
from oniyanma.scene.project import open_or_create
from oniyanma.scene.state import SceneState

RESULTS = Path(__file__).parent / "results" / "door.json"
AIM_US = 40.0
SCHEMA = {
    "type": "object",
    "properties": {
        "bins": {"type": "integer", "minimum": 2, "maximum": 128, "description": "Number of bins."}
    },
    "additionalProperties": False,
}


class Host:
    """The door's host over a scene state, with any log."""

    def __init__(self, log: Any, state: SceneState) -> None:
        self.log = log
        self.state = state
        self.live_state: Any = None

    @property
    def version(self) -> int:
        return self.state.revision

    def commit(self, state: SceneState, entry: LogEntry) -> None:
        self.log.write(entry, self.state, state)
        self.state = replace(state, revision=self.state.revision + 1)

    def append(self, entry: LogEntry) -> None:
        self.log.write(entry, self.state, self.state)


def work(call: Call, args: Args) -> Outcome:
    return Outcome({"revisions": call.state.revision, "bins": args.get("bins", 16)})


def write(call: Call, args: Args) -> Outcome:
    return Outcome({}, replace(call.state, budget=args.get("bins", 16) * 100_000))


def command(name: str, run: Callable[[Call, Args], Outcome], **more: Any) -> Command:
    return Command(
        name=name,
        title=name,
        group="Bench",
        description="A trivial command.",
        input_schema=SCHEMA,
        example={"bins": 16},
        run=run,
        **more,
    )


def context(host: Host) -> Context:
    registry = Registry(
        [
            command("look", work, readonly=True, cached=False),
            command("lookCached", work, readonly=True),
            command("write", write),
        ]
    ).freeze()
    return Context(registry=registry, host=host, jobs=Jobs(lambda f: None, inline=True))


def microseconds(function: Callable[[], Any], number: int, rounds: int = 60) -> float:
    """Best of many short rounds, µs a call: what else the machine does hits only some."""
    return min(timeit.repeat(function, number=number, repeat=rounds)) / number * 1e6


def calibration() -> int:
    """1,000 turns of plain Python: how fast this machine is."""
    total = 0
    for number in range(1000):
        total += number
    return total


def main() -> None:
    actor = Actor("api", "bench")
    ctx = context(Host(MemoryLog(), SceneState()))
    args = {"bins": 16}
    call = ctx.call(actor, "all")
    direct = microseconds(lambda: work(call, args), 2_000)
    door = microseconds(lambda: execute_command(ctx, "look", args, actor, "all"), 200)
    cached = microseconds(lambda: execute_command(ctx, "lookCached", args, actor, "all"), 200)
    refused = microseconds(lambda: execute_command(ctx, "look", {"bins": 1}, actor, "all"), 50)
    loop = microseconds(calibration, 100)
    memory = microseconds(lambda: execute_command(ctx, "write", args, actor, "all"), 200, 30)
    with tempfile.TemporaryDirectory() as folder:
        store, state = open_or_create(Path(folder) / "bench.oniyanma")
        try:
            stored = context(Host(store, state))
            kept = microseconds(
                lambda: execute_command(stored, "write", args, actor, "all"), 50, 30
            )
        finally:
            store.close()
    figures = {
        "dispatch_us": round(door, 2),
        "direct_us": round(direct, 3),
        "dispatch_over_direct": round(door / direct, 1),
        "calibration_loop_us": round(loop, 2),
        "dispatch_over_calibration": round(door / loop, 3),
        "cached_us": round(cached, 2),
        "refusal_us": round(refused, 2),
        "aim_us": AIM_US,
        "log_lines_per_second_memory": round(1e6 / memory),
        "log_lines_per_second_project": round(1e6 / kept),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
