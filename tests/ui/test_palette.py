"""The palette: everything by name, arguments one after the other, keyboard only, Esc steps back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from oniyanma.ui.palette_rows import Row, search
from PySide6.QtCore import Qt

Make = Callable[..., Any]


def open_palette(desk: Any, text: str = "") -> list[Row]:
    desk.key(Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    desk.qtbot.waitUntil(desk.window.palette_.line.hasFocus)
    desk.type(text)
    return offers(desk)


def offers(desk: Any) -> list[Any]:
    model = desk.window.palette_.list.model()
    return [model.index(row, 0).data(Qt.ItemDataRole.UserRole) for row in range(model.rowCount())]


def rows_of(desk: Any) -> list[Row]:
    from oniyanma.ui.palette_rows import rows

    window = desk.window
    return rows(window.bridge, window.keymap, [], [])


def test_every_command_there_is_can_be_found_by_its_title(town: Any) -> None:
    found = rows_of(town)
    reachable = {row.command for row in found}
    for command in town.window.bridge.registry:
        assert command.name in reachable
        best = search(command.title.rstrip("…"), found)[:12]
        assert command.name in {row.command for row in best}, command.title


@pytest.mark.parametrize(
    ("typed", "command", "args"),
    [
        ("elev", "setColorMode", {"mode": "elevation"}),
        ("building", "reclassifySelection", {"class": 6}),
        ("select ground", "selectWhere", {"classes": [2]}),
        ("top", "setCamera", {"preset": "top"}),
        ("classify", "reclassifySelection", {}),
    ],
)
def test_a_few_letters_find_what_is_meant(
    town: Any, typed: str, command: str, args: dict[str, Any]
) -> None:
    town.window.bridge.run("selectWhere", {"classes": [5]})
    town.window.bridge.run("setCamera", {"preset": "iso"})
    best = [row for row in search(typed, rows_of(town)) if row.command][:2]
    assert (command, args) in [(row.command, dict(row.args)) for row in best]


def test_a_row_says_its_key_what_it_hits_and_why_not(town: Any) -> None:
    (hide,) = [row for row in rows_of(town) if row.key == "edit.hide"]
    assert hide.keys == "H"
    assert "select something first" in hide.reason
    town.window.bridge.run("selectWhere", {"classes": [6]})
    (hide,) = [row for row in rows_of(town) if row.key == "edit.hide"]
    assert hide.reason == ""
    assert hide.hits == "8,000 points on screen"


def test_a_row_that_can_not_run_says_why_and_stays(town: Any) -> None:
    open_palette(town, "hide the selection")
    town.key(Qt.Key.Key_Return)
    assert town.window.palette_.isVisible()
    assert "select something first" in town.window.palette_.problem.text()
    assert town.spy.calls == []


def test_a_typed_key_tells_what_it_does(town: Any) -> None:
    found = open_palette(town, "ctrl+e")
    assert found[0].entry.id == "file.export"
    assert "Ctrl+E" in found[0].detail


def test_a_class_is_found_by_name_and_given_in_one_go(town: Any) -> None:
    town.window.bridge.run("selectWhere", {"classes": [5]})
    town.spy.calls.clear()
    town.palette("classify as building")
    assert [(name, args) for name, args, _ in town.spy.calls] == [
        ("reclassifySelection", {"class": 6})
    ]


def test_arguments_are_asked_one_after_the_other_and_esc_takes_back_one(town: Any) -> None:
    palette = town.window.palette_
    town.window.bridge.run("selectWhere", {"classes": [5]})
    town.spy.calls.clear()
    town.key(Qt.Key.Key_C)
    town.qtbot.waitUntil(palette.line.hasFocus)
    assert palette.question.asking == "class"
    town.key(Qt.Key.Key_Escape)  # its first step: back to the picture it was opened from
    assert palette.question is None and not palette.isVisible()
    assert town.canvas.hasFocus()
    open_palette(town, "classify the selection")
    town.key(Qt.Key.Key_Return)
    assert palette.question.asking == "class"
    town.key(Qt.Key.Key_Escape)  # opened from the list: back to the list
    assert palette.question is None and palette.isVisible()
    town.type("some words")
    town.key(Qt.Key.Key_Escape)
    assert not palette.isVisible()
    town.key(Qt.Key.Key_C)
    town.type("6")
    town.key(Qt.Key.Key_Return)
    assert [(name, args) for name, args, _ in town.spy.calls] == [
        ("reclassifySelection", {"class": 6})
    ]


def test_several_classes_are_marked_with_space(town: Any) -> None:
    open_palette(town, "show or hide classes")
    town.key(Qt.Key.Key_Return)
    assert town.window.palette_.question.asking == "classes"
    town.key(Qt.Key.Key_Space)
    town.key(Qt.Key.Key_Down)
    town.key(Qt.Key.Key_Space)
    town.key(Qt.Key.Key_Return)
    town.type("no")
    town.key(Qt.Key.Key_Return)
    ((name, args, _),) = town.spy.calls
    assert name == "setClassVisibility"
    assert args == {"classes": [0, 1], "visible": False}


def test_a_number_is_typed_within_its_bounds(town: Any) -> None:
    open_palette(town, "point budget")
    town.key(Qt.Key.Key_Return)
    editor = town.window.palette_.editor
    assert "points" in editor.box.suffix()
    editor.box.lineEdit().selectAll()
    town.type("500000")
    town.key(Qt.Key.Key_Return)
    assert town.state.budget == 500_000


def test_points_can_be_picked_in_the_view_and_come_back(town: Any) -> None:
    window = town.window
    open_palette(town, "add finding")
    town.key(Qt.Key.Key_Return)
    town.type("Loose wire")
    town.key(Qt.Key.Key_Return)
    assert window.palette_.question.asking == "position"
    town.key(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    town.qtbot.waitUntil(lambda: window.tool is not None and window.tool.name == "pick")
    place = (town.canvas.width() // 2, town.canvas.height() // 2)
    expected = window.bridge.pick(*place)
    town.click(*place)
    town.qtbot.waitUntil(window.palette_.isVisible)
    town.key(Qt.Key.Key_Return)
    (finding,) = town.state.findings.values()
    assert finding.position == pytest.approx(expected)


def test_a_mistake_is_said_and_nothing_runs(town: Any) -> None:
    open_palette(town, "add finding")
    town.key(Qt.Key.Key_Return)
    town.type("x")
    town.key(Qt.Key.Key_Return)
    town.type("12 nowhere")
    town.key(Qt.Key.Key_Return)
    assert "not a number" in town.window.palette_.problem.text()
    assert town.spy.calls == []


def test_what_was_used_last_stands_first(town: Any) -> None:
    town.palette("top view")
    first = open_palette(town)[0]
    assert first.key == "view.top"


def test_a_read_only_command_shows_its_answer(town: Any) -> None:
    town.palette("class counts")
    assert town.window.answer.isVisible()
    assert "Building" in town.window.answer.text.toPlainText()


def test_a_sentence_nobody_knows_is_offered_to_the_console(town: Any) -> None:
    found = open_palette(town, "please delete the noise above the trees")
    assert found[-1].act == "ask_console"
    assert "console" in found[-1].reason.lower()


def test_with_a_console_the_sentence_goes_there(town: Any) -> None:
    asked: list[str] = []

    class Console:
        def ask(self, question: str) -> None:
            asked.append(question)

    town.window.console = Console()
    town.window.palette_.console_ready = True
    found = open_palette(town, "zzzz qqqq wwww")
    assert [row.act for row in found] == ["ask_console"]
    town.key(Qt.Key.Key_Return)
    assert asked == ["zzzz qqqq wwww"]


def test_bookmarks_and_findings_are_offered_by_name(town: Any) -> None:
    bridge = town.window.bridge
    bridge.run("saveBookmark", {"name": "North gate"})
    bridge.run("setCamera", {"preset": "top"})
    town.spy.calls.clear()
    town.palette("north gate")
    assert [(n, a) for n, a, _ in town.spy.calls] == [("setCamera", {"bookmark": "North gate"})]


def test_a_second_form_does_not_drop_what_is_half_typed(town: Any) -> None:
    palette = town.window.palette_
    town.key(Qt.Key.Key_N)
    town.click(430, 260)
    town.qtbot.waitUntil(palette.isVisible)
    town.type("Tile mis")
    town.key(Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    town.type("sing")
    town.key(Qt.Key.Key_Return)
    town.key(Qt.Key.Key_Return)
    (finding,) = town.state.findings.values()
    assert finding.title == "Tile missing"


def test_a_place_is_asked_for_as_one_and_its_point_is_told(town: Any) -> None:
    """Three numbers of a command are one question, so that they can be picked in the view."""
    place = town.window.bridge.pick(430, 260)
    town.palette("point at")
    palette = town.window.palette_
    assert palette.question.asking == "place"
    town.key(Qt.Key.Key_Escape)
    assert palette.question is None and palette.isVisible()
    town.key(Qt.Key.Key_Escape)
    town.palette("point at", " ".join(f"{part!r}" for part in place))
    assert town.window.answer.isVisible()
    assert "classification" in town.window.answer.text.toPlainText()


@pytest.mark.parametrize(
    "command",
    [
        "deleteMeasurement",
        "updateFinding",
        "deleteFinding",
        "confirmFinding",
        "acceptBatch",
        "deleteBookmark",
    ],
)
def test_with_nothing_to_choose_from_it_says_what_is_missing(town: Any, command: str) -> None:
    found = [row for row in rows_of(town) if row.command == command]
    assert found and all("There " in row.reason for row in found)


def test_no_command_runs_into_an_error_for_what_it_did_not_ask(town: Any) -> None:
    """Enter on a command's row asks for all it needs, or runs with arguments that are valid."""
    window = town.window
    window.bridge.run("selectWhere", {"classes": [6]})
    window.bridge.run("saveBookmark", {"name": "North gate"})
    given: list[tuple[str, Any]] = []
    real = window.bridge.run
    window.bridge.run = lambda name, args=None, then=None: given.append((name, dict(args or {})))
    try:
        for command in window.bridge.registry:
            row = Row(f"command.{command.name}", command.title, "", command=command.name)
            row = next((r for r in rows_of(town) if r.key == row.key), row)
            if row.reason or row.entry is not None:
                continue
            window.palette_.open()
            window.palette_.start(row)
            window.palette_.close_palette()
    finally:
        window.bridge.run = real
    for name, args in given:
        entry = window.bridge.registry.entry(name)
        assert list(entry.validator.iter_errors(args)) == [], name


def test_a_captured_picture_is_on_the_clipboard(town: Any) -> None:
    from PySide6.QtGui import QGuiApplication

    QGuiApplication.clipboard().clear()
    town.palette("capture picture")
    picture = QGuiApplication.clipboard().image()
    assert (picture.width(), picture.height()) == (town.canvas.width(), town.canvas.height())
    assert "clipboard" in town.window.toast.text.text()
    assert not town.window.answer.isVisible()
