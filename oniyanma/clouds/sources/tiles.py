"""Several files as one cloud: a folder or a glob of tiles, and the tiles of an EPT set.

Tiles of one LAS point format, scale and offset are passed through untouched. Others are brought
to one header: the union of their fields, the finest of their scales that fits.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import laspy
import numpy as np

from oniyanma.clouds.checks import PointChecks, merge
from oniyanma.clouds.crs import crs_title, is_known, same_crs
from oniyanma.clouds.model import CloudError, CloudInfo, CloudWarning, Crs, Source
from oniyanma.clouds.packed import SCAN_ANGLE_STEP, joined
from oniyanma.clouds.sources.columns import KEPT, ColumnSource, fit_scale
from oniyanma.clouds.sources.las import LasSource, dimensions_of, vec3
from oniyanma.clouds.sources.union import Names, union

SAMPLE_DECODE = 3_000_000
PROJECTION = "LASF_Projection"
MAX_TOLD = 3  # tiles named in one warning


@dataclass(frozen=True)
class Tile:
    """One file of the cloud: its name in messages, how to open it, the points it should hold."""

    name: str
    open: Callable[[], Source]
    points: int | None = None


class TileSource:
    """Tiles as one stream of records; see `Source`."""

    def __init__(self, path: str, kind: str, tiles: Sequence[Tile], **facts: Any) -> None:
        self._tiles: list[tuple[Tile, Source]] = []
        said: list[CloudWarning] = []
        refused = []
        for tile in tiles:
            try:
                source = tile.open()
            except CloudError as error:
                refused.append(f"{error}")
                continue
            if isinstance(source, ColumnSource):
                source.limit_sample(2 * KEPT // len(tiles))
            self._tiles.append((tile, source))
        if not self._tiles:
            raise CloudError(refused[0] if refused else f"{path} holds no point clouds.")
        if refused:
            said.append(
                CloudWarning(
                    "tile_refused",
                    f"{len(refused)} of {len(tiles)} tiles could not be opened and are left out: "
                    f"{_list(refused)}.",
                )
            )
        self._names: list[Names] = [{} for _ in self._tiles]  # filled where formats differ
        self._systems = _systems([source for _, source in self._tiles])
        self._header, self._same = self._common_header(said)
        self._info = self._first_info(path, kind, said, facts)

    @property
    def header(self) -> laspy.LasHeader:
        """The header all records are under."""
        return self._header

    @property
    def info(self) -> CloudInfo:
        """Facts of all tiles together."""
        return self._info

    @property
    def systems(self) -> tuple[tuple[str, Crs], ...]:
        """The different coordinate systems that tiles name, each with the first such tile."""
        return self._systems

    def close(self) -> None:
        """Close every tile."""
        for _, source in self._tiles:
            source.close()

    def _common_header(self, said: list[CloudWarning]) -> tuple[laspy.LasHeader, bool]:
        headers = [source.header for _, source in self._tiles]
        first = headers[0]
        header = deepcopy(first)
        header.point_count = sum(source.info.points for _, source in self._tiles)
        lead = self._lead().header
        if lead is not first:
            keep = [vlr for vlr in header.vlrs if vlr.user_id != PROJECTION]
            header.vlrs[:] = keep + [vlr for vlr in lead.vlrs if vlr.user_id == PROJECTION]
            header.global_encoding.wkt = lead.global_encoding.wkt
        same = all(
            h.point_format == first.point_format
            and np.array_equal(h.scales, first.scales)
            and np.array_equal(h.offsets, first.offsets)
            for h in headers
        )
        boxes = [
            (source.info.bounds_min, source.info.bounds_max)
            for _, source in self._tiles
            if source.info.bounds_min is not None and source.info.bounds_max is not None
        ]
        if boxes:
            header.mins = np.min([low for low, _ in boxes], axis=0)
            header.maxs = np.max([high for _, high in boxes], axis=0)
        if same:
            return header, True
        if any(h.point_format != first.point_format for h in headers):
            header, self._names, given = union(headers, header)
            renamed = f"; {', '.join(given)} had a name that other tiles use otherwise"
            said.append(
                CloudWarning(
                    "tiles_differ",
                    "The tiles have different point formats; they are shown with the fields of "
                    f"all, and what a tile lacks is 0{renamed if given else ''}.",
                )
            )
        for axis in range(3):
            low, high = float(header.mins[axis]), float(header.maxs[axis])
            least, fitted = fit_scale(low, high)
            scale = min(abs(float(h.scales[axis])) for h in headers)
            offset = float(first.offsets[axis])
            if max(abs(high - offset), abs(low - offset)) / scale > 2**31 - 2:
                scale, offset = max(scale, least), fitted
            header.scales[axis], header.offsets[axis] = scale, offset
        return header, False

    def _first_info(
        self, path: str, kind: str, said: list[CloudWarning], facts: dict[str, Any]
    ) -> CloudInfo:
        infos = [source.info for _, source in self._tiles]
        header = self._header
        first = next((info for info in infos if info.points), infos[0])
        crs = self._lead().info.crs
        odd = self._crs_warning(crs)
        if odd is not None:
            said.append(odd)
        points = sum(info.points for info in infos)
        hashed = hashlib.sha256("".join(info.header_hash for info in infos).encode())
        return replace(
            first,
            path=path,
            name=PurePath(path).name or path,
            format=kind,
            version=facts.pop("version", first.version),
            points=points,
            declared_points=facts.pop("declared", sum(info.declared_points for info in infos)),
            bounds_min=vec3(header.mins) if points else None,
            bounds_max=vec3(header.maxs) if points else None,
            scale=vec3(header.scales),
            offset=vec3(header.offsets),
            crs=crs,
            dimensions=dimensions_of(header),
            point_format=header.point_format.id,
            warnings=merge(self._told_by_tiles(), said + facts.pop("warnings", [])),
            header_hash=hashed.hexdigest(),
            extra={"tiles": len(infos), **facts},
        )

    def _lead(self) -> Source:
        """The tile whose coordinate system is that of all: the first with points that has one."""
        sources = [source for _, source in self._tiles]
        return min(sources, key=lambda s: (not is_known(s.info.crs), not s.info.points))

    def _crs_warning(self, crs: Crs) -> CloudWarning | None:
        """What to say where the tiles are not all in ``crs``."""
        infos = [source.info for _, source in self._tiles]
        nameless = sum(not is_known(info.crs) for info in infos)
        if len(self._systems) > 1:
            titles = list(dict.fromkeys(crs_title(one) for _, one in self._systems))
            more = f" and {len(titles) - MAX_TOLD} more" if len(titles) > MAX_TOLD else ""
            none = f", {nameless} of {len(infos)} name none" if nameless else ""
            return CloudWarning(
                "tiles_crs_differ",
                f"The tiles are in {len(self._systems)} coordinate systems "
                f"({', '.join(titles[:MAX_TOLD])}{more}){none}; {crs_title(crs)} is taken for "
                "all, and nothing is reprojected.",
            )
        if self._systems and nameless:
            names = "names" if nameless == 1 else "name"
            return CloudWarning(
                "tiles_crs_differ",
                f"{nameless} of {len(infos)} tiles {names} no coordinate system; "
                f"{crs_title(crs)}, which the others name, is taken for all.",
            )
        return None

    def _told_by_tiles(self) -> list[CloudWarning]:
        """The tiles' own warnings, but not that one names no system where that of others counts."""
        told = _gather([source.info for _, source in self._tiles])
        return [w for w in told if w.code != "crs_unknown" or not self._systems]

    def records(self, chunk_size: int = 1_000_000) -> Iterator[laspy.PackedPointRecord]:
        """Every point of every tile; see `Source.records`."""
        checks = PointChecks(self._header)
        wrong = []
        for place, (tile, source) in enumerate(self._tiles):
            count = 0
            for record in source.records(chunk_size):
                count += len(record)
                ours = record if self._same else self._convert(record, place)
                checks.add(ours)
                yield ours
            if tile.points is not None and count != tile.points:
                wrong.append(f"{tile.name} should hold {tile.points:,} points and holds {count:,}")
        info = checks.apply(replace(self._info, bounds_min=None, bounds_max=None))
        known = [source.info for _, source in self._tiles]
        said = self._told_by_tiles()
        if wrong:
            said.append(
                CloudWarning(
                    "tile_count", f"{'; '.join(wrong[:MAX_TOLD])}: the points that are there count."
                )
            )
        if not self._same:
            lows = [i.bounds_min for i in known if i.bounds_min is not None]
            highs = [i.bounds_max for i in known if i.bounds_max is not None]
            if lows and highs:
                info = replace(
                    info,
                    bounds_min=vec3(np.min(lows, axis=0)),
                    bounds_max=vec3(np.max(highs, axis=0)),
                )
        self._info = replace(info, warnings=merge(info.warnings, said))

    def _convert(self, record: laspy.PackedPointRecord, place: int) -> laspy.PackedPointRecord:
        header, names = self._tiles[place][1].header, self._names[place]
        ours = laspy.ScaleAwarePointRecord.zeros(len(record), header=self._header)
        if record.point_format == self._header.point_format:
            ours.array[:] = record.array
        else:
            have = set(record.point_format.standard_dimension_names)
            wanted = set(self._header.point_format.standard_dimension_names)
            for name in (wanted & have) - set("XYZ"):
                ours[name] = np.asarray(record[name])
            if "scan_angle_rank" in have and "scan_angle" in wanted:
                ours["scan_angle"] = np.rint(
                    np.asarray(record["scan_angle_rank"]) / SCAN_ANGLE_STEP
                )
            for theirs, name in names.items():
                ours.array[name] = record.array[theirs]
        for axis, name in enumerate("XYZ"):
            values = record.array[name] * header.scales[axis] + header.offsets[axis]
            ints = np.rint((values - self._header.offsets[axis]) / self._header.scales[axis])
            ours.array[name] = np.clip(ints, -(2**31), 2**31 - 1).astype(np.int32)
        return ours

    @property
    def sampled(self) -> bool:
        """Whether every tile's is."""
        return all(source.sampled for _, source in self._tiles)

    def sample(self, count: int) -> laspy.PackedPointRecord:
        """About ``count`` points, each tile giving its share; see `Source.sample`."""
        total = max(self._info.points, 1)
        parts = []
        for place, (_, source) in enumerate(self._tiles):
            share = source.info.points / total
            wanted = math.ceil(count * share)
            if not wanted:
                continue
            if isinstance(source, LasSource):
                record = source.sample_within(wanted, math.ceil(SAMPLE_DECODE * share))
            else:
                record = source.sample(wanted)
            parts.append(record if self._same else self._convert(record, place))
        arrays = [part.array for part in parts]
        dtype = self._header.point_format.dtype()
        array = joined(arrays, dtype)
        return laspy.ScaleAwarePointRecord(
            array, self._header.point_format, self._header.scales, self._header.offsets
        )


