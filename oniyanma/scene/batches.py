"""Batches: commands that somebody proposes and a person accepts, as one step.

::

    proposed ──accept (a person)──► applied ──revert or undo──► reverted ──redo──► applied
        └──────revert─────────────► withdrawn

Who made a batch may take it back, whoever accepted it; a person takes back anybody's by undo.
"Made by" is decided by participant and token, never by a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from oniyanma.registry.actor import Actor
from oniyanma.scene import history
from oniyanma.scene.records import RecordError, next_id, who
from oniyanma.scene.state import Batch, SceneState

ALLOWED = (
    "selectBox",
    "selectPolygon",
    "selectWhere",
    "invertSelection",
    "clearSelection",
    "hideSelection",
    "deleteSelection",
    "reclassifySelection",
    "colorSelection",
    "addFinding",
    "updateFinding",
    "deleteFinding",
    "restoreFinding",
)
MAX_COMMANDS = 200
STATES = ("proposed", "applied", "reverted", "withdrawn")


def get(state: SceneState, id: str) -> Batch:
    """The batch of that id; RecordError where there is none."""
    batch = state.batches.get(id)
    if batch is None:
        known = ", ".join(list(state.batches)[:10]) or "none yet"
        raise RecordError(f"There is no batch {id!r}; there are: {known}.", missing=True)
    return batch


def unfit(name: str, args: Mapping[str, Any]) -> str | None:
    """Why a command can't be in a batch; None: it can.

    A screen polygon means another piece of the world when the view has moved by then.
    """
    if name not in ALLOWED:
        return f"{name} can't be in a batch: a batch only selects, edits and records findings"
    if name == "selectPolygon" and args.get("space") == "screen":
        return "selectPolygon in a batch needs space “world”: the view may differ when it runs"
    return None


def propose(
    state: SceneState,
    actor: Actor,
    time: str,
    title: str,
    commands: Sequence[Mapping[str, Any]],
) -> tuple[SceneState, Batch]:
    """Keep a batch for review; nothing of it runs."""
    batch = Batch(
        id=next_id(state, "batches", "b"),
        title=title,
        state="proposed",
        commands=tuple(commands),
        author=actor,
        time=time,
    )
    return history.put(state, "batches", batch.id, batch), batch


def ready_to_accept(state: SceneState, id: str) -> Batch:
    """The batch, if it is proposed; else RecordError with its state."""
    batch = get(state, id)
    if batch.state != "proposed":
        raise RecordError(f"Batch {id} is {batch.state}; only a proposed batch can be accepted.")
    return batch


def accepted(before: SceneState, after: SceneState, batch: Batch, actor: Actor) -> SceneState:
    """What running its commands led to (``after``), as one step of this batch.

    The events that came after those of ``before`` carry its id; undo and revert take them all.
    The selection is again the one from before; findings say who proposed them.
    """
    first = len(before.events)
    events = tuple(replace(event, batch=batch.id) for event in after.events[first:])
    step = events[0].seq if events else None
    applied = replace(batch, state="applied", accepted_by=actor, step=step)
    note = f"in batch {batch.id} “{batch.title}”, proposed by {who(batch.author)}"
    for id, finding in after.findings.items():
        known = len(before.findings[id].history) if id in before.findings else 0
        if len(finding.history) > known:
            lines = tuple(
                replace(line, note=f"{line.note}; {note}" if line.note else note)
                for line in finding.history[known:]
            )
            finding = replace(finding, history=finding.history[:known] + lines)
            after = history.put(after, "findings", id, finding)
    after = replace(after, events=after.events[:first] + events, selection=before.selection)
    return history.put(after, "batches", batch.id, applied)


def revertible(state: SceneState, actor: Actor, id: str | None) -> list[Batch]:
    """What `revert` would take back: the batch, or all of the caller's own. RecordError else."""
    if id is None:
        return [
            batch
            for batch in state.batches.values()
            if batch.state in ("applied", "proposed") and history.same_actor(batch.author, actor)
        ]
    batch = get(state, id)
    if not history.same_actor(batch.author, actor):
        way = "" if actor.is_machine or batch.state != "applied" else "; use undo"
        raise RecordError(
            f"Batch {id} was made by {who(batch.author)}, and only they can revert it{way}."
        )
    if batch.state not in ("applied", "proposed"):
        raise RecordError(f"Batch {id} is {batch.state}; there is nothing to revert.")
    return [batch]


def revert(state: SceneState, actor: Actor, time: str, batches: Sequence[Batch]) -> SceneState:
    """Take applied ones out of force, whatever came after them, and withdraw proposed ones."""
    ids = {batch.id for batch in batches if batch.state == "applied"}
    seqs = [event.seq for event in state.events if event.batch in ids and event.kind == "step"]
    state, _ = history.undo_steps(state, actor, time, seqs, "revertBatch")
    for batch in batches:
        end = replace(batch, state="reverted" if batch.state == "applied" else "withdrawn")
        state = history.put(state, "batches", batch.id, end)
    return state
