"""Measurements from exact points: distance, height, angle, area, and what each is worth.

Everything is pure: points (n, 3) float64 world coordinates in, a mapping of numbers with their
units out. The first point is subtracted before anything else is done, so that coordinates of
UTM size keep every digit they have. In a geographic frame lines are geodesics on the CRS's
ellipsoid, in metres; degrees are never added up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import Vec3
from oniyanma.scene.units import Frame, MeasureError, geocentric, geodesic

Array = npt.NDArray[np.float64]

KINDS = ("point", "distance", "height", "angle", "area", "volume", "profile")
_NEEDS = {"point": (1, 1), "height": (2, 2), "angle": (3, 3)}
_LEAST = {"distance": 2, "area": 3, "volume": 3, "profile": 2}
MAX_VERTICES = 2000


def checked_points(kind: str, points: Sequence[Sequence[float]] | Array) -> Array:
    """The points of a measurement as (n, 3) float64; MeasureError when it can't have them."""
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 3 or not np.isfinite(array).all():
        raise MeasureError(f"A {kind} is measured between finite [x, y, z] points.")
    exactly, least = _NEEDS.get(kind), _LEAST.get(kind, 1)
    if exactly and not exactly[0] <= len(array) <= exactly[1]:
        raise MeasureError(f"{_a(kind)} needs {_count(exactly[0])}, and {len(array)} were given.")
    if len(array) < least:
        raise MeasureError(
            f"{_a(kind)} needs at least {_count(least)}, and {len(array)} were given."
        )
    if len(array) > MAX_VERTICES:
        raise MeasureError(
            f"{_a(kind)} takes at most {MAX_VERTICES} points, and {len(array)} were given."
        )
    return array


def _a(kind: str) -> str:
    return ("An " if kind[0] in "aeiou" else "A ") + kind


def _count(n: int) -> str:
    return "1 point" if n == 1 else f"{n} points"


def measure(kind: str, points: Sequence[Sequence[float]] | Array, frame: Frame) -> dict[str, Any]:
    """The numbers of a point, distance, height, angle or area (see the functions below)."""
    array = checked_points(kind, points)
    return _MEASURES[kind](array, frame)


def point(points: Array, frame: Frame) -> dict[str, Any]:
    """x, y, z as they are; the value is the height."""
    x, y, z = (float(v) for v in points[0])
    return {"x": x, "y": y, "z": z} | frame.height(z)


def distance(points: Array, frame: Frame) -> dict[str, Any]:
    """Along the line through the points: ``value`` in space, ``horizontal``, ``vertical``.

    ``vertical`` is the last height less the first. ``slope`` (degrees) and ``slopePercent``
    are of the straight line from the first to the last point; straight up the percentage is
    None. With more than two points ``segments`` lists the lengths in space.
    """
    flat, rise = _steps(points, frame)
    space = np.hypot(flat, rise)
    horizontal, total = math.fsum(flat), math.fsum(space)
    dz = float(points[-1, 2] - points[0, 2])
    base = _plan_length(points[[0, -1]], frame)
    answer = frame.length(total)
    answer |= frame.length(horizontal, "horizontal") | frame.height(dz, "vertical")
    answer |= slope(base, dz * frame.z_factor)
    if len(space) > 1:
        answer["segments"] = space.tolist()
    return answer | _method(frame)


def height(points: Array, frame: Frame) -> dict[str, Any]:
    """The difference of two heights: ``value`` without a sign, ``rise`` from first to second."""
    dz = float(points[1, 2] - points[0, 2])
    answer = frame.height(abs(dz)) | frame.height(dz, "rise")
    answer |= frame.length(_plan_length(points, frame), "horizontal")
    return answer | _method(frame)


def angle(points: Array, frame: Frame) -> dict[str, Any]:
    """At the second point between the first and the third: ``value`` in space, ``horizontal``
    in plan, both in degrees from 0 to 180.

    atan2(|a × b|, a · b) keeps its digits near 0 and 180 degrees, where arccos loses half.
    """
    arms = _in_space(points[[1, 0, 2]], frame)[1:]
    if not np.any(arms[0]) or not np.any(arms[1]):
        raise MeasureError("An angle needs three different points: one arm has no length.")
    answer: dict[str, Any] = {"value": _angle(arms[0], arms[1]), "unit": "deg"}
    answer["horizontal"] = _plan_angle(points, frame)
    return answer | _method(frame)


def area(points: Array, frame: Frame) -> dict[str, Any]:
    """Of the polygon: ``value`` in space, ``plan`` seen from above, and its ``perimeter``.

    In space it is the length of the vector area (Newell): exact for a flat polygon; for a bent
    one, the area of its outline seen square to its mean plane, and ``outOfPlane`` is how far
    the farthest corner lies from that plane. A polygon that crosses itself is refused.
    """
    if len(points) > 3 and np.array_equal(points[0], points[-1]):
        points = points[:-1]
    local = _in_space(points, frame)
    vector = vector_area(local)
    in_space = float(np.linalg.norm(vector))
    size = float(np.abs(local).max())
    if in_space <= 1e-12 * size * size:
        raise MeasureError(
            "The polygon has no area: its corners lie on one line, or it crosses itself evenly."
        )
    normal = vector / in_space
    if crosses_itself(np.delete(local, int(np.argmax(np.abs(normal))), axis=1)):
        raise MeasureError(
            "The polygon crosses itself, so it has no one area; take its corners in order."
        )
    closed = np.vstack([points, points[:1]])
    flat, rise = _steps(closed, frame)
    answer = frame.length(in_space, power=2)
    answer |= frame.length(_plan_area(points, vector, frame), "plan", 2)
    answer |= frame.length(math.fsum(np.hypot(flat, rise)), "perimeter")
    distances = (local - local.mean(axis=0)) @ normal
    answer |= frame.length(float(np.abs(distances).max()), "outOfPlane")
    return answer | _method(frame)


