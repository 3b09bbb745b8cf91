"""E57: all scans of a file in their common system, invalid points left out.

pye57 is an optional dependency (the extra ``e57``). Its low-level reader is used: it streams,
reads any field, and takes 16-bit colours, which the comfortable one does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds import crs as crs_module
from oniyanma.clouds.checks import counted
from oniyanma.clouds.model import METRE, UNKNOWN_CRS, CloudError, CloudWarning, Crs
from oniyanma.clouds.sources.columns import Block, ColumnSource, extra_name

CAPACITY = 200_000  # records a read
MAX_SCANS = 100_000
_CARTESIAN = ("cartesianX", "cartesianY", "cartesianZ")
_SPHERICAL = ("sphericalRange", "sphericalAzimuth", "sphericalElevation")
_STATES = ("cartesianInvalidState", "sphericalInvalidState")
_NAMES = {
    "intensity": "intensity",
    "colorRed": "red",
    "colorGreen": "green",
    "colorBlue": "blue",
    "returnIndex": "return_number",
    "returnCount": "number_of_returns",
}
_HIDDEN = ("isIntensityInvalid", "isColorInvalid", "isTimeStampInvalid")


@dataclass
class _Scan:
    index: int
    count: int
    fields: dict[str, np.dtype[Any]]
    rotation: npt.NDArray[np.float64]
    translation: npt.NDArray[np.float64]
    names: dict[str, str] = field(default_factory=dict)


class E57Reader:
    """The valid points of every scan, posed, as blocks of columns."""

    format = "e57"

    def __init__(self, path: Path) -> None:
        try:
            from pye57 import libe57
        except ImportError as error:
            raise CloudError(
                f"{path.name} is an E57 file, which needs an optional package: "
                "install oniyanma[e57]."
            ) from error
        self._lib = libe57
        self._path = path
        self.warnings: list[CloudWarning] = []
        self.facts: dict[str, Any] = {}
        self.declared: int | None = 0
        self.columns: dict[str, np.dtype[Any]] = {}
        self._scans: list[_Scan] = []
        image = self._open()
        try:
            self._read_tree(image.root())
        except CloudError:
            raise
        except Exception as error:
            raise self._damaged(error) from error
        finally:
            image.close()
        if not self._scans:
            raise CloudError(f"{path.name} contains no point clouds (an E57 file without scans).")

    def _open(self) -> Any:
        try:
            return self._lib.ImageFile(str(self._path), "r")
        except Exception as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> CloudError:
        reason = str(error).split("\n", 1)[0].strip()[:200] or type(error).__name__
        return CloudError(
            f"{self._path.name} can't be read as E57 ({reason}): copy the file again or export it "
            "anew."
        )

    def _read_tree(self, root: Any) -> None:
        self.version = "1.0"
        if root.isDefined("versionMajor") and root.isDefined("versionMinor"):
            self.version = f"{root['versionMajor'].value()}.{root['versionMinor'].value()}"
        self.crs, said = self._crs(root)
        self.warnings += said
        if root.isDefined("creationDateTime"):
            self.facts["created"] = _date(root["creationDateTime"])
        if not root.isDefined("data3D"):
            return
        scans = root["data3D"]
        total = scans.childCount()
        if total > MAX_SCANS:
            raise CloudError(f"{self._path.name} claims {total:,} scans, which can't be right.")
        taken: set[str] = set()
        for index in range(total):
            self._read_scan(scans[index], index, taken)
        self.facts["scans"] = total
        if root.isDefined("images2D") and root["images2D"].childCount():
            self.facts["images"] = root["images2D"].childCount()

    def _crs(self, root: Any) -> tuple[Crs, list[CloudWarning]]:
        text = root["coordinateMetadata"].value() if root.isDefined("coordinateMetadata") else ""
        known, said = crs_module.crs_from_wkt(text)
        if known == UNKNOWN_CRS:
            known, said = crs_module.crs_from_prj(self._path)
        if known == UNKNOWN_CRS:
            known = Crs(horizontal=METRE, vertical=METRE)  # the standard's unit: metres
        return known, said

    def _read_scan(self, node: Any, index: int, taken: set[str]) -> None:
        points = node["points"]
        prototype = self._lib.StructureNode(points.prototype())
        fields: dict[str, np.dtype[Any]] = {}
        for child in range(prototype.childCount()):
            name = prototype.get(child).elementName()
            kind = self._field_type(prototype, name)
            if kind is not None:
                fields[name] = kind
        has = [all(name in fields for name in group) for group in (_CARTESIAN, _SPHERICAL)]
        if not any(has):
            raise CloudError(
                f"{self._path.name} has no coordinates in scan {index + 1} (fields: "
                f"{', '.join(list(fields)[:8])})."
            )
        scan = _Scan(index, int(points.childCount()), fields, *_pose(node))
        for name, kind in fields.items():
            if name in (*_CARTESIAN, *_SPHERICAL, *_STATES, *_HIDDEN):
                continue
            ours = _NAMES.get(name)
            if ours is None:
                same = {s.names[name] for s in self._scans if name in s.names}
                ours = same.pop() if same else extra_name(name, taken)
            scan.names[name] = ours
            known = self.columns.get(ours)
            self.columns[ours] = kind if known is None else np.promote_types(known, kind)
            if ours == "red" and kind.kind == "f":
                self.facts["floatColours"] = True
        self.declared = (self.declared or 0) + scan.count
        self._scans.append(scan)

    def _field_type(self, prototype: Any, name: str) -> np.dtype[Any] | None:
        node = prototype[name]
        if isinstance(node, self._lib.IntegerNode):
            low, high = node.minimum(), node.maximum()
            for text in ("u1", "i2", "u2", "i4", "u4"):
                limits = np.iinfo(text)
                if limits.min <= low and high <= limits.max:
                    return np.dtype(text)
            return np.dtype("f8")
        if isinstance(node, self._lib.FloatNode):
            single = node.precision() == self._lib.E57_SINGLE
            return np.dtype("f4" if single else "f8")
        if isinstance(node, self._lib.ScaledIntegerNode):
            return np.dtype("f8")
        return None

    def blocks(self) -> Iterator[Block]:
        """Valid points of all scans, in the file's system."""
        invalid, missing, reason = 0, 0, ""
        image = self._open()
        try:
            scans = image.root()["data3D"]
            for scan in self._scans:
                read = 0
                try:
                    for data, count in self._read(image, scans[scan.index], scan):
                        read += count
                        block, bad = self._block(data, scan, count)
                        invalid += bad
                        yield block
                except GeneratorExit:
                    raise
                except Exception as error:
                    reason = str(self._damaged(error))
                missing += max(scan.count - read, 0)
                if reason and scan.index == 0 and read == 0:
                    raise CloudError(reason)
        finally:
            image.close()
        # Invalid records are in the file, but no points; blocks leave them out.
        self.declared = sum(scan.count for scan in self._scans) - invalid
        if invalid:
            self._warn(
                "invalid_points",
                f"{counted(invalid, 'point', 'points')} marked as invalid, left out.",
            )
        if reason:
            self._warn(
                "scan_damaged", f"{counted(missing, 'point', 'points')} could not be read: {reason}"
            )

    def _read(
        self, image: Any, node: Any, scan: _Scan
    ) -> Iterator[tuple[dict[str, npt.NDArray[np.float64]], int]]:
        if scan.count == 0:
            return
        buffers = self._lib.VectorSourceDestBuffer()
        data = {}
        capacity = min(CAPACITY, scan.count)
        for name in scan.fields:
            data[name] = np.zeros(capacity, dtype=np.float64)
            buffers.append(
                self._lib.SourceDestBuffer(image, name, data[name], capacity, True, True)
            )
        reader = node["points"].reader(buffers)
        try:
            while count := reader.read():
                yield data, int(count)
        finally:
            reader.close()

    def _block(
        self, data: dict[str, npt.NDArray[np.float64]], scan: _Scan, count: int
    ) -> tuple[Block, int]:
        cartesian = _CARTESIAN[0] in scan.fields
        state = data.get(_STATES[0] if cartesian else _STATES[1])
        valid = np.ones(count, dtype=bool) if state is None else state[:count] == 0
        if cartesian:
            x, y, z = (data[name][:count][valid] for name in _CARTESIAN)
        else:
            x, y, z = spherical(*(data[name][:count][valid] for name in _SPHERICAL))
        turn, move = scan.rotation, scan.translation
        block: dict[str, npt.NDArray[Any]] = {}
        for axis, name in enumerate("xyz"):
            a, b, c = turn[axis]
            block[name] = x * a + y * b + z * c + move[axis]
        for name, ours in scan.names.items():
            values = data[name][:count][valid]
            if ours == "return_number":
                values = values + 1  # E57 counts from 0
            kind = self.columns[ours]
            block[ours] = values.astype(kind) if kind.kind == "f" else _whole(values, kind)
        return block, int(count - valid.sum())

    def _warn(self, code: str, message: str) -> None:
        self.warnings = [w for w in self.warnings if w.code != code]
        self.warnings.append(CloudWarning(code, message))


