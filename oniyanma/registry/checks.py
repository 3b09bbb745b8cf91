"""What the door asks before it runs a command. Each check raises a `CommandError` or passes
something on; their order stands in `door._execute`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oniyanma.registry.actor import Actor, Surface
from oniyanma.registry.command import Call, Command
from oniyanma.registry.errors import (
    HumanOnly,
    InvalidArguments,
    Refused,
    SurfaceDenied,
    Unavailable,
    UnknownCommand,
)
from oniyanma.registry.registry import Registered, Registry
from oniyanma.registry.schema import NotJson, normalise, plain, problems


def look_up(registry: Registry, name: str) -> Registered:
    """The command of that name, or UnknownCommand with the three nearest."""
    entry = registry.entry(name) if isinstance(name, str) else None
    if entry is None:
        near = registry.nearest(str(name)[:80])
        raise UnknownCommand(
            f"There is no command {str(name)[:80]!r}; the nearest are {', '.join(near)}.",
            suggestions=near,
        )
    return entry


def permit(registry: Registry, command: Command, actor: Actor, surface: str) -> None:
    """Surface, then human-only: SurfaceDenied, HumanOnly."""
    if surface != "all" and not (surface == "read" and command.readonly):
        available = sorted(c.name for c in registry.available(Surface.READ))
        raise SurfaceDenied(
            f"{command.name} changes something and this entry point only reads: answer from what "
            "is available, or ask a person.",
            available=available,
        )
    if command.human_only and actor.is_machine:
        raise HumanOnly(
            f"{command.name} can be run by a person only, with or without confirm: ask the person "
            "at the oniyanma window to do it there.",
            command=command.name,
        )


def validate(entry: Registered, args: Any) -> dict[str, Any]:
    """The normalised arguments, or InvalidArguments with every mistake at once."""
    name = entry.command.name
    try:
        given = plain({} if args is None else args)
    except NotJson as error:
        problem = {"path": error.path, "given": error.given, "allowed": "JSON values"}
        raise InvalidArguments(f"{name}: {problem_text(problem)}", problems=[problem]) from None
    if entry.fields.valid(given):
        arguments: dict[str, Any] = normalise(entry.schema, given)
        return arguments
    found = problems(entry.validator, entry.schema, given)
    text = "; ".join(problem_text(problem) for problem in found)
    raise InvalidArguments(f"{name}: {text}", problems=found)


def problem_text(problem: Mapping[str, Any]) -> str:
    return f"{problem['path']} is {problem['given']!r}, allowed: {problem['allowed']}"


def allow_arguments(entry: Registered, args: Mapping[str, Any], call: Call) -> None:
    """A machine's reach: paths in allowed folders only, and no argument for people."""
    if not call.actor.is_machine:
        return
    for key in entry.people_only:
        if args.get(key):
            raise HumanOnly(
                f"{entry.command.name}: only a person can give {key}: leave it out, or ask the "
                "person at the oniyanma window.",
                argument=key,
            )
    for key, access in entry.paths.items():
        path = args.get(key)
        if isinstance(path, str):
            reason = call.context.reach.refusal(path, access, call.state)
            if reason is not None:
                raise Refused(f"{entry.command.name}: {reason}", argument=key)


def unmet(registry: Registry, command: Command, state: Any, host: Any) -> str | None:
    """The reason of the first condition that does not hold: what a palette greys out by."""
    for name in command.conditions:
        condition = registry.conditions[name]
        if not condition.predicate(state, host):
            return condition.reason
    return None


def require(command: Command, call: Call) -> None:
    """Raise Unavailable when a condition does not hold.

    Where a condition only says that there is nothing to act on, read-only and gated commands
    go on: they answer with their own reason.
    """
    for name in command.conditions:
        condition = call.registry.conditions[name]
        if condition.soft and (command.readonly or command.destructive):
            continue
        if not condition.predicate(call.state, call.scene):
            raise Unavailable(f"{command.name}: {condition.reason}", condition=name)
