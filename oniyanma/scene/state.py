"""The scene as one frozen value. A handler returns the next one; the door swaps it in.

What is drawn, counted, saved and undone is here and nowhere else. Points are not: they live in
the resident set (`oniyanma.scene.resident`), which is derived from this state and the clouds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from oniyanma.clouds.model import Vec3
from oniyanma.registry.actor import Actor
from oniyanma.rules.model import Clip, Rule

DEFAULT_POINT_BUDGET = 2_000_000
DEFAULT_VIEWPORT = (1280, 720)

Projection = Literal["perspective", "orthographic"]
EditKind = Literal["hide", "delete", "reclassify", "color"]
Table = Literal["measurements", "findings", "batches", "bookmarks"]


def _empty() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True)
class Camera:
    """A camera in world coordinates (float64). ``fov`` is vertical, in degrees.

    Orthographic: the visible height at the target is ``2 * |eye - target| * tan(fov / 2)``, so
    that switching projection keeps the size of what is at the target.
    """

    eye: Vec3 = (0.0, -10.0, 5.0)
    target: Vec3 = (0.0, 0.0, 0.0)
    up: Vec3 = (0.0, 0.0, 1.0)
    projection: Projection = "perspective"
    fov: float = 45.0
    mode: Literal["orbit", "fly"] = "orbit"


@dataclass(frozen=True)
class ColorMode:
    """How points get their colour. ``range`` None: 2nd to 98th percentile of the resident."""

    mode: str = "elevation"  # rgb, elevation, intensity, classification, return, source,
    # gpsTime, uniform, or the name of an extra dimension
    range: tuple[float, float] | None = None
    palette: str | None = None  # None: the mode's own


@dataclass(frozen=True)
class Display:
    color: ColorMode = ColorMode()
    cloud_colors: Mapping[str, ColorMode] = field(default_factory=_empty)  # cloud id → override
    class_colors: Mapping[int, str] = field(default_factory=_empty)  # class → "#rrggbb"
    point_size: float = 2.0  # logical pixels
    adaptive: bool = True  # grow to the node's spacing so that surfaces close
    edl: bool = True
    edl_strength: float = 1.0
    edl_radius: float = 1.4  # logical pixels


@dataclass(frozen=True)
class CloudEntry:
    """An open cloud in the scene; its points and header live in the CloudStore."""

    id: str
    name: str
    path: str
    visible: bool = True
    header_hash: str = ""


@dataclass(frozen=True)
class Selection:
    """What is selected: a rule with the filters of its time baked in, or nothing."""

    rule: Rule | None = None


@dataclass(frozen=True)
class PointEdit:
    """What was done to the points of a rule. Holds no point number.

    ``params``: ``{"class": 6}`` for reclassify, ``{"color": "#rrggbb" | None}`` for color.
    """

    id: str
    kind: EditKind
    rule: Rule
    params: Mapping[str, Any] = field(default_factory=_empty)


@dataclass(frozen=True)
class Change:
    """One record of a table before and after (None: it did not or does not exist)."""

    table: Table
    key: str
    before: Any | None
    after: Any | None


@dataclass(frozen=True)
class Event:
    """One entry of the append-only log of what was done, undone, redone and cleared.

    ``kind`` "step": one command or finished drag, with its point edits and record changes; the
    steps of one ``batch`` follow each other and are undone as one. "undo", "redo", "clear":
    ``steps`` names the events it acts on by ``seq``. A clear takes the point edits of its steps,
    only those of ``kinds`` where any are named; it can itself be undone.
    """

    seq: int
    kind: Literal["step", "undo", "redo", "clear"]
    command: str
    title: str  # "reclassify 128,340 to Building": what undo is named by
    actor: Actor
    time: str  # UTC, ISO 8601
    edits: tuple[PointEdit, ...] = ()
    changes: tuple[Change, ...] = ()
    steps: tuple[int, ...] = ()
    batch: str | None = None
    points: int | None = None  # resident count when it was made
    kinds: tuple[EditKind, ...] = ()  # of a clear


@dataclass(frozen=True)
class Measurement:
    id: str
    kind: str  # point, distance, height, angle, area, volume, profile
    points: tuple[Vec3, ...]  # exact source coordinates, world
    name: str
    values: Mapping[str, Any]  # as listMeasurements answers: value, unit, metres, …
    author: Actor
    time: str


@dataclass(frozen=True)
class FindingEvent:
    """One line of a finding's history; nothing in it is ever erased."""

    what: str  # created, updated, confirmed, rejected, withdrawn, restored
    actor: Actor
    time: str
    note: str = ""


@dataclass(frozen=True)
class Finding:
    id: str
    title: str
    position: Vec3
    note: str
    severity: str  # info, minor, major, critical
    status: Literal["open", "confirmed", "rejected", "withdrawn"]
    author: Actor
    time: str
    region: Rule | None = None
    history: tuple[FindingEvent, ...] = ()


@dataclass(frozen=True)
class Batch:
    id: str
    title: str
    state: Literal["proposed", "applied", "reverted", "withdrawn"]
    commands: tuple[Mapping[str, Any], ...]  # {"name": …, "args": {…}}
    author: Actor
    time: str
    accepted_by: Actor | None = None
    step: int | None = None  # the history event it became


@dataclass(frozen=True)
class Bookmark:
    name: str
    camera: Camera
    thumbnail: bytes = b""  # PNG
    time: str = ""


@dataclass(frozen=True)
class Project:
    """Where the scene is kept. ``path`` None: unsaved work in the recovery project."""

    path: str | None = None
    read_only: bool = False
    reason: str = ""  # why read-only


@dataclass(frozen=True)
class SceneState:
    revision: int = 0
    clouds: tuple[CloudEntry, ...] = ()
    camera: Camera = Camera()
    viewport: tuple[int, int] = DEFAULT_VIEWPORT  # logical pixels (width, height)
    budget: int = DEFAULT_POINT_BUDGET
    display: Display = Display()
    hidden_classes: frozenset[int] = frozenset()
    clip: Clip | None = None
    selection: Selection = Selection()
    events: tuple[Event, ...] = ()
    measurements: Mapping[str, Measurement] = field(default_factory=_empty)
    findings: Mapping[str, Finding] = field(default_factory=_empty)
    batches: Mapping[str, Batch] = field(default_factory=_empty)
    bookmarks: Mapping[str, Bookmark] = field(default_factory=_empty)
    project: Project = Project()
