"""Which chunks of a LAZ file to decode so that a sample of it is fair and quick.

A chunk can only be decoded from its start, and its first point is stored uncompressed. So the
first points of all chunks draw the way the file takes over the ground for nothing. From that way
it is guessed which cells each chunk covers. Whole chunks are chosen first, those that cover most;
what was decoded corrects the guess, and for the cells still missing chunks are decoded as far as
they are guessed to reach them. On a file sorted by rows this finds every 1/32 cell with 0.1 % of
the points by decoding a quarter of them, where equal beginnings of all chunks miss a quarter of
the cells.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import numpy.typing as npt

GRID = 32
_STEPS = 128
_WORTH = 0.0005  # a cell guessed to hold less than this share of the points is not sought
_SEEN = 40  # decoded points that make a cell covered
_BEYOND = 0.06  # of a chunk, decoded beyond the place where a cell is guessed to end
_WHOLE = 3  # from this look on for a cell chunks are decoded to their end
CHUNK_POINTS = 1_500  # what beginning a chunk costs, in points

_NEAR = 8  # chunks before and after one whose first points show where its row may end

Box = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


class ChunkPlan:
    """Chunks still to decode, chosen round by round."""

    def __init__(
        self,
        counts: npt.NDArray[np.int64],
        first: npt.NDArray[np.float64],
        following: npt.NDArray[np.float64],
        box: Box | None = None,
    ) -> None:
        """Guess what each chunk covers.

        Args:
            counts: (n,) points in each chunk.
            first: (n, 2) X and Y of each chunk's first point, in any unit.
            following: (n, 2) the same of the chunk after it in the file.
            box: Lowest and highest X and Y of the cloud in that unit, where known.
        """
        self._counts = counts
        low = np.minimum(first.min(axis=0), following.min(axis=0))
        high = np.maximum(first.max(axis=0), following.max(axis=0))
        if box is not None and (box[0] <= low).all() and (box[1] >= high).all():
            low, high = box
        self._low, self._width = low, max(float((high - low).max()), 1e-12)
        self._way = self._ways(first, following, (high - low) / self._width)
        share = self._shares()
        self._need = counts @ share
        self._need[self._need < _WORTH * counts.sum()] = 0.0
        self._first = self._cells_of(first)
        self._touched = (share >= 4.0 / _STEPS).astype(np.float32)
        self._passed = self._first_passes()
        self.done = np.zeros(len(counts), dtype=np.int64)  # points decoded of each

    def _ways(
        self,
        first: npt.NDArray[np.float64],
        following: npt.NDArray[np.float64],
        reach: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.int64]:
        """(n, _STEPS) the cells each chunk passes through, as guessed."""
        start, end = (first - self._low) / self._width, (following - self._low) / self._width
        reach = np.maximum(reach, 1e-9)
        step = end - start
        axis = int(np.abs(step).sum(axis=0).argmax())
        at = (np.arange(_STEPS) + 0.5)[None, :, None] / _STEPS
        way = start[:, None, :] + step[:, None, :] * at
        # A file sorted by rows jumps back by a row's width at its end: its steps agree modulo
        # that width. A step is taken as wrapped round where that makes it more usual.
        left, right = _rows_ends(start[:, axis], float(reach[axis]))
        width = right - left
        turn = np.exp(2j * np.pi * step[:, axis] / width).mean()
        if abs(turn) > 0.5:
            usual = float(np.angle(turn)) / (2 * np.pi) * width
            along = step[:, axis] + np.round((usual - step[:, axis]) / width) * width
            inside = (start[:, axis] - left)[:, None] + along[:, None] * at[..., 0]
            way[..., axis] = left[:, None] + inside % (width * (1.0 + 1e-9))[:, None]
        cells = np.minimum((way * GRID).astype(np.int64), GRID - 1)
        return cells[..., 0] * GRID + cells[..., 1]

    def _shares(self) -> npt.NDArray[np.float32]:
        """(n, GRID²) the share of each chunk's way that lies in each cell."""
        n = len(self._way)
        flat = self._way + np.arange(n)[:, None] * (GRID * GRID)
        bins = np.bincount(flat.ravel(), minlength=n * GRID * GRID)
        return (bins.reshape(n, GRID * GRID) / _STEPS).astype(np.float32)

    def _first_passes(self) -> npt.NDArray[np.bool_]:
        """(n, _STEPS) where a way leaves a cell that it has been in for the first time."""
        leaves = np.ones(self._way.shape, dtype=bool)
        leaves[:, :-1] = self._way[:, 1:] != self._way[:, :-1]
        row, step = np.nonzero(leaves)
        _, first = np.unique(row * (GRID * GRID) + self._way[row, step], return_index=True)
        passed = np.zeros(self._way.shape, dtype=bool)
        passed[row[first], step[first]] = True
        return passed

    def _cells_of(self, places: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """(n,) the cell each of ``places`` (n, 2) lies in."""
        index = ((places - self._low) * (GRID / self._width)).clip(0, GRID - 1).astype(np.int64)
        return index[:, 0] * GRID + index[:, 1]

    def begin(self, limit: int) -> npt.NDArray[np.int64]:
        """Numbers of at most ``limit`` chunks whose beginnings lie in as many cells as can be."""
        order = np.argsort(self._first, kind="stable")
        cells = self._first[order]
        starts = np.r_[0, np.flatnonzero(np.diff(cells)) + 1]
        lengths = np.diff(np.r_[starts, len(cells)])
        rank = np.empty(len(cells), dtype=np.int64)  # the how-manieth of its cell a chunk is
        rank[order] = np.arange(len(cells)) - np.repeat(starts, lengths)
        return np.sort(np.argsort(rank, kind="stable")[:limit])

    def cells(self, x: npt.NDArray[np.int32], y: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """(GRID²,) how many of the points lie in each cell."""
        scale = np.float32(GRID / self._width)
        index = np.zeros(len(x), dtype=np.int32)
        for values, low in ((x, self._low[0]), (y, self._low[1])):
            place = values * scale
            place -= np.float32(low) * scale
            index *= GRID
            index += np.clip(place, 0, GRID - 1, out=place).astype(np.int32)
        return np.bincount(index, minlength=GRID * GRID)

    def choose(self, points: int, seen: npt.NDArray[np.int64]) -> list[int]:
        """Numbers of the chunks to decode whole, those first that cover most; none when all is.

        Args:
            points: About how many points they may hold in all.
            seen: (GRID²,) points decoded so far in each cell.
        """
        wanted = np.where(seen < _SEEN, self._need, 0.0).astype(np.float32)
        found: list[int] = []
        while points > 0:
            gain = self._touched @ wanted
            gain[found] = -1.0
            best = int(gain.argmax())
            if gain[best] <= 0.0:
                break
            found.append(best)
            points -= int(self._counts[best])
            wanted[self._touched[best] > 0] = 0.0
        return found

    def extend(self, points: int, seen: npt.NDArray[np.int64], looks: int = 1) -> dict[int, int]:
        """How far to decode which chunks for the cells still missing; none when all is covered.

        Those first that cover most cells for their cost. Arguments as for `choose`; a cell that
        should have been passed ``looks`` times and was not seen is taken as empty.
        """
        upto = self.done * _STEPS // np.maximum(self._counts, 1)
        been = self._passed & (np.arange(_STEPS) < upto[:, None])
        passes = np.bincount(self._way[been], minlength=GRID * GRID)
        wanted = (seen < _SEEN) & (self._need > 0.0) & (passes < looks)
        ahead = self._passed & ~been
        helps = ahead & wanted[self._way]
        useful = np.flatnonzero(helps.any(axis=1))
        rates = self._rates(np.cumsum(helps[useful], axis=1), useful).max(axis=1, initial=0.0)
        heap = list(zip((-rates).tolist(), useful.tolist(), strict=True))
        heapq.heapify(heap)
        found: dict[int, int] = {}
        while heap and points > 0:
            chunk = heapq.heappop(heap)[1]  # rates only fall, so the best is at the top
            gain = np.cumsum(ahead[chunk] & wanted[self._way[chunk]])
            rates = self._rates(gain[None], np.array([chunk]))[0]
            step = int(rates.argmax())
            if rates[step] <= 0.0:
                continue
            if heap and rates[step] < -heap[0][0]:
                heapq.heappush(heap, (-rates[step], chunk))
                continue
            share = min((step + 1) / _STEPS + (_BEYOND if looks < _WHOLE else 1.0), 1.0)
            points -= int(share * self._counts[chunk]) - found.get(chunk, 0)
            found[chunk] = int(share * self._counts[chunk])
            wanted[self._way[chunk, : step + 1]] = False
            heapq.heappush(heap, (-rates[step], chunk))
        return found

    def _rates(
        self, gains: npt.NDArray[Any], chunks: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """(m, _STEPS) cells gained for each point decoded up to each step, of (m,) chunks."""
        share = np.minimum((np.arange(_STEPS) + 1) / _STEPS + _BEYOND, 1.0)
        return np.asarray(gains / (share * self._counts[chunks, None] + CHUNK_POINTS))


def _rows_ends(
    x: npt.NDArray[np.float64], reach: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(n,) twice: where the rows begin and end that chunks with first points at ``x`` lie in.

    Rows of one file differ in length: tiles behind one another, an area with a ragged edge.
    """
    near = np.lib.stride_tricks.sliding_window_view(np.pad(x, _NEAR, mode="edge"), 2 * _NEAR + 1)
    low, high = near.min(axis=1), near.max(axis=1)
    beyond = (high - low) / _NEAR  # no chunk need begin at the very end
    low, high = np.maximum(low - beyond, 0.0), np.minimum(high + beyond, reach)
    return low, np.maximum(high, low + 1e-9)
