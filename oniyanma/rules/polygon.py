"""Points in polygons: the exact even-odd test, and a raster that saves most of it.

A polygon closes itself; an edge is crossed where ``(yi > y) != (yj > y)`` and the point lies
left of it. The raster holds, per cell, outside, inside, or *edge*; cells touched by an edge
and their neighbours are edge, so a point anywhere else is decided by its cell and only the rest
by the exact test. Both give the same answer for every point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Sides = npt.NDArray[np.uint8]

OUT, IN, EDGE = 0, 1, 2
MAX_CELLS = 1 << 20
_COARSE = 8  # cells of the fine raster along one side of a coarse block
FEW = 100_000  # points × edges for which drawing a raster does not pay
_DENSE = 4096  # points × edges for which looking which edges matter does not pay
_PAIRS = 1 << 19  # points × edges tested at once


class Edges:
    """The edges of a polygon (k, 2), made ready for the exact test."""

    def __init__(self, polygon: Floats) -> None:
        xi, yi = polygon[:, 0], polygon[:, 1]
        xj, yj = np.concatenate((polygon[-1:], polygon[:-1])).T
        use = yi != yj if len(polygon) >= 3 else np.zeros(len(polygon), np.bool_)
        self._xi, self._yi, self._yj = xi[use], yi[use], yj[use]
        self._dx, self._dy = (xj - xi)[use], (yj - yi)[use]
        self._low, self._high = np.minimum(yi, yj)[use], np.maximum(yi, yj)[use]
        # Rounding moves a crossing by less than this.
        slack = 1e-9 * float(np.abs(polygon).max(initial=0.0))
        self._right = np.maximum(xi, xj)[use] + slack

    def contain(self, x: Floats, y: Floats) -> Mask:
        """The exact test, (n,) each. Elementwise: no order matters."""
        n = len(x)
        inside = np.zeros(n, np.bool_)
        if n == 0:
            return inside
        if n * len(self._yi) <= _DENSE:
            px, py = x[:, None], y[:, None]
            with np.errstate(over="ignore", invalid="ignore"):  # of edges that are not crossed
                left = px < self._dx * (py - self._yi) / self._dy + self._xi
            left &= (self._yi > py) != (self._yj > py)
            crossed: Mask = np.logical_xor.reduce(left, axis=1)
            return crossed
        # Left out: edges above or below all points, or left of all of them.
        use = (self._low <= y.max()) & (self._high > y.min()) & (self._right >= x.min())
        near = np.flatnonzero(use)
        if not len(near):
            return inside
        yi, yj = self._yi[near], self._yj[near]
        step = max(1, _PAIRS // len(near))
        for start in range(0, n, step):
            py = y[start : start + step, None]
            point, edge = np.nonzero((yi > py) != (yj > py))
            edge = near[edge]
            point += start
            at = self._dx[edge] * (y[point] - self._yi[edge]) / self._dy[edge] + self._xi[edge]
            count = np.bincount(point[x[point] < at] - start, minlength=len(py))
            inside[start : start + step] = count & 1
        return inside


def even_odd(x: Floats, y: Floats, polygon: Floats) -> Mask:
    """The exact test of (n,) points against a polygon (k, 2)."""
    return Edges(polygon).contain(x, y)


class PolygonRaster:
    """A polygon as a raster of at most `MAX_CELLS` cells of at least ``cell`` units."""

    def __init__(self, polygon: Sequence[tuple[float, float]], cell: float = 0.0) -> None:
        self.polygon: Floats = np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
        self.edges = Edges(self.polygon)
        low, high = self.polygon.min(axis=0), self.polygon.max(axis=0)
        size = high - low
        reach = float(np.abs(self.polygon).max()) + float(size.max())
        fine = float(np.sqrt(max(size[0] * size[1], 0.0) / MAX_CELLS))
        # Never so fine that rounding could carry a point over a whole cell.
        self.cell = max(cell, fine, float(size.max()) / 16_384, reach * 1e-12, 1e-300)
        self.low = low - 3 * self.cell
        self.origin: list[float] = self.low.tolist()
        # Padded by three cells: the outermost ring is always outside.
        self.columns, self.rows = (int(v) + 7 for v in size / self.cell)
        self._grid: npt.NDArray[np.uint8] | None = None
        self._full: npt.NDArray[np.int32]
        self._empty: npt.NDArray[np.int32]

    def contains(self, x: Floats, y: Floats) -> Mask:
        """Even-odd for (n,) finite coordinates."""
        if self._grid is None and len(x) * len(self.polygon) < FEW:
            return self.edges.contain(x, y)
        cells = (np.subtract(v, o) for v, o in zip((x, y), self.origin, strict=True))
        values = self.look_up(*(c * (1.0 / self.cell) for c in cells))
        inside: Mask = values == IN
        edge = np.flatnonzero(values == EDGE)
        if edge.size:
            inside[edge] = self.edges.contain(x[edge], y[edge])
        return inside

    def rectangles(self, low: Floats, high: Floats) -> Sides:
        """Where whole rectangles lie, uint8 (n,), from their corners (n, 2); EDGE when that is
        not sure."""
        size = np.array((self.columns, self.rows))
        first = np.floor(np.clip((low - self.low) / self.cell, -9, 1 << 30)).astype(np.intp)
        last = np.floor(np.clip((high - self.low) / self.cell, -9, 1 << 30)).astype(np.intp)
        sides = np.full(len(low), EDGE, np.uint8)
        _ = self.grid
        a = np.clip(first, 0, size - 1) // _COARSE
        b = np.clip(last, 0, size - 1) // _COARSE + 1
        area = (b - a).prod(axis=1)
        within = ((first >= 0) & (last < size)).all(axis=1)
        sides[within & (_sum(self._full, a, b) == area)] = IN
        sides[_sum(self._empty, a, b) == area] = OUT
        sides[((last < 0) | (first >= size)).any(axis=1)] = OUT
        return sides

    @property
    def grid(self) -> npt.NDArray[np.uint8]:
        """uint8 (rows, columns) of `OUT`, `IN`, `EDGE`; drawn on first use."""
        if self._grid is None:
            self._grid = self._draw()
            self._full = _blocks(self._grid == IN)
            self._empty = _blocks(self._grid == OUT)
        return self._grid

    def look_up(self, column: Any, row: Any) -> Sides:
        """What the raster says at (n,) cell coordinates, which are overwritten.

        They may be off by a quarter of a cell: a cell that is not EDGE has three quarters of a
        cell between itself and any edge.
        """
        index: npt.NDArray[np.intp] = _clipped(row, self.rows)
        index *= self.columns
        index += _clipped(column, self.columns)
        found: Sides = self.grid.reshape(-1).take(index)
        return found

    def _draw(self) -> npt.NDArray[np.uint8]:
        grid = np.zeros((self.rows, self.columns), np.uint8)
        if len(self.polygon) < 3:
            return grid
        p = (self.polygon - self.low) / self.cell
        for (xi, yi), (xj, yj) in zip(p, np.roll(p, 1, axis=0), strict=True):
            if yi == yj:
                continue
            low, high = min(yi, yj), max(yi, yj)
            rows = np.arange(int(np.ceil(low - 0.5)), int(np.ceil(high - 0.5)))
            at = (xj - xi) * (rows + 0.5 - yi) / (yj - yi) + xi
            grid[rows, np.ceil(at - 0.5).astype(np.intp)] ^= 1
        np.bitwise_xor.accumulate(grid, axis=1, out=grid)
        flat = grid.ravel()
        touched = self._touched(p)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                flat[touched + (dy * self.columns + dx)] = EDGE
        return grid

    def _touched(self, p: Floats) -> npt.NDArray[np.intp]:
        """Cells along the edges, sampled twice a cell: with their neighbours, all of them."""
        ends = np.roll(p, 1, axis=0)
        counts = np.ceil(np.abs(ends - p).max(axis=1) * 2).astype(np.intp) + 1
        edge = np.repeat(np.arange(len(p)), counts)
        first = np.repeat(np.cumsum(counts) - counts, counts)
        t = (np.arange(len(edge)) - first) / np.maximum(counts - 1, 1)[edge]
        xy = p[edge] + (ends - p)[edge] * t[:, None]
        cells = xy[:, 1].astype(np.intp) * self.columns + xy[:, 0].astype(np.intp)
        return np.unique(cells)


def _clipped(cells: Any, count: int) -> npt.NDArray[np.intp]:
    np.maximum(cells, 0.0, out=cells)
    np.minimum(cells, count - 1.0, out=cells)
    return cells.astype(np.intp)  # type: ignore[no-any-return]


def _blocks(true: Mask) -> npt.NDArray[np.int32]:
    """Summed-area table, (r + 1, c + 1), over blocks of which every cell is true."""
    rows, columns = true.shape
    r, c = -(-rows // _COARSE), -(-columns // _COARSE)
    padded = np.ones((r * _COARSE, c * _COARSE), np.bool_)
    padded[:rows, :columns] = true
    blocks = padded.reshape(r, _COARSE, c, _COARSE).all(axis=(1, 3))
    table = np.zeros((r + 1, c + 1), np.int32)
    table[1:, 1:] = blocks.cumsum(axis=0).cumsum(axis=1)
    return table


def _sum(
    table: npt.NDArray[np.int32], first: npt.NDArray[np.intp], end: npt.NDArray[np.intp]
) -> npt.NDArray[np.int32]:
    """Blocks that are true in rectangles of blocks, (n,); columns and rows, end not included."""
    (c0, r0), (c1, r1) = first.T, end.T
    found: npt.NDArray[np.int32] = table[r1, c1] - table[r0, c1] - table[r1, c0] + table[r0, c0]
    return found
