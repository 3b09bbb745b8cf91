"""From one view to the next: shown in a moment, never over 200 ms, off where the system says so."""

from __future__ import annotations

from time import monotonic
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oniyanma.ui import glide
from PySide6.QtCore import Qt

from oniyanma.scene.state import Camera

PLACES = st.tuples(*[st.floats(-1e6, 1e6)] * 3)


@given(PLACES, PLACES, st.floats(0, 1))
def test_the_way_begins_and_ends_at_the_views_themselves(a: Any, b: Any, share: float) -> None:
    start, end = Camera(eye=a, target=b), Camera(eye=b, target=a)
    assert glide.between(start, end, 0.0).eye == pytest.approx(start.eye, abs=1e-6)
    assert glide.between(start, end, 1.0).eye == pytest.approx(end.eye, abs=1e-6)
    for low, at, high in zip(a, glide.between(start, end, share).eye, b, strict=True):
        assert min(low, high) - 1e-6 <= at <= max(low, high) + 1e-6


def test_the_state_is_there_at_once_and_the_picture_follows(
    town: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glide, "wanted", lambda: True)
    bridge = town.window.bridge
    before = town.state.camera
    now = monotonic()
    monkeypatch.setattr(glide, "monotonic", lambda: now)
    town.key(Qt.Key.Key_1)
    wanted = town.state.camera
    assert wanted.eye != before.eye
    assert bridge.drawn.state.camera.eye == pytest.approx(before.eye)
    monkeypatch.setattr(glide, "monotonic", lambda: now + 0.09)
    assert bridge.drawn.state.camera.eye not in (before.eye, wanted.eye)
    monkeypatch.setattr(glide, "monotonic", lambda: now + 0.2)  # never longer
    assert bridge.drawn.state.camera == wanted
    monkeypatch.undo()
    town.settle()
    assert not bridge.glide.active
    assert bridge.drawn is bridge.view
    assert [name for name, _, _ in town.spy.calls] == ["setCamera"]


def test_a_hand_on_the_mouse_ends_it_and_so_does_the_system(
    town: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glide, "wanted", lambda: True)
    town.key(Qt.Key.Key_1)
    assert town.window.bridge.glide.active
    town.qtbot.mousePress(town.canvas, Qt.MouseButton.LeftButton, pos=town.canvas.rect().center())
    assert not town.window.bridge.glide.active
    town.qtbot.mouseRelease(town.canvas, Qt.MouseButton.LeftButton)
    monkeypatch.setattr(glide, "wanted", lambda: False)
    town.key(Qt.Key.Key_7)
    assert not town.window.bridge.glide.active
