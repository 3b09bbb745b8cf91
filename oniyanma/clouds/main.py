"""The command line of the clouds: ``oniyanma info``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TextIO

from oniyanma.clouds.inspect import decimals_of, info_json, inspect, stored
from oniyanma.clouds.model import CloudError, CloudInfo
from oniyanma.exits import REFUSED

SCALED = frozenset({"las", "laz", "copc", "ept", "tiles"})
"""Formats whose scale is the file's own; for others it is the finest that fits."""


def info_main(argv: Sequence[str]) -> int:
    """Print what is known of each file; 0 when all opened, 3 when one was refused."""
    parser = argparse.ArgumentParser(
        prog="oniyanma info", description="Read point clouds to their end and say what they hold."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="file, folder, glob or address")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--header", action="store_true", help="read the header only")
    parser.add_argument("--separator", help="text files: what stands between two numbers")
    parser.add_argument("--columns", help="text files: the names of the columns, with commas")
    given = parser.parse_args(argv)
    options = {}
    if given.separator:
        options["separator"] = given.separator
    if given.columns:
        options["columns"] = [name.strip() for name in given.columns.split(",")]
    infos, refused = [], False
    for path in given.files:
        try:
            infos.append(inspect(path, header_only=given.header, options=options))
        except CloudError as error:
            refused = True
            sys.stderr.write(f"{error}\n")
    if given.json:
        objects = [info_json(info) for info in infos]
        if len(given.files) > 1:
            _print_json(sys.stdout, {"clouds": objects})
        elif objects:
            _print_json(sys.stdout, objects[0])
    else:
        for info in infos:
            sys.stdout.write(info_text(info) + "\n")
    return REFUSED if refused else 0


def _print_json(stream: TextIO, value: object) -> None:
    stream.write(json.dumps(_plain(value), ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def _plain(value: object) -> object:
    """``value`` with numbers that JSON has no word for (NaN, infinity) as null."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def info_text(info: CloudInfo) -> str:
    """``info`` for people: a few lines, warnings last."""
    lines = [
        info.path,
        f"  format    {info.format} {info.version}"
        + (f", point format {info.point_format}" if info.point_format is not None else ""),
        f"  points    {info.points:,}"
        + (f" of {info.declared_points:,}" if info.declared_points != info.points else ""),
    ]
    if info.bounds_min is not None and info.bounds_max is not None:
        for axis, (low, high) in enumerate(zip(info.bounds_min, info.bounds_max, strict=True)):
            ends = f"{coordinate(low, info, axis)} .. {coordinate(high, info, axis)}"
            lines.append(f"  {'xyz'[axis]}         {ends}")
    crs = info.crs
    code = f" (EPSG:{crs.epsg})" if crs.epsg else ""
    lines.append(
        f"  crs       {crs.name}{code}, unit {crs.horizontal.name}, heights {crs.vertical.name}"
    )
    lines.append(f"  fields    {', '.join(dim.name for dim in info.dimensions)}")
    if info.classes:
        counts = ", ".join(f"{k}: {v:,}" for k, v in info.classes.items())
        lines.append(f"  classes   {counts}")
    lines += [f"  warning   {w.code}: {w.message}" for w in info.warnings]
    return "\n".join(lines)


def coordinate(value: float, info: CloudInfo, axis: int) -> str:
    """``value`` with the decimals that the file stores; with all it has where there are more."""
    told, decimals = stored(value, info, axis), decimals_of(info, axis)
    if info.format in SCALED and decimals is not None and told == round(told, decimals):
        return f"{told:.{decimals}f}"
    return f"{told:.15g}"
