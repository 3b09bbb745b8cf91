"""What is known of a cloud: its facts, and how they are written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oniyanma.clouds.model import CloudInfo, Crs, Dimension
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


def info_json(info: CloudInfo) -> dict[str, Any]:
    """``info`` as plain JSON values, in the words of `getCloudInfo`."""
    bounds = None
    if info.bounds_min is not None and info.bounds_max is not None:
        bounds = {"min": list(info.bounds_min), "max": list(info.bounds_max)}
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
        "offset": list(info.offset),
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
