"""Small scenes for pictures: clouds made of given points, and what a test reads from pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import UNKNOWN_CRS, CloudInfo, Crs, Dimension, NodeId, NodeKey, Vec3
from oniyanma.render.headless import HeadlessRenderer
from oniyanma.scene.camera import as_vec3, union
from oniyanma.scene.ports import ResidentNode
from oniyanma.scene.state import Camera, CloudEntry, ColorMode, Display, SceneState

PLAIN = Display(
    color=ColorMode("rgb"), point_size=1.0, adaptive=False, edl=False
)  # one pixel a point, its own colour
Pixels = npt.NDArray[np.uint8]
ROOT = NodeKey(0, 0, 0, 0)
_versions = count(1)  # no two views have the same


@dataclass
class View:
    """A SceneView over given nodes."""

    infos: dict[str, CloudInfo]
    nodes: list[ResidentNode]
    state: SceneState
    resident_version: int = field(default_factory=lambda: next(_versions))
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    scale: Vec3 = (1.0, 1.0, 1.0)

    def resident(self) -> Sequence[ResidentNode]:
        return self.nodes

    def cloud_info(self, cloud: str) -> CloudInfo:
        return self.infos[cloud]

    def color_range(self, cloud: str) -> tuple[float, float]:
        return self.ranges.get(cloud, (0.0, 1.0))

    def scene_bounds(self) -> tuple[Vec3, Vec3] | None:
        return union(
            (i.bounds_min, i.bounds_max)
            for i in self.infos.values()
            if i.bounds_min is not None and i.bounds_max is not None
        )

    def display_scale(self) -> Vec3:
        return self.scale

    def show(self, **display: Any) -> View:
        """The same with another look; in place."""
        self.state = replace(self.state, display=replace(self.state.display, **display))
        return self

    def look(self, camera: Camera) -> View:
        """The same from another place; in place."""
        self.state = replace(self.state, camera=camera)
        return self

    def put(self, index: int, **changes: Any) -> View:
        """A node changed the way the resident set does it: new arrays, a higher version."""
        node = self.nodes[index]
        for name, value in changes.items():
            setattr(node, name, value)
        node.version += 1
        self.resident_version = next(_versions)
        return self

    def load(self, *nodes: ResidentNode) -> View:
        """Other nodes are resident now; in place."""
        self.nodes = list(nodes)
        self.resident_version = next(_versions)
        return self


def cloud_info(
    points: npt.NDArray[np.float64],
    scale: float = 0.001,
    offset: Vec3 = (0.0, 0.0, 0.0),
    *,
    color_depth: Any = 8,
    dimensions: tuple[Dimension, ...] = (),
    crs: Crs = UNKNOWN_CRS,
) -> CloudInfo:
    """The header facts of a made-up cloud."""
    low = as_vec3(points.min(axis=0)) if len(points) else None
    high = as_vec3(points.max(axis=0)) if len(points) else None
    return CloudInfo(
        path="made.las",
        name="made",
        format="las",
        version="1.4",
        point_format=7,
        points=len(points),
        declared_points=len(points),
        bounds_min=low,
        bounds_max=high,
        scale=(scale,) * 3,
        offset=offset,
        crs=crs,
        dimensions=dimensions,
        color_depth=color_depth,
        classes={},
        returns={},
        gps_time="none",
    )


def node(
    points: npt.NDArray[np.float64],
    info: CloudInfo,
    *,
    cloud: str = "a",
    key: NodeKey = ROOT,
    spacing: float = 1.0,
    attributes: Mapping[str, npt.NDArray[Any]] | None = None,
    classes: int | npt.NDArray[np.uint8] = 0,
) -> ResidentNode:
    """A resident node of world points, quantised as LAS does it; white unless coloured."""
    xyz = np.rint((points - np.array(info.offset)) / np.array(info.scale)).astype(np.int32)
    number = len(points)
    white = np.full(number, 255, np.uint16)
    return ResidentNode(
        id=NodeId(cloud, key),
        xyz=np.ascontiguousarray(xyz),
        attributes=dict(attributes or {"red": white, "green": white, "blue": white}),
        flags=np.zeros(number, np.uint8),
        classification=np.broadcast_to(np.asarray(classes, np.uint8), number).copy(),
        paint=None,
        spacing=spacing,
    )


def one_cloud(
    points: Any,
    camera: Camera,
    *,
    display: Display = PLAIN,
    parts: int = 1,
    spacing: float = 1.0,
    attributes: Mapping[str, npt.NDArray[Any]] | None = None,
    classes: int | npt.NDArray[np.uint8] = 0,
    **info: Any,
) -> View:
    """A view of one cloud "a" cut into ``parts`` nodes."""
    where = np.asarray(points, np.float64).reshape(-1, 3)
    facts = cloud_info(where, **info)
    nodes = []
    codes = np.broadcast_to(np.asarray(classes, np.uint8), len(where))
    for i, piece in enumerate(np.array_split(np.arange(len(where)), parts)):
        own = None if attributes is None else {k: v[piece] for k, v in attributes.items()}
        nodes.append(
            node(
                where[piece],
                facts,
                key=NodeKey(4, i, 0, 0),
                spacing=spacing,
                attributes=own,
                classes=codes[piece],
            )
        )
    state = SceneState(clouds=(CloudEntry("a", "a", "a"),), camera=camera, display=display)
    return View({"a": facts}, nodes, state)


def above(center: Vec3, height: float, **more: Any) -> Camera:
    """Straight down on a place, orthographic, ``height`` world units from top to bottom."""
    distance = height / 2.0 / np.tan(np.radians(22.5))
    eye = (center[0], center[1], center[2] + float(distance))
    return Camera(eye, center, (0.0, 1.0, 0.0), "orthographic", 45.0, **more)


def lit(pixels: Pixels, empty: Pixels | None = None) -> npt.NDArray[np.bool_]:
    """Which pixels show a point: brighter than the background ever is."""
    if empty is not None:
        return np.any(pixels[..., :3] != empty[..., :3], axis=-1)
    return pixels[..., :3].max(axis=-1) > 60


def draw(
    view: View, size: tuple[int, int] = (96, 96), ratio: float = 1.0, **options: Any
) -> Pixels:
    """The view's picture from a renderer of its own."""
    renderer = HeadlessRenderer()
    try:
        return renderer.pixels(view, *size, ratio, **options)
    finally:
        renderer.close()
