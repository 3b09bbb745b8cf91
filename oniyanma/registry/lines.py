"""The lines the door writes, and what never gets into them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from oniyanma.registry.command import Call
from oniyanma.registry.errors import CommandError
from oniyanma.registry.log import LogEntry, LogOutcome, canonical_json
from oniyanma.registry.registry import Registered
from oniyanma.registry.schema import GATE_ARGUMENTS, plain

MAX_LOGGED: Final = 4096  # characters of arguments kept of a call that was refused


def log_entry(
    call: Call,
    entry: Registered,
    args: Mapping[str, Any],
    outcome: LogOutcome,
    affected: Mapping[str, int] | None = None,
) -> LogEntry:
    """The line of a call that ran or was previewed."""
    return LogEntry(
        time=call.now,
        actor=call.actor,
        surface=call.surface,
        command=entry.command.name,
        arguments=redact(entry, args),
        outcome=outcome,
        affected=affected,
    )


def failure_entry(
    call: Call,
    name: Any,
    args: Any,
    outcome: LogOutcome,
    error: CommandError,
) -> LogEntry:
    """The line of a call that was refused, cancelled or failed, whatever was given in it."""
    entry = call.registry.entry(name) if isinstance(name, str) else None
    command = name if isinstance(name, str) else repr(name)
    command = command[:80].encode("utf-8", "backslashreplace").decode("utf-8")
    try:
        given = plain({} if args is None else args)
        kept = redact(entry, given) if isinstance(given, dict) else {}
        if len(canonical_json(kept)) > MAX_LOGGED:
            kept = {"omitted": f"arguments of more than {MAX_LOGGED} characters"}
    except ValueError:
        kept = {"omitted": "arguments that are no JSON"}
    return LogEntry(
        time=call.now,
        actor=call.actor,
        surface=call.surface,
        command=command,
        arguments=kept,
        outcome=outcome,
        error=error.code,
        reason=_reason(entry, error),
    )


def _reason(entry: Registered | None, error: CommandError) -> str:
    """The message for the log; of a command with secrets none that quotes what was given."""
    if error.code == "invalid_arguments" and entry is not None and entry.secrets:
        return "its arguments are not valid"
    return error.message[:500].encode("utf-8", "backslashreplace").decode("utf-8")


def redact(entry: Registered | None, args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as the log keeps them: no gate arguments, no secrets.

    Of an unknown command, and of a misspelt argument where the command has secrets, only names.
    """
    if entry is None:
        return dict.fromkeys(args, "(not kept)")
    known = entry.schema["properties"]
    kept: dict[str, Any] = {}
    for key, value in args.items():
        if key in entry.secrets or (key in GATE_ARGUMENTS and entry.command.destructive):
            continue
        if key not in known and (entry.secrets or key in GATE_ARGUMENTS):
            kept[key] = "(not kept)"
        else:
            kept[key] = value
    return kept
