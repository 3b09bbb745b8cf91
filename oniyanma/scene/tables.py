"""Measurements, findings and the log for other programs: CSV, GeoJSON, JSON Lines.

CSV: UTF-8, commas, a header line, numbers with a point. Text that people or machines wrote and
that a spreadsheet would run as a formula gets an apostrophe before it.

GeoJSON as RFC 7946 has it: longitude and latitude on WGS 84, heights in metres where the unit is
known; the exact coordinates stand in the properties. A cloud without a known CRS keeps its own
coordinates, and ``note`` says so.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from oniyanma.clouds.model import Crs, Vec3
from oniyanma.registry.log import LogLine, actor_json
from oniyanma.scene.state import Finding, Measurement, SceneState
from oniyanma.scene.units import Frame

FORMULA = ("=", "+", "-", "@", "\t", "\r")

_VALUES = (
    "value",
    "unit",
    "metres",
    "squareMetres",
    "cubicMetres",
    "horizontal",
    "vertical",
    "verticalUnit",
    "slope",
    "slopePercent",
    "plan",
    "perimeter",
    "cut",
    "fill",
    "reference",
    "cell",
    "density",
    "densityUnit",
    "emptyShare",
    "points",
    "snapped",
    "basis",
    "method",
    "note",
)


def measurements_csv(state: SceneState, frame: Frame | None) -> str:
    """A line for each: what it is, its numbers, its points as WKT in the CRS named."""
    head = ["id", "kind", "name", *_VALUES, "geometry", "crs", *_WHO]
    rows = [
        [one.id, one.kind, safe(one.name)]
        + [_cell(one.values.get(key)) for key in _VALUES]
        + [_wkt(one), _crs_name(frame), *_who(one)]
        for one in state.measurements.values()
    ]
    return _csv(head, rows)


def findings_csv(state: SceneState, frame: Frame | None) -> str:
    """A line for each finding, with the last step of its history and how many there are."""
    head = ["id", "title", "note", "severity", "status", "x", "y", "z", "crs", *_WHO]
    head += ["steps", "lastStep", "lastActor", "lastActorKind", "lastTime", "lastNote"]
    rows = []
    for one in state.findings.values():
        last = one.history[-1]
        row: list[Any] = [one.id, safe(one.title), safe(one.note), one.severity, one.status]
        row += [tidy(v) for v in one.position]
        row += [_crs_name(frame), *_who(one), len(one.history), last.what]
        row += [safe(last.actor.name), last.actor.kind, last.time, safe(last.note)]
        rows.append(row)
    return _csv(head, rows)


def log_csv(lines: Sequence[LogLine], head: str, count: int) -> str:
    """A line for each of the log, and a last one with the head's hash and the count."""
    columns = ["seq", "time", "actor", "actorKind", "surface", "command", "outcome", "affected"]
    columns += ["error", "reason", "proposedBy", "arguments", "prev", "hash"]
    rows = []
    for line in lines:
        body = line.body
        row = [line.seq, body["time"], safe(body["actor"]["name"]), body["actor"]["kind"]]
        row += [body["surface"], safe(body["command"]), body["outcome"]]
        row += [_json(body.get("affected")), body.get("error", ""), safe(body.get("reason", ""))]
        row += [safe(body.get("proposedBy", {}).get("name", "")), _json(body["arguments"])]
        rows.append([*row, line.prev, line.hash])
    rows.append(["head", "", "", "", "", "", "", count, "", "", "", "", "", head])
    return _csv(columns, rows)


def log_jsonl(lines: Sequence[LogLine], head: str, count: int) -> str:
    """A JSON object a line, and a last one ``{"head", "count"}`` to check the chain against."""
    rows = [json.dumps(line.as_json(), ensure_ascii=False) for line in lines]
    rows.append(json.dumps({"head": head, "count": count}))
    return "\n".join(rows) + "\n"


def read_log_jsonl(text: str) -> tuple[list[LogLine], str | None, int | None]:
    """What `log_jsonl` wrote, for `oniyanma.registry.verify`: lines, head and count.

    ValueError where a line is no JSON or no log line.
    """
    lines: list[LogLine] = []
    head: str | None = None
    count: int | None = None
    for row in text.splitlines():
        value = json.loads(row)
        if set(value) == {"head", "count"}:
            head, count = str(value["head"]), int(value["count"])
        else:
            lines.append(LogLine.from_json(value))
    return lines, head, count


