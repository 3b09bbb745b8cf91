"""Every text a person reads passes through here, so that it can be translated."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication


def tr(text: str, /, **values: object) -> str:
    """The text in the person's language, with ``{name}`` places filled in afterwards."""
    translated = QCoreApplication.translate("oniyanma", text)
    return translated.format(**values) if values else translated
