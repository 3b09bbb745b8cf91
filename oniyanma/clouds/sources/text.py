"""Delimited text (XYZ, TXT, CSV, PTS, ASC): separator, header and columns found by themselves.

Numbers are written with a point, or with a comma where the separator leaves no doubt; the
computer's locale plays no part.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.checks import counted
from oniyanma.clouds.model import UNKNOWN_CRS, CloudError, CloudWarning
from oniyanma.clouds.sources.columns import (
    Block,
    ColumnSource,
    known_crs,
    name_columns,
    standard_name,
)

BLOCK_BYTES = 4 << 20
LINE_LIMIT = 1 << 20
HEAD = 256 << 10
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.I)
_COMMA_NUMBER = re.compile(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?")
_COUNT = re.compile(r"[0-9]{1,15}")  # of points, alone on a line
_COMMENTS = ("#", "//", "%", "!")
# Columns of a file that names none, by their number; more become extra ones.
_GUESSES = {
    3: ["x", "y", "z"],
    4: ["x", "y", "z", "intensity"],
    6: ["x", "y", "z", "red", "green", "blue"],
    7: ["x", "y", "z", "intensity", "red", "green", "blue"],
}


def split_line(line: str, separator: str | None) -> list[str]:
    """The fields of ``line``; separator None is any run of blanks."""
    if separator is None:
        return line.split()
    fields = [item.strip().strip('"') for item in line.split(separator)]
    if fields and fields[-1] == "":
        fields.pop()
    return fields


def _value(text: str) -> float:
    """A number; Fortran marks the exponent of a double with D."""
    return float(text.lower().replace("d", "e", 1))


def _encoding(head: bytes) -> str:
    """How a text that begins with ``head`` is written: a mark says so, else UTF-8 if it can be."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def is_number(text: str, decimal_comma: bool = False) -> bool:
    """Whether ``text`` is one number."""
    if decimal_comma and _COMMA_NUMBER.fullmatch(text):
        return True
    return _NUMBER.fullmatch(text) is not None


class TextReader:
    """A text file as blocks of float64 columns."""

    format = "text"
    version = ""

    def __init__(self, path: Path, options: Mapping[str, Any]) -> None:
        self._path = path
        self.warnings: list[CloudWarning] = []
        self.declared: int | None = None
        self.facts: dict[str, Any] = {}
        with path.open("rb") as stream:
            head = stream.read(HEAD)
        if not head:
            raise CloudError(f"{path.name} is empty (0 bytes): choose a file with points.")
        self._encoding = _encoding(head)
        if b"\0" in head[:4096] and not self._encoding.startswith("utf-16"):
            raise CloudError(
                f"{path.name} is no text: it has a zero byte at {head.index(0)}; check that the "
                "right file was chosen."
            )
        with self._open() as stream:
            text = stream.read(HEAD)
        lines = text.split("\n")
        if len(text) == HEAD:
            lines = lines[:-1]
        self._skip = 0  # lines before the first row
        self._more = 0  # points promised by counts further down
        self._find_layout(lines, options)
        self._count = self.declared
        self.crs, said = known_crs(UNKNOWN_CRS, path)
        self.warnings += said
        self.columns: dict[str, np.dtype[Any]] = {}
        for name in self._names:
            for column in ("red", "green", "blue") if name == "grey" else (name,):
                if column not in "xyz":
                    self.columns[column] = np.dtype(np.float64)

    def _find_layout(self, lines: list[str], options: Mapping[str, Any]) -> None:
        rows = [
            (number, line.strip())
            for number, line in enumerate(lines)
            if line.strip() and not line.lstrip().startswith(_COMMENTS)
        ]
        comments = [line for line in lines if line.lstrip().startswith(_COMMENTS)]
        if not rows:
            raise CloudError(f"{self._path.name} holds no line with numbers.")
        number, first = rows[0]
        counted_first = _COUNT.fullmatch(first) is not None
        if counted_first and len(rows) > 1:  # PTS: the count stands alone on the first line
            self.declared = int(first)
            rows = rows[1:]
            number, first = rows[0]
        elif counted_first:
            self.declared = int(first)
            self._names, self._separator, self._comma = ["x", "y", "z"], None, False
            self._skip = number + 1
            self._width = 3
            return
        body = [line for _, line in rows[1:51]] or [first]
        self._separator = options.get("separator") or _find_separator(body)
        self._comma = _decimal_comma(body, self._separator)
        fields = split_line(first, self._separator)
        header: list[str] | None = None
        if not all(is_number(item, self._comma) for item in fields):
            if not any(is_number(item, self._comma) for item in fields):
                header = [item.strip("\"' ") for item in split_line(first, self._separator)]
            if header is None or len(rows) == 1:
                raise CloudError(
                    f"{self._path.name} is no table of numbers: line {number + 1} begins with "
                    f"{fields[0][:40]!r}."
                )
            self._skip = number + 1
        else:
            self._skip = number
        widths = [len(split_line(line, self._separator)) for line in body]
        usual = max(set(widths), key=widths.count)
        if header is None and comments:
            named = split_line(comments[-1].lstrip("#/%! "), self._separator)
            named = _surveyed([item.strip("\"' ") for item in named])
            if len(named) == usual and set("xyz") <= {standard_name(item) for item in named}:
                header = named
        given = options.get("columns")
        names = list(given) if given else header or _guess(usual, body, self._separator)
        names = _surveyed(names)
        if len(names) < 3:
            raise CloudError(
                f"{self._path.name} has {len(names)} columns in line {self._skip + 1}; "
                "a point needs x, y and z."
            )
        self._names = name_columns(names, self._path.name)
        self._width = len(self._names)

    def _open(self) -> TextIO:
        """The text; any of the three kinds of line end is a plain one."""
        return self._path.open(encoding=self._encoding, errors="replace")

    def blocks(self) -> Iterator[Block]:
        """The rows as columns, some megabytes of text at a time."""
        skipped = [0, 0]  # rows left out, line of the first
        self._more = 0
        line = self._skip
        with self._open() as stream:
            for _ in range(self._skip):
                _read_line(stream, self._path.name)
            while rows := _read_block(stream, self._path.name):
                table = self._parse(rows, line, skipped)
                line += rows.count("\n")
                if len(table):
                    yield self._block(table)
        if self._count is not None:
            self.declared = self._count + self._more
        if skipped[0]:
            self.warnings = [w for w in self.warnings if w.code != "rows_skipped"]
            self.warnings.append(
                CloudWarning(
                    "rows_skipped",
                    f"{counted(skipped[0], 'row was', 'rows were')} left out for not holding "
                    f"{counted(self._width, 'number', 'numbers')}, the first in line {skipped[1]}.",
                )
            )

    def _parse(self, text: str, line: int, skipped: list[int]) -> npt.NDArray[np.float64]:
        if self._comma:
            text = text.replace(",", ".")
        try:
            table = np.loadtxt(io.StringIO(text), delimiter=self._separator, ndmin=2, comments=None)
            if table.size == 0:
                return np.zeros((0, self._width))
            if table.shape[1] == self._width:
                return table
        except ValueError:
            pass
        rows = []
        for offset, row in enumerate(text.split("\n")):
            if not row.strip() or row.lstrip().startswith(_COMMENTS):
                continue
            fields = split_line(row.strip(), self._separator)
            if _COUNT.fullmatch(row.strip()) and self._count is not None:
                self._more += int(row)  # PTS: the count of a further scan
                continue
            try:
                if len(fields) != self._width:
                    raise ValueError
                rows.append([_value(item) for item in fields])
            except ValueError:
                skipped[0] += 1
                skipped[1] = skipped[1] or line + offset + 1
        return np.array(rows, dtype=np.float64).reshape(-1, self._width)

    def _block(self, table: npt.NDArray[np.float64]) -> Block:
        block = {}
        for index, name in enumerate(self._names):
            values = np.ascontiguousarray(table[:, index])
            for column in ("red", "green", "blue") if name == "grey" else (name,):
                block[column] = values
        return block


