"""Dense pictures on the software rasteriser: points left out are points that could not be seen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oniyanma.render import gl, look, renderer
from oniyanma.render.headless import HeadlessRenderer
from oniyanma.scene.ports import HIDDEN
from oniyanma.scene.state import Camera
from tests.render.scenes import View, above, lit, one_cloud

POINTS = 60_000
Drawn = tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]


@pytest.fixture(scope="module")
def shared() -> Iterator[HeadlessRenderer]:
    made = HeadlessRenderer()
    yield made
    made.close()


def heap(seed: int) -> View:
    """A thick layer of points of many colours, cut into nodes, a fifth of them hidden by flag."""
    rng = np.random.default_rng(seed)
    points = rng.uniform((-10, -10, -1), (10, 10, 1), (POINTS, 3))
    colors = rng.integers(60, 256, (POINTS, 3)).astype(np.uint16)
    attributes = {name: colors[:, k] for k, name in enumerate(("red", "green", "blue"))}
    view = one_cloud(points, Camera(), parts=12, spacing=0.1, attributes=attributes)
    for i, part in enumerate(view.nodes):
        view.put(i, flags=np.where(rng.random(len(part.xyz)) < 0.2, HIDDEN, 0).astype(np.uint8))
    return view


def depths(shared: HeadlessRenderer, size: tuple[int, int]) -> npt.NDArray[np.float32]:
    """The depths of the picture at hand."""

    def read() -> npt.NDArray[np.float32]:
        gpu = shared.points._gpu
        assert gpu is not None
        gpu.front.target.bind(*size)
        return gl.read_depth(*size)

    return shared.run(read)


def drawn(shared: HeadlessRenderer, view: View, size: tuple[int, int], dense: float) -> Drawn:
    """Colours and depths of a new picture, the test used from ``dense`` on."""
    shared.run(shared.points.release)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renderer, "DENSE", dense)
        pixels = shared.pixels(view, *size)
    return pixels, depths(shared, size)


def left_out(shared: HeadlessRenderer) -> bool:
    """Whether the last picture was drawn with the test."""
    gpu = shared.points._gpu
    assert gpu is not None
    return any("BEHIND" in key for key in gpu._programs)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    turn=st.floats(0.0, 360.0),
    tilt=st.floats(-85.0, 85.0),
    distance=st.floats(2.0, 40.0),
    projection=st.sampled_from(["perspective", "orthographic"]),
    width=st.integers(60, 161),
    height=st.integers(60, 121),
    point_size=st.floats(1.0, 2.0),
    adaptive=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_dense_picture_is_the_one_that_draws_every_point(
    shared: HeadlessRenderer,
    turn: float,
    tilt: float,
    distance: float,
    projection: str,
    width: int,
    height: int,
    point_size: float,
    adaptive: bool,
    seed: int,
) -> None:
    """Depths to the bit; colours but where two points are equally deep."""
    a, b = math.radians(turn), math.radians(tilt)
    eye = (
        distance * math.cos(a) * math.cos(b),
        distance * math.sin(a) * math.cos(b),
        distance * math.sin(b),
    )
    view = heap(seed).show(point_size=point_size, adaptive=adaptive)
    view.look(Camera(eye, (0.0, 0.0, 0.0), projection=projection))  # type: ignore[arg-type]
    size = (width, height)
    every, depth = drawn(shared, view, size, math.inf)
    assert not left_out(shared)
    some, depth_too = drawn(shared, view, size, 0.0)
    assert np.array_equal(depth, depth_too)
    assert np.any(every != some, axis=2).mean() < 0.002


def test_the_test_is_made_where_points_lie_over_one_another(shared: HeadlessRenderer) -> None:
    """On the software rasteriser, and not in a picture that is thinly covered."""
    view = heap(1).look(Camera((0.0, -30.0, 20.0), (0.0, 0.0, 0.0))).show(point_size=2.0)
    shared.run(shared.points.release)
    shared.pixels(view, 400, 300)
    assert not left_out(shared)
    shared.pixels(view, 160, 120)
    assert shared.stats is not None
    assert left_out(shared) is shared.stats.software


def test_points_that_arrive_in_a_dense_picture_are_in_it(shared: HeadlessRenderer) -> None:
    """Added to what is there, whether something is hidden by them or they by it."""
    view = heap(2).look(Camera((0.0, -30.0, 20.0), (0.0, 0.0, 0.0))).show(point_size=2.0)
    nodes, size = view.nodes, (160, 120)
    _, depth = drawn(shared, view, size, math.inf)
    view.load(*nodes[6:])
    drawn(shared, view, size, 0.0)
    view.load(*nodes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renderer, "DENSE", 0.0)
        shared.pixels(view, *size)
    assert shared.stats is not None and shared.stats.points == POINTS // 2
    assert np.array_equal(depths(shared, size), depth)


# -- the margin around the picture -------------------------------------------------------------


@pytest.mark.parametrize("size", [(64, 64), (63, 65)])
def test_the_margin_moves_no_point_and_fills_the_picture_to_its_edge(
    shared: HeadlessRenderer, size: tuple[int, int]
) -> None:
    """As without it, but for points whose middle lies outside: their part inside is drawn too."""
    view = heap(3).look(above((0.0, 0.0, 0.0), 12.0)).show(point_size=6.0)
    wide, _ = drawn(shared, view, size, math.inf)
    gpu = shared.points._gpu
    assert gpu is not None
    gpu.capabilities = replace(gpu.capabilities, max_viewport=max(size))
    gpu.front.key = None
    narrow = shared.pixels(view, *size)
    assert np.array_equal(wide[4:-4, 4:-4], narrow[4:-4, 4:-4])
    assert lit(wide).all()


def test_no_hidden_point_shows_in_the_margins_corner(shared: HeadlessRenderer) -> None:
    """Where hidden points are put is outside of pictures of every shape."""
    view = one_cloud([(0.0, 0.0, 0.0)] * 9, above((0.0, 0.0, 0.0), 10.0))
    view.show(point_size=16.0).put(0, flags=np.full(9, HIDDEN, np.uint8))
    for size in ((40, 40), (400, 16), (16, 400), (41, 17)):
        assert not lit(shared.pixels(view, *size)).any()


def test_a_picture_too_large_for_a_margin_has_none() -> None:
    """Beyond half of the largest viewport the picture is drawn as it was."""
    row = [1.0, 0.0, 0.0, 0.0]
    rows: look.Uniforms = {"u_row_x": row, "u_row_y": row, "u_row_w": row}
    uniforms, viewport = look.wide_view(rows, (5000, 100), 8192)
    assert viewport == (0, 0, 5000, 100) and uniforms["u_row_x"] == row
    uniforms, viewport = look.wide_view(rows, (4096, 101), 8192)
    assert viewport == (-2048, -50, 8192, 202) and uniforms["u_row_x"] == [0.5, 0.0, 0.0, 0.0]
