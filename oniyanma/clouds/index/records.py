"""Records of any LAS point format as records of format 6, 7 or 8, as COPC needs them.

Formats 0-5 become 6-8 as LAS 1.4 R15 lays them out; waveform fields have no place there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import laspy
import numpy as np
import numpy.typing as npt

from oniyanma.clouds.packed import SCAN_ANGLE_STEP

WAVEFORM_FORMATS = frozenset({4, 5, 9, 10})


def copc_format(source: laspy.PointFormat) -> laspy.PointFormat:
    """The COPC point format that keeps all fields of ``source`` but waveforms."""
    names = set(source.dimension_names)
    id = 8 if "nir" in names else 7 if "red" in names else 6
    return laspy.PointFormat(id)


@dataclass(frozen=True, eq=False)
class RecordMap:
    """How packed records of ``source`` become records of ``target``; picklable."""

    source: np.dtype[Any]
    target: np.dtype[Any]
    legacy: bool

    @property
    def same(self) -> bool:
        """Whether nothing changes."""
        return self.source == self.target and not self.legacy

    def __call__(self, records: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """``records`` (n,) of the source dtype as records (n,) of the target dtype."""
        if self.same:
            return records
        out = np.zeros(len(records), self.target)
        names = self.source.names or ()
        special = {"bit_fields", "raw_classification"} if self.legacy else set()
        for name in self.target.names or ():
            if name in names and name not in special:
                out[name] = records[name]
        if self.legacy:
            bits, raw = records["bit_fields"], records["raw_classification"]
            out["bit_fields"] = (bits & 7) | ((bits >> 3 & 7) << 4)
            # direction and edge keep their bits; synthetic, key point, withheld move down
            out["classification_flags"] = (bits & 0xC0) | (raw >> 5)
            out["classification"] = raw & 31
            out["scan_angle"] = np.rint(records["scan_angle_rank"] / SCAN_ANGLE_STEP)
        return out


def record_map(header: laspy.LasHeader) -> tuple[RecordMap, int, int]:
    """The map for records of ``header``, the target's point format id and its extra bytes."""
    source = header.point_format
    target = copc_format(source)
    fields = list(target.dtype().descr)
    extras = [d for d in source.dtype().descr if d[0] in set(source.extra_dimension_names)]
    dtype = np.dtype(fields + extras)
    return (
        RecordMap(source.dtype(), dtype, source.id < 6),
        target.id,
        dtype.itemsize - target.dtype().itemsize,
    )
