"""Palettes and class colours by name: pure tables that the renderer, the legend and reports share.

Sequential palettes rise in lightness from end to end, so that they read without colour vision and
in a grey print. `turbo` is the exception, kept for those who want many hues. viridis, cividis,
magma and plasma are the CC0 maps of matplotlib, turbo that of A. Mikhailov (Apache-2.0), stored as
17 or 33 stops; `dragonfly` is ours, built in OKLab (B. Ottosson, 2020) with equal steps.
"""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from functools import cache

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.uint8]

_STOPS = {
    "viridis": (
        "44015448186a472d7b4240863b528b33638d2c728e26828e21918c1f9f8827ad813dbc745cc86381d34d"
        "aadc32d5e21afde725"
    ),
    "cividis": (
        "00204d002c6906366e2d426c414d6b52596c61646f6f70737d7c788b87799b9477aca174bcaf6fcebc68"
        "e0cb5ef2da50ffea46"
    ),
    "magma": (
        "0000040a08221d114736106b51127c6a1c818326819c2e7fb73779cf4070e55064f4695cfb8761fea571"
        "fec287fde0a1fcfdbf"
    ),
    "plasma": (
        "0d08873105974c02a16600a77e03a89511a1aa2395bc3587cc4778d9586ae56b5df07f4ff89441fdab33"
        "fdc328f9dd25f0f921"
    ),
    "turbo": (
        "30123b392a734040a24456c7466be34680f64294ff37a8fa28bceb1ccdd818ddc21fe9af32f2984ef97d"
        "6dfe628bff4ba4fc3cb7f735cbed34dde037ecd13af7c13afdae35fe992cfb8122f56918ec530fe14109"
        "d23105c12302ac1701950d017a0403"
    ),
    "grey": "1c1c1cf2f2f2",
}
# Lightness, chroma and hue (degrees) of the stops of `dragonfly`, in OKLCH: night blue, the teal
# of the wings, emerald, the golden rings, and almost white.
_DRAGONFLY = (
    (0.36, 0.110, 285.0),
    (0.50, 0.100, 235.0),
    (0.62, 0.105, 180.0),
    (0.74, 0.135, 130.0),
    (0.85, 0.140, 92.0),
    (0.95, 0.060, 80.0),
)

PALETTES: tuple[str, ...] = ("dragonfly", *_STOPS)

DEFAULT_PALETTE = "dragonfly"
MODE_PALETTES: Mapping[str, str] = {
    "elevation": "dragonfly",
    "intensity": "grey",
    "gpsTime": "plasma",
}

UNIFORM_COLOR = "#d9c9a3"  # warm limestone: a cloud with no colour of its own
NEUTRAL_COLOR = "#9aa3ad"  # a point without the attribute that is shown
SELECTION_COLOR = "#ffb000"  # the accent

# ASPRS LAS 1.4 R15, table 17. The ten that people compare were moved until they lie far apart for
# normal, protan and deutan eyes: vegetation darkens as it grows, buildings are warm, water is blue.
CLASS_COLORS: Mapping[int, str] = {
    0: "#8b95a1",  # never classified
    1: "#b7bec7",  # unclassified
    2: "#927539",  # ground
    3: "#c9e19d",  # low vegetation
    4: "#63b784",  # medium vegetation
    5: "#146040",  # high vegetation
    6: "#ff7f4e",  # building
    7: "#d544a3",  # low noise
    8: "#ffffff",  # model key point
    9: "#2c89ca",  # water
    10: "#8467c7",  # rail
    11: "#55726f",  # road surface
    12: "#dccfc0",  # overlap
    13: "#fff1a8",  # wire, guard
    14: "#ffc834",  # wire, conductor
    15: "#c9a227",  # transmission tower
    16: "#ffe680",  # wire connector
    17: "#7fd6e8",  # bridge deck
    18: "#f48fb1",  # high noise
    19: "#b48ead",  # overhead structure
    20: "#7c6a58",  # ignored ground
    21: "#eaf6ff",  # snow
    22: "#6f7f8f",  # temporal exclusion
}

