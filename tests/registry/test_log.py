"""The command log tells every line that was changed, lost, moved or cut off."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oniyanma.registry import Actor, LogEntry, LogLine, MemoryLog, verify
from oniyanma.registry.log import GENESIS, canonical_json, chain, line_hash


def _entry(number: int, kind: Any = "api") -> LogEntry:
    return LogEntry(
        time=f"2026-01-01T00:00:{number:02d}.000Z",
        actor=Actor(kind, "a"),
        surface="all",
        command=f"command{number % 3}",
        arguments={"n": number, "text": "é\ud800"},
        outcome="ok",
        affected={"points": number},
    )


def _log(count: int) -> MemoryLog:
    log = MemoryLog()
    for number in range(count):
        log.write(_entry(number, "human" if number % 2 else "api"), None, None)
    return log


def test_an_untouched_log_is_whole_also_after_a_round_trip_through_json() -> None:
    log = _log(7)
    head, count = log.head()
    lines = [LogLine.from_json(line.as_json()) for line in log.entries()]
    assert verify(lines, head, count).ok
    assert verify([], GENESIS, 0).ok
    assert [line.seq for line in lines] == list(range(1, 8))


def _changed(line: LogLine, **body: Any) -> LogLine:
    return dataclasses.replace(line, body={**line.body, **body})


@given(
    count=st.integers(2, 8),
    where=st.integers(0, 7),
    how=st.sampled_from(["change", "rehash", "remove", "swap", "cut", "repeat"]),
)
def test_any_tampering_is_found(count: int, where: int, how: str) -> None:
    log = _log(count)
    lines, at = list(log.entries()), where % count
    if how == "change":
        lines[at] = _changed(lines[at], outcome="refused")
    elif how == "rehash":
        forged = _changed(lines[at], outcome="refused")
        digest = line_hash(forged.seq, forged.prev, forged.body)
        lines[at] = dataclasses.replace(forged, hash=digest)
    elif how == "remove":
        del lines[at]
    elif how == "swap":
        other = (at + 1) % count
        lines[at], lines[other] = lines[other], lines[at]
    elif how == "cut":
        del lines[at:]
    else:
        lines.insert(at, lines[at])
    verdict = verify(lines, *log.head())
    assert not verdict.ok
    assert all(problem for problem in verdict.problems)


def test_a_cut_tail_shows_only_by_what_is_kept_apart() -> None:
    log = _log(5)
    lines = list(log.entries())[:3]
    assert verify(lines).ok
    assert any("cut off" in p for p in verify(lines, *log.head()).problems)


def test_a_line_that_can_not_be_hashed_is_a_problem_not_a_crash() -> None:
    lines = list(_log(2).entries())
    lines[1] = _changed(lines[1], affected=float("nan"))
    assert not verify(lines).ok


def test_steps_of_a_batch_follow_their_line() -> None:
    entry = dataclasses.replace(_entry(0), steps=(_entry(1), _entry(2)))
    lines = chain(entry, GENESIS, 0)
    assert [line.seq for line in lines] == [1, 2, 3]
    assert verify(lines, lines[-1].hash, 3).ok
    log = MemoryLog()
    log.write(entry, None, None)
    log.write(None, None, None)
    assert log.head()[1] == 3


def test_lines_are_chosen_from_the_end() -> None:
    log = _log(9)
    assert [line.seq for line in log.entries(limit=2)] == [8, 9]
    assert [line.seq for line in log.entries(since=7)] == [8, 9]
    assert [line.seq for line in log.entries(actor_kind="human", limit=2)] == [6, 8]
    assert [line.seq for line in log.entries(command="command0")] == [1, 4, 7]
    assert log.entries(limit=0) == []


def test_one_value_has_one_json_text() -> None:
    assert canonical_json({"b": 1, "a": [1.5, "é"]}) == '{"a":[1.5,"\\u00e9"],"b":1}'
    with pytest.raises(ValueError):
        canonical_json(float("inf"))


def test_an_actor_in_the_log_has_no_token() -> None:
    entry = dataclasses.replace(_entry(0), actor=Actor("api", "x", token="s3cret", participant="p"))
    assert "s3cret" not in canonical_json(entry.body())
    assert entry.body()["actor"]["participant"] == "p"


def test_a_line_with_a_field_missing_is_told() -> None:
    with pytest.raises(ValueError, match="hash"):
        LogLine.from_json({"seq": 1, "prev": GENESIS})
