"""A cloud's coordinate reference system and units, from WKT, GeoTIFF keys or a .prj file.

Nothing here raises for what a file says: what can't be understood is unknown, with a warning.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import laspy
from pyproj.crs import CRS
from pyproj.exceptions import CRSError

from oniyanma.clouds.model import (
    DEGREE,
    FOOT,
    METRE,
    UNKNOWN_CRS,
    UNKNOWN_UNIT,
    US_FOOT,
    CloudWarning,
    Crs,
    Unit,
    Vec3,
)

# GeoTIFF 1.1 (OGC 19-008r4): key numbers and the range of EPSG codes; 32767 is user-defined.
MODEL_TYPE, GEODETIC, GEODETIC_UNIT = 1024, 2048, 2054
PROJECTED, PROJECTED_CITATION, PROJECTED_UNIT = 3072, 3073, 3076
UNIT_SIZE, USER_DEFINED = 3077, 32767  # metres of a linear unit that has no code
VERTICAL, VERTICAL_UNIT = 4096, 4099
CITATION, GEODETIC_CITATION = 1026, 2049
EPSG_CODES = range(1024, 32767)
_UNIT_CODES = {9001: METRE, 9002: FOOT, 9003: US_FOOT, 9102: DEGREE}
_MAX_WKT = 1 << 20


def unit_from_factor(name: str, metres: float) -> Unit:
    """The unit whose length is ``metres``; international and US survey feet are told apart."""
    for unit in (METRE, FOOT, US_FOOT):
        if unit.metres is not None and abs(metres - unit.metres) < 1e-8 * unit.metres:
            return unit
    return Unit(name or "unknown", metres) if metres > 0 else UNKNOWN_UNIT


def _angular(crs: CRS) -> bool:
    """Whether the horizontal part of ``crs`` is longitude and latitude."""
    return bool(crs.is_geographic or (crs.sub_crs_list and crs.sub_crs_list[0].is_geographic))


def _axis_unit(crs: CRS, *, vertical: bool) -> Unit:
    for axis in crs.axis_info:
        is_height = axis.direction.lower() in ("up", "down")
        if is_height != vertical:
            continue
        if "degree" in axis.unit_name.lower():
            return DEGREE
        if axis.direction.lower() in ("north", "south", "east", "west") and _angular(crs):
            return Unit(axis.unit_name or "unknown", None)  # grads or radians are no length
        return unit_from_factor(axis.unit_name, axis.unit_conversion_factor)
    return UNKNOWN_UNIT


def _stated_epsg(crs: CRS) -> int | None:
    """The EPSG code the definition itself carries (searching PROJ's database takes 0.1 s)."""
    stated = crs.to_json_dict().get("id") or {}
    code = str(stated.get("code", ""))
    return int(code) if stated.get("authority") == "EPSG" and code.isdigit() else None


def crs_from_pyproj(crs: CRS, wkt: str | None = None) -> Crs:
    """Our record of ``crs``; an unknown vertical unit is the horizontal one's business."""
    geographic = bool(crs.is_geographic)
    if crs.is_compound and crs.sub_crs_list:
        geographic = bool(crs.sub_crs_list[0].is_geographic)
    epsg = _stated_epsg(crs)
    if epsg is None and crs.is_compound and crs.sub_crs_list:
        epsg = _stated_epsg(crs.sub_crs_list[0])
    return Crs(
        name=crs.name or "unknown",
        epsg=epsg,
        wkt=wkt if wkt is not None else crs.to_wkt(),
        horizontal=_axis_unit(crs, vertical=False),
        vertical=_axis_unit(crs, vertical=True),
        geographic=geographic,
    )


def is_known(crs: Crs) -> bool:
    """Whether the file names a system; units alone name none."""
    return crs.name != "unknown" or crs.epsg is not None


def crs_title(crs: Crs) -> str:
    """What to call ``crs`` in a sentence: its name, and the EPSG code that tells it apart."""
    return f"{crs.name} (EPSG:{crs.epsg})" if crs.epsg is not None else crs.name


@lru_cache(maxsize=1024)
def same_crs(one: Crs, other: Crs) -> bool:
    """Whether coordinates of both mean the same places, as far as the files tell.

    Two unknown systems are the same, a known and an unknown one are not. A vertical system that
    only one of them names makes no difference; units that both name do.
    """
    if one == other:
        return True
    if not is_known(one) or not is_known(other):
        return is_known(one) == is_known(other)
    for ours, theirs in ((one.horizontal, other.horizontal), (one.vertical, other.vertical)):
        if UNKNOWN_UNIT not in (ours, theirs) and ours != theirs:
            return False
    (plain, _, height), (plain2, _, height2) = (c.name.partition(" + ") for c in (one, other))
    if height and height2 and height != height2:
        return False
    if one.epsg is not None and other.epsg is not None:
        return one.epsg == other.epsg
    if one.wkt is None or other.wkt is None:
        return plain == plain2
    try:
        return one.wkt == other.wkt or bool(CRS(one.wkt).equals(CRS(other.wkt)))
    except CRSError:
        return plain == plain2


def crs_from_wkt(text: str) -> tuple[Crs, list[CloudWarning]]:
    """The CRS of WKT (1, 2) or an EPSG code; unknown with a warning where PROJ can't read it."""
    text = text.strip("\0 \t\r\n")
    if not text.strip("'\""):
        return UNKNOWN_CRS, []
    if len(text) > _MAX_WKT:
        return UNKNOWN_CRS, [_damaged(f"its WKT is {len(text):,} characters long")]
    try:
        code = re.fullmatch(r"(?:urn:ogc:def:crs:)?EPSG:+(\d{1,6})", text, re.IGNORECASE)
        if code:
            return crs_from_pyproj(CRS.from_epsg(int(code.group(1)))), []
        if not re.match(r"[A-Za-z_]\w*\s*\[", text):  # PROJ would search its whole list of names
            return replace(UNKNOWN_CRS, wkt=text), [_damaged(f"{text[:40]!r} is no WKT")]
        return crs_from_pyproj(CRS.from_wkt(text), text), []
    except (CRSError, ValueError, TypeError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        return replace(UNKNOWN_CRS, wkt=text), [_damaged(f"PROJ can't read its WKT ({reason})")]


def _damaged(why: str) -> CloudWarning:
    return CloudWarning(
        "crs_damaged",
        f"The coordinate system may be incomplete: {why}; set it in the file or in a .prj.",
    )


@dataclass
class GeoKeys:
    """The keys of a GeoTIFF directory: number → short value, number or text."""

    shorts: dict[int, int] = field(default_factory=dict)
    doubles: dict[int, float] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    damaged: str = ""


def read_geo_keys(directory: bytes, ascii_params: bytes, double_params: bytes = b"") -> GeoKeys:
    """Keys of a GeoKeyDirectoryTag (uint16 quadruples after a header of four)."""
    keys = GeoKeys()
    if len(directory) < 8:
        keys.damaged = f"its GeoTIFF directory has {len(directory)} bytes, fewer than 8"
        return keys
    version, _, _, claimed = struct.unpack_from("<4H", directory)
    whole = (len(directory) - 8) // 8
    if version != 1:
        keys.damaged = f"its GeoTIFF directory has version {version} instead of 1"
    elif claimed > whole:
        keys.damaged = f"its GeoTIFF directory promises {claimed} keys and holds {whole}"
    last = 0
    for index in range(min(claimed, whole)):
        key, location, count, value = struct.unpack_from("<4H", directory, 8 + 8 * index)
        if key <= last:
            keys.damaged = keys.damaged or f"key {key} follows key {last} in its GeoTIFF directory"
            continue
        last = key
        if location == 0:
            keys.shorts[key] = value
        elif location == 34736 and 8 * value + 8 <= len(double_params):
            (keys.doubles[key],) = struct.unpack_from("<d", double_params, 8 * value)
        elif location == 34737:
            raw = ascii_params[value : value + count]
            if len(raw) < count:
                keys.damaged = keys.damaged or f"the text of its GeoTIFF key {key} is missing"
            keys.texts[key] = raw.decode("latin-1").strip("|\0 ")
    return keys


def _from_code(code: int | None) -> CRS | None:
    if code is None or code not in EPSG_CODES:
        return None
    try:
        return CRS.from_epsg(code)
    except CRSError:
        return None


def crs_from_geo_keys(keys: GeoKeys) -> tuple[Crs, list[CloudWarning]]:
    """The CRS of GeoTIFF keys: the projected key wins over the geographic one; 32767 is custom."""
    warnings = [_damaged(keys.damaged)] if keys.damaged else []
    shorts = keys.shorts
    model = shorts.get(MODEL_TYPE)
    projected = _from_code(shorts.get(PROJECTED)) if model != 2 else None
    geodetic = _from_code(shorts.get(GEODETIC))
    name = (
        keys.texts.get(PROJECTED_CITATION)
        or keys.texts.get(CITATION)
        or keys.texts.get(GEODETIC_CITATION)
        or ""
    )
    if projected is not None:
        crs = crs_from_pyproj(projected)
    elif geodetic is not None and model != 1 and PROJECTED not in shorts:
        crs = crs_from_pyproj(geodetic)
    else:
        crs = Crs(name=name or "unknown", geographic=model == 2)
    linear = _UNIT_CODES.get(shorts.get(PROJECTED_UNIT, 0))
    metres = keys.doubles.get(UNIT_SIZE, 0.0)
    if shorts.get(PROJECTED_UNIT) == USER_DEFINED and 0.0 < metres < 1e6:
        linear = unit_from_factor("", metres)
    if linear is not None and not crs.geographic:
        if crs.horizontal not in (UNKNOWN_UNIT, linear):
            warnings.append(
                CloudWarning(
                    "crs_unit_conflict",
                    f"The GeoTIFF unit key says {linear.name}, {crs.name} says "
                    f"{crs.horizontal.name}; the key is used.",
                )
            )
            crs = replace(crs, wkt=None)  # it would say the other unit wherever it is written
        crs = replace(crs, horizontal=linear)
    if crs.geographic and crs.horizontal == UNKNOWN_UNIT:
        crs = replace(crs, horizontal=DEGREE)
    vertical_unit = _UNIT_CODES.get(shorts.get(VERTICAL_UNIT, 0))
    vertical = _from_code(shorts.get(VERTICAL))
    if vertical_unit is None and vertical is not None and vertical.is_vertical:
        vertical_unit = _axis_unit(vertical, vertical=True)
    if vertical_unit is not None:
        crs = replace(crs, vertical=vertical_unit)
    if vertical is not None and vertical.is_vertical and crs.name != "unknown":
        crs = replace(crs, name=f"{crs.name} + {vertical.name}")
    return crs, warnings


def _records(header: laspy.LasHeader, record_id: int) -> list[bytes]:
    vlrs = list(header.vlrs) + list(header.evlrs or [])
    return [
        bytes(vlr.record_data_bytes())
        for vlr in vlrs
        if vlr.user_id == "LASF_Projection" and vlr.record_id == record_id
    ]


def crs_from_header(header: laspy.LasHeader) -> tuple[Crs, list[CloudWarning]]:
    """The CRS of a LAS header.

    WKT wins where its bit is set or the point format is 6 or above; otherwise GeoTIFF does. An
    empty record is skipped for the other kind (LAS 1.4 R15, section 2.6).
    """
    warnings: list[CloudWarning] = []
    prefer_wkt = bool(header.global_encoding.wkt) or header.point_format.id >= 6
    wkt: tuple[Crs, list[CloudWarning]] | None = None
    for raw in _records(header, 2112):
        text = raw.decode("utf-8", "replace")
        if text.strip("\0 \t\r\n'\""):
            wkt = crs_from_wkt(text)
            break
        warnings.append(CloudWarning("wkt_empty", "The WKT record is empty and was skipped."))
    directories = _records(header, 34735)
    geo: tuple[Crs, list[CloudWarning]] | None = None
    if directories:
        geo = crs_from_geo_keys(
            read_geo_keys(
                directories[0], *(b"".join(_records(header, id)[:1]) for id in (34737, 34736))
            )
        )
    if wkt is not None and not header.global_encoding.wkt and header.point_format.id >= 6:
        warnings.append(
            CloudWarning(
                "wkt_bit_clear",
                "The header's WKT bit is clear although point formats 6 and above need WKT; "
                "the WKT record is used.",
            )
        )
    order = (wkt, geo) if prefer_wkt else (geo, wkt)
    for candidate in order:
        if candidate is not None and candidate[0] != UNKNOWN_CRS:
            known, said = candidate
            if known.name == "unknown" and known.wkt is None:
                other = order[1] if candidate is order[0] else None
                if other is not None and other[0].name != "unknown":
                    return other[0], warnings + said + other[1]
            return known, warnings + said
    for candidate in order:
        if candidate is not None:
            warnings += candidate[1]
    return UNKNOWN_CRS, warnings


def crs_from_prj(path: Path) -> tuple[Crs, list[CloudWarning]]:
    """The CRS of the .prj file beside ``path``, unknown where there is none."""
    for suffix in (".prj", ".PRJ"):
        beside = path.with_suffix(suffix)
        try:
            with beside.open("rb") as stream:
                text = stream.read(_MAX_WKT + 1).decode("utf-8", "replace")
        except OSError:
            continue
        return crs_from_wkt(text)
    return UNKNOWN_CRS, []


def _plural(unit: Unit) -> str:
    return "degrees" if unit == DEGREE else f"{unit.name}s"


def settle(crs: Crs, low: Vec3 | None, high: Vec3 | None) -> tuple[Crs, list[CloudWarning]]:
    """Fill in the vertical unit, and say where the CRS is unknown or the points contradict it.

    Args:
        crs: What the file states.
        low: World minimum of the points, None where there are none.
        high: World maximum.
    """
    warnings: list[CloudWarning] = []
    if crs == UNKNOWN_CRS:
        return crs, [
            CloudWarning(
                "crs_unknown", "The file names no coordinate system; lengths have no known unit."
            )
        ]
    geocentric = bool(crs.wkt) and str(crs.wkt).lstrip().startswith(("GEOCCS", "GEODCRS"))
    if geocentric and crs.vertical == UNKNOWN_UNIT:
        crs = replace(crs, vertical=crs.horizontal)
    elif crs.vertical == UNKNOWN_UNIT and crs.horizontal != UNKNOWN_UNIT:
        guess = METRE if crs.geographic else crs.horizontal
        crs = replace(crs, vertical=guess)
        warnings.append(
            CloudWarning(
                "no_vertical_crs",
                f"The file names no vertical coordinate system; heights are taken as {guess.name}.",
            )
        )
    if crs.geographic:
        warnings.append(
            CloudWarning(
                "crs_geographic",
                f"Coordinates are longitude and latitude in {_plural(crs.horizontal)}; they are "
                "scaled for display.",
            )
        )
        if low is not None and high is not None:
            inside = low[0] >= -360 and high[0] <= 360 and low[1] >= -90 and high[1] <= 90
            if not inside:
                warnings.append(
                    CloudWarning(
                        "crs_contradicts_points",
                        f"{crs.name} is in degrees, but X runs {low[0]:g} to {high[0]:g} and Y "
                        f"{low[1]:g} to {high[1]:g}; the coordinate system is probably wrong.",
                    )
                )
    elif geocentric and low and high:
        middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
        radius = sum(v * v for v in middle) ** 0.5 * (crs.horizontal.metres or 1.0)
        if not 6.2e6 < radius < 6.6e6:
            warnings.append(
                CloudWarning(
                    "crs_contradicts_points",
                    f"The coordinate system is geocentric, but the points lie {radius / 1000:,.0f} "
                    "km from the Earth's centre; it is probably wrong.",
                )
            )
    return crs, warnings
