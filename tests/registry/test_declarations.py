"""Bad declarations are refused when they are registered, and good ones appear everywhere."""

from __future__ import annotations

from typing import Any

import pytest

from oniyanma.registry import (
    Condition,
    DeclarationError,
    Outcome,
    Registry,
    commands_json,
    mcp_tools,
    not_ready,
    tool_defs,
)
from oniyanma.registry.docs import markdown


def _ok(call: Any, args: Any) -> Outcome:
    return Outcome({})


def _count(call: Any, args: Any) -> dict[str, Any]:
    return {"points": 0}


NUMBER = {"type": "number", "description": "A number."}
TEXT = {"type": "string", "description": "A text."}


BAD: dict[str, dict[str, Any]] = {
    "no description of the command": {"description": "  "},
    "no title": {"title": ""},
    "no group": {"group": ""},
    "a name with a dash": {"name": "do-it"},
    "a name with a newline": {"name": "doIt\n"},
    "a top-level oneOf": {"input_schema": {"oneOf": []}},
    "a top-level anyOf": {"input_schema": {"anyOf": [{}]}},
    "a top-level allOf": {"input_schema": {"allOf": [{}]}},
    "additional properties": {"input_schema": {"additionalProperties": True}},
    "no object": {"input_schema": {"type": "array"}},
    "a rule at the top that the quick check would miss": {"input_schema": {"minProperties": 1}},
    "an unbounded number": {"input_schema": {"properties": {"a": NUMBER}}},
    "an unbounded number in a list": {
        "input_schema": {"properties": {"a": {**TEXT, "type": "array", "items": NUMBER}}}
    },
    "an unbounded number in a choice": {
        "input_schema": {"properties": {"a": {"description": "A.", "anyOf": [NUMBER]}}}
    },
    "a property without description": {"input_schema": {"properties": {"a": {"type": "string"}}}},
    "a property name with a capital": {"input_schema": {"properties": {"Aa": TEXT}}},
    "an inner object that takes anything": {
        "input_schema": {"properties": {"a": {**TEXT, "type": "object", "properties": {"b": TEXT}}}}
    },
    "an inner property without description": {
        "input_schema": {
            "properties": {
                "a": {
                    **TEXT,
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"b": {"type": "string"}},
                }
            }
        }
    },
    "a required argument that is none": {"input_schema": {"required": ["a"]}},
    "confirm of its own": {"input_schema": {"properties": {"confirm": TEXT}}},
    "token of its own on a gated one": {
        "input_schema": {"properties": {"token": TEXT}},
        "dry_run": _count,
    },
    "a hidden secret": {
        "input_schema": {
            "properties": {
                "a": {**TEXT, "type": "array", "items": {"type": "string", "writeOnly": True}}
            }
        }
    },
    "a schema that is none": {"input_schema": {"properties": {"a": {**TEXT, "type": "text"}}}},
    "an example that is not valid": {"example": {"a": 1}},
    "a dry run on a read-only one": {"readonly": True, "dry_run": _count},
    "a read-only one for people": {"readonly": True, "human_only": True},
    "a dry run on one for people": {"human_only": True, "dry_run": _count},
    "a dry run of what is not there": {"run": not_ready, "dry_run": _count},
    "a condition that is none": {"conditions": ("full_moon",)},
    "no function": {"run": "run_it"},
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_declaration_is_refused_at_registration(kit: Any, what: str) -> None:
    change = dict(BAD[what])
    base = {"type": "object", "properties": {}, "additionalProperties": False}
    given = {"run": _ok, **change, "input_schema": base | change.get("input_schema", {})}
    name, run = given.pop("name", "planted"), given.pop("run")
    fields = {"title", "group", "description"} & given.keys()
    command = kit.command(name, run, **{k: v for k, v in given.items() if k not in fields})
    for field in fields:
        object.__setattr__(command, field, given[field])
    with pytest.raises(DeclarationError):
        Registry([command])


def test_the_same_declaration_without_the_mistake_is_taken(kit: Any) -> None:
    properties = {
        "a": {**NUMBER, "x-unbounded": True},
        "b": {**NUMBER, "minimum": 0},
        "c": {**TEXT, "writeOnly": True},
    }
    command = kit.command("planted", _ok, input_schema=kit.schema(**properties))
    assert len(Registry([command])) == 1


def test_a_duplicate_and_a_late_command_are_refused(kit: Any) -> None:
    planted = kit.command("planted", _ok)
    with pytest.raises(DeclarationError, match="twice"):
        Registry([planted, planted])
    with pytest.raises(DeclarationError, match="frozen"):
        Registry([planted]).freeze().register(kit.command("late", _ok))


def test_conditions_have_one_name_and_a_reason() -> None:
    holds = Condition("holds", lambda state, host: True, "It does not.")
    with pytest.raises(DeclarationError):
        Registry([], [holds, holds])
    with pytest.raises(DeclarationError):
        Registry([], [Condition("mute", lambda state, host: True, " ")])


def test_a_planted_command_appears_everywhere_by_itself(kit: Any) -> None:
    """in both tool lists, the JSON, the page and the list of a refusal."""
    planted = kit.command("planted", _ok, readonly=True)
    door = kit.Door(Registry([*kit.commands(), planted], kit.conditions))
    registry = door.registry
    for surface in ("all", "read"):
        assert "planted" in [tool["name"] for tool in tool_defs(registry, surface)]
        tools = {tool["name"]: tool for tool in mcp_tools(registry, surface)}
        assert tools["planted"]["annotations"]["readOnlyHint"] is True
    assert "planted" in [entry["name"] for entry in commands_json(registry)]
    assert "### `planted`" in markdown(registry)
    assert "planted" in door.ask("add", surface="read")["error"]["available"]
    assert "planted" in door.ask("plantd")["error"]["suggestions"]


def test_tool_definitions_say_what_the_marks_mean(kit: Any) -> None:
    registry = Registry([*kit.commands(), kit.command("later", not_ready)], kit.conditions)
    tools = {tool["name"]: tool for tool in tool_defs(registry)}
    assert "Only a person" in tools["decide"]["description"]
    assert "preview" in tools["wipe"]["description"]
    assert "not_ready" in tools["later"]["description"]
    assert {"confirm", "token", "by"} == set(tools["wipe"]["input_schema"]["properties"])
    assert set(tools["read"]["input_schema"]["properties"]) == set()
    notes = {tool["name"]: tool["annotations"] for tool in mcp_tools(registry)}
    assert notes["wipe"]["destructiveHint"] and not notes["add"]["destructiveHint"]
    assert notes["read"]["idempotentHint"] and not notes["add"]["idempotentHint"]


def test_the_page_tells_marks_arguments_and_reasons(kit: Any) -> None:
    page = markdown(Registry([*kit.commands(), kit.command("later", not_ready)], kit.conditions))
    assert "| `by`? | a whole number from 1 to 9 | How much. Default: `1`. |" in page
    assert "| `path` | text | A file. |" in page
    assert "*Not available yet: it answers the error not_ready.*" in page
    assert 'Reasons it may give: "Nothing selected."' in page
    assert page.endswith("\n")
