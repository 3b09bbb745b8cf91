"""Mouse, wheel, trackpad and fly keys as camera gestures: live on screen, one command at the end.

Left drag turns about the point under the cursor, right, middle or Shift drag moves, the wheel
zooms to the cursor. The arithmetic is `oniyanma.scene.navigation`.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar

from PySide6.QtCore import QObject, QPointF, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QMouseEvent, QNativeGestureEvent, QWheelEvent

from oniyanma.clouds.model import Vec3
from oniyanma.scene import navigation
from oniyanma.scene.state import Camera

WHEEL_REST_MS = 260
NOTCH = 120.0


class Navigator(QObject):
    """One gesture at a time. What is on screen is the live state; at its end one setCamera."""

    FLY_KEYS: ClassVar[dict[int, Vec3]] = {
        Qt.Key.Key_W: (0.0, 1.0, 0.0),
        Qt.Key.Key_S: (0.0, -1.0, 0.0),
        Qt.Key.Key_A: (-1.0, 0.0, 0.0),
        Qt.Key.Key_D: (1.0, 0.0, 0.0),
        Qt.Key.Key_E: (0.0, 0.0, 1.0),
        Qt.Key.Key_Q: (0.0, 0.0, -1.0),
    }

    def __init__(self, bridge: Any, canvas: Any) -> None:
        super().__init__(canvas)
        self.bridge = bridge
        self.canvas = canvas
        self.kind = ""  # orbit, pan, look while a button is down
        self._gesture: Any = None
        self._camera: Camera | None = None
        self._at: Vec3 = (0.0, 0.0, 0.0)
        self._last = QPointF()
        self._button = Qt.MouseButton.NoButton
        self._wheel_at: QPointF | None = None
        self._wheel_rest = QTimer(self)
        self._wheel_rest.setSingleShot(True)
        self._wheel_rest.setInterval(WHEEL_REST_MS)
        self._wheel_rest.timeout.connect(self._finish)
        self._held: set[int] = set()
        self._boost = 1.0
        self._fly_timer = QTimer(self)
        self._fly_timer.setInterval(16)
        self._fly_timer.timeout.connect(self._fly_step)
        self._fly_time = 0.0

    @property
    def active(self) -> bool:
        """Whether a drag is under way."""
        return bool(self.kind)

    @property
    def busy(self) -> bool:
        """Whether a drag, a turn of the wheel or a flight has not become its command yet."""
        return self._gesture is not None

    @property
    def flying(self) -> bool:
        return self.bridge.state.camera.mode == "fly"

    @property
    def pivot(self) -> Vec3 | None:
        """The point the drag turns about, for a mark in the picture."""
        return self._at if self.kind == "orbit" else None

    # dragging

    def press(self, event: QMouseEvent) -> None:
        if self.kind or not self.bridge.state.clouds:
            return
        self._finish()
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        left = event.button() == Qt.MouseButton.LeftButton
        self.kind = "pan" if shift or not left else "look" if self.flying else "orbit"
        self._button = event.button()
        self._last = event.position()
        self._begin()
        self._at = self._anchor(event.position())

    def move(self, event: QMouseEvent) -> None:
        step = event.position() - self._last
        self._last = event.position()
        camera, ground = self._camera, self._ground()
        assert camera is not None
        if self.kind == "orbit":
            camera = navigation.orbit(camera, ground, self._at, step.x(), step.y())
        elif self.kind == "look":
            camera = navigation.look(camera, ground, step.x(), step.y())
        else:
            camera = navigation.pan(camera, ground, self._at, step.x(), step.y())
        self._show(camera)

    def release(self, event: QMouseEvent) -> None:
        if event.button() == self._button:
            self._finish()

    def pivot_at(self, position: QPointF) -> None:
        """Makes the point under the cursor the centre of the picture and of turning."""
        self._finish()
        picked = self.bridge.pick(position.x(), position.y())
        if picked is None:
            return
        camera = self.bridge.state.camera
        eye = [e + p - t for e, p, t in zip(camera.eye, picked, camera.target, strict=True)]
        self.bridge.run("setCamera", {"eye": eye, "target": list(picked), "animate": True})

    # wheel and trackpad

    def wheel(self, event: QWheelEvent) -> None:
        if self.kind or not self.bridge.state.clouds:
            return
        pixels = event.pixelDelta()
        trackpad = event.phase() != Qt.ScrollPhase.NoScrollPhase and not pixels.isNull()
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if trackpad and not control:
            self._wheel_begin(event.position())
            camera = navigation.pan(self._live(), self._ground(), self._at, pixels.x(), pixels.y())
        else:
            delta = event.angleDelta()
            steps = (delta.y() or delta.x()) / NOTCH
            if not steps:
                return
            self._wheel_begin(event.position())
            camera = navigation.zoom(self._live(), self._ground(), self._at, steps)
        self._show(camera)
        self._wheel_rest.start()

    def native(self, event: QNativeGestureEvent) -> bool:
        """A pinch zooms to the fingers."""
        if event.gestureType() != Qt.NativeGestureType.ZoomNativeGesture or self.kind:
            return False
        if not self.bridge.state.clouds:
            return False
        self._wheel_begin(event.position())
        steps = event.value() / 0.14  # e^0.14 ≈ one wheel step
        self._show(navigation.zoom(self._live(), self._ground(), self._at, steps))
        self._wheel_rest.start()
        return True

    def _wheel_begin(self, position: QPointF) -> None:
        moved = self._wheel_at is None or (position - self._wheel_at).manhattanLength() > 2
        if self._gesture is None:
            self._begin()
            moved = True
        if moved:
            self._wheel_at = position
            self._at = self._anchor(position)

    # flying

    def key(self, event: QKeyEvent, *, down: bool) -> bool:
        if event.key() not in self.FLY_KEYS or not (self.flying or not down):
            return False
        self._boost = 4.0 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1.0
        if event.isAutoRepeat():
            return True
        if down:
            self._held.add(event.key())
        else:
            self._held.discard(event.key())
        if self._held and not self._fly_timer.isActive():
            self._finish()
            self._begin()
            self._fly_time = time.monotonic()
            self._fly_timer.start()
        elif not self._held:
            self.stop_flying()
        return True

    def stop_flying(self) -> None:
        self._held.clear()
        if self._fly_timer.isActive():
            self._fly_timer.stop()
            self._finish()

    def _fly_step(self) -> None:
        now = time.monotonic()
        seconds, self._fly_time = now - self._fly_time, now
        ways = [self.FLY_KEYS[key] for key in self._held]
        right, forward, up = (float(sum(parts)) for parts in zip(*ways, strict=True))
        move = (right, forward, up)
        self._show(navigation.fly(self._live(), self._ground(), move, seconds, self._boost))

    # the gesture

    def stop(self) -> None:
        """Ends whatever is under way, as a command."""
        self.stop_flying()
        self._finish()

    def _begin(self) -> None:
        self._gesture = self.bridge.gesture("setCamera")
        self._camera = self.bridge.state.camera

    def _live(self) -> Camera:
        return self._camera or self.bridge.state.camera

    def _show(self, camera: Camera) -> None:
        self._camera = camera
        self._gesture.update(
            {"eye": list(camera.eye), "target": list(camera.target), "up": list(camera.up)}
        )
        self.canvas.moved()

    def _finish(self) -> None:
        self._wheel_rest.stop()
        self._wheel_at = None
        self.kind = ""
        gesture, self._gesture, self._camera = self._gesture, None, None
        if gesture is not None:
            gesture.end()
            self.canvas.moved()

    def _anchor(self, position: QPointF) -> Vec3:
        picked = self.bridge.pick(position.x(), position.y())
        if picked is not None:
            return picked
        return navigation.anchor(self._live(), self._ground(), position.x(), position.y())

    def _ground(self) -> navigation.Ground:
        return navigation.Ground(
            (max(1, self.canvas.width()), max(1, self.canvas.height())),
            self.bridge.view.scene_bounds(),
            self.bridge.display_scale(),
        )
