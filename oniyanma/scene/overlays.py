"""What is drawn over the points, as data: lines, labels, markers, and shapes on the screen.

World positions are float64 and exact; sizes and screen positions are logical pixels, origin top
left. `overlays_of` says what a state shows; a tool adds its own live ones. Nothing here draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from oniyanma.clouds.model import METRE, UNKNOWN_UNIT, Unit, Vec3
from oniyanma.rules.model import Box, Polygon
from oniyanma.scene.camera import Matrices, matrices
from oniyanma.scene.ports import SceneView
from oniyanma.scene.sample import open_clouds
from oniyanma.scene.state import Finding, Measurement

Vec2 = tuple[float, float]

INK = ""  # the theme's own ink: dark on light, light on dark
ACCENT = "#f5a623"
MEASURE = "#ffd166"
AXIS_COLORS = ("#e5484d", "#46a758", "#4c8dff")  # x, y, z
SEVERITY_COLORS = {
    "info": "#5aa9e6",
    "minor": "#ffd166",
    "major": "#f5833b",
    "critical": "#e5484d",
}
CONFIRMED_COLOR = "#34b27b"
CLIP_COLOR = "#7fd6e8"


@dataclass(frozen=True)
class Line:
    """A polyline in the world. Parts behind points are drawn at ``hidden`` of their strength."""

    points: tuple[Vec3, ...]
    color: str = MEASURE
    width: float = 2.0
    closed: bool = False
    dashed: bool = False
    hidden: float = 0.35


@dataclass(frozen=True)
class BoxOutline:
    """The twelve edges of a world box, turned by ``rotation`` degrees about Z."""

    min: Vec3
    max: Vec3
    rotation: float = 0.0
    color: str = CLIP_COLOR
    width: float = 1.5
    hidden: float = 0.35


@dataclass(frozen=True)
class Marker:
    """A sign at a place in the world: "pin" stands on it, "dot", "ring" and "cross" lie on it."""

    at: Vec3
    shape: Literal["pin", "dot", "ring", "cross"] = "dot"
    color: str = MEASURE
    size: float = 10.0
    hollow: bool = False


@dataclass(frozen=True)
class Label:
    """Text at a world place, or at ``pixel`` on the screen. ``offset`` in logical pixels.

    ``pill``: on a dark rounded ground, as values are; else with a halo alone.
    """

    text: str
    at: Vec3 | None = None
    pixel: Vec2 | None = None
    offset: Vec2 = (0.0, 0.0)
    anchor: Literal["center", "left", "right"] = "center"
    color: str = INK
    size: float = 13.0
    bold: bool = False
    pill: bool = False


@dataclass(frozen=True)
class ScreenPolygon:
    """A path on the screen: a lasso or box while it is drawn, an arrow, a bar."""

    points: tuple[Vec2, ...]
    color: str = ACCENT
    width: float = 1.5
    closed: bool = True
    fill: float = 0.0  # opacity of the inside
    dashed: bool = False


Overlay = Line | BoxOutline | Marker | Label | ScreenPolygon

Figures = Callable[[float, int, str], str]
"""How a value is written: (value, decimals, unit) → text. A window writes it by the locale."""


def lens(view: SceneView, viewport: tuple[int, int]) -> Matrices:
    """The camera of the state that is shown, over a viewport in logical pixels."""
    return matrices(view.state.camera, viewport, view.scene_bounds(), view.display_scale())


def figure(value: float, decimals: int, unit: str) -> str:
    """A value with its unit as files and pictures carry it, whatever the locale."""
    text = number(value, decimals)
    return f"{text}{unit}" if unit in ("°", "") else f"{text}\u2009{unit}"


def overlays_of(
    view: SceneView,
    viewport: tuple[int, int],
    *,
    furniture: bool = True,
    figures: Figures = figure,
) -> tuple[Overlay, ...]:
    """Everything a state shows over its points: clip, measurements, findings, and, with
    ``furniture``, axes, north arrow and scale bar."""
    state = view.state
    out: list[Overlay] = []
    if state.clip is not None:
        out += _clip(state.clip.shape, view)
    places = places_of(view) if state.measurements else 3
    for measurement in state.measurements.values():
        out += measurement_overlays(measurement, places, figures)
    out += [finding_marker(f) for f in state.findings.values() if f.status not in ("withdrawn",)]
    if furniture and state.clouds:
        camera = lens(view, viewport)
        out += axes(camera)
        out += north_arrow(camera)
        out += scale_bar(camera, state.camera.target, scene_unit(view), figures)
    return tuple(out)


def scene_unit(view: SceneView) -> Unit:
    """The unit of lengths in the view: of the first cloud that is there, metres for a
    geographic one; unknown where every file is missing."""
    clouds = open_clouds(view)
    if not clouds:
        return UNKNOWN_UNIT
    crs = clouds[0][1].crs
    return METRE if crs.geographic else crs.horizontal


def _clip(shape: Box | Polygon, view: SceneView) -> list[Overlay]:
    if isinstance(shape, Box):
        return [BoxOutline(shape.min, shape.max, shape.rotation)]
    bounds = view.scene_bounds()
    low, high = (bounds[0][2], bounds[1][2]) if bounds else (0.0, 0.0)
    low = low if shape.z[0] is None else shape.z[0]
    high = high if shape.z[1] is None else shape.z[1]
    rings: list[Overlay] = [
        Line(tuple((x, y, z) for x, y in shape.polygon), CLIP_COLOR, 1.5, closed=True)
        for z in (low, high)
    ]
    posts = [Line(((x, y, low), (x, y, high)), CLIP_COLOR, 1.5) for x, y in shape.polygon]
    return rings + posts


# -- measurements and findings ---------------------------------------------------------------


def number(value: float, decimals: int) -> str:
    """A value with thousands separated by a thin space, never in exponents."""
    return f"{value:,.{decimals}f}".replace(",", "\u2009")


def places_of(view: SceneView) -> int:
    """Decimals of a length: those of the finest scale; a geographic cloud's heights tell."""
    infos = [info for _, info in open_clouds(view)]
    scales = [info.scale[2] if info.crs.geographic else min(info.scale) for info in infos]
    return max(0, min(9, -math.floor(math.log10(min(scales, default=0.001)) + 1e-9)))


