"""Scene values of every kind, for hypothesis and for plain random."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from hypothesis import strategies as st

from oniyanma.registry.actor import Actor
from oniyanma.registry.log import LogEntry
from oniyanma.rules.model import Polygon, Region, Rule
from oniyanma.scene import state as scene

PERSON = Actor("human", "Ada")
MODEL = Actor("ai", "a model", "classify the roofs", token="t1")

numbers = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | names,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(names | st.just("$"), inner, max_size=3)
    ),
    max_leaves=6,
)


def values_of(cls: Any) -> st.SearchStrategy[Any]:
    """Any value of a dataclass of the scene, each field by its type hint."""
    return st.builds(cls, **{f.name: _of(cls, f.name) for f in fields(cls)})


def _of(cls: Any, name: str) -> st.SearchStrategy[Any]:
    if (cls.__name__, name) in _SPECIAL:
        return _SPECIAL[cls.__name__, name]
    return _strategy(get_type_hints(cls)[name])


def _strategy(hint: Any) -> st.SearchStrategy[Any]:
    from types import UnionType
    from typing import Literal, Mapping, Union, get_args, get_origin  # noqa: UP035

    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return json_values
    if hint is type(None):
        return st.none()
    if origin is Literal:
        return st.sampled_from(args)
    if origin in (Union, UnionType):
        return st.one_of([_strategy(arg) for arg in args])
    if origin is tuple:
        if args[-1] is Ellipsis:
            return st.lists(_strategy(args[0]), max_size=2).map(tuple)
        return st.tuples(*map(_strategy, args))
    if origin is frozenset:
        return st.frozensets(_strategy(args[0]), max_size=3)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(_strategy(args[0]), _strategy(args[1]), max_size=2)
    if is_dataclass(hint):
        return st.deferred(lambda: values_of(hint))
    return {
        str: names,
        int: st.integers(-(2**53), 2**53),
        float: numbers,
        bool: st.booleans(),
        bytes: st.binary(max_size=20),
    }[hint]


_TABLES = {
    "measurements": scene.Measurement,
    "findings": scene.Finding,
    "batches": scene.Batch,
    "bookmarks": scene.Bookmark,
}
_record = st.none() | st.one_of(
    [st.deferred(lambda k=kind: values_of(k)) for kind in _TABLES.values()]
)
_SPECIAL = {("Change", "before"): _record, ("Change", "after"): _record}


@st.composite
def states(draw: st.DrawFn) -> scene.SceneState:
    """A whole scene whose events are numbered and whose clouds have ids of their own."""
    from dataclasses import replace

    state = draw(values_of(scene.SceneState))
    events = tuple(replace(event, seq=i + 1) for i, event in enumerate(state.events))
    clouds = tuple({entry.id: entry for entry in state.clouds}.values())
    return replace(state, events=events, clouds=clouds)


def line(command: str = "test", actor: Actor = PERSON, **arguments: Any) -> LogEntry:
    return LogEntry(
        time="2026-01-31T12:00:00.000Z",
        actor=actor,
        surface="all",
        command=command,
        arguments=arguments,
        outcome="ok",
    )


def lasso(seed: int, at: int = 0, corners: int = 8) -> Rule:
    """A world polygon unlike that of another seed."""
    ring = tuple((seed + 0.1 * i, (seed * 7919 % 1000) + 0.3 * i * i) for i in range(corners))
    return Rule((Region(Polygon(ring, (None, 100.5 + seed))),), at=at)


def edit_step(seq: int, actor: Actor = PERSON) -> scene.Event:
    """An event with one reclassify edit."""
    return scene.Event(
        seq=seq,
        kind="step",
        command="reclassifySelection",
        title=f"reclassify to {seq % 256}",
        actor=actor,
        time="2026-01-31T12:00:00.000Z",
        edits=(scene.PointEdit(f"e{seq}", "reclassify", lasso(seq, seq), {"class": seq % 256}),),
        points=seq,
    )
