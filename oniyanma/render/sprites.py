"""Text and markers as small pictures, drawn by Pillow at the size they have on the screen.

A sprite is premultiplied RGBA at physical pixels, placed on whole pixels and never scaled: that is
what keeps text sharp at every pixel ratio. Text carries a halo, or a pill behind it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from oniyanma.scene.palettes import rgb

Pixels = npt.NDArray[np.uint8]
_SMOOTH = 4  # supersampling of markers
_REGULAR, _BOLD = "Inter-Medium.otf", "Inter-SemiBold.otf"  # in the package
_FALLBACKS = (  # of the machine, for letters that Inter has not
    "DejaVuSans.ttf",
    "NotoSansCJK-Regular.ttc",
    "arialuni.ttf",
    "Arial Unicode.ttf",
    "segoeui.ttf",
    "msgothic.ttc",
)


@dataclass(frozen=True, eq=False)
class Sprite:
    """Premultiplied RGBA (h, w, 4), and the pixel in it that stands at the anchor."""

    pixels: Pixels
    origin: tuple[int, int]


@lru_cache(maxsize=64)
def _font(size: int, name: str) -> ImageFont.FreeTypeFont | None:
    try:
        if name in (_REGULAR, _BOLD):
            data = files("oniyanma.assets").joinpath(name).read_bytes()
            return ImageFont.truetype(io.BytesIO(data), size)
        return ImageFont.truetype(name, size)
    except OSError:
        return None


@lru_cache(maxsize=1024)
def _known(character: str, name: str) -> bool:
    """Whether a font draws a character, and not the box that stands for any other."""
    font = _font(24, name)
    if font is None:
        return False
    drawn, missing = font.getmask(character), font.getmask("\uffff")
    return bytes(drawn) != bytes(missing) or drawn.size != missing.size


def font_for(text: str, size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """Inter, or the first font on this machine that knows all characters of ``text``."""
    own = _BOLD if bold else _REGULAR
    letters = {c for c in text if not c.isspace()}
    for name in (own, *_FALLBACKS):
        font = _font(size, name)
        if font is not None and all(_known(c, name) for c in letters):
            return font
    font = _font(size, own)
    assert font is not None
    return font


def text(
    words: str,
    size: float,
    ratio: float,
    color: str,
    halo: str,
    *,
    bold: bool = False,
    pill: bool = False,
    anchor: str = "center",
) -> Sprite:
    """A line of text of ``size`` logical pixels at a pixel ratio."""
    font = font_for(words, max(6, round(size * ratio)), bold)
    edge = 0.0 if pill else 2.0 * ratio
    left, top, right, bottom = font.getbbox(words or " ")
    _, line_top, _, line_bottom = font.getbbox("Hg0")
    top, bottom = min(top, line_top), max(bottom, line_bottom)
    pad_x = round(8 * ratio) if pill else int(edge) + 2
    pad_y = round(4 * ratio) if pill else int(edge) + 2
    width = int(np.ceil(right - left)) + 2 * pad_x
    height = int(np.ceil(bottom - top)) + 2 * pad_y
    at = (pad_x - left, pad_y - top)
    ink = _layer(width, height)
    ImageDraw.Draw(ink).text(at, words, fill=255, font=font)
    ground = _layer(width, height)
    if pill:
        ground = _rounded(width, height, min(height / 2.0, 7.0 * ratio))
        strength = 0.82
    else:
        ImageDraw.Draw(ground).text(at, words, fill=255, font=font, stroke_width=edge)
        strength = 0.75
    out = _blend(ground, halo, strength)
    out = _over(_blend(ink, color, 1.0), out)
    x = {"center": width // 2, "left": pad_x, "right": width - pad_x}[anchor]
    return Sprite(_bytes(out), (x, height // 2))


def marker(shape: str, size: float, ratio: float, color: str, halo: str, hollow: bool) -> Sprite:
    """A pin, dot, ring or cross of ``size`` logical pixels, with a rim that stands off points."""
    pixels = size * ratio
    rim = max(1.0, 1.25 * ratio)
    side = int(np.ceil(pixels + 4 * rim)) + 2
    tall = int(np.ceil(pixels * 1.25 + 4 * rim)) + 2 if shape == "pin" else side
    shapes = [Image.new("L", (side * _SMOOTH, tall * _SMOOTH)) for _ in range(3)]
    outer, fill, eye = (ImageDraw.Draw(layer) for layer in shapes)
    center = side / 2.0
    radius = pixels / 2.0

    def disc(draw: ImageDraw.ImageDraw, x: float, y: float, r: float, value: int = 255) -> None:
        box = [(x - r) * _SMOOTH, (y - r) * _SMOOTH, (x + r) * _SMOOTH, (y + r) * _SMOOTH]
        draw.ellipse(box, fill=value)

    origin = (side // 2, side // 2)
    if shape == "pin":
        head = radius * 0.78
        y = head + 2 * rim
        tip = tall - 1.5 * rim
        for draw, grow in ((outer, rim), (fill, 0.0)):
            disc(draw, center, y, head + grow)
            wide = (head + grow) * 0.80
            low = y + (head + grow) * 0.60
            draw.polygon(
                [
                    ((center - wide) * _SMOOTH, low * _SMOOTH),
                    ((center + wide) * _SMOOTH, low * _SMOOTH),
                    (center * _SMOOTH, (tip + grow) * _SMOOTH),
                ],
                fill=255,
            )
        disc(eye, center, y, head * (0.62 if hollow else 0.38))
        origin = (side // 2, round(tip))
    elif shape == "cross":
        for draw, half in ((outer, 1.0 * ratio + rim), (fill, 1.0 * ratio)):
            for box in (
                (center - half, center - radius, center + half, center + radius),
                (center - radius, center - half, center + radius, center + half),
            ):
                draw.rectangle([v * _SMOOTH for v in box], fill=255)
    else:
        disc(outer, center, center, radius + rim)
        disc(fill, center, center, radius)
        if shape == "ring" or hollow:
            inner = max(radius - 2.0 * ratio, 1.0)
            disc(outer, center, center, max(inner - rim, 0.0), 0)
            disc(fill, center, center, inner, 0)
    small = [layer.reduce(_SMOOTH) for layer in shapes]
    out = _over(_blend(small[1], color, 1.0), _blend(small[0], halo, 0.9))
    out = _over(_blend(small[2], halo if hollow else "#ffffff", 0.95), out)
    return Sprite(_bytes(out), origin)


def even_odd(size: tuple[int, int], points: npt.NDArray[np.float64]) -> Image.Image:
    """Pixels whose centre is inside a polygon, by the even-odd rule, as an "L" picture."""
    width, height = size
    crossings = np.zeros((height, width + 1), np.int32)
    x0, y0 = points[:, 0], points[:, 1]
    x1, y1 = np.roll(x0, -1), np.roll(y0, -1)
    rows = np.arange(height) + 0.5
    for ax, ay, bx, by in zip(x0, y0, x1, y1, strict=True):
        crossed = (ay > rows) != (by > rows)
        if not crossed.any():
            continue
        at = ax + (rows[crossed] - ay) * (bx - ax) / (by - ay)
        columns = np.clip(np.ceil(at - 0.5), 0, width).astype(int)
        np.add.at(crossings, (np.flatnonzero(crossed), columns), 1)
    inside = np.cumsum(crossings, axis=1)[:, :width] % 2 == 1
    return Image.fromarray(np.where(inside, 255, 0).astype(np.uint8))


def _layer(width: int, height: int) -> Image.Image:
    return Image.new("L", (width, height))


def _rounded(width: int, height: int, radius: float) -> Image.Image:
    big = Image.new("L", (width * _SMOOTH, height * _SMOOTH))
    box = [0, 0, width * _SMOOTH - 1, height * _SMOOTH - 1]
    ImageDraw.Draw(big).rounded_rectangle(box, radius * _SMOOTH, fill=255)
    return big.reduce(_SMOOTH)


def _blend(mask: Image.Image, color: str, strength: float) -> npt.NDArray[np.float32]:
    """A mask filled with a colour, premultiplied, 0..1."""
    alpha = np.asarray(mask, np.float32)[..., None] / np.float32(255.0) * np.float32(strength)
    tint = np.array([*rgb(color), 255], np.float32) / np.float32(255.0)
    return alpha * tint


def _over(front: npt.NDArray[np.float32], back: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return front + back * (1.0 - front[..., 3:])


def _bytes(premultiplied: npt.NDArray[np.float32]) -> Pixels:
    pixels: Pixels = np.rint(np.clip(premultiplied, 0.0, 1.0) * 255.0).astype(np.uint8)
    return pixels
