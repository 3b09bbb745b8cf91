"""All texts are ready for translation: in another language nothing of the window stays English."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QLocale, Qt, QTranslator
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDockWidget,
    QLabel,
    QLineEdit,
    QListWidget,
    QMenu,
    QTabBar,
    QTreeWidget,
    QWidget,
)

from tests.support import ROOT

Make = Callable[..., Any]
SETTERS = {
    *("setText", "setToolTip", "setWindowTitle", "setPlaceholderText", "setTitle", "setSuffix"),
    *("setAccessibleName", "setAccessibleDescription", "setInformativeText", "setHeaderLabels"),
    *("addAction", "addMenu", "addItem", "addRow", "addButton", "say", "button", "_button"),
    *("QLabel", "QPushButton", "QCheckBox", "QAction", "QMenu", "QToolBar", "QDockWidget"),
    *("FormError", "_line", "confirm", "open_file", "save_file"),
}
NO_WORDS = {"oniyanma", "#rrggbb", "\N{NO-BREAK SPACE}ms"}  # the name, a pattern, a unit
QT_OWN = ("QToolButton qt_", "QAbstractButton qt_", "QToolButton Scroll", "QLineEdit qt_")
KEPT = re.compile(r"^[\W\d_]*$|^#[0-9a-f]{6}$")  # no word in it


def literals(call: ast.Call) -> Iterator[str]:
    """The plain texts a call is given by place, also inside f-strings and choices."""
    for argument in call.args:
        parts = [argument]
        if isinstance(argument, ast.IfExp):
            parts = [argument.body, argument.orelse]
        for part in parts:
            pieces = part.values if isinstance(part, ast.JoinedStr) else [part]
            for piece in pieces:
                if isinstance(piece, ast.Constant) and isinstance(piece.value, str):
                    yield piece.value


@pytest.mark.parametrize("path", sorted((ROOT / "ui").rglob("*.py")), ids=lambda p: p.name)
def test_no_text_for_a_person_is_given_to_a_widget_untranslated(path: Path) -> None:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in SETTERS:
            texts = [text for text in literals(node) if text not in NO_WORDS]
            found += [f"line {node.lineno}: {t!r}" for t in texts if not KEPT.match(t)]
    assert found == []


class Pseudo(QTranslator):
    """A language in which every text stands in brackets."""

    def translate(self, context: str, text: str, *more: Any) -> Any:
        return f"⟦{text}⟧" if context == "oniyanma" else None  # None: not known

    def isEmpty(self) -> bool:
        return False


def texts_of(window: QWidget) -> Iterator[tuple[str, str]]:
    """Every text of the window a person reads or hears, with where it stands."""
    for widget in window.findChildren(QWidget):
        where = f"{type(widget).__name__} {widget.objectName()}"
        yield f"{where} tip", re.sub(r"<[^>]*>", "", widget.toolTip())
        yield f"{where} name", widget.accessibleName()
        if isinstance(widget, QLabel | QAbstractButton) and widget.property("role") != "key":
            yield where, widget.text()
        if isinstance(widget, QLineEdit):
            yield f"{where} placeholder", widget.placeholderText()
        if isinstance(widget, QDockWidget):
            yield where, widget.windowTitle()
        if isinstance(widget, QMenu):
            yield where, widget.title()
        if isinstance(widget, QTabBar):
            yield from ((where, widget.tabText(place)) for place in range(widget.count()))
        if isinstance(widget, QComboBox):
            yield from ((where, widget.itemText(place)) for place in range(widget.count()))
        if isinstance(widget, QTreeWidget):
            head = widget.headerItem()
            if not widget.isHeaderHidden():
                yield from ((where, head.text(c)) for c in range(widget.columnCount()))
        if isinstance(widget, QListWidget):
            yield from ((where, widget.item(n).text()) for n in range(widget.count()))
    for action in window.all_actions():  # type: ignore[attr-defined]
        yield f"action {action.objectName()}", action.text()
        yield f"action {action.objectName()} tip", re.sub(r"<[^>]*>", "", action.toolTip())


@pytest.fixture
def pseudo(qapp: Any) -> Iterator[None]:
    translator = Pseudo(qapp)
    QCoreApplication.installTranslator(translator)
    yield
    QCoreApplication.removeTranslator(translator)


def test_in_another_language_no_text_of_the_window_stays_english(
    pseudo: None, desk_of: Make, village: Path
) -> None:
    desk = desk_of()
    desk.window.acts.open_path(str(village))
    desk.settle()
    desk.key(Qt.Key.Key_L)
    QApplication.processEvents()
    # what is of the data, the system or the registry's own reasons: names, units, paths
    kept = re.compile(r"village|JGD2011|EPSG|ffmpeg|select something first|^(E|N|Z)\b|There ")
    kept_too = re.compile(r"#rrggbb|[\d.]+\s(px|ms)$|oniyanma$|^[a-z_]+$")  # warnings' codes
    english = {
        f"{where}: {text}"
        for where, text in texts_of(desk.window)
        if re.search(r"[A-Za-z]{2}", re.sub(r"⟦.*?⟧", "", text, flags=re.S))
        and not kept.search(text)
        and not kept_too.search(text)
        and "⟦" not in text
        and not where.startswith(QT_OWN)
    }
    assert sorted(english) == []


def test_every_line_of_the_palette_and_what_it_asks_is_translated(
    pseudo: None, desk_of: Make, village: Path
) -> None:
    from oniyanma.ui.palette_rows import rows
    from oniyanma.ui.values import choices_for

    desk = desk_of()
    desk.window.acts.open_path(str(village))
    desk.settle()
    bridge = desk.window.bridge
    plain = [row.title for row in rows(bridge, desk.window.keymap, [], []) if "⟦" not in row.title]
    for command in bridge.registry:
        for name, schema in command.input_schema["properties"].items():
            for choice in choices_for(command.name, name, schema, bridge.state) or ():
                if "⟦" not in choice.title and name != "cloud":
                    plain.append(f"{command.name}.{name}: {choice.title}")
    assert plain == []


def test_a_catalogue_for_the_locale_is_loaded_where_there_is_one(
    qapp: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oniyanma.ui.application import load_catalogue

    assert not load_catalogue(qapp, str(tmp_path))  # none there: English
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(QTranslator, "load", lambda self, *args: bool(asked.append(args)) or True)
    monkeypatch.setattr(type(qapp), "installTranslator", lambda *args: True)
    assert load_catalogue(qapp, str(tmp_path))
    assert asked == [(QLocale(), "oniyanma", "_", str(tmp_path))]
