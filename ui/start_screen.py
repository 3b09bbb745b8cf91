"""The first thing seen: a place to drop a file, the files opened last, and the sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from . import theme as themes
from .cards import KeyCap
from .text import tr

COLUMNS = 3
ROWS = 2
THUMB = QSize(208, 130)  # 16:10
CARD = QSize(THUMB.width() + 2, THUMB.height() + 58)
ROOM = 392  # what stands above and below the cards


def dropped_paths(event: QDropEvent | QDragEnterEvent) -> list[str]:
    """Local files and addresses in what is dragged."""
    urls = event.mimeData().urls()
    return [url.toLocalFile() if url.isLocalFile() else url.toString() for url in urls]


class RecentCard(QPushButton):
    """A file opened before: its picture, its name, where it lies."""

    def __init__(self, path: str, thumbnail: Path | None) -> None:
        super().__init__()
        self.setObjectName("recent")
        self.setMaximumSize(CARD)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Open {name}", name=Path(path).name))
        self.setToolTip(path)
        column = QVBoxLayout(self)
        column.setContentsMargins(1, 1, 1, 8)
        column.setSpacing(0)
        picture = QLabel()
        picture.setFixedSize(THUMB)
        picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        image = QPixmap(str(thumbnail)) if thumbnail is not None and thumbnail.exists() else None
        if image is not None and not image.isNull():
            ratio = self.devicePixelRatioF()
            scaled = image.scaled(
                THUMB * ratio,
                Qt.AspectRatioMode.KeepAspectRatioByExpanding,
                Qt.TransformationMode.SmoothTransformation,
            )
            width, height = round(THUMB.width() * ratio), round(THUMB.height() * ratio)
            scaled = scaled.copy(
                (scaled.width() - width) // 2, (scaled.height() - height) // 2, width, height
            )
            scaled.setDevicePixelRatio(ratio)
            picture.setPixmap(scaled)
        else:
            picture.setText(Path(path).suffix.lstrip(".").upper() or tr("FILE"))
            picture.setProperty("role", "muted")
        name = QLabel(Path(path).name)
        name.setProperty("role", "name")
        folder = QLabel(str(Path(path).parent))
        folder.setProperty("role", "folder")
        for label in (name, folder):
            text = label.fontMetrics().elidedText(
                label.text(), Qt.TextElideMode.ElideMiddle, THUMB.width() - 20
            )
            label.setText(text)
        for widget in (picture, name, folder):
            widget.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            column.addWidget(widget)

    def sizeHint(self) -> QSize:
        """A button would ask for a line of text only, whatever lies in it."""
        return CARD


class StartScreen(QWidget):
    """``chosen`` a path to open; ``browse`` and ``sample`` as the buttons say."""

    chosen = Signal(str)
    browse = Signal()
    sample = Signal()

    def __init__(self, keeper: themes.ThemeKeeper) -> None:
        super().__init__()
        self.setObjectName("startScreen")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAcceptDrops(True)
        self.zone = QFrame()
        self.zone.setObjectName("dropZone")
        self.zone.setMinimumHeight(232)
        self.zone.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        inside = QVBoxLayout(self.zone)
        inside.setContentsMargins(32, 28, 32, 28)
        inside.setSpacing(8)
        inside.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.mark = QLabel()
        self.mark.setAlignment(Qt.AlignmentFlag.AlignCenter)
        hero = QLabel(tr("Drop a point cloud here"))
        hero.setProperty("role", "hero")
        hero.setAlignment(Qt.AlignmentFlag.AlignCenter)
        kinds = QLabel(
            tr(
                "LAS, LAZ, COPC, E57, PLY, PCD, PTX, text, a folder of tiles, or the "
                "address of a COPC file"
            )
        )
        kinds.setProperty("role", "muted")
        kinds.setAlignment(Qt.AlignmentFlag.AlignCenter)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        open_button = QPushButton(tr("Open a file…"))
        open_button.setProperty("kind", "primary")
        open_button.setObjectName("start.open")
        open_button.clicked.connect(self.browse)
        self.setFocusProxy(open_button)
        sample_button = QPushButton(tr("Look at the sample town"))
        sample_button.setObjectName("start.sample")
        sample_button.clicked.connect(self.sample)
        buttons.addStretch(1)
        buttons.addWidget(open_button)
        buttons.addWidget(sample_button)
        buttons.addStretch(1)
        inside.addWidget(self.mark)
        inside.addWidget(hero)
        inside.addWidget(kinds)
        inside.addSpacing(12)
        inside.addLayout(buttons)

        self.title = QLabel(tr("Opened last"))
        self.title.setProperty("role", "section")
        self.grid = QGridLayout()
        self.grid.setSpacing(16)
        self.grid.setAlignment(Qt.AlignmentFlag.AlignLeft)
        tip = QHBoxLayout()
        tip.setSpacing(6)
        tip.addStretch(1)
        for key, text in (("Ctrl+K", tr("does anything by name")), ("?", tr("shows every key"))):
            tip.addWidget(KeyCap(key))
            label = QLabel(text)
            label.setProperty("role", "muted")
            tip.addWidget(label)
            tip.addSpacing(12)
        tip.addStretch(1)

        column = QWidget()
        column.setFixedWidth(CARD.width() * COLUMNS + 16 * (COLUMNS - 1))
        middle = QVBoxLayout(column)
        middle.setContentsMargins(0, 0, 0, 0)
        middle.setSpacing(16)
        middle.addWidget(self.zone)
        middle.addWidget(self.title)
        middle.addLayout(self.grid)
        middle.addSpacing(8)
        middle.addLayout(tip)
        outer = QVBoxLayout(self)
        outer.addStretch(2)
        outer.addWidget(column, 0, Qt.AlignmentFlag.AlignHCenter)
        outer.addStretch(3)
        self.dress(keeper.theme)
        keeper.changed.connect(self.dress)

    def dress(self, theme: themes.Theme) -> None:
        self.mark.setPixmap(
            themes.icon("ph.circles-three-plus", theme, role="accent").pixmap(40, 40)
        )

    def show_recent(self, files: Sequence[tuple[str, Path | None]]) -> None:
        """(path, thumbnail) pairs, newest first; as many as have room."""
        while (item := self.grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.title.setVisible(bool(files))
        for place, (path, thumbnail) in enumerate(files[: COLUMNS * ROWS]):
            card = RecentCard(path, thumbnail)
            card.clicked.connect(lambda _=False, path=path: self.chosen.emit(path))
            self.grid.addWidget(card, place // COLUMNS, place % COLUMNS)
        self._fit()

    def _fit(self) -> None:
        """Whole rows only: a low window shows one."""
        rows = max(1, (self.height() - ROOM) // (CARD.height() + self.grid.spacing()))
        for place in range(self.grid.count()):
            item = self.grid.itemAt(place)
            card = item.widget() if item is not None else None
            if card is not None:
                card.setVisible(place // COLUMNS < rows)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_paths(event):
            event.acceptProposedAction()
            self._glow(True)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._glow(False)

    def dropEvent(self, event: QDropEvent) -> None:
        self._glow(False)
        for path in dropped_paths(event):
            self.chosen.emit(path)
        event.acceptProposedAction()

    def _glow(self, over: bool) -> None:
        self.zone.setProperty("over", over)
        self.zone.style().unpolish(self.zone)
        self.zone.style().polish(self.zone)
