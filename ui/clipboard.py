"""What a click on a value puts on the clipboard."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication


def copy_text(text: str) -> str:
    """Copies a text as it can be typed, with plain spaces; gives what was copied."""
    plain = text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")
    QGuiApplication.clipboard().setText(plain)
    return plain
