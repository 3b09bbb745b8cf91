"""Edits are rules in an order: whatever is undone, redone or cleared, and however the points
come, they are what reading the log from the start makes of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from oniyanma.registry.actor import Actor
from oniyanma.rules.block import PointBlock
from oniyanma.rules.evaluate import evaluate
from oniyanma.rules.model import Box, Clip, Polygon, Prism, Where
from oniyanma.scene import history, selection
from oniyanma.scene.edits import BlockState
from oniyanma.scene.ports import DELETED, HIDDEN
from oniyanma.scene.program import EditProgram
from oniyanma.scene.state import CloudEntry, EditKind, PointEdit, SceneState
from tests.scene.scene_help import Reference

PERSON = Actor("human", "Mei")
AI = Actor("ai", "model")
API = Actor("api", "script")
SCALE, OFFSET = (0.01, 0.01, 0.01), (1000.0, 2000.0, 0.0)
BOUNDS = ((1000.0, 2000.0, 0.0), (1020.0, 2020.0, 10.0))
N = 1500


def points(which: np.ndarray | None = None) -> PointBlock:
    rng = np.random.default_rng(3)
    xyz = rng.integers(0, (2001, 2001, 1001), (N, 3), dtype=np.int32)
    attributes = {
        "classification": rng.integers(0, 7, N, dtype=np.uint8),
        "intensity": rng.integers(0, 100, N, dtype=np.uint16),
    }
    if which is not None:
        xyz, attributes = xyz[which], {k: v[which] for k, v in attributes.items()}
    return PointBlock("c1", xyz, SCALE, OFFSET, attributes)


def edit_selection(state: SceneState, kind: EditKind, actor: Actor, **params: object) -> SceneState:
    rule_ = selection.rule_now(state)
    assert rule_ is not None
    edit = PointEdit(history.edit_id(history.next_seq(state)), kind, rule_, params)
    return history.append_step(
        state, command=kind, title=kind, actor=actor, time="2026-01-01T00:00:00Z", edits=(edit,)
    )


def same(block: BlockState, wanted: tuple[np.ndarray, ...], which: np.ndarray | slice) -> None:
    classes, hidden, deleted, paint = (a[which] for a in wanted)
    assert (block.classification == classes).all()
    assert ((block.flags & HIDDEN != 0) == hidden).all()
    assert ((block.flags & DELETED != 0) == deleted).all()
    assert (block.paint == paint).all() if block.paint is not None else not paint.any()


x, y, z = st.floats(1000, 1020), st.floats(2000, 2020), st.floats(0, 10)
boxes = st.builds(
    lambda a, b, c, w, turn: Box((a, b, c), (a + w, b + w, c + w), turn),
    x, y, z, st.floats(0.5, 15), st.sampled_from([0.0, 20.0]),
)  # fmt: skip
shapes = st.one_of(
    boxes,
    st.builds(Where, classes=st.frozensets(st.integers(0, 7), min_size=1, max_size=3)),
    st.builds(Where, intensity=st.tuples(st.floats(0, 60), st.floats(30, 100))),
    st.builds(Polygon, st.lists(st.tuples(x, y), min_size=3, max_size=6).map(tuple)),
)
actors = st.sampled_from([PERSON, AI, API])


class EditMachine(RuleBasedStateMachine):
    """Random selecting, editing, undoing, redoing and clearing by three actors."""

    @initialize()
    def start(self) -> None:
        self.state = SceneState(
            clouds=(CloudEntry("c1", "a", "a.laz"), CloudEntry("c2", "b", "b.laz"))
        )
        self.reference = Reference(points())
        self.parts = [np.arange(0, N, 3), np.arange(1, N, 3), np.arange(2, N, 3)]
        self.blocks = [BlockState(points(part)) for part in self.parts]
        self.program = EditProgram(within=BOUNDS)
        self.undone = 0

    @rule(shape=shapes, mode=st.sampled_from(["replace", "add", "subtract", "intersect"]))
    def select(self, shape, mode) -> None:
        self.state = selection.joined(self.state, shape, mode)

    @rule()
    def invert(self) -> None:
        self.state = selection.inverted(self.state)

    @rule(
        clip=st.none() | st.builds(Clip, boxes), hidden=st.frozensets(st.integers(0, 6), max_size=2)
    )
    def filter(self, clip, hidden) -> None:
        self.state = replace(self.state, clip=clip, hidden_classes=hidden)

    @precondition(lambda self: self.state.selection.rule is not None)
    @rule(
        kind=st.sampled_from(["hide", "delete", "reclassify", "color"]),
        actor=actors,
        value=st.integers(0, 7),
        color=st.sampled_from(["#ff0000", "#00ff80", None]),
    )
    def edit(self, kind, actor, value, color) -> None:
        params = {"reclassify": {"class": value}, "color": {"color": color}}.get(kind, {})
        self.state = edit_selection(self.state, kind, actor, **params)

    @rule(actor=actors, steps=st.integers(1, 4))
    def undo(self, actor, steps) -> None:
        self.state, taken = history.undo(self.state, actor, "t", steps)
        assert all(not actor.is_machine or history.same_actor(actor, e.actor) for e in taken)

    @rule(actor=actors, steps=st.integers(1, 4))
    def redo(self, actor, steps) -> None:
        self.state, taken = history.redo(self.state, actor, "t", steps)
        assert all(not actor.is_machine or history.same_actor(actor, e.actor) for e in taken)

    @rule(actor=actors, kinds=st.sampled_from([(), ("hide",), ("reclassify", "color")]))
    def clear(self, actor, kinds) -> None:
        self.state, _ = history.clear(self.state, actor, "t", kinds)
        left = [e for _, e in history.active_edits(self.state.events)]
        assert not [e for e in left if not kinds or e.kind in kinds]

    @rule()
    def undo_everything_and_redo_it(self) -> None:
        """FIELD 45: after k undos every array is as at the start; redo likewise."""
        before = self.state
        steps = len(history.undoable(before, PERSON))
        undone, taken = history.undo(before, PERSON, "t", steps)
        wanted = self.reference.at(undone.events)
        start = self.reference.block.attributes["classification"]
        assert (wanted[0] == start).all() and not any(a.any() for a in wanted[1:])
        again, back = history.redo(undone, PERSON, "t", steps)
        assert [e.seq for e in reversed(back)] == [e.seq for e in taken]
        for a, b in zip(
            self.reference.at(again.events), self.reference.at(before.events), strict=True
        ):
            assert (a == b).all()
        self.state = again

    @invariant()
    def blocks_are_what_the_log_says(self) -> None:
        events = self.state.events
        self.program.extend(events)
        wanted = self.reference.at(events)
        for block, part in zip(self.blocks, self.parts, strict=True):
            block.advance(self.program)
            same(block, wanted, part)

    @invariant()
    def the_selection_is_the_same_bit_for_bit(self) -> None:
        chosen = self.state.selection.rule
        if chosen is None:
            return
        self.reference.block.as_at = lambda p: self.reference.state(self.state.events, p)
        whole = evaluate(chosen, self.reference.block)
        for block, part in zip(self.blocks, self.parts, strict=True):
            assert (evaluate(chosen, block.points) == whole[part]).all()

    def teardown(self) -> None:
        """A node loaded later, and a program read at once, agree with those kept current."""
        if not hasattr(self, "state"):
            return
        wanted = self.reference.at(self.state.events)
        for program in (EditProgram(self.state.events), EditProgram(self.state.events, BOUNDS)):
            late = BlockState(points())
            late.advance(program)
            same(late, wanted, slice(None))
        in_force = [
            e.edit.id
            for i in sorted(self.program.effective(1 << 60))
            for e in [self.program.edits[i]]
        ]
        assert in_force == [e.id for _, e in history.active_edits(self.state.events)]


EditMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestEdits = EditMachine.TestCase


def select(state: SceneState, shape, mode="replace") -> SceneState:
    return selection.joined(state, shape, mode)


def started() -> SceneState:
    return SceneState(clouds=(CloudEntry("c1", "a", "a.laz"),))


def read(state: SceneState) -> BlockState:
    block = BlockState(points())
    block.advance(EditProgram(state.events))
    return block


def test_undoing_a_reclassification_does_not_change_what_a_later_edit_hit() -> None:
    """Reclassify, select by the new class, delete, undo the first: the deleted stay deleted."""
    state = select(started(), Where(classes=frozenset({2})))
    state = edit_selection(state, "reclassify", AI, **{"class": 99})
    state = select(state, Where(classes=frozenset({99})))
    state = edit_selection(state, "delete", PERSON)
    state, taken = history.undo(state, AI, "t")
    assert [e.command for e in taken] == ["reclassify"]
    block = read(state)
    was = points().attributes["classification"]
    assert (block.classification == was).all()
    assert ((block.flags & DELETED != 0) == (was == 2)).all()


def test_what_was_hidden_since_it_was_selected_is_not_hit_by_the_next_edit() -> None:
    state = select(started(), Where(elevation=(None, None)))
    state = edit_selection(state, "hide", PERSON)
    state = edit_selection(state, "delete", PERSON)
    assert not (read(state).flags & DELETED).any()
    state, _ = history.undo(state, PERSON, "t", 2)
    assert not read(state).flags.any()


def test_an_edit_hits_nothing_that_a_filter_hides_though_it_was_selected_before() -> None:
    """FIELD 43: what the count leaves out, the edit leaves out."""
    state = select(started(), Where())
    clip = Clip(Box((1000, 2000, 0), (1010, 2020, 10)))
    state = replace(state, clip=clip, hidden_classes=frozenset({1}))
    block = read(edit_selection(state, "delete", PERSON))
    inside = evaluate(clip.shape, points()) & (points().attributes["classification"] != 1)
    assert ((block.flags & DELETED != 0) == inside).all()


def test_a_cloud_opened_later_is_not_hit_by_earlier_edits() -> None:
    state = edit_selection(select(started(), Where()), "delete", PERSON)
    other = points()
    other.cloud = "c2"
    block = BlockState(other)
    block.advance(EditProgram(state.events))
    assert not block.flags.any()


def test_a_selection_joined_after_an_edit_keeps_its_first_piece() -> None:
    state = select(started(), Where(classes=frozenset({2})))
    state = edit_selection(state, "reclassify", PERSON, **{"class": 6})
    state = select(state, Where(classes=frozenset({3})), "add")
    block = BlockState(points())
    block.advance(EditProgram(state.events))
    was = points().attributes["classification"]
    assert state.selection.rule is not None
    assert (evaluate(state.selection.rule, block.points) == np.isin(was, (2, 3))).all()


def test_a_screen_lasso_hits_points_outside_of_what_was_taken_for_all_there_is() -> None:
    """It looks down from (1010, 2010, 11), its far plane 2 away; what it sees widens below."""
    down = (1.0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, -1.105263, -0.210526, 0, 0, -1.0, 0)
    lasso = Prism(
        ((25, 25), (75, 25), (75, 75), (25, 75)), down, (1010.0, 2010.0, 11.0), (100, 100)
    )
    state = started()
    for i in range(10):
        state = select(state, Box((1000.0 + i, 2000, 0), (1000.1 + i, 2001, 10)))
        state = edit_selection(state, "hide", PERSON)
    state = edit_selection(select(state, lasso), "delete", PERSON)
    block = BlockState(points())
    block.advance(EditProgram(state.events, ((1000.0, 2000.0, 9.5), (1020.0, 2020.0, 10.0))))
    hidden = block.flags & HIDDEN != 0
    assert ((block.flags & DELETED != 0) == (evaluate(lasso, points()) & ~hidden)).all()
    assert 50 < np.count_nonzero(block.flags & DELETED) < N


def test_arrays_handed_out_are_never_written_to() -> None:
    state = select(started(), Where())
    block, program = BlockState(points()), EditProgram()
    seen = []
    for kind, params in [
        ("hide", {}),
        ("reclassify", {"class": 1}),
        ("color", {"color": "#010203"}),
    ]:
        state = edit_selection(state, kind, PERSON, **params)
        program.extend(state.events)
        block.advance(program)
        seen.append(
            (block.classification, block.classification.copy(), block.flags, block.flags.copy())
        )
        state, _ = history.undo(state, PERSON, "t")
        program.extend(state.events)
        block.advance(program)
    for classes, was, flags, had in seen:
        assert (classes == was).all() and (flags == had).all()


def test_a_fork_goes_its_own_way() -> None:
    state = edit_selection(select(started(), Where()), "hide", PERSON)
    program = EditProgram(state.events)
    block = BlockState(points())
    block.advance(program)
    live, ahead = block.fork(), program.fork()
    later = edit_selection(select(state, Where()), "reclassify", PERSON, **{"class": 9})
    later, _ = history.undo(later, PERSON, "t", 2)
    ahead.extend(later.events)
    live.advance(ahead)
    assert not live.flags.any() and (block.flags == HIDDEN).all()
    assert not program.continues(started().events) and ahead.continues(later.events)
