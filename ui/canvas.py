"""The picture: a QOpenGLWidget that draws the scene and turns mouse and keys into gestures."""

from __future__ import annotations

import logging
import time
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QOpenGLContext,
    QWheelEvent,
)
from PySide6.QtOpenGLWidgets import QOpenGLWidget
from PySide6.QtWidgets import QWidget

from oniyanma.render import look
from oniyanma.render.renderer import FrameStats, PointRenderer
from oniyanma.scene.camera import Matrices
from oniyanma.scene.overlays import lens

from . import theme as themes
from .aim import Aim
from .navigator import Navigator
from .text import tr

log = logging.getLogger(__name__)
MOVING_BUDGET_MS = 40.0
SETTLE_MS = 140
CLICK = 4.0  # pixels a press may wander and still be a click
PUMP_MS = 8.0
BUSY_MS = 12  # between two turns of the scene while points arrive
WAIT_MS = 80


class Canvas(QOpenGLWidget):
    """Draws what the bridge's view shows; a tool, if one is set, hears of the mouse first."""

    hovered = Signal(QPointF)
    left = Signal()
    painted = Signal(object)  # FrameStats
    broken = Signal(str)
    menu_asked = Signal(QPoint)  # a right click that was no drag; screen coordinates

    def __init__(self, bridge: Any, keeper: themes.ThemeKeeper, parent: QWidget | None = None):
        super().__init__(parent)
        self.bridge = bridge
        self.keeper = keeper
        self.tool: Any = None
        self.clip_preview = False
        self.stats: FrameStats | None = None
        self.navigator = Navigator(bridge, self)
        self.aim = Aim(self)
        self._renderer: PointRenderer | None = None
        self._moving_until = 0.0
        self._space = False
        self._pressed = QPointF()
        self._fault = ""
        self._closed = False
        self._stale = True  # the picture, against the one kept in the framebuffer
        # what lies over the points is painted anew with every move; the points below it are kept
        self.setUpdateBehavior(QOpenGLWidget.UpdateBehavior.PartialUpdate)
        self.setObjectName("canvas")
        self.setAccessibleName(tr("Point cloud view"))
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(320, 240)
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MS)
        self._settle.timeout.connect(self._redraw)
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(0)
        self._again.timeout.connect(self._redraw)
        self._size_soon = QTimer(self)
        self._size_soon.setSingleShot(True)
        self._size_soon.setInterval(0)
        self._size_soon.timeout.connect(self._tell_size)
        self._pump = QTimer(self)
        self._pump.setInterval(BUSY_MS)
        self._pump.timeout.connect(self._pump_scene)
        bridge.state_changed.connect(self._on_state)
        bridge.resident_changed.connect(self._redraw)
        bridge.jobs_changed.connect(self.wake)
        bridge.glide.stepped.connect(self.moved)
        keeper.changed.connect(self._redraw)

    # what others ask

    def lens(self) -> Matrices:
        """The camera's matrices over this picture, in logical pixels."""
        return lens(self.bridge.view, (max(1, self.width()), max(1, self.height())))

    def drawn_lens(self) -> Matrices:
        """As `lens`, of what is drawn just now: on its way from one view to the next."""
        return lens(self.bridge.drawn, (max(1, self.width()), max(1, self.height())))

    def moved(self) -> None:
        """A gesture changed the live picture: draw it soon, with fewer points if need be."""
        self._moving_until = time.monotonic() + SETTLE_MS / 1000.0
        self._settle.start()
        self._redraw()
        self.wake()

    @property
    def moving(self) -> bool:
        return self.bridge.glide.active or time.monotonic() < self._moving_until

    def wake(self) -> None:
        """The scene may have something to do: ask it until it has not."""
        if not self._closed and not self._pump.isActive():
            self._pump.start(BUSY_MS)

    def _redraw(self, *_: object) -> None:
        self._stale = True
        if not self._closed:
            self.update()

    def set_tool(self, tool: Any) -> None:
        """Hands the mouse to a tool, or back to navigation with None."""
        self.navigator.stop()
        self.aim.reset()
        self.tool = tool
        self.setCursor(Qt.CursorShape.CrossCursor if tool else Qt.CursorShape.ArrowCursor)
        self.update()

    def close_gl(self) -> None:
        """Frees what is on the GPU while the context can be made current."""
        self._closed = True
        for timer in (self._pump, self._settle, self._again, self._size_soon):
            timer.stop()
        self.navigator.stop()
        if self._renderer is not None:
            self.makeCurrent()
            self._renderer.release()
            self._renderer = None
            self.doneCurrent()

    def _tell_size(self) -> None:
        """Counts and picks depend on the picture's size. With a cloud open it is never told from
        within a resize or a paint: what follows the scene may lay the window out anew, and Qt
        loses that event."""
        if self.bridge.scene.state.viewport != (self.width(), self.height()):
            self.bridge.set_viewport(self.width(), self.height())
            self.wake()

    # OpenGL

    def initializeGL(self) -> None:
        context = self.context()
        context.aboutToBeDestroyed.connect(self._context_gone)
        self._renderer = PointRenderer(_proc_address(context))
        self._stale = True

    def _context_gone(self) -> None:
        if self._renderer is not None:
            self.makeCurrent()
            self._renderer.release()
            self._renderer = None
            self.doneCurrent()

    def resizeGL(self, width: int, height: int) -> None:
        self._stale = True  # the framebuffer is another one
        if self.bridge.state.clouds:
            self._size_soon.start()
        else:  # nothing that follows it lays anything out
            self._tell_size()

    def paintGL(self) -> None:
        if self._renderer is None or self._fault:
            return
        if self.bridge.scene.state.viewport != (self.width(), self.height()):
            self._size_soon.start()
        moving = self.moving
        if not (self._stale or moving or self.stats is None or self.stats.again):
            return  # only what lies over it is painted anew
        self._stale = False
        ratio = self.devicePixelRatioF()
        size = (round(self.width() * ratio), round(self.height() * ratio))
        # without a graphics card a whole picture takes long: at rest it is drawn in parts
        slow = self.stats is not None and self.stats.software
        theme = self.keeper.theme
        try:
            self.stats = self._renderer.paint(
                self.bridge.drawn,
                size,
                ratio,
                moving=moving,
                frame_budget_ms=MOVING_BUDGET_MS if moving or slow else None,
                theme=look.Theme(theme.canvas_top, theme.canvas, "#f3efe6", theme.canvas),
                clip_preview=self.clip_preview,
                framebuffer=self.defaultFramebufferObject(),
            )
        except Exception as error:
            log.exception("the picture can't be drawn")
            self._fault = str(error)
            self.broken.emit(self._fault)
            return
        self.painted.emit(self.stats)
        if self.stats.waiting or (self.stats.again and not moving):
            self._again.start()

    # the scene's turn

    def _pump_scene(self) -> None:
        scene = self.bridge.scene
        if scene.pump(PUMP_MS):
            self._pump.setInterval(BUSY_MS)
        elif not scene.settled:
            self._pump.setInterval(WAIT_MS)  # a cloud is being indexed elsewhere
        else:
            self._pump.stop()

    def _on_state(self, before: Any, after: Any) -> None:
        self._redraw()
        self.wake()

    # mouse and keys

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self._pressed = event.position()
        turning = self._space or event.button() != Qt.MouseButton.LeftButton
        if self.tool is not None and not turning and self.tool.press(event):
            return
        self.navigator.press(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.aim.reset()
        if self.navigator.active:
            self.navigator.move(event)
        elif self.tool is not None:
            self.tool.move(event)
        self.hovered.emit(event.position())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        still = (event.position() - self._pressed).manhattanLength() < CLICK
        if self.navigator.active:
            self.navigator.release(event)
            if still and event.button() == Qt.MouseButton.RightButton:
                self.menu_asked.emit(event.globalPosition().toPoint())
        elif self.tool is not None:
            self.tool.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.tool is not None and not self._space:
            self.tool.double(event)
        elif event.button() == Qt.MouseButton.LeftButton:
            self.navigator.pivot_at(event.position())

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.navigator.wheel(event)

    def leaveEvent(self, event: QEvent) -> None:
        self.left.emit()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QNativeGestureEvent):
            return self.navigator.native(event)
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and self._takes(event)  # the tool's and fly mode's keys are not shortcuts now
        ):
            event.accept()
            return True
        return super().event(event)

    def _takes(self, event: QKeyEvent) -> bool:
        if event.modifiers() & (
            Qt.KeyboardModifier.ControlModifier
            | Qt.KeyboardModifier.AltModifier
            | Qt.KeyboardModifier.MetaModifier
        ):
            return False
        if self.navigator.flying and event.key() in Navigator.FLY_KEYS:
            return True
        return self.tool is not None and event.key() in self.tool.KEYS

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space:
            self._space = True
            if self.tool is not None:
                self.setCursor(Qt.CursorShape.SizeAllCursor)
            return
        if self.tool is not None and (self.aim.key(event) or self.tool.key(event)):
            return
        if not self.navigator.key(event, down=True):
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and not event.isAutoRepeat():
            self._space = False
            if self.tool is not None:
                self.setCursor(Qt.CursorShape.CrossCursor)
            return
        if not self.navigator.key(event, down=False):
            super().keyReleaseEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._space = False
        self.navigator.stop_flying()
        super().focusOutEvent(event)


def _proc_address(context: QOpenGLContext) -> Any:
    def address(name: str) -> int:
        found = context.getProcAddress(name.encode())
        return int(found) if found else 0

    return address
