"""Snapping: a measurement stands on exact points of the source that can be seen.

A place moves to the nearest seen point in space: never one that is hidden, deleted, clipped, of
a class that is not shown or of a cloud that is not. (On the screen the point in front wins; a
click gives its exact coordinates, which snap to themselves.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oniyanma.clouds.model import Vec3
from oniyanma.scene.picking import Pick
from oniyanma.scene.ports import SceneView
from oniyanma.scene.sample import nothing, seen
from oniyanma.scene.units import MeasureError

REACH = 4.0  # spacings of the coarsest node that is seen


Nearest = Callable[[Vec3, float], Pick | None]
"""The visible point nearest to a place within a radius: `Scene.nearest`."""


def default_reach(view: SceneView) -> float:
    """How far a place may be from a point: four spacings of the coarsest resident node."""
    return REACH * max((node.spacing for node in view.resident()), default=0.0)


def snap(
    view: SceneView,
    nearest: Nearest,
    places: Sequence[Sequence[float]],
    reach: float | None = None,
) -> tuple[list[Vec3], list[float]]:
    """Exact points for places, and how far each was moved.

    MeasureError names the first place with no seen point within ``reach`` (None: the default).
    """
    limit = default_reach(view) if reach is None else reach
    points: list[Vec3] = []
    moved: list[float] = []
    for number, place in enumerate(places, 1):
        x, y, z = (float(v) for v in place)
        found = nearest((x, y, z), limit)
        if found is None:
            if next(iter(seen(view)), None) is None:
                raise MeasureError(f"There is nothing to measure: {nothing(view)}.")
            raise MeasureError(
                f"No visible point lies within {limit:.6g} of point {number} ({x:.3f}, {y:.3f}, "
                f"{z:.3f}); take a place on the points (queryPoint finds them)."
            )
        points.append(found.position)
        moved.append(found.distance)
    return points, moved
