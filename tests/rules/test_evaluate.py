"""A rule is a fact about points: whoever asks, in whatever batch, gets the same bits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oniyanma.rules.block import PointBlock, PointState, Real
from oniyanma.rules.evaluate import bounds_of, classify_boxes, decide, evaluate
from oniyanma.rules.model import Box, Clip, Polygon, Prism, Region, Rule, Where
from oniyanma.rules.polygon import EDGE, IN, PolygonRaster, even_odd
from oniyanma.scene import camera as cam
from oniyanma.scene.state import Camera

SCALE, OFFSET = (0.01, 0.01, 0.001), (500_000.0, 5_000_000.0, 0.0)
BOUNDS = ((500_000.0, 5_000_000.0, 0.0), (500_100.0, 5_000_100.0, 20.0))
VIEW = (800, 600)


def block(n: int, seed: int = 0) -> PointBlock:
    rng = np.random.default_rng(seed)
    xyz = rng.integers(0, (10_001, 10_001, 20_001), (n, 3), dtype=np.int32)
    attributes = {
        "classification": rng.integers(0, 9, n, dtype=np.uint8),
        "intensity": rng.integers(0, 1000, n, dtype=np.uint16),
        "return_number": rng.integers(1, 5, n, dtype=np.uint8),
        "gps_time": rng.random(n) * 1e6,
        "point_source_id": rng.integers(0, 4, n, dtype=np.uint16),
        "height": rng.integers(-5, 400, n, dtype=np.int16),
    }
    return PointBlock("c", xyz, SCALE, OFFSET, attributes, {"height": Real(0.1, 2.0, -5)})


coordinate = st.tuples(
    st.floats(499_990, 500_110), st.floats(4_999_990, 5_000_110), st.floats(-2, 22)
)
plan = st.tuples(st.floats(499_990, 500_110), st.floats(4_999_990, 5_000_110))
screen = st.tuples(st.floats(-100, 900), st.floats(-100, 700))
limits = st.tuples(st.none() | st.floats(0, 15), st.none() | st.floats(5, 30))


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    a, b = draw(coordinate), draw(coordinate)
    low = (min(a[0], b[0]), min(a[1], b[1]), min(a[2], b[2]))
    high = (max(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2]))
    return Box(low, high, draw(st.sampled_from([0.0, 30.0, 90.0, -117.5])))


@st.composite
def prisms(draw: st.DrawFn, polygon: st.SearchStrategy | None = None) -> Prism:
    camera = Camera(projection=draw(st.sampled_from(["perspective", "orthographic"])))
    camera = cam.preset(camera, draw(st.sampled_from(list(cam.PRESETS))))
    camera = cam.fit(camera, BOUNDS, VIEW)
    near = draw(st.floats(0, 0.95))  # move into the cloud: some of it is behind the eye
    eye = np.array(camera.eye) * (1 - near) + np.array(camera.target) * near
    camera = replace(camera, eye=cam.as_vec3(eye))
    m = cam.matrices(camera, VIEW, BOUNDS)
    corners = draw(st.lists(screen, min_size=3, max_size=12) if polygon is None else polygon)
    matrix = tuple(m.relative.ravel().tolist())
    return Prism(tuple(corners), matrix, cam.as_vec3(m.eye), VIEW)


wheres = st.builds(
    Where,
    classes=st.none() | st.frozensets(st.integers(0, 9), max_size=4),
    elevation=st.none() | limits,
    intensity=st.none() | st.tuples(st.floats(0, 500), st.none()),
    returns=st.none() | st.tuples(st.just(1.0), st.floats(1, 4)),
    gps_time=st.none() | st.tuples(st.floats(0, 5e5), st.floats(5e5, 1e6)),
    sources=st.none() | st.frozensets(st.integers(0, 4), max_size=3),
    attribute=st.none() | st.tuples(st.sampled_from(["height", "missing"]), limits),
)
polygons = st.builds(Polygon, st.lists(plan, min_size=3, max_size=12).map(tuple), limits)
shapes = st.one_of(boxes(), prisms(), polygons, wheres)
regions = st.lists(
    st.one_of(
        st.builds(Region, shapes, st.sampled_from(["replace", "add", "subtract", "intersect"])),
        st.just(Region(None, "replace", True)),
    ),
    min_size=1,
    max_size=4,
)
rules = st.builds(
    Rule,
    regions.map(tuple),
    clip=st.none()
    | st.builds(Clip, st.one_of(boxes(), polygons), st.sampled_from(["inside", "outside"])),
    hidden_classes=st.frozensets(st.integers(0, 9), max_size=3),
)
POINTS = block(6000)


def plain_polygon(x: float, y: float, polygon: tuple) -> bool:
    inside = False
    for i, (xi, yi) in enumerate(polygon):
        xj, yj = polygon[i - 1]
        if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
            inside = not inside
    return inside


def plain(shape: object, x: float, y: float, z: float, at: dict) -> bool:
    """One point, one rule, written as COMMANDS.md says it and in no hurry."""

    def ranged(limit: tuple, value: float) -> bool:
        return (limit[0] is None or value >= limit[0]) and (limit[1] is None or value <= limit[1])

    if isinstance(shape, Rule):
        result = False
        for region in shape.regions:
            if region.invert:
                result = not result
                continue
            hit = plain(region.shape, x, y, z, at)
            result = {
                "replace": hit,
                "add": result or hit,
                "subtract": result and not hit,
                "intersect": result and hit,
            }[region.mode]
        if shape.clip is not None:
            result &= plain(shape.clip.shape, x, y, z, at) == (shape.clip.mode == "inside")
        return result and at["classification"] not in shape.hidden_classes
    if isinstance(shape, Box):
        cx, cy = (shape.min[0] + shape.max[0]) / 2, (shape.min[1] + shape.max[1]) / 2
        hx, hy = (shape.max[0] - shape.min[0]) / 2, (shape.max[1] - shape.min[1]) / 2
        if not shape.min[2] <= z <= shape.max[2]:
            return False
        if shape.rotation == 0:
            return shape.min[0] <= x <= shape.max[0] and shape.min[1] <= y <= shape.max[1]
        a = math.radians(shape.rotation)
        u = (x - cx) * math.cos(a) + (y - cy) * math.sin(a)
        v = (y - cy) * math.cos(a) - (x - cx) * math.sin(a)
        return abs(u) <= hx and abs(v) <= hy
    if isinstance(shape, Polygon):
        return plain_polygon(x, y, shape.polygon) and ranged(shape.z, z)
    if isinstance(shape, Prism):
        m = np.array(shape.matrix).reshape(4, 4)
        w_, h_ = shape.viewport
        d = (x - shape.origin[0], y - shape.origin[1], z - shape.origin[2])

        def row(r: list[float]) -> float:
            return d[0] * r[0] + d[1] * r[1] + d[2] * r[2] + r[3]

        w = row(m[3].tolist())
        if row((m[2] + m[3]).tolist()) < 0 or w <= 0:
            return False
        px = row(((m[0] + m[3]) * (w_ / 2)).tolist()) / w
        py = row(((m[3] - m[1]) * (h_ / 2)).tolist()) / w
        return plain_polygon(px, py, shape.polygon)
    assert isinstance(shape, Where)
    ok = shape.classes is None or at["classification"] in shape.classes
    ok &= shape.elevation is None or ranged(shape.elevation, z)
    ok &= shape.intensity is None or ranged(shape.intensity, float(at["intensity"]))
    ok &= shape.returns is None or ranged(shape.returns, float(at["return_number"]))
    ok &= shape.gps_time is None or ranged(shape.gps_time, float(at["gps_time"]))
    ok &= shape.sources is None or at["point_source_id"] in shape.sources
    if shape.attribute is not None:
        name, limit = shape.attribute
        ok &= name == "height" and at["height"] != -5
        ok = ok and ranged(limit, float(at["height"]) * 0.1 + 2.0)
    return bool(ok)


@given(rules)
@settings(max_examples=80, deadline=None)
def test_a_rule_hits_the_points_a_plain_reading_of_it_hits(rule: Rule) -> None:
    some = POINTS.take(np.arange(0, 6000, 29))
    mask = evaluate(rule, some)
    xs, ys, zs = (some.axis(i).tolist() for i in range(3))
    for i in range(len(some)):
        at = {name: values[i] for name, values in some.attributes.items()}
        assert mask[i] == plain(rule, xs[i], ys[i], zs[i], at)


@given(rules, st.integers(20, 4000))
@settings(max_examples=60, deadline=None)
def test_all_points_and_nodes_agree_bit_for_bit(rule: Rule, size: int) -> None:
    """FIELD 44: cut into nodes of any size and order, a rule hits the same points."""
    whole = evaluate(rule, POINTS)
    order = np.lexsort((POINTS.xyz[:, 0] // 1000, POINTS.xyz[:, 1] // 1000))
    for start in range(0, len(POINTS), size):
        part = order[start : start + size]
        assert (evaluate(rule, POINTS.take(part)) == whole[part]).all()


@given(st.one_of(boxes(), prisms(), polygons))
@settings(max_examples=100, deadline=None)
def test_a_box_that_is_in_or_out_holds_no_point_that_says_otherwise(shape) -> None:
    mask = evaluate(shape, POINTS)
    order = np.lexsort((POINTS.xyz[:, 0] // 500, POINTS.xyz[:, 1] // 500, POINTS.xyz[:, 2] // 4000))
    parts = [order[start : start + 60] for start in range(0, len(POINTS), 60)]
    low, high = (np.array([POINTS.take(part).bounds[end] for part in parts]) for end in (0, 1))
    sides = classify_boxes(shape, low, high)
    assert sides.shape == (len(parts),)
    for part, side, a, b in zip(parts, sides, low, high, strict=True):
        assert side == EDGE or (mask[part] == (side == IN)).all()
        assert classify_boxes(shape, a[None], b[None])[0] == side, "alone as among others"


@given(rules)
@settings(max_examples=60, deadline=None)
def test_nothing_outside_a_rules_bounds_is_hit(rule: Rule) -> None:
    mask = evaluate(rule, POINTS)
    for low, high in (bounds_of(rule), bounds_of(rule, BOUNDS)):
        xyz = np.stack([POINTS.axis(i) for i in range(3)], axis=1)
        assert ((xyz >= low) & (xyz <= high)).all(axis=1)[mask].all()


@pytest.mark.parametrize("cell", [0.0, 1.0])
@given(st.lists(screen, min_size=3, max_size=60))
@settings(max_examples=60, deadline=None)
def test_the_raster_decides_as_the_exact_test_does(cell: float, polygon: list) -> None:
    rng = np.random.default_rng(5)
    raster = PolygonRaster(polygon, cell)
    _ = raster.grid
    x, y = rng.uniform(-150, 950, 40_000), rng.uniform(-150, 750, 40_000)
    corners = np.array(polygon)
    x[: len(corners)], y[: len(corners)] = corners.T
    assert (raster.contains(x, y) == even_odd(x, y, raster.polygon)).all()


@given(st.lists(screen, min_size=3, max_size=12), screen, st.floats(0, 200), st.floats(0, 200))
@settings(max_examples=100, deadline=None)
def test_a_rectangle_is_in_or_out_only_when_all_of_it_is(polygon, corner, width, height) -> None:
    raster = PolygonRaster(polygon, 1.0)
    low = np.array([corner])
    side = raster.rectangles(low, np.add(low, (width, height)))[0]
    x, y = np.meshgrid(np.linspace(0, width, 25), np.linspace(0, height, 25))
    inside = even_odd(corner[0] + x.ravel(), corner[1] + y.ravel(), raster.polygon)
    assert side == EDGE or (inside == (side == IN)).all()


def test_of_two_points_on_one_ray_only_the_one_before_the_camera_is_hit() -> None:
    """FIELD 43: the lasso takes nothing behind the camera."""
    xyz = np.array([[5000, 5000, 10_000], [5000, 5000, 0]], np.int32)
    two = PointBlock("c", xyz, SCALE, OFFSET, {})
    for projection in ("perspective", "orthographic"):
        camera = Camera(
            (500_050.0, 5_000_050.0, 5.0),
            (500_050.0, 5_000_050.0, 0.0),
            (0.0, 1.0, 0.0),
            projection,
        )
        m = cam.matrices(
            camera, VIEW, ((500_050.0, 5_000_050.0, 0.0), (500_050.0, 5_000_050.0, 4.0))
        )
        whole = ((-1.0, -1.0), (801.0, -1.0), (801.0, 601.0), (-1.0, 601.0))
        prism = Prism(whole, tuple(m.relative.ravel().tolist()), cam.as_vec3(m.eye), VIEW)
        assert evaluate(prism, two).tolist() == [False, True]


def test_a_rule_reads_class_and_removal_as_at_its_position() -> None:
    points = block(4)
    classes = np.array([2, 2, 6, 6], np.uint8)
    states = {
        1: PointState(classes, None),
        2: PointState(np.array([6, 2, 6, 6], np.uint8), np.array([False, False, True, False])),
    }
    points.as_at = states.__getitem__
    sixes = (Region(Where(classes=frozenset({6}))),)
    assert evaluate(Rule(sixes, at=1), points).tolist() == [False, False, True, True]
    assert evaluate(Rule(sixes, at=2), points).tolist() == [True, False, False, True]
    joined = Rule((Region(Rule(sixes, at=1)), Region(Where(classes=frozenset({2})), "add")), at=2)
    assert evaluate(joined, points).tolist() == [False, True, False, True]
    hidden = Rule((Region(Where()),), at=1, hidden_classes=frozenset({2}))
    assert evaluate(hidden, points).tolist() == [False, False, True, True]


def test_other_clouds_are_not_hit_and_nothing_is_hit_in_no_points() -> None:
    everything = (Region(Where()),)
    assert decide(Rule(everything, clouds=frozenset({"other"})), POINTS) is False
    assert evaluate(Rule(everything, clouds=frozenset({"c"})), POINTS).all()
    assert evaluate(Rule(everything), block(0)).shape == (0,)


BIG = block(12_000, 9)


@given(prisms(st.lists(screen, min_size=20, max_size=60)))
@settings(max_examples=40, deadline=None)
def test_a_large_batch_asks_the_raster_roughly_and_still_answers_as_single_points_do(prism) -> None:
    """Near and far, before and behind the eye: the float32 look-up decides nothing wrongly."""
    whole = evaluate(prism, BIG)
    small = [evaluate(prism, BIG.take(np.arange(i, i + 500))) for i in range(0, len(BIG), 500)]
    assert (whole == np.concatenate(small)).all()
