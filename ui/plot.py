"""The plot of an answer: the bars of a distribution, or a profile from the side."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QGuiApplication, QShowEvent

from . import theme as themes
from .text import tr

Table = tuple[list[str], list[list[Any]]]


def table_of(answer: Mapping[str, Any]) -> Table | None:
    """The rows that a plot draws and a CSV holds; None where an answer has none."""
    if {"station", "offset", "z"} <= answer.keys():
        columns = ["station", "offset", "z"]
        return columns, [list(row) for row in zip(*(answer[c] for c in columns), strict=True)]
    if answer.get("bins"):
        columns = ["from", "to", "count"]
        return columns, [[one[c] for c in columns] for one in answer["bins"]]
    return None


def csv_of(table: Table) -> str:
    """Comma-separated with a header and a dot for decimals, whatever the locale."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table[0])
    writer.writerows(table[1])
    return out.getvalue()


class AnswerPlot(pg.PlotWidget):
    """Draws what `table_of` finds, in the theme's colours."""

    def __init__(self, keeper: themes.ThemeKeeper) -> None:
        super().__init__()
        self.keeper = keeper
        self.table: Table | None = None
        self.setMenuEnabled(False)
        self.setMinimumHeight(180)
        self.setAccessibleName(tr("Plot of the answer"))
        keeper.changed.connect(lambda _: self._colours())

    def show_answer(self, answer: Mapping[str, Any]) -> bool:
        """Whether there is something to draw."""
        self.table = table_of(answer)
        self.clear()
        self.setVisible(self.table is not None)
        if self.table is None:
            return False
        accent = self.keeper.theme.color("accent")
        columns, rows = self.table
        values = np.array(rows, dtype=float).reshape(-1, 3)
        unit = str(answer.get("unit", ""))
        if columns[0] == "station":
            self.plot(
                values[:, 0], values[:, 2], pen=None, symbol="o", symbolSize=3,
                symbolPen=None, symbolBrush=accent,
            )  # fmt: skip
            self.setLabel("bottom", tr("Along the line"), units=None, unitPrefix=None)
            self.setLabel("left", f"Z {answer.get('verticalUnit', unit)}".strip())
        else:
            middle, width = (values[:, 0] + values[:, 1]) / 2, values[:, 1] - values[:, 0]
            bars = pg.BarGraphItem(x=middle, height=values[:, 2], width=width, brush=accent)
            self.addItem(bars)
            self.setLabel("bottom", "" if unit == "none" else unit)
            self.setLabel("left", tr("Points"))
        for side in ("bottom", "left"):
            self.getAxis(side).enableAutoSIPrefix(False)
        self.autoRange()
        self._colours()
        return True

    def _colours(self) -> None:
        theme = self.keeper.theme
        self.setBackground(theme.color("raised"))
        for side in ("bottom", "left"):
            axis = self.getAxis(side)
            axis.setPen(theme.color("border"))
            axis.setTextPen(theme.color("muted"))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._colours()

    def copy_picture(self) -> None:
        QGuiApplication.clipboard().setPixmap(self.grab())

    def copy_csv(self) -> None:
        if self.table is not None:
            QGuiApplication.clipboard().setText(csv_of(self.table))
