"""Indexing: every point once, bit by bit, in the node it belongs to, readable by others."""

from __future__ import annotations

import os
from pathlib import Path

import copclib
import laspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oniyanma.clouds.copc import open_copc
from oniyanma.clouds.decode import NodeJob, read_records
from oniyanma.clouds.index import build as build_module
from oniyanma.clouds.index import levels as level_module
from oniyanma.clouds.index import plan as plan_module
from oniyanma.clouds.index.build import build_copc
from oniyanma.clouds.index.crew import Cancelled
from oniyanma.clouds.index.levels import (
    MAX_DEPTH,
    codes_of,
    cube_for,
    group_nodes,
    key_of,
    point_levels,
    priorities,
    winner_depths,
)
from oniyanma.clouds.model import CloudError, NodeKey
from oniyanma.clouds.open import open_source
from oniyanma.clouds.reading import LocalFile
from tests.clouds.index_support import all_records, same_points, terrain, write_las
from tests.support import shared

INT32 = np.iinfo(np.int32)


def index(source: Path, target: Path, **options) -> Path:
    """Indexes in this process."""
    opened = open_source(str(source))
    try:
        build_copc(opened, target, **{"workers": 0, **options})
    finally:
        opened.close()
    return target


def check_tree(path: Path, points: int) -> None:
    """Each node's points lie in its cell, and an inner node has one at most in each 1/128."""
    file = open_copc(str(path))
    tree = file.hierarchy()
    assert not file.warnings and tree.counts.sum() == points == file.header.point_count
    inner = set(tree.parents.tolist())
    scale, offset = np.array(file.header.scales), np.array(file.header.offsets)
    bytes_of = LocalFile(path)
    for i, key in enumerate(tree.keys.tolist()):
        job = file.job(NodeKey(*key), ())
        if job is None:
            continue
        records = read_records(file.format, job, bytes_of.read_at)
        xyz = np.stack([records[a] for a in "XYZ"], axis=1) * scale + offset
        side = tree.maxs[i] - tree.mins[i]
        near = 1e-9 * np.maximum(np.abs(tree.maxs[i]), 1.0)
        assert (xyz >= tree.mins[i] - near).all() and (xyz <= tree.maxs[i] + near).all()
        if i in inner:
            cells = codes_of(records, _cube(file)) >> np.uint64(3 * max(0, MAX_DEPTH - key[0] - 7))
            assert len(np.unique(cells)) == len(cells)
        assert side[0] == pytest.approx(2 * file.halfsize / 2 ** key[0])
    bytes_of.close()


def _cube(file):
    return level_module.Cube(
        file.center - file.halfsize,
        2 * file.halfsize,
        np.array(file.header.scales),
        np.array(file.header.offsets),
    )


@pytest.fixture(scope="module")
def ground(tmp_path_factory) -> Path:
    """120,000 points of terrain as LAZ."""
    return write_las(tmp_path_factory.mktemp("ground") / "ground.laz", terrain(120_000), extra=True)


@pytest.fixture
def many_buckets(monkeypatch) -> None:
    """Buckets and runs so small that even a small cloud has many of them."""
    monkeypatch.setattr(build_module, "_sizes", lambda *_: build_module._Sizes(15_000, 10_000))
    monkeypatch.setattr(level_module, "LEAF_POINTS", 3_000)


def test_every_point_is_there_once_with_all_its_attributes_bit_by_bit(ground, tmp_path):
    target = index(ground, tmp_path / "a.copc.laz")
    assert same_points(all_records(target), all_records(ground))
    check_tree(target, 120_000)


def test_the_result_is_the_same_tree_however_small_the_memory(ground, tmp_path, many_buckets):
    target = index(ground, tmp_path / "a.copc.laz")
    assert same_points(all_records(target), all_records(ground))
    check_tree(target, 120_000)


def test_two_processes_build_what_one_builds(ground, tmp_path, many_buckets):
    one = open_copc(str(index(ground, tmp_path / "one.copc.laz")))
    two = open_copc(str(index(ground, tmp_path / "two.copc.laz", workers=2)))
    a, b = one.hierarchy(), two.hierarchy()
    # the spawned processes keep the usual leaf size, so compare what does not depend on it
    assert a.counts.sum() == b.counts.sum() and (one.center == two.center).all()
    assert same_points(
        all_records(tmp_path / "one.copc.laz"), all_records(tmp_path / "two.copc.laz")
    )


