"""What a printed page needs: any script's letters, and a foot with the number of pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import groupby
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib.colors import Color
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFError, TTFont
from reportlab.pdfgen.canvas import Canvas

OTHER = "Vera"  # comes with reportlab: letters that Helvetica's encoding lacks
JAPANESE, KOREAN = "HeiseiKakuGo-W5", "HYGothic-Medium"  # a viewer's own fonts


@cache
def _fonts() -> frozenset[int]:
    """Register the fonts once; the characters that `OTHER` has."""
    for name in (JAPANESE, KOREAN):
        pdfmetrics.registerFont(UnicodeCIDFont(name))
    try:
        font = TTFont(OTHER, "Vera.ttf")
    except TTFError:
        return frozenset()
    pdfmetrics.registerFont(font)
    return frozenset(font.face.charToGlyph)


def shaped(text: str) -> str:
    """Text as a Paragraph's markup: escaped, each letter in a font that has it.

    A letter that no font here has is printed as U+XXXX rather than as an empty box.
    """
    known = _fonts()
    out: list[str] = []
    for font, run in groupby(text.replace("\r\n", "\n"), lambda c: _font_of(c, known)):
        part = "".join(run)
        if font == "?":
            part = "".join(f"U+{ord(c):04X}" for c in part)
        part = escape(part).replace("\n", "<br/>")
        out.append(part if font in ("", "?") else f'<font name="{font}">{part}</font>')
    return "".join(out)


def _font_of(letter: str, known: frozenset[int]) -> str:
    """Empty: the paragraph's own."""
    code = ord(letter)
    if letter == "\n" or (code < 0x7F and code >= 0x20):
        return ""
    try:
        letter.encode("cp1252")
        return "" if code >= 0xA0 or code > 0xFF else "?"
    except UnicodeEncodeError:
        pass
    if code in known:
        return OTHER
    if 0x1100 <= code <= 0x11FF or 0xAC00 <= code <= 0xD7A3:
        return KOREAN
    if 0x2E80 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0xFF00 <= code <= 0xFFEF:
        return JAPANESE
    return "?"


class PageCount(Canvas):  # type: ignore[misc]
    """A canvas that knows how many pages there are before it writes their feet."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._pages: list[dict[str, Any]] = []

    foot = ""
    colors: tuple[Color, Color, Color]

    @classmethod
    def with_foot(cls, foot: str, text: Color, line: Color, accent: Color) -> Callable[..., Canvas]:
        """A canvas maker with this line at the foot of every page."""
        return type("Footed", (cls,), {"foot": foot, "colors": (text, line, accent)})

    def showPage(self) -> None:
        self._pages.append(dict(self.__dict__))
        self._startPage()

    def save(self) -> None:
        for number, page in enumerate(self._pages, 1):
            self.__dict__.update(page)
            self._draw_foot(number, len(self._pages))
            super().showPage()
        super().save()

    def _draw_foot(self, number: int, total: int) -> None:
        width, height = self._pagesize
        text, line, accent = self.colors
        self.setFillColor(accent)
        self.rect(18 * mm, height - 11 * mm, 14 * mm, 1.1 * mm, stroke=0, fill=1)
        self.setStrokeColor(line)
        self.setLineWidth(0.4)
        self.line(18 * mm, 15 * mm, width - 18 * mm, 15 * mm)
        self.setFillColor(text)
        self.setFont("Helvetica", 7.5)
        foot = self.foot.encode("cp1252", "replace").decode("cp1252")
        self.drawString(18 * mm, 11 * mm, foot)
        self.drawRightString(width - 18 * mm, 11 * mm, f"{number} / {total}")
