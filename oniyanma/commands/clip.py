"""What is cut away from view, selection and counts."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import CLIP, arguments, box, choice, flag, plan_points, span
from oniyanma.registry import Command, not_ready

COMMANDS: Final = (
    Command(
        name="setClip",
        title="Clip",
        group=CLIP,
        description="Clips what is drawn, selected and counted by a box or a polygon in plan with "
        "an optional Z range, or takes the clip away. Give exactly one of box, polygon, clear.",
        input_schema=arguments(
            {
                "box": box("A world box."),
                "polygon": plan_points("A world polygon in plan [[x, y], …].", 3),
                "zRange": span("Z of a polygon clip:", "CRS unit"),
                "mode": choice(
                    "Which side stays.",
                    ("inside", "outside"),
                    default="inside",
                ),
                "clear": flag("true: take the clip away."),
            }
        ),
        example={"box": {"min": [0, 0, 0], "max": [10, 10, 10]}},
        idempotent=True,
        run=not_ready,
    ),
)
