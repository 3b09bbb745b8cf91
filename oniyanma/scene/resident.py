"""The resident nodes, with what the edits, the clip and the selection make of their points.

Everything here is derived from the state and the nodes that came; nothing is kept in it that
they do not say. Work is done node by node and only where something changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import CloudInfo, NodeId, NodePoints, Vec3
from oniyanma.rules.block import Floats, Mask
from oniyanma.rules.evaluate import Decision, classify_boxes, decide, decide_clip
from oniyanma.rules.model import Clip, Rule
from oniyanma.scene.camera import as_vec3, union
from oniyanma.scene.edits import BlockState, block_of
from oniyanma.scene.ports import CLIPPED, DELETED, HIDDEN, SELECTED, ResidentNode
from oniyanma.scene.program import EditProgram
from oniyanma.scene.state import SceneState

_KEPT = 4  # decided selections remembered per node: the one shown, and those being made


@dataclass(frozen=True, eq=False)
class Tally:
    """What is visible of a selection among the resident points; ``classes`` int64 (256,)."""

    points: int
    classes: npt.NDArray[np.int64]

    def by_class(self) -> dict[int, int]:
        return {int(c): int(self.classes[c]) for c in np.flatnonzero(self.classes)}


@dataclass(eq=False)
class Held:
    """A resident node and what it takes to keep it current."""

    node: ResidentNode
    block: BlockState  # at the committed log
    tree: int  # which of its cloud's trees it is of
    order: int
    live: BlockState | None = None  # at the log of a running gesture
    decided: list[tuple[Rule, Decision]] = field(default_factory=list)
    clip: Clip | None = None
    passed: Decision = True
    shown: tuple[Any, ...] = ()
    counted: tuple[Any, ...] = ()
    counts: npt.NDArray[np.int64] | None = None


class _Sides:
    """What the boxes of all nodes say of a shape, worked out for all at once when first asked."""

    def __init__(self, held: list[Held]) -> None:
        self._held = held
        self._boxes: Floats | None = None
        self._known: list[tuple[Any, npt.NDArray[np.uint8]]] = []

    def of(self, row: int, shape: Any) -> int | None:
        for known, sides in self._known:
            if known is shape:
                return int(sides[row])
        if self._boxes is None:
            empty = np.zeros((2, 3))
            boxes = [h.block.points.bounds if h.block.n else empty for h in self._held]
            self._boxes = np.array(boxes)
        sides = classify_boxes(shape, self._boxes[:, 0], self._boxes[:, 1])
        self._known.append((shape, sides))
        return int(sides[row])


class ResidentSet:
    """Nodes by id. ``version`` grows whenever one comes, goes or changes."""

    def __init__(self, info_of: Callable[[str], CloudInfo]) -> None:
        self._info_of = info_of
        self._held: dict[NodeId, Held] = {}
        self._state = SceneState()
        self._program = EditProgram()
        self._committed = True
        self._sorted: list[Held] | None = None
        self._came = 0
        self._trees: dict[str, int] = {}
        self._boxes: dict[str, tuple[Vec3, Vec3] | None] = {}
        self.version = 0
        self.arrivals = 0  # grows when a node comes or goes, not when it changes

    # --- coming and going --------------------------------------------------------------

    def __contains__(self, id: NodeId) -> bool:
        return id in self._held

    def __len__(self) -> int:
        return len(self._held)

    def put(self, points: NodePoints, spacing: float, tree: int = 0) -> None:
        """Take in a decoded node, with all edits and the selection as they are shown."""
        block = BlockState(
            block_of(points.id.cloud, self._info_of(points.id.cloud), points.xyz, points.attributes)
        )
        before = self._held.get(points.id)
        node = ResidentNode(
            id=points.id,
            xyz=points.xyz,
            attributes=points.attributes,
            flags=block.flags,
            classification=block.classification,
            paint=None,
            spacing=spacing,
            version=before.node.version + 1 if before is not None else 0,
        )
        self._came += 1
        held = Held(node, block, tree, self._came)
        block.points.known = held.decided
        self._held[points.id] = held
        self._trees[points.id.cloud] = tree
        if block.n and points.id.cloud in self._boxes:
            low, high = block.points.bounds
            box = (as_vec3(low), as_vec3(high))
            self._boxes[points.id.cloud] = union((self._boxes[points.id.cloud], box))
        self._sorted = None
        self.arrivals += 1
        self._refresh(held)
        self.version += 1

    def drop(self, ids: Collection[NodeId]) -> None:
        for id in ids:
            if self._held.pop(id, None) is not None:
                self._boxes.pop(id.cloud, None)
                self._sorted = None
                self.version += 1
                self.arrivals += 1

    def drop_other_trees(self, cloud: str, tree: int) -> None:
        """Let go of nodes of a tree that was replaced by another."""
        if self._trees.get(cloud, tree) != tree:
            self.drop([id for id, h in self._held.items() if id.cloud == cloud and h.tree != tree])

    def ids(self) -> list[NodeId]:
        return list(self._held)

    def tree_of(self, id: NodeId) -> int:
        return self._held[id].tree

    def attributes_of(self, id: NodeId) -> Collection[str]:
        return self._held[id].node.attributes.keys()

    def held(self, clouds: Collection[str] | None = None) -> list[Held]:
        """Nodes, coarse first, of some clouds or of all."""
        if self._sorted is None:
            self._sorted = sorted(self._held.values(), key=lambda h: (h.node.id.key[0], h.order))
        if clouds is None:
            return self._sorted
        return [h for h in self._sorted if h.node.id.cloud in clouds]

    def bounds(self, cloud: str) -> tuple[Vec3, Vec3] | None:
        """World bounds of a cloud's resident points."""
        if cloud not in self._boxes:
            self._boxes[cloud] = union(
                (as_vec3(h.block.points.bounds[0]), as_vec3(h.block.points.bounds[1]))
                for h in self._held.values()
                if h.node.id.cloud == cloud and h.block.n
            )
        return self._boxes[cloud]

    # --- following the state -----------------------------------------------------------

    def show(self, state: SceneState, program: EditProgram, committed: bool = True) -> None:
        """Bring every node to a state; ``committed`` False: to that of a running gesture."""
        self._state, self._program, self._committed = state, program, committed
        changed = False
        sides = _Sides(list(self._held.values()))
        for row, held in enumerate(self._held.values()):
            side = partial(sides.of, row)
            held.block.points.side = side
            if held.live is not None:
                held.live.points.side = side
            changed |= self._refresh(held)
            held.block.points.side = None
            if held.live is not None:
                held.live.points.side = None
        if changed:
            self.version += 1

    def _refresh(self, held: Held) -> bool:
        state = self._state
        if self._committed:
            held.live = None
        block = self._block_at(held, self._program, self._committed)
        rule, clip = state.selection.rule, state.clip
        selected = False if rule is None else _decided(held, block, rule)
        if clip is not held.clip:
            held.clip, held.passed = clip, decide_clip(clip, block.points)
        shown = (block.flags, block.classification, block.paint, selected, held.passed)
        if len(held.shown) == 5 and all(a is b for a, b in zip(shown, held.shown, strict=True)):
            return False
        held.shown = shown
        flags = block.flags
        if held.passed is not True:
            clipped = (
                np.uint8(CLIPPED) if held.passed is False else ~held.passed * np.uint8(CLIPPED)
            )
            flags = flags | clipped
        if selected is not False:
            chosen = np.uint8(SELECTED) if selected is True else selected * np.uint8(SELECTED)
            flags = flags | chosen
        node = held.node
        same = (
            np.array_equal(flags, node.flags)
            and (block.classification is node.classification)
            and (block.paint is node.paint)
        )
        if same:
            return False
        node.flags, node.classification, node.paint = flags, block.classification, block.paint
        node.version += 1
        return True

    def _block_at(self, held: Held, program: EditProgram, committed: bool) -> BlockState:
        """The node's points at a program's log; only a committed one is kept for good."""
        block = held.block
        if block.events is program.events:
            return block
        if committed:
            if not block.continues(program):
                block = _fresh(held)
            block.advance(program)
            held.block = block
            return block
        ahead = held.live
        if ahead is None or not ahead.continues(program):
            ahead = block.fork() if block.continues(program) else _fresh(held)
            ahead.points.known = held.decided
        ahead.advance(program)
        held.live = ahead
        return ahead

    # --- counting ----------------------------------------------------------------------

    def tally(self, state: SceneState, program: EditProgram) -> Tally:
        """How many resident points of the selection are visible in a state, by class.

        Also for a state that is not shown: what a command would lead to.
        """
        classes = np.zeros(256, np.int64)
        for held in self._of(state):
            key = (state.selection.rule, state.clip, state.hidden_classes, program.events)
            if len(held.counted) == 4 and all(
                a is b for a, b in zip(key, held.counted, strict=True)
            ):
                assert held.counts is not None
                classes += held.counts
                continue
            block, mask = self._visible(held, state, program)
            if mask is False:
                held.counts = np.zeros(256, np.int64)
            else:
                hit = block.classification if mask is True else block.classification[mask]
                held.counts = np.bincount(hit, minlength=256)
            held.counted = key
            classes += held.counts
        return Tally(int(classes.sum()), classes)

    def extent(self, state: SceneState, program: EditProgram) -> tuple[Vec3, Vec3] | None:
        """World bounds of the visible resident points of the selection."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for held in self._of(state):
            block, mask = self._visible(held, state, program)
            if mask is False:
                continue
            if mask is True:
                a, b = block.points.bounds
            elif mask.any():
                a, b = block.points.take(np.flatnonzero(mask)).bounds
            else:
                continue
            low, high = np.minimum(low, a), np.maximum(high, b)
        if not np.isfinite(low).all():
            return None
        return as_vec3(low), as_vec3(high)

    def visible(self) -> Iterator[tuple[ResidentNode, Decision]]:
        """Nodes of visible clouds as shown, and which of their points one can see."""
        state = self._state
        shown = _shown_classes(state)
        for held in self._of(state):
            node = held.node
            mask: Decision = True
            removed = node.flags & np.uint8(HIDDEN | DELETED | CLIPPED)
            if removed.any():
                mask = removed == 0
            if shown is not None:
                seen = shown[node.classification]
                mask = seen if mask is True else mask & seen
            yield node, mask

    def _of(self, state: SceneState) -> list[Held]:
        return self.held({cloud.id for cloud in state.clouds if cloud.visible})

    def _visible(
        self, held: Held, state: SceneState, program: EditProgram
    ) -> tuple[BlockState, Decision]:
        block = held.block
        if block.events is not program.events:
            if held.live is not None and held.live.events is program.events:
                block = held.live
            else:
                block = block.fork() if block.continues(program) else _fresh(held)
                block.points.known = held.decided
                block.advance(program)
        rule = state.selection.rule
        mask = False if rule is None else _decided(held, block, rule)
        if mask is False or not block.n:
            return block, False
        clip = state.clip
        passed = held.passed if clip is held.clip else decide_clip(clip, block.points)
        mask = _and(mask, passed)
        if mask is not False and block.flags.any():
            mask = _and(mask, block.flags == 0)
        shown = _shown_classes(state)
        if mask is not False and shown is not None:
            mask = _and(mask, shown[block.classification])
        return block, mask

    # --- values ------------------------------------------------------------------------

    def values(self, cloud: str, name: str | None, most: int = 250_000) -> Floats:
        """Real values of an attribute (None: heights) of a cloud's resident points, edits or
        not; of more than ``most`` a fair sample of about as many."""
        nodes = [h for h in self._held.values() if h.node.id.cloud == cloud and h.block.n]
        total = sum(h.block.n for h in nodes)
        share = min(1.0, most / total) if total else 1.0
        parts: list[Floats] = []
        for held in nodes:
            count = held.block.n if share == 1.0 else max(1, int(held.block.n * share))
            points = held.block.points
            if name is None:
                parts.append(points.axis(2, slice(0, count)))
                continue
            some = points if count == held.block.n else points.take(np.arange(count))
            found = some.value(name)
            if found is not None:
                values, valid = found
                parts.append(values if valid is None else values[valid])
        return np.concatenate(parts) if parts else np.zeros(0)


def _decided(held: Held, block: BlockState, rule: Rule) -> Decision:
    for known, decision in held.decided:
        if known is rule:
            return decision
    decision = decide(rule, block.points)
    held.decided.append((rule, decision))
    if len(held.decided) > _KEPT:
        del held.decided[0]
    return decision


def _fresh(held: Held) -> BlockState:
    """The node's points as the file has them."""
    block = held.block.fork()
    fresh = BlockState(block.points)
    fresh.points.known = held.decided
    return fresh


def _shown_classes(state: SceneState) -> Mask | None:
    if not state.hidden_classes:
        return None
    shown = np.ones(256, np.bool_)
    shown[list(state.hidden_classes)] = False
    return shown


def _and(a: Decision, b: Decision) -> Decision:
    if a is False or b is False:
        return False
    if a is True:
        return b
    return a if b is True else a & b
