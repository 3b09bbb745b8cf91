"""Measurements that are kept."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import (
    MEASURING,
    READ,
    arguments,
    choice,
    text,
    world_points,
)
from oniyanma.registry import Command, not_ready

COMMANDS: Final = (
    Command(
        name="listMeasurements",
        title="List measurements",
        group=READ,
        description="The measurements: id, kind, points, value and unit.",
        input_schema=arguments(),
        example={},
        readonly=True,
        run=not_ready,
    ),
    Command(
        name="addMeasurement",
        title="Measure",
        group=MEASURING,
        description="Measures and keeps it. The points snap to the nearest visible source points.",
        input_schema=arguments(
            {
                "kind": choice(
                    "What to measure.",
                    ("point", "distance", "height", "angle", "area", "volume", "profile"),
                ),
                "points": world_points("World points [[x, y, z], …]."),
                "name": text("A name for it."),
                "reference": {
                    "anyOf": [
                        {"type": "string", "enum": ["lowest", "plane"]},
                        {"type": "number", "x-unbounded": True},
                    ],
                    "x-unit": "CRS unit",
                    "description": "Volume: against the lowest point, the plane through the "
                    "corners, or a Z.",
                },
            },
            "kind",
            "points",
        ),
        example={"kind": "distance", "points": [[0, 0, 0], [3, 4, 0]]},
        conditions=("has_cloud", "writable"),
        run=not_ready,
    ),
    Command(
        name="deleteMeasurement",
        title="Delete measurement",
        group=MEASURING,
        description="Removes a measurement. Undo brings it back.",
        input_schema=arguments({"id": text("Measurement id from listMeasurements.")}, "id"),
        example={"id": "m1"},
        conditions=("writable",),
        run=not_ready,
    ),
)
