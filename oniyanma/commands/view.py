"""The camera and how points are shown."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from oniyanma.clouds.model import Vec3
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
from oniyanma.commands.clip import clip_json
from oniyanma.commands.selection import count_note, triple, wrong
from oniyanma.registry import Args, Call, Command, NotFound, Outcome
from oniyanma.scene import attributes, camera, palettes
from oniyanma.scene.state import ColorMode, SceneState

ALL_CLASSES: Final = frozenset(range(256))


def _get(call: Call, args: Args) -> Outcome:
    state, scene = call.state, call.scene
    display = state.display
    answer: dict[str, Any] = {
        **camera_json(state),
        "viewport": list(state.viewport),
        "mode": state.camera.mode,
        "color": _mode_json(display.color),
        "pointSize": {"pixels": display.point_size, "adaptive": display.adaptive},
        "budget": state.budget,
        "eyeDomeLighting": {
            "enabled": display.edl,
            "strength": display.edl_strength,
            "radius": display.edl_radius,
        },
        "clip": clip_json(state.clip),
        "hiddenClasses": sorted(state.hidden_classes),
        "resident": scene.resident_json(),
    }
    ranges = {}
    for entry in state.clouds:
        if entry.visible and scene.cloud(entry.id) is not None:
            mode = display.cloud_colors.get(entry.id, display.color)
            ranges[entry.id] = {**_mode_json(mode), "range": list(scene.color_range(entry.id))}
    answer["cloudColors"] = ranges
    return Outcome(answer)


def camera_json(state: SceneState) -> dict[str, Any]:
    """The camera as getView, setCamera and fitView answer it."""
    view = state.camera
    return {
        "eye": list(view.eye),
        "target": list(view.target),
        "up": list(view.up),
        "projection": view.projection,
        "fieldOfView": view.fov,
    }


def _mode_json(mode: ColorMode) -> dict[str, Any]:
    return {
        "mode": mode.mode,
        "range": None if mode.range is None else list(mode.range),
        "palette": palettes.palette_of(mode.mode, mode.palette),
    }


def _camera(call: Call, args: Args) -> Outcome:
    state = call.state
    view, scale = state.camera, call.scene.scale(state)
    if "bookmark" in args:
        saved = state.bookmarks.get(args["bookmark"])
        if saved is None:
            known = ", ".join(f"“{name}”" for name in list(state.bookmarks)[:10]) or "none yet"
            raise NotFound(f"There is no saved view {args['bookmark']!r}; there are: {known}.")
        view = saved.camera
    if "projection" in args:
        view = replace(view, projection=args["projection"])
    if "mode" in args:
        view = replace(view, mode=args["mode"])
    if "preset" in args:
        view = camera.preset(view, args["preset"], scale)
        view = camera.fit(view, call.scene.bounds(state), state.viewport, scale)
    if "target" in args:
        target = triple(args["target"])
        if "eye" not in args and "preset" in args:  # from the preset's side and distance
            moved = [e + t - o for e, t, o in zip(view.eye, target, view.target, strict=True)]
            view = replace(view, eye=triple(moved))
        view = replace(view, target=target)
    if "eye" in args:
        view = replace(view, eye=triple(args["eye"]))
    if "up" in args:
        view = replace(view, up=triple(args["up"]))
        if not any(view.up):
            raise wrong("setCamera", "up", args["up"], "a direction that is not 0")
    if view.eye == view.target:
        raise wrong("setCamera", "eye", list(view.eye), f"another point than target {view.target}")
    state = replace(state, camera=view)
    return Outcome({**camera_json(state), "mode": view.mode}, state)


def _fit(call: Call, args: Args) -> Outcome:
    state, scene, to = call.state, call.scene, args["to"]
    box: camera.Bounds | None
    if to == "all":
        box = scene.bounds(state)
    elif to == "selection":
        box = scene.extent(state)
        if box is None:
            return Outcome({**camera_json(state), "note": count_note(state, 0)})
    else:
        box = _box_of(call, to, args.get("id"))
    scale = scene.scale(state)
    state = replace(state, camera=camera.fit(state.camera, box, state.viewport, scale))
    answer: dict[str, Any] = camera_json(state)
    if box is None:
        answer["note"] = "There are no points to frame"
    return Outcome(answer, state)


def _box_of(call: Call, to: str, id: str | None) -> camera.Bounds | None:
    if id is None:
        raise wrong("fitView", "id", None, f"the id of a {to}")
    state = call.state
    if to == "cloud":
        if all(entry.id != id for entry in state.clouds):
            raise NotFound(f"There is no cloud {id!r} (listClouds lists them).")
        box: camera.Bounds | None = call.scene.cloud_bounds(id)
        return box
    if to == "finding":
        finding = state.findings.get(id)
        if finding is None:
            raise NotFound(f"There is no finding {id!r} (listFindings lists them).")
        return _around(call, finding.position, finding.position)
    measurement = state.measurements.get(id)
    if measurement is None:
        raise NotFound(f"There is no measurement {id!r} (listMeasurements lists them).")
    xs, ys, zs = zip(*measurement.points, strict=True)
    return _around(call, (min(xs), min(ys), min(zs)), (max(xs), max(ys), max(zs)))


def _around(call: Call, low: Vec3, high: Vec3) -> camera.Bounds:
    """A box with its surroundings: a hundredth of the scene, or a quarter of itself."""
    scene = call.scene.bounds(call.state) or (low, high)
    room = max(
        0.01 * max(b - a for a, b in zip(*scene, strict=True)),
        0.25 * max(b - a for a, b in zip(low, high, strict=True)),
    )
    return triple([v - room for v in low]), triple([v + room for v in high])


def _color(call: Call, args: Args) -> Outcome:
    state, name = call.state, args["mode"]
    ids = [entry.id for entry in state.clouds]
    if "cloud" in args and args["cloud"] not in ids:
        raise NotFound(f"There is no cloud {args['cloud']!r} (listClouds lists them).")
    asked = [args["cloud"]] if "cloud" in args else ids
    clouds = [cloud for id in asked if (cloud := call.scene.cloud(id)) is not None]
    if name not in attributes.OF_MODE:
        known = {d.name for cloud in clouds for d in cloud.info.dimensions} - {"X", "Y", "Z"}
        if name not in known:
            modes = ", ".join((*attributes.OF_MODE, *sorted(known)))
            raise wrong("setColorMode", "mode", name, f"one of {modes}")
    palette = args.get("palette")
    if palette is not None and palette not in palettes.PALETTES:
        raise wrong("setColorMode", "palette", palette, f"one of {', '.join(palettes.PALETTES)}")
    span = args.get("range")
    if span is not None and not span[0] < span[1]:
        raise wrong("setColorMode", "range", span, "[min, max] with min below max")
    mode = ColorMode(name, None if span is None else (float(span[0]), float(span[1])), palette)
    display = state.display
    if "cloud" in args:
        own = {**display.cloud_colors, args["cloud"]: mode}
        display = replace(display, cloud_colors=MappingProxyType(own))
    else:
        display = replace(display, color=mode, cloud_colors=MappingProxyType({}))
    if "classColors" in args:
        named = {int(k): v for k, v in args["classColors"].items()}
        colors = {k: v for k, v in {**display.class_colors, **named}.items() if v is not None}
        display = replace(display, class_colors=MappingProxyType(colors))
    answer: dict[str, Any] = _mode_json(mode)
    if name == "rgb" and clouds and all(cloud.info.color_depth is None for cloud in clouds):
        answer["note"] = "These clouds have no colour of their own: height is shown"
    return Outcome(answer, replace(state, display=display))


def _size(call: Call, args: Args) -> Outcome:
    display = call.state.display
    display = replace(
        display,
        point_size=float(args.get("pixels", display.point_size)),
        adaptive=args.get("adaptive", display.adaptive),
    )
    answer = {"pixels": display.point_size, "adaptive": display.adaptive}
    return Outcome(answer, replace(call.state, display=display))


def _edl(call: Call, args: Args) -> Outcome:
    display = call.state.display
    display = replace(
        display,
        edl=args["enabled"],
        edl_strength=float(args.get("strength", display.edl_strength)),
        edl_radius=float(args.get("radius", display.edl_radius)),
    )
    answer = {
        "enabled": display.edl,
        "strength": display.edl_strength,
        "radius": display.edl_radius,
    }
    return Outcome(answer, replace(call.state, display=display))


def _classes(call: Call, args: Args) -> Outcome:
    named, hidden = frozenset(args["classes"]), call.state.hidden_classes
    if args.get("only"):
        hidden = ALL_CLASSES - named if args["visible"] else named
    elif args["visible"]:
        hidden -= named
    else:
        hidden |= named
    state = replace(call.state, hidden_classes=hidden)
    return Outcome({"hiddenClasses": sorted(hidden)}, state)


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
        run=_get,
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
        run=_camera,
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
        run=_fit,
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
                            "type": ["string", "null"],
                            "pattern": COLOR_PATTERN,
                            "x-like": "#rrggbb",
                        }
                    },
                    "additionalProperties": False,
                    "maxProperties": 256,
                    "description": "Own colours of classes: number → #rrggbb, null = its default.",
                },
                "cloud": CLOUD,
            },
            "mode",
        ),
        example={"mode": "elevation", "range": [400, 600]},
        idempotent=True,
        run=_color,
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
        run=_size,
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
        run=_edl,
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
        run=_classes,
    ),
)
