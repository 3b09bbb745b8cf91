"""Snapping: a measurement stands on exact points of the source that can be seen.

A place moves to the nearest seen point in space: never one that is hidden, deleted, clipped, of
a class that is not shown or of a cloud that is not. (On the screen the point in front wins; a
click gives its exact coordinates, which snap to themselves.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oniyanma.clouds.model import Vec3
from oniyanma.scene.ports import SceneView
from oniyanma.scene.sample import nearest, nothing, seen
from oniyanma.scene.units import MeasureError

REACH = 4.0  # spacings of the coarsest node that is seen


def default_reach(view: SceneView) -> float:
    """How far a place may be from a point: four spacings of the coarsest seen node."""
    return REACH * max((one.node.spacing for one in seen(view)), default=0.0)


def snap(
    view: SceneView, places: Sequence[Sequence[float]], reach: float | None = None
) -> tuple[list[Vec3], list[float]]:
    """Exact points for places, and how far each was moved.

    MeasureError names the first place with no seen point within ``reach`` (None: the default).
    """
    limit = default_reach(view) if reach is None else reach
    points: list[Vec3] = []
    moved: list[float] = []
    for number, place in enumerate(places, 1):
        x, y, z = (float(v) for v in place)
        if not np.isfinite([x, y, z]).all():
            raise MeasureError(f"Point {number} is not finite.")
        found = nearest(view, (x, y, z), limit)
        if found is None:
            if next(iter(seen(view)), None) is None:
                raise MeasureError(f"There is nothing to measure: {nothing(view)}.")
            raise MeasureError(
                f"No visible point lies within {limit:.6g} of point {number} ({x:.3f}, {y:.3f}, "
                f"{z:.3f}); take a place on the points (queryPoint finds them)."
            )
        one, index, distance = found
        points.append(exact(one.node.xyz[index], one.info.scale, one.info.offset))
        moved.append(distance)
    return points, moved


def exact(raw: Sequence[int], scale: Vec3, offset: Vec3) -> Vec3:
    """World coordinates of LAS integers: X·scale + offset in float64 and nothing else."""
    x, y, z = (int(raw[i]) * scale[i] + offset[i] for i in range(3))
    return (x, y, z)
