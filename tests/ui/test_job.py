"""The whole job on real input, three times: with the mouse, with the palette, with shortcuts.

Open Autzen → its sample is on screen while it is indexed → colour by elevation → lasso a roof →
the count is right → reclassify → undo → redo → measure a height at the stadium's edge → section →
finding → save → close → open again → all is there → export LAZ → an independent reader sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pytest
from PySide6.QtCore import Qt

from tests.support import shared

Make = Callable[..., Any]
CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier

# Places in the world (feet): a roof beside the stadium, the stadium's upper edge and its foot.
ROOF = (
    (636_800.0, 851_560.0),
    (636_800.0, 851_900.0),
    (637_200.0, 851_900.0),
    (637_200.0, 851_560.0),
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Autzen is indexed once for all three jobs."""
    return tmp_path_factory.mktemp("index")


@pytest.fixture
def autzen(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Path:
    monkeypatch.setenv("ONIYANMA_CACHE", str(cache))
    return shared("data", "autzen.laz")


def in_polygon(x: np.ndarray, y: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Even-odd, an edge is crossed where (yi > y) ≠ (yj > y): the plain way."""
    inside = np.zeros(len(x), bool)
    for (xi, yi), (xj, yj) in zip(corners, np.roll(corners, 1, axis=0), strict=True):
        if yi != yj:
            crossed = (yi > y) != (yj > y)
            inside ^= crossed & (x < (xj - xi) * (y - yi) / (yj - yi) + xi)
    return inside


def world(nodes: Any, info: Any) -> Iterator[np.ndarray]:
    for node in nodes:
        yield node.xyz * np.asarray(info.scale) + np.asarray(info.offset)


def expected_resident(desk: Any, polygon: list[list[float]]) -> int:
    """What is inside the polygon on the screen, counted point by point."""
    view = desk.session.view
    lens = desk.session.scene.lens()
    info = view.cloud_info(desk.state.clouds[0].id)
    count = 0
    for points in world(view.resident(), info):
        places, depth = lens.project(points)
        hit = in_polygon(places[:, 0], places[:, 1], np.asarray(polygon))
        count += int((hit & (depth > lens.near)).sum())
    return count


class Job:
    """The steps that are alike, and what is checked after each."""

    def __init__(self, make: Make, autzen: Path, folder: Path) -> None:
        self.make = make
        self.autzen = autzen
        self.project = folder / "job.oniyanma"
        self.export = folder / "job.laz"
        self.desk = make()
        self.polygon: list[list[float]] = []
        self.count = 0

    def on_screen(self, *places: tuple[float, ...]) -> list[tuple[float, float]]:
        """Where world places are in the picture, as whole pixels."""
        z = self.desk.window.bridge.view.scene_bounds()[0][2]
        points = [(*place, z) if len(place) == 2 else place for place in places]
        pixels, _ = self.desk.canvas.lens().project(points)
        return [(round(x), round(y)) for x, y in pixels.tolist()]

    def check_opened(self) -> None:
        desk = self.desk
        desk.qtbot.waitUntil(lambda: desk.window.bridge.shown_points()[0] > 0, timeout=60_000)
        desk.settle(timeout=200_000)
        shown, total, _ = desk.window.bridge.shown_points()
        assert total == 10_653_336
        assert 1_000_000 < shown <= desk.state.budget
        assert desk.window.status.crs.text().startswith("NAD")

    def check_selected(self) -> None:
        desk = self.desk
        ((_, args, _),) = [c for c in desk.spy.calls if c[0] == "selectPolygon"]
        self.polygon = [list(map(float, point)) for point in args["points"]]
        self.lens = desk.session.scene.lens()
        self.count = expected_resident(desk, self.polygon)
        assert self.count > 1_000
        assert desk.window.bridge.selected_points() == self.count
        assert desk.window.bar.count.text() == f"{self.count:,}"

    def buildings(self) -> int:
        view = self.desk.session.view
        return sum(int((node.classification == 6).sum()) for node in view.resident())

    def check_measure(self) -> None:
        (measure,) = self.desk.state.measurements.values()
        (a, b) = measure.points
        assert measure.kind == "height"
        assert abs(measure.values["value"]) == pytest.approx(abs(a[2] - b[2]), abs=1e-9)
        assert abs(measure.values["value"]) > 20
        assert measure.values["unit"] == "ft"

    def check_saved(self) -> None:
        assert self.project.exists()
        assert self.desk.state.project.path == str(self.project)

    def reopen(self) -> None:
        from tests.ui.conftest import close_desk

        close_desk(self.desk)
        self.desk = self.make()
        self.desk.dialogs.path = str(self.project)

    def check_reopened(self, before: Any) -> None:
        desk = self.desk
        desk.settle(timeout=120_000)
        after = desk.state
        assert [c.path for c in after.clouds] == [c.path for c in before.clouds]
        assert len(after.events) == len(before.events)
        assert [f.title for f in after.findings.values()] == ["Loose sheet"]
        assert after.measurements.keys() == before.measurements.keys()
        assert self.buildings() > 0

    def check_exported(self) -> None:
        """laspy reads the file: everything is there, and what the lasso held is Building."""
        self.desk.settle(timeout=200_000)
        inside = buildings = total = 0
        with laspy.open(self.export) as reader:
            for chunk in reader.chunk_iterator(2_000_000):
                total += len(chunk)
                points = np.column_stack((chunk.x, chunk.y, chunk.z))
                places, depth = self.lens.project(points)
                hit = in_polygon(places[:, 0], places[:, 1], np.asarray(self.polygon))
                hit &= depth > self.lens.near
                classes = np.asarray(chunk.classification)
                inside += int(hit.sum())
                buildings += int((classes == 6).sum())
                assert (classes[hit] == 6).all()
                assert (classes[~hit] != 6).all()
        assert total == 10_653_336
        assert inside == buildings > self.count


EDGE = (638_085.0, 851_470.0)


def edge_places(job: Job) -> list[tuple[float, float]]:
    """A high and a low point at the stadium, as it is seen from above, in whole pixels."""
    canvas = job.desk.canvas
    best: dict[str, tuple[float, tuple[float, float]]] = {}
    (cx, cy) = job.on_screen(EDGE)[0]
    for dx in range(-60, 61, 4):
        for dy in range(-60, 61, 12):
            place = (cx + dx, cy + dy)
            if not (0 < place[0] < canvas.width() and 0 < place[1] < canvas.height()):
                continue
            point = job.desk.window.bridge.pick(*place)
            if point is None:
                continue
            if "high" not in best or point[2] > best["high"][0]:
                best["high"] = (point[2], place)
            if "low" not in best or point[2] < best["low"][0]:
                best["low"] = (point[2], place)
    return [best["low"][1], best["high"][1]]


def test_the_whole_job_with_the_mouse(desk_of: Make, autzen: Path, tmp_path: Path) -> None:
    job = Job(desk_of, autzen, tmp_path)
    desk = job.desk
    desk.dialogs.path = str(autzen)
    desk.press_button("start.open")
    job.check_opened()
    desk.menu("View", "view.top")
    desk.settle()
    desk.menu("Colour", "color.elevation")
    desk.settle()
    desk.spy.calls.clear()
    desk.press_button("rail.tool.lasso")
    for place in job.on_screen(*ROOF):
        desk.click(*place)
    desk.double(*job.on_screen(*ROOF)[-1])
    job.check_selected()
    desk.press_button("rail.tool.lasso")
    desk.press_button("bar.edit.classify")
    desk.take_row("Building")
    assert job.buildings() == job.count
    desk.qtbot.mouseClick(desk.window.toast.button, Qt.MouseButton.LeftButton)
    assert job.buildings() == 0
    desk.menu("Edit", "edit.redo")
    assert job.buildings() == job.count
    low, high = edge_places(job)
    desk.menu("Measure", "measure.height")
    desk.click(*low)
    desk.click(*high)
    job.check_measure()
    desk.menu("Measure", "measure.height")
    desk.press_button("rail.tool.section")
    desk.click(*low)
    desk.click(*high)
    assert desk.state.clip is not None
    assert desk.state.camera.projection == "orthographic"
    desk.press_button("section.leave")
    assert desk.state.clip is None
    desk.settle()
    desk.press_button("rail.tool.finding")
    desk.click(*high)
    desk.type("Loose sheet")
    desk.key(Qt.Key.Key_Return)
    desk.take_row("Run it")
    desk.dialogs.path = str(job.project)
    desk.menu("File", "project.save")
    job.check_saved()
    assert desk.spy.names() == [
        "selectPolygon",
        "reclassifySelection",
        "undo",
        "redo",
        "addMeasurement",
        "setClip",
        "setClip",
        "addFinding",
        "saveProject",
    ]
    assert {actor.kind for _, _, actor in desk.spy.calls} == {"human"}
    before = desk.state
    job.reopen()
    job.desk.menu("File", "project.open")
    job.check_reopened(before)
    job.desk.dialogs.path = str(job.export)
    job.desk.menu("File", "file.export")
    job.check_exported()


def test_the_whole_job_with_the_palette(desk_of: Make, autzen: Path, tmp_path: Path) -> None:
    job = Job(desk_of, autzen, tmp_path)
    desk = job.desk
    desk.dialogs.path = str(autzen)
    desk.palette("open")
    job.check_opened()
    desk.palette("top view")
    desk.settle()
    desk.palette("colour by elevation")
    desk.settle()
    desk.spy.calls.clear()
    points = "; ".join(f"{x} {y}" for x, y in job.on_screen(*ROOF))
    desk.palette("select polygon", points, "screen")
    job.check_selected()
    desk.palette("classify as building")
    assert job.buildings() == job.count
    desk.palette("undo")
    assert job.buildings() == 0
    desk.palette("redo")
    assert job.buildings() == job.count
    ends = [desk.window.bridge.pick(*place) for place in edge_places(job)]
    typed = "; ".join(" ".join(repr(part) for part in end) for end in ends)
    desk.palette("measure", "height", typed)
    desk.key(Qt.Key.Key_Return)  # "Run it": a name is not wanted
    job.check_measure()
    line = "; ".join(f"{end[0]!r} {end[1]!r}" for end in ends)
    desk.key(Qt.Key.Key_K, CTRL)
    desk.type("queryProfile")
    desk.key(Qt.Key.Key_Return)
    desk.type(line)
    desk.key(Qt.Key.Key_Return)
    desk.window.palette_.editor.box.lineEdit().selectAll()
    desk.type("40")
    desk.key(Qt.Key.Key_Return)
    desk.qtbot.waitUntil(desk.window.answer.isVisible)
    desk.palette("add finding", "Loose sheet", " ".join(repr(part) for part in ends[1]))
    desk.key(Qt.Key.Key_Return)
    desk.dialogs.path = str(job.project)
    desk.palette("save project")
    job.check_saved()
    assert desk.spy.names() == [
        "selectPolygon",
        "reclassifySelection",
        "undo",
        "redo",
        "addMeasurement",
        "addFinding",
        "saveProject",
    ]
    before = desk.state
    job.reopen()
    job.desk.palette("open project")
    job.check_reopened(before)
    job.desk.dialogs.path = str(job.export)
    job.desk.palette("export points")
    job.check_exported()


def test_the_whole_job_with_shortcuts(desk_of: Make, autzen: Path, tmp_path: Path) -> None:
    job = Job(desk_of, autzen, tmp_path)
    desk = job.desk
    desk.dialogs.path = str(autzen)
    desk.key(Qt.Key.Key_O, CTRL)
    job.check_opened()
    desk.key(Qt.Key.Key_1)
    desk.settle()
    desk.palette("colour by elevation")
    desk.settle()
    desk.spy.calls.clear()
    desk.key(Qt.Key.Key_L)
    for place in job.on_screen(*ROOF):
        desk.click(*place)
    desk.key(Qt.Key.Key_Return)
    desk.key(Qt.Key.Key_Escape)
    job.check_selected()
    desk.key(Qt.Key.Key_C)
    desk.type("building")
    desk.key(Qt.Key.Key_Return)
    assert job.buildings() == job.count
    desk.key(Qt.Key.Key_Z, CTRL)
    assert job.buildings() == 0
    desk.key(Qt.Key.Key_Z, CTRL | SHIFT)
    assert job.buildings() == job.count
    low, high = edge_places(job)
    desk.key(Qt.Key.Key_M, SHIFT)
    desk.click(*low)
    desk.click(*high)
    desk.key(Qt.Key.Key_Escape)
    job.check_measure()
    desk.key(Qt.Key.Key_S)
    desk.click(*low)
    desk.click(*high)
    assert desk.state.clip is not None
    desk.key(Qt.Key.Key_Escape)
    assert desk.state.clip is None
    desk.settle()
    desk.key(Qt.Key.Key_N)
    desk.click(*high)
    desk.type("Loose sheet")
    desk.key(Qt.Key.Key_Return)
    desk.key(Qt.Key.Key_Return)
    desk.dialogs.path = str(job.project)
    desk.key(Qt.Key.Key_S, CTRL)
    job.check_saved()
    assert desk.spy.names() == [
        "selectPolygon",
        "reclassifySelection",
        "undo",
        "redo",
        "addMeasurement",
        "setClip",
        "setClip",
        "addFinding",
        "saveProject",
    ]
    assert {actor.kind for _, _, actor in desk.spy.calls} == {"human"}
    before = desk.state
    job.reopen()
    job.desk.key(Qt.Key.Key_K, CTRL)
    job.desk.type("open project")
    job.desk.key(Qt.Key.Key_Return)
    job.check_reopened(before)
    job.desk.dialogs.path = str(job.export)
    job.desk.key(Qt.Key.Key_E, CTRL)
    job.check_exported()