def _guess(count: int, lines: list[str], separator: str | None) -> list[str]:
    """Names for ``count`` columns without a header; three that go below 0 are no colours."""
    names = _GUESSES.get(count) or ["x", "y", "z", *(f"column_{i + 1}" for i in range(3, count))]
    if "red" in names:
        for line in lines:
            fields = split_line(line, separator)[-3:]
            if any(item.startswith("-") for item in fields):
                return [{"red": "nx", "green": "ny", "blue": "nz"}.get(n, n) for n in names]
    return names


def _surveyed(names: list[str]) -> list[str]:
    """E, N and H are x, y and z where no column has a plainer name for one of these."""
    short = {"e": "x", "n": "y", "h": "z"}
    low = [name.lower() for name in names]
    free = {axis for axis in "xyz" if not any(standard_name(name) == axis for name in names)}
    wanted = [short.get(name) if low.count(name) == 1 else None for name in low]
    if "x" not in free or "y" not in free or not {"x", "y"} <= set(wanted):
        return names
    return [axis if axis in free else name for name, axis in zip(names, wanted, strict=True)]


def _find_separator(lines: list[str]) -> str | None:
    """The separator that makes most of ``lines`` rows of numbers; None for runs of blanks."""
    best, found = (0, 0), None
    for candidate in (";", "\t", ",", "|", None):
        rows = [split_line(line, candidate) for line in lines]
        widths = [len(row) for row in rows]
        usual = max(set(widths), key=widths.count)
        good = sum(
            len(row) == usual and all(is_number(item, candidate != ",") for item in row)
            for row in rows
        )
        if usual >= 3 and (good, widths.count(usual)) > best:
            best, found = (good, widths.count(usual)), candidate
    return found


def _decimal_comma(lines: list[str], separator: str | None) -> bool:
    if separator == ",":
        return False
    fields = [item for line in lines for item in split_line(line, separator)]
    return any("," in item for item in fields) and all(
        _COMMA_NUMBER.fullmatch(item) for item in fields
    )


def _read_line(stream: TextIO, name: str) -> str:
    line = stream.readline(LINE_LIMIT)
    if len(line) == LINE_LIMIT:
        raise CloudError(f"{name} has a line of more than {LINE_LIMIT:,} letters: it is no table.")
    return line


def _read_block(stream: TextIO, name: str) -> str:
    """Some megabytes of whole lines."""
    text = stream.read(BLOCK_BYTES)
    return text + _read_line(stream, name) if text and not text.endswith("\n") else text


def open_text(path: Path, options: Mapping[str, Any]) -> ColumnSource:
    """Open a text file; ``options`` may give ``separator`` and ``columns`` (list of names)."""
    reader = TextReader(path, options)
    with path.open("rb") as stream:
        head = stream.read(4096)
    source = ColumnSource(str(path), path.stat().st_size, head, reader)
    if source.info.points == 0 and reader.declared is None:
        raise CloudError(f"{path.name} holds no row of {reader._width} numbers.")
    return source
