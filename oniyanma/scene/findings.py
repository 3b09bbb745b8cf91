"""Findings: remarks at a place, with a status that only a person decides.

::

    open ──confirm──► confirmed ─┐
      │  ──reject───► rejected ──┤
      └──────────────────────────┴──withdraw──► withdrawn ──restore──► what it was before

Nothing is ever erased: each step is a line of the finding's history, with actor and time.
Texts, withdrawing and restoring are steps that undo reaches; a decision is not one, as nothing
that was signed is unsigned by a key press: a person withdraws the finding instead. A machine
does not change the text of a decided finding, for then nobody would have confirmed it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from oniyanma.clouds.model import Vec3
from oniyanma.registry.actor import Actor
from oniyanma.rules.model import Rule
from oniyanma.scene import history
from oniyanma.scene.records import RecordError, next_id
from oniyanma.scene.state import Change, Finding, FindingEvent, SceneState

SEVERITIES = ("info", "minor", "major", "critical")
STATUSES = ("open", "confirmed", "rejected", "withdrawn")


def get(state: SceneState, id: str) -> Finding:
    """The finding of that id; RecordError where there is none."""
    finding = state.findings.get(id)
    if finding is None:
        known = ", ".join(list(state.findings)[:10]) or "none yet"
        raise RecordError(f"There is no finding {id!r}; there are: {known}.", missing=True)
    return finding


def add(
    state: SceneState,
    actor: Actor,
    time: str,
    *,
    title: str,
    position: Vec3,
    note: str = "",
    severity: str = "info",
    region: Rule | None = None,
) -> tuple[SceneState, Finding]:
    """Record an open finding."""
    finding = Finding(
        id=next_id(state, "findings", "f"),
        title=title,
        position=position,
        note=note,
        severity=severity,
        status="open",
        author=actor,
        time=time,
        region=region,
        history=(FindingEvent("created", actor, time),),
    )
    return _step(state, "addFinding", f"add finding “{title}”", actor, time, None, finding), finding


def update(
    state: SceneState,
    actor: Actor,
    time: str,
    id: str,
    *,
    title: str | None = None,
    note: str | None = None,
    severity: str | None = None,
) -> tuple[SceneState, Finding]:
    """Change its texts; the former ones stay in its history. Nothing changed: the same state."""
    before = get(state, id)
    if before.status == "withdrawn":
        raise RecordError(f"Finding {id} is withdrawn; restore it first to change its text.")
    if actor.is_machine and before.status != "open":
        raise RecordError(
            f"Finding {id} was {before.status} by a person: a machine does not change its text; "
            "add another finding, or ask a person."
        )
    given = {"title": title, "note": note, "severity": severity}
    changed: dict[str, Any] = {
        k: v for k, v in given.items() if v is not None and v != getattr(before, k)
    }
    if not changed:
        return state, before
    was = "; ".join(f"{key} was “{getattr(before, key)}”" for key in changed)
    after = _noted(replace(before, **changed), "updated", actor, time, was)
    text = f"edit finding “{after.title}”"
    return _step(state, "updateFinding", text, actor, time, before, after), after


def withdraw(state: SceneState, actor: Actor, time: str, id: str) -> tuple[SceneState, Finding]:
    """Take it out of the list; the record stays and can be restored."""
    before = get(state, id)
    if before.status == "withdrawn":
        raise RecordError(f"Finding {id} is withdrawn already.")
    after = _noted(replace(before, status="withdrawn"), "withdrawn", actor, time)
    text = f"withdraw finding “{after.title}”"
    return _step(state, "deleteFinding", text, actor, time, before, after), after


def restore(state: SceneState, actor: Actor, time: str, id: str) -> tuple[SceneState, Finding]:
    """Bring a withdrawn one back with the status it had."""
    before = get(state, id)
    if before.status != "withdrawn":
        raise RecordError(f"Finding {id} is {before.status}, not withdrawn.")
    after = _noted(replace(before, status=history.decided(before)), "restored", actor, time)
    text = f"restore finding “{after.title}”"
    return _step(state, "restoreFinding", text, actor, time, before, after), after


def decide(
    state: SceneState,
    actor: Actor,
    time: str,
    id: str,
    status: Literal["confirmed", "rejected"],
    note: str = "",
) -> tuple[SceneState, Finding]:
    """A person's word on an open finding. Not a step of undo."""
    before = get(state, id)
    if before.status != "open":
        verb = "confirmed" if status == "confirmed" else "rejected"
        raise RecordError(f"Finding {id} is {before.status}; only an open finding can be {verb}.")
    after = _noted(replace(before, status=status), status, actor, time, note)
    return history.put(state, "findings", id, after), after


def _noted(finding: Finding, what: str, actor: Actor, time: str, note: str = "") -> Finding:
    return replace(finding, history=(*finding.history, FindingEvent(what, actor, time, note)))


def _step(
    state: SceneState,
    command: str,
    title: str,
    actor: Actor,
    time: str,
    before: Finding | None,
    after: Finding,
) -> SceneState:
    change = Change("findings", after.id, before, after)
    return history.append_step(
        state, command=command, title=title, actor=actor, time=time, changes=[change]
    )
