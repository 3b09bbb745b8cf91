"""Formats that are not LAS: columns of numbers turned into LAS 1.4 records.

A format's reader yields blocks of columns. One pass over them finds count, bounds and ranges (and
keeps a thinned sample); then the header is made, with the finest power-of-ten scale that fits
int32, and `records` streams the blocks again as records of point format 6 or 7.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, Protocol

import laspy
import numpy as np
import numpy.typing as npt
from laspy.vlrs.known import WktCoordinateSystemVlr

from oniyanma.clouds import crs as crs_module
from oniyanma.clouds.checks import PointChecks, counted, merge
from oniyanma.clouds.model import UNKNOWN_CRS, CloudError, CloudInfo, CloudWarning, Crs
from oniyanma.clouds.packed import SCAN_ANGLE_STEP
from oniyanma.clouds.sources.las import dimensions_of, even, vec3

Block = Mapping[str, npt.NDArray[Any]]

MAX_COORDINATE = 2.0e9  # beyond this no scale below 1 fits int32: taken for damage
FINEST_EXPONENT = -9
KEPT = 400_000  # points of the thinned sample
FLOAT32_LIMIT = 1.0e5
_RGB = ("red", "green", "blue")
# LAS 1.4 fields of fixed range: name → (least, largest).
_RANGES = {
    "classification": (0, 255),
    "user_data": (0, 255),
    "point_source_id": (0, 65535),
    "return_number": (0, 15),
    "number_of_returns": (0, 15),
    "scan_direction_flag": (0, 1),
    "edge_of_flight_line": (0, 1),
    "scanner_channel": (0, 3),
    "synthetic": (0, 1),
    "key_point": (0, 1),
    "withheld": (0, 1),
    "overlap": (0, 1),
}


class Reader(Protocol):
    """What a format module provides: facts, and its points as blocks of columns.

    Every block holds ``x``, ``y``, ``z`` (any float or integer type) and any of ``columns``. What
    a block lacks is zero. Names are LAS's own (``intensity``, ``red``, …); others become extra
    bytes. Called again, `blocks` begins anew; what it finds amiss it adds to ``warnings``.
    """

    format: str
    version: str
    columns: dict[str, np.dtype[Any]]
    declared: int | None
    crs: Crs
    warnings: list[CloudWarning]
    facts: dict[str, Any]

    def blocks(self) -> Iterator[Block]: ...


@dataclass
class _Range:
    low: float = math.inf
    high: float = -math.inf
    whole: bool = True  # every value an integer
    bad: int = 0  # values that are no number

    def add(self, values: npt.NDArray[Any]) -> None:
        if values.dtype.kind == "f":
            finite = np.isfinite(values)
            if not finite.all():
                self.bad += int(len(values) - finite.sum())
                values = values[finite]
            if self.whole and len(values):
                self.whole = bool((values == np.rint(values)).all())
        if len(values):
            self.low = min(self.low, float(values.min()))
            self.high = max(self.high, float(values.max()))


@dataclass
class _Scan:
    """What one pass over all blocks found."""

    read: int = 0
    kept: int = 0
    dropped: int = 0
    low: npt.NDArray[np.float64] = field(default_factory=lambda: np.full(3, np.inf))
    high: npt.NDArray[np.float64] = field(default_factory=lambda: np.full(3, -np.inf))
    ranges: dict[str, _Range] = field(default_factory=dict)
    float32: bool = False
    step: int = 1
    sample: list[dict[str, npt.NDArray[Any]]] = field(default_factory=list)
    sampled: int = 0


def fit_scale(low: float, high: float) -> tuple[float, float]:
    """The finest power-of-ten scale and a whole offset with which int32 holds [low, high]."""
    offset = float(round((low + high) / 2)) if max(abs(low), abs(high)) >= 1 else 0.0
    reach = max(abs(high - offset), abs(low - offset))
    exponent = FINEST_EXPONENT
    if reach > 10.0**FINEST_EXPONENT:
        exponent = max(FINEST_EXPONENT, math.ceil(math.log10(reach / (2**31 - 2))))
        while reach / 10.0**exponent > 2**31 - 2:
            exponent += 1
    # 10.0**-k is not always the nearest float to the decimal number; the literal is.
    return float(f"1e{exponent}"), offset


class ColumnSource:
    """A file of numbers as a stream of LAS 1.4 records; see `Source`."""

    def __init__(self, path: str, size: int, head: bytes, reader: Reader) -> None:
        self._reader = reader
        self._name = PurePath(path).name or path
        self._scan = self._first_pass()
        self._header = self._make_header()
        self._info = self._make_info(path, size, head)

    @property
    def header(self) -> laspy.LasHeader:
        """The made-up LAS 1.4 header of `records`."""
        return self._header

    @property
    def info(self) -> CloudInfo:
        """Facts of the file; bounds are the file's own values, before they become integers."""
        return self._info

    def close(self) -> None:
        """Nothing stays open between calls."""

    # -- the first pass ----------------------------------------------------------------------

    def _first_pass(self) -> _Scan:
        scan = _Scan()
        for block in self._reader.blocks():
            scan.read += len(block["x"])
            kept = self._usable(block, scan)
            count = len(kept["x"])
            if not count:
                continue
            scan.kept += count
            for axis, name in enumerate("xyz"):
                scan.low[axis] = min(scan.low[axis], float(kept[name].min()))
                scan.high[axis] = max(scan.high[axis], float(kept[name].max()))
                scan.float32 |= block[name].dtype == np.float32
            for name in self._reader.columns:
                if name in kept:
                    scan.ranges.setdefault(name, _Range()).add(kept[name])
            self._thin(scan, kept)
        return scan

    def _thin(self, scan: _Scan, kept: Block) -> None:
        scan.sample.append({name: values[:: scan.step].copy() for name, values in kept.items()})
        scan.sampled += len(scan.sample[-1]["x"])
        while scan.sampled > 2 * KEPT:
            scan.step *= 2
            scan.sample = [{n: v[::2].copy() for n, v in part.items()} for part in scan.sample]
            scan.sampled = sum(len(part["x"]) for part in scan.sample)

    def limit_sample(self, points: int) -> None:
        """Keep no more than some ``points`` for `sample`, for one tile among many."""
        scan = self._scan
        while scan.sampled > max(points, 1000):
            scan.step *= 2
            scan.sample = [{n: v[::2].copy() for n, v in part.items()} for part in scan.sample]
            scan.sampled = sum(len(part["x"]) for part in scan.sample)
            if scan.sampled <= len(scan.sample):
                return

    def _usable(self, block: Block, scan: _Scan | None = None) -> Block:
        """``block`` without points whose coordinates are no numbers or out of all reach."""
        good = np.ones(len(block["x"]), dtype=bool)
        with np.errstate(invalid="ignore"):
            for name in "xyz":
                good &= np.abs(block[name]) <= MAX_COORDINATE
        if good.all():
            return block
        if scan is not None:
            scan.dropped += int(len(good) - good.sum())
        return {name: values[good] for name, values in block.items()}

    # -- header and facts --------------------------------------------------------------------

    def _make_header(self) -> laspy.LasHeader:
        columns, scan = self._reader.columns, self._scan
        colour = any(name in columns for name in _RGB)
        header = laspy.LasHeader(version="1.4", point_format=7 if colour else 6)
        header.creation_date = None
        header.generating_software = "oniyanma"
        header.system_identifier = ""
        standard = set(header.point_format.dimension_names)
        extras = []
        for name, dtype in columns.items():
            if name not in standard or self._overflows(name):
                extras.append((self._extra_name(name, standard), dtype))
        if extras:
            header.add_extra_dims(
                [laspy.ExtraBytesParams(name=n, type=_extra_type(t)) for n, t in extras]
            )
        if scan.kept:
            fitted = [fit_scale(lo, hi) for lo, hi in zip(scan.low, scan.high, strict=True)]
            header.scales = np.array([scale for scale, _ in fitted])
            header.offsets = np.array([offset for _, offset in fitted])
            header.mins, header.maxs = scan.low.copy(), scan.high.copy()
        header.point_count = scan.kept
        header.global_encoding.wkt = True
        if self._reader.crs.wkt:
            header.vlrs.append(WktCoordinateSystemVlr(self._reader.crs.wkt))
        return header

    def _extra_name(self, name: str, standard: set[str]) -> str:
        return f"original_{name}" if name in standard else name

    def _overflows(self, name: str) -> bool:
        """Whether LAS's own field can't hold the column exactly, so that it is kept beside it."""
        found = self._scan.ranges.get(name)
        if found is None:
            return False
        if name == "intensity":
            return not (found.whole and found.bad == 0 and 0 <= found.low <= found.high <= 65535)
        if name in _RANGES:
            low, high = _RANGES[name]
            return not (found.whole and found.bad == 0 and low <= found.low <= found.high <= high)
        if name == "scan_angle":
            return not (-180 <= found.low <= found.high <= 180 and found.bad == 0)
        return False

    def _make_info(self, path: str, size: int, head: bytes) -> CloudInfo:
        reader, scan, header = self._reader, self._scan, self._header
        warnings = list(reader.warnings)
        declared = reader.declared if reader.declared is not None else scan.read
        if reader.declared is not None and reader.declared > scan.read:
            warnings.append(
                CloudWarning(
                    "points_missing",
                    f"The file promises {declared:,} points, but {scan.read:,} are whole and "
                    f"{declared - scan.read:,} are missing, as in a file cut short.",
                )
            )
        if scan.dropped:
            warnings.append(
                CloudWarning(
                    "coordinates_not_finite",
                    f"{counted(scan.dropped, 'point was', 'points were')} left out: a coordinate "
                    f"is no number, infinite or beyond {MAX_COORDINATE:g}.",
                )
            )
        if scan.float32 and max(np.abs(scan.low).max(), np.abs(scan.high).max()) > FLOAT32_LIMIT:
            warnings.append(
                CloudWarning(
                    "float32_coordinates",
                    "The file stores coordinates above 100,000 as 32-bit floats, which round them "
                    "to centimetres or worse; ask for the file in 64-bit.",
                )
            )
        reach = max(np.abs(scan.low).max(), np.abs(scan.high).max()) if scan.kept else 0.0
        if reader.facts.get("float32Declared") and reach > FLOAT32_LIMIT:
            warnings.append(
                CloudWarning(
                    "float32_declared",
                    "The header calls coordinates above 100,000 32-bit floats; they were read "
                    "with all the digits that are written.",
                )
            )
        scale = vec3(header.scales)
        if scan.kept and max(scale) > 1e-3:
            warnings.append(
                CloudWarning(
                    "coarse_scale",
                    f"The coordinates reach so far that they are kept in steps of {max(scale):g}.",
                )
            )
        if "intensity" in reader.columns and self._overflows("intensity"):
            warnings.append(
                CloudWarning(
                    "intensity_scaled",
                    "Intensity is no 16-bit number; it is shown scaled to 0..65535 and kept as "
                    "original_intensity.",
                )
            )
        some = scan.kept > 0
        low, high = (vec3(scan.low), vec3(scan.high)) if some else (None, None)
        known, said = crs_module.settle(reader.crs, low, high)
        software = str(reader.facts.get("software", ""))
        info = CloudInfo(
            path=path,
            name=self._name,
            format=reader.format,
            version=reader.version,
            point_format=reader.facts.get("pointFormat"),
            points=scan.kept,
            declared_points=declared,
            bounds_min=low,
            bounds_max=high,
            scale=scale,
            offset=vec3(header.offsets),
            crs=known,
            dimensions=dimensions_of(header),
            color_depth=None,
            classes={},
            returns={},
            gps_time="week" if "gps_time" in reader.columns else "none",
            software=software,
            created=reader.facts.get("created"),
            warnings=merge((), warnings + said),
            header_hash=hashlib.sha256(head).hexdigest(),
            extra={
                **{k: v for k, v in reader.facts.items() if k not in ("software", "created")},
                "fileSize": size,
                "coordinateError": max(scale) / 2,
            },
        )
        checks = PointChecks(header)
        checks.add(self.sample(KEPT))
        return replace(info, color_depth=checks.apply(info).color_depth)

    # -- records -----------------------------------------------------------------------------

    def records(self, chunk_size: int = 1_000_000) -> Iterator[laspy.PackedPointRecord]:
        """Every usable point in file order; see `Source.records`."""
        checks = PointChecks(self._header)
        for block in self._reader.blocks():
            kept = self._usable(block)
            for start in range(0, len(kept["x"]), chunk_size):
                part = {name: values[start : start + chunk_size] for name, values in kept.items()}
                record = self._record(part)
                checks.add(record)
                yield record
        self._info = self._finished(checks)

    def _finished(self, checks: PointChecks) -> CloudInfo:
        info, columns = self._info, self._reader.columns
        done = checks.apply(replace(info, bounds_min=None, bounds_max=None))
        return replace(
            done,
            bounds_min=info.bounds_min,
            bounds_max=info.bounds_max,
            classes=done.classes if "classification" in columns else {},
            returns=done.returns if "return_number" in columns else {},
        )

    @property
    def sampled(self) -> bool:
        """The look through the file has taken a sample."""
        return True

    def sample(self, count: int) -> laspy.PackedPointRecord:
        """About ``count`` points, evenly from all over the file, kept from the first pass."""
        parts = self._scan.sample
        names = {name for part in parts for name in part}
        if not parts:
            return self._record({name: np.zeros(0) for name in "xyz"})
        whole = {
            name: np.concatenate([p[name] if name in p else np.zeros(len(p["x"])) for p in parts])
            for name in names
        }
        chosen = even(len(whole["x"]), count)
        return self._record({name: values[chosen] for name, values in whole.items()})

    def _record(self, block: Block) -> laspy.ScaleAwarePointRecord:
        header, count = self._header, len(block["x"])
        record = laspy.ScaleAwarePointRecord.zeros(count, header=header)
        array = record.array
        for axis, name in enumerate("xyz"):
            values = block[name].astype(np.float64)
            ints = np.rint((values - header.offsets[axis]) / header.scales[axis])
            array[name.upper()] = np.clip(ints, -(2**31) + 1, 2**31 - 1).astype(np.int32)
        standard = set(laspy.PointFormat(header.point_format.id).dimension_names)
        for name, values in block.items():
            if name in "xyz" or name not in self._reader.columns:
                continue
            if name not in standard or self._overflows(name):
                extra = self._extra_name(name, standard)
                array[extra] = values.astype(array.dtype[extra], copy=False)
            if name in standard:
                record[name] = self._standard(name, values)
        return record

    def _standard(self, name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """``values`` as the LAS field ``name`` holds them."""
        found = self._scan.ranges.get(name, _Range())
        if name == "gps_time":
            return values.astype(np.float64)
        clean = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
        if name in (*_RGB, "nir"):
            return self._colour(clean, values.dtype).astype(np.uint16)
        if name == "intensity" and self._overflows(name):
            width = found.high - found.low
            if not math.isfinite(width) or width <= 0:
                return np.zeros(len(clean), dtype=np.uint16)
            share = (clean - found.low) / width
            return np.rint(np.clip(share, 0.0, 1.0) * 65535).astype(np.uint16)
        if name == "scan_angle":
            return np.rint(np.clip(clean, -180, 180) / SCAN_ANGLE_STEP).astype(np.int16)
        low, high = _RANGES.get(name, (0, 65535))
        return np.clip(np.rint(clean), low, high).astype(np.uint16)

    def _colour(
        self, clean: npt.NDArray[np.float64], dtype: np.dtype[Any]
    ) -> npt.NDArray[np.float64]:
        """Colour values: floats up to 1 are shares of 255, the rest are taken as they are."""
        ranges = [self._scan.ranges[n] for n in _RGB if n in self._scan.ranges]
        top = max((r.high for r in ranges), default=0.0)
        fractions = dtype.kind == "f" and top <= 1.0
        fractions &= self._reader.facts.get("floatColours", False) or not all(
            r.whole for r in ranges
        )
        return np.clip(np.rint(clean * 255.0 if fractions else clean), 0, 65535)


def _extra_type(dtype: np.dtype[Any]) -> str:
    """The Extra Bytes type that holds ``dtype`` exactly."""
    if dtype.kind == "b":
        return "uint8"
    if dtype.kind == "f":
        return "float64" if dtype.itemsize > 4 else "float32"
    return dtype.newbyteorder("=").name


def extra_name(text: str, taken: set[str]) -> str:
    """``text`` as the name of an extra dimension: printable, at most 32 bytes, not yet taken."""
    clean = "".join(c if c.isprintable() else "_" for c in text).strip() or "extra"
    base = clean.encode("utf-8")[:24].decode("utf-8", "ignore")
    name = clean if len(clean.encode("utf-8")) <= 23 else base
    number = 2
    while name in taken:
        name = f"{base}_{number}"
        number += 1
    taken.add(name)
    return name


# What other formats call LAS's fields; names are compared in lower case.
_ALIASES = {
    "x": ("x", "//x", "east", "easting", "longitude", "lon", "cartesianx"),
    "y": ("y", "//y", "north", "northing", "latitude", "lat", "cartesiany"),
    "z": ("z", "//z", "height", "elevation", "altitude", "alt", "cartesianz"),
    "red": ("red", "r", "diffuse_red", "colorred", "rot"),
    "green": ("green", "g", "diffuse_green", "colorgreen"),
    "blue": ("blue", "b", "diffuse_blue", "colorblue"),
    "intensity": ("intensity", "scalar_intensity", "reflectance_intensity", "i"),
    "classification": ("classification", "class", "scalar_classification", "label"),
    "gps_time": ("gpstime", "gps_time", "gps time", "scalar_gpstime"),
    "return_number": ("returnnumber", "return_number", "return number"),
    "number_of_returns": ("numberofreturns", "number_of_returns", "number of returns"),
    "point_source_id": ("pointsourceid", "point_source_id", "point source id"),
    "user_data": ("userdata", "user_data", "user data"),
    "scan_angle": ("scananglerank", "scan_angle_rank", "scanangle", "scan_angle", "scan angle"),
    "scan_direction_flag": ("scandirectionflag", "scan_direction_flag"),
    "edge_of_flight_line": ("edgeofflightline", "edge_of_flight_line"),
    "scanner_channel": ("scanchannel", "scannerchannel", "scanner_channel"),
    "synthetic": ("synthetic",),
    "key_point": ("keypoint", "key_point"),
    "withheld": ("withheld",),
    "overlap": ("overlap",),
}
_BY_ALIAS = {alias: name for name, aliases in _ALIASES.items() for alias in aliases}


def standard_name(text: str) -> str | None:
    """The LAS field that a format's column ``text`` means, None for one of its own."""
    return _BY_ALIAS.get(text.strip().strip("\"'").lower())


def name_columns(names: list[str], file_name: str) -> list[str]:
    """Our name of each column; ``grey`` stands for all three colours.

    Raises:
        CloudError: there is no single x, y and z among them.
    """
    taken: set[str] = set()
    reserved = set(laspy.PointFormat(7).dimension_names) | {"x", "y", "z"}
    result = []
    for text in names:
        known = standard_name(text)
        if known is not None and known in taken and known in "xyz":
            raise CloudError(
                f"{file_name} has two columns named {text!r}; name each of x, y and z once."
            )
        if known is not None and known not in taken:
            taken.add(known)
            result.append(known)
        elif text.strip().lower() in ("grey", "gray") and not taken & set(_RGB):
            taken.update(_RGB)
            result.append("grey")
        else:
            result.append(extra_name(text, taken | reserved))
            taken.add(result[-1])
    missing = [axis for axis in "xyz" if axis not in taken]
    if missing:
        given = ", ".join(names[:12]) or "its fields"
        raise CloudError(
            f"{file_name} has no column {' or '.join(missing)} among {given}: a point needs x, y "
            "and z."
        )
    return result


def known_crs(crs: Crs, path: Any) -> tuple[Crs, list[CloudWarning]]:
    """``crs``, or that of a .prj beside ``path`` where it is unknown."""
    return (crs, []) if crs != UNKNOWN_CRS else crs_module.crs_from_prj(path)
