"""What the scene needs from outside and what it lets others read. No Qt, no OpenGL here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import CloudInfo, NodeId, Vec3
from oniyanma.scene.state import SceneState

# Bits of ResidentNode.flags
HIDDEN = 1
DELETED = 2
CLIPPED = 4
SELECTED = 8


@dataclass(eq=False)
class ResidentNode:
    """One node in memory, with what the edits and the selection make of its points.

    ``xyz`` int32 (n, 3) LAS integers; ``attributes`` raw arrays in use; ``flags`` uint8 (n,)
    of the bits above; ``classification`` uint8 (n,) after edits; ``paint`` uint8 (n, 4) RGBA
    with alpha 0 where nobody painted, or None. ``version`` grows with every change of flags,
    classification or paint: a renderer uploads a node again when it differs. Arrays are
    replaced, never written to, once the version is out. A class hidden by
    `SceneState.hidden_classes` is not in ``flags``: the renderer looks it up in a table.
    """

    id: NodeId
    xyz: npt.NDArray[np.int32]
    attributes: Mapping[str, npt.NDArray[Any]]
    flags: npt.NDArray[np.uint8]
    classification: npt.NDArray[np.uint8]
    paint: npt.NDArray[np.uint8] | None
    spacing: float  # world units between points at this depth
    version: int = 0

    @cached_property
    def box(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Lowest and highest LAS integers of the points, (3,) each; not of no points."""
        return self.xyz.min(axis=0), self.xyz.max(axis=0)


class SceneView(Protocol):
    """What a renderer or a panel may read of the scene, on the scene thread."""

    @property
    def state(self) -> SceneState:
        """The state to show: the committed one, or the live one while a gesture runs."""

    @property
    def resident_version(self) -> int:
        """Grows whenever a node comes, goes or changes."""

    def resident(self) -> Sequence[ResidentNode]:
        """Resident nodes of visible clouds, coarse first."""

    def cloud_info(self, cloud: str) -> CloudInfo: ...

    def color_range(self, cloud: str) -> tuple[float, float]:
        """The range in force for a cloud's colour mode: set by hand, or resident 2–98 %."""

    def scene_bounds(self) -> tuple[Vec3, Vec3] | None:
        """World bounds of the visible clouds; None with no points."""

    def display_scale(self) -> Vec3:
        """Stretch of each axis between world and view: (1, 1, 1) but for geographic clouds.
        Goes into `oniyanma.scene.camera.matrices`."""


@dataclass(frozen=True)
class Capture:
    """A picture: ``png`` bytes, its size in pixels, and the facts of a world file."""

    png: bytes
    width: int
    height: int
    facts: Mapping[str, Any]


class Renderer(Protocol):
    """Port: draws a scene into a picture. `oniyanma.render` has it without a display, the
    window through its own canvas."""

    def capture(self, view: SceneView, width: int, height: int, annotations: bool) -> Capture: ...


class Executor(Protocol):
    """Port: the scene's thread. The Qt main thread in a window, else one the Session owns."""

    def post(self, function: Callable[[], None]) -> None:
        """Run it on the scene thread soon; callable from any thread."""

    def is_current(self) -> bool:
        """Whether the caller is on the scene thread."""
