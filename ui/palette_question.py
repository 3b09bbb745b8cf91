"""A command being filled in by the palette: what is asked, and what lines it is answered from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oniyanma.registry.schema import GATE_ARGUMENTS

from .values import Choice

PLACE = "place"
# commands that take a place as three numbers: it is asked for as one, and can be picked
PLACES = {"queryPoint": ("x", "y", "z")}
INSTEAD = ("px", "py")  # a place on the screen: only who clicks knows it
PLACE_SCHEMA = {
    "type": "array",
    "items": {"type": "number"},
    "maxItems": 3,
    "description": "The place: x y z, or picked in the view.",
}


@dataclass
class Question:
    """A command being filled in: what is known, what is asked now, what is still to ask."""

    command: str
    title: str
    args: dict[str, Any]
    asking: str | None  # None: the list of what else may be set
    steps: list[str] = field(default_factory=list)  # asked so far, for going back
    entry_key: str = ""


@dataclass(frozen=True)
class Option:
    """A line while a command is filled in: a value, an argument to set, or "run it"."""

    title: str
    detail: str = ""
    color: str = ""
    value: Any = None
    argument: str = ""
    run: bool = False


def asked_for(command: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a person may be asked for, with its schema: not the gate's own arguments."""
    found = {k: v for k, v in schema.get("properties", {}).items() if k not in GATE_ARGUMENTS}
    if command not in PLACES:
        return found
    rest = {k: v for k, v in found.items() if k not in (*PLACES[command], *INSTEAD)}
    return {PLACE: PLACE_SCHEMA, **rest}


def option(choice: Choice, checked: bool) -> Option:
    """A choice as a line; marked where it is one of several."""
    mark = "✓  " if checked else ""
    return Option(mark + choice.title, choice.detail, choice.color, value=choice.value)


def short(value: Any) -> str:
    """A given value, cut to what a line has room for."""
    text = str(value)
    return text if len(text) < 28 else text[:27] + "…"