def decimals_of_value(kind: str, value: float, places: int) -> int:
    """A length as finely as the data (``places``), an area or volume in five figures at least,
    an angle in hundredths of a degree. The picture, lists and the live value use the same."""
    if kind == "angle":
        return 2
    if kind in ("area", "volume"):
        return max(0, min(places, 4 - math.floor(math.log10(max(1.0, abs(value))))))
    return places


def measurement_overlays(
    measurement: Measurement, places: int = 3, figures: Figures = figure
) -> list[Overlay]:
    """A measurement's points, lines and its value in words; ``places`` as `places_of` says."""
    points = measurement.points
    if not points:
        return []
    kind = measurement.kind
    out: list[Overlay] = []
    closed = kind in ("area", "volume") and len(points) > 2
    if kind == "height" and len(points) == 2:
        (ax, ay, az), (bx, by, bz) = points
        corner = (bx, by, az) if az < bz else (ax, ay, bz)
        out.append(Line((points[0], corner, points[1]), width=1.5, dashed=True))
    if len(points) > 1:
        out.append(Line(points, closed=closed))
    out += [Marker(p, "dot", size=8.0) for p in points]
    at = points[0]
    if len(points) > 1:
        middle = np.mean(np.asarray(points[1] if kind == "angle" else points), axis=0)
        at = (
            points[1] if kind == "angle" else (float(middle[0]), float(middle[1]), float(middle[2]))
        )
    out.append(
        Label(
            value_text(measurement, places, figures),
            at=at,
            offset=(0.0, -18.0),
            pill=True,
            bold=True,
        )
    )
    return out


def value_text(measurement: Measurement, places: int = 3, figures: Figures = figure) -> str:
    """A measurement's value with its unit, or its name where it has no single value."""
    value, unit = measurement.values.get("value"), measurement.values.get("unit")
    if not isinstance(value, (int, float)):
        return measurement.name
    decimals = decimals_of_value(measurement.kind, float(value), places)
    return figures(float(value), decimals, "°" if unit == "deg" else str(unit or ""))


def finding_marker(finding: Finding) -> Marker:
    """A finding's pin: by severity while open, green once confirmed, hollow once rejected."""
    color = SEVERITY_COLORS.get(finding.severity, SEVERITY_COLORS["info"])
    if finding.status == "confirmed":
        color = CONFIRMED_COLOR
    return Marker(finding.position, "pin", color, 26.0, hollow=finding.status == "rejected")


# -- furniture -------------------------------------------------------------------------------

MARGIN = 24.0  # logical pixels from the picture's edge


