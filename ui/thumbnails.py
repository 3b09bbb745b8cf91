"""Small pictures of files opened before, for the start screen."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage

from .settings import config_folder

SIZE = QSize(416, 260)  # twice the card's, for dense screens


class Thumbnails:
    """One PNG a path, in the configuration folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or config_folder() / "thumbnails"

    def path_of(self, file: str) -> Path:
        return self.folder / f"{hashlib.sha256(file.encode()).hexdigest()[:24]}.png"

    def of(self, files: Sequence[str]) -> list[tuple[str, Path | None]]:
        """Each file with its picture, None where there is none."""
        found = [(file, self.path_of(file)) for file in files]
        return [(file, path if path.exists() else None) for file, path in found]

    def keep(self, file: str, picture: QImage) -> None:
        """Stores a picture, cut to the card's shape; a full disk only means no picture."""
        scaled = picture.scaled(
            SIZE,
            Qt.AspectRatioMode.KeepAspectRatioByExpanding,
            Qt.TransformationMode.SmoothTransformation,
        )
        left, top = (scaled.width() - SIZE.width()) // 2, (scaled.height() - SIZE.height()) // 2
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return
        scaled.copy(left, top, SIZE.width(), SIZE.height()).save(str(self.path_of(file)))
