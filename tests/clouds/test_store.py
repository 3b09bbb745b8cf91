"""The store: a first picture at once, nodes on request, the tree when it is there."""

from __future__ import annotations

import shutil
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oniyanma.clouds import cache
from oniyanma.clouds.atomic import part_of
from oniyanma.clouds.copc import ENTRY, open_copc
from oniyanma.clouds.index import job as index_job
from oniyanma.clouds.index.build import build_copc
from oniyanma.clouds.index.job import IndexJob, IndexRequest, Sample
from oniyanma.clouds.model import CloudError, NodeFailed, NodeId, NodeKey, NodePoints
from oniyanma.clouds.nodecache import NodeCache, node_bytes
from oniyanma.clouds.open import open_source
from oniyanma.clouds.opening import Cloud
from oniyanma.clouds.process import spawn
from oniyanma.clouds.store import CloudStore
from tests.clouds.index_support import all_records, terrain, write_las
from tests.support import shared

CLASS = frozenset({"classification"})


@pytest.fixture(scope="module")
def ground(tmp_path_factory) -> Path:
    return write_las(tmp_path_factory.mktemp("ground") / "ground.laz", terrain(150_000))


@pytest.fixture(scope="module")
def copc(ground) -> Path:
    target = ground.with_name("ground.copc.laz")
    build_copc(open_source(str(ground)), target, workers=0)
    return target


@pytest.fixture(params=[True, False], ids=["inline", "workers"])
def store(request, tmp_path):
    made = CloudStore(inline=request.param, cache_dir=tmp_path / "cache", small_cloud=1000)
    yield made
    made.close()


@pytest.fixture
def inline(tmp_path):
    made = CloudStore(inline=True, cache_dir=tmp_path / "cache", small_cloud=1000)
    yield made
    made.close()


def everything(cloud: Cloud) -> list[NodeId]:
    return [NodeId(cloud.id, NodeKey(*key)) for key in cloud.hierarchy.keys.tolist()]


def load(store: CloudStore, wanted: list[NodeId], attributes=CLASS) -> list:
    store.request(wanted, attributes)
    got = []
    while store.pending:
        assert store.wait(60)
        got += store.drain(5)
    return got


def finish_indexing(store: CloudStore, cloud: Cloud) -> None:
    while cloud.state == "indexing":
        assert store.wait(60)
        store.drain(5)


def xyz_of(nodes: list[NodePoints]) -> np.ndarray:
    return np.concatenate([node.xyz for node in nodes])


def sorted_rows(xyz: np.ndarray) -> np.ndarray:
    return xyz[np.lexsort(xyz.T)]


def test_a_copc_file_is_ready_at_once_and_gives_every_point_exactly(store, copc, ground):
    cloud = store.open(str(copc), id="a")
    assert cloud.state == "ready" and cloud.progress == 1.0
    nodes = load(store, everything(cloud))
    records = all_records(ground)
    truth = np.stack([records[a] for a in "XYZ"], axis=1)
    assert np.array_equal(sorted_rows(xyz_of(nodes)), sorted_rows(truth))
    assert all(node.attributes.keys() == {"classification"} for node in nodes)
    assert sum(int(node.attributes["classification"].astype(int).sum()) for node in nodes) == int(
        records["classification"].astype(int).sum()
    )


def test_a_copc_file_whose_nodes_are_too_large_to_show_is_indexed_like_any_other(
    store, copc, monkeypatch
):
    """A writer that puts all points into the root makes a valid file that no budget could show."""
    monkeypatch.setattr("oniyanma.clouds.opening.LARGE_NODE", 5_000)
    cloud = store.open(str(copc), id="a")
    assert cloud.state == "indexing" and len(load(store, everything(cloud))) > 0
    finish_indexing(store, cloud)
    assert cloud.state == "ready" and cloud.copc.path != str(copc)
    assert sum(len(node.xyz) for node in load(store, everything(cloud))) == 150_000


def _no_cube(raw: bytearray) -> None:
    struct.pack_into("<5d", raw, 429, *[float("nan")] * 5)


