"""Taking measurements: places snap to points, numbers are worked out, the record is kept.

Volumes and sections also look at the points between the corners: at the resident ones that can
be seen (``basis`` "resident"), or at every point of the source (a `Scan`, ``basis`` "full").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import Vec3
from oniyanma.registry.actor import Actor
from oniyanma.registry.jobs import JobContext
from oniyanma.scene import history
from oniyanma.scene.fullscan import Scan
from oniyanma.scene.measure import as_vec3, checked_points, measure, slope
from oniyanma.scene.ports import SceneView
from oniyanma.scene.records import RecordError, next_id
from oniyanma.scene.sample import nothing, scene_frame, seen, shown_clouds
from oniyanma.scene.section import Section, SectionBins
from oniyanma.scene.snap import Nearest, snap
from oniyanma.scene.state import Change, Measurement, SceneState
from oniyanma.scene.units import Frame, MeasureError
from oniyanma.scene.volume import SurfaceGrid, checked_polygon, default_cell, volume

Floats = npt.NDArray[np.float64]
Blocks = Callable[[Floats, Floats], Iterable[Floats]]
PROFILE_WIDTH = 0.01  # of the length of the line


@dataclass(frozen=True)
class Wanted:
    """A measurement asked for, snapped and checked: all that a worker needs to go on."""

    kind: str
    points: tuple[Vec3, ...]
    moved: tuple[float, ...]
    frame: Frame
    reference: str | float = "lowest"
    cell: float | None = None
    width: float | None = None


def wanted(
    view: SceneView,
    nearest: Nearest,
    kind: str,
    places: Sequence[Sequence[float]],
    *,
    reference: str | float = "lowest",
    cell: float | None = None,
    width: float | None = None,
) -> Wanted:
    """Snap and check; MeasureError says what can't be measured and why."""
    frame = scene_frame(view)
    if frame is None:
        raise MeasureError(f"There is nothing to measure: {nothing(view)}.")
    checked_points(kind, places)
    if kind in ("volume", "profile"):
        frame.refuse_degrees("A volume" if kind == "volume" else "A section")
    snapped, moved = snap(view, nearest, places)
    if kind in ("area", "volume", "profile"):
        snapped, moved = _without_repeats(snapped, moved)
    array = checked_points(kind, snapped)
    if kind == "volume":
        array = checked_polygon(array, frame)
    return Wanted(kind, as_vec3(array), tuple(moved), frame, reference, cell, width)


def _without_repeats(points: list[Vec3], moved: list[float]) -> tuple[list[Vec3], list[float]]:
    """Corners that snapped to the same point as the one before are one corner."""
    kept = [i for i, p in enumerate(points) if i == 0 or p != points[i - 1]]
    return [points[i] for i in kept], [moved[i] for i in kept]


def looks_between(kind: str) -> bool:
    """Whether the points between the corners matter, so that ``full`` means something."""
    return kind in ("volume", "profile")


def values_of(want: Wanted, blocks: Blocks | None, points: int, basis: str) -> dict[str, Any]:
    """The numbers. ``blocks(low, high)`` gives world points (n, 3) of a plan rectangle;
    ``points`` is about how many there are (for the default cell of a volume)."""
    array = np.asarray(want.points, dtype=np.float64)
    if want.kind == "volume":
        assert blocks is not None
        values = _volume(want, array, blocks, points) | {"basis": basis}
    elif want.kind == "profile":
        assert blocks is not None
        values = _profile(want, array, blocks) | {"basis": basis}
    else:
        values = measure(want.kind, array, want.frame) | {"basis": "source points"}
    values["snapped"] = max(want.moved, default=0.0)
    return values


def _volume(want: Wanted, polygon: Floats, blocks: Blocks, points: int) -> dict[str, Any]:
    cell = want.cell if want.cell is not None else default_cell(polygon, points)
    grid = SurfaceGrid(polygon, cell)
    for xyz in blocks(polygon[:, :2].min(axis=0), polygon[:, :2].max(axis=0)):
        grid.add(xyz)
    return volume(grid, want.reference, want.frame)


