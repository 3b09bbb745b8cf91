"""What an edit of the log hit, as places: for showing it, whatever became of the points since."""

from __future__ import annotations

import numpy as np

from oniyanma.rules.evaluate import decide
from oniyanma.scene.camera import Array
from oniyanma.scene.scene import Scene


def places_of_step(scene: Scene, seq: int, most: int = 20_000) -> Array:
    """World coordinates (n, 3) of about ``most`` resident points that a step's edits hit.

    Empty for a step that is unknown, changed no point, or hit none that is resident.
    """
    edits = [e for event in scene.shown.events if event.seq == seq for e in event.edits]
    found = []
    for held in scene.resident.held():
        points = held.block.points
        for edit in edits:
            hit = decide(edit.rule, points)
            if hit is False:
                continue
            chosen = np.arange(len(points)) if hit is True else np.flatnonzero(hit)
            if len(chosen):
                found.append(np.stack([points.axis(axis, chosen) for axis in range(3)], axis=1))
    if not found:
        return np.zeros((0, 3))
    places = np.concatenate(found)
    step = -(-len(places) // most)
    return places[::step]
