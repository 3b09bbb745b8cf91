"""The log of edits made ready: which edits there are, their boxes, and what each event turns.

What it makes of points stands in `oniyanma.scene.edits`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oniyanma.rules.block import Floats
from oniyanma.rules.evaluate import Bounds, bounds_of
from oniyanma.rules.model import Prism, Region, Rule, Where
from oniyanma.scene.state import EditKind, Event, PointEdit

_KINDS: tuple[EditKind, ...] = ("hide", "delete", "reclassify", "color")


@dataclass(frozen=True, eq=False)
class CompiledEdit:
    """An edit with the event it belongs to; its box stands in `EditProgram.lows`/``highs``."""

    seq: int
    op: int  # which operation of the program it is part of
    edit: PointEdit
    value: Any  # class number, RGBA or None


@dataclass(frozen=True)
class _Op:
    """One event as the edits see it: edits ``first..last`` are new, ``off`` and ``on`` turn."""

    seq: int
    first: int = 0
    last: int = 0
    off: tuple[int, ...] = ()
    on: tuple[int, ...] = ()


class EditProgram:
    """The edits of a log in order, and at which event each is in force.

    ``within``: a box around all points there are, which gives screen lassos a finite box.
    Events are only read when something is asked of them: a log may be put aside unread.
    """

    def __init__(self, events: Sequence[Event] = (), within: Bounds | None = None) -> None:
        self.within = within
        self.events: tuple[Event, ...] = ()
        self._edits: list[CompiledEdit] = []
        self._ops: list[_Op] = []  # one for each event that was read
        self._turns: list[int] = []
        self._screens: list[int] = []
        self._attributes: frozenset[str] = frozenset()
        self._boxes = np.zeros((16, 2, 3))
        self._boxed = 0  # edits that have their box
        self._of_step: dict[int, range] = {}
        self._active: set[int] = set()  # seqs of steps and clears
        self._clears: dict[int, list[int]] = {}  # edit → seqs of clears that take it
        self._taken: dict[int, list[int]] = {}  # clear → edits
        self._effective: dict[int, frozenset[int]] = {}
        self.extend(events)

    @property
    def edits(self) -> list[CompiledEdit]:
        """The edits, in order."""
        self._read()
        return self._edits

    @property
    def ops(self) -> list[_Op]:
        """The events as the edits see them, one each."""
        self._read()
        return self._ops

    @property
    def attributes(self) -> frozenset[str]:
        """Names of the attributes that the rules of the edits read."""
        self._read()
        return self._attributes

    @property
    def boxes(self) -> Floats:
        """Boxes of the edits, (n, 2, 3): lowest and highest corner; infinite where open."""
        edits, done = self.edits, self._boxed
        if done < len(edits):
            if len(self._boxes) < len(edits):
                more = np.zeros((max(len(edits), 2 * done), 2, 3))
                more[:done] = self._boxes[:done]
                self._boxes = more
            found = [bounds_of(each.edit.rule, self.within) for each in edits[done:]]
            self._boxes[done : len(edits)] = found
            self._boxed = len(edits)
        return self._boxes[: len(edits)]

    def first_edit(self, op: int) -> int:
        """The first edit of an operation or a later one."""
        return bisect_left(self.edits, op, key=lambda edit: edit.op)

    def turns_from(self, op: int) -> list[int]:
        """Operations that undo, redo or clear, from one on."""
        self._read()
        return self._turns[bisect_left(self._turns, op) :]

    def screens_from(self, edit: int) -> list[int]:
        """Edits made on the screen, from one on: those whose boxes rest on ``within``."""
        self._read()
        return self._screens[bisect_left(self._screens, edit) :]

    def continues(self, events: Sequence[Event]) -> bool:
        """Whether ``events`` begin with what was read so far."""
        n = len(self.events)
        return n <= len(events) and (n == 0 or events[n - 1] is self.events[-1])

    def extend(self, events: Sequence[Event]) -> None:
        """Go on with a longer log. ``events`` begin with those there are so far."""
        self.events = tuple(events)

    def _read(self) -> None:
        ops = self._ops
        for event in self.events[len(ops) :] if len(ops) < len(self.events) else ():
            if event.kind != "step":
                self._turns.append(len(ops))
            ops.append(self._step(event) if event.kind == "step" else self._turn(event))

    def fork(self) -> EditProgram:
        """A copy that can be extended on its own."""
        other = EditProgram(within=self.within)
        other.events = self.events
        other._edits, other._ops = self._edits.copy(), self._ops.copy()
        other._turns, other._screens = self._turns.copy(), self._screens.copy()
        other._attributes = self._attributes
        other._boxes, other._boxed = self._boxes.copy(), self._boxed
        other._of_step = self._of_step.copy()
        other._active = self._active.copy()
        other._clears = {k: v.copy() for k, v in self._clears.items()}
        other._taken = self._taken.copy()
        other._effective = self._effective.copy()
        return other

    def widened(self, within: Bounds) -> EditProgram:
        """A copy for another box around all points there are."""
        other = self.fork()
        other.within, other._boxed = within, 0
        return other

    def effective(self, position: int) -> frozenset[int]:
        """The edits in force after the events with ``seq < position``."""
        found = self._effective.get(position)
        if found is None:
            on: set[int] = set()
            for op in self.ops:
                if op.seq >= position:
                    break
                on.update(range(op.first, op.last), op.on)
                on.difference_update(op.off)
            found = frozenset(on)
            if len(self._effective) > 64:
                self._effective.clear()
            if self._ops and position <= self._ops[-1].seq:
                self._effective[position] = found
        return found

    def _step(self, event: Event) -> _Op:
        first = len(self._edits)
        for edit in event.edits:
            self._edits.append(CompiledEdit(event.seq, len(self._ops), edit, _value(edit)))
            self._attributes |= attributes_of(edit.rule)
            if _by_screen(edit.rule):
                self._screens.append(len(self._edits) - 1)
        self._of_step[event.seq] = range(first, len(self._edits))
        self._active.add(event.seq)
        return _Op(event.seq, first, len(self._edits))

    def _turn(self, event: Event) -> _Op:
        touched: dict[int, bool] = {}

        def touch(edits: Iterable[int]) -> None:
            for index in edits:
                touched.setdefault(index, self._in_force(index))

        if event.kind == "clear":
            kinds = event.kinds or _KINDS
            taken = [
                index
                for step in event.steps
                for index in self._of_step.get(step, range(0))
                if self._edits[index].edit.kind in kinds
            ]
            touch(taken)
            self._taken[event.seq] = taken
            for index in taken:
                self._clears.setdefault(index, []).append(event.seq)
            self._active.add(event.seq)
        else:
            for seq in event.steps:
                touch(self._of_step.get(seq, ()))
                touch(self._taken.get(seq, ()))
            if event.kind == "undo":
                self._active.difference_update(event.steps)
            else:
                self._active.update(event.steps)
        off = tuple(i for i in sorted(touched) if touched[i] and not self._in_force(i))
        on = tuple(i for i in sorted(touched) if not touched[i] and self._in_force(i))
        return _Op(event.seq, off=off, on=on)

    def _in_force(self, index: int) -> bool:
        clears = self._clears.get(index, ())
        return self._edits[index].seq in self._active and not any(c in self._active for c in clears)


def attributes_of(shape: Any) -> frozenset[str]:
    """Names of the attributes that a rule or shape reads, besides class and coordinates."""
    if isinstance(shape, Rule):
        return frozenset().union(
            *(attributes_of(r.shape) for r in shape.regions if isinstance(r, Region))
        )
    if not isinstance(shape, Where):
        return frozenset()
    named = {
        "intensity": shape.intensity,
        "return_number": shape.returns,
        "gps_time": shape.gps_time,
        "point_source_id": shape.sources,
    }
    found = {name for name, condition in named.items() if condition is not None}
    if shape.attribute is not None:
        found.add(shape.attribute[0])
    return frozenset(found)


def _by_screen(rule: Rule) -> bool:
    shapes = [r.shape for r in rule.regions]
    return any(isinstance(s, Prism) or (isinstance(s, Rule) and _by_screen(s)) for s in shapes)


def _value(edit: PointEdit) -> Any:
    if edit.kind == "reclassify":
        return int(edit.params["class"])
    if edit.kind == "color":
        color = edit.params.get("color")
        if color is None:
            return np.zeros(4, np.uint8)
        return np.array([*bytes.fromhex(color[1:]), 255], np.uint8)
    return None
