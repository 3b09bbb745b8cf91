"""Questions about the points that can be seen: distributions, classes, one point, density.

Answers say what they were taken from: ``basis`` "resident" is the LOD sample of the view,
"header" what the file says of all its points, "full" every point read for it. With nothing to
ask, ``note`` says why. Nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import CloudInfo, NodeId
from oniyanma.scene import density as density_module
from oniyanma.scene.classes import class_name
from oniyanma.scene.density import DensityGrid
from oniyanma.scene.picking import Pick
from oniyanma.scene.ports import SceneView
from oniyanma.scene.records import RecordError
from oniyanma.scene.sample import (
    Seen,
    nothing,
    open_clouds,
    other_crs,
    scene_frame,
    seen,
    shown_clouds,
)
from oniyanma.scene.section import SectionBins
from oniyanma.scene.units import Frame, MeasureError

ALIASES: Mapping[str, str] = {
    "elevation": "z",
    "return": "return_number",
    "returns": "return_number",
    "returnNumber": "return_number",
    "numberOfReturns": "number_of_returns",
    "gpsTime": "gps_time",
    "source": "point_source_id",
    "sources": "point_source_id",
    "pointSourceId": "point_source_id",
    "scanAngle": "scan_angle",
    "userData": "user_data",
}
"""The commands' names of attributes, beside those of the file (laspy's)."""

Values = npt.NDArray[Any]
ReadPoint = Callable[[Seen], Mapping[str, Values]]


def elevation(view: SceneView, bins: int, cloud: str | None = None) -> dict[str, Any]:
    """Real Z of the seen points: as stored, no offset taken off and nothing exaggerated."""
    answer = distribution(lambda: (one.axis(2) for one in seen(view, cloud)), bins)
    frame = scene_frame(view)
    answer["unit"] = "unknown" if frame is None else frame.vertical.name
    answer["basis"] = "resident"
    notes = list(frame.notes) if frame is not None else []
    return _noted(answer, view, cloud, notes)


def classes(view: SceneView, cloud: str | None = None) -> dict[str, Any]:
    """Seen points by class, with the classes that are switched off told as such."""
    counts = np.zeros(256, dtype=np.int64)
    for one in seen(view, cloud, all_classes=True):
        counts += np.bincount(one.classes(), minlength=256)
    hidden = view.state.hidden_classes
    rows: list[dict[str, Any]] = [
        {
            "class": code,
            "name": class_name(code),
            "count": int(counts[code]),
            "visible": code not in hidden,
        }
        for code in np.flatnonzero(counts).tolist()
    ]
    points = sum(row["count"] for row in rows if row["visible"])
    answer = {"classes": rows, "points": points, "unit": "points", "basis": "resident"}
    return _noted(answer, view, cloud, [])


def histogram(
    view: SceneView,
    name: str,
    bins: int,
    limits: tuple[float | None, float | None],
    cloud: str | None,
    read: Mapping[NodeId, Values | None],
) -> dict[str, Any]:
    """The distribution of an attribute of the seen points.

    Scaled dimensions as real values, a no-data value is none, class after the edits. ``read``
    has the raw attribute (n,) of nodes where it is not resident (see `not_resident`). RecordError
    where no cloud asked has it.
    """
    key = checked_attribute(view, name, cloud)
    nodes = list(seen(view, cloud))
    low, high = limits

    def values() -> Iterator[Values]:
        for one in nodes:
            found = attribute_values(one, key, read)
            if found is None:
                continue
            if low is not None:
                found = found[found >= low]
            yield found if high is None else found[found <= high]

    answer = distribution(values, bins)
    answer |= {"attribute": name, "unit": _unit(view, key, cloud), "basis": "resident"}
    if nodes and not answer["count"]:
        answer["note"] = f"No seen point has a value of {name}" + (
            " in this range" if limits else ""
        )
        return answer
    return _noted(answer, view, cloud, [])


def checked_attribute(view: SceneView, name: str, cloud: str | None) -> str:
    """The file's name of an attribute; RecordError where no cloud asked has it."""
    key = ALIASES.get(name, name)
    infos = [info for entry, info in open_clouds(view) if cloud in (None, entry.id)]
    if key in ("x", "y", "z", "classification") or not infos:
        return key
    names = {d.name for info in infos for d in info.dimensions}
    if key not in names:
        known = ", ".join(sorted(names - {"X", "Y", "Z"}))
        raise RecordError(f"No cloud has an attribute {name!r}; there are: {known}.", missing=True)
    return key


def not_resident(view: SceneView, key: str, cloud: str | None) -> list[NodeId]:
    """The seen nodes whose cloud has an attribute that is not resident with them."""
    if key in ("x", "y", "z", "classification"):
        return []
    return [
        one.node.id
        for one in seen(view, cloud)
        if key not in one.node.attributes and any(d.name == key for d in one.info.dimensions)
    ]


