"""Whatever the scene holds comes back from its JSON as it was, to the last bit."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oniyanma.rules.model import Box, Prism, Rule
from oniyanma.scene import state as scene
from oniyanma.scene.project.codec import CodecError, dumps, loads, loads_many
from tests.scene.project_values import edit_step, states, values_of

KINDS = (
    scene.CloudEntry,
    scene.Camera,
    scene.Display,
    scene.Selection,
    scene.Event,
    scene.Measurement,
    scene.Finding,
    scene.Batch,
    scene.Bookmark,
    Rule,
    Prism,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), values_of(kind))))
def test_every_kind_of_value_comes_back_equal(drawn: tuple[Any, Any]) -> None:
    kind, value = drawn
    blobs: dict[str, bytes] = {}
    text = dumps(value, blobs)
    assert text.isascii()
    assert loads(kind, text, blobs) == value


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(states())
def test_a_whole_scene_comes_back_equal(state: scene.SceneState) -> None:
    blobs: dict[str, bytes] = {}
    assert loads(scene.SceneState, dumps(state, blobs), blobs) == state


def test_floats_keep_every_bit() -> None:
    box = Box((0.1 + 0.2, 1e-310, -0.0), (635712.0199999999, 5e15 + 0.5, 1.7976931348623157e308))
    back = loads(Box, dumps(box, {}), {})
    assert [value.hex() for value in (*back.min, *back.max)] == [
        value.hex() for value in (*box.min, *box.max)
    ]


@pytest.mark.parametrize(
    "value", [2**64, -(2**63) - 1, 10**40, 2**64 - 1, math.inf, -math.inf, "\ud800", 5e-324]
)
def test_values_beyond_a_quick_parser_come_back_as_well(value: Any) -> None:
    """Integers of more than 64 bits, infinities and halves of surrogate pairs."""
    edit = scene.PointEdit("e1", "color", Rule(()), {"deep": {"list": [value]}, "plain": value})
    back = loads(scene.PointEdit, dumps(edit, {}), {}).params
    assert back == edit.params and type(back["plain"]) is type(value)


def test_a_picture_is_kept_once_and_outside_the_json() -> None:
    mark = scene.Bookmark("a", scene.Camera(), thumbnail=b"\x89PNG" * 100)
    change = scene.Change("bookmarks", "a", mark, mark)
    blobs: dict[str, bytes] = {}
    text = dumps((mark, change), blobs, tuple[scene.Bookmark, scene.Change])
    assert len(text) < 500
    assert list(blobs.values()) == [mark.thumbnail]


def test_a_field_added_later_takes_its_default_in_older_rows() -> None:
    stored = json.loads(dumps(scene.CloudEntry("c1", "a", "/a.las", visible=False), {}))
    del stored["visible"]
    assert loads(scene.CloudEntry, json.dumps(stored), {}).visible is True


@pytest.mark.parametrize(
    "text",
    ["{", '{"id":"a"}', '{"id":"a","name":"b","path":"c","colour":1}', "[]", "3", "null"],
)
def test_a_damaged_row_is_told_from_a_value(text: str) -> None:
    with pytest.raises(CodecError, match="CloudEntry"):
        loads(scene.CloudEntry, text, {})


def test_reading_many_is_the_same_as_reading_one_by_one() -> None:
    texts = [dumps(edit_step(seq), {}) for seq in range(1, 20)]
    assert loads_many(scene.Event, texts, {}) == [loads(scene.Event, t, {}) for t in texts]


def test_what_no_project_can_hold_is_refused_when_it_is_written() -> None:
    bad = scene.Measurement("m1", "point", (), "x", {"value": object()}, edit_step(1).actor, "")
    with pytest.raises(TypeError, match="object can't be kept"):
        dumps(bad, {})
