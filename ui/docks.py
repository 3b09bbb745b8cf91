"""The panels as docks: they move, float, close and come back; their layout is remembered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QTabBar, QTabWidget, QWidget

from . import theme as themes
from .settings import Settings
from .text import tr

LAYOUT = 4  # of the docks, for a stored layout to be trusted
RIGHT = "inspector"  # stands at the right; the others are tabs at the bottom


class Docks:
    """``panels``: title and widget by name, in their order."""

    def __init__(
        self,
        window: QMainWindow,
        keeper: themes.ThemeKeeper,
        panels: Mapping[str, tuple[str, QWidget]],
    ) -> None:
        self.window = window
        self.keeper = keeper
        self.all: dict[str, QDockWidget] = {}
        self._away: QByteArray | None = None  # the layout, while the start screen stands alone
        bottom: list[QDockWidget] = []
        for name, (title, widget) in panels.items():
            dock = self._dock(name, title, widget)
            if name == RIGHT:
                window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, dock)
                continue
            window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
            if bottom:
                window.tabifyDockWidget(bottom[0], dock)
            bottom.append(dock)
        bottom[0].raise_()
        window.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        window.resizeDocks([self.all[RIGHT]], [304], Qt.Orientation.Horizontal)
        window.resizeDocks([bottom[0]], [188], Qt.Orientation.Vertical)

    def _dock(self, name: str, title: str, widget: QWidget) -> QDockWidget:
        dock = QDockWidget(title, self.window)
        dock.setObjectName(f"dock.{name}")
        dock.setWidget(widget)
        dock.toggleViewAction().setObjectName(f"panel.{name}.toggle")
        # a panel behind another tab is not seen: the keyboard must not get lost in it
        dock.visibilityChanged.connect(widget.setEnabled)
        if name != RIGHT:
            grip = Grip(dock, self.keeper)
            dock.setTitleBarWidget(grip)
            dock.topLevelChanged.connect(
                lambda floating, dock=dock, grip=grip: dock.setTitleBarWidget(
                    None if floating else grip
                )
            )
        self.all[name] = dock
        return dock

    def add_to(self, menu: QMenu) -> None:
        """A submenu that shows and hides each."""
        menu.addSeparator()
        panels = menu.addMenu(tr("Panels"))
        for dock in self.all.values():
            panels.addAction(dock.toggleViewAction())

    def reveal(self, name: str) -> None:
        """Brings a panel to the front, and the keyboard into it."""
        dock = self.all[name]
        dock.show()
        dock.raise_()
        dock.widget().setEnabled(True)
        first = next((w for w in dock.widget().findChildren(QWidget) if can_focus(w)), None)
        if first is not None:
            first.setFocus(Qt.FocusReason.OtherFocusReason)

    def dress_tabs(self) -> None:
        """Names of panels are never cut on their tabs, which Qt makes when they are shown."""
        for bar in self.window.findChildren(QTabBar):
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.setExpanding(False)
            bar.setDrawBase(False)

    # their layout

    @property
    def away(self) -> bool:
        """Whether they are put away for the start screen."""
        return self._away is not None

    def put_away(self) -> None:
        """Hides all; `bring_back` shows them as they were."""
        self._away = self.window.saveState(LAYOUT)
        for dock in self.all.values():
            dock.hide()

    def bring_back(self) -> None:
        away, self._away = self._away, None
        if away is not None:
            self.window.restoreState(away, LAYOUT)

    def store(self, settings: Settings) -> None:
        state = self._away or self.window.saveState(LAYOUT)
        settings.set(
            "layout",
            {
                "version": LAYOUT,
                "geometry": _text(self.window.saveGeometry()),
                "state": _text(state),
            },
        )

    def restore(self, settings: Settings) -> None:
        stored: Any = settings.get("layout")
        if isinstance(stored, dict) and stored.get("version") == LAYOUT:
            self.window.restoreGeometry(_bytes(stored.get("geometry", "")))
            self.window.restoreState(_bytes(stored.get("state", "")), LAYOUT)


def can_focus(widget: QWidget) -> bool:
    """Whether the keyboard can go there now."""
    return widget.isVisible() and bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)


def _text(layout: QByteArray) -> str:
    return bytes(layout.toBase64().data()).decode()


def _bytes(text: Any) -> QByteArray:
    return QByteArray.fromBase64(str(text).encode())


class Grip(QWidget):
    """A slim title for docked panels, whose names stand on their tabs: drag it to move the panel
    or let it float, double-click to let it float."""

    def __init__(self, dock: QDockWidget, keeper: themes.ThemeKeeper) -> None:
        super().__init__(dock)
        self.keeper = keeper
        self.setFixedHeight(8)
        self.setToolTip(tr("Drag to move the panel, double-click to let it float"))

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.keeper.theme.color("border"))
            painter.drawRoundedRect(self.width() // 2 - 16, 3, 32, 3, 1.5, 1.5)
