"""Undo as reading the log: pure functions over the append-only events of a scene.

Nothing is ever taken out of the log. A step, a clear, an undo and a redo are each appended;
what is in force follows from reading it from the start. Record changes (measurements, findings,
bookmarks) are part of the step that made them, so that one undo covers both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from oniyanma.registry.actor import Actor
from oniyanma.scene.state import (
    Change,
    EditKind,
    Event,
    Finding,
    FindingEvent,
    PointEdit,
    SceneState,
)


def same_actor(a: Actor, b: Actor) -> bool:
    """Whether two actors are one: by kind, participant and token; a name is only a label."""
    return (a.kind, a.participant, a.token) == (b.kind, b.participant, b.token)


def reaches(actor: Actor, event: Event) -> bool:
    """A machine's undo reaches its own steps; a person's everybody's."""
    return not actor.is_machine or same_actor(actor, event.actor)


def next_seq(state: SceneState) -> int:
    """The position of the event appended next; the ``at`` of a rule made now."""
    return state.events[-1].seq + 1 if state.events else 1


def active_events(events: Iterable[Event], before: int | None = None) -> set[int]:
    """The seqs of steps and clears in force, reading the events with ``seq < before``."""
    active: set[int] = set()
    for event in events:
        if before is not None and event.seq >= before:
            break
        if event.kind in ("step", "clear"):
            active.add(event.seq)
        elif event.kind == "undo":
            active.difference_update(event.steps)
        else:
            active.update(event.steps)
    return active


def active_edits(
    events: Sequence[Event], before: int | None = None
) -> list[tuple[Event, PointEdit]]:
    """The point edits in force, in the order in which they apply."""
    active = active_events(events, before)
    cleared = _cleared(events, active)
    return [
        (event, edit)
        for event in events
        if event.kind == "step" and event.seq in active
        for edit in event.edits
        if (event.seq, edit.kind) not in cleared
    ]


def _cleared(events: Sequence[Event], active: set[int]) -> set[tuple[int, str]]:
    kinds: tuple[EditKind, ...] = ("hide", "delete", "reclassify", "color")
    return {
        (step, kind)
        for event in events
        if event.kind == "clear" and event.seq in active
        for step in event.steps
        for kind in event.kinds or kinds
    }


def append_step(
    state: SceneState,
    *,
    command: str,
    title: str,
    actor: Actor,
    time: str,
    edits: tuple[PointEdit, ...] = (),
    changes: Sequence[Change] = (),
    batch: str | None = None,
    points: int | None = None,
) -> SceneState:
    """One undo step: the event is appended, its record changes are put in force.

    Point edits are made with ``Rule.at == next_seq(state)`` and an id from `edit_id`.
    """
    event = Event(
        seq=next_seq(state),
        kind="step",
        command=command,
        title=title,
        actor=actor,
        time=time,
        edits=edits,
        changes=tuple(changes),
        batch=batch,
        points=points,
    )
    state = replace(state, events=(*state.events, event))
    for change in changes:
        state = put(state, change.table, change.key, change.after)
    return state


def edit_id(seq: int, index: int = 0) -> str:
    """The id of an edit: its event's position, and its place in it after the first."""
    return f"e{seq}" if index == 0 else f"e{seq}.{index}"


def undoable(state: SceneState, actor: Actor) -> list[Event]:
    """What this actor's undo reaches, the last first."""
    active = active_events(state.events)
    return [e for e in reversed(state.events) if e.seq in active and reaches(actor, e)]


def redoable(state: SceneState, actor: Actor) -> list[Event]:
    """What this actor's redo reaches, the next first: undone since the last new step.

    A machine takes back its own undos only.
    """
    by_seq = {event.seq: event for event in state.events}
    stack: list[int] = []
    for event in state.events:
        if event.kind in ("step", "clear"):
            if reaches(actor, event):
                stack.clear()
        elif event.kind == "undo":
            if reaches(actor, event):
                stack.extend(event.steps)
        else:
            stack = [seq for seq in stack if seq not in event.steps]
    active = active_events(state.events)
    return [by_seq[seq] for seq in reversed(stack) if seq not in active]


def undo(
    state: SceneState, actor: Actor, time: str, steps: int = 1, command: str = "undo"
) -> tuple[SceneState, list[Event]]:
    """Take back the last steps in reach. Answers the steps taken, the last first; none: ([])."""
    taken = _first(undoable(state, actor), steps)
    return _append_turn(state, "undo", taken, actor, time, command), taken


def undo_steps(
    state: SceneState, actor: Actor, time: str, seqs: Iterable[int], command: str
) -> tuple[SceneState, list[Event]]:
    """Take back named steps that are in force (a batch), whatever came after them."""
    wanted, active = set(seqs), active_events(state.events)
    taken = [e for e in reversed(state.events) if e.seq in wanted and e.seq in active]
    return _append_turn(state, "undo", taken, actor, time, command), taken


def redo(
    state: SceneState, actor: Actor, time: str, steps: int = 1
) -> tuple[SceneState, list[Event]]:
    """The reverse of `undo`, until a new step."""
    taken = _first(redoable(state, actor), steps)
    return _append_turn(state, "redo", taken, actor, time, "redo"), taken


