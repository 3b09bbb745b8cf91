"""Small cards over the picture: the tool's banner, the toast with Undo, the action bar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from . import theme as themes
from .plot import AnswerPlot
from .text import tr

EDGE = 16


def room_of(card: QWidget) -> QRect:
    """The rectangle a card lies in: its parent's."""
    parent = card.parentWidget()
    return parent.rect() if parent is not None else QRect()


class KeyCap(QLabel):
    """A key drawn as a key."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setProperty("role", "key")
        self.setFixedHeight(20)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)


class Banner(QFrame):
    """What the active tool wants next, with its keys. Top centre, never in the way of a click."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(12, 6, 12, 6)
        self.row.setSpacing(8)
        self.name = QLabel()
        self.name.setProperty("role", "accent")
        self.step = QLabel()
        self.row.addWidget(self.name)
        self.row.addWidget(self.step)
        self._caps: list[QWidget] = []
        self.hide()

    def say(self, name: str, step: str, keys: Sequence[tuple[str, str]] = ()) -> None:
        """``keys``: (key, what it does) pairs."""
        self.name.setText(name.upper())
        self.step.setText(step)
        self.setAccessibleName(f"{name}. {step}")
        for cap in self._caps:
            self.row.removeWidget(cap)
            cap.hide()
            cap.deleteLater()
        self._caps = []
        for key, does in keys:
            label = QLabel(does)
            label.setProperty("role", "muted")
            for widget in (KeyCap(key), label):
                self.row.addWidget(widget)
                self._caps.append(widget)
                widget.show()
        self.show()
        self.place()

    def place(self) -> None:
        """In the middle; keys that there is no room for are left out, the last first."""
        room = room_of(self)
        for cap in self._caps:
            cap.show()
        left = list(self._caps)
        while self.row.sizeHint().width() > room.width() - 2 * EDGE and left:
            for cap in (left.pop(), left.pop()):
                cap.hide()
        self.adjustSize()
        self.move(max(EDGE, (room.width() - self.width()) // 2), EDGE)
        self.raise_()


class Toast(QFrame):
    """What was just done, with Undo; or what went wrong, with what to do. Bottom centre."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("toast")
        column = self.column = QVBoxLayout(self)
        column.setContentsMargins(14, 8, 8, 8)
        row = QHBoxLayout()
        row.setSpacing(12)
        column.addLayout(row)
        self.text = QLabel()
        self.text.setWordWrap(False)
        self.more = QLabel()
        self.more.setProperty("role", "muted")
        self.more.setWordWrap(True)
        self.more.hide()
        self.button = QPushButton(tr("Undo"))
        self.button.setProperty("kind", "quiet")
        self.details = QPushButton(tr("Details"))
        self.details.setProperty("kind", "quiet")
        self.details.clicked.connect(self._show_more)
        self.shut = QPushButton("✕")
        self.shut.setProperty("kind", "quiet")
        self.shut.setAccessibleName(tr("Dismiss"))
        self.shut.clicked.connect(self.hide)
        row.addWidget(self.text, 1)
        for widget in (self.button, self.details, self.shut):
            row.addWidget(widget)
        column.addWidget(self.more)
        self._act: Callable[[], None] | None = None
        self.button.clicked.connect(self._run)
        self.timer = QTimer(self)
        self.timer.setSingleShot(True)
        self.timer.timeout.connect(self.hide)
        self.hide()

    def say(
        self,
        text: str,
        *,
        kind: str = "done",
        button: str = "",
        act: Callable[[], None] | None = None,
        details: str = "",
        seconds: float = 6.0,
    ) -> None:
        """``kind``: done, notice or error. An error stays until it is dismissed."""
        self.setProperty("kind", kind)
        self.style().unpolish(self)
        self.style().polish(self)
        wide = max(240, room_of(self).width() - 320)
        self.text.setWordWrap(False)
        self.text.setMinimumWidth(0)
        self.text.setText(text)
        if self.text.sizeHint().width() > wide:
            self.text.setWordWrap(True)
            self.text.setMinimumWidth(min(wide, 560))
        else:
            self.text.setMinimumWidth(self.text.sizeHint().width() + 2)
        self.setAccessibleName(text)
        self._act = act
        self.button.setText(button)
        self.button.setAccessibleName(button)
        self.button.setVisible(bool(button))
        self.more.setText(details)
        self.more.hide()
        self.details.setVisible(bool(details))
        self.timer.stop()
        if kind != "error":
            self.timer.start(round(seconds * 1000))
        self.show()
        self.place()

    def place(self) -> None:
        self.column.activate()  # what was shown or hidden just now counts
        self.adjustSize()
        room = room_of(self)
        self.move(
            max(EDGE, (room.width() - self.width()) // 2), room.height() - self.height() - EDGE
        )
        self.raise_()

    def _show_more(self) -> None:
        self.more.show()
        self.details.hide()
        self.place()

    def _run(self) -> None:
        self.hide()
        if self._act is not None:
            self._act()


class ActionBar(QFrame):
    """At the selection: how many points, and what can be done with them."""

    closed = Signal()

    def __init__(
        self, parent: QWidget, actions: Sequence[tuple[QAction, str]], leave: QAction
    ) -> None:
        super().__init__(parent)
        self.setObjectName("actionBar")
        self.setAccessibleName(tr("Selection"))
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 6, 4)
        row.setSpacing(2)
        self.count = QLabel()
        self.count.setProperty("role", "accent")
        self.where = QLabel(tr("points on screen"))
        self.where.setProperty("role", "muted")
        self.where.setToolTip(
            tr("Finer points come with closer looks, and the rule takes them too.")
        )
        row.addWidget(self.count)
        row.addSpacing(4)
        row.addWidget(self.where)
        row.addSpacing(8)
        self.buttons: list[tuple[QPushButton, QAction, str]] = []
        for action, title in actions:
            button = QPushButton(title)
            button.setProperty("kind", "quiet")
            button.setObjectName(f"bar.{action.objectName()}")
            button.setIcon(action.icon())
            button.clicked.connect(action.trigger)
            action.changed.connect(self._refresh)
            row.addWidget(button)
            self.buttons.append((button, action, title))
        self.leave = QPushButton(tr("Esc"))
        self.leave.setProperty("kind", "quiet")
        self.leave.setObjectName("bar.leave")
        self.leave.clicked.connect(leave.trigger)
        self.leave.setAccessibleName(leave.text())
        self.leave.setToolTip(leave.text())
        row.addWidget(self.leave)
        self._refresh()
        self.hide()

    def _refresh(self) -> None:
        for button, action, title in self.buttons:
            key = action.shortcut().toString(action.shortcut().SequenceFormat.NativeText)
            button.setText(f"{title}  {key}" if key else title)
            button.setAccessibleName(action.text())
            button.setEnabled(action.isEnabled())
            button.setToolTip(action.toolTip())
            button.setIcon(action.icon())

    def show_at(self, count: str, box: QRect) -> None:
        """Beside the selection's rectangle on the screen, and always inside the picture."""
        self.count.setText(count)
        self.adjustSize()
        self.show()
        self.place(box)

    def place(self, box: QRect) -> None:
        room = room_of(self)
        left = box.center().x() - self.width() // 2
        top = box.bottom() + 12
        if top + self.height() > room.height() - 72:
            top = box.top() - self.height() - 12
        left = min(max(EDGE, left), max(EDGE, room.width() - self.width() - EDGE))
        top = min(max(56, top), max(56, room.height() - self.height() - 72))
        self.move(QPoint(left, top))
        self.raise_()


class AnswerCard(QFrame):
    """What a read-only command answered, to be read and copied; plotted where it can be."""

    def __init__(self, parent: QWidget, keeper: themes.ThemeKeeper) -> None:
        super().__init__(parent)
        self.setObjectName("answer")
        self.title = QLabel()
        self.title.setProperty("role", "title")
        self.text = QPlainTextEdit()
        copy = QPushButton(tr("Copy"))
        copy.setProperty("kind", "quiet")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text.toPlainText()))
        shut = QPushButton("✕")
        shut.setProperty("kind", "quiet")
        shut.setAccessibleName(tr("Dismiss"))
        shut.clicked.connect(self.hide)
        self.text.setReadOnly(True)
        self.text.setAccessibleName(tr("Answer"))
        self.plot = AnswerPlot(keeper)
        self.plot_buttons = [QPushButton(tr("Copy picture")), QPushButton(tr("Copy CSV"))]
        acts = (self.plot.copy_picture, self.plot.copy_csv)
        for button, act in zip(self.plot_buttons, acts, strict=True):
            button.setProperty("kind", "quiet")
            button.clicked.connect(act)
        row = QHBoxLayout()
        row.addWidget(self.title, 1)
        for button in (*self.plot_buttons, copy):
            row.addWidget(button)
        row.addWidget(shut)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 8, 8, 12)
        column.addLayout(row)
        column.addWidget(self.plot)
        column.addWidget(self.text)
        self.hide()

    def show_answer(self, title: str, text: str, answer: Mapping[str, Any]) -> None:
        plotted = self.plot.show_answer(answer)
        for button in self.plot_buttons:
            button.setVisible(plotted)
        self.title.setText(title)
        self.text.setPlainText(text)
        room = room_of(self)
        lines = min(16, text.count("\n") + 2)
        height = 60 + min(lines, 14) * 17 + (200 if plotted else 0)
        self.resize(min(520 if plotted else 440, room.width() - 2 * EDGE), height)
        self.move(EDGE, room.height() - self.height() - EDGE)
        self.show()
        self.raise_()


