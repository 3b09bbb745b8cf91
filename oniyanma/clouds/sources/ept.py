"""EPT (Entwine Point Tiles), local or over http: laszip and binary tiles."""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import numpy.typing as npt
from laspy.vlrs.known import WktCoordinateSystemVlr

from oniyanma.clouds import crs as crs_module
from oniyanma.clouds.checks import PointChecks, color_depth, merge
from oniyanma.clouds.model import UNKNOWN_CRS, CloudError, CloudInfo, CloudWarning, Crs
from oniyanma.clouds.packed import SCAN_ANGLE_STEP, joined
from oniyanma.clouds.sources.columns import fit_scale, standard_name
from oniyanma.clouds.sources.http import MAX_DOCUMENT, fetch, is_url, url_name
from oniyanma.clouds.sources.las import LasSource, dimensions_of, even, vec3

MAX_NODES = 50_000_000
MAX_TILE_BYTES = 1 << 30
MAX_TOLD = 3
_KEY = re.compile(r"\d{1,2}-\d{1,10}-\d{1,10}-\d{1,10}")
_KINDS = {"signed": "i", "unsigned": "u", "float": "f"}


class Location:
    """The folder of an EPT set, on disk or on a server."""

    def __init__(self, text: str) -> None:
        base = text.rstrip("/")
        if base.endswith("ept.json"):
            base = base[: -len("ept.json")].rstrip("/")
        self.web = is_url(base)
        self._base = base
        self.name = url_name(base) if self.web else Path(base or ".").resolve().name

    def read(self, part: str) -> bytes:
        """The whole of ``part`` (a path below the folder).

        Raises:
            CloudError: it is missing or can't be read; the sentence names it.
        """
        if self.web:
            return fetch(f"{self._base}/{part}")
        path = Path(self._base) / part
        try:
            if path.stat().st_size > MAX_TILE_BYTES:
                raise CloudError(f"{part} of {self.name} is larger than {MAX_TILE_BYTES:,} bytes.")
            return path.read_bytes()
        except OSError as error:
            raise CloudError(
                f"{part} of the EPT set {self.name} can't be read ({error.strerror}): copy the "
                "whole folder again."
            ) from error


@dataclass(frozen=True)
class _Field:
    name: str
    dtype: np.dtype[Any]
    scale: float | None
    offset: float


def _document(raw: bytes, what: str) -> dict[str, Any]:
    try:
        if len(raw) > MAX_DOCUMENT:
            raise ValueError("too large")
        document = json.loads(raw)
        if not isinstance(document, dict):
            raise ValueError("not an object")
    except (ValueError, RecursionError) as error:
        raise CloudError(f"{what} is no valid EPT document ({error}).") from error
    return document


def _schema(document: dict[str, Any], name: str) -> list[_Field]:
    try:
        fields = []
        for item in document["schema"]:
            kind = np.dtype(f"<{_KINDS[item['type']]}{int(item['size'])}")
            scale = item.get("scale")
            offset = float(item.get("offset") or 0.0)
            scale = None if scale is None else float(scale)
            if not math.isfinite(offset) or (scale is not None and not math.isfinite(scale)):
                raise ValueError("a scale or offset is no number")
            fields.append(_Field(str(item["name"]), kind, scale, offset))
        names = [f.name for f in fields]
        if len(set(names)) != len(names) or not {"X", "Y", "Z"} <= set(names):
            raise ValueError("X, Y and Z are needed once each")
    except (KeyError, TypeError, ValueError) as error:
        raise CloudError(
            f"ept.json of {name} has a schema that can't be right ({error})."
        ) from error
    return fields


