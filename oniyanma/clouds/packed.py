"""Packed records in memory.

NumPy indexes and joins structures field by field: ``records.take`` and ``records.compress`` are ten
times as fast as ``records[…]``, and so is `joined` beside ``np.concatenate``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

SCAN_ANGLE_STEP = 0.006
"""Degrees of one step of the scan angle in point formats 6-10 (LAS 1.4 R15, table 16)."""


def joined(parts: Sequence[npt.NDArray[Any]], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Packed records of ``dtype`` one after another, (n,); a single part as it is."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return np.zeros(0, dtype)
    rows = np.dtype(f"V{dtype.itemsize}")
    return np.concatenate([np.ascontiguousarray(part).view(rows) for part in parts]).view(dtype)