def step_title(state: SceneState, event: Event) -> str:
    """What undo is named by: the event's title, or that of the batch it is a part of."""
    batch = state.batches.get(event.batch or "")
    return event.title if batch is None else f"batch “{batch.title}”"


def _first(events: Iterable[Event], steps: int) -> list[Event]:
    """The events of the first ``steps`` undo steps; all events of a batch are one step."""
    taken: list[Event] = []
    last: str | int | None = None
    for event in events:
        key = event.batch if event.batch is not None else event.seq
        if key != last:
            last, steps = key, steps - 1
        if steps < 0:
            break
        taken.append(event)
    return taken


def clear(
    state: SceneState, actor: Actor, time: str, kinds: tuple[EditKind, ...] = ()
) -> tuple[SceneState, int]:
    """Take every point edit (of the kinds, or all) out of force; answers how many.

    Everybody's, in one step that can be undone. Records (measurements, findings) stay.
    """
    hit = [(e, edit) for e, edit in active_edits(state.events) if not kinds or edit.kind in kinds]
    if not hit:
        return state, 0
    named = f" ({', '.join(kinds)})" if kinds else ""
    event = Event(
        seq=next_seq(state),
        kind="clear",
        command="clearEdits",
        title=f"clear {len(hit):,} edit{'s' if len(hit) != 1 else ''}{named}",
        actor=actor,
        time=time,
        steps=tuple(dict.fromkeys(e.seq for e, _ in hit)),
        kinds=kinds,
    )
    return replace(state, events=(*state.events, event)), len(hit)


def _append_turn(
    state: SceneState, kind: Any, taken: list[Event], actor: Actor, time: str, command: str
) -> SceneState:
    if not taken:
        return state
    batches = dict.fromkeys(e.batch for e in taken)
    one = len(taken) == 1 or (len(batches) == 1 and taken[0].batch is not None)
    what = step_title(state, taken[0]) if one else f"{len(taken)} steps"
    event = Event(
        seq=next_seq(state),
        kind=kind,
        command=command,
        title=f"{kind}: {what}",
        actor=actor,
        time=time,
        steps=tuple(e.seq for e in taken),
    )
    state = replace(state, events=(*state.events, event))
    for step in taken:
        changes = step.changes if kind == "redo" else tuple(reversed(step.changes))
        for change in changes:
            old, new = change.before, change.after
            if kind == "undo":
                old, new = new, old
            current = getattr(state, change.table).get(change.key)
            merged = _merge(current, old, new, actor, time)
            state = put(state, change.table, change.key, merged)
    for key in batches:
        if key is not None and (batch := state.batches.get(key)) is not None:
            batch = replace(batch, state="reverted" if kind == "undo" else "applied")
            state = put(state, "batches", key, batch)
    return state


def _merge(current: Any, old: Any, new: Any, actor: Actor, time: str) -> Any:
    """Move a record from ``old`` to ``new``, keeping what others changed in it since.

    A finding's record stays: undoing its creation withdraws it, redoing restores it, and its
    history only grows. What a person decided on (confirmed, rejected) no machine's undo changes.
    """
    if isinstance(current, Finding):
        return _merge_finding(current, old, new, actor, time)
    if old is None or new is None or not is_dataclass(current) or isinstance(current, type):
        return new
    changed: dict[str, Any] = {
        f.name: getattr(new, f.name)
        for f in fields(current)
        if getattr(old, f.name) != getattr(new, f.name)
        and getattr(current, f.name) == getattr(old, f.name)
    }
    return replace(current, **changed)


def _merge_finding(current: Finding, old: Any, new: Any, actor: Actor, time: str) -> Finding:
    def noted(finding: Finding, what: str) -> Finding:
        return replace(finding, history=(*finding.history, FindingEvent(what, actor, time)))

    if actor.is_machine and current.status in ("confirmed", "rejected"):
        return current
    if new is None:
        if current.status == "withdrawn":
            return current
        return noted(replace(current, status="withdrawn"), "withdrawn")
    if old is None:
        if current.status != "withdrawn":
            return current
        return noted(replace(current, status=decided(current)), "restored")
    changed: dict[str, Any] = {
        name: getattr(new, name)
        for name in ("title", "note", "severity", "status")
        if getattr(old, name) != getattr(new, name) and getattr(current, name) == getattr(old, name)
    }
    if not changed:
        return current
    what = "updated"
    if "status" in changed:
        what = "withdrawn" if changed["status"] == "withdrawn" else "restored"
    return noted(replace(current, **changed), what)


def decided(finding: Finding) -> Literal["open", "confirmed", "rejected"]:
    """What was last decided of a finding, withdrawn or not: what restoring gives it back."""
    status: Literal["open", "confirmed", "rejected"] = "open"
    for event in finding.history:
        if event.what == "confirmed":
            status = "confirmed"
        elif event.what == "rejected":
            status = "rejected"
    return status


def put(state: SceneState, table: str, key: str, value: Any) -> SceneState:
    """The state with a record of a table set, or taken out (None); no event, so no undo."""
    records: Mapping[str, Any] = getattr(state, table)
    if value is None:
        left = {k: v for k, v in records.items() if k != key}
    else:
        left = {**records, key: value}
    changed: dict[str, Any] = {table: MappingProxyType(left)}
    return replace(state, **changed)
