"""What every tool of the view can do, and what it may ask of its host."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from PySide6.QtCore import QPointF, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QMouseEvent

from oniyanma.clouds.model import Vec3
from oniyanma.scene.overlays import Overlay

from ..text import tr


class Host(Protocol):
    """The window, as far as a tool sees it."""

    bridge: Any

    def lens(self) -> Any: ...

    def pick(self, position: QPointF) -> Vec3 | None: ...

    def refresh(self) -> None:
        """The tool's step or shape changed: banner and overlay are shown anew."""

    def leave_tool(self) -> None: ...

    def ask(self, command: str, args: dict[str, Any], title: str) -> None: ...

    def enter_section(self, start: Vec3, end: Vec3) -> None: ...

    def previewing_clip(self, on: bool) -> None: ...


class Tool:
    """Mouse and keys in, one command out. Coordinates of the mouse are logical pixels."""

    KEYS: ClassVar[frozenset[int]] = frozenset(
        {
            Qt.Key.Key_Return,
            Qt.Key.Key_Enter,
            Qt.Key.Key_Backspace,
            Qt.Key.Key_Escape,
            Qt.Key.Key_Space,
            Qt.Key.Key_Left,
            Qt.Key.Key_Right,
            Qt.Key.Key_Up,
            Qt.Key.Key_Down,
        }
    )
    name = ""
    title = ""
    sticky = True  # stays active after its command
    drags = False  # press, move and let go, rather than clicks

    def __init__(self, host: Host) -> None:
        self.host = host
        self.cursor = QPointF()

    # what is shown

    def step(self) -> str:
        """The next thing to do, as a sentence."""
        return ""

    def keys(self) -> Sequence[tuple[str, str]]:
        return ((tr("Esc"), tr("leave")),)

    def value(self) -> str:
        """The live value at the cursor."""
        return ""

    def overlays(self) -> list[Overlay]:
        return []

    # what happens

    def press(self, event: QMouseEvent) -> bool:
        """Whether the tool takes it; if not, it moves the camera."""
        return False

    def move(self, event: QMouseEvent) -> None:
        self.cursor = event.position()
        self.host.refresh()

    def release(self, event: QMouseEvent) -> None:
        pass

    def double(self, event: QMouseEvent) -> None:
        pass

    def key(self, event: QKeyEvent) -> bool:
        """Enter finishes, Backspace takes the last point back, Esc leaves."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.finish(event.modifiers())
        elif event.key() == Qt.Key.Key_Backspace:
            self.back()
        elif event.key() == Qt.Key.Key_Escape:
            self.escape()
        else:
            return False
        self.host.refresh()
        return True

    def finish(self, modifiers: Qt.KeyboardModifier) -> None:
        pass

    def back(self) -> None:
        pass

    def escape(self) -> None:
        """Drops what was begun; with nothing begun, leaves the tool."""
        self.host.leave_tool()

    def close(self) -> None:
        """The tool is put away, whatever it had begun."""


def mode_of(modifiers: Qt.KeyboardModifier) -> str:
    """Shift adds, Alt takes away, both keep what is in both."""
    shift = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
    alt = bool(modifiers & Qt.KeyboardModifier.AltModifier)
    if shift and alt:
        return "intersect"
    return "add" if shift else "subtract" if alt else "replace"


class LivePreview:
    """Shows what a command would do while its arguments still change, through a gesture.

    Updates are as frequent as they are cheap: never more than a third of the time goes into
    them, and the last arguments are always shown.
    """

    def __init__(self, bridge: Any, command: str, told: Any = None) -> None:
        self.bridge = bridge
        self.command = command
        self.told = told
        self.gesture: Any = None
        self.answer: Any = None
        self._args: dict[str, Any] | None = None
        self._timer = QTimer()
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._update)

    def show(self, args: dict[str, Any]) -> None:
        self._args = args
        if not self._timer.isActive():
            self._timer.start(30)

    def _update(self) -> None:
        if self._args is None:
            return
        if self.gesture is None:
            self.gesture = self.bridge.gesture(self.command)
        args, self._args = self._args, None
        started = time.perf_counter()
        answer = self.gesture.update(args)
        self.answer = answer if answer.get("ok") else None
        if self.told is not None:
            self.told()
        spent = (time.perf_counter() - started) * 1000.0
        self._timer.start(max(30, round(2 * spent)))

    def end(self) -> None:
        """Shows the committed state again."""
        self._timer.stop()
        self._args = None
        self.answer = None
        if self.gesture is not None:
            self.gesture.cancel()
            self.gesture = None
