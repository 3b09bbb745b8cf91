"""Small clouds made on the spot, for the tests of the sources."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import numpy.typing as npt

from oniyanma.clouds.inspect import inspect
from oniyanma.clouds.model import CloudInfo, Source


def write_las(
    path: Path,
    count: int = 100,
    *,
    point_format: int = 7,
    version: str = "1.4",
    seed: int = 1,
    **fields: Any,
) -> Path:
    """A LAS or LAZ of random points in a box of 100 units; ``fields`` set further dimensions."""
    header = laspy.LasHeader(version=version, point_format=point_format)
    header.scales = np.array([0.01, 0.01, 0.01])
    header.offsets = np.array([500_000.0, 5_000_000.0, 0.0])
    las = laspy.LasData(header)
    places = np.random.default_rng(seed).integers(0, 10_000, (count, 3), dtype=np.int32)
    las.X, las.Y, las.Z = places.T
    for name, values in fields.items():
        setattr(las, name, values)
    las.write(str(path))
    return path


def patch(path: Path, at: int, kind: str, value: int | float) -> Path:
    """Overwrite ``value`` (struct ``kind``, little-endian) at byte ``at`` of ``path``."""
    raw = bytearray(path.read_bytes())
    struct.pack_into(f"<{kind}", raw, at, value)
    path.write_bytes(raw)
    return path


def codes(info: CloudInfo) -> set[str]:
    """The codes of the warnings of ``info``."""
    return {warning.code for warning in info.warnings}


def message(info: CloudInfo, code: str) -> str:
    """The text of the warning ``code``; it must be there once."""
    (found,) = [warning.message for warning in info.warnings if warning.code == code]
    return found


def read(source: Source, chunk_size: int = 1_000_000) -> npt.NDArray[Any]:
    """All records of ``source`` as one structured array."""
    parts = [record.array for record in source.records(chunk_size)]
    dtype = source.header.point_format.dtype()
    return np.concatenate(parts) if parts else np.zeros(0, dtype=dtype)


def world(source: Source, array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """World coordinates (n, 3) of records."""
    header = source.header
    ints = np.stack([array[axis] for axis in "XYZ"], axis=1)
    return ints * np.asarray(header.scales) + np.asarray(header.offsets)


def text_info(path: Path, text: str) -> CloudInfo:
    """Write ``text`` to ``path`` and inspect it."""
    path.write_text(text, encoding="utf-8", newline="")
    return inspect(path)