def _whole(values: npt.NDArray[np.float64], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    limits = np.iinfo(kind)
    return np.clip(np.nan_to_num(values), limits.min, limits.max).astype(kind)


def spherical(
    distance: npt.NDArray[np.float64],
    azimuth: npt.NDArray[np.float64],
    elevation: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Cartesian coordinates of range, azimuth and elevation in radians (ASTM E2807, 5.2.2)."""
    flat = distance * np.cos(elevation)
    return flat * np.cos(azimuth), flat * np.sin(azimuth), distance * np.sin(elevation)


def _pose(node: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Rotation matrix (3, 3) and translation (3,) of a scan; identity where it states none."""
    turn, move = np.eye(3), np.zeros(3)
    if not node.isDefined("pose"):
        return turn, move
    pose = node["pose"]
    if pose.isDefined("translation"):
        move = np.array([pose["translation"][a].value() for a in "xyz"], dtype=np.float64)
    if pose.isDefined("rotation"):
        w, x, y, z = (pose["rotation"][a].value() for a in "wxyz")
        norm = w * w + x * x + y * y + z * z
        if norm > 0:
            s = 2.0 / norm
            turn = np.array(
                [
                    [1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
                    [s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)],
                    [s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)],
                ]
            )
    return turn, move


def _date(node: Any) -> str | None:
    """The ISO date of an E57 DateTime: GPS seconds since 1980-01-06."""
    seconds = node["dateTimeValue"].value() if node.isDefined("dateTimeValue") else 0.0
    if not 0 < seconds < 1e10:
        return None
    return (datetime(1980, 1, 6, tzinfo=UTC) + timedelta(seconds=seconds)).date().isoformat()


def open_e57(path: Path, options: Mapping[str, Any]) -> ColumnSource:
    """Open an E57 file."""
    size = path.stat().st_size
    if size == 0:
        raise CloudError(f"{path.name} is empty (0 bytes): choose a file with points.")
    with path.open("rb") as stream:
        head = stream.read(4096)
    if head[:8] != b"ASTM-E57":
        raise CloudError(f"{path.name} is no E57 file: it begins with {head[:8]!r}.")
    return ColumnSource(str(path), size, head, E57Reader(path))
