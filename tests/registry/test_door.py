"""The one door: its order, its refusals, and that nothing half-done is ever seen."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from oniyanma.registry import NotReady, Outcome, Registry, not_ready
from oniyanma.registry.door import NoReach


def test_an_answer_holds_ok_revision_and_what_the_handler_said(door: Any, kit: Any) -> None:
    assert door.ask("add", {"by": 3}) == {"ok": True, "revision": 1, "value": 3}
    assert door.ask("read") == {"ok": True, "revision": 1, "value": 3, "list": [3]}


def test_defaults_are_filled_in_and_whole_floats_become_ints(door: Any) -> None:
    assert door.ask("add")["value"] == 1
    answer = door.ask("add", {"by": 2.0})
    assert answer["value"] == 3 and isinstance(answer["value"], int)


def test_an_unknown_name_offers_the_three_nearest(door: Any) -> None:
    error = door.ask("raed")["error"]
    assert error["code"] == "unknown_command"
    assert error["suggestions"][0] == "read" and len(error["suggestions"]) == 3


@pytest.mark.parametrize("name", [None, 3, [], "", "\ud800", "x" * 10_000])
def test_a_name_that_is_none_is_answered_and_logged(door: Any, name: Any) -> None:
    assert door.code(name) == "unknown_command"
    line = door.host.log.entries()[-1]
    line.body["command"].encode("utf-8")
    assert len(line.body["command"]) < 600


def test_checks_come_in_the_order_of_the_design(door: Any, kit: Any) -> None:
    """surface before human-only before arguments before conditions before the gate."""
    wrong = {"by": "many"}
    assert door.code("decide", wrong, surface="read") == "surface_denied"
    assert door.code("decide", wrong) == "human_only"
    assert door.code("needy", wrong) == "invalid_arguments"
    assert door.code("needy", {}) == "unavailable"
    assert door.code("wipe", wrong) == "invalid_arguments"
    assert door.ask("wipe")["preview"] is True


def test_the_read_surface_runs_no_write_by_any_actor_and_lists_what_it_runs(
    door: Any, kit: Any
) -> None:
    for actor in (kit.human, kit.ai, kit.api):
        for command in door.registry:
            if command.readonly:
                assert door.ask(command.name, actor=actor, surface="read")["ok"]
            else:
                error = door.ask(command.name, command.example, actor, "read")["error"]
                assert error["code"] == "surface_denied"
                assert error["available"] == ["read"]
    assert door.host.state.value == 0


def test_an_unknown_surface_runs_nothing(door: Any) -> None:
    assert door.code("read", surface="admin") == "surface_denied"
    assert door.code("add", surface="ALL") == "surface_denied"


def test_every_mistake_of_the_arguments_is_told_at_once(door: Any) -> None:
    error = door.ask("add", {"by": 99, "extra": [1], "bye": 2})["error"]
    assert error["code"] == "invalid_arguments"
    by_path = {p["path"]: p for p in error["problems"]}
    assert set(by_path) == {"$.by", "$.extra", "$.bye"}
    assert by_path["$.by"] == {
        "path": "$.by",
        "given": 99,
        "allowed": "a whole number from 1 to 9",
    }
    assert "did you mean by?" in by_path["$.bye"]["allowed"]


def test_a_missing_argument_is_named(door: Any) -> None:
    problems = door.ask("save", {})["error"]["problems"]
    assert problems == [{"path": "$.path", "given": "(missing)", "allowed": "required: text"}]


@pytest.mark.parametrize(
    "args",
    [
        [],
        "by=1",
        7,
        {"by": float("nan")},
        {"by": float("inf")},
        {"by": True},
        {"by": "1"},
        {"by": None},
        {"by": 10**400},
        {"by": object()},
        {1: 2},
        {"by": b"1"},
    ],
)
def test_what_is_no_valid_json_argument_is_refused(door: Any, args: Any) -> None:
    answer = door.ask("add", args)
    assert answer["error"]["code"] == "invalid_arguments"
    json.dumps(answer, allow_nan=False)
    assert door.host.state.value == 0


def test_arguments_nested_without_end_are_refused(door: Any) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert door.code("add", {"by": deep}) == "invalid_arguments"


def test_numpy_numbers_tuples_and_paths_are_taken_as_json(door: Any, tmp_path: Any) -> None:
    import numpy as np

    assert door.ask("add", {"by": np.int64(2)})["value"] == 2
    assert door.ask("add", {"by": np.float64(2)})["value"] == 4


def test_an_argument_changed_by_its_caller_later_changes_nothing(door: Any, kit: Any) -> None:
    args = {"by": 4}
    door.ask("add", args)
    args["by"] = 9
    assert door.host.lines()[-1]["arguments"] == {"by": 4}


def test_a_person_is_never_gated(door: Any, kit: Any) -> None:
    door.select(5)
    assert door.ask("wipe", actor=kit.human) == {"ok": True, "revision": 1, "points": 5}


def test_a_preview_changes_nothing_and_has_the_keys_of_the_seed_page(door: Any, kit: Any) -> None:
    door.select(5)
    before = door.host.state
    for actor in (kit.ai, kit.api):
        answer = door.ask("wipe", actor=actor)
        assert set(answer) == {"preview", "command", "revision", "token", "wouldAffect", "note"}
        assert answer["preview"] is True and answer["command"] == "wipe"
        assert answer["wouldAffect"] == {"points": 5, "note": "resident"}
        assert answer["note"] == (
            "Not executed. To run this, call again with the same arguments plus confirm:true "
            "(undoable, but while collaborating it applies to every participant's screen "
            "immediately)"
        )
    assert door.host.state is before
    assert [line["outcome"] for line in door.host.lines()] == ["preview", "preview"]


def test_with_nothing_selected_the_preview_says_why_it_is_zero(door: Any) -> None:
    answer = door.ask("wipe")
    assert answer["wouldAffect"] == {"points": 0, "note": "No selection (select something first)"}


@pytest.mark.parametrize("confirm", ["true", 1, "yes", None, 1.0, [True], {}])
def test_only_the_boolean_true_confirms(door: Any, confirm: Any) -> None:
    door.select(5)
    assert door.code("wipe", {"confirm": confirm}) == "invalid_arguments"
    assert door.ask("wipe", {"confirm": False})["preview"] is True
    assert door.ask("wipe", {"confirm": True})["ok"] is True


def test_confirm_on_an_ungated_command_is_a_mistake(door: Any, kit: Any) -> None:
    assert door.code("add", {"by": 1, "confirm": True}) == "invalid_arguments"
    assert door.code("read", {"confirm": True}) == "invalid_arguments"


def test_a_token_runs_what_was_previewed_once(door: Any) -> None:
    door.select(5)
    token = door.ask("wipe")["token"]
    assert door.ask("wipe", {"confirm": True, "token": token})["ok"] is True
    again = door.ask("wipe", {"confirm": True, "token": token})
    assert again["preview"] is True and "used before" in again["note"]


def test_a_token_of_another_selection_gives_a_fresh_preview(door: Any) -> None:
    door.select(5)
    token = door.ask("wipe")["token"]
    door.select(6)
    answer = door.ask("wipe", {"confirm": True, "token": token})
    assert answer["preview"] and "the selection changed" in answer["note"]
    assert answer["wouldAffect"]["points"] == 6
    assert door.ask("wipe", {"confirm": True, "token": answer["token"]})["ok"]


def test_a_token_with_other_arguments_or_in_other_hands_does_not_fit(door: Any, kit: Any) -> None:
    door.select(5)
    token = door.ask("wipe", {"by": 1})["token"]
    assert "arguments" in door.ask("wipe", {"by": 2, "confirm": True, "token": token})["note"]
    stolen = door.ask("wipe", {"by": 1, "confirm": True, "token": token}, kit.ai)
    assert stolen["preview"] and "not given to you" in stolen["note"]
    assert door.ask("wipe", {"confirm": True, "token": "made-up"})["preview"]
    assert door.ask("wipe", {"by": 1, "confirm": True, "token": token})["ok"]


def test_a_token_alone_confirms_nothing(door: Any) -> None:
    door.select(5)
    token = door.ask("wipe")["token"]
    assert door.ask("wipe", {"token": token})["preview"] is True
    assert door.host.state.revision == 0


def test_human_only_is_refused_to_machines_with_or_without_confirm(door: Any, kit: Any) -> None:
    for actor in (kit.ai, kit.api):
        for args in ({"by": 1}, {"by": 1, "confirm": True}):
            error = door.ask("decide", args, actor)["error"]
            assert error["code"] == "human_only" and "ask the person" in error["message"]
    assert door.ask("decide", {"by": 1}, kit.human)["ok"]


def test_an_argument_for_people_is_refused_to_machines(door: Any, kit: Any, tmp_path: Any) -> None:
    door.ctx.reach = AllowAll()
    args = {"path": "a", "overwrite": True}
    assert door.code("save", args) == "human_only"
    assert door.ask("save", {"path": "a", "overwrite": False})["ok"]
    assert door.ask("save", args, kit.human)["ok"]


class AllowAll:
    def refusal(self, path: str, access: str, state: Any) -> str | None:
        return None


def test_machines_reach_no_file_where_nobody_allowed_one(door: Any, kit: Any) -> None:
    assert door.code("save", {"path": "/etc/passwd"}) == "refused"
    assert door.ask("save", {"path": "/etc/passwd"}, kit.human)["ok"]
    assert NoReach().refusal("x", "read", None)


def test_what_a_handler_says_is_answered_with_its_code(door: Any) -> None:
    assert door.ask("fetch")["error"] == {"code": "not_found", "message": "no such thing"}


def test_a_fault_of_ours_is_internal_and_its_traceback_is_kept(
    door: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        error = door.ask("crash")["error"]
    assert error["code"] == "internal" and "ZeroDivisionError" in error["message"]
    assert "ours" not in error["message"]
    assert caplog.records[0].exc_info is not None
    assert door.host.lines()[-1]["outcome"] == "failed"


def test_a_panic_that_is_no_exception_is_caught_and_an_interrupt_is_not(kit: Any) -> None:
    class Panic(BaseException):
        pass

    def raiser(error: BaseException) -> Any:
        def run(call: Any, args: Any) -> Outcome:
            raise error

        return run

    door = kit.Door(
        Registry(
            [
                kit.command("panic", raiser(Panic())),
                kit.command("stop", raiser(KeyboardInterrupt())),
            ]
        )
    )
    assert door.code("panic") == "internal"
    with pytest.raises(KeyboardInterrupt):
        door.ask("stop")


def test_a_full_disk_is_a_refusal_with_its_sentence(door: Any) -> None:
    door.host.fault, door.host.fail_at = OSError(28, "No space left on device", "x.oni"), 1
    error = door.ask("add")["error"]
    assert error["code"] == "refused" and "x.oni: No space left on device" in error["message"]


def test_errors_of_the_domain_are_refusals(kit: Any) -> None:
    class CloudError(Exception):
        pass

    def run(call: Any, args: Any) -> Outcome:
        raise CloudError("site.laz is empty.")

    door = kit.Door(Registry([kit.command("open", run)]))
    door.ctx.refusals = (CloudError,)
    assert door.ask("open")["error"] == {"code": "refused", "message": "site.laz is empty."}


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_fault_at_any_write_leaves_the_state_as_it_was(door: Any, kit: Any, nth: int) -> None:
    door.select(3)
    before = door.host.state
    door.host.fail_at = nth
    for name, args in (("add", {"by": 1}), ("wipe", {"confirm": True}), ("add", {"by": 2})):
        seen = door.host.state
        writes = door.host.writes
        answer = door.ask(name, args)
        if writes < nth <= door.host.writes:
            assert answer["error"]["code"] == "internal"
            assert door.host.state is seen
        else:
            assert answer["ok"]
    assert door.host.state.revision == before.revision + 2


def test_a_log_that_takes_no_line_does_not_hide_the_refusal(door: Any, kit: Any) -> None:
    door.host.fail_at = 1
    assert door.code("nothing") == "unknown_command"


def test_what_is_not_there_yet_answers_not_ready_never_ok(kit: Any) -> None:
    later = kit.command("later", not_ready)
    door = kit.Door(Registry([later]))
    assert not later.ready and door.code("later") == "not_ready"
    with pytest.raises(NotReady):
        not_ready(None, {})  # type: ignore[arg-type]


def test_a_read_only_command_that_returns_a_state_is_a_fault(kit: Any) -> None:
    def run(call: Any, args: Any) -> Outcome:
        return Outcome({}, replace(call.state, value=1))

    door = kit.Door(Registry([kit.command("sly", run, readonly=True)]))
    assert door.code("sly") == "internal"
    assert door.host.state.value == 0


def test_read_only_results_are_cached_by_version_and_arguments(kit: Any) -> None:
    runs: list[Any] = []

    def run(call: Any, args: Any) -> Outcome:
        runs.append(args)
        return Outcome({"list": [len(runs)]})

    by = {"type": "integer", "minimum": 1, "maximum": 9, "description": "x"}
    door = kit.Door(
        Registry(
            [
                kit.command("look", run, readonly=True, input_schema=kit.schema(by=by)),
                kit.command("live", run, readonly=True, cached=False),
            ]
        )
    )
    first = door.ask("look", {"by": 1})
    first["list"].append("spoiled by the caller")
    assert door.ask("look", {"by": 1.0})["list"] == [1] and len(runs) == 1
    door.ask("look", {"by": 2})
    door.host.resident += 1
    door.ask("look", {"by": 1})
    assert len(runs) == 3
    door.ask("live")
    door.ask("live")
    assert len(runs) == 5


def test_a_batch_of_steps_is_one_commit_with_a_line_for_each(kit: Any) -> None:
    def accept(call: Any, args: Any) -> Outcome:
        steps = call.run_steps(
            [{"name": "add", "args": {"by": 2}}, {"name": "wipe"}, {"name": "add", "args": {}}],
            proposed_by=kit.ai,
        )
        return Outcome({"count": len(steps.answers)}, steps.state, steps=steps.entries)

    door = kit.Door(
        Registry([*kit.commands(), kit.command("accept", accept, human_only=True)], kit.conditions)
    )
    assert door.ask("accept", actor=kit.human) == {"ok": True, "revision": 1, "count": 3}
    assert door.host.state.value == 1 and door.host.writes == 1
    lines = door.host.lines()
    assert [line["command"] for line in lines] == ["accept", "add", "wipe", "add"]
    assert all(line["actor"]["kind"] == "human" for line in lines)
    assert [line.get("proposedBy", {}).get("name") for line in lines[1:]] == ["model-1"] * 3


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ({"name": "nothing"}, "unknown_command"),
        ({"name": "add", "args": {"by": 0}}, "invalid_arguments"),
        ({"name": "needy"}, "unavailable"),
        ({"name": "crash"}, "internal"),
        ({"name": "fetch"}, "not_found"),
    ],
)
def test_a_batch_whose_step_fails_does_nothing_at_all(kit: Any, step: Any, code: str) -> None:
    def accept(call: Any, args: Any) -> Outcome:
        steps = call.run_steps([{"name": "add"}, step])
        return Outcome({}, steps.state, steps=steps.entries)

    door = kit.Door(Registry([*kit.commands(), kit.command("accept", accept)], kit.conditions))
    before = door.host.state
    error = door.ask("accept", actor=kit.human)["error"]
    assert error["code"] == code
    if code != "internal":
        assert error["step"] == 1
    assert door.host.state is before
    assert len(door.host.lines()) == 1


def test_a_machine_gets_no_gated_command_through_a_batch(kit: Any) -> None:
    def sneak(call: Any, args: Any) -> Outcome:
        steps = call.run_steps([{"name": "wipe", "args": {"confirm": True}}])
        return Outcome({}, steps.state)

    door = kit.Door(Registry([*kit.commands(), kit.command("sneak", sneak)], kit.conditions))
    door.select(4)
    assert door.code("sneak") == "refused"
    assert door.host.state.revision == 0


def test_a_fault_in_who_follows_the_scene_does_not_undo_what_ran(
    door: Any, caplog: pytest.LogCaptureFixture
) -> None:
    real = door.host.commit

    def commit(state: Any, entry: Any) -> None:
        real(state, entry)
        raise ZeroDivisionError("a panel")

    def listener(event: Any) -> None:
        raise ZeroDivisionError("a client")

    door.host.commit = commit
    door.ctx.listeners.append(listener)
    assert door.ask("add", {"by": 2}) == {"ok": True, "revision": 1, "value": 2}
    assert [line["outcome"] for line in door.host.lines()] == ["ok"]
    assert len(caplog.records) == 2


def test_who_listens_is_told_the_revision_after_each_change(door: Any) -> None:
    told: list[Any] = []
    door.ctx.listeners.append(told.append)
    door.ask("add")
    door.ask("read")
    door.ask("fetch")
    door.ask("add")
    assert told == [{"event": "revision", "revision": n} for n in (1, 2)]
