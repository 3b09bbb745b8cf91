"""Argument schemas: checked when declared, compiled once, and every mistake told at once."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import jsonschema
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from oniyanma.registry.errors import DeclarationError

CONFIRM: Final = {
    "type": "boolean",
    "description": "true: run it. Without it a machine only gets the count of what it would hit.",
}
TOKEN: Final = {
    "type": "string",
    "maxLength": 64,
    "description": "The token of the preview: with it the command runs only if what the preview "
    "counted is still what it would hit.",
}
GATE_ARGUMENTS: Final = ("confirm", "token")

MAX_DEPTH: Final = 32
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "const")
_TOP_KNOWN = ("type", "properties", "required", "additionalProperties", "description")
_TOP_FORBIDDEN = ("oneOf", "anyOf", "allOf", "not", "if", "then", "else", "$ref")
_PROPERTY = re.compile(r"[a-z][A-Za-z0-9]*\Z")
_UNGIVEN = object()


def _is_number(_checker: Any, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an int no float64 can hold
        return False


def _is_integer(_checker: Any, value: Any) -> bool:
    return _is_number(_checker, value) and (isinstance(value, int) or value.is_integer())


_Validator = jsonschema.validators.extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"number": _is_number, "integer": _is_integer}
    ),
)


def compile_validator(schema: Mapping[str, Any]) -> Validator:
    """A validator of JSON Schema 2020-12 that takes no NaN, no infinity and no tuple."""
    return _Validator(dict(schema))


class Fields:
    """The quick way to say that arguments are valid: a validator for each, made once.

    `check_declared` lets nothing else stand at the top of a schema, so it agrees with the whole.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        properties: Mapping[str, Any] = schema.get("properties", {})
        self._valid = {key: compile_validator(sub).is_valid for key, sub in properties.items()}
        self._required = frozenset(schema.get("required", ()))

    def valid(self, args: Any) -> bool:
        if not isinstance(args, dict) or not self._required <= args.keys():
            return False
        for key, value in args.items():
            check = self._valid.get(key)
            if check is None or not check(value):
                return False
        return True


# --- the declaration ---------------------------------------------------------------------------


def check_declared(name: str, schema: Mapping[str, Any]) -> None:
    """Raise DeclarationError unless a command's schema keeps the rules of the project."""
    where = f"command {name}"
    if schema.get("type") != "object" or schema.get("additionalProperties") is not False:
        raise DeclarationError(
            f"{where}: its schema must be an object with additionalProperties false"
        )
    for key in _TOP_FORBIDDEN:
        if key in schema:
            raise DeclarationError(
                f"{where}: {key} at the top of a schema is refused by model APIs; put it into a "
                "property or check it in the handler"
            )
    for key in schema:
        if key not in _TOP_KNOWN and not key.startswith("x-"):
            raise DeclarationError(f"{where}: {key} at the top of a schema would not be checked")
    try:
        Draft202012Validator.check_schema(dict(schema))
    except jsonschema.SchemaError as error:
        raise DeclarationError(
            f"{where}: its schema is not valid at {error.json_path}: {error.message}"
        ) from None
    properties = schema.get("properties", {})
    for reserved in GATE_ARGUMENTS:
        if reserved == "confirm" and reserved in properties:
            raise DeclarationError(f"{where}: the argument confirm belongs to the gate")
    _check_object(where, schema)
    for key, sub in properties.items():
        for inner in _walk(sub):
            if inner.get("writeOnly") and inner is not sub:
                raise DeclarationError(f"{where}: {key} hides a secret below the top level")


def _check_object(where: str, schema: Mapping[str, Any]) -> None:
    properties: Mapping[str, Any] = schema.get("properties", {})
    for key in schema.get("required", ()):
        if key not in properties:
            raise DeclarationError(f"{where}: required argument {key} is not declared")
    if properties and schema.get("additionalProperties") is not False:
        raise DeclarationError(f"{where}: an object in it lacks additionalProperties false")
    for key, sub in properties.items():
        place = f"{where}, argument {key}"
        if not _PROPERTY.match(key):
            raise DeclarationError(f"{place}: names are camelCase")
        if not isinstance(sub, Mapping) or not str(sub.get("description", "")).strip():
            raise DeclarationError(f"{place}: it has no description")
        if sub.get("x-path") not in (None, "read", "write"):
            raise DeclarationError(f'{place}: x-path is "read" or "write"')
        for inner in _walk(sub):
            _check_number(place, inner)
            if inner is not sub or inner.get("properties"):
                _check_object(place, inner)


def _check_number(place: str, schema: Mapping[str, Any]) -> None:
    types = schema.get("type", ())
    types = (types,) if isinstance(types, str) else types
    if not {"number", "integer"} & set(types) or schema.get("x-unbounded") is True:
        return
    if not any(bound in schema for bound in _BOUNDS):
        raise DeclarationError(f"{place}: a number needs bounds, or x-unbounded true")


