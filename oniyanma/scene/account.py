"""Who did what: what a machine touched and what a person confirmed, from the state and the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from oniyanma.registry.actor import Actor
from oniyanma.registry.log import LogLine
from oniyanma.scene import history
from oniyanma.scene.state import Event, SceneState


@dataclass(frozen=True)
class Step:
    """A step of the log of edits as a reader wants it."""

    seq: int
    title: str
    actor: Actor
    time: str
    points: int | None
    in_force: bool
    batch: str = ""  # its title
    proposed_by: Actor | None = None

    @property
    def machine(self) -> bool:
        """Whether a machine made or proposed it."""
        return self.actor.is_machine or (
            self.proposed_by is not None and self.proposed_by.is_machine
        )


@dataclass
class Tally:
    """What one actor did, by the log: lines by outcome, and points affected by its edits."""

    kind: str
    name: str
    instruction: str = ""
    outcomes: Counter[str] = field(default_factory=Counter)
    commands: Counter[str] = field(default_factory=Counter)
    points: int = 0
    proposed: int = 0  # commands it proposed that a person accepted


@dataclass(frozen=True)
class Decision:
    """A person's word: on a finding or on a batch."""

    what: str  # "confirmed finding f1", …
    subject: str  # its title
    proposed_by: Actor
    actor: Actor
    time: str
    note: str = ""


@dataclass(frozen=True)
class Account:
    steps: tuple[Step, ...]
    tallies: tuple[Tally, ...]
    decisions: tuple[Decision, ...]

    @property
    def machine_steps(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.machine)


def account(state: SceneState, lines: Sequence[LogLine]) -> Account:
    """The whole account. Point counts are of the resident sample at the time."""
    active = history.active_events(state.events)
    in_force = {event.seq for event, _ in history.active_edits(state.events)}
    steps = tuple(
        _step(state, event, event.seq in (in_force if event.edits else active))
        for event in state.events
        if event.kind in ("step", "clear")
    )
    return Account(steps, _tallies(lines), _decisions(state, lines))


def _step(state: SceneState, event: Event, in_force: bool) -> Step:
    batch = state.batches.get(event.batch or "")
    return Step(
        seq=event.seq,
        title=event.title,
        actor=event.actor,
        time=event.time,
        points=event.points,
        in_force=in_force,
        batch="" if batch is None else batch.title,
        proposed_by=None if batch is None else batch.author,
    )


def _tallies(lines: Sequence[LogLine]) -> tuple[Tally, ...]:
    """By kind and name of the actor, people first, in the order they came."""
    found: dict[tuple[str, str], Tally] = {}

    def of(actor: Mapping[str, str]) -> Tally:
        key = (actor["kind"], actor["name"])
        tally = found.setdefault(key, Tally(*key))
        tally.instruction = tally.instruction or actor.get("instruction", "")
        return tally

    for line in lines:
        body = line.body
        tally = of(body["actor"])
        proposer = body.get("proposedBy")
        if proposer is not None:
            of(proposer).proposed += 1
        tally.outcomes[body["outcome"]] += 1
        if body["outcome"] == "ok":
            tally.commands[body["command"]] += 1
            if proposer is None and body["command"] != "acceptBatch":
                tally.points += int((body.get("affected") or {}).get("points", 0))
    return tuple(sorted(found.values(), key=lambda t: t.kind != "human"))


def _decisions(state: SceneState, lines: Sequence[LogLine]) -> tuple[Decision, ...]:
    found = [
        Decision(f"{h.what} finding {f.id}", f.title, f.author, h.actor, h.time, h.note)
        for f in state.findings.values()
        for h in f.history
        if h.what in ("confirmed", "rejected")
    ]
    accepted = {
        str(line.body["arguments"].get("id")): str(line.body["time"])
        for line in lines
        if line.body["command"] == "acceptBatch" and line.body["outcome"] == "ok"
    }
    found += [
        Decision(
            f"accepted batch {b.id}",
            b.title,
            b.author,
            b.accepted_by,
            accepted.get(b.id, b.time),
            "" if b.state == "applied" else f"now {b.state}",
        )
        for b in state.batches.values()
        if b.accepted_by is not None
    ]
    return tuple(sorted(found, key=lambda d: d.time))
