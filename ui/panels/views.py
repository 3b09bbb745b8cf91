"""Saved views as small pictures: a click goes there."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QImage, QKeyEvent, QPainter, QPainterPath, QPen, QPixmap
from PySide6.QtWidgets import QListView, QListWidget, QListWidgetItem, QMenu, QPushButton, QWidget

from .. import theme as themes
from ..text import tr
from .base import KEY, Panel

PICTURE = QSize(144, 81)


def picture_of(png: bytes, theme: themes.Theme, ratio: float) -> QPixmap:
    """A saved view's picture with round corners; a mark where nothing could draw it."""
    pixmap = QPixmap(PICTURE * ratio)
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    frame = QRectF(0.5, 0.5, PICTURE.width() - 1, PICTURE.height() - 1)
    outline = QPainterPath()
    outline.addRoundedRect(frame, 6, 6)
    image = QImage.fromData(png)
    with QPainter(pixmap) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.setClipPath(outline)
        painter.fillPath(outline, theme.color("canvas"))
        if image.isNull():
            sign = themes.icon("ph.bookmark-simple", theme, role="muted")
            sign.paint(painter, frame.toRect())
        else:
            small = image.scaled(
                PICTURE * ratio,
                Qt.AspectRatioMode.KeepAspectRatioByExpanding,
                Qt.TransformationMode.SmoothTransformation,
            )
            small.setDevicePixelRatio(ratio)
            size = small.deviceIndependentSize()
            left, top = (PICTURE.width() - size.width()) / 2, (PICTURE.height() - size.height()) / 2
            painter.drawImage(QRectF(left, top, size.width(), size.height()), small)
        painter.setClipping(False)
        painter.setPen(QPen(theme.color("border"), 1))
        painter.drawPath(outline)
    return pixmap


class ViewsPanel(Panel):
    name, title = "views", "Views"
    empty = "Saved views stand here as small pictures. Press Ctrl+B to keep this one."

    def __init__(self, bridge: Any, keeper: themes.ThemeKeeper) -> None:
        super().__init__(bridge, keeper)
        self._pictures: dict[tuple[bytes, str, float], QPixmap] = {}
        self.button(tr("Go there"), self.activated, command="setCamera")
        again = self.button(tr("Save this view in its place"), self._again, command="saveBookmark")
        again.setToolTip(tr("The view on screen takes the chosen one's name and picture"))
        self.button(tr("Delete"), self._delete, command="deleteBookmark")

    def body(self) -> QWidget:
        self.list = QListWidget()
        self.list.setObjectName("list.views")
        self.list.setAccessibleName(tr("Saved views"))
        self.list.setViewMode(QListView.ViewMode.IconMode)
        self.list.setResizeMode(QListView.ResizeMode.Adjust)
        self.list.setMovement(QListView.Movement.Static)
        self.list.setUniformItemSizes(True)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.setWordWrap(False)
        self.list.setIconSize(PICTURE)
        self.list.setGridSize(QSize(PICTURE.width() + 16, PICTURE.height() + 36))
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._menu)
        self.list.itemClicked.connect(lambda item: self.activated(item.data(KEY)))
        self.list.installEventFilter(self)
        self.list.currentItemChanged.connect(lambda *_: self._buttons_state())
        return self.list

    def current(self) -> str:
        item = self.list.currentItem()
        return str(item.data(KEY)) if item is not None else ""

    def count(self) -> int:
        return self.list.count()

    def watched(self, state: Any) -> Any:
        return state.bookmarks

    def fill(self) -> None:
        chosen = self.current()
        theme, ratio = self.keeper.theme, self.devicePixelRatioF()
        known, self._pictures = self._pictures, {}
        self.list.blockSignals(True)
        self.list.clear()
        for name, bookmark in self.bridge.committed.bookmarks.items():
            key = (bookmark.thumbnail, theme.name, ratio)
            picture = known.get(key) or picture_of(bookmark.thumbnail, theme, ratio)
            self._pictures[key] = picture
            icon = QIcon(picture)
            icon.addPixmap(picture, QIcon.Mode.Selected)  # as it is, not tinted
            item = QListWidgetItem(icon, name)
            item.setData(KEY, name)
            item.setToolTip(name)
            item.setSizeHint(QSize(PICTURE.width() + 12, PICTURE.height() + 32))
            self.list.addItem(item)
            if name == chosen:
                self.list.setCurrentItem(item)
        self.list.blockSignals(False)

    def activated(self, key: str) -> None:
        self.bridge.run("setCamera", {"bookmark": key, "animate": True})

    def _again(self, key: str) -> None:
        self.bridge.run("saveBookmark", {"name": key})

    def _delete(self, key: str) -> None:
        self.bridge.run("deleteBookmark", {"name": key})

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and watched is self.list and self.current():
            deletes = event.key() == Qt.Key.Key_Delete
            goes = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
            if event.type() == QEvent.Type.ShortcutOverride and deletes:
                event.accept()  # here it is the view that goes, never the selected points
                return True
            if event.type() == QEvent.Type.KeyPress and (deletes or goes):
                (self._delete if deletes else self.activated)(self.current())
                return True
        return super().eventFilter(watched, event)

    def _menu(self, at: QPoint) -> None:
        """The buttons' acts, at the cursor or at the current view."""
        item = self.list.itemAt(at) or self.list.currentItem()
        if item is None:
            return
        self.list.setCurrentItem(item)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for index in range(self.foot.count()):
            box = self.foot.itemAt(index)
            button = box.widget() if box is not None else None
            if isinstance(button, QPushButton):
                menu.addAction(button.text(), button.click)
        menu.popup(self.list.viewport().mapToGlobal(at))
