"""Where points land: exact over 50 km, in the right order from 10 cm to 100 km, never clipped."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from oniyanma.render import gl, look, shaderlib
from oniyanma.render.arena import ATTRIBUTES
from oniyanma.render.headless import HeadlessRenderer
from oniyanma.render.pack import places
from oniyanma.scene.camera import Matrices, matrices
from oniyanma.scene.state import Camera
from tests.render.scenes import PLAIN, View, above, cloud_info, lit, node, one_cloud

SIZE = (1280, 720)
SIDE = 64  # the probe's grid


class Probe:
    """Reads where `points.vert` puts points: it runs unchanged, its position becomes a colour."""

    def __init__(self) -> None:
        self.renderer = HeadlessRenderer()
        self.programs: dict[bool, gl.Program] = {}
        self.renderer.run(self.build)

    def build(self) -> None:
        self.target = gl.Target()
        self.place = gl.Buffer(SIDE * SIDE * 12)
        self.cell = gl.Buffer(SIDE * SIDE * 8)
        at = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE)), axis=-1).reshape(-1, 2)
        self.cell.write(0, ((at + 0.5) / SIDE * 2 - 1).astype(np.float32))

    def program(self, ortho: bool) -> gl.Program:
        if ortho not in self.programs:
            source = shaderlib.load(
                "points.vert", ["MODE_UNIFORM", *(["ORTHO"] if ortho else [])]
            ).replace("void main() {", "void put() {")
            source += """
