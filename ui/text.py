"""Every text a person reads passes through here, so that it can be translated."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication


def tr(text: str, /, **values: object) -> str:
    """The text in the person's language, with ``{name}`` places filled in afterwards."""
    translated = QCoreApplication.translate("oniyanma", text)
    return translated.format(**values) if values else translated


def sentence(text: str) -> str:
    """The text with a capital at its beginning, unless a file's name stands there."""
    first = text.split(" ", 1)[0]
    return text if "." in first or "/" in first else text[:1].upper() + text[1:]
