"""Answers about points: exactly those that can be seen, in the unit of the data."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oniyanma.clouds.model import FOOT, METRE, Crs, Dimension, Vec3
from oniyanma.scene import measuring, queries
from oniyanma.scene.ports import CLIPPED, DELETED, HIDDEN, SELECTED
from oniyanma.scene.records import RecordError
from oniyanma.scene.sample import scene_frame
from oniyanma.scene.section import Section, SectionBins
from oniyanma.scene.snap import snap
from oniyanma.scene.state import SceneState
from oniyanma.scene.units import MeasureError
from tests.scene.cloudy import UTM, View, info, node, world

RNG = np.random.default_rng(7)


def ints(n: int, seed: int = 1, high: int = 100_000) -> Any:
    return np.random.default_rng(seed).integers(0, high, (n, 3)).astype(np.int32)


def test_elevation_is_real_z_of_the_seen_points() -> None:
    """No offset taken off; hidden, deleted and clipped points and hidden classes left out."""
    a, b = ints(500, 1), ints(300, 2)
    flags = RNG.choice([0, HIDDEN, DELETED, CLIPPED, SELECTED, SELECTED | HIDDEN], 300)
    classes = RNG.choice([1, 2, 7], 300)
    view = View([node(a), node(b, place=1, flags=flags, classes=classes)])
    view.state = replace(view.state, hidden_classes=frozenset({7}))
    kept = ((flags == 0) | (flags == SELECTED)) & (classes != 7)
    z = np.r_[world(a)[:, 2], world(b)[kept, 2]]
    answer = queries.elevation(view, 16)
    assert (answer["min"], answer["max"]) == (z.min(), z.max())
    assert answer["mean"] == pytest.approx(z.mean(), rel=1e-12)
    assert answer["count"] == answer["points"] == len(z)
    assert [row["count"] for row in answer["bins"]] == np.histogram(z, 16)[0].tolist()
    assert (answer["unit"], answer["basis"]) == ("m", "resident")
    assert len(answer["bins"]) == 16


def test_elevation_says_feet_where_the_crs_is_in_feet_and_that_heights_were_assumed() -> None:
    view = View([node(ints(10))], {"c1": info(10, Crs("Oregon", 2992, None, FOOT))})
    answer = queries.elevation(view, 4)
    assert answer["unit"] == "ft"
    assert "no vertical unit" in answer["note"]


def test_with_nothing_to_see_the_reason_is_said() -> None:
    empty = queries.elevation(View([], {}, SceneState()), 4)
    assert (empty["count"], empty["min"], empty["bins"]) == (0, None, [])
    assert "No cloud is open" in empty["note"]
    view = View([node(ints(5), flags=HIDDEN)])
    assert "hidden" in queries.elevation(view, 4)["note"]
    assert "fitView" in queries.elevation(View([], {"c1": info(9)}), 4)["note"]
    off = replace(view.state.clouds[0], visible=False)
    view.state = replace(view.state, clouds=(off,))
    assert "setCloudVisibility" in queries.elevation(view, 4)["note"]


def test_one_value_makes_one_bin() -> None:
    xyz = np.full((7, 3), 5, np.int32)
    answer = queries.elevation(View([node(xyz)]), 16)
    assert answer["bins"] == [{"from": answer["min"], "to": answer["max"], "count": 7}]


def test_classes_are_counted_after_the_edits_and_switched_off_ones_are_marked() -> None:
    view = View([node(ints(6), classes=[2, 2, 6, 7, 7, 7], flags=[0, DELETED, 0, 0, 0, 0])])
    view.state = replace(view.state, hidden_classes=frozenset({7}))
    answer = queries.classes(view)
    assert answer["points"] == 2
    assert answer["classes"] == [
        {"class": 2, "name": "Ground", "count": 1, "visible": True},
        {"class": 6, "name": "Building", "count": 1, "visible": True},
        {"class": 7, "name": "Low noise", "count": 3, "visible": False},
    ]


def test_a_scaled_dimension_gives_real_values_and_no_data_is_none() -> None:
    """raw·scale + offset; the no-data value counts nowhere."""
    dimension = Dimension("height", "int16", "", 0.01, 5.0, -999, True)
    raw = np.array([100, 200, -999, 300], np.int16)
    view = View(
        [node(ints(4), attributes={"height": raw})], {"c1": info(4, dimensions=[dimension])}
    )
    answer = queries.histogram(view, "height", 2, (None, None), None, {})
    assert (answer["min"], answer["max"], answer["count"]) == (6.0, 8.0, 3)
    assert answer["mean"] == pytest.approx(7.0)


def test_large_whole_numbers_stay_exact() -> None:
    """uint64 beyond 2^53 is not rounded by a float."""
    raw = np.array([2**63 + 1, 2**63 + 3], np.uint64)
    dimension = Dimension("id", "uint64", extra=True)
    view = View([node(ints(2), attributes={"id": raw})], {"c1": info(2, dimensions=[dimension])})
    answer = queries.histogram(view, "id", 2, (None, None), None, {})
    assert (answer["min"], answer["max"]) == (2**63 + 1, 2**63 + 3)


def test_a_range_keeps_both_its_ends() -> None:
    raw = np.arange(10, dtype=np.uint16)
    dimension = Dimension("intensity", "uint16")
    view = View(
        [node(ints(10), attributes={"intensity": raw})], {"c1": info(10, dimensions=[dimension])}
    )
    answer = queries.histogram(view, "intensity", 2, (3.0, 6.0), None, {})
    assert (answer["min"], answer["max"], answer["count"]) == (3, 6, 4)
    assert queries.histogram(view, "intensity", 2, (8.0, None), None, {})["count"] == 2
    nothing = queries.histogram(view, "intensity", 2, (90.0, None), None, {})
    assert nothing["count"] == 0
    assert "in this range" in nothing["note"]


def test_an_attribute_that_is_not_resident_is_read_for_the_nodes_that_lack_it() -> None:
    dimension = Dimension("gps_time", "float64")
    one, two = node(ints(3)), node(ints(2), place=1, attributes={"gps_time": np.array([5.0, 9.0])})
    view = View([one, two], {"c1": info(5, dimensions=[dimension])})
    assert queries.not_resident(view, "gps_time", None) == [one.id]
    read = {one.id: np.array([1.0, 2.0, 3.0])}
    answer = queries.histogram(view, "gpsTime", 2, (None, None), None, read)
    assert (answer["min"], answer["max"], answer["count"]) == (1.0, 9.0, 5)


def test_an_unknown_attribute_is_answered_with_those_there_are() -> None:
    view = View([node(ints(3))], {"c1": info(3, dimensions=[Dimension("intensity", "uint16")])})
    with pytest.raises(RecordError, match="intensity") as caught:
        queries.checked_attribute(view, "nope", None)
    assert caught.value.missing


def test_a_point_is_answered_with_its_integers_and_every_attribute() -> None:
    xyz = ints(50, 3)
    attributes = {"intensity": np.arange(50, dtype=np.uint16), "gps_time": np.full(50, 83177420.5)}
    dims = [Dimension("intensity", "uint16"), Dimension("gps_time", "float64")]
    one = node(xyz, classes=6, attributes=attributes)
    view = View([one], {"c1": info(50, dimensions=dims, gps_time="adjusted")})
    target = world(xyz)[17] + [0.0004, 0.0, 0.0]
    at: Vec3 = (float(target[0]), float(target[1]), float(target[2]))
    stored = {**attributes, "classification": np.full(50, 1, np.uint8)}
    answer = queries.picked(view, view.nearest(at, math.inf), lambda seen: stored, "")
    assert answer["raw"] == xyz[17].tolist()
    assert (answer["x"], answer["y"], answer["z"]) == tuple(world(xyz)[17])
    assert answer["attributes"]["intensity"] == 17
    assert answer["attributes"]["classification"] == 6
    assert answer["attributes"]["classificationInFile"] == 1
    assert answer["gpsDate"] == "2014-05-03T18:37:00.500 GPS"
    assert answer["distance"] == pytest.approx(0.0004, rel=1e-3)


def test_no_point_within_the_radius_or_in_view_says_so() -> None:
    view = View([node(ints(5))])
    found = view.nearest((0.0, 0.0, 0.0), 3.0)
    answer = queries.picked(view, found, lambda seen: {}, "No point within 3 of there")
    assert (answer["found"], answer["points"]) == (False, 0)
    assert answer["note"] == "No point within 3 of there"
    hidden = View([node(ints(5), flags=HIDDEN)])
    assert "hidden" in queries.picked(hidden, None, lambda seen: {}, "x")["note"]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_snapping_gives_the_nearest_seen_point_exactly(seed: int, count: int) -> None:
    """Against a plain search over all points; never a hidden, clipped or deleted one."""
    rng = np.random.default_rng(seed)
    nodes = [
        node(
            rng.integers(0, 5000, (60, 3)).astype(np.int32),
            place=i,
            flags=rng.choice([0, 0, HIDDEN, DELETED, CLIPPED, SELECTED], 60),
            classes=rng.choice([2, 7], 60),
        )
        for i in range(count)
    ]
    view = View(nodes)
    view.state = replace(view.state, hidden_classes=frozenset({7}))
    good = np.vstack(
        [
            world(n.xyz)[((n.flags & ~np.uint8(SELECTED)) == 0) & (n.classification != 7)]
            for n in nodes
        ]
    )
    place = world(rng.integers(0, 5000, (1, 3)).astype(np.int32))[0]
    (point,), (moved,) = snap(view, view.nearest, [place.tolist()], math.inf)
    away = np.sqrt(((good - place) ** 2).sum(axis=1))
    assert point in {tuple(p) for p in good.tolist()}
    assert moved == pytest.approx(away.min(), rel=1e-12)


def test_snapping_refuses_a_place_far_from_every_point() -> None:
    view = View([node(ints(5), spacing=0.5)])
    with pytest.raises(MeasureError, match="point 2"):
        snap(view, view.nearest, [world(view.nodes[0].xyz)[0].tolist(), [0.0, 0.0, 0.0]])
    with pytest.raises(MeasureError, match="hidden"):
        gone = View([node(ints(5), flags=HIDDEN)])
        snap(gone, gone.nearest, [[0.0, 0.0, 0.0]])


def test_how_far_a_place_may_be_goes_by_the_points_around_it() -> None:
    """Four spacings of the finest node there: a coarse one elsewhere lends no reach."""
    fine = node(ints(400, 3, 10_000), spacing=0.5)
    coarse = node(ints(400, 4, 10_000) + np.int32(900_000), place=1, spacing=16.0)
    view = View(
        [node(np.vstack([fine.xyz[:5], coarse.xyz[:5]]), place=2, spacing=32.0), fine, coarse]
    )
    top = world(fine.xyz)[np.argmax(fine.xyz[:, 2])]
    snap(view, view.nearest, [(top + np.array([0.0, 0.0, 1.9])).tolist()])
    with pytest.raises(MeasureError, match="within 2 of point 1"):
        snap(view, view.nearest, [(top + np.array([0.0, 0.0, 2.1])).tolist()])
    high = world(coarse.xyz)[np.argmax(coarse.xyz[:, 2])]
    snap(view, view.nearest, [(high + np.array([0.0, 0.0, 60.0])).tolist()])


def grid_node(side: int = 60, step: int = 500, z: Any = 0) -> Any:
    x, y = np.meshgrid(np.arange(side) * step, np.arange(side) * step)
    height = np.broadcast_to(np.asarray(z, np.int32), x.shape)
    return np.column_stack([x.ravel(), y.ravel(), height.ravel()]).astype(np.int32)


def test_a_volume_is_taken_of_the_seen_points_and_says_how_full_its_cells_were() -> None:
    """A 10 m × 10 m × 3 m block on level ground, every 0.5 m a point."""
    xyz = grid_node()
    inside = (xyz[:, 0] > 9_900) & (xyz[:, 0] < 20_100) & (xyz[:, 1] > 9_900) & (xyz[:, 1] < 20_100)
    xyz[inside, 2] = 3000
    view = View([node(xyz)])
    corners = [(9.5, 9.5), (20.5, 9.5), (20.5, 20.5), (9.5, 20.5)]
    places = [[UTM[0] + x, UTM[1] + y, UTM[2]] for x, y in corners]
    want = measuring.wanted(view, view.nearest, "volume", places, cell=0.5)
    values = measuring.values_of(want, measuring.resident_blocks(view), 0, "resident")
    assert values["referenceZ"] == pytest.approx(UTM[2])
    assert values["plan"] == pytest.approx(121.0)
    assert values["value"] == pytest.approx(3.0 * 21 * 21 / 4, rel=0.02)
    assert (values["emptyShare"], values["basis"]) == (0.0, "resident")
    assert values["density"] == pytest.approx(4.0, rel=0.02)
    auto = measuring.wanted(view, view.nearest, "volume", places)
    points = measuring.resident_inside(view, auto)
    assert (
        measuring.values_of(auto, measuring.resident_blocks(view), points, "resident")["cell"]
        == 1.0
    )


def test_a_profile_measures_the_points_beside_the_line() -> None:
    xyz = grid_node()
    xyz[:, 2] = xyz[:, 0] // 10
    view = View([node(xyz)])
    places = [
        [UTM[0] + 2.0, UTM[1] + 5.0, UTM[2] + 0.2],
        [UTM[0] + 12.0, UTM[1] + 5.0, UTM[2] + 1.2],
    ]
    want = measuring.wanted(view, view.nearest, "profile", places, width=0.2)
    values = measuring.values_of(want, measuring.resident_blocks(view), 0, "resident")
    assert values["value"] == pytest.approx(10.0)
    assert values["points"] == 21
    assert values["minZ"] == pytest.approx(UTM[2] + 0.2)
    assert values["slopePercent"] == pytest.approx(10.0)


def test_corners_that_snap_to_one_point_are_one_corner() -> None:
    view = View([node(grid_node())])
    places = [(0, 0), (0.1, 0), (5, 0), (5, 5), (0, 5)]
    want = measuring.wanted(
        view, view.nearest, "area", [[UTM[0] + x, UTM[1] + y, UTM[2]] for x, y in places]
    )
    assert len(want.points) == 4
    assert measuring.values_of(want, None, 0, "")["value"] == pytest.approx(25.0)


def test_a_section_lists_evenly_picked_points_and_counts_them_all() -> None:
    view = View([node(grid_node(z=10))])
    frame = scene_frame(view)
    assert frame is not None
    line = np.array([(UTM[0], UTM[1] + 5.0, 0.0), (UTM[0] + 20.0, UTM[1] + 5.0, 0.0)])
    filled = SectionBins(Section(line, 1.0, frame), 10)
    listed = queries.fill_section(view, filled, 20)
    assert filled.points == 41 * 3
    assert listed["listed"] == len(listed["station"]) == len(listed["offset"]) <= 20
    assert set(listed["z"]) == {UTM[2] + 10 * 0.001}
    assert queries.fill_section(view, SectionBins(Section(line, 1.0, frame), 10), 0)["listed"] == 0


def test_density_takes_the_mean_from_the_header_and_the_cells_from_the_sample() -> None:
    xyz = grid_node()
    low, high = world(xyz).min(axis=0), world(xyz).max(axis=0)
    bounds = ((low[0], low[1], low[2]), (high[0], high[1], high[2]))
    view = View([node(xyz)], {"c1": info(36_000, bounds=bounds)})
    frame = scene_frame(view)
    assert frame is not None
    answer = queries.density(view, frame, None, 5.0)
    assert answer["mean"] == pytest.approx(36_000 / 29.5**2)
    assert answer["meanBasis"] == "header"
    assert answer["basis"] == "resident"
    assert answer["points"] == 3600
    assert answer["max"] == pytest.approx(4.0)
    assert answer["unit"] == "points/m²"


def test_density_in_feet_is_per_square_metre() -> None:
    xyz = grid_node()
    view = View([node(xyz)], {"c1": info(3600, Crs("ft", None, None, FOOT, METRE))})
    frame = scene_frame(view)
    assert frame is not None
    answer = queries.density(view, frame, None, 5.0)
    assert answer["max"] == pytest.approx(4.0 / 0.3048**2)
    assert answer["cellMetres"] == pytest.approx(5 * 0.3048)
