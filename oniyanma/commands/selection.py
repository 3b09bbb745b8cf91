"""Selecting points by rules."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import (
    CLIP,
    MODE,
    READ,
    arguments,
    box_properties,
    choice,
    classes,
    listing,
    plan_points,
    span,
    text,
)
from oniyanma.registry import Command, not_ready

COMMANDS: Final = (
    Command(
        name="getSelection",
        title="Selection",
        group=READ,
        description="What is selected: points (resident, visible, not deleted), regions, bounds, "
        "classes and basis; with nothing selected points 0 and the reason in note.",
        input_schema=arguments(),
        example={},
        conditions=("has_selection",),
        readonly=True,
        run=not_ready,
    ),
    Command(
        name="selectBox",
        title="Select box",
        group=CLIP,
        description="Selects the points in a world box, which may be turned about the vertical.",
        input_schema=arguments({**box_properties(), "mode": MODE}, "min", "max"),
        example={"min": [0, 0, 0], "max": [10, 10, 10]},
        conditions=("has_cloud",),
        run=not_ready,
    ),
    Command(
        name="selectPolygon",
        title="Select polygon",
        group=CLIP,
        description="Selects by a polygon: on the screen, everything behind it (a lasso); in the "
        "world, everything above and below it, within zRange if given.",
        input_schema=arguments(
            {
                "points": plan_points(
                    "Corners [[x, y], …]: logical pixels from the top left on the screen, CRS "
                    "coordinates in the world.",
                    3,
                    "logical pixels or CRS unit",
                ),
                "space": choice("Where the corners are.", ("screen", "world")),
                "zRange": span("Z of the points it takes:", "CRS unit"),
                "mode": MODE,
            },
            "points",
            "space",
        ),
        example={"points": [[100, 100], [300, 100], [200, 300]], "space": "screen"},
        conditions=("has_cloud",),
        run=not_ready,
    ),
    Command(
        name="selectWhere",
        title="Select by attribute",
        group=CLIP,
        description="Selects the points for which all given conditions hold. Give at least one.",
        input_schema=arguments(
            {
                "classes": classes("ASPRS class numbers, as edited."),
                "elevation": span("Z:", "CRS unit"),
                "intensity": span("Intensity:"),
                "returns": span("Return number:"),
                "gpsTime": span("GPS time as the file holds it:", "seconds"),
                "sources": listing(
                    "Point source ids.",
                    {"type": "integer", "minimum": 0, "maximum": 65535},
                    1,
                    65536,
                    uniqueItems=True,
                ),
                "attribute": {
                    **arguments(
                        {
                            "name": text("Name of the dimension."),
                            "range": span("Real values (scaled):"),
                        },
                        "name",
                        "range",
                    ),
                    "description": "Any other dimension.",
                },
                "mode": MODE,
            }
        ),
        example={"classes": [2], "elevation": [None, 420.0]},
        conditions=("has_cloud",),
        run=not_ready,
    ),
    Command(
        name="invertSelection",
        title="Invert selection",
        group=CLIP,
        description="Selects what is not selected, and no longer what is.",
        input_schema=arguments(),
        example={},
        conditions=("has_cloud",),
        run=not_ready,
    ),
    Command(
        name="clearSelection",
        title="Clear selection",
        group=CLIP,
        description="Selects nothing.",
        input_schema=arguments(),
        example={},
        idempotent=True,
        run=not_ready,
    ),
)
