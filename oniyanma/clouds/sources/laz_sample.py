"""Which chunks of a LAZ file to decode so that a sample of it is fair and quick.

A chunk can only be decoded from its start, and its first point is stored uncompressed. So the
first points of all chunks draw the way the file takes over the ground for nothing. From that way
it is guessed which cells each chunk covers, and whole chunks are chosen until every cell that
matters is covered; what was decoded then corrects the guess. On a file sorted by rows this finds
every 1/32 cell with 0.1 % of the points by decoding 30 % of them, where equal beginnings of all
chunks miss a quarter of the cells.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

GRID = 32
_STEPS = 128
_WORTH = 0.0005  # a cell guessed to hold less than this share of the points is not sought
_SEEN = 20  # decoded points that make a cell covered

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
        share = self._shares(first, following, (high - low) / self._width)
        self._need = counts @ share
        self._need[self._need < _WORTH * counts.sum()] = 0.0
        self._first = self._cells_of(first)
        self._touched = (share >= 4.0 / _STEPS).astype(np.float32)
        self.chosen = np.zeros(len(counts), dtype=bool)

    def _shares(
        self,
        first: npt.NDArray[np.float64],
        following: npt.NDArray[np.float64],
        reach: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.float32]:
        """(n, GRID²) the share of each chunk's way that lies in each cell, as guessed."""
        start, end = (first - self._low) / self._width, (following - self._low) / self._width
        reach = np.maximum(reach, 1e-9)
        step = end - start
        axis = int(np.abs(step).sum(axis=0).argmax())
        # A file sorted by rows jumps back by the whole width at a row's end: its steps agree
        # modulo that width. A step is taken as wrapped round where that makes it more usual.
        turn = np.exp(2j * np.pi * step[:, axis] / reach[axis]).mean()
        if abs(turn) > 0.5:
            usual = float(np.angle(turn)) / (2 * np.pi) * reach[axis]
            along = step[:, axis]
            step[:, axis] = along + np.round((usual - along) / reach[axis]) * reach[axis]
        at = (np.arange(_STEPS) + 0.5)[None, :, None] / _STEPS
        way = (start[:, None, :] + step[:, None, :] * at) % (reach * (1.0 + 1e-9))
        cells = np.minimum((way * GRID).astype(np.int64), GRID - 1)
        flat = cells[..., 0] * GRID + cells[..., 1]
        flat += np.arange(len(first))[:, None] * (GRID * GRID)
        bins = np.bincount(flat.ravel(), minlength=len(first) * GRID * GRID)
        return (bins.reshape(len(first), GRID * GRID) / _STEPS).astype(np.float32)

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

    def choose(self, points: int, seen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Numbers of the chunks to decode whole next, in file order; none when all is covered.

        Args:
            points: About how many points they may hold in all.
            seen: (GRID²,) points decoded so far in each cell.
        """
        wanted = np.where(seen < _SEEN, self._need, 0.0).astype(np.float32)
        found = []
        while points > 0:
            gain = self._touched @ wanted
            gain[self.chosen] = -1.0
            best = int(gain.argmax())
            if gain[best] <= 0.0:
                break
            found.append(best)
            self.chosen[best] = True
            points -= int(self._counts[best])
            wanted[self._touched[best] > 0] = 0.0
        return np.array(sorted(found), dtype=np.int64)
