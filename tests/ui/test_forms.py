"""Forms from schemas: every argument of every command has a fitting editor and a valid answer."""

from __future__ import annotations

from typing import Any

import pytest
from oniyanma.ui import forms
from oniyanma.ui.values import choices_for

from oniyanma.commands import build_registry

REGISTRY = build_registry()
ARGUMENTS = [
    (command.name, name, schema)
    for command in REGISTRY
    for name, schema in command.input_schema["properties"].items()
]


@pytest.mark.parametrize(
    ("name", "schema", "kind"),
    [
        ("mode", {"type": "string", "enum": ["a", "b"]}, "choice"),
        ("on", {"type": "boolean"}, "choice"),
        ("class", {"type": "integer", "minimum": 0, "maximum": 255}, "integer"),
        ("width", {"type": "number"}, "number"),
        ("color", {"type": ["string", "null"], "pattern": "^#[0-9a-f]{6}$"}, "color"),
        ("path", {"type": "string"}, "path"),
        ("title", {"type": "string"}, "text"),
        ("range", {"type": "array", "maxItems": 2, "items": {"type": ["number", "null"]}}, "range"),
        ("position", {"type": "array", "maxItems": 3, "items": {"type": "number"}}, "point"),
        ("points", {"type": "array", "items": {"type": "array"}}, "points"),
        ("box", {"type": "object"}, "json"),
    ],
)
def test_the_editor_fits_the_schema(name: str, schema: dict[str, Any], kind: str) -> None:
    assert forms.kind_of(name, schema) == kind


@pytest.mark.parametrize(
    ("command", "name", "schema"), ARGUMENTS, ids=[f"{c}.{n}" for c, n, _ in ARGUMENTS]
)
def test_every_argument_of_every_command_can_be_given_without_a_mouse(
    qtbot: Any, command: str, name: str, schema: dict[str, Any]
) -> None:
    from oniyanma.scene.state import SceneState

    if choices_for(command, name, schema, SceneState()) is not None:
        return  # a list in the palette
    editor = forms.make_editor(command, name, schema, forms.Services())
    qtbot.addWidget(editor)
    assert editor.focusProxy() is not None
    assert editor.focusProxy().accessibleName()


def typed(qtbot: Any, editor: forms.Editor, text: str) -> Any:
    qtbot.addWidget(editor)
    line = editor.line  # type: ignore[attr-defined]
    qtbot.keyClicks(line, text)
    return editor.value()


def test_points_are_typed_as_numbers(qtbot: Any) -> None:
    schema = {"type": "array", "items": {"type": "array"}}
    make = lambda single: forms.PointsEditor("points", schema, None, single=single)  # noqa: E731
    assert typed(qtbot, make(False), "1 2 3; 4 5.5 6") == [[1, 2, 3], [4, 5.5, 6]]
    assert typed(qtbot, make(True), "637978.31 848909.91 412.2") == [637978.31, 848909.91, 412.2]
    with pytest.raises(forms.FormError, match="three numbers"):
        typed(qtbot, make(True), "1")


def test_a_range_may_stay_open_at_one_end(qtbot: Any) -> None:
    editor = forms.RangeEditor("elevation", {})
    qtbot.addWidget(editor)
    qtbot.keyClicks(editor.high, "430")
    assert editor.value() == [None, 430.0]
    editor.high.clear()
    with pytest.raises(forms.FormError):
        editor.value()


def test_numbers_keep_their_bounds_and_unit(qtbot: Any) -> None:
    schema = {"type": "number", "minimum": 1, "maximum": 32, "x-unit": "logical pixels"}
    editor = forms.NumberEditor("pixels", schema, whole=False)
    qtbot.addWidget(editor)
    assert "logical pixels" in editor.box.suffix()
    editor.box.setValue(99)
    assert editor.value() == 32


@pytest.mark.parametrize("text", ["red", "#12345", "12345g"])
def test_what_is_no_colour_is_refused_with_an_example(qtbot: Any, text: str) -> None:
    with pytest.raises(forms.FormError, match="#rrggbb"):
        typed(qtbot, forms.ColorEditor("color", {"type": "string"}), text)


def test_a_colour_is_taken_from_a_swatch_or_typed(qtbot: Any) -> None:
    editor = forms.ColorEditor("color", {"type": ["string", "null"]})
    assert typed(qtbot, editor, "F5A623") == "#f5a623"
    editor.line.clear()
    assert editor.value() is None
