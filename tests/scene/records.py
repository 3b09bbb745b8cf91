"""A door over real scene states, for the commands that need no points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from oniyanma.commands import batches, bookmarks, findings, measuring
from oniyanma.commands.conditions import CONDITIONS
from oniyanma.registry import (
    Actor,
    Args,
    Call,
    Command,
    Context,
    Jobs,
    LogEntry,
    MemoryLog,
    Outcome,
    Refused,
    Registry,
    execute_command,
)
from oniyanma.rules.model import Region, Rule, Where
from oniyanma.scene import history
from oniyanma.scene.state import PointEdit, SceneState, Selection

AIKO = Actor("human", "Aiko")
BEN = Actor("human", "Ben", participant="ben-laptop")
MODEL = Actor("ai", "model-1", instruction="check the roofs", token="t-1")
NAMESAKE = Actor("ai", "model-1", token="t-2")
SCRIPT = Actor("api", "script", token="t-3")


def _select(call: Call, args: Args) -> Outcome:
    rule = Rule(
        (Region(Where(classes=frozenset(args["classes"]))),), at=history.next_seq(call.state)
    )
    return Outcome({"points": 7}, replace(call.state, selection=Selection(rule)))


def _reclassify(call: Call, args: Args) -> Outcome:
    rule = call.state.selection.rule
    if rule is None:
        raise Refused("reclassifySelection: No selection (select something first)")
    seq = history.next_seq(call.state)
    edit = PointEdit(history.edit_id(seq), "reclassify", rule, {"class": args["class"]})
    state = history.append_step(
        call.state,
        command="reclassifySelection",
        title=f"reclassify 7 to {args['class']}",
        actor=call.actor,
        time=call.now,
        edits=(edit,),
        points=7,
    )
    return Outcome({"points": 7}, state, {"points": 7})


def _undo(call: Call, args: Args) -> Outcome:
    state, taken = history.undo(call.state, call.actor, call.now, args.get("steps", 1))
    return Outcome({"steps": len(taken)}, state)


def _redo(call: Call, args: Args) -> Outcome:
    state, taken = history.redo(call.state, call.actor, call.now)
    return Outcome({"steps": len(taken)}, state)


def _schema(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "required": list(properties),
    }


_CLASS = {"type": "integer", "minimum": 0, "maximum": 255, "description": "A class."}
_CLASSES = {"type": "array", "items": _CLASS, "maxItems": 9, "description": "Classes."}
_STEPS = {"type": "integer", "minimum": 1, "maximum": 9, "description": "Steps."}


def _command(
    name: str, run: Any, schema: dict[str, Any], example: Mapping[str, Any], **more: Any
) -> Command:
    return Command(
        name=name,
        title=name,
        group="Test",
        description=name,
        run=run,
        input_schema=schema,
        example=example,
        **more,
    )


EDITS = (
    _command("selectWhere", _select, _schema(classes=_CLASSES), {"classes": [6]}),
    _command(
        "reclassifySelection",
        _reclassify,
        _schema(**{"class": _CLASS}),
        {"class": 6},
        dry_run=lambda call, args: {"points": 7},
    ),
    _command("undo", _undo, _schema(steps=_STEPS) | {"required": []}, {}),
    _command("redo", _redo, _schema(), {}),
    _command("setClip", lambda call, args: Outcome({}), _schema(), {}),
)


class Host:
    """The scene's side of the door: a state, a log, and nothing to see."""

    def __init__(self) -> None:
        self.state = SceneState()
        self.live_state: Any = None
        self.log = MemoryLog()
        self.full = False

    @property
    def version(self) -> int:
        return self.state.revision

    def commit(self, state: SceneState, entry: LogEntry) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        self.log.write(entry, self.state, state)
        self.state = replace(state, revision=self.state.revision + 1)

    def append(self, entry: LogEntry) -> None:
        self.log.write(entry, self.state, self.state)


class Door:
    """`execute_command` with its context bound."""

    def __init__(self) -> None:
        self.host = Host()
        modules = (findings, batches, bookmarks, measuring)
        commands = [c for module in modules for c in module.COMMANDS]
        registry = Registry((*commands, *EDITS), CONDITIONS).freeze()
        jobs = Jobs(lambda function: function(), inline=True)
        self.context = Context(registry, self.host, jobs)

    def __call__(self, actor: Actor, name: str, /, **args: Any) -> dict[str, Any]:
        answer = execute_command(self.context, name, args, actor, "all")
        assert isinstance(answer, dict)
        return answer

    @property
    def state(self) -> SceneState:
        return self.host.state

    def lines(self) -> list[Mapping[str, Any]]:
        return [line.body for line in self.host.log.entries()]
