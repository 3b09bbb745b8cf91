"""What lies over the points, painted by Qt: measurements, pins, tools, axes, scale bar.

A transparent child of the canvas: following the cursor repaints this and no point. What is
painted is the data of `oniyanma.scene.overlays`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QWidget

from oniyanma.scene import overlays as data
from oniyanma.scene.camera import Matrices

from . import theme as themes
from .bridge import StateView
from .numbers import number

INK = "#f3efe6"  # on the picture, in both themes
HALO = QColor(8, 9, 10, 200)
EDGES = [(a, b) for a, b in itertools.combinations(range(8), 2) if bin(a ^ b).count("1") == 1]


def box_corners(box: data.BoxOutline | Any) -> np.ndarray:
    """The eight corners (8, 3) of a turned box, in world coordinates; bit order z, y, x."""
    low, high = np.asarray(box.min, float), np.asarray(box.max, float)
    centre, half = (low + high) / 2, (high - low) / 2
    signs = np.array([[(n >> k & 1) * 2 - 1 for k in range(3)] for n in range(8)], float)
    local = signs * half
    angle = np.radians(box.rotation)
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = local[:, 0] * cos - local[:, 1] * sin, local[:, 0] * sin + local[:, 1] * cos
    return np.column_stack((x, y, local[:, 2])) + centre


class Overlay(QWidget):
    """Paints the scene's overlays and, above them, those of the active tool."""

    def __init__(self, canvas: QWidget, bridge: Any, keeper: themes.ThemeKeeper) -> None:
        super().__init__(canvas)
        self.canvas: Any = canvas
        self.bridge = bridge
        self.keeper = keeper
        self.value = ""  # the tool's live value, at the cursor
        self.lit: Any = None  # (n, 3) world points of an edit that was clicked, or None
        self.cursor_at = QPointF()
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        bridge.state_changed.connect(lambda *_: self.update())

    def paintEvent(self, event: QPaintEvent) -> None:
        view = self.bridge.view
        if not view.state.clouds:
            return
        viewport = (max(1, self.width()), max(1, self.height()))
        lens = self.canvas.drawn_lens()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            tool = self.canvas.tool
            # a measuring tool draws its own unfinished measure; the live state has it as well
            settled = getattr(tool, "previews_record", False)
            shown = StateView(view, self.bridge.committed) if settled else view
            shapes = list(data.overlays_of(shown, viewport, furniture=False, figures=number))
            shapes += data.axes(lens)
            unit = data.scene_unit(view)
            shapes += data.scale_bar(lens, view.state.camera.target, unit, number)
            if (pivot := self.canvas.navigator.pivot) is not None:
                shapes.append(data.Marker(pivot, "ring", data.ACCENT, 14.0))
            draw(painter, lens, shapes)
            if self.lit is not None and len(self.lit):
                _dots(painter, lens, self.lit, self.keeper.theme.color("accent", 200))
            if tool is not None:
                draw(painter, lens, [*tool.overlays(), *cross(self.canvas.aim.at)])
                if self.value:
                    at = self.cursor_at + QPointF(16, -18)
                    draw(
                        painter,
                        lens,
                        [
                            data.Label(
                                self.value,
                                pixel=(at.x(), at.y()),
                                anchor="left",
                                pill=True,
                                bold=True,
                            )
                        ],
                    )


def cross(at: QPointF | None) -> list[data.Overlay]:
    """The four arms of the cross that arrow keys move."""
    if at is None:
        return []
    arms = [
        ((at.x() + 4 * x, at.y() + 4 * y), (at.x() + 14 * x, at.y() + 14 * y))
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))
    ]
    return [data.ScreenPolygon(arm, data.ACCENT, 2.0, closed=False) for arm in arms]


def draw(painter: QPainter, lens: Matrices, shapes: Iterable[data.Overlay]) -> None:
    """Paints overlays in their order; what lies behind the eye is left out."""
    for shape in shapes:
        if isinstance(shape, data.Line):
            _path(
                painter,
                _pixels(lens, shape.points),
                shape.color,
                shape.width,
                closed=shape.closed,
                dashed=shape.dashed,
            )
        elif isinstance(shape, data.BoxOutline):
            corners = _pixels(lens, box_corners(shape))
            for a, b in EDGES:
                _path(painter, [corners[a], corners[b]], shape.color, shape.width)
        elif isinstance(shape, data.ScreenPolygon):
            _path(
                painter,
                [QPointF(x, y) for x, y in shape.points],
                shape.color,
                shape.width,
                closed=shape.closed,
                dashed=shape.dashed,
                fill=shape.fill,
            )
        elif isinstance(shape, data.Marker):
            if (at := _pixels(lens, [shape.at])[0]) is not None:
                _marker(painter, at, shape)
        else:
            at = QPointF(*shape.pixel) if shape.pixel is not None else None
            if shape.at is not None:
                at = _pixels(lens, [shape.at])[0]
            if at is not None:
                _label(painter, at + QPointF(*shape.offset), shape)


