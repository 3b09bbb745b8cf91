"""The inspector at the right: how points are coloured and drawn, classes, the point below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QCheckBox,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from .. import theme as themes
from ..numbers import number, short_count
from ..text import tr
from .classes import ClassList
from .colour import ColourBox
from .point import PointBox

BUDGETS = (
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
)


class Section(QWidget):
    """A titled part of the inspector that folds."""

    def __init__(self, title: str, body: QWidget, *, key: str = "", open_: bool = True) -> None:
        super().__init__()
        self.head = QToolButton()
        self.head.setText(title)
        self.head.setObjectName(f"section.{key or title}")
        self.head.setProperty("kind", "section")
        self.head.setCheckable(True)
        self.head.setChecked(open_)
        self.head.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.head.setArrowType(Qt.ArrowType.DownArrow if open_ else Qt.ArrowType.RightArrow)
        self.head.setFont(themes.font(12, weight=600))
        self.head.toggled.connect(self._fold)
        self.body = body
        body.setVisible(open_)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 4, 8, 8)
        column.setSpacing(4)
        column.addWidget(self.head)
        column.addWidget(body)
        line = QFrame()
        line.setFixedHeight(1)
        line.setObjectName("rule")
        column.addWidget(line)

    def _fold(self, open_: bool) -> None:
        self.head.setArrowType(Qt.ArrowType.DownArrow if open_ else Qt.ArrowType.RightArrow)
        self.body.setVisible(open_)


class LiveSlider(QSlider):
    """A slider that shows its value live through a gesture and gives one command at the end."""

    def __init__(
        self, bridge: Any, command: str, args: Callable[[int], dict[str, Any]], low: int, high: int
    ) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.bridge = bridge
        self.command = command
        self.args = args
        self.setRange(low, high)
        self.setMinimumWidth(120)
        self._gesture: Any = None
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(400)
        self._rest.timeout.connect(self._end)
        self.valueChanged.connect(self._changed)
        self.sliderReleased.connect(self._end)

    def show_value(self, value: int) -> None:
        """Follows the scene; not while a hand is on it."""
        if not self.isSliderDown() and self._gesture is None and value != self.value():
            self.blockSignals(True)
            self.setValue(value)
            self.blockSignals(False)

    def _changed(self, value: int) -> None:
        if self._gesture is None:
            self._gesture = self.bridge.gesture(self.command)
        self._gesture.update(self.args(value))
        self.bridge.live_changed()
        if not self.isSliderDown():
            self._rest.start()

    def _end(self) -> None:
        self._rest.stop()
        gesture, self._gesture = self._gesture, None
        if gesture is not None:
            gesture.end()


class PointsBox(QWidget):
    """Size and how many."""

    def __init__(self, bridge: Any) -> None:
        super().__init__()
        self.bridge = bridge
        form = QFormLayout(self)
        form.setContentsMargins(4, 0, 4, 4)
        form.setHorizontalSpacing(12)
        self.size_slider = LiveSlider(bridge, "setPointSize", lambda v: {"pixels": v / 2}, 2, 24)
        self.size_slider.setAccessibleName(tr("Point size"))
        self.size_text = QLabel()
        self.adaptive = QCheckBox(tr("Close the gaps"))
        self.adaptive.setToolTip(tr("Points grow to the spacing of their neighbours"))
        self.adaptive.setObjectName("inspector.adaptive")
        self.adaptive.clicked.connect(lambda on: bridge.run("setPointSize", {"adaptive": bool(on)}))
        self.budget = QSlider(Qt.Orientation.Horizontal)
        self.budget.setRange(0, len(BUDGETS) - 1)
        self.budget.setAccessibleName(tr("Point budget"))
        self.budget.valueChanged.connect(self._budget)
        self.budget_text = QLabel()
        for label in (self.size_text, self.budget_text):
            label.setFont(themes.font(12, tabular=True))
            label.setMinimumWidth(52)
            label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        form.addRow(tr("Size"), _with(self.size_slider, self.size_text))
        form.addRow(tr("At most"), _with(self.budget, self.budget_text))
        form.addRow("", self.adaptive)

    def show_state(self, state: Any) -> None:
        self.size_slider.show_value(round(state.display.point_size * 2))
        self.size_text.setText(number(state.display.point_size, 1, "px"))
        self.adaptive.setChecked(state.display.adaptive)
        nearest = min(range(len(BUDGETS)), key=lambda n: abs(BUDGETS[n] - state.budget))
        self.budget.blockSignals(True)
        self.budget.setValue(nearest)
        self.budget.blockSignals(False)
        self.budget_text.setText(short_count(state.budget))

    def _budget(self, place: int) -> None:
        self.bridge.run("setPointBudget", {"points": BUDGETS[place]})


class LightBox(QWidget):
    """Eye-dome lighting: edges and depth from nothing but the picture's depth."""

    def __init__(self, bridge: Any) -> None:
        super().__init__()
        self.bridge = bridge
        form = QFormLayout(self)
        form.setContentsMargins(4, 0, 4, 4)
        form.setHorizontalSpacing(12)
        self.on = QCheckBox(tr("Eye-dome lighting"))
        self.on.setObjectName("inspector.edl")
        self.on.clicked.connect(lambda on: bridge.run("setEyeDomeLighting", {"enabled": bool(on)}))
        self.strength = LiveSlider(
            bridge, "setEyeDomeLighting", lambda v: {"enabled": True, "strength": v / 10}, 0, 40
        )
        self.strength.setAccessibleName(tr("Strength of the lighting"))
        self.radius = LiveSlider(
            bridge, "setEyeDomeLighting", lambda v: {"enabled": True, "radius": v / 10}, 5, 40
        )
        self.radius.setAccessibleName(tr("Radius of the lighting"))
        form.addRow(self.on)
        form.addRow(tr("Strength"), self.strength)
        form.addRow(tr("Radius"), self.radius)

    def show_state(self, state: Any) -> None:
        self.on.setChecked(state.display.edl)
        self.strength.show_value(round(state.display.edl_strength * 10))
        self.radius.show_value(round(state.display.edl_radius * 10))
        for slider in (self.strength, self.radius):
            slider.setEnabled(state.display.edl)


class Inspector(QScrollArea):
    """Colour, Points, Light, Classes, Point: one under the other, each folds."""

    def __init__(self, bridge: Any, keeper: themes.ThemeKeeper) -> None:
        super().__init__()
        self.setObjectName("inspector")
        self.setAccessibleName(tr("Inspector"))
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(288)
        self.bridge = bridge
        self.colour = ColourBox(bridge, keeper)
        self.points = PointsBox(bridge)
        self.light = LightBox(bridge)
        self.classes = ClassList(bridge, keeper)
        self.point = PointBox(bridge)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 4, 0, 4)
        column.setSpacing(0)
        for title, key, body in (
            (tr("Colour"), "colour", self.colour),
            (tr("Points"), "points", self.points),
            (tr("Light"), "light", self.light),
            (tr("Classes"), "classes", self.classes),
            (tr("Point under the cursor"), "point", self.point),
        ):
            column.addWidget(Section(title, body, key=key))
        column.addStretch(1)
        self.setWidget(inside)
        bridge.state_changed.connect(lambda _, after: self.show_state(after))
        self.show_state(bridge.state)

    def show_state(self, state: Any) -> None:
        self.points.show_state(state)
        self.light.show_state(state)


def _with(field: QWidget, label: QLabel) -> QWidget:
    box = QWidget()
    row = QHBoxLayout(box)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(field, 1)
    row.addWidget(label)
    return box
