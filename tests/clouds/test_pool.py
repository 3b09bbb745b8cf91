"""Decode workers: what dies is replaced, what is stale is dropped, nothing is left behind."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import psutil
import pytest

from oniyanma.clouds.copc import CopcFile, open_copc
from oniyanma.clouds.decode import NodeFormat, NodeJob
from oniyanma.clouds.index.build import build_copc
from oniyanma.clouds.model import NodeKey
from oniyanma.clouds.open import open_source
from oniyanma.clouds.pool import DecodePool, InlinePool, Outcome, Task
from tests.clouds.index_support import terrain, write_las
from tests.support import ROOT

ATTRIBUTES = ("classification", "red", "return_number", "gps_time")


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> CopcFile:
    """A COPC file of 200,000 points with two levels at least."""
    folder = tmp_path_factory.mktemp("tree")
    source = open_source(str(write_las(folder / "a.laz", terrain(200_000))))
    build_copc(source, folder / "a.copc.laz", workers=0)
    return open_copc(str(folder / "a.copc.laz"))


def jobs(tree: CopcFile, attributes=ATTRIBUTES) -> dict[NodeKey, NodeJob]:
    keys = [NodeKey(*key) for key in tree.hierarchy().keys.tolist()]
    found = {key: tree.job(key, attributes) for key in keys}
    return {key: job for key, job in found.items() if job is not None}


class Collector:
    """Outcomes as they come, and a way to wait for a number of them."""

    def __init__(self) -> None:
        self.outcomes: dict = {}
        self._news = threading.Condition()

    def __call__(self, outcome: Outcome) -> None:
        with self._news:
            assert outcome.tag not in self.outcomes, "an outcome came twice"
            self.outcomes[outcome.tag] = outcome
            self._news.notify_all()

    def wait(self, count: int) -> dict:
        with self._news:
            assert self._news.wait_for(lambda: len(self.outcomes) >= count, 60)
        return self.outcomes


def tasks(tree: CopcFile, found: dict[NodeKey, NodeJob]) -> list[Task]:
    return [Task(key, tree.format, job) for key, job in found.items()]


def test_workers_give_what_the_inline_mode_gives(tree):
    wanted = tasks(tree, jobs(tree))
    apart, here = Collector(), Collector()
    pool = DecodePool(2, apart)
    pool.wish(wanted)
    apart.wait(len(wanted))
    pool.close()
    inline = InlinePool(here)
    inline.wish(wanted)
    while inline.step():
        pass
    assert apart.outcomes.keys() == here.outcomes.keys()
    for tag, outcome in here.outcomes.items():
        other = apart.outcomes[tag]
        assert outcome.arrays.keys() == other.arrays.keys() == {"", *ATTRIBUTES}
        for name, values in outcome.arrays.items():
            assert np.array_equal(values, other.arrays[name])
            assert values.dtype == other.arrays[name].dtype


def test_any_prefix_of_a_node_is_a_fair_sample(tree):
    found = jobs(tree, ())
    largest = max(found.values(), key=lambda job: job.count)
    here = Collector()
    inline = InlinePool(here)
    inline.wish([Task("it", tree.format, largest)])
    inline.step()
    xyz = here.outcomes["it"].arrays[""].astype(np.float64)
    spread = xyz.std(axis=0)
    few = len(xyz) // 10
    assert np.abs(xyz[:few].mean(axis=0) - xyz.mean(axis=0)).max() < 0.1 * spread.max()
    assert (xyz[:few].std(axis=0) > 0.8 * spread).all()


def test_the_worker_that_dies_is_replaced_and_only_its_node_is_lost(tree):
    found = jobs(tree)
    assert NodeKey(1, 0, 0, 0) in found
    got = Collector()
    pool = DecodePool(2, got, module="tests.clouds.index_dying_worker")
    pool.wish(tasks(tree, found))
    got.wait(len(found))
    pool.close()
    failed = {tag: o.reason for tag, o in got.outcomes.items() if o.reason is not None}
    assert list(failed) == [NodeKey(1, 0, 0, 0)]
    assert "two decoders ended over it (exit status 7)" in failed[NodeKey(1, 0, 0, 0)]


def test_a_worker_killed_from_outside_loses_nothing(tree):
    found = jobs(tree)
    got = Collector()
    pool = DecodePool(1, got)
    pool.wish(tasks(tree, found)[:1])
    got.wait(1)
    (pid,) = pool.processes
    psutil.Process(pid).kill()
    pool.wish(tasks(tree, found)[1:])
    got.wait(len(found))
    pool.close()
    assert all(outcome.reason is None for outcome in got.outcomes.values())


def test_workers_that_never_start_are_given_up_and_every_request_is_answered(tree):
    found = jobs(tree)
    got = Collector()
    pool = DecodePool(2, got, module="tests.clouds.index_stillborn_worker")
    pool.wish(tasks(tree, found))
    got.wait(len(found))
    pool.close()
    assert all("ended" in outcome.reason for outcome in got.outcomes.values())


def test_a_new_wish_list_drops_what_no_worker_has_begun(tree):
    found = jobs(tree)
    got = Collector()
    pool = DecodePool(1, got)
    many = [Task((i, key), tree.format, job) for i in range(50) for key, job in found.items()]
    pool.wish(many)
    pool.wish([Task("last", tree.format, next(iter(found.values())))])
    while "last" not in got.outcomes:
        got.wait(len(got.outcomes) + 1)
    pool.close()
    assert len(got.outcomes) <= 3  # two at most had been begun


def test_damaged_and_missing_chunks_are_reported_with_their_place(tree, tmp_path):
    found = jobs(tree)
    data = bytearray(Path(tree.path).read_bytes())
    first, second, *_ = found.values()
    data[first.offset : first.offset + first.size] = bytes(first.size)
    damaged = tmp_path / "damaged.copc.laz"
    damaged.write_bytes(data)
    fmt = NodeFormat(str(damaged), tree.format.laz_vlr, tree.format.dtype, tree.format.subfields)
    beyond = NodeJob((9, 0, 0, 0), len(data) - 10, 1000, 50, ())
    gone = NodeFormat("nowhere.laz", fmt.laz_vlr, fmt.dtype, fmt.subfields)
    got = Collector()
    pool = DecodePool(1, got)
    pool.wish(
        [
            Task("cut", fmt, beyond),
            Task("gone", gone, second),
            Task("zero", fmt, first),
            Task("good", fmt, second),
        ]
    )
    outcomes = got.wait(4)
    pool.close()
    assert "node 9-0-0-0 should have 1000 bytes" in outcomes["cut"].reason
    assert "its layers don't fit into it" in outcomes["zero"].reason
    assert "nowhere.laz" in outcomes["gone"].reason
    assert outcomes["good"].reason is None


def test_a_node_larger_than_the_shared_memory_comes_through_the_pipe(tree, monkeypatch):
    monkeypatch.setattr("oniyanma.clouds.pool.SLOT_BYTES", 4096)
    found = jobs(tree)
    got = Collector()
    pool = DecodePool(1, got)
    pool.wish(tasks(tree, found))
    outcomes = got.wait(len(found))
    pool.close()
    assert sum(len(o.arrays[""]) for o in outcomes.values()) == 200_000


def test_closing_leaves_no_process_no_thread_and_no_shared_memory(tree):
    before = set(shared_memory())
    got = Collector()
    pool = DecodePool(2, got)
    pool.wish(tasks(tree, jobs(tree)))
    got.wait(1)
    pids = pool.processes
    assert len(pids) == 2
    pool.close()
    pool.close()
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert not [t for t in threading.enumerate() if t.name.startswith("oniyanma")]
    assert set(shared_memory()) <= before


def shared_memory() -> list[str]:
    place = Path("/dev/shm")
    return [entry.name for entry in place.iterdir()] if place.is_dir() else []


SCRIPT = """
import sys
from oniyanma.clouds.store import CloudStore
from oniyanma.clouds.model import NodeId, NodeKey
store = CloudStore(small_cloud=0)
first = store.open({copc!r}, id="a")
second = store.open({laz!r}, id="b")
ids = [NodeId("a", NodeKey(*key)) for key in first.hierarchy.keys.tolist()]
store.request(ids, frozenset(["classification"]))
got = []
while store.pending:
    assert store.wait(60)
    got += store.drain(5)