def _dots(painter: QPainter, lens: Matrices, points: np.ndarray, color: QColor) -> None:
    places, depth = lens.project(points)
    seen = places[depth > 0] if lens.perspective else places
    pen = QPen(color, 3.0)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    painter.drawPoints(QPolygonF([QPointF(x, y) for x, y in seen.tolist()]))


def _pixels(lens: Matrices, points: Any) -> list[QPointF | None]:
    places, depth = lens.project(points)
    return [
        QPointF(x, y) if d > 0 or not lens.perspective else None
        for (x, y), d in zip(places.tolist(), depth.tolist(), strict=True)
    ]


def _path(
    painter: QPainter,
    points: list[QPointF | None] | list[QPointF],
    color: str,
    width: float,
    *,
    closed: bool = False,
    dashed: bool = False,
    fill: float = 0.0,
) -> None:
    seen = [point for point in points if point is not None]
    if len(seen) < 2:
        return
    line = QPolygonF(seen)
    if closed and len(seen) > 2 and len(seen) == len(points):
        line.append(seen[0])
    ink = QColor(color or INK)
    if fill:
        inside = QColor(ink)
        inside.setAlphaF(fill)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(inside)
        painter.drawPolygon(line, Qt.FillRule.OddEvenFill)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen_color, pen_width in ((HALO, width + 2.0), (ink, width)):
        pen = QPen(pen_color, pen_width)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        if dashed:
            pen.setDashPattern([4, 4])
        painter.setPen(pen)
        painter.drawPolyline(line)


def _marker(painter: QPainter, at: QPointF, marker: data.Marker) -> None:
    ink = QColor(marker.color or INK)
    size = marker.size
    painter.setPen(QPen(HALO, 1.5))
    painter.setBrush(Qt.BrushStyle.NoBrush if marker.hollow else ink)
    if marker.shape == "dot":
        painter.drawEllipse(at, size / 2, size / 2)
    elif marker.shape == "pin":
        path = QPainterPath(at)
        radius = size * 0.36
        centre = at - QPointF(0, size - radius)
        path.cubicTo(
            at - QPointF(radius * 0.4, size * 0.3),
            centre + QPointF(-radius, radius * 0.9),
            centre + QPointF(-radius, 0),
        )
        path.arcTo(
            QRectF(centre.x() - radius, centre.y() - radius, 2 * radius, 2 * radius), 180, -180
        )
        path.cubicTo(
            centre + QPointF(radius, radius * 0.9), at + QPointF(radius * 0.4, -size * 0.3), at
        )
        if marker.hollow:
            painter.setPen(QPen(ink, 2.0))
        painter.drawPath(path)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(HALO)
        painter.drawEllipse(centre, radius * 0.4, radius * 0.4)
    else:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for color, width in ((HALO, 4.0), (ink, 2.0)):
            painter.setPen(QPen(color, width))
            if marker.shape == "ring":
                painter.drawEllipse(at, size / 2, size / 2)
            else:
                painter.drawLine(at - QPointF(size / 2, 0), at + QPointF(size / 2, 0))
                painter.drawLine(at - QPointF(0, size / 2), at + QPointF(0, size / 2))


def _label(painter: QPainter, at: QPointF, label: data.Label) -> None:
    face = themes.font(round(label.size), weight=600 if label.bold else 400, tabular=True)
    metrics = QFontMetricsF(face)
    width, height = metrics.horizontalAdvance(label.text), metrics.height()
    left = {"center": at.x() - width / 2, "left": at.x(), "right": at.x() - width}[label.anchor]
    box = QRectF(left, at.y() - height / 2, width, height)
    painter.setFont(face)
    if label.pill:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(12, 13, 15, 224))
        painter.drawRoundedRect(box.adjusted(-8, -3, 8, 3), 6, 6)
    else:
        path = QPainterPath()
        path.addText(QPointF(box.left(), box.top() + metrics.ascent()), face, label.text)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(HALO, 3.0))
        painter.drawPath(path)
    painter.setPen(QColor(label.color or INK))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextDontClip, label.text)
