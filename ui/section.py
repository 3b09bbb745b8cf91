"""The section: a slice of the cloud seen from the side, in which everything can be selected.

A section is a turned clip box and an orthographic camera, both set by commands; leaving it puts
back the camera and the clip there were. What is selected in it is what the slice shows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDoubleSpinBox, QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from oniyanma.clouds.model import Vec3
from oniyanma.rules.model import Box
from oniyanma.scene.camera import fit
from oniyanma.scene.state import Camera, SceneState

from .cards import room_of
from .text import tr

SHARE = 12.0  # the first width is the length over this


class Section:
    """One slice: its line in plan, its width, its heights; pure arithmetic."""

    def __init__(self, start: Vec3, end: Vec3, width: float, z: tuple[float, float]) -> None:
        self.start = np.asarray(start[:2], float)
        self.end = np.asarray(end[:2], float)
        self.width = width
        self.z = z

    @property
    def length(self) -> float:
        return float(np.hypot(*(self.end - self.start)))

    @property
    def along(self) -> np.ndarray:
        return (self.end - self.start) / self.length

    @property
    def across(self) -> np.ndarray:
        """To the left of the line; the camera looks this way, so the start is at the left."""
        x, y = self.along
        return np.array((-y, x))

    def stepped(self, steps: int) -> Section:
        """The slice beside this one: a whole width further."""
        shift = self.across * (self.width * steps)
        a, b = self.start + shift, self.end + shift
        return Section((a[0], a[1], 0.0), (b[0], b[1], 0.0), self.width, self.z)

    def box(self) -> Box:
        """The turned clip box, its long side along the line."""
        centre = (self.start + self.end) / 2
        half = np.array((self.length / 2, self.width / 2))
        low, high = centre - half, centre + half
        angle = math.degrees(math.atan2(self.along[1], self.along[0]))
        return Box(
            (float(low[0]), float(low[1]), self.z[0]),
            (float(high[0]), float(high[1]), self.z[1]),
            angle,
        )

    def camera(self, before: Camera, viewport: tuple[int, int]) -> Camera:
        """Orthographic, level, from the right of the line, with the whole slice in the picture."""
        centre = (self.start + self.end) / 2
        middle = (self.z[0] + self.z[1]) / 2
        tall = self.z[1] - self.z[0]
        reach = max(self.length, tall, 1e-6)
        target = (float(centre[0]), float(centre[1]), middle)
        back = -self.across * reach
        eye = (target[0] + float(back[0]), target[1] + float(back[1]), middle)
        looking = Camera(
            eye=eye, target=target, up=(0.0, 0.0, 1.0), projection="orthographic", fov=before.fov
        )
        half_line = np.abs(self.along) * self.length / 2 + np.abs(self.across) * self.width / 2
        low = (target[0] - half_line[0], target[1] - half_line[1], self.z[0])
        high = (target[0] + half_line[0], target[1] + half_line[1], self.z[1])
        framed = fit(looking, (low, high), viewport)
        # `fit` frames the box around the turned slice, which is at most √2 too wide
        span = float(np.hypot(framed.eye[0] - framed.target[0], framed.eye[1] - framed.target[1]))
        aspect = viewport[0] / max(1, viewport[1])
        slope = math.tan(math.radians(looking.fov) / 2)
        need = max(tall, self.length / aspect) * 0.56 / slope
        span = min(span, max(need, 1e-6))
        eye = (
            target[0] - float(self.across[0]) * span,
            target[1] - float(self.across[1]) * span,
            middle,
        )
        return replace(looking, eye=eye)


class SectionBar(QFrame):
    """While a section is shown: its width, back and forth, and the way out."""

    stepped = Signal(int)
    widened = Signal(float)
    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("actionBar")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 6, 4)
        row.setSpacing(6)
        name = QLabel(tr("SECTION"))
        name.setProperty("role", "accent")
        self.width_box = QDoubleSpinBox()
        self.width_box.setObjectName("section.width")
        self.width_box.setAccessibleName(tr("Width of the section"))
        self.width_box.setRange(0.01, 1e6)
        self.width_box.setDecimals(2)
        self.width_box.setMinimumWidth(120)
        self.width_box.setKeyboardTracking(False)
        self.width_box.lineEdit().setTextMargins(6, 0, 6, 0)
        self.width_box.valueChanged.connect(self.widened)
        row.addWidget(name)
        row.addWidget(QLabel(tr("width")))
        row.addWidget(self.width_box)
        for title, key, step in ((tr("◀ Back"), "[", -1), (tr("Forth ▶"), "]", 1)):
            button = QPushButton(f"{title}  {key}")
            button.setProperty("kind", "quiet")
            button.setObjectName(f"section.step{step}")
            button.clicked.connect(lambda _=False, step=step: self.stepped.emit(step))
            row.addWidget(button)
        leave = QPushButton(tr("Leave  Esc"))
        leave.setObjectName("section.leave")
        leave.setProperty("kind", "quiet")
        leave.clicked.connect(self.left)
        row.addWidget(leave)
        self.hide()

    def show_section(self, section: Section, unit: str) -> None:
        self.width_box.blockSignals(True)
        self.width_box.setSuffix(f"\N{NO-BREAK SPACE}{unit}" if unit else "")
        self.width_box.setSingleStep(max(0.01, section.width / 10))
        self.width_box.setValue(section.width)
        self.width_box.blockSignals(False)
        self.adjustSize()
        self.show()
        self.place()

    def place(self) -> None:
        room = room_of(self)
        self.move(max(16, (room.width() - self.width()) // 2), 60)
        self.raise_()


class SectionView:
    """Enters, steps and leaves sections through the bridge."""

    def __init__(self, bridge: Any, bar: SectionBar) -> None:
        self.bridge = bridge
        self.bar = bar
        self.section: Section | None = None
        self._before: SceneState | None = None
        bar.stepped.connect(self.step)
        bar.widened.connect(self.widen)
        bar.left.connect(self.leave)

    @property
    def active(self) -> bool:
        return self.section is not None

    def enter(self, start: Vec3, end: Vec3) -> None:
        bounds = self.bridge.view.scene_bounds()
        if bounds is None:
            return
        length = math.hypot(end[0] - start[0], end[1] - start[1])
        pad = (bounds[1][2] - bounds[0][2]) * 0.01
        if self._before is None:
            self._before = self.bridge.state
        self._show(
            Section(start, end, max(length / SHARE, 1e-3), (bounds[0][2] - pad, bounds[1][2] + pad))
        )

    def step(self, steps: int) -> None:
        if self.section is not None:
            self._show(self.section.stepped(steps))

    def widen(self, width: float) -> None:
        if self.section is not None and width > 0:
            self.section.width = width
            self._show(self.section, frame=False)

    def leave(self) -> None:
        """The camera and the clip there were before."""
        before, self._before, self.section = self._before, None, None
        self.bar.hide()
        if before is None:
            return
        clip = before.clip
        if clip is not None and isinstance(clip.shape, Box):
            box = {"min": list(clip.shape.min), "max": list(clip.shape.max)}
            if clip.shape.rotation:
                box["rotation"] = clip.shape.rotation  # type: ignore[assignment]
            self.bridge.run("setClip", {"box": box, "mode": clip.mode})
        else:
            self.bridge.run("setClip", {"clear": True})
        camera = before.camera
        self.bridge.run(
            "setCamera",
            {
                "eye": list(camera.eye),
                "target": list(camera.target),
                "up": list(camera.up),
                "projection": camera.projection,
            },
        )

    def _show(self, section: Section, *, frame: bool = True) -> None:
        self.section = section
        box = section.box()
        self.bridge.run(
            "setClip",
            {"box": {"min": list(box.min), "max": list(box.max), "rotation": box.rotation}},
        )
        if frame:
            heights = self.bridge.section_heights(section.start, section.end, section.width)
            framed = Section(
                (*section.start, 0.0), (*section.end, 0.0), section.width, heights or section.z
            )
            camera = framed.camera(self.bridge.state.camera, self.bridge.state.viewport)
            self.bridge.run(
                "setCamera",
                {
                    "eye": list(camera.eye),
                    "target": list(camera.target),
                    "up": list(camera.up),
                    "projection": "orthographic",
                },
            )
        self.bar.show_section(section, self.bridge.unit())
