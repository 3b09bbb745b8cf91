"""The window on the sample: what is on screen, what clicks and keys do, what never happens."""

from __future__ import annotations

import gc
import hashlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from oniyanma.ui.actions import BY_ID, ENTRIES
from oniyanma.ui.text import sentence
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLineEdit,
    QSlider,
    QWidget,
)

from oniyanma.scene.overlays import Label, overlays_of

Make = Callable[..., Any]


def digest(state: Any) -> str:
    """The scene's state without what is no part of the scene: revision and viewport."""
    return hashlib.sha256(repr(replace(state, revision=0, viewport=(1, 1))).encode()).hexdigest()


def around(desk: Any, share: float = 0.3) -> list[tuple[float, float]]:
    """Four corners in the middle of the picture."""
    width, height = desk.canvas.width(), desk.canvas.height()
    left, right = width * (0.5 - share / 2), width * (0.5 + share / 2)
    top, bottom = height * (0.5 - share / 2), height * (0.5 + share / 2)
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def colors_of(picture: Any) -> int:
    """How many colours every seventh pixel has."""
    return len(
        {
            picture.pixel(x, y)
            for x in range(0, picture.width(), 7)
            for y in range(0, picture.height(), 7)
        }
    )


def lasso(desk: Any, share: float = 0.3) -> None:
    desk.key(Qt.Key.Key_L)
    for place in around(desk, share):
        desk.click(*place)
    desk.key(Qt.Key.Key_Return)
    desk.key(Qt.Key.Key_Escape)


# --- the first ten seconds -----------------------------------------------------------------------


def test_it_starts_with_one_calm_page(desk_of: Make) -> None:
    desk = desk_of()
    assert desk.window.start.isVisible()
    assert not any(dock.isVisible() for dock in desk.window.docks.values())
    assert desk.spy.calls == []


def test_the_sample_is_one_click_away_and_is_on_screen(desk_of: Make) -> None:
    town = desk_of()
    town.press_button("start.sample")
    town.settle()
    shown, total, loading = town.window.bridge.shown_points()
    assert shown == min(total, town.state.budget) or shown > 10_000
    assert not loading
    assert colors_of(town.canvas.grabFramebuffer()) > 200
    assert town.window.docks["inspector"].isVisible()


def test_a_file_that_is_no_cloud_is_one_sentence_and_no_dialog(
    desk_of: Make, tmp_path: Any
) -> None:
    bad = tmp_path / "bad.las"
    bad.write_bytes(b"")
    desk = desk_of()
    desk.window.acts.open_path(str(bad))
    desk.qtbot.waitUntil(desk.window.toast.isVisible)
    assert "empty" in desk.window.toast.text.text()
    assert desk.dialogs.asked == []


