"""The registry: every command once, checked when it is added, compiled once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from jsonschema.protocols import Validator

from oniyanma.registry.actor import Surface
from oniyanma.registry.command import Command, Condition, not_ready
from oniyanma.registry.errors import DeclarationError
from oniyanma.registry.schema import (
    CONFIRM,
    GATE_ARGUMENTS,
    TOKEN,
    Fields,
    check_declared,
    compile_validator,
    problems,
)

_NAME = re.compile(r"[a-z][A-Za-z0-9]{0,63}\Z")


@dataclass(frozen=True)
class Registered:
    """A command with what is derived from it once: the full schema and its validator."""

    command: Command
    schema: Mapping[str, Any]  # with confirm and token where the gate adds them
    validator: Validator
    fields: Fields
    secrets: frozenset[str]
    paths: Mapping[str, str]  # argument → "read" or "write"
    people_only: frozenset[str]


class Registry:
    """Commands in the order they were declared, and the closed set of conditions they name."""

    def __init__(
        self, commands: Iterable[Command] = (), conditions: Iterable[Condition] = ()
    ) -> None:
        self.conditions: dict[str, Condition] = {}
        for condition in conditions:
            if condition.name in self.conditions:
                raise DeclarationError(f"condition {condition.name} is declared twice")
            if not condition.reason.strip():
                raise DeclarationError(f"condition {condition.name} has no reason")
            self.conditions[condition.name] = condition
        self._entries: dict[str, Registered] = {}
        self._frozen = False
        for command in commands:
            self.register(command)

    def register(self, command: Command) -> None:
        """Add a command; DeclarationError for a bad declaration, a duplicate, or after freeze."""
        if self._frozen:
            raise DeclarationError(
                f"command {command.name}: the registry is frozen; pass it to build_registry"
            )
        _check(command, self.conditions)
        if command.name in self._entries:
            raise DeclarationError(f"command {command.name} is declared twice")
        schema: dict[str, Any] = dict(command.input_schema)
        properties = dict(schema.get("properties", {}))
        if command.destructive:
            properties |= {"confirm": CONFIRM, "token": TOKEN}
        schema["properties"] = properties
        self._entries[command.name] = Registered(
            command=command,
            schema=schema,
            validator=compile_validator(schema),
            fields=Fields(schema),
            secrets=frozenset(k for k, sub in properties.items() if sub.get("writeOnly")),
            paths={k: sub["x-path"] for k, sub in properties.items() if "x-path" in sub},
            people_only=frozenset(k for k, sub in properties.items() if sub.get("x-people-only")),
        )

    def freeze(self) -> Registry:
        """Take no more commands; returns itself."""
        self._frozen = True
        return self

    def __iter__(self) -> Iterator[Command]:
        return (entry.command for entry in self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> Command:
        return self._entries[name].command

    def entry(self, name: str) -> Registered | None:
        return self._entries.get(name)

    def schema(self, name: str) -> Mapping[str, Any]:
        """The full input schema, with ``confirm`` and ``token`` of a gated command."""
        return self._entries[name].schema

    def available(self, surface: Surface | str) -> list[Command]:
        """The commands that may run on a surface."""
        if surface == Surface.ALL:
            return list(self)
        return [command for command in self if command.readonly]

    def nearest(self, name: str, count: int = 3) -> list[str]:
        """The names most like ``name``, best first."""
        wanted = name.lower()

        def likeness(known: str) -> float:
            low = known.lower()
            near = SequenceMatcher(None, wanted, low).ratio()
            return near + 0.3 * (bool(wanted) and (low.startswith(wanted) or wanted in low))

        return sorted(self._entries, key=likeness, reverse=True)[:count]


def _check(command: Command, conditions: Mapping[str, Condition]) -> None:
    where = f"command {command.name}"
    if not _NAME.match(command.name):
        raise DeclarationError(f"{where}: its name must be camelCase of at most 64 letters")
    for part in ("title", "group", "description"):
        if not str(getattr(command, part)).strip():
            raise DeclarationError(f"{where}: it has no {part}")
    check_declared(command.name, command.input_schema)
    if command.destructive:
        for key in GATE_ARGUMENTS:
            if key in command.input_schema.get("properties", {}):
                raise DeclarationError(f"{where}: the argument {key} belongs to the gate")
    if not callable(command.run):
        raise DeclarationError(f"{where}: run is not a function")
    if command.readonly and command.dry_run is not None:
        raise DeclarationError(f"{where}: a read-only command destroys nothing, so no dry_run")
    if command.readonly and command.human_only:
        raise DeclarationError(f"{where}: a read-only command can't be for people only")
    if command.human_only and command.dry_run is not None:
        raise DeclarationError(f"{where}: no machine reaches the dry_run of a human-only command")
    if not command.ready and command.dry_run not in (None, not_ready):
        raise DeclarationError(f"{where}: it counts what it can't do yet")
    for name in command.conditions:
        if name not in conditions:
            raise DeclarationError(f"{where}: there is no condition {name}")
    schema = command.input_schema
    wrong = problems(compile_validator(schema), schema, command.example)
    if wrong:
        raise DeclarationError(f"{where}: its example is not valid: {wrong[0]}")
