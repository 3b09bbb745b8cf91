"""Remarks at a place, with a status that people decide on."""

from __future__ import annotations

from typing import Final

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
from oniyanma.registry import Command, not_ready

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
        run=not_ready,
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
        run=not_ready,
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
        run=not_ready,
    ),
    Command(
        name="deleteFinding",
        title="Withdraw finding",
        group=FINDINGS,
        description="Withdraws a finding. The record stays and can be restored.",
        input_schema=arguments({"id": FINDING}, "id"),
        example={"id": "f1"},
        conditions=("writable",),
        dry_run=not_ready,
        run=not_ready,
    ),
    Command(
        name="restoreFinding",
        title="Restore finding",
        group=FINDINGS,
        description="Brings a withdrawn finding back.",
        input_schema=arguments({"id": FINDING}, "id"),
        example={"id": "f1"},
        conditions=("writable",),
        run=not_ready,
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
        run=not_ready,
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
        run=not_ready,
    ),
)
