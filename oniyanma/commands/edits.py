"""Edits of the selected points, undo and redo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from oniyanma.commands.arguments import (
    COLOR_PATTERN,
    EDIT_KINDS,
    EDITS,
    READ,
    STEPS,
    arguments,
    choice,
    listing,
    whole,
)
from oniyanma.commands.selection import count_note
from oniyanma.registry import Args, Call, Command, Outcome, Unavailable
from oniyanma.registry.log import actor_json
from oniyanma.scene import history, selection
from oniyanma.scene.classes import class_name
from oniyanma.scene.state import EditKind, Event, PointEdit

RESIDENT_NOTE: Final = "count on a resident (currently on-screen LOD sample) basis"
CLEARED_NOTE: Final = "other participants' edits are cleared too while collaborating"


def _hit(call: Call, args: Args) -> dict[str, Any]:
    """What an edit of the selection would affect."""
    points = call.scene.tally(call.state).points
    note = count_note(call.state, points)
    return {"points": points, "note": RESIDENT_NOTE if note is None else note}


def _edit(call: Call, kind: EditKind, verb: str, to: str, params: Mapping[str, Any]) -> Outcome:
    rule = selection.rule_now(call.state)
    if rule is None:
        answer = {"points": 0, "basis": "resident", "note": count_note(call.state, 0)}
        return Outcome(answer)
    points = call.scene.tally(call.state).points
    id = history.edit_id(history.next_seq(call.state))
    state = history.append_step(
        call.state,
        command=f"{kind}Selection",
        title=f"{verb} {points:,}{to}",
        actor=call.actor,
        time=call.now,
        edits=(PointEdit(id, kind, rule, params),),
        points=points,
    )
    done: dict[str, Any] = {"edit": id, "points": points, "basis": "resident"}
    if (note := count_note(call.state, points)) is not None:
        done["note"] = note
    return Outcome(done, state, {"points": points})


def _hide(call: Call, args: Args) -> Outcome:
    return _edit(call, "hide", "hide", "", {})


def _delete(call: Call, args: Args) -> Outcome:
    return _edit(call, "delete", "delete", "", {})


def _reclassify(call: Call, args: Args) -> Outcome:
    number = int(args["class"])
    return _edit(call, "reclassify", "reclassify", f" to {class_name(number)}", {"class": number})


def _color(call: Call, args: Args) -> Outcome:
    color = args["color"]
    if color is None:
        return _edit(call, "color", "take the paint off", "", {"color": None})
    return _edit(call, "color", "paint", f" {color.lower()}", {"color": color.lower()})


def _undo(call: Call, args: Args) -> Outcome:
    state, taken = history.undo(call.state, call.actor, call.now, args["steps"])
    if not taken:
        raise Unavailable(_nothing(call, "undo"))
    return Outcome(_turned(taken), state, {"edits": sum(len(e.edits) for e in taken)})


def _redo(call: Call, args: Args) -> Outcome:
    state, taken = history.redo(call.state, call.actor, call.now, args["steps"])
    if not taken:
        raise Unavailable(_nothing(call, "redo"))
    return Outcome(_turned(taken), state, {"edits": sum(len(e.edits) for e in taken)})


def _turned(taken: list[Event]) -> dict[str, Any]:
    steps = len(dict.fromkeys(e.batch if e.batch is not None else e.seq for e in taken))
    return {"steps": steps, "titles": [event.title for event in taken]}


def _nothing(call: Call, what: str) -> str:
    own = " of your own (what others did is not yours to take back)"
    return f"There is nothing to {what}{own if call.actor.is_machine else ''}."


def _clearable(call: Call, args: Args) -> int:
    kinds = args.get("kinds")
    edits = history.active_edits(call.state.events)
    return sum(1 for _, edit in edits if kinds is None or edit.kind in kinds)


def _would_clear(call: Call, args: Args) -> dict[str, Any]:
    count = _clearable(call, args)
    return {"edits": count, "note": CLEARED_NOTE if count else "There are no edits to clear"}


def _clear(call: Call, args: Args) -> Outcome:
    kinds = tuple(args.get("kinds") or ())
    state, count = history.clear(call.state, call.actor, call.now, kinds)
    if not count:
        return Outcome({"edits": 0, "note": "There are no edits to clear"})
    return Outcome({"edits": count}, state, {"edits": count})


def _list(call: Call, args: Args) -> Outcome:
    in_force = {(event.seq, edit.id) for event, edit in history.active_edits(call.state.events)}
    kind = args.get("actorKind")
    found = [
        {
            "id": edit.id,
            "kind": edit.kind,
            "parameters": dict(edit.params),
            "title": event.title,
            "actor": actor_json(event.actor),
            "time": event.time,
            "points": event.points,
            "batch": event.batch,
            "undone": (event.seq, edit.id) not in in_force,
        }
        for event in call.state.events
        if event.kind == "step" and kind in (None, event.actor.kind)
        for edit in event.edits
    ]
    answer: dict[str, Any] = {"edits": found[-args["limit"] :], "count": len(found)}
    if not found:
        answer["note"] = "There are no edits"
    return Outcome(answer)


COMMANDS: Final = (
    Command(
        name="listEdits",
        title="List edits",
        group=READ,
        description="The edits in order: id, kind, parameters, actor, time, resident count, "
        "batch, undone.",
        input_schema=arguments(
            {
                "actorKind": choice("Only edits of one kind of actor.", ("human", "ai", "api")),
                "limit": whole("At most this many, the last ones.", 1, 10_000, default=1000),
            }
        ),
        example={"limit": 20},
        conditions=("has_edits",),
        readonly=True,
        run=_list,
    ),
    Command(
        name="hideSelection",
        title="Hide selection",
        group=EDITS,
        description="Hides the selected points. They stay in the export.",
        input_schema=arguments(),
        example={},
        conditions=("has_selection", "writable"),
        dry_run=_hit,
        run=_hide,
    ),
    Command(
        name="deleteSelection",
        title="Delete selection",
        group=EDITS,
        description="Deletes the selected points from the view and the export. The source file "
        "stays as it is.",
        input_schema=arguments(),
        example={},
        conditions=("has_selection", "writable"),
        dry_run=_hit,
        run=_delete,
    ),
    Command(
        name="reclassifySelection",
        title="Classify selection",
        group=EDITS,
        description="Gives the selected points another class.",
        input_schema=arguments({"class": whole("ASPRS class number.", 0, 255)}, "class"),
        example={"class": 6},
        conditions=("has_selection", "writable"),
        dry_run=_hit,
        run=_reclassify,
    ),
    Command(
        name="colorSelection",
        title="Colour selection",
        group=EDITS,
        description="Paints the selected points, or takes their paint away.",
        input_schema=arguments(
            {
                "color": {
                    "type": ["string", "null"],
                    "pattern": COLOR_PATTERN,
                    "x-like": "#rrggbb",
                    "description": "#rrggbb, or null to take the paint away.",
                }
            },
            "color",
        ),
        example={"color": "#ffb000"},
        conditions=("has_selection", "writable"),
        dry_run=_hit,
        run=_color,
    ),
    Command(
        name="undo",
        title="Undo",
        group=EDITS,
        description="Takes back the last steps: edits, measurements, bookmarks and finding texts, "
        "not the view. A machine takes back its own only, a person anybody's in this window.",
        input_schema=arguments({"steps": STEPS}),
        example={"steps": 1},
        conditions=("has_steps", "writable"),
        run=_undo,
    ),
    Command(
        name="redo",
        title="Redo",
        group=EDITS,
        description="Does again what was taken back, until something new is done.",
        input_schema=arguments({"steps": STEPS}),
        example={"steps": 1},
        conditions=("has_undone", "writable"),
        run=_redo,
    ),
    Command(
        name="clearEdits",
        title="Clear all edits",
        group=EDITS,
        description="Clears all edits, or those of some kinds: other participants' too.",
        input_schema=arguments(
            {
                "kinds": listing(
                    "Kinds of edits; absent: all.",
                    {"type": "string", "enum": list(EDIT_KINDS)},
                    1,
                    len(EDIT_KINDS),
                    uniqueItems=True,
                )
            }
        ),
        example={"kinds": ["color"]},
        conditions=("has_edits", "writable"),
        dry_run=_would_clear,
        run=_clear,
    ),
)
