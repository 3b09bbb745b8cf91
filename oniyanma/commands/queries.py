"""Questions about the points."""

from __future__ import annotations

from typing import Final

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
from oniyanma.registry import Command, not_ready

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
        run=not_ready,
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
        run=not_ready,
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
        run=not_ready,
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
        run=not_ready,
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
                "full": FULL,
            },
            "points",
            "width",
        ),
        example={"points": [[0, 0], [100, 0]], "width": 2},
        conditions=("has_cloud",),
        readonly=True,
        run=not_ready,
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
        run=not_ready,
    ),
)
