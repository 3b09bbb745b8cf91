"""Gestures as pure functions: a camera and a movement give the next camera.

Whatever is thrown at them the camera stays finite, upright and at the cloud: after each gesture
`kept` holds the target inside the ball around the scene's bounds and the distance within
reach. Pixels are logical, origin top left; ``bounds`` are the visible clouds' world bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from oniyanma.clouds.model import Vec3
from oniyanma.scene.camera import (
    UNIT_SCALE,
    Array,
    Bounds,
    as_vec3,
    basis,
    fit,
    matrices,
    view_distance,
)
from oniyanma.scene.state import Camera

ORBIT_TURN = math.pi  # radians for a drag across the whole viewport's height
ZOOM_STEP = 1.15  # distance ratio of one wheel step
NEAREST = 1e-7  # smallest distance to the target, in radii of the scene
FARTHEST = 40.0
POLE = math.pi / 2


@dataclass(frozen=True)
class Ground:
    """What a gesture acts over: the viewport, the scene's bounds, the display scale."""

    viewport: tuple[int, int]
    bounds: Bounds | None = None
    scale: Vec3 = UNIT_SCALE

    def ball(self) -> tuple[Array, float]:
        """Centre and radius, in view units, of the ball around the bounds."""
        low, high = self.bounds if self.bounds is not None else ((0, 0, 0), (0, 0, 0))
        s = np.asarray(self.scale)
        a, b = np.asarray(low) * s, np.asarray(high) * s
        radius = float(np.linalg.norm(b - a)) / 2
        return (a + b) / 2, radius if radius > 0.0 else 1.0


def anchor(camera: Camera, ground: Ground, px: float, py: float) -> Vec3:
    """The point under the cursor where no cloud is: on the plane through the target."""
    m = matrices(camera, ground.viewport, ground.bounds, ground.scale)
    return m.unproject(px, py, view_distance(camera, ground.scale))


def orbit(camera: Camera, ground: Ground, pivot: Vec3, dx: float, dy: float) -> Camera:
    """Turn about a world point, which stays where it is on the screen.

    Turntable: sideways turns about Z, up and down tilts, and stops at the poles.
    """
    s = np.asarray(ground.scale)
    turn = ORBIT_TURN / max(1, ground.viewport[1])
    old = np.array(basis(camera, ground.scale))
    azimuth, elevation = _angles(*old)
    new, up = _turned(azimuth - dx * turn, elevation - dy * turn)
    spin = new.T @ old
    centre = np.asarray(pivot) * s
    distance = view_distance(camera, ground.scale)
    eye = centre + spin @ (np.asarray(camera.eye) * s - centre)
    return kept(_camera(camera, eye, eye + new[2] * distance, up, s), ground)


def pan(camera: Camera, ground: Ground, grabbed: Vec3, dx: float, dy: float) -> Camera:
    """Move the grabbed world point along with the cursor."""
    m = matrices(camera, ground.viewport, ground.bounds, ground.scale)
    _, depth = m.project(grabbed)
    near = 1e-3 * view_distance(camera, ground.scale)
    step = m.units_per_pixel(max(float(depth[0]), near))
    right, up, _ = basis(camera, ground.scale)
    return _moved(camera, ground, -right * (dx * step) + up * (dy * step))


def zoom(camera: Camera, ground: Ground, at: Vec3, steps: float) -> Camera:
    """Come closer to a world point (``steps`` > 0) or leave it; it stays on its pixel."""
    s = np.asarray(ground.scale)
    _, radius = ground.ball()
    distance = view_distance(camera, ground.scale)
    wanted = distance * ZOOM_STEP ** -max(-400.0, min(400.0, steps))
    factor = min(max(wanted, NEAREST * radius), FARTHEST * radius) / distance
    centre = np.asarray(at) * s
    eye, target = np.asarray(camera.eye) * s, np.asarray(camera.target) * s
    eye, target = centre + (eye - centre) * factor, centre + (target - centre) * factor
    return kept(_camera(camera, eye, target, np.asarray(camera.up), s), ground)


def look(camera: Camera, ground: Ground, dx: float, dy: float) -> Camera:
    """Turn the head: the eye stays, the view turns (flying)."""
    s = np.asarray(ground.scale)
    turn = math.radians(camera.fov) / max(1, ground.viewport[1])
    azimuth, elevation = _angles(*basis(camera, ground.scale))
    new, up = _turned(azimuth - dx * turn, elevation - dy * turn)
    eye = np.asarray(camera.eye) * s
    target = eye + new[2] * view_distance(camera, ground.scale)
    return kept(_camera(camera, eye, target, up, s), ground)


