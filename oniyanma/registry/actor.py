"""Who asks, and through which door they came."""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

ActorKind = Literal["human", "ai", "api"]


class Surface(StrEnum):
    """What may run from an entry point: every command, or the read-only ones."""

    ALL = "all"
    READ = "read"


@dataclass(frozen=True)
class Actor:
    """Who asks. Bound by the entry point and never taken from a command's arguments.

    ``name`` is a person's name, a model's name (``ai``) or a client's name (``api``);
    ``instruction`` the start of what an AI was told. ``participant`` and ``token`` are the ids
    by which "somebody else" is decided: a name is only a label.
    """

    kind: ActorKind
    name: str = ""
    instruction: str = ""
    participant: str = "local"
    token: str = ""

    @property
    def is_machine(self) -> bool:
        return self.kind != "human"


def person() -> Actor:
    """The person at this machine."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):  # no name for this user id
        name = ""
    return Actor("human", name)