def _profile(want: Wanted, line: Floats, blocks: Blocks) -> dict[str, Any]:
    frame = want.frame
    length = float(np.hypot(*np.diff(line[:, :2], axis=0).T).sum())
    width = want.width if want.width is not None else max(length * PROFILE_WIDTH, 1e-9)
    section = Section(line, width, frame)
    bins = SectionBins(section, 1)
    for xyz in blocks(*section.bounds()):
        index, station, _ = section.locate(xyz[:, :2])
        bins.add(station, xyz[index, 2])
    rise = float(line[-1, 2] - line[0, 2])
    straight = float(np.hypot(*(line[-1, :2] - line[0, :2])))
    answer = frame.length(section.length) | frame.height(rise, "rise")
    answer |= slope(straight, rise * frame.z_factor)
    answer |= frame.length(width, "width") | {"points": bins.points}
    answer |= {f"{key}Z": value for key, value in bins.totals().items()}
    answer["verticalUnit"] = frame.vertical.name
    return answer


def resident_blocks(view: SceneView) -> Blocks:
    """Seen resident points of a plan rectangle, node by node."""

    def blocks(low: Floats, high: Floats) -> Iterator[Floats]:
        for one in seen(view):
            a, b = one.bounds()
            if (a[:2] <= high).all() and (b[:2] >= low).all():
                yield one.xyz()

    return blocks


def resident_inside(view: SceneView, want: Wanted) -> int:
    """About how many seen resident points lie inside the outline of a volume."""
    array = np.asarray(want.points, dtype=np.float64)
    low, high = array[:, :2].min(axis=0), array[:, :2].max(axis=0)
    grid = SurfaceGrid(array, float((high - low).max()))
    for xyz in resident_blocks(view)(low, high):
        grid.add(xyz)
    return grid.points


def full_inside(view: SceneView, want: Wanted) -> int:
    """About how many points of the sources lie inside it, by their headers' mean density."""
    array = np.asarray(want.points, dtype=np.float64)
    size = np.ptp(array[:, :2], axis=0)
    total = 0.0
    for info in shown_clouds(view).values():
        if info.bounds_min is None or info.bounds_max is None:
            continue
        extent = np.subtract(info.bounds_max, info.bounds_min)[:2]
        total += info.points * float(np.prod(size)) / max(float(np.prod(extent)), 1e-12)
    return max(1, round(total))


def scan_blocks(scan: Scan, job: JobContext) -> Blocks:
    """Points of a plan rectangle, read from the sources."""
    return lambda low, high: scan.points(job, low, high)


def keep(
    state: SceneState, actor: Actor, time: str, want: Wanted, values: dict[str, Any], name: str
) -> tuple[SceneState, Measurement]:
    """Record it; a step of undo."""
    id = next_id(state, "measurements", "m")
    name = name or f"{want.kind.capitalize()} {id[1:]}"
    one = Measurement(id, want.kind, want.points, name, values, actor, time)
    change = Change("measurements", id, None, one)
    state = history.append_step(
        state,
        command="addMeasurement",
        title=f"measure {want.kind} “{name}”",
        actor=actor,
        time=time,
        changes=[change],
    )
    return state, one


def remove(state: SceneState, actor: Actor, time: str, id: str) -> tuple[SceneState, Measurement]:
    """Take it out; a step of undo. RecordError where there is none of that id."""
    one = state.measurements.get(id)
    if one is None:
        known = ", ".join(list(state.measurements)[:10]) or "none yet"
        raise RecordError(f"There is no measurement {id!r}; there are: {known}.", missing=True)
    change = Change("measurements", id, one, None)
    state = history.append_step(
        state,
        command="deleteMeasurement",
        title=f"delete measurement “{one.name}”",
        actor=actor,
        time=time,
        changes=[change],
    )
    return state, one
