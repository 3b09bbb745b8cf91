"""Numbers as a person reads them: by locale, with their unit, never a bare float.

Only for the screen. Files, commands and answers hold plain numbers.
"""

from __future__ import annotations

import math
from datetime import datetime

from PySide6.QtCore import QDateTime, QLocale

MISSING = "–"


def decimals_of(scale: float) -> int:
    """How many decimals a scale factor has: 0.01 → 2, 0.25 → 2, 1 → 0; at most 9."""
    if not math.isfinite(scale) or scale <= 0:
        return 0
    for digits in range(10):
        scaled = scale * 10**digits
        if abs(scaled - round(scaled)) < 1e-6 * scaled:
            return digits
    return 9


def integer(value: int | float | None, locale: QLocale | None = None) -> str:
    """A count with the locale's thousands separators."""
    if value is None:
        return MISSING
    return (locale or QLocale()).toString(round(value))


def number(
    value: float | None, decimals: int = 2, unit: str = "", locale: QLocale | None = None
) -> str:
    """A measured value with fixed decimals and its unit, never in powers of ten."""
    if value is None or not math.isfinite(value):
        return MISSING
    text = (locale or QLocale()).toString(float(value), "f", decimals)
    if float(f"{value:.{decimals}f}") == 0.0:  # no "-0.00"
        text = (locale or QLocale()).toString(0.0, "f", decimals)
    return f"{text}{unit}" if unit in ("", "°") else f"{text}\N{NO-BREAK SPACE}{unit}"


def short_count(value: int | float, locale: QLocale | None = None) -> str:
    """A count in three figures: 950, 12.4 k, 1.8 M, 10.7 M, 2.1 G."""
    locale = locale or QLocale()
    size = float(value)
    if abs(size) < 1e3:
        return locale.toString(round(size))
    steps = ((999.5e3, 1e3, "k"), (999.5e6, 1e6, "M"), (math.inf, 1e9, "G"))
    divisor, mark = next((d, m) for limit, d, m in steps if abs(size) < limit)
    scaled = size / divisor
    digits = 1 if abs(scaled) < 99.95 else 0
    return f"{locale.toString(scaled, 'f', digits)}\N{NO-BREAK SPACE}{mark}"


def byte_count(value: float, locale: QLocale | None = None) -> str:
    """A size in bytes with a binary unit the locale knows."""
    return (locale or QLocale()).formattedDataSize(round(value), 1)


def percent(fraction: float, locale: QLocale | None = None) -> str:
    """0..1 as whole percents."""
    return f"{integer(fraction * 100, locale)}\N{NO-BREAK SPACE}%"


def significant(value: float | None, unit: str = "", locale: QLocale | None = None) -> str:
    """A value of unknown size with four significant digits, still without powers of ten."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return number(0.0, 0, unit, locale)
    digits = max(0, min(9, 3 - math.floor(math.log10(abs(value)))))
    if float(value).is_integer():
        digits = 0
    return number(value, digits, unit, locale)


def clock(moment: str, locale: QLocale | None = None) -> str:
    """Hours and minutes here of an ISO moment, as the locale writes them; "" of none."""
    local = _local(moment)
    brief = QLocale.FormatType.ShortFormat
    return "" if local is None else (locale or QLocale()).toString(local.time(), brief)


def day_and_clock(moment: str, locale: QLocale | None = None) -> str:
    """Day, hours and minutes here of an ISO moment, as the locale writes them; "" of none."""
    local = _local(moment)
    brief = QLocale.FormatType.ShortFormat
    return "" if local is None else (locale or QLocale()).toString(local, brief)


def _local(moment: str) -> QDateTime | None:
    try:
        return QDateTime.fromSecsSinceEpoch(round(datetime.fromisoformat(moment).timestamp()))
    except ValueError:
        return None
