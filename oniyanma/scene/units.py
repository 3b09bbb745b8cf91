"""What a coordinate is worth: the CRS's units, in metres where they are known.

A number that people sign says its unit. `Frame` is what measuring and the queries take from a
`Crs`: a unit of length in plan, one for heights, and how the two go together. A geographic CRS
has no length in plan; there everything is measured on the ellipsoid, in metres.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import METRE, Crs, Unit

if TYPE_CHECKING:
    import pyproj


class MeasureError(ValueError):
    """A measurement that can't be answered: one sentence saying what, where, what to do."""


_POWERS = {1: ("", "metres"), 2: ("²", "squareMetres"), 3: ("³", "cubicMetres")}


@dataclass(frozen=True)
class Frame:
    """The units of a scene: ``horizontal`` of lengths in plan, ``vertical`` of heights.

    In a geographic frame ``horizontal`` is the metre: lengths are geodesic, never degrees.
    ``notes`` says, a sentence each, what the CRS left open and was assumed.
    """

    crs: Crs
    horizontal: Unit
    vertical: Unit
    notes: tuple[str, ...] = ()

    @property
    def geographic(self) -> bool:
        return self.crs.geographic

    @property
    def z_factor(self) -> float:
        """How many horizontal units one vertical unit is; 1 where either is unknown."""
        if self.horizontal.name == self.vertical.name:
            return 1.0
        if self.horizontal.metres is None or self.vertical.metres is None:
            return 1.0
        return self.vertical.metres / self.horizontal.metres

    def length(self, value: float, key: str = "value", power: int = 1) -> dict[str, Any]:
        """A length (area, volume) in the unit of the plan, and in metres beside it.

        ``key`` "value" gives value, unit and metres; another key, "plan" say, gives plan and
        planMetres (planSquareMetres, planCubicMetres): its unit is the answer's own.
        """
        return _with_metres(value, self.horizontal, key, power)

    def height(self, value: float, key: str = "value") -> dict[str, Any]:
        """A height or a difference of heights in the vertical unit, and in metres beside it."""
        answer = _with_metres(value, self.vertical, key, 1)
        if key != "value":
            answer[f"{key}Unit"] = self.vertical.name
        return answer

    def geod(self) -> pyproj.Geod:
        """The ellipsoid of a geographic frame. MeasureError where the CRS does not name one."""
        geod = _geod(self.crs)
        if geod is None:
            raise MeasureError(
                f"The coordinates are degrees ({self.crs.name}) and the CRS names no ellipsoid, "
                "so nothing can be measured; give the file a CRS with an EPSG code or WKT."
            )
        return geod

    def refuse_degrees(self, what: str) -> None:
        """MeasureError in a geographic frame: ``what`` needs a plan in a unit of length."""
        if self.geographic:
            raise MeasureError(
                f"{what} needs a projected CRS, and the coordinates of this scene are degrees "
                f"({self.crs.name}); convert the cloud to a projected CRS first."
            )


def _with_metres(value: float, unit: Unit, key: str, power: int) -> dict[str, Any]:
    suffix, name = _POWERS[power]
    metres = None if unit.metres is None else value * unit.metres**power
    if key == "value":
        return {"value": value, "unit": unit.name + suffix, name: metres}
    return {key: value, f"{key}{name[0].upper()}{name[1:]}": metres}


def frame_of(crs: Crs) -> Frame:
    """The frame of a scene in ``crs``: what is unknown is filled in, and ``notes`` says so."""
    if crs.geographic:
        if crs.vertical.metres is None:
            return Frame(
                crs, METRE, METRE, ("The CRS names no vertical unit: heights are taken as metres.",)
            )
        return Frame(crs, METRE, crs.vertical)
    if crs.horizontal.metres is None:
        note = "The cloud names no unit of length: lengths are in its own unit, and not in metres."
        vertical = crs.vertical if crs.vertical.metres is not None else crs.horizontal
        return Frame(crs, crs.horizontal, vertical, (note,))
    if crs.vertical.metres is None:
        plan = crs.horizontal.name
        note = f"The CRS names no vertical unit: heights are taken in its unit in plan ({plan})."
        return Frame(crs, crs.horizontal, crs.horizontal, (note,))
    return Frame(crs, crs.horizontal, crs.vertical)


@lru_cache(maxsize=16)
def _geod_of(text: str) -> pyproj.Geod | None:
    import pyproj
    from pyproj.exceptions import CRSError

    try:
        return pyproj.CRS.from_user_input(text).get_geod()
    except CRSError:
        return None


def _geod(crs: Crs) -> pyproj.Geod | None:
    for text in (crs.wkt, f"EPSG:{crs.epsg}" if crs.epsg else None):
        if text and (geod := _geod_of(text)) is not None:
            return geod
    return None


def geocentric(points: npt.NDArray[np.float64], frame: Frame) -> npt.NDArray[np.float64]:
    """Degrees and heights (n, 3: longitude, latitude, height) as metres about the first point.

    Earth-centred coordinates on the frame's ellipsoid (EPSG method 9602), less those of the
    first point; good for angles and areas of a site, whose lines are then straight in space.
    """
    geod = frame.geod()
    metres = 1.0 if frame.vertical.metres is None else frame.vertical.metres
    lon, lat = np.radians(points[:, 0]), np.radians(points[:, 1])
    h = points[:, 2] * metres
    nu = geod.a / np.sqrt(1.0 - geod.es * np.sin(lat) ** 2)
    xyz: npt.NDArray[np.float64] = np.column_stack(
        [
            (nu + h) * np.cos(lat) * np.cos(lon),
            (nu + h) * np.cos(lat) * np.sin(lon),
            (nu * (1.0 - geod.es) + h) * np.sin(lat),
        ]
    )
    xyz -= xyz[0].copy()
    return xyz


def geodesic(points: npt.NDArray[np.float64], frame: Frame) -> npt.NDArray[np.float64]:
    """Lengths in metres of the geodesic lines between successive points (n, ≥2) in degrees."""
    geod = frame.geod()
    _, _, length = geod.inv(points[:-1, 0], points[:-1, 1], points[1:, 0], points[1:, 1])
    return np.asarray(length, dtype=np.float64)


def crs_facts(frame: Frame) -> Mapping[str, Any]:
    """The frame in words for an answer: crs, unit in plan and of heights, and notes if any."""
    facts: dict[str, Any] = {
        "crs": frame.crs.name,
        "horizontalUnit": frame.horizontal.name,
        "verticalUnit": frame.vertical.name,
    }
    if frame.notes:
        facts["notes"] = list(frame.notes)
    return facts


def finite(value: float) -> float | None:
    """``value``, or None where JSON has no word for it (NaN, infinite)."""
    return float(value) if math.isfinite(value) else None
