"""Findings: who may take which step, and that nothing of them is ever lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from oniyanma.registry import Actor
from tests.scene.records import AIKO, BEN, MODEL, SCRIPT, Door


@pytest.fixture
def door() -> Door:
    return Door()


def add(door: Door, actor: Actor = MODEL, title: str = "Sagging cable") -> str:
    answer = door(actor, "addFinding", title=title, position=[10.0, 20.0, 5.0], severity="major")
    assert answer["ok"], answer
    return str(answer["id"])


def code(answer: dict[str, Any]) -> str:
    return str(answer["error"]["code"])


def test_a_finding_is_listed_with_all_that_was_said_of_it(door: Door) -> None:
    add(door)
    answer = door(SCRIPT, "listFindings")
    (finding,) = answer["findings"]
    assert finding["title"] == "Sagging cable"
    assert finding["position"] == [10.0, 20.0, 5.0]
    assert (finding["status"], finding["severity"]) == ("open", "major")
    assert finding["author"]["name"] == "model-1"
    assert [line["what"] for line in finding["history"]] == ["created"]
    assert answer["counts"] == {"open": 1, "confirmed": 0, "rejected": 0, "withdrawn": 0}
    assert door(AIKO, "listFindings", status="confirmed")["findings"] == []


def test_an_empty_list_says_how_to_make_one(door: Door) -> None:
    assert "addFinding" in door(AIKO, "listFindings")["note"]


@pytest.mark.parametrize("machine", [MODEL, SCRIPT])
@pytest.mark.parametrize("name", ["confirmFinding", "rejectFinding"])
@pytest.mark.parametrize("extra", [{}, {"confirm": True}])
def test_no_machine_decides_on_a_finding_with_or_without_confirm(
    door: Door, machine: Actor, name: str, extra: dict[str, Any]
) -> None:
    id = add(door, machine)
    before = door.state
    assert code(door(machine, name, id=id, **extra)) == "human_only"
    assert door.state is before
    assert door.lines()[-1]["outcome"] == "refused"


def test_a_person_confirms_once_and_the_note_is_kept(door: Door) -> None:
    id = add(door)
    assert door(AIKO, "confirmFinding", id=id, note="seen on site")["status"] == "confirmed"
    last = door.state.findings[id].history[-1]
    assert (last.what, last.actor, last.note) == ("confirmed", AIKO, "seen on site")
    answer = door(BEN, "rejectFinding", id=id)
    assert code(answer) == "refused"
    assert "confirmed" in answer["error"]["message"]


def test_a_machine_is_shown_what_deleting_would_withdraw(door: Door) -> None:
    id = add(door)
    answer = door(MODEL, "deleteFinding", id=id)
    assert answer["preview"] is True
    assert answer["wouldAffect"]["findings"] == 1
    assert (
        answer["wouldAffect"]["note"]
        == "the record stays and can be restored even after withdrawal"
    )
    assert door.state.findings[id].status == "open"
    assert door(MODEL, "deleteFinding", id=id, confirm=True, token=answer["token"])["ok"]
    assert door.state.findings[id].status == "withdrawn"
    assert door(MODEL, "deleteFinding", id=id)["wouldAffect"]["findings"] == 0
    assert "no finding" in door(MODEL, "deleteFinding", id="f99")["wouldAffect"]["note"]


def test_a_person_withdraws_without_a_preview(door: Door) -> None:
    id = add(door)
    assert door(AIKO, "deleteFinding", id=id)["status"] == "withdrawn"


def test_restoring_gives_back_the_status_it_had(door: Door) -> None:
    id = add(door)
    door(AIKO, "confirmFinding", id=id)
    door(MODEL, "deleteFinding", id=id, confirm=True)
    assert door(MODEL, "restoreFinding", id=id)["status"] == "confirmed"
    assert code(door(AIKO, "restoreFinding", id=id)) == "refused"


def test_a_machine_does_not_rewrite_what_a_person_confirmed(door: Door) -> None:
    """Neither by an edit nor by undoing one of its own."""
    id = add(door)
    door(MODEL, "updateFinding", id=id, title="Broken cable")
    door(AIKO, "confirmFinding", id=id)
    assert code(door(MODEL, "updateFinding", id=id, title="Nothing here")) == "refused"
    door(MODEL, "undo", steps=2)
    finding = door.state.findings[id]
    assert (finding.title, finding.status) == ("Broken cable", "confirmed")


def test_a_person_may_correct_the_text_and_the_former_one_stays_in_the_history(door: Door) -> None:
    id = add(door)
    door(AIKO, "confirmFinding", id=id)
    assert door(AIKO, "updateFinding", id=id, title="Sagging rope")["ok"]
    assert "Sagging cable" in door.state.findings[id].history[-1].note


def test_undo_of_a_text_brings_the_text_back_and_adds_to_the_history(door: Door) -> None:
    id = add(door)
    door(AIKO, "updateFinding", id=id, note="left of the gate", severity="critical")
    door(AIKO, "undo")
    finding = door.state.findings[id]
    assert (finding.note, finding.severity) == ("", "major")
    assert [e.what for e in finding.history] == ["created", "updated", "updated"]
    door(AIKO, "redo")
    assert door.state.findings[id].note == "left of the gate"


def test_undoing_the_adding_withdraws_and_never_erases(door: Door) -> None:
    id = add(door, AIKO)
    door(AIKO, "undo")
    assert door.state.findings[id].status == "withdrawn"
    other = add(door, AIKO, "Another")
    assert other != id
    door(AIKO, "restoreFinding", id=id)
    assert door.state.findings[id].status == "open"


def test_undo_does_not_unsign(door: Door) -> None:
    """A decision is no step of undo: the step before it is taken back instead."""
    id = add(door, AIKO)
    door(AIKO, "updateFinding", id=id, note="x")
    door(AIKO, "confirmFinding", id=id)
    door(AIKO, "undo")
    assert door.state.findings[id].status == "confirmed"
    assert door.state.findings[id].note == ""


def test_the_region_is_the_selection_or_a_reason(door: Door) -> None:
    refused = door(MODEL, "addFinding", title="x", position=[0, 0, 0], useSelection=True)
    assert code(refused) == "refused"
    door(MODEL, "selectWhere", classes=[6])
    id = door(MODEL, "addFinding", title="x", position=[0, 0, 0], useSelection=True)["id"]
    assert door.state.findings[id].region == door.state.selection.rule


@pytest.mark.parametrize("name", ["updateFinding", "restoreFinding", "confirmFinding"])
def test_an_unknown_finding_is_not_found(door: Door, name: str) -> None:
    assert code(door(AIKO, name, id="f7")) == "not_found"


class Findings(RuleBasedStateMachine):
    """Any order of steps by anybody: statuses follow the model, histories only grow."""

    ids: Bundle[str] = Bundle("ids")
    actors = st.sampled_from([AIKO, BEN, MODEL, SCRIPT])

    def __init__(self) -> None:
        super().__init__()
        self.door = Door()
        self.model: dict[str, tuple[str, str]] = {}  # id → (status, decided)
        self.histories: dict[str, tuple[Any, ...]] = {}

    @rule(target=ids, actor=actors)
    def add(self, actor: Actor) -> str:
        id = add(self.door, actor)
        assert id not in self.model
        self.model[id] = ("open", "open")
        return id

    @rule(id=ids, actor=actors, status=st.sampled_from(["confirmed", "rejected"]))
    def decide(self, id: str, actor: Actor, status: str) -> None:
        name = "confirmFinding" if status == "confirmed" else "rejectFinding"
        answer = self.door(actor, name, id=id)
        allowed = not actor.is_machine and self.model[id][0] == "open"
        assert answer["ok"] is allowed
        if allowed:
            self.model[id] = (status, status)

    @rule(id=ids, actor=actors)
    def withdraw(self, id: str, actor: Actor) -> None:
        confirm = {"confirm": True} if actor.is_machine else {}
        answer = self.door(actor, "deleteFinding", id=id, **confirm)
        status, decided = self.model[id]
        assert answer["ok"] is (status != "withdrawn")
        self.model[id] = ("withdrawn", decided)

    @rule(id=ids, actor=actors)
    def restore(self, id: str, actor: Actor) -> None:
        answer = self.door(actor, "restoreFinding", id=id)
        status, decided = self.model[id]
        assert answer["ok"] is (status == "withdrawn")
        if status == "withdrawn":
            self.model[id] = (decided, decided)

    @rule(id=ids, actor=actors, title=st.sampled_from(["one", "two"]))
    def update(self, id: str, actor: Actor, title: str) -> None:
        answer = self.door(actor, "updateFinding", id=id, title=title)
        status = self.model[id][0]
        assert answer["ok"] is (
            status == "open" or (status != "withdrawn" and not actor.is_machine)
        )

    @invariant()
    def agrees(self) -> None:
        findings = self.door.state.findings
        assert {id: f.status for id, f in findings.items()} == {
            id: status for id, (status, _) in self.model.items()
        }
        for id, finding in findings.items():
            known = self.histories.get(id, ())
            assert finding.history[: len(known)] == known
            self.histories[id] = finding.history


class UndoneFindings(RuleBasedStateMachine):
    """With undo and redo by anybody in between, no decision comes or goes but by a person."""

    ids: Bundle[str] = Bundle("ids")
    actors = st.sampled_from([AIKO, MODEL])

    def __init__(self) -> None:
        super().__init__()
        self.door = Door()
        self.decided: dict[str, str] = {}
        self.histories: dict[str, tuple[Any, ...]] = {}

    @rule(target=ids, actor=actors)
    def add(self, actor: Actor) -> str:
        return add(self.door, actor)

    @rule(id=ids)
    def confirm(self, id: str) -> None:
        if self.door(AIKO, "confirmFinding", id=id)["ok"]:
            self.decided[id] = "confirmed"

    @rule(id=ids, actor=actors, name=st.sampled_from(["deleteFinding", "restoreFinding"]))
    def turn(self, id: str, actor: Actor, name: str) -> None:
        confirm = {"confirm": True} if name == "deleteFinding" else {}
        self.door(actor, name, id=id, **confirm)

    @rule(id=ids, actor=actors, title=st.sampled_from(["one", "two"]))
    def update(self, id: str, actor: Actor, title: str) -> None:
        self.door(actor, "updateFinding", id=id, title=title)

    @rule(actor=actors, name=st.sampled_from(["undo", "redo"]))
    def step(self, actor: Actor, name: str) -> None:
        self.door(actor, name)

    @invariant()
    def agrees(self) -> None:
        for id, finding in self.door.state.findings.items():
            assert finding.status in (self.decided.get(id, "open"), "withdrawn")
            known = self.histories.get(id, ())
            assert finding.history[: len(known)] == known
            self.histories[id] = finding.history


TestFindings = Findings.TestCase
TestFindings.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestUndoneFindings = UndoneFindings.TestCase
TestUndoneFindings.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
