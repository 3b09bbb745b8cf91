"""Words of the commands' argument schemas (JSON Schema 2020-12), so that all say the same alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Schema = dict[str, Any]

READ: Final = "Read"
FILES: Final = "Files and projects"
VIEW: Final = "View"
CLIP: Final = "Clip and selection"
EDITS: Final = "Edits"
MEASURING: Final = "Measuring"
FINDINGS: Final = "Findings and batches"
COLLABORATION: Final = "Collaboration"


def arguments(properties: Mapping[str, Schema] | None = None, *required: str) -> Schema:
    """An object with these properties and no others."""
    schema: Schema = {
        "type": "object",
        "properties": dict(properties or {}),
        "additionalProperties": False,
    }
    if required:
        schema["required"] = list(required)
    return schema


def text(description: str, longest: int = 200, **more: Any) -> Schema:
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": longest,
        "description": description,
        **more,
    }


def path(description: str, access: str) -> Schema:
    """A path that a machine may only give within its reach to "read" or "write"."""
    return text(description, 4096, **{"x-path": access})


def flag(description: str, **more: Any) -> Schema:
    return {"type": "boolean", "description": description, **more}


def choice(description: str, options: Sequence[str], **more: Any) -> Schema:
    return {"type": "string", "enum": list(options), "description": description, **more}


def whole(description: str, low: int, high: int, **more: Any) -> Schema:
    return {
        "type": "integer",
        "minimum": low,
        "maximum": high,
        "description": description,
        **more,
    }


def number(description: str, low: float, high: float, unit: str | None = None) -> Schema:
    schema: Schema = {
        "type": "number",
        "minimum": low,
        "maximum": high,
        "description": description,
    }
    return schema | ({"x-unit": unit} if unit else {})


def positive(description: str, unit: str) -> Schema:
    return {
        "type": "number",
        "minimum": 1e-6,
        "maximum": 1e9,
        "x-unit": unit,
        "description": description,
    }


def coordinate(description: str, unit: str = "CRS unit") -> Schema:
    return {**_NUMBER, "x-unit": unit, "description": description}


def listing(description: str, items: Schema, fewest: int, most: int, **more: Any) -> Schema:
    return {
        "type": "array",
        "items": items,
        "minItems": fewest,
        "maxItems": most,
        "description": description,
        **more,
    }


FARTHEST: Final = 1e12
"""No coordinate of a cloud is farther from zero; what is has been mistyped."""

_NUMBER: Final[Schema] = {"type": "number", "minimum": -FARTHEST, "maximum": FARTHEST}
_OPEN: Final[Schema] = {"type": ["number", "null"], "x-unbounded": True}
_VEC2: Final[Schema] = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
_VEC3: Final[Schema] = {"type": "array", "items": _NUMBER, "minItems": 3, "maxItems": 3}
_CLASS: Final[Schema] = {"type": "integer", "minimum": 0, "maximum": 255}
COLOR_PATTERN: Final = "^#[0-9a-fA-F]{6}$"


def vector(description: str, unit: str = "CRS unit") -> Schema:
    """[x, y, z]."""
    return {**_VEC3, "description": description, "x-unit": unit}


def plan_points(description: str, fewest: int, unit: str = "CRS unit") -> Schema:
    """[[x, y], …]."""
    return listing(description, _VEC2, fewest, 10_000, **{"x-unit": unit})


def world_points(description: str, fewest: int = 1) -> Schema:
    """[[x, y, z], …]."""
    return listing(description, _VEC3, fewest, 10_000, **{"x-unit": "CRS unit"})


def span(description: str, unit: str | None = None) -> Schema:
    """[min, max], both ends included, null is open."""
    schema: Schema = {
        "type": "array",
        "items": _OPEN,
        "minItems": 2,
        "maxItems": 2,
        "description": f"{description} [min, max], both ends included, null = open.",
    }
    return schema | ({"x-unit": unit} if unit else {})


def closed_span(description: str, unit: str | None = None) -> Schema:
    """[min, max] with neither end open."""
    schema: Schema = {
        "type": "array",
        "items": {"type": "number", "x-unbounded": True},
        "minItems": 2,
        "maxItems": 2,
        "description": f"{description} [min, max].",
    }
    return schema | ({"x-unit": unit} if unit else {})


def classes(description: str, fewest: int = 1) -> Schema:
    return listing(description, _CLASS, fewest, 256, uniqueItems=True)


def color(description: str) -> Schema:
    return {
        "type": "string",
        "pattern": COLOR_PATTERN,
        "x-like": "#rrggbb",
        "description": description,
    }


def box(description: str) -> Schema:
    """{min, max, rotation?}."""
    schema = arguments(box_properties(), "min", "max")
    return {**schema, "description": description}


def box_properties() -> dict[str, Schema]:
    return {
        "min": vector("Lower corner [x, y, z] in world coordinates."),
        "max": vector("Upper corner [x, y, z] in world coordinates."),
        "rotation": number(
            "Turns the box about the vertical axis through its centre, counter-clockwise seen "
            "from above.",
            -360,
            360,
            "degrees",
        ),
    }


CLOUD: Final = text("Cloud id from listClouds; absent: all visible clouds.")
MODE: Final = choice(
    "How it joins the selection there is: replace it, add to it, subtract from it, or keep what "
    "is in both.",
    ("replace", "add", "subtract", "intersect"),
    default="replace",
)
STEPS: Final = whole("How many steps.", 1, 10_000, default=1)
FULL: Final = flag(
    "true: read every point of the source (a long command) instead of the resident sample; the "
    'answer says basis "full".'
)
OVERWRITE: Final = flag("true: replace a file that is there.", **{"x-people-only": True})
EDIT_KINDS: Final = ("hide", "delete", "reclassify", "color")
SEVERITIES: Final = ("info", "minor", "major", "critical")
FINDING: Final = text("Finding id from listFindings.")
