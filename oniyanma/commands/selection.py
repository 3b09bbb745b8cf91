"""Selecting points by rules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

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
from oniyanma.registry import Args, Call, Command, InvalidArguments, Outcome, Refused, Work
from oniyanma.rules.model import Box, Mode, Polygon, Prism, Range, Region, Shape, Vec3, Where
from oniyanma.scene import selection
from oniyanma.scene.camera import as_vec3
from oniyanma.scene.classes import class_name
from oniyanma.scene.program import attributes_of
from oniyanma.scene.state import SceneState


def _get(call: Call, args: Args) -> Outcome:
    return Outcome(selection_json(call, call.state))


def _box(call: Call, args: Args) -> Outcome:
    low, high = args["min"], args["max"]
    for axis, name in enumerate("xyz"):
        if low[axis] > high[axis]:
            raise wrong("selectBox", f"min.{axis}", low[axis], f"at most max's {name} {high[axis]}")
    box = Box(triple(low), triple(high), float(args.get("rotation", 0.0)))
    return _join(call, box, args["mode"])


def _polygon(call: Call, args: Args) -> Outcome:
    points = tuple((float(x), float(y)) for x, y in args["points"])
    z = span_of("selectPolygon", "zRange", args.get("zRange"))
    if args["space"] == "world":
        return _join(call, Polygon(points, z), args["mode"])
    lens = call.scene.lens(call.state)
    matrix = tuple(float(v) for v in lens.relative.ravel())
    prism = Prism(points, matrix, as_vec3(lens.eye), lens.viewport)
    if z == (None, None):
        return _join(call, prism, args["mode"])
    pieces = (Region(prism), Region(Where(elevation=z), "intersect"))
    return _join(call, replace(selection.filters(call.state), regions=pieces), args["mode"])


def _where(call: Call, args: Args) -> Outcome | Work[Any]:
    conditions = {name: value for name, value in args.items() if name != "mode"}
    if not conditions:
        raise wrong(
            "selectWhere",
            "",
            None,
            "at least one of classes, elevation, intensity, returns, gpsTime, sources, attribute",
        )

    def span(name: str) -> Range | None:
        return span_of("selectWhere", name, args[name]) if name in args else None

    attribute: tuple[str, Range] | None = None
    if (given := args.get("attribute")) is not None:
        known = _dimensions(call)
        if given["name"] not in known:
            raise wrong("selectWhere", "attribute.name", given["name"], f"one of {sorted(known)}")
        limits = span_of("selectWhere", "attribute.range", given["range"])
        attribute = given["name"], limits
    shape = Where(
        classes=frozenset(args["classes"]) if "classes" in args else None,
        elevation=span("elevation"),
        intensity=span("intensity"),
        returns=span("returns"),
        gps_time=span("gpsTime"),
        sources=frozenset(args["sources"]) if "sources" in args else None,
        attribute=attribute,
    )
    mode = args["mode"]
    arrival = call.scene.bring(attributes_of(shape), at_once=call.is_step)
    if arrival is None:
        return _join(call, shape, mode)
    return Work(lambda job: arrival.wait(job.check), lambda later, _: _join(later, shape, mode))


def _invert(call: Call, args: Args) -> Outcome:
    return _selected(call, selection.inverted(call.state))


def _clear(call: Call, args: Args) -> Outcome:
    if call.state.selection.rule is None:
        return Outcome({"points": 0, "basis": "resident", "note": "Nothing was selected"})
    return Outcome({"points": 0, "basis": "resident"}, selection.cleared(call.state))


def _join(call: Call, shape: Shape, mode: Mode) -> Outcome:
    try:
        return _selected(call, selection.joined(call.state, shape, mode))
    except selection.SelectionTooDeep as error:
        raise Refused(str(error)) from error


def _selected(call: Call, state: SceneState) -> Outcome:
    """The count of a new selection; its bounds and classes are asked for with getSelection."""
    tally = call.scene.tally(state)
    answer: dict[str, Any] = {
        "points": tally.points,
        "regions": selection.region_count(state.selection.rule),
        "basis": "resident",
    }
    if (note := count_note(state, tally.points)) is not None:
        answer["note"] = note
    return Outcome(answer, state)


def selection_json(call: Call, state: SceneState) -> dict[str, Any]:
    """What is selected, as getSelection answers."""
    tally = call.scene.tally(state)
    extent = call.scene.extent(state) if tally.points else None
    answer: dict[str, Any] = {
        "points": tally.points,
        "regions": selection.region_count(state.selection.rule),
        "bounds": None if extent is None else {"min": list(extent[0]), "max": list(extent[1])},
        "classes": [
            {"class": number, "name": class_name(number), "points": count}
            for number, count in tally.by_class().items()
        ],
        "basis": "resident",
    }
    if (note := count_note(state, tally.points)) is not None:
        answer["note"] = note
    return answer


def count_note(state: SceneState, points: int) -> str | None:
    """Why a count is 0: nothing is selected, or what is selected hits nothing on screen."""
    if state.selection.rule is None:
        return "No selection (select something first)"
    if not state.clouds:
        return "No cloud is open (open one first)"
    if points == 0:
        return (
            "The selection hits no resident point that is visible; it may hit points that are "
            "not loaded: move closer or raise the point budget to see"
        )
    return None


def triple(values: Sequence[Any]) -> Vec3:
    x, y, z = values
    return float(x), float(y), float(z)


def span_of(command: str, name: str, given: Sequence[Any] | None) -> Range:
    """[min, max] with null for open; InvalidArguments where nothing can lie in it."""
    if given is None:
        return None, None
    low, high = (None if v is None else float(v) for v in given)
    if low is not None and high is not None and low > high:
        raise wrong(command, name, list(given), "[min, max] with min at most max, or null for open")
    return low, high


def wrong(command: str, path: str, given: Any, allowed: str) -> InvalidArguments:
    """An argument that the schema lets through and that still makes no sense."""
    place = "$" + re.sub(r"\.(\d+)", r"[\1]", f".{path}" if path else "")
    problem: Mapping[str, Any] = {"path": place, "given": given, "allowed": allowed}
    what = f"{path} must be" if path else "give"
    return InvalidArguments(f"{command}: {what} {allowed}.", problems=[problem])


def _dimensions(call: Call) -> set[str]:
    """Names of the attributes that points of the open clouds have."""
    found: set[str] = set()
    for entry in call.state.clouds:
        cloud = call.scene.cloud(entry.id)
        if cloud is not None:
            found |= {d.name for d in cloud.info.dimensions} | set(cloud.names)
    return found - {"X", "Y", "Z", "x", "y", "z"}


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
        run=_get,
    ),
    Command(
        name="selectBox",
        title="Select box",
        group=CLIP,
        description="Selects the points in a world box, which may be turned about the vertical.",
        input_schema=arguments({**box_properties(), "mode": MODE}, "min", "max"),
        example={"min": [0, 0, 0], "max": [10, 10, 10]},
        conditions=("has_cloud",),
        run=_box,
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
        run=_polygon,
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
        run=_where,
    ),
    Command(
        name="invertSelection",
        title="Invert selection",
        group=CLIP,
        description="Selects what is not selected, and no longer what is.",
        input_schema=arguments(),
        example={},
        conditions=("has_cloud",),
        run=_invert,
    ),
    Command(
        name="clearSelection",
        title="Clear selection",
        group=CLIP,
        description="Selects nothing.",
        input_schema=arguments(),
        example={},
        idempotent=True,
        run=_clear,
    ),
)
