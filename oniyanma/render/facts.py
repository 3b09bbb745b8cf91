"""What a picture's pixels are in the world: camera, scale, and a world file where one fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from oniyanma.scene.overlays import lens, scene_unit
from oniyanma.scene.ports import SceneView
from oniyanma.scene.sample import open_clouds


def world_facts(view: SceneView, viewport: tuple[int, int]) -> dict[str, Any]:
    """Facts for a picture of one pixel a logical pixel.

    ``worldFile``: the six numbers of an ESRI world file (A, D, B, E, C, F: world per pixel to
    the right and down, then the centre of the top left pixel) where the view is orthographic and
    looks straight down; else None. ``unitsPerPixel``: height of a pixel at the target in view
    units (``unit``).
    """
    camera, clouds = view.state.camera, open_clouds(view)
    matrices = lens(view, viewport)
    _, depth = matrices.project([camera.target])
    facts: dict[str, Any] = {
        "camera": {
            "eye": list(camera.eye),
            "target": list(camera.target),
            "up": list(camera.up),
            "projection": camera.projection,
            "fov": camera.fov,
        },
        "unitsPerPixel": matrices.units_per_pixel(max(float(depth[0]), 0.0)),
        "unit": scene_unit(view).name,
        "crs": clouds[0][1].crs.name if clouds else "unknown",
        "worldFile": None,
    }
    forward = matrices.rotation[2, :3] / np.linalg.norm(matrices.rotation[2, :3])
    if not matrices.perspective and abs(forward[2] - 1.0) < 1e-12:
        corner = matrices.unproject(0.5, 0.5, 0.0)
        right = np.subtract(matrices.unproject(1.5, 0.5, 0.0), corner)
        down = np.subtract(matrices.unproject(0.5, 1.5, 0.0), corner)
        numbers = (right[0], right[1], down[0], down[1], corner[0], corner[1])
        facts["worldFile"] = [float(value) for value in numbers]
    return facts
