"""Which octree cells become buckets: as coarse as fits in memory, each built alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.index.levels import INNER_POINTS
from oniyanma.clouds.index.tasks import FINE, Bucket, Run
from oniyanma.clouds.octree import MAX_DEPTH

Split = Callable[[int, int, list[tuple[int, int]]], list[Run]]

DEEPEST = MAX_DEPTH - FINE


def plan_buckets(
    runs: list[Run],
    most: int,
    split: Split,
    base: int = 0,
    prefix: int = 0,
    top: int = 0,
    above: tuple[int, ...] = (),
) -> list[Bucket]:
    """Buckets of at most ``most`` points for one cell: depth ``base``, code ``prefix``.

    A cell of the grid that holds more is split again with ``split(depth, code, slices)``;
    points that can't be told apart stay together. ``top`` is the coarsest depth that the cell's
    winner wins; ``above`` (base,) are the points of each cell around this one.
    """
    size = 1 << (3 * FINE)
    counts = np.zeros(size, np.int64)
    ranks = np.zeros(size, np.uint64)
    for run in runs:
        counts[run.cells] += np.diff(run.ends)
        if run.ranks is not None:
            ranks[run.cells] = np.maximum(ranks[run.cells], run.ranks)
    pyramid: list[npt.NDArray[Any]] = [counts]
    for _ in range(FINE):
        pyramid.append(pyramid[-1].reshape(-1, 8).sum(axis=1))
    pyramid.reverse()
    tops = _tops(counts, ranks, base, top)
    buckets: list[Bucket] = []
    stack = [(0, 0, above)]
    while stack:
        depth, cell, around = stack.pop()
        count = int(pyramid[depth][cell])
        if count == 0:
            continue
        if count > most and depth < FINE:
            stack.extend((depth + 1, cell * 8 + i, (*around, count)) for i in range(8))
            continue
        width = 1 << (3 * (FINE - depth))
        slices = [run.slice(cell * width, (cell + 1) * width) for run in runs]
        slices = [(start, n) for start, n in slices if n]
        whole = (prefix << (3 * depth)) | cell
        if count > most and base + depth <= DEEPEST:
            finer = split(base + depth, whole, slices)
            buckets += plan_buckets(
                finer, most, split, base + depth, whole, int(tops[depth][cell]), around
            )
            continue
        buckets.append(
            Bucket(
                base + depth, whole, count, slices, int(tops[depth][cell]), _quotas(count, around)
            )
        )
    return buckets


def _quotas(count: int, around: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Points that a cell of ``count`` points may give to each node around it."""
    totals = np.array(around, np.float64)
    return np.ceil(INNER_POINTS * (count / totals)).astype(np.int64)


def _tops(
    counts: npt.NDArray[np.int64], ranks: npt.NDArray[np.uint64], base: int, top: int
) -> list[npt.NDArray[np.int64]]:
    """For each grid depth, the coarsest depth that each cell's winner wins."""
    levels: list[tuple[Any, Any]] = [(ranks, counts > 0)]
    for _ in range(FINE):
        rank, some = levels[-1]
        levels.append((rank.reshape(-1, 8).max(axis=1), some.reshape(-1, 8).any(axis=1)))
    levels.reverse()
    tops: list[npt.NDArray[Any]] = [np.full(1, top, np.int64)]
    for depth in range(1, FINE + 1):
        rank, some = levels[depth]
        # one child of eight holds the winner: the first of those with the highest rank
        score = np.where(some, rank.astype(np.float64) + 1.0, 0.0).reshape(-1, 8)
        own = np.full(rank.shape, base + depth, np.int64)
        best = np.arange(len(score)) * 8 + score.argmax(axis=1)
        own[best] = tops[-1]
        tops.append(own)
    return tops
