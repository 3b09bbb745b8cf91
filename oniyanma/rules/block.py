"""The points a rule is asked about: LAS integers, raw attributes, and their state in time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.intp] | slice


class PointState(NamedTuple):
    """What edits had made of the points at a position of the log.

    ``classification`` uint8 (n,); ``removed`` bool (n,), hidden or deleted, or None for none.
    """

    classification: npt.NDArray[np.uint8]
    removed: Mask | None


class Real(NamedTuple):
    """How a raw attribute becomes a real value: ``raw * scale + offset``; no_data is no value."""

    scale: float | None = None
    offset: float | None = None
    no_data: float | int | None = None


@dataclass(eq=False)
class PointBlock:
    """Points of one cloud: a resident node, or a chunk of the source.

    ``xyz`` int32 (n, 3); a world coordinate is ``X * scale + offset`` in float64. ``attributes``
    by laspy's names, raw; one that is not there matches no condition. ``real`` tells scaled
    ones. ``as_at`` gives the state after the events with ``seq < position``; without it the
    points are as the file has them. ``known`` holds rules already decided for these points;
    ``side`` gives what is already known of a shape and their box (`classify_boxes`), or None.
    """

    cloud: str
    xyz: npt.NDArray[np.int32]
    scale: tuple[float, float, float]
    offset: tuple[float, float, float]
    attributes: Mapping[str, npt.NDArray[Any]]
    real: Mapping[str, Real] = field(default_factory=lambda: MappingProxyType({}))
    as_at: Callable[[int], PointState] | None = None
    known: Sequence[tuple[Any, bool | Mask]] = ()
    side: Callable[[Any], int | None] | None = None

    def __len__(self) -> int:
        return len(self.xyz)

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest world coordinates of the points, (3,) each; not of no points."""
        low, high = self.integers
        s, o = np.asarray(self.scale), np.asarray(self.offset)
        a, b = low * s + o, high * s + o
        return np.minimum(a, b), np.maximum(a, b)

    @cached_property
    def integers(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Lowest and highest LAS integers of the points, (3,) each; not of no points."""
        low, high = self.xyz.min(axis=0), self.xyz.max(axis=0)
        return low.astype(np.int64), high.astype(np.int64)

    def axis(self, axis: int, part: Index | None = None) -> Floats:
        """World coordinates along one axis, of all points or of a part."""
        raw = self.xyz[:, axis] if part is None else self.xyz[part, axis]
        values: Floats = np.multiply(raw, self.scale[axis], dtype=np.float64)
        values += self.offset[axis]
        return values

    def value(self, name: str) -> tuple[Floats, Mask | None] | None:
        """Real values of an attribute, and where they are valid (None: everywhere).

        None where the points have no such attribute.
        """
        raw = self.attributes.get(name)
        if raw is None:
            return None
        raw = np.asarray(raw)
        if raw.ndim != 1:
            return None
        how = self.real.get(name, Real())
        valid = None if how.no_data is None else raw != how.no_data
        values = raw.astype(np.float64)
        if how.scale is not None:
            values *= how.scale
        if how.offset is not None:
            values += how.offset
        if values.size and np.isnan(values).any():
            real = ~np.isnan(values)
            valid = real if valid is None else valid & real
        return values, valid

    def state(self, position: int) -> PointState:
        if self.as_at is not None:
            return self.as_at(position)
        return PointState(base_classes(self.attributes, len(self)), None)

    def take(self, indices: npt.NDArray[np.intp]) -> PointBlock:
        """The points at ``indices``; asked the same, they answer the same."""
        whole = self.as_at

        def part(position: int) -> PointState:
            assert whole is not None
            classes, removed = whole(position)
            return PointState(classes[indices], None if removed is None else removed[indices])

        return PointBlock(
            self.cloud,
            self.xyz[indices],
            self.scale,
            self.offset,
            _Taken(self.attributes, indices),
            self.real,
            None if whole is None else part,
            [(rule, hit if isinstance(hit, bool) else hit[indices]) for rule, hit in self.known],
        )


class _Taken(Mapping[str, npt.NDArray[Any]]):
    """Attributes at some indices, taken only when asked for."""

    def __init__(self, whole: Mapping[str, Any], indices: npt.NDArray[np.intp]) -> None:
        self._whole, self._indices = whole, indices

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        taken: npt.NDArray[Any] = np.asarray(self._whole[name])[self._indices]
        return taken

    def __iter__(self) -> Any:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)


def base_classes(attributes: Mapping[str, npt.NDArray[Any]], n: int) -> npt.NDArray[np.uint8]:
    """The file's own classes, uint8 (n,); 0 where it has none."""
    raw = attributes.get("classification")
    if raw is None:
        return np.zeros(n, np.uint8)
    return np.asarray(raw).astype(np.uint8, copy=False)