attribute vec2 a_cell;
uniform float u_axis;
void main() {
    put();
    vec2 at = gl_Position.xy / gl_Position.w * 0.25 + 0.5;
    float value = u_axis < 0.5 ? at.x : at.y;
    float high = floor(value * 256.0);
    float middle = floor((value * 256.0 - high) * 256.0);
    float low = floor(((value * 256.0 - high) * 256.0 - middle) * 256.0);
    v_color = vec3(high, middle, low) / 255.0;
    gl_PointSize = 1.0;
    gl_Position = vec4(a_cell, 0.0, 1.0);
}
"""
            fragment = shaderlib.load("points.frag", ["SQUARE"])
            self.programs[ortho] = gl.Program("probe", source, fragment, [*ATTRIBUTES, "a_cell"])
        return self.programs[ortho]

    def pixels(
        self, xyz: npt.NDArray[np.int32], info: object, lens: Matrices
    ) -> npt.NDArray[np.float64]:
        """Logical pixels (n, 2) as the GPU computed them."""
        return self.renderer.run(lambda: self.read(xyz, info, lens))

    def read(
        self, xyz: npt.NDArray[np.int32], info: object, lens: Matrices
    ) -> npt.NDArray[np.float64]:
        uniforms, _ = look.frame_uniforms(lens)
        uniforms |= look.eye_uniforms(lens, info) | {"u_size": 1.0}  # type: ignore[arg-type]
        self.place.write(0, places(xyz))
        out = []
        for axis in (0.0, 1.0):
            self.target.bind(SIDE, SIDE)
            gl.begin_points((0, 0, SIDE, SIDE))
            gl.clear()
            self.program(not lens.perspective).use(uniforms | {"u_axis": axis})
            for i in range(3):
                self.place.attribute(i, 2, gl.UNSIGNED_SHORT, 12, i * 4, False)
            self.cell.attribute(5, 2, gl.FLOAT, 8, 0, False)
            gl.draw_points(0, len(xyz))
            rgb = gl.read_pixels(SIDE, SIDE)[::-1].reshape(-1, 4)[: len(xyz), :3].astype(np.int64)
            value = (rgb[:, 0] * 65536 + rgb[:, 1] * 256 + rgb[:, 2]) / 2.0**24
            out.append((value - 0.5) * 4.0)
            gl.end(6, 0)
        width, height = lens.viewport
        x, y = (out[0] + 1) * width / 2, (1 - out[1]) * height / 2
        return np.stack([x, y], axis=1)


@pytest.fixture(scope="module")
def probe() -> Iterator[Probe]:
    made = Probe()
    yield made
    made.renderer.close()


def spread(seed: int, center: tuple[float, float, float], far: float) -> npt.NDArray[np.float64]:
    """Points from 1 m to ``far`` around a place, as many near as far."""
    rng = np.random.default_rng(seed)
    away = 10.0 ** rng.uniform(0.0, math.log10(far), SIDE * SIDE)
    way = rng.normal(size=(SIDE * SIDE, 3)) * (1.0, 1.0, 0.2)
    way /= np.linalg.norm(way, axis=1)[:, None]
    return np.asarray(center) + way * away[:, None]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    east=st.floats(0.0, 50_000.0),
    north=st.floats(0.0, 50_000.0),
    turn=st.floats(0.0, 360.0),
    tilt=st.floats(-80.0, 80.0),
    fov=st.floats(10.0, 90.0),
    ortho=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_every_point_lands_within_a_hundredth_of_a_pixel_over_50_km(
    probe: Probe,
    east: float,
    north: float,
    turn: float,
    tilt: float,
    fov: float,
    ortho: bool,
    seed: int,
) -> None:
    """FIELD_REPORTS 9: against float64, at UTM size, near and far points in one view."""
    eye = (500_000.0 + east, 5_000_000.0 + north, 200.0)
    points = spread(seed, eye, 50_000.0)
    info = cloud_info(points, 0.001, (500_000.0, 5_000_000.0, 0.0))
    xyz = node(points, info).xyz
    world = xyz * np.array(info.scale) + np.array(info.offset)
    a, b = math.radians(turn), math.radians(tilt)
    way = (math.cos(a) * math.cos(b), math.sin(a) * math.cos(b), math.sin(b))
    target = tuple(e + 100.0 * w for e, w in zip(eye, way, strict=True))
    camera = Camera(eye, target, projection="orthographic" if ortho else "perspective", fov=fov)  # type: ignore[arg-type]
    lens = matrices(camera, SIZE, (tuple(points.min(0)), tuple(points.max(0))))  # type: ignore[arg-type]
    expected, depth = lens.project(world)
    inside = (expected > 0).all(1) & (expected < SIZE).all(1)
    if not ortho:
        inside &= depth > 0
    got = probe.pixels(xyz, info, lens)
    assume(inside.sum() > 3)
    assert np.abs(got - expected)[inside].max() <= 0.01


def test_a_camera_moving_by_millimetres_moves_the_picture_smoothly(probe: Probe) -> None:
    """No jitter: each millimetre shifts each point by what float64 says, within 0.01 px."""
    eye = np.array((549_321.123, 5_049_876.321, 120.0))
    rng = np.random.default_rng(3)
    points = eye + rng.uniform((-3, 5, -2), (3, 12, 2), (SIDE * SIDE, 3))
    info = cloud_info(points, 0.001, (500_000.0, 5_000_000.0, 0.0))
    xyz = node(points, info).xyz
    world = xyz * np.array(info.scale) + np.array(info.offset)
    before = None
    for step in range(12):
        at = eye + np.array((0.001 * step, 0.0, 0.0))
        camera = Camera(tuple(at), (at[0], at[1] + 10.0, at[2]))  # type: ignore[arg-type]
        lens = matrices(camera, SIZE, (tuple(points.min(0)), tuple(points.max(0))))  # type: ignore[arg-type]
        expected, _ = lens.project(world)
        got = probe.pixels(xyz, info, lens)
        if before is not None:
            moved, should = got - before[0], expected - before[1]
            assert np.abs(moved - should).max() <= 0.01
        before = (got, expected)


def test_points_one_centimetre_apart_are_ten_pixels_apart_when_they_should_be(
    renderer: HeadlessRenderer,
) -> None:
    """FIELD_REPORTS 9, on pixels, and the same pixels in a second frame."""
    at = (500_000.0, 5_000_000.0, 100.0)
    view = one_cloud(
        [at, (500_000.01, 5_000_000.0, 100.0)],
        above((500_000.005, 5_000_000.0005, 100.0), 0.1),
        offset=(500_000.0, 5_000_000.0, 0.0),
    )
    first = renderer.pixels(view, 100, 100)
    rows, columns = np.nonzero(lit(first))
    assert len(columns) == 2 and len(set(rows.tolist())) == 1
    assert columns[1] - columns[0] == 10
    assert np.array_equal(first, renderer.pixels(view, 100, 100))


def test_clouds_with_different_scales_and_offsets_meet_in_one_scene(
    renderer: HeadlessRenderer,
) -> None:
    """The same place stored in two ways is the same pixel."""
    place = np.array([[637_000.0, 849_000.0, 430.0]])
    one = cloud_info(place, 0.001, (600_000.0, 800_000.0, 0.0))
    other = cloud_info(place, 0.0000001, (636_950.0, 849_010.0, 400.0))
    view = one_cloud(place, above((637_000.0, 849_000.0, 430.0), 10.0))
    pictures = []
    for info in (one, other):
        view.infos["a"] = info
        view.load(node(place, info))
        pictures.append(renderer.pixels(view, 64, 64))
    assert np.array_equal(pictures[0], pictures[1])
    assert lit(pictures[0]).sum() == 1


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    distance=st.floats(math.log10(0.1), 5.0).map(lambda e: 10.0**e),
    ratio=st.floats(1.001, 100.0),
)
def test_the_nearer_of_two_points_is_seen_from_10_cm_to_100_km(
    shared_renderer: HeadlessRenderer, distance: float, ratio: float
) -> None:
    """In one view whose depth is 100 km, whatever comes first in the file."""
    far = min(distance * ratio, 150_000.0)
    for order in (1, -1):
        points = np.array([(0, distance, 0), (0, far, 0), (0, 110_000.0, 0)], float)[::order]
        red = np.where(np.arange(3) == (0 if order == 1 else 2), 255, 0).astype(np.uint16)
        blue = (255 - red).astype(np.uint16)
        view = one_cloud(
            points,
            Camera((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
            scale=0.0001,
            attributes={"red": red, "green": red * 0, "blue": blue},
            display=replace(PLAIN, point_size=3.0),
        )
        middle = shared_renderer.pixels(view, 33, 33)[16, 16]
        assert tuple(middle[:3]) == (255, 0, 0)


@pytest.fixture(scope="module")
def shared_renderer() -> Iterator[HeadlessRenderer]:
    made = HeadlessRenderer()
    yield made
    made.close()


@pytest.mark.parametrize("projection", ["perspective", "orthographic"])
def test_a_cloud_far_from_the_origin_is_seen_from_every_side(
    renderer: HeadlessRenderer, projection: str
) -> None:
    """FIELD_REPORTS 11: orbit 0..360 by 15 degrees, points in all 24 frames."""
    center = np.array((500_000.0, 5_000_000.0, 100.0))
    points = center + np.random.default_rng(1).uniform(-5, 5, (500, 3))
    view = one_cloud(points, Camera(), offset=(500_000.0, 5_000_000.0, 0.0))
    for turn in range(0, 360, 15):
        a = math.radians(turn)
        eye = center + 30.0 * np.array((math.cos(a), math.sin(a), 0.4))
        view.look(
            Camera(tuple(eye), tuple(center), projection=projection)  # type: ignore[arg-type]
        )
        assert lit(renderer.pixels(view, 96, 96)).sum() > 100


def test_a_point_a_millimetre_away_in_a_20_metre_scene_is_drawn(
    renderer: HeadlessRenderer,
) -> None:
    """FIELD_REPORTS 12: there is no near plane to fall behind."""
    points = [(0.0, 0.001, 0.0), (0.0, 20.0, 5.0)]
    view = one_cloud(points, Camera((0.0, 0.0, 0.0), (0.0, 10.0, 0.0)), scale=0.0001)
    assert lit(renderer.pixels(view, 65, 65))[32, 32]


def test_orthographic_views_show_what_lies_behind_the_eye(renderer: HeadlessRenderer) -> None:
    """Zooming in never cuts a cloud open: depth spans the bounds."""
    points = [(0.0, 0.0, z) for z in (-50.0, 0.0, 50.0)]
    view = one_cloud([*points, (1.0, 0.0, 50.0)], above((0.0, 0.0, 0.0), 4.0))
    assert lit(renderer.pixels(view, 64, 64)).sum() == 2


def test_points_behind_a_perspective_eye_are_not_drawn(renderer: HeadlessRenderer) -> None:
    points = [(0.0, -5.0, 0.0), (0.0, -0.001, 0.0), (1.0, -3.0, 0.5)]
    view = one_cloud(points, Camera((0.0, 0.0, 0.0), (0.0, 10.0, 0.0)))
    assert not lit(renderer.pixels(view, 64, 64)).any()


def test_degrees_are_stretched_as_the_view_says(renderer: HeadlessRenderer) -> None:
    """FIELD_REPORTS 15: with a display scale, width and height are those of the ground."""
    points = [(8.0, 47.0, 0.0), (8.001, 47.0, 0.0), (8.0, 47.001, 0.0), (8.001, 47.001, 0.0)]
    view: View = one_cloud(points, Camera(), scale=1e-7)
    view.scale = (75_000.0, 111_320.0, 1.0)
    view.look(Camera((8.0005, 47.0005, 300.0), (8.0005, 47.0005, 0.0), (0.0, 1.0, 0.0)))
    rows, columns = np.nonzero(lit(renderer.pixels(view, 200, 200)))
    assert (np.ptp(rows) / np.ptp(columns)) == pytest.approx(111_320 / 75_000, rel=0.03)