def test_a_dropped_file_opens(desk_of: Make, tmp_path: Any) -> None:
    from PySide6.QtCore import QMimeData, QUrl
    from PySide6.QtGui import QDropEvent

    from tests.support import shared

    desk = desk_of()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(shared("corpus", "laspy_simple1_4.las")))])
    drop = QDropEvent(
        QPointF(200, 200),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    desk.window.start.dropEvent(drop)
    desk.settle()
    assert [cloud.name for cloud in desk.state.clouds] == ["laspy_simple1_4.las"]
    assert desk.window.settings.recent_files()[0].endswith("laspy_simple1_4.las")


# --- the door ------------------------------------------------------------------------------------


def test_every_action_and_button_has_a_command_behind_it_or_changes_nothing(town: Any) -> None:
    """All QActions are of the table or toggle a panel; all buttons are told by name."""
    window = town.window
    known = set(BY_ID) | {f"panel.{name}.toggle" for name in window.docks}
    assert {action.objectName() for action in window.all_actions()} == known
    for entry in ENTRIES:
        if entry.command:
            assert entry.command in window.bridge.registry
    before = digest(town.state)
    for entry in ENTRIES:
        if entry.act and entry.act not in ("close", "open_sample"):
            window.actions_[entry.id].trigger()
            if window.palette_.isVisible():
                window.palette_.close_palette()
            window.sheet.close_sheet()
    for dock in window.docks.values():
        dock.toggleViewAction().trigger()
        dock.toggleViewAction().trigger()
    assert digest(town.state) == before
    assert town.spy.calls == []


def test_the_state_changes_through_commands_of_a_person_only(town: Any) -> None:
    seen: list[tuple[str, str]] = []
    window = town.window
    window.bridge.state_changed.connect(lambda old, new: seen.append((digest(old), digest(new))))
    committed = [digest(town.state)]
    lasso(town)
    town.key(Qt.Key.Key_H)
    town.key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    town.key(Qt.Key.Key_1)
    town.settle()
    committed.append(digest(town.state))
    assert committed[0] != committed[1]
    names = [name for name, _, _ in town.spy.calls]
    assert names == ["selectPolygon", "hideSelection", "undo", "setCamera"]
    assert {actor.kind for _, _, actor in town.spy.calls} == {"human"}
    log = [line.as_json()["command"] for line in town.session.scene.log.entries(limit=10)]
    assert log[-4:] == names


def test_a_drag_and_a_turn_of_the_wheel_are_one_command_each(town: Any) -> None:
    town.drag([(400, 250), (420, 260), (450, 270), (500, 300)])
    assert [name for name, _, _ in town.spy.calls] == ["setCamera"]
    before = town.state.camera
    at = QPointF(400, 250)
    for _ in range(3):
        QApplication.sendEvent(
            town.canvas,
            QWheelEvent(
                at,
                town.canvas.mapToGlobal(at),
                QPoint(),
                QPoint(0, 120),
                Qt.MouseButton.NoButton,
                Qt.KeyboardModifier.NoModifier,
                Qt.ScrollPhase.NoScrollPhase,
                False,
            ),
        )
    town.settle()
    assert [name for name, _, _ in town.spy.calls] == ["setCamera", "setCamera"]
    near, far = (
        sum((e - t) ** 2 for e, t in zip(c.eye, c.target, strict=True))
        for c in (town.state.camera, before)
    )
    assert near < far


def test_the_point_a_drag_turns_about_stays_under_the_cursor(town: Any) -> None:
    place = (town.canvas.width() // 2 + 30, town.canvas.height() // 2 + 10)
    picked = town.window.bridge.pick(*place)
    assert picked is not None
    (before,), _ = town.canvas.lens().project([picked])
    town.drag([place, (place[0] + 20, place[1] + 5), (place[0] + 60, place[1] - 10)])
    (after,), _ = town.canvas.lens().project([picked])
    assert after == pytest.approx(before, abs=0.01)


def test_a_double_click_sets_the_pivot(town: Any) -> None:
    picked = town.window.bridge.pick(430, 260)
    town.qtbot.mouseDClick(town.canvas, Qt.MouseButton.LeftButton, pos=QPoint(430, 260))
    town.settle()
    assert town.state.camera.target == pytest.approx(picked)


def test_a_right_click_opens_the_menu_and_a_right_drag_does_not(town: Any) -> None:
    from PySide6.QtWidgets import QMenu

    town.drag([(400, 250), (430, 260), (460, 280)], button=Qt.MouseButton.RightButton)
    assert [name for name, _, _ in town.spy.calls] == ["setCamera"]
    assert not [m for m in town.window.findChildren(QMenu) if m.isVisible()]
    lasso(town)
    town.drag([(400, 250), (400, 250)], button=Qt.MouseButton.RightButton)
    (menu,) = [m for m in town.window.findChildren(QMenu) if m.isVisible()]
    names = {action.objectName() for action in menu.actions()}
    assert {"edit.hide", "edit.delete", "edit.classify", "view.fit"} <= names
    menu.close()


# --- keys ----------------------------------------------------------------------------------------


def test_letters_and_delete_in_a_text_field_never_touch_the_scene(town: Any) -> None:
    lasso(town)
    town.spy.calls.clear()
    town.window.sheet.open()
    field = town.window.sheet.filter
    town.qtbot.waitUntil(field.hasFocus)
    town.qtbot.keyClicks(field, "hlcvb1")
    town.key(Qt.Key.Key_Home, widget=field)
    town.key(Qt.Key.Key_Delete, widget=field)
    town.key(Qt.Key.Key_Delete, widget=field)
    assert field.text() == "cvb1"
    assert town.spy.calls == []
    assert town.window.tool is None


def test_the_palette_opens_from_any_focus_and_takes_its_own_escape(town: Any) -> None:
    window = town.window
    lasso(town)
    town.spy.calls.clear()
    for widget in (
        town.canvas,
        window.inspector.colour.mode,
        window.panels["clouds"].tree,
        window.field,
    ):
        widget.setFocus()
        town.key(Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier, widget=widget)
        town.qtbot.waitUntil(window.palette_.line.hasFocus)
        town.key(Qt.Key.Key_Escape)
        assert not window.palette_.isVisible()
    assert town.state.selection.rule is not None  # Esc was the palette's, not the scene's
    assert town.spy.calls == []


def test_the_digits_choose_the_standard_views(town: Any) -> None:
    for key, preset in zip(
        "1234567", ("top", "bottom", "front", "back", "left", "right", "iso"), strict=True
    ):
        town.key(getattr(Qt.Key, f"Key_{key}"))
        name, args, actor = town.spy.calls[-1]
        assert (name, args["preset"], actor.kind) == ("setCamera", preset, "human")


def test_escape_takes_back_one_thing_at_a_time(town: Any) -> None:
    window = town.window
    lasso(town)
    town.key(Qt.Key.Key_L)
    town.click(300, 200)
    town.key(Qt.Key.Key_Escape)
    assert window.tool is not None and window.tool.points == []
    town.key(Qt.Key.Key_Escape)
    assert window.tool is None
    assert town.state.selection.rule is not None
    town.key(Qt.Key.Key_Escape)
    assert town.state.selection.rule is None


def test_wasd_flies_only_in_fly_mode(town: Any) -> None:
    eye = town.state.camera.eye
    town.key(Qt.Key.Key_D, widget=town.canvas)
    assert town.state.camera.eye == eye
    town.key(Qt.Key.Key_Y)
    assert town.state.camera.mode == "fly"
    town.qtbot.keyPress(town.canvas, Qt.Key.Key_W)
    town.qtbot.waitUntil(lambda: town.session.scene.shown.camera.eye != eye)
    town.qtbot.keyRelease(town.canvas, Qt.Key.Key_W)
    town.settle()
    assert town.state.camera.eye != eye
    assert [n for n, _, _ in town.spy.calls] == ["setCamera", "setCamera"]
    assert town.window.tool is None


@pytest.mark.parametrize("way", ["escape", "key", "button"])
def test_flying_is_left_by_esc_by_its_key_and_by_its_button(town: Any, way: str) -> None:
    window = town.window
    lasso(town)
    town.spy.calls.clear()
    town.qtbot.mouseClick(window.fly_button, Qt.MouseButton.LeftButton)
    assert town.state.camera.mode == "fly"
    assert window.fly_button.isChecked() and window.actions_["view.fly"].isChecked()
    assert "FLY" in window.banner.name.text() and window.banner.isVisible()
    town.canvas.setFocus()
    if way == "button":
        town.qtbot.mouseClick(window.fly_button, Qt.MouseButton.LeftButton)
    else:
        town.key(Qt.Key.Key_Escape if way == "escape" else Qt.Key.Key_Y)
    assert town.state.camera.mode == "orbit"
    assert not window.fly_button.isChecked() and not window.banner.isVisible()
    assert town.state.selection.rule is not None  # Esc took one step, not two
    assert [args["mode"] for _, args, _ in town.spy.calls] == ["fly", "orbit"]
    town.key(Qt.Key.Key_D)
    assert [name for name, _, _ in town.spy.calls] == ["setCamera"] * 2


def test_a_key_can_be_given_to_another_entry_and_is_remembered(town: Any) -> None:
    window = town.window
    lasso(town)
    window.sheet.open()
    button = window.sheet.buttons["edit.hide"]
    button.click()
    town.key(Qt.Key.Key_J, widget=button)
    window.sheet.close_sheet()
    town.spy.calls.clear()
    town.key(Qt.Key.Key_H, widget=town.canvas)
    assert town.spy.calls == []
    town.key(Qt.Key.Key_J, widget=town.canvas)
    assert town.spy.names() == ["hideSelection"]
    assert window.settings.get("keys") == {"edit.hide": ["J"]}


def test_a_clash_of_keys_is_shown_on_the_sheet(town: Any) -> None:
    window = town.window
    window.sheet.open()
    button = window.sheet.buttons["edit.hide"]
    button.click()
    town.key(Qt.Key.Key_L, widget=button)
    assert "Lasso" in window.sheet.note.text()
    window.sheet.close_sheet()
    town.key(Qt.Key.Key_L, widget=town.canvas)
    assert window.tool is None
    assert town.spy.calls == []


# --- selecting and editing -----------------------------------------------------------------------


def test_the_count_stands_at_the_selection_and_grows_live(town: Any) -> None:
    window = town.window
    town.key(Qt.Key.Key_L)
    for place in around(town)[:3]:
        town.click(*place)
    town.move(*around(town)[3])
    town.qtbot.waitUntil(lambda: bool(window.overlay.value))
    assert "points" in window.overlay.value
    assert town.spy.calls == []
    town.key(Qt.Key.Key_Return)
    town.key(Qt.Key.Key_Escape)
    points = window.bridge.selected_points()
    assert points > 0
    assert window.bar.isVisible()
    assert window.bar.count.text() == f"{points:,}"


def test_backspace_takes_the_last_corner_back(town: Any) -> None:
    town.key(Qt.Key.Key_P)
    for place in around(town):
        town.click(*place)
    town.key(Qt.Key.Key_Backspace)
    town.key(Qt.Key.Key_Return)
    name, args, _ = town.spy.calls[-1]
    assert name == "selectPolygon"
    assert len(args["points"]) == 3


def test_a_lasso_may_be_drawn_by_hand(town: Any) -> None:
    corners = around(town)
    town.key(Qt.Key.Key_L)
    path = [
        (a[0] + (b[0] - a[0]) * t / 8, a[1] + (b[1] - a[1]) * t / 8)
        for a, b in zip(corners, [*corners[1:], corners[0]], strict=True)
        for t in range(8)
    ]
    town.drag(path)
    name, args, _ = town.spy.calls[-1]
    assert name == "selectPolygon" and args["space"] == "screen"
    assert len(args["points"]) > 20
    assert town.window.bridge.selected_points() > 0


def test_shift_adds_and_alt_takes_away(town: Any) -> None:
    (left, top), _, (right, bottom), _ = around(town)
    middle = (left + right) / 2
    town.key(Qt.Key.Key_V)
    town.drag([(left, top), (middle, bottom)])
    first = town.window.bridge.selected_points()
    town.drag([(middle, top), (right, bottom)], modifier=Qt.KeyboardModifier.ShiftModifier)
    both = town.window.bridge.selected_points()
    town.drag([(left, top), (middle, bottom)], modifier=Qt.KeyboardModifier.AltModifier)
    assert first < both
    assert town.window.bridge.selected_points() == both - first
    assert [args.get("mode") for name, args, _ in town.spy.calls if name == "selectPolygon"] == [
        None,
        "add",
        "subtract",
    ]


def test_a_world_box_goes_from_point_to_point(town: Any) -> None:
    town.key(Qt.Key.Key_1)
    town.settle()
    town.key(Qt.Key.Key_B)
    (left, top), _, (right, bottom), _ = around(town)
    town.drag([(left, top), ((left + right) / 2, (top + bottom) / 2), (right, bottom)])
    name, args, _ = town.spy.calls[-1]
    assert name == "selectBox"
    assert all(a < b for a, b in zip(args["min"], args["max"], strict=True))
    assert town.window.bridge.selected_points() > 0


def test_an_edit_asks_nobody_says_what_it_did_and_offers_undo(town: Any) -> None:
    window = town.window
    lasso(town)
    points = window.bridge.selected_points()
    town.key(Qt.Key.Key_Delete)
    assert town.dialogs.asked == []
    assert f"{points:,}" in window.toast.text.text()
    assert window.bridge.selected_points() == 0
    town.qtbot.mouseClick(window.toast.button, Qt.MouseButton.LeftButton)
    assert window.bridge.selected_points() == points
    assert town.spy.names() == ["selectPolygon", "deleteSelection", "undo"]


@pytest.mark.parametrize("key", [Qt.Key.Key_H, Qt.Key.Key_Delete])
def test_with_no_point_on_screen_the_action_bar_is_gone(town: Any, key: Any) -> None:
    lasso(town)
    assert town.window.bar.isVisible()
    town.key(key)
    assert town.window.bridge.selected_points() == 0
    assert not town.window.bar.isVisible()
    town.settle()
    assert not town.window.bar.isVisible()
    town.key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert town.window.bar.isVisible()


def test_undo_is_named_by_what_it_undoes(town: Any) -> None:
    lasso(town)
    town.key(Qt.Key.Key_H)
    assert "hide" in town.window.actions_["edit.undo"].text().lower()
    assert "undo" in town.window.actions_["edit.undo"].text().lower()


def test_only_clearing_all_edits_asks_with_the_count_and_whose(town: Any) -> None:
    lasso(town)
    town.key(Qt.Key.Key_H)
    town.key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    town.key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    town.dialogs.yes = False
    town.menu("Edit", "edit.clear")
    (asked,) = town.dialogs.asked
    assert "1" in asked[2] and town.window.bridge.handle.actor.name in asked[2]
    assert "clearEdits" not in town.spy.names()
    town.dialogs.yes = True
    town.menu("Edit", "edit.clear")
    assert town.spy.names()[-1] == "clearEdits"


def test_with_nothing_selected_the_edit_is_grey_and_says_why(town: Any) -> None:
    action = town.window.actions_["edit.hide"]
    assert not action.isEnabled()
    assert "select something first" in action.toolTip()


def test_a_quickly_drawn_lasso_keeps_every_corner(town: Any) -> None:
    """Nothing is painted between the moves, and none of them is left out; the end counts too."""
    compressed = Qt.ApplicationAttribute.AA_CompressHighFrequencyEvents
    assert not QApplication.testAttribute(compressed)
    (left, top), _, (right, bottom), _ = around(town, 0.4)
    path = [(left, top), (right, top), (right, bottom), ((left + right) / 2, bottom)]
    town.key(Qt.Key.Key_L)
    places = [QPoint(round(x), round(y)) for x, y in path]
    left_button, plain = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    end = QPoint(round(left), round(bottom))
    QTest.mousePress(town.canvas, left_button, plain, places[0])
    for place in places[1:]:
        move = QMouseEvent(
            QEvent.Type.MouseMove,
            QPointF(place),
            town.canvas.mapToGlobal(QPointF(place)),
            Qt.MouseButton.NoButton,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
        QApplication.postEvent(town.canvas, move)
    QApplication.sendPostedEvents(town.canvas)
    QTest.mouseRelease(town.canvas, left_button, plain, end)
    assert [name for name, _, _ in town.spy.calls] == ["selectPolygon"]
    assert town.spy.calls[-1][1]["points"] == [[p.x(), p.y()] for p in [*places, end]]


def test_following_the_cursor_with_a_tool_paints_no_points(
    town: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oniyanma.ui import overlay

    town.settle()
    painted: list[Any] = []
    drawn: list[Any] = []
    real = overlay.draw
    monkeypatch.setattr(overlay, "draw", lambda *args: (drawn.append(args), real(*args)))
    before = town.canvas.grabFramebuffer()  # paints what the scene of this test changed
    while town.canvas.stats.again:  # under load a picture is drawn in parts
        before = town.canvas.grabFramebuffer()
    town.canvas.painted.connect(painted.append)
    for count in range(1, 4):
        town.window.overlay.update()
        town.qtbot.waitUntil(lambda count=count: len(drawn) >= count)
    after = town.canvas.grabFramebuffer()
    town.canvas.painted.disconnect(painted.append)
    assert painted == []
    assert after == before  # it was kept
    assert colors_of(after) > 50


# --- tools ---------------------------------------------------------------------------------------


def test_a_tool_says_its_next_step(town: Any) -> None:
    banner = town.window.banner
    town.key(Qt.Key.Key_M)
    assert banner.isVisible()
    assert "first" in banner.step.text()
    town.click(*around(town)[0])
    assert "last" in banner.step.text()
    town.key(Qt.Key.Key_Escape)
    town.key(Qt.Key.Key_Escape)
    assert not banner.isVisible()


def test_measuring_snaps_to_real_points_and_shows_the_value_before_the_click(town: Any) -> None:
    (a, _, b, _) = around(town)
    town.key(Qt.Key.Key_M)
    town.click(*a)
    town.move(*b)
    town.qtbot.waitUntil(lambda: bool(town.window.overlay.value))
    live = town.window.overlay.value
    town.click(*b)
    ((_, args, _),) = [call for call in town.spy.calls if call[0] == "addMeasurement"]
    (measure,) = town.state.measurements.values()
    assert [list(point) for point in measure.points] == args["points"]
    for point in measure.points:
        assert town.session.scene.nearest(point).distance == 0.0
    told = f"{measure.values['value']:.2f}"  # as many decimals as the scale has, everywhere
    assert live == f"{told}\N{NO-BREAK SPACE}m"
    assert live in town.window.toast.text.text()
    town.window.docks["measures"].raise_()
    tree = town.window.panels["measures"].tree
    town.qtbot.waitUntil(lambda: tree.topLevelItemCount() == 1)
    assert tree.topLevelItem(0).text(2) == live
    shapes = overlays_of(town.session.scene.view, town.state.viewport, furniture=False)
    assert [s.text for s in shapes if isinstance(s, Label)] == [f"{told}\N{THIN SPACE}m"]


def test_a_handle_of_the_clip_box_is_live_and_one_command(town: Any) -> None:
    town.key(Qt.Key.Key_X)
    assert [name for name, _, _ in town.spy.calls] == ["setClip"]
    tool = town.window.tool
    from oniyanma.ui.tools.clip import HANDLES

    face = HANDLES[1]  # +x
    (at,), _ = town.canvas.lens().project([tool.place(face)])
    before = town.state.clip.shape
    versions: list[Any] = []
    town.window.bridge.state_changed.connect(lambda _, new: versions.append(new.clip))
    town.drag([tuple(at), (at[0] - 15, at[1] + 5), (at[0] - 40, at[1] + 10)])
    after = town.state.clip.shape
    assert after.max[0] < before.max[0] and after.min == pytest.approx(before.min)
    assert len(versions) >= 2  # live while it was dragged
    assert [name for name, _, _ in town.spy.calls] == ["setClip", "setClip"]
    town.key(Qt.Key.Key_X, Qt.KeyboardModifier.ShiftModifier)
    assert town.state.clip is None


def test_a_section_is_a_slice_from_the_side_and_leaves_as_it_came(town: Any) -> None:
    before = town.state
    town.key(Qt.Key.Key_S)
    (a, _, b, _) = around(town)
    town.click(*a)
    town.click(*b)
    town.settle()
    assert town.state.camera.projection == "orthographic"
    assert abs(town.state.camera.eye[2] - town.state.camera.target[2]) < 1e-6
    assert town.state.clip is not None
    first = town.state.clip
    town.key(Qt.Key.Key_BracketRight)
    assert town.state.clip != first
    town.key(Qt.Key.Key_BracketLeft)
    assert town.state.clip.shape.min == pytest.approx(first.shape.min)
    lasso(town, 0.9)
    inside = town.window.bridge.selected_points()
    assert 0 < inside < town.window.bridge.shown_points()[0]
    town.key(Qt.Key.Key_Escape)
    assert town.state.clip is None
    assert town.state.camera.eye == pytest.approx(before.camera.eye)
    assert town.state.camera.projection == before.camera.projection


def test_a_finding_is_a_click_and_a_title(town: Any) -> None:
    town.key(Qt.Key.Key_N)
    town.click(*around(town)[0])
    town.qtbot.waitUntil(town.window.palette_.isVisible)
    town.type("Tile missing")
    town.key(Qt.Key.Key_Return)
    town.key(Qt.Key.Key_Return)
    (finding,) = town.state.findings.values()
    assert finding.title == "Tile missing"
    assert finding.author.kind == "human"
    assert town.session.scene.nearest(finding.position).distance == 0.0


# --- panels --------------------------------------------------------------------------------------


def test_the_colour_range_is_dragged_under_its_histogram(town: Any) -> None:
    colour = town.window.inspector.colour
    town.palette("colour by elevation")
    town.settle()
    town.qtbot.waitUntil(colour.plot.isVisible)
    low, high = colour.region.getRegion()
    assert colour.bars.yData.sum() > 0
    town.spy.calls.clear()
    colour.region.setRegion((low + (high - low) / 4, high))
    assert town.session.scene.shown.display.color.range is not None
    colour._dragged()
    assert [name for name, _, _ in town.spy.calls] == ["setColorMode"]
    assert town.state.display.color.range[0] == pytest.approx(low + (high - low) / 4)


def test_the_ends_of_the_range_tell_their_unit_and_are_typed_with_or_without(town: Any) -> None:
    colour = town.window.inspector.colour
    town.palette("colour by elevation")
    town.qtbot.waitUntil(lambda: colour.low.text().endswith("m"))
    for typed in ("52.5", "53 m"):
        colour.low.setFocus()
        colour.low.selectAll()
        town.qtbot.keyClicks(colour.low, typed)
        town.key(Qt.Key.Key_Return, widget=colour.low)
        assert town.state.display.color.range[0] == float(typed.split()[0])
    town.canvas.setFocus()
    town.qtbot.waitUntil(lambda: colour.low.text() == "53.00\N{NO-BREAK SPACE}m")


def test_the_mode_stays_after_an_edit(town: Any) -> None:
    town.palette("colour by elevation")
    lasso(town)
    town.palette("classify as building")
    assert town.state.display.color.mode == "elevation"


def test_a_tick_hides_a_class_and_one_click_brings_all_back(town: Any) -> None:
    classes = town.window.inspector.classes
    town.qtbot.waitUntil(lambda: classes.tree.topLevelItemCount() == 3)
    item = classes.tree.topLevelItem(1)
    number = item.data(0, Qt.ItemDataRole.UserRole)
    item.setCheckState(0, Qt.CheckState.Unchecked)
    assert town.state.hidden_classes == {number}
    town.press_button("classes.all")
    assert town.state.hidden_classes == frozenset()
    assert [name for name, _, _ in town.spy.calls] == ["setClassVisibility"] * 2


def test_class_counts_are_those_on_screen_once_points_stop_arriving(town: Any) -> None:
    classes = town.window.inspector.classes
    town.qtbot.waitUntil(lambda: classes.tree.topLevelItemCount() == 3)

    def counts() -> dict[int, str]:
        items = [classes.tree.topLevelItem(row) for row in range(3)]
        return {item.data(0, Qt.ItemDataRole.UserRole): item.text(1) for item in items}

    answer = town.window.bridge.read("queryClasses")
    told = {row["class"]: f"{row['count']:,}" for row in answer["classes"]}
    classes._soon.start(60_000)  # due much later, as while points arrive
    classes.tree.blockSignals(True)
    classes.tree.topLevelItem(0).setText(1, "stale")
    classes.tree.blockSignals(False)
    town.window.bridge.resident_changed.emit()
    town.settle()
    town.qtbot.waitUntil(lambda: counts() == told, timeout=3000)
    assert not classes._soon.isActive()


def test_the_class_list_never_lies_over_its_buttons_and_tells_cut_names(town: Any) -> None:
    classes = town.window.inspector.classes
    town.qtbot.waitUntil(lambda: classes.tree.topLevelItemCount() == 3)
    classes.tree.setFixedHeight(20)
    QApplication.processEvents()
    classes.refresh()  # and nothing of the event loop after it
    assert classes.tree.geometry().bottom() < classes.all.geometry().top()
    assert classes.tree.height() > 40
    item = classes.tree.topLevelItem(0)
    assert item.toolTip(0).startswith(item.text(0))


def test_the_point_under_the_cursor_is_told_with_all_attributes(town: Any) -> None:
    point = town.window.inspector.point
    town.move(430, 262)
    town.move(430, 260)
    town.qtbot.waitUntil(lambda: bool(point._rows[0][1].text()), timeout=5000)
    names = {name.text() for name, _ in point._rows}
    assert {"E", "N", "Z", "classification", "intensity"} <= names
    assert town.window.status.position.text().startswith("E ")


def test_a_click_on_a_value_copies_it(town: Any) -> None:
    clipboard = QApplication.clipboard()
    place = town.window.bridge.pick(430, 260)
    other = town.window.bridge.pick(500, 300)
    points = [list(place), list(other)]
    town.window.bridge.run("addMeasurement", {"kind": "distance", "points": points})
    tree = town.window.panels["measures"].tree
    town.qtbot.waitUntil(lambda: tree.topLevelItemCount() == 1)
    item = tree.topLevelItem(0)
    where = tree.visualItemRect(item)
    cell = QPoint(tree.columnViewportPosition(2) + 8, where.center().y())
    town.qtbot.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=cell)
    assert clipboard.text() == item.text(2).replace("\N{NO-BREAK SPACE}", " ")
    assert clipboard.text() in town.window.toast.text.text()
    town.move(430, 262)
    town.move(430, 260)
    point = town.window.inspector.point
    town.qtbot.waitUntil(lambda: point._rows[0][1].isVisible(), timeout=5000)
    town.qtbot.mouseClick(point._rows[0][1], Qt.MouseButton.LeftButton)
    told = point._rows[0][1].text()
    assert told.endswith("\N{NO-BREAK SPACE}m")
    assert clipboard.text() == told.replace("\N{NO-BREAK SPACE}", " ")


def test_the_action_bar_ends_with_a_way_out(town: Any) -> None:
    lasso(town)
    town.spy.calls.clear()
    town.press_button("bar.leave")
    assert [name for name, _, _ in town.spy.calls] == ["clearSelection"]
    assert not town.window.bar.isVisible()


def test_the_palette_brings_a_panel_to_the_front(town: Any) -> None:
    town.window.docks["views"].hide()
    before = digest(town.state)
    town.palette("show the panel views")
    assert town.window.panels["views"].isVisible()
    town.palette("show the panel clouds")
    town.qtbot.waitUntil(town.window.panels["clouds"].tree.hasFocus)
    assert digest(town.state) == before and town.spy.calls == []


def test_a_line_of_the_history_shows_what_it_hit(town: Any) -> None:
    lasso(town)
    town.key(Qt.Key.Key_H)
    panel = town.window.panels["edits"]
    town.window.docks["edits"].raise_()
    town.qtbot.waitUntil(lambda: panel.tree.topLevelItemCount() == 1)
    panel.tree.setCurrentItem(panel.tree.topLevelItem(0))
    assert len(town.window.overlay.lit) > 0


def test_panels_float_come_back_and_the_layout_is_remembered(
    fresh_town: Any, desk_of: Make, village: Path
) -> None:
    from tests.ui.conftest import close_desk

    dock = fresh_town.window.docks["findings"]
    dock.setFloating(True)
    fresh_town.qtbot.waitExposed(dock)
    fresh_town.canvas.repaint()
    assert colors_of(fresh_town.canvas.grabFramebuffer()) > 50  # the GL objects survived
    dock.setFloating(False)
    fresh_town.window.docks["log"].hide()
    close_desk(fresh_town)
    again = desk_of()
    again.window.acts.open_path(str(village))
    again.settle()
    assert not again.window.docks["log"].isVisible()
    assert again.window.docks["inspector"].isVisible()
    assert [name for name, _ in again.window.thumbnails.of(again.window.settings.recent_files())]


def test_empty_panels_teach(town: Any) -> None:
    for name in ("edits", "findings", "batches", "measures"):
        panel = town.window.panels[name]
        town.window.docks[name].raise_()
        town.qtbot.waitUntil(panel.isVisible)
        assert panel.stack.currentIndex() == 0
        assert len(panel.hint.text()) > 20


def test_tab_reaches_all_that_is_seen_and_nothing_that_is_not(town: Any) -> None:
    window = town.window
    lasso(town)
    window.docks["clouds"].raise_()
    town.qtbot.waitUntil(window.panels["clouds"].tree.isVisible)
    town.qtbot.waitUntil(lambda: not window.panels["log"].isEnabled())
    town.canvas.setFocus()
    reached: list[QWidget] = []
    for _ in range(120):
        reached.append(QApplication.focusWidget())
        town.key(Qt.Key.Key_Tab)
        if town.canvas.hasFocus():
            break
    assert town.canvas.hasFocus()  # it comes round
    assert all(not widget.visibleRegion().isEmpty() for widget in reached if widget.height() > 0)
    missed = [
        widget.objectName() or type(widget).__name__
        for kind in (QAbstractButton, QLineEdit, QSlider, QComboBox)
        for widget in window.findChildren(kind)
        if widget.isVisible()
        and widget.isEnabled()
        and widget not in reached
        and not widget.objectName().startswith("qt_")
    ]
    assert missed == []


def test_everything_that_can_be_used_has_a_name_for_screen_readers(town: Any) -> None:
    nameless = []
    for kind in (QAbstractButton, QLineEdit, QSlider, QComboBox):
        for widget in town.window.findChildren(kind):
            named = widget.accessibleName() or (
                widget.text() if isinstance(widget, QAbstractButton) else ""
            )
            own = isinstance(widget.parent(), QWidget) and widget.parent().objectName() != (
                "qt_toolbar_ext_button"
            )
            if not named and own and not widget.objectName().startswith("qt_"):
                nameless.append(f"{type(widget).__name__} {widget.objectName()}")
    assert nameless == []


# --- calm ----------------------------------------------------------------------------------------


def test_at_rest_nothing_ticks(town: Any) -> None:
    from PySide6.QtCore import QTimer

    town.settle()
    town.qtbot.waitUntil(lambda: not town.canvas._pump.isActive(), timeout=5000)
    repeating = [
        timer
        for timer in town.window.findChildren(QTimer)
        if timer.isActive() and not timer.isSingleShot()
    ]
    assert repeating == []


def test_a_void_call_of_qt_keeps_the_count_of_none(town: Any) -> None:
    """PySide6 6.12.0 dropped a reference at each: the window died after some thousand frames."""
    gc.collect()
    before = sys.getrefcount(None)
    for _ in range(150):
        town.canvas.update()
    assert sys.getrefcount(None) >= before - 20


def test_a_fault_of_ours_is_a_report_and_a_sentence_and_work_goes_on(town: Any) -> None:
    from oniyanma.ui.crash import CrashHandler, report_folder

    handler = CrashHandler(town.window.acts.crashed)
    try:
        raise RuntimeError("planted")
    except RuntimeError as error:
        handler.handle(type(error), error, error.__traceback__)
    (report,) = report_folder().glob("crash-*.txt")
    assert "planted" in report.read_text(encoding="utf-8")
    assert "safe" in town.window.toast.text.text()
    lasso(town)
    assert town.window.bridge.selected_points() > 0


def test_leaving_with_an_export_running_asks(town: Any, tmp_path: Any) -> None:
    window = town.window
    window.bridge.jobs["job-1"] = {
        "id": "job-1",
        "command": "exportCloud",
        "title": "Export",
        "stage": "",
        "progress": 0.1,
    }
    town.dialogs.yes = False
    assert not window.close()
    assert town.dialogs.asked[0][0] == "confirm"
    window.bridge.jobs.clear()


def test_the_theme_changes_on_a_click_and_is_remembered(town: Any) -> None:
    window = town.window
    before = window.keeper.theme
    town.qtbot.mouseClick(window.theme_button, Qt.MouseButton.LeftButton)
    assert window.keeper.theme is not before
    assert window.settings.get("theme") == window.keeper.theme.name


def test_no_event_filter_watches_the_whole_application(town: Any) -> None:
    """One written in Python would be called for every event of every widget."""
    event = QEvent(QEvent.Type.User)
    assert QApplication.sendEvent(town.window, event) in (True, False)


def test_unsaved_work_of_an_earlier_session_is_offered_in_a_line(
    fresh_town: Any, desk_of: Make
) -> None:
    from tests.ui.conftest import close_desk

    lasso(fresh_town)
    fresh_town.key(Qt.Key.Key_H)
    lasso(fresh_town, 0.2)
    fresh_town.key(Qt.Key.Key_H)
    fresh_town.key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    close_desk(fresh_town)
    again = desk_of()
    notice = again.window.notice
    assert "Unsaved work" in notice.text.text()
    assert notice.text.text().endswith("village.las, 1 edit.")  # of two, one is undone
    recent = again.window.settings.recent_files()
    assert again.dialogs.asked == []
    (button,) = [
        widget for widget in notice.findChildren(QAbstractButton) if widget.text() == "Open it"
    ]
    again.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    again.settle()
    assert again.state.events[0].command == "hideSelection"
    assert len(again.window.bridge.edits_in_force()) == 1
    assert again.window.settings.recent_files() == recent  # the recovery's own path is nobody's


def test_the_picture_fills_its_place_on_the_screen(desk_of: Make, village: Path) -> None:
    """The panels come with the first cloud: the picture is laid out anew while it is shown."""
    desk = desk_of()
    desk.window.acts.open_path(str(village))
    desk.settle()
    canvas = desk.canvas
    assert desk.state.viewport == (canvas.width(), canvas.height())
    corner = canvas.mapToGlobal(QPoint(canvas.width() - 6, 6))

    def shown() -> bool:
        screen = desk.window.screen().grabWindow(0).toImage()
        ratio = screen.devicePixelRatio()
        color = screen.pixelColor(round(corner.x() * ratio), round(corner.y() * ratio))
        top = desk.window.keeper.theme.color("canvas_top")
        near = zip(color.getRgb()[:3], top.getRgb()[:3], strict=True)
        return all(abs(a - b) <= 6 for a, b in near)

    desk.qtbot.waitUntil(shown, timeout=5000)


def test_the_cards_of_files_opened_last_show_picture_name_and_folder_whole(desk_of: Make) -> None:
    from oniyanma.ui.start_screen import RecentCard
    from PySide6.QtWidgets import QLabel

    desk = desk_of()
    folder = "/surveys/" + "a very long folder name/" * 4
    files = [(f"{folder}{'tile-' * 12}{n}.laz", None) for n in range(6)]
    desk.window.start.show_recent(files)
    for size in ((1280, 800), (960, 600), (1400, 1000)):
        desk.window.resize(*size)
        desk.qtbot.waitUntil(lambda size=size: desk.window.height() == size[1])
        QApplication.processEvents()
        cards = [c for c in desk.window.start.findChildren(RecentCard) if c.isVisible()]
        assert len(cards) in (3, 6)
        for card in cards:
            picture, name, place = card.findChildren(QLabel)
            assert picture.width() / picture.height() == pytest.approx(1.6)
            for label in (name, place):
                assert "…" in label.text()
                assert label.fontMetrics().horizontalAdvance(label.text()) <= card.width() - 20
                assert label.height() >= label.fontMetrics().height()
            last = place.geometry().bottom()
            assert picture.geometry().bottom() < name.y() < place.y() < last < card.height()
    assert len(cards) == 6


def test_twenty_dropped_files_are_opened_one_after_the_other(
    desk_of: Make, village: Path, tmp_path: Path
) -> None:
    """None is refused for there being too many at once, and one that is broken stops no other."""
    desk = desk_of()
    files = [tmp_path / f"tile {number:02}.las" for number in range(20)]
    for file in files:
        file.write_bytes(b"LASF nothing" if file is files[3] else village.read_bytes())
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(file)) for file in files])
    middle = QPointF(desk.window.width() / 2, desk.window.height() / 2)
    desk.window.dropEvent(
        QDropEvent(
            middle,
            Qt.DropAction.CopyAction,
            mime,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )
    desk.qtbot.waitUntil(lambda: len(desk.window.bridge.committed.clouds) == 19, timeout=60_000)
    names = [entry.name for entry in desk.window.bridge.committed.clouds]
    assert names == [file.name for file in files if file is not files[3]]


def test_a_tools_banner_fits_its_picture_and_files_keep_their_names(desk_of: Make) -> None:
    """In a narrow window the last keys are left out; nothing is cut off."""
    banner = desk_of().window.banner
    keys = [(f"F{number}", "does something long") for number in range(12)]
    banner.say("Lasso", "Draw around the points", keys)
    assert banner.geometry().right() <= banner.parentWidget().width()
    assert not banner.step.isHidden() and any(cap.isHidden() for cap in banner._caps)
    banner.say("Lasso", "Draw around the points", keys[:1])
    assert not any(cap.isHidden() for cap in banner._caps)
    assert sentence("tile.las ends within its header") == "tile.las ends within its header"
    assert sentence("nothing is selected") == "Nothing is selected"


def test_a_window_that_closes_opens_no_more_of_what_was_dropped(
    desk_of: Make, village: Path, tmp_path: Path
) -> None:
    """And a fault while one is opened does not stop the next drop."""
    desk = desk_of()
    acts = desk.window.acts
    calls = []

    def fail(*_: Any) -> None:
        raise RuntimeError("a fault")

    run, acts.bridge.run = acts.bridge.run, fail
    with pytest.raises(RuntimeError):
        acts.open_paths([str(tmp_path / "one.las")])
    acts.bridge.run = lambda *given: calls.append(given) or run(*given)
    acts.open_paths([str(village)] * 5)
    assert len(calls) == 1  # the others wait for it
    desk.window.close()
    assert len(calls) == 1 and not acts._to_open
