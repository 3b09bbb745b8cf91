"""A host, a registry and a door small enough to see through."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from oniyanma.registry import (
    Actor,
    Args,
    Call,
    Command,
    Condition,
    Context,
    Jobs,
    LogEntry,
    MemoryLog,
    NotFound,
    Outcome,
    Registry,
    Work,
    execute_command,
)

HUMAN = Actor("human", "Aiko")
AI = Actor("ai", "model-1", instruction="tidy up")
API = Actor("api", "script")


@dataclass(frozen=True)
class State:
    revision: int = 0
    value: int = 0
    selected: int = 0


class FakeHost:
    """The Host port over three numbers; ``fail_at`` makes the Nth write raise."""

    def __init__(self) -> None:
        self.state = State()
        self.live_state: Any = None
        self.log = MemoryLog()
        self.resident = 0
        self.writes = 0
        self.fail_at: int | None = None
        self.fault: BaseException = RuntimeError("injected")

    @property
    def version(self) -> tuple[int, int]:
        return (self.state.revision, self.resident)

    def _write(self, entry: LogEntry, after: State) -> None:
        self.writes += 1
        if self.writes == self.fail_at:
            raise self.fault
        self.log.write(entry, self.state, after)

    def commit(self, state: State, entry: LogEntry) -> None:
        self._write(entry, state)
        self.state = replace(state, revision=self.state.revision + 1)

    def append(self, entry: LogEntry) -> None:
        self._write(entry, self.state)

    def lines(self) -> list[Mapping[str, Any]]:
        return [line.body for line in self.log.entries()]


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    result: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    return result | ({"required": list(required)} if required else {})


BY = {"type": "integer", "minimum": 1, "maximum": 9, "description": "How much.", "default": 1}


def _read(call: Call, args: Args) -> Outcome:
    return Outcome({"value": call.state.value, "list": [call.state.value]})


def _add(call: Call, args: Args) -> Outcome:
    value = call.state.value + args["by"]
    return Outcome({"value": value}, replace(call.state, value=value), {"points": args["by"]})


def _count(call: Call, args: Args) -> Mapping[str, Any]:
    if call.state.selected == 0:
        return {"points": 0, "note": "No selection (select something first)"}
    return {"points": call.state.selected, "note": "resident"}


def _wipe(call: Call, args: Args) -> Outcome:
    return Outcome({"points": call.state.selected}, replace(call.state, value=0))


def _fetch(call: Call, args: Args) -> Outcome:
    raise NotFound("no such thing")


def _crash(call: Call, args: Args) -> Outcome:
    raise ZeroDivisionError("ours")


def command(name: str, run: Callable[..., Any], **more: Any) -> Command:
    more = {"input_schema": schema(), "example": {}} | more
    return Command(
        name=name, title=name.title(), group="Test", description=f"Does {name}.", run=run, **more
    )


def commands() -> tuple[Command, ...]:
    return (
        command("read", _read, readonly=True, conditions=("selected",)),
        command("add", _add, input_schema=schema(by=BY), example={"by": 2}),
        command(
            "wipe", _wipe, dry_run=_count, conditions=("selected",), input_schema=schema(by=BY)
        ),
        command("decide", _add, human_only=True, input_schema=schema(by=BY), example={"by": 2}),
        command("needy", _add, conditions=("selected",), input_schema=schema(by=BY)),
        command("fetch", _fetch),
        command("crash", _crash),
        command(
            "save",
            lambda call, args: Outcome({}),
            input_schema=schema(
                "path",
                path={"type": "string", "description": "A file.", "x-path": "write"},
                overwrite={"type": "boolean", "description": "Replace.", "x-people-only": True},
            ),
            example={"path": "a"},
        ),
        command(
            "login",
            lambda call, args: Outcome({}),
            input_schema=schema(
                "key", key={"type": "string", "writeOnly": True, "description": "Secret."}
            ),
            example={"key": "x"},
        ),
    )


CONDITIONS = (
    Condition("selected", lambda state, host: state.selected > 0, "Nothing selected.", soft=True),
)


@dataclass
class Door:
    """A context on a fake host, with a short way to ask it."""

    registry: Registry
    inline: bool = True
    host: FakeHost = field(default_factory=FakeHost)
    posted: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.jobs = Jobs(self.posted.append, inline=self.inline)
        self.ctx = Context(
            registry=self.registry,
            host=self.host,
            jobs=self.jobs,
            fingerprints={"selection": lambda state: state.selected},
        )

    def ask(self, name: Any, args: Any = None, actor: Actor = API, surface: str = "all") -> Any:
        return execute_command(self.ctx, name, args, actor, surface)

    def code(self, *given: Any, **more: Any) -> str:
        return str(self.ask(*given, **more)["error"]["code"])

    def select(self, count: int) -> None:
        self.host.state = replace(self.host.state, selected=count)


@pytest.fixture
def door() -> Door:
    return Door(Registry(commands(), CONDITIONS).freeze())


@pytest.fixture
def kit() -> SimpleNamespace:
    """The parts of this module, for tests that build their own."""
    return SimpleNamespace(
        Door=Door,
        State=State,
        Work=Work,
        command=command,
        commands=commands,
        schema=schema,
        conditions=CONDITIONS,
        human=HUMAN,
        ai=AI,
        api=API,
    )
