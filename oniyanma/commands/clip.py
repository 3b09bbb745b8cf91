"""What is cut away from view, selection and counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from oniyanma.commands.arguments import CLIP, arguments, box, choice, flag, plan_points, span
from oniyanma.commands.selection import span_of, triple, wrong
from oniyanma.registry import Args, Call, Command, Outcome
from oniyanma.rules.model import Box, Clip, Polygon


def _set_clip(call: Call, args: Args) -> Outcome:
    given = [name for name in ("box", "polygon", "clear") if args.get(name)]
    if len(given) != 1:
        raise wrong("setClip", "", given, "exactly one of box, polygon, clear: true")
    if "zRange" in args and given != ["polygon"]:
        raise wrong("setClip", "zRange", args["zRange"], "given with a polygon only")
    if given == ["clear"]:
        return Outcome({"clip": None}, replace(call.state, clip=None))
    shape: Box | Polygon
    if given == ["box"]:
        low, high = args["box"]["min"], args["box"]["max"]
        for axis, name in enumerate("xyz"):
            if low[axis] > high[axis]:
                allowed = f"at most max's {name} {high[axis]}"
                raise wrong("setClip", f"box.min.{axis}", low[axis], allowed)
        shape = Box(triple(low), triple(high), float(args["box"].get("rotation", 0.0)))
    else:
        corners = tuple((float(x), float(y)) for x, y in args["polygon"])
        shape = Polygon(corners, span_of("setClip", "zRange", args.get("zRange")))
    clip = Clip(shape, args["mode"])
    return Outcome({"clip": clip_json(clip)}, replace(call.state, clip=clip))


def clip_json(clip: Clip | None) -> dict[str, Any] | None:
    """A clip as setClip takes it."""
    if clip is None:
        return None
    if isinstance(clip.shape, Box):
        box = {
            "min": list(clip.shape.min),
            "max": list(clip.shape.max),
            "rotation": clip.shape.rotation,
        }
        return {"box": box, "mode": clip.mode}
    return {
        "polygon": [list(corner) for corner in clip.shape.polygon],
        "zRange": list(clip.shape.z),
        "mode": clip.mode,
    }


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
        run=_set_clip,
    ),
)
