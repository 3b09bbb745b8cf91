"""PCD (Point Cloud Library): ascii, binary and binary_compressed."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import lzf
import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import UNKNOWN_CRS, CloudError, CloudWarning
from oniyanma.clouds.sources.columns import Block, ColumnSource, known_crs, name_columns
from oniyanma.clouds.sources.table import ascii_blocks, binary_blocks

MAX_HEADER = 64 << 10
MAX_LZF_RATIO = 132  # LZF packs at most 264 bytes into 3; beyond this a size is damage
_KINDS = {"F": "f", "U": "u", "I": "i"}
_SIZES = {"f": (4, 8), "u": (1, 2, 4, 8), "i": (1, 2, 4, 8)}
_PACKED = ("rgb", "rgba")


class PcdReader:
    """The points of a PCD file as blocks of columns; packed colours are taken apart."""

    format = "pcd"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.warnings: list[CloudWarning] = []
        with path.open("rb") as stream:
            said = self._read_header(stream)
            self._start = stream.tell()
        self.version = said.get("VERSION", ["0.7"])[0]
        self._encoding = said["DATA"][0].lower()
        self._dtype, self._columns = self._layout(said)
        self.declared: int | None = self._count(said)
        self.columns: dict[str, np.dtype[Any]] = {}
        for name in self._columns:
            if name == "_packed":
                self.columns.update(dict.fromkeys(("red", "green", "blue"), np.dtype("u1")))
            elif not name.startswith("_") and name not in "xyz":
                self.columns[name] = self._dtype[name].newbyteorder("=")
        self.facts: dict[str, Any] = {
            "encoding": self._encoding,
            "float32Declared": self._encoding == "ascii" and self._dtype["x"] == np.dtype("<f4"),
            "viewpoint": " ".join(said.get("VIEWPOINT", [])),
            "floatColours": self.columns.get("red", np.dtype("u1")).kind == "f",
        }
        self.crs, more = known_crs(UNKNOWN_CRS, path)
        self.warnings += more

    def _read_header(self, stream: BinaryIO) -> dict[str, list[str]]:
        name = self._path.name
        said: dict[str, list[str]] = {}
        while "DATA" not in said:
            at = stream.tell()
            line = stream.readline(MAX_HEADER)
            if not line or at > MAX_HEADER:
                raise CloudError(f"{name} is no PCD file: its header has no DATA line (byte {at}).")
            words = line.decode("latin-1").split()
            if not words or words[0].startswith("#"):
                continue
            key = words[0].upper()
            if not said and key not in ("VERSION", "FIELDS"):
                raise CloudError(
                    f"{name} is no PCD file: it has no header but begins with "
                    f"{' '.join(words)[:40]!r}."
                )
            said[key] = words[1:]
        if said["DATA"][:1] not in (["ascii"], ["binary"], ["binary_compressed"]):
            raise CloudError(f"{name} has data of the unknown kind {' '.join(said['DATA'])!r}.")
        return said

    def _layout(self, said: dict[str, list[str]]) -> tuple[np.dtype[Any], list[str]]:
        name = self._path.name
        fields = said.get("FIELDS") or said.get("COLUMNS") or []
        try:
            sizes = [int(v) for v in said["SIZE"]]
            kinds = [_KINDS[v.upper()] for v in said["TYPE"]]
            counts = [int(v) for v in said.get("COUNT", ["1"] * len(fields))]
            if not len(fields) == len(sizes) == len(kinds) == len(counts):
                raise ValueError("as many sizes, types and counts as fields are needed")
            if any(size not in _SIZES[kind] for size, kind in zip(sizes, kinds, strict=True)):
                raise ValueError("a field has an impossible size")
            if any(not 0 < count <= 4096 for count in counts) or sum(counts) > 65536:
                raise ValueError("a field has an impossible count")
        except (KeyError, ValueError) as error:
            raise CloudError(f"{name} has a PCD header that can't be right ({error}).") from error
        flat: list[tuple[str, str]] = []
        for field, size, kind, count in zip(fields, sizes, kinds, counts, strict=True):
            for index in range(count):
                flat.append((field if count == 1 else f"{field}_{index + 1}", f"<{kind}{size}"))
        packed = {f for f in fields if f.lower() in _PACKED and dict(flat).get(f, "")[2:] == "4"}
        visible = [text for text, _ in flat if text not in packed and not text.startswith("_")]
        ours = iter(name_columns(visible, name))
        columns = []
        for index, (text, _) in enumerate(flat):
            if text in packed:
                columns.append("_packed" if "_packed" not in columns else f"_pad{index}")
            else:
                columns.append(f"_pad{index}" if text.startswith("_") else next(ours))
        return np.dtype(list(zip(columns, (k for _, k in flat), strict=True))), columns

    def _count(self, said: dict[str, list[str]]) -> int:
        try:
            width = int(said.get("WIDTH", ["0"])[0])
            height = int(said.get("HEIGHT", ["1"])[0])
            count = int(said["POINTS"][0]) if "POINTS" in said else width * height
            if count < 0:
                raise ValueError
        except (ValueError, IndexError) as error:
            raise CloudError(f"{self._path.name} does not say how many points it has.") from error
        if "WIDTH" in said and width * height != count:
            self.warnings.append(
                CloudWarning(
                    "count_differs",
                    f"The header says {count:,} points and {width} x {height} of them; the first "
                    "is used.",
                )
            )
        return count

    def blocks(self) -> Iterator[Block]:
        """The points in file order."""
        count = self.declared or 0
        with self._path.open("rb") as stream:
            stream.seek(self._start)
            if self._encoding == "ascii":
                source = self._ascii(stream, count)
            elif self._encoding == "binary":
                source = self._binary(stream, count)
            else:
                source = self._compressed(stream, count)
            for block in source:
                yield self._unpack(block)

    def _ascii(self, stream: BinaryIO, count: int) -> Iterator[dict[str, Any]]:
        names = [("packed" if n == "_packed" else n, self._dtype[n]) for n in self._columns]
        dtype = np.dtype(names)
        for block in ascii_blocks(stream, self._path.name, dtype, count, self.warnings):
            yield dict(block)

    def _binary(self, stream: BinaryIO, count: int) -> Iterator[dict[str, Any]]:
        renamed = np.dtype(
            [("packed" if n == "_packed" else n, self._dtype[n]) for n in self._columns]
        )
        for block in binary_blocks(stream, renamed, count):
            yield dict(block)

    def _compressed(self, stream: BinaryIO, count: int) -> Iterator[dict[str, Any]]:
        name = self._path.name
        sizes = stream.read(8)
        if len(sizes) < 8:
            return
        packed, unpacked = struct.unpack("<II", sizes)
        if unpacked != count * self._dtype.itemsize or unpacked > packed * MAX_LZF_RATIO:
            raise CloudError(
                f"{name} says its {count:,} points take {unpacked:,} bytes, which can't be right "
                f"(byte {self._start}): copy the file again."
            )
        if not count:
            return
        data = stream.read(packed)
        try:
            raw = lzf.decompress(data, unpacked) if len(data) == packed else None
        except Exception as error:
            raise CloudError(f"{name} has damaged compressed data ({error}).") from error
        if raw is None or len(raw) != unpacked:
            raise CloudError(
                f"{name} has compressed data that is cut short or damaged (byte "
                f"{self._start + 8}): copy the file again."
            )
        # Compressed data is one field after another, each for all points.
        memory, at, block = io.BytesIO(raw).getbuffer(), 0, {}
        for column in self._columns:
            kind = self._dtype[column]
            values: npt.NDArray[Any] = np.frombuffer(memory, dtype=kind, count=count, offset=at)
            at += count * kind.itemsize
            if column == "_packed":
                block["packed"] = values
            elif not column.startswith("_"):
                block[column] = values
        yield block

    def _unpack(self, block: dict[str, Any]) -> Block:
        """Colours out of a 4-byte field: red is the second highest byte (a float's bits too)."""
        packed = block.pop("packed", None)
        if packed is not None:
            values = packed.astype(packed.dtype.newbyteorder("=")) if packed.dtype.kind else packed
            if values.dtype.kind == "f":
                values = values.astype(np.float32).view(np.uint32)
            values = values.astype(np.uint32)
            for name, shift in (("red", 16), ("green", 8), ("blue", 0)):
                block[name] = ((values >> shift) & 255).astype(np.uint8)
        return block


def open_pcd(path: Path, options: Mapping[str, Any]) -> ColumnSource:
    """Open a PCD file."""
    with path.open("rb") as stream:
        head = stream.read(4096)
    return ColumnSource(str(path), path.stat().st_size, head, PcdReader(path))
