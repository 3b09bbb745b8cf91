"""Two quiet themes around one amber accent, and the style sheet made from them.

The brand is the golden-ringed dragonfly: near-black, amber, emerald for what is done and
confirmed, red for loss and nothing else. The picture is the brightest thing on the screen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

import qtawesome
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QIcon, QPalette
from PySide6.QtWidgets import QApplication

GRID = 8  # logical pixels; every distance is a multiple of half of it
TEXT_PX = 13
FAMILIES = ("Inter", "Segoe UI", "SF Pro Text", "Noto Sans", "DejaVu Sans")


@dataclass(frozen=True)
class Theme:
    """Colours by what they mean. ``accent`` is amber as a fill, ``accent_text`` as writing."""

    name: str
    window: str  # behind the panels
    surface: str  # panels
    raised: str  # fields, menus, cards
    border: str
    hover: str
    text: str
    muted: str
    accent: str
    accent_text: str
    on_accent: str
    done: str
    loss: str
    canvas: str  # behind the points, at the bottom
    canvas_top: str

    def color(self, role: str, alpha: int = 255) -> QColor:
        """The role's colour, with an alpha of 0..255."""
        color = QColor(getattr(self, role))
        color.setAlpha(alpha)
        return color


DARK = Theme(
    name="dark",
    window="#0c0d0f",
    surface="#141619",
    raised="#1d2024",
    border="#2b2f35",
    hover="#262a30",
    text="#e9eaec",
    muted="#9ba2ac",
    accent="#f5a623",
    accent_text="#f7b53f",
    on_accent="#171003",
    done="#3ecf8e",
    loss="#ff7a70",
    canvas="#08090a",
    canvas_top="#15181c",
)

LIGHT = Theme(
    name="light",
    window="#eceae6",
    surface="#f8f7f5",
    raised="#ffffff",
    border="#d8d5cf",
    hover="#eeece7",
    text="#1a1b1d",
    muted="#5b5f66",
    accent="#f0a020",
    accent_text="#8a5300",
    on_accent="#171003",
    done="#0a7048",
    loss="#b3261e",
    canvas="#121316",
    canvas_top="#25282d",
)

THEMES = {theme.name: theme for theme in (DARK, LIGHT)}


def contrast(one: str, other: str) -> float:
    """The WCAG 2 contrast ratio of two colours, 1..21 (relative luminance of sRGB)."""

    def luminance(value: str) -> float:
        color = QColor(value)
        parts = []
        for part in (color.redF(), color.greenF(), color.blueF()):
            parts.append(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def palette_of(theme: Theme) -> QPalette:
    """The theme as a Qt palette, for what a style sheet does not reach."""
    palette = QPalette()
    roles = {
        QPalette.ColorRole.Window: theme.surface,
        QPalette.ColorRole.WindowText: theme.text,
        QPalette.ColorRole.Base: theme.raised,
        QPalette.ColorRole.AlternateBase: theme.surface,
        QPalette.ColorRole.Text: theme.text,
        QPalette.ColorRole.Button: theme.raised,
        QPalette.ColorRole.ButtonText: theme.text,
        QPalette.ColorRole.BrightText: theme.loss,
        QPalette.ColorRole.Highlight: theme.accent,
        QPalette.ColorRole.HighlightedText: theme.on_accent,
        QPalette.ColorRole.ToolTipBase: theme.raised,
        QPalette.ColorRole.ToolTipText: theme.text,
        QPalette.ColorRole.PlaceholderText: theme.muted,
        QPalette.ColorRole.Link: theme.accent_text,
        QPalette.ColorRole.Mid: theme.border,
        QPalette.ColorRole.Accent: theme.accent,
    }
    for role, value in roles.items():
        palette.setColor(role, QColor(value))
    for role in (
        QPalette.ColorRole.WindowText,
        QPalette.ColorRole.Text,
        QPalette.ColorRole.ButtonText,
    ):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(theme.muted))
    return palette


def style_sheet(theme: Theme) -> str:
    """The style sheet, filled in from the template beside this module."""
    text = resources.files(__package__).joinpath("style.qss").read_text(encoding="utf-8")
    for picture in ("check", "chevron"):
        path = str(resources.files(__package__).joinpath(f"{picture}.svg"))
        text = text.replace(f"@@{picture}", path.replace("\\", "/"))
    for name in sorted(Theme.__dataclass_fields__, key=len, reverse=True):
        text = text.replace(f"@{name}", getattr(theme, name))
    return text


def load_fonts() -> None:
    """Makes the bundled typeface known, once an application."""
    for weight in ("Regular", "Medium", "SemiBold"):
        data = resources.files("oniyanma.assets").joinpath(f"Inter-{weight}.otf").read_bytes()
        QFontDatabase.addApplicationFontFromData(data)


def font(px: int = TEXT_PX, *, weight: int = 400, tabular: bool = False) -> QFont:
    """The interface's typeface at a size in logical pixels; ``tabular`` figures line up."""
    result = QFont()
    result.setFamilies(list(FAMILIES))
    result.setPixelSize(px)
    result.setWeight(QFont.Weight(weight))
    if tabular:
        result.setFeature(QFont.Tag("tnum"), 1)
        result.setFeature(QFont.Tag("zero"), 0)
    return result


def icon(name: str, theme: Theme, *, role: str = "text") -> QIcon:
    """A qtawesome icon in the theme's colours; amber while checked."""
    return qtawesome.icon(
        name,
        color=getattr(theme, role),
        color_disabled=theme.color("muted", 120),
        color_on=theme.accent_text,
        color_selected=theme.text,
    )


class ThemeKeeper(QObject):
    """Holds the theme in force: the system's, or the one a person chose."""

    changed = Signal(object)  # Theme

    def __init__(self, choice: str = "system", remember: Callable[[str], None] | None = None):
        super().__init__()
        self._choice = choice
        self._remember = remember
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._system_changed)

    @property
    def choice(self) -> str:
        """``system``, ``dark`` or ``light``."""
        return self._choice

    @property
    def theme(self) -> Theme:
        if self._choice in THEMES:
            return THEMES[self._choice]
        scheme = QGuiApplication.styleHints().colorScheme()
        return LIGHT if scheme == Qt.ColorScheme.Light else DARK

    def choose(self, choice: str) -> None:
        """``system``, ``dark`` or ``light``, from now on and next time."""
        if choice not in ("system", *THEMES):
            raise ValueError(f"There is no theme {choice!r}; choose system, dark or light.")
        self._choice = choice
        if self._remember is not None:
            self._remember(choice)
        self.apply()

    def toggle(self) -> None:
        """From dark to light and back."""
        self.choose("light" if self.theme is DARK else "dark")

    def apply(self) -> None:
        """Dresses the whole application and tells whoever paints by hand."""
        app = QApplication.instance()
        if isinstance(app, QApplication):
            sheet = style_sheet(self.theme)
            if app.styleSheet() != sheet:  # dressing every widget again is slow
                app.setPalette(palette_of(self.theme))
                app.setStyleSheet(sheet)
        self.changed.emit(self.theme)

    def _system_changed(self) -> None:
        if self._choice == "system":
            self.apply()
