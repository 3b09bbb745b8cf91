"""What colour, size and light points get, read from the pixels they make."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oniyanma.clouds.model import Dimension, NodeKey
from oniyanma.render.headless import HeadlessRenderer
from oniyanma.render.look import DARK, LIGHT, floats
from oniyanma.rules.model import Box, Clip, Polygon
from oniyanma.scene import palettes
from oniyanma.scene.ports import CLIPPED, DELETED, HIDDEN, SELECTED
from oniyanma.scene.state import Camera, CloudEntry, ColorMode, SceneState
from tests.render.scenes import PLAIN, View, above, cloud_info, lit, node, one_cloud

GRID = 8  # points a side of a sheet; each lands in the middle of a 12-pixel cell
SIZE = 96
SLOW = [HealthCheck.function_scoped_fixture]


def sheet(**more: object) -> View:
    """64 points in a plane, seen from above; point i is at cell (i % 8, i // 8) from top left."""
    at = np.arange(GRID * GRID)
    points = np.stack([at % GRID + 0.5, GRID - at // GRID - 0.5, np.zeros(len(at))], axis=1)
    z = more.pop("z", None)
    if z is not None:
        points[:, 2] = z  # type: ignore[assignment]
    return one_cloud(points, above((4.0, 4.0, 100.0), 8.0), **more)  # type: ignore[arg-type]


def cells(pixels: np.ndarray) -> np.ndarray:
    """The brightest pixel of each cell, (64, 3): the point's own."""
    step = SIZE // GRID
    blocks = pixels[..., :3].reshape(GRID, step, GRID, step, 3).swapaxes(1, 2)
    blocks = blocks.reshape(GRID * GRID, step * step, 3).astype(int)
    middle = blocks.reshape(GRID * GRID, step, step, 3)
    return middle[:, step // 2 - 1 : step // 2 + 1, step // 2 - 1 : step // 2 + 1].reshape(
        GRID * GRID, 4, 3
    )


def shows(pixels: np.ndarray, colors: np.ndarray, tolerance: int = 1) -> np.ndarray:
    """Which cells hold a pixel of the colour expected of them."""
    off = np.abs(cells(pixels) - np.asarray(colors, int)[:, None, :]).max(axis=2)
    return off.min(axis=1) <= tolerance


def channels(rgb: np.ndarray) -> dict[str, np.ndarray]:
    return {name: rgb[:, i] for i, name in enumerate(("red", "green", "blue"))}


# -- colour modes ------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "factor"), [(8, 1), (16, 256), (16, 257)])
def test_rgb_shows_the_files_own_colours(
    renderer: HeadlessRenderer, depth: int, factor: int
) -> None:
    """FIELD_REPORTS 1 and 3: 8 bits in 16-bit fields as they are; 65280 and 65535 both as 255."""
    rgb = np.random.default_rng(0).integers(64, 256, (64, 3))
    rgb[0] = 255
    view = sheet(attributes=channels((rgb * factor).astype(np.uint16)), color_depth=depth)
    assert shows(renderer.pixels(view, SIZE, SIZE), rgb, 0).all()


def test_a_cloud_without_colour_is_not_black_in_rgb(renderer: HeadlessRenderer) -> None:
    """FIELD_REPORTS 4: RGB that is all zero falls back to elevation."""
    zero = np.zeros(64, np.uint16)
    view = sheet(attributes={"red": zero, "green": zero, "blue": zero}, color_depth=None)
    picture = renderer.pixels(view, SIZE, SIZE)
    assert cells(picture).max(axis=(1, 2)).min() > 30


@settings(max_examples=12, deadline=None, suppress_health_check=SLOW)
@given(
    name=st.sampled_from(palettes.PALETTES),
    low=st.floats(-50, 50),
    width=st.floats(0.5, 200),
    seed=st.integers(0, 99),
)
def test_elevation_follows_the_palette_over_the_range(
    renderer: HeadlessRenderer, name: str, low: float, width: float, seed: int
) -> None:
    z = np.random.default_rng(seed).uniform(-60, 60, 64)
    view = sheet(z=z).show(color=ColorMode("elevation", (low, low + width), name))
    t = np.clip((np.round(z, 3) - low) / width, 0, 1)
    expected = palettes.palette(name)[np.rint(t * 255).astype(int)]
    neighbours = [np.clip(np.rint(t * 255).astype(int) + d, 0, 255) for d in (-1, 1)]
    step = max(
        int(np.abs(palettes.palette(name)[n].astype(int) - expected).max()) for n in neighbours
    )
    assert shows(renderer.pixels(view, SIZE, SIZE), expected, step + 1).all()


def test_intensity_is_raw_and_grey_by_default(renderer: HeadlessRenderer) -> None:
    values = np.linspace(0, 60_000, 64).astype(np.uint16)
    view = sheet(attributes={"intensity": values})
    view.show(color=ColorMode("intensity", (0.0, 60_000.0)))
    expected = palettes.palette("grey")[np.rint(values / 60_000 * 255).astype(int)]
    assert shows(renderer.pixels(view, SIZE, SIZE), expected, 2).all()


def test_classes_have_their_own_colours_and_own_ones_win(renderer: HeadlessRenderer) -> None:
    """Every class of 0..255 has a colour (FIELD_REPORTS 26)."""
    for start in (0, 64, 128, 192):
        codes = np.arange(start, start + 64).astype(np.uint8)
        view = sheet(classes=codes).show(
            color=ColorMode("classification"), class_colors={start + 6: "#123ad7"}
        )
        expected = palettes.class_table()[codes]
        expected[6] = (0x12, 0x3A, 0xD7)
        assert shows(renderer.pixels(view, SIZE, SIZE), expected).all()


def test_return_numbers_and_sources_are_told_apart(renderer: HeadlessRenderer) -> None:
    numbers = (np.arange(64) % 16).astype(np.uint8)
    view = sheet(attributes={"return_number": numbers}).show(color=ColorMode("return"))
    expected = palettes.return_table()[numbers]
    assert shows(renderer.pixels(view, SIZE, SIZE), expected).all()
    sources = (np.arange(64) * 37 % 300).astype(np.uint16)
    view = sheet(attributes={"point_source_id": sources}).show(color=ColorMode("source"))
    expected = palettes.category_table()[sources % 256]
    assert shows(renderer.pixels(view, SIZE, SIZE), expected).all()


def test_gps_time_keeps_its_digits(renderer: HeadlessRenderer) -> None:
    """A second of seconds since 1980 needs float64; the picture shows its 64 steps."""
    time = 300_000_000.0 + np.linspace(0, 1, 64)
    view = sheet(attributes={"gps_time": time})
    view.show(color=ColorMode("gpsTime", (300_000_000.0, 300_000_001.0)))
    expected = palettes.palette("plasma")[np.rint(np.linspace(0, 1, 64) * 255).astype(int)]
    assert shows(renderer.pixels(view, SIZE, SIZE), expected, 4).all()


def test_an_extra_dimension_is_scaled_and_its_missing_values_are_neutral(
    renderer: HeadlessRenderer,
) -> None:
    """FIELD_REPORTS 42: raw * scale + offset, and no_data is no value."""
    raw = np.arange(64).astype(np.int16)
    raw[10] = -999
    height = Dimension("height", "int16", scale=0.5, offset=10.0, no_data=-999, extra=True)
    view = sheet(attributes={"height": raw}, dimensions=(height,))
    view.show(color=ColorMode("height", (10.0, 41.5), "viridis"))
    expected = palettes.palette("viridis")[np.rint(raw / 63 * 255).astype(int) % 256]
    expected[10] = palettes.rgb(palettes.NEUTRAL_COLOR)
    assert shows(renderer.pixels(view, SIZE, SIZE), expected, 4).all()


def test_a_cloud_can_have_a_mode_of_its_own(renderer: HeadlessRenderer) -> None:
    points = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    infos = {c: cloud_info(points[i : i + 1]) for i, c in enumerate("ab")}
    nodes = [node(points[i : i + 1], infos[c], cloud=c, classes=6) for i, c in enumerate("ab")]
    display = replace(
        PLAIN,
        point_size=6.0,
        color=ColorMode("classification"),
        cloud_colors={"b": ColorMode("uniform")},
    )
    clouds = tuple(CloudEntry(c, c, c) for c in "ab")
    view = View(infos, nodes, SceneState(clouds, camera=above((2, 0, 0), 8), display=display))  # type: ignore[arg-type]
    view.state = SceneState(clouds=clouds, camera=above((2.0, 0.0, 0.0), 8.0), display=display)
    picture = renderer.pixels(view, 80, 80)
    assert tuple(picture[40, 20, :3]) == palettes.rgb(palettes.CLASS_COLORS[6])
    assert tuple(picture[40, 60, :3]) == palettes.rgb(palettes.UNIFORM_COLOR)


def test_another_mode_range_palette_class_or_size_uploads_nothing(
    renderer: HeadlessRenderer,
) -> None:
    rng = np.random.default_rng(5)
    view = sheet(
        attributes={
            **channels(rng.integers(0, 256, (64, 3)).astype(np.uint16)),
            "intensity": rng.integers(0, 900, 64).astype(np.uint16),
            "return_number": rng.integers(1, 4, 64).astype(np.uint8),
        }
    )
    renderer.pixels(view, SIZE, SIZE)
    for mode in ("elevation", "intensity", "classification", "return", "uniform", "rgb"):
        for limits in (None, (3.0, 700.0)):
            view.show(color=ColorMode(mode, limits, "magma"), point_size=4.0 if limits else 2.0)
            renderer.pixels(view, SIZE, SIZE)
            assert renderer.stats is not None and renderer.stats.uploaded == 0
    view.state = replace(view.state, hidden_classes=frozenset({0}))
    assert not lit(renderer.pixels(view, SIZE, SIZE)).any()
    assert renderer.stats is not None and renderer.stats.uploaded == 0


# -- flags, paint, clip ------------------------------------------------------------------------


def test_hidden_deleted_and_clipped_points_are_not_drawn(renderer: HeadlessRenderer) -> None:
    view = sheet()
    flags = (np.arange(64) % 16).astype(np.uint8)
    view.put(0, flags=flags)
    drawn = cells(renderer.pixels(view, SIZE, SIZE)).max(axis=(1, 2)) > 60
    assert np.array_equal(drawn, (flags & (HIDDEN | DELETED | CLIPPED)) == 0)


def test_selected_points_are_lit_in_the_accent_in_every_mode(renderer: HeadlessRenderer) -> None:
    view = sheet(classes=9)
    view.put(0, flags=np.where(np.arange(64) % 2, SELECTED, 0).astype(np.uint8))
    accent = np.array(palettes.rgb(palettes.SELECTION_COLOR))
    for mode in ("rgb", "elevation", "classification", "uniform"):
        view.show(color=ColorMode(mode))
        found = cells(renderer.pixels(view, SIZE, SIZE)).astype(float)
        best = np.abs(found - accent).sum(axis=2).min(axis=1)
        assert best[1::2].max() < 150 < best[0::2].min()


def test_paint_shows_in_every_mode_and_unpainting_brings_the_colour_back(
    renderer: HeadlessRenderer,
) -> None:
    view = sheet(classes=2)
    before = renderer.pixels(view, SIZE, SIZE)
    paint = np.zeros((64, 4), np.uint8)
    paint[5] = (200, 10, 220, 255)
    view.put(0, paint=paint)
    for mode in ("rgb", "elevation", "classification"):
        view.show(color=ColorMode(mode))
        colors = np.tile((200, 10, 220), (64, 1))
        hit = shows(renderer.pixels(view, SIZE, SIZE), colors)
        assert np.flatnonzero(hit).tolist() == [5]
    view.show(color=ColorMode("rgb")).put(0, paint=None)
    assert np.array_equal(renderer.pixels(view, SIZE, SIZE), before)


@settings(max_examples=25, deadline=None, suppress_health_check=SLOW)
@given(
    low=st.tuples(st.floats(0, 5), st.floats(0, 5)),
    span=st.tuples(st.floats(0.5, 6), st.floats(0.5, 6)),
    turn=st.floats(-180, 180),
    outside=st.booleans(),
)
def test_the_clip_previewed_on_the_gpu_is_the_rule_but_for_its_edge(
    renderer: HeadlessRenderer,
    low: tuple[float, float],
    span: tuple[float, float],
    turn: float,
    outside: bool,
) -> None:
    """While a handle is dragged the node's own clip flags are left out of it."""
    high = (low[0] + span[0], low[1] + span[1])
    view = sheet()
    view.put(0, flags=np.full(64, CLIPPED, np.uint8))
    shape = Box((*low, -1.0), (*high, 1.0), turn)
    clip = Clip(shape, "outside" if outside else "inside")
    view.state = replace(view.state, clip=clip)
    at = view.nodes[0].xyz[:, :2] * 0.001 - (np.array(low) + high) / 2
    cos, sin = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    turned = np.stack([at[:, 0] * cos + at[:, 1] * sin, at[:, 1] * cos - at[:, 0] * sin], axis=1)
    over = np.abs(turned) - np.array(span) / 2
    inside = (over <= 0).all(axis=1)
    edge = np.abs(over).min(axis=1) < 1e-3
    picture = renderer.pixels(view, SIZE, SIZE, clip_preview=True)
    drawn = cells(picture).max(axis=(1, 2)) > 60
    assert np.array_equal(drawn[~edge], (inside != outside)[~edge])
    assert not lit(renderer.pixels(view, SIZE, SIZE)).any()


def test_a_polygon_clip_is_previewed_too(renderer: HeadlessRenderer) -> None:
    view = sheet(z=np.where(np.arange(64) % 2, 5.0, 0.0))
    shape = Polygon(((0.0, 0.0), (8.0, 0.0), (8.0, 8.0)), (None, 2.0))
    view.state = replace(view.state, clip=Clip(shape))
    drawn = cells(renderer.pixels(view, SIZE, SIZE, clip_preview=True)).max(axis=(1, 2)) > 60
    x, y, z = (view.nodes[0].xyz * 0.001).T
    sure = np.abs(x - y) > 0.1
    assert np.array_equal(drawn[sure], ((y < x) & (z <= 2.0))[sure])


# -- sizes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("size", [1.0, 2.0, 4.0, 9.0])
def test_a_point_of_n_logical_pixels_is_that_wide_at_every_ratio(
    renderer: HeadlessRenderer, ratio: float, size: float
) -> None:
    """FIELD_REPORTS 55: and round from four pixels on."""
    side = round(64 * ratio)
    view = one_cloud([(0.0, 0.0, 0.0)], above((0.0, 0.0, 0.0), 10.0)).show(point_size=size)
    spot = lit(renderer.pixels(view, side, side, ratio))
    wide = np.ptp(np.nonzero(spot)[1]) + 1
    assert abs(wide - size * ratio) <= 1.0
    if size * ratio >= 6.0:
        assert spot.sum() == pytest.approx(np.pi / 4 * (size * ratio) ** 2, rel=0.15)


def test_adaptive_points_close_a_surface_from_near_and_stay_small_from_far(
    renderer: HeadlessRenderer,
) -> None:
    at = np.stack(np.meshgrid(np.arange(-20, 20), np.arange(-20, 20)), -1).reshape(-1, 2)
    points = np.column_stack([at, np.zeros(len(at))]).astype(float)
    view = one_cloud(points, Camera(), spacing=1.0).show(adaptive=True, point_size=2.0)
    covered = []
    for height in (8.0, 25.0):
        view.look(Camera((0.3, 0.2, height), (0.3, 0.2, 0.0), (0.0, 1.0, 0.0)))
        picture = lit(renderer.pixels(view, 96, 96))
        covered.append(picture.mean())
    assert min(covered) > 0.93
    view.look(Camera((0.0, 0.0, 4000.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    assert 1 <= lit(renderer.pixels(view, 96, 96)).sum() <= 16


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("size", [1.0, 1.5, 2.0, 3.0, 4.0])
def test_no_point_is_lost_by_being_small(
    renderer: HeadlessRenderer, size: float, adaptive: bool
) -> None:
    """Wherever in a pixel it lies, a point in the picture gives at least one pixel."""
    at = np.stack(np.meshgrid(np.arange(9), np.arange(9)), -1).reshape(-1, 2)
    points = np.column_stack([at * 11 + 5 + at / 9, np.zeros(81)])
    view = one_cloud(points, above((50.0, 50.0, 0.0), 100.0), spacing=0.001)
    view.show(point_size=size, adaptive=adaptive)
    picture = lit(renderer.pixels(view, 100, 100))
    cuts = range(0, 99, 11)
    blocks = [picture[r + 1 : r + 12, c : c + 11].any() for r in cuts for c in cuts]
    assert picture.sum() >= 81 and all(blocks)


def test_coarse_points_shrink_where_finer_nodes_are_loaded(renderer: HeadlessRenderer) -> None:
    """A point of the root is no plate among the points of a leaf, and grows again without it."""
    at = np.stack(np.meshgrid(np.arange(4), np.arange(4)), -1).reshape(-1, 2) * 4.0
    coarse = np.column_stack([at, np.zeros(16)])
    fine = np.random.default_rng(0).uniform((0, 0, -9), (13, 13, -8), (4000, 3))
    fine[0], fine[1] = (-0.5, -0.5, -9.0), (13.0, 13.0, 9.0)
    info = cloud_info(np.vstack([coarse, fine]))
    root = node(coarse, info, key=NodeKey(0, 0, 0, 0), spacing=4.0)
    leaf = node(fine, info, key=NodeKey(1, 0, 0, 0), spacing=0.25)
    leaf.attributes = {k: v * 0 + 90 for k, v in leaf.attributes.items()}
    view = one_cloud(coarse, above((6.0, 6.0, 0.0), 16.0)).show(adaptive=True)
    view.infos["a"] = info
    view.load(root)
    alone = (renderer.pixels(view, 96, 96)[..., 0] == 255).sum()
    view.load(root, leaf)
    among = (renderer.pixels(view, 96, 96)[..., 0] == 255).sum()
    view.load(root)
    again = (renderer.pixels(view, 96, 96)[..., 0] == 255).sum()
    assert alone > 20 * among > 0
    assert again == alone


# -- light -------------------------------------------------------------------------------------


def terrain() -> View:
    """A plane from 10 cm to 10 km away, with one wall."""
    rng = np.random.default_rng(7)
    y = 10.0 ** rng.uniform(-1, 4, 150_000)
    points = np.column_stack([rng.uniform(-1, 1, len(y)) * y, y, -0.3 * np.ones(len(y))])
    wall = np.column_stack(
        [rng.uniform(-1, 1, 20_000), np.full(20_000, 5.0), rng.uniform(-0.3, 0.8, 20_000)]
    )
    display = replace(PLAIN, point_size=3.0)
    camera = Camera((0.0, 0.0, 0.6), (0.0, 5.0, 0.0))
    return one_cloud(np.vstack([points, wall]), camera, display=display)


def test_edl_changes_no_background_pixel_and_only_darkens(renderer: HeadlessRenderer) -> None:
    """FIELD_REPORTS 56."""
    view = terrain()
    plain = renderer.pixels(view, 160, 120).astype(int)
    shaded = renderer.pixels(view.show(edl=True), 160, 120).astype(int)
    points = lit(plain.astype(np.uint8))
    assert 0.2 < points.mean() < 0.9
    assert np.array_equal(plain[~points], shaded[~points])
    assert (shaded <= plain).all()
    assert (shaded[points] < plain[points]).mean() > 0.05


def test_edl_has_no_seam_over_five_orders_of_depth(renderer: HeadlessRenderer) -> None:
    """FIELD_REPORTS 56: rows of a plane get darker and lighter by small steps."""
    rng = np.random.default_rng(7)
    y = 10.0 ** rng.uniform(-0.5, 4.5, 400_000)
    points = np.column_stack([rng.uniform(-1, 1, len(y)) * y, y, -0.3 * np.ones(len(y))])
    view = one_cloud(points, Camera((0.0, 0.0, 0.3), (0.0, 3.0, 0.0)), scale=0.0005)
    view.show(edl=True, point_size=4.0)
    picture = renderer.pixels(view, 120, 160)[..., 0].astype(float)
    rows = np.array([np.median(row[row > 60]) for row in picture if (row > 60).mean() > 0.9])
    assert len(rows) > 60
    smooth = np.convolve(rows[:-4], np.ones(5) / 5, "valid")  # discs are cut at the picture's edge
    assert np.abs(np.diff(smooth)).max() < 8
    assert rows.min() > 120


def test_edl_strength_and_radius_do_what_they_say(renderer: HeadlessRenderer) -> None:
    view = terrain()
    dark = []
    for strength in (0.25, 1.0, 3.0):
        view.show(edl=True, edl_strength=strength)
        dark.append(renderer.pixels(view, 160, 120).astype(int).sum())
    assert dark[0] > dark[1] > dark[2]
    view.show(edl_strength=1.0, edl_radius=1.0)
    near = renderer.pixels(view, 160, 120).astype(int)
    far = renderer.pixels(view.show(edl_radius=6.0), 160, 120).astype(int)
    assert far.sum() < near.sum()


def test_edl_works_in_orthographic_views(renderer: HeadlessRenderer) -> None:
    view = terrain().look(
        Camera((0.0, -20.0, 12.0), (0.0, 5.0, 0.0), projection="orthographic", fov=20.0)
    )
    plain = renderer.pixels(view, 160, 120).astype(int)
    shaded = renderer.pixels(view.show(edl=True), 160, 120).astype(int)
    assert (shaded < plain).any() and (shaded <= plain).all()


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_the_background_is_a_calm_gradient(renderer: HeadlessRenderer, theme: object) -> None:
    """From the theme's bottom to its top, never more than a grey level of grain."""
    view = one_cloud(np.zeros((0, 3)), Camera())
    rows = renderer.pixels(view, 64, 64, theme=theme)[..., :3].astype(float)
    for row, color in ((0, theme.top), (63, theme.bottom)):  # type: ignore[attr-defined]
        assert np.abs(rows[row] - np.array(floats(color)) * 255).max() <= 1.5
    assert rows.std(axis=1).max() <= 0.75
