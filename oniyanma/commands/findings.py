"""Remarks at a place, with a status that people decide on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from oniyanma.commands.arguments import (
    FINDING,
    FINDINGS,
    READ,
    SEVERITIES,
    arguments,
    choice,
    flag,
    text,
    vector,
)
from oniyanma.commands.refusals import refusing
from oniyanma.commands.words import finding_json
from oniyanma.registry import Args, Call, Command, Outcome, Refused
from oniyanma.registry.command import Handler
from oniyanma.scene import findings
from oniyanma.scene.state import Finding, SceneState


def _list(call: Call, args: Args) -> Outcome:
    wanted = args.get("status")
    found = [f for f in call.state.findings.values() if wanted in (None, f.status)]
    counts = dict.fromkeys(findings.STATUSES, 0)
    for finding in call.state.findings.values():
        counts[finding.status] += 1
    answer = {"findings": [finding_json(f) for f in found], "count": len(found), "counts": counts}
    if not found:
        kind = f" with status {wanted}" if wanted and call.state.findings else ""
        answer["note"] = f"No findings{kind} (addFinding records one)"
    return Outcome(answer)


def _kept(state: SceneState, finding: Finding) -> Outcome:
    answer = {"id": finding.id, "status": finding.status, "title": finding.title}
    return Outcome(answer, state, {"findings": 1})


def _add(call: Call, args: Args) -> Outcome:
    region = None
    if args.get("useSelection"):
        region = call.state.selection.rule
        if region is None:
            raise Refused("addFinding: useSelection is true and nothing is selected.")
    x, y, z = args["position"]
    return _kept(
        *findings.add(
            call.state,
            call.actor,
            call.now,
            title=args["title"],
            position=(float(x), float(y), float(z)),
            note=args.get("note", ""),
            severity=args.get("severity", "info"),
            region=region,
        )
    )


def _update(call: Call, args: Args) -> Outcome:
    texts = {key: args.get(key) for key in ("title", "note", "severity")}
    with refusing():
        return _kept(*findings.update(call.state, call.actor, call.now, args["id"], **texts))


def _delete(call: Call, args: Args) -> Outcome:
    with refusing():
        return _kept(*findings.withdraw(call.state, call.actor, call.now, args["id"]))


def _would_delete(call: Call, args: Args) -> Mapping[str, Any]:
    finding = call.state.findings.get(args["id"])
    if finding is None:
        return {"findings": 0, "note": f"There is no finding {args['id']} (see listFindings)"}
    if finding.status == "withdrawn":
        return {"findings": 0, "note": f"Finding {finding.id} is withdrawn already"}
    note = "the record stays and can be restored even after withdrawal"
    return {"findings": 1, "note": note, "title": finding.title, "status": finding.status}


def _restore(call: Call, args: Args) -> Outcome:
    with refusing():
        return _kept(*findings.restore(call.state, call.actor, call.now, args["id"]))


def _decide(status: Literal["confirmed", "rejected"]) -> Handler:
    def run(call: Call, args: Args) -> Outcome:
        with refusing():
            note = args.get("note", "")
            return _kept(
                *findings.decide(call.state, call.actor, call.now, args["id"], status, note)
            )

    return run


_TITLE: Final = text("What it is, in a few words.")
_NOTE: Final = text("A remark.", 10_000)
_SEVERITY: Final = choice("How grave it is.", SEVERITIES)

COMMANDS: Final = (
    Command(
        name="listFindings",
        title="List findings",
        group=READ,
        description="The findings: id, title, note, severity, position, status, author, history.",
        input_schema=arguments(
            {
                "status": choice(
                    "Only those with this status.",
                    ("open", "confirmed", "rejected", "withdrawn"),
                )
            }
        ),
        example={"status": "open"},
        readonly=True,
        run=_list,
    ),
    Command(
        name="addFinding",
        title="Add finding",
        group=FINDINGS,
        description="Records a finding, which is open until a person confirms or rejects it.",
        input_schema=arguments(
            {
                "title": _TITLE,
                "position": vector("Where it is, world [x, y, z]."),
                "note": _NOTE,
                "severity": {**_SEVERITY, "default": "info"},
                "useSelection": flag("true: the selection is its region."),
            },
            "title",
            "position",
        ),
        example={"title": "Sagging cable", "position": [10.0, 20.0, 5.0], "severity": "major"},
        conditions=("writable",),
        run=_add,
    ),
    Command(
        name="updateFinding",
        title="Edit finding",
        group=FINDINGS,
        description="Changes the text or severity of a finding. The history keeps what was.",
        input_schema=arguments(
            {"id": FINDING, "title": _TITLE, "note": _NOTE, "severity": _SEVERITY}, "id"
        ),
        example={"id": "f1", "note": "Seen again."},
        conditions=("writable",),
        idempotent=True,
        run=_update,
    ),
    Command(
        name="deleteFinding",
        title="Withdraw finding",
        group=FINDINGS,
        description="Withdraws a finding. The record stays and can be restored.",
        input_schema=arguments({"id": FINDING}, "id"),
        example={"id": "f1"},
        conditions=("writable",),
        dry_run=_would_delete,
        run=_delete,
    ),
    Command(
        name="restoreFinding",
        title="Restore finding",
        group=FINDINGS,
        description="Brings a withdrawn finding back.",
        input_schema=arguments({"id": FINDING}, "id"),
        example={"id": "f1"},
        conditions=("writable",),
        run=_restore,
    ),
    Command(
        name="confirmFinding",
        title="Confirm finding",
        group=FINDINGS,
        description="Confirms a finding: a person vouches for it.",
        input_schema=arguments({"id": FINDING, "note": _NOTE}, "id"),
        example={"id": "f1"},
        conditions=("writable",),
        human_only=True,
        run=_decide("confirmed"),
    ),
    Command(
        name="rejectFinding",
        title="Reject finding",
        group=FINDINGS,
        description="Rejects a finding: a person says that it is none.",
        input_schema=arguments({"id": FINDING, "note": _NOTE}, "id"),
        example={"id": "f1", "note": "A parked lorry."},
        conditions=("writable",),
        human_only=True,
        run=_decide("rejected"),
    ),
)
