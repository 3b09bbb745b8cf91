"""The real registry behind a door whose host holds a state and a log, and no points."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from oniyanma.commands import build_registry
from oniyanma.registry import (
    Actor,
    Context,
    Jobs,
    LogEntry,
    MemoryLog,
    Registry,
    execute_command,
)
from oniyanma.scene.state import SceneState

HUMAN = Actor("human", "Aiko")
AI = Actor("ai", "model-1", instruction="tidy up")
API = Actor("api", "script")


class BareHost:
    """The Host port without a scene behind it: nothing that reads points works on it."""

    def __init__(self) -> None:
        self.state = SceneState()
        self.live_state: Any = None
        self.log = MemoryLog()

    @property
    def version(self) -> int:
        return self.state.revision

    def commit(self, state: SceneState, entry: LogEntry) -> None:
        self.log.write(entry, self.state, state)
        self.state = replace(state, revision=self.state.revision + 1)

    def append(self, entry: LogEntry) -> None:
        self.log.write(entry, self.state, self.state)


class NoPath:
    """A reach that stops nobody, so that what lies behind it can be tested."""

    def refusal(self, path: str, access: str, state: Any) -> str | None:
        return None


@dataclass
class BareDoor:
    registry: Registry
    host: BareHost = field(default_factory=BareHost)

    def __post_init__(self) -> None:
        self.ctx = Context(
            registry=self.registry,
            host=self.host,
            jobs=Jobs(lambda f: None, inline=True),
            reach=NoPath(),
        )

    def ask(self, name: str, args: Any = None, actor: Actor = API, surface: str = "all") -> Any:
        return execute_command(self.ctx, name, args, actor, surface)

    def code(self, *given: Any, **more: Any) -> str | None:
        answer = self.ask(*given, **more)
        return answer["error"]["code"] if "error" in answer else None

    def last(self) -> Any:
        return self.host.log.entries()[-1].body


@pytest.fixture(scope="session")
def registry() -> Registry:
    return build_registry()


@pytest.fixture
def bare(registry: Registry) -> BareDoor:
    return BareDoor(registry)
