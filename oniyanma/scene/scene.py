"""The scene: one frozen state, the clouds' resident nodes, and the loop that keeps them current.

A `Scene` is the door's host. It lives on the scene thread, and all its methods are called there.
Who reads it (a renderer, a panel) gets a `SceneView`.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from psygnal import Signal

from oniyanma.clouds.lod import ViewParams, cut
from oniyanma.clouds.model import (
    CloudInfo,
    Hierarchy,
    NodeFailed,
    NodeId,
    NodeKey,
    NodePoints,
    Vec3,
)
from oniyanma.clouds.opening import Cloud
from oniyanma.clouds.store import CloudStore
from oniyanma.registry.log import LogEntry, LogSink
from oniyanma.scene import attributes, picking
from oniyanma.scene.arrival import PATIENCE, Arrival
from oniyanma.scene.camera import Bounds, Matrices, as_vec3, display_scale, matrices, union
from oniyanma.scene.navigation import Ground
from oniyanma.scene.openclouds import OpenClouds, Store, header_bounds
from oniyanma.scene.ports import Renderer, ResidentNode, SceneView
from oniyanma.scene.program import EditProgram, attributes_of
from oniyanma.scene.resident import ResidentSet, Tally
from oniyanma.scene.state import CloudEntry, SceneState

PERCENTILES = (2.0, 98.0)
WAIT = 0.25  # seconds of one wait for the workers


class Scene:
    """``state``: where to begin, its clouds are opened. ``sink`` keeps log and state.

    ``inline``: clouds are read in the caller, without processes or threads. ``store``: another
    store of clouds than one of the scene's own.
    """

    state_changed = Signal(object, object)  # the state shown before, and now
    resident_changed = Signal()
    cloud_changed = Signal(str)  # id: its progress, hierarchy or facts are others now
    message = Signal(str, str)  # level ("warning", "missing": a source), sentence

    def __init__(
        self,
        state: SceneState,
        sink: LogSink,
        *,
        inline: bool = False,
        renderer: Renderer | None = None,
        store: Store | None = None,
    ) -> None:
        self.log = sink
        self.renderer = renderer
        self.inline = inline
        self.clouds = OpenClouds(store if store is not None else CloudStore(inline=inline))
        self.failed: dict[NodeId, str] = {}  # nodes that can't be decoded, and why
        self.resident = ResidentSet(self.cloud_info)
        self.view: SceneView = _View(self)
        self._state = state
        self._live: SceneState | None = None
        self._program = EditProgram()
        self._ahead: EditProgram | None = None
        self._extra: frozenset[str] = frozenset()
        self._asked: frozenset[str] = frozenset()
        self._seen: Any = None
        self._wanted: dict[NodeId, float] = {}
        self._facts: dict[str, tuple[Any, ...]] = {}
        self._bounds: tuple[Hashable, Bounds | None] | None = None
        self._ranges: dict[Hashable, tuple[float, float]] = {}
        self._told = 0
        self._arrivals: list[Arrival] = []
        self._open_missing()
        self._follow()

    # --- the door's host ---------------------------------------------------------------

    @property
    def state(self) -> SceneState:
        """The committed state."""
        return self._state

    @property
    def version(self) -> Hashable:
        """Differs whenever a read-only answer could."""
        return self._state.revision, self._state.viewport, self.resident.version

    @property
    def live_state(self) -> SceneState | None:
        """What a running gesture shows; None: the committed state is shown."""
        return self._live

    @live_state.setter
    def live_state(self, state: SceneState | None) -> None:
        before, self._live = self.shown, state
        if self.shown is not before:
            self._follow()
            self.state_changed.emit(before, self.shown)

    @property
    def shown(self) -> SceneState:
        """The live state while a gesture runs, else the committed one."""
        return self._state if self._live is None else self._live

    def commit(self, state: SceneState, entry: LogEntry) -> None:
        """Store the difference and the line, then swap the state in with the next revision.

        Raises what the sink raises, and then nothing happened.
        """
        after = replace(state, revision=self._state.revision + 1)
        try:
            self.log.write(entry, self._state, after)
        except BaseException:
            self._close_others(self._state.clouds)
            raise
        if after.project == self._state.project:
            self._swap(after)
            return
        # Another project, in which an id may stand for another cloud; or this one, saved as.
        same = {(c.id, c.path) for c in self._state.clouds} & {(c.id, c.path) for c in after.clouds}
        self._close_others([c for c in after.clouds if (c.id, c.path) in same])
        self._swap(after)
        self.clouds.missing.clear()
        self._open_missing()
        self._follow()

    def append(self, entry: LogEntry) -> None:
        """A log line with no change of state."""
        self.log.write(entry, self._state, self._state)

    def set_viewport(self, width: int, height: int) -> None:
        """The canvas has another size, in logical pixels. Nothing that is undone or logged."""
        size = (max(1, int(width)), max(1, int(height)))
        if size != self._state.viewport:
            self._swap(replace(self._state, viewport=size))

    def close(self) -> None:
        """Stop reading clouds; the sink belongs to who made it."""
        self.store.close()

    def _swap(self, state: SceneState) -> None:
        before, self._state = self.shown, state
        if state.clouds != before.clouds or len(state.clouds) != len(self.store.clouds):
            self._close_others(state.clouds)
            self._open_missing()
        self._follow()
        self.state_changed.emit(before, self.shown)

    # --- clouds ------------------------------------------------------------------------

    @property
    def store(self) -> Store:
        return self.clouds.store

    @property
    def missing(self) -> dict[str, str]:
        """Clouds of the state that can't be opened, and why."""
        return self.clouds.missing

    def id_for(self, path: str, state: SceneState) -> str:
        """See `OpenClouds.id_for`."""
        known = getattr(self.log, "known_sources", tuple)
        return self.clouds.id_for(path, state, known())

    def cloud(self, id: str) -> Cloud | None:
        """An open cloud; None where it is missing."""
        return self.clouds.get(id)

    def cloud_info(self, id: str) -> CloudInfo:
        """Facts of a cloud of the scene. KeyError where it is not open."""
        return self.clouds.info(id, self._state.clouds)

    def _open_missing(self) -> None:
        for sentence in self.clouds.open_missing(self._state.clouds):
            self.message.emit("missing", sentence)

    def _close_others(self, entries: Sequence[CloudEntry]) -> None:
        for id in self.clouds.close_others(entries):
            self._facts.pop(id, None)
            self.failed = {n: why for n, why in self.failed.items() if n.cloud != id}
            self.resident.drop([n for n in self.resident.ids() if n.cloud == id])

    # --- the loop ----------------------------------------------------------------------

    def pump(self, max_ms: float) -> bool:
        """One turn: cut, request, take what came for about ``max_ms``. Whether there is more."""
        end = time.perf_counter() + max_ms / 1000.0
        self._look()
        while self._take(self.store.drain(0.0)) and time.perf_counter() < end:
            pass
        self._look()
        self._tell()
        for arrival in [one for one in self._arrivals if self._there(one)]:
            self._arrivals.remove(arrival)
            arrival.over()
        return bool(self.store.pending)

    def settle(self, timeout: float) -> bool:
        """Pump until nothing is on its way any more, indexing included; whether it got there."""
        end = time.monotonic() + timeout
        while True:
            more = self.pump(50.0)
            if not more and not self.store.indexing:
                return True
            if time.monotonic() >= end:
                return False
            if not more or self.store.pending:
                self.store.wait(min(WAIT, max(0.0, end - time.monotonic())))

    @property
    def settled(self) -> bool:
        """Whether what is resident is all that the view asks for."""
        return not self.store.pending and not self.store.indexing

    @property
    def pending(self) -> int:
        """Nodes on their way."""
        return self.store.pending

    def bring(self, names: Iterable[str], *, at_once: bool = False) -> Arrival | None:
        """Have attributes with every resident node, also from now on; None: they are there.

        ``at_once`` waits for them here, as inline has to: nobody else would bring them.
        """
        self._extra |= frozenset(names)
        self._look()
        arrival = Arrival(frozenset(self.resident.ids()))
        end = time.monotonic() + PATIENCE
        while not self._there(arrival) and time.monotonic() < end:
            if not (self.inline or at_once):
                self._arrivals.append(arrival)
                return arrival
            self.store.wait(WAIT)
            self.pump(50.0)
        return None

    def _there(self, arrival: Arrival) -> bool:
        """Whether no resident node of those waits for attributes any more."""
        here = (id for id in arrival.nodes if id in self.resident)
        return not self.store.pending or not any(self._lacks(id) for id in here)

    def _look(self) -> None:
        """Cut again where the view, the budget, a tree or the attributes in use changed."""
        state = self.shown
        clouds = [
            cloud
            for entry in state.clouds
            if entry.visible and (cloud := self.store.clouds.get(entry.id)) is not None
        ]
        for cloud in clouds:
            self._notice(cloud)
        asked = self._in_use(state)
        trees = tuple((c.id, c.tree, c.hierarchy) for c in clouds)
        seen = (state.camera, state.viewport, state.budget, trees, asked)
        if _same(seen, self._seen):
            return
        self._seen, self._asked = seen, asked
        hierarchies = [cloud.hierarchy for cloud in clouds]
        chosen = cut(hierarchies, self._view_params(state), state.budget)
        self._wanted = dict(_interleaved(clouds, hierarchies, chosen))
        tree = {cloud.id: cloud.tree for cloud in clouds}
        resident = self.resident
        # nodes of a tree that was replaced stay until the first of the new one is here
        resident.drop(
            [
                id
                for id in resident.ids()
                if id.cloud not in tree
                or (resident.tree_of(id) == tree[id.cloud] and id not in self._wanted)
            ]
        )
        self.store.request(
            [
                id
                for id in self._wanted
                if id not in self.failed
                and (
                    id not in resident or resident.tree_of(id) != tree[id.cloud] or self._lacks(id)
                )
            ],
            asked,
        )

    def _take(self, arrived: Sequence[NodePoints | NodeFailed]) -> bool:
        for item in arrived:
            cloud = self.store.clouds.get(item.id.cloud)
            if cloud is None or item.id not in self._wanted:
                continue
            if isinstance(item, NodeFailed):
                self.failed[item.id] = item.reason
                self.message.emit(
                    "warning", f"A part of {cloud.info.name} is left out: {item.reason}"
                )
                continue
            self.resident.drop_other_trees(cloud.id, cloud.tree)
            self.resident.put(item, self._wanted[item.id], cloud.tree)
        return bool(arrived)

    def _notice(self, cloud: Cloud) -> None:
        """Tell once of what changed in a cloud; a replaced tree forgives its failures."""
        facts = (cloud.state, cloud.progress, cloud.stage, cloud.tree, cloud.hierarchy, cloud.info)
        before = self._facts.get(cloud.id)
        if before is not None and all(
            a is b or (i < 4 and a == b) for i, (a, b) in enumerate(zip(facts, before, strict=True))
        ):
            return
        self._facts[cloud.id] = facts
        if before is not None and before[3] != cloud.tree:
            self.failed = {n: why for n, why in self.failed.items() if n.cloud != cloud.id}
        if before is None or before[5] is not cloud.info:
            self._widen()
        self.cloud_changed.emit(cloud.id)

    def _tell(self) -> None:
        if self._told != self.resident.version:
            self._told = self.resident.version
            self.resident_changed.emit()

    def _lacks(self, id: NodeId) -> bool:
        cloud = self.store.clouds.get(id.cloud)
        if cloud is None:
            return False
        return not (self._asked & cloud.names) <= set(self.resident.attributes_of(id))

    def _in_use(self, state: SceneState) -> frozenset[str]:
        used = attributes.ALWAYS | attributes.of_display(state.display) | self._extra
        used |= self.program(state).attributes
        if state.selection.rule is not None:
            used |= attributes_of(state.selection.rule)
        return used

    # --- the state's points ------------------------------------------------------------

    def program(self, state: SceneState) -> EditProgram:
        """The edits of a state: the shown one's, or one that may become the next."""
        if state.events is self._program.events:
            return self._program
        if self._ahead is not None and state.events is self._ahead.events:
            return self._ahead
        base = self._program
        if base.continues(state.events):
            ahead = base.fork()
            ahead.extend(state.events)
        else:
            ahead = EditProgram(state.events, base.within)
        self._ahead = ahead
        return ahead

    def tally(self, state: SceneState | None = None) -> Tally:
        """Visible resident points of a state's selection, by class; None: of the shown state."""
        state = self.shown if state is None else state
        return self.resident.tally(state, self.program(state))

    def extent(self, state: SceneState | None = None) -> Bounds | None:
        """World bounds of what `tally` counts."""
        state = self.shown if state is None else state
        return self.resident.extent(state, self.program(state))

    def _follow(self) -> None:
        """Bring the resident nodes to the state shown."""
        state = self.shown
        if self._live is None:
            if self._program.continues(state.events):
                self._program.extend(state.events)
            elif self._program.events is not state.events:
                self._program = EditProgram(state.events, self._program.within)
            self._ahead = None
        self.resident.show(state, self.program(state), self._live is None)
        self._tell()

    def _widen(self) -> None:
        """The box of all points there are grew: lassos of the log get their boxes from it."""
        boxes = [self.cloud_bounds(id) for id in self.store.clouds]
        box = union([b for b in boxes if b is not None])
        within = self._program.within
        if box is None or (within is not None and union((box, within)) == within):
            return
        joined = union((box, within))
        assert joined is not None
        self._program, self._ahead = self._program.widened(joined), None
        self.resident.show(self.shown, self.program(self.shown), self._live is None)

    # --- the view ----------------------------------------------------------------------

    def lens(self, state: SceneState | None = None) -> Matrices:
        """The matrices of a state's camera over its viewport."""
        state = self.shown if state is None else state
        return matrices(state.camera, state.viewport, self.bounds(state), self.scale(state))

    def ground(self) -> Ground:
        """What gestures act over, for `oniyanma.scene.navigation`."""
        return Ground(self.shown.viewport, self.bounds(), self.scale())

    def bounds(self, state: SceneState | None = None) -> Bounds | None:
        """World bounds of the visible clouds; None with no points."""
        state = self.shown if state is None else state
        ids = tuple(entry.id for entry in state.clouds if entry.visible)
        known = tuple(id(cloud.info) for i in ids if (cloud := self.cloud(i)) is not None)
        key = (ids, known, self.resident.arrivals)
        if self._bounds is None or self._bounds[0] != key:
            self._bounds = key, union(self.cloud_bounds(id) for id in ids)
        return self._bounds[1]

    def cloud_bounds(self, id: str) -> Bounds | None:
        """World bounds of a cloud: those its header gives, widened by the points that are here.

        A header that is empty or lies elsewhere than its points is not believed.
        """
        cloud = self.store.clouds.get(id)
        if cloud is None:
            return None
        return union((header_bounds(cloud), self.resident.bounds(id)))

    def scale(self, state: SceneState | None = None) -> Vec3:
        """The display scale: of the first visible cloud's CRS."""
        state = self.shown if state is None else state
        for entry in state.clouds:
            cloud = self.store.clouds.get(entry.id)
            if entry.visible and cloud is not None:
                info = cloud.info
                if info.bounds_min is not None and info.bounds_max is not None:
                    return display_scale(info.crs, (info.bounds_min, info.bounds_max))
        return 1.0, 1.0, 1.0

    def color_range(self, id: str) -> tuple[float, float]:
        """The range in force for a cloud's colour mode: by hand, or resident 2–98 %."""
        display = self.shown.display
        mode = display.cloud_colors.get(id, display.color)
        info = self.cloud_info(id)
        if mode.mode == "rgb" and info.color_depth is None:
            mode = replace(mode, mode="elevation", range=None)
        if mode.range is not None:
            return mode.range
        names = attributes.of_mode(mode.mode)
        key = (id, mode.mode, self.resident.arrivals)
        found = self._ranges.get(key)
        if found is None:
            if len(self._ranges) > 32:
                self._ranges.clear()
            found = self._percentiles(id, names, mode.mode == "elevation")
            self._ranges[key] = found
        return found

    def pick(self, px: float, py: float, reach: float = picking.REACH) -> picking.Pick | None:
        """The visible point under a logical pixel."""
        state = self.shown
        held = self.resident.held({c.id for c in state.clouds if c.visible})
        return picking.pick(
            held, self.lens(), px, py, hidden_classes=state.hidden_classes, reach=reach
        )

    def nearest(self, place: Vec3, radius: float = np.inf) -> picking.Pick | None:
        """The visible point nearest to a world place."""
        state = self.shown
        held = self.resident.held({c.id for c in state.clouds if c.visible})
        return picking.nearest(held, place, radius=radius, hidden_classes=state.hidden_classes)

    def resident_json(self) -> dict[str, int]:
        """What is resident, as getView answers: points, nodes, nodes on their way, bytes."""
        nodes = self.view.resident()
        arrays: list[np.ndarray[Any, Any]] = []
        for node in nodes:
            arrays += (node.xyz, node.flags, node.classification, *node.attributes.values())
        return {
            "points": sum(len(node.xyz) for node in nodes),
            "nodes": len(nodes),
            "pending": self.store.pending,
            "bytes": sum(int(array.nbytes) for array in arrays),
        }

    def _percentiles(self, id: str, names: tuple[str, ...], elevation: bool) -> tuple[float, float]:
        if not names and not elevation:
            return 0.0, 1.0
        values = self.resident.values(id, None if elevation else names[0])
        if not len(values):
            info = self.cloud_info(id)
            if elevation and info.bounds_min is not None and info.bounds_max is not None:
                return info.bounds_min[2], info.bounds_max[2]
            return 0.0, 1.0
        low, high = np.percentile(values, PERCENTILES).tolist()
        return float(low), float(high)

    def _view_params(self, state: SceneState) -> ViewParams:
        lens = self.lens(state)
        return ViewParams(lens.world, as_vec3(lens.eye), lens.viewport, lens.perspective)


