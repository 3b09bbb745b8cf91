"""What holds for every command, by looping over the registry: no list of names by hand."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from oniyanma.commands import MODULES, build_registry
from oniyanma.registry import Registry, commands_json, mcp_tools, tool_defs
from oniyanma.registry.checks import validate
from oniyanma.registry.docs import markdown
from tests.commands.conftest import AI, API, HUMAN, BareDoor
from tests.commands.strategies import mistyped, valid
from tests.support import ROOT, shared

REGISTRY = build_registry()
NAMES = [command.name for command in REGISTRY]
WRITES = [command.name for command in REGISTRY if not command.readonly]
GATED = [command.name for command in REGISTRY if command.destructive]
FOR_PEOPLE = [command.name for command in REGISTRY if command.human_only]
each = pytest.mark.parametrize("name", NAMES)
quick = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def _walk(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, Mapping):
        yield schema
        for value in schema.values():
            yield from _walk(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _walk(value)


def test_the_commands_of_the_contract_are_all_here() -> None:
    """their names, marks and groups are those of the page the project was given."""
    page = shared("COMMANDS.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:([RDH]) )?`(\w+)`", page, re.MULTILINE)
    assert {name for _, name in rows} <= set(NAMES)
    for mark, name in rows:
        command = REGISTRY[name]
        marks = (command.readonly, command.destructive, command.human_only)
        assert marks == (mark == "R", mark == "D", mark == "H"), name


@each
def test_a_tool_definition_is_what_model_apis_take(name: str) -> None:
    (tool,) = [tool for tool in tool_defs(REGISTRY) if tool["name"] == name]
    assert set(tool) == {"name", "description", "input_schema"}
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)
    assert len(tool["description"]) > 10
    schema = tool["input_schema"]
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object" and schema["additionalProperties"] is False
    assert not {"oneOf", "anyOf", "allOf"} & schema.keys()
    json.dumps(tool)


@each
def test_every_argument_is_described_and_every_number_has_bounds(name: str) -> None:
    for key, sub in REGISTRY.schema(name)["properties"].items():
        assert sub["description"].strip(), key
        for inner in _walk(sub):
            kinds = inner.get("type", [])
            kinds = [kinds] if isinstance(kinds, str) else kinds
            if {"number", "integer"} & set(kinds):
                bounds = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum"}
                assert bounds & inner.keys() or inner.get("x-unbounded") is True, (key, inner)


@each
def test_the_example_is_valid_and_so_is_what_is_built_from_the_schema(name: str) -> None:
    entry = REGISTRY.entry(name)
    assert entry is not None
    validate(entry, entry.command.example)

    @quick
    @given(args=valid(entry.schema))
    def check(args: Any) -> None:
        validate(entry, args)
        assert entry.validator.is_valid(args)

    check()


@each
def test_mistyped_and_unknown_arguments_are_refused_with_their_place(name: str) -> None:
    door = BareDoor(REGISTRY)

    @quick
    @given(args=mistyped(REGISTRY, name))
    def check(args: Any) -> None:
        before = door.host.state
        assert not REGISTRY.entry(name).validator.is_valid(args)  # type: ignore[union-attr]
        answer = door.ask(name, args, HUMAN)
        error = answer["error"]
        assert error["code"] == "invalid_arguments"
        for problem in error["problems"]:
            assert set(problem) == {"path", "given", "allowed"}
            assert problem["path"].startswith("$") and problem["allowed"]
        json.dumps(answer, allow_nan=False)
        assert door.host.state is before

    check()


@each
def test_arguments_that_are_no_part_of_the_schema_are_named(name: str) -> None:
    door = BareDoor(REGISTRY)
    args = {**REGISTRY[name].example, "surelyNoArgument": 1, "norThis": 2}
    paths = {p["path"] for p in door.ask(name, args, HUMAN)["error"]["problems"]}
    assert {"$.surelyNoArgument", "$.norThis"} <= paths


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("actor", [HUMAN, AI, API], ids=lambda actor: actor.kind)
def test_the_read_surface_runs_no_write(bare: BareDoor, name: str, actor: Any) -> None:
    example = dict(REGISTRY[name].example)
    for args in (example, {**example, "confirm": True}, {"nonsense": 1}):
        error = bare.ask(name, args, actor, "read")["error"]
        assert error["code"] == "surface_denied"
        assert error["available"] == sorted(c.name for c in REGISTRY if c.readonly)
    assert name not in [tool["name"] for tool in tool_defs(REGISTRY, "read")]
    assert bare.host.state.revision == 0


@each
@pytest.mark.parametrize("actor", [HUMAN, AI, API], ids=lambda actor: actor.kind)
def test_who_asked_stands_in_the_log(bare: BareDoor, name: str, actor: Any) -> None:
    bare.ask(name, {"nonsense": 1}, actor)
    line = bare.last()
    assert line["command"] == name
    assert (line["actor"]["kind"], line["actor"]["name"]) == (actor.kind, actor.name)
    assert line["actor"].get("instruction", "") == actor.instruction


@pytest.mark.parametrize("name", GATED)
@pytest.mark.parametrize("confirm", ["true", 1, "yes", None])
def test_only_true_confirms(bare: BareDoor, name: str, confirm: Any) -> None:
    args = {**REGISTRY[name].example, "confirm": confirm}
    assert bare.code(name, args) == "invalid_arguments"


@pytest.mark.parametrize("name", [name for name in NAMES if name not in GATED + FOR_PEOPLE])
def test_confirm_means_nothing_to_an_ungated_command(bare: BareDoor, name: str) -> None:
    args = {**REGISTRY[name].example, "confirm": True}
    assert bare.code(name, args, HUMAN) == "invalid_arguments"


@pytest.mark.parametrize("name", FOR_PEOPLE)
@pytest.mark.parametrize("actor", [AI, API], ids=lambda actor: actor.kind)
def test_what_is_for_people_is_refused_to_machines(bare: BareDoor, name: str, actor: Any) -> None:
    example = dict(REGISTRY[name].example)
    for args in (example, {**example, "confirm": True}, {**example, "token": "x"}):
        error = bare.ask(name, args, actor)["error"]
        assert error["code"] == "human_only" and "person" in error["message"]
    (tool,) = [tool for tool in tool_defs(REGISTRY, "all") if tool["name"] == name]
    assert "Only a person" in tool["description"]


@each
def test_every_command_is_documented(name: str) -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    section = page.split(f"### `{name}`\n", 1)[1].split("\n### ", 1)[0]
    assert REGISTRY[name].description in section
    for key in REGISTRY.schema(name)["properties"]:
        assert f"| `{key}`" in section
    assert ("not_ready" in section) is not REGISTRY[name].ready


def test_the_committed_page_is_what_the_registry_says() -> None:
    """`oniyanma commands --markdown > docs/commands.md` writes it anew."""
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == markdown(REGISTRY)


def test_only_collaboration_is_not_ready() -> None:
    assert {c.name for c in REGISTRY if not c.ready} == {"joinSession", "leaveSession"}


def test_what_is_not_ready_answers_so_to_everybody(bare: BareDoor) -> None:
    for command in REGISTRY:
        if not command.ready:
            assert bare.code(command.name, command.example, HUMAN) == "not_ready"
            assert bare.last()["outcome"] == "refused"


@each
def test_hints_follow_the_marks(name: str) -> None:
    (tool,) = [tool for tool in mcp_tools(REGISTRY) if tool["name"] == name]
    notes, command = tool["annotations"], REGISTRY[name]
    assert notes["readOnlyHint"] == command.readonly
    assert notes["destructiveHint"] == command.destructive
    assert notes["idempotentHint"] == (command.readonly or command.idempotent)


def test_the_json_of_the_command_line_has_its_keys() -> None:
    keys = {
        "name",
        "title",
        "group",
        "description",
        "input_schema",
        "readonly",
        "destructive",
        "human_only",
    }
    out = subprocess.run(
        [sys.executable, "-m", "oniyanma", "commands", "--json"],
        capture_output=True,
        check=True,
        text=True,
        encoding="utf-8",
    ).stdout
    listed = json.loads(out)
    assert listed == commands_json(REGISTRY)
    assert all(set(entry) == keys for entry in listed)


def test_paths_of_writes_are_within_a_machines_reach_or_refused() -> None:
    """a path says whether it is read or written, and overwrite is for people."""
    for command in REGISTRY:
        for key, sub in command.input_schema["properties"].items():
            if key == "path":
                assert sub.get("x-path") in ("read", "write"), command.name
            if key == "overwrite":
                assert sub.get("x-people-only") is True, command.name


# --- nobody goes round the door ------------------------------------------------------------------

SOURCES = sorted(
    path for folder in ("oniyanma", "ui", "bench") for path in (ROOT / folder).rglob("*.py")
)


def _handlers() -> dict[str, str]:
    """The functions behind the commands: name → module."""
    found: dict[str, str] = {}
    for command in REGISTRY:
        for function in (command.run, command.dry_run):
            if function is not None and command.ready:
                found[function.__name__] = function.__module__
    return found


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = ("oniyanma", *parts) if parts[0] == "ui" else parts
    return ".".join(part for part in parts if part != "__init__")


def _ways_round(tree: ast.AST, module: str) -> list[str]:
    """What in a module reaches a command's function without the door: ``.run`` or ``.dry_run`` of
    something called like a command, called or not; an import of the function; an attribute of
    a command module other than its table."""
    handlers, modules = _handlers(), {m.__name__ for m in MODULES}
    found: list[str] = []
    bound: dict[str, str] = {}  # name here → command module it stands for
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            bound |= {a.asname: a.name for a in node.names if a.asname and a.name in modules}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in modules:
                    bound[alias.asname or alias.name] = whole
                elif node.module != module and handlers.get(alias.name, "") == node.module:
                    found.append(f"{node.lineno}: imports {whole}")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        holder = ast.unparse(node.value)
        if node.attr == "dry_run" or (
            node.attr == "run" and ("command" in holder.lower() or "registry" in holder.lower())
        ):
            found.append(f"{node.lineno}: {ast.unparse(node)}")
        of = bound.get(holder, holder)
        if of in modules and of != module and node.attr in handlers:
            found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nobody_reaches_a_commands_function_but_the_door(path: Path) -> None:
    if path.relative_to(ROOT).parts[:2] == ("oniyanma", "registry"):
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert _ways_round(tree, _module(path)) == []


@pytest.mark.parametrize(
    "text",
    [
        "command.run(call, {})",
        "registry['undo'].run(1, 2)",
        "way = session.registry['undo'].run",
        "x.dry_run(1)",
        "from oniyanma.commands.session import get_session",
        "from oniyanma.commands import session\nsession.get_session(1, {})",
        "import oniyanma.commands.session as s\ns.get_session(1, {})",
        "import oniyanma.commands.session\noniyanma.commands.session.get_session(1, {})",
    ],
)
def test_a_planted_way_round_the_door_is_seen(text: str) -> None:
    assert len(_ways_round(ast.parse(text), "oniyanma.elsewhere")) == 1


def test_no_command_is_named_by_hand_where_the_registry_is_listed() -> None:
    """tool definitions, documentation and the command line name no command of their own."""
    quoted = re.compile(r"[\"'](" + "|".join(NAMES) + r")[\"']")
    for name in ("registry", "cli.py", "app.py", "handle.py"):
        place = ROOT / "oniyanma" / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            text = "\n".join(
                line
                for line in path.read_text(encoding="utf-8").splitlines()
                if "call(" not in line and "execute(" not in line
            )
            found = [hit for hit in quoted.findall(text) if hit not in ("undo", "redo")]
            assert not found, path


@settings(max_examples=50, deadline=None)
@given(name=st.text(max_size=20).filter(lambda name: name not in NAMES))
def test_any_other_name_is_unknown_and_gets_three_suggestions(name: str) -> None:
    error = BareDoor(REGISTRY).ask(name)["error"]
    assert error["code"] == "unknown_command"
    assert len(set(error["suggestions"]) & set(NAMES)) == 3


def test_a_typing_slip_finds_the_command_meant() -> None:
    registry: Registry = REGISTRY
    assert registry.nearest("deleteselection")[0] == "deleteSelection"
    assert registry.nearest("open_cloud")[0] == "openCloud"
    assert "queryElevation" in registry.nearest("elevation")
