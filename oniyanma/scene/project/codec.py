"""JSON for the scene's frozen values, exact both ways: ``decode(T, encode(x, …), …) == x``.

Derived from the dataclasses themselves, so a new field needs no line here. Only fields that
differ from their default are written; a field missing on reading takes its default. Bytes go to
a content-addressed store and leave their SHA-256 behind, so a picture is kept once however
often the log of edits names it.
"""

from __future__ import annotations

import gc
import hashlib
import json
import types
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import orjson

from oniyanma.registry.actor import Actor
from oniyanma.rules.model import Box, Clip, Polygon, Prism, Region, Rule, Where
from oniyanma.scene import state

T = TypeVar("T")
Encoder = Callable[[Any, MutableMapping[str, bytes]], Any]
Decoder = Callable[[Any, Mapping[str, bytes]], Any]

# Classes that may stand where a type hint leaves open which one it is.
_TAGGED: Mapping[str, type] = MappingProxyType(
    {
        each.__name__: each
        for each in (
            Actor,
            Box,
            Clip,
            Polygon,
            Prism,
            Region,
            Rule,
            Where,
            state.Camera,
            state.Measurement,
            state.Finding,
            state.FindingEvent,
            state.Batch,
            state.Bookmark,
        )
    }
)
_TAG = "$"
_AT_ONCE = 64  # values parsed together: one parse of few stays in the cache
_ENCODERS: dict[Any, Encoder] = {}  # by type hint; made once
_DECODERS: dict[Any, Decoder] = {}


class CodecError(ValueError):
    """A stored value that is not what this version writes."""


def dumps(value: Any, blobs: MutableMapping[str, bytes], hint: Any | None = None) -> str:
    """One value as one line of JSON; its bytes are put into ``blobs`` by SHA-256."""
    encode = _encoder(hint or type(value))
    return json.dumps(encode(value, blobs), separators=(",", ":"))


def loads(hint: Any, text: str, blobs: Mapping[str, bytes]) -> Any:
    """The value of type ``hint`` that `dumps` wrote. Raises CodecError."""
    return loads_many(hint, (text,), blobs)[0]


def loads_many(hint: Any, texts: Sequence[str], blobs: Mapping[str, bytes]) -> list[Any]:
    """Like `loads`, for many at once and several times as fast (few parses, no collections)."""
    decode = _decoder(hint)
    collecting = gc.isenabled()
    gc.disable()
    try:
        found: list[Any] = []
        for start in range(0, len(texts), _AT_ONCE):
            part = _parse(f"[{','.join(texts[start : start + _AT_ONCE])}]")
            found += [decode(item, blobs) for item in part]
        return found
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        name = getattr(hint, "__name__", hint)
        raise CodecError(f"a stored {name} is damaged: {error}") from error
    finally:
        if collecting:
            gc.freeze()  # with the next line: what was made counts as old, without a walk over
            gc.unfreeze()  # all of it, which would cost as much again as making it
            gc.enable()


