"""Measurements against closed forms, at any place in the world, in any unit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oniyanma.clouds.model import DEGREE, FOOT, METRE, UNKNOWN_CRS, US_FOOT, Crs
from oniyanma.scene.measure import checked_points, crosses_itself, measure
from oniyanma.scene.units import MeasureError, frame_of

METRES = frame_of(Crs("UTM 33N", 32633, None, METRE, METRE))
FEET = frame_of(Crs("Oregon North (ft)", 2992, None, FOOT, FOOT))
MIXED = frame_of(Crs("ftUS in plan, heights in m", None, None, US_FOOT, METRE))
WGS84 = frame_of(Crs("WGS 84", 4326, None, DEGREE, METRE, geographic=True))

coordinate = st.integers(-1_000_000, 1_000_000).map(lambda n: n / 1000.0)
vertex = st.tuples(coordinate, coordinate, coordinate)
UTM = np.array([432_187.53, 5_312_764.87, 811.25])


def test_distance_has_its_four_parts() -> None:
    answer = measure("distance", [(1.0, 2.0, 3.0), (4.0, 6.0, 15.0)], METRES)
    assert answer["value"] == 13.0
    assert answer["horizontal"] == 5.0
    assert answer["vertical"] == 12.0
    assert answer["slope"] == pytest.approx(math.degrees(math.atan2(12, 5)), rel=1e-15)
    assert answer["slopePercent"] == 240.0
    assert (answer["unit"], answer["metres"]) == ("m", 13.0)


def test_feet_are_answered_in_feet_with_metres_beside_them() -> None:
    answer = measure("distance", [(0, 0, 0), (30, 40, 0)], FEET)
    assert (answer["value"], answer["unit"]) == (50.0, "ft")
    assert answer["metres"] == pytest.approx(15.24, rel=1e-15)
    assert answer["horizontalMetres"] == pytest.approx(15.24, rel=1e-15)


def test_heights_in_another_unit_than_the_plan_are_converted_and_not_added() -> None:
    """A ftUS plan with heights in metres: 1 ftUS = 0.3048006 m, and dZ keeps the metre."""
    foot = 1200.0 / 3937.0
    answer = measure("distance", [(0, 0, 0), (3.0 / foot, 0, 4.0)], MIXED)
    assert answer["metres"] == pytest.approx(5.0, rel=1e-14)
    assert answer["unit"] == "ftUS"
    assert (answer["vertical"], answer["verticalUnit"]) == (4.0, "m")
    assert answer["slopePercent"] == pytest.approx(400.0 / 3.0, rel=1e-14)


def test_an_unknown_unit_stays_unknown_and_gives_no_metres() -> None:
    answer = measure("distance", [(0, 0, 0), (3, 4, 0)], frame_of(UNKNOWN_CRS))
    assert (answer["value"], answer["unit"], answer["metres"]) == (5.0, "unknown", None)
    assert "no unit" in answer["note"]


def test_no_vertical_unit_takes_the_one_in_plan_and_says_so() -> None:
    answer = measure("height", [(0, 0, 10), (0, 5, 4)], frame_of(Crs("x", None, None, FOOT)))
    assert (answer["value"], answer["rise"], answer["unit"]) == (6.0, -6.0, "ft")
    assert "no vertical unit" in answer["note"]


def test_a_degree_is_never_taken_for_a_metre() -> None:
    """One degree of longitude on the equator of WGS 84 is 111,319.49 m."""
    answer = measure("distance", [(10.0, 0.0, 0.0), (11.0, 0.0, 0.0)], WGS84)
    assert answer["value"] == pytest.approx(math.radians(1) * 6378137.0, rel=1e-12)
    assert (answer["unit"], answer["metres"]) == ("m", answer["value"])
    assert "geodesic" in answer["method"]


def test_degrees_without_an_ellipsoid_are_refused() -> None:
    frame = frame_of(Crs("unknown", None, None, DEGREE, METRE, geographic=True))
    with pytest.raises(MeasureError, match="degrees"):
        measure("distance", [(10, 50, 0), (11, 50, 0)], frame)


def test_a_geographic_area_is_that_of_the_ellipsoid() -> None:
    """A quarter of the half-degree zone between two parallels, against its closed form."""
    e2 = WGS84.geod().es
    e = math.sqrt(e2)

    def zone(lat: float) -> float:
        s = math.sin(math.radians(lat))
        q = s / (1 - e2 * s * s) + math.atanh(e * s) / e
        return 6378137.0**2 * (1 - e2) / 2.0 * q

    lons = np.linspace(10.0, 10.01, 200)
    corners = [(x, 47.0, 400.0) for x in lons] + [(x, 47.01, 400.0) for x in lons[::-1]]
    answer = measure("area", corners, WGS84)
    expected = (zone(47.01) - zone(47.0)) * math.radians(0.01)
    assert answer["planSquareMetres"] == pytest.approx(expected, rel=1e-7)
    assert answer["unit"] == "m²"
    ratio = answer["value"] / answer["plan"]
    assert ratio == pytest.approx((1 + 400.0 / 6378137.0) ** 2, rel=1e-5)


def test_geographic_angles_are_true_on_the_ground() -> None:
    """East and north are square even at 60° north, where a degree of longitude is half as long."""
    answer = measure("angle", [(10.001, 60.0, 0), (10.0, 60.0, 0), (10.0, 60.001, 0)], WGS84)
    assert answer["value"] == pytest.approx(90.0, abs=1e-3)
    assert answer["horizontal"] == pytest.approx(90.0, abs=1e-3)


@pytest.mark.parametrize("degrees", [1e-6, 0.5, 45.0, 90.0, 179.5, 180.0 - 1e-6])
def test_an_angle_keeps_its_digits_near_0_and_180(degrees: float) -> None:
    turned = math.radians(degrees)
    points = [(1.0, 0, 0), (0, 0, 0), (math.cos(turned) * 100, math.sin(turned) * 100, 0)]
    answer = measure("angle", points, METRES)
    assert answer["value"] == pytest.approx(degrees, rel=1e-9)
    assert answer["horizontal"] == pytest.approx(degrees, rel=1e-9)


def test_an_angle_in_space_differs_from_the_one_in_plan() -> None:
    answer = measure("angle", [(1, 0, 1), (0, 0, 0), (0, 1, 1)], METRES)
    assert answer["value"] == pytest.approx(60.0, rel=1e-14)
    assert answer["horizontal"] == pytest.approx(90.0, rel=1e-14)


def test_an_angle_with_an_arm_of_no_length_is_refused() -> None:
    with pytest.raises(MeasureError, match="three different points"):
        measure("angle", [(0, 0, 0), (0, 0, 0), (1, 0, 0)], METRES)


def test_an_upright_arm_has_no_angle_in_plan() -> None:
    answer = measure("angle", [(0, 0, 5), (0, 0, 0), (1, 0, 0)], METRES)
    assert (answer["value"], answer["horizontal"]) == (90.0, None)


@given(st.floats(0.0, 80.0), st.floats(1.0, 500.0), st.floats(1.0, 500.0))
def test_the_area_of_a_tilted_rectangle(tilt: float, a: float, b: float) -> None:
    """In space a·b, in plan a·b·cos(tilt): the roof and what it covers."""
    c, s = math.cos(math.radians(tilt)), math.sin(math.radians(tilt))
    points = [(0, 0, 0), (a, 0, 0), (a, b * c, b * s), (0, b * c, b * s)]
    answer = measure("area", points, METRES)
    assert answer["value"] == pytest.approx(a * b, rel=1e-12)
    assert answer["plan"] == pytest.approx(a * b * c, rel=1e-12)
    assert answer["perimeter"] == pytest.approx(2 * (a + b), rel=1e-12)
    assert answer["outOfPlane"] == pytest.approx(0.0, abs=1e-9)


def test_a_wall_has_an_area_in_space_and_none_in_plan() -> None:
    answer = measure("area", [(0, 0, 0), (8, 0, 0), (8, 0, 3), (0, 0, 3)], FEET)
    assert answer["value"] == pytest.approx(24.0)
    assert answer["plan"] == 0.0
    assert answer["squareMetres"] == pytest.approx(24.0 * 0.3048**2)
    assert answer["unit"] == "ft²"


def test_a_bent_polygon_says_how_far_it_leaves_its_plane() -> None:
    answer = measure("area", [(0, 0, 1), (2, 0, -1), (2, 2, 1), (0, 2, -1)], METRES)
    assert answer["plan"] == pytest.approx(4.0)
    assert answer["outOfPlane"] == pytest.approx(1.0)


def test_a_regular_polygon_approaches_the_circle() -> None:
    n, r = 720, 55.0
    turns = np.linspace(0, 2 * np.pi, n, endpoint=False)
    points = [(r * math.cos(t), r * math.sin(t), 7.0) for t in turns]
    answer = measure("area", points, METRES)
    assert answer["value"] == pytest.approx(n / 2 * r * r * math.sin(2 * math.pi / n), rel=1e-12)


def test_a_polygon_that_crosses_itself_is_refused() -> None:
    with pytest.raises(MeasureError, match="crosses itself"):
        measure("area", [(0, 0, 0), (4, 3, 0), (4, 0, 0), (0, 4, 0)], METRES)
    with pytest.raises(MeasureError, match="no area"):
        measure("area", [(0, 0, 0), (1, 1, 0), (2, 2, 0)], METRES)


def test_a_closing_corner_that_repeats_the_first_changes_nothing() -> None:
    open_ring = [(0.0, 0.0, 0.0), (4.0, 0.0, 0.0), (4.0, 4.0, 0.0), (0.0, 4.0, 0.0)]
    closed = measure("area", [*open_ring, open_ring[0]], METRES)
    assert closed == measure("area", open_ring, METRES)


@given(st.lists(st.tuples(coordinate, coordinate), min_size=4, max_size=12, unique=True))
def test_crossing_edges_are_found_as_by_a_plain_search(corners: list[tuple[float, float]]) -> None:
    def side(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> int:
        value = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        return (value > 1e-6) - (value < -1e-6)

    n = len(corners)
    found = False
    for i in range(n):
        for j in range(i + 2, n):
            if (j + 1) % n == i:
                continue
            a, b, c, d = corners[i], corners[(i + 1) % n], corners[j], corners[(j + 1) % n]
            sides = side(a, b, c), side(a, b, d), side(c, d, a), side(c, d, b)
            assume(0 not in sides)
            found |= sides[0] != sides[1] and sides[2] != sides[3]
    assert crosses_itself(np.array(corners)) == found


@given(st.lists(vertex, min_size=3, max_size=3, unique=True))
def test_moving_to_utm_coordinates_changes_nothing(
    points: list[tuple[float, float, float]],
) -> None:
    """1e-9 relative, for figures of 10 m and more with millimetre coordinates."""
    array = np.array(points)
    sides = np.linalg.norm(array - np.roll(array, 1, axis=0), axis=1)
    flat = np.hypot(*(array - np.roll(array, 1, axis=0))[:, :2].T)
    assume(flat.min() > 10.0)
    area = np.linalg.norm(np.cross(array[1] - array[0], array[2] - array[0]))
    assume(area > 0.1 * sides.max() ** 2)
    for kind in ("distance", "angle", "area"):
        here, there = measure(kind, array, METRES), measure(kind, array + UTM, METRES)
        for key in ("value", "perimeter"):
            if key in here:
                assert there[key] == pytest.approx(here[key], rel=1e-9)
    here, there = (
        measure("distance", array[:2], METRES),
        measure("distance", array[:2] + UTM, METRES),
    )
    for key in ("value", "horizontal"):
        assert there[key] == pytest.approx(here[key], rel=1e-9)


@given(st.lists(vertex, min_size=2, max_size=8))
def test_a_shift_that_floats_hold_exactly_gives_the_same_bits(
    points: list[tuple[float, float, float]],
) -> None:
    array = np.floor(np.array(points) * 1024.0) / 1024.0
    moved = array + np.array([432_187.5, 5_312_764.25, 811.125])
    assert measure("distance", array, METRES) == measure("distance", moved, METRES)


def test_a_height_with_a_level_pair_is_zero() -> None:
    answer = measure("height", [(0, 0, 3), (3, 4, 3)], METRES)
    assert (answer["value"], answer["horizontal"]) == (0.0, 5.0)


def test_a_polyline_adds_its_segments() -> None:
    answer = measure("distance", [(0, 0, 0), (3, 4, 0), (3, 4, 2)], METRES)
    assert answer["segments"] == [5.0, 2.0]
    assert (answer["value"], answer["horizontal"], answer["vertical"]) == (7.0, 5.0, 2.0)


def test_straight_up_has_a_slope_of_90_degrees_and_no_percentage() -> None:
    answer = measure("distance", [(0, 0, 0), (0, 0, 2)], METRES)
    assert (answer["slope"], answer["slopePercent"]) == (90.0, None)
    answer = measure("distance", [(1, 1, 1), (1, 1, 1)], METRES)
    assert (answer["value"], answer["slope"]) == (0.0, None)


@pytest.mark.parametrize(
    ("kind", "count"), [("point", 2), ("distance", 1), ("height", 3), ("angle", 2), ("area", 2)]
)
def test_a_wrong_number_of_points_is_named(kind: str, count: int) -> None:
    with pytest.raises(MeasureError, match=f"{count} w"):
        checked_points(kind, [(0.0, 0.0, float(i)) for i in range(count)])


def test_points_that_are_not_finite_are_refused() -> None:
    with pytest.raises(MeasureError, match="finite"):
        measure("distance", [(0, 0, 0), (0, 0, math.nan)], METRES)
