"""From a resident node to the 20 bytes a point has on the GPU. Pure NumPy.

| buffer | bytes | holds |
|---|---|---|
| place | 12 | X, Y, Z as LAS integers biased to uint32, low half first |
| color | 4 | red, green, blue; return number * 16 + level of detail |
| state | 4 | flags; class; one scalar as uint16 |

Colour mode, range, palette and hidden classes are uniforms and small textures: changing them
uploads nothing, unless another attribute takes the scalar's place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import CloudInfo
from oniyanma.scene.palettes import NEUTRAL_COLOR, rgb
from oniyanma.scene.ports import CLIPPED, DELETED, HIDDEN, SELECTED, ResidentNode

Bytes = npt.NDArray[np.uint8]

PLACE, COLOR, STATE = 12, 4, 4  # bytes a point
BYTES_A_POINT = PLACE + COLOR + STATE

GONE, CUT, LIT, PAINTED = 1, 2, 4, 8  # the shader's flags
MAX_LEVEL = 15
NO_VALUE = 65535

_FLAGS = np.zeros(256, np.uint8)
for _bits in range(256):
    _FLAGS[_bits] = (
        (GONE if _bits & (HIDDEN | DELETED) else 0)
        | (CUT if _bits & CLIPPED else 0)
        | (LIT if _bits & SELECTED else 0)
    )
_NEUTRAL = np.array(rgb(NEUTRAL_COLOR), np.uint8)


@dataclass(frozen=True)
class Channel:
    """What the scalar of a cloud's points is: attribute, and value = low + step * scalar.

    ``step`` 0: the raw uint16 itself (intensity, point source id).
    """

    name: str = "intensity"
    low: float = 0.0
    step: float = 0.0

    def range(self, low: float, high: float) -> tuple[float, float]:
        """The factor and shift that take the scalar to 0 at ``low`` and 1 at ``high``."""
        step, origin = (self.step, self.low) if self.step else (1.0, 0.0)
        width = high - low if high > low else 1.0
        return step / width, (origin - low) / width

    def holds(self, low: float, high: float) -> bool:
        """Whether a range lies inside and is spread over enough of the 65,535 steps."""
        if not self.step:
            return True
        top = self.low + self.step * (NO_VALUE - 1)
        return self.low <= low and high <= top and (high - low) >= 512 * self.step


def channel_for(mode: str, value_range: tuple[float, float]) -> Channel:
    """The scalar that a colour mode needs, with room on both sides of the range for its drift."""
    if mode == "source":
        return Channel("point_source_id")
    if mode in ("rgb", "elevation", "intensity", "classification", "return", "uniform"):
        return Channel()
    low, high = value_range
    width = high - low if high > low else 1.0
    return Channel("gps_time" if mode == "gpsTime" else mode, low - width, 3 * width / 65534)


def places(xyz: npt.NDArray[np.int32]) -> npt.NDArray[np.uint32]:
    """LAS integers (n, 3) as uint32 biased by 2^31: the order is kept and halves are plain."""
    return xyz.view(np.uint32) ^ np.uint32(0x80000000)


def bias(value: int) -> tuple[float, float]:
    """An integer coordinate (any Python int) as the biased high and low halves."""
    biased = value + (1 << 31)
    return float(biased >> 16), float(biased & 0xFFFF)


def level(spacing: float, reference: float) -> int:
    """The level of detail whose spacing is ``reference / 2**level``, within 0..15."""
    if spacing <= 0.0 or reference <= 0.0:
        return 0
    return min(max(round(math.log2(reference / spacing)), 0), MAX_LEVEL)


def colors(node: ResidentNode, info: CloudInfo, levels: int | Bytes) -> Bytes:
    """Red, green, blue (paint over the point's own), return number and level, uint8 (n, 4)."""
    count = len(node.xyz)
    out = np.empty((count, 4), np.uint8)
    attributes = node.attributes
    if info.color_depth and all(name in attributes for name in ("red", "green", "blue")):
        shift = 8 if info.color_depth == 16 else 0
        for i, name in enumerate(("red", "green", "blue")):
            raw = attributes[name]
            out[:, i] = raw >> shift if shift else np.minimum(raw, 255)
    else:
        out[:, :3] = _NEUTRAL
    if node.paint is not None:
        painted = node.paint[:, 3] > 0
        out[painted, :3] = node.paint[painted, :3]
    number = attributes.get("return_number")
    out[:, 3] = levels
    if number is not None:
        out[:, 3] |= np.minimum(np.asarray(number, np.uint8), 15) << 4
    return out


def flags(node: ResidentNode) -> Bytes:
    """The shader's flags of a node's points, uint8 (n,)."""
    out: Bytes = np.take(_FLAGS, node.flags)
    if node.paint is not None:
        out |= np.where(node.paint[:, 3] > 0, PAINTED, 0).astype(np.uint8)
    return out


def scalars(
    attributes: Mapping[str, npt.NDArray[Any]], info: CloudInfo, channel: Channel
) -> npt.NDArray[np.uint16] | int:
    """The attribute of a channel as uint16 (n,); `NO_VALUE` where there is none."""
    raw = attributes.get(channel.name)
    if raw is None:
        return NO_VALUE if channel.step else 0
    if not channel.step:
        return raw.astype(np.uint16)
    dimension = next((d for d in info.dimensions if d.name == channel.name), None)
    values = raw.astype(np.float64)
    known = np.isfinite(values)
    if dimension is not None:
        if dimension.no_data is not None:
            known &= raw != dimension.no_data
        if dimension.scale is not None:
            values = values * dimension.scale
        if dimension.offset is not None:
            values = values + dimension.offset
    steps = np.clip(np.rint((values - channel.low) / channel.step), 0, NO_VALUE - 1)
    return np.where(known, steps, NO_VALUE).astype(np.uint16)
