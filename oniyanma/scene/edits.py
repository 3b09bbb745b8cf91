"""What the log of edits makes of points: a resident node's, or a chunk's of the source.

An edit is a rule and an operation; which points it hit follows from the rule and the state at
its position, and never changes afterwards. The `EditProgram` is the log made ready once;
`BlockState` walks it for one block of points and keeps what each edit hit there, so that a new
edit costs its own evaluation, and an undo or redo only the points it touches.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import CloudInfo, Dimension
from oniyanma.rules.block import Floats, Mask, PointBlock, PointState, Real, base_classes
from oniyanma.rules.evaluate import decide
from oniyanma.rules.model import Rule
from oniyanma.scene.camera import as_vec3
from oniyanma.scene.ports import DELETED, HIDDEN
from oniyanma.scene.program import EditProgram
from oniyanma.scene.state import Event

Bytes = npt.NDArray[np.uint8]
_INDEX_FROM = 8  # edits waiting for one block, from which sorting its points pays off


Hit = slice | npt.NDArray[Any]  # every point, indices, or a packed mask


class BlockState:
    """One block's points after the edits, kept current as the log grows.

    ``classification`` uint8 (n,); ``flags`` uint8 (n,) of HIDDEN and DELETED; ``paint`` uint8
    (n, 4) or None. The arrays are replaced, never written to, by `advance`.
    """

    def __init__(self, points: PointBlock) -> None:
        self.points = points
        self.n = len(points)
        self.base = base_classes(points.attributes, self.n)
        self.classification = self.base
        self.flags: Bytes = np.zeros(self.n, np.uint8)
        self.paint: Bytes | None = None
        self.events: tuple[Event, ...] = ()
        self._done = 0  # operations of the program
        self._changed = -1  # seq of the last event that changed something here
        self._hits: dict[int, Hit] = {}
        self._applied: list[int] = []
        self._before: dict[int, Any] = {}
        self._past: list[tuple[int, PointState]] = []  # states asked for, which never change
        self._own = False
        self._index: _Grid | None = None
        self._program = EditProgram()
        points.as_at = self.as_at

    def continues(self, program: EditProgram) -> bool:
        """Whether the program goes on from where this block is."""
        n = len(self.events)
        return n <= len(program.events) and (n == 0 or program.events[n - 1] is self.events[-1])

    def fork(self) -> BlockState:
        """A copy that can advance on its own; the arrays are shared until they are replaced."""
        p = self.points
        points = PointBlock(
            p.cloud, p.xyz, p.scale, p.offset, p.attributes, p.real, known=list(p.known)
        )
        other = BlockState(points)
        other.classification, other.flags, other.paint = self.classification, self.flags, self.paint
        other.events, other._done, other._changed = self.events, self._done, self._changed
        other._hits, other._applied = self._hits.copy(), self._applied.copy()
        other._before, other._index = self._before.copy(), self._index
        other._program = self._program
        return other

    def advance(self, program: EditProgram) -> bool:
        """Take in the events not seen yet; whether anything changed."""
        self._program = program
        if self._done == len(program.ops):
            self.events = program.events
            return False
        self._own = False
        near, loose = self._near(program)
        many = len(near) >= _INDEX_FROM and self.n >= 256
        before = self._changed
        edits = program.edits
        here = [edits[i].op for i in near] + program.turns_from(self._done)
        by_op: dict[int, list[int]] = {}
        for index in near:
            by_op.setdefault(edits[index].op, []).append(index)
        cells: dict[int, _Cells] = {}
        if many:
            self._index = self._index or _Grid(self.points)
            cells = dict(zip(near, self._index.cells(program.boxes[near]), strict=True))
            for index in loose:
                del cells[index]
        for number in sorted(set(here)):
            op = program.ops[number]
            hits = [
                (i, hit)
                for i in by_op.get(number, ())
                if (hit := self._hit(edits[i].edit.rule, cells.get(i))) is not None
            ]
            for index, hit in hits:
                self._hits[index] = hit
                self._applied.append(index)
                self._apply(index)
                self._changed = op.seq
            if any(i in self._hits for i in (*op.off, *op.on)):
                self._turn(set(op.off), set(op.on))
                self._changed = op.seq
        self._done = len(program.ops)
        self.events = program.events
        self._own = False
        return self._changed != before

    def as_at(self, position: int) -> PointState:
        """Classes and removal after the events with ``seq < position``."""
        if position > self._changed:
            removed = self.flags != 0 if self.flags.any() else None
            return PointState(self.classification, removed)
        for known, state in self._past:
            if known == position:
                return state
        classes, flags = self.base.copy(), np.zeros(self.n, np.uint8)
        effective = self._program.effective(position)
        for index, hit in self._hits.items():  # in the order of the log
            if index not in effective:
                continue
            at, edit = self._at(hit), self._program.edits[index]
            if edit.edit.kind == "reclassify":
                classes[at] = edit.value
            elif edit.edit.kind in ("hide", "delete"):
                flags[at] |= HIDDEN if edit.edit.kind == "hide" else DELETED
        state = PointState(classes, flags != 0 if flags.any() else None)
        self._past = [*self._past[-1:], (position, state)]
        return state

    def _near(self, program: EditProgram) -> tuple[list[int], list[int]]:
        """The edits not seen yet whose boxes meet this block's; those of them whose boxes say
        nothing here, because points lie outside of what was taken for all there is."""
        first = program.first_edit(self._done)
        boxes = program.boxes[first:]
        if not self.n or not len(boxes):
            return [], []
        low, high = self.points.bounds
        near: Mask = np.all((boxes[:, 0] <= high) & (boxes[:, 1] >= low), axis=1)
        loose: list[int] = []
        if program.within is not None:
            a, b = program.within
            if (low < a).any() or (high > b).any():
                loose = program.screens_from(first)
                near[np.array(loose, np.intp) - first] = True
        found: list[int] = (np.flatnonzero(near) + first).tolist()
        return found, loose

    def _hit(self, rule: Rule, cells: _Cells | None) -> Hit | None:
        if cells is not None:
            assert self._index is not None
            some = self._index.within(cells)
            if some is not None:
                if not len(some):
                    return None
                part = decide(rule, self.points.take(some))
                if isinstance(part, bool):
                    return some.astype(np.int32) if part else None
                found = some[part]
                return found.astype(np.int32) if len(found) else None
        hit = decide(rule, self.points)
        if isinstance(self.points.known, list):  # it may be the selection's: it stays what it is
            self.points.known[:] = [*self.points.known[-3:], (rule, hit)]
        if isinstance(hit, bool):
            return slice(None) if hit else None
        count = int(np.count_nonzero(hit))
        if count == 0:
            return None
        if count * 32 < self.n:
            return np.flatnonzero(hit).astype(np.int32)
        return np.packbits(hit)

    def _at(self, hit: Hit) -> slice | npt.NDArray[Any]:
        if isinstance(hit, slice) or hit.dtype != np.uint8:
            return hit
        return np.unpackbits(hit, count=self.n).view(np.bool_)

    def _apply(self, index: int) -> None:
        self._owned()
        edit, at = self._program.edits[index], self._at(self._hits[index])
        kind = edit.edit.kind
        if kind == "reclassify":
            self._before[index] = self.classification[at].copy()
            self.classification[at] = edit.value
        elif kind == "color":
            if self.paint is None:
                self.paint = np.zeros((self.n, 4), np.uint8)
            self._before[index] = self.paint[at].copy()
            self.paint[at] = edit.value
        else:
            self._before[index] = self.flags[at].copy()
            self.flags[at] |= HIDDEN if kind == "hide" else DELETED

    def _restore(self, index: int) -> None:
        self._owned()
        at, before = self._at(self._hits[index]), self._before.pop(index)
        kind = self._program.edits[index].edit.kind
        if kind == "reclassify":
            self.classification[at] = before
        elif kind == "color":
            assert self.paint is not None
            self.paint[at] = before
        else:
            self.flags[at] = before

    def _turn(self, off: set[int], on: set[int]) -> None:
        """Take applied edits back down to the first that turns, and put the others on again."""
        applied = self._applied
        while applied and applied[-1] in off:
            self._restore(applied.pop())
        on = on & self._hits.keys()
        if not any(_holds(applied, i) for i in off) and (
            not applied or all(i > applied[-1] for i in on)
        ):
            for index in sorted(on):
                applied.append(index)
                self._apply(index)
            return
        wanted = sorted((set(applied) - off) | on)
        keep = 0
        for have, want in zip(applied, wanted, strict=False):
            if have != want:
                break
            keep += 1
        while len(applied) > keep:
            self._restore(applied.pop())
        for index in wanted[keep:]:
            applied.append(index)
            self._apply(index)

    def _owned(self) -> None:
        if not self._own:
            self.classification, self.flags = self.classification.copy(), self.flags.copy()
            self.paint = None if self.paint is None else self.paint.copy()
            self._own = True


def _holds(ordered: list[int], value: int) -> bool:
    place = bisect_left(ordered, value)
    return place < len(ordered) and ordered[place] == value


_NO_POINTS = np.zeros(0, np.intp)
# A box's low and high corner (x, y), its first and its last cell (column, row).
_Cells = tuple[float, float, float, float, int, int, int, int]


class _Grid:
    """A block's points sorted into cells in plan, so that a small edit asks few of them."""

    def __init__(self, points: PointBlock) -> None:
        self.low, high = points.bounds
        self.side = max(1, min(256, int(math.sqrt(len(points) / 8))))
        self.step = np.maximum((high - self.low)[:2], 1e-300) / self.side
        axes = [points.axis(0), points.axis(1)]
        cells = [
            np.clip((axes[i] - self.low[i]) / self.step[i], 0, self.side - 1).astype(np.intp)
            for i in (0, 1)
        ]
        code = (cells[1] * self.side + cells[0]).astype(np.uint16)
        self.order = np.argsort(code, kind="stable")
        self.x, self.y = (axis[self.order] for axis in axes)
        counts = np.bincount(code, minlength=self.side * self.side)
        self.starts = np.concatenate(((0,), np.cumsum(counts))).tolist()

    def cells(self, boxes: Floats) -> list[_Cells]:
        """Boxes (n, 2, 3) in plan, with the cells they touch: ever so slightly widened against
        rounding."""
        low, high = boxes[:, 0, :2], boxes[:, 1, :2]
        with np.errstate(over="ignore"):
            first = (low - self.low[:2]) / self.step - 1e-6
            last = (high - self.low[:2]) / self.step + 1e-6
        ends = [np.clip(v, 0, self.side - 1).astype(np.intp) for v in (first, last)]
        columns = [column.tolist() for each in (low, high, *ends) for column in each.T]
        return list(zip(*columns, strict=True))

    def within(self, cells: _Cells) -> npt.NDArray[np.intp] | None:
        """Points in a box's plan, ascending; None for all, where that may be most of them."""
        x0, y0, x1, y1, c0, r0, c1, r1 = cells
        if (c1 - c0 + 1) * (r1 - r0 + 1) * 2 > self.side * self.side:
            return None
        found = []
        starts, side = self.starts, self.side
        for row in range(r0 * side, r1 * side + 1, side):
            a, b = starts[row + c0], starts[row + c1 + 1]
            if a < b:
                x, y = self.x[a:b], self.y[a:b]
                some = self.order[a:b][(x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)]
                if len(some):
                    found.append(some)
        if not found:
            return _NO_POINTS
        return np.sort(found[0] if len(found) == 1 else np.concatenate(found))


