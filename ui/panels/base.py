"""Panels: a body, buttons under it, one teaching line while it is empty; most are lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QBrush, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QStackedLayout,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from oniyanma.registry.actor import Actor

from .. import theme as themes
from ..text import tr

KEY = Qt.ItemDataRole.UserRole
WHO = {"human": "ph.user", "ai": "ph.sparkle", "api": "ph.code"}


class Panel(QWidget):
    """A body with buttons under it, and one teaching line while there is nothing in it.

    Subclasses give the body, fill it in ``refresh`` and say which entry of it is current.
    """

    copied = Signal(str)  # a value, by a click on it
    name = ""
    title = ""
    empty = ""

    def __init__(self, bridge: Any, keeper: themes.ThemeKeeper) -> None:
        super().__init__()
        self.bridge = bridge
        self.keeper = keeper
        self.setObjectName(f"panel.{self.name}")
        self.hint = QLabel(tr(self.empty))
        self.hint.setProperty("role", "muted")
        self.hint.setObjectName("panelHint")
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hint.setWordWrap(True)
        self.foot = QHBoxLayout()
        self.foot.setContentsMargins(8, 4, 8, 6)
        self.foot.setSpacing(6)
        self.foot.addStretch(1)
        self._foot_box = QWidget()
        self._foot_box.setObjectName("panelFoot")
        self._foot_box.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._foot_box.setLayout(self.foot)
        self._needs_row: list[tuple[QPushButton, Callable[[str], bool]]] = []
        full = QWidget()
        below = QVBoxLayout(full)
        below.setContentsMargins(0, 0, 0, 0)
        below.setSpacing(0)
        below.addWidget(self.body(), 1)
        below.addWidget(self._foot_box)
        self.stack = QStackedLayout(self)
        self.stack.addWidget(self.hint)
        self.stack.addWidget(full)
        self._stale = True
        self._shown: Any = None
        bridge.state_changed.connect(self._on_state)
        keeper.changed.connect(lambda _: self.touch())

    # what subclasses give

    def body(self) -> QWidget:
        """Makes what the panel shows."""
        raise NotImplementedError

    def current(self) -> str:
        """The key of the chosen entry; "" with none."""
        raise NotImplementedError

    def count(self) -> int:
        """How many entries there are."""
        raise NotImplementedError

    def watched(self, state: Any) -> Any:
        """The part of the state the panel shows: it is filled anew when that changes."""
        return state

    def refresh(self) -> None:
        """Fills the emptied body."""

    def fill(self) -> None:
        """Empties the body and fills it; what was chosen stays chosen."""
        raise NotImplementedError

    def activated(self, key: str) -> None:
        """An entry was chosen with Enter or a double-click."""

    # for subclasses

    def button(
        self,
        title: str,
        act: Callable[[str], None],
        *,
        fits: Callable[[str], bool] | None = None,
        command: str = "",
    ) -> QPushButton:
        """A button under the body that acts on the chosen entry."""
        button = QPushButton(title)
        button.setProperty("kind", "quiet")
        button.setObjectName(f"{self.name}.{command or title}")
        button.clicked.connect(lambda: act(self.current()))
        self._needs_row.append((button, fits or (lambda _: True)))
        self.foot.insertWidget(self.foot.count() - 1, button)
        button.setEnabled(False)
        return button

    def touch(self) -> None:
        """Fills the body now if it can be seen, else when it is next shown."""
        self._stale = True
        if self.isVisible():
            self._fill()

    def _fill(self) -> None:
        self._stale = False
        self.fill()
        self.stack.setCurrentIndex(1 if self.count() else 0)
        self._foot_box.setVisible(self.foot.count() > 1)
        self._buttons_state()

    def _buttons_state(self) -> None:
        key = self.current()
        for button, fits in self._needs_row:
            button.setEnabled(bool(key) and fits(key))

    def _on_state(self, before: Any, after: Any) -> None:
        now = self.watched(self.bridge.committed)  # a gesture's preview is nobody's record
        if now is not self._shown and now != self._shown:
            self._shown = now
            self.touch()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self._fill()


class ListPanel(Panel):
    """``columns`` are titles; ``wide`` is the column that takes the room there is."""

    columns: Sequence[str] = ()
    wide = 0

    def body(self) -> QWidget:
        self.tree = QTreeWidget()
        self.tree.setObjectName(f"list.{self.name}")
        self.tree.setAccessibleName(tr(self.title))
        self.tree.setHeaderLabels([tr(column) for column in self.columns])
        self.tree.setRootIsDecorated(False)
        self.tree.setUniformRowHeights(True)
        self.tree.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.tree.setAllColumnsShowFocus(True)
        header = self.tree.header()
        header.setStretchLastSection(False)
        for column in range(len(self.columns)):
            header.setSectionResizeMode(
                column,
                QHeaderView.ResizeMode.Stretch
                if column == self.wide
                else QHeaderView.ResizeMode.ResizeToContents,
            )
        self.tree.itemActivated.connect(lambda item, _: self.activated(item.data(0, KEY)))
        self.tree.currentItemChanged.connect(lambda *_: self._buttons_state())
        return self.tree

    def current(self) -> str:
        item = self.tree.currentItem()
        return str(item.data(0, KEY)) if item is not None else ""

    def count(self) -> int:
        return self.tree.topLevelItemCount()

    def fill(self) -> None:
        chosen = self.current()
        place = self.tree.verticalScrollBar().value()
        self.tree.blockSignals(True)
        self.tree.clear()
        self.refresh()
        for index in range(self.tree.topLevelItemCount()):
            item = self.tree.topLevelItem(index)
            if item is not None and item.data(0, KEY) == chosen:
                self.tree.setCurrentItem(item)
        self.tree.blockSignals(False)
        self.tree.verticalScrollBar().setValue(place)

    def row(
        self,
        key: str,
        texts: Sequence[str],
        *,
        actor: Actor | None = None,
        faded: bool = False,
        align: Sequence[int] = (),
        color: str = "",
        tip: str = "",
    ) -> QTreeWidgetItem:
        item = QTreeWidgetItem([*texts])
        item.setData(0, KEY, key)
        for column in align:
            item.setTextAlignment(
                column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            )
            item.setFont(column, themes.font(12, tabular=True))
            self.tree.headerItem().setTextAlignment(
                column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            )
        if faded:
            for column in range(len(texts)):
                item.setForeground(column, QBrush(self.keeper.theme.color("muted")))
            face = themes.font()
            face.setStrikeOut(True)
            item.setFont(0, face)
        if color:
            item.setForeground(len(texts) - 1, QBrush(themes.QColor(color)))
        if actor is not None:
            who = actor.name or {"human": tr("you"), "ai": tr("AI"), "api": tr("API")}[actor.kind]
            item.setIcon(0, themes.icon(WHO[actor.kind], self.keeper.theme, role="muted"))
            tip = tip or (f"{who}: {actor.instruction}" if actor.instruction else who)
        if tip:
            item.setToolTip(0, tip)
        self.tree.addTopLevelItem(item)
        return item
