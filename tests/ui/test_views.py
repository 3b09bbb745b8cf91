"""Saved views: small pictures, a click goes there, Del takes a view and never a point."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QMenu


@pytest.fixture
def saved(town: Any) -> Any:
    """The village with two saved views, the list of them in front, the second on screen."""
    bridge = town.window.bridge
    bridge.run("saveBookmark", {"name": "North gate"})
    bridge.run("setCamera", {"preset": "top"})
    town.settle()
    bridge.run("saveBookmark", {"name": "From above"})
    panel = town.window.panels["views"]
    town.qtbot.waitUntil(panel.list.isVisible)
    assert panel.list.count() == 2
    town.spy.calls.clear()
    return town


def middle(panel: Any, row: int) -> QPoint:
    return panel.list.visualItemRect(panel.list.item(row)).center()


def test_saving_a_view_shows_its_picture_of_the_points(saved: Any) -> None:
    panel = saved.window.panels["views"]
    for row, name in enumerate(("North gate", "From above")):
        item = panel.list.item(row)
        assert item.text() == name
        picture = item.icon().pixmap(panel.list.iconSize()).toImage()
        shades = {
            picture.pixel(x, y)
            for x in range(0, picture.width(), 3)
            for y in range(0, picture.height(), 3)
        }
        assert len(shades) > 50
    kept = saved.state.bookmarks["North gate"].thumbnail
    assert not QImage.fromData(kept).isNull()  # as captureView draws it, kept in the project


def test_a_click_goes_there_and_so_does_enter(saved: Any) -> None:
    panel = saved.window.panels["views"]
    viewport = panel.list.viewport()
    saved.qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=middle(panel, 0))
    saved.settle()
    assert [(name, args["bookmark"]) for name, args, _ in saved.spy.calls] == [
        ("setCamera", "North gate")
    ]
    wanted = saved.state.bookmarks["North gate"].camera
    assert saved.state.camera.eye == pytest.approx(wanted.eye)
    saved.spy.calls.clear()
    panel.list.setFocus()
    saved.key(Qt.Key.Key_Right, widget=panel.list)
    assert saved.spy.calls == []
    saved.key(Qt.Key.Key_Return, widget=panel.list)
    assert [(name, args["bookmark"]) for name, args, _ in saved.spy.calls] == [
        ("setCamera", "From above")
    ]


def test_del_in_the_list_takes_the_view_and_no_point_and_undo_brings_it_back(saved: Any) -> None:
    panel = saved.window.panels["views"]
    saved.window.bridge.run("selectWhere", {"classes": [6]})
    saved.spy.calls.clear()
    panel.list.setFocus()
    panel.list.setCurrentRow(0)
    saved.key(Qt.Key.Key_Delete, widget=panel.list)
    assert [(name, args) for name, args, _ in saved.spy.calls] == [
        ("deleteBookmark", {"name": "North gate"})
    ]
    assert panel.list.count() == 1
    saved.qtbot.mouseClick(saved.window.toast.button, Qt.MouseButton.LeftButton)
    assert set(saved.state.bookmarks) == {"North gate", "From above"}
    assert panel.list.count() == 2


def test_the_menu_of_a_view_offers_what_the_registry_can_do(saved: Any) -> None:
    panel = saved.window.panels["views"]
    panel.list.customContextMenuRequested.emit(middle(panel, 0))
    (menu,) = [m for m in panel.findChildren(QMenu) if m.isVisible()]
    titles = [action.text() for action in menu.actions()]
    assert titles == ["Go there", "Save this view in its place", "Delete"]
    at = menu.actionGeometry(menu.actions()[1]).center()
    saved.qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=at)
    assert [(name, args) for name, args, _ in saved.spy.calls] == [
        ("saveBookmark", {"name": "North gate"})
    ]
    assert saved.state.bookmarks["North gate"].camera == saved.state.camera
