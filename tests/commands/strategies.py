"""Arguments made from a command's schema: valid ones, and ones with a mistake in them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from oniyanma.registry import Registry

_ANYTHING: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def valid(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values a schema takes. Knows the keywords the declarations use; lists stay short."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return st.one_of([valid(sub) for sub in schema[key]])
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return st.one_of([_of_kind(kind, schema) for kind in kinds])


def _of_kind(kind: str, schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if kind == "integer":
        return st.integers(low, high)
    if kind == "number":
        above = schema.get("exclusiveMinimum")
        return st.floats(
            min_value=low if low is not None else above,
            max_value=high,
            exclude_min=low is None and above is not None,
            allow_nan=False,
            allow_infinity=False,
        )
    if kind == "string":
        if "pattern" in schema:
            return st.from_regex(schema["pattern"], fullmatch=True)
        return st.text(
            st.characters(codec="utf-8"),
            min_size=schema.get("minLength", 0),
            max_size=min(schema.get("maxLength", 20), 20),
        )
    if kind == "array":
        fewest = schema.get("minItems", 0)
        return st.lists(
            valid(schema["items"]),
            min_size=fewest,
            max_size=min(schema.get("maxItems", fewest + 3), fewest + 3),
            unique=schema.get("uniqueItems", False),
        )
    if kind == "object":
        return _objects(schema)
    return {"boolean": st.booleans(), "null": st.none()}[kind]


def _objects(schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    patterns: Mapping[str, Any] = schema.get("patternProperties", {})
    if patterns:
        ((pattern, sub),) = patterns.items()
        keys = st.from_regex(pattern, fullmatch=True).filter(str.isascii)
        return st.dictionaries(keys, valid(sub), max_size=3)
    return st.fixed_dictionaries(
        {key: valid(sub) for key, sub in properties.items() if key in required},
        optional={key: valid(sub) for key, sub in properties.items() if key not in required},
    )


@st.composite
def mistyped(draw: st.DrawFn, registry: Registry, name: str) -> Any:
    """The command's example with one mistake: a wrong value, a missing or an unknown argument."""
    schema = dict(registry.schema(name))
    args = copy.deepcopy(dict(registry[name].example))
    properties: Mapping[str, Any] = schema["properties"]
    ways = ["unknown", "no object"]
    ways += ["wrong"] if properties else []
    ways += ["missing"] if schema.get("required") else []
    way = draw(st.sampled_from(ways))
    if way == "unknown":
        key = draw(st.text(max_size=12).filter(lambda key: key not in properties))
        return {**args, key: draw(st.integers())}
    if way == "no object":
        return draw(_ANYTHING.filter(lambda v: v is not None and not isinstance(v, dict)))
    if way == "missing":
        del args[draw(st.sampled_from(schema["required"]))]
        return args
    key = draw(st.sampled_from(sorted(properties)))
    return {**args, key: draw(_wrong(properties[key]))}


def _wrong(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    validator = Draft202012Validator(dict(schema))
    edges: list[Any] = [float("nan"), float("inf"), True, "1", [], {}, [[]], [None]]
    for bound, step in (("minimum", -1), ("maximum", 1), ("exclusiveMinimum", 0)):
        if bound in schema:
            edges.append(schema[bound] + step)
    if "maxLength" in schema:
        edges.append("x" * (schema["maxLength"] + 1))
    edges += ["", "no such choice", 0.5]

    def is_wrong(value: Any) -> bool:
        if isinstance(value, float) and value not in (float("inf"), -float("inf")):
            return value != value or not validator.is_valid(value)
        return isinstance(value, float) or not validator.is_valid(value)

    return st.one_of(st.sampled_from(edges), _ANYTHING).filter(is_wrong)
