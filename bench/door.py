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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows: list[dict[str, object]] = [
        {
            "what": "dispatch of a trivial read command",
            "figure": f"{door:.1f} µs: {door / direct:.0f}× the same work called directly, "
            f"{door / loop:.2f}× the calibration loop",
            "aim": f"{AIM_US:g} µs",
            "holds": door < AIM_US,
        },
        {"what": "calibration: 1,000 turns of plain Python", "figure": f"{loop:.1f} µs"},
        {"what": "a cached read", "figure": f"{cached:.1f} µs"},
        {"what": "a refusal with its reasons and line", "figure": f"{refused:.1f} µs"},
        {
            "what": "log lines a second, through the door",
            "figure": f"{1e6 / memory:,.0f} in memory, {1e6 / kept:,.0f} in a project on disk",
        },
    ]
    result = {
        "title": "The door",
        "order": 10,
        "rows": rows,
        "notes": f"Validators are compiled once, at registration. Peak memory: {peak:.0f} MB.",
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
