"""The closed set of conditions that commands name, each with the reason given when it fails."""

from __future__ import annotations

from typing import Any, Final

from oniyanma.registry import Condition
from oniyanma.scene.state import SceneState


def _has_cloud(state: SceneState, host: Any) -> bool:
    return bool(state.clouds)


def _has_selection(state: SceneState, host: Any) -> bool:
    return state.selection.rule is not None


def _has_edits(state: SceneState, host: Any) -> bool:
    return any(event.kind == "step" and event.edits for event in state.events)


def _has_steps(state: SceneState, host: Any) -> bool:
    return any(event.kind == "step" for event in state.events)


def _has_undone(state: SceneState, host: Any) -> bool:
    return any(event.kind == "undo" for event in state.events)


def _writable(state: SceneState, host: Any) -> bool:
    return not state.project.read_only


CONDITIONS: Final = (
    Condition("has_cloud", _has_cloud, "No cloud is open (open one first).", soft=True),
    Condition("has_selection", _has_selection, "No selection (select something first).", soft=True),
    Condition("has_edits", _has_edits, "There are no edits.", soft=True),
    Condition("has_steps", _has_steps, "There is nothing to undo."),
    Condition("has_undone", _has_undone, "There is nothing to redo."),
    Condition(
        "writable",
        _writable,
        "The project is open read-only here (getSession says why); save it under another name "
        "first.",
    ),
)
