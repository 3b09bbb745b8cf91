"""The camera and how points are shown."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import (
    CLOUD,
    COLOR_PATTERN,
    READ,
    VIEW,
    arguments,
    choice,
    classes,
    closed_span,
    flag,
    number,
    text,
    vector,
)
from oniyanma.registry import Command, not_ready

COMMANDS: Final = (
    Command(
        name="getView",
        title="View state",
        group=READ,
        description="The camera (eye, target, up, projection, field of view), navigation mode, "
        "colour mode with range and palette, point size, budget, eye-dome lighting, clip, visible "
        "classes, and what is resident: points, nodes, pending nodes, bytes.",
        input_schema=arguments(),
        example={},
        readonly=True,
        cached=False,
        run=not_ready,
    ),
    Command(
        name="setCamera",
        title="Move camera",
        group=VIEW,
        description="Moves the camera: to a place, a preset or a bookmark, and sets projection "
        "and navigation mode. What is not given stays.",
        input_schema=arguments(
            {
                "eye": vector("Where the camera is, world [x, y, z]."),
                "target": vector("What it looks at, world [x, y, z]."),
                "up": vector("Which way is up, a direction [x, y, z].", "direction"),
                "preset": choice(
                    "A view of the whole scene from a side.",
                    ("top", "bottom", "front", "back", "left", "right", "iso"),
                ),
                "bookmark": text("Name of a saved view from listBookmarks."),
                "projection": choice("Projection.", ("perspective", "orthographic")),
                "mode": choice("How the mouse and keys move it.", ("orbit", "fly")),
                "animate": flag("true: the window shows the way there."),
            }
        ),
        example={"preset": "top", "projection": "orthographic"},
        idempotent=True,
        run=not_ready,
    ),
    Command(
        name="fitView",
        title="Fit view",
        group=VIEW,
        description="Moves the camera so that everything, the selection, a cloud, a finding or a "
        "measurement fills the view.",
        input_schema=arguments(
            {
                "to": choice(
                    "What to frame.",
                    ("all", "selection", "cloud", "finding", "measurement"),
                    default="all",
                ),
                "id": text("Id of the cloud, finding or measurement."),
            }
        ),
        example={"to": "all"},
        conditions=("has_cloud",),
        idempotent=True,
        run=not_ready,
    ),
    Command(
        name="setColorMode",
        title="Colour by",
        group=VIEW,
        description="Sets by what points are coloured, for all clouds or one.",
        input_schema=arguments(
            {
                "mode": text(
                    "rgb, elevation, intensity, classification, return, source, gpsTime, uniform, "
                    "or the name of an extra dimension.",
                ),
                "range": closed_span(
                    "Values at the ends of the palette, in the mode's own unit; absent: 2nd to "
                    "98th percentile of the resident points."
                ),
                "palette": text("Name of a palette."),
                "classColors": {
                    "type": "object",
                    "patternProperties": {
                        "^(\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])$": {
                            "type": "string",
                            "pattern": COLOR_PATTERN,
                            "x-like": "#rrggbb",
                        }
                    },
                    "additionalProperties": False,
                    "maxProperties": 256,
                    "description": "Own colours of classes: class number → #rrggbb.",
                },
                "cloud": CLOUD,
            },
            "mode",
        ),
        example={"mode": "elevation", "range": [400, 600]},
        idempotent=True,
        run=not_ready,
    ),
    Command(
        name="setPointSize",
        title="Point size",
        group=VIEW,
        description="Sets the size points are drawn with.",
        input_schema=arguments(
            {
                "pixels": number("Size of a point.", 1, 32, "logical pixels"),
                "adaptive": flag(
                    "true: points grow to the distance between them, so that surfaces look dense."
                ),
            }
        ),
        example={"pixels": 3},
        idempotent=True,
        run=not_ready,
    ),
    Command(
        name="setEyeDomeLighting",
        title="Eye-dome lighting",
        group=VIEW,
        description="Turns the shading of edges by depth on or off.",
        input_schema=arguments(
            {
                "enabled": flag("true: on, false: off."),
                "strength": number("How dark edges get.", 0, 10),
                "radius": number(
                    "How far around a pixel depth is compared.", 0.5, 8, "logical pixels"
                ),
            },
            "enabled",
        ),
        example={"enabled": True, "strength": 1.0},
        idempotent=True,
        run=not_ready,
    ),
    Command(
        name="setClassVisibility",
        title="Show or hide classes",
        group=VIEW,
        description="Shows or hides classes. Points of hidden classes are not drawn, selected or "
        "counted.",
        input_schema=arguments(
            {
                "classes": classes("ASPRS class numbers; an empty list with only: none.", 0),
                "visible": flag("true: show them, false: hide them."),
                "only": flag("true: and the reverse for all other classes."),
            },
            "classes",
            "visible",
        ),
        example={"classes": [7, 18], "visible": False},
        idempotent=True,
        run=not_ready,
    ),
)