def measurements_geojson(state: SceneState, frame: Frame | None) -> str:
    """A feature for each: a point, a line, or for areas and volumes a polygon."""
    place = _placer(frame)
    features = []
    for one in state.measurements.values():
        at = [place(p) for p in one.points]
        properties = {"id": one.id, "kind": one.kind, "name": one.name, **one.values}
        properties |= {
            "coordinates": [[tidy(v) for v in p] for p in one.points],
            "crs": _crs_name(frame),
        }
        properties |= {"author": actor_json(one.author), "time": one.time}
        features.append(_feature(one.id, _geometry(one.kind, at), properties))
    return _collection(features, frame)


def findings_geojson(state: SceneState, frame: Frame | None) -> str:
    """A point for each finding, with its history."""
    place = _placer(frame)
    features = []
    for one in state.findings.values():
        history = [
            {"what": h.what, "actor": actor_json(h.actor), "time": h.time, "note": h.note}
            for h in one.history
        ]
        x, y, z = (tidy(v) for v in one.position)
        properties: dict[str, Any] = {"id": one.id, "title": one.title, "note": one.note}
        properties |= {"severity": one.severity, "status": one.status, "x": x, "y": y, "z": z}
        properties |= {"crs": _crs_name(frame), "author": actor_json(one.author)}
        properties |= {"time": one.time, "history": history}
        at = place(one.position)
        features.append(_feature(one.id, {"type": "Point", "coordinates": at}, properties))
    return _collection(features, frame)


def tidy(coordinate: float) -> float:
    """The decimal the file means: X·scale + offset without what float64 adds at its end.

    Keeps 0.1 µm, and of degrees and small numbers 1e-9.
    """
    return round(coordinate, 9 if abs(coordinate) < 1000 else 7)


def safe(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


_WHO = ("author", "authorKind", "time")


def _who(one: Measurement | Finding) -> list[str]:
    return [safe(one.author.name), one.author.kind, one.time]


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return safe(value)
    return "" if value is None else value


def _json(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _csv(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()


def _wkt(one: Measurement) -> str:
    def text(points: Sequence[Vec3]) -> str:
        return ", ".join(" ".join(repr(tidy(v)) for v in p) for p in points)

    if len(one.points) == 1:
        return f"POINT Z ({text(one.points)})"
    if one.kind in ("area", "volume"):
        return f"POLYGON Z (({text([*one.points, one.points[0]])}))"
    return f"LINESTRING Z ({text(one.points)})"


def _crs_name(frame: Frame | None) -> str:
    if frame is None:
        return "unknown"
    crs = frame.crs
    return f"EPSG:{crs.epsg} {crs.name}" if crs.epsg else crs.name


def _geometry(kind: str, at: list[list[float]]) -> dict[str, Any]:
    if len(at) == 1:
        return {"type": "Point", "coordinates": at[0]}
    if kind in ("area", "volume"):
        ring = [*at, at[0]]
        turn = sum(
            (b[0] - a[0]) * (b[1] + a[1] - 2 * at[0][1]) for a, b in itertools.pairwise(ring)
        )
        return {"type": "Polygon", "coordinates": [ring[::-1] if turn > 0 else ring]}
    return {"type": "LineString", "coordinates": at}


def _feature(id: str, geometry: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "Feature", "id": id, "geometry": geometry, "properties": properties}


def _collection(features: Sequence[Mapping[str, Any]], frame: Frame | None) -> str:
    collection: dict[str, Any] = {"type": "FeatureCollection", "features": features}
    if frame is None or _text_of(frame.crs) is None:
        collection["note"] = "The CRS is unknown: coordinates are the cloud's own, not degrees."
    return json.dumps(collection, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _text_of(crs: Crs) -> str | None:
    return crs.wkt or (f"EPSG:{crs.epsg}" if crs.epsg else None)


def _placer(frame: Frame | None) -> Callable[[Vec3], list[float]]:
    """World coordinates as longitude, latitude (9 decimals: 0.1 mm) and metres."""
    text = None if frame is None else _text_of(frame.crs)
    if frame is None or text is None:
        return list
    import pyproj

    source = pyproj.CRS.from_user_input(text).to_2d()
    transformer = pyproj.Transformer.from_crs(source, "EPSG:4326", always_xy=True)
    metres = frame.vertical.metres or 1.0

    def place(point: Vec3) -> list[float]:
        lon, lat = transformer.transform(point[0], point[1])
        if not np.isfinite([lon, lat]).all():
            return list(point)
        return [round(lon, 9), round(lat, 9), point[2] * metres]

    return place
