"""Choosing a class's own colour: a small card with swatches and a field, live while it is open."""

from __future__ import annotations

import re
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout

from .. import theme as themes
from ..text import tr
from ..values import class_color, class_name

# Okabe & Ito 2008, "Color Universal Design": told apart by every kind of colour vision; greys.
SAFE = (
    *("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#000000"),
    *("#4d4d4d", "#8c8c8c", "#c8c8c8", "#ffffff"),
)
COLUMNS = len(SAFE)
LIGHTNESS = (0.82, 0.68, 0.54, 0.40, 0.26)


def swatches() -> list[str]:
    """The safe colours, then all hues from light to dark, a row each."""
    hues = [
        QColor.fromHslF(column / COLUMNS, 0.72, light).name()
        for light in LIGHTNESS
        for column in range(COLUMNS)
    ]
    return [*SAFE, *hues]


def color_args(state: Any, colors: dict[int, str | None]) -> dict[str, Any]:
    """Arguments of setColorMode that change class colours and nothing else of the look."""
    shown = {entry.id for entry in state.clouds}
    own = {cloud: mode for cloud, mode in state.display.cloud_colors.items() if cloud in shown}
    cloud, mode = next(iter(own.items()), ("", state.display.color))
    args: dict[str, Any] = {"mode": mode.mode}
    if mode.range is not None:
        args["range"] = list(mode.range)
    if mode.palette is not None:
        args["palette"] = mode.palette
    if cloud:  # without a cloud the one way would hold for all of them
        args["cloud"] = cloud
    return {**args, "classColors": {str(number): color for number, color in colors.items()}}


class SwatchGrid(QFrame):
    """Colours side by side: a click or Enter takes one, arrows move along them."""

    CELL = 20
    looked_at = Signal(str)
    taken = Signal(str)

    def __init__(self, keeper: themes.ThemeKeeper) -> None:
        super().__init__()
        self.keeper = keeper
        self.colors = swatches()
        self.place = -1
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Colours"))
        self.setFixedSize(self.sizeHint())

    def sizeHint(self) -> QSize:
        rows = len(self.colors) // COLUMNS
        return QSize(COLUMNS * self.CELL, rows * self.CELL + 8)

    def rect_of(self, place: int) -> QRectF:
        """Where a swatch lies; the safe row stands apart."""
        row, column = divmod(place, COLUMNS)
        top = row * self.CELL + (8 if row else 0)
        return QRectF(column * self.CELL + 2, top + 2, self.CELL - 4, self.CELL - 4)

    def show_color(self, color: str) -> None:
        self.place = self.colors.index(color) if color in self.colors else -1
        self.setAccessibleDescription(color)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self.keeper.theme
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for place, color in enumerate(self.colors):
                painter.setPen(theme.color("border"))
                painter.setBrush(QColor(color))
                painter.drawRoundedRect(self.rect_of(place), 3, 3)
            if self.place >= 0:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(theme.color("text"), 2))
                around = self.rect_of(self.place).adjusted(-1.5, -1.5, 1.5, 1.5)
                painter.drawRoundedRect(around, 4, 4)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        for place, color in enumerate(self.colors):
            if self.rect_of(place).adjusted(-2, -2, 2, 2).contains(event.position()):
                self.place = place
                self.taken.emit(color)
                return

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -COLUMNS,
            Qt.Key.Key_Down: COLUMNS,
        }
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            if self.place >= 0:
                self.taken.emit(self.colors[self.place])
        elif (step := steps.get(Qt.Key(event.key()))) is not None:
            place = self.place + step if self.place >= 0 else 0
            if 0 <= place < len(self.colors):
                self.place = place
                self.setAccessibleDescription(self.colors[place])
                self.looked_at.emit(self.colors[place])
                self.update()
        else:
            super().keyPressEvent(event)


class ClassColour(QFrame):
    """The card. What is looked at shows in the picture through a gesture; taking it is one
    command, Esc and a click elsewhere leave everything as it was."""

    def __init__(self, bridge: Any, keeper: themes.ThemeKeeper, parent: Any) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.bridge = bridge
        self.number = -1
        self._gesture: Any = None
        self.setObjectName("classColour")
        self.title = QLabel()
        self.title.setFont(themes.font(weight=600))
        self.grid = SwatchGrid(keeper)
        self.grid.looked_at.connect(self._look)
        self.grid.taken.connect(self._take)
        self.line = QLineEdit()
        self.line.setObjectName("classColour.line")
        self.line.setPlaceholderText("#rrggbb")
        self.line.setAccessibleName(tr("Colour as #rrggbb"))
        self.line.setMaxLength(7)
        self.line.textEdited.connect(self._typed)
        self.line.returnPressed.connect(self._entered)
        self.default = QPushButton(tr("Default"))
        self.default.setObjectName("classColour.default")
        self.default.setProperty("kind", "quiet")
        self.default.setToolTip(tr("The colour this class has by itself"))
        self.default.clicked.connect(lambda: self._take(None))
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.line, 1)
        row.addWidget(self.default)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 10, 12, 12)
        column.setSpacing(8)
        for widget in (self.title, self.grid):
            column.addWidget(widget)
        column.addLayout(row)

    def ask(self, number: int, at: QPoint) -> None:
        """Opens for a class, its right upper corner at a place on the screen."""
        self.number = number
        color = class_color(self.bridge.committed, number)
        name = tr("Colour of {name}", name=class_name(number))
        self.title.setText(name)
        self.setAccessibleName(name)
        self.line.setText(color)
        self.grid.show_color(color)
        self.default.setEnabled(number in self.bridge.committed.display.class_colors)
        self.adjustSize()
        room = self.screen().availableGeometry()
        left = max(room.left(), min(at.x() - self.width(), room.right() - self.width()))
        top = max(room.top(), min(at.y(), room.bottom() - self.height()))
        self.move(left, top)
        self.show()
        self.grid.setFocus(Qt.FocusReason.PopupFocusReason)

    def _look(self, color: str) -> None:
        self.line.setText(color)
        if self._gesture is None:
            self._gesture = self.bridge.gesture("setColorMode")
        self._gesture.update(color_args(self.bridge.committed, {self.number: color}))
        self.bridge.live_changed()

    def _typed(self, text: str) -> None:
        if color := _color(text):
            self._look(color)
            self.grid.show_color(color)
            self.line.setText(text)

    def _entered(self) -> None:
        if color := _color(self.line.text()):
            self._take(color)
        else:
            self.line.selectAll()

    def _take(self, color: str | None) -> None:
        self._drop()
        self.hide()
        if color != self.bridge.committed.display.class_colors.get(self.number):
            self.bridge.run("setColorMode", color_args(self.bridge.state, {self.number: color}))

    def _drop(self) -> None:
        gesture, self._gesture = self._gesture, None
        if gesture is not None:
            gesture.cancel()
            self.bridge.live_changed()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            event.accept()  # no key of the window's while this is open
            return True
        return super().event(event)

    def hideEvent(self, event: QHideEvent) -> None:
        self._drop()
        super().hideEvent(event)


def _color(text: str) -> str:
    """``#rrggbb`` of what was typed, with or without the sign; "" while it is none."""
    text = text.strip().lower().removeprefix("#")
    return f"#{text}" if re.fullmatch(r"[0-9a-f]{6}", text) else ""