def _walk(schema: Any) -> Iterator[Mapping[str, Any]]:
    """The schema and every schema in it, except those of object properties (own checks)."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key in ("items", "contains"):
        yield from _walk(schema.get(key))
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for sub in schema.get(key, ()):
            yield from _walk(sub)
    for sub in schema.get("patternProperties", {}).values():
        yield from _walk(sub)


# --- the arguments -----------------------------------------------------------------------------


class NotJson(ValueError):
    """A value that JSON has no form for; ``path`` is its JSON path."""

    def __init__(self, path: str, given: str) -> None:
        super().__init__(f"{path}: {given}")
        self.path = path
        self.given = given


def plain(value: Any, path: str = "$", depth: int = 0) -> Any:
    """A copy of ``value`` out of JSON's types alone: tuples become lists, NumPy scalars numbers.

    Raises NotJson for anything else. The caller can change its own object afterwards as it likes.
    """
    kind = type(value)
    if kind is str or kind is int or kind is float or kind is bool or value is None:
        return value
    if depth > MAX_DEPTH:
        raise NotJson(path, f"more than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        result = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotJson(path, f"a key of type {type(key).__name__}")
            result[str(key)] = plain(item, f"{path}.{key}", depth + 1)
        return result
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, str):
        return str(value)
    item = getattr(value, "tolist", None)  # NumPy scalars and arrays
    if callable(item):
        return plain(item(), path, depth + 1)
    fspath = getattr(value, "__fspath__", None)
    if callable(fspath):
        return plain(fspath(), path, depth + 1)
    raise NotJson(path, f"a value of type {type(value).__name__}")


def normalise(schema: Mapping[str, Any], value: Any) -> Any:
    """Valid arguments as the handler gets them: defaults filled in, whole numbers as int."""
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for key, sub in properties.items():
            if key in value:
                value[key] = normalise(sub, value[key])
            elif "default" in sub:
                value[key] = sub["default"]
    elif isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, Mapping) and ("type" in items or "anyOf" in items):
            return [normalise(items, item) for item in value]
    elif isinstance(value, float) and _wants_integer(schema):
        return int(value)
    return value


def _wants_integer(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type", ())
    return kind == "integer" or (not isinstance(kind, str) and "integer" in kind)


def problems(validator: Validator, schema: Mapping[str, Any], args: Any) -> list[dict[str, Any]]:
    """Every mistake of ``args``: its JSON path, what was given, what is allowed."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    secret = {key for key, sub in properties.items() if sub.get("writeOnly")}
    found: dict[str, dict[str, Any]] = {}
    for error in validator.iter_errors(args):
        hidden = bool(error.path) and error.path[0] in secret
        for path, given, allowed in _explain(error, bool(secret)):
            shown = "(secret)" if hidden and given is not _UNGIVEN else _shown(given)
            found.setdefault(path, {"path": path, "given": shown, "allowed": allowed})
    return list(found.values())


def _explain(error: jsonschema.ValidationError, has_secret: bool) -> Iterator[tuple[str, Any, str]]:
    path = _json_path(error)
    schema: Mapping[str, Any] = error.schema
    instance = error.instance
    if error.validator == "additionalProperties":
        names = list(schema.get("properties", {}))
        patterns = list(schema.get("patternProperties", {}))
        for key in instance:
            if key not in names and not any(re.search(p, key) for p in patterns):
                near = difflib.get_close_matches(key, names, 1)
                known = ", ".join([*names, *patterns]) or "no arguments"
                hint = f" (did you mean {near[0]}?)" if near else ""
                given = "(not shown)" if has_secret else instance[key]
                yield f"{path}.{key}", given, f"only: {known}{hint}"
    elif error.validator == "required":
        for key in error.validator_value:
            if key not in instance:
                sub = schema.get("properties", {}).get(key, {})
                yield f"{path}.{key}", _UNGIVEN, f"required: {allowed_text(sub)}"
    else:
        yield path, instance, allowed_text(schema)


def _json_path(error: jsonschema.ValidationError) -> str:
    return "$" + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.path)


def _shown(given: Any) -> Any:
    if given is _UNGIVEN:
        return "(missing)"
    if isinstance(given, float) and not math.isfinite(given):
        return repr(given)
    try:
        text = json.dumps(given, allow_nan=False)
    except ValueError:
        text = repr(given)
    return given if len(text) <= 200 else text[:197] + "..."


def allowed_text(schema: Mapping[str, Any]) -> str:
    """What a schema allows, in words: "a whole number from 2 to 128"."""
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(v) for v in schema["enum"])
    if "const" in schema:
        return "only " + json.dumps(schema["const"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(allowed_text(sub) for sub in schema[key])
    kinds = schema.get("type", "anything")
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    return " or ".join(_kind_text(kind, schema) for kind in kinds)


def _kind_text(kind: str, schema: Mapping[str, Any]) -> str:
    if kind in ("number", "integer"):
        word = "a whole number" if kind == "integer" else "a number"
        return word + _span(schema)
    if kind == "string":
        if "pattern" in schema:
            return f"text like {schema.get('x-like', schema['pattern'])}"
        if schema.get("minLength", 0) > 0:
            return f"text of {schema['minLength']} to {schema.get('maxLength', 'any')} characters"
        return "text"
    if kind == "array":
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        if low == high:
            number = f"{low} items"
        else:
            number = f"{low} to {high} items" if high is not None else f"at least {low} items"
        items = schema.get("items")
        each = f", each {allowed_text(items)}" if isinstance(items, Mapping) else ""
        return f"a list of {number}{each}"
    if kind == "object":
        names = ", ".join(schema.get("properties", {}))
        return f"an object with {names}" if names else "an object"
    return {"boolean": "true or false", "null": "null"}.get(kind, kind)


def _span(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    parts = []
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        parts.append(f"at least {low}")
    if above is not None:
        parts.append(f"greater than {above}")
    if high is not None:
        parts.append(f"at most {high}")
    if below is not None:
        parts.append(f"less than {below}")
    return " " + " and ".join(parts) if parts else ""