points = sum(len(node.xyz) for node in got)
print(points, second.state, *store.processes, flush=True)
"""


@pytest.fixture
def script(tree, tmp_path) -> str:
    return SCRIPT.format(copc=tree.path, laz=str(Path(tree.path).with_name("a.laz")))


def test_it_works_from_standard_input_and_without_a_main_guard(script, tmp_path):
    text = script + "\nstore.close()\n"
    file = tmp_path / "plain.py"
    file.write_text(text)
    for command, given in (([sys.executable, str(file)], None), ([sys.executable, "-"], text)):
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            env=None,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[:2] == ["200000", "indexing"]


def test_a_parent_killed_outright_leaves_no_process_no_memory_and_no_file(script, tmp_path):
    cache = tmp_path / "cache"
    before = set(shared_memory())
    text = script + "\nsys.stdin.readline()\n"
    parent = subprocess.Popen(
        [sys.executable, "-c", text],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**__import__("os").environ, "ONIYANMA_CACHE": str(cache)},
    )
    line = parent.stdout.readline().split()
    pids = [int(pid) for pid in line[2:]]
    assert len(pids) >= 2
    family = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs(family, timeout=30)
    assert not alive
    assert set(shared_memory()) <= before
    parts = [p.name for p in cache.iterdir() if p.name.endswith(".part")] if cache.exists() else []
    assert parts == []
    parent.stdin.close()
    parent.stdout.close()
