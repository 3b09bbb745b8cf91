"""Behind every entry is a registered command with valid arguments, or a harmless act."""

from __future__ import annotations

import pytest
from oniyanma.ui.actions import ENTRIES
from oniyanma.ui.acts import Acts
from oniyanma.ui.entry import Entry

from oniyanma.commands import build_registry

REGISTRY = build_registry()
COMMANDS = [entry for entry in ENTRIES if entry.command]


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.id)
def test_an_entry_names_a_registered_command_with_valid_arguments(entry: Entry) -> None:
    assert entry.command in REGISTRY
    schema = REGISTRY[entry.command].input_schema
    properties = schema["properties"]
    assert set(entry.args) <= set(properties)
    missing = set(schema.get("required", ())) - set(entry.args)
    if entry.ask == "no":
        assert not missing
    registered = REGISTRY.entry(entry.command)
    assert registered is not None
    assert set(entry.off) <= set(entry.args)
    for name, value in (*entry.args.items(), *entry.off.items()):
        errors = list(registered.validator.evolve(schema=properties[name]).iter_errors(value))
        assert errors == []


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.id)
def test_an_entry_that_asks_has_something_to_ask(entry: Entry) -> None:
    if entry.ask in ("form", "tool", "file"):
        assert set(REGISTRY[entry.command].input_schema["properties"]) - set(entry.args)
    assert (entry.ask == "tool") == bool(entry.tool)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if not e.command], ids=lambda e: e.id)
def test_an_act_of_the_window_is_one_it_has(entry: Entry) -> None:
    assert callable(getattr(Acts, entry.act))


def test_only_clearing_all_edits_asks_first() -> None:
    assert [entry.id for entry in ENTRIES if entry.ask == "confirm"] == ["edit.clear"]
