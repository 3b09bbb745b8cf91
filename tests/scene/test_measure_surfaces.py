"""Volumes and sections against closed forms: planes, boxes, cones, at UTM size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oniyanma.clouds.model import DEGREE, FOOT, METRE, US_FOOT, Crs
from oniyanma.rules.polygon import even_odd
from oniyanma.scene.measure import plan_area
from oniyanma.scene.section import Section, SectionBins
from oniyanma.scene.units import Frame, MeasureError, frame_of
from oniyanma.scene.volume import (
    SurfaceGrid,
    checked_polygon,
    coverage,
    default_cell,
    fill_gaps,
    volume,
)

METRES = frame_of(Crs("UTM 33N", 32633, None, METRE, METRE))
UTM = np.array([432_187.53, 5_312_764.87, 811.25])
Array = npt.NDArray[np.float64]


def square(side: float, z: float = 0.0) -> Array:
    return np.array([(0, 0, z), (side, 0, z), (side, side, z), (0, side, z)], dtype=np.float64)


def scatter(n: int, side: float, seed: int = 1) -> Array:
    return np.random.default_rng(seed).uniform(0, side, (n, 2))


def measured(
    polygon: Array, xyz: Array, reference: str | float, cell: float, frame: Frame = METRES
) -> dict[str, Any]:
    grid = SurfaceGrid(checked_polygon(polygon, frame), cell)
    for block in np.array_split(xyz, 3):
        grid.add(block)
    return volume(grid, reference, frame)


def test_a_box_is_its_area_times_its_height() -> None:
    xy = scatter(20_000, 10.0)
    xyz = np.column_stack([xy, np.full(len(xy), 2.5)])
    answer = measured(square(10.0) + UTM, xyz + UTM, "lowest", 0.5)
    assert answer["cut"] == pytest.approx(250.0, rel=1e-9)
    assert answer["fill"] == 0.0
    assert answer["value"] == pytest.approx(250.0, rel=1e-9)
    assert answer["cubicMetres"] == answer["value"]
    assert answer["plan"] == pytest.approx(100.0, rel=1e-9)
    assert answer["cells"] == 400
    assert answer["emptyShare"] == 0.0
    assert answer["density"] == pytest.approx(200.0, rel=1e-3)


def test_a_tilted_plane_is_exact_however_its_points_lie() -> None:
    """z = 1 + 0.3x - 0.2y over an outline with a dent, from few uneven points."""
    polygon = np.array([(0, 0, 0), (9, 1, 0), (5, 4, 0), (8, 9, 0), (1, 7, 0)], dtype=np.float64)
    xy = scatter(900, 9.0, seed=5) ** 2 / 9.0
    xyz = np.column_stack([xy, 1 + 0.3 * xy[:, 0] - 0.2 * xy[:, 1]])
    p = polygon[:, :2]
    q = np.roll(p, -1, axis=0)
    cross = p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]
    size = cross.sum() / 2
    cx, cy = ((p + q) * cross[:, None]).sum(axis=0) / (6 * size)
    expected = size * (1 + 0.3 * cx - 0.2 * cy)
    answer = measured(polygon + UTM, xyz + UTM, float(UTM[2]), 0.37)
    assert answer["value"] == pytest.approx(expected, rel=1e-9)
    assert answer["emptyShare"] > 0.0


def test_a_cone_comes_near_its_closed_form() -> None:
    r, h = 10.0, 6.0
    xy = scatter(400_000, 2 * r, seed=2) - r
    d = np.hypot(xy[:, 0], xy[:, 1])
    xyz = np.column_stack([xy, np.maximum(0.0, h * (1 - d / r))])
    turns = np.linspace(0, 2 * np.pi, 128, endpoint=False)
    outline = np.column_stack([r * np.cos(turns), r * np.sin(turns), np.zeros(128)])
    answer = measured(outline + UTM, xyz + UTM, "lowest", 0.25)
    assert answer["cut"] == pytest.approx(math.pi * r * r * h / 3, rel=2e-3)
    assert answer["fill"] < 1e-3 * answer["cut"]


def test_cut_and_fill_part_at_the_reference() -> None:
    """A sloping plane through the reference: equal wedges of a²·b·slope/8 on either side."""
    xy = scatter(50_000, 10.0, seed=3)
    xyz = np.column_stack([xy, 0.4 * (xy[:, 0] - 5.0)])
    answer = measured(square(10.0) + UTM, xyz + UTM, float(UTM[2]), 0.1)
    wedge = 10.0 * 10.0 * 10.0 * 0.4 / 8.0
    assert answer["cut"] == pytest.approx(wedge, rel=1e-3)
    assert answer["fill"] == pytest.approx(wedge, rel=1e-3)
    assert answer["value"] == pytest.approx(0.0, abs=1e-5)


def test_the_reference_plane_goes_through_the_corners() -> None:
    """A box on a hillside measured against the hillside is the box."""
    corners = square(10.0)
    corners[:, 2] = 0.5 * corners[:, 0]
    xy = scatter(40_000, 10.0, seed=4)
    xyz = np.column_stack([xy, 0.5 * xy[:, 0] + 3.0])
    answer = measured(corners + UTM, xyz + UTM, "plane", 0.5)
    assert answer["value"] == pytest.approx(300.0, rel=1e-9)
    assert answer["referenceZ"] is None
    lowest = measured(corners + UTM, xyz + UTM, "lowest", 0.5)
    assert lowest["value"] == pytest.approx(550.0, rel=1e-9)
    assert lowest["referenceZ"] == pytest.approx(UTM[2], rel=1e-12)


def test_a_hole_in_the_points_is_filled_and_its_share_stated() -> None:
    xy = scatter(100_000, 10.0, seed=6)
    xy = xy[~((xy > 4.0) & (xy < 6.0)).all(axis=1)]
    xyz = np.column_stack([xy, 2.0 + 0.1 * xy[:, 0]])
    answer = measured(square(10.0), xyz, 0.0, 0.5)
    assert answer["emptyShare"] == pytest.approx(0.04, abs=1e-9)
    assert answer["value"] == pytest.approx(250.0, rel=1e-9)


def test_heights_in_feet_over_metres_make_cubic_metres() -> None:
    frame = frame_of(Crs("x", None, None, METRE, FOOT))
    xy = scatter(20_000, 10.0)
    xyz = np.column_stack([xy, np.full(len(xy), 10.0)])
    answer = measured(square(10.0), xyz, 0.0, 0.5, frame)
    assert answer["unit"] == "m³"
    assert answer["value"] == pytest.approx(304.8, rel=1e-9)


def test_cubic_feet_stand_beside_cubic_metres() -> None:
    frame = frame_of(Crs("x", None, None, US_FOOT, US_FOOT))
    xyz = np.column_stack([scatter(20_000, 10.0), np.ones(20_000)])
    answer = measured(square(10.0), xyz, 0.0, 0.5, frame)
    assert answer["unit"] == "ftUS³"
    assert answer["cubicMetres"] == pytest.approx(100.0 * (1200 / 3937) ** 3, rel=1e-9)
    assert answer["cutCubicMetres"] == answer["cubicMetres"]


def test_what_has_no_volume_is_refused_with_the_reason() -> None:
    with pytest.raises(MeasureError, match="projected"):
        checked_polygon(square(1.0), frame_of(Crs("WGS 84", 4326, None, DEGREE, METRE, True)))
    with pytest.raises(MeasureError, match="one line"):
        checked_polygon(np.array([(0, 0, 0), (1, 1, 5), (2, 2, 9)], dtype=float), METRES)
    with pytest.raises(MeasureError, match="crosses itself"):
        checked_polygon(np.array([(0, 0, 0), (4, 3, 0), (4, 0, 0), (0, 4, 0)], dtype=float), METRES)
    with pytest.raises(MeasureError, match="No visible point"):
        measured(square(1.0), np.array([[5.0, 5.0, 5.0]]), "lowest", 0.5)
    with pytest.raises(MeasureError, match="cell"):
        SurfaceGrid(square(1000.0), 0.01)


def simple_polygon(seed: int, n: int) -> Array:
    """A star-shaped outline: random radii at turns around its middle."""
    rng = np.random.default_rng(seed)
    turns = (np.arange(n) + rng.uniform(0.0, 0.9, n)) * 2 * np.pi / n
    radii = rng.uniform(1.0, 10.0, n)
    return np.column_stack([radii * np.cos(turns), radii * np.sin(turns)])


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 20), st.floats(0.21, 3.0))
def test_the_parts_of_the_cells_add_up_to_the_polygon(seed: int, n: int, cell: float) -> None:
    polygon = simple_polygon(seed, n)
    size = plan_area(polygon)
    assume(abs(size) > 1.0)
    low = polygon.min(axis=0)
    extent = polygon.max(axis=0) - low
    columns, rows = (max(1, math.ceil(e / cell)) for e in extent)
    areas, centroids = coverage(polygon, low, cell, rows, columns)
    assert areas.sum() == pytest.approx(abs(size), rel=1e-9)
    assert areas.max() <= cell * cell * (1 + 1e-9)
    q = np.roll(polygon, -1, axis=0)
    cross = polygon[:, 0] * q[:, 1] - q[:, 0] * polygon[:, 1]
    centre = ((polygon + q) * cross[:, None]).sum(axis=0) / (3 * cross.sum()) - low
    mean = (centroids * areas[..., None]).sum(axis=(0, 1)) / areas.sum()
    assert mean == pytest.approx(centre, rel=1e-7, abs=1e-7)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.3, 2.0))
def test_a_volume_is_the_same_at_utm_coordinates(seed: int, cell: float) -> None:
    outline = simple_polygon(seed, 8)
    assume(abs(plan_area(outline)) > 20.0)
    polygon = np.round(np.column_stack([outline, np.full(8, -1.5)]), 3)
    rng = np.random.default_rng(seed)
    xyz = np.round(rng.uniform([-10, -10, 1], [10, 10, 3], (5000, 3)), 3)
    shift = np.array([432_187.5, 5_312_764.25, 811.125])
    inside = even_odd(xyz[:, 0], xyz[:, 1], polygon[:, :2])
    moved = xyz + shift
    assume((inside == even_odd(moved[:, 0], moved[:, 1], (polygon + shift)[:, :2])).all())
    cells = (xyz[inside, :2] - polygon[:, :2].min(axis=0)) / cell
    assume(np.abs(cells - np.round(cells)).min() > 1e-6)
    here = measured(polygon, xyz, "lowest", cell)
    there = measured(polygon + shift, moved, "lowest", cell)
    for key in ("value", "cut", "plan"):
        assert there[key] == pytest.approx(here[key], rel=1e-9)
    assert here["points"] == there["points"] == int(inside.sum())


def test_empty_cells_take_the_finest_mean_around_them() -> None:
    nan = np.nan
    filled = fill_gaps(np.array([[1.0, nan, nan], [3.0, nan, nan], [nan, nan, 10.0]]))
    assert filled[0, 1] == 2.0
    assert filled[2, 2] == 10.0
    assert not np.isnan(filled).any()


def test_the_default_cell_holds_four_points() -> None:
    assert default_cell(square(10.0), 10_000) == pytest.approx(0.2)


def test_sections_give_station_and_offset_and_take_the_width() -> None:
    line = np.array([(0, 0, 0), (10, 0, 0), (10, 10, 0)], dtype=np.float64) + UTM
    section = Section(line, 2.0, METRES)
    assert section.length == pytest.approx(20.0)
    points = np.array(
        [(3.0, 0.5), (3.0, -0.5), (3.0, 1.5), (-0.1, 0.0), (9.0, 5.0), (10.5, -0.5), (10.0, 10.1)]
    )
    index, station, offset = section.locate(points + UTM[:2])
    assert index.tolist() == [0, 1, 4, 5]
    assert station == pytest.approx([3.0, 3.0, 15.0, 10.0], abs=1e-8)
    assert offset == pytest.approx([0.5, -0.5, 1.0, -math.hypot(0.5, 0.5)], abs=1e-8)


def test_section_bins_add_up_block_by_block() -> None:
    line = np.array([(0, 0, 0), (100, 0, 0)], dtype=np.float64) + UTM
    section = Section(line, 4.0, METRES)
    xy = scatter(50_000, 100.0, seed=9) - [0.0, 50.0]
    z = UTM[2] + 0.25 * xy[:, 0]
    bins = SectionBins(section, 10)
    for part in np.array_split(np.arange(len(xy)), 4):
        index, station, _ = section.locate(xy[part] + UTM[:2])
        bins.add(station, z[part][index])
    inside = np.abs(xy[:, 1]) <= 2.0
    rows = bins.rows()
    assert bins.points == inside.sum() == sum(row["count"] for row in rows)
    for i, row in enumerate(rows):
        mine = inside & (xy[:, 0] >= 10 * i) & (xy[:, 0] < 10 * i + 10)
        assert row["min"] == z[mine].min()
        assert row["max"] == z[mine].max()
        assert row["mean"] == pytest.approx(z[mine].mean(), rel=1e-12)
    assert bins.totals()["mean"] == pytest.approx(z[inside].mean(), rel=1e-12)


def test_an_empty_section_says_none_and_not_zero() -> None:
    bins = SectionBins(Section(square(4.0)[:2], 1.0, METRES), 2)
    assert bins.totals() == {"min": None, "mean": None, "max": None}
    assert bins.rows()[0] == {
        "from": 0.0,
        "to": 2.0,
        "count": 0,
        "min": None,
        "mean": None,
        "max": None,
    }


def test_sections_without_length_or_width_are_refused() -> None:
    with pytest.raises(MeasureError, match="length"):
        Section(np.zeros((2, 3)), 1.0, METRES)
    with pytest.raises(MeasureError, match="width"):
        Section(square(1.0)[:2], 0.0, METRES)
    with pytest.raises(MeasureError, match="projected"):
        Section(square(1.0)[:2], 1.0, frame_of(Crs("WGS 84", 4326, None, DEGREE, METRE, True)))
