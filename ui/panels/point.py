"""The point under the cursor with everything the file says of it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from .. import theme as themes
from ..clipboard import copy_text
from ..numbers import decimals_of, integer, number, significant
from ..text import tr
from ..values import class_name

ROWS = 24


class CopyLabel(QLabel):
    """A value that a click copies; a part of it can be selected."""

    copied = Signal(str)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and not self.hasSelectedText():
            self.copied.emit(copy_text(self.text()))


class PointBox(QWidget):
    """Follows the cursor a few times a second; a click on a value copies it."""

    copied = Signal(str)

    def __init__(self, bridge: Any) -> None:
        super().__init__()
        self.bridge = bridge
        self.setObjectName("point")
        self.grid = QGridLayout(self)
        self.grid.setContentsMargins(12, 0, 12, 4)
        self.grid.setVerticalSpacing(2)
        self.grid.setColumnStretch(1, 1)
        self.empty = QLabel(tr("Move over the picture: the nearest point stands here."))
        self.empty.setWordWrap(True)
        self.empty.setProperty("role", "muted")
        self.grid.addWidget(self.empty, 0, 0, 1, 2)
        self._rows: list[tuple[QLabel, QLabel]] = []
        for place in range(ROWS):
            name, value = QLabel(), CopyLabel()
            value.copied.connect(self.copied)
            name.setProperty("role", "muted")
            value.setFont(themes.font(12, tabular=True))
            value.setAlignment(Qt.AlignmentFlag.AlignRight)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self.grid.addWidget(name, place + 1, 0)
            self.grid.addWidget(value, place + 1, 1)
            self._rows.append((name, value))
            name.hide()
            value.hide()
        self._at: QPointF | None = None
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(120)
        self._soon.timeout.connect(self._ask)

    def follow(self, position: QPointF) -> None:
        self._at = position
        if self.isVisible() and not self._soon.isActive():
            self._soon.start()

    def _ask(self) -> None:
        if self._at is None or not self.bridge.state.clouds:
            return
        answer = self.bridge.read("queryPoint", {"px": self._at.x(), "py": self._at.y()})
        self.show_point(answer)

    def show_point(self, answer: Any) -> None:
        """Fills the rows from an answer of queryPoint; None or nothing found clears nothing."""
        if not answer or answer.get("x") is None:
            return
        facts = list(self._facts(answer))[:ROWS]
        self.empty.hide()
        for (name, value), fact in zip(self._rows, facts, strict=False):
            name.setText(fact[0])
            value.setText(fact[1])
            name.show()
            value.show()
        for name, value in self._rows[len(facts) :]:
            name.hide()
            value.hide()

    def _facts(self, answer: Any) -> Any:
        cloud = str(answer.get("cloud", ""))
        info = self.bridge.view.cloud_info(cloud)
        for axis, (name, key) in enumerate((("E", "x"), ("N", "y"), ("Z", "z"))):
            unit = self.bridge.height_unit() if key == "z" else self.bridge.unit()
            yield name, number(answer[key], decimals_of(info.scale[axis]), unit)
        attributes = dict(answer.get("attributes", {}))
        colour = [attributes.pop(name, None) for name in ("red", "green", "blue")]
        for name in sorted(attributes, key=_rank):
            value = attributes[name]
            if name.lower() in ("x", "y", "z"):
                continue
            title = name.replace("_", " ")
            if name == "classification":
                yield title, f"{value}  {class_name(int(value))}"
            elif isinstance(value, bool):
                yield title, tr("yes") if value else tr("no")
            elif isinstance(value, int):
                yield title, integer(value)
            elif isinstance(value, float):
                whole = abs(value) > 1e6
                yield title, number(value, 6) if whole else significant(value)
            else:
                yield title, str(value)
        if colour[0] is not None:
            yield tr("red, green, blue"), "  ".join(str(part) for part in colour)
        entry = next((e for e in self.bridge.state.clouds if e.id == cloud), None)
        yield tr("cloud"), entry.name if entry is not None else cloud


FIRST = (
    "classification",
    "intensity",
    "return_number",
    "number_of_returns",
    "gps_time",
    "point_source_id",
)


def _rank(name: str) -> tuple[int, str]:
    """What people look for first stands first."""
    return (FIRST.index(name), "") if name in FIRST else (len(FIRST), name)
