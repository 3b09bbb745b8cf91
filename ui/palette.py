"""The palette: type what you want, answer what it asks, Enter. Esc takes back one step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from . import theme as themes
from .cards import room_of
from .forms import Editor, FormError, Services, focus_first, make_editor
from .keymap import Keymap
from .palette_delegate import ROW, RowDelegate
from .palette_question import PLACE, PLACES, Option, Question, asked_for, option, short
from .palette_rows import Row, console_row, rows, search
from .settings import Settings
from .text import tr
from .values import PROMPTS, Choice, choices_for, is_multiple, nothing_to_choose, words


class Palette(QFrame):
    """A card over the window. It never changes anything itself: it asks the bridge."""

    acted = Signal(object)  # Row of a window-only act or of a tool
    closed = Signal()

    def __init__(
        self,
        parent: QWidget,
        bridge: Any,
        keymap: Keymap,
        settings: Settings,
        keeper: themes.ThemeKeeper,
        services: Services,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("palette")
        self.setAccessibleName(tr("Command palette"))
        self.bridge = bridge
        self.keymap = keymap
        self.settings = settings
        self.services = services
        self.console_ready = False
        self.question: Question | None = None
        self.editor: Editor | None = None
        self._direct = False  # opened at a command, not at the list of all
        self._offers: list[Row] = []
        self._checked: list[Any] = []

        self.crumb = QLabel()
        self.crumb.setProperty("role", "accent")
        self.crumb.setObjectName("paletteCrumb")
        self.line = QLineEdit()
        self.line.setObjectName("paletteLine")
        self.line.setAccessibleName(tr("Type a command"))
        self.line.textChanged.connect(self._refresh)
        self.line.installEventFilter(self)
        self.list = QListView()
        self.list.setObjectName("paletteList")
        self.list.setAccessibleName(tr("Offers"))
        self.list.setModel(QStandardItemModel(self))
        self.list.setItemDelegate(RowDelegate(self.list, keeper))
        self.list.setUniformItemSizes(True)
        self.list.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.clicked.connect(lambda _: self._accept())
        self.slot = QStackedWidget()
        self.problem = QLabel()
        self.problem.setProperty("role", "loss")
        self.problem.setWordWrap(True)
        self.problem.setObjectName("paletteProblem")
        self.hint = QLabel()
        self.hint.setObjectName("paletteHint")
        self.hint.setProperty("role", "muted")

        top = QHBoxLayout()
        top.setContentsMargins(8, 0, 8, 0)
        top.addWidget(self.line)
        box = self.column = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self.crumb)
        box.addLayout(top)
        box.addWidget(self.slot)
        box.addWidget(self.problem)
        box.addWidget(self.list, 1)
        box.addWidget(self.hint)
        self.hide()

    # opening and closing

    def open(self, row: Row | None = None) -> None:
        """Shows the palette, at the first question of ``row`` if one is given."""
        self._offers = rows(
            self.bridge, self.keymap, self.settings.recent_files(), self.settings.used_last()
        )
        self._leave_question()
        self._direct = row is not None
        self.place()
        self.show()
        self.raise_()
        if row is not None:
            self.start(row)
        else:
            self._show_root()

    def ask(self, command: str, args: Mapping[str, Any], title: str) -> None:
        """Opens at a command whose missing arguments are to be asked for.

        What is half filled in stays: then nothing is opened.
        """
        if self._begun():
            return
        self.open(Row(key=f"command.{command}", title=title, group="", command=command, args=args))

    def _begun(self) -> bool:
        """Whether an answer was given or may be half typed."""
        question = self.question
        return question is not None and bool(
            self.editor is not None or question.steps or self._checked or self.line.text()
        )

    def close_palette(self) -> None:
        self._leave_question()
        self.hide()
        self.closed.emit()

    def place(self) -> None:
        """Centred near the top of the window; as tall as what it offers, up to ten lines."""
        room = room_of(self)
        width = min(680, room.width() - 48)
        lines = min(10, self.list.model().rowCount()) if not self.list.isHidden() else 0
        self.list.setFixedHeight(lines * RowDelegate.HEIGHT)
        self.column.activate()
        height = min(self.column.sizeHint().height(), room.height() - 96)
        self.setGeometry((room.width() - width) // 2, 56, width, height)

    # choosing

    def start(self, row: Row, *, more: bool = False) -> None:
        """Takes an offer: runs it, or begins to ask; with ``more`` it asks for what is optional."""
        if row.reason:
            self._say(row.reason)
            return
        self.settings.note_use(row.key)
        if row.act or (row.entry is not None and row.entry.ask in ("tool", "file", "confirm")):
            self.close_palette()
            self.acted.emit(row)
            return
        self.question = Question(row.command, row.title, dict(row.args), None, entry_key=row.key)
        complete = row.entry is not None and row.entry.ask == "no"
        self._next(run_if_complete=not more and (complete or bool(row.args) or row.asks_only))

    def _properties(self, command: str) -> dict[str, Any]:
        return asked_for(command, self.bridge.command(command).input_schema)

    def _choices(self, name: str) -> list[Choice] | None:
        """The list an argument of the command at hand is chosen from; None: it is typed."""
        assert self.question is not None
        command = self.question.command
        schema = self._properties(command)[name]
        return choices_for(command, name, schema, self.bridge.state, self.bridge.dimensions())

    def _next(self, *, run_if_complete: bool = False) -> None:
        question = self.question
        assert question is not None
        schema = self.bridge.command(question.command).input_schema
        missing = [n for n in schema.get("required", ()) if n not in question.args]
        if question.command in PLACES and not question.args:
            missing = [PLACE]
        if missing:
            self._ask(missing[0])
            return
        optional = [n for n in self._properties(question.command) if n not in question.args]
        needed = bool(schema.get("required")) or question.command in PLACES
        required_only = needed and bool(question.steps)
        if run_if_complete or not optional or (required_only and self._simple(optional)):
            self._run()
        else:
            self._ask(None)

    def _simple(self, optional: list[str]) -> bool:
        """After the required arguments nothing else is asked, unless a text such as a title
        was: then notes and severity are worth offering."""
        assert self.question is not None
        return self.question.command not in ("addFinding", "exportReport", "addMeasurement")

    def _run(self) -> None:
        question = self.question
        assert question is not None
        self.close_palette()
        self.bridge.run(question.command, question.args)

    # asking

    def _ask(self, name: str | None) -> None:
        question = self.question
        assert question is not None
        question.asking = name
        self._checked = []
        self._drop_editor()
        known = "  ·  ".join(
            f"{tr(words(k))} {short(v)}" for k, v in question.args.items() if k in question.steps
        )
        self.crumb.setText(question.title.rstrip("…") + (f"   {known}" if known else ""))
        self.crumb.show()
        self.problem.hide()
        self.line.blockSignals(True)
        self.line.clear()
        self.line.blockSignals(False)
        if name is None:
            self.line.show()
            self.list.show()
            self.line.setPlaceholderText(tr("Enter runs it, or choose what else to set"))
            self._refresh()
            self.line.setFocus()
            self._hint(tr("↑↓ choose   ⏎ take   Esc back"))
            return
        schema = self._properties(question.command)[name]
        self.line.setPlaceholderText(str(schema.get("description", name)))
        choices = self._choices(name)
        if choices is not None:
            if name in PROMPTS:
                self.line.setPlaceholderText(tr(PROMPTS[name]))
            self.line.show()
            self.list.show()
            self._refresh()
            self.line.setFocus()
            if not choices:
                spec = self.bridge.command(question.command).input_schema
                self._say(
                    nothing_to_choose(question.command, spec, question.args, self.bridge.state)
                )
            many = is_multiple(question.command, name, schema)
            self._hint(
                tr("Space marks several   ⏎ takes them   Esc back")
                if many
                else tr("↑↓ choose   ⏎ take   Esc back")
            )
            return
        self.line.hide()
        self.list.hide()
        example = self.bridge.command(question.command).example.get(name)
        self.editor = make_editor(question.command, name, schema, self._wrapped_services(), example)
        self.editor.submitted.connect(self._accept)
        for child in (self.editor, *self.editor.findChildren(QWidget)):
            child.installEventFilter(self)
        self.slot.addWidget(self.editor)
        self.slot.setCurrentWidget(self.editor)
        self.slot.show()
        self._say("")
        self.place()
        self._hint(f"{schema.get('description', '')}   ⏎ {tr('take')}   Esc {tr('back')}")
        focus_first(self.editor)

    def _wrapped_services(self) -> Services:
        """Picking hides the palette and brings it back with what was picked."""
        pick = self.services.pick
        if pick is None:
            return self.services

        def hidden(count: int, take: Any) -> None:
            self.hide()

            def back(points: list[list[float]]) -> None:
                self.show()
                self.raise_()
                if points:
                    take(points)
                elif self.editor is not None:
                    focus_first(self.editor)

            pick(count, back)

        return Services(self.services.open_path, self.services.save_path, hidden)

    def back(self) -> None:
        """One step back: the last argument, then where it was opened: the list or the picture."""
        question = self.question
        if question is None:
            self.close_palette()
            return
        if question.steps:
            last = question.steps.pop()
            for name in PLACES[question.command] if last == PLACE else (last,):
                question.args.pop(name, None)
            self._ask(last)
            return
        if self._direct:
            self.close_palette()
            return
        self._leave_question()
        self._show_root()

    def _accept(self) -> None:
        item = self._current()
        if self.question is None:
            if isinstance(item, Row):
                self.start(item)
            return
        question = self.question
        if question.asking is None:
            if item is None or item.run:
                self._run()
            else:
                self._ask(item.argument)
            return
        if self.editor is not None:
            try:
                value = self.editor.value()
            except FormError as error:
                self._say(str(error))
                return
        elif self._checked:
            value = list(self._checked)
        elif item is None:
            return
        else:
            schema = self._properties(question.command)[question.asking]
            many = is_multiple(question.command, question.asking, schema)
            value = [item.value] if many else item.value
        if question.asking == PLACE:
            question.args.update(zip(PLACES[question.command], value, strict=True))
        else:
            question.args[question.asking] = value
        question.steps.append(question.asking)
        self._next()

    # the list

    def _refresh(self) -> None:
        query = self.line.text()
        if self.question is None:
            found: list[Any] = list(search(query, self._offers))
            if query.strip() and (not found or len(query.split()) > 3):
                found.append(console_row(query.strip(), self.console_ready))
        else:
            found = self._options(query)
        model = self.list.model()
        assert isinstance(model, QStandardItemModel)
        model.clear()
        for item in found:
            line = QStandardItem(item.title)
            line.setData(item, ROW)
            line.setData(item.title, Qt.ItemDataRole.AccessibleTextRole)
            model.appendRow(line)
        if found:
            self.list.setCurrentIndex(model.index(0, 0))
        self.place()

    def _options(self, query: str) -> list[Option]:
        question = self.question
        assert question is not None
        if question.asking is None:
            offers = [Option(tr("Run it"), run=True)]
            for name, schema in self._properties(question.command).items():
                if name not in question.args and name != PLACE:
                    told = str(schema.get("description", ""))
                    offers.append(Option(tr(words(name)), told, argument=name))
        else:
            choices = self._choices(question.asking)
            offers = [option(choice, choice.value in self._checked) for choice in choices or ()]
        as_rows = {id(offer): offer for offer in offers}
        found = search(
            query,
            [
                Row(key=str(key), title=offer.title, group="", search=offer.detail)
                for key, offer in as_rows.items()
            ],
            limit=300,
        )
        return [as_rows[int(row.key)] for row in found if row.key.isdigit()]

    def _current(self) -> Any:
        index = self.list.currentIndex()
        return index.data(ROW) if index.isValid() else None

    def _move(self, step: int) -> None:
        model = self.list.model()
        if model.rowCount():
            row = (self.list.currentIndex().row() + step) % model.rowCount()
            self.list.setCurrentIndex(model.index(row, 0))

    def _toggle(self) -> None:
        item = self._current()
        if isinstance(item, Option):
            if item.value in self._checked:
                self._checked.remove(item.value)
            else:
                self._checked.append(item.value)
            row = self.list.currentIndex().row()
            self._refresh()
            self.list.setCurrentIndex(self.list.model().index(row, 0))

    # details

    def _show_root(self) -> None:
        self.crumb.hide()
        self.problem.hide()
        self.slot.hide()
        self.line.show()
        self.list.show()
        self.line.clear()
        self.line.setPlaceholderText(tr("Type a command, a class, a file, a key…"))
        self._hint(tr("↑↓ choose   ⏎ run   ⇥ set more   Esc close"))
        self._refresh()
        self.line.setFocus()

    def _leave_question(self) -> None:
        self.question = None
        self._drop_editor()
        self._checked = []

    def _drop_editor(self) -> None:
        if self.editor is not None:
            self.slot.removeWidget(self.editor)
            self.editor.deleteLater()
            self.editor = None
        self.slot.hide()

    def _say(self, text: str) -> None:
        self.problem.setText(text)
        self.problem.setVisible(bool(text))
        self.place()

    def _hint(self, text: str) -> None:
        self.hint.setText(text)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_Tab):  # the window must not get them
                event.accept()
                return True
        elif event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._key(event)
        return super().eventFilter(watched, event)

    def _key(self, event: QKeyEvent) -> bool:
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.back()
            return True
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._accept()  # here and no further: a field's parent must not take it again
            return True
        if self.editor is not None:
            return False
        if key == Qt.Key.Key_Down:
            self._move(1)
        elif key == Qt.Key.Key_Up:
            self._move(-1)
        elif key == Qt.Key.Key_PageDown:
            self._move(8)
        elif key == Qt.Key.Key_PageUp:
            self._move(-8)
        elif key == Qt.Key.Key_Tab and self.question is None:
            if isinstance(item := self._current(), Row) and item.command and not item.reason:
                self.start(item, more=True)
        elif key == Qt.Key.Key_Space and self._many() and not self.line.text():
            self._toggle()
        else:
            return False
        return True

    def _many(self) -> bool:
        question = self.question
        if question is None or question.asking is None:
            return False
        schema = self._properties(question.command)[question.asking]
        return is_multiple(question.command, question.asking, schema)
