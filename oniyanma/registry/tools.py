"""What other programs are told of the commands: made from the registry, never by hand."""

from __future__ import annotations

from typing import Any

from oniyanma.registry.actor import Surface
from oniyanma.registry.command import Command
from oniyanma.registry.registry import Registry

HUMAN_ONLY_NOTE = "Only a person can run this, in the oniyanma window; a machine is refused."
GATE_NOTE = (
    "Without confirm:true nothing is run: the answer is a preview with the count of what it "
    "would hit."
)
NOT_READY_NOTE = "Not available yet: it answers the error not_ready."


def describe(command: Command) -> str:
    """The description with what the command's marks mean for a caller."""
    notes = [command.description]
    if command.human_only:
        notes.append(HUMAN_ONLY_NOTE)
    if command.destructive:
        notes.append(GATE_NOTE)
    if not command.ready:
        notes.append(NOT_READY_NOTE)
    return " ".join(notes)


def tool_defs(registry: Registry, surface: Surface | str = Surface.ALL) -> list[dict[str, Any]]:
    """The commands of a surface as Anthropic tool-use definitions."""
    return [
        {
            "name": command.name,
            "description": describe(command),
            "input_schema": dict(registry.schema(command.name)),
        }
        for command in registry.available(surface)
    ]


def mcp_annotations(command: Command) -> dict[str, Any]:
    """The hints of the Model Context Protocol. The door never looks at them."""
    return {
        "title": command.title,
        "readOnlyHint": command.readonly,
        "destructiveHint": command.destructive,
        "idempotentHint": command.readonly or command.idempotent,
        "openWorldHint": False,
    }


def mcp_tools(registry: Registry, surface: Surface | str = Surface.ALL) -> list[dict[str, Any]]:
    """The commands of a surface as MCP tools."""
    return [
        {
            "name": command.name,
            "title": command.title,
            "description": describe(command),
            "inputSchema": dict(registry.schema(command.name)),
            "annotations": mcp_annotations(command),
        }
        for command in registry.available(surface)
    ]


def commands_json(registry: Registry) -> list[dict[str, Any]]:
    """Every command as `oniyanma commands --json` prints it."""
    return [
        {
            "name": command.name,
            "title": command.title,
            "group": command.group,
            "description": describe(command),
            "input_schema": dict(registry.schema(command.name)),
            "readonly": command.readonly,
            "destructive": command.destructive,
            "human_only": command.human_only,
        }
        for command in registry
    ]
