"""Questions about the points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from oniyanma.clouds.model import NodeId
from oniyanma.commands.arguments import (
    CLOUD,
    FULL,
    READ,
    arguments,
    coordinate,
    plan_points,
    positive,
    span,
    text,
    whole,
)
from oniyanma.commands.refusals import refusing
from oniyanma.commands.scans import node_reader, scan_of
from oniyanma.registry import Args, Call, Command, InvalidArguments, JobContext, Outcome, Work
from oniyanma.scene import queries, sample
from oniyanma.scene.picking import REACH
from oniyanma.scene.section import Section, SectionBins
from oniyanma.scene.units import Frame


def _elevation(call: Call, args: Args) -> Outcome:
    with refusing():
        sample.known_cloud(call.state, args.get("cloud"))
    return Outcome(queries.elevation(call.scene.view, args.get("bins", 16), args.get("cloud")))


def _classes(call: Call, args: Args) -> Outcome:
    with refusing():
        sample.known_cloud(call.state, args.get("cloud"))
    return Outcome(queries.classes(call.scene.view, args.get("cloud")))


def _histogram(call: Call, args: Args) -> Outcome | Work[dict[NodeId, Any]]:
    """At once where the attribute is resident; else its nodes are read again (a job)."""
    view, name, cloud = call.scene.view, args["attribute"], args.get("cloud")
    low, high = args.get("range", (None, None))
    bins = args.get("bins", 16)
    with refusing():
        sample.known_cloud(call.state, cloud)
        key = queries.checked_attribute(view, name, cloud)
        missing = queries.not_resident(view, key, cloud)
        if not missing:
            return Outcome(queries.histogram(view, name, bins, (low, high), cloud, {}))
    read = node_reader(call)

    def run(job: JobContext) -> dict[NodeId, Any]:
        found: dict[NodeId, Any] = {}
        for number, id in enumerate(missing):
            job.check()
            job.progress(number / len(missing), f"reading {name}")
            found[id] = read(id, frozenset({key})).get(key)
        return found

    def finish(later: Call, found: dict[NodeId, Any]) -> Outcome:
        with refusing():
            view = later.scene.view
            return Outcome(queries.histogram(view, name, bins, (low, high), cloud, found))

    return Work(run, finish)


def _point(call: Call, args: Args) -> Outcome:
    """The node of the point is read again for its attributes that are not resident."""
    view, reader = call.scene.view, node_reader(call)
    world = [float(args[key]) for key in ("x", "y", "z") if key in args]
    screen = [float(args[key]) for key in ("px", "py") if key in args]

    def read(one: sample.Seen) -> Mapping[str, Any]:
        return {**reader(one.node.id, None), **one.node.attributes}

    if len(screen) == 2 and not world:
        found = call.scene.pick(*screen, reach=args.get("radius", REACH))
        return Outcome(queries.picked(view, found, read, "No point there"))
    if len(world) == 3 and not screen:
        x, y, z = world
        radius = args.get("radius", math.inf)
        found = call.scene.nearest((x, y, z), radius)
        return Outcome(queries.picked(view, found, read, f"No point within {radius:g} of there"))
    raise InvalidArguments(
        "queryPoint: give x, y and z, or px and py.",
        problems=[{"path": "$", "given": sorted(args), "allowed": "x, y, z or px, py"}],
    )


def _profile(call: Call, args: Args) -> Outcome | Work[SectionBins]:
    view, width, bins = call.scene.view, args["width"], args.get("bins", 100)
    frame = sample.scene_frame(view)
    if frame is None:
        return Outcome(_empty_profile(width, sample.nothing(view)))
    with refusing():
        line = np.array([[x, y, 0.0] for x, y in args["points"]])
        section = Section(line, width, frame)
    filled = SectionBins(section, bins)
    if not args.get("full"):
        points = queries.fill_section(view, filled, args.get("limit", 10_000))
        answer = _profile_answer(filled, frame, "resident") | points
        if not filled.points:
            here = next(iter(sample.seen(view)), None)
            answer["note"] = sample.nothing(view) if here is None else _BESIDE
        return Outcome(answer)
    scan = scan_of(call)

    def run(job: JobContext) -> SectionBins:
        for xyz in scan.points(job, *section.bounds()):
            index, station, _ = section.locate(xyz[:, :2])
            filled.add(station, xyz[index, 2])
        return filled

    def finish(later: Call, done: SectionBins) -> Outcome:
        note = {} if done.points else {"note": _BESIDE}
        return Outcome(_profile_answer(done, frame, "full") | note)

    return Work(run, finish)


_BESIDE: Final = "No visible point lies beside this line (a wider section takes more)"


def _empty_profile(width: float, note: str) -> dict[str, Any]:
    return {"stations": [], "points": 0, "width": width, "basis": "resident", "note": note}


def _profile_answer(filled: SectionBins, frame: Frame, basis: str) -> dict[str, Any]:
    return {
        "stations": filled.rows(),
        **filled.totals(),
        **frame.length(filled.section.length, "length"),
        "width": filled.section.width,
        "points": filled.points,
        "unit": frame.horizontal.name,
        "verticalUnit": frame.vertical.name,
        "basis": basis,
    }


def _density(call: Call, args: Args) -> Outcome | Work[dict[str, Any]]:
    view, cloud, cell = call.scene.view, args.get("cloud"), args.get("cell")
    with refusing():
        sample.known_cloud(call.state, cloud)
        frame = sample.scene_frame(view)
        shown = sample.shown_clouds(view, cloud)
        if frame is None or not shown:
            note = sample.nothing(view, cloud)
            return Outcome({"points": 0, "mean": None, "basis": "resident", "note": note})
        if not args.get("full"):
            return Outcome(queries.density(view, frame, cloud, cell))
        grid = queries.full_grid(list(shown.values()), frame, cell)
        scan = scan_of(call, cloud)

    def run(job: JobContext) -> dict[str, Any]:
        for xyz in scan.points(job):
            grid.add(xyz[:, 0], xyz[:, 1])
        return grid.answer() | {"basis": "full"}

    return Work(run, lambda later, answer: Outcome(answer))


_BINS: Final = whole("Number of bins.", 2, 128, default=16)

COMMANDS: Final = (
    Command(
        name="queryElevation",
        title="Elevation distribution",
        group=READ,
        description="Get the elevation (real Z) distribution of the resident points: min, max, "
        'mean, count, bins[], with unit and basis "resident".',
        input_schema=arguments({"bins": _BINS, "cloud": CLOUD}),
        example={"bins": 16},
        conditions=("has_cloud",),
        readonly=True,
        run=_elevation,
    ),
    Command(
        name="queryClasses",
        title="Class counts",
        group=READ,
        description="Counts the resident points by class, with the ASPRS names.",
        input_schema=arguments({"cloud": CLOUD}),
        example={},
        conditions=("has_cloud",),
        readonly=True,
        run=_classes,
    ),
    Command(
        name="queryHistogram",
        title="Histogram",
        group=READ,
        description="The distribution of an attribute of the resident points: intensity, GPS "
        "time, returns, RGB or any extra dimension.",
        input_schema=arguments(
            {
                "attribute": text("Name of the dimension, as getCloudInfo lists it."),
                "bins": _BINS,
                "range": span("Only these values:"),
                "cloud": CLOUD,
            },
            "attribute",
        ),
        example={"attribute": "intensity", "bins": 32},
        conditions=("has_cloud",),
        readonly=True,
        run=_histogram,
    ),
    Command(
        name="queryPoint",
        title="Point at",
        group=READ,
        description="The point nearest to a place: exact source coordinates, every attribute, "
        "cloud id and distance. Give x, y and z, or px and py.",
        input_schema=arguments(
            {
                "x": coordinate("World X."),
                "y": coordinate("World Y."),
                "z": coordinate("World Z."),
                "px": coordinate("Screen X from the left.", "logical pixels"),
                "py": coordinate("Screen Y from the top.", "logical pixels"),
                "radius": positive(
                    "How far to look: in the world with x, y, z, on the screen with px, py.",
                    "CRS unit or logical pixels",
                ),
            }
        ),
        example={"px": 640, "py": 360},
        conditions=("has_cloud",),
        readonly=True,
        run=_point,
    ),
    Command(
        name="queryProfile",
        title="Section",
        group=READ,
        description="A section along a polyline: per station min, mean and max Z and count, and "
        "the resident points as station, offset, Z.",
        input_schema=arguments(
            {
                "points": plan_points("The polyline in plan [[x, y], …].", 2),
                "width": positive("Full width of the section.", "CRS unit"),
                "bins": whole("Number of stations.", 2, 10_000, default=100),
                "limit": whole(
                    "At most this many points as station, offset, Z, evenly picked; the rest is "
                    "counted.",
                    0,
                    200_000,
                    default=10_000,
                ),
                "full": FULL,
            },
            "points",
            "width",
        ),
        example={"points": [[0, 0], [100, 0]], "width": 2},
        conditions=("has_cloud",),
        readonly=True,
        run=_profile,
    ),
    Command(
        name="queryDensity",
        title="Point density",
        group=READ,
        description="Points per square metre: min, mean, max, 5th percentile, and mean spacing; "
        "from the full header where it can be, else from the resident points, and it says which.",
        input_schema=arguments(
            {
                "cell": positive("Side of a grid cell.", "CRS unit"),
                "cloud": CLOUD,
                "full": FULL,
            }
        ),
        example={"cell": 5},
        conditions=("has_cloud",),
        readonly=True,
        run=_density,
    ),
)
