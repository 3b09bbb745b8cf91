"""How points are coloured, with the distribution of the values under the range and its handles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from oniyanma.scene import palettes

from .. import theme as themes
from ..forms import FormError, parse_number
from ..numbers import decimals_of, number, significant
from ..text import tr
from ..values import COLOR_MODES

NEEDS = {
    "intensity": "intensity",
    "return": "return_number",
    "source": "point_source_id",
    "gpsTime": "gps_time",
    "classification": "classification",
}
NO_RANGE = ("rgb", "classification", "return", "source", "uniform")
BINS = 96


class Ramp(QWidget):
    """The palette in force, drawn as a bar."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(8)
        self._image: QImage | None = None

    def show_palette(self, name: str) -> None:
        table = np.ascontiguousarray(palettes.palette(name)[:, :3])
        self._image = QImage(
            table.tobytes(), len(table), 1, len(table) * 3, QImage.Format.Format_RGB888
        ).copy()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._image is not None:
            with QPainter(self) as painter:
                painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
                painter.drawImage(self.rect(), self._image)


class ColourBox(QWidget):
    """Mode, palette, histogram, range. The handles are live and give one command when let go."""

    def __init__(self, bridge: Any, keeper: themes.ThemeKeeper) -> None:
        super().__init__()
        self.bridge = bridge
        self.keeper = keeper
        self._gesture: Any = None
        self._stale = True
        column = QVBoxLayout(self)
        column.setContentsMargins(4, 0, 4, 4)
        column.setSpacing(6)
        form = QFormLayout()
        form.setHorizontalSpacing(12)
        self.mode = QComboBox()
        self.mode.setAccessibleName(tr("Colour by"))
        self.mode.setObjectName("inspector.mode")
        self.mode.activated.connect(self._choose_mode)
        self.palette_box = QComboBox()
        self.palette_box.setAccessibleName(tr("Palette"))
        self.palette_box.setObjectName("inspector.palette")
        for name in palettes.PALETTES:
            self.palette_box.addItem(tr(name.capitalize()), name)
        self.palette_box.activated.connect(self._choose_palette)
        form.addRow(tr("By"), self.mode)
        self.palette_label = QLabel(tr("Palette"))
        form.addRow(self.palette_label, self.palette_box)
        column.addLayout(form)

        self.plot = pg.PlotWidget()
        self.plot.setFixedHeight(72)
        self.plot.setMenuEnabled(False)
        self.plot.setMouseEnabled(False, False)
        self.plot.hideButtons()
        self.plot.hideAxis("left")
        self.plot.hideAxis("bottom")
        self.plot.setAccessibleName(tr("Distribution of the values"))
        self.plot.getPlotItem().setContentsMargins(0, 0, 0, 0)
        self.bars = pg.PlotCurveItem([0, 1], [0], stepMode="center", fillLevel=0)
        self.plot.addItem(self.bars)
        self.region = pg.LinearRegionItem(swapMode="block")
        self.region.sigRegionChanged.connect(self._dragging)
        self.region.sigRegionChangeFinished.connect(self._dragged)
        self.plot.addItem(self.region)
        self.ramp = Ramp()
        column.addWidget(self.plot)
        column.addWidget(self.ramp)
        ends = QHBoxLayout()
        self.low, self.high = QLineEdit(), QLineEdit()
        for line, name in ((self.low, tr("Lower end")), (self.high, tr("Upper end"))):
            line.setAccessibleName(name)
            line.setFont(themes.font(12, tabular=True))
            line.setMaximumWidth(96)
            line.editingFinished.connect(self._typed)
        self.high.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.auto = QPushButton(tr("Automatic"))
        self.auto.setObjectName("inspector.auto")
        self.auto.setProperty("kind", "quiet")
        self.auto.setToolTip(tr("From the 2nd to the 98th percentile of what is on screen"))
        self.auto.clicked.connect(lambda: bridge.run("setColorMode", self._args()))
        ends.addWidget(self.low)
        ends.addStretch(1)
        ends.addWidget(self.auto)
        ends.addStretch(1)
        ends.addWidget(self.high)
        self.ends = QWidget()
        self.ends.setLayout(ends)
        ends.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.ends)

        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(250)
        self._soon.timeout.connect(self.refresh)
        bridge.state_changed.connect(self._on_state)
        bridge.resident_changed.connect(self._later)
        keeper.changed.connect(lambda _: self._dress())
        self._dress()
        self._modes()

    # following the scene

    def _on_state(self, before: Any, after: Any) -> None:
        if before is None or before.clouds != after.clouds:
            self._modes()
        if before is None or before.display != after.display or before.clouds != after.clouds:
            self._soon.start(0)
        elif before.events != after.events or before.clip != after.clip:
            self._later()

    def _later(self) -> None:
        if not self._soon.isActive():
            # counting millions of points takes a moment: seldom while more are coming
            self._soon.start(250 if self.bridge.scene.settled else 1500)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self._soon.start(0)

    def _modes(self) -> None:
        """Only what the open clouds have: a mode that would be grey is not offered."""
        names: set[str] = set()
        extra: list[str] = []
        colored = False
        for entry in self.bridge.state.clouds:
            info = self.bridge.info(entry.id)
            if info is None:
                continue
            colored = colored or bool(info.color_depth)
            for dimension in info.dimensions:
                names.add(dimension.name)
                if dimension.extra and dimension.name not in extra:
                    extra.append(dimension.name)
        self.mode.clear()
        for mode, title in COLOR_MODES:
            need = NEEDS.get(mode)
            if (mode == "rgb" and not colored) or (need is not None and need not in names):
                continue
            self.mode.addItem(tr(title), mode)
        for name in extra:
            self.mode.addItem(name, name)
        self.refresh()

    def refresh(self) -> None:
        """Shows the mode, the palette, the distribution and the range in force."""
        if not self.isVisible():
            self._stale = True
            return
        self._stale = False
        state = self.bridge.state
        color = state.display.color
        self.mode.setCurrentIndex(self.mode.findData(color.mode))
        ranged = color.mode not in NO_RANGE and bool(state.clouds)
        for widget in (self.plot, self.ramp, self.ends, self.palette_box, self.palette_label):
            widget.setVisible(ranged)
        if not ranged:
            return
        name = palettes.palette_of(color.mode, color.palette)
        self.palette_box.setCurrentIndex(self.palette_box.findData(name))
        self.ramp.show_palette(name)
        self.auto.setEnabled(color.range is not None)
        low, high = color.range or self._in_force()
        self._distribution(color.mode, low, high)
        if self._gesture is None:
            self.region.blockSignals(True)
            self.region.setRegion((low, high))
            self.region.blockSignals(False)
        self._ends(low, high)

    def _in_force(self) -> tuple[float, float]:
        for entry in self.bridge.state.clouds:
            if self.bridge.info(entry.id) is not None:
                low, high = self.bridge.view.color_range(entry.id)
                return float(low), float(high)
        return 0.0, 1.0

    def _distribution(self, mode: str, low: float, high: float) -> None:
        if mode == "elevation":
            answer = self.bridge.read("queryElevation", {"bins": BINS})
        else:
            attribute = NEEDS.get(mode, mode)
            answer = self.bridge.read("queryHistogram", {"attribute": attribute, "bins": BINS})
        counts = [_count(entry) for entry in (answer or {}).get("bins", [])]
        if not answer or not counts or answer.get("min") is None:
            self.bars.setData([0, 1], [0])
            return
        lowest, highest = float(answer["min"]), float(answer["max"])
        edges = np.linspace(lowest, max(highest, lowest + 1e-9), len(counts) + 1)
        self.bars.setData(edges, np.sqrt(np.asarray(counts, float)))
        pad = (max(high, highest) - min(low, lowest)) * 0.02
        self.plot.setXRange(min(low, lowest) - pad, max(high, highest) + pad, padding=0)

    def _ends(self, low: float, high: float) -> None:
        digits = 2
        info = self.bridge.first_info()
        if self.bridge.state.display.color.mode == "elevation" and info is not None:
            digits = decimals_of(info.scale[2])
        for line, value in ((self.low, low), (self.high, high)):
            if not line.hasFocus():
                whole = abs(value) >= 1e5
                unit = self._unit()
                line.setText(
                    significant(value, unit) if whole else number(value, min(digits, 3), unit)
                )

    def _unit(self) -> str:
        """The unit of the values, where they have one."""
        heights = self.bridge.state.display.color.mode == "elevation"
        return str(self.bridge.height_unit()) if heights else ""

    def _value(self, line: QLineEdit) -> float | None:
        """What was typed, with or without its unit."""
        return parse_number(line.text().strip().removesuffix(self._unit() or " "))

    # changing it

    def _args(self, limits: tuple[float, float] | None = None) -> dict[str, Any]:
        color = self.bridge.state.display.color
        args: dict[str, Any] = {"mode": color.mode}
        if color.palette:
            args["palette"] = color.palette
        if limits is not None:
            args["range"] = [float(limits[0]), float(limits[1])]
        return args

    def _choose_mode(self, place: int) -> None:
        self.bridge.run("setColorMode", {"mode": self.mode.itemData(place)})

    def _choose_palette(self, place: int) -> None:
        args = self._args(self.bridge.state.display.color.range)
        self.bridge.run("setColorMode", {**args, "palette": self.palette_box.itemData(place)})

    def _dragging(self) -> None:
        if self._gesture is None:
            self._gesture = self.bridge.gesture("setColorMode")
        low, high = self.region.getRegion()
        self._gesture.update(self._args((low, high)))
        self._ends(low, high)
        self.bridge.live_changed()

    def _dragged(self) -> None:
        gesture, self._gesture = self._gesture, None
        if gesture is not None:
            gesture.end()

    def _typed(self) -> None:
        if not (self.low.isModified() or self.high.isModified()):
            return
        for line in (self.low, self.high):
            line.setModified(False)
        try:
            low, high = self._value(self.low), self._value(self.high)
        except FormError:
            self.refresh()
            return
        if low is not None and high is not None and low < high:
            self.bridge.run("setColorMode", self._args((low, high)))

    def _dress(self) -> None:
        theme = self.keeper.theme
        self.plot.setBackground(theme.raised)
        self.bars.setPen(None)
        self.bars.setBrush(theme.color("muted", 150))
        amber = theme.color("accent")
        pen = pg.mkPen(amber, width=2)
        for line in self.region.lines:
            line.setPen(pen)
            line.setHoverPen(pg.mkPen(QColor(theme.accent_text), width=4))
        self.region.setBrush(pg.mkBrush(theme.color("accent", 36)))
        self.region.setHoverBrush(pg.mkBrush(theme.color("accent", 56)))


def _count(entry: Any) -> float:
    return float(entry["count"] if isinstance(entry, dict) else entry)
