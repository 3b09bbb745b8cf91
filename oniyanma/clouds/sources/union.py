"""One LAS header for tiles of different point formats: the fields of all of them.

Extra dimensions of one name are one field where one type holds the values of all; a tile whose
field of that name is another thing (other shape, other scale) keeps it under a name of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import laspy
import numpy as np
from laspy.point.dims import DimensionInfo

WKT = 2112  # the record of user LASF_Projection with a coordinate system as WKT
MAX_NAME = 32  # bytes of an extra dimension's name (LAS 1.4 R15, table 24)

Names = Mapping[str, str]
"""A tile's names of extra dimensions → those of the common header."""


def union(
    headers: Sequence[laspy.LasHeader], first: laspy.LasHeader
) -> tuple[laspy.LasHeader, list[Names], list[str]]:
    """A LAS 1.4 header with the fields of all ``headers``, under ``first``'s scales and bounds.

    Returns the header, for each of ``headers`` where its extra dimensions went (those that LAS
    can't describe, such as arrays of more than three numbers, went nowhere), and the names
    that were given because one name stood for different things.
    """
    standard = {name for h in headers for name in h.point_format.standard_dimension_names}
    kind = 8 if "nir" in standard else 7 if "red" in standard else 6
    header = laspy.LasHeader(version="1.4", point_format=kind)
    header.creation_date = first.creation_date
    header.scales, header.offsets = first.scales.copy(), first.offsets.copy()
    header.mins, header.maxs = np.array(first.mins), np.array(first.maxs)
    header.point_count = first.point_count
    header.global_encoding.value = first.global_encoding.value & 1
    taken = set(header.point_format.dimension_names)
    fields: dict[Hashable, tuple[str, DimensionInfo, np.dtype[Any]]] = {}
    names: list[Names] = []
    given: list[str] = []
    for one in headers:
        theirs: dict[str, str] = {}
        for dim in one.point_format.extra_dimensions:
            if dim.dtype is None or (dim.num_elements > 3 and dim.dtype.base != np.uint8):
                continue
            dtype = np.dtype(dim.dtype)
            kin, known = _kin(dim), None
            for key, (_, other, held) in fields.items():
                wide = _both(dtype, held)
                if wide is not None and _kin(other) == kin:
                    known = key
                    fields[key] = (fields[key][0], other, wide)
                    break
            if known is None:
                name = _free(dim.name, taken)
                taken.add(name)
                if name != dim.name:
                    given.append(name)
                known = name
                fields[known] = (name, dim, dtype)
            theirs[dim.name] = fields[known][0]
        names.append(theirs)
    params = [
        laspy.ExtraBytesParams(
            name,
            dtype,
            dim.description,
            dim.offsets,
            dim.scales,
            dim.no_data if dtype == dim.dtype else None,
        )
        for name, dim, dtype in fields.values()
    ]
    if params:
        header.add_extra_dims(params)
    projection = [vlr for vlr in first.vlrs if vlr.user_id == "LASF_Projection"]
    header.vlrs.extend(projection)
    header.global_encoding.wkt = any(vlr.record_id == WKT for vlr in projection)
    return header, names, given


def _kin(dim: DimensionInfo) -> Hashable:
    """What must be equal for two extra dimensions to be one field, their types aside."""
    scales = None if dim.scales is None else tuple(np.asarray(dim.scales).tolist())
    offsets = None if dim.offsets is None else tuple(np.asarray(dim.offsets).tolist())
    return dim.name, dim.num_elements, scales, offsets


def _both(one: np.dtype[Any], other: np.dtype[Any]) -> np.dtype[Any] | None:
    """The type that holds the values of both; None where there is none in LAS."""
    if one == other:
        return one
    if one.shape or other.shape:
        return None
    wide = np.promote_types(one, other)
    exact = wide.kind != "f" or all(t.kind == "f" or t.itemsize < 8 for t in (one, other))
    return wide if exact and wide.kind in "iuf" and wide.itemsize <= 8 else None


def _free(name: str, taken: set[str]) -> str:
    """``name``, with a number behind it where it is taken, in at most 32 bytes."""
    result, number = name, 1
    while result in taken:
        number += 1
        end = f"_{number}"
        stem = name.encode()[: MAX_NAME - len(end)].decode("utf-8", "ignore")
        result = stem + end
    return result