def _systems(sources: Sequence[Source]) -> tuple[tuple[str, Crs], ...]:
    found: list[tuple[str, Crs]] = []
    for source in sources:
        for name, crs in systems_of(source):
            if not any(same_crs(crs, other) for _, other in found):
                found.append((name, crs))
    return tuple(found)


def systems_of(source: Source) -> tuple[tuple[str, Crs], ...]:
    """The different coordinate systems that ``source`` names, each with the file that does."""
    if isinstance(source, TileSource):
        return source.systems
    return ((source.info.name, source.info.crs),) if is_known(source.info.crs) else ()


def _list(sentences: Sequence[str]) -> str:
    """The first of ``sentences`` as parts of one."""
    told = [one.rstrip(".") for one in sentences[:MAX_TOLD]]
    more = len(sentences) - len(told)
    return "; ".join([*told, f"and {more} more"] if more else told)


def _gather(infos: Sequence[CloudInfo]) -> tuple[CloudWarning, ...]:
    """The tiles' warnings, each code once, with the names of the first tiles it concerns."""
    found: dict[str, list[tuple[str, str]]] = {}
    for info in infos:
        for warning in info.warnings:
            found.setdefault(warning.code, []).append((info.name, warning.message))
    result = []
    for code, told in found.items():
        name, message = told[0]
        more = f" ({len(told)} tiles)" if len(told) > 1 else ""
        result.append(CloudWarning(code, f"{name}: {message}{more}"))
    return tuple(result)