def _root_beyond_the_end(raw: bytearray) -> None:
    struct.pack_into("<Q", raw, 469, len(raw) + 5)


def _root_of_one_entry(raw: bytearray) -> None:
    struct.pack_into("<Q", raw, 477, 32)


def _random_hierarchy(raw: bytearray) -> None:
    place, size = struct.unpack_from("<QQ", raw, 469)
    raw[place : place + size] = np.random.default_rng(1).bytes(size)


def _cut_in_half(raw: bytearray) -> None:
    del raw[len(raw) // 2 :]


@pytest.mark.parametrize("points", [150_000, 1_000_000], ids=["indexed", "read whole"])
@pytest.mark.parametrize(
    "damage",
    [_no_cube, _root_beyond_the_end, _root_of_one_entry, _random_hierarchy, _cut_in_half],
)
def test_a_copc_file_with_a_damaged_tree_shows_all_points_that_are_whole(
    copc, tmp_path, damage, points
):
    """The tree only says where to look: the points are there without it, and are not hidden."""
    raw = bytearray(copc.read_bytes())
    damage(raw)
    path = tmp_path / "odd.copc.laz"
    path.write_bytes(raw)
    store = CloudStore(inline=True, cache_dir=tmp_path / "cache", small_cloud=points - 149_000)
    cloud = store.open(str(path), id="a")
    finish_indexing(store, cloud)
    whole = len(all_records(path))
    assert (cloud.state, int(cloud.hierarchy.counts.sum())) == ("ready", whole)
    assert whole == 150_000 or (damage is _cut_in_half and whole > 20_000)
    assert "copc_tree_damaged" in {w.code for w in cloud.info.warnings}
    again = store.open(str(path), id="b")
    assert again.state == "ready"
    assert "copc_tree_damaged" in {w.code for w in again.info.warnings}
    store.close()


def test_nodes_come_in_the_order_they_were_asked_for(inline, copc):
    cloud = inline.open(str(copc), id="a")
    wanted = list(reversed(everything(cloud)))
    assert [node.id for node in load(inline, wanted)] == wanted


def test_a_large_cloud_shows_a_sample_then_its_tree(store, ground):
    cloud = store.open(str(ground), id="a")
    assert cloud.state == "indexing" and len(cloud.hierarchy.counts) > 0
    first = cloud.hierarchy
    sample = load(store, everything(cloud))
    assert sum(len(node.xyz) for node in sample) == first.counts.sum()
    finish_indexing(store, cloud)
    assert cloud.state == "ready" and cloud.hierarchy.generation > first.generation
    assert cloud.info.checked and cloud.info.points == 150_000
    nodes = load(store, everything(cloud))
    assert sum(len(node.xyz) for node in nodes) == 150_000
    assert {node.generation for node in nodes} == {cloud.hierarchy.generation}


def test_the_sample_is_decoded_by_the_process_that_indexes(ground, tmp_path, monkeypatch):
    """LAZ codecs hold the interpreter lock: the caller's threads must not wait for one."""

    def refuse(*_: object) -> None:
        raise AssertionError("the sample was decoded here")

    monkeypatch.setattr("oniyanma.clouds.sources.las.LasSource.sample", refuse)
    store = CloudStore(cache_dir=tmp_path / "cache", small_cloud=1000)
    cloud = store.open(str(ground), id="a")
    shown = sum(len(node.xyz) for node in load(store, everything(cloud)))
    assert (cloud.state, shown) == ("indexing", 150_000)
    store.close()


def test_one_index_is_built_at_a_time_and_every_cloud_shows_its_sample_meanwhile(ground, tmp_path):
    """Thirty dropped tiles must not take thirty times the memory."""
    store = CloudStore(cache_dir=tmp_path / "cache", small_cloud=1000)
    files = [tmp_path / f"{name}.laz" for name in "abcd"]
    for file in files:
        shutil.copy(ground, file)
    clouds = [store.open(str(file), id=file.stem) for file in files]
    assert all(cloud.hierarchy.counts.sum() == 150_000 for cloud in clouds)
    clouds[2].cancel()
    store.close_cloud("b")
    left = [clouds[0], clouds[2], clouds[3]]
    while any(cloud.state == "indexing" for cloud in left):
        assert sum(cloud.job is not None and cloud.job.begun for cloud in left) <= 1
        assert store.wait(60)
        store.drain(5)
    assert [cloud.state for cloud in left] == ["ready", "failed", "ready"]
    store.close()


@pytest.mark.parametrize("sample", [0, 100])
def test_an_index_that_waits_reads_nothing_but_its_sample(tmp_path, monkeypatch, sample):
    """Opening a text reads all of it: twenty that wait must not do so side by side."""
    order = []

    def refuse(path, **_):
        order.append("open")
        raise CloudError("gone.")

    monkeypatch.setattr("oniyanma.clouds.open.open_source", refuse)
    request = IndexRequest("a.txt", {}, tmp_path / "a.laz", 1 << 30, sample)
    report = index_job._run(request, order.append, lambda: order.append("turn"))
    assert report.state == "failed"
    assert order == (["open"] if sample else ["turn", "open"])


def test_an_indexer_that_ends_at_once_leaves_a_sample_and_says_so(ground, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "oniyanma.clouds.index.job.spawn",
        lambda module, arguments: spawn("tests.clouds.index_stillborn_worker", arguments),
    )
    store = CloudStore(cache_dir=tmp_path / "cache", small_cloud=1000)
    cloud = store.open(str(ground), id="a")
    finish_indexing(store, cloud)
    assert cloud.state == "failed" and "ended unexpectedly" in cloud.reason
    assert sum(len(node.xyz) for node in load(store, everything(cloud))) == 150_000
    store.close()


def test_a_process_stands_by_for_the_next_cloud_and_ends_with_the_store(ground, tmp_path):
    store = CloudStore(cache_dir=tmp_path / "cache", small_cloud=1000)
    store.warm()
    store.warm()
    before = store.processes
    assert len(before) == 3  # two decoders and an indexer
    cloud = store.open(str(ground), id="a")
    assert set(store.processes) == set(before)  # the one that stood by indexes
    finish_indexing(store, cloud)
    after = store.processes
    assert len(after) == 3 and len(set(after) & set(before)) == 2  # another stands by
    store.close()
    assert store.processes == []
    assert not any(psutil.pid_exists(pid) for pid in {*before, *after})


def test_closing_ends_an_opening_that_nobody_has_adopted(ground, tmp_path, monkeypatch):
    """A window closed while a file opens leaves no process that goes on indexing it."""
    waiting, told = threading.Event(), []
    sample = IndexJob.sample

    def slow(job: IndexJob) -> Sample | None:
        indexers.append(job.pid)
        waiting.set()
        job.sample_wait.wait(60)  # type: ignore[attr-defined]
        return sample(job)

    indexers: list[int | None] = []
    go_on = threading.Event()
    monkeypatch.setattr(IndexJob, "sample_wait", go_on, raising=False)
    monkeypatch.setattr(IndexJob, "sample", slow)
    store = CloudStore(cache_dir=tmp_path / "cache", small_cloud=1000)

    def prepare() -> None:
        try:
            store.prepare(str(ground), id="a")
        except CloudError as error:
            told.append(str(error))

    thread = threading.Thread(target=prepare)
    thread.start()
    assert waiting.wait(60)
    store.close()
    assert not any(pid is not None and psutil.pid_exists(pid) for pid in indexers)
    go_on.set()
    thread.join(60)
    assert len(told) == 1 and "the program is closing" in told[0]
    with pytest.raises(CloudError, match="the program is closing"):
        store._opener.open(str(ground), "b", {}, 99, lambda report: None)


def test_a_prepared_cloud_ends_with_the_store_that_never_adopted_it(ground, tmp_path):
    store = CloudStore(cache_dir=tmp_path / "cache", small_cloud=1000)
    cloud = store.prepare(str(ground), id="a")
    assert cloud.job is not None and cloud.job.pid is not None
    pid = cloud.job.pid
    store.close()
    assert not psutil.pid_exists(pid)


def test_two_programs_that_index_one_cloud_leave_each_others_files_alone(
    ground, tmp_path, monkeypatch
):
    """The second one's end must not take the sample that the first one shows, nor its index."""
    stores = [CloudStore(cache_dir=tmp_path / "cache", small_cloud=1000) for _ in range(2)]
    clouds = [store.open(str(ground), id="a") for store in stores]
    jobs = [cloud.job for cloud in clouds]
    assert jobs[0] is not None and jobs[1] is not None and jobs[0].place == jobs[1].place
    shown = [job.coarse for job in jobs if job is not None]
    for index, place in enumerate(shown):
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(b"shown")
        part_of(jobs[index].place, jobs[index].pid).write_bytes(b"being written")
    assert shown[0] != shown[1]
    stores[1].close()
    assert shown[0].exists() and not shown[1].exists()
    assert part_of(jobs[0].place, jobs[0].pid).exists()
    assert not part_of(jobs[1].place, jobs[1].pid).exists()
    shown[0].unlink()
    finish_indexing(stores[0], clouds[0])
    assert clouds[0].state == "ready"
    assert sum(len(n.xyz) for n in load(stores[0], everything(clouds[0]))) == 150_000
    stores[0].close()
    assert [p.name for p in (tmp_path / "cache").iterdir() if p.name.startswith(".")] == []


def test_a_large_cloud_grows_finer_before_its_tree_is_there(inline, ground, tmp_path, monkeypatch):
    monkeypatch.setattr("oniyanma.clouds.index.build.COARSE_FROM", 0)
    monkeypatch.setattr("oniyanma.clouds.opening.SAMPLE_POINTS", 2_000)
    cloud = inline.open(str(ground), id="a")
    shown = [int(cloud.hierarchy.counts.sum())]
    trees = [cloud.tree]
    while cloud.state == "indexing":
        assert inline.wait(60)
        inline.drain(0)
        if cloud.tree != trees[-1]:
            trees.append(cloud.tree)
            shown.append(int(cloud.hierarchy.counts.sum()))
            if cloud.state == "indexing":
                source = open_source(cloud.copc.path)
                assert sum(len(chunk) for chunk in source.records()) == 15_000
    assert shown == [2_000, 15_000, 150_000]
    assert [p.name for p in (tmp_path / "cache").iterdir() if p.name.startswith(".")] == []


def test_the_index_is_used_again_with_all_that_was_learnt(store, ground):
    cloud = store.open(str(ground), id="a")
    finish_indexing(store, cloud)
    again = store.open(str(ground), id="b")
    assert again.state == "ready" and again.info.checked
    assert again.info.classes == cloud.info.classes and again.info.returns == cloud.info.returns
    assert again.info.bounds_min == cloud.info.bounds_min


def test_a_changed_file_is_indexed_anew(inline, ground, tmp_path):
    copy = tmp_path / "copy.laz"
    shutil.copy(ground, copy)
    finish_indexing(inline, inline.open(str(copy), id="a"))
    write_las(copy, terrain(50_000, seed=9))
    assert inline.open(str(copy), id="b").state == "indexing"


def test_the_coarse_sample_shows_every_place_that_holds_a_thousandth(tmp_path, monkeypatch):
    monkeypatch.setattr("oniyanma.clouds.opening.SAMPLE_POINTS", 40_000)
    for ending in ("las", "laz"):
        file = write_las(tmp_path / f"a.{ending}", terrain(300_000, seed=4))
        with_store = CloudStore(inline=True, cache_dir=tmp_path / "cache", small_cloud=1000)
        cloud = with_store.open(str(file), id="a")
        sample = xyz_of(load(with_store, everything(cloud))).astype(np.int64)
        with_store.close()
        records = all_records(file)
        truth = np.stack([records[a] for a in "XYZ"], axis=1).astype(np.int64)
        low, side = truth.min(axis=0), int((truth.max(axis=0) - truth.min(axis=0)).max()) + 1

        def cells(xyz, low=low, side=side):
            index = (xyz - low) * 32 // side
            return index[:, 0] * 1024 + index[:, 1] * 32 + index[:, 2]

        names, counts = np.unique(cells(truth), return_counts=True)
        crowded = names[counts >= 0.001 * len(truth)]
        assert len(crowded) > 50 and set(crowded) <= set(cells(sample))


def test_a_small_cloud_is_read_whole_and_never_indexed(tmp_path):
    with_store = CloudStore(inline=True, cache_dir=tmp_path / "cache")
    file = write_las(tmp_path / "a.las", terrain(20_000), point_format=3)
    cloud = with_store.open(str(file), id="a")
    assert cloud.state == "ready" and cloud.info.checked
    names = frozenset({"classification", "scan_angle_rank", "number_of_returns"})
    nodes = load(with_store, everything(cloud), names)
    assert sum(len(node.xyz) for node in nodes) == 20_000
    assert all(node.attributes.keys() == names for node in nodes)
    assert not (tmp_path / "cache").exists()
    with_store.close()


def test_scan_angles_of_old_formats_keep_their_name_and_value_in_the_index(inline, tmp_path):
    file = write_las(tmp_path / "a.las", terrain(5000), point_format=1)
    cloud = inline.open(str(file), id="a")
    names = frozenset({"scan_angle_rank"})
    before = load(inline, everything(cloud), names)
    finish_indexing(inline, cloud)
    after = load(inline, everything(cloud), names)
    angles = [
        np.sort(np.concatenate([n.attributes["scan_angle_rank"] for n in nodes]))
        for nodes in (before, after)
    ]
    assert angles[0].dtype == angles[1].dtype == np.int8
    assert np.array_equal(angles[0], angles[1])


@pytest.mark.parametrize("name", ["one", "none", "equal"])
def test_clouds_without_extent_can_be_shown(inline, tmp_path, name):
    xyz = {"one": [[1, 2, 3]], "none": np.zeros((0, 3)), "equal": np.full((5000, 3), 4)}[name]
    file = write_las(tmp_path / "a.las", np.array(xyz, np.int64))
    cloud = inline.open(str(file), id="a")
    finish_indexing(inline, cloud)
    nodes = load(inline, everything(cloud))
    assert sum(len(node.xyz) for node in nodes) == len(xyz)
    assert np.isfinite(cloud.hierarchy.mins).all() and np.isfinite(cloud.hierarchy.maxs).all()


def test_a_node_that_cannot_be_decoded_is_reported_each_time_and_the_rest_shown(
    store, copc, tmp_path
):
    file = open_copc(str(copc))
    tree = file.hierarchy()
    job = file.job(NodeKey(*tree.keys[1].tolist()), ())
    data = bytearray(copc.read_bytes())
    data[job.offset : job.offset + job.size] = bytes(job.size)
    damaged = tmp_path / "damaged.copc.laz"
    damaged.write_bytes(data)
    cloud = store.open(str(damaged), id="a")
    got = load(store, everything(cloud))
    failed = [node for node in got if isinstance(node, NodeFailed)]
    assert [node.id.key for node in failed] == [NodeKey(*job.key)]
    assert "damaged" in failed[0].reason
    assert len(got) == len(tree.counts)
    assert [type(node) for node in load(store, [failed[0].id])] == [NodeFailed]


def test_what_is_no_longer_asked_for_is_not_delivered(inline, copc):
    cloud = inline.open(str(copc), id="a")
    ids = everything(cloud)
    inline.request(ids, CLASS)
    inline.request(ids[-1:], CLASS)
    got = []
    while inline.pending:
        assert inline.wait(10)
        got += inline.drain(5)
    assert [node.id for node in got] == ids[-1:]
    assert not inline.wait(10) and inline.drain(5) == []


def test_decoded_nodes_are_kept_and_lose_attributes_not_in_use(inline, copc, monkeypatch):
    cloud = inline.open(str(copc), id="a")
    load(inline, everything(cloud), frozenset({"classification", "red"}))

    def never(*_: object) -> None:
        raise AssertionError("a node was decoded twice")

    monkeypatch.setattr("oniyanma.clouds.pool.decode_node", never)
    again = load(inline, everything(cloud), CLASS)
    assert all(node.attributes.keys() == CLASS for node in again)


def test_attributes_no_file_has_are_left_out_and_cost_no_second_decoding(inline, copc, monkeypatch):
    cloud = inline.open(str(copc), id="a")
    names = frozenset({"classification", "nir", "no such thing"})
    nodes = load(inline, everything(cloud), names)
    assert all(node.attributes.keys() == CLASS for node in nodes)
    monkeypatch.setattr("oniyanma.clouds.pool.decode_node", None)
    assert len(load(inline, everything(cloud), names)) == len(nodes)


def test_closing_a_cloud_forgets_it_and_its_requests(store, copc):
    cloud = store.open(str(copc), id="a")
    store.request(everything(cloud), CLASS)
    store.close_cloud("a")
    store.close_cloud("a")
    assert dict(store.clouds) == {} and store.pending == 0
    assert store.drain(5) == []
    reopened = store.open(str(copc), id="a")
    assert len(load(store, everything(reopened))) == len(reopened.hierarchy.counts)


def test_an_index_done_before_its_cloud_is_adopted_is_not_forgotten(inline, ground):
    cloud = inline.prepare(str(ground), id="a")
    cloud.job.run_inline()
    inline.drain(50)
    assert dict(inline.clouds) == {} and cloud.state == "indexing"
    inline.adopt(cloud)
    finish_indexing(inline, cloud)
    assert cloud.state == "ready" and cloud.hierarchy.counts.sum() == 150_000


def test_what_arrives_for_a_closed_cloud_never_reaches_one_of_the_same_name(
    inline, ground, copc, tmp_path
):
    first = inline.open(str(ground), id="a")
    first.job.run_inline()  # its reports wait to be drained
    inline.close_cloud("a")
    other = inline.open(str(write_las(tmp_path / "b.las", terrain(9000))), id="a")
    inline.drain(50)
    assert other.state == "indexing" and other.job is not None
    inline.close_cloud("a")
    old = inline.open(str(copc), id="a")
    inline.request(everything(old)[:1], CLASS)
    inline._inline.step()  # decoded, not drained
    inline.close_cloud("a")
    new = inline.open(str(copc), id="a")
    inline.request(everything(new)[1:2], CLASS)
    assert [node.id for node in inline.drain(0)] == []


def test_cancelling_keeps_the_sample_and_says_so(store, ground, tmp_path):
    cloud = store.open(str(ground), id="a")
    cloud.cancel()
    finish_indexing(store, cloud)
    assert cloud.state == "failed" and cloud.reason == "cancelled"
    assert len(load(store, everything(cloud))) == len(cloud.hierarchy.counts)
    assert not list((tmp_path / "cache").glob("*.laz"))


def test_an_index_that_fails_says_why(inline, ground, monkeypatch):
    cloud = inline.open(str(ground), id="a")

    def refuse(*_: object, **__: object) -> None:
        raise CloudError("the disk is full: make room.")

    monkeypatch.setattr("oniyanma.clouds.index.build.build_copc", refuse)
    finish_indexing(inline, cloud)
    assert (cloud.state, cloud.reason) == ("failed", "the disk is full: make room.")


def test_what_cannot_be_opened_is_refused_and_an_id_is_used_once(inline, copc, tmp_path):
    (tmp_path / "bad.laz").write_bytes(b"nothing")
    with pytest.raises(CloudError):
        inline.open(str(tmp_path / "bad.laz"), id="a")
    with pytest.raises(CloudError):
        inline.open(str(tmp_path / "missing.laz"), id="a")
    inline.open(str(copc), id="a")
    with pytest.raises(CloudError, match="already open"):
        inline.open(str(copc), id="a")


def test_a_file_that_was_replaced_is_read_anew_when_opened_again(store, copc, tmp_path):
    file = tmp_path / "a.copc.laz"
    shutil.copy(copc, file)
    load(store, everything(store.open(str(file), id="a")))
    store.close_cloud("a")
    other = write_las(tmp_path / "b.las", terrain(30_000, seed=8))
    build_copc(open_source(str(other)), file, workers=0)
    nodes = load(store, everything(store.open(str(file), id="a")))
    records = all_records(other)
    truth = np.stack([records[a] for a in "XYZ"], axis=1)
    assert np.array_equal(sorted_rows(xyz_of(nodes)), sorted_rows(truth))


@pytest.mark.parametrize("points", [800, 5000])
def test_another_file_in_the_place_of_the_original_is_never_taken_for_it(inline, tmp_path, points):
    """Edits of one survey must not be written into the points of another."""
    path = write_las(tmp_path / "a.las", terrain(points))
    cloud = inline.open(str(path), id="a")
    assert cloud.source().info.points == points
    write_las(path, terrain(points, seed=2))  # as many points, as many bytes
    with pytest.raises(CloudError, match="replaced or changed since it was opened"):
        cloud.source()
    path.unlink()
    with pytest.raises(CloudError, match="check the path"):
        cloud.source()


def test_the_original_is_streamed_at_full_resolution(inline, ground):
    cloud = inline.open(str(ground), id="a")
    assert sum(len(chunk) for chunk in cloud.source().records()) == 150_000


# -- hierarchy pages and http --------------------------------------------------------------------


def in_pages(path: Path, target: Path) -> Path:
    """The same COPC file with all below the root node in a hierarchy page of its own."""
    data = bytearray(path.read_bytes())
    offset, size = struct.unpack_from("<2Q", data, 469)
    page = np.frombuffer(bytes(data[offset : offset + size]), ENTRY)
    below = page[page["key"][:, 0] > 0]
    root = page[page["key"][:, 0] == 0]
    pages = []
    for key in np.unique(below["key"][below["key"][:, 0] == 1], axis=0):
        shift = below["key"][:, 0] - 1
        mine = ((below["key"][:, 1:] >> shift[:, None]) == key[1:]).all(axis=1)
        part = below[mine].tobytes()
        pages.append(np.array([(tuple(key), len(data), len(part), -1)], ENTRY))
        data += part
    new_root = np.concatenate([root, *pages]).tobytes()
    struct.pack_into("<2Q", data, 469, len(data), len(new_root))
    data += new_root
    target.write_bytes(data)
    return target


def test_hierarchy_pages_are_read_when_needed_and_the_tree_grows(
    store, copc, tmp_path, monkeypatch
):
    monkeypatch.setattr("oniyanma.clouds.opening.MAX_PAGES", 1)
    paged = in_pages(copc, tmp_path / "paged.copc.laz")
    whole = open_copc(str(copc)).hierarchy()
    cloud = store.open(str(paged), id="a")
    tree, first = cloud.tree, cloud.hierarchy
    assert first.counts.sum() < whole.counts.sum()
    while cloud.hierarchy.counts.sum() < 150_000:
        store.request(everything(cloud), CLASS)
        while store.pending:
            assert store.wait(60)
            store.drain(5)
    assert np.array_equal(cloud.hierarchy.keys, whole.keys)
    assert cloud.hierarchy.generation > first.generation and cloud.tree == tree
    assert sum(len(node.xyz) for node in load(store, everything(cloud))) == 150_000


def test_pages_that_name_each_other_or_places_beyond_the_file_end(copc, tmp_path):
    data = bytearray(copc.read_bytes())
    offset, size = struct.unpack_from("<2Q", data, 469)
    loop = np.array([((1, 0, 0, 0), offset, size, -1)], ENTRY)
    wild = np.array([((1, 1, 0, 0), 1 << 60, 100, 50), ((1, 9, 0, 0), 0, 0, 0)], ENTRY)
    page = np.concatenate([loop, wild]).tobytes()
    data[offset : offset + len(page)] = page
    broken = tmp_path / "broken.copc.laz"
    broken.write_bytes(data)
    file = open_copc(str(broken))
    assert "copc_bad_entries" in {warning.code for warning in file.warnings}


@pytest.fixture
def web(copc):
    """The folder of the COPC file, served with range requests."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = copc.read_bytes()
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            part = data[int(first) : int(last) + 1]
            self.send_response(206)
            self.send_header("Content-Length", str(len(part)))
            self.send_header(
                "Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"
            )
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/{copc.name}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_copc_file_on_the_web_is_read_in_ranges(store, web, ground):
    cloud = store.open(web, id="a")
    nodes = load(store, everything(cloud))
    assert sum(len(node.xyz) for node in nodes) == 150_000


def test_the_lion_is_shown_whole(store):
    cloud = store.open(str(shared("data", "lion.copc.laz")), id="lion")
    nodes = load(store, everything(cloud), frozenset({"red", "OriginId"}))
    assert sum(len(node.xyz) for node in nodes) == 341_989
    assert nodes[0].attributes["OriginId"].dtype == np.uint32


# -- caches --------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 400), st.booleans()), max_size=60),
    st.integers(0, 20_000),
)
@settings(max_examples=80, deadline=None)
def test_the_node_cache_never_exceeds_its_bytes(steps, limit):
    nodes = NodeCache(limit)
    for name, size, keep in steps:
        id = NodeId("a", NodeKey(name, 0, 0, 0))
        values = {"classification": np.zeros(size, np.uint8), "red": np.zeros(size, np.uint16)}
        nodes.put(NodePoints(id, np.zeros((size, 3), np.int32), values))
        if keep:
            nodes.keep_attributes(CLASS)
        assert nodes.bytes <= limit
        held = [nodes.get(NodeId("a", NodeKey(n, 0, 0, 0)), (), 0) for n in range(10)]
        assert nodes.bytes == sum(node_bytes(node) for node in held if node is not None)


def test_the_cache_folder_keeps_its_limit_and_removes_the_longest_unused(tmp_path):
    import os

    for i in range(4):
        file = tmp_path / f"{i}.copc.laz"
        file.write_bytes(bytes(100))
        os.utime(file, (1000 + i, 1000 + i))
    old = tmp_path / ".x.copc.laz.123.part"
    old.write_bytes(b"left")
    os.utime(old, (1000, 1000))
    cache.trim(tmp_path, limit=250, keep=frozenset({tmp_path / "0.copc.laz"}))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.copc.laz", "3.copc.laz"]


def test_a_damaged_index_is_built_again(inline, ground, tmp_path):
    finish_indexing(inline, inline.open(str(ground), id="a"))
    (file,) = (tmp_path / "cache").glob("*.copc.laz")
    file.write_bytes(file.read_bytes()[:300])
    assert inline.open(str(ground), id="b").state == "indexing"


@given(needed=st.integers(1, 10**14), free=st.integers(0, 10**14))
def test_too_little_room_is_told_in_sizes_that_differ(needed, free):
    """ "Needs 0.0 GB where 0.0 GB are free" helps nobody."""
    told = [cache.told_size(needed), cache.told_size(free)]
    for text, size in zip(told, (needed, free), strict=True):
        number, unit = text.split()
        factor = {"GB": 1e9, "MB": 1e6, "kB": 1e3}[unit]
        assert abs(float(number) * factor - size) <= 0.051 * factor
    if needed >= 1000 and free < needed / 2:
        assert told[0] != told[1]


def test_a_disk_without_room_for_the_index_is_refused_before_it_is_full(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=5_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(CloudError, match=r"about 20\.0 MB .* where 5\.0 MB are free"):
        cache.check_space(tmp_path / "not there yet", 20_000_000, "indexing a.laz")
