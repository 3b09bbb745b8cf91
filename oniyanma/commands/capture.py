"""Pictures of the view."""

from __future__ import annotations

import base64
from typing import Any, Final

from oniyanma.commands.arguments import READ, arguments, flag, whole
from oniyanma.registry import Args, Call, Command, Outcome, Refused
from oniyanma.scene.ports import Renderer


def capture_view(call: Call, args: Args) -> Outcome:
    """Draw the committed state with the session's renderer, whichever that is."""
    renderer: Renderer | None = call.scene.renderer
    if renderer is None:
        raise Refused("This session draws no pictures: open a window or give it a renderer.")
    width, height = call.state.viewport
    width, height = args.get("width", width), args.get("height", height)
    try:
        picture = renderer.capture(call.scene.view, width, height, args["annotations"])
    except RuntimeError as error:  # what OpenGL can't do here, as a sentence
        raise Refused(str(error)) from error
    answer: dict[str, Any] = {
        "image": base64.b64encode(picture.png).decode("ascii"),
        "mediaType": "image/png",
        "width": picture.width,
        "height": picture.height,
        **picture.facts,
    }
    return Outcome(answer)


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
        run=capture_view,
    ),
)
