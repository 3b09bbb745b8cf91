"""PTX: one or more scans, each with its own transformation to the common system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import UNKNOWN_CRS, CloudError, CloudWarning
from oniyanma.clouds.sources.columns import Block, ColumnSource, known_crs

ROWS = 200_000
LINE_LIMIT = 1 << 16
_WIDTHS = {3: (), 4: ("intensity",), 7: ("intensity", "red", "green", "blue")}


class PtxReader:
    """The points of all scans, transformed; the empty rays (0 0 0) left out."""

    format = "ptx"
    version = ""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.warnings: list[CloudWarning] = []
        self.facts: dict[str, Any] = {}
        self.declared: int | None = None
        self.crs, said = known_crs(UNKNOWN_CRS, path)
        self.warnings += said
        self.columns: dict[str, np.dtype[Any]] = {}  # grows with what the scans have
        with path.open("rb") as stream:
            header = self._header(stream, 1)
            if header is None:
                raise CloudError(f"{path.name} is empty: a PTX begins with its number of columns.")
            if header[0]:
                self._names(stream, 1)

    def _line(self, stream: BinaryIO) -> bytes:
        line = stream.readline(LINE_LIMIT)
        if len(line) == LINE_LIMIT:
            raise CloudError(f"{self._path.name} has a line of {LINE_LIMIT} bytes: it is no PTX.")
        return line

    def _header(self, stream: BinaryIO, scan: int) -> tuple[int, npt.NDArray[np.float64]] | None:
        """Rows of the next scan and its 4x4 matrix (row vectors); None at the end of the file."""
        line = self._line(stream)
        while line and not line.strip():
            line = self._line(stream)
        if not line:
            return None
        try:
            columns, rows = int(line), int(self._line(stream))
            lines = [[float(v) for v in self._line(stream).split()] for _ in range(8)]
            matrix = np.array(lines[4:], dtype=np.float64)
            if matrix.shape != (4, 4) or min(columns, rows) < 0 or not np.isfinite(matrix).all():
                raise ValueError
        except ValueError as error:
            raise CloudError(
                f"{self._path.name} has a damaged header of scan {scan} (near byte "
                f"{stream.tell()}): two counts, four lines of 3 and four of 4 numbers are needed."
            ) from error
        return columns * rows, matrix

    def _names(self, stream: BinaryIO, scan: int) -> tuple[str, ...]:
        """What the points of the scan that begins here have besides x, y and z."""
        at = stream.tell()
        width = len(self._line(stream).split())
        stream.seek(at)
        if width and width not in _WIDTHS:
            raise CloudError(
                f"{self._path.name} has {width} numbers a point in scan {scan} (byte {at}); PTX "
                "has 3, 4 or 7."
            )
        names = _WIDTHS.get(width, ())
        self.columns.update(dict.fromkeys(names, np.dtype(np.float64)))
        return names

    def blocks(self) -> Iterator[Block]:
        """The points of all scans in file order."""
        scan, empty, promised, read = 0, 0, 0, 0
        with self._path.open("rb") as stream:
            while True:
                try:
                    header = self._header(stream, scan + 1)
                    names = self._names(stream, scan + 1) if header and header[0] else ()
                except CloudError as error:
                    if scan == 0:
                        raise
                    self._warn("scan_damaged", f"{error} The scans before it were read.")
                    break
                if header is None:
                    break
                scan += 1
                left, matrix = header
                promised += left
                while left > 0:
                    table = self._rows(stream, min(left, ROWS), scan, 3 + len(names))
                    if not len(table):
                        break
                    left -= len(table)
                    read += len(table)
                    hit = (table[:, :3] != 0).any(axis=1)
                    empty += int(len(table) - hit.sum())
                    yield self._block(table[hit], matrix, names)
                if left > 0:
                    break
        self.facts["scans"] = scan
        self.declared = promised - empty  # a ray without a hit is no point
        if promised > read:
            self._warn(
                "points_missing",
                f"The scans promise {promised:,} points, but {read:,} are whole and "
                f"{promised - read:,} are missing, as in a file cut short.",
            )
        if empty:
            self._warn("invalid_points", f"{empty:,} rays without a hit were left out.")

    def _rows(self, stream: BinaryIO, count: int, scan: int, width: int) -> npt.NDArray[np.float64]:
        rows = []
        for _ in range(count):
            line = self._line(stream)
            fields = line.split()
            if len(fields) < width:
                break
            try:
                rows.append([float(v) for v in fields[:width]])
            except ValueError as error:
                raise CloudError(
                    f"{self._path.name} has a row that is no point in scan {scan} (near byte "
                    f"{stream.tell()}): {line[:40]!r}."
                ) from error
        return np.array(rows, dtype=np.float64).reshape(-1, width)

    def _block(
        self,
        table: npt.NDArray[np.float64],
        matrix: npt.NDArray[np.float64],
        names: tuple[str, ...],
    ) -> Block:
        x, y, z = table[:, 0], table[:, 1], table[:, 2]
        block = {
            name: x * matrix[0, i] + y * matrix[1, i] + z * matrix[2, i] + matrix[3, i]
            for i, name in enumerate("xyz")
        }
        for index, name in enumerate(names):
            block[name] = np.ascontiguousarray(table[:, 3 + index])
        return block

    def _warn(self, code: str, message: str) -> None:
        self.warnings = [w for w in self.warnings if w.code != code]
        self.warnings.append(CloudWarning(code, message))


def open_ptx(path: Path, options: Mapping[str, Any]) -> ColumnSource:
    """Open a PTX file."""
    with path.open("rb") as stream:
        head = stream.read(4096)
    return ColumnSource(str(path), path.stat().st_size, head, PtxReader(path))
