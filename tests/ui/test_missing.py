"""A project whose cloud was moved: a line says so, one button finds it, another file is told."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QPushButton, QWidget

Make = Callable[..., Any]


@pytest.fixture
def moved(desk_of: Make, village: Path, tmp_path: Path) -> tuple[Any, Path]:
    """A window with a project whose cloud lies elsewhere now, and where it lies."""
    from tests.ui.conftest import close_desk

    before = tmp_path / "site" / "house.las"
    before.parent.mkdir()
    shutil.copy(village, before)
    (tmp_path / "job").mkdir()
    project = tmp_path / "job" / "house.oniyanma"
    desk = desk_of()
    desk.window.acts.open_path(str(before))
    desk.settle()
    bridge = desk.window.bridge
    bridge.run("selectWhere", {"classes": [6]})
    bridge.run("colorSelection", {"color": "#ff0000"})
    bridge.run("saveProject", {"path": str(project)})
    close_desk(desk)
    after = tmp_path / "archive" / "renamed.las"
    after.parent.mkdir()
    shutil.move(before, after)
    again = desk_of()
    again.window.acts.open_path(str(project))
    again.settle()
    again.spy.calls.clear()
    return again, after


def locate_button(desk: Any) -> QAbstractButton:
    (button,) = [b for b in desk.window.notice.findChildren(QPushButton) if b.text() == "Locate…"]
    return button


def click(desk: Any, button: Any) -> None:
    desk.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    desk.settle()


def test_a_missing_file_is_a_line_with_a_button_and_the_file_is_found(
    moved: tuple[Any, Path],
) -> None:
    desk, file = moved
    notice = desk.window.notice
    assert "house.las is missing" in notice.text.text()
    assert desk.dialogs.asked == []
    assert desk.canvas._fault == ""  # what is there is still drawn
    tree = desk.window.panels["clouds"].tree
    assert tree.topLevelItem(0).text(3) == "Missing"
    click(desk, locate_button(desk))  # the dialog gives nothing: the line stays
    assert notice.isVisible() and desk.spy.calls == []
    desk.dialogs.path = str(file)
    click(desk, locate_button(desk))
    assert [question[1] for question in desk.dialogs.asked] == ["Where is house.las now?"] * 2
    assert [(name, args) for name, args, _ in desk.spy.calls] == [
        ("openCloud", {"path": str(file), "append": True})
    ]
    assert not notice.isVisible()
    assert "with its edits" in desk.window.toast.text.text()
    assert desk.window.bridge.missing() == {}
    assert len(desk.window.bridge.edits_in_force()) == 1
    desk.qtbot.waitUntil(lambda: tree.topLevelItem(0).text(1) == "26,000")
    assert desk.window.bridge.shown_points()[0] > 10_000


def test_another_file_is_told_and_goes_with_one_click(
    moved: tuple[Any, Path], tmp_path: Path
) -> None:
    import laspy

    desk, _ = moved
    other = laspy.create(point_format=3, file_version="1.4")
    other.x, other.y, other.z = [385_610.0, 385_620.0], [3_947_210.0] * 2, [50.0, 51.0]
    other.write(tmp_path / "other.las")
    desk.dialogs.path = str(tmp_path / "other.las")
    click(desk, locate_button(desk))
    toast = desk.window.toast
    assert "other.las is not house.las" in toast.text.text()
    assert list(desk.window.bridge.missing()) == ["c1"]
    assert desk.window.notice.isVisible()  # the right one is still to be found
    assert len(desk.state.clouds) == 2
    click(desk, toast.button)
    assert [entry.id for entry in desk.state.clouds] == ["c1"]


def test_after_the_line_is_dismissed_the_panel_finds_the_file(moved: tuple[Any, Path]) -> None:
    desk, file = moved
    desk.qtbot.mouseClick(desk.window.notice.shut, Qt.MouseButton.LeftButton)
    desk.window.bridge.run("setPointSize", {"pixels": 3})
    assert not desk.window.notice.isVisible()  # it does not come back by itself
    panel = desk.window.panels["clouds"]
    panel.tree.setCurrentItem(panel.tree.topLevelItem(0))
    desk.dialogs.path = str(file)
    desk.press_button("clouds.locate")
    desk.settle()
    assert desk.window.bridge.missing() == {}
    assert not desk.window.findChild(QPushButton, "clouds.locate").isEnabled()


def test_what_is_amiss_with_the_scene_stands_before_other_lines(qtbot: Any) -> None:
    """An offer of unsaved work must not hide that a file is missing; none is lost."""
    from oniyanma.ui.cards import Notice

    parent = QWidget()
    qtbot.addWidget(parent)
    notice = Notice(parent)
    seen = []
    notice.add("Unsaved work from yesterday.")
    notice.add("Colours of 8 bits.")
    notice.add("a.las is missing.", key="a")
    seen.append(notice.text.text())
    notice.add("b.las is missing.", key="b")
    for _ in range(3):
        qtbot.mouseClick(notice.shut, Qt.MouseButton.LeftButton)
        seen.append(notice.text.text())
    assert seen == [
        "a.las is missing.",
        "b.las is missing.",
        "Unsaved work from yesterday.",
        "Colours of 8 bits.",
    ]
    qtbot.mouseClick(notice.shut, Qt.MouseButton.LeftButton)
    assert notice.isHidden()
