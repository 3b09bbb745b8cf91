"""Answers with a distribution or a profile are drawn, and copied as picture and as CSV."""

from __future__ import annotations

from typing import Any

import numpy as np
from oniyanma.ui.plot import csv_of, table_of
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication


def test_a_distribution_is_drawn_and_copied_as_csv_and_picture(town: Any) -> None:
    answer = town.window.bridge.read("queryElevation", {"bins": 8})
    town.window.acts.answered("queryElevation", {"bins": 8}, answer)
    card = town.window.answer
    town.qtbot.waitUntil(card.plot.isVisible)
    assert len(card.plot.listDataItems()) + len(card.plot.plotItem.items) >= 1
    picture, table = card.plot_buttons
    town.qtbot.mouseClick(table, Qt.MouseButton.LeftButton)
    lines = QApplication.clipboard().text().splitlines()
    assert lines[0] == "from,to,count" and len(lines) == 9
    assert sum(int(line.split(",")[2]) for line in lines[1:]) == answer["count"]
    town.qtbot.mouseClick(picture, Qt.MouseButton.LeftButton)
    copied = QApplication.clipboard().image()
    assert copied.width() > 200 and copied.height() >= 180


def test_a_profile_is_drawn_from_the_side(town: Any) -> None:
    low, high = town.window.bridge.view.scene_bounds()
    line = [[low[0], low[1]], [high[0], high[1]]]
    args = {"points": line, "width": (high[0] - low[0]) / 4}
    answer = town.window.bridge.read("queryProfile", args)
    town.window.acts.answered("queryProfile", args, answer)
    columns, rows = table_of(answer)
    assert columns == ["station", "offset", "z"] and len(rows) == len(answer["station"]) > 10
    (points,) = town.window.answer.plot.listDataItems()
    x, y = points.getData()
    assert np.array_equal(x, answer["station"]) and np.array_equal(y, answer["z"])


def test_an_answer_without_a_distribution_has_no_plot(town: Any) -> None:
    answer = town.window.bridge.read("listClouds")
    town.window.acts.answered("listClouds", {}, answer)
    assert not town.window.answer.plot.isVisible()
    assert not any(button.isVisible() for button in town.window.answer.plot_buttons)
    assert table_of(answer) is None


def test_csv_has_a_dot_for_decimals_and_every_digit() -> None:
    table = (["from", "to", "count"], [[0.1, 1234567.891, 3]])
    assert csv_of(table) == "from,to,count\n0.1,1234567.891,3\n"
