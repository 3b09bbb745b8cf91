"""How a scene is to look, worked out before any OpenGL: one frozen value a cloud and a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import CloudInfo
from oniyanma.render import pack
from oniyanma.rules.model import Box, Clip, Polygon
from oniyanma.scene import palettes
from oniyanma.scene.camera import Matrices
from oniyanma.scene.state import ColorMode, Display

Uniforms = dict[str, "float | Sequence[float]"]
Viewport = tuple[int, int, int, int]  # x, y, width, height

MODES = {
    "rgb": "MODE_RGB",
    "elevation": "MODE_ELEVATION",
    "classification": "MODE_CLASS",
    "return": "MODE_RETURN",
    "source": "MODE_SOURCE",
    "uniform": "MODE_UNIFORM",
}  # any other mode is a scalar
MAX_POINT = 48.0  # logical pixels: the largest an adaptive point grows
SMALL = 3.0  # pixels: up to here a point is as good square as round
TINY = 2.0  # pixels: up to here a point covers at most two by two
CLOSING = 1.8  # times the spacing: as wide as points at random distances need to close a surface


@dataclass(frozen=True)
class Theme:
    """Colours around the points: background from top to bottom, ink and halo of what is written."""

    top: str
    bottom: str
    ink: str
    halo: str


DARK = Theme(top="#1b2027", bottom="#0a0c0f", ink="#f3efe6", halo="#0a0c0f")
LIGHT = Theme(top="#f7f8f9", bottom="#dfe3e8", ink="#14181d", halo="#ffffff")


def floats(color: str) -> tuple[float, float, float]:
    red, green, blue = palettes.rgb(color)
    return red / 255.0, green / 255.0, blue / 255.0


def color_mode(display: Display, cloud: str, info: CloudInfo) -> ColorMode:
    """The mode in force for a cloud; RGB falls back to elevation where there is no colour."""
    mode = display.cloud_colors.get(cloud, display.color)
    if mode.mode == "rgb" and not info.color_depth:
        return ColorMode("elevation", None, None)
    return mode


def frame_uniforms(lens: Matrices) -> tuple[Uniforms, list[str]]:
    """The camera's uniforms (without the eye, which is a cloud's) and defines."""
    m = lens.relative
    out: Uniforms = {
        "u_row_x": m[0].tolist(),
        "u_row_y": m[1].tolist(),
        "u_row_w": m[3].tolist(),
    }
    if lens.perspective:
        out["u_inverse_far"] = 1.0 / far_of(lens)
        return out, []
    start, width = depth_span(lens)
    row = -lens.rotation[2] / width
    row[3] -= start / width
    out["u_row_depth"] = row.tolist()
    return out, ["ORTHO"]


def wide_view(uniforms: Uniforms, size: tuple[int, int], largest: int) -> tuple[Uniforms, Viewport]:
    """The camera's rows for a viewport twice as large as the picture.

    What lies in its margin is not drawn and yet not clipped: software OpenGL takes a slow path for
    thousands of points around each one that is clipped. Halves are exact in floats. A picture of
    more than half of ``largest`` pixels has no margin.
    """
    if 2 * max(size) > largest:
        return {**uniforms, "u_nowhere": (2.0, 2.0, 2.0, 1.0)}, (0, 0, *size)
    out = {**uniforms, "u_nowhere": (0.75, 0.75, 0.0, 1.0)}
    for name, side in (("u_row_x", size[0]), ("u_row_y", size[1])):
        shift = side % 2 / (2.0 * side)  # the margin is of whole pixels
        row = 0.5 * np.asarray(uniforms[name]) - shift * np.asarray(uniforms["u_row_w"])
        out[name] = row.tolist()
    return out, (-(size[0] // 2), -(size[1] // 2), 2 * size[0], 2 * size[1])


def depth_span(lens: Matrices) -> tuple[float, float]:
    """Orthographic: the view depth that is 0, and how much deeper 1 is.

    All that may be drawn lies between, with a margin; a flat cloud still gets a span that the
    GPU's 24-bit floats can tell apart at its distance.
    """
    span = max(lens.far - lens.near, 1e-4 * max(abs(lens.far), abs(lens.near))) * 1.02
    return (lens.near + lens.far - span) / 2.0, span


def far_of(lens: Matrices) -> float:
    """The distance at which depth is 1."""
    return lens.far * 1.01


def relief(lens: Matrices) -> float:
    """Orthographic: what EDL multiplies depth differences with. 0 in perspective."""
    if lens.perspective:
        return 0.0
    height = 2.0 / float(lens.projection[1, 1])
    return depth_span(lens)[1] / height * 1.2


def eye_uniforms(lens: Matrices, info: CloudInfo) -> Uniforms:
    """The eye in a cloud's own integers: halves exact in float32, the rest below one step."""
    high, low, rest = [], [], []
    for axis in range(3):
        scale, offset = info.scale[axis], info.offset[axis]
        steps = (float(lens.eye[axis]) - offset) / scale
        whole = int(np.floor(steps))
        upper, lower = pack.bias(whole)
        high.append(upper)
        low.append(lower)
        rest.append((steps - whole) * scale)
    return {
        "u_eye_high": high,
        "u_eye_low": low,
        "u_eye_rest": rest,
        "u_scale": list(info.scale),
    }


