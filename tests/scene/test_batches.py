"""Batches: proposed by anybody, accepted by people, taken back by whoever made them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from oniyanma.registry import Actor, Gesture, verify
from oniyanma.scene import history
from tests.scene.records import AIKO, BEN, MODEL, NAMESAKE, SCRIPT, Door

ROOFS = [
    {"name": "selectWhere", "args": {"classes": [1]}},
    {"name": "reclassifySelection", "args": {"class": 6}},
    {"name": "addFinding", "args": {"title": "Roof", "position": [1.0, 2.0, 3.0]}},
    {"name": "reclassifySelection", "args": {"class": 7}},
]


@pytest.fixture
def door() -> Door:
    return Door()


def propose(door: Door, actor: Actor = MODEL, commands: Any = ROOFS) -> str:
    answer = door(actor, "proposeBatch", title="Roofs", commands=commands)
    assert answer["ok"], answer
    return str(answer["id"])


def code(answer: dict[str, Any]) -> str:
    return str(answer["error"]["code"])


def active(door: Door) -> list[dict[str, Any]]:
    return [dict(edit.params) for _, edit in history.active_edits(door.state.events)]


def status(door: Door, finding: str) -> str:
    return door.state.findings[finding].status


def test_proposing_runs_nothing(door: Door) -> None:
    before = door.state
    id = propose(door)
    assert door.state.events == before.events
    assert door.state.selection == before.selection
    assert door.state.findings == before.findings
    assert door.state.batches[id].state == "proposed"


def test_a_proposal_lists_every_mistake_with_its_place(door: Door) -> None:
    answer = door(
        MODEL,
        "proposeBatch",
        title="x",
        commands=[
            {"name": "reclassifySelection", "args": {"class": 300}},
            {"name": "selectWhere", "args": {"classes": [1]}},
            {"name": "selectWhat", "args": {}},
            {"name": "setClip"},
        ],
    )
    assert code(answer) == "invalid_arguments"
    paths = [p["path"] for p in answer["error"]["problems"]]
    assert paths == ["$.commands[0].args.class", "$.commands[2]", "$.commands[3]"]
    assert not door.state.batches


@pytest.mark.parametrize(
    "name", ["confirmFinding", "rejectFinding", "acceptBatch", "revertBatch", "undo", "setClip"]
)
@pytest.mark.parametrize("actor", [AIKO, MODEL])
def test_no_gate_is_loosened_by_being_in_a_batch(door: Door, name: str, actor: Actor) -> None:
    args = {} if name in ("undo", "setClip") else {"id": "x1"}
    commands = [{"name": name, "args": args}]
    assert not door(actor, "proposeBatch", title="x", commands=commands)["ok"]
    assert not door.state.batches


def test_confirm_and_token_are_not_carried_in_a_proposal(door: Door) -> None:
    commands = [ROOFS[0], {"name": "reclassifySelection", "args": {"class": 6, "confirm": True}}]
    id = propose(door, MODEL, commands)
    assert door.state.batches[id].commands[1] == {
        "name": "reclassifySelection",
        "args": {"class": 6},
    }


@pytest.mark.parametrize("machine", [MODEL, SCRIPT])
@pytest.mark.parametrize("extra", [{}, {"confirm": True}])
def test_no_machine_accepts_a_batch(door: Door, machine: Actor, extra: dict[str, Any]) -> None:
    id = propose(door, machine)
    assert code(door(machine, "acceptBatch", id=id, **extra)) == "human_only"
    assert door.state.batches[id].state == "proposed"


def test_accepting_is_one_step_by_who_accepted_with_the_proposer_in_each_line(door: Door) -> None:
    id = propose(door)
    revision = door.state.revision
    answer = door(AIKO, "acceptBatch", id=id)
    assert (answer["ok"], answer["state"], answer["commands"]) == (True, "applied", 4)
    assert answer["points"] == 14
    assert door.state.revision == revision + 1
    assert {event.actor for event in door.state.events} == {AIKO}
    batch = door.state.batches[id]
    assert (batch.accepted_by, batch.author) == (AIKO, MODEL)
    lines = door.lines()[-5:]
    assert [line["command"] for line in lines] == ["acceptBatch", *(c["name"] for c in ROOFS)]
    assert all(line["proposedBy"]["name"] == "model-1" for line in lines[1:])
    assert all(line["actor"]["name"] == "Aiko" for line in lines)
    assert verify(door.host.log.entries(), *door.host.log.head()).ok
    assert active(door) == [{"class": 6}, {"class": 7}]


def test_accepting_keeps_the_selection_a_person_had(door: Door) -> None:
    id = propose(door)
    door(AIKO, "selectWhere", classes=[2])
    before = door.state.selection
    door(AIKO, "acceptBatch", id=id)
    assert door.state.selection == before


def test_findings_of_a_batch_say_who_proposed_them(door: Door) -> None:
    door(AIKO, "acceptBatch", id=propose(door))
    (finding,) = door.state.findings.values()
    assert finding.author == AIKO
    assert "proposed by model-1" in finding.history[0].note


def test_one_undo_takes_the_whole_batch_back_and_redo_brings_it_again(door: Door) -> None:
    """A person undoes an AI's batch by undo, though somebody else's is not theirs to revert."""
    id = propose(door)
    door(AIKO, "acceptBatch", id=id)
    refused = door(AIKO, "revertBatch", id=id)
    assert code(refused) == "refused"
    assert "undo" in refused["error"]["message"]
    assert history.step_title(door.state, door.state.events[-1]) == "batch “Roofs”"
    door(AIKO, "undo")
    assert door.state.events[-1].title == "undo: batch “Roofs”"
    assert active(door) == []
    assert door.state.batches[id].state == "reverted"
    assert status(door, "f1") == "withdrawn"
    door(AIKO, "redo")
    assert active(door) == [{"class": 6}, {"class": 7}]
    assert door.state.batches[id].state == "applied"
    assert status(door, "f1") == "open"


def test_a_batch_is_accepted_once(door: Door) -> None:
    id = propose(door)
    door(AIKO, "acceptBatch", id=id)
    assert code(door(AIKO, "acceptBatch", id=id)) == "refused"
    assert code(door(AIKO, "acceptBatch", id="b9")) == "not_found"


def test_a_batch_with_a_step_that_fails_changes_nothing(door: Door) -> None:
    commands = [*ROOFS, {"name": "updateFinding", "args": {"id": "f9", "title": "x"}}]
    id = propose(door, MODEL, commands)
    before = door.state
    answer = door(AIKO, "acceptBatch", id=id)
    assert code(answer) == "not_found"
    assert (answer["error"]["step"], answer["error"]["command"]) == (4, "updateFinding")
    assert door.state is before


def test_a_full_disk_leaves_the_batch_proposed(door: Door) -> None:
    id = propose(door)
    before, lines = door.state, len(door.lines())
    door.host.full = True
    assert code(door(AIKO, "acceptBatch", id=id)) == "refused"
    assert door.state is before
    assert len(door.lines()) == lines + 1


def test_a_batch_is_reverted_also_after_other_edits(door: Door) -> None:
    id = propose(door)
    door(AIKO, "acceptBatch", id=id)
    door(AIKO, "selectWhere", classes=[1])
    door(AIKO, "reclassifySelection", **{"class": 3})
    preview = door(MODEL, "revertBatch", id=id)
    assert preview["wouldAffect"]["batches"] == 1
    assert "someone else" in preview["wouldAffect"]["note"]
    assert active(door) == [{"class": 6}, {"class": 7}, {"class": 3}]
    answer = door(MODEL, "revertBatch", id=id, confirm=True, token=preview["token"])
    assert answer["states"] == {id: "reverted"}
    assert active(door) == [{"class": 3}]
    assert door.state.findings["f1"].status == "withdrawn"


def test_somebody_else_is_told_by_ids_and_not_by_a_name(door: Door) -> None:
    id = propose(door, MODEL)
    assert MODEL.name == NAMESAKE.name
    preview = door(NAMESAKE, "revertBatch", id=id)
    assert preview["wouldAffect"]["batches"] == 0
    assert code(door(NAMESAKE, "revertBatch", id=id, confirm=True)) == "refused"
    renamed = Actor("ai", "model-1b", token=MODEL.token)
    assert door(renamed, "revertBatch", id=id, confirm=True)["states"] == {id: "withdrawn"}


def test_without_an_id_all_of_ones_own_are_reverted(door: Door) -> None:
    applied, waiting, other = propose(door), propose(door), propose(door, SCRIPT)
    door(AIKO, "acceptBatch", id=applied)
    preview = door(MODEL, "revertBatch")
    assert preview["wouldAffect"]["batches"] == 1
    assert "1" in preview["wouldAffect"]["note"]
    answer = door(MODEL, "revertBatch", confirm=True)
    assert answer["states"] == {applied: "reverted", waiting: "withdrawn"}
    assert door.state.batches[other].state == "proposed"
    answer = door(MODEL, "revertBatch", confirm=True)
    assert (answer["ok"], answer["batches"]) == (True, 0)
    assert "listBatches" in answer["note"]


def test_the_list_says_what_each_step_hits(door: Door) -> None:
    id = propose(door)
    (batch,) = door(SCRIPT, "listBatches")["batches"]
    assert batch["points"] == 14
    assert batch["commands"][0]["hits"] == {"points": 7}
    assert batch["commands"][1]["hits"] == {"points": 7}
    assert batch["commands"][2]["hits"] == {"findings": 1}
    door(AIKO, "acceptBatch", id=id)
    assert door(SCRIPT, "listBatches")["batches"][0]["points"] == 14
    assert door(SCRIPT, "listBatches", state="proposed")["batches"] == []


def test_the_list_shows_the_step_that_would_fail(door: Door) -> None:
    propose(door, MODEL, [ROOFS[1]])
    (batch,) = door(AIKO, "listBatches")["batches"]
    assert "No selection" in batch["commands"][0]["problem"]


def test_a_person_looks_at_a_batch_before_accepting_it(door: Door) -> None:
    """Before and after by a switch: live on screen, nothing committed."""
    id = propose(door)
    committed = door.state
    gesture = Gesture(door.context, "acceptBatch", AIKO, "all")
    assert gesture.update({"id": id})["ok"]
    assert len(door.host.live_state.events) == 3
    assert door.state is committed
    gesture.cancel()
    assert door.host.live_state is None
    machine = Gesture(door.context, "acceptBatch", MODEL, "all")
    assert code(machine.update({"id": id})) == "human_only"
    machine.cancel()


class Batches(RuleBasedStateMachine):
    """Any order of steps by anybody: states follow the model, and so do the edits in force."""

    ids: Bundle[str] = Bundle("ids")
    actors = st.sampled_from([AIKO, BEN, MODEL, NAMESAKE])

    def __init__(self) -> None:
        super().__init__()
        self.door = Door()
        self.model: dict[str, str] = {}
        self.author: dict[str, Actor] = {}

    @rule(target=ids, actor=actors)
    def propose(self, actor: Actor) -> str:
        id = propose(self.door, actor, ROOFS[:2])
        assert id not in self.model
        self.model[id], self.author[id] = "proposed", actor
        return id

    @rule(id=ids, actor=actors)
    def accept(self, id: str, actor: Actor) -> None:
        answer = self.door(actor, "acceptBatch", id=id)
        allowed = not actor.is_machine and self.model[id] == "proposed"
        assert answer["ok"] is allowed
        if allowed:
            self.model[id] = "applied"

    @rule(id=ids, actor=actors)
    def revert(self, id: str, actor: Actor) -> None:
        confirm = {"confirm": True} if actor.is_machine else {}
        answer = self.door(actor, "revertBatch", id=id, **confirm)
        allowed = actor == self.author[id] and self.model[id] in ("proposed", "applied")
        assert answer["ok"] is allowed
        if allowed:
            self.model[id] = "reverted" if self.model[id] == "applied" else "withdrawn"

    @rule(actor=actors, name=st.sampled_from(["undo", "redo"]))
    def step(self, actor: Actor, name: str) -> None:
        before = {id: b.state for id, b in self.door.state.batches.items()}
        self.door(actor, name)
        for id, batch in self.door.state.batches.items():
            if batch.state != before[id]:
                turn = ("applied", "reverted") if name == "undo" else ("reverted", "applied")
                assert (before[id], batch.state) == turn
                self.model[id] = batch.state

    @rule(actor=st.sampled_from([AIKO, BEN]))
    def edit(self, actor: Actor) -> None:
        self.door(actor, "selectWhere", classes=[1])
        self.door(actor, "reclassifySelection", **{"class": 3})

    @invariant()
    def agrees(self) -> None:
        state = self.door.state
        assert {id: b.state for id, b in state.batches.items()} == self.model
        in_force = {event.batch for event, _ in history.active_edits(state.events) if event.batch}
        assert in_force == {id for id, s in self.model.items() if s == "applied"}


TestBatches = Batches.TestCase
TestBatches.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
