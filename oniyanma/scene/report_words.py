"""The report's facts, and how they are put in words: figures, units, people, times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from oniyanma.clouds.model import CloudInfo
from oniyanma.registry.actor import Actor
from oniyanma.registry.log import LogLine
from oniyanma.scene.state import Measurement, SceneState
from oniyanma.scene.units import Frame

KINDS = {"human": "person", "ai": "AI", "api": "program"}


@dataclass(frozen=True)
class Pictures:
    """PNGs: the view as it stands, and one for each saved view that has one."""

    view: bytes = b""
    saved: Mapping[str, bytes] = field(default_factory=dict)
    resident: int = 0  # points on screen in it


@dataclass(frozen=True)
class Facts:
    """What the report is made from."""

    state: SceneState
    lines: Sequence[LogLine]
    head: str
    count: int
    clouds: Mapping[str, CloudInfo]
    frame: Frame | None
    pictures: Pictures
    made: str  # time, UTC
    by: Actor
    version: str = ""


def name(facts: Facts) -> str:
    path = facts.state.project.path
    if path:
        return path.replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0]
    return facts.state.clouds[0].name if facts.state.clouds else "Unsaved project"


def actor(actor: Actor | None) -> str:
    if actor is None:
        return ""
    kind = "" if actor.kind == "human" else f" ({KINDS[actor.kind]})"
    return f"{actor.name or 'unnamed'}{kind}"


def when(time: str) -> str:
    """UTC to the minute."""
    return f"{time[:10]} {time[11:16]}" if len(time) >= 16 else time


def crs(facts: Facts) -> str:
    frame = facts.frame
    if frame is None:
        return "unknown"
    crs = frame.crs
    epsg = f" (EPSG:{crs.epsg})" if crs.epsg else ""
    units = f"heights in {frame.vertical.name}"
    plan = "degrees" if crs.geographic else crs.horizontal.name
    return f"{crs.name}{epsg}; plan in {plan}, {units}"


def extent(info: CloudInfo, frame: Frame | None) -> str:
    if info.bounds_min is None or info.bounds_max is None:
        return "no points"
    size = [b - a for a, b in zip(info.bounds_min, info.bounds_max, strict=True)]
    places = 5 if info.crs.geographic else 1
    unit = "deg" if info.crs.geographic else info.crs.horizontal.name
    height = frame.vertical.name if frame is not None else unit
    plan = f"{size[0]:,.{places}f} × {size[1]:,.{places}f} {unit}"
    return f"{plan}, {size[2]:,.1f} {height} high"


def _places(facts: Facts) -> int:
    """Decimals of a length: those of the finest scale."""
    scales = [min(info.scale) for info in facts.clouds.values()]
    finest = min(scales, default=0.001)
    return max(0, min(9, -math.floor(math.log10(finest) + 1e-9)))


def coordinates(point: Sequence[float], facts: Facts) -> list[str]:
    places = _places(facts)
    return [f"{axis} {value:,.{places}f}" for axis, value in zip("XYZ", point, strict=True)]


def _figure(value: float, power: int, places: int) -> str:
    """A length as finely as the data, an area or volume in five figures at least."""
    if power > 1:
        size = math.floor(math.log10(abs(value))) if abs(value) >= 1 else 0
        places = max(0, min(places, 4 - size))
    text = f"{value:,.{places}f}"
    return text.removeprefix("-") if not any(c in "123456789" for c in text) else text


def _power(one: Measurement) -> int:
    return {"area": 2, "volume": 3}.get(one.kind, 1)


def value(one: Measurement, facts: Facts) -> str:
    value = one.values.get("value")
    if not isinstance(value, (int, float)):
        return ""
    unit = str(one.values.get("unit", ""))
    if unit == "deg":
        return f"{value:.2f}°"
    return f"{_figure(value, _power(one), _places(facts))} {unit}"


def metres(one: Measurement, facts: Facts) -> str:
    for power, (key, unit) in enumerate(
        (("metres", "m"), ("squareMetres", "m²"), ("cubicMetres", "m³")), 1
    ):
        value = one.values.get(key)
        if isinstance(value, (int, float)):
            return f"{_figure(value, power, max(3, _places(facts)))} {unit}"
    return ""


_SHOWN: Mapping[str, tuple[tuple[str, str, int], ...]] = {
    "distance": (
        ("horizontal", "horizontal", 1),
        ("vertical", "vertical", -1),
        ("slope", "slope", 0),
    ),
    "height": (("horizontal", "apart in plan", 1),),
    "angle": (("horizontal", "in plan", 0),),
    "area": (("plan", "plan", 2), ("perimeter", "perimeter", 1), ("outOfPlane", "out of plane", 1)),
    "volume": (
        ("cut", "cut", 3),
        ("fill", "fill", 3),
        ("plan", "plan", 2),
        ("cell", "cells of", 1),
    ),
    "profile": (
        ("rise", "rise", -1),
        ("minZ", "lowest", -1),
        ("maxZ", "highest", -1),
        ("width", "width", 1),
    ),
}
"""What is told of a kind beside its value: key, words, and the power of the unit in plan (0: an
angle, -1: a height)."""


def details(one: Measurement, facts: Facts) -> str:
    values, places = one.values, _places(facts)
    plan = facts.frame.horizontal.name if facts.frame is not None else ""
    height = facts.frame.vertical.name if facts.frame is not None else ""
    parts = []
    for key, words, power in _SHOWN.get(one.kind, ()):
        value = values.get(key)
        if not isinstance(value, (int, float)):
            continue
        if power == 0:
            parts.append(f"{words} {value:.2f}°")
        elif power == -1:
            parts.append(f"{words} {_figure(value, 1, places)} {height}")
        else:
            unit = plan + ("", "²", "³")[power - 1]
            parts.append(f"{words} {_figure(value, power, places)} {unit}")
    if one.kind == "volume":
        level = values.get("referenceZ")
        plane = "the plane through the corners"
        parts.append(f"against {plane if level is None else f'Z {level:,.{places}f} {height}'}")
        parts.append(f"{100 * float(values['emptyShare']):.1f} % of the area without points")
        parts.append(f"{float(values['density']):.2f} {values['densityUnit']}")
    if one.kind == "point":
        parts = coordinates([values[axis] for axis in "xyz"], facts)
    return f"{one.kind}: " + ", ".join(parts) if parts else one.kind


def basis(one: Measurement) -> str:
    basis = str(one.values.get("basis", ""))
    points = one.values.get("points")
    words = {"resident": "points on screen", "full": "every point", "source points": "exact points"}
    text = words.get(basis, basis)
    return f"{points:,} ({text})" if isinstance(points, int) else text