def size_uniforms(
    display: Display, lens: Matrices, pixels: float, ratio: float, reference: float, thinning: float
) -> tuple[Uniforms, list[str]]:
    """Point sizes in physical pixels. ``thinning``: drawn share of the points, ≤ 1."""
    size = fixed_size(display, ratio)
    out: Uniforms = {"u_size": size}
    if not display.adaptive:
        return out, []
    out["u_spacing"] = reference * growth(display, lens, pixels, thinning)
    out["u_max_size"] = max(MAX_POINT * ratio, size)
    return out, ["ADAPTIVE"]


def fixed_size(display: Display, ratio: float) -> float:
    """The size of every point, or the least of adaptive ones, in physical pixels."""
    return max(display.point_size * ratio, 1.0)


def growth(display: Display, lens: Matrices, pixels: float, thinning: float) -> float:
    """An adaptive point's pixels for a spacing of one, at w = 1."""
    per_unit = float(lens.projection[1, 1]) * pixels / 2.0
    return per_unit * display.point_size / 2.0 * CLOSING / max(thinning, 0.05) ** 0.5


def largest_sizes(
    display: Display,
    lens: Matrices,
    pixels: float,
    ratio: float,
    thinning: float,
    extents: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]],
) -> npt.NDArray[np.float64]:
    """The most pixels that a point of each node may have. ``extents``: world boxes (n, 6) and
    spacings (n,)."""
    boxes, spacings = extents
    fixed = np.full(len(boxes), fixed_size(display, ratio))
    if not display.adaptive:
        return fixed
    row = lens.relative[3]
    low, high = boxes[:, :3] - lens.eye, boxes[:, 3:] - lens.eye
    nearest = np.minimum(low * row[:3], high * row[:3]).sum(axis=1) + row[3]
    grown = spacings * growth(display, lens, pixels, thinning)
    grown = np.divide(grown, nearest, out=np.full(len(boxes), np.inf), where=nearest > 0.0)
    return np.maximum(fixed, grown)


def color_uniforms(
    mode: ColorMode, value_range: tuple[float, float], channel: pack.Channel, eye_z: float
) -> tuple[Uniforms, str]:
    """The colour mode's uniforms and its define."""
    out: Uniforms = {
        "u_uniform": floats(palettes.UNIFORM_COLOR),
        "u_neutral": floats(palettes.NEUTRAL_COLOR),
        "u_accent": floats(palettes.SELECTION_COLOR),
    }
    define = MODES.get(mode.mode, "MODE_SCALAR")
    low, high = value_range
    if define == "MODE_ELEVATION":
        width = high - low if high > low else 1.0
        out["u_range"] = (1.0 / width, (eye_z - low) / width)
    elif define == "MODE_SCALAR":
        out["u_range"] = channel.range(low, high)
        out["u_no_data"] = 1.0 if channel.step else 0.0
    return out, define


def palette_pixels(mode: ColorMode) -> npt.NDArray[np.uint8]:
    """The palette texture of a colour mode: RGBA (1, n, 4)."""
    if mode.mode == "return":
        table = palettes.return_table()
    elif mode.mode == "source":
        table = palettes.category_table()
    else:
        table = palettes.palette(palettes.palette_of(mode.mode, mode.palette))
    return np.dstack([table[None], np.full((1, len(table), 1), 255, np.uint8)])


def class_pixels(own: Mapping[int, str], hidden: frozenset[int]) -> npt.NDArray[np.uint8]:
    """The class texture: colours, alpha 0 where the class is hidden. RGBA (1, 256, 4)."""
    out = np.full((1, 256, 4), 255, np.uint8)
    out[0, :, :3] = palettes.class_table(own)
    out[0, sorted(hidden), 3] = 0
    return out


def clip_uniforms(clip: Clip | None, lens: Matrices) -> tuple[Uniforms, list[str]]:
    """The preview of a clip on the GPU, about the eye."""
    if clip is None:
        return {}, []
    keep = 1.0 if clip.mode == "inside" else 0.0
    low, high = clip_box(clip)
    center, half = (low + high) / 2.0, np.maximum((high - low) / 2.0, 1e-9)
    out: Uniforms = {
        "u_clip_center": (center - lens.eye).tolist(),
        "u_clip_half": half.tolist(),
        "u_clip_keep": keep,
    }
    if isinstance(clip.shape, Box):
        turn = np.radians(clip.shape.rotation)
        out["u_clip_turn"] = (float(np.cos(turn)), float(np.sin(turn)))
        return out, ["CLIP_BOX"]
    bottom, top = clip.shape.z
    eye_z = float(lens.eye[2])
    out["u_clip_z"] = (
        -3e38 if bottom is None else bottom - eye_z,
        3e38 if top is None else top - eye_z,
    )
    return out, ["CLIP_POLYGON"]


def clip_box(clip: Clip) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The unturned box of a clip's shape (a polygon's in plan)."""
    if isinstance(clip.shape, Polygon):
        plan = np.asarray(clip.shape.polygon, np.float64)
        low, high = plan.min(axis=0), plan.max(axis=0)
        return np.append(low, 0.0), np.append(high, 1.0)
    return np.asarray(clip.shape.min, np.float64), np.asarray(clip.shape.max, np.float64)
