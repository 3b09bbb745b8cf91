"""Snapping: a measurement stands on exact points of the source that can be seen.

A place moves to the nearest seen point in space: never one that is hidden, deleted, clipped, of
a class that is not shown or of a cloud that is not. (On the screen the point in front wins; a
click gives its exact coordinates, which snap to themselves.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from oniyanma.clouds.model import Vec3
from oniyanma.scene.picking import Pick
from oniyanma.scene.ports import SceneView
from oniyanma.scene.sample import nothing, seen
from oniyanma.scene.units import MeasureError

REACH = 4.0  # spacings of the resident points around the one that was found

Nearest = Callable[[Vec3, float], Pick | None]
"""The visible point nearest to a place within a radius: `Scene.nearest`."""


def snap(
    view: SceneView,
    nearest: Nearest,
    places: Sequence[Sequence[float]],
    reach: float | None = None,
) -> tuple[list[Vec3], list[float]]:
    """Exact points for places, and how far each was moved.

    A place may be as far from its point as ``reach``; None: four times the spacing of the
    points there, as they are resident. MeasureError names the first one that is farther away.
    """
    points: list[Vec3] = []
    moved: list[float] = []
    for number, place in enumerate(places, 1):
        x, y, z = (float(v) for v in place)
        found = nearest((x, y, z), math.inf if reach is None else reach)
        limit = reach
        if found is not None and limit is None:
            limit = REACH * spacing_at(view, found)
        if found is None or limit is None or found.distance > limit:
            if found is None and next(iter(seen(view)), None) is None:
                raise MeasureError(f"There is nothing to measure: {nothing(view)}.")
            raise MeasureError(
                f"No visible point lies within {limit:.6g} of point {number} ({x:.3f}, {y:.3f}, "
                f"{z:.3f}); take a place on the points (queryPoint finds them)."
            )
        points.append(found.position)
        moved.append(found.distance)
    return points, moved


def spacing_at(view: SceneView, point: Pick) -> float:
    """The finest spacing of the resident nodes around a point, in world units."""
    around = [
        node.spacing
        for node in view.resident()
        if node.id.cloud == point.node.cloud
        and (node.box[0] <= point.integers).all()
        and (node.box[1] >= point.integers).all()
    ]
    return min(around, default=0.0)
