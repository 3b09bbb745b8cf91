"""Boxes, prisms and polygons made ready to be asked about points and about boxes of points.

Only elementwise arithmetic decides: a matrix product of one row differs in its last bits from
the same row in a batch, and two ways of asking would disagree.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.rules.block import Floats, Index, Mask, PointBlock
from oniyanma.rules.model import Box, Polygon, Prism, Range, Vec3
from oniyanma.rules.polygon import EDGE, FEW, IN, OUT, Edges, PolygonRaster, Sides

Bounds = tuple[Vec3, Vec3]

EVERYWHERE: Bounds = ((-math.inf,) * 3, (math.inf,) * 3)
NOWHERE: Bounds = ((math.inf,) * 3, (-math.inf,) * 3)
_ROUGH_FROM = 100_000  # points × edges
SLACK = 1e-9  # relative: what rounding may move a box's corner, amply


def in_range(values: Floats, limits: Range) -> Mask:
    low, high = limits
    inside = np.ones(len(values), np.bool_)
    if low is not None:
        inside &= values >= low
    if high is not None:
        inside &= values <= high
    return inside


def range_sides(limits: Range, low: Floats, high: Floats) -> Sides:
    a, b = open_ends(limits)
    sides = np.full(len(low), EDGE, np.uint8)
    sides[(a <= low) & (high <= b)] = IN
    sides[(high < a) | (low > b)] = OUT
    return sides


def worse(*sides: Sides) -> Sides:
    """The sides of what must be in all: out of one is out, in all is in."""
    result = sides[0].copy()
    for other in sides[1:]:
        result[(other == EDGE) & (result == IN)] = EDGE
        result[other == OUT] = OUT
    return result


def open_ends(limits: Range) -> tuple[float, float]:
    low, high = limits
    return -math.inf if low is None else low, math.inf if high is None else high


@dataclass(frozen=True)
class PolygonTest:
    shape: Polygon

    def test(self, points: PointBlock, part: slice) -> Mask:
        polygon, x, y = self.shape.polygon, points.axis(0, part), points.axis(1, part)
        few = len(x) * len(polygon) < FEW
        inside = edges_of(polygon).contain(x, y) if few else raster_of(polygon, 0.0).contains(x, y)
        if self.shape.z != (None, None):
            inside &= in_range(points.axis(2, part), self.shape.z)
        return inside


@lru_cache(maxsize=16)
def edges_of(polygon: tuple[tuple[float, float], ...]) -> Edges:
    return Edges(np.asarray(polygon or ((0.0, 0.0),), dtype=np.float64))


@lru_cache(maxsize=16)
def raster_of(polygon: tuple[tuple[float, float], ...], cell: float) -> PolygonRaster:
    return PolygonRaster(polygon or ((0.0, 0.0),), cell)


@dataclass(frozen=True)
class TurnedBox:
    """A box in its own axes: ``u`` and ``v`` about the centre, turned; ``z`` as it is."""

    shape: Box
    cos: float
    sin: float

    @staticmethod
    def of(shape: Box) -> TurnedBox:
        angle = math.radians(shape.rotation)
        return TurnedBox(shape, math.cos(angle), math.sin(angle))

    @property
    def _centre(self) -> tuple[float, float, float, float]:
        (x0, y0, _), (x1, y1, _) = self.shape.min, self.shape.max
        return (x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) / 2, (y1 - y0) / 2

    def test(self, points: PointBlock, part: slice) -> Mask:
        x, y, z = (points.axis(i, part) for i in range(3))
        low, high = self.shape.min, self.shape.max
        inside: Mask = (z >= low[2]) & (z <= high[2])
        if self.shape.rotation == 0.0:
            inside &= (x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1])
            return inside
        cx, cy, hx, hy = self._centre
        x -= cx
        y -= cy
        inside &= np.abs(x * self.cos + y * self.sin) <= hx
        inside &= np.abs(y * self.cos - x * self.sin) <= hy
        return inside

    def sides(self, low: Floats, high: Floats) -> Sides:
        a, b = self.shape.min, self.shape.max
        z = range_sides((a[2], b[2]), low[:, 2], high[:, 2])
        if self.shape.rotation == 0.0:
            x = range_sides((a[0], b[0]), low[:, 0], high[:, 0])
            y = range_sides((a[1], b[1]), low[:, 1], high[:, 1])
            return worse(x, y, z)
        cx, cy, hx, hy = self._centre
        px, py = (low[:, 0] + high[:, 0]) / 2 - cx, (low[:, 1] + high[:, 1]) / 2 - cy
        wide, deep = (high[:, 0] - low[:, 0]) / 2, (high[:, 1] - low[:, 1]) / 2
        pad = SLACK * (np.abs(px) + np.abs(py) + wide + deep + abs(cx) + abs(cy) + hx + hy)
        c, s = abs(self.cos), abs(self.sin)
        u, v = px * self.cos + py * self.sin, py * self.cos - px * self.sin
        ru, rv = wide * c + deep * s + pad, deep * c + wide * s + pad
        x, y = range_sides((-hx, hx), u - ru, u + ru), range_sides((-hy, hy), v - rv, v + rv)
        return worse(x, y, z)

    def bounds(self) -> Bounds:
        if self.shape.rotation == 0.0:
            return self.shape.min, self.shape.max
        cx, cy, hx, hy = self._centre
        c, s = abs(self.cos), abs(self.sin)
        wide, deep = hx * c + hy * s, hy * c + hx * s
        pad = SLACK * max(abs(cx), abs(cy), wide, deep)
        wide, deep = wide + pad, deep + pad
        z0, z1 = self.shape.min[2], self.shape.max[2]
        return (cx - wide, cy - deep, z0), (cx + wide, cy + deep, z1)


class PrismTest:
    """A prism made ready: clip rows turned into pixels of the viewport, and the raster."""

    def __init__(self, shape: Prism) -> None:
        self.shape = shape
        m = np.asarray(shape.matrix, dtype=np.float64).reshape(4, 4)
        width, height = shape.viewport
        self.origin = np.asarray(shape.origin, dtype=np.float64)
        self._matrix = m
        # Divided by w these are pixels; near is where z + w is not negative.
        self._x: tuple[float, ...] = tuple(((m[0] + m[3]) * (width / 2)).tolist())
        self._y: tuple[float, ...] = tuple(((m[3] - m[1]) * (height / 2)).tolist())
        self._w: tuple[float, ...] = tuple(m[3].tolist())
        self._near: tuple[float, ...] = tuple((m[2] + m[3]).tolist())
        self._far = float(np.abs(self.origin).max())
        self.flat = self._w == (0.0, 0.0, 0.0, 1.0)

    @cached_property
    def raster(self) -> PolygonRaster:
        return PolygonRaster(self.shape.polygon or ((0.0, 0.0),), 1.0)

    def test(self, points: PointBlock, part: slice) -> Mask:
        before = self._before(points)
        rough = self._rough(points, part) if before else None
        if rough is None:
            return self._exact(points, part, before)
        inside: Mask = rough == IN
        edge = np.flatnonzero(rough == EDGE)
        if edge.size:
            inside[edge] = self._exact(points, edge + part.start, before)
        return inside

    def _exact(self, points: PointBlock, part: Index, before: bool) -> Mask:
        x, y, z = (points.axis(i, part) for i in range(3))
        for axis, origin in zip((x, y, z), self.origin.tolist(), strict=True):
            axis -= origin
        px, py = _row(self._x, x, y, z), _row(self._y, x, y, z)
        front: Mask | None = None
        if not before:
            front = _row(self._near, x, y, z) >= 0.0
        if not self.flat:
            w = _row(self._w, x, y, z)
            if front is not None:
                front &= w > 0.0
                w[~front] = 1.0
            px /= w
            py /= w
        inside = self.raster.contains(px, py)
        if front is not None:
            inside &= front
        return inside

    def _rough(self, points: PointBlock, part: slice) -> Sides | None:
        """What the raster says of points, found in float32: quick, and off by less than
        `look_up` allows. None where that can't be promised, or does not pay.

        It decides only what is decided for certain, so its last bits do not matter.
        """
        raster = self.raster
        if (part.stop - part.start) * len(self.shape.polygon) < _ROUGH_FROM:
            return None
        low, high = points.integers
        extent = (high - low).astype(np.float64)
        if extent.max() >= 1 << 24:
            return None
        scale, offset = np.asarray(points.scale), np.asarray(points.offset)
        at = low * scale + offset - self.origin
        x, y, w = (np.asarray(row) for row in (self._x, self._y, self._w))
        rows = np.stack(
            ((x - raster.low[0] * w) / raster.cell, (y - raster.low[1] * w) / raster.cell, w)
        )
        turn, shift = rows[:, :3] * scale, rows[:, 3] + (rows[:, :3] * at).sum(axis=1)
        size = (np.abs(turn) * extent).sum(axis=1) + np.abs(rows[:, :3] * at).sum(axis=1)
        size += np.abs(rows[:, 3])
        least = shift[2] + np.minimum(turn[2] * extent, 0.0).sum()
        error = 1e-6 * (size[:2] + np.array((raster.columns, raster.rows)) * size[2])
        if not (error < 0.2 * least).all():
            return None
        local = [
            np.subtract(points.xyz[part, axis], np.int32(low[axis])).astype(np.float32)
            for axis in range(3)
        ]
        columns, lines = (_row32(turn[i], shift[i], local) for i in (0, 1))
        if not self.flat:
            depth = _row32(turn[2], shift[2], local)
            columns /= depth
            lines /= depth
        return raster.look_up(columns, lines)

    def _before(self, points: PointBlock) -> bool:
        """Whether the points' whole box is in front of the near plane."""
        low, high = points.bounds
        (ax, ay, az), (bx, by, bz) = (low - self.origin).tolist(), (high - self.origin).tolist()
        reach = max(map(abs, (ax, ay, az, bx, by, bz))) + self._far
        for row in (self._near, self._w):
            x, y, z, rest = row
            least = min(x * ax, x * bx) + min(y * ay, y * by) + min(z * az, z * bz) + rest
            if not least > 1e-9 * reach * max(abs(x), abs(y), abs(z), abs(rest)):
                return False
        return True

    def sides(self, low: Floats, high: Floats) -> Sides:
        ends = np.stack((low, high), axis=1) - self.origin  # (n, 2, 3)
        corner = np.indices((2, 2, 2)).reshape(3, 8)
        x, y, z = (ends[:, corner[axis], axis] for axis in range(3))  # (n, 8) each
        near, w = _row(self._near, x, y, z), _row(self._w, x, y, z)
        reach = np.abs(ends).max(axis=(1, 2)) + float(np.abs(self.origin).max())
        pad = 1e-9 * reach * max(map(abs, self._near[:3]))
        behind = (near.max(axis=1) < -pad) | (w.max(axis=1) <= 0.0)
        front = (near.min(axis=1) > pad) & (w.min(axis=1) > 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            px, py = _row(self._x, x, y, z) / w, _row(self._y, x, y, z) / w
        front &= np.isfinite(px).all(axis=1) & np.isfinite(py).all(axis=1)
        px[~front], py[~front] = 0.0, 0.0
        a = np.stack((px.min(axis=1), py.min(axis=1)), axis=1)
        b = np.stack((px.max(axis=1), py.max(axis=1)), axis=1)
        slack = 0.5 + 1e-9 * np.maximum(np.abs(a), np.abs(b))
        sides = self.raster.rectangles(a - slack, b + slack)
        sides[~front] = EDGE
        sides[behind] = OUT
        return sides

    def bounds(self, within: Bounds | None) -> Bounds:
        """The prism as far as ``within`` reaches; everywhere without it."""
        if within is None or not self.shape.polygon:
            return EVERYWHERE if self.shape.polygon else NOWHERE
        low, high = np.asarray(within[0]), np.asarray(within[1])
        polygon = np.asarray(self.shape.polygon)
        (left, top), (right, bottom) = polygon.min(axis=0) - 1.0, polygon.max(axis=0) + 1.0
        width, height = self.shape.viewport
        try:
            back = np.linalg.inv(self._matrix)
        except np.linalg.LinAlgError:
            return EVERYWHERE
        # Depth: grows along each ray; farthest, the deepest corner of what there is.
        row = self._near if self.flat else self._w
        ends = [
            (float(a - o), float(b - o)) for a, b, o in zip(low, high, self.origin, strict=True)
        ]
        box = np.array(list(itertools.product(*ends)))
        deepest = float(_row(row, box[:, 0], box[:, 1], box[:, 2]).max())
        found = []
        for px, py in ((left, top), (right, top), (left, bottom), (right, bottom)):
            nx, ny = 2 * px / width - 1, 1 - 2 * py / height
            a, b = (back @ np.array((nx, ny, d, 1.0)) for d in (-1.0, 1.0))
            a, b = a[:3] / a[3], b[:3] / b[3]
            da, db = (float(_row(row, *(np.array([v]) for v in p))[0]) for p in (a, b))
            if not math.isfinite(da + db) or db <= da:
                return EVERYWHERE
            t = max(1.0, (deepest - da) / (db - da))
            found += [a, a + (b - a) * t]
        corners = np.asarray(found) + self.origin
        if not np.isfinite(corners).all():
            return EVERYWHERE
        pad = 1e-6 * float(np.abs(corners).max() + np.ptp(corners))
        a, b = corners.min(axis=0) - pad, corners.max(axis=0) + pad
        return (float(a[0]), float(a[1]), float(a[2])), (float(b[0]), float(b[1]), float(b[2]))


@lru_cache(maxsize=64)
def prism_test(shape: Prism) -> PrismTest:
    return PrismTest(shape)


def _row(row: tuple[float, ...], x: Floats, y: Floats, z: Floats) -> Floats:
    out: Floats = x * row[0]
    out += y * row[1]
    out += z * row[2]
    out += row[3]
    return out


def _row32(turn: Floats, shift: float, local: list[npt.NDArray[np.float32]]) -> Any:
    x, y, z = (np.float32(v) for v in turn)
    out = local[0] * x
    out += local[1] * y
    out += local[2] * z
    out += np.float32(shift)
    return out