def test_other_readers_open_it_and_find_the_same(ground, tmp_path):
    target = index(ground, tmp_path / "a.copc.laz")
    with laspy.CopcReader.open(str(target)) as reader:
        points = reader.query()
        assert len(points) == 120_000
        assert reader.header.mins == pytest.approx(laspy.open(str(ground)).header.mins)
    assert same_points(points.array, all_records(ground))
    other = copclib.FileReader(str(target))
    nodes = other.GetAllNodes()
    assert sum(node.point_count for node in nodes) == 120_000
    assert other.ValidateSpatialBounds(False)
    header = other.copc_config.las_header
    times = all_records(ground)["gps_time"]
    info = reader.copc_info
    assert (info.gps_min, info.gps_max) == (times.min(), times.max())
    assert (
        list(header.points_by_return)[:2]
        == np.bincount(all_records(ground)["bit_fields"] & 15, minlength=16)[1:3].tolist()
    )


@pytest.mark.parametrize("point_format", range(11))
def test_each_point_format_keeps_its_fields(tmp_path, point_format):
    source = write_las(tmp_path / "a.las", terrain(3000), point_format=point_format)
    target = index(source, tmp_path / "a.copc.laz")
    before = laspy.read(str(source)).points
    after = laspy.read(str(target)).points

    def table(points, names):
        columns = [np.asarray(points[name], np.float64) for name in ("X", "Y", "Z", *names)]
        rows = np.stack(columns)
        return rows[:, np.lexsort(rows)]

    names = [
        name
        for name in before.point_format.dimension_names
        if name in set(after.point_format.dimension_names) and name not in "XYZ"
    ]
    lost = set(before.point_format.dimension_names) - set(names) - set("XYZ")
    waves = {"wavepacket_index", "wavepacket_offset", "wavepacket_size"}
    waves |= {"return_point_wave_location", "x_t", "y_t", "z_t"}
    assert lost <= waves | {"scan_angle_rank"}
    assert np.array_equal(table(before, names), table(after, names), equal_nan=True)
    if point_format < 6:
        ranks = np.asarray(before["scan_angle_rank"], np.int64)
        angles = np.asarray(after["scan_angle"]) * 0.006
        assert np.array_equal(np.sort(np.rint(angles).astype(np.int64)), np.sort(ranks))


def test_wrong_header_bounds_put_no_point_into_a_wrong_node(ground, tmp_path, many_buckets):
    data = bytearray(ground.read_bytes())
    for bounds in (np.zeros(6), np.full(6, np.nan), np.array([9e9, -9e9] * 3)):
        data[179:227] = bounds.astype("<f8").tobytes()
        wrong = tmp_path / "wrong.laz"
        wrong.write_bytes(data)
        target = index(wrong, tmp_path / "a.copc.laz")
        check_tree(target, 120_000)
        assert same_points(all_records(target), all_records(ground))


