"""What is known of a cloud: its facts, and how they are written as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from oniyanma.clouds.model import CloudInfo, Crs, Dimension, Vec3
from oniyanma.clouds.open import open_source


def inspect(
    path: str | Path, *, header_only: bool = False, options: Mapping[str, Any] | None = None
) -> CloudInfo:
    """Open ``path`` and read every point, so that count, bounds and classes are the points' own.

    Args:
        path: Whatever `open_source` takes.
        header_only: Read no more than opening needs.
        options: As for `open_source`.

    Raises:
        CloudError: it can't be opened.
    """
    source = open_source(path, options=options)
    try:
        if not header_only:
            for _ in source.records():
                pass
        return source.info
    finally:
        source.close()


def decimals_of(info: CloudInfo, axis: int) -> int | None:
    """Decimals of the stored coordinates: the scale's, or the offset's where it has more.

    None where a scale is no decimal number of use, such as 1/3.
    """
    exponents = [
        Decimal(repr(float(value))).normalize().as_tuple().exponent
        for value in (info.scale[axis], info.offset[axis])
    ]
    most = max(-e if isinstance(e, int) else 16 for e in exponents)
    return max(most, 0) if most < 16 else None


def stored(value: float, info: CloudInfo, axis: int) -> float:
    """``value`` as the decimal number that is stored, where it is one but for float noise.

    ``X * scale + offset`` in float64 is 848899.7000000001 where 848899.70 is stored. A value that
    lies between two stored ones, as a header's may, stays as it is.
    """
    decimals = decimals_of(info, axis)
    if decimals is None or not math.isfinite(value):
        return value
    rounded = round(value, decimals)
    near = abs(rounded - value) <= 1e-3 * abs(info.scale[axis])
    return (rounded if near else value) + 0.0  # -0.0 + 0.0 is 0.0


def stored_corner(corner: Vec3, info: CloudInfo) -> list[float]:
    """A corner of ``info``'s bounds as the decimal numbers that are stored; see `stored`."""
    return [stored(value, info, axis) for axis, value in enumerate(corner)]


def info_json(info: CloudInfo) -> dict[str, Any]:
    """``info`` as plain JSON values, in the words of `getCloudInfo`."""
    bounds = None
    if info.bounds_min is not None and info.bounds_max is not None:
        low, high = info.bounds_min, info.bounds_max
        bounds = {"min": stored_corner(low, info), "max": stored_corner(high, info)}
    return {
        "path": info.path,
        "name": info.name,
        "format": info.format,
        "version": info.version,
        "pointFormat": info.point_format,
        "points": info.points,
        "declaredPoints": info.declared_points,
        "bounds": bounds,
        "scale": list(info.scale),
        "offset": [value + 0.0 for value in info.offset],  # a header's -0.0 is 0.0
        "crs": crs_json(info.crs),
        "unit": info.crs.horizontal.name,
        "dimensions": [dimension_json(dim) for dim in info.dimensions],
        "colorDepth": info.color_depth,
        "classes": {str(k): v for k, v in info.classes.items()},
        "returns": {str(k): v for k, v in info.returns.items()},
        "gpsTime": info.gps_time,
        "software": info.software,
        "created": info.created,
        "vlrs": list(info.vlrs),
        "warnings": [{"code": w.code, "message": w.message} for w in info.warnings],
        "checked": info.checked,
        "headerHash": info.header_hash,
        "extra": dict(info.extra),
    }


def crs_json(crs: Crs) -> dict[str, Any]:
    """A CRS as JSON; unknown parts are null, units by name."""
    return {
        "name": crs.name,
        "epsg": crs.epsg,
        "wkt": crs.wkt,
        "unit": crs.horizontal.name,
        "unitMetres": crs.horizontal.metres,
        "verticalUnit": crs.vertical.name,
        "verticalUnitMetres": crs.vertical.metres,
        "geographic": crs.geographic,
    }


def dimension_json(dim: Dimension) -> dict[str, Any]:
    """One attribute as JSON; scale, offset and no-data only where there are any."""
    result: dict[str, Any] = {"name": dim.name, "type": dim.dtype, "extra": dim.extra}
    if dim.description:
        result["description"] = dim.description
    if dim.scale is not None:
        result["scale"], result["offset"] = dim.scale, dim.offset
    if dim.no_data is not None:
        result["noData"] = dim.no_data
    return result
