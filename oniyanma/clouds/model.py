"""The vocabulary of clouds: what a source says of itself, and what an octree node holds.

Everything here is frozen data shared by sources, the index, the workers, the scene and the
renderer. Coordinates are LAS integers (int32) with one scale and offset a cloud; a world
coordinate is ``X * scale + offset`` in float64 and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import laspy
import numpy as np
import numpy.typing as npt


class CloudError(Exception):
    """A cloud, file or node that can't be used: one sentence saying what, where, what to do."""


@dataclass(frozen=True)
class CloudWarning:
    """One oddity found on opening. ``code`` is stable (snake_case), ``message`` one sentence."""

    code: str
    message: str


@dataclass(frozen=True)
class Unit:
    """A unit of length or angle. ``metres`` is the length of one unit, None if not a length."""

    name: str  # "m", "ft" (international), "ftUS", "deg", "unknown"
    metres: float | None


METRE = Unit("m", 1.0)
FOOT = Unit("ft", 0.3048)
US_FOOT = Unit("ftUS", 1200.0 / 3937.0)
DEGREE = Unit("deg", None)
UNKNOWN_UNIT = Unit("unknown", None)


@dataclass(frozen=True)
class Crs:
    """A coordinate reference system as the file states it; every field may be unknown."""

    name: str = "unknown"
    epsg: int | None = None
    wkt: str | None = None
    horizontal: Unit = UNKNOWN_UNIT
    vertical: Unit = UNKNOWN_UNIT
    geographic: bool = False


UNKNOWN_CRS = Crs()


@dataclass(frozen=True)
class Dimension:
    """One attribute of a point. The value of a scaled extra dimension is raw*scale+offset."""

    name: str  # laspy's name: "intensity", "classification", "gps_time", or the extra's own
    dtype: str  # numpy dtype string of the raw value, e.g. "uint16"
    description: str = ""
    scale: float | None = None
    offset: float | None = None
    no_data: float | int | None = None
    extra: bool = False


Vec3 = tuple[float, float, float]


@dataclass(frozen=True)
class CloudInfo:
    """What `getCloudInfo` knows. ``checked`` says whether every point was read for it."""

    path: str
    name: str
    format: str  # "las", "laz", "copc", "e57", "ply", "pcd", "ptx", "ept", "text", "tiles"
    version: str  # of the format, "1.4" for LAS
    point_format: int | None
    points: int
    declared_points: int
    bounds_min: Vec3 | None  # from the points where checked, else the header's; None: no points
    bounds_max: Vec3 | None
    scale: Vec3
    offset: Vec3
    crs: Crs
    dimensions: tuple[Dimension, ...]
    color_depth: Literal[8, 16] | None  # None: no colour (absent or all zero)
    classes: Mapping[int, int]  # counts; empty until checked
    returns: Mapping[int, int]
    gps_time: Literal["none", "week", "adjusted"]
    software: str = ""
    created: str | None = None  # ISO date
    vlrs: tuple[str, ...] = ()  # "user_id/record_id description"
    warnings: tuple[CloudWarning, ...] = ()
    checked: bool = False
    header_hash: str = ""  # sha256 of the file's header bytes: tells a moved file from another
    extra: Mapping[str, Any] = field(default_factory=dict)  # format's own facts


class Source(Protocol):
    """An opened file of any format, as a stream of LAS records.

    A source that is not LAS gives its points as LAS 1.4 records (format 6, 7 or 8 with extra
    bytes for what LAS has no field for) under a header of its own with the finest power-of-ten
    scale that fits int32. LAS, LAZ and COPC give their own header and records untouched.
    """

    @property
    def info(self) -> CloudInfo:
        """Facts known so far; complete and ``checked`` once `records` ran to its end."""

    @property
    def header(self) -> laspy.LasHeader:
        """The LAS header (scales, offsets, point format, VLRs, global encoding) of `records`."""

    def records(self, chunk_size: int = 1_000_000) -> Iterator[laspy.PackedPointRecord]:
        """Every point once, in file order, in chunks of at most ``chunk_size``.

        Points with NaN, infinite or unrepresentable coordinates are left out, counted and
        reported in ``info.warnings``. May be called again; each call streams from the start.
        """

    @property
    def sampled(self) -> bool:
        """Whether `sample` gives what opening has read already, without decoding anything."""

    def sample(self, count: int) -> laspy.PackedPointRecord:
        """About ``count`` points spread over the whole cloud, within a fraction of a second."""

    def close(self) -> None: ...


class NodeKey(NamedTuple):
    """A COPC voxel key: depth, then the cell's column, row and layer at that depth."""

    depth: int
    x: int
    y: int
    z: int


class NodeId(NamedTuple):
    """A node in the scene: which cloud, which cell."""

    cloud: str
    key: NodeKey


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """An octree's nodes as flat arrays, parents before children.

    ``keys`` int32 (n, 4); ``counts`` int64 (n,); ``parents`` int32 (n,), -1 for a root;
    ``mins``/``maxs`` float64 (n, 3) the world cell of a node; ``spacing`` float64 (n,) world
    units between points. ``generation`` grows each time a cloud's hierarchy is replaced.
    """

    keys: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int64]
    parents: npt.NDArray[np.int32]
    mins: npt.NDArray[np.float64]
    maxs: npt.NDArray[np.float64]
    spacing: npt.NDArray[np.float64]
    generation: int = 0


@dataclass(frozen=True, eq=False)
class NodePoints:
    """A decoded node: LAS integers and raw attributes, in an order whose prefixes are fair.

    ``xyz`` int32 (n, 3), C-contiguous; ``attributes`` name → (n,) raw array of the file's dtype
    (laspy's names; only those asked for). Arrays are never written to after creation.
    """

    id: NodeId
    xyz: npt.NDArray[np.int32]
    attributes: Mapping[str, npt.NDArray[Any]]
    generation: int = 0


@dataclass(frozen=True)
class NodeFailed:
    """A node that could not be decoded: it is reported, marked and skipped."""

    id: NodeId
    reason: str
    generation: int = 0
