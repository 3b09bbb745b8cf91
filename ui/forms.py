"""Editors for a command's arguments, made from its JSON Schema.

enum and boolean → a list (the palette shows it itself), number → a field with unit and bounds,
colour → swatches, path → a file dialog, point → pick in the view, range → two fields of which
either may stay open. What nothing fits is typed as JSON and checked against the schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import QLocale, Qt, Signal
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QWidget,
)

from .text import tr

SWATCHES = ("#f5a623", "#3ecf8e", "#ff7a70", "#4ea1f3", "#b58cf0", "#f2e35c", "#8d99a6", "#ffffff")
Pick = Callable[[int, Callable[[list[list[float]]], None]], None]
"""Asks for points in the view: (how many, 0 for any number; what to do with them)."""


class FormError(ValueError):
    """What was typed does not fit: one sentence for the person."""


@dataclass(frozen=True)
class Services:
    """What editors need from the window: file dialogs and picking. Either may be missing."""

    open_path: Callable[[str], str] | None = None
    save_path: Callable[[str], str] | None = None
    pick: Pick | None = None


def kind_of(name: str, schema: Mapping[str, Any]) -> str:
    """choice, choices, number, integer, color, path, range, point, points, text or json."""
    types = _types(schema)
    if "enum" in schema or types == {"boolean"}:
        return "choice"
    if "array" in types:
        items = schema.get("items", {})
        if "enum" in items:
            return "choices"
        if items.get("type") == "array":
            return "points"
        if schema.get("maxItems") == 2 and "null" in _types(items):
            return "range"
        if schema.get("maxItems") == 3 and "number" in _types(items):
            return "point"
        return "json"
    if "number" in types:
        return "number"
    if "integer" in types:
        return "integer"
    if "string" in types:
        if "color" in name.lower() or "#" in str(schema.get("pattern", "")):
            return "color"
        return "path" if name == "path" else "text"
    return "json"


def _types(schema: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    kind = schema.get("type")
    found.update(kind if isinstance(kind, list) else [kind] if kind else [])
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= _types(part)
    return found


def unit_of(schema: Mapping[str, Any]) -> str:
    """The unit the schema states, if any."""
    return str(schema.get("x-unit") or schema.get("unit") or "")


class Editor(QWidget):
    """One argument's field. ``value`` gives what the command takes, or raises `FormError`."""

    submitted = Signal()

    def __init__(self, name: str, schema: Mapping[str, Any]) -> None:
        super().__init__()
        self.name = name
        self.schema = schema
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(8, 4, 8, 8)
        self.row.setSpacing(8)

    def value(self) -> Any:
        raise NotImplementedError

    def _line(self, placeholder: str = "") -> QLineEdit:
        line = QLineEdit()
        line.setPlaceholderText(placeholder)
        line.setAccessibleName(self.name)
        line.returnPressed.connect(self.submitted)
        self.row.addWidget(line, 1)
        if self.focusProxy() is None:
            self.setFocusProxy(line)
        return line

    def _button(self, title: str, act: Callable[[], None]) -> QPushButton:
        button = QPushButton(title)
        button.clicked.connect(lambda: act())
        self.row.addWidget(button)
        return button


class TextEditor(Editor):
    def __init__(self, name: str, schema: Mapping[str, Any]) -> None:
        super().__init__(name, schema)
        self.line = self._line(str(schema.get("description", "")))

    def value(self) -> str:
        text = self.line.text().strip()
        low = int(schema_low) if (schema_low := self.schema.get("minLength")) else 0
        if len(text) < low:
            raise FormError(tr("Type at least {low} characters.", low=max(1, low)))
        return text


class NumberEditor(Editor):
    """A spin box with unit and bounds; both decimal signs of the locale are understood."""

    def __init__(self, name: str, schema: Mapping[str, Any], *, whole: bool) -> None:
        super().__init__(name, schema)
        self.whole = whole
        self.box = QDoubleSpinBox()
        self.box.setDecimals(0 if whole else 3)
        self.box.setRange(
            float(schema.get("minimum", schema.get("exclusiveMinimum", -1e12))),
            float(schema.get("maximum", schema.get("exclusiveMaximum", 1e12))),
        )
        self.box.lineEdit().setTextMargins(6, 0, 6, 0)
        self.box.setGroupSeparatorShown(True)
        self.box.setAccessibleName(name)
        if unit := unit_of(schema):
            self.box.setSuffix(f"\N{NO-BREAK SPACE}{unit}")
        default = schema.get("default")
        if isinstance(default, int | float):
            self.box.setValue(float(default))
        line = self.box.lineEdit()
        line.returnPressed.connect(self.submitted)
        self.row.addWidget(self.box, 1)
        if "minimum" in schema and "maximum" in schema:
            locale = QLocale()
            bounds = QLabel(
                f"{locale.toString(float(schema['minimum']), 'g', 12)} – "
                f"{locale.toString(float(schema['maximum']), 'g', 12)}"
            )
            bounds.setProperty("role", "muted")
            self.row.addWidget(bounds)
        self.setFocusProxy(self.box)
        self.box.selectAll()

    def value(self) -> int | float:
        self.box.interpretText()
        return int(self.box.value()) if self.whole else self.box.value()


