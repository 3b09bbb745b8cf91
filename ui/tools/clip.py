"""The clip box: six handles on its faces, one that turns it, one that moves it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QMouseEvent

from oniyanma.clouds.model import Vec3
from oniyanma.rules.model import Box
from oniyanma.scene.camera import as_vec3
from oniyanma.scene.overlays import CLIP_COLOR, BoxOutline, Marker, Overlay

from ..text import tr
from .base import Host, Tool

REACH = 12.0  # pixels around a handle
ACCENT = "#f5a623"
SHAPES: dict[str, Literal["dot", "ring", "cross"]] = {
    "face": "dot",
    "turn": "ring",
    "move": "cross",
}


@dataclass(frozen=True)
class Handle:
    """``axis`` 0..2 and ``side`` -1 or 1: a face. "turn" and "move" for the others."""

    kind: str
    axis: int = 0
    side: int = 0


HANDLES = (
    *(Handle("face", axis, side) for axis in range(3) for side in (-1, 1)),
    Handle("turn"),
    Handle("move"),
)


class ClipTool(Tool):
    name, title = "clip", "Clip box"
    drags = True

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.gesture: Any = None
        self.held: Handle | None = None
        self.over: Handle | None = None
        self.box = self._first_box()
        self.begun: Box | None = None
        if self.box is not None and not self._has_box():
            self.host.bridge.run("setClip", _args(self.box))

    def _has_box(self) -> bool:
        clip = self.host.bridge.state.clip
        return clip is not None and isinstance(clip.shape, Box)

    def _first_box(self) -> Box | None:
        """The clip there is, else the selection's box, else the middle of the scene."""
        bridge = self.host.bridge
        clip = bridge.state.clip
        if clip is not None and isinstance(clip.shape, Box):
            return clip.shape
        bounds = bridge.selection_bounds()
        if bounds is not None:
            return Box(*bounds)
        bounds = bridge.view.scene_bounds()
        if bounds is None:
            return None
        low, high = np.asarray(bounds[0]), np.asarray(bounds[1])
        centre, half = (low + high) / 2, (high - low) / 2 * np.array((0.5, 0.5, 1.0))
        return Box(as_vec3(centre - half), as_vec3(centre + half))

    def step(self) -> str:
        if self.box is None:
            return tr("Open a cloud first")
        return tr("Drag a handle; the ring turns, the cross moves")

    def keys(self) -> Sequence[tuple[str, str]]:
        return ((tr("Shift+X"), tr("remove")), (tr("Esc"), tr("done")))

    def place(self, handle: Handle, box: Box | None = None) -> Vec3:
        """Where a handle stands in the world."""
        box = box or self.box
        assert box is not None
        centre, half, axes = _frame(box)
        if handle.kind == "face":
            return as_vec3(centre + axes[handle.axis] * half[handle.axis] * handle.side)
        if handle.kind == "turn":
            return as_vec3(centre + axes[0] * half[0] + axes[1] * half[1] + axes[2] * half[2])
        return as_vec3(centre)

    def at(self, position: QPointF) -> Handle | None:
        """The nearest handle within reach."""
        if self.box is None:
            return None
        places, depth = self.host.lens().project([self.place(handle) for handle in HANDLES])
        away = np.hypot(places[:, 0] - position.x(), places[:, 1] - position.y())
        away[~(depth > 0)] = np.inf
        best = int(np.argmin(away))
        return HANDLES[best] if away[best] <= REACH else None

    def press(self, event: QMouseEvent) -> bool:
        self.held = self.at(event.position())
        if self.held is None:
            return False
        self.cursor = event.position()
        self.begun = self.box
        self.gesture = self.host.bridge.gesture("setClip")
        self.host.previewing_clip(True)
        return True

    def move(self, event: QMouseEvent) -> None:
        if self.held is None:
            self.over = self.at(event.position())
        elif self.begun is not None:
            self.box = self._dragged(self.held, self.begun, event.position())
            self.gesture.update(_args(self.box))
        self.host.refresh()

    def release(self, event: QMouseEvent) -> None:
        if self.held is None:
            return
        self.held = None
        self.host.previewing_clip(False)
        if self.gesture is not None:
            self.gesture.end()
            self.gesture = None
        self.host.refresh()

    def _dragged(self, handle: Handle, box: Box, position: QPointF) -> Box:
        """The box after its handle went from where the drag began to ``position``."""
        lens = self.host.lens()
        centre, half, axes = _frame(box)
        start = np.asarray(self.place(handle, box))
        if handle.kind == "face":
            along = axes[handle.axis]
            size = float(half.max())
            (a, b), _ = lens.project([start, start + along * size * 0.1])
            way = b - a
            length = float(way @ way)
            if length < 1e-6:
                return box
            moved = np.array((position.x() - self.cursor.x(), position.y() - self.cursor.y()))
            step = float(moved @ way) / length * size * 0.1
            grown = half.copy()
            grown[handle.axis] = max(half[handle.axis] + step * handle.side / 2, size * 1e-4)
            shift = (grown[handle.axis] - half[handle.axis]) * handle.side
            return _box(centre + along * shift, grown, box.rotation)
        origin, direction = lens.ray(position.x(), position.y())
        if handle.kind == "turn":
            if abs(direction[2]) < 1e-9:
                return box
            hit = origin + direction * ((start[2] - origin[2]) / direction[2])
            angle = math.degrees(
                math.atan2(hit[1] - centre[1], hit[0] - centre[0]) - math.atan2(half[1], half[0])
            )
            return replace(box, rotation=(angle + 180.0) % 360.0 - 180.0)
        _, depth = lens.project([start])
        a = np.asarray(lens.unproject(self.cursor.x(), self.cursor.y(), float(depth[0])))
        b = np.asarray(lens.unproject(position.x(), position.y(), float(depth[0])))
        return _box(centre + (b - a), half, box.rotation)

    def finish(self, modifiers: Qt.KeyboardModifier) -> None:
        self.host.leave_tool()

    def escape(self) -> None:
        if self.held is not None and self.gesture is not None:
            self.box, self.held = self.begun, None
            self.gesture.cancel()
            self.gesture = None
            self.host.previewing_clip(False)
        else:
            self.host.leave_tool()

    def close(self) -> None:
        if self.gesture is not None:
            self.gesture.cancel()
            self.gesture = None
            self.host.previewing_clip(False)

    def overlays(self) -> list[Overlay]:
        if self.box is None:
            return []
        if self.held is None:  # undo, the palette or a machine may have changed it
            clip = self.host.bridge.state.clip
            if clip is None or not isinstance(clip.shape, Box):
                return []
            self.box = clip.shape
        found: list[Overlay] = [
            BoxOutline(self.box.min, self.box.max, self.box.rotation, width=2.0)
        ]
        for handle in HANDLES:
            hot = handle in (self.over, self.held)
            found.append(
                Marker(
                    self.place(handle),
                    SHAPES[handle.kind],
                    ACCENT if hot else CLIP_COLOR,
                    15.0 if hot else 11.0,
                )
            )
        return found


def _frame(box: Box) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centre (3,), half sizes (3,), and the box's axes as rows (3, 3)."""
    low, high = np.asarray(box.min, float), np.asarray(box.max, float)
    angle = math.radians(box.rotation)
    cos, sin = math.cos(angle), math.sin(angle)
    return (low + high) / 2, (high - low) / 2, np.array(((cos, sin, 0), (-sin, cos, 0), (0, 0, 1)))


def _box(centre: np.ndarray, half: np.ndarray, rotation: float) -> Box:
    return Box(as_vec3(centre - half), as_vec3(centre + half), rotation)


def _args(box: Box) -> dict[str, Any]:
    args: dict[str, Any] = {"min": list(box.min), "max": list(box.max)}
    if box.rotation:
        args["rotation"] = box.rotation
    return {"box": args}
