"""Sections: points beside a polyline, by station along it, offset from it, and height.

A point belongs to the segment it is nearest to (the first, where two are equally near) and is
taken when it is at most half the width away. Past the ends of the line nothing is taken; at a
corner the gap outside of it is, at the station of the corner. Offsets are positive to the left.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.scene.units import Frame, MeasureError

Array = npt.NDArray[np.float64]


class Section:
    """A polyline in plan with a width, in world coordinates and the horizontal unit."""

    def __init__(self, line: Array, width: float, frame: Frame) -> None:
        frame.refuse_degrees("A section")
        self.origin = line[0, :2].copy()
        local = line[:, :2] - self.origin
        keep = np.r_[True, np.any(np.diff(local, axis=0) != 0.0, axis=1)]
        self.local = local[keep]
        if len(self.local) < 2:
            raise MeasureError("A section needs a line with a length; its points are all the same.")
        if not width > 0.0:
            raise MeasureError(f"A section needs a width above zero, and {width:g} was given.")
        self.width = width
        steps = np.diff(self.local, axis=0)
        self.lengths = np.hypot(steps[:, 0], steps[:, 1])
        self.stations = np.r_[0.0, np.cumsum(self.lengths)]
        self.directions = steps / self.lengths[:, None]

    @property
    def length(self) -> float:
        return float(self.stations[-1])

    def bounds(self) -> tuple[Array, Array]:
        """Plan bounds (2,), (2,) in world coordinates of all that can be taken."""
        half = self.width / 2.0
        return self.local.min(axis=0) - half + self.origin, self.local.max(
            axis=0
        ) + half + self.origin

    def locate(self, xy: Array) -> tuple[npt.NDArray[np.intp], Array, Array]:
        """Which of the points (n, 2) are taken: their indices, stations and offsets."""
        low, high = self.bounds()
        near = np.flatnonzero(((xy >= low) & (xy <= high)).all(axis=1))
        local = xy[near] - self.origin
        best = np.full(len(near), np.inf)
        station, offset = np.zeros(len(near)), np.zeros(len(near))
        last = len(self.lengths) - 1
        for i, (start, along, size) in enumerate(
            zip(self.local, self.directions, self.lengths, strict=False)
        ):
            dx, dy = local[:, 0] - start[0], local[:, 1] - start[1]
            t = dx * along[0] + dy * along[1]
            side = along[0] * dy - along[1] * dx
            past = np.where(t < 0.0, -t, np.maximum(t - size, 0.0))
            if i == 0:
                past = np.where(t < 0.0, np.inf, past)
            if i == last:
                past = np.where(t > size, np.inf, past)
            away = np.hypot(past, side)
            nearer = away < best
            best = np.where(nearer, away, best)
            station = np.where(nearer, self.stations[i] + np.clip(t, 0.0, size), station)
            offset = np.where(
                nearer, np.copysign(np.where(np.isfinite(away), away, 0.0), side), offset
            )
        taken = best <= self.width / 2.0
        return near[taken], station[taken], offset[taken]


class SectionBins:
    """Adds up heights by station: any number of blocks, bounded memory."""

    def __init__(self, section: Section, bins: int) -> None:
        self.section = section
        self.edges = np.linspace(0.0, section.length, bins + 1)
        self.count = np.zeros(bins, dtype=np.int64)
        self._z0: float | None = None
        self._sum = np.zeros(bins)
        self._min = np.full(bins, np.inf)
        self._max = np.full(bins, -np.inf)

    @property
    def points(self) -> int:
        return int(self.count.sum())

    def add(self, station: Array, z: Array) -> None:
        """Stations and heights (n,) of points of the section."""
        if not len(z):
            return
        if self._z0 is None:
            self._z0 = float(z[0])
        bins = len(self.count)
        index = np.clip((station / self.section.length * bins).astype(np.int64), 0, bins - 1)
        self.count += np.bincount(index, minlength=bins)
        self._sum += np.bincount(index, weights=z - self._z0, minlength=bins)
        np.minimum.at(self._min, index, z)
        np.maximum.at(self._max, index, z)

    def rows(self) -> list[dict[str, Any]]:
        """Per bin its stations from and to, count, and min, mean, max height (None: no point)."""
        out: list[dict[str, Any]] = []
        for i, count in enumerate(self.count.tolist()):
            row: dict[str, Any] = {
                "from": float(self.edges[i]),
                "to": float(self.edges[i + 1]),
                "count": count,
            }
            if count and self._z0 is not None:
                low, high = float(self._min[i]), float(self._max[i])
                mean = min(max(self._z0 + float(self._sum[i]) / count, low), high)
                row |= {"min": low, "mean": mean, "max": high}
            else:
                row |= {"min": None, "mean": None, "max": None}
            out.append(row)
        return out

    def totals(self) -> dict[str, Any]:
        """min, mean and max height of all points; None without any."""
        if self._z0 is None:
            return {"min": None, "mean": None, "max": None}
        mean = self._z0 + math.fsum(self._sum) / self.points
        return {"min": float(self._min.min()), "mean": mean, "max": float(self._max.max())}
