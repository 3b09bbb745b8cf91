"""The resident points that can be seen, node by node: what every query is asked of.

Seen is what is neither hidden nor deleted, inside the clip, and of a class that is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.crs import same_crs
from oniyanma.clouds.model import CloudInfo
from oniyanma.scene.ports import CLIPPED, DELETED, HIDDEN, ResidentNode, SceneView
from oniyanma.scene.records import RecordError
from oniyanma.scene.state import CloudEntry, SceneState
from oniyanma.scene.units import Frame, frame_of

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
GONE = HIDDEN | DELETED | CLIPPED


@dataclass(eq=False)
class Seen:
    """A node with the mask of its points that can be seen, bool (n,)."""

    node: ResidentNode
    info: CloudInfo
    mask: Mask

    @cached_property
    def count(self) -> int:
        return int(np.count_nonzero(self.mask))

    @property
    def some(self) -> Mask | slice:
        """What takes the seen points out of an array of the node: all of it where it can."""
        return slice(None) if self.count == len(self.mask) else self.mask

    def axis(self, axis: int) -> Floats:
        """World coordinates of the seen points along one axis."""
        values: Floats = self.node.xyz[self.some, axis].astype(np.float64)
        values *= self.info.scale[axis]
        values += self.info.offset[axis]
        return values

    def xyz(self) -> Floats:
        """World coordinates of the seen points, (m, 3)."""
        return np.column_stack([self.axis(0), self.axis(1), self.axis(2)])

    def classes(self) -> npt.NDArray[np.uint8]:
        """Their classes after the edits."""
        return self.node.classification[self.some]

    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest world coordinates of all points of the node, (3,) each."""
        scale, offset = np.asarray(self.info.scale), np.asarray(self.info.offset)
        a, b = (corner * scale + offset for corner in self.node.box)
        return np.minimum(a, b), np.maximum(a, b)


def hidden_table(state: SceneState) -> Mask:
    """bool (256,): which classes are not shown."""
    table = np.zeros(256, dtype=np.bool_)
    table[list(state.hidden_classes)] = True
    return table


def seen(view: SceneView, cloud: str | None = None, *, all_classes: bool = False) -> Iterator[Seen]:
    """The resident nodes with any point to be seen; ``cloud`` None: of every visible cloud."""
    hidden = hidden_table(view.state)
    look_up = not all_classes and bool(hidden.any())
    for node in view.resident():
        if cloud is not None and node.id.cloud != cloud:
            continue
        mask = (node.flags & GONE) == 0
        if look_up:
            mask &= ~hidden[node.classification]
        if mask.any():
            yield Seen(node, view.cloud_info(node.id.cloud), mask)


def known_cloud(state: SceneState, cloud: str | None) -> None:
    """RecordError where ``cloud`` is no open cloud."""
    if cloud is not None and all(entry.id != cloud for entry in state.clouds):
        ids = ", ".join(entry.id for entry in state.clouds) or "none yet"
        raise RecordError(f"There is no cloud {cloud!r}; there are: {ids}.", missing=True)


def nothing(view: SceneView, cloud: str | None = None) -> str:
    """Why there is no point to be seen, and what to do: said beside a count of 0."""
    state = view.state
    if not state.clouds:
        return "No cloud is open (open one first)"
    shown = [e for e in state.clouds if e.visible and cloud in (None, e.id)]
    if not shown:
        what = "No cloud is shown" if cloud is None else f"Cloud {cloud} is not shown"
        return f"{what} (setCloudVisibility shows it)"
    if not shown_clouds(view, cloud):
        what = "The open clouds' files are" if cloud is None else f"The file of cloud {cloud} is"
        return f"{what} missing (listClouds says where they were)"
    if not any(cloud in (None, node.id.cloud) for node in view.resident()):
        return "No point is in view (fitView brings all of them there)"
    return "Every resident point is hidden, deleted, clipped or of a class that is not shown"


def open_clouds(view: SceneView) -> list[tuple[CloudEntry, CloudInfo]]:
    """The clouds of the scene whose files are there, in order."""
    found: list[tuple[CloudEntry, CloudInfo]] = []
    for entry in view.state.clouds:
        with suppress(KeyError):
            found.append((entry, view.cloud_info(entry.id)))
    return found


def shown_clouds(view: SceneView, cloud: str | None = None) -> dict[str, CloudInfo]:
    """The visible ones (of the one asked for) by id."""
    return {e.id: i for e, i in open_clouds(view) if e.visible and cloud in (None, e.id)}


def scene_frame(view: SceneView) -> Frame | None:
    """Units of the scene, which are those of its first cloud; None without one."""
    clouds = open_clouds(view)
    return frame_of(clouds[0][1].crs) if clouds else None


def other_crs(view: SceneView) -> str | None:
    """A sentence where a visible cloud has another CRS than the scene; None: all the same."""
    clouds = open_clouds(view)
    if not clouds:
        return None
    first = clouds[0][1].crs
    odd = [entry.id for entry, info in clouds if entry.visible and not same_crs(info.crs, first)]
    if not odd:
        return None
    return f"Not in the scene's CRS ({first.name}), taken as they are: {', '.join(odd)}."
