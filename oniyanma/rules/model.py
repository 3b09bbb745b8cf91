"""Regions and rules as frozen values: what decides for any point, loaded or not.

Coordinates are world (float64). A rule is data: it can be saved, sent, and asked about points
nobody has read yet. How it is evaluated stands in `oniyanma.rules.evaluate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Vec2 = tuple[float, float]
Vec3 = tuple[float, float, float]
Range = tuple[float | None, float | None]  # both ends included, None: open
Mode = Literal["replace", "add", "subtract", "intersect"]


@dataclass(frozen=True)
class Box:
    """A world box, turned by ``rotation`` (degrees about Z) around its centre."""

    min: Vec3
    max: Vec3
    rotation: float = 0.0


@dataclass(frozen=True)
class Prism:
    """Everything behind a polygon on the screen and in front of the near plane.

    ``matrix``: world → clip, row-major 4×4 (clip = M · [x, y, z, 1]), taken about ``origin``
    (world coordinates are subtracted first, so that float64 keeps its digits). ``polygon`` in
    logical pixels of ``viewport``, origin top left, closed by itself, even-odd.
    """

    polygon: tuple[Vec2, ...]
    matrix: tuple[float, ...]
    origin: Vec3
    viewport: tuple[int, int]


@dataclass(frozen=True)
class Polygon:
    """A world polygon in plan with an optional Z range."""

    polygon: tuple[Vec2, ...]
    z: Range = (None, None)


@dataclass(frozen=True)
class Where:
    """By attribute; all given conditions hold. Class is the edited one at the rule's position."""

    classes: frozenset[int] | None = None
    elevation: Range | None = None
    intensity: Range | None = None
    returns: Range | None = None  # return number
    gps_time: Range | None = None
    sources: frozenset[int] | None = None  # point source ids
    attribute: tuple[str, Range] | None = None  # any other dimension, real values


@dataclass(frozen=True)
class Region:
    """One piece of a selection and how it joins the pieces before it. ``invert`` flips the
    result so far instead (``shape`` None). A `Rule` as a piece keeps its own position and
    filters: so a selection is joined, or an edit made, after the filters or the log moved on."""

    shape: Box | Prism | Polygon | Where | Rule | None
    mode: Mode = "replace"
    invert: bool = False


@dataclass(frozen=True)
class Clip:
    shape: Box | Polygon
    mode: Literal["inside", "outside"] = "inside"


@dataclass(frozen=True)
class Rule:
    """A selection with the filters in force when it was made.

    ``at`` is the position in the event log: class, hidden and deleted state are read as they
    stood after the events with ``seq < at``, whatever is undone later. Points hidden or
    deleted then, outside ``clip``, of ``hidden_classes`` or of other clouds are not hit.
    ``clouds`` None: every cloud.
    """

    regions: tuple[Region, ...]
    at: int = 0
    clip: Clip | None = None
    hidden_classes: frozenset[int] = frozenset()
    clouds: frozenset[str] | None = None


Shape = Box | Prism | Polygon | Where | Rule
