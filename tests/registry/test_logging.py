"""What the door writes into the log, and what never gets there."""

from __future__ import annotations

from typing import Any

from oniyanma.registry.log import canonical_json


def test_writes_previews_refusals_and_failures_are_logged_and_reads_are_not(
    door: Any, kit: Any
) -> None:
    door.select(2)
    asked = [
        ("read", {}, "ok", None),
        ("add", {"by": 2}, "ok", None),
        ("wipe", {}, "preview", None),
        ("wipe", {"confirm": True}, "ok", None),
        ("decide", {"by": 1}, "refused", "human_only"),
        ("add", {"by": 0}, "refused", "invalid_arguments"),
        ("nothing", {}, "refused", "unknown_command"),
        ("fetch", {}, "refused", "not_found"),
        ("crash", {}, "failed", "internal"),
    ]
    for name, args, _, _ in asked:
        door.ask(name, args)
    lines = door.host.lines()
    assert [(line["command"], line["outcome"], line.get("error")) for line in lines] == [
        (name, outcome, error) for name, _, outcome, error in asked if name != "read"
    ]


def test_a_line_says_who_when_from_where_and_what_it_hit(door: Any, kit: Any) -> None:
    door.ask("add", {"by": 2}, kit.ai)
    line = door.host.lines()[0]
    assert line["actor"] == {"kind": "ai", "name": "model-1", "instruction": "tidy up"}
    assert line["surface"] == "all" and line["affected"] == {"points": 2}
    assert line["arguments"] == {"by": 2}
    assert line["time"].endswith("Z") and "T" in line["time"]


def test_no_actor_is_taken_from_the_arguments(door: Any, kit: Any) -> None:
    for key in ("actor", "surface", "human"):
        assert door.code("add", {"by": 1, key: {"kind": "human"}}) == "invalid_arguments"
    assert {line["actor"]["kind"] for line in door.host.lines()} == {"api"}


def test_confirm_and_token_never_reach_the_log(door: Any, kit: Any) -> None:
    door.select(2)
    token = door.ask("wipe", {"by": 2})["token"]
    door.ask("wipe", {"by": 2, "confirm": True, "token": token})
    door.ask("wipe", {"by": 99, "confirm": True, "token": token})
    door.ask("add", {"by": 1, "confirm": True})
    text = canonical_json(door.host.lines())
    assert token not in text
    assert [line["arguments"] for line in door.host.lines()[:3]] == [
        {"by": 2},
        {"by": 2},
        {"by": 99},
    ]


def test_a_secret_reaches_neither_log_nor_error(door: Any, kit: Any) -> None:
    """given rightly, mistyped, misspelt, or to a command that does not exist."""
    secret = "s3cret-value"
    answers = [
        door.ask("login", {"key": secret}),
        door.ask("login", {"key": [secret]}),
        door.ask("login", {"Key": secret, "kee": {"x": secret}}),
        door.ask("log1n", {"key": secret}),
        door.ask("login", {"key": secret}, surface="read"),
    ]
    assert [answer["ok"] for answer in answers] == [True, False, False, False, False]
    assert secret not in canonical_json(door.host.lines())
    assert secret not in canonical_json(answers)


def test_the_arguments_of_a_refused_call_are_kept_only_to_a_limit(door: Any) -> None:
    door.ask("add", {"by": "x" * 100_000})
    assert len(canonical_json(door.host.lines())) < 2000