def fly(camera: Camera, ground: Ground, move: Vec3, seconds: float, boost: float = 1.0) -> Camera:
    """Move along right, forward and up (each -1..1), half a scene's radius a second at most.

    Closer to the target it is slower, so that steps stay small among small things.
    """
    _, radius = ground.ball()
    speed = min(max(view_distance(camera, ground.scale), 0.02 * radius), radius) * 0.5 * boost
    right, _, forward = basis(camera, ground.scale)
    way = right * move[0] + forward * move[1] + np.array((0.0, 0.0, move[2]))
    return _moved(camera, ground, way * (speed * max(0.0, min(seconds, 1.0))))


def kept(camera: Camera, ground: Ground) -> Camera:
    """The nearest camera that is finite, upright and not lost.

    Orbiting: the target is in the scene's ball. Flying: the eye is within `FARTHEST` radii.
    """
    values = (*camera.eye, *camera.target, *camera.up, camera.fov)
    if not all(map(math.isfinite, values)):
        return fit(Camera(projection=camera.projection, mode=camera.mode), *_frame(ground))
    s = np.asarray(ground.scale)
    centre, radius = ground.ball()
    _, up, forward = basis(camera, ground.scale)
    eye, target = np.asarray(camera.eye) * s, np.asarray(camera.target) * s
    distance = float(np.linalg.norm(target - eye))
    limited = min(max(distance, NEAREST * radius), FARTHEST * radius)
    if limited != distance:
        eye = target - forward * limited
    if camera.mode == "fly":
        away = eye - centre
        far = float(np.linalg.norm(away))
        if far > FARTHEST * radius:
            back = away * (FARTHEST * radius / far - 1.0)
            eye, target = eye + back, target + back
    elif float(np.linalg.norm(target - centre)) > radius * (1 + 1e-9):
        along = float(((centre - target) * forward).sum())
        if camera.projection == "orthographic":  # sliding along the view changes no pixel
            eye, target = eye + forward * along, target + forward * along
        elif limited + along > NEAREST * radius:
            target = target + forward * along
        away = target - centre
        far = float(np.linalg.norm(away))
        if far > radius:
            back = away * (radius / far - 1.0)
            eye, target = eye + back, target + back
    kept_up = up if abs(float(forward[2])) > 1.0 - 1e-12 else np.asarray(camera.up)
    return _camera(camera, eye, target, kept_up, s)


def _frame(ground: Ground) -> tuple[Bounds | None, tuple[int, int], Vec3]:
    return ground.bounds, ground.viewport, ground.scale


def _moved(camera: Camera, ground: Ground, way: Array) -> Camera:
    s = np.asarray(ground.scale)
    eye, target = np.asarray(camera.eye) * s + way, np.asarray(camera.target) * s + way
    return kept(_camera(camera, eye, target, np.asarray(camera.up), s), ground)


def _camera(camera: Camera, eye: Array, target: Array, up: Array, scale: Array) -> Camera:
    return replace(camera, eye=as_vec3(eye / scale), target=as_vec3(target / scale), up=as_vec3(up))


def _angles(right: Array, _: Array, forward: Array) -> tuple[float, float]:
    """Azimuth (of the view, counter-clockwise from X) and elevation (above the horizon)."""
    elevation = math.asin(max(-1.0, min(1.0, float(forward[2]))))
    return math.atan2(float(right[0]), -float(right[1])), elevation


def _turned(azimuth: float, elevation: float) -> tuple[Array, Array]:
    """Rows right, up, forward of a view direction, and the up to keep with it."""
    elevation = max(-POLE, min(POLE, elevation))
    ca, sa, ce, se = (
        math.cos(azimuth),
        math.sin(azimuth),
        math.cos(elevation),
        math.sin(elevation),
    )
    if abs(elevation) > POLE - 1e-6:
        ce, se = 0.0, math.copysign(1.0, elevation)
    rows = np.array(((sa, -ca, 0.0), (-ca * se, -sa * se, ce), (ca * ce, sa * ce, se)))
    return rows, (rows[1] if ce == 0.0 else np.array((0.0, 0.0, 1.0)))
