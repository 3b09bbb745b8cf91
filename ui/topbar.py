"""The line at the top: menus, the field that opens the palette, theme and keys."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QMenuBar, QPushButton, QToolButton, QWidget

from .actions import BY_ID
from .cards import KeyCap
from .keymap import Keymap, shown
from .menus import Actions, fill_menus
from .text import tr


class TopBar(QWidget):
    """Everything in it triggers a shared QAction."""

    def __init__(self, actions: Actions, keymap: Keymap) -> None:
        super().__init__()
        self.keymap = keymap
        self.setObjectName("topBar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        bar = QMenuBar()
        bar.setNativeMenuBar(False)
        self.menus = fill_menus(bar, actions)
        self.field = QPushButton(tr("Type a command or ask…"))
        self.field.setObjectName("paletteField")
        self.field.setMinimumWidth(280)
        self.field.setMaximumWidth(440)
        self.field.clicked.connect(actions["window.palette"].trigger)
        inside = QHBoxLayout(self.field)
        inside.setContentsMargins(0, 0, 8, 0)
        inside.addStretch(1)
        self.field_key = KeyCap("")
        self.field_key.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        inside.addWidget(self.field_key)
        self.theme_button = _acting(actions, "window.theme")
        self.keys_button = _acting(actions, "window.keys")
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 5, 8, 5)
        row.setSpacing(8)
        row.addWidget(bar)
        row.addStretch(1)
        row.addWidget(self.field, 2)
        row.addStretch(1)
        row.addWidget(self.theme_button)
        row.addWidget(self.keys_button)
        self.show_key()

    def show_key(self) -> None:
        """The palette's key as it is bound now."""
        keys = self.keymap.keys("window.palette")
        self.field_key.setText(shown(keys[0]) if keys else "")
        self.field_key.setVisible(bool(keys))


def _acting(actions: Actions, entry: str) -> QToolButton:
    button = QToolButton()
    button.setDefaultAction(actions[entry])
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
    button.setIconSize(QSize(18, 18))
    button.setAccessibleName(tr(BY_ID[entry].title))
    return button