def attribute_values(one: Seen, key: str, read: Mapping[NodeId, Values | None]) -> Values | None:
    """Real values of the seen points of a node, those without a value left out; raw numbers
    stay whole numbers. None where the node's cloud has no such attribute."""
    if key in ("x", "y", "z"):
        return one.axis("xyz".index(key))
    if key == "classification":
        return one.classes()
    raw = one.node.attributes.get(key, read.get(one.node.id))
    if raw is None or np.ndim(raw) != 1 or len(raw) != len(one.mask):
        return None
    return real_values(one.info, key, raw[one.some])


def real_values(info: CloudInfo, key: str, raw: Values) -> Values:
    """Raw values as real ones, without no-data and NaN; whole numbers where nothing scales."""
    dimension = next((d for d in info.dimensions if d.name == key), None)
    if dimension is not None and dimension.no_data is not None:
        raw = raw[raw != dimension.no_data]
    if dimension is not None and (dimension.scale, dimension.offset) != (None, None):
        scale = 1.0 if dimension.scale is None else dimension.scale
        offset = 0.0 if dimension.offset is None else dimension.offset
        return raw * scale + offset
    if np.issubdtype(raw.dtype, np.floating):
        return raw[np.isfinite(raw)]
    return raw


def distribution(blocks: Callable[[], Iterable[Values]], bins: int) -> dict[str, Any]:
    """min, max, mean, count and equal bins (from, to, count; the last one closed) of blocks.

    ``blocks`` is called twice and gives the same arrays (n,) both times. Whole numbers keep
    their type; the mean is of values about the first, so that it keeps its digits.
    """
    low = high = first = None
    count, total = 0, 0.0
    for values in blocks():
        if not len(values):
            continue
        a, b = values.min().item(), values.max().item()
        if low is None or high is None or first is None:
            low, high, first = a, b, values[0].item()
        low, high = min(low, a), max(high, b)
        count += len(values)
        total += float((np.asarray(values, dtype=np.float64) - float(first)).sum())
    if low is None or high is None or first is None:
        return {"min": None, "max": None, "mean": None, "count": 0, "points": 0, "bins": []}
    mean = min(max(float(first) + total / count, float(low)), float(high))
    edges = np.linspace(float(low), float(high), bins + 1)
    if not (np.diff(edges) > 0.0).all():  # closer together than floats can part
        edges = np.array([float(low), float(high)])
    counts = np.zeros(len(edges) - 1, dtype=np.int64)
    if len(counts) == 1:
        counts[0] = count
    else:
        span = (float(low), float(high))
        for values in blocks():
            reals = np.asarray(values, dtype=np.float64)
            counts += np.histogram(reals, bins=len(counts), range=span)[0]
    rows = [
        {"from": float(edges[i]), "to": float(edges[i + 1]), "count": int(n)}
        for i, n in enumerate(counts)
    ]
    return {"min": low, "max": high, "mean": mean, "count": count, "points": count, "bins": rows}


def _unit(view: SceneView, key: str, cloud: str | None) -> str:
    frame = scene_frame(view)
    if key in ("x", "y", "z") and frame is not None:
        unit = frame.vertical if key == "z" else frame.crs.horizontal
        return unit.name
    if key == "gps_time":
        kinds = {info.gps_time for info in shown_clouds(view, cloud).values()}
        if kinds == {"week"}:
            return "s of the GPS week"
        return "s (GPS time less 1e9)" if kinds == {"adjusted"} else "s"
    if key == "scan_angle":
        return "0.006 deg"
    return "deg" if key == "scan_angle_rank" else "none"


def _noted(
    answer: dict[str, Any], view: SceneView, cloud: str | None, notes: list[str]
) -> dict[str, Any]:
    odd = other_crs(view) if cloud is None else None
    if odd is not None:
        notes.append(odd)
    if not answer["points"]:
        notes.insert(0, nothing(view, cloud))
    if notes:
        answer["note"] = " ".join(notes)
    return answer


def picked(view: SceneView, found: Pick | None, read: ReadPoint, missed: str) -> dict[str, Any]:
    """What is known of a point that was picked; ``distance`` as the pick has it. ``found``
    false with the reason in ``note``: that nothing can be seen at all, or what was ``missed``."""
    if found is None:
        why = nothing(view) if next(iter(seen(view)), None) is None else missed
        return {"found": False, "points": 0, "basis": "resident", "note": why}
    one = next(o for o in seen(view, found.node.cloud) if o.node.id == found.node)
    return point_facts(view, one, found.index, read(one)) | {"distance": found.distance}