def axes(camera: Matrices) -> list[Overlay]:
    """The world's axes as they lie in this view, at the bottom left, the nearest on top."""
    origin = (MARGIN + 34.0, camera.viewport[1] - MARGIN - 34.0)
    length = 34.0
    arms = []
    for i, name in enumerate("XYZ"):
        axis = camera.rotation[:3, i]
        axis = axis / (np.linalg.norm(axis) or 1.0)
        arms.append((float(axis[2]), name, float(axis[0]), -float(axis[1]), AXIS_COLORS[i]))
    out: list[Overlay] = []
    for _, name, x, y, color in sorted(arms):
        tip = (origin[0] + length * x, origin[1] + length * y)
        out.append(ScreenPolygon((origin, tip), color, 2.5, closed=False))
        if math.hypot(x, y) > 0.25:
            beyond = (origin[0] + (length + 11.0) * x, origin[1] + (length + 11.0) * y)
            out.append(Label(name, pixel=beyond, color=color, size=12.0, bold=True))
    return out


def north_arrow(camera: Matrices) -> list[Overlay]:
    """Where north (+Y) points in this view, at the top right; flat views lay it flat."""
    north = camera.rotation[:3, 1]
    north = north / (np.linalg.norm(north) or 1.0)
    x, y = float(north[0]), -float(north[1])
    length = math.hypot(x, y)
    if length < 0.08:
        return []
    cx, cy = camera.viewport[0] - MARGIN - 22.0, MARGIN + 26.0
    reach = 18.0 * max(length, 0.35)
    ux, uy = x / length, y / length
    wing = 7.0

    def place(along: float, across: float) -> Vec2:
        return (cx + ux * along - uy * across, cy + uy * along + ux * across)

    tip, tail = place(reach, 0.0), place(-reach * 0.55, 0.0)
    left, right = place(-reach, wing), place(-reach, -wing)
    return [
        ScreenPolygon((tip, left, tail), INK, 1.25, fill=0.9),
        ScreenPolygon((tip, right, tail), INK, 1.25, fill=0.15),
        Label("N", pixel=place(reach + 11.0, 0.0), size=12.0, bold=True),
    ]


def scale_bar(
    camera: Matrices, target: Vec3, unit: Unit, figures: Figures = figure
) -> list[Overlay]:
    """A bar of a round length in the cloud's unit, true at the view's target."""
    _, depth = camera.project([target])
    per_pixel = camera.units_per_pixel(max(float(depth[0]), 1e-12))
    room = min(160.0, camera.viewport[0] * 0.25)
    length = round_length(per_pixel * room)
    if not (length > 0.0 and math.isfinite(length)) or per_pixel <= 0.0:
        return []
    width = length / per_pixel
    right, y = camera.viewport[0] - MARGIN, camera.viewport[1] - MARGIN
    left = right - width
    return [
        ScreenPolygon(((left, y - 6.0), (left, y), (right, y), (right, y - 6.0)), INK, 2.0, False),
        Label(
            length_text(length, unit, figures), pixel=((left + right) / 2.0, y - 15.0), size=12.0
        ),
    ]


def round_length(most: float) -> float:
    """The largest of 1, 2 or 5 times a power of ten that is not above ``most``."""
    if not (most > 0.0 and math.isfinite(most)):
        return 0.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(step * power for step in (5.0, 2.0, 1.0) if step * power <= most * (1 + 1e-12))


def length_text(length: float, unit: Unit, figures: Figures = figure) -> str:
    """A round length as it is written at a scale bar: 2 km, 50 m, 5 cm, 200 ft."""
    names = {"ftUS": "ft", "unknown": "unit" if length == 1.0 else "units"}
    name = names.get(unit.name, unit.name)
    if name == "m":
        for factor, small in ((1000.0, "km"), (1.0, "m"), (0.01, "cm"), (0.001, "mm")):
            if length >= factor * (1 - 1e-9):
                return figures(length / factor, _decimals(length / factor), small)
        return figures(length * 1000.0, _decimals(length * 1000.0), "mm")
    return figures(length, _decimals(length), name)


def _decimals(value: float) -> int:
    """How many decimals a round length needs, six at most."""
    return len(f"{value:.6f}".rstrip("0").partition(".")[2])


def boxes(bounds: Iterable[tuple[Vec3, Vec3]], color: str = ACCENT) -> Sequence[Overlay]:
    """Outlines of world boxes: of clouds, of a selection."""
    return [BoxOutline(low, high, color=color) for low, high in bounds]
