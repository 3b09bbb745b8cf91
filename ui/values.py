"""What an argument may be, in a person's words: classes by name, clouds, bookmarks, findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    modes = ("rgb", "elevation", "intensity", "classification", "return", "source", "gpsTime")
    return [Choice(mode, mode, tr("colour mode")) for mode in (*modes, "uniform")]


def palettes(_: Any) -> list[Choice]:
    return [Choice(name, name, tr("palette")) for name in PALETTES]


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
    ("setColorMode", "mode"): color_modes,
}


def choices_for(
    command: str, name: str, schema: Mapping[str, Any], state: Any
) -> list[Choice] | None:
    """The list an argument is chosen from; None where it is typed."""
    if (command, name) in SOURCES:
        return SOURCES[command, name](state)
    if name == "cloud":
        return clouds(state)
    if schema.get("type") == "boolean":
        return [Choice(True, tr("Yes")), Choice(False, tr("No"))]
    if "enum" in schema:
        return [
            Choice(value, tr("None") if value is None else str(value)) for value in schema["enum"]
        ]
    return None


def is_multiple(command: str, name: str, schema: Mapping[str, Any]) -> bool:
    """Whether several values of the list may be taken."""
    return schema.get("type") == "array" and (
        (command, name) in SOURCES or "enum" in schema.get("items", {})
    )
