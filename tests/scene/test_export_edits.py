"""An export holds exactly what the edits make of every source point, whatever was on screen."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from oniyanma import Session
from oniyanma.clouds.open import open_source
from oniyanma.commands import build_registry
from oniyanma.registry import Actor
from oniyanma.registry.errors import Cancelled
from oniyanma.scene.export_edits import Export
from tests.support import shared

PERSON = Actor("human", "Ada")
REGISTRY = build_registry()
COUNT = 1500
SIDE = 100.0


def cloud(path: Path, point_format: int, seed: int = 1, count: int = COUNT) -> Path:
    """Points in a block of 100 units with eight classes and colours; GPS time numbers them."""
    rng = np.random.default_rng(seed)
    header = laspy.LasHeader(
        version="1.2" if point_format < 6 else "1.4", point_format=point_format
    )
    header.scales, header.offsets = (0.01, 0.01, 0.01), (1000.0, 2000.0, 0.0)
    header.add_extra_dim(laspy.ExtraBytesParams("height", "int16"))
    las = laspy.LasData(header)
    las.X, las.Y = rng.integers(0, 10_000, (2, count))
    las.Z = rng.integers(0, 3_000, count)
    las.classification = rng.integers(0, 8, count)
    las.intensity = rng.integers(0, 1_000, count)
    las.return_number = rng.integers(1, 4, count)
    las.gps_time = np.arange(count) + seed * 1e6
    for name in ("red", "green", "blue"):
        las[name] = rng.integers(0, 65_536, count)
    las.height = rng.integers(-50, 50, count)
    las.withheld = rng.integers(0, 2, count)
    las.write(path)
    return path


class Plain:
    """What commands make of points, the slow way: masks over all points, no rule, no log.

    An edit's hit is fixed when it is made; what is in force is put together anew each time.
    """

    def __init__(self, las: laspy.LasData) -> None:
        self.las = las
        self.x = np.asarray(las.X * 0.01 + 1000.0)
        self.y = np.asarray(las.Y * 0.01 + 2000.0)
        self.z = np.asarray(las.Z * 0.01 + 0.0)
        self.base = np.asarray(las.classification).copy()
        n = len(self.base)
        self.selected = np.zeros(n, bool)
        self.any_selection = False
        self.clip = np.ones(n, bool)
        self.hidden_classes: set[int] = set()
        self.edits: list[tuple[str, Any, npt.NDArray[np.bool_], int]] = []
        self.steps: list[tuple[str, frozenset[int]]] = []  # ("edits" or "clear", edits)
        self.active: set[int] = set()
        self.undone: list[int] = []

    def now(self) -> tuple[Any, Any, Any, Any]:
        """Classes, hidden, deleted, paint (0: none) as they are."""
        classes, n = self.base.copy(), len(self.base)
        hidden, deleted = np.zeros(n, bool), np.zeros(n, bool)
        paint = np.zeros(n, np.uint32)
        cleared = {e for s in self.active if self.steps[s][0] == "clear" for e in self.steps[s][1]}
        for index, (kind, value, hit, step) in enumerate(self.edits):
            if step not in self.active or index in cleared:
                continue
            if kind == "reclassify":
                classes[hit] = value
            elif kind == "hide":
                hidden |= hit
            elif kind == "delete":
                deleted |= hit
            else:
                paint[hit] = 0 if value is None else int(value[1:], 16) | 1 << 24
        return classes, hidden, deleted, paint

    def visible(self) -> npt.NDArray[np.bool_]:
        classes, hidden, deleted, _ = self.now()
        return self.clip & ~np.isin(classes, list(self.hidden_classes)) & ~hidden & ~deleted

    def select(self, shape: npt.NDArray[np.bool_], mode: str) -> None:
        if mode in ("subtract", "intersect") and not self.any_selection:
            return
        self.any_selection = True
        self.selected = {
            "replace": lambda: shape,
            "add": lambda: self.selected | shape,
            "subtract": lambda: self.selected & ~shape,
            "intersect": lambda: self.selected & shape,
        }[mode]() & self.visible()

    def invert(self) -> None:
        self.any_selection = True
        self.selected = ~self.selected & self.visible()

    def step(self, *edits: tuple[str, Any]) -> None:
        number, hits = len(self.steps), []
        self.steps.append(("edits", frozenset()))
        self.active.add(number)
        for kind, value in edits:
            hits.append((kind, value, self.selected & self.visible(), number))
            self.edits.append(hits[-1])
        self.undone.clear()

    def clear(self, kinds: tuple[str, ...]) -> None:
        taken = frozenset(i for i, e in enumerate(self.edits) if not kinds or e[0] in kinds)
        self.active.add(len(self.steps))
        self.steps.append(("clear", taken))
        self.undone.clear()

    def undo(self) -> None:
        last = max(self.active)
        self.active.remove(last)
        self.undone.append(last)

    def redo(self) -> None:
        self.active.add(self.undone.pop())

    def written(self, include: str) -> npt.NDArray[np.bool_]:
        if include == "all":
            return ~self.now()[2]
        return self.visible() & (self.selected if include == "selection" else True)


def same_points(plain: Plain, path: Path, include: str, ordered: bool = True) -> None:
    """The file at ``path`` has exactly the points, classes, colours and other values it should."""
    out, source = laspy.read(path), plain.las
    keep = plain.written(include)
    order = np.argsort(out.gps_time, kind="stable")
    if ordered:
        assert (order == np.arange(len(order))).all(), "points keep the order of the source"
    got = out.points[order]
    wanted = np.flatnonzero(keep)
    assert np.array_equal(got.gps_time, source.gps_time[wanted])
    classes, _, _, paint = plain.now()
    assert np.array_equal(np.asarray(got.classification), classes[wanted])
    painted = paint[wanted] != 0
    for shift, name in ((16, "red"), (8, "green"), (0, "blue")):
        colour = np.asarray(source[name])[wanted].copy()
        colour[painted] = (paint[wanted][painted] >> shift & 255) * 257
        assert np.array_equal(np.asarray(got[name]), colour), name
    for name in ("X", "Y", "Z", "intensity", "return_number", "height", "withheld"):
        assert np.array_equal(np.asarray(got[name]), np.asarray(source[name])[wanted]), name


modes = st.sampled_from(["replace", "add", "subtract", "intersect"])
place = st.floats(0, SIDE).map(lambda v: round(v, 2))
edits = st.one_of(
    st.tuples(st.sampled_from(["hide", "delete"]), st.none()),
    st.tuples(st.just("reclassify"), st.sampled_from([0, 1, 2, 6, 9, 31, 40, 255])),
    st.tuples(st.just("color"), st.sampled_from(["#ff8000", "#000000", None])),
)


def as_command(edit: tuple[str, Any]) -> dict[str, Any]:
    kind, value = edit
    args = {"reclassify": {"class": value}, "color": {"color": value}}.get(kind, {})
    return {"name": f"{kind}Selection", "args": args}


class ExportMachine(RuleBasedStateMachine):
    """Commands through the door on one side, plain masks on the other, compared as files."""

    @initialize(point_format=st.sampled_from([3, 7]))
    def start(self, point_format: int) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.source = cloud(self.folder / "source.las", point_format)
        self.before = self.source.read_bytes()
        self.session = Session(inline_workers=True, actor=PERSON, registry=REGISTRY)
        self.call("openCloud", path=str(self.source))
        self.plain = Plain(laspy.read(self.source))
        self.files = 0

    def call(self, command: str, **args: Any) -> dict[str, Any]:
        answer = self.session.call(command, args)
        assert answer["ok"], answer
        return answer

    def grown(self, command: str, **args: Any) -> bool:
        """Run it; whether it became a step of the log."""
        before = len(self.session.state.events)
        self.call(command, **args)
        return len(self.session.state.events) > before

    @rule(a=place, b=place, c=place, d=place, mode=modes)
    def select_box(self, a: float, b: float, c: float, d: float, mode: str) -> None:
        x, y = sorted((1000 + a, 1000 + b)), sorted((2000 + c, 2000 + d))
        p = self.plain
        self.call("selectBox", min=[x[0], y[0], 0], max=[x[1], y[1], 30], mode=mode)
        p.select((p.x >= x[0]) & (p.x <= x[1]) & (p.y >= y[0]) & (p.y <= y[1]), mode)

    @rule(corners=st.lists(st.tuples(place, place), min_size=3, max_size=6), z=place, mode=modes)
    def select_polygon(self, corners: list[tuple[float, float]], z: float, mode: str) -> None:
        ring, p = [[1000 + x, 2000 + y] for x, y in corners], self.plain
        self.call("selectPolygon", points=ring, space="world", zRange=[None, z], mode=mode)
        inside = np.zeros(len(p.x), bool)
        for (x0, y0), (x1, y1) in zip(ring, ring[1:] + ring[:1], strict=True):
            if y0 == y1:
                continue
            cut = (y0 > p.y) != (y1 > p.y)
            inside ^= cut & (p.x < (x1 - x0) * (p.y - y0) / (y1 - y0) + x0)
        p.select(inside & (p.z <= z), mode)

    @rule(classes=st.sets(st.integers(0, 9), min_size=1, max_size=4), mode=modes)
    def select_classes(self, classes: set[int], mode: str) -> None:
        self.call("selectWhere", classes=sorted(classes), mode=mode)
        self.plain.select(np.isin(self.plain.now()[0], list(classes)), mode)

    @rule(low=st.integers(0, 900), mode=modes)
    def select_by_attributes(self, low: int, mode: str) -> None:
        p = self.plain
        attribute = {"name": "height", "range": [-20, None]}
        self.call("selectWhere", intensity=[low, low + 200], attribute=attribute, mode=mode)
        light = np.asarray(p.las.intensity).astype(float)
        p.select((light >= low) & (light <= low + 200) & (np.asarray(p.las.height) >= -20), mode)

    @rule()
    def invert(self) -> None:
        self.call("invertSelection")
        self.plain.invert()

    @rule(edge=place, outside=st.booleans())
    def clip(self, edge: float, outside: bool) -> None:
        box = {"min": [1000, 2000, -10], "max": [1000 + edge, 2100, 50]}
        self.call("setClip", box=box, mode="outside" if outside else "inside")
        self.plain.clip = (self.plain.x <= 1000 + edge) != outside

    @rule()
    def unclip(self) -> None:
        self.call("setClip", clear=True)
        self.plain.clip[:] = True

    @rule(one=st.integers(0, 9), visible=st.booleans())
    def show_class(self, one: int, visible: bool) -> None:
        self.call("setClassVisibility", classes=[one], visible=visible)
        (self.plain.hidden_classes.discard if visible else self.plain.hidden_classes.add)(one)

    @precondition(lambda self: self.plain.any_selection)
    @rule(edit=edits)
    def edit(self, edit: tuple[str, Any]) -> None:
        command = as_command(edit)
        if self.grown(command["name"], **command["args"]):
            self.plain.step(edit)
        else:
            assert not (self.plain.selected & self.plain.visible()).any(), "a hit is an edit"

    @precondition(lambda self: self.plain.any_selection)
    @rule(several=st.lists(edits, min_size=2, max_size=3))
    def batch(self, several: list[tuple[str, Any]]) -> None:
        """Accepted as one undo step: all of it or nothing."""
        id = self.call("proposeBatch", title="b", commands=[as_command(e) for e in several])["id"]
        before = len(self.session.state.events)
        answer = self.session.call("acceptBatch", {"id": id})
        events = self.session.state.events[before:]
        if answer["ok"] and events:
            assert {event.batch for event in events} == {id}
            made = [edit.kind for event in events for edit in event.edits]
            assert made == [kind for kind, _ in several][: len(made)], (
                "what hits nothing is no edit"
            )
            self.plain.step(*several[: len(made)])

    @precondition(lambda self: self.plain.active)
    @rule()
    def undo(self) -> None:
        self.call("undo")
        self.plain.undo()

    @precondition(lambda self: self.plain.undone)
    @rule()
    def redo(self) -> None:
        self.call("redo")
        self.plain.redo()

    @rule(kinds=st.sets(st.sampled_from(["hide", "delete", "reclassify", "color"]), max_size=2))
    def clear(self, kinds: set[str]) -> None:
        if self.grown("clearEdits", **({"kinds": sorted(kinds)} if kinds else {})):
            self.plain.clear(tuple(kinds))

    @rule(include=st.sampled_from(["all", "visible", "selection"]))
    def export(self, include: str) -> None:
        if include == "selection" and not self.plain.any_selection:
            return
        self.check(include, ".las")

    def check(self, include: str, ending: str) -> None:
        self.files += 1
        path = self.folder / f"{self.files}{ending}"
        answer = self.call("exportCloud", path=str(path), include=include)
        assert answer["points"] == int(self.plain.written(include).sum())
        same_points(self.plain, path, include, ordered=ending != ".copc.laz")

    def teardown(self) -> None:
        if not hasattr(self, "session"):
            return
        try:
            for ending in (".las", ".laz", ".copc.laz"):
                self.check("all", ending)
            assert self.source.read_bytes() == self.before, "a source is never written"
        finally:
            self.session.close()
            shutil.rmtree(self.folder)


TestExportMachine = ExportMachine.TestCase
TestExportMachine.settings = settings(
    max_examples=int(os.environ.get("ONIYANMA_EXAMPLES", "6")),
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with Session(inline_workers=True, actor=PERSON, registry=REGISTRY) as made:
        yield made


def ok(session: Session, command: str, **args: Any) -> dict[str, Any]:
    answer = session.call(command, args)
    assert answer["ok"], answer
    return answer


def test_several_clouds_of_other_scales_are_each_edited_by_their_own_coordinates(
    session: Session, tmp_path: Path
) -> None:
    """A rule of one cloud, an edit for all, into one file that holds both."""
    first, second = cloud(tmp_path / "a.las", 7), cloud(tmp_path / "b.las", 3, seed=2)
    las = laspy.read(second)
    las.change_scaling(scales=(0.025, 0.01, 0.01))
    las.write(second)
    one = ok(session, "openCloud", path=str(first))["cloud"]
    two = ok(session, "openCloud", path=str(second))["cloud"]
    ok(session, "setCloudVisibility", cloud=two, visible=False)
    ok(session, "selectWhere", classes=[1, 2])
    ok(session, "deleteSelection")
    ok(session, "setCloudVisibility", cloud=two, visible=True)
    ok(session, "selectBox", min=[1000, 2000, 0], max=[1050.025, 2100, 30])
    ok(session, "reclassifySelection", **{"class": 77})
    ok(session, "exportCloud", path=str(tmp_path / "both.laz"))
    out = laspy.read(tmp_path / "both.laz")
    a, b = laspy.read(first), laspy.read(second)
    kept = ~np.isin(a.classification, (1, 2))
    wanted = np.where(a.X * 0.01 + 1000.0 <= 1050.025, 77, a.classification)[kept]
    others = np.where(b.X * 0.025 + 1000.0 <= 1050.025, 77, b.classification)
    assert np.array_equal(out.classification, np.concatenate((wanted, others)))
    ok(session, "exportCloud", path=str(tmp_path / "one.laz"), cloud=one)
    assert len(laspy.read(tmp_path / "one.laz")) == kept.sum()


def test_the_old_scan_angle_still_decides_when_the_format_is_raised(
    session: Session, tmp_path: Path
) -> None:
    source = cloud(tmp_path / "a.las", 3)
    las = laspy.read(source)
    las.scan_angle_rank = np.arange(COUNT) % 60 - 30
    las.write(source)
    ok(session, "openCloud", path=str(source))
    ok(session, "selectWhere", attribute={"name": "scan_angle_rank", "range": [-3, 12]})
    ok(session, "reclassifySelection", **{"class": 200})
    answer = ok(session, "exportCloud", path=str(tmp_path / "b.las"))
    assert [w["code"] for w in answer["warnings"]] == ["point_format_raised"]
    hit = (np.asarray(las.scan_angle_rank) >= -3) & (np.asarray(las.scan_angle_rank) <= 12)
    assert np.array_equal(laspy.read(tmp_path / "b.las").classification == 200, hit)


def test_paint_matches_colours_of_eight_bits(session: Session, tmp_path: Path) -> None:
    source = cloud(tmp_path / "a.las", 7)
    las = laspy.read(source)
    for name in ("red", "green", "blue"):
        las[name] = np.asarray(las[name]) >> 8
    las.write(source)
    ok(session, "openCloud", path=str(source))
    ok(session, "selectWhere", classes=[3])
    ok(session, "colorSelection", color="#ff8001")
    ok(session, "exportCloud", path=str(tmp_path / "b.las"))
    out = laspy.read(tmp_path / "b.las")
    painted = np.asarray(las.classification) == 3
    got = np.stack([out.red, out.green, out.blue], axis=1)
    assert (got[painted] == (255, 128, 1)).all()
    assert np.array_equal(out.red[~painted], las.red[~painted])


def test_paint_that_the_format_can_not_hold_is_said(session: Session, tmp_path: Path) -> None:
    header = laspy.LasHeader(version="1.4", point_format=6)
    las = laspy.LasData(header)
    las.X = las.Y = las.Z = np.arange(50)
    las.write(tmp_path / "a.las")
    ok(session, "openCloud", path=str(tmp_path / "a.las"))
    ok(session, "selectWhere", classes=[0])
    ok(session, "colorSelection", color="#ff8001")
    answer = ok(session, "exportCloud", path=str(tmp_path / "b.laz"))
    assert [w["code"] for w in answer["warnings"]] == ["paint_left_out"]
    assert answer["points"] == 50


def test_no_file_of_the_scene_is_ever_written_over(session: Session, tmp_path: Path) -> None:
    """Not the exported cloud's, not another one's, not the project; others only when asked."""
    first, second = cloud(tmp_path / "a.las", 7), cloud(tmp_path / "b.las", 7)
    for path in (first, second):
        ok(session, "openCloud", path=str(path))
    project = tmp_path / "p.oniyanma"
    ok(session, "saveProject", path=str(project))
    before = {path: path.read_bytes() for path in (first, second, project)}
    for path in before:
        answer = session.call(
            "exportCloud",
            {"path": str(path), "format": "las", "cloud": "c1", "overwrite": True},
        )
        assert answer["error"]["code"] == "refused", path
        if path != project:
            assert path.read_bytes() == before[path]
    out = tmp_path / "out.las"
    ok(session, "exportCloud", path=str(out), cloud="c1")
    assert session.call("exportCloud", {"path": str(out)})["error"]["code"] == "refused"
    ok(session, "exportCloud", path=str(out), cloud="c1", overwrite=True)


def test_a_machine_writes_only_where_a_person_allowed_and_never_over_a_file(
    tmp_path: Path,
) -> None:
    source = cloud(tmp_path / "a.las", 7)
    (tmp_path / "out").mkdir()
    with Session(
        inline_workers=True,
        actor=Actor("api", "script"),
        allow_read=[tmp_path],
        allow_write=[tmp_path / "out"],
    ) as session:
        ok(session, "openCloud", path=str(source))

        def code(**args: Any) -> str:
            return str(session.call("exportCloud", args)["error"]["code"])

        assert code(path=str(tmp_path / "b.las")) == "refused"
        assert code(path=str(tmp_path / "out" / ".." / "b.las")) == "refused"
        ok(session, "exportCloud", path=str(tmp_path / "out" / "b.las"))
        assert code(path=str(tmp_path / "out" / "b.las")) == "refused"
        assert code(path=str(tmp_path / "out" / "b.las"), overwrite=True) == "human_only"
        assert session.call("saveProject", path=str(tmp_path / "p.oniyanma"))["ok"] is False
        ok(session, "saveProject", path=str(tmp_path / "out" / "p.oniyanma"))
        again = session.call("saveProject", path=str(tmp_path / "out" / "p.oniyanma"))
        assert again["ok"], "it is where the work is"
    assert not (tmp_path / "b.las").exists()


def test_what_can_not_be_exported_is_said(session: Session, tmp_path: Path) -> None:
    source = cloud(tmp_path / "a.las", 7)
    ok(session, "openCloud", path=str(source))
    out = str(tmp_path / "b.las")

    def error(**args: Any) -> tuple[str, str]:
        failure = session.call("exportCloud", args)["error"]
        return failure["code"], failure["message"]

    assert error(path=out, cloud="c9")[0] == "not_found"
    assert "no selection" in error(path=out, include="selection")[1]
    ok(session, "setCloudVisibility", cloud="c1", visible=False)
    assert "No cloud is visible" in error(path=out)[1]
    source.unlink()
    assert error(path=out, cloud="c1")[0] == "refused"
    assert sorted(each.name for each in tmp_path.iterdir()) == []


def test_reclassified_from_the_coarsest_view_every_point_is_in_the_file(tmp_path: Path) -> None:
    """FIELD_REPORTS 44: 350,000 points, of which the screen shows a part."""
    source = cloud(tmp_path / "a.las", 7, count=350_000)
    with Session(inline_workers=True, actor=PERSON, viewport=(64, 64)) as session:
        ok(session, "openCloud", path=str(source))
        ok(session, "setPointBudget", points=100_000)
        ok(session, "setCamera", eye=[1050, 2050, 90_000], target=[1050, 2050, 0])
        ok(session, "selectBox", min=[1020, 2020, 0], max=[1080, 2080, 30])
        shown = ok(session, "getSelection")["points"]
        ok(session, "reclassifySelection", **{"class": 17})
        ok(session, "exportCloud", path=str(tmp_path / "b.laz"))
    las, out = laspy.read(source), laspy.read(tmp_path / "b.laz")
    x, y = las.X * 0.01 + 1000.0, las.Y * 0.01 + 2000.0
    hit = (x >= 1020) & (x <= 1080) & (y >= 2020) & (y <= 2080)
    assert shown < hit.sum() / 2, "most of it was not on screen"
    assert np.array_equal(out.classification == 17, hit)


def test_a_real_cloud_keeps_every_field_that_was_not_edited(
    session: Session, tmp_path: Path
) -> None:
    """FIELD_REPORTS 51, on a file with VLRs, extra bytes and flags."""
    source = shared("corpus", "pdal_extrabytes.las")
    ok(session, "openCloud", path=str(source))
    answer = ok(session, "selectWhere", classes=[2])
    assert answer["points"] > 0
    ok(session, "reclassifySelection", **{"class": 6})
    ok(session, "exportCloud", path=str(tmp_path / "b.las"))
    before, after = laspy.read(source), laspy.read(tmp_path / "b.las")
    ground = np.asarray(before.classification) == 2
    assert (np.asarray(after.classification)[ground] == 6).all()
    wanted = before.points.array.copy()
    laspy.PackedPointRecord(wanted, before.point_format).classification[ground] = 6
    assert np.array_equal(after.points.array, wanted)
    assert [(v.user_id, v.record_id) for v in after.vlrs] == [
        (v.user_id, v.record_id) for v in before.vlrs
    ]


def test_a_cancelled_export_leaves_no_file(session: Session, tmp_path: Path) -> None:
    """Also when it is cancelled between two chunks, for every format."""
    source = cloud(tmp_path / "a.las", 7)
    ok(session, "openCloud", path=str(source))
    ok(session, "selectWhere", classes=[1])
    ok(session, "deleteSelection")
    what = Export(session.state, {"c1": lambda: open_source(source)})
    for ending in (".las", ".laz", ".copc.laz", ".ply", ".csv"):
        asked: list[int] = []

        def cancelled(asked: list[int] = asked) -> bool:
            asked.append(1)
            return len(asked) > 1

        for stop in (lambda: True, cancelled):
            with contextlib.suppress(Cancelled):
                what.run(tmp_path / f"b{ending}", cancelled=stop)
                assert stop is cancelled and len(asked) <= 1, "it was never asked again"
                (tmp_path / f"b{ending}").unlink()
    assert [each.name for each in tmp_path.iterdir()] == ["a.las"]
