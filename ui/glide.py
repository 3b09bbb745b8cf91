"""The way from one view to the next, shown in a moment: so that nobody loses the place."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication, QStyle

from oniyanma.scene.state import Camera

SECONDS = 0.18
FRAME_MS = 16


def wanted() -> bool:
    """Whether the system shows animations."""
    style = QApplication.style()
    return style.styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration) > 0


def between(start: Camera, end: Camera, share: float) -> Camera:
    """A camera a share (0..1) of the way along: slow at both ends, its target and its distance
    going straight, so that what both see stays in the picture."""
    ease = share * share * (3.0 - 2.0 * share)

    def mix(a: Any, b: Any) -> Any:
        return tuple(x + (y - x) * ease for x, y in zip(a, b, strict=True))

    return replace(
        end,
        eye=mix(start.eye, end.eye),
        target=mix(start.target, end.target),
        up=mix(start.up, end.up),
    )


class Glide(QObject):
    """Only what is drawn is on its way: the state, counts and picks are there at once."""

    stepped = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._start: Camera | None = None
        self._began = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._step)

    @property
    def active(self) -> bool:
        return self._start is not None

    def begin(self, start: Camera, end: Camera) -> None:
        """From the camera that was shown; a change of projection is a cut."""
        turned = sum(a * b for a, b in zip(_way(start), _way(end), strict=True)) < -0.5
        if start == end or start.projection != end.projection or turned or not wanted():
            self.stop()
            return
        self._start, self._began = start, monotonic()
        self._timer.start()

    def camera(self, end: Camera) -> Camera:
        """Where the way has come to."""
        share = (monotonic() - self._began) / SECONDS
        if self._start is None or share >= 1.0:
            return end
        return between(self._start, end, max(0.0, share))

    def stop(self) -> None:
        self._start = None
        self._timer.stop()

    def _step(self) -> None:
        if monotonic() - self._began >= SECONDS:
            self.stop()
        self.stepped.emit()


def _way(camera: Camera) -> tuple[float, ...]:
    """Where a camera looks, as a direction of length one."""
    way = [t - e for t, e in zip(camera.target, camera.eye, strict=True)]
    length = sum(part * part for part in way) ** 0.5 or 1.0
    return tuple(part / length for part in way)