class EptSource:
    """An EPT set as one stream of LAS records, coarse nodes first; see `Source`."""

    def __init__(self, text: str) -> None:
        self._at = Location(text)
        name = self._at.name
        raw = self._at.read("ept.json")
        document = _document(raw, f"ept.json of {name}")
        self._kind = str(document.get("dataType", ""))
        if self._kind not in ("laszip", "binary"):
            raise CloudError(
                f"{name} is an EPT set with tiles of the kind {self._kind!r}; laszip and binary "
                "can be read."
            )
        self._fields = _schema(document, name)
        try:
            self._declared = int(document.get("points", 0))
            bounds = [float(v) for v in document["bounds"]]
            tight = [float(v) for v in document.get("boundsConforming") or bounds]
            if len(bounds) != 6 or len(tight) != 6 or not np.isfinite([*bounds, *tight]).all():
                raise ValueError("bounds need six numbers")
        except (KeyError, TypeError, ValueError) as error:
            raise CloudError(f"ept.json of {name} can't be right ({error}).") from error
        self._crs, said = self._find_crs(document)
        self._nodes = self._hierarchy()
        if self._kind == "laszip":
            self._header = self._laszip_header()
        else:
            self._header = self._binary_header(tight)
        self._info = self._first_info(text, raw, document, tight, said)

    @property
    def header(self) -> laspy.LasHeader:
        """The root tile's header (laszip), or one made from the schema (binary)."""
        return self._header

    @property
    def info(self) -> CloudInfo:
        """Facts of the set."""
        return self._info

    def close(self) -> None:
        """Nothing stays open between calls."""

    # -- opening -----------------------------------------------------------------------------

    def _find_crs(self, document: dict[str, Any]) -> tuple[Crs, list[CloudWarning]]:
        srs = document.get("srs")
        if not isinstance(srs, dict):
            return UNKNOWN_CRS, []
        if isinstance(srs.get("wkt"), str) and srs["wkt"].strip():
            return crs_module.crs_from_wkt(srs["wkt"])
        if srs.get("authority") and srs.get("horizontal"):
            return crs_module.crs_from_wkt(f"{srs['authority']}:{srs['horizontal']}")
        return UNKNOWN_CRS, []

    def _hierarchy(self) -> dict[str, int]:
        nodes: dict[str, int] = {}
        pages, seen = deque(["0-0-0-0"]), {"0-0-0-0"}
        while pages:
            part = f"ept-hierarchy/{pages.popleft()}.json"
            page = _document(self._at.read(part), f"{part} of {self._at.name}")
            for key, count in page.items():
                if not _KEY.fullmatch(key) or not isinstance(count, int) or count < -1:
                    raise CloudError(
                        f"{part} of {self._at.name} has the impossible entry {key[:40]!r}."
                    )
                if count == -1:
                    if key not in seen:
                        seen.add(key)
                        pages.append(key)
                elif count > 0:
                    nodes[key] = count
            if len(nodes) > MAX_NODES:
                raise CloudError(f"{self._at.name} has more than {MAX_NODES:,} tiles.")
        return dict(sorted(nodes.items(), key=lambda item: [int(v) for v in item[0].split("-")]))

    def _laszip_header(self) -> laspy.LasHeader:
        if not self._nodes:
            return laspy.LasHeader(version="1.4", point_format=6)
        first = next(iter(self._nodes))
        header = self._tile(first).header
        header.point_count = sum(self._nodes.values())
        return header

    def _tile(self, key: str) -> LasSource:
        part = f"ept-data/{key}.laz"
        data = self._at.read(part)
        return LasSource(part, len(data), lambda: io.BytesIO(data))

    def _binary_header(self, tight: list[float]) -> laspy.LasHeader:
        names = {standard_name(f.name) for f in self._fields}
        header = laspy.LasHeader(version="1.4", point_format=7 if "red" in names else 6)
        header.creation_date = None
        standard = set(header.point_format.dimension_names) | {"x", "y", "z"}
        self._extras = {
            f.name: f for f in self._fields if (standard_name(f.name) or "") not in standard
        }
        if self._extras:
            header.add_extra_dims(
                [laspy.ExtraBytesParams(n[:31], f.dtype.name) for n, f in self._extras.items()]
            )
        for axis, letter in enumerate("XYZ"):
            field = next(f for f in self._fields if f.name == letter)
            if field.scale and field.dtype.kind in "iu" and field.dtype.itemsize <= 4:
                header.scales[axis], header.offsets[axis] = field.scale, field.offset
            else:
                pair = fit_scale(tight[axis] - 1, tight[axis + 3] + 1)
                header.scales[axis], header.offsets[axis] = pair
        if self._crs.wkt:
            header.vlrs.append(WktCoordinateSystemVlr(self._crs.wkt))
        header.global_encoding.wkt = True
        header.point_count = sum(self._nodes.values())
        return header

    def _first_info(
        self,
        text: str,
        raw: bytes,
        document: dict[str, Any],
        tight: list[float],
        said: list[CloudWarning],
    ) -> CloudInfo:
        points = sum(self._nodes.values())
        low, high = vec3(tight[:3]), vec3(tight[3:])
        some = points > 0
        known, more = crs_module.settle(self._crs, low if some else None, high if some else None)
        header = self._header
        gps = "gps_time" in set(header.point_format.dimension_names)
        adjusted = bool(header.global_encoding.value & 1)
        return CloudInfo(
            path=text,
            name=self._at.name,
            format="ept",
            version=str(document.get("version", "")),
            point_format=header.point_format.id,
            points=points,
            declared_points=self._declared,
            bounds_min=low if some else None,
            bounds_max=high if some else None,
            scale=vec3(header.scales),
            offset=vec3(header.offsets),
            crs=known,
            dimensions=dimensions_of(header),
            color_depth=None,
            classes={},
            returns={},
            gps_time=("adjusted" if adjusted else "week") if gps else "none",
            warnings=merge((), said + more + self._count_warning(points)),
            header_hash=hashlib.sha256(raw).hexdigest(),
            extra={"tiles": len(self._nodes), "dataType": self._kind},
        )

    def _count_warning(self, points: int) -> list[CloudWarning]:
        if points == self._declared:
            return []
        return [
            CloudWarning(
                "points_missing" if points < self._declared else "count_differs",
                f"ept.json promises {self._declared:,} points, its hierarchy {points:,}; the "
                "points that are there count.",
            )
        ]

    # -- points ------------------------------------------------------------------------------

    def records(self, chunk_size: int = 1_000_000) -> Iterator[laspy.PackedPointRecord]:
        """Every point of every tile, coarse tiles first; see `Source.records`."""
        checks = PointChecks(self._header)
        lost: list[str] = []
        wrong: list[str] = []
        for key, promised in self._nodes.items():
            count = 0
            try:
                for record in self._records_of(key, chunk_size):
                    count += len(record)
                    checks.add(record)
                    yield record
            except CloudError as error:
                lost.append(f"{key}: {error}")
                continue
            if count != promised:
                wrong.append(f"tile {key} should hold {promised:,} points and holds {count:,}")
        info = checks.apply(replace(self._info, bounds_min=None, bounds_max=None))
        found = []
        if lost:
            found.append(
                CloudWarning(
                    "tile_refused",
                    f"{len(lost)} of {len(self._nodes)} tiles could not be read: "
                    f"{' '.join(lost[:MAX_TOLD])}",
                )
            )
        if wrong:
            found.append(
                CloudWarning(
                    "tile_count",
                    f"The hierarchy and the tiles disagree: {'; '.join(wrong[:MAX_TOLD])}.",
                )
            )
        kept = [w for w in info.warnings if w.code not in ("points_missing", "count_differs")]
        self._info = replace(info, warnings=merge(kept, found + self._count_warning(checks.points)))

    def _records_of(self, key: str, chunk_size: int) -> Iterator[laspy.PackedPointRecord]:
        if self._kind == "laszip":
            tile = self._tile(key)
            theirs, ours = tile.header, self._header
            if theirs.point_format != ours.point_format or not (
                np.array_equal(theirs.scales, ours.scales)
                and np.array_equal(theirs.offsets, ours.offsets)
            ):
                raise CloudError(f"ept-data/{key}.laz has another point format than the first.")
            yield from tile.records(chunk_size)
            return
        record = self._binary_record(key)
        for start in range(0, len(record), chunk_size):
            yield record[start : start + chunk_size]

    def _binary_record(self, key: str) -> laspy.ScaleAwarePointRecord:
        part = f"ept-data/{key}.bin"
        raw = self._at.read(part)
        dtype = np.dtype([(f.name, f.dtype) for f in self._fields])
        if len(raw) % dtype.itemsize:
            raise CloudError(
                f"{part} of {self._at.name} has {len(raw):,} bytes, no whole number of points of "
                f"{dtype.itemsize} bytes: copy it again."
            )
        rows = np.frombuffer(raw, dtype=dtype)
        good = np.ones(len(rows), dtype=bool)
        ints: list[npt.NDArray[np.int32]] = []
        for axis, letter in enumerate("XYZ"):
            field = next(f for f in self._fields if f.name == letter)
            world = rows[letter].astype(np.float64)
            if field.scale is not None:
                world = world * field.scale + field.offset
            value = np.rint((world - self._header.offsets[axis]) / self._header.scales[axis])
            with np.errstate(invalid="ignore"):
                good &= np.abs(value) < 2**31
            ints.append(np.nan_to_num(value, posinf=0, neginf=0).clip(-(2**31), 2**31 - 1))
        record = laspy.ScaleAwarePointRecord.zeros(int(good.sum()), header=self._header)
        for letter, value in zip("XYZ", ints, strict=True):
            record.array[letter] = value[good].astype(np.int32)
        for field in self._fields:
            if field.name in "XYZ":
                continue
            values = rows[field.name][good]
            if field.name in self._extras:
                record.array[field.name[:31]] = values
                continue
            ours = standard_name(field.name) or ""
            if ours == "scan_angle":
                values = np.rint(np.nan_to_num(values.astype(np.float64)) / SCAN_ANGLE_STEP)
                values = values.clip(-30_000, 30_000)
            limit = 15 if ours in ("return_number", "number_of_returns") else None
            record[ours] = values if limit is None else np.minimum(values, limit)
        return record

    @property
    def sampled(self) -> bool:
        """A sample is read when it is asked for."""
        return False

    def sample(self, count: int) -> laspy.PackedPointRecord:
        """About ``count`` points: the coarse tiles are a fair sample of the whole."""
        parts, have = [], 0
        for key in self._nodes:
            if have >= count:
                break
            try:
                for record in self._records_of(key, 1_000_000):
                    parts.append(record.array)
                    have += len(record)
            except CloudError:
                continue
        dtype = self._header.point_format.dtype()
        array = joined(parts, dtype)
        array = array.take(even(len(array), count))
        if not self._info.checked and "red" in (array.dtype.names or ()) and len(array):
            top = max(int(array[name].max()) for name in ("red", "green", "blue"))
            self._info = replace(self._info, color_depth=color_depth(top))
        return laspy.ScaleAwarePointRecord(
            array, self._header.point_format, self._header.scales, self._header.offsets
        )