class ColorEditor(Editor):
    def __init__(self, name: str, schema: Mapping[str, Any]) -> None:
        super().__init__(name, schema)
        for color in SWATCHES:
            button = self._button("", partial(self._take, color))
            button.setFixedSize(24, 24)
            button.setAccessibleName(tr("Colour {color}", color=color))
            button.setStyleSheet(f"background: {color}; padding: 0; min-height: 0;")
        self.line = self._line("#rrggbb")
        if "null" in _types(schema):
            self._button(tr("None"), lambda: self._take(""))

    def _take(self, color: str) -> None:
        self.line.setText(color)
        self.submitted.emit()

    def value(self) -> str | None:
        text = self.line.text().strip().lower()
        if not text and "null" in _types(self.schema):
            return None
        if not re.fullmatch(r"#?[0-9a-f]{6}", text):
            raise FormError(tr("Write a colour as #rrggbb, for example #f5a623."))
        return text if text.startswith("#") else f"#{text}"


class PathEditor(Editor):
    def __init__(self, name: str, schema: Mapping[str, Any], ask: Callable[[str], str] | None):
        super().__init__(name, schema)
        self.line = self._line(tr("Path or address"))
        if ask is not None:
            self._ask = ask
            self._button(tr("Browse…"), self._browse)

    def _browse(self) -> None:
        if path := self._ask(self.line.text()):
            self.line.setText(path)
            self.submitted.emit()

    def value(self) -> str:
        if not (text := self.line.text().strip()):
            raise FormError(tr("Type a path, or browse for one."))
        return text


class RangeEditor(Editor):
    """Two numbers; an empty one leaves that side open."""

    def __init__(self, name: str, schema: Mapping[str, Any]) -> None:
        super().__init__(name, schema)
        self.low = self._line(tr("from (open)"))
        self.row.addWidget(QLabel("–"))
        self.high = self._line(tr("to (open)"))
        if unit := unit_of(schema):
            self.row.addWidget(QLabel(unit))

    def value(self) -> list[float | None]:
        both = [parse_number(line.text()) for line in (self.low, self.high)]
        if both == [None, None]:
            raise FormError(tr("Give a lower or an upper end."))
        return both


class PointsEditor(Editor):
    """One point or several, typed (``x y z; x y z``) or picked in the view."""

    def __init__(
        self, name: str, schema: Mapping[str, Any], pick: Pick | None, *, single: bool
    ) -> None:
        super().__init__(name, schema)
        self.single = single
        self.line = self._line(tr("x y z") if single else tr("x y z; x y z; …"))
        if pick is not None:
            self._pick = pick
            button = self._button(tr("Pick in the view   Ctrl+⏎"), self._start)
            button.setShortcut("Ctrl+Return")

    def _start(self) -> None:
        self._pick(1 if self.single else 0, self._picked)

    def _picked(self, points: list[list[float]]) -> None:
        self.line.setText("; ".join(" ".join(f"{part!r}" for part in point) for point in points))
        self.submitted.emit()

    def value(self) -> list[Any]:
        points = []
        for piece in filter(str.strip, self.line.text().split(";")):
            parts = [parse_number(word) for word in re.split(r"[\s]+", piece.strip())]
            if None in parts or len(parts) not in (2, 3):
                raise FormError(tr("Write a point as three numbers: x y z."))
            points.append(parts)
        if not points:
            raise FormError(tr("Type a point as x y z, or pick it in the view."))
        return points[0] if self.single else points


class JsonEditor(Editor):
    """For nested arguments: JSON as the command's documentation writes it."""

    def __init__(self, name: str, schema: Mapping[str, Any], example: Any = None) -> None:
        super().__init__(name, schema)
        self.example = _example(schema) if example is None else json.dumps(example)
        self.line = self._line(tr("JSON, for example {example}", example=self.example))

    def value(self) -> Any:
        text = self.line.text().strip()
        try:
            return json.loads(text)
        except ValueError:
            if "array" in _types(self.schema) and text and not text.startswith("["):
                try:
                    return json.loads(f"[{text}]")
                except ValueError:
                    pass
            raise FormError(
                tr("This is not JSON; write it like {example}.", example=self.example)
            ) from None


def _example(schema: Mapping[str, Any]) -> str:
    if "array" in _types(schema):
        return "[1, 2]"
    names = list(schema.get("properties", {}))[:2]
    return json.dumps(dict.fromkeys(names, 0)) if names else "{}"


def parse_number(text: str) -> float | None:
    """A number in the locale's writing or in plain writing; None for an empty text."""
    text = text.strip().rstrip(",")
    if not text or text == "…":
        return None
    try:
        return float(text)
    except ValueError:
        value, ok = QLocale().toDouble(text)
        if not ok:
            raise FormError(tr("{text} is not a number.", text=text)) from None
        return value


def make_editor(
    command: str,
    name: str,
    schema: Mapping[str, Any],
    services: Services,
    example: Any = None,
) -> Editor:
    """The editor that fits an argument. Lists (choice, choices) are the palette's own.
    ``example``: a valid value, to be shown where JSON is typed."""
    kind = kind_of(name, schema)
    if kind == "color":
        return ColorEditor(name, schema)
    if kind in ("number", "integer"):
        return NumberEditor(name, schema, whole=kind == "integer")
    if kind == "path":
        saves = command.startswith(("export", "save"))
        return PathEditor(name, schema, services.save_path if saves else services.open_path)
    if kind == "range":
        return RangeEditor(name, schema)
    if kind in ("point", "points"):
        return PointsEditor(name, schema, services.pick, single=kind == "point")
    if kind == "text":
        return TextEditor(name, schema)
    return JsonEditor(name, schema, example)


def focus_first(editor: Editor) -> None:
    """Puts the cursor where typing goes."""
    editor.setFocus(Qt.FocusReason.OtherFocusReason)
