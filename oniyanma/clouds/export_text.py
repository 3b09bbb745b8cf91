"""PLY and CSV writers: coordinates exact, every attribute as the format can hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO

import laspy
import numpy as np
import numpy.typing as npt
from laspy.point import dims

from oniyanma.clouds.model import CloudInfo, CloudWarning
from oniyanma.clouds.packed import SCAN_ANGLE_STEP

PLY_TYPES = {
    "int8": "char",
    "uint8": "uchar",
    "int16": "short",
    "uint16": "ushort",
    "int32": "int",
    "uint32": "uint",
    "float32": "float",
    "float64": "double",
}
COLOURS = ("red", "green", "blue")
COUNT_ROOM = 64
WAVE_FIELDS = frozenset(
    {
        "wavepacket_index",
        "wavepacket_offset",
        "wavepacket_size",
        "return_point_wave_location",
        "x_t",
        "y_t",
        "z_t",
    }
)


@dataclass(frozen=True, eq=False)
class Column:
    """One value of a point: from packed ``field``, bits ``mask`` and an element if it is one of
    several; ``scale`` and ``offset`` give the value of a scaled extra dimension."""

    name: str
    dtype: np.dtype[Any]
    field: str
    mask: int = 0
    element: int | None = None
    scale: float | None = None
    offset: float = 0.0

    def take(self, records: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The column's values (n,) of packed records (n,)."""
        values = records[self.field]
        if self.element is not None:
            values = values[:, self.element]
        if self.mask:
            shift = (self.mask & -self.mask).bit_length() - 1
            return np.asarray((values & self.mask) >> shift, self.dtype)
        if self.scale is not None:
            return np.asarray(values * self.scale + self.offset, np.float64)
        return np.asarray(values, self.dtype)


def columns_of(header: laspy.LasHeader) -> list[Column]:
    """Every attribute of ``header``'s points but coordinates and waveforms."""
    point_format = header.point_format
    composed = dims.COMPOSED_FIELDS[point_format.id]
    out: list[Column] = []
    for name in point_format.dtype().names or ():
        if name in ("X", "Y", "Z") or name in WAVE_FIELDS:
            continue
        if name in composed:
            for sub in composed[name]:
                out.append(Column(sub.name, np.dtype(np.uint8), name, int(sub.mask)))
            continue
        if name == "scan_angle":  # of formats 6-10; scan_angle_rank is in degrees already
            degrees = Column(name, np.dtype(np.float64), name, scale=SCAN_ANGLE_STEP)
            out.append(degrees)
            continue
        dtype = point_format.dtype()[name]
        info = point_format.dimension_by_name(name)
        for i in range(dtype.shape[0]) if dtype.shape else (None,):
            scaled = info.scales is not None
            out.append(
                Column(
                    name if i is None else f"{name}_{i}",
                    np.dtype(np.float64) if scaled else dtype.base,
                    name,
                    0,
                    i,
                    float(info.scales[i or 0]) if scaled else None,
                    float(info.offsets[i or 0]) if scaled else 0.0,
                )
            )
    return out


def lost_warnings(header: laspy.LasHeader, kind: str) -> list[CloudWarning]:
    """What neither PLY nor CSV can hold."""
    found = [
        CloudWarning(
            "header_left_out",
            f"{kind} holds points only; coordinate system, VLRs and the other header fields are "
            "not in the file.",
        )
    ]
    if header.point_format.has_waveform_packet:
        found.append(CloudWarning("waveforms_left_out", f"{kind} has no place for waveforms."))
    return found


class PlyWriter:
    """Binary little-endian PLY with double coordinates."""

    def __init__(self, out: BinaryIO, header: laspy.LasHeader, info: CloudInfo) -> None:
        self.points = 0
        self.warnings = lost_warnings(header, "PLY")
        self._out = out
        self._header = header
        self._columns = columns_of(header)
        types: list[tuple[str, str]] = [(axis, "<f8") for axis in "xyz"]
        names = set("xyz")
        wide = []
        for column in self._columns:
            dtype = column.dtype
            if column.name in COLOURS and info.color_depth == 8:
                dtype = np.dtype(np.uint8)
            if dtype.name not in PLY_TYPES:
                wide.append(column.name)
                dtype = np.dtype(np.float64)
            name = "_".join(column.name.split())
            while name in names:
                name += "_"
            names.add(name)
            types.append((name, dtype.newbyteorder("<").str))
        if wide:
            self.warnings.append(
                CloudWarning(
                    "integers_rounded",
                    f"PLY has no 64-bit integers; {', '.join(wide)} became floating point.",
                )
            )
        self._names = [name for name, _ in types]
        self._dtype = np.dtype(types)
        self._write_header()

    def add(self, records: npt.NDArray[Any]) -> None:
        """Appends packed records."""
        rows = np.empty(len(records), self._dtype)
        for axis, name in enumerate("XYZ"):
            rows["xyz"[axis]] = (
                records[name] * self._header.scales[axis] + self._header.offsets[axis]
            )
        for name, column in zip(self._names[3:], self._columns, strict=True):
            rows[name] = column.take(records)
        self._out.write(rows.view(np.uint8).data)
        self.points += len(records)

    def finish(self) -> None:
        """Writes the count into the header."""
        self._out.flush()
        self._out.seek(0)
        self._write_header()

    def _write_header(self) -> None:
        lines = ["ply", "format binary_little_endian 1.0"]
        count = f"element vertex {self.points}"
        lines += ["comment " + "-" * (COUNT_ROOM - len(count)), count]
        for name in self._names:
            lines.append(f"property {PLY_TYPES[self._dtype[name].name]} {name}")
        self._out.write(("\n".join([*lines, "end_header"]) + "\n").encode("utf-8"))


class CsvWriter:
    """Comma-separated text with a header line; a point as decimal mark whatever the locale."""

    def __init__(self, out: BinaryIO, header: laspy.LasHeader, info: CloudInfo) -> None:
        self.points = 0
        self.warnings = lost_warnings(header, "CSV")
        self._out = out
        self._header = header
        self._columns = columns_of(header)
        self._digits = [
            decimals(float(scale), float(offset))
            for scale, offset in zip(header.scales, header.offsets, strict=True)
        ]
        marks = [f"%.{digits}f" for digits in self._digits]
        marks += ["%d" if c.dtype.kind in "iu" else "%s" for c in self._columns]
        self._row = ",".join(marks)
        names = ["X", "Y", "Z", *(_quoted(c.name) for c in self._columns)]
        out.write((",".join(names) + "\n").encode("utf-8"))

    def add(self, records: npt.NDArray[Any]) -> None:
        """Appends packed records."""
        parts = [
            (records[name] * self._header.scales[i] + self._header.offsets[i]).tolist()
            for i, name in enumerate("XYZ")
        ]
        parts += [column.take(records).tolist() for column in self._columns]
        lines = map(self._row.__mod__, zip(*parts, strict=True))
        self._out.write(("\n".join(lines) + "\n").encode("ascii"))
        self.points += len(records)

    def finish(self) -> None:
        """Nothing is left to write."""


def decimals(scale: float, offset: float) -> int:
    """Decimal places that show every step of ``scale`` from ``offset`` exactly, at most 12."""
    for digits in range(13):
        step = 10.0**digits
        exact = all(abs(v * step - round(v * step)) <= 1e-6 for v in (scale, offset))
        if exact and abs(scale) * step > 0.5:
            return digits
    return 12


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n') else name
