"""What measurements, findings, batches and bookmarks have in common: ids, and people in words."""

from __future__ import annotations

from oniyanma.registry.actor import Actor
from oniyanma.scene.state import SceneState, Table


class RecordError(ValueError):
    """A record that can't take this step: one sentence saying what, why, what to do.

    ``missing`` True: there is no such record.
    """

    def __init__(self, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.missing = missing


def next_id(state: SceneState, table: Table, prefix: str) -> str:
    """An id that no record of the table has or ever had in this log: f1, f2, …

    A record that was undone or deleted keeps its id, so that redo can't meet another one.
    """
    taken = set(getattr(state, table))
    taken.update(c.key for e in state.events for c in e.changes if c.table == table)
    numbers = [int(key[len(prefix) :]) for key in taken if key[len(prefix) :].isdigit()]
    return f"{prefix}{max(numbers, default=0) + 1}"


_KINDS = {"human": "a person", "ai": "an AI", "api": "a program"}


def who(actor: Actor) -> str:
    """An actor in words: its name, and what it is where that does not show."""
    kind = _KINDS[actor.kind]
    if not actor.name:
        return kind
    return actor.name if actor.kind == "human" else f"{actor.name} ({kind.split()[1]})"