# Return numbers 1..7 and above: the first the brightest, later ones deeper into the canopy.
_RETURNS = ("#f2e9d0", "#ffc24b", "#f0883e", "#c95a7b", "#8a54b8", "#5064c9", "#3f86b8", "#5d6470")


def rgb(color: str) -> tuple[int, int, int]:
    """``"#rrggbb"`` as three bytes. Raises ValueError for anything else."""
    if len(color) != 7 or color[0] != "#":
        raise ValueError(f"{color!r} is not a colour of the form #rrggbb")
    value = int(color[1:], 16)
    return value >> 16, value >> 8 & 255, value & 255


def _oklch(lightness: float, chroma: float, hue: float) -> list[float]:
    """OKLCH → sRGB 0..255 (https://bottosson.github.io/posts/oklab/), clipped to the gamut."""
    a, b = chroma * np.cos(np.radians(hue)), chroma * np.sin(np.radians(hue))
    root = np.array(
        [
            [1.0, 0.3963377774, 0.2158037573],
            [1.0, -0.1055613458, -0.0638541728],
            [1.0, -0.0894841775, -1.2914855480],
        ]
    ) @ [lightness, a, b]
    linear = (
        np.array(
            [
                [4.0767416621, -3.3077115913, 0.2309699292],
                [-1.2684380046, 2.6097574011, -0.3413193965],
                [-0.0041960863, -0.7034186147, 1.7076147010],
            ]
        )
        @ root**3
    )
    linear = np.clip(linear, 0.0, 1.0)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return [float(v) for v in encoded * 255.0]


@cache
def palette(name: str) -> Table:
    """A palette as uint8 (256, 3), low to high. Raises ValueError for an unknown name."""
    if name == "dragonfly":
        at = np.array([stop[0] for stop in _DRAGONFLY])
        lightness = np.linspace(at[0], at[-1], 256)
        chroma = np.interp(lightness, at, [stop[1] for stop in _DRAGONFLY])
        hue = np.interp(lightness, at, [stop[2] for stop in _DRAGONFLY])
        table = np.array([_oklch(*row) for row in zip(lightness, chroma, hue, strict=True)])
    elif name in _STOPS:
        stops = np.frombuffer(bytes.fromhex(_STOPS[name]), np.uint8).reshape(-1, 3)
        at = np.linspace(0.0, 255.0, len(stops))
        table = np.stack([np.interp(np.arange(256), at, stops[:, i]) for i in range(3)], axis=1)
    else:
        raise ValueError(f"no palette is called {name!r}; there are {', '.join(PALETTES)}")
    result = np.round(table).astype(np.uint8)
    result.flags.writeable = False
    return result


def palette_of(mode: str, name: str | None) -> str:
    """The palette in force for a colour mode: the one asked for, else the mode's own."""
    return name if name in PALETTES else MODE_PALETTES.get(mode, DEFAULT_PALETTE)


def class_color(code: int, own: Mapping[int, str] | None = None) -> str:
    """The colour of a class: the user's own, the ASPRS one, or a steady one for the others."""
    if own and code in own:
        return own[code]
    if code in CLASS_COLORS:
        return CLASS_COLORS[code]
    hue = code * 0.61803398875 % 1.0  # golden ratio: neighbouring codes lie far apart
    red, green, blue = colorsys.hls_to_rgb(hue, 0.5 + 0.12 * (code % 3), 0.45)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def class_table(own: Mapping[int, str] | None = None) -> Table:
    """Colours of the classes 0..255 as uint8 (256, 3)."""
    return np.array([rgb(class_color(code, own)) for code in range(256)], np.uint8)


def return_table() -> Table:
    """Colours of return numbers 0..15 as uint8 (16, 3); 0 (not given) is neutral."""
    numbers = [NEUTRAL_COLOR, *_RETURNS, *[_RETURNS[-1]] * 7]
    return np.array([rgb(color) for color in numbers], np.uint8)


def category_table() -> Table:
    """256 colours for categories without an order (point source ids): steady, far apart."""
    turns = np.arange(256) * 0.61803398875 % 1.0 * 360.0
    return np.round(
        [_oklch(0.66 + 0.14 * (i % 3) / 2, 0.12, hue) for i, hue in enumerate(turns)]
    ).astype(np.uint8)
