"""The camera as mathematics: matrices, projection, rays, standard views and framing.

Everything is float64 and pure. Positions are taken about the eye before they are multiplied,
so that a cloud at northing 5,000,000 keeps its digits. A *scale* per axis (degrees to the unit
of height) may stand between world and view; it is 1 for everything but geographic clouds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import Crs, Vec3
from oniyanma.scene.state import Camera

Array = npt.NDArray[np.float64]
Bounds = tuple[Vec3, Vec3]

UNIT_SCALE: Vec3 = (1.0, 1.0, 1.0)
METRES_PER_DEGREE = 111_320.0  # of latitude, and of longitude at the equator
MARGIN = 1.06  # empty border around a framed box
FOV_LIMITS = (5.0, 120.0)

# From the target towards the eye, and the up that goes with it.
PRESETS: dict[str, tuple[Vec3, Vec3]] = {
    "top": ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0)),
    "bottom": ((0.0, 0.0, -1.0), (0.0, 1.0, 0.0)),
    "front": ((0.0, -1.0, 0.0), (0.0, 0.0, 1.0)),
    "back": ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "left": ((-1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    "right": ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    "iso": ((1.0 / math.sqrt(3), -1.0 / math.sqrt(3), 1.0 / math.sqrt(3)), (0.0, 0.0, 1.0)),
}


@dataclass(frozen=True, eq=False)
class Matrices:
    """One camera over one viewport. Column vectors: ``clip = M @ [x, y, z, 1]``.

    ``rotation`` float64 (4, 4): ``view = rotation @ [p - eye, 1]`` (with the display scale in
    it; the view looks along -Z). ``projection`` float64 (4, 4): view → clip, OpenGL's depth
    (-1 near, 1 far). ``near``/``far`` are view depths; near/far may be as small as 1e-9 (a
    point a millimetre away in a large scene is drawn), so a renderer wants a logarithmic depth.
    """

    eye: Array
    rotation: Array
    projection: Array
    near: float
    far: float
    viewport: tuple[int, int]
    perspective: bool

    @cached_property
    def relative(self) -> Array:
        """Clip from coordinates about the eye: ``clip = relative @ [p - eye, 1]``."""
        return self.projection @ self.rotation

    @cached_property
    def world(self) -> Array:
        """Clip from world coordinates. For culling; a point is projected by `project`."""
        shift = np.eye(4)
        shift[:3, 3] = -self.eye
        return self.relative @ shift

    def project(self, points: npt.ArrayLike) -> tuple[Array, Array]:
        """World (n, 3) → logical pixels (n, 2), origin top left, and view depth (n,).

        Behind the eye of a perspective camera the depth is ≤ 0 and the pixels are NaN.
        """
        p = np.asarray(points, dtype=np.float64).reshape(-1, 3)
        x, y, z = p[:, 0] - self.eye[0], p[:, 1] - self.eye[1], p[:, 2] - self.eye[2]
        m, r = self.relative, self.rotation
        depth = -(r[2, 0] * x + r[2, 1] * y + r[2, 2] * z)
        cx = m[0, 0] * x + m[0, 1] * y + m[0, 2] * z + m[0, 3]
        cy = m[1, 0] * x + m[1, 1] * y + m[1, 2] * z + m[1, 3]
        w = m[3, 0] * x + m[3, 1] * y + m[3, 2] * z + m[3, 3]
        w = np.where(w > 0.0, w, np.nan)
        width, height = self.viewport
        return np.stack(((cx / w + 1.0) * (0.5 * width), (1.0 - cy / w) * (0.5 * height)), 1), depth

    def ray(self, px: float, py: float) -> tuple[Array, Array]:
        """Where the ray under a pixel starts and its direction, in world units per view depth.

        ``origin + t * direction`` has view depth ``t``; a perspective ray starts at the eye, an
        orthographic one on the eye's plane.
        """
        width, height = self.viewport
        nx, ny = 2.0 * px / width - 1.0, 1.0 - 2.0 * py / height
        sx, sy = 1.0 / self.projection[0, 0], 1.0 / self.projection[1, 1]
        back = np.linalg.inv(self.rotation[:3, :3])
        if self.perspective:
            return self.eye.copy(), back @ np.array((nx * sx, ny * sy, -1.0))
        return self.eye + back @ np.array((nx * sx, ny * sy, 0.0)), back @ np.array((0, 0, -1.0))

    def unproject(self, px: float, py: float, depth: float) -> Vec3:
        """The world point under a pixel at a view depth."""
        origin, direction = self.ray(px, py)
        return as_vec3(origin + direction * depth)

    def units_per_pixel(self, depth: float) -> float:
        """Height of one logical pixel at a view depth, in view units."""
        tall = 2.0 / (float(self.projection[1, 1]) * self.viewport[1])
        return tall * depth if self.perspective else tall


def as_vec3(value: npt.ArrayLike) -> Vec3:
    x, y, z = np.asarray(value, dtype=np.float64).tolist()
    return (x, y, z)


def basis(camera: Camera, scale: Vec3 = UNIT_SCALE) -> tuple[Array, Array, Array]:
    """Right, up and forward as unit vectors in view units; never degenerate."""
    s = np.asarray(scale)
    forward = _unit((np.asarray(camera.target) - np.asarray(camera.eye)) * s)
    if forward is None:
        forward = np.array((0.0, 1.0, 0.0))
    for up in (camera.up, (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)):
        unit = _unit(np.asarray(up, dtype=np.float64) * s)
        right = None if unit is None else _cross(forward, unit)
        if right is not None and np.linalg.norm(right) > 1e-9:
            right = right / np.linalg.norm(right)
            return right, _cross(right, forward), forward
    raise AssertionError("one of two perpendicular ups is never parallel to the view")


def matrices(
    camera: Camera, viewport: tuple[int, int], bounds: Bounds | None, scale: Vec3 = UNIT_SCALE
) -> Matrices:
    """The camera's matrices; near and far from the world ``bounds`` of what may be drawn."""
    width, height = max(1, viewport[0]), max(1, viewport[1])
    right, up, forward = basis(camera, scale)
    s = np.asarray(scale)
    eye = np.asarray(camera.eye, dtype=np.float64)
    rotation = np.eye(4)
    rotation[0, :3], rotation[1, :3], rotation[2, :3] = right * s, up * s, -forward * s
    distance = view_distance(camera, scale)
    low, high = 0.1 * distance, 10.0 * distance
    if bounds is not None:
        depths = ((corners(bounds) - eye) * (forward * s)).sum(axis=1)
        low, high = float(depths.min()), float(depths.max())
    slope = math.tan(math.radians(_clamp(camera.fov, *FOV_LIMITS)) / 2)
    projection = np.zeros((4, 4))
    if camera.projection == "perspective":
        far = max(high * 1.001, distance * 1.001)
        near = max(low * 0.999, min(far * 1e-5, distance * 1e-3))
        far = max(far, near * 1.001)
        projection[0, 0] = height / (slope * width)
        projection[1, 1] = 1.0 / slope
        projection[2, 2] = -(far + near) / (far - near)
        projection[2, 3] = -2.0 * far * near / (far - near)
        projection[3, 2] = -1.0
    else:
        pad = max(1e-3 * (high - low), 1e-6 * distance)
        near, far = low - pad, high + pad
        projection[0, 0] = height / (slope * distance * width)
        projection[1, 1] = 1.0 / (slope * distance)
        projection[2, 2] = -2.0 / (far - near)
        projection[2, 3] = -(far + near) / (far - near)
        projection[3, 3] = 1.0
    perspective = camera.projection == "perspective"
    return Matrices(eye, rotation, projection, near, far, (width, height), perspective)


