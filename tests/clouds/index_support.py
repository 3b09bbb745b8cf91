"""Clouds made for the tests of the index, the store and the export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import laspy
import numpy as np
import numpy.typing as npt

from oniyanma.clouds.open import open_source


def write_las(
    path: Path,
    xyz: npt.NDArray[Any],
    *,
    point_format: int = 7,
    scale: float = 0.01,
    offset: tuple[float, float, float] = (500_000.0, 5_000_000.0, 100.0),
    seed: int = 1,
    extra: bool = False,
) -> Path:
    """A LAS or LAZ file of LAS integers ``xyz`` (n, 3) with every other field random."""
    header = laspy.LasHeader(
        point_format=point_format, version="1.4" if point_format > 5 else "1.3"
    )
    header.scales, header.offsets = [scale] * 3, list(offset)
    if extra:
        header.add_extra_dim(laspy.ExtraBytesParams("quality", "f4"))
    rng = np.random.default_rng(seed)
    dtype = header.point_format.dtype()
    raw = rng.integers(0, 256, (len(xyz), dtype.itemsize), dtype=np.uint8)
    array = raw.reshape(-1).view(dtype)
    for axis, name in enumerate("XYZ"):
        array[name] = xyz[:, axis]
    if "gps_time" in (dtype.names or ()):
        array["gps_time"] = rng.uniform(0, 1e6, len(xyz))
    if extra:
        array["quality"] = rng.uniform(0, 1, len(xyz))
    with laspy.open(str(path), mode="w", header=header) as writer:
        writer.write_points(laspy.PackedPointRecord(array, header.point_format))
    return path


def terrain(count: int, seed: int = 1, extent: int = 100_000) -> npt.NDArray[np.int64]:
    """Random ground (n, 3): hills over a square, denser at one side."""
    rng = np.random.default_rng(seed)
    x = (rng.random(count) ** 1.5 * extent).astype(np.int64)
    y = (rng.random(count) * extent).astype(np.int64)
    z = (2000 * np.sin(x / 9000) + 2000 * np.cos(y / 7000)).astype(np.int64)
    return np.stack([x, y, z + rng.integers(0, 300, count)], axis=1)


def all_records(path: Path | str) -> npt.NDArray[Any]:
    """Every packed record of a file, in file order."""
    source = open_source(str(path))
    chunks = [chunk.array for chunk in source.records()]
    return np.concatenate(chunks) if chunks else np.zeros(0, source.header.point_format.dtype())


def same_points(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    """Whether two arrays of packed records hold the same records, in whatever order."""
    if a.dtype != b.dtype or len(a) != len(b):
        return False
    prints = [_fingerprints(x) for x in (a, b)]
    return bool((np.sort(prints[0]) == np.sort(prints[1])).all())


def _fingerprints(records: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """A 64-bit FNV-1a hash of each record's bytes."""
    if not len(records):
        return np.zeros(0, np.uint64)
    rows = np.ascontiguousarray(records).view(np.uint8).reshape(len(records), -1)
    out = np.full(len(records), 0xCBF29CE484222325, np.uint64)
    for column in range(rows.shape[1]):
        out ^= rows[:, column]
        out *= np.uint64(0x100000001B3)
    return out
