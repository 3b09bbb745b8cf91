"""What lies over the points: in the same exact coordinates, sharp, and to be read over anything."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oniyanma.clouds.model import FOOT, METRE, UNKNOWN_UNIT, US_FOOT, Crs
from oniyanma.registry.actor import Actor
from oniyanma.render import sprites
from oniyanma.render.annotate import clip_segments, inside
from oniyanma.render.headless import HeadlessRenderer
from oniyanma.render.look import DARK, LIGHT
from oniyanma.rules.model import Box, Clip, Polygon
from oniyanma.scene.overlays import (
    ACCENT,
    BoxOutline,
    Label,
    Line,
    Marker,
    ScreenPolygon,
    axes,
    decimals_of_value,
    finding_marker,
    length_text,
    lens,
    measurement_overlays,
    north_arrow,
    overlays_of,
    round_length,
    scale_bar,
    value_text,
)
from oniyanma.scene.palettes import rgb
from oniyanma.scene.state import Camera, Finding, Measurement
from tests.render.scenes import View, above, lit, one_cloud

WHO = Actor("human", "test")
SIZE = (120, 120)


def empty(camera: Camera) -> View:
    """No point, but bounds of a metre around the origin."""
    view = one_cloud([(-1.0, -1.0, -1.0), (1.0, 1.0, 1.0)], camera)
    return view.load()


def changed(
    renderer: HeadlessRenderer, view: View, *overlays: object, **more: object
) -> np.ndarray:
    """Pixels that overlays change."""
    size = more.pop("size", SIZE)
    bare = renderer.pixels(view, *size, **more)  # type: ignore[misc, arg-type]
    drawn = renderer.pixels(view, *size, overlays=overlays, **more)  # type: ignore[misc, arg-type]
    return np.any(bare != drawn, axis=2)


# -- places ------------------------------------------------------------------------------------


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(x=st.floats(-8, 8), y=st.floats(-8, 8), z=st.floats(-3, 3), east=st.floats(4e5, 6e5))
def test_a_marker_stands_on_the_pixel_of_the_point_it_marks(
    renderer: HeadlessRenderer, x: float, y: float, z: float, east: float
) -> None:
    """Points and overlays agree at UTM size."""
    north = 5_000_000.0
    place = (round(east + x, 3), round(north + y, 3), round(z, 3))
    camera = Camera((east, north - 30.0, 12.0), (east, north, 0.0))
    view = one_cloud([place], camera, offset=(500_000.0, 5_000_000.0, 0.0))
    point = np.argwhere(lit(renderer.pixels(view, *SIZE))).mean(axis=0)
    mark = changed(renderer, view.load(), Marker(place, "dot", size=6.0))
    assert np.abs(np.argwhere(mark).mean(axis=0) - point).max() <= 1.5


def test_a_line_runs_from_point_to_point_and_is_cut_at_the_eye(renderer: HeadlessRenderer) -> None:
    """One end behind the camera: what is in front is drawn, nothing wraps around."""
    camera = Camera((0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    across = Line(((-1.0, 5.0, 0.0), (1.0, 5.0, 0.0)), width=2.0)
    rows, columns = np.nonzero(changed(renderer, empty(camera), across))
    assert np.ptp(rows) <= 4 and abs(rows.mean() - 59.5) < 1.0
    assert np.ptp(columns) == pytest.approx(120 * 0.2 / math.tan(math.radians(22.5)), abs=5)
    past = Line(((0.5, 4.0, -0.5), (0.5, -4.0, -0.5)))
    rows, columns = np.nonzero(changed(renderer, empty(camera), past))
    assert rows.min() > 59 and columns.min() > 59 and columns.max() == 119


def test_a_line_behind_points_is_fainter_and_before_them_is_not(renderer: HeadlessRenderer) -> None:
    wall = np.stack(np.meshgrid(np.linspace(-2, 2, 200), np.linspace(-2, 2, 200)), -1).reshape(
        -1, 2
    )
    points = np.column_stack([wall[:, 0], np.full(len(wall), 5.0), wall[:, 1]])
    for projection in ("perspective", "orthographic"):
        camera = Camera((0.0, 0.0, 0.0), (0.0, 5.0, 0.0), projection=projection)  # type: ignore[arg-type]
        view = one_cloud(points, camera).show(point_size=3.0)
        bare = renderer.pixels(view, *SIZE).astype(int)
        strength = []
        for y in (4.9, 5.1):
            line = Line(((-0.5, y, 0.0), (0.5, y, 0.0)), "#ff0000", 3.0)
            drawn = renderer.pixels(view, *SIZE, overlays=[line]).astype(int)
            strength.append(np.abs(drawn - bare)[60, 60].sum())
        assert strength[0] > 1.8 * strength[1] > 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-9, 9), min_size=6, max_size=6))
def test_what_is_left_of_a_cut_segment_is_inside_the_guard_band(v: list[float]) -> None:
    a, b = np.array([v[:3]]), np.array([v[3:]])
    kept, t0, t1 = clip_segments(a, b, 0.01)
    ends = [a + (b - a) * t for t in (t0, t1)]
    samples = [a + (b - a) * t for t in np.linspace(0, 1, 101)]

    def within(p: np.ndarray, slack: float) -> bool:
        x, y, w = p[0]
        return bool(w >= 0.01 - slack and max(abs(x), abs(y)) <= 3 * w + slack)

    if kept[0]:
        assert all(within(p, 1e-9) for p in ends)
    else:
        assert not any(within(p, -1e-9) for p in samples)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0, 50)), min_size=3, max_size=9, unique=True))
def test_the_fill_of_a_lasso_has_the_area_of_its_inside(corners: list[tuple[float, float]]) -> None:
    """Triangles against pixels, by the even-odd rule, crossing itself or not."""
    points = np.asarray(corners)
    quads = inside(points, (1, 1, 1, 1))[:, :2].reshape(-1, 3, 2).astype(float)
    a, b = quads[:, 1] - quads[:, 0], quads[:, 2] - quads[:, 0]
    area = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum() / 2
    pixels = np.asarray(sprites.even_odd((500, 500), points * 10)).astype(bool).sum() / 100
    assert area == pytest.approx(pixels, abs=0.01 * pixels + 8)


# -- text --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_text_has_full_ink_and_a_halo_at_every_ratio(ratio: float, theme: object) -> None:
    """Drawn at its own size, never scaled: its strokes reach the ink colour itself."""
    sprite = sprites.text("1 748.3 m²", 13.0, ratio, theme.ink, theme.halo)  # type: ignore[attr-defined]
    opaque = sprite.pixels[sprite.pixels[..., 3] > 250][:, :3].astype(int)
    assert (np.abs(opaque - rgb(theme.ink)).max(axis=1) < 12).any()  # type: ignore[attr-defined]
    assert sprite.pixels[0].max() == 0 and sprite.pixels[-1].max() == 0
    wide = sprites.text("1 748.3 m²", 13.0, 1.0, theme.ink, theme.halo)  # type: ignore[attr-defined]
    assert sprite.pixels.shape[1] == pytest.approx(wide.pixels.shape[1] * ratio, rel=0.08)


def test_letters_that_the_font_has_not_come_from_another_or_stay_boxes() -> None:
    """Never an error for what a person writes."""
    for words in ("Größe Ω", "點雲", "𐍈", "", "  "):
        assert sprites.text(words, 13.0, 1.0, "#ffffff", "#000000").pixels.ndim == 3


@pytest.mark.parametrize("background", [40, 140, 250])
def test_labels_are_readable_over_points_of_any_brightness(
    renderer: HeadlessRenderer, background: int
) -> None:
    """Ink against what surrounds it: a contrast of 4.5 and more, on a pill and on a halo."""
    grid = np.stack(np.meshgrid(np.linspace(-3, 3, 150), np.linspace(-3, 3, 150)), -1).reshape(
        -1, 2
    )
    grey = np.full(len(grid), background, np.uint16)
    view = one_cloud(
        np.column_stack([grid, np.zeros(len(grid))]),
        above((0.0, 0.0, 0.0), 4.0),
        attributes={"red": grey, "green": grey, "blue": grey},
    ).show(point_size=3.0)
    for pill in (True, False):
        label = Label("1748.3 ft", at=(0.0, 0.0, 0.0), pill=pill, size=14.0)
        picture = renderer.pixels(view, *SIZE, overlays=[label])[50:70, 30:90, :3]
        light = (picture / 255.0) ** 2.2 @ [0.2126, 0.7152, 0.0722]
        assert (light.max() + 0.05) / (np.percentile(light, 15) + 0.05) >= 4.5


# -- what a state shows ------------------------------------------------------------------------


def measurement(kind: str, points: int, **values: object) -> Measurement:
    places = tuple((float(i), float(i * i), 1.0) for i in range(points))
    return Measurement("m1", kind, places, "M1", values, WHO, "2026-01-01T00:00:00Z")


def test_measurements_findings_and_clip_are_shown() -> None:
    view = empty(Camera((0.0, -9.0, 4.0), (0.0, 0.0, 0.0)))
    found = Finding("f", "t", (0.0, 0.0, 0.0), "", "major", "open", WHO, "")
    gone = replace(found, id="g", status="withdrawn")
    area = measurement("area", 4, value=12.5, unit="m²")
    view.state = replace(
        view.state,
        measurements={"m1": area},
        findings={"f": found, "g": gone},
        clip=Clip(Box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), 30.0)),
    )
    shown = overlays_of(view, SIZE)
    pins = [o for o in shown if isinstance(o, Marker) and o.shape == "pin"]
    assert [p.at for p in pins] == [(0.0, 0.0, 0.0)]
    assert any(isinstance(o, Line) and o.closed and o.points == area.points for o in shown)
    assert any(isinstance(o, Label) and o.text == "12.500\u2009m²" for o in shown)
    assert sum(isinstance(o, BoxOutline) for o in shown) == 1
    plain = overlays_of(view, SIZE, furniture=False)
    assert len(plain) < len(shown)
    view.state = replace(view.state, clip=Clip(Polygon(((0, 0), (1, 0), (0, 1)), (0.0, None))))
    assert sum(isinstance(o, Line) for o in overlays_of(view, SIZE, furniture=False)) == 1 + 2 + 3


@pytest.mark.parametrize(
    "kind", ["point", "distance", "height", "angle", "area", "volume", "profile"]
)
@pytest.mark.parametrize("points", [0, 1, 2, 3, 5])
def test_every_kind_of_measurement_can_be_shown_with_any_number_of_points(
    renderer: HeadlessRenderer, kind: str, points: int
) -> None:
    overlays = measurement_overlays(measurement(kind, points, value=1234.5, unit="m"))
    assert bool(overlays) == bool(points)
    view = empty(Camera((0.0, -9.0, 4.0), (0.0, 0.0, 0.0)))
    assert changed(renderer, view, *overlays).any() == bool(points)


def test_a_findings_pin_says_severity_and_decision() -> None:
    found = Finding("f", "t", (0.0, 0.0, 0.0), "", "critical", "open", WHO, "")
    colors = {finding_marker(replace(found, severity=s)).color for s in ("info", "minor", "major")}
    assert len(colors | {finding_marker(found).color}) == 4
    assert finding_marker(replace(found, status="rejected")).hollow
    assert finding_marker(replace(found, status="confirmed")).color not in colors


@pytest.mark.parametrize(
    ("kind", "value", "unit", "text"),
    [
        ("distance", 1748.28, "ft", "1\u2009748.28\u2009ft"),
        ("height", 0.01234, "m", "0.01\u2009m"),
        ("area", 1234567.8, "m²", "1\u2009234\u2009568\u2009m²"),
        ("area", 12.345678, "m²", "12.35\u2009m²"),
        ("angle", 45.0, "deg", "45.00°"),
    ],
)
def test_values_are_typeset(kind: str, value: float, unit: str, text: str) -> None:
    """Thousands apart, as many decimals as the data have, the unit always there."""
    assert value_text(measurement(kind, 2, value=value, unit=unit), 2) == text
    assert 0 <= decimals_of_value(kind, value, 2) <= 2


# -- furniture ---------------------------------------------------------------------------------


@given(st.floats(1e-7, 1e9))
def test_scale_bars_are_round_and_as_long_as_they_can_be(most: float) -> None:
    length = round_length(most)
    digits = length / 10.0 ** math.floor(math.log10(length) + 1e-9)
    assert min(abs(digits - d) for d in (1, 2, 5, 10)) < 1e-6
    assert most / 2.5 - 1e-12 <= length <= most * (1 + 1e-9)


@pytest.mark.parametrize(
    ("length", "unit", "text"),
    [
        (2000.0, METRE, "2\u2009km"),
        (50.0, METRE, "50\u2009m"),
        (0.05, METRE, "5\u2009cm"),
        (0.002, METRE, "2\u2009mm"),
        (2000.0, FOOT, "2\u2009000\u2009ft"),
        (0.5, US_FOOT, "0.5\u2009ft"),
        (1.0, UNKNOWN_UNIT, "1\u2009unit"),
    ],
)
def test_the_bar_says_its_length_in_the_clouds_unit(length: float, unit: object, text: str) -> None:
    assert length_text(length, unit) == text  # type: ignore[arg-type]


@pytest.mark.parametrize("projection", ["perspective", "orthographic"])
def test_the_bar_is_true_at_the_target(projection: str) -> None:
    """A world line of that length through the target is as long on the screen."""
    camera = Camera((3.0, -40.0, 20.0), (3.0, 5.0, 1.0), projection=projection)  # type: ignore[arg-type]
    view = empty(camera)
    matrices = lens(view, (800, 600))
    bar, label = scale_bar(matrices, camera.target, METRE)
    assert isinstance(bar, ScreenPolygon) and isinstance(label, Label)
    length = float(label.text.split("\u2009")[0])
    ends = [(3.0 - length / 2, 5.0, 1.0), (3.0 + length / 2, 5.0, 1.0)]
    pixels, _ = matrices.project(ends)
    assert bar.points[2][0] - bar.points[1][0] == pytest.approx(np.ptp(pixels[:, 0]), rel=1e-3)


def test_axes_and_north_point_where_they_do_in_the_view() -> None:
    top = lens(empty(above((0.0, 0.0, 0.0), 10.0)), (400, 300))
    arms = {o.color: o.points for o in axes(top) if isinstance(o, ScreenPolygon)}
    ways = {c: np.subtract(p[1], p[0]) for c, p in arms.items()}
    right, up, _ = (ways[c] for c in ("#e5484d", "#46a758", "#4c8dff"))
    assert right[0] > 30 and abs(right[1]) < 1e-6
    assert up[1] < -30 and abs(up[0]) < 1e-6
    tip, left, tail = next(o for o in north_arrow(top) if isinstance(o, ScreenPolygon)).points
    assert tip[1] < tail[1] < left[1]
    level = lens(empty(Camera((0.0, -9.0, 0.0), (0.0, 0.0, 0.0))), (400, 300))
    assert north_arrow(level) == []  # it points away from the eye


def test_degrees_have_a_bar_in_metres(renderer: HeadlessRenderer) -> None:
    view = empty(above((0.0, 0.0, 0.0), 10.0))
    view.infos["a"] = replace(view.infos["a"], crs=Crs("WGS 84", 4326, geographic=True))
    view.scale = (111_320.0, 111_320.0, 1.0)
    labels = [o.text for o in overlays_of(view, (400, 300)) if isinstance(o, Label)]
    assert any(text.endswith(("\u2009km", "\u2009m")) for text in labels)


def test_a_lasso_being_drawn_shows_its_line_and_a_tint(renderer: HeadlessRenderer) -> None:
    corners = ((20.0, 20.0), (100.0, 20.0), (60.0, 100.0))
    view = empty(Camera((0.0, -9.0, 4.0), (0.0, 0.0, 0.0)))
    lasso = ScreenPolygon(corners, ACCENT, 3.0, fill=0.2)
    picture = renderer.pixels(view, *SIZE, overlays=[lasso])
    assert np.abs(picture[20, 60, :3].astype(int) - rgb(ACCENT)).max() < 40
    assert picture[50, 60, 0] > 45 and picture[90, 20, 0] < 35
    dashes = changed(renderer, view, replace(lasso, fill=0.0, dashed=True))
    whole = changed(renderer, view, replace(lasso, fill=0.0))
    assert dashes.sum() <= whole.sum()


def test_overlays_follow_the_pixel_ratio(renderer: HeadlessRenderer) -> None:
    """Twice the pixels: the same picture in logical ones."""
    view = empty(Camera((0.0, -9.0, 4.0), (0.0, 0.0, 0.0)))
    shown = overlays_of(view, (200, 150))
    small = changed(renderer, view, *shown, size=(200, 150))
    large = changed(renderer, view, *shown, size=(400, 300), pixel_ratio=2.0)
    assert large.sum() == pytest.approx(4 * small.sum(), rel=0.25)
    halved = large.reshape(150, 2, 200, 2).any(axis=(1, 3))
    assert (halved & small).sum() > 0.8 * small.sum()