@given(
    st.lists(st.tuples(*[st.integers(-300, 300)] * 3), min_size=0, max_size=300),
    st.integers(1, 60),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_levels_hold_one_point_a_cell_whatever_the_points(tmp_path_factory, points, leaf, far):
    xyz = np.array(points, np.int64).reshape(len(points), 3)
    if far and len(xyz):
        xyz[0] = INT32.max  # one noise point far away
    records = np.zeros(len(xyz), [("X", "<i4"), ("Y", "<i4"), ("Z", "<i4")])
    for axis, name in enumerate("XYZ"):
        records[name] = xyz[:, axis]
    if not len(xyz):
        return
    cube = cube_for(xyz.min(axis=0), xyz.max(axis=0), np.full(3, 0.01), np.zeros(3))
    codes = np.sort(codes_of(records, cube))
    priority = priorities(codes)
    depths = winner_depths(codes, priority, 0, 0, leaf)
    levels = point_levels(codes, priority, depths, 0, leaf_points=leaf)
    order, nodes = group_nodes(codes, levels)
    assert sorted(order.tolist()) == list(range(len(xyz)))
    assert sum(count for _, _, count in nodes) == len(xyz)
    assert len({(level, cell) for level, cell, _ in nodes}) == len(nodes)
    keys = [key_of(cell, level) for level, cell, _ in nodes]
    start = 0
    for (level, cell, count), key in zip(nodes, keys, strict=True):
        mine = codes[order[start : start + count]]
        start += count
        assert (mine >> np.uint64(3 * (MAX_DEPTH - level)) == cell).all()
        below = any(
            d > key[0] and (x >> (d - key[0]), y >> (d - key[0]), z >> (d - key[0])) == key[1:]
            for d, x, y, z in keys
        )
        if below:
            assert len(np.unique(mine >> np.uint64(3 * max(0, MAX_DEPTH - level - 7)))) == count


def crowds() -> dict[str, np.ndarray]:
    """Clouds on which subdividing octrees have gone wrong."""
    rng = np.random.default_rng(5)
    blob = rng.normal(0, 300, (120_000, 3)).astype(np.int64)
    noise = np.full((1, 3), 2_000_000_000)
    return {
        "100,000 equal points": np.full((100_000, 3), 7),
        "two places": np.repeat([[0, 0, 0], [1, 1, 1]], 50_000, axis=0),
        "one far noise point": np.concatenate([blob, noise]),
        "a line": np.stack([np.arange(120_000), np.zeros(120_000), np.zeros(120_000)], axis=1),
        "a full cube": rng.integers(0, 400, (150_000, 3)),
        "one point": np.array([[5, 6, 7]]),
        "no point": np.zeros((0, 3)),
    }


@pytest.mark.parametrize("name", crowds())
def test_clouds_on_which_octrees_fail_end_with_every_point_kept(name, tmp_path, many_buckets):
    xyz = crowds()[name].astype(np.int64)
    source = write_las(tmp_path / "a.las", xyz, offset=(0.0, 0.0, 0.0))
    target = index(source, tmp_path / "a.copc.laz")
    check_tree(target, len(xyz))
    assert same_points(all_records(target), all_records(source))
    assert open_copc(str(target)).hierarchy().keys[:, 0].max() <= MAX_DEPTH


def test_a_crowded_inner_node_hands_its_surplus_down(tmp_path, monkeypatch, many_buckets):
    monkeypatch.setattr(level_module, "INNER_POINTS", 2_000)
    monkeypatch.setattr(plan_module, "INNER_POINTS", 2_000)
    rng = np.random.default_rng(1)
    source = write_las(tmp_path / "a.las", rng.integers(0, 20_000, (150_000, 3)))
    target = index(source, tmp_path / "a.copc.laz")
    check_tree(target, 150_000)
    tree = open_copc(str(target)).hierarchy()
    inner = np.unique(tree.parents[tree.parents >= 0])
    # buckets share a node's quota by their points, rounded up
    assert tree.counts[inner].max() <= 2_000 + 64


def left_behind(folder: Path, *known: str) -> list[str]:
    return sorted(set(os.listdir(folder)) - set(known))


@pytest.mark.parametrize("workers", [0, 2])
def test_cancelling_leaves_no_file_and_no_process(ground, tmp_path, workers):
    calls = []

    def cancelled() -> bool:
        calls.append(1)
        return len(calls) > 2

    with pytest.raises(Cancelled):
        index(ground, tmp_path / "a.copc.laz", cancelled=cancelled, workers=workers)
    assert left_behind(tmp_path) == []


def test_a_failed_build_keeps_the_file_that_was_there(ground, tmp_path, monkeypatch):
    target = tmp_path / "a.copc.laz"
    target.write_bytes(b"before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("oniyanma.clouds.index.writer.CopcWriter.finish", full)
    with pytest.raises(CloudError, match="the disk is full"):
        index(ground, target)
    assert target.read_bytes() == b"before" and left_behind(tmp_path) == ["a.copc.laz"]


def test_a_damaged_chunk_loses_its_points_only(ground, tmp_path):
    data = bytearray(ground.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 4000] = bytes(4000)
    damaged = tmp_path / "damaged.laz"
    damaged.write_bytes(data)
    source = open_source(str(damaged))
    whole = sum(len(chunk) for chunk in source.records())
    target = index(damaged, tmp_path / "a.copc.laz")
    check_tree(target, whole)


def test_too_little_room_on_the_disk_is_said_before_anything_is_done(ground, tmp_path, monkeypatch):
    import shutil

    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(CloudError, match=r"needs about .* [kMG]B"):
        index(ground, tmp_path / "a.copc.laz")
    assert left_behind(tmp_path) == []


def test_a_real_cloud_gives_a_sound_tree(tmp_path):
    source = shared("corpus", "pdal_lone-star.copc.laz")
    target = index(source, tmp_path / "a.copc.laz")
    check_tree(target, 518_862)
    assert same_points(all_records(target), all_records(source))


def test_a_node_that_claims_more_than_memory_holds_is_refused(ground, tmp_path):
    from oniyanma.clouds.decode import NodeError

    file = open_copc(str(index(ground, tmp_path / "a.copc.laz")))
    job = NodeJob((0, 0, 0, 0), 1000, 100, 1 << 40, ())
    with pytest.raises(NodeError, match="more than can be decoded"):
        read_records(file.format, job, lambda offset, size: b"")
