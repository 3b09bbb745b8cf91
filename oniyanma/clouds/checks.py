"""What is measured on every point while it streams, and the oddities that follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import laspy
import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import UNKNOWN_UNIT, CloudInfo, CloudWarning, Vec3

GPS_WEEK_SECONDS = 604_800


def world_bounds(
    low: npt.ArrayLike, high: npt.ArrayLike, scale: npt.ArrayLike, offset: npt.ArrayLike
) -> tuple[Vec3, Vec3]:
    """World corners of a box of LAS integers: ``X * scale + offset`` in float64."""
    ends = np.asarray([low, high], dtype=np.float64) * np.asarray(scale) + np.asarray(offset)
    return _vec(ends.min(axis=0)), _vec(ends.max(axis=0))


def _vec(values: npt.NDArray[np.float64]) -> Vec3:
    x, y, z = (float(v) for v in values)
    return x, y, z


def color_depth(rgb_max: int) -> Literal[8, 16] | None:
    """8 where no value of the whole cloud exceeds 255, None where every value is 0."""
    if rgb_max <= 0:
        return None
    return 8 if rgb_max <= 255 else 16


class PointChecks:
    """Counts, bounds, classes, returns and colour range of records as they pass by."""

    def __init__(self, header: laspy.LasHeader) -> None:
        self._header = header
        names = set(header.point_format.dimension_names)
        self._colour = "red" in names
        self._gps = "gps_time" in names
        self._legacy = header.point_format.id < 6
        self.points = 0
        self.low = np.full(3, np.iinfo(np.int64).max, dtype=np.int64)
        self.high = np.full(3, np.iinfo(np.int64).min, dtype=np.int64)
        self.classes = np.zeros(256, dtype=np.int64)
        self.returns = np.zeros(256, dtype=np.int64)
        self.rgb_max = 0
        self.gps_bad = 0
        self.gps_max = -np.inf

    def add(self, record: laspy.PackedPointRecord) -> None:
        """Take ``record`` (any number of points) into account."""
        array = record.array
        if not len(array):
            return
        self.points += len(array)
        for axis, name in enumerate("XYZ"):
            self.low[axis] = min(self.low[axis], array[name].min())
            self.high[axis] = max(self.high[axis], array[name].max())
        if self._legacy:
            # Formats 0-5: class in the low 5 bits of its byte, return number in the low 3.
            raw = np.bincount(array["raw_classification"], minlength=256)
            self.classes[:32] += raw.reshape(8, 32).sum(axis=0)
            bits = np.bincount(array["bit_fields"], minlength=256)
            self.returns[:8] += bits.reshape(32, 8).sum(axis=0)
        else:
            self.classes += np.bincount(array["classification"], minlength=256)
            bits = np.bincount(array["bit_fields"], minlength=256)
            self.returns[:16] += bits.reshape(16, 16).sum(axis=0)
        if self._colour:
            channels = ("red", "green", "blue")
            self.rgb_max = max(self.rgb_max, *(int(array[name].max()) for name in channels))
        if self._gps:
            times = array["gps_time"]
            top = float(times.max())
            if not np.isfinite(top) or not np.isfinite(float(times.min())):
                finite = np.isfinite(times)
                self.gps_bad += int(len(times) - finite.sum())
                top = float(times[finite].max()) if finite.any() else -np.inf
            self.gps_max = max(self.gps_max, top)

    def apply(self, info: CloudInfo) -> CloudInfo:
        """``info`` with what the points say, and a warning where the header said otherwise."""
        found: list[CloudWarning] = []
        low: Vec3 | None = None
        high: Vec3 | None = None
        if self.points:
            low, high = world_bounds(self.low, self.high, info.scale, info.offset)
            found += self._bounds_warnings(info, low, high)
        if self._colour and self.points and self.rgb_max == 0:
            found.append(
                CloudWarning("rgb_all_zero", "Every RGB value is 0, so the cloud has no colour.")
            )
        elif self._colour and 0 < self.rgb_max <= 255:
            found.append(
                CloudWarning(
                    "rgb_8_bit",
                    f"RGB holds 8-bit values (largest {self.rgb_max}) in 16-bit fields; "
                    "they are shown at full range.",
                )
            )
        if self.gps_bad:
            found.append(
                CloudWarning(
                    "gps_time_not_finite",
                    f"{counted(self.gps_bad, 'point has', 'points have')} a GPS time that is no "
                    "number, left out of time ranges.",
                )
            )
        if info.gps_time == "week" and self.gps_max > GPS_WEEK_SECONDS:
            found.append(
                CloudWarning(
                    "gps_time_encoding",
                    f"The header says GPS seconds of the week, but the largest is {self.gps_max:g};"
                    " no date is shown.",
                )
            )
        return replace(
            info,
            points=self.points,
            bounds_min=low,
            bounds_max=high,
            color_depth=color_depth(self.rgb_max),
            classes=_counts(self.classes),
            returns=_counts(self.returns),
            warnings=merge(info.warnings, found),
            checked=True,
        )

    def _bounds_warnings(self, info: CloudInfo, low: Vec3, high: Vec3) -> list[CloudWarning]:
        if info.bounds_min is None or info.bounds_max is None:
            return []
        said = np.array([info.bounds_min, info.bounds_max])
        true = np.array([low, high])
        slack = np.abs(info.scale) * 1.001 + 1e-9 * np.abs(true)
        worst = np.abs(said - true)
        if np.isfinite(said).all() and (worst <= slack).all():
            return []
        finite = np.where(np.isfinite(worst), worst, -1.0)
        by, axis = float(finite.max()), int(finite.argmax()) % 3
        known = info.crs.vertical if axis == 2 else info.crs.horizontal
        unit = "" if known == UNKNOWN_UNIT else f" {known.name}"
        much = f"by up to {by:.6g}{unit}" if by >= 0 else "and are no numbers"
        return [
            CloudWarning(
                "bounds_mismatch",
                f"The header's bounds differ from the points' {much}; the points' are used.",
            )
        ]


def counted(number: int, one: str, many: str) -> str:
    """``number`` with the words that go with it: "1 point has", "1,065 points have"."""
    return f"{number:,} {one if number == 1 else many}"


def _counts(bins: npt.NDArray[np.int64]) -> dict[int, int]:
    return {int(value): int(bins[value]) for value in np.flatnonzero(bins)}


def merge(known: Sequence[CloudWarning], found: Sequence[CloudWarning]) -> tuple[CloudWarning, ...]:
    """Warnings in order, the newest of each code kept, so a second pass adds none twice."""
    by_code = {warning.code: warning for warning in known}
    by_code.update({warning.code: warning for warning in found})
    return tuple(by_code.values())
