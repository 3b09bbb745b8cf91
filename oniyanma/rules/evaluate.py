"""Which points a rule hits: for a node, a chunk of the source, or one point, the same answer.

Only elementwise arithmetic stands here: a matrix product of one row differs in its last bits
from the same row in a batch, and two ways of asking would disagree. Whole blocks are decided by
their box first; that is exact too, because it decides only what is decided for certain.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.rules.block import Floats, Index, Mask, PointBlock
from oniyanma.rules.model import (
    Box,
    Clip,
    Polygon,
    Prism,
    Range,
    Region,
    Rule,
    Shape,
    Vec3,
    Where,
)
from oniyanma.rules.polygon import EDGE, IN, OUT, PolygonRaster, Sides

Decision = bool | Mask  # True or False: every point, or none
Bounds = tuple[Vec3, Vec3]

EVERYWHERE: Bounds = ((-math.inf,) * 3, (math.inf,) * 3)
_CHUNK = 32_768  # points whose temporaries stay in the cache
_FEW = 1500  # points that are sooner asked themselves than their box
_ROUGH_FROM = 100_000  # points × edges
_SLACK = 1e-9  # relative: what rounding may move a box's corner, amply


def evaluate(shape: Shape, points: PointBlock) -> Mask:
    """Which points a rule or a shape hits, bool (n,)."""
    decided = decide(shape, points)
    return np.full(len(points), decided) if isinstance(decided, bool) else decided


def decide(shape: Shape, points: PointBlock) -> Decision:
    """As `evaluate`, but a bare True or False where it holds for all or none."""
    if len(points) == 0:
        return False
    if isinstance(shape, Rule):
        return _rule(shape, points)
    if isinstance(shape, Where):
        return _where(shape, points, points.state(0).classification if shape.classes else None)
    return _shape(shape, points)


def decide_clip(clip: Clip | None, points: PointBlock) -> Decision:
    """Which points a clip lets through."""
    if clip is None:
        return True
    inside = decide(clip.shape, points)
    return _not(inside) if clip.mode == "outside" else inside


def classify_boxes(shape: Box | Prism | Polygon, low: Floats, high: Floats) -> Sides:
    """Whether every point of a world box is hit (IN), none (OUT), or that depends on the point.

    ``low`` and ``high`` (n, 3) are the boxes' corners; the answer is uint8 (n,).
    """
    if isinstance(shape, Box):
        return _Turned.of(shape).sides(low, high)
    if isinstance(shape, Prism):
        return _compiled_prism(shape).sides(low, high)
    pad = _SLACK * np.maximum(np.abs(low), np.abs(high))[:, :2].max(axis=1, initial=0.0)[:, None]
    plan = _raster(shape.polygon, 0.0).rectangles(low[:, :2] - pad, high[:, :2] + pad)
    return _worse(plan, _range_sides(shape.z, low[:, 2], high[:, 2]))


def bounds_of(shape: Shape, within: Bounds | None = None) -> Bounds:
    """A world box around all that a rule or shape can hit, infinite where it is open.

    ``within``, the box of all points there are, makes a screen prism finite.
    """
    if isinstance(shape, Rule):
        return _rule_bounds(shape, within)
    if isinstance(shape, Box):
        return _Turned.of(shape).bounds()
    if isinstance(shape, Polygon):
        xs, ys = zip(*shape.polygon, strict=True) if shape.polygon else ((), ())
        if not xs:
            return _NOWHERE
        low, high = _open(shape.z)
        return (min(xs), min(ys), low), (max(xs), max(ys), high)
    if isinstance(shape, Prism):
        return _compiled_prism(shape).bounds(within)
    low, high = _open(shape.elevation or (None, None))
    return (-math.inf, -math.inf, low), (math.inf, math.inf, high)


_NOWHERE: Bounds = ((math.inf,) * 3, (-math.inf,) * 3)


# --- rules ------------------------------------------------------------------------------


def _rule(rule: Rule, points: PointBlock) -> Decision:
    for known, decided in points.known:
        if known is rule:
            return decided
    if rule.clouds is not None and points.cloud not in rule.clouds:
        return False
    allowed = decide_clip(rule.clip, points)
    if allowed is False:
        return False
    result: Decision = False
    for region in rule.regions:
        result = _join(region, rule, points, result)
    result = _and(result, allowed)
    if result is False:
        return False
    state = points.state(rule.at)
    if rule.hidden_classes:
        shown = ~_table(rule.hidden_classes)[state.classification]
        result = _and(result, shown)
    if state.removed is not None:
        result = _and(result, ~state.removed)
    return result


def _join(region: Region, rule: Rule, points: PointBlock, so_far: Decision) -> Decision:
    if region.invert or region.shape is None:
        return _not(so_far)
    if region.mode in ("subtract", "intersect") and so_far is False:
        return False
    shape = region.shape
    if isinstance(shape, Where):
        classes = points.state(rule.at).classification if shape.classes is not None else None
        hit = _where(shape, points, classes)
    else:
        hit = decide(shape, points)
    if region.mode == "replace":
        return hit
    if region.mode == "add":
        return _not(_and(_not(so_far), _not(hit)))
    return _and(so_far, hit if region.mode == "intersect" else _not(hit))


def _rule_bounds(rule: Rule, within: Bounds | None) -> Bounds:
    result = _NOWHERE
    for region in rule.regions:
        if region.invert or region.shape is None:
            result = EVERYWHERE
        elif region.mode == "replace":
            result = bounds_of(region.shape, within)
        elif region.mode == "add":
            other = bounds_of(region.shape, within)
            result = (
                _each(min, result[0], other[0]),
                _each(max, result[1], other[1]),
            )
        elif region.mode == "intersect":
            result = _overlap(result, bounds_of(region.shape, within))
    if rule.clip is not None and rule.clip.mode == "inside":
        result = _overlap(result, bounds_of(rule.clip.shape, within))
    return result


def _overlap(a: Bounds, b: Bounds) -> Bounds:
    return _each(max, a[0], b[0]), _each(min, a[1], b[1])


def _each(pick: Callable[[float, float], float], a: Vec3, b: Vec3) -> Vec3:
    return pick(a[0], b[0]), pick(a[1], b[1]), pick(a[2], b[2])


def _and(a: Decision, b: Decision) -> Decision:
    if a is False or b is False:
        return False
    if a is True:
        return b
    return a if b is True else a & b


def _not(a: Decision) -> Decision:
    return not a if isinstance(a, bool) else ~a


# --- attributes -------------------------------------------------------------------------


def _where(shape: Where, points: PointBlock, classes: npt.NDArray[np.uint8] | None) -> Decision:
    result: Decision = True
    if shape.elevation is not None:
        low, high = points.bounds
        side = int(_range_sides(shape.elevation, low[2:], high[2:])[0])
        if side == OUT:
            return False
        if side == EDGE:
            result = _in_range(points.axis(2), shape.elevation)
    if shape.classes is not None:
        if classes is None:
            classes = points.state(0).classification
        result = _and(result, _table(shape.classes)[classes])
    named = [
        ("intensity", shape.intensity),
        ("return_number", shape.returns),
        ("gps_time", shape.gps_time),
    ]
    if shape.attribute is not None:
        named.append(shape.attribute)
    for name, limits in named:
        if limits is None or result is False:
            continue
        found = points.value(name)
        if found is None:
            return False
        values, valid = found
        result = _and(result, _in_range(values, limits))
        if valid is not None:
            result = _and(result, valid)
    if shape.sources is not None and result is not False:
        found = points.value("point_source_id")
        if found is None:
            return False
        result = _and(result, np.isin(found[0], list(shape.sources)))
    return result


def _in_range(values: Floats, limits: Range) -> Mask:
    low, high = limits
    inside = np.ones(len(values), np.bool_)
    if low is not None:
        inside &= values >= low
    if high is not None:
        inside &= values <= high
    return inside


def _range_sides(limits: Range, low: Floats, high: Floats) -> Sides:
    a, b = _open(limits)
    sides = np.full(len(low), EDGE, np.uint8)
    sides[(a <= low) & (high <= b)] = IN
    sides[(high < a) | (low > b)] = OUT
    return sides


def _worse(*sides: Sides) -> Sides:
    """The sides of what must be in all: out of one is out, in all is in."""
    result = sides[0].copy()
    for other in sides[1:]:
        result[(other == EDGE) & (result == IN)] = EDGE
        result[other == OUT] = OUT
    return result


def _open(limits: Range) -> tuple[float, float]:
    low, high = limits
    return -math.inf if low is None else low, math.inf if high is None else high


@lru_cache(maxsize=256)
def _table(classes: frozenset[int]) -> Mask:
    table = np.zeros(256, np.bool_)
    table[[c for c in classes if 0 <= c <= 255]] = True
    return table


# --- shapes -----------------------------------------------------------------------------


def _shape(shape: Box | Prism | Polygon, points: PointBlock) -> Decision:
    side = None if points.side is None else points.side(shape)
    if side is None and len(points) >= _FEW:
        low, high = points.bounds
        side = int(classify_boxes(shape, low[None], high[None])[0])
    if side is not None and side != EDGE:
        return side == IN
    if isinstance(shape, Prism):
        test = _compiled_prism(shape).test
    elif isinstance(shape, Polygon):
        test = _PolygonTest(shape).test
    else:
        test = _Turned.of(shape).test
    result = np.empty(len(points), np.bool_)
    for start in range(0, len(points), _CHUNK):
        part = slice(start, min(start + _CHUNK, len(points)))
        result[part] = test(points, part)
    return result


@dataclass(frozen=True)
class _PolygonTest:
    shape: Polygon

    def test(self, points: PointBlock, part: slice) -> Mask:
        raster = _raster(self.shape.polygon, 0.0)
        inside = raster.contains(points.axis(0, part), points.axis(1, part))
        if self.shape.z != (None, None):
            inside &= _in_range(points.axis(2, part), self.shape.z)
        return inside


@lru_cache(maxsize=16)
def _raster(polygon: tuple[tuple[float, float], ...], cell: float) -> PolygonRaster:
    return PolygonRaster(polygon or ((0.0, 0.0),), cell)


@dataclass(frozen=True)
class _Turned:
    """A box in its own axes: ``u`` and ``v`` about the centre, turned; ``z`` as it is."""

    shape: Box
    cos: float
    sin: float

    @staticmethod
    def of(shape: Box) -> _Turned:
        angle = math.radians(shape.rotation)
        return _Turned(shape, math.cos(angle), math.sin(angle))

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
        z = _range_sides((a[2], b[2]), low[:, 2], high[:, 2])
        if self.shape.rotation == 0.0:
            x = _range_sides((a[0], b[0]), low[:, 0], high[:, 0])
            y = _range_sides((a[1], b[1]), low[:, 1], high[:, 1])
            return _worse(x, y, z)
        cx, cy, hx, hy = self._centre
        px, py = (low[:, 0] + high[:, 0]) / 2 - cx, (low[:, 1] + high[:, 1]) / 2 - cy
        wide, deep = (high[:, 0] - low[:, 0]) / 2, (high[:, 1] - low[:, 1]) / 2
        pad = _SLACK * (np.abs(px) + np.abs(py) + wide + deep + abs(cx) + abs(cy) + hx + hy)
        c, s = abs(self.cos), abs(self.sin)
        u, v = px * self.cos + py * self.sin, py * self.cos - px * self.sin
        ru, rv = wide * c + deep * s + pad, deep * c + wide * s + pad
        x, y = _range_sides((-hx, hx), u - ru, u + ru), _range_sides((-hy, hy), v - rv, v + rv)
        return _worse(x, y, z)

    def bounds(self) -> Bounds:
        if self.shape.rotation == 0.0:
            return self.shape.min, self.shape.max
        cx, cy, hx, hy = self._centre
        c, s = abs(self.cos), abs(self.sin)
        wide, deep = hx * c + hy * s, hy * c + hx * s
        pad = _SLACK * max(abs(cx), abs(cy), wide, deep)
        wide, deep = wide + pad, deep + pad
        z0, z1 = self.shape.min[2], self.shape.max[2]
        return (cx - wide, cy - deep, z0), (cx + wide, cy + deep, z1)


class _Prism:
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
            return EVERYWHERE if self.shape.polygon else _NOWHERE
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
def _compiled_prism(shape: Prism) -> _Prism:
    return _Prism(shape)


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
