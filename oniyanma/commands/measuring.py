"""Measurements that are kept."""

from __future__ import annotations

from typing import Any, Final

from oniyanma.commands.arguments import (
    FULL,
    MEASURING,
    READ,
    arguments,
    choice,
    positive,
    text,
    world_points,
)
from oniyanma.commands.refusals import refusing
from oniyanma.commands.scans import scan_of
from oniyanma.commands.words import measurement_json
from oniyanma.registry import Args, Call, Command, JobContext, Outcome, Work
from oniyanma.scene import measuring
from oniyanma.scene.measure import KINDS


def _list(call: Call, args: Args) -> Outcome:
    rows = [measurement_json(one) for one in call.state.measurements.values()]
    note = {} if rows else {"note": "No measurements (addMeasurement takes one)"}
    return Outcome({"measurements": rows, "count": len(rows), **note})


def _add(call: Call, args: Args) -> Outcome | Work[dict[str, Any]]:
    view, kind = call.scene.view, args["kind"]
    with refusing():
        want = measuring.wanted(
            view,
            call.scene.nearest,
            kind,
            args["points"],
            reference=args.get("reference", "lowest"),
            cell=args.get("cell"),
            width=args.get("width"),
        )
        name = args.get("name", "")
        if not measuring.looks_between(kind):
            return _kept(call, want, measuring.values_of(want, None, 0, ""), name)
        if not args.get("full"):
            blocks = measuring.resident_blocks(view)
            inside = measuring.resident_inside(view, want) if kind == "volume" else 0
            return _kept(call, want, measuring.values_of(want, blocks, inside, "resident"), name)
        scan = scan_of(call)
        inside = measuring.full_inside(view, want)

    def run(job: JobContext) -> dict[str, Any]:
        with refusing():
            return measuring.values_of(want, measuring.scan_blocks(scan, job), inside, "full")

    return Work(run, lambda later, values: _kept(later, want, values, name))


def _kept(call: Call, want: measuring.Wanted, values: dict[str, Any], name: str) -> Outcome:
    state, one = measuring.keep(call.state, call.actor, call.now, want, values, name)
    return Outcome(measurement_json(one), state, {"measurements": 1})


def _delete(call: Call, args: Args) -> Outcome:
    with refusing():
        state, one = measuring.remove(call.state, call.actor, call.now, args["id"])
    return Outcome({"id": one.id, "name": one.name}, state, {"measurements": 1})


COMMANDS: Final = (
    Command(
        name="listMeasurements",
        title="List measurements",
        group=READ,
        description="The measurements: id, kind, points, value and unit.",
        input_schema=arguments(),
        example={},
        readonly=True,
        run=_list,
    ),
    Command(
        name="addMeasurement",
        title="Measure",
        group=MEASURING,
        description="Measures and keeps it. The points snap to the nearest visible source points; "
        "lengths come in the CRS unit and in metres, a volume as cut, fill and net.",
        input_schema=arguments(
            {
                "kind": choice(
                    "What to measure.",
                    KINDS,
                ),
                "points": world_points("World points [[x, y, z], …]."),
                "name": text("A name for it."),
                "reference": {
                    "anyOf": [
                        {"type": "string", "enum": ["lowest", "plane"]},
                        {"type": "number", "x-unbounded": True},
                    ],
                    "x-unit": "CRS unit",
                    "description": "Volume: against a level through the lowest corner, the plane "
                    "through the corners, or a Z.",
                    "default": "lowest",
                },
                "cell": positive(
                    "Volume: side of a grid cell; absent: one that holds four points on average.",
                    "CRS unit",
                ),
                "width": positive(
                    "Profile: full width of the section; absent: a hundredth of its length.",
                    "CRS unit",
                ),
                "full": FULL,
            },
            "kind",
            "points",
        ),
        example={"kind": "distance", "points": [[0, 0, 0], [3, 4, 0]]},
        conditions=("has_cloud", "writable"),
        run=_add,
    ),
    Command(
        name="deleteMeasurement",
        title="Delete measurement",
        group=MEASURING,
        description="Removes a measurement. Undo brings it back.",
        input_schema=arguments({"id": text("Measurement id from listMeasurements.")}, "id"),
        example={"id": "m1"},
        conditions=("writable",),
        run=_delete,
    ),
)
