"""Which parts of a LAZ file to decode so that a sample of it is fair and quick.

A chunk can only be decoded from its start, and its first point is stored uncompressed. So the
first points of all chunks draw the way the file takes over the ground for nothing. From that way
it is guessed which cells each chunk covers, and whole chunks are chosen until every cell is
covered; of the others only the beginning is decoded. On a file sorted by rows this finds every
1/32 cell that matters with a third of the points, where equal beginnings of all chunks miss a
quarter of the cells.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

GRID = 32
_STEPS = 128
_WORTH = 0.0005  # a cell guessed to hold less than this share of the points is not sought


def plan(
    counts: npt.NDArray[np.int64],
    first: npt.NDArray[np.float64],
    following: npt.NDArray[np.float64],
    budget: int,
    base: int,
    box: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None,
) -> npt.NDArray[np.int64]:
    """How many points of each chunk to decode.

    Args:
        counts: (n,) points in each candidate chunk.
        first: (n, 2) X and Y of each chunk's first point, in any unit.
        following: (n, 2) the same of the chunk after it in the file.
        budget: Points to decode in all, about.
        base: Points to decode of every chunk at least.
        box: Lowest and highest X and Y of the cloud, in the unit of ``first``, where known.

    Returns:
        (n,) int64, between 0 and ``counts``.
    """
    take = np.minimum(base, counts)
    if counts.sum() <= budget:
        return counts.copy()
    cover = _coverage(first, following, box) * counts[:, None]
    need = cover.sum(axis=0)
    need[need < _WORTH * counts.sum()] = 0.0
    touched = cover > counts[:, None] / (4.0 * _STEPS)
    left = int(budget - take.sum())
    open_cells = need > 0
    chosen = np.zeros(len(counts), dtype=bool)
    while left > 0 and not chosen.all():
        gain = touched @ np.where(open_cells, need, 0.0)
        gain[chosen] = -1.0
        best = int(gain.argmax())
        if gain[best] <= 0.0 and not (need > 0).any():
            break
        if gain[best] <= 0.0:
            open_cells = need > 0  # all covered once: begin another round
            gain = touched @ need
            gain[chosen] = -1.0
            best = int(gain.argmax())
        chosen[best] = True
        left -= int(counts[best] - take[best])
        open_cells &= ~touched[best]
    return np.where(chosen, counts, take)


def _coverage(
    first: npt.NDArray[np.float64],
    following: npt.NDArray[np.float64],
    box: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None,
) -> npt.NDArray[np.float32]:
    """(n, GRID²) the share of each chunk's way that lies in each cell, as guessed."""
    low = np.minimum(first.min(axis=0), following.min(axis=0))
    high = np.maximum(first.max(axis=0), following.max(axis=0))
    if box is not None and (box[0] <= low).all() and (box[1] >= high).all():
        low, high = box
    width = np.full(2, max(float((high - low).max()), 1e-12))
    start, end = (first - low) / width, (following - low) / width
    axis = int(np.abs(end - start).sum(axis=0).argmax())
    step = end - start
    # A file sorted by rows jumps back by the whole width at a row's end: its steps agree modulo
    # one. A step is taken as wrapped round where that brings it nearer to the usual one.
    reach = (high - low) / width
    turn = np.exp(2j * np.pi * step[:, axis] / reach[axis]).mean()
    if abs(turn) > 0.5:
        usual = float(np.angle(turn)) / (2 * np.pi) * reach[axis]
        along = step[:, axis]
        step[:, axis] = along + np.round((usual - along) / reach[axis]) * reach[axis]
    at = np.linspace(0.0, 1.0, _STEPS, endpoint=False)[None, :, None]
    way = start[:, None, :] + step[:, None, :] * at
    way %= np.maximum(reach, 1e-9) * (1.0 + 1e-9)
    cells = np.minimum((way * GRID).astype(np.int64), GRID - 1)
    flat = cells[..., 0] * GRID + cells[..., 1]
    flat += np.arange(len(first))[:, None] * (GRID * GRID)
    bins = np.bincount(flat.ravel(), minlength=len(first) * GRID * GRID)
    return (bins.reshape(len(first), GRID * GRID) / _STEPS).astype(np.float32)
