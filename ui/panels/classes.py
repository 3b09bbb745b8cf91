"""The classes there are: colour with a pattern, name, count, shown or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QBrush, QColor, QIcon, QMouseEvent, QPainter, QPixmap, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QMenu,
    QPushButton,
    QScrollArea,
    QStyle,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from .. import theme as themes
from ..numbers import integer
from ..text import tr
from ..values import class_color, class_name
from .base import KEY
from .class_colour import ClassColour, color_args

PATTERNS = (
    Qt.BrushStyle.NoBrush,
    Qt.BrushStyle.FDiagPattern,
    Qt.BrushStyle.BDiagPattern,
    Qt.BrushStyle.HorPattern,
    Qt.BrushStyle.VerPattern,
    Qt.BrushStyle.CrossPattern,
    Qt.BrushStyle.DiagCrossPattern,
    Qt.BrushStyle.Dense6Pattern,
)


def swatch(color: str, number: int, ratio: float) -> QIcon:
    """A class's colour with a pattern by its number, so that colour alone never decides."""
    picture = QPixmap(round(16 * ratio), round(16 * ratio))
    picture.setDevicePixelRatio(ratio)
    picture.fill(QColor(color))
    pattern = PATTERNS[number % len(PATTERNS)]
    if pattern != Qt.BrushStyle.NoBrush:
        painter = QPainter(picture)
        ink = QColor("#000000") if QColor(color).lightnessF() > 0.45 else QColor("#ffffff")
        ink.setAlpha(150)
        painter.fillRect(0, 0, 16, 16, QBrush(ink, pattern))
        painter.end()
    return QIcon(picture)


