"""Which attributes of the points are in use, by laspy's names."""

from __future__ import annotations

from oniyanma.clouds.model import CloudInfo
from oniyanma.scene.state import ColorMode, Display

ALWAYS = frozenset({"classification", "intensity", "return_number", "red", "green", "blue"})
"""Small, and asked for at once by a change of colour or a selection."""

OF_MODE = {
    "rgb": ("red", "green", "blue"),
    "elevation": (),
    "intensity": ("intensity",),
    "classification": ("classification",),
    "return": ("return_number",),
    "source": ("point_source_id",),
    "gpsTime": ("gps_time",),
    "uniform": (),
}
"""What each colour mode reads; any other mode is an extra dimension of that name."""


def of_mode(mode: str) -> tuple[str, ...]:
    return OF_MODE.get(mode, (mode,))


def of_display(display: Display) -> frozenset[str]:
    """The attributes that the colour modes in force read."""
    modes = (display.color, *display.cloud_colors.values())
    return frozenset(name for mode in modes for name in of_mode(mode.mode))


def default_mode(info: CloudInfo) -> ColorMode:
    """RGB where there is colour, else classes where there are several, else height."""
    if info.color_depth is not None:
        return ColorMode("rgb")
    return ColorMode("classification" if len(info.classes) > 1 else "elevation")