def view_distance(camera: Camera, scale: Vec3 = UNIT_SCALE) -> float:
    """From eye to target in view units; never 0."""
    way = np.asarray(camera.target) - np.asarray(camera.eye)
    d = float(np.linalg.norm(way * np.asarray(scale)))
    return d if d > 0.0 and math.isfinite(d) else 1.0


def preset(camera: Camera, name: str, scale: Vec3 = UNIT_SCALE) -> Camera:
    """The same target from the same distance, seen from a standard direction."""
    direction, up = PRESETS[name]
    offset = np.asarray(direction) * view_distance(camera, scale) / np.asarray(scale)
    return replace(camera, eye=as_vec3(np.asarray(camera.target) + offset), up=up)


def fit(
    camera: Camera,
    bounds: Bounds | None,
    viewport: tuple[int, int],
    scale: Vec3 = UNIT_SCALE,
    margin: float = MARGIN,
) -> Camera:
    """The same direction, moved until the whole box just fills the picture.

    A corner at (x, y, z) in camera axes about the box's centre is inside a frustum of slope s
    whose eye stands d behind it and c beside it where |y - c| <= s (d + z): so d is half the sum
    of the largest s-sheared extents to both sides, and c half their difference. A box without
    extent is framed as a cube of one unit; no box as one at the origin.
    """
    box = bounds if bounds is not None else ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    s = np.asarray(scale)
    low, high = np.asarray(box[0]) * s, np.asarray(box[1]) * s
    centre = (low + high) / 2
    if float((high - low).max()) <= 0.0:
        low, high = centre - 0.5, centre + 0.5
    right, up, forward = basis(camera, scale)
    offsets = corners((as_vec3(low), as_vec3(high))) - centre
    x, y, z = ((offsets * axis).sum(axis=1) for axis in (right, up, forward))
    depth = z if camera.projection == "perspective" else np.zeros(8)
    slope = math.tan(math.radians(_clamp(camera.fov, *FOV_LIMITS)) / 2) / margin
    aspect = max(1, viewport[0]) / max(1, viewport[1])
    distance = max(1e-9 * float(np.abs(centre).max()), 1e-9)
    for axis, along, s_axis in ((right, x, slope * aspect), (up, y, slope)):
        more, less = float((along - s_axis * depth).max()), float((-along - s_axis * depth).max())
        distance = max(distance, (more + less) / (2 * s_axis))
        centre = centre + axis * ((more - less) / 2)
    eye, target = (centre - forward * distance) / s, centre / s
    return replace(camera, eye=as_vec3(eye), target=as_vec3(target))


def corners(bounds: Bounds) -> Array:
    """The eight corners of a box, (8, 3)."""
    low, high = bounds
    return np.array(
        [(x, y, z) for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    )


def union(boxes: Iterable[Bounds | None]) -> Bounds | None:
    """The box around boxes; None around none."""
    found = [box for box in boxes if box is not None]
    if not found:
        return None
    low = np.min([box[0] for box in found], axis=0)
    high = np.max([box[1] for box in found], axis=0)
    return as_vec3(low), as_vec3(high)


def display_scale(crs: Crs, bounds: Bounds | None) -> Vec3:
    """How far to stretch each axis so that a geographic cloud looks like the ground it shows.

    Degrees become the unit of height (metres where that is unknown) at the middle latitude.
    """
    if not crs.geographic or bounds is None:
        return UNIT_SCALE
    latitude = _clamp((bounds[0][1] + bounds[1][1]) / 2, -89.0, 89.0)
    degree = METRES_PER_DEGREE / (crs.vertical.metres or 1.0)
    return degree * math.cos(math.radians(latitude)), degree, 1.0


def _unit(vector: Array) -> Array | None:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0.0 and math.isfinite(length) else None


def _cross(a: Array, b: Array) -> Array:
    return np.array(
        (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    )


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
