"""Numbers on screen: by locale, with a unit, never a bare float and never a power of ten."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oniyanma.ui import numbers
from PySide6.QtCore import QLocale

EN = QLocale(QLocale.Language.English, QLocale.Country.UnitedStates)
DE = QLocale(QLocale.Language.German, QLocale.Country.Germany)


def test_thousands_and_decimals_follow_the_locale() -> None:
    assert numbers.integer(128340, EN) == "128,340"
    assert numbers.integer(128340, DE) == "128.340"
    assert numbers.number(637978.31, 2, "ft", EN) == "637,978.31\N{NO-BREAK SPACE}ft"
    assert numbers.number(637978.31, 2, "", DE) == "637.978,31"


def test_what_is_missing_is_a_dash() -> None:
    assert numbers.number(None) == numbers.number(float("nan")) == numbers.MISSING
    assert numbers.integer(None) == numbers.MISSING


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15))
def test_no_number_is_ever_written_with_an_exponent(value: float) -> None:
    for text in (numbers.number(value, 3, "m", EN), numbers.significant(value, "m", EN)):
        assert "e" not in text.lower()
        assert text.endswith("m")


@given(st.floats(min_value=-0.0049, max_value=0.0049))
def test_nothing_is_never_negative(value: float) -> None:
    assert numbers.number(value, 2, "", EN) == "0.00"


@pytest.mark.parametrize(
    ("scale", "decimals"), [(0.01, 2), (0.001, 3), (1.0, 0), (0.25, 2), (1e-7, 7), (0.0, 0)]
)
def test_as_many_decimals_as_the_scale_has(scale: float, decimals: int) -> None:
    assert numbers.decimals_of(scale) == decimals


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (950, "950"),
        (12_400, "12.4 k"),
        (1_800_000, "1.8 M"),
        (10_650_000, "10.6 M"),
        (999_499, "999 k"),
        (2_100_000_000, "2.1 G"),
    ],
)
def test_counts_are_short_where_room_is_short(value: int, text: str) -> None:
    assert numbers.short_count(value, EN).replace("\N{NO-BREAK SPACE}", " ") in (
        text,
        text.replace("10.6", "10.7"),
    )


@pytest.mark.parametrize("name", ["en_US", "de_DE", "fr_FR"])
def test_picture_list_and_toast_write_a_value_alike(
    town: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """One rule for all that is on screen: the locale's separators."""
    from oniyanma.ui import overlay

    from oniyanma.scene.overlays import Label

    before = QLocale()
    QLocale.setDefault(QLocale(name))
    try:
        corners = [(2.0, 2.0), (98.0, 2.0), (98.0, 98.0), (2.0, 98.0)]
        points = [[385_600 + x, 3_947_200 + y, 50.0] for x, y in corners]
        town.window.bridge.run("addMeasurement", {"kind": "area", "points": points})
        town.window.docks["measures"].raise_()
        tree = town.window.panels["measures"].tree
        town.qtbot.waitUntil(lambda: tree.topLevelItemCount() == 1)
        told = tree.topLevelItem(0).text(2)
        assert QLocale().groupSeparator() in told
        drawn: list[Any] = []
        real = overlay.draw
        monkeypatch.setattr(overlay, "draw", lambda *args: (drawn.extend(args[2]), real(*args)))
        town.window.overlay.update()
        town.qtbot.waitUntil(
            lambda: told in [shape.text for shape in drawn if isinstance(shape, Label)]
        )
        assert told in town.window.toast.text.text()
    finally:
        QLocale.setDefault(before)


def test_a_moment_is_told_in_the_clock_of_this_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log keeps UTC; a person reads the clock on the wall, as the locale writes it."""
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        moment = "2026-12-01T20:05:09.123456+00:00"
        assert numbers.clock(moment, DE) == "05:05"
        assert "05:05" in numbers.day_and_clock(moment, DE)
        assert "02.12" in numbers.day_and_clock(moment, DE)
        assert numbers.clock("") == numbers.clock("soon") == ""
    finally:
        monkeypatch.undo()
        time.tzset()
