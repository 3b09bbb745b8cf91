"""Rows of fixed columns, binary or ascii, read in blocks: what PLY and PCD share."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import CloudError, CloudWarning
from oniyanma.clouds.sources.columns import Block

BLOCK_BYTES = 16 << 20
TEXT_BYTES = 4 << 20
LINE_LIMIT = 1 << 20


def binary_blocks(stream: BinaryIO, dtype: np.dtype[Any], count: int) -> Iterator[Block]:
    """``count`` rows of ``dtype`` from where ``stream`` stands, as many as are whole."""
    step = max(1, BLOCK_BYTES // dtype.itemsize)
    left = count
    while left > 0:
        raw = stream.read(min(left, step) * dtype.itemsize)
        rows = np.frombuffer(raw, dtype=dtype, count=len(raw) // dtype.itemsize)
        if not len(rows):
            return
        left -= len(rows)
        yield split(rows)


def split(rows: npt.NDArray[Any]) -> Block:
    """A structured array as native-endian columns; fields whose name begins with _ left out."""
    return {
        name: np.ascontiguousarray(rows[name]).astype(rows.dtype[name].newbyteorder("="))
        for name in rows.dtype.names or ()
        if not name.startswith("_")
    }


def ascii_blocks(
    stream: BinaryIO,
    file_name: str,
    dtype: np.dtype[Any],
    count: int,
    warnings: list[CloudWarning],
) -> Iterator[Block]:
    """``count`` rows of numbers; coordinates are read as doubles whatever the file calls them.

    Raises:
        CloudError: a row does not hold as many numbers as there are columns.
    """
    names = list(dtype.names or ())
    left, done = count, 0
    while left > 0:
        text = stream.read(TEXT_BYTES)
        if text and not text.endswith(b"\n"):
            text += stream.readline(LINE_LIMIT)
        if not text:
            return
        last = len(text) < TEXT_BYTES
        table = _parse(text, file_name, len(names), done, left, last, warnings)[:left]
        left -= len(table)
        done += len(table)
        if not len(table):
            continue
        block = {}
        for index, name in enumerate(names):
            if name.startswith("_"):
                continue
            values = np.ascontiguousarray(table[:, index])
            kind = dtype[name].newbyteorder("=")
            if name not in "xyz" and kind != np.float64:
                values = _narrow(values, kind)
            block[name] = values
        yield block


def _narrow(values: npt.NDArray[np.float64], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """``values`` as ``kind``; what an integer can't hold is clipped, NaN becomes 0."""
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            return values.astype(kind)
    limits = np.iinfo(kind)
    return np.clip(np.nan_to_num(values), limits.min, limits.max).astype(kind)


def _parse(
    text: bytes,
    file_name: str,
    width: int,
    done: int,
    left: int,
    last: bool,
    warnings: list[CloudWarning],
) -> npt.NDArray[np.float64]:
    decoded = text.decode("latin-1")
    rows = [row for row in decoded.split("\n") if row.strip()][:left]
    try:
        table = np.loadtxt(io.StringIO("\n".join(rows)), ndmin=2, comments=None)
        if table.size == 0:
            return np.zeros((0, width))
        if table.shape[1] == width:
            return table
    except ValueError:
        pass
    good = []
    for number, row in enumerate(rows):
        try:
            values = [float(item) for item in row.split()]
            if len(values) != width:
                raise ValueError
        except ValueError as error:
            if last and number == len(rows) - 1:
                break  # a row cut short at the end of the file is counted as missing
            raise CloudError(
                f"{file_name} has a row that does not hold {width} numbers (point "
                f"{done + number + 1}: {row.strip()[:60]!r})."
            ) from error
        good.append(values)
    return np.array(good, dtype=np.float64).reshape(-1, width)
