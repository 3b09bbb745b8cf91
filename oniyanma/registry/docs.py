"""The page about the commands, written from their declarations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from oniyanma.registry.command import Command
from oniyanma.registry.registry import Registry
from oniyanma.registry.schema import allowed_text
from oniyanma.registry.tools import GATE_NOTE, HUMAN_ONLY_NOTE, NOT_READY_NOTE

_HEAD = """# Commands

{count} commands, {reading} of them read-only. This page is written from the registry by
`oniyanma commands --markdown`; the buttons, keys and palette of the window, scripts, the Python
interface, AI consoles and MCP clients all use these commands through one function.

Marks: **R** read-only · **D** destructive: a machine gets a preview until it confirms ·
**H** for people only. Every answer holds `ok` and `revision`; an error holds `code` and `message`.
Ranges are `[min, max]`, both ends included, `null` is open. Polygons close by themselves.
Without `cloud`, all visible clouds are meant.
"""


def markdown(registry: Registry) -> str:
    """docs/commands.md, with a final newline."""
    commands = list(registry)
    reading = sum(command.readonly for command in commands)
    groups: dict[str, list[Command]] = {}
    for command in commands:
        groups.setdefault(command.group, []).append(command)
    parts = [_HEAD.format(count=len(commands), reading=reading)]
    for group, members in groups.items():
        parts.append(f"## {group} ({len(members)})\n")
        parts.extend(_section(registry, command) for command in members)
    return "\n".join(parts)


def _section(registry: Registry, command: Command) -> str:
    lines = [f"### `{command.name}`", "", f"{command.title}{_marks(command)}", ""]
    lines += [command.description, ""]
    if command.human_only:
        lines += [f"*{HUMAN_ONLY_NOTE}*", ""]
    if command.destructive:
        lines += [f"*{GATE_NOTE}*", ""]
    if not command.ready:
        lines += [f"*{NOT_READY_NOTE}*", ""]
    reasons = [registry.conditions[name].reason for name in command.conditions]
    if reasons:
        lines += ["Reasons it may give: " + " ".join(f'"{reason}"' for reason in reasons), ""]
    lines += _arguments(registry.schema(command.name))
    example = json.dumps(dict(command.example), ensure_ascii=False)
    lines += ["```json", f'{{"name": "{command.name}", "args": {example}}}', "```", ""]
    return "\n".join(lines)


def _marks(command: Command) -> str:
    marks = [
        letter
        for letter, on in (
            ("R", command.readonly),
            ("D", command.destructive),
            ("H", command.human_only),
        )
        if on
    ]
    return "".join(f" · **{letter}**" for letter in marks)


def _arguments(schema: Mapping[str, Any]) -> list[str]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not properties:
        return ["No arguments.", ""]
    required = set(schema.get("required", ()))
    lines = ["| argument | allowed | meaning |", "|---|---|---|"]
    for key, sub in properties.items():
        name = f"`{key}`" if key in required else f"`{key}`?"
        unit = f" ({sub['x-unit']})" if "x-unit" in sub else ""
        default = f" Default: `{json.dumps(sub['default'])}`." if "default" in sub else ""
        meaning = f"{sub['description']}{default}"
        if sub.get("x-people-only"):
            meaning += " Only a person can give it."
        lines.append(f"| {name} | {_cell(allowed_text(sub) + unit)} | {_cell(meaning)} |")
    return [*lines, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
