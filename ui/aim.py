"""A cross that the arrow keys move, so that every tool of the view works without a mouse."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent

STEP, FINE = 12.0, 1.0  # logical pixels a press of an arrow moves it, and with Shift
ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


class Aim:
    """Turns arrows and Enter into what the tool knows: moves, presses and releases.

    Enter is a click where the cross was moved to; for a tool that drags, one Enter presses and
    the next lets go. Enter with the cross unmoved is the tool's own: it finishes.
    """

    def __init__(self, canvas: Any) -> None:
        self.canvas = canvas
        self.at: QPointF | None = None
        self._moved = False
        self._down = False

    def reset(self) -> None:
        """The mouse is used again, or there is another tool."""
        self.at = None
        self._moved = self._down = False

    def key(self, event: QKeyEvent) -> bool:
        """Whether the key was the cross's."""
        if (way := ARROWS.get(Qt.Key(event.key()))) is not None:
            self._move(way, fine=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
            return True
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._moved:
            self._click(event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier)
            return True
        return False

    def _move(self, way: tuple[int, int], *, fine: bool) -> None:
        room = self.canvas.rect()
        at = self.at if self.at is not None else QPointF(room.center())
        at += QPointF(*way) * (FINE if fine else STEP)
        self.at = QPointF(
            min(max(at.x(), 0.0), room.width() - 1.0), min(max(at.y(), 0.0), room.height() - 1.0)
        )
        self._moved = True
        self.canvas.hovered.emit(self.at)
        self._send(QEvent.Type.MouseMove, Qt.KeyboardModifier.NoModifier)

    def _click(self, modifiers: Qt.KeyboardModifier) -> None:
        self._moved = False
        tool = self.canvas.tool
        if not self._down:
            self._send(QEvent.Type.MouseButtonPress, modifiers)
            self._down = True
            if tool.drags or self.canvas.tool is not tool:
                return
        self._down = False
        self._send(QEvent.Type.MouseButtonRelease, modifiers)

    def _send(self, kind: QEvent.Type, modifiers: Qt.KeyboardModifier) -> None:
        tool, at = self.canvas.tool, self.at
        assert at is not None
        left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
        moves = kind == QEvent.Type.MouseMove
        held = left if self._down and tool.drags else none
        event = QMouseEvent(
            kind, at, self.canvas.mapToGlobal(at), none if moves else left, held, modifiers
        )
        if moves:
            tool.move(event)
        elif kind == QEvent.Type.MouseButtonPress:
            tool.press(event)
        else:
            tool.release(event)
