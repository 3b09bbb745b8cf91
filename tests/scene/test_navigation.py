"""The camera stays finite, upright and at the cloud, and gestures do what the hand expects."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oniyanma.clouds.model import DEGREE, METRE, Crs
from oniyanma.scene import camera as cam
from oniyanma.scene import navigation as nav
from oniyanma.scene.state import Camera

UTM = ((500_000.0, 5_000_000.0, 100.0), (500_400.0, 5_000_300.0, 180.0))
VIEW = (1280, 720)
small = st.floats(-2000, 2000)
gestures = st.lists(
    st.one_of(
        st.tuples(st.just("orbit"), small, small, small, small),
        st.tuples(st.just("pan"), small, small, small, small),
        st.tuples(st.just("zoom"), small, small, st.floats(-300, 300), st.just(0.0)),
        st.tuples(st.just("look"), small, small, small, small),
        st.tuples(
            st.just("fly"), st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 5)
        ),
        st.tuples(st.just("preset"), st.integers(0, 6), st.just(0), st.just(0), st.just(0)),
        st.tuples(
            st.just("mode"), st.sampled_from(["orbit", "fly"]), st.just(0), st.just(0), st.just(0)
        ),
    ),
    max_size=30,
)


def started(bounds: cam.Bounds | None, projection: str = "perspective") -> Camera:
    first = cam.preset(Camera(projection=projection), "iso")  # type: ignore[arg-type]
    return cam.fit(first, bounds, VIEW)


def pixel(camera: Camera, ground: nav.Ground, point: cam.Vec3) -> np.ndarray:
    return cam.matrices(camera, VIEW, ground.bounds, ground.scale).project(point)[0][0]


@given(gestures, st.sampled_from(["perspective", "orthographic"]), st.sampled_from([UTM, None]))
@settings(max_examples=120, deadline=None)
def test_no_gesture_ever_flips_or_loses_the_camera(moves, projection, bounds) -> None:
    ground = nav.Ground(VIEW, bounds)
    camera = started(bounds, projection)
    centre, radius = ground.ball()
    for name, a, b, c, d in moves:
        point = (
            nav.anchor(camera, ground, 640 + (a if name != "mode" else 0) / 10, 360)
            if (name in ("orbit", "pan", "zoom"))
            else (0.0, 0.0, 0.0)
        )
        if name == "orbit":
            camera = nav.orbit(camera, ground, point, c, d)
        elif name == "pan":
            camera = nav.pan(camera, ground, point, c, d)
        elif name == "zoom":
            camera = nav.zoom(camera, ground, point, c)
        elif name == "look":
            camera = nav.look(camera, ground, c, d)
        elif name == "fly":
            camera = nav.fly(camera, ground, (a, b, c), d)
        elif name == "preset":
            camera = nav.kept(cam.preset(camera, list(cam.PRESETS)[a]), ground)
        else:
            camera = nav.kept(replace(camera, mode=a), ground)
        assert all(map(math.isfinite, (*camera.eye, *camera.target, *camera.up)))
        _, up, _ = cam.basis(camera)
        assert up[2] >= -1e-9, "flipped"
        distance = math.dist(camera.eye, camera.target)
        assert nav.NEAREST * radius * 0.5 <= distance <= nav.FARTHEST * radius * 3
        if camera.mode == "orbit":
            assert math.dist(camera.target, centre) <= radius * (1 + 1e-6)
            seen, _ = cam.matrices(camera, VIEW, bounds).project(camera.target)
            assert np.allclose(seen[0], (640, 360), atol=0.05)
        else:
            assert math.dist(camera.eye, centre) <= nav.FARTHEST * radius * 1.001
        m = cam.matrices(camera, VIEW, bounds)
        assert m.far > m.near and (m.near > 0 or not m.perspective)


@pytest.mark.parametrize("projection", ["perspective", "orthographic"])
@given(x=st.floats(0.3, 0.7), y=st.floats(0.3, 0.7), z=st.floats(0, 1), dx=small, dy=small)
@settings(max_examples=60, deadline=None)
def test_orbit_keeps_the_point_under_the_cursor_on_its_pixel(projection, x, y, z, dx, dy) -> None:
    ground = nav.Ground(VIEW, UTM)
    low, high = np.array(UTM[0]), np.array(UTM[1])
    point = cam.as_vec3(low + (high - low) * (x, y, z))
    camera = started(UTM, projection)
    after = nav.orbit(camera, ground, point, dx, dy)
    assert np.allclose(pixel(after, ground, point), pixel(camera, ground, point), atol=1e-3)


@pytest.mark.parametrize("projection", ["perspective", "orthographic"])
@given(px=st.floats(300, 900), py=st.floats(200, 500), steps=st.floats(-3, 25))
@settings(max_examples=60, deadline=None)
def test_zoom_keeps_the_point_under_the_cursor_on_its_pixel(projection, px, py, steps) -> None:
    ground = nav.Ground(VIEW, UTM)
    camera = started(UTM, projection)
    point = nav.anchor(camera, ground, px, py)
    after = nav.zoom(camera, ground, point, steps)
    if math.dist(after.target, ground.ball()[0]) < ground.ball()[1] * 0.99:
        assert np.allclose(pixel(after, ground, point), (px, py), atol=0.01)


@pytest.mark.parametrize("projection", ["perspective", "orthographic"])
def test_pan_takes_the_grabbed_point_along(projection: str) -> None:
    ground = nav.Ground(VIEW, UTM)
    camera = started(UTM, projection)
    point = (500_180.0, 5_000_160.0, 130.0)
    before = pixel(camera, ground, point)
    after = pixel(nav.pan(camera, ground, point, 31.0, -17.0), ground, point)
    assert np.allclose(after - before, (31.0, -17.0), atol=1e-3)


@pytest.mark.parametrize("name", list(cam.PRESETS))
@pytest.mark.parametrize("projection", ["perspective", "orthographic"])
@pytest.mark.parametrize("bounds", [UTM, ((1.0, 1, 1), (1, 1, 1)), None])
@pytest.mark.parametrize("viewport", [(1280, 720), (300, 900)])
def test_fit_shows_the_whole_box_and_fills_the_picture(name, projection, bounds, viewport) -> None:
    camera = cam.fit(cam.preset(Camera(projection=projection), name), bounds, viewport)
    m = cam.matrices(camera, viewport, bounds)
    box = bounds if bounds is not None and bounds[0] != bounds[1] else None
    if box is None:
        assert np.isfinite((*camera.eye, *camera.target)).all()
        return
    px, depth = m.project(cam.corners(box))
    assert (px >= -1e-6).all() and (px <= np.array(viewport) + 1e-6).all()
    assert (depth >= m.near).all() and (depth <= m.far).all()
    assert (np.ptp(px, axis=0) / viewport).max() > 0.6


def test_switching_the_projection_keeps_the_size_of_what_is_at_the_target() -> None:
    ground = nav.Ground(VIEW, UTM)
    wide = started(UTM)
    flat = replace(wide, projection="orthographic")
    right, up, _ = cam.basis(wide)
    beside = cam.as_vec3(np.array(wide.target) + right * 10 + up * 5)
    assert np.allclose(pixel(wide, ground, beside), pixel(flat, ground, beside), atol=1e-6)


@pytest.mark.parametrize("projection", ["perspective", "orthographic"])
def test_a_ray_meets_the_pixel_it_was_cast_from(projection: str) -> None:
    ground = nav.Ground(VIEW, UTM)
    camera = started(UTM, projection)
    m = cam.matrices(camera, VIEW, UTM)
    for px, py in ((10.5, 700.25), (640, 360), (1200, 3)):
        for depth in (m.near + 1, 300.0):
            assert np.allclose(
                pixel(camera, ground, m.unproject(px, py, depth)), (px, py), atol=1e-4
            )


def test_two_points_a_centimetre_apart_at_utm_size_fall_on_different_pixels() -> None:
    """FIELD 9: ten pixels a centimetre, at northing five million, to a hundredth of a pixel."""
    box = ((500_000.0, 5_000_000.0, 0.0), (500_000.01, 5_000_000.0, 0.0))
    camera = cam.fit(cam.preset(Camera(projection="orthographic"), "top"), box, VIEW)
    m = cam.matrices(camera, VIEW, box)
    px, _ = m.project(np.array(box))
    wide = 1.0 / m.units_per_pixel(1.0) * 0.01
    assert abs((px[1, 0] - px[0, 0]) - wide) < 0.01 and wide > 10


@pytest.mark.parametrize("degrees", range(0, 360, 15))
def test_a_cloud_far_from_the_origin_is_in_front_of_the_camera_all_around(degrees: int) -> None:
    """FIELD 11: near and far follow the bounds, so no angle loses the cloud."""
    ground = nav.Ground(VIEW, UTM)
    camera = started(UTM)
    turn = math.radians(degrees) / nav.ORBIT_TURN * VIEW[1]
    camera = nav.orbit(camera, ground, camera.target, turn, 0.0)
    m = cam.matrices(camera, VIEW, UTM)
    px, depth = m.project(cam.corners(UTM))
    assert ((depth > m.near) & (depth < m.far)).all()
    assert ((px >= 0) & (px <= VIEW)).all(axis=1).any()


def test_a_point_a_millimetre_before_the_eye_is_drawn_in_a_scene_of_twenty_metres() -> None:
    """FIELD 12: the near plane comes closer than what one may want to look at."""
    box = ((0.0, 0.0, 0.0), (20.0, 20.0, 20.0))
    m = cam.matrices(Camera(eye=(10.0, 10.0, 10.0), target=(10.0, 10.5, 10.0)), VIEW, box)
    assert m.near < 0.001


def test_a_geographic_cloud_has_the_shape_of_its_ground() -> None:
    """FIELD 15: 0.0228° by 0.0106° at 39° N is about 1.97 by 1.18 km."""
    box = ((-83.44, 39.01, 300.0), (-83.4172, 39.0206, 339.0))
    scale = cam.display_scale(Crs(geographic=True, horizontal=DEGREE, vertical=METRE), box)
    camera = cam.preset(Camera(projection="orthographic"), "top", scale)
    camera = cam.fit(camera, box, VIEW, scale)
    px, _ = cam.matrices(camera, VIEW, box, scale).project(cam.corners(box))
    width, height = np.ptp(px, axis=0)
    assert width / height == pytest.approx(1972 / 1180, rel=0.02)
    assert cam.display_scale(Crs(), box) == (1.0, 1.0, 1.0)
