"""The `?` sheet: every key there is, made from the keymap, and the place to change one."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from .actions import BY_ID, ENTRIES, MENUS, VIEW_KEYS
from .cards import KeyCap, room_of
from .keymap import Keymap, shown
from .text import tr

MODIFIERS = (Qt.Key.Key_Shift, Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_Meta)


class KeyButton(QPushButton):
    """An entry's keys. Click or Enter, then press the new keys; Backspace takes them away."""

    pressed_keys = Signal(str, str)  # entry, portable keys

    def __init__(self, entry: str) -> None:
        super().__init__()
        self.entry = entry
        self.listening = False
        self.setObjectName(f"key.{entry}")
        self.setMinimumWidth(152)
        self.clicked.connect(self._listen)

    def _listen(self) -> None:
        self.listening = True
        self.setText(tr("Press keys…"))

    def event(self, event: QEvent) -> bool:
        if self.listening and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self.listening:
            super().keyPressEvent(event)
            return
        if event.key() in MODIFIERS:
            return
        self.listening = False
        if event.key() == Qt.Key.Key_Escape:
            self.pressed_keys.emit(self.entry, "=")
        elif event.key() == Qt.Key.Key_Backspace:
            self.pressed_keys.emit(self.entry, "")
        else:
            keys = QKeySequence(event.keyCombination())
            self.pressed_keys.emit(
                self.entry, keys.toString(QKeySequence.SequenceFormat.PortableText)
            )


class KeySheet(QFrame):
    """``changed`` after a key was given to another entry."""

    changed = Signal()
    closed = Signal()

    def __init__(self, parent: QWidget, keymap: Keymap) -> None:
        super().__init__(parent)
        self.setObjectName("keySheet")
        self.setAccessibleName(tr("Keyboard shortcuts"))
        self.keymap = keymap
        self.buttons: dict[str, KeyButton] = {}
        self._rows: list[tuple[str, list[QWidget]]] = []
        title = QLabel(tr("Keyboard shortcuts"))
        title.setProperty("role", "title")
        self.filter = QLineEdit()
        self.filter.setPlaceholderText(tr("Find an action or a key"))
        self.filter.setAccessibleName(tr("Find an action or a key"))
        self.filter.setMinimumWidth(220)
        self.filter.textChanged.connect(self._filter)
        close = QPushButton(tr("Close  Esc"))
        close.setProperty("kind", "quiet")
        close.clicked.connect(self.close_sheet)
        top = QHBoxLayout()
        top.addWidget(title)
        top.addStretch(1)
        top.addWidget(self.filter)
        top.addWidget(close)
        self.note = QLabel(tr("Click a key to change it; Backspace takes it away."))
        self.note.setProperty("role", "muted")
        inside = QWidget()
        columns = QHBoxLayout(inside)
        columns.setSpacing(40)
        grids = [QGridLayout(), QGridLayout()]
        for grid in grids:
            grid.setVerticalSpacing(4)
            grid.setColumnStretch(0, 1)
            side = QVBoxLayout()
            side.addLayout(grid)
            side.addStretch(1)
            columns.addLayout(side, 1)
        for menu in MENUS:
            entries = [entry for entry in ENTRIES if entry.menu == menu]
            grid = grids[0] if menu in ("File", "Edit", "Select", "Help") else grids[1]
            head = QLabel(tr(menu).upper())
            head.setProperty("role", "section")
            head.setContentsMargins(0, 12 if grid.count() else 0, 0, 2)
            grid.addWidget(head, grid.rowCount(), 0)
            for entry in entries:
                label = QLabel(tr(entry.title))
                button = KeyButton(entry.id)
                button.setAccessibleName(tr("Key of {title}", title=tr(entry.title)))
                button.pressed_keys.connect(self._bind)
                self.buttons[entry.id] = button
                row = grid.rowCount()
                grid.addWidget(label, row, 0)
                grid.addWidget(button, row, 1)
                self._rows.append((tr(entry.title).lower(), [label, button]))
        head = QLabel(tr("In the view").upper())
        head.setProperty("role", "section")
        head.setContentsMargins(0, 12, 0, 2)
        grids[1].addWidget(head, grids[1].rowCount(), 0)
        for key, does in VIEW_KEYS:
            row = grids[1].rowCount()
            label, cap = QLabel(tr(does)), KeyCap(tr(key))
            label.setWordWrap(True)
            grids[1].addWidget(label, row, 0)
            grids[1].addWidget(cap, row, 1)
            self._rows.append((tr(does).lower(), [label, cap]))
        scroll = QScrollArea()
        scroll.setWidget(inside)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 16, 24, 16)
        column.addLayout(top)
        column.addWidget(self.note)
        column.addWidget(scroll, 1)
        self.filter.installEventFilter(self)
        self.hide()

    def open(self) -> None:
        self.refresh()
        room = room_of(self)
        width, height = min(920, room.width() - 48), min(640, room.height() - 64)
        self.setGeometry((room.width() - width) // 2, (room.height() - height) // 2, width, height)
        self.show()
        self.raise_()
        self.filter.clear()
        self.filter.setFocus()

    def close_sheet(self) -> None:
        self.hide()
        self.closed.emit()

    def refresh(self) -> None:
        clashing = {e for conflict in self.keymap.conflicts() for e in conflict.entries}
        for entry, button in self.buttons.items():
            keys = "   ".join(shown(key) for key in self.keymap.keys(entry))
            button.setText(keys or "–")
            button.setProperty("kind", "loss" if entry in clashing else "")
            button.style().unpolish(button)
            button.style().polish(button)

    def _bind(self, entry: str, keys: str) -> None:
        if keys != "=":
            rivals = self.keymap.rivals(entry, keys) if keys else []
            self.keymap.bind(entry, [keys] if keys else [])
            if rivals:
                names = ", ".join(tr(BY_ID[rival].title) for rival in rivals)
                self.note.setText(
                    tr(
                        "{key} is also the key of {names}: neither runs until one "
                        "of them has another.",
                        key=shown(keys),
                        names=names,
                    )
                )
            else:
                self.note.setText(tr("Click a key to change it; Backspace takes it away."))
            self.changed.emit()
        self.refresh()

    def _filter(self, text: str) -> None:
        wanted = text.strip().lower()
        for title, widgets in self._rows:
            keys = " ".join(w.text().lower() for w in widgets[1:] if hasattr(w, "text"))
            for widget in widgets:
                widget.setVisible(not wanted or wanted in title or wanted in keys)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            if event.type() == QEvent.Type.ShortcutOverride:
                event.accept()
                return True
            if event.type() == QEvent.Type.KeyPress:
                self.close_sheet()
                return True
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_sheet()
        else:
            super().keyPressEvent(event)