def _parse(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:  # it has no Infinity
        return json.loads(text)


# --- how each kind of type is written ---------------------------------------------------


def _plain(value: Any, _blobs: Any) -> Any:
    return value


def _encode_bytes(value: bytes, blobs: MutableMapping[str, bytes]) -> str:
    if not value:
        return ""
    key = hashlib.sha256(value).hexdigest()
    blobs[key] = value
    return key


def _decode_bytes(value: str, blobs: Mapping[str, bytes]) -> bytes:
    return blobs[value] if value else b""


def _encode_any(value: Any, blobs: MutableMapping[str, bytes]) -> Any:
    if type(value) is int and not -(2**63) <= value < 2**64:
        return {_TAG: "int", "value": str(value)}  # a quick parser makes a float of it
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        items = {str(key): _encode_any(item, blobs) for key, item in value.items()}
        return {_TAG: "dict", "value": items} if _TAG in items else items
    if isinstance(value, list):
        return [_encode_any(item, blobs) for item in value]
    if isinstance(value, tuple):
        return {_TAG: "tuple", "value": [_encode_any(item, blobs) for item in value]}
    if isinstance(value, bytes):
        return {_TAG: "bytes", "value": _encode_bytes(value, blobs)}
    name = type(value).__name__
    if _TAGGED.get(name) is type(value):
        return {_TAG: name, "value": _encoder(type(value))(value, blobs)}
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a NumPy scalar
        return value.item()
    raise TypeError(f"{name} can't be kept in a project")


def _decode_tagged(value: Any, blobs: Mapping[str, bytes]) -> Any:
    return _decoder(_TAGGED[value[_TAG]])(value["value"], blobs)


def _decode_any(value: Any, blobs: Mapping[str, bytes]) -> Any:
    if isinstance(value, list):
        return [_decode_any(item, blobs) for item in value]
    if not isinstance(value, dict):
        return value
    if _TAG not in value:
        return {key: _decode_any(item, blobs) for key, item in value.items()}
    name, inner = value[_TAG], value["value"]
    if name == "dict":
        return {key: _decode_any(item, blobs) for key, item in inner.items()}
    if name == "tuple":
        return tuple(_decode_any(item, blobs) for item in inner)
    if name == "bytes":
        return _decode_bytes(inner, blobs)
    if name == "int":
        return int(inner)
    if name not in _TAGGED:
        raise CodecError(f"unknown kind of value {name!r}")
    return _decoder(_TAGGED[name])(inner, blobs)


def _decode_json(value: Any, blobs: Mapping[str, bytes]) -> Mapping[str, Any]:
    for item in value.values():
        if isinstance(item, dict | list):
            return MappingProxyType({k: _decode_any(v, blobs) for k, v in value.items()})
    return MappingProxyType(value)


def _is_optional(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)


def _without_none(hint: Any) -> Any:
    rest = tuple(arg for arg in get_args(hint) if arg is not type(None))
    return rest[0] if len(rest) == 1 else Union[rest]  # noqa: UP007 - built at run time


def _encoder(hint: Any) -> Encoder:
    found = _ENCODERS.get(hint)
    if found is None:
        found = _ENCODERS[hint] = _make_encoder(hint)
    return found


def _make_encoder(hint: Any) -> Encoder:
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return _encode_any
    if hint in (str, int, float, bool) or origin is Literal:
        return _plain
    if hint is bytes:
        return _encode_bytes
    if _is_optional(hint):
        inner = _encoder(_without_none(hint))
        return lambda value, blobs: None if value is None else inner(value, blobs)
    if origin in (Union, types.UnionType):
        return _encode_any if all(is_dataclass(arg) for arg in args) else _plain
    if origin is tuple:
        if args[-1] is Ellipsis:
            each = _encoder(args[0])
            return lambda value, blobs: [each(item, blobs) for item in value]
        parts = [_encoder(arg) for arg in args]
        return lambda value, blobs: [
            part(item, blobs) for part, item in zip(parts, value, strict=True)
        ]
    if origin is frozenset:
        return lambda value, _blobs: sorted(value)
    if origin in (Mapping, dict) or hint in (Mapping, dict):
        item_encoder = _encoder(args[1]) if args else _encode_any
        if args and args[1] is Any:
            return lambda value, blobs: {str(k): _encode_any(v, blobs) for k, v in value.items()}
        return lambda value, blobs: {str(k): item_encoder(v, blobs) for k, v in value.items()}
    if is_dataclass(hint):
        return _dataclass_encoder(hint)
    raise TypeError(f"no JSON is known for {hint!r}")


def _dataclass_encoder(cls: Any) -> Encoder:
    hints = get_type_hints(cls)
    plan = [
        (
            field.name,
            field.default if field.default_factory is MISSING else field.default_factory(),
            _encoder(hints[field.name]),
        )
        for field in fields(cls)
    ]

    def encode(value: Any, blobs: MutableMapping[str, bytes]) -> Any:
        out = {}
        for name, default, part in plan:
            item = getattr(value, name)
            if default is MISSING or item != default:
                out[name] = part(item, blobs)
        return out

    return encode


def _decoder(hint: Any) -> Decoder:
    found = _DECODERS.get(hint)
    if found is None:
        found = _DECODERS[hint] = _make_decoder(hint)
    return found


def _make_decoder(hint: Any) -> Decoder:
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return _decode_any
    if hint in (str, int, float, bool) or origin is Literal:
        return _plain
    if hint is bytes:
        return _decode_bytes
    if _is_optional(hint):
        inner = _decoder(_without_none(hint))
        if inner is _plain:
            return _plain
        return lambda value, blobs: None if value is None else inner(value, blobs)
    if origin in (Union, types.UnionType):
        return _decode_tagged if all(is_dataclass(arg) for arg in args) else _plain
    if origin is tuple:
        return _tuple_decoder(args)
    if origin is frozenset:
        return lambda value, _blobs: frozenset(value)
    if origin in (Mapping, dict) or hint in (Mapping, dict):
        key = int if args and args[0] is int else str
        item_decoder = _decoder(args[1]) if args else _decode_any
        if key is str and item_decoder is _decode_any:
            return _decode_json
        return lambda value, blobs: MappingProxyType(
            {key(k): item_decoder(v, blobs) for k, v in value.items()}
        )
    if is_dataclass(hint):
        return _dataclass_decoder(hint)
    raise TypeError(f"no JSON is known for {hint!r}")


def _decode_tuple(value: Any, _blobs: Mapping[str, bytes]) -> tuple[Any, ...]:
    return tuple(value)


def _tuple_decoder(args: tuple[Any, ...]) -> Decoder:
    if args[-1] is Ellipsis:
        each = _decoder(args[0])
        if each is _plain:
            return _decode_tuple
        if each is _decode_tuple:
            return lambda value, _blobs: tuple(map(tuple, value))
        return lambda value, blobs: tuple([each(item, blobs) for item in value])
    parts = [_decoder(arg) for arg in args]
    if all(part is _plain for part in parts):
        return _decode_tuple
    return lambda value, blobs: tuple(
        [part(item, blobs) for part, item in zip(parts, value, strict=True)]
    )


def _dataclass_decoder(cls: Any) -> Decoder:
    """Written out once per class, as `dataclass` does with ``__init__``: of ten thousand events
    most of the time goes into such calls."""
    hints = get_type_hints(cls)
    parts = {name: _decoder(hints[name]) for name in hints}
    defaults = {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(cls)
        if field.default is not MISSING or field.default_factory is not MISSING
    }
    lines = [
        f"    if {name!r} in value: value[{name!r}] = parts_{name}(value[{name!r}], blobs)"
        for name, part in parts.items()
        if part is not _plain
    ]
    source = "\n".join(("def decode(value, blobs):", *lines, _MAKE.format(count=len(hints))))
    names: dict[str, Any] = {f"parts_{name}": part for name, part in parts.items()}
    names |= {"cls": cls, "defaults": defaults}
    names |= {"new": object.__new__, "put": object.__setattr__}
    exec(source, names)
    made: Decoder = names["decode"]
    return made


_MAKE = """\
    inside = {{**defaults, **value}}
    if len(inside) != {count}:
        return cls(**value)  # raises, naming the field that is missing or unknown
    out = new(cls)
    put(out, "__dict__", inside)  # a frozen dataclass's own __init__ costs several times this
    return out"""