def block_of(
    cloud: str,
    info: CloudInfo,
    xyz: npt.NDArray[np.int32],
    attributes: Mapping[str, npt.NDArray[Any]],
) -> PointBlock:
    """Points of a cloud as rules want them: ``xyz`` int32 (n, 3), raw attributes by name."""
    return PointBlock(cloud, xyz, info.scale, info.offset, attributes, reals(info.dimensions))


def reals(dimensions: Iterable[Dimension]) -> Mapping[str, Real]:
    """How the scaled dimensions become real values."""
    return {
        d.name: Real(d.scale, d.offset, d.no_data)
        for d in dimensions
        if d.scale is not None or d.offset is not None or d.no_data is not None
    }


class RecordAttributes(Mapping[str, npt.NDArray[Any]]):
    """A LAS record's raw attributes by name, unpacked only when asked for."""

    def __init__(self, record: Any) -> None:
        self._record = record
        self._names = frozenset(record.point_format.dimension_names)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._names:
            raise KeyError(name)
        array = self._record.array
        values = array[name] if name in array.dtype.names else self._record[name]
        return np.asarray(values)

    def __iter__(self) -> Any:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def apply_to_records(
    program: EditProgram, cloud: str, info: CloudInfo, record: Any, header: Any
) -> BlockState:
    """The edits' effect on a chunk of the source (a `laspy.PackedPointRecord` of ``header``).

    The record is not written to; what the edits make of it stands in the state.
    """
    array = record.array
    xyz = np.stack((array["X"], array["Y"], array["Z"]), axis=1)
    block = PointBlock(
        cloud,
        xyz,
        as_vec3(header.scales),
        as_vec3(header.offsets),
        RecordAttributes(record),
        reals(info.dimensions),
    )
    state = BlockState(block)
    state.advance(program)
    return state