class _View:
    """A scene as renderers and panels read it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    @property
    def state(self) -> SceneState:
        return self._scene.shown

    @property
    def resident_version(self) -> int:
        return self._scene.resident.version

    def resident(self) -> Sequence[ResidentNode]:
        clouds = {c.id for c in self._scene.shown.clouds if c.visible}
        return [held.node for held in self._scene.resident.held(clouds)]

    def cloud_info(self, cloud: str) -> CloudInfo:
        return self._scene.cloud_info(cloud)

    def color_range(self, cloud: str) -> tuple[float, float]:
        return self._scene.color_range(cloud)

    def scene_bounds(self) -> Bounds | None:
        return self._scene.bounds()

    def display_scale(self) -> Vec3:
        return self._scene.scale()


def _interleaved(
    clouds: Sequence[Cloud], trees: Sequence[Hierarchy], chosen: Sequence[Any]
) -> list[tuple[NodeId, float]]:
    """Wanted nodes of all clouds with their spacing, most important first, clouds by turns."""
    ranked = [
        (rank, which, int(index))
        for which, indices in enumerate(chosen)
        for rank, index in enumerate(indices)
    ]
    ranked.sort()
    return [
        (
            NodeId(clouds[which].id, NodeKey(*(int(v) for v in trees[which].keys[index]))),
            float(trees[which].spacing[index]),
        )
        for _, which, index in ranked
    ]


def _same(a: Any, b: Any) -> bool:
    """Whether two looks at the view are one; trees are told apart by identity."""
    if b is None or a[:3] != b[:3] or a[4] != b[4] or len(a[3]) != len(b[3]):
        return False
    return all(
        x[0] == y[0] and x[1] == y[1] and x[2] is y[2] for x, y in zip(a[3], b[3], strict=True)
    )
