"""What an argument may be, in a person's words: classes by name, clouds, bookmarks, findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oniyanma.scene import classes as asprs
from oniyanma.scene.classes import CLASS_NAMES
from oniyanma.scene.palettes import PALETTES
from oniyanma.scene.palettes import class_color as palette_color

from .text import tr


@dataclass(frozen=True)
class Choice:
    """One value with its words; ``color`` draws a swatch."""

    value: Any
    title: str
    detail: str = ""
    color: str = ""


def class_name(number: int) -> str:
    """The ASPRS name of a class in the person's language."""
    return tr(asprs.class_name(number))


def crs_name(crs: Any) -> str:
    """A reference system's name; the file may have none."""
    return tr("No reference system") if crs.name == "unknown" else str(crs.name)


def crs_tip(crs: Any) -> str:
    """What stands behind the name of a reference system."""
    if crs is None:
        return ""
    parts = [
        crs.name,
        f"EPSG:{crs.epsg}" if crs.epsg else "",
        f"{crs.horizontal.name} / {crs.vertical.name}",
    ]
    return "\n".join(filter(None, parts))


def class_color(state: Any, number: int) -> str:
    """A class's colour: the scene's own, else the safe set's."""
    return palette_color(number, state.display.class_colors)


def classes(state: Any) -> list[Choice]:
    named = [*CLASS_NAMES, *range(64, 256)]
    return [Choice(n, f"{n}  {class_name(n)}", tr("class"), class_color(state, n)) for n in named]


def clouds(state: Any) -> list[Choice]:
    return [Choice(entry.id, entry.name, entry.path) for entry in state.clouds]


def bookmarks(state: Any) -> list[Choice]:
    return [Choice(name, name, tr("bookmark")) for name in sorted(state.bookmarks)]


def findings(*status: str) -> Callable[[Any], list[Choice]]:
    def found(state: Any) -> list[Choice]:
        return [
            Choice(f.id, f.title, f"{f.status} · {f.author.name or f.author.kind}")
            for f in state.findings.values()
            if not status or f.status in status
        ]

    return found


def measurements(state: Any) -> list[Choice]:
    return [Choice(m.id, m.name or m.kind, m.kind) for m in state.measurements.values()]


def batches(*states: str) -> Callable[[Any], list[Choice]]:
    def found(state: Any) -> list[Choice]:
        return [
            Choice(b.id, b.title, b.state)
            for b in state.batches.values()
            if not states or b.state in states
        ]

    return found


def color_modes(_: Any) -> list[Choice]:
    return [Choice(mode, tr(title), tr("colour mode")) for mode, title in COLOR_MODES]


def palettes(_: Any) -> list[Choice]:
    return [Choice(name, tr(name.capitalize()), tr("palette")) for name in PALETTES]


COLOR_MODES = (
    ("rgb", "As scanned (RGB)"),
    ("elevation", "Elevation"),
    ("intensity", "Intensity"),
    ("classification", "Class"),
    ("return", "Return number"),
    ("source", "Point source"),
    ("gpsTime", "GPS time"),
    ("uniform", "One colour"),
)
SOURCES: Mapping[tuple[str, str], Callable[[Any], list[Choice]]] = {
    ("reclassifySelection", "class"): classes,
    ("selectWhere", "classes"): classes,
    ("setClassVisibility", "classes"): classes,
    ("setCamera", "bookmark"): bookmarks,
    ("deleteBookmark", "name"): bookmarks,
    ("deleteMeasurement", "id"): measurements,
    ("updateFinding", "id"): findings(),
    ("deleteFinding", "id"): findings("open", "confirmed", "rejected"),
    ("restoreFinding", "id"): findings("withdrawn"),
    ("confirmFinding", "id"): findings("open", "rejected"),
    ("rejectFinding", "id"): findings("open", "confirmed"),
    ("acceptBatch", "id"): batches("proposed"),
    ("revertBatch", "id"): batches("applied", "proposed"),
    ("setColorMode", "palette"): palettes,
}


PROMPTS: Mapping[str, str] = {
    "cloud": "Which cloud?",
    "class": "Which class?",
    "classes": "Which classes?",
    "id": "Which one?",
    "mode": "How?",
    "name": "Which view?",
    "kind": "What to measure?",
    "attribute": "Of which attribute?",
    "palette": "Which palette?",
    "preset": "Which view?",
    "bookmark": "Which view?",
}
NOTHING: Mapping[str, str] = {
    "Bookmark": "There are no saved views yet: save this one first.",
    "Measurement": "There are no measurements yet: measure something first.",
    "Finding": "There is no finding that this fits.",
    "Batch": "There is no batch that this fits.",
    "Cloud": "No cloud is open: open one first.",
}


def words(name: str) -> str:
    """An argument or a value as it is read: gpsTime → GPS time, zRange → Z range."""
    parts = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ").split()
    short = {"gps", "z", "rgb", "crs", "url", "las", "laz", "copc", "ply", "csv"}
    low = [part.upper() if part.lower() in short else part.lower() for part in parts]
    return " ".join([low[0][:1].upper() + low[0][1:], *low[1:]]) if low else ""


def nothing_to_choose(
    command: str, schema: Mapping[str, Any], args: Mapping[str, Any], state: Any
) -> str:
    """Why a command can't be filled in now, as one sentence; "" where it can."""
    for name in schema.get("required", ()):
        given = schema["properties"][name]
        if name not in args and choices_for(command, name, given, state) == []:
            found = (text for part, text in NOTHING.items() if part in command)
            return tr(next(found, "There is nothing to choose from yet."))
    return ""


def choices_for(
    command: str,
    name: str,
    schema: Mapping[str, Any],
    state: Any,
    dimensions: Sequence[str] = (),
) -> list[Choice] | None:
    """The list an argument is chosen from; None where it is typed. ``dimensions``: the extra
    ones of the open clouds."""
    own = [Choice(dimension, words(dimension), tr("attribute")) for dimension in dimensions]
    if (command, name) == ("setColorMode", "mode"):
        known = {mode for mode, _ in COLOR_MODES}
        named = {"return_number", "point_source_id", "gps_time", "red", "green", "blue"}
        extra = [choice for choice in own if choice.value not in known | named]
        return [*color_modes(state), *extra]
    if (command, name) == ("queryHistogram", "attribute") and own:
        return own
    if (command, name) in SOURCES:
        return SOURCES[command, name](state)
    if name == "cloud":
        return clouds(state)
    if schema.get("type") == "boolean":
        return [Choice(True, tr("Yes")), Choice(False, tr("No"))]
    if "enum" in schema:
        return [
            Choice(value, tr("None") if value is None else tr(words(str(value))))
            for value in schema["enum"]
        ]
    return None


def is_multiple(command: str, name: str, schema: Mapping[str, Any]) -> bool:
    """Whether several values of the list may be taken."""
    return schema.get("type") == "array" and (
        (command, name) in SOURCES or "enum" in schema.get("items", {})
    )
