"""Points per area: from a grid of the points that were read, and from what the header counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import CloudInfo
from oniyanma.scene.units import Frame, MeasureError

Floats = npt.NDArray[np.float64]
MAX_CELLS = 4_000_000
POINTS_PER_CELL = 25.0  # of the default cell


class DensityGrid:
    """Counts points in square cells over a plan rectangle; any number of blocks.

    ``low``, ``high`` (2,) world coordinates. MeasureError for degrees or too many cells.
    """

    def __init__(self, low: Floats, high: Floats, cell: float, frame: Frame) -> None:
        frame.refuse_degrees("A grid of densities")
        self.low, self.cell, self.frame = low, cell, frame
        columns, rows = (max(1, math.floor(float(e) / cell) + 1) for e in high - low)
        if columns * rows > MAX_CELLS:
            least = math.sqrt(float(np.prod(high - low)) / MAX_CELLS) * 1.01
            raise MeasureError(
                f"A cell of {cell:g} makes {columns} × {rows} cells, and {MAX_CELLS} is the most; "
                f"take a cell of {least:.3g} or more."
            )
        self.columns, self.rows = columns, rows
        self.counts = np.zeros(columns * rows, dtype=np.int64)

    def add(self, x: Floats, y: Floats) -> None:
        """World coordinates (n,) inside the rectangle."""
        column = np.clip(((x - self.low[0]) / self.cell).astype(np.int64), 0, self.columns - 1)
        row = np.clip(((y - self.low[1]) / self.cell).astype(np.int64), 0, self.rows - 1)
        self.counts += np.bincount(row * self.columns + column, minlength=len(self.counts))

    def answer(self) -> dict[str, Any]:
        """min, p5, mean and max over the cells with a point, and the mean spacing."""
        full = self.counts[self.counts > 0]
        metres = self.frame.horizontal.metres
        side = self.cell * (1.0 if metres is None else metres)
        answer: dict[str, Any] = self.frame.length(self.cell, "cell")
        answer |= {"points": int(full.sum()), "cells": len(full), "unit": density_unit(self.frame)}
        if not len(full):
            return answer | dict.fromkeys(("min", "p5", "mean", "max", "meanSpacing"))
        density = full / (side * side)
        mean = float(full.sum()) / (len(full) * side * side)
        return answer | {
            "min": float(density.min()),
            "p5": float(np.percentile(density, 5)),
            "mean": mean,
            "max": float(density.max()),
            "meanSpacing": 1.0 / math.sqrt(mean),
            "spacingUnit": "m" if metres is not None else self.frame.horizontal.name,
        }


def density_unit(frame: Frame) -> str:
    unit = "m" if frame.horizontal.metres is not None else frame.horizontal.name
    return f"points/{unit}²"


def default_cell(points: int, low: Floats, high: Floats) -> float:
    """A cell of 25 points on average, to two significant digits."""
    area = float(np.prod(np.maximum(high - low, 1e-9)))
    cell = math.sqrt(area * POINTS_PER_CELL / max(points, 1))
    cell = max(cell, math.sqrt(area / MAX_CELLS) * 1.01)
    return float(f"{cell:.2g}")


def header_mean(infos: list[CloudInfo], frame: Frame) -> dict[str, Any] | None:
    """Points of whole clouds over their plan rectangles, in square metres where they are known.

    A rectangle that is not filled makes the mean too small; ``area`` says what was divided by.
    None where a cloud has no extent.
    """
    points, area = 0, 0.0
    for info in infos:
        if info.bounds_min is None or info.bounds_max is None:
            return None
        (x0, y0, _), (x1, y1, _) = info.bounds_min, info.bounds_max
        if frame.geographic:
            xs, ys = np.linspace(x0, x1, 64), np.full(64, y0)
            ring = np.r_[xs, xs[::-1]], np.r_[ys, np.full(64, y1)]
            size, _ = frame.geod().polygon_area_perimeter(*ring)
            area += abs(float(size))
        else:
            area += (x1 - x0) * (y1 - y0) * (frame.horizontal.metres or 1.0) ** 2
        points += info.points
    if not points or area <= 0.0:
        return None
    mean = points / area
    unit = "m" if frame.horizontal.metres is not None else frame.horizontal.name
    return {
        "mean": mean,
        "meanSpacing": 1.0 / math.sqrt(mean),
        "spacingUnit": unit,
        "area": area,
        "areaUnit": f"{unit}²",
        "headerPoints": points,
        "unit": density_unit(frame),
    }
