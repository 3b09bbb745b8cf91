"""Damaged COPC files: opened or refused, a node decoded or reported, never a crash."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oniyanma.clouds.copc import open_copc
from oniyanma.clouds.decode import NodeError, decode_node
from oniyanma.clouds.index.build import build_copc
from oniyanma.clouds.model import CloudError, NodeKey
from oniyanma.clouds.open import open_source
from tests.clouds.index_support import terrain, write_las
from tests.support import ROOT

flips = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6)


@pytest.fixture(scope="module")
def copc(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("copc")
    source = open_source(str(write_las(folder / "a.las", terrain(2000))))
    build_copc(source, folder / "a.copc.laz", workers=0)
    return folder / "a.copc.laz"


def damage(data: bytes, changes: list[tuple[float, int]], start: int, end: int) -> bytearray:
    out = bytearray(data)
    for place, value in changes:
        out[start + int(place * (end - start))] = value
    return out


@given(flips, st.sampled_from(["header", "records", "hierarchy", "anywhere"]), st.floats(0, 1))
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_damaged_file_opens_or_is_refused_in_one_sentence(copc, tmp_path, changes, where, cut):
    data = copc.read_bytes()
    size = len(data)
    start, end = {
        "header": (0, 375),
        "records": (375, 700),
        "hierarchy": (size - 200, size),
        "anywhere": (0, size),
    }[where]
    damaged = damage(data, changes, start, end)
    file = tmp_path / "damaged.copc.laz"
    file.write_bytes(damaged[: int(size * cut)] if cut > 0.5 else damaged)
    try:
        tree = open_copc(str(file)).hierarchy()
    except CloudError as error:
        assert str(error).count("\n") == 0 and str(file) in str(error)
    else:
        assert (tree.counts >= 0).all()


@given(flips, st.booleans())
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_damaged_node_is_decoded_or_reported(copc, changes, front):
    file = open_copc(str(copc))
    job = file.job(NodeKey(0, 0, 0, 0), ("red", "gps_time", "classification"))
    data = copc.read_bytes()[job.offset : job.offset + job.size]
    damaged = bytes(damage(data, changes, 0, min(len(data), 120) if front else len(data)))
    try:
        xyz, attributes = decode_node(file.format, job, lambda offset, size: damaged)
    except NodeError as error:
        assert "node 0-0-0-0" in str(error)
    else:
        assert xyz.shape == (job.count, 3)
        assert {len(values) for values in attributes.values()} == {job.count}


def test_the_page_of_figures_takes_every_result_there_is(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("bench_report", ROOT / "bench" / "report.py")
    report = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(report)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    row = {"what": "a | b", "figure": "2×", "aim": "at most 3×", "holds": True}
    missed = {"what": "c", "figure": "9 s", "aim": "1 s", "holds": False}
    bare = {"what": "d", "figure": "7"}
    (tmp_path / "b.json").write_text(
        json.dumps({"title": "Second", "rows": [row, missed, bare], "notes": ["One.", "Two."]})
    )
    (tmp_path / "a.json").write_text(json.dumps({"title": "First", "rows": [], "order": 1}))
    page = report.render(report.load())
    assert page.index("## First") < page.index("## Second")
    assert "| a \\| b | 2× | at most 3× | yes |" in page
    assert "| c | 9 s | 1 s | **no** |" in page and "| d | 7 |  |  |" in page
    assert page.endswith("\nOne.\n\nTwo.\n")
