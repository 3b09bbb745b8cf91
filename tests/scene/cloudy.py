"""A view of made-up clouds, node by node, as the scene would show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import METRE, CloudInfo, Crs, Dimension, NodeId, NodeKey, Vec3
from oniyanma.scene.edits import BlockState, block_of
from oniyanma.scene.picking import Pick, nearest
from oniyanma.scene.ports import ResidentNode
from oniyanma.scene.resident import Held
from oniyanma.scene.state import CloudEntry, SceneState

UTM: Vec3 = (432_000.0, 5_312_000.0, 800.0)
UTM33 = Crs("WGS 84 / UTM zone 33N", 32633, None, METRE, METRE)
SCALE: Vec3 = (0.001, 0.001, 0.001)


def info(
    points: int = 0,
    crs: Crs = UTM33,
    dimensions: Sequence[Dimension] = (),
    bounds: tuple[Vec3, Vec3] | None = None,
    **more: Any,
) -> CloudInfo:
    low, high = bounds if bounds is not None else (None, None)
    return CloudInfo(
        path="made-up.las",
        name="made up",
        format="las",
        version="1.4",
        point_format=6,
        points=points,
        declared_points=points,
        bounds_min=low,
        bounds_max=high,
        scale=SCALE,
        offset=UTM,
        crs=crs,
        dimensions=tuple(dimensions),
        color_depth=None,
        classes={},
        returns={},
        **({"gps_time": "none"} | more),
    )


def node(
    xyz: npt.NDArray[np.int32],
    cloud: str = "c1",
    place: int = 0,
    *,
    flags: Any = 0,
    classes: Any = 1,
    attributes: Mapping[str, npt.NDArray[Any]] | None = None,
    spacing: float = 1.0,
) -> ResidentNode:
    n = len(xyz)
    return ResidentNode(
        id=NodeId(cloud, NodeKey(1, place, 0, 0)),
        xyz=xyz,
        attributes=attributes or {},
        flags=np.broadcast_to(np.asarray(flags, np.uint8), n).copy(),
        classification=np.broadcast_to(np.asarray(classes, np.uint8), n).copy(),
        paint=None,
        spacing=spacing,
    )


class View:
    """`SceneView` over nodes and infos by cloud id."""

    def __init__(
        self,
        nodes: Sequence[ResidentNode],
        infos: Mapping[str, CloudInfo] | None = None,
        state: SceneState | None = None,
    ) -> None:
        self.nodes = list(nodes)
        self.infos = dict(infos or {"c1": info(sum(len(n.xyz) for n in nodes))})
        entries = tuple(CloudEntry(id, i.name, i.path) for id, i in self.infos.items())
        self.state = state if state is not None else SceneState(clouds=entries)
        self.resident_version = 0

    def resident(self) -> Sequence[ResidentNode]:
        shown = {entry.id for entry in self.state.clouds if entry.visible}
        return [n for n in self.nodes if n.id.cloud in shown]

    def cloud_info(self, cloud: str) -> CloudInfo:
        return self.infos[cloud]

    def color_range(self, cloud: str) -> tuple[float, float]:
        return (0.0, 1.0)

    def nearest(self, place: Vec3, radius: float) -> Pick | None:
        held = [
            Held(n, BlockState(block_of(n.id.cloud, self.infos[n.id.cloud], n.xyz, {})), 0, i)
            for i, n in enumerate(self.resident())
        ]
        hidden = self.state.hidden_classes
        return nearest(held, place, radius=radius, hidden_classes=hidden)

    def display_scale(self) -> Vec3:
        return (1.0, 1.0, 1.0)

    def scene_bounds(self) -> tuple[Vec3, Vec3] | None:
        return None


def world(xyz: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """What the integers of `SCALE` and `UTM` stand for."""
    placed: npt.NDArray[np.float64] = xyz * np.asarray(SCALE) + np.asarray(UTM)
    return placed
