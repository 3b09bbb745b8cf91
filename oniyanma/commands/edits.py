"""Edits of the selected points, undo and redo."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import (
    COLOR_PATTERN,
    EDIT_KINDS,
    EDITS,
    READ,
    STEPS,
    arguments,
    choice,
    listing,
    whole,
)
from oniyanma.registry import Command, not_ready

COMMANDS: Final = (
    Command(
        name="listEdits",
        title="List edits",
        group=READ,
        description="The edits in order: id, kind, parameters, actor, time, resident count, "
        "batch, undone.",
        input_schema=arguments(
            {
                "actorKind": choice("Only edits of one kind of actor.", ("human", "ai", "api")),
                "limit": whole("At most this many, the last ones.", 1, 10_000, default=1000),
            }
        ),
        example={"limit": 20},
        conditions=("has_edits",),
        readonly=True,
        run=not_ready,
    ),
    Command(
        name="hideSelection",
        title="Hide selection",
        group=EDITS,
        description="Hides the selected points. They stay in the export.",
        input_schema=arguments(),
        example={},
        conditions=("has_selection", "writable"),
        dry_run=not_ready,
        run=not_ready,
    ),
    Command(
        name="deleteSelection",
        title="Delete selection",
        group=EDITS,
        description="Deletes the selected points from the view and the export. The source file "
        "stays as it is.",
        input_schema=arguments(),
        example={},
        conditions=("has_selection", "writable"),
        dry_run=not_ready,
        run=not_ready,
    ),
    Command(
        name="reclassifySelection",
        title="Classify selection",
        group=EDITS,
        description="Gives the selected points another class.",
        input_schema=arguments({"class": whole("ASPRS class number.", 0, 255)}, "class"),
        example={"class": 6},
        conditions=("has_selection", "writable"),
        dry_run=not_ready,
        run=not_ready,
    ),
    Command(
        name="colorSelection",
        title="Colour selection",
        group=EDITS,
        description="Paints the selected points, or takes their paint away.",
        input_schema=arguments(
            {
                "color": {
                    "type": ["string", "null"],
                    "pattern": COLOR_PATTERN,
                    "x-like": "#rrggbb",
                    "description": "#rrggbb, or null to take the paint away.",
                }
            },
            "color",
        ),
        example={"color": "#ffb000"},
        conditions=("has_selection", "writable"),
        dry_run=not_ready,
        run=not_ready,
    ),
    Command(
        name="undo",
        title="Undo",
        group=EDITS,
        description="Takes back the last steps: edits, measurements, bookmarks and finding texts, "
        "not the view. A machine takes back its own only, a person anybody's in this window.",
        input_schema=arguments({"steps": STEPS}),
        example={"steps": 1},
        conditions=("has_steps", "writable"),
        run=not_ready,
    ),
    Command(
        name="redo",
        title="Redo",
        group=EDITS,
        description="Does again what was taken back, until something new is done.",
        input_schema=arguments({"steps": STEPS}),
        example={"steps": 1},
        conditions=("has_undone", "writable"),
        run=not_ready,
    ),
    Command(
        name="clearEdits",
        title="Clear all edits",
        group=EDITS,
        description="Clears all edits, or those of some kinds: other participants' too.",
        input_schema=arguments(
            {
                "kinds": listing(
                    "Kinds of edits; absent: all.",
                    {"type": "string", "enum": list(EDIT_KINDS)},
                    1,
                    len(EDIT_KINDS),
                    uniqueItems=True,
                )
            }
        ),
        example={"kinds": ["color"]},
        conditions=("has_edits", "writable"),
        dry_run=not_ready,
        run=not_ready,
    ),
)
