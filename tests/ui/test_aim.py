"""Every tool of the view without a mouse: arrows move a cross, Enter clicks there."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt

SHIFT = Qt.KeyboardModifier.ShiftModifier
WAYS = {
    (1, 0): Qt.Key.Key_Right,
    (-1, 0): Qt.Key.Key_Left,
    (0, 1): Qt.Key.Key_Down,
    (0, -1): Qt.Key.Key_Up,
}


def go(desk: Any, way: tuple[int, int], times: int) -> None:
    for _ in range(times):
        desk.key(WAYS[way], widget=desk.canvas)


def test_a_lasso_is_made_with_arrows_and_enter(town: Any) -> None:
    town.key(Qt.Key.Key_L)
    for way in ((1, 0), (0, 1), (-1, 0)):
        go(town, way, 8)
        town.key(Qt.Key.Key_Return)
    assert len(town.window.tool.points) == 3
    assert town.spy.calls == []
    town.key(Qt.Key.Key_Return)  # the cross was not moved: the shape is finished
    ((name, args, actor),) = town.spy.calls
    assert (name, args["space"], actor.kind) == ("selectPolygon", "screen", "human")
    (ax, ay), (bx, by), (cx, cy) = args["points"]
    assert (bx - ax, by - ay, cx - bx, cy - by) == (0, 96, -96, 0)
    assert town.window.bridge.selected_points() > 0


@pytest.mark.parametrize("key", [Qt.Key.Key_V, Qt.Key.Key_B])
def test_a_rectangle_and_a_box_are_pressed_and_let_go(town: Any, key: Any) -> None:
    town.key(Qt.Key.Key_1)
    town.settle()
    town.spy.calls.clear()
    town.key(key)
    go(town, (-1, 0), 4)
    town.key(Qt.Key.Key_Return)
    go(town, (1, 0), 9)
    go(town, (0, 1), 6)
    assert town.spy.calls == []
    town.key(Qt.Key.Key_Return)
    assert town.spy.names() == ["selectPolygon" if key == Qt.Key.Key_V else "selectBox"]
    assert town.window.bridge.selected_points() > 0


def test_a_distance_is_measured_between_real_points(town: Any) -> None:
    town.key(Qt.Key.Key_M)
    town.key(Qt.Key.Key_Right, SHIFT)
    at = town.canvas.aim.at
    assert (at.x(), at.y()) == (
        town.canvas.rect().center().x() + 1,
        town.canvas.rect().center().y(),
    )
    town.key(Qt.Key.Key_Return)
    go(town, (1, 0), 6)
    town.key(Qt.Key.Key_Return)
    (measure,) = town.state.measurements.values()
    for point in measure.points:
        assert town.session.scene.nearest(point).distance == 0.0


def test_the_palette_picks_a_point_from_the_keyboard(town: Any) -> None:
    window = town.window
    town.palette("add finding", "Loose wire")
    assert window.palette_.question.asking == "position"
    town.key(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    town.qtbot.waitUntil(lambda: window.tool is not None and town.canvas.hasFocus())
    go(town, (-1, 0), 2)
    at = town.canvas.aim.at
    expected = window.bridge.pick(at.x(), at.y())
    town.key(Qt.Key.Key_Return)
    town.qtbot.waitUntil(window.palette_.isVisible)
    town.key(Qt.Key.Key_Return)
    (finding,) = town.state.findings.values()
    assert finding.position == pytest.approx(expected)


def test_the_mouse_takes_the_cross_away(town: Any) -> None:
    town.key(Qt.Key.Key_L)
    go(town, (1, 0), 1)
    assert town.canvas.aim.at is not None
    town.click(300, 200)
    assert town.canvas.aim.at is None
    town.key(Qt.Key.Key_Escape)
    town.key(Qt.Key.Key_Escape)