@dataclass(frozen=True)
class NoticeLine:
    """What a notice says; one with a ``key`` stays until it is dropped or dismissed."""

    text: str
    details: str
    acts: Sequence[tuple[str, Callable[[], None]]]
    key: str


class Notice(QFrame):
    """A quiet line above the picture: recovery, missing files, what was odd about a file."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 6, 8, 6)
        row.setSpacing(8)
        self.dot = QLabel("●")
        self.dot.setProperty("role", "accent")
        self.text = QLabel()
        self.text.setWordWrap(True)  # a long sentence must not widen the window
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        row.addWidget(self.dot)
        row.addWidget(self.text, 1)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(8)
        row.addLayout(self._buttons)
        self.shut = QPushButton("✕")
        self.shut.setProperty("kind", "quiet")
        self.shut.setAccessibleName(tr("Dismiss"))
        self.shut.clicked.connect(self._next)
        row.addWidget(self.shut)
        self._line: NoticeLine | None = None
        self._waiting: list[NoticeLine] = []
        self.hide()

    def add(
        self,
        text: str,
        *,
        details: str = "",
        acts: Sequence[tuple[str, Callable[[], None]]] = (),
        key: str = "",
    ) -> None:
        """Queues one line; several are shown one after the other, those with a key first: what
        they say is amiss with the scene at hand."""
        first = sum(1 for line in self._waiting if line.key) if key else len(self._waiting)
        self._waiting.insert(first, NoticeLine(text, details, acts, key))
        if self._line is None:
            self._next()
        elif key and not self._line.key:
            self._waiting.insert(first + 1, self._line)
            self._next()
        else:
            self._count()

    def drop(self, key: str) -> None:
        """What a line was about is solved: it goes."""
        self._waiting = [line for line in self._waiting if line.key != key]
        if self._line is not None and self._line.key == key:
            self._next()
        else:
            self._count()

    def _next(self) -> None:
        while (item := self._buttons.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        if not self._waiting:
            self._line = None
            self.hide()
            return
        line = self._line = self._waiting.pop(0)
        self.text.setText(line.text)
        self.text.setToolTip(line.details)
        self.setAccessibleName(line.text)
        for title, act in line.acts:
            button = QPushButton(title)
            button.clicked.connect(act)
            if not line.key:
                button.clicked.connect(self._next)
            self._buttons.addWidget(button)
        self._count()
        self.show()

    def _count(self) -> None:
        more = len(self._waiting)
        self.shut.setText(tr("{more} more  ✕", more=more) if more else "✕")
