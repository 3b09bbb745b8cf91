"""Opening, closing, listing and showing clouds."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import (
    CLOUD,
    FILES,
    READ,
    VIEW,
    arguments,
    flag,
    path,
    text,
    whole,
)
from oniyanma.registry import Command, not_ready

COMMANDS: Final = (
    Command(
        name="listClouds",
        title="List clouds",
        group=READ,
        description="Lists the open clouds: id, name, path or URL, format, points, bounds, crs, "
        "unit, visible and state (indexing with progress, ready, failed with the reason).",
        input_schema=arguments(),
        example={},
        readonly=True,
        cached=False,
        run=not_ready,
    ),
    Command(
        name="getCloudInfo",
        title="Cloud information",
        group=READ,
        description="Header facts of a cloud: version, point format, dimensions with types, "
        "scales, offsets, counts by return, GPS time kind, CRS (name, EPSG, WKT), generating "
        "software, creation date, VLR list, and every warning found on opening.",
        input_schema=arguments({"cloud": CLOUD}),
        example={},
        conditions=("has_cloud",),
        readonly=True,
        cached=False,
        run=not_ready,
    ),
    Command(
        name="openCloud",
        title="Open cloud…",
        group=FILES,
        description="Opens a point cloud: a file, a folder, a glob of tiles, or the http(s) URL "
        "of a COPC. A long command with progress; answers the cloud's id and warnings.",
        input_schema=arguments(
            {
                "path": path("File, folder, glob, or http(s) URL of a COPC.", "read"),
                "append": flag(
                    "true: keep the clouds that are open; false: close them first.", default=True
                ),
            },
            "path",
        ),
        example={"path": "survey/site.laz"},
        run=not_ready,
    ),
    Command(
        name="closeCloud",
        title="Close cloud",
        group=FILES,
        description="Closes a cloud. Its edits stay in the project.",
        input_schema=arguments({"cloud": text("Cloud id from listClouds.")}, "cloud"),
        example={"cloud": "c1"},
        run=not_ready,
    ),
    Command(
        name="setPointBudget",
        title="Point budget",
        group=VIEW,
        description="Sets how many points may be resident (in the sample for the current view).",
        input_schema=arguments(
            {
                "points": whole(
                    "Most resident points.", 100_000, 200_000_000, **{"x-unit": "points"}
                )
            },
            "points",
        ),
        example={"points": 5_000_000},
        idempotent=True,
        run=not_ready,
    ),
    Command(
        name="setCloudVisibility",
        title="Show or hide cloud",
        group=VIEW,
        description="Shows or hides a cloud. Hidden clouds are not drawn, selected or counted.",
        input_schema=arguments(
            {
                "cloud": text("Cloud id from listClouds."),
                "visible": flag("true: show it, false: hide it."),
            },
            "cloud",
            "visible",
        ),
        example={"cloud": "c1", "visible": False},
        idempotent=True,
        run=not_ready,
    ),
)
