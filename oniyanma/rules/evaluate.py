"""Which points a rule hits: for a node, a chunk of the source, or one point, the same answer.

Only elementwise arithmetic stands here: a matrix product of one row differs in its last bits
from the same row in a batch, and two ways of asking would disagree. Whole blocks are decided by
their box first; that is exact too, because it decides only what is decided for certain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from oniyanma.rules.block import Floats, Mask, PointBlock
from oniyanma.rules.model import (
    Box,
    Clip,
    Polygon,
    Prism,
    Region,
    Rule,
    Shape,
    Vec3,
    Where,
)
from oniyanma.rules.polygon import EDGE, IN, OUT, Sides
from oniyanma.rules.shapes import (
    EVERYWHERE,
    NOWHERE,
    SLACK,
    Bounds,
    PolygonTest,
    TurnedBox,
    in_range,
    open_ends,
    prism_test,
    range_sides,
    raster_of,
    worse,
)

Decision = bool | Mask  # True or False: every point, or none
_CHUNK = 32_768  # points whose temporaries stay in the cache
_FEW = 1500  # points that are sooner asked themselves than their box


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
        return TurnedBox.of(shape).sides(low, high)
    if isinstance(shape, Prism):
        return prism_test(shape).sides(low, high)
    pad = SLACK * np.maximum(np.abs(low), np.abs(high))[:, :2].max(axis=1, initial=0.0)[:, None]
    plan = raster_of(shape.polygon, 0.0).rectangles(low[:, :2] - pad, high[:, :2] + pad)
    return worse(plan, range_sides(shape.z, low[:, 2], high[:, 2]))


def bounds_of(shape: Shape, within: Bounds | None = None) -> Bounds:
    """A world box around all that a rule or shape can hit, infinite where it is open.

    ``within``, the box of all points there are, makes a screen prism finite.
    """
    if isinstance(shape, Rule):
        return _rule_bounds(shape, within)
    if isinstance(shape, Box):
        return TurnedBox.of(shape).bounds()
    if isinstance(shape, Polygon):
        xs, ys = zip(*shape.polygon, strict=True) if shape.polygon else ((), ())
        if not xs:
            return NOWHERE
        low, high = open_ends(shape.z)
        return (min(xs), min(ys), low), (max(xs), max(ys), high)
    if isinstance(shape, Prism):
        return prism_test(shape).bounds(within)
    low, high = open_ends(shape.elevation or (None, None))
    return (-math.inf, -math.inf, low), (math.inf, math.inf, high)


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
    result = NOWHERE
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
        side = int(range_sides(shape.elevation, low[2:], high[2:])[0])
        if side == OUT:
            return False
        if side == EDGE:
            result = in_range(points.axis(2), shape.elevation)
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
        result = _and(result, in_range(values, limits))
        if valid is not None:
            result = _and(result, valid)
    if shape.sources is not None and result is not False:
        found = points.value("point_source_id")
        if found is None:
            return False
        result = _and(result, np.isin(found[0], list(shape.sources)))
    return result


@lru_cache(maxsize=256)
def _table(classes: frozenset[int]) -> Mask:
    table = np.zeros(256, np.bool_)
    table[[c for c in classes if 0 <= c <= 255]] = True
    return table


def _shape(shape: Box | Prism | Polygon, points: PointBlock) -> Decision:
    side = None if points.side is None else points.side(shape)
    if side is None and len(points) >= _FEW:
        low, high = points.bounds
        side = int(classify_boxes(shape, low[None], high[None])[0])
    if side is not None and side != EDGE:
        return side == IN
    if isinstance(shape, Prism):
        test = prism_test(shape).test
    elif isinstance(shape, Polygon):
        test = PolygonTest(shape).test
    else:
        test = TurnedBox.of(shape).test
    result = np.empty(len(points), np.bool_)
    for start in range(0, len(points), _CHUNK):
        part = slice(start, min(start + _CHUNK, len(points)))
        result[part] = test(points, part)
    return result
