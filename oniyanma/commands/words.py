"""Records as the answers' JSON."""

from __future__ import annotations

from typing import Any

from oniyanma.registry.log import actor_json
from oniyanma.scene.state import Batch, Bookmark, Finding, Measurement


def measurement_json(one: Measurement) -> dict[str, Any]:
    """id, kind, name, points, and the values as `oniyanma.scene.measure` names them."""
    return {
        "id": one.id,
        "kind": one.kind,
        "name": one.name,
        "points": [list(p) for p in one.points],
        "author": actor_json(one.author),
        "time": one.time,
        **one.values,
    }


def finding_json(one: Finding) -> dict[str, Any]:
    return {
        "id": one.id,
        "title": one.title,
        "note": one.note,
        "severity": one.severity,
        "position": list(one.position),
        "status": one.status,
        "author": actor_json(one.author),
        "time": one.time,
        "hasRegion": one.region is not None,
        "history": [
            {
                "what": event.what,
                "actor": actor_json(event.actor),
                "time": event.time,
                **({"note": event.note} if event.note else {}),
            }
            for event in one.history
        ],
    }


def batch_json(one: Batch) -> dict[str, Any]:
    accepted = None if one.accepted_by is None else actor_json(one.accepted_by)
    return {
        "id": one.id,
        "title": one.title,
        "state": one.state,
        "author": actor_json(one.author),
        "time": one.time,
        "acceptedBy": accepted,
        "step": one.step,
    }


def bookmark_json(one: Bookmark) -> dict[str, Any]:
    camera = one.camera
    return {
        "name": one.name,
        "eye": list(camera.eye),
        "target": list(camera.target),
        "up": list(camera.up),
        "projection": camera.projection,
        "fieldOfView": camera.fov,
        "time": one.time,
        "hasThumbnail": bool(one.thumbnail),
    }
