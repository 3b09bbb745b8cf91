"""The arena: GPU buffers allocated once, in which each node owns a run of points.

A page is a set of buffers of a fixed size; the first is made for the point budget, others only
when it grows. Nothing is ever resized or moved: a node that is no longer resident keeps its slot
until somebody else needs the room, the least recently drawn going first. Which data a slot holds
is told by the identity of the node's arrays, which are replaced and never written to.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import CloudInfo, NodeId
from oniyanma.render import gl, pack
from oniyanma.render.pack import Channel
from oniyanma.scene.ports import ResidentNode

SPARE = 1.25  # of the budget: room for nodes that just went out of view
MAX_PAGE = 8_000_000  # points

Identity = tuple[Any, ...]


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
    drawn: int = 0


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


@dataclass(frozen=True)
class Batch:
    """One draw: the runs of one cloud in one page."""

    cloud: str
    page: int
    firsts: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]


@dataclass(frozen=True)
class Synced:
    """What a `sync` did: bytes sent, nodes still waiting for their turn."""

    bytes: int
    waiting: int


class Arena:
    """All points on the GPU, of all clouds."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self._slots: dict[NodeId, Slot] = {}
        self._clock = 0
        self._reference: dict[str, float] = {}
        self.drawable: list[Slot] = []
        self._batches: list[Batch] | None = None

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
        for node in nodes:
            if not len(node.xyz):
                continue
            cloud = node.id.cloud
            known = info(cloud)
            reference = self._reference.setdefault(cloud, node.spacing * 2.0**node.id.key.depth)
            detail = pack.level(node.spacing, reference)
            attributes = node.attributes
            scalar = channel(cloud)
            color: tuple[Any, ...] = (
                *(attributes.get(k) for k in ("red", "green", "blue", "return_number")),
                node.paint,
                detail,
                known.color_depth,
            )
            state: tuple[Any, ...] = (
                node.flags,
                node.classification,
                node.paint,
                attributes.get(scalar.name),
                scalar,
            )
            slot = self._slots.get(node.id)
            if slot is not None and not _same(slot.place, (node.xyz,)):
                self._drop(slot)
                slot = None
            if slot is None:
                if max_bytes is not None and sent and sent >= max_bytes:
                    waiting += 1
                    continue
                slot = self._place(node, budget_points)
                self.pages[slot.page].place.write(slot.first * pack.PLACE, pack.places(node.xyz))
                sent += pack.PLACE * slot.count
            page = self.pages[slot.page]
            if not _same(slot.color, color):
                page.color.write(slot.first * pack.COLOR, pack.colors(node, known, detail))
                slot.color = _identity(*color)
                sent += pack.COLOR * slot.count
            if not _same(slot.state, state):
                page.state.write(slot.first * pack.STATE, pack.states(node, known, scalar))
                slot.state = _identity(*state)
                sent += pack.STATE * slot.count
            slot.drawn = self._clock
            drawable.append(slot)
        if drawable != self.drawable:
            self.drawable = drawable
            self._batches = None
        return Synced(sent, waiting)

    def batches(self) -> list[Batch]:
        """The draws of all drawable nodes, whole."""
        if self._batches is None:
            groups: dict[tuple[str, int], list[Slot]] = {}
            for slot in self.drawable:
                groups.setdefault((slot.node.cloud, slot.page), []).append(slot)
            self._batches = [
                Batch(
                    cloud,
                    page,
                    np.array([s.first for s in slots], np.int32),
                    np.array([s.count for s in slots], np.int32),
                )
                for (cloud, page), slots in groups.items()
            ]
        return self._batches

    def bytes(self) -> int:
        """Bytes of GPU memory set aside."""
        return sum(page.capacity for page in self.pages) * pack.BYTES_A_POINT

    def delete(self) -> None:
        """Free the buffers; the context that made them is current."""
        for page in self.pages:
            page.delete()

    def _place(self, node: ResidentNode, budget_points: int) -> Slot:
        count = len(node.xyz)
        found = self._take(count, self._idle(), budget_points)
        slot = Slot(node.id, *found, count, _identity(node.xyz), (None,) * 7, (None,) * 5)
        slot.color, slot.state = (object(),) * 7, (object(),) * 5
        self._slots[node.id] = slot
        return slot

    def _take(self, count: int, idle: Iterable[Slot], budget_points: int) -> tuple[int, int]:
        """Room for ``count`` points: free, else from slots not drawn lately, else a new page."""
        for number, page in enumerate(self.pages):
            first = page.runs.take(count)
            if first is not None:
                return number, first
        for slot in idle:
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
        self.pages[slot.page].runs.give(slot.first, slot.count)
