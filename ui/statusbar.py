"""The line at the bottom: where the cursor is, what runs, what is selected, how much is shown."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QStatusBar, QWidget

from . import theme as themes
from .clipboard import copy_text
from .numbers import integer, number, percent, short_count
from .text import tr


class Copyable(QPushButton):
    """A value that a click copies."""

    copied = Signal(str)

    def __init__(self, name: str, title: str) -> None:
        super().__init__()
        self.setFont(themes.font(12, tabular=True))
        self.setObjectName(f"status.{name}")
        self.setAccessibleName(title)
        self.setToolTip(tr("Click copies it"))
        self.clicked.connect(self._copy)

    def _copy(self) -> None:
        self.copied.emit(copy_text(self.text()))


class Gauge(QWidget):
    """How many of all points are on the screen, as eight segments and two numbers."""

    SEGMENTS = 8

    def __init__(self, keeper: themes.ThemeKeeper) -> None:
        super().__init__()
        self.keeper = keeper
        self.shown = 0
        self.total = 0
        self.loading = False
        self.setFont(themes.font(12, tabular=True))
        self.setAccessibleName(tr("Points on screen"))

    def set(self, shown: int, total: int, loading: bool) -> None:
        if (shown, total, loading) != (self.shown, self.total, self.loading):
            self.shown, self.total, self.loading = shown, total, loading
            self.setToolTip(
                tr(
                    "{shown} of {total} points are loaded for this view",
                    shown=integer(shown),
                    total=integer(total),
                )
            )
            self.setAccessibleDescription(self.toolTip())
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(190, 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self.keeper.theme
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            share = min(1.0, self.shown / self.total) if self.total else 0.0
            top = self.height() / 2 - 5
            for place in range(self.SEGMENTS):
                fill = min(1.0, max(0.0, share * self.SEGMENTS - place))
                painter.setBrush(theme.color("border"))
                painter.drawRoundedRect(QRectF(place * 8, top, 6, 10), 1.5, 1.5)
                if fill > 0:
                    painter.setBrush(theme.color("accent"))
                    painter.drawRoundedRect(
                        QRectF(place * 8, top + 10 * (1 - fill), 6, 10 * fill), 1.5, 1.5
                    )
            painter.setPen(theme.color("text" if not self.loading else "muted"))
            painter.drawText(
                self.rect().adjusted(self.SEGMENTS * 8 + 8, 0, 0, 0),
                Qt.AlignmentFlag.AlignVCenter,
                f"{short_count(self.shown)} / {short_count(self.total)}",
            )


class Progress(QWidget):
    """A thin bar. Unlike Qt's own it never paints the window at once when its value changes,
    which would hold up who reports the progress, and paint inside another painting."""

    def __init__(self, keeper: themes.ThemeKeeper) -> None:
        super().__init__()
        self.keeper = keeper
        self.fraction: float | None = None
        self.setFixedSize(96, 4)
        self.setAccessibleName(tr("Progress"))

    def set(self, fraction: float | None) -> None:
        """``fraction`` 0..1; None: nobody knows how far it is."""
        self.fraction = fraction
        self.setAccessibleDescription("" if fraction is None else percent(fraction))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self.keeper.theme
        area = QRectF(self.rect())
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("border"))
            painter.drawRoundedRect(area, 2, 2)
            painter.setBrush(theme.color("accent"))
            if self.fraction is None:
                area.adjust(area.width() * 0.35, 0, -area.width() * 0.35, 0)
            else:
                area.setWidth(area.width() * min(1.0, max(0.0, self.fraction)))
            painter.drawRoundedRect(area, 2, 2)


class JobLine(QWidget):
    """The running job, its progress and its cancel. Shows after 300 ms, not before."""

    cancelled = Signal(str)

    def __init__(self, keeper: themes.ThemeKeeper) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 0, 4, 0)
        row.setSpacing(8)
        self.label = QLabel()
        self.job = ""
        self.bar = Progress(keeper)
        self.stop = QPushButton("✕")
        self.stop.setFixedWidth(26)
        self.stop.setObjectName("status.cancel")
        self.stop.clicked.connect(lambda: self.cancelled.emit(self.job))
        for widget in (self.label, self.bar, self.stop):
            row.addWidget(widget)
        self.hide()

    def show_job(self, job: str, title: str, fraction: float | None, more: int = 0) -> None:
        self.job = job
        done = "" if fraction is None else f" {percent(fraction)}"
        self.label.setText(title + done + (tr(" and {more} more", more=more) if more else ""))
        self.bar.set(fraction)
        self.stop.setAccessibleName(tr("Cancel {title}", title=title))
        self.stop.setToolTip(self.stop.accessibleName())
        self.stop.setVisible(bool(job))
        self.show()


class StatusBar(QStatusBar):
    """Coordinates and CRS on the left; jobs, selection, gauge and frame time on the right."""

    def __init__(self, keeper: themes.ThemeKeeper) -> None:
        super().__init__()
        self.setSizeGripEnabled(False)
        self.position = Copyable("position", tr("Place under the cursor"))
        self.crs = Copyable("crs", tr("Reference system"))
        self.job = JobLine(keeper)
        self.selected = Copyable("selected", tr("Selected points"))
        self.gauge = Gauge(keeper)
        self.frame = QLabel()
        self.frame.setFont(themes.font(12, tabular=True))
        self.frame.setProperty("role", "muted")
        self.frame.setMinimumWidth(56)
        self.frame.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.frame.setToolTip(tr("Time of the last frame"))
        self.position.setMinimumWidth(330)
        self.position.setStyleSheet("text-align: left;")
        self.addWidget(self.position)
        self.addWidget(self.crs)
        for widget in (self.job, self.selected, self.gauge, self.frame):
            self.addPermanentWidget(widget)
        self.selected.hide()
        self.setContentsMargins(0, 0, 10, 0)

    def working(self, on: bool) -> None:
        """Whether there is a scene to speak of."""
        for widget in (self.position, self.crs, self.gauge, self.frame):
            widget.setVisible(on)

    def show_position(
        self, point: tuple[float, float, float] | None, unit: str, decimals: tuple[int, int, int]
    ) -> None:
        if point is None:
            self.position.setText(tr("E –  N –  Z –"))
            return
        east, north, height = (
            number(value, digits) for value, digits in zip(point, decimals, strict=True)
        )
        text = tr("E {east}   N {north}   Z {height}", east=east, north=north, height=height)
        self.position.setText(f"{text}\N{NO-BREAK SPACE}{unit}" if unit else text)

    def show_crs(self, name: str, tip: str = "") -> None:
        self.crs.setText(name)
        self.crs.setToolTip(tip or tr("Click copies it"))

    def show_selected(self, points: int | None) -> None:
        self.selected.setVisible(points is not None)
        if points is not None:
            self.selected.setText(tr("{points} selected (on screen)", points=integer(points)))

    def show_frame(self, milliseconds: float) -> None:
        self.frame.setText(f"{integer(milliseconds)}\N{NO-BREAK SPACE}ms")
