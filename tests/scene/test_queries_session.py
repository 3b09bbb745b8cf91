"""Queries, measurements, gates and batches on a real scene: a LAS file through the Session."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pyproj
import pytest

from oniyanma.app import Session
from oniyanma.clouds.open import open_source
from oniyanma.registry import Actor, Cancelled
from oniyanma.scene import fullscan
from oniyanma.scene.state import SceneState

AIKO = Actor("human", "Aiko")
MODEL = Actor("ai", "model-1", token="t-1")
EAST, NORTH, UP = 432_000.0, 5_312_000.0, 800.0
SIDE = 160


def yard(path: Path, crs: str | None = "EPSG:32633") -> None:
    """A level yard, a point every 0.25 m, with a block 10 × 10 × 3 m in its middle."""
    header = laspy.LasHeader(version="1.4", point_format=6)
    header.scales, header.offsets = np.full(3, 0.001), np.array([EAST, NORTH, UP])
    header.add_extra_dim(laspy.ExtraBytesParams("height", "int16", scales=[0.01], offsets=[0.0]))
    if crs is not None:
        header.add_crs(pyproj.CRS(crs))
    las = laspy.LasData(header)
    x, y = (v.ravel() * 0.25 + 0.1 for v in np.meshgrid(np.arange(SIDE), np.arange(SIDE)))
    block = (abs(x - 20) < 5) & (abs(y - 20) < 5)
    las.x, las.y, las.z = EAST + x, NORTH + y, UP + np.where(block, 3.0, 0.0)
    las.intensity = np.arange(len(x)) % 1000
    las.classification = np.where(block, 6, 2)
    las.gps_time = np.arange(len(x)) / 10.0
    las.height = np.where(block, 3.0, 0.0)
    las.write(str(path))


class Desk:
    def __init__(self, session: Session, folder: Path) -> None:
        self.session, self.folder = session, folder

    def __call__(self, command: str, /, by: Actor = AIKO, **args: Any) -> dict[str, Any]:
        return self.session.submit(command, args, self.session.handle(by)).result(60)

    def ok(self, command: str, /, by: Actor = AIKO, **args: Any) -> dict[str, Any]:
        answer = self(command, by, **args)
        assert answer.get("ok"), answer
        return answer


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    yard(tmp_path / "yard.las")
    with Session(inline_workers=True, actor=AIKO, allow_write=[tmp_path]) as session:
        desk = Desk(session, tmp_path)
        desk.ok("openCloud", path=str(tmp_path / "yard.las"))
        desk.ok("setCamera", preset="top")
        desk.ok("fitView")
        yield desk


def corner(x: float, y: float, z: float = 0.0) -> list[float]:
    return [EAST + x, NORTH + y, UP + z]


BLOCK = [corner(14.1, 14.1), corner(26.1, 14.1), corner(26.1, 26.1), corner(14.1, 26.1)]


def test_every_query_says_basis_points_unit_and_revision(desk: Desk) -> None:
    asked: Any = (
        ("queryElevation", {}),
        ("queryClasses", {}),
        ("queryHistogram", {"attribute": "height"}),
        ("queryPoint", {"x": EAST, "y": NORTH, "z": UP}),
        ("queryProfile", {"points": [[EAST, NORTH], [EAST + 9, NORTH]], "width": 1}),
        ("queryDensity", {}),
    )
    for name, args in asked:
        answer = desk.ok(name, **args)
        assert answer["basis"] == "resident"
        assert answer["points"] > 0
        assert answer["revision"] == desk.session.state.revision
        assert "unit" in answer


def test_elevation_and_attributes_are_those_of_the_file(desk: Desk) -> None:
    answer = desk.ok("queryElevation", bins=3)
    assert (answer["min"], answer["max"]) == (UP, UP + 3.0)
    assert answer["count"] == SIDE * SIDE
    assert answer["unit"] == "metre" or answer["unit"] == "m"
    height = desk.ok("queryHistogram", attribute="height", bins=2)
    assert (height["min"], height["max"]) == (0.0, 3.0)
    assert [row["count"] for row in height["bins"]] == [SIDE * SIDE - 1600, 1600]
    time = desk.ok("queryHistogram", attribute="gpsTime", bins=2)
    assert (time["min"], time["max"]) == (0.0, (SIDE * SIDE - 1) / 10.0)
    assert desk("queryHistogram", attribute="nope")["error"]["code"] == "not_found"
    assert desk("queryElevation", cloud="nope")["error"]["code"] == "not_found"


def test_a_point_has_every_attribute(desk: Desk) -> None:
    answer = desk.ok("queryPoint", x=EAST + 20.1, y=NORTH + 20.1, z=UP + 3)
    assert answer["raw"] == [20100, 20100, 3000]
    assert answer["distance"] == pytest.approx(0.0, abs=1e-6)
    assert answer["attributes"]["height"] == pytest.approx(3.0)
    assert answer["attributes"]["gps_time"] == pytest.approx((80 * SIDE + 80) / 10)
    assert (answer["attributes"]["classification"], answer["className"]) == (6, "Building")
    pixel = desk.ok("queryPoint", px=640, py=360)
    assert pixel["found"]
    assert desk("queryPoint", px=1, x=2)["error"]["code"] == "invalid_arguments"


def test_full_answers_read_every_point_and_apply_the_edits(desk: Desk) -> None:
    line: Any = {
        "points": [[EAST, NORTH + 20.1], [EAST + 39.9, NORTH + 20.1]],
        "width": 0.1,
        "bins": 4,
    }
    full = desk.ok("queryProfile", full=True, **line)
    assert (full["basis"], full["points"], full["max"]) == ("full", SIDE, UP + 3)
    assert desk.ok("queryProfile", **line)["stations"] == full["stations"]
    desk.ok("selectWhere", classes=[6])
    desk.ok("deleteSelection")
    after = desk.ok("queryProfile", full=True, **line)
    assert (after["points"], after["max"]) == (SIDE - 40, UP)
    density = desk.ok("queryDensity", full=True, cell=1.0)
    assert (density["basis"], density["points"]) == ("full", SIDE * SIDE - 1600)
    assert density["max"] == pytest.approx(16.0, rel=0.3)
    desk.ok("undo")
    desk.ok("setClassVisibility", classes=[6], visible=False)
    assert desk.ok("queryProfile", full=True, **line)["points"] == SIDE - 40


def test_a_volume_of_the_sample_and_of_every_point(desk: Desk) -> None:
    """300 m³, a quarter of a metre of its edge either way."""
    for full in (False, True):
        answer = desk.ok("addMeasurement", kind="volume", points=BLOCK, cell=0.5, full=full)
        assert answer["value"] == pytest.approx(300.0, rel=0.03)
        assert answer["basis"] == ("full" if full else "resident")
        assert answer["emptyShare"] == 0.0
        assert answer["density"] == pytest.approx(16.0, rel=0.05)
    listed = desk.ok("listMeasurements")["measurements"]
    assert [one["id"] for one in listed] == ["m1", "m2"]
    assert [one["kind"] for one in listed] == ["volume", "volume"]


def test_a_measurement_snaps_never_to_what_cannot_be_seen(desk: Desk) -> None:
    ends = [corner(20.0, 20.0, 3.0), corner(30.0, 20.0)]
    first = desk.ok("addMeasurement", kind="distance", points=ends)
    assert first["points"][0] == pytest.approx(corner(20.1, 20.1, 3.0), abs=1e-6)
    assert first["snapped"] > 0
    desk.ok("selectWhere", classes=[6])
    desk.ok("hideSelection")
    hidden = desk("addMeasurement", kind="distance", points=ends)
    assert hidden["error"]["code"] == "refused"
    edge = desk.ok("addMeasurement", kind="distance", points=[corner(14.9, 20, 0.4), ends[1]])
    assert edge["points"][0][2] == UP
    far = desk("addMeasurement", kind="distance", points=[corner(500, 500), corner(0, 0)])
    assert far["error"]["code"] == "refused"
    assert "point 1" in far["error"]["message"]


def test_measurements_are_undone_and_their_ids_not_used_again(desk: Desk) -> None:
    ends = [corner(1, 1), corner(5, 5)]
    desk.ok("addMeasurement", kind="distance", points=ends, name="Fence")
    desk.ok("deleteMeasurement", id="m1")
    assert desk.ok("listMeasurements")["count"] == 0
    assert desk.ok("addMeasurement", kind="distance", points=ends)["id"] == "m2"
    desk.ok("undo", steps=2)
    assert desk.ok("listMeasurements")["measurements"][0]["name"] == "Fence"
    assert desk("deleteMeasurement", id="m9")["error"]["code"] == "not_found"


def test_degrees_are_measured_on_the_ellipsoid_or_refused(tmp_path: Path) -> None:
    header = laspy.LasHeader(version="1.4", point_format=6)
    header.scales, header.offsets = np.array([1e-7, 1e-7, 0.001]), np.array([15.0, 47.0, 0.0])
    header.add_crs(pyproj.CRS("EPSG:4326"))
    las = laspy.LasData(header)
    x, y = (v.ravel() * 1e-5 for v in np.meshgrid(np.arange(50), np.arange(50)))
    las.x, las.y, las.z = 15.0 + x, 47.0 + y, np.full(len(x), 400.0)
    las.write(str(tmp_path / "degrees.las"))
    with Session(inline_workers=True, actor=AIKO) as session:
        desk = Desk(session, tmp_path)
        desk.ok("openCloud", path=str(tmp_path / "degrees.las"))
        desk.ok("fitView")
        ends = [[15.0, 47.0, 400.0], [15.0004, 47.0, 400.0]]
        answer = desk.ok("addMeasurement", kind="distance", points=ends)
        geod = pyproj.Geod(ellps="WGS84")
        assert answer["unit"] == "m"
        assert answer["value"] == pytest.approx(geod.inv(15.0, 47.0, 15.0004, 47.0)[2], rel=1e-6)
        corners = [*ends, [15.0004, 47.0004, 400.0]]
        for kind in ("volume", "profile"):
            refused = desk("addMeasurement", kind=kind, points=corners)
            assert refused["error"]["code"] == "refused"
            assert "projected" in refused["error"]["message"]
        profile = desk("queryProfile", points=[[15, 47], [15.0004, 47]], width=1)
        assert "projected" in profile["error"]["message"]
        assert desk.ok("queryDensity")["meanBasis"] == "header"


@pytest.mark.parametrize("name", ["acceptBatch", "confirmFinding", "rejectFinding"])
def test_what_only_people_decide_is_refused_to_every_machine(desk: Desk, name: str) -> None:
    more: Any = ({}, {"confirm": True})
    for confirm in more:
        for machine in (MODEL, Actor("api", "script")):
            answer = desk(name, machine, id="x", **confirm)
            assert answer["error"]["code"] == "human_only"


@pytest.mark.parametrize(
    ("name", "args", "key"),
    [
        ("hideSelection", {}, "points"),
        ("deleteSelection", {}, "points"),
        ("reclassifySelection", {"class": 7}, "points"),
        ("colorSelection", {"color": "#ff0000"}, "points"),
        ("clearEdits", {}, "edits"),
        ("deleteFinding", {"id": "f1"}, "findings"),
        ("revertBatch", {}, "batches"),
    ],
)
def test_each_gated_command_stops_a_machine_once(
    desk: Desk, name: str, args: dict[str, Any], key: str
) -> None:
    """A preview with its count, nothing changed; with the token it runs; once."""
    desk.ok("addFinding", MODEL, title="x", position=corner(1, 1))
    desk.ok(
        "proposeBatch",
        MODEL,
        title="b",
        commands=[{"name": "selectWhere", "args": {"classes": [2]}}],
    )
    desk.ok("acceptBatch", id="b1")
    desk.ok("selectWhere", MODEL, classes=[6])
    desk.ok("colorSelection", color="#00ff00")
    before = desk.session.state
    preview = desk(name, MODEL, **args)
    assert preview["preview"] is True
    assert preview["wouldAffect"][key] > 0
    assert desk.session.state is before
    assert desk(name, MODEL, **args, confirm=True, token=preview["token"])["ok"]
    assert desk.session.state is not before
    again = desk(name, MODEL, **args, confirm=True, token=preview["token"])
    assert again["preview"] is True
    assert "used before" in again["note"]


def test_a_batch_on_real_points_is_seen_accepted_and_reverted_after_other_edits(desk: Desk) -> None:
    commands = [
        {"name": "selectWhere", "args": {"classes": [6]}},
        {"name": "reclassifySelection", "args": {"class": 7}},
        {"name": "selectWhere", "args": {"classes": [7]}},
        {"name": "hideSelection", "args": {}},
    ]
    desk.ok("proposeBatch", MODEL, title="Block is noise", commands=commands)
    (batch,) = desk.ok("listBatches")["batches"]
    assert [step["hits"]["points"] for step in batch["commands"]] == [1600] * 4
    assert desk.ok("acceptBatch", id="b1")["points"] == 3200
    assert [row["class"] for row in desk.ok("queryClasses")["classes"]] == [2]
    desk.ok("selectWhere", classes=[2])
    desk.ok("reclassifySelection", AIKO, **{"class": 11})
    desk.ok("revertBatch", MODEL, id="b1", confirm=True)
    counts = {row["class"]: row["count"] for row in desk.ok("queryClasses")["classes"]}
    assert counts == {6: 1600, 11: SIDE * SIDE - 1600}
    assert desk.ok("listBatches")["batches"][0]["state"] == "reverted"
    lines = desk.ok("getCommandLog", command="hideSelection")["entries"]
    assert (lines[0]["actor"]["name"], lines[0]["proposedBy"]["name"]) == ("Aiko", "model-1")


def test_a_lasso_on_the_screen_is_in_no_batch(desk: Desk) -> None:
    """It would be another piece of the world by the time somebody accepts it."""
    lasso = {"points": [[0, 0], [9, 0], [9, 9]], "space": "screen"}
    commands = [{"name": "selectPolygon", "args": lasso}]
    answer = desk("proposeBatch", MODEL, title="x", commands=commands)
    assert answer["error"]["code"] == "invalid_arguments"
    assert "world" in answer["error"]["problems"][0]["allowed"]


def test_a_machine_undoes_no_accepted_batch_but_reverts_its_own(desk: Desk) -> None:
    commands = [{"name": "selectWhere", "args": {"classes": [6]}}, HIDE]
    desk.ok("proposeBatch", MODEL, title="b", commands=commands)
    desk.ok("acceptBatch", id="b1")
    answer = desk("undo", MODEL)
    assert desk.ok("queryClasses")["points"] == SIDE * SIDE - 1600, answer
    other = Actor("ai", "model-1", token="t-2")
    assert desk("revertBatch", other, id="b1", confirm=True)["error"]["code"] == "refused"
    desk.ok("undo")
    assert desk.ok("queryClasses")["points"] == SIDE * SIDE


HIDE = {"name": "hideSelection", "args": {}}


def test_views_are_saved_found_and_undone(desk: Desk) -> None:
    desk.ok("saveBookmark", name="Top")
    camera = desk.session.state.camera
    desk.ok("setCamera", preset="iso")
    desk.ok("setCamera", bookmark="Top")
    assert desk.session.state.camera == camera
    assert desk.ok("listBookmarks")["bookmarks"][0]["name"] == "Top"
    desk.ok("deleteBookmark", name="Top")
    desk.ok("undo")
    assert desk.ok("listBookmarks")["count"] == 1
    assert desk("deleteBookmark", name="Nope")["error"]["code"] == "not_found"


def test_reports_are_written_whole_and_never_over_a_cloud(desk: Desk) -> None:
    desk.ok("addMeasurement", kind="distance", points=[corner(1, 1), corner(5, 5)])
    desk.ok("addFinding", title="x", position=corner(1, 1))
    for what, name in (
        ("measurements", "m.csv"),
        ("measurements", "m.geojson"),
        ("findings", "f.csv"),
        ("findings", "f.geojson"),
        ("log", "log.jsonl"),
        ("log", "log.csv"),
        ("report", "r.pdf"),
    ):
        answer = desk.ok("exportReport", MODEL, path=str(desk.folder / name), what=what)
        assert len(answer["head"]) == 64
        assert (desk.folder / name).stat().st_size > 100
    assert (desk.folder / "r.pdf").read_bytes().startswith(b"%PDF-")
    assert len(json.loads((desk.folder / "f.geojson").read_text("utf-8"))["features"]) == 1
    with (desk.folder / "m.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.DictReader(file))["unit"] == "m"

    def code(path: str, by: Actor = AIKO, what: str = "log", **more: Any) -> str:
        answer = desk("exportReport", by, path=path, what=what, **more)
        return str(answer["error"]["code"])

    cloud = desk.folder / "yard.las"
    copy = desk.folder / "yard.csv"
    copy.hardlink_to(cloud)
    size = cloud.stat().st_size
    assert code(str(copy), overwrite=True) == "refused"
    assert cloud.stat().st_size == size
    assert code(str(desk.folder / "log.csv")) == "refused"
    assert desk.ok("exportReport", path=str(desk.folder / "log.csv"), what="log", overwrite=True)
    assert code(str(desk.folder / "log.csv"), MODEL, overwrite=True) == "human_only"
    assert code(str(desk.folder / "log.txt")) == "invalid_arguments"
    assert code(str(desk.folder / "none" / "log.csv")) == "refused"
    assert code("/elsewhere/log.csv", MODEL) == "refused"


class Stopped:
    """A job that somebody cancels after its second report."""

    reports = 0

    def progress(self, fraction: float, stage: str = "") -> None:
        self.reports += 1

    def cancelled(self) -> bool:
        return self.reports >= 2

    def check(self) -> None:
        if self.cancelled():
            raise Cancelled


def test_a_scan_stops_when_it_is_cancelled_and_lets_go_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    yard(tmp_path / "yard.las")
    monkeypatch.setattr(fullscan, "CHUNK", 1000)
    source = open_source(str(tmp_path / "yard.las"))
    closed = []
    monkeypatch.setattr(source, "close", lambda: closed.append(True))
    scan = fullscan.Scan(SceneState(), {"c1": lambda: source}, None)
    read = 0
    with pytest.raises(Cancelled):
        for block in scan.points(Stopped()):
            read += len(block)
    assert read == 2000
    assert closed == [True]


def test_a_measurement_is_live_while_it_is_drawn_and_kept_once_at_its_end(desk: Desk) -> None:
    def draw() -> tuple[Any, int, Any]:
        scene = desk.session.scene
        gesture = desk.session.handle(AIKO).gesture("addMeasurement")
        for x in (2.0, 3.0, 4.0):
            live = gesture.update({"kind": "distance", "points": [corner(1, 1), corner(x, 1)]})
            assert scene.live_state is not None
        kept = len(scene.state.measurements)
        return live, kept, gesture.end()

    live, kept, ended = desk.session._on_scene(draw)
    assert (live["live"], kept) == (True, 0)
    assert ended["value"] == live["value"] == pytest.approx(3.0, abs=0.3)
    assert desk.session.scene.live_state is None
    assert len(desk.ok("getCommandLog", command="addMeasurement")["entries"]) == 1
