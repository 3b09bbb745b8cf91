"""The arena: GPU buffers allocated once, in which each node owns a run of points.

A page is a set of buffers of a fixed size; the first is made for the point budget, others only
when it grows. Nothing is ever resized or moved: a node that is no longer resident keeps its slot
until somebody else needs the room, the least recently drawn going first. Which data a slot holds
is told by the identity of the node's arrays, which are replaced and never written to.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import CloudInfo, NodeId
from oniyanma.render import gl, pack
from oniyanma.render.detail import Details
from oniyanma.render.pack import Channel
from oniyanma.scene.ports import ResidentNode

SPARE = 1.25  # of the budget: room for nodes that just went out of view
MAX_PAGE = 8_000_000  # points

Identity = tuple[Any, ...]
Extents = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int32]


class FreeList:
    """Free runs of ``0 … capacity``: first fit, neighbours joined when they come back."""

    def __init__(self, capacity: int) -> None:
        self._runs = [(0, capacity)] if capacity else []
        self.free = capacity

    def take(self, count: int) -> int | None:
        """The first of ``count`` free places in a row, or None."""
        for i, (first, length) in enumerate(self._runs):
            if length >= count:
                if length == count:
                    del self._runs[i]
                else:
                    self._runs[i] = (first + count, length - count)
                self.free -= count
                return first
        return None

    def give(self, first: int, count: int) -> None:
        """Give back a run that was taken."""
        self.free += count
        i = bisect_left(self._runs, (first, 0))
        if i < len(self._runs) and self._runs[i][0] == first + count:
            count += self._runs[i][1]
            del self._runs[i]
        if i and sum(self._runs[i - 1]) == first:
            first, before = self._runs[i - 1][0], self._runs[i - 1][1]
            self._runs[i - 1] = (first, before + count)
        else:
            insort(self._runs, (first, count))


class Page:
    """Buffers for ``capacity`` points: places, colours, states."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.runs = FreeList(capacity)
        self.place = gl.Buffer(capacity * pack.PLACE)
        self.color = gl.Buffer(capacity * pack.COLOR)
        self.state = gl.Buffer(capacity * pack.STATE)

    def bind(self) -> None:
        """Feed the attributes of `points.vert`, in the order of `ATTRIBUTES`."""
        for axis in range(3):
            self.place.attribute(axis, 2, gl.UNSIGNED_SHORT, pack.PLACE, axis * 4, False)
        self.color.attribute(3, 4, gl.UNSIGNED_BYTE, pack.COLOR, 0, False)
        self.state.attribute(4, 4, gl.UNSIGNED_BYTE, pack.STATE, 0, False)

    def delete(self) -> None:
        for buffer in (self.place, self.color, self.state):
            buffer.delete()


ATTRIBUTES = ("a_x", "a_y", "a_z", "a_color", "a_state")


@dataclass(eq=False)
class Slot:
    """Where a node lies and which arrays it was filled from."""

    node: NodeId
    page: int
    first: int
    count: int
    place: Identity
    color: Identity
    state: Identity
    packed: npt.NDArray[np.uint8]  # the states as they are on the GPU: flags, class, scalar
    box: tuple[float, ...]  # world extent of its points: lowest x, y, z, highest x, y, z
    spacing: float  # of its own level
    drawn: int = 0  # when it was last
    stamp: int = 0  # grows with every write to it
    seen: Any = None  # the node, its version and the scalar it was last compared with


@dataclass(frozen=True)
class Runs:
    """Of nodes: first points and numbers of points (n,), and whose cloud and page they are in."""

    firsts: Counts
    counts: Counts
    owner: Counts  # a place in ``owners``
    owners: tuple[tuple[str, int], ...]  # cloud, page


def _identity(*parts: Any) -> Identity:
    """A key that is equal only for the very same arrays (kept weakly) and equal other values."""
    return tuple(weakref.ref(p) if isinstance(p, np.ndarray) else p for p in parts)


def _same(kept: Identity, now: Sequence[Any]) -> bool:
    for old, new in zip(kept, now, strict=True):
        if isinstance(old, weakref.ref):
            if old() is not new:
                return False
        elif isinstance(new, np.ndarray) or old != new:
            return False
    return True


