"""Cut, fill and net between the points inside a polygon and a reference surface.

The polygon is covered with square cells. The surface of a cell is the plane through all points
(least squares, over the cells' means) plus the mean rest of the points of that cell, so that a
tilted plane comes out exactly however the points lie. Cells at the edge count with the part of
them inside the polygon, at the centroid of that part. An empty cell takes the rest of its
surroundings (averages of 2 × 2, 4 × 4, … cells, the finest that has points), and the answer
says what share of the area that was. Cut is what lies above the reference, fill what is missing
below it, net is cut less fill.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.rules.polygon import PolygonRaster
from oniyanma.scene.measure import crosses_itself, plan_area
from oniyanma.scene.units import Frame, MeasureError

Array = npt.NDArray[np.float64]

MAX_CELLS = 1_000_000
POINTS_PER_CELL = 4.0  # of the default cell: e^-4, some 2 % empty cells where points are random


class SurfaceGrid:
    """Adds up points cell by cell; any number of blocks, any order, bounded memory.

    ``polygon`` (n, 3) world corners, ``cell`` the side of a cell in the horizontal unit. Sums
    are kept about each cell's own corner, so nothing is lost at UTM size.
    """

    def __init__(self, polygon: Array, cell: float) -> None:
        self.polygon = polygon
        self.cell = cell
        self.low = polygon[:, :2].min(axis=0)
        self._outline = PolygonRaster([(float(x), float(y)) for x, y in polygon[:, :2]])
        extent = polygon[:, :2].max(axis=0) - self.low
        self.columns, self.rows = (max(1, math.ceil(e / cell - 1e-9)) for e in extent)
        if self.columns * self.rows > MAX_CELLS:
            least = math.sqrt(float(extent[0] * extent[1]) / MAX_CELLS)
            raise MeasureError(
                f"A cell of {cell:g} makes {self.columns} × {self.rows} cells, and {MAX_CELLS} "
                f"is the most; take a cell of {least * 1.01:.3g} or more."
            )
        self.z0 = float(polygon[0, 2])
        n = self.columns * self.rows
        self.count = np.zeros(n, dtype=np.int64)
        self._sums = np.zeros((3, n))

    @property
    def points(self) -> int:
        return int(self.count.sum())

    def add(self, xyz: Array) -> None:
        """Points (n, 3) in world coordinates; those outside the polygon are left out."""
        xyz = xyz[self._outline.contains(xyz[:, 0], xyz[:, 1])]
        if not len(xyz):
            return
        local = xyz[:, :2] - self.low
        index = np.floor(local / self.cell).astype(np.int64)
        np.clip(index, 0, [self.columns - 1, self.rows - 1], out=index)
        rest = local - index * self.cell
        flat = index[:, 1] * self.columns + index[:, 0]
        n = len(self.count)
        self.count += np.bincount(flat, minlength=n)
        for row, values in zip(
            self._sums, (rest[:, 0], rest[:, 1], xyz[:, 2] - self.z0), strict=True
        ):
            row += np.bincount(flat, weights=values, minlength=n)

    def surface(self) -> tuple[Array, Array]:
        """The plane (a, b, c: z - z0 = a + b·x + c·y about ``low``) and the rest per cell.

        The rest is (rows, columns), filled where a cell has no point.
        """
        full = self.count > 0
        counts = self.count[full].astype(np.float64)
        mean_x, mean_y, mean_z = (s[full] / counts for s in self._sums)
        rows, columns = np.divmod(np.flatnonzero(full), self.columns)
        mean_x += columns * self.cell
        mean_y += rows * self.cell
        plane = fit_plane(mean_x, mean_y, mean_z, counts)
        rest = np.full(len(self.count), np.nan)
        rest[full] = mean_z - (plane[0] + plane[1] * mean_x + plane[2] * mean_y)
        return plane, fill_gaps(rest.reshape(self.rows, self.columns))


def fit_plane(x: Array, y: Array, z: Array, weight: Array) -> Array:
    """Weighted least squares z = a + b·x + c·y; level where the points do not span a plane."""
    total = weight.sum()
    mx, my, mz = (float((v * weight).sum() / total) for v in (x, y, z))
    root = np.sqrt(weight)
    slopes, _, rank, _ = np.linalg.lstsq(
        np.column_stack([(x - mx) * root, (y - my) * root]), (z - mz) * root, rcond=1e-10
    )
    b, c = (float(s) for s in slopes) if rank == 2 else (0.0, 0.0)
    return np.array([mz - b * mx - c * my, b, c])


def fill_gaps(grid: Array) -> Array:
    """A grid whose NaN cells take the mean of their surroundings, the finest that has one."""
    empty = np.isnan(grid)
    if not empty.any() or grid.size <= 1:
        return grid
    rows, columns = grid.shape
    padded = np.full((rows + rows % 2, columns + columns % 2), np.nan)
    padded[:rows, :columns] = grid
    blocks = padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2)
    counts = (~np.isnan(blocks)).sum(axis=(1, 3))
    sums = np.nansum(blocks, axis=(1, 3))
    coarse = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    coarse = fill_gaps(coarse)
    fine = np.repeat(np.repeat(coarse, 2, axis=0), 2, axis=1)[:rows, :columns]
    return np.where(empty, fine, grid)


def coverage(
    polygon: Array, low: Array, cell: float, rows: int, columns: int
) -> tuple[Array, Array]:
    """The part of each cell inside a polygon (n, 2): its area (rows, columns) and its centroid
    (rows, columns, 2) about ``low``.

    The polygon is clipped to halves of the grid again and again (Sutherland–Hodgman; the extra
    edges of a bent polygon cancel in area and centroid) until a half is full, empty or one cell.
    """
    areas = np.zeros((rows, columns))
    y, x = np.meshgrid(
        (np.arange(rows) + 0.5) * cell, (np.arange(columns) + 0.5) * cell, indexing="ij"
    )
    centroids = np.stack([x, y], axis=-1)
    corners = [(float(a), float(b)) for a, b in polygon - low]
    if plan_area(polygon) < 0:
        corners.reverse()
    todo = [(corners, 0, rows, 0, columns)]
    while todo:
        piece, r0, r1, c0, c1 = todo.pop()
        size, cx, cy = _moments(piece)
        whole = (r1 - r0) * (c1 - c0) * cell * cell
        if len(piece) < 3 or size <= 1e-14 * whole:
            continue
        if size >= whole * (1.0 - 1e-12):
            areas[r0:r1, c0:c1] = cell * cell
        elif r1 - r0 == 1 and c1 - c0 == 1:
            areas[r0, c0], centroids[r0, c0] = size, (cx, cy)
        elif r1 - r0 >= c1 - c0:
            middle = (r0 + r1) // 2
            todo.append((_clip(piece, 1, middle * cell, True), r0, middle, c0, c1))
            todo.append((_clip(piece, 1, middle * cell, False), middle, r1, c0, c1))
        else:
            middle = (c0 + c1) // 2
            todo.append((_clip(piece, 0, middle * cell, True), r0, r1, c0, middle))
            todo.append((_clip(piece, 0, middle * cell, False), r0, r1, middle, c1))
    return areas, centroids


_Corners = list[tuple[float, float]]


def _clip(piece: _Corners, axis: int, at: float, below: bool) -> _Corners:
    """What of a polygon lies on one side of the line coordinate[axis] = at."""
    out: _Corners = []
    sign = 1.0 if below else -1.0
    for i, q in enumerate(piece):
        p = piece[i - 1]
        dp, dq = sign * (at - p[axis]), sign * (at - q[axis])
        if (dp >= 0.0) != (dq >= 0.0):
            t = dp / (dp - dq)
            other = p[1 - axis] + t * (q[1 - axis] - p[1 - axis])
            out.append((at, other) if axis == 0 else (other, at))
        if dq >= 0.0:
            out.append(q)
    return out


def _moments(piece: _Corners) -> tuple[float, float, float]:
    """Signed area and centroid of a polygon."""
    if len(piece) < 3:
        return 0.0, 0.0, 0.0
    ox, oy = piece[0]
    twice = sx = sy = 0.0
    for i, (x2, y2) in enumerate(piece):
        x1, y1 = piece[i - 1][0] - ox, piece[i - 1][1] - oy
        x2, y2 = x2 - ox, y2 - oy
        cross = x1 * y2 - x2 * y1
        twice += cross
        sx += (x1 + x2) * cross
        sy += (y1 + y2) * cross
    if twice == 0.0:
        return 0.0, ox, oy
    return twice / 2.0, ox + sx / (3.0 * twice), oy + sy / (3.0 * twice)


def checked_polygon(points: Array, frame: Frame) -> Array:
    """The outline of a volume; MeasureError for degrees, a line, or one that crosses itself."""
    frame.refuse_degrees("A volume")
    if len(points) > 3 and np.array_equal(points[0], points[-1]):
        points = points[:-1]
    local = points[:, :2] - points[0, :2]
    size = float(np.abs(local).max())
    if abs(plan_area(local)) <= 1e-12 * size * size:
        raise MeasureError("The outline has no area in plan: its corners lie on one line.")
    if crosses_itself(local):
        raise MeasureError("The outline crosses itself in plan; take its corners in order.")
    return points


def default_cell(polygon: Array, points: int) -> float:
    """The side of a cell that holds four points on average, to two significant digits."""
    area = abs(plan_area(polygon[:, :2]))
    least = math.sqrt(area / MAX_CELLS) * 2.0
    cell = max(math.sqrt(POINTS_PER_CELL * area / max(points, 1)), least)
    digits = 1 - math.floor(math.log10(cell))
    return round(cell, digits)


def volume(grid: SurfaceGrid, reference: str | float, frame: Frame) -> dict[str, Any]:
    """Cut, fill and net of the surface of ``grid`` against a reference.

    ``reference``: "lowest" (a level through the lowest corner of the outline), "plane" (the
    least-squares plane through the corners), or a height. MeasureError without any point.
    """
    if not grid.points:
        raise MeasureError(
            "No visible point lies inside the outline, so there is no surface to measure."
        )
    corners = grid.polygon
    x, y = corners[:, 0] - grid.low[0], corners[:, 1] - grid.low[1]
    if reference == "plane":
        base = fit_plane(x, y, corners[:, 2] - grid.z0, np.ones(len(corners)))
    else:
        level = float(corners[:, 2].min()) if reference == "lowest" else float(reference)
        base = np.array([level - grid.z0, 0.0, 0.0])
    plane, rest = grid.surface()
    areas, centroids = coverage(corners[:, :2], grid.low, grid.cell, grid.rows, grid.columns)
    cx, cy = centroids[..., 0], centroids[..., 1]
    tilt = plane - base
    above = tilt[0] + tilt[1] * cx + tilt[2] * cy + rest
    parts = areas * above * frame.z_factor
    cut, fill = math.fsum(parts[parts > 0]), -math.fsum(parts[parts < 0])
    area = abs(plan_area(corners[:, :2]))
    empty = float(areas[grid.count.reshape(areas.shape) == 0].sum()) / float(areas.sum())
    answer = frame.length(cut - fill, power=3)
    answer |= frame.length(cut, "cut", 3) | frame.length(fill, "fill", 3)
    answer |= frame.length(area, "plan", 2)
    answer["reference"] = reference if isinstance(reference, str) else float(reference)
    answer["referenceZ"] = None if reference == "plane" else grid.z0 + float(base[0])
    answer |= frame.length(grid.cell, "cell")
    answer |= {"cells": int((areas > 0).sum()), "emptyShare": empty, "points": grid.points}
    answer |= _density(grid.points, area, frame)
    if frame.notes:
        answer["note"] = " ".join(frame.notes)
    return answer


def _density(points: int, area: float, frame: Frame) -> dict[str, Any]:
    metres = frame.horizontal.metres
    return {
        "density": points / area,
        "densityUnit": f"points/{frame.horizontal.name}²",
        "densityPerSquareMetre": None if metres is None else points / (area * metres**2),
    }
