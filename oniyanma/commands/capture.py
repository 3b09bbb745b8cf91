"""Pictures of the view."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import READ, arguments, flag, whole
from oniyanma.registry import Command, not_ready

COMMANDS: Final = (
    Command(
        name="captureView",
        title="Capture picture",
        group=READ,
        description="A PNG of the view (base64 with its media type) with the facts of a world "
        "file. The size defaults to the viewport's.",
        input_schema=arguments(
            {
                "width": whole("Width of the picture.", 16, 4096, **{"x-unit": "pixels"}),
                "height": whole("Height of the picture.", 16, 4096, **{"x-unit": "pixels"}),
                "annotations": flag(
                    "false: points alone, without axes, scale bar, labels and markers.",
                    default=True,
                ),
            }
        ),
        example={"width": 640, "height": 360},
        readonly=True,
        cached=False,
        run=not_ready,
    ),
)
