"""The commands: one module per domain, thin functions above a ``COMMANDS`` tuple."""

from __future__ import annotations

from typing import Final

from oniyanma.commands import (
    batches,
    bookmarks,
    capture,
    clip,
    clouds,
    collaboration,
    edits,
    export,
    findings,
    measuring,
    project,
    queries,
    report,
    selection,
    session,
    view,
)
from oniyanma.commands.conditions import CONDITIONS
from oniyanma.registry import Command, Registry

MODULES: Final = (
    clouds,
    view,
    bookmarks,
    queries,
    selection,
    edits,
    measuring,
    findings,
    batches,
    session,
    capture,
    export,
    project,
    report,
    clip,
    collaboration,
)


def build_registry(*more: Command) -> Registry:
    """A fresh, frozen registry of every command, and of ``more``."""
    commands = (command for module in MODULES for command in module.COMMANDS)
    return Registry((*commands, *more), CONDITIONS).freeze()
