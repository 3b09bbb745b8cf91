"""The cube at the top right: how the world lies in this view; a click on a face looks from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF, QTransform
from PySide6.QtWidgets import QWidget

from . import theme as themes
from .text import tr

# face: preset, label, normal, right (in the face), up (in the face)
FACES = (
    ("top", "TOP", (0, 0, 1), (1, 0, 0), (0, 1, 0)),
    ("bottom", "BOTTOM", (0, 0, -1), (1, 0, 0), (0, -1, 0)),
    ("front", "FRONT", (0, -1, 0), (1, 0, 0), (0, 0, 1)),
    ("back", "BACK", (0, 1, 0), (-1, 0, 0), (0, 0, 1)),
    ("left", "LEFT", (-1, 0, 0), (0, -1, 0), (0, 0, 1)),
    ("right", "RIGHT", (1, 0, 0), (0, 1, 0), (0, 0, 1)),
)
SIZE = 88


class NavCube(QWidget):
    """Six faces, each the button of a standard view. The keys 1 to 7 do the same."""

    def __init__(self, canvas: QWidget, bridge: Any, keeper: themes.ThemeKeeper) -> None:
        super().__init__(canvas)
        self.canvas: Any = canvas
        self.bridge = bridge
        self.keeper = keeper
        self.over = ""
        self.setObjectName("navCube")
        self.setMouseTracking(True)
        self.setFixedSize(QSize(SIZE, SIZE))
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.setAccessibleName(tr("View cube; the keys 1 to 7 choose a standard view"))
        bridge.state_changed.connect(lambda *_: self.update())

    def faces(self) -> list[tuple[str, str, float, QPolygonF]]:
        """The faces turned to the person, farthest first: preset, label, facing, outline."""
        turn = self.canvas.drawn_lens().rotation[:3, :3]
        turn = turn / np.linalg.norm(turn, axis=1, keepdims=True)
        half = SIZE * 0.27
        middle = SIZE / 2
        found = []
        for preset, label, normal, right, up in FACES:
            n, r, u = (turn @ np.array(v, float) for v in (normal, right, up))
            if n[2] <= 0.05:
                continue
            corners = [n - r + u, n + r + u, n + r - u, n - r - u]
            outline = QPolygonF(
                [QPointF(middle + c[0] * half, middle - c[1] * half) for c in corners]
            )
            found.append((preset, label, float(n[2]), outline))
        return sorted(found, key=lambda face: face[2])

    def face_at(self, position: QPointF) -> str:
        for preset, _, _, outline in reversed(self.faces()):
            if outline.containsPoint(position, Qt.FillRule.OddEvenFill):
                return preset
        return ""

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.bridge.state.clouds:
            return
        theme = themes.DARK
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(themes.font(11, weight=600))
            unit = QPolygonF([QPointF(0, 0), QPointF(64, 0), QPointF(64, 64), QPointF(0, 64)])
            for preset, label, facing, outline in self.faces():
                over = preset == self.over
                painter.setPen(QPen(theme.color("accent" if over else "muted", 200), 1.0))
                painter.setBrush(
                    theme.color("accent", 235)
                    if over
                    else theme.color("raised", 160 + round(70 * facing))
                )
                painter.drawPolygon(outline)
                turn = QTransform()
                if facing > 0.25 and QTransform.quadToQuad(unit, outline, turn):
                    painter.save()
                    painter.setTransform(turn, True)
                    painter.setPen(theme.color("on_accent" if over else "text"))
                    painter.drawText(0, 0, 64, 64, Qt.AlignmentFlag.AlignCenter, tr(label))
                    painter.restore()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        over = self.face_at(event.position())
        if over != self.over:
            self.over = over
            self.update()

    def leaveEvent(self, event: Any) -> None:
        self.over = ""
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if preset := self.face_at(event.position()):
            self.bridge.run("setCamera", {"preset": preset, "animate": True})
        else:
            event.ignore()