_MEASURES = {"point": point, "distance": distance, "height": height, "angle": angle, "area": area}


def slope(base: float, rise: float) -> dict[str, Any]:
    """Degrees above the horizontal and per cent; no percentage straight up, None for no step."""
    if base == 0.0 and rise == 0.0:
        return {"slope": None, "slopePercent": None}
    percent = None if base == 0.0 else 100.0 * rise / base
    return {"slope": math.degrees(math.atan2(rise, base)), "slopePercent": percent}


def vector_area(local: Array) -> Array:
    """Half the sum of cross products of successive corners (Newell): length is the area."""
    result: Array = 0.5 * np.cross(local, np.roll(local, -1, axis=0)).sum(axis=0)
    return result


def plan_area(corners: Array) -> float:
    """Signed area of a polygon (n, 2), anticlockwise positive (shoelace about the first corner)."""
    p = corners - corners[0]
    q = np.roll(p, -1, axis=0)
    return 0.5 * math.fsum(p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1])


def crosses_itself(corners: Array) -> bool:
    """Whether two edges of a polygon (n, 2) that are not neighbours meet. O(n²), in blocks."""
    n = len(corners)
    if n < 4:
        return False
    p = corners - corners[0]
    q = np.roll(p, -1, axis=0)
    for i in range(n - 2):
        last = n - 1 if i == 0 else n
        a, b = p[i], q[i]
        c, d = p[i + 2 : last], q[i + 2 : last]
        if len(c) and bool(_meet(a, b, c, d).any()):
            return True
    return False


def _meet(a: Array, b: Array, c: Array, d: Array) -> npt.NDArray[np.bool_]:
    """Whether the segment a–b meets each of the segments c–d, touching included."""
    o1, o2 = _side(a, b, c), _side(a, b, d)
    o3, o4 = _side(c, d, a), _side(c, d, b)
    across = (o1 * o2 < 0) & (o3 * o4 < 0)
    touch = (o1 == 0) & _within(a, b, c) | (o2 == 0) & _within(a, b, d)
    other = (o3 == 0) & _within(c, d, a) | (o4 == 0) & _within(c, d, b)
    meet: npt.NDArray[np.bool_] = np.asarray(across | touch | other)
    return meet


def _side(a: Array, b: Array, c: Array) -> Array:
    ab, ac = b - a, c - a
    result: Array = np.sign(ab[..., 0] * ac[..., 1] - ab[..., 1] * ac[..., 0])
    return result


def _within(a: Array, b: Array, c: Array) -> npt.NDArray[np.bool_]:
    return np.asarray(((np.minimum(a, b) <= c) & (c <= np.maximum(a, b))).all(axis=-1))


def _in_space(points: Array, frame: Frame) -> Array:
    """The points about the first, in one unit on all three axes (the horizontal one)."""
    if frame.geographic:
        return geocentric(points, frame)
    local: Array = points - points[0]
    local[:, 2] *= frame.z_factor
    return local


def _steps(points: Array, frame: Frame) -> tuple[Array, Array]:
    """Per segment its length in plan and its rise, both in the horizontal unit."""
    step = np.diff(points, axis=0)
    flat = geodesic(points, frame) if frame.geographic else np.hypot(step[:, 0], step[:, 1])
    return flat, step[:, 2] * frame.z_factor


def _plan_length(pair: Array, frame: Frame) -> float:
    return float(_steps(pair, frame)[0][0])


def _plan_area(points: Array, vector: Array, frame: Frame) -> float:
    if not frame.geographic:
        return abs(float(vector[2]))
    area, _ = frame.geod().polygon_area_perimeter(points[:, 0], points[:, 1])
    return abs(float(area))


def _angle(a: Array, b: Array) -> float:
    return math.degrees(math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b)))


def _plan_angle(points: Array, frame: Frame) -> float | None:
    """Between the arms in plan; None where an arm stands upright."""
    arms = points[[0, 2], :2] - points[1, :2]
    if not np.any(arms[0]) or not np.any(arms[1]):
        return None
    if not frame.geographic:
        return _angle(np.append(arms[0], 0.0), np.append(arms[1], 0.0))
    geod, (x, y) = frame.geod(), points[1, :2]
    azimuths, _, _ = geod.inv([x, x], [y, y], points[[0, 2], 0], points[[0, 2], 1])
    turn = abs(azimuths[0] - azimuths[1]) % 360.0
    return float(min(turn, 360.0 - turn))


def _method(frame: Frame) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    if frame.geographic:
        answer["method"] = "geodesic lines on the ellipsoid of the CRS"
    if frame.notes:
        answer["note"] = " ".join(frame.notes)
    return answer


def as_vec3(points: Array) -> tuple[Vec3, ...]:
    """Rows as the tuples a `Measurement` keeps."""
    return tuple((float(x), float(y), float(z)) for x, y, z in points)
