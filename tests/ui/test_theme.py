"""Two themes in which everything can be read, one accent, following the system."""

from __future__ import annotations

import pytest
from oniyanma.ui import theme as themes

SURFACES = ("window", "surface", "raised", "hover")
INKS = ("text", "muted", "accent_text", "done", "loss")


@pytest.mark.parametrize("theme", themes.THEMES.values(), ids=themes.THEMES)
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("ink", INKS)
def test_every_ink_is_readable_on_every_surface(
    theme: themes.Theme, surface: str, ink: str
) -> None:
    assert themes.contrast(getattr(theme, ink), getattr(theme, surface)) >= 4.5


@pytest.mark.parametrize("theme", themes.THEMES.values(), ids=themes.THEMES)
def test_writing_on_the_accent_is_readable(theme: themes.Theme) -> None:
    assert themes.contrast(theme.on_accent, theme.accent) >= 4.5


def test_contrast_is_that_of_wcag() -> None:
    assert themes.contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert themes.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", themes.THEMES.values(), ids=themes.THEMES)
def test_the_style_sheet_has_no_place_left_empty(theme: themes.Theme) -> None:
    assert "@" not in themes.style_sheet(theme)


def test_a_choice_is_remembered_and_announced(qapp: object) -> None:
    remembered: list[str] = []
    keeper = themes.ThemeKeeper("light", remembered.append)
    seen: list[themes.Theme] = []
    keeper.changed.connect(seen.append)
    keeper.toggle()
    assert keeper.theme is themes.DARK
    assert remembered == ["dark"]
    assert seen == [themes.DARK]
    with pytest.raises(ValueError, match="choose system, dark or light"):
        keeper.choose("pink")


def test_without_a_choice_the_system_decides(qapp: object) -> None:
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QGuiApplication

    light = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Light
    assert themes.ThemeKeeper().theme is (themes.LIGHT if light else themes.DARK)
