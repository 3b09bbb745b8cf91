"""A mouse gesture is live while it lasts, and one command with one line at its end."""

from __future__ import annotations

from typing import Any

import pytest

from oniyanma.registry import Gesture


def _begin(door: Any, kit: Any, name: str = "add", actor: Any = None) -> Gesture:
    return Gesture(door.ctx, name, actor or kit.human, "all")


def test_a_gesture_shows_live_and_commits_once(door: Any, kit: Any) -> None:
    gesture = _begin(door, kit)
    for by in (1, 2, 3):
        answer = gesture.update({"by": by})
        assert answer == {"ok": True, "revision": 0, "live": True, "value": by}
        assert door.host.live_state.value == by
        assert door.host.state.value == 0
    assert door.host.lines() == []
    assert gesture.end() == {"ok": True, "revision": 1, "value": 3}
    assert door.host.live_state is None
    assert [line["arguments"] for line in door.host.lines()] == [{"by": 3}]
    assert gesture.end() is None and door.host.state.revision == 1


def test_a_cancelled_gesture_never_was(door: Any, kit: Any) -> None:
    gesture = _begin(door, kit)
    gesture.update({"by": 4})
    gesture.cancel()
    gesture.cancel()
    assert door.host.live_state is None and door.host.lines() == []
    with pytest.raises(RuntimeError, match="over"):
        gesture.update({"by": 1})


def test_a_gesture_without_a_move_runs_nothing(door: Any, kit: Any) -> None:
    assert _begin(door, kit).end() is None
    assert door.host.writes == 0


def test_a_mistake_in_a_gesture_is_answered_and_the_last_good_move_stays(
    door: Any, kit: Any
) -> None:
    gesture = _begin(door, kit)
    gesture.update({"by": 2})
    assert gesture.update({"by": 99})["error"]["code"] == "invalid_arguments"
    assert door.host.live_state.value == 2
    assert gesture.end()["value"] == 2  # type: ignore[index, call-overload]


@pytest.mark.parametrize("name", ["read", "wipe"])
def test_what_is_gated_or_reads_is_no_gesture(door: Any, kit: Any, name: str) -> None:
    door.select(1)
    gesture = _begin(door, kit, name)
    assert gesture.update({})["error"]["code"] in ("refused", "invalid_arguments")
    assert door.host.live_state is None
    assert gesture.end() is None


def test_a_machine_in_a_gesture_meets_the_same_refusals(door: Any, kit: Any) -> None:
    assert _begin(door, kit, "decide", kit.ai).update({})["error"]["code"] == "human_only"
    reading = Gesture(door.ctx, "add", kit.api, "read")
    assert reading.update({"by": 1})["error"]["code"] == "surface_denied"


def test_what_others_do_meanwhile_stays_under_the_gesture(door: Any, kit: Any) -> None:
    gesture = _begin(door, kit)
    gesture.update({"by": 2})
    door.ask("add", {"by": 5})
    assert door.host.live_state.value == 7
    assert gesture.end()["value"] == 7  # type: ignore[index, call-overload]


def test_a_fault_in_a_move_is_not_swallowed(door: Any, kit: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        _begin(door, kit, "crash").update({})
    assert door.host.live_state is None
