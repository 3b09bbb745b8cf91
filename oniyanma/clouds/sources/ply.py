"""PLY: ascii and both binary byte orders, the vertex element only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from oniyanma.clouds.model import UNKNOWN_CRS, CloudError, CloudWarning
from oniyanma.clouds.sources.columns import Block, ColumnSource, known_crs, name_columns
from oniyanma.clouds.sources.table import ascii_blocks, binary_blocks

MAX_HEADER = 1 << 20
_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1",
    "short": "i2", "int16": "i2", "ushort": "u2", "uint16": "u2",
    "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
_ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": ""}


@dataclass
class _Element:
    name: str
    count: int
    properties: list[tuple[str, str]] = field(default_factory=list)
    has_list: bool = False


class PlyReader:
    """The vertices of a PLY file as blocks of columns of the file's own types."""

    format = "ply"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.warnings: list[CloudWarning] = []
        self.facts: dict[str, Any] = {}
        with path.open("rb") as stream:
            self._read_header(stream)
            self._start = stream.tell()
        before: list[_Element] = []
        for element in self._elements:
            if element.name == "vertex":
                break
            before.append(element)
        else:
            raise CloudError(f"{path.name} has no element named 'vertex', so it holds no points.")
        if element.has_list:
            raise CloudError(f"{path.name} has lists in its vertices, which can't be read.")
        self._before, self._vertex = before, element
        names = [name for name, _ in element.properties]
        self._names = name_columns(names, path.name)
        self.declared: int | None = element.count
        order = _ORDERS[self._encoding]
        self._dtype = np.dtype(
            [
                (name, (order or "<") + _unsigned_colour(name, kind))
                for name, (_, kind) in zip(self._names, element.properties, strict=True)
            ]
        )
        self.columns: dict[str, np.dtype[Any]] = {
            name: self._dtype[name] for name in self._names if name not in "xyz"
        }
        self.facts["floatColours"] = self.columns.get("red", np.dtype("u1")).kind == "f"
        self.facts["encoding"] = self._encoding
        text = self._encoding == "ascii"
        self.facts["float32Declared"] = text and self._dtype["x"].itemsize == 4
        self.crs, said = known_crs(UNKNOWN_CRS, path)
        self.warnings += said

    def _read_header(self, stream: BinaryIO) -> None:
        name = self._path.name
        first = stream.readline(64)
        if first.strip() != b"ply":
            raise CloudError(f"{name} is no PLY file: it begins with {first[:8]!r}, not 'ply'.")
        if first.rstrip(b"\r\n") != b"ply":
            self.warnings.append(
                CloudWarning("ply_magic", "The first line is not exactly 'ply'; it was accepted.")
            )
        self._elements: list[_Element] = []
        self._encoding, self.version = "", ""
        while True:
            at = stream.tell()
            line = stream.readline(MAX_HEADER)
            if not line or at > MAX_HEADER:
                raise CloudError(f"{name} has a header without 'end_header' (byte {at}).")
            words = line.decode("latin-1").split()
            if not words or words[0] in ("comment", "obj_info"):
                continue
            if words[0] == "end_header":
                break
            try:
                self._header_line(words)
            except (ValueError, IndexError, KeyError) as error:
                text = line.decode("latin-1").strip()[:60]
                raise CloudError(
                    f"{name} has a header line that is no PLY (byte {at}: {text!r})."
                ) from error
        if not self._encoding:
            raise CloudError(f"{name} does not say its format (ascii or binary) in its header.")

    def _header_line(self, words: list[str]) -> None:
        if words[0] == "format":
            if words[1] not in _ORDERS:
                raise ValueError(words[1])
            self._encoding, self.version = words[1], words[2] if len(words) > 2 else ""
        elif words[0] == "element":
            count = int(words[2])
            if count < 0:
                raise ValueError(words[2])
            self._elements.append(_Element(words[1], count))
        elif words[0] == "property":
            element = self._elements[-1]
            if words[1] == "list":
                element.has_list = True
                element.properties.append((words[4], _TYPES[words[3]]))
            else:
                element.properties.append((words[2], _TYPES[words[1]]))
        else:
            raise ValueError(words[0])

    def blocks(self) -> Iterator[Block]:
        """The vertices in file order."""
        with self._path.open("rb") as stream:
            stream.seek(self._start)
            if self._encoding == "ascii":
                for element in self._before:
                    for _ in range(element.count):
                        if not stream.readline(MAX_HEADER):
                            return
                yield from ascii_blocks(
                    stream, self._path.name, self._dtype, self._vertex.count, self.warnings
                )
                return
            skip = 0
            for element in self._before:
                if element.has_list:
                    raise CloudError(
                        f"{self._path.name} has lists before its vertices, which can't be skipped."
                    )
                skip += element.count * sum(int(kind[1:]) for _, kind in element.properties)
            stream.seek(self._start + min(skip, 1 << 62))
            yield from binary_blocks(stream, self._dtype, self._vertex.count)


def _unsigned_colour(name: str, kind: str) -> str:
    """Some writers call a colour byte 'char'; its values are 0..255 all the same."""
    return "u1" if kind == "i1" and name in ("red", "green", "blue") else kind


def open_ply(path: Path, options: Mapping[str, Any]) -> ColumnSource:
    """Open a PLY file."""
    with path.open("rb") as stream:
        head = stream.read(4096)
    return ColumnSource(str(path), path.stat().st_size, head, PlyReader(path))
