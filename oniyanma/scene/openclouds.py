"""The clouds of a scene: their ids, opening and closing them, and those that can't be opened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from oniyanma.clouds.crs import crs_title, is_known, same_crs
from oniyanma.clouds.model import (
    CloudError,
    CloudInfo,
    CloudWarning,
    Crs,
    NodeFailed,
    NodeId,
    NodePoints,
)
from oniyanma.clouds.opening import Cloud
from oniyanma.scene.camera import Bounds, as_vec3
from oniyanma.scene.project.sources import header_hash
from oniyanma.scene.state import CloudEntry, SceneState


class Store(Protocol):
    """What the scene needs of a `CloudStore`."""

    @property
    def clouds(self) -> Any: ...
    @property
    def pending(self) -> int: ...
    @property
    def indexing(self) -> bool: ...
    def warm(self) -> None: ...
    def prepare(self, path: str, *, id: str) -> Any: ...
    def adopt(self, cloud: Any) -> None: ...
    def let_go(self, cloud: Any) -> None: ...
    def close_cloud(self, id: str) -> None: ...
    def request(self, wanted: Sequence[NodeId], attributes: frozenset[str]) -> None: ...
    def drain(self, max_ms: float) -> list[NodePoints | NodeFailed]: ...
    def wait(self, timeout: float) -> bool: ...
    def close(self) -> None: ...


class OpenClouds:
    """``missing``: ids of clouds of the state that can't be opened, and why. ``reserved``: ids
    of clouds on their way."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.missing: dict[str, str] = {}
        self.reserved: set[str] = set()
        self._missed: dict[str, str] = {}  # paths of the missing
        self._infos: dict[str, CloudInfo] = {}
        # clouds in another system than the scene's: own facts, the scene's system, facts told
        self._odd: dict[str, tuple[CloudInfo, Crs, CloudInfo]] = {}

    def get(self, id: str) -> Cloud | None:
        """An open cloud; None where it is missing."""
        found: Cloud | None = self.store.clouds.get(id)
        return found

    def info(self, id: str, entries: Sequence[CloudEntry] = ()) -> CloudInfo:
        """Facts of a cloud. KeyError where it is not open.

        ``entries``: the scene's clouds, whose first open one gives the scene its coordinate
        system; a cloud in another is warned of (``scene_crs_differs``).
        """
        info = self._own_info(id)
        first = next((entry.id for entry in entries if entry.id in self._infos), id)
        scene = self._own_info(first).crs
        if first == id or same_crs(info.crs, scene):
            return info
        known = self._odd.get(id)
        if known is None or known[0] is not info or known[1] != scene:
            warnings = (*info.warnings, _differs(info, scene))
            known = self._odd[id] = info, scene, replace(info, warnings=warnings)
        return known[2]

    def _own_info(self, id: str) -> CloudInfo:
        cloud = self.get(id)
        if cloud is not None:
            self._infos[id] = cloud.info
        return self._infos[id]

    def warm(self) -> None:
        """Have what opening needs ready before it is needed."""
        self.store.warm()

    def prepare(self, path: str, id: str) -> Cloud:
        """Read what a cloud begins with; on any thread. Raises CloudError."""
        cloud: Cloud = self.store.prepare(path, id=id)
        return cloud

    def adopt(self, cloud: Cloud) -> None:
        """Take in a prepared cloud, for a state that is about to be committed."""
        self.store.adopt(cloud)
        self._infos[cloud.id] = cloud.info
        self.reserved.discard(cloud.id)

    def let_go(self, cloud: Cloud) -> None:
        """Nobody wants the prepared cloud any more."""
        self.store.let_go(cloud)
        self.reserved.discard(cloud.id)

    def id_for(self, path: str, state: SceneState, known: Iterable[CloudEntry]) -> str:
        """The id of a cloud to be opened: the one it had in this project, or one never used.

        ``known``: every cloud the project ever had. The id is ``reserved`` until the cloud is
        adopted or let go.
        """
        entries = {e.id: e for e in (*known, *state.clouds)}
        taken = self.reserved | set(self.store.clouds)
        same = (e.id for e in entries.values() if e.path == path and e.id not in taken)
        id = next(same, None) or self._moved(path, state)
        if id is None:
            used = {*entries, *taken, *_named_clouds(state)}
            numbers = [int(id[1:]) for id in used if id[:1] == "c" and id[1:].isdigit()]
            id = f"c{max(numbers, default=0) + 1}"
        self.reserved.add(id)
        return id

    def _moved(self, path: str, state: SceneState) -> str | None:
        """The id of a missing cloud whose file this is, by its header; None: of none."""
        hashes = {c.header_hash: c.id for c in state.clouds if c.id in self.missing}
        hashes.pop("", None)
        if not hashes or "://" in path:
            return None
        try:
            return hashes.get(header_hash(Path(path)))
        except CloudError:
            return None  # opening it will say why

    def open_missing(self, entries: Iterable[CloudEntry]) -> list[str]:
        """Open what is neither open nor known to be missing; a sentence for each that can't be."""
        told = []
        for entry in entries:
            if entry.id in self.store.clouds or entry.id in self.missing:
                continue
            try:
                self.adopt(self.prepare(entry.path, entry.id))
            except CloudError as error:
                self.missing[entry.id], self._missed[entry.id] = str(error), entry.path
                told.append(f"{entry.name} can't be shown: {error}")
        return told

    def close_others(self, entries: Iterable[CloudEntry]) -> list[str]:
        """Close what is not among the entries, or is there under the same id from elsewhere;
        the ids that were closed."""
        keep = {entry.id: entry.path for entry in entries}
        closed = [id for id, cloud in self.store.clouds.items() if keep.get(id) != cloud.path]
        for id in closed:
            self.store.close_cloud(id)
            self._infos.pop(id, None)
            self._odd.pop(id, None)
        self.missing = {
            id: why for id, why in self.missing.items() if self._missed.get(id) == keep.get(id)
        }
        return closed


