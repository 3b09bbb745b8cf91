"""QActions from the table: one an entry, shared by menu, rail, context menu and action bar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QToolBar, QToolButton, QWidget

from . import theme as themes
from .actions import BY_ID, ENTRIES, MENUS, RAIL
from .entry import Entry
from .keymap import Keymap
from .text import tr


class Actions:
    """All QActions by entry id; their object names are those ids."""

    def __init__(
        self,
        parent: QWidget,
        keymap: Keymap,
        keeper: themes.ThemeKeeper,
        act: Callable[[Entry], None],
    ) -> None:
        self.keymap = keymap
        self.keeper = keeper
        self.all: dict[str, QAction] = {}
        for entry in ENTRIES:
            action = QAction(tr(entry.title), parent)
            action.setObjectName(entry.id)
            action.setCheckable(entry.checkable)
            action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
            action.triggered.connect(lambda _=False, entry=entry: act(entry))
            parent.addAction(action)
            self.all[entry.id] = action
        self.bind()
        self.dress(keeper.theme)
        keeper.changed.connect(self.dress)

    def __getitem__(self, entry: str) -> QAction:
        return self.all[entry]

    def bind(self) -> None:
        """Gives each action its keys; a key that two want is given to neither."""
        clash = {conflict.key for conflict in self.keymap.conflicts()}
        for entry, action in self.all.items():
            keys = [key for key in self.keymap.keys(entry) if key not in clash]
            action.setShortcuts([QKeySequence(key) for key in keys])

    def dress(self, theme: themes.Theme) -> None:
        for entry, action in self.all.items():
            if name := BY_ID[entry].icon:
                action.setIcon(themes.icon(name, theme))

    def enable(self, reason: Callable[[str], str], undo: str, redo: str) -> None:
        """Greys what can't run now, and says why where the mouse rests."""
        reasons: dict[str, str] = {}
        for entry, action in self.all.items():
            command = BY_ID[entry].command
            if not command:
                continue
            if command not in reasons:
                reasons[command] = reason(command)
            action.setEnabled(not reasons[command])
            action.setToolTip(reasons[command] or tr(BY_ID[entry].title).rstrip("…"))
        for entry, title in (("edit.undo", undo), ("edit.redo", redo)):
            action = self.all[entry]
            action.setText(title)
            if title and action.isEnabled():
                action.setToolTip(title)


def fill_menus(bar: QMenuBar, actions: Actions) -> Mapping[str, QMenu]:
    """The menus in their order, sections apart."""
    menus: dict[str, QMenu] = {}
    for name in MENUS:
        menu = bar.addMenu(tr(name))
        menu.setToolTipsVisible(True)
        section: int | None = None
        for entry in ENTRIES:
            if entry.menu != name:
                continue
            if section is not None and entry.section != section:
                menu.addSeparator()
            section = entry.section
            menu.addAction(actions[entry.id])
        menus[name] = menu
    return menus


def tool_rail(actions: Actions) -> QToolBar:
    """The rail at the left: icon, word, key."""
    rail = QToolBar(tr("Tools"))
    rail.setObjectName("tools")
    rail.setOrientation(Qt.Orientation.Vertical)
    rail.setIconSize(QSize(20, 20))
    rail.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
    for place, group in enumerate(RAIL):
        if place:
            rail.addSeparator()
        for entry in group:
            action = actions[entry]
            action.setIconText(tr(BY_ID[entry].short))
            rail.addAction(action)
            button = rail.widgetForAction(action)
            if isinstance(button, QToolButton):
                button.setObjectName(f"rail.{entry}")
                button.setAccessibleName(tr(BY_ID[entry].title))
                button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return rail


def context_menu(parent: QWidget, actions: Actions, selected: bool) -> QMenu:
    """At the cursor: what can be done with the selection, or with the view."""
    menu = QMenu(parent)
    shown: list[Any] = [e for e in ENTRIES if e.context]
    for entry in shown:
        if entry.command in ("fitView",) or selected:
            menu.addAction(actions[entry.id])
    menu.addSeparator()
    for name in ("tool.measure", "tool.finding", "view.bookmark"):
        menu.addAction(actions[name])
    return menu