def point_facts(
    view: SceneView, one: Seen, index: int, attributes: Mapping[str, Values]
) -> dict[str, Any]:
    """All that is known of a point: exact coordinates, LAS integers, every attribute.

    ``attributes`` raw arrays (n,) of its node. ``classification`` is the one after edits, the
    file's own beside it where it differs.
    """
    info, node = one.info, one.node
    raw = [int(v) for v in node.xyz[index]]
    x, y, z = (raw[i] * info.scale[i] + info.offset[i] for i in range(3))
    values: dict[str, Any] = {}
    known = {d.name for d in info.dimensions} | {"classification"}
    for name, array in attributes.items():
        if name not in known:
            continue  # packed fields and what is only derived
        taken = array[index : index + 1]
        if taken.ndim != 1:
            values[name] = taken[0].tolist()
            continue
        real = real_values(info, name, taken)
        values[name] = real[0].item() if len(real) else None
    edited = int(node.classification[index])
    if values.get("classification", edited) != edited:
        values["classificationInFile"] = values["classification"]
    values["classification"] = edited
    answer = {
        "found": True,
        "points": 1,
        "x": x,
        "y": y,
        "z": z,
        "raw": raw,
        "cloud": node.id.cloud,
        "className": class_name(edited),
        "attributes": values,
        "basis": "resident",
    }
    frame = scene_frame(view)
    if frame is not None:
        answer["unit"] = frame.crs.horizontal.name
        answer["verticalUnit"] = frame.vertical.name
    time = values.get("gps_time")
    if info.gps_time == "adjusted" and isinstance(time, float):
        answer["gpsDate"] = gps_date(time)
    return answer


def gps_date(adjusted: float) -> str:
    """Adjusted standard GPS time (seconds since 1980-01-06 less 1e9) as a date on the GPS clock."""
    date = datetime(1980, 1, 6, tzinfo=UTC) + timedelta(seconds=adjusted + 1e9)
    return date.isoformat(timespec="milliseconds").replace("+00:00", " GPS")


def fill_section(view: SceneView, filled: SectionBins, limit: int) -> dict[str, Any]:
    """Put the seen points of a section into its bins; up to ``limit`` of them, evenly picked,
    as lists ``station``, ``offset``, ``z``, ``class``."""
    low, high = filled.section.bounds()
    parts: list[tuple[Values, ...]] = []
    for one in seen(view):
        a, b = one.bounds()
        if (a[:2] > high).any() or (b[:2] < low).any():
            continue
        index, station, offset = filled.section.locate(np.column_stack([one.axis(0), one.axis(1)]))
        z = one.axis(2)[index]
        filled.add(station, z)
        if limit and len(index):
            parts.append((station, offset, z, one.classes()[index]))
    columns = [np.concatenate(c) for c in zip(*parts, strict=True)] if parts else []
    step = max(1, math.ceil(filled.points / limit)) if limit else 1
    listed = {
        key: column[::step].tolist()
        for key, column in zip(("station", "offset", "z", "class"), columns, strict=False)
    }
    empty: dict[str, list[float]] = {"station": [], "offset": [], "z": [], "class": []}
    return {**empty, **listed, "listed": len(listed.get("z", ()))}


def density(view: SceneView, frame: Frame, cloud: str | None, cell: float | None) -> dict[str, Any]:
    """Cells of the seen resident points; mean and spacing of whole clouds by their headers.

    ``meanBasis`` "header": all points over the clouds' plan rectangles (in degrees: on the
    ellipsoid). The cells are of the LOD sample: they say where points lie, not how dense the
    source is there; ``full`` does.
    """
    infos = list(shown_clouds(view, cloud).values())
    whole = density_module.header_mean(infos, frame)
    blocks = [(one.axis(0), one.axis(1)) for one in seen(view, cloud)]
    answer: dict[str, Any] = {"points": 0, "basis": "resident"}
    notes: list[str] = []
    if blocks and not frame.geographic:
        low = np.array([min(b[i].min() for b in blocks) for i in (0, 1)])
        high = np.array([max(b[i].max() for b in blocks) for i in (0, 1)])
        points = sum(len(b[0]) for b in blocks)
        size = cell if cell is not None else density_module.default_cell(points, low, high)
        grid = DensityGrid(low, high, size, frame)
        for x, y in blocks:
            grid.add(x, y)
        answer |= grid.answer()
        notes.append("min, p5 and max are of the resident sample; full: true reads every point.")
    elif frame.geographic:
        notes.append(
            "The coordinates are degrees, so there is no grid of cells: the mean is by the header."
        )
    else:
        notes.append(nothing(view, cloud))
    if whole is not None:
        answer |= whole | {"meanBasis": "header"}
    elif "mean" in answer:
        answer["meanBasis"] = "resident"
    return answer | {"note": " ".join([*notes, *frame.notes])}


def full_grid(infos: Sequence[CloudInfo], frame: Frame, cell: float | None) -> DensityGrid:
    """An empty grid over the clouds' header bounds. MeasureError for degrees, or no extent."""
    known = [(i.bounds_min, i.bounds_max) for i in infos if i.bounds_min and i.bounds_max]
    if not known:
        raise MeasureError("The clouds have no points, so they have no density.")
    low = np.min([a for a, _ in known], axis=0)[:2]
    high = np.max([b for _, b in known], axis=0)[:2]
    points = sum(i.points for i in infos)
    size = cell if cell is not None else density_module.default_cell(points, low, high)
    return DensityGrid(low, high, size, frame)