def header_bounds(cloud: Cloud) -> Bounds | None:
    """World bounds of a cloud as its header gives them; those of its tree where a header that
    nobody checked is empty or lies elsewhere."""
    info, tree = cloud.info, cloud.hierarchy
    box: Bounds | None = None
    if info.bounds_min is not None and info.bounds_max is not None:
        box = info.bounds_min, info.bounds_max
    roots = tree.parents < 0
    if len(tree.counts) and roots.any() and (box is None or not info.checked):
        cell = as_vec3(tree.mins[roots].min(axis=0)), as_vec3(tree.maxs[roots].max(axis=0))
        if box is None or not _believable(box, cell):
            return cell
    return box


def _believable(box: Bounds, cell: Bounds) -> bool:
    """Whether a header's box can be that of points which lie in the cell."""
    low, high = np.asarray(box[0]), np.asarray(box[1])
    if not np.isfinite((low, high)).all() or (low > high).any() or (low == high).all():
        return False
    return bool((low <= cell[1]).all() and (high >= cell[0]).all())


def _differs(info: CloudInfo, scene: Crs) -> CloudWarning:
    """What to say of a cloud in another coordinate system than the scene's."""
    own = f"is in {crs_title(info.crs)}" if is_known(info.crs) else "names no coordinate system"
    shared = f"is in {crs_title(scene)}" if is_known(scene) else "names none"
    return CloudWarning(
        "scene_crs_differs",
        f"{info.name} {own}, but the scene, as its first cloud, {shared}; its coordinates are "
        "shown as they are, so it may lie in the wrong place.",
    )


def _named_clouds(state: SceneState) -> set[str]:
    """Ids of the clouds that the log's rules name, also of closed ones."""
    rules = [edit.rule for event in state.events for edit in event.edits]
    rules += [f.region for f in state.findings.values() if f.region is not None]
    return {id for rule in rules for id in rule.clouds or ()}
