"""Selections as rules: joining pieces, and what an edit of the selection hits."""

from __future__ import annotations

from dataclasses import replace

from oniyanma.rules.model import Mode, Region, Rule, Shape
from oniyanma.scene.history import next_seq
from oniyanma.scene.state import SceneState, Selection

MAX_DEPTH = 48
"""Selections kept inside one another: each is a joining after an edit or a change of filters."""


class SelectionTooDeep(ValueError):
    """A selection was joined across too many edits or filters."""


def filters(state: SceneState) -> Rule:
    """A rule without regions: the log's position and the filters in force now."""
    return Rule(
        regions=(),
        at=next_seq(state),
        clip=state.clip,
        hidden_classes=state.hidden_classes,
        clouds=frozenset(cloud.id for cloud in state.clouds if cloud.visible),
    )


def joined(state: SceneState, shape: Shape, mode: Mode = "replace") -> SceneState:
    """The state with a shape joined to its selection.

    Nothing selected: adding selects, subtracting and intersecting leave nothing selected.
    """
    now, old = filters(state), state.selection.rule
    if mode == "replace" or (old is None and mode == "add"):
        return _selected(state, replace(now, regions=(Region(shape),)))
    if old is None:
        return state
    return _selected(state, replace(now, regions=(*_pieces(old, now), Region(shape, mode))))


def inverted(state: SceneState) -> SceneState:
    """The state with everything selected that is visible and was not."""
    now, old = filters(state), state.selection.rule
    before = () if old is None else _pieces(old, now)
    return _selected(state, replace(now, regions=(*before, Region(None, "replace", True))))


def cleared(state: SceneState) -> SceneState:
    return replace(state, selection=Selection())


def rule_now(state: SceneState) -> Rule | None:
    """What an edit made now hits: the selection, of it what is still visible.

    Points hidden, deleted, clipped away or filtered out since they were selected are not hit.
    """
    old = state.selection.rule
    if old is None:
        return None
    now = filters(state)
    if replace(old, regions=()) == now:
        return old
    return replace(now, regions=(Region(old),))


def region_count(rule: Rule | None) -> int:
    """How many pieces a selection was put together from."""
    if rule is None:
        return 0
    return sum(region_count(r.shape) if isinstance(r.shape, Rule) else 1 for r in rule.regions)


def _pieces(old: Rule, now: Rule) -> tuple[Region, ...]:
    if replace(old, regions=()) == now:
        return old.regions
    if _depth(old) >= MAX_DEPTH:
        raise SelectionTooDeep(
            f"The selection was joined across {MAX_DEPTH} edits or changes of filters: clear it "
            "and select anew."
        )
    return (Region(old),)


def _depth(rule: Rule) -> int:
    return 1 + max((_depth(r.shape) for r in rule.regions if isinstance(r.shape, Rule)), default=0)


def _selected(state: SceneState, rule: Rule) -> SceneState:
    return replace(state, selection=Selection(rule))
