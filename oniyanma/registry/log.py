"""The command log: an append-only hash chain of what ran, was previewed, refused or failed.

A line's hash is SHA-256 over the canonical JSON of everything in it, its number and the hash of
the line before. The head's hash and the count are kept apart from the lines, so that a cut tail
shows as well as a changed, missing or reordered line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from oniyanma.registry.actor import Actor

GENESIS: Final = "0" * 64
"""What stands for the line before the first."""

INSTRUCTION: Final = 200
"""How much of the start of an instruction is kept."""

LogOutcome = Literal["ok", "preview", "refused", "failed", "cancelled"]


_ENCODER: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: keys sorted, no spaces, ASCII, no NaN.

    Raises ValueError for NaN or infinity, TypeError for what JSON has no form for.
    """
    return _ENCODER.encode(value)


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One thing that happened, before it has its place in the chain.

    ``arguments`` are those of the call without ``confirm``, ``token`` and secrets. ``error`` is
    the code where ``outcome`` is no success. ``steps``: the lines of a batch's commands; they
    follow this one in the same transaction.
    """

    time: str
    actor: Actor
    surface: str
    command: str
    arguments: Mapping[str, Any]
    outcome: LogOutcome
    affected: Mapping[str, int] | None = None
    error: str | None = None
    reason: str | None = None
    proposed_by: Actor | None = None
    steps: tuple[LogEntry, ...] = ()

    def body(self) -> dict[str, Any]:
        """The line as JSON, without number and hashes; absent is left out."""
        body: dict[str, Any] = {
            "time": self.time,
            "actor": actor_json(self.actor),
            "surface": self.surface,
            "command": self.command,
            "arguments": dict(self.arguments),
            "outcome": self.outcome,
            "affected": dict(self.affected or {}),
        }
        if self.error is not None:
            body["error"] = self.error
        if self.reason is not None:
            body["reason"] = self.reason
        if self.proposed_by is not None:
            body["proposedBy"] = actor_json(self.proposed_by)
        return body


@dataclass(frozen=True)
class LogLine:
    """A line of the chain: ``hash`` is over ``seq``, ``prev`` and ``body``."""

    seq: int  # from 1, without gaps
    prev: str
    hash: str
    body: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {"seq": self.seq, **self.body, "prev": self.prev, "hash": self.hash}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LogLine:
        """The reverse of `as_json`; ValueError where a field is missing."""
        try:
            body = {k: v for k, v in value.items() if k not in ("seq", "prev", "hash")}
            return cls(int(value["seq"]), str(value["prev"]), str(value["hash"]), body)
        except KeyError as missing:
            raise ValueError(f"a log line has no {missing}") from None


def actor_json(actor: Actor) -> dict[str, Any]:
    """An actor as a log line holds it: never with the token that let it in."""
    result: dict[str, Any] = {"kind": actor.kind, "name": actor.name}
    if actor.instruction:
        result["instruction"] = actor.instruction[:INSTRUCTION]
    if actor.participant != "local":
        result["participant"] = actor.participant
    return result


def line_hash(seq: int, prev: str, body: Mapping[str, Any]) -> str:
    """SHA-256, hexadecimal, of the canonical JSON of a line."""
    text = canonical_json({"seq": seq, "prev": prev, "body": body})
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def chain(entry: LogEntry, head: str, count: int) -> tuple[LogLine, ...]:
    """The lines ``entry`` becomes after a chain of ``count`` lines ending in hash ``head``.

    One line, and one for each of its steps. A sink stores all of them in one transaction and
    takes the last one's hash and ``seq`` as its new head and count.
    """
    lines: list[LogLine] = []
    for one in (entry, *entry.steps):
        count += 1
        body = one.body()
        digest = line_hash(count, head, body)
        lines.append(LogLine(count, head, digest, body))
        head = digest
    return tuple(lines)


@dataclass(frozen=True)
class Verdict:
    """What `verify` found: ``count`` lines read, ``problems`` one sentence each, none if whole."""

    count: int
    head: str
    problems: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        return not self.problems


def verify(lines: Iterable[LogLine], head: str | None = None, count: int | None = None) -> Verdict:
    """Follow a chain in the order it was kept and tell each break.

    ``head`` and ``count`` are those kept apart from the lines; without them a cut tail can't be
    seen. Finds a changed, missing, reordered and cut-off line.
    """
    problems: list[str] = []
    previous, expected = GENESIS, 1
    read = 0
    for line in lines:
        read += 1
        if line.seq != expected:
            what = "is missing" if line.seq > expected else "comes again or out of order"
            number = expected if line.seq > expected else line.seq
            problems.append(f"line {number} {what}: line {line.seq} stands in its place")
        elif line.prev != previous:
            problems.append(f"line {line.seq} does not follow the line before it")
        try:
            right = line_hash(line.seq, line.prev, line.body) == line.hash
        except (TypeError, ValueError):
            right = False
        if not right:
            problems.append(f"line {line.seq} was changed: its content has another hash")
        previous, expected = line.hash, line.seq + 1
    if count is not None and count != read:
        problems.append(f"{read} lines are here, but {count} were written: lines are cut off")
    if head is not None and head != previous:
        problems.append("the last line is not the one that was written last")
    return Verdict(read, previous, tuple(problems))


def select_lines(
    lines: Sequence[LogLine],
    *,
    limit: int | None = None,
    actor_kind: str | None = None,
    command: str | None = None,
    since: int | None = None,
) -> list[LogLine]:
    """The last ``limit`` lines that fit, in order; ``since``: only those with a greater seq."""
    found: list[LogLine] = []
    for line in reversed(lines):
        if since is not None and line.seq <= since:
            break
        if limit is not None and len(found) >= limit:
            break
        if actor_kind is not None and line.body["actor"]["kind"] != actor_kind:
            continue
        if command is not None and line.body["command"] != command:
            continue
        found.append(line)
    found.reverse()
    return found


class LogSink(Protocol):
    """Port: keeps the log, and with each line what the state became, in one transaction."""

    def write(self, entry: LogEntry | None, before: Any, after: Any) -> None:
        """Store the difference of two states and the line; raises, and then nothing is stored."""

    def entries(
        self,
        *,
        limit: int | None = None,
        actor_kind: str | None = None,
        command: str | None = None,
        since: int | None = None,
    ) -> Sequence[LogLine]:
        """As `select_lines`."""

    def head(self) -> tuple[str, int]:
        """The hash of the last line (`GENESIS` for none) and how many there are."""


class MemoryLog:
    """A `LogSink` that forgets everything with the process."""

    def __init__(self) -> None:
        self._lines: list[LogLine] = []

    def write(self, entry: LogEntry | None, before: Any, after: Any) -> None:
        if entry is not None:
            self._lines.extend(chain(entry, *self.head()))

    def entries(
        self,
        *,
        limit: int | None = None,
        actor_kind: str | None = None,
        command: str | None = None,
        since: int | None = None,
    ) -> Sequence[LogLine]:
        return select_lines(
            self._lines, limit=limit, actor_kind=actor_kind, command=command, since=since
        )

    def head(self) -> tuple[str, int]:
        if not self._lines:
            return GENESIS, 0
        return self._lines[-1].hash, self._lines[-1].seq