class ClassList(QWidget):
    """Rows by class number. The tick shows or hides; "Only" shows one and nothing else."""

    def __init__(self, bridge: Any, keeper: themes.ThemeKeeper) -> None:
        super().__init__()
        self.bridge = bridge
        self.keeper = keeper
        self.setObjectName("classes")
        self.tree = QTreeWidget()
        self.tree.setObjectName("list.classes")
        self.tree.setAccessibleName(tr("Classes"))
        self.tree.setHeaderHidden(True)
        self.tree.setColumnCount(2)
        self.tree.setRootIsDecorated(False)
        self.tree.setUniformRowHeights(True)
        self.tree.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.tree.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = self.tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.tree.itemChanged.connect(self._ticked)
        self.tree.itemActivated.connect(lambda item, _: self._ask_color(item))
        self.tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.tree.customContextMenuRequested.connect(self._menu)
        self.tree.viewport().installEventFilter(self)
        self.card = ClassColour(bridge, keeper, self)
        self.all = QPushButton(tr("All"))
        self.only = QPushButton(tr("Only this"))
        self.pick = QPushButton(tr("Select"))
        self.paint = QPushButton(tr("Colour…"))
        self.paint.setObjectName("classes.colour")
        self.paint.clicked.connect(lambda: self._ask_color(self.tree.currentItem()))
        self.all.setObjectName("classes.all")
        self.only.setObjectName("classes.only")
        self.pick.setObjectName("classes.select")
        self.all.clicked.connect(self._show_all)
        self.only.clicked.connect(lambda: self._with_current("only"))
        self.pick.clicked.connect(lambda: self._with_current("select"))
        row = QHBoxLayout()
        for button in (self.all, self.only, self.pick, self.paint):
            button.setProperty("kind", "quiet")
            row.addWidget(button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(4, 0, 4, 0)
        column.addWidget(self.tree)
        column.addLayout(row)
        self.tree.setFixedHeight(32)
        self._stale = True
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(300)
        self._soon.timeout.connect(self.refresh)
        bridge.state_changed.connect(self._on_state)
        bridge.resident_changed.connect(self._later)

    def _later(self) -> None:
        if self.bridge.scene.settled:  # also where a count was due later: these are the last
            self._soon.start(100)
        elif not self._soon.isActive():
            # counting millions of points takes a moment: seldom while more are coming
            self._soon.start(1500)

    def _on_state(self, before: Any, after: Any) -> None:
        if (
            before is None
            or before.clouds != after.clouds
            or before.events != after.events
            or before.hidden_classes != after.hidden_classes
            or before.display.class_colors != after.display.class_colors
        ):
            self._soon.start(0)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self._soon.start(0)

    def refresh(self) -> None:
        if not self.isVisible():
            self._stale = True
            return
        self._stale = False
        version = self.bridge.view.resident_version
        state = self.bridge.state
        answer = self.bridge.read("queryClasses") or {}
        counts = {int(row["class"]): int(row["count"]) for row in answer.get("classes", [])}
        for entry in state.clouds:  # classes of the file that are not on screen now
            info = self.bridge.info(entry.id)
            for number in info.classes if info is not None else ():
                counts.setdefault(int(number), 0)
        for number in state.hidden_classes:
            counts.setdefault(int(number), 0)
        current = self.tree.currentItem()
        chosen = current.data(0, KEY) if current is not None else None
        self.tree.blockSignals(True)
        self.tree.clear()
        for number in sorted(counts):
            item = QTreeWidgetItem([f"{number}  {class_name(number)}", integer(counts[number])])
            item.setData(0, KEY, number)
            item.setToolTip(0, tr("{name}\nClick the colour to change it", name=item.text(0)))
            item.setIcon(0, swatch(class_color(state, number), number, self.devicePixelRatioF()))
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            hidden = number in state.hidden_classes
            item.setCheckState(0, Qt.CheckState.Unchecked if hidden else Qt.CheckState.Checked)
            item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            item.setFont(1, themes.font(12, tabular=True))
            if hidden or not counts[number]:
                item.setForeground(1, self.keeper.theme.color("muted"))
            self.tree.addTopLevelItem(item)
            if number == chosen:
                self.tree.setCurrentItem(item)
        self.tree.blockSignals(False)
        rows = max(1, self.tree.topLevelItemCount())
        height = self.tree.sizeHintForRow(0) if self.tree.topLevelItemCount() else 28
        self.tree.setFixedHeight(rows * height + 4)
        self._make_room()
        if not self.bridge.scene.settled or self.bridge.view.resident_version != version:
            self._later()

    def _make_room(self) -> None:
        """Lays out anew at once what the list lies in: while points arrive the next turn of the
        event loop may be long in coming, and the list would lie over the buttons."""
        part: QWidget | None = self
        while part is not None and not part.isWindow():
            QCoreApplication.sendPostedEvents(part, QEvent.Type.LayoutRequest.value)
            if isinstance(part, QScrollArea):
                return
            part = part.parentWidget()

    def _ticked(self, item: QTreeWidgetItem, column: int) -> None:
        if column == 0:
            shown = item.checkState(0) == Qt.CheckState.Checked
            self.bridge.run(
                "setClassVisibility", {"classes": [item.data(0, KEY)], "visible": shown}
            )

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.MouseButtonRelease
            and isinstance(event, QMouseEvent)
            and event.button() == Qt.MouseButton.LeftButton
        ):
            at = event.position().toPoint()
            item = self.tree.itemAt(at)
            if item is not None and self.swatch_rect(item).contains(at):
                self.tree.setCurrentItem(item)
                self._ask_color(item)
                return True
        return super().eventFilter(watched, event)

    def swatch_rect(self, item: QTreeWidgetItem) -> QRect:
        """Where a row's colour lies, in the list's viewport."""
        option = QStyleOptionViewItem()
        option.initFrom(self.tree)
        option.rect = self.tree.visualItemRect(item)
        option.features = (
            QStyleOptionViewItem.ViewItemFeature.HasCheckIndicator
            | QStyleOptionViewItem.ViewItemFeature.HasDecoration
            | QStyleOptionViewItem.ViewItemFeature.HasDisplay
        )
        option.decorationSize = self.tree.iconSize().expandedTo(QSize(16, 16))
        option.icon, option.text = item.icon(0), item.text(0)
        option.widget = self.tree
        part = QStyle.SubElement.SE_ItemViewItemDecoration
        return self.tree.style().subElementRect(part, option, self.tree).adjusted(-2, -2, 2, 2)

    def _ask_color(self, item: QTreeWidgetItem | None) -> None:
        if item is not None:
            corner = self.tree.visualItemRect(item).topLeft()
            place = self.tree.viewport().mapToGlobal(corner) - QPoint(8, 0)
            self.card.ask(int(item.data(0, KEY)), place)

    def _menu(self, at: QPoint) -> None:
        """What can be done with a class, at the cursor or at the current row."""
        item = self.tree.itemAt(at) or self.tree.currentItem()
        if item is None:
            return
        self.tree.setCurrentItem(item)
        own = self.bridge.committed.display.class_colors
        number = int(item.data(0, KEY))
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Colour…"), lambda: self._ask_color(item))
        default = menu.addAction(tr("Default colour"), lambda: self._restore([number]))
        default.setEnabled(number in own)
        every = menu.addAction(tr("All default colours"), lambda: self._restore(own))
        every.setEnabled(bool(own))
        menu.addSeparator()
        menu.addAction(tr("Only this"), lambda: self._with_current("only"))
        menu.addAction(tr("Select"), lambda: self._with_current("select"))
        menu.popup(self.tree.viewport().mapToGlobal(at))

    def _restore(self, numbers: Iterable[int]) -> None:
        args = color_args(self.bridge.state, dict.fromkeys(numbers))
        self.bridge.run("setColorMode", args)

    def _show_all(self) -> None:
        hidden = sorted(self.bridge.state.hidden_classes)
        if hidden:
            self.bridge.run("setClassVisibility", {"classes": hidden, "visible": True})

    def _with_current(self, what: str) -> None:
        item = self.tree.currentItem()
        if item is None:
            return
        number = item.data(0, KEY)
        if what == "only":
            self.bridge.run(
                "setClassVisibility", {"classes": [number], "visible": True, "only": True}
            )
        else:
            self.bridge.run("selectWhere", {"classes": [number]})
