"""How a line of the palette is drawn: icon or swatch, title, what it hits, group, key."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from . import theme as themes

ROW = Qt.ItemDataRole.UserRole
Index = QModelIndex | QPersistentModelIndex


class RowDelegate(QStyledItemDelegate):
    """Draws a row: icon or swatch, title, what it hits or why not, group, key."""

    HEIGHT = 40

    def __init__(self, parent: QWidget, keeper: themes.ThemeKeeper) -> None:
        super().__init__(parent)
        self.keeper = keeper

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(option.rect.width(), self.HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = self.keeper.theme
        item = index.data(ROW)
        box = option.rect.adjusted(4, 1, -4, -1)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("hover"))
            painter.drawRoundedRect(box, 6, 6)
            painter.setBrush(theme.color("accent"))
            painter.drawRoundedRect(QRect(box.left(), box.top() + 10, 3, box.height() - 20), 1, 1)
        reason = getattr(item, "reason", "")
        left = box.left() + 14
        square = QRect(left, box.center().y() - 8, 18, 18)
        if item.color:
            painter.setPen(theme.color("border"))
            painter.setBrush(QColor(item.color))
            painter.drawRoundedRect(square.adjusted(2, 2, -2, -2), 3, 3)
        elif getattr(item, "icon", ""):
            themes.icon(item.icon, theme, role="muted").paint(painter, square)
        left += 30
        right = box.right() - 12
        small = themes.font(12)
        keys = getattr(item, "keys", "").split("  ")[0]
        if keys:
            width = QFontMetrics(small).horizontalAdvance(keys) + 12
            cap = QRect(right - width, box.center().y() - 10, width, 20)
            painter.setPen(theme.color("border"))
            painter.setBrush(theme.color("surface"))
            painter.drawRoundedRect(cap, 4, 4)
            painter.setFont(small)
            painter.setPen(theme.color("muted"))
            painter.drawText(cap, Qt.AlignmentFlag.AlignCenter, keys)
            right = cap.left() - 12
        group = getattr(item, "group", "")
        if group:
            painter.setFont(small)
            painter.setPen(theme.color("muted"))
            width = QFontMetrics(small).horizontalAdvance(group)
            painter.drawText(
                QRect(right - width, box.top(), width, box.height()),
                Qt.AlignmentFlag.AlignVCenter,
                group,
            )
            right -= width + 16
        painter.setFont(themes.font(14))
        painter.setPen(theme.color("muted" if reason else "text"))
        metrics = QFontMetrics(themes.font(14))
        title = metrics.elidedText(item.title, Qt.TextElideMode.ElideRight, max(0, right - left))
        painter.drawText(
            QRect(left, box.top(), right - left, box.height()), Qt.AlignmentFlag.AlignVCenter, title
        )
        left += metrics.horizontalAdvance(title) + 12
        note = reason or getattr(item, "hits", "") or item.detail
        if note and left < right - 40:
            painter.setFont(small)
            role = "muted" if reason or not getattr(item, "hits", "") else "accent_text"
            painter.setPen(theme.color(role))
            note = QFontMetrics(small).elidedText(note, Qt.TextElideMode.ElideRight, right - left)
            painter.drawText(
                QRect(left, box.top(), right - left, box.height()),
                Qt.AlignmentFlag.AlignVCenter,
                note,
            )
        painter.restore()