def _same_node(seen: Any, node: ResidentNode, scalar: Channel) -> bool:
    return seen is not None and seen[0]() is node and seen[1] == node.version and seen[2] == scalar


@dataclass(frozen=True)
class Synced:
    """What a `sync` did: bytes sent, nodes that still wait for their turn."""

    bytes: int
    waiting: int


class Arena:
    """All points on the GPU, of all clouds."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self._slots: dict[NodeId, Slot] = {}
        self._clock = 0
        self._reference: dict[str, float] = {}
        self._details = Details()
        self._stale: dict[NodeId, None] = {}  # levels around their points to be sent again
        self.drawable: list[Slot] = []
        self._extents: tuple[Extents, Extents] | None = None
        self._runs: Runs | None = None

    def reference(self, cloud: str) -> float:
        """The spacing of level 0 of a cloud."""
        return self._reference.get(cloud, 0.0)

    def sync(
        self,
        nodes: Sequence[ResidentNode],
        info: Callable[[str], CloudInfo],
        channel: Callable[[str], Channel],
        *,
        budget_points: int,
        max_bytes: int | None,
    ) -> Synced:
        """Bring the arena to the resident nodes, coarse first.

        New nodes are sent while ``max_bytes`` last (at least one; None: all). Nodes that are
        here and changed (flags, class, paint, another scalar) are all sent at once, so that an
        edit is never half seen.
        """
        self._clock += 1
        sent = waiting = 0
        drawable: list[Slot] = []
        by_id: dict[NodeId, ResidentNode] = {}
        fresh = False
        for node in nodes:
            if not len(node.xyz):
                continue
            slot = self._slots.get(node.id)
            if slot is not None and not _same(slot.place, (node.xyz,)):
                self._drop(slot)
                slot = None
            if slot is None:
                if max_bytes is not None and sent and sent >= max_bytes:
                    waiting += 1
                    continue
                slot = self._place(node, info(node.id.cloud), budget_points)
                sent += pack.PLACE * slot.count
                fresh = True
            scalar = channel(node.id.cloud)
            if not _same_node(slot.seen, node, scalar):
                sent += self._update(slot, node, info(node.id.cloud), scalar)
            slot.drawn = self._clock
            drawable.append(slot)
            by_id[node.id] = node
        if fresh or len(drawable) != len(self.drawable) or drawable != self.drawable:
            self.drawable = drawable
            self._extents = self._runs = None
            for changed in self._details.refresh(by_id):
                self._stale[changed] = None
        for stale in list(self._stale):
            if max_bytes is not None and sent >= max_bytes:
                break
            del self._stale[stale]
            if stale in by_id:
                slot = self._slots[stale]
                slot.color = (object(),) * len(slot.color)
                sent += self._update(slot, by_id[stale], info(stale.cloud), channel(stale.cloud))
        return Synced(sent, waiting + len(self._stale))

    def _update(self, slot: Slot, node: ResidentNode, info: CloudInfo, scalar: Channel) -> int:
        """Send what is not on the GPU yet of a node's colours and states; bytes sent."""
        attributes = node.attributes
        color: tuple[Any, ...] = (
            *(attributes.get(name) for name in ("red", "green", "blue", "return_number")),
            node.paint,
            info.color_depth,
        )
        state: tuple[Any, ...] = (
            node.flags,
            node.classification,
            node.paint,
            attributes.get(scalar.name),
            scalar,
        )
        page = self.pages[slot.page]
        sent = 0
        if not _same(slot.color, color):
            levels = self._details.levels(node.id)
            page.color.write(slot.first * pack.COLOR, pack.colors(node, info, levels))
            slot.color = _identity(*color)
            sent += pack.COLOR * slot.count
        if not _same(slot.state, state):
            self._pack_state(slot, node, info, scalar, state)
            page.state.write(slot.first * pack.STATE, slot.packed)
            slot.state = _identity(*state)
            sent += pack.STATE * slot.count
        slot.stamp += bool(sent)
        slot.seen = (weakref.ref(node), node.version, scalar)
        return sent

    def extents(self) -> tuple[Extents, Extents]:
        """World boxes (n, 6) and spacings (n,) of the drawable nodes, in their order."""
        if self._extents is None:
            boxes = np.array([s.box for s in self.drawable], np.float64).reshape(-1, 6)
            self._extents = boxes, np.array([s.spacing for s in self.drawable], np.float64)
        return self._extents

    def runs(self) -> Runs:
        """Where the points of the drawable nodes lie, in their order."""
        if self._runs is None:
            owners: dict[tuple[str, int], int] = {}
            owner = [owners.setdefault((s.node.cloud, s.page), len(owners)) for s in self.drawable]
            self._runs = Runs(
                np.array([s.first for s in self.drawable], np.int32),
                np.array([s.count for s in self.drawable], np.int32),
                np.array(owner, np.int32),
                tuple(owners),
            )
        return self._runs

    def bytes(self) -> int:
        """Bytes of GPU memory set aside."""
        return sum(page.capacity for page in self.pages) * pack.BYTES_A_POINT

    def delete(self) -> None:
        """Free the buffers; the context that made them is current."""
        for page in self.pages:
            page.delete()

    def _pack_state(
        self,
        slot: Slot,
        node: ResidentNode,
        info: CloudInfo,
        scalar: Channel,
        state: tuple[Any, ...],
    ) -> None:
        """Bring ``slot.packed`` up to date, touching only what is not the same as it was."""
        flags, classes, paint, attribute, _ = slot.state
        if not _same((flags, paint), (node.flags, node.paint)):
            slot.packed[:, 0] = pack.flags(node)
        if not _same((classes,), (node.classification,)):
            slot.packed[:, 1] = node.classification
        if not _same((attribute, slot.state[4]), state[3:]):
            slot.packed.view("<u2")[:, 1] = pack.scalars(node.attributes, info, scalar)

    def _place(self, node: ResidentNode, info: CloudInfo, budget_points: int) -> Slot:
        """A slot for a node that has none, with its places sent."""
        count = len(node.xyz)
        page, first = self._take(count, budget_points)
        self.pages[page].place.write(first * pack.PLACE, pack.places(node.xyz))
        reference = self._reference.setdefault(node.id.cloud, node.spacing * 2.0**node.id.key.depth)
        level = pack.level(node.spacing, reference)
        low, high = self._details.add(node.id, node.xyz, level)
        scale, offset = np.array(info.scale), np.array(info.offset)
        blank = object()
        slot = self._slots[node.id] = Slot(
            node=node.id,
            page=page,
            first=first,
            count=count,
            place=_identity(node.xyz),
            color=(blank,) * 6,
            state=(blank,) * 5,
            packed=np.zeros((count, 4), np.uint8),
            box=(*(low * scale + offset).tolist(), *(high * scale + offset).tolist()),
            spacing=reference / 2.0**level,
        )
        return slot

    def _take(self, count: int, budget_points: int) -> tuple[int, int]:
        """Room for ``count`` points: free, else from slots not drawn lately, else a new page."""
        for number, page in enumerate(self.pages):
            first = page.runs.take(count)
            if first is not None:
                return number, first
        for slot in self._idle():
            self._drop(slot)
            first = self.pages[slot.page].runs.take(count)
            if first is not None:
                return slot.page, first
        held = sum(page.capacity for page in self.pages)
        wanted = int(budget_points * SPARE) - held
        self.pages.append(Page(max(count, min(max(wanted, 1_000_000), MAX_PAGE))))
        first = self.pages[-1].runs.take(count)
        assert first is not None
        return len(self.pages) - 1, first

    def _idle(self) -> list[Slot]:
        """Slots not drawn in this frame or the one before, the longest unused first."""
        return sorted(
            (s for s in self._slots.values() if s.drawn < self._clock - 1), key=lambda s: s.drawn
        )

    def _drop(self, slot: Slot) -> None:
        del self._slots[slot.node]
        self._details.drop(slot.node)
        self._stale.pop(slot.node, None)
        self.pages[slot.page].runs.give(slot.first, slot.count)
