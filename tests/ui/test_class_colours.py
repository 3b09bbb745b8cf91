"""A class's own colour: at its swatch, from the keyboard, live, and back to what it was."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from oniyanma.scene.palettes import class_color


def listed(desk: Any) -> Any:
    """The class list of the village, its first row (Ground) current."""
    classes = desk.window.inspector.classes
    desk.qtbot.waitUntil(lambda: classes.tree.topLevelItemCount() == 3)
    classes.tree.setCurrentItem(classes.tree.topLevelItem(0))
    return classes


def click_swatch(desk: Any, classes: Any) -> None:
    place = classes.swatch_rect(classes.tree.topLevelItem(0)).center()
    desk.qtbot.mouseClick(classes.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    desk.qtbot.waitUntil(classes.card.isVisible)


def test_a_click_on_the_swatch_and_one_on_a_colour_recolour_a_class(town: Any) -> None:
    town.palette("colour by elevation")
    town.spy.calls.clear()
    classes = listed(town)
    click_swatch(town, classes)
    assert town.spy.calls == []
    assert "Ground" in classes.card.accessibleName()
    place = classes.card.grid.colors.index("#56b4e9")
    where = classes.card.grid.rect_of(place).center().toPoint()
    town.qtbot.mouseClick(classes.card.grid, Qt.MouseButton.LeftButton, pos=where)
    assert not classes.card.isVisible()
    ((name, args, actor),) = town.spy.calls
    assert (name, args["classColors"], actor.kind) == ("setColorMode", {"2": "#56b4e9"}, "human")
    assert town.state.display.class_colors == {2: "#56b4e9"}
    assert town.state.display.color.mode == "elevation"  # the way of colouring stays
    assert town.state.hidden_classes == frozenset()  # the click was not the tick's


def test_arrows_show_a_colour_live_enter_takes_it_and_esc_leaves_all_as_it_was(town: Any) -> None:
    classes = listed(town)
    classes.tree.setFocus()
    town.key(Qt.Key.Key_Return, widget=classes.tree)
    grid = classes.card.grid
    town.qtbot.waitUntil(grid.hasFocus)
    town.key(Qt.Key.Key_Right, widget=grid)
    town.key(Qt.Key.Key_Right, widget=grid)
    looked = grid.colors[grid.place]
    assert town.session.scene.shown.display.class_colors == {2: looked}
    assert town.state.display.class_colors == {}
    town.key(Qt.Key.Key_Escape, widget=grid)
    assert not classes.card.isVisible()
    assert town.session.scene.shown.display.class_colors == {}
    assert town.spy.calls == []
    town.key(Qt.Key.Key_Return, widget=classes.tree)
    town.qtbot.waitUntil(grid.hasFocus)
    town.key(Qt.Key.Key_Right, widget=grid)
    town.key(Qt.Key.Key_Return, widget=grid)
    assert [name for name, _, _ in town.spy.calls] == ["setColorMode"]
    assert town.state.display.class_colors == {2: grid.colors[grid.place]}


def test_a_colour_is_typed_and_the_default_comes_back(town: Any) -> None:
    classes = listed(town)
    town.press_button("classes.colour")
    line = classes.card.line
    line.setFocus()
    line.selectAll()
    QTest.keyClicks(line, "12zz34")
    town.key(Qt.Key.Key_Return, widget=line)
    assert classes.card.isVisible() and town.spy.calls == []  # no colour: it stays open
    line.selectAll()
    QTest.keyClicks(line, "#123AD7")
    town.key(Qt.Key.Key_Return, widget=line)
    assert town.state.display.class_colors == {2: "#123ad7"}
    click_swatch(town, classes)
    assert classes.card.line.text() == "#123ad7"
    town.qtbot.mouseClick(classes.card.default, Qt.MouseButton.LeftButton)
    assert town.state.display.class_colors == {}
    assert [name for name, _, _ in town.spy.calls] == ["setColorMode"] * 2
    click_swatch(town, classes)
    assert classes.card.line.text() == class_color(2)
    assert not classes.card.default.isEnabled()
    town.key(Qt.Key.Key_Escape, widget=classes.card.grid)


def test_a_cloud_with_a_mode_of_its_own_keeps_it(town: Any) -> None:
    bridge = town.window.bridge
    (cloud,) = [entry.id for entry in town.state.clouds]
    bridge.run("setColorMode", {"mode": "intensity", "cloud": cloud})
    own = town.state.display.cloud_colors
    classes = listed(town)
    click_swatch(town, classes)
    where = classes.card.grid.rect_of(3).center().toPoint()
    town.qtbot.mouseClick(classes.card.grid, Qt.MouseButton.LeftButton, pos=where)
    assert town.state.display.cloud_colors == own
    assert list(town.state.display.class_colors) == [2]


def test_the_menu_of_a_class_brings_all_default_colours_back(town: Any) -> None:
    from PySide6.QtWidgets import QMenu

    town.window.bridge.run(
        "setColorMode", {"mode": "rgb", "classColors": {"2": "#010203", "6": "#040506"}}
    )
    classes = listed(town)
    classes.tree.customContextMenuRequested.emit(QPoint(60, 8))
    (menu,) = [m for m in classes.findChildren(QMenu) if m.isVisible()]
    (every,) = [a for a in menu.actions() if a.text() == "All default colours"]
    at = menu.actionGeometry(every).center()
    town.qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=at)
    assert town.state.display.class_colors == {}
