"""Sets of edits that are proposed, reviewed, accepted and reverted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from oniyanma.commands.arguments import FINDINGS, READ, arguments, choice, listing, text
from oniyanma.commands.refusals import refusing
from oniyanma.commands.words import batch_json
from oniyanma.registry import Args, Call, Command, CommandError, InvalidArguments, Outcome
from oniyanma.registry.schema import GATE_ARGUMENTS
from oniyanma.scene import batches
from oniyanma.scene.records import RecordError
from oniyanma.scene.state import Batch


def _list(call: Call, args: Args) -> Outcome:
    wanted = args.get("state")
    found = [b for b in call.state.batches.values() if wanted in (None, b.state)]
    answer: dict[str, Any] = {
        "batches": [batch_json(b) | _steps(call, b) for b in found],
        "count": len(found),
        "basis": "resident",
    }
    if not found:
        kind = f" in state {wanted}" if wanted and call.state.batches else ""
        answer["note"] = f"No batches{kind} (proposeBatch makes one)"
    return Outcome(answer)


def _steps(call: Call, batch: Batch) -> dict[str, Any]:
    """The commands with what each hits: of an applied batch as it was, of a proposed one now."""
    rows = [{"name": step["name"], "args": dict(step["args"])} for step in batch.commands]
    if batch.state != "proposed":
        points = [e.points for e in call.state.events if e.batch == batch.id and e.points]
        return {"commands": rows, "points": sum(points)}
    total = 0
    for row, outcome in zip(rows, call.try_steps(rows), strict=False):
        if isinstance(outcome, CommandError):
            row["problem"] = outcome.message
            break
        affected = dict(outcome.affected or {})
        row["hits"] = affected or {k: outcome.answer[k] for k in ("points",) if k in outcome.answer}
        total += affected.get("points", 0)
    return {"commands": rows, "points": total}


def _propose(call: Call, args: Args) -> Outcome:
    problems: list[dict[str, Any]] = []
    commands: list[dict[str, Any]] = []
    for index, step in enumerate(args["commands"]):
        name, given = step["name"], step.get("args", {})
        place = f"$.commands[{index}]"
        try:
            checked = call.check(name, given)
        except CommandError as error:
            problems += _problems(place, name, error)
            continue
        checked = {k: v for k, v in checked.items() if k not in GATE_ARGUMENTS}
        reason = batches.unfit(name, checked)
        if reason is not None:
            allowed = ", ".join(batches.ALLOWED)
            problems.append({"path": place, "given": name, "allowed": f"{reason} ({allowed})"})
        commands.append({"name": name, "args": checked})
    if problems:
        text = "; ".join(
            f"{p['path']} is {p['given']!r}, allowed: {p['allowed']}" for p in problems
        )
        raise InvalidArguments(f"proposeBatch: {text}", problems=problems)
    state, batch = batches.propose(call.state, call.actor, call.now, args["title"], commands)
    answer = {"id": batch.id, "state": batch.state, "commands": len(batch.commands)}
    note = "Nothing ran. A person accepts it (acceptBatch) in the window."
    return Outcome(answer | {"note": note}, state, {"batches": 1})


def _problems(place: str, name: str, error: CommandError) -> list[dict[str, Any]]:
    told = error.data.get("problems")
    if not told:
        return [{"path": place, "given": name, "allowed": error.message}]
    return [p | {"path": f"{place}.args{str(p['path']).removeprefix('$')}"} for p in told]


def _accept(call: Call, args: Args) -> Outcome:
    with refusing():
        batch = batches.ready_to_accept(call.state, args["id"])
    steps = call.run_steps(batch.commands, proposed_by=batch.author)
    state = batches.accepted(call.state, steps.state, batch, call.actor)
    affected: Counter[str] = Counter()
    for entry in steps.entries:
        affected.update(entry.affected or {})
    answer = {"id": batch.id, "state": "applied", "commands": len(steps.entries), **affected}
    return Outcome(answer, state, dict(affected) | {"batches": 1}, steps.entries)


def _revert(call: Call, args: Args) -> Outcome:
    with refusing():
        found = batches.revertible(call.state, call.actor, args.get("id"))
    if not found:
        return Outcome({"batches": 0, "note": _NOTHING})
    state = batches.revert(call.state, call.actor, call.now, found)
    ends = {b.id: state.batches[b.id].state for b in found}
    return Outcome({"batches": len(found), "states": ends}, state, {"batches": len(found)})


def _would_revert(call: Call, args: Args) -> Mapping[str, Any]:
    try:
        found = batches.revertible(call.state, call.actor, args.get("id"))
    except RecordError as error:
        return {"batches": 0, "note": str(error)}
    if not found:
        return {"batches": 0, "note": _NOTHING}
    applied = sum(b.state == "applied" for b in found)
    note = "A batch made by someone else can't be reverted"
    if applied < len(found):
        note += f"; proposed ones that would be withdrawn: {len(found) - applied}"
    return {"batches": applied, "ids": [b.id for b in found], "note": note}


_NOTHING: Final = "No batch of yours is applied or proposed (listBatches shows all)"


COMMANDS: Final = (
    Command(
        name="listBatches",
        title="List batches",
        group=READ,
        description="The batches: id, title, state, author, commands and counts.",
        input_schema=arguments(
            {
                "state": choice(
                    "Only those in this state.",
                    ("proposed", "applied", "reverted", "withdrawn"),
                )
            }
        ),
        example={"state": "proposed"},
        readonly=True,
        run=_list,
    ),
    Command(
        name="proposeBatch",
        title="Propose batch",
        group=FINDINGS,
        description="Proposes a set of selecting, editing and finding commands for review. They "
        "are checked now; nothing runs until a person accepts the batch.",
        input_schema=arguments(
            {
                "title": text("What the batch does, in a few words."),
                "commands": listing(
                    "The commands in order.",
                    arguments(
                        {
                            "name": text("Name of a command.", 64),
                            "args": {
                                "type": "object",
                                "description": "Its arguments, without confirm and token.",
                            },
                        },
                        "name",
                    ),
                    1,
                    batches.MAX_COMMANDS,
                ),
            },
            "title",
            "commands",
        ),
        example={
            "title": "Noise to class 7",
            "commands": [
                {"name": "selectWhere", "args": {"elevation": [None, 100.0]}},
                {"name": "reclassifySelection", "args": {"class": 7}},
            ],
        },
        conditions=("writable",),
        run=_propose,
    ),
    Command(
        name="acceptBatch",
        title="Accept batch",
        group=FINDINGS,
        description="Runs a proposed batch as one undo step, all of it or nothing.",
        input_schema=arguments({"id": text("Batch id from listBatches.")}, "id"),
        example={"id": "b1"},
        conditions=("writable",),
        human_only=True,
        run=_accept,
    ),
    Command(
        name="revertBatch",
        title="Revert batch",
        group=FINDINGS,
        description="Takes an applied batch back, or withdraws a proposed one. Somebody else's is "
        "refused.",
        input_schema=arguments(
            {"id": text("Batch id from listBatches; absent: all of the caller's own.")}
        ),
        example={"id": "b1"},
        conditions=("writable",),
        dry_run=_would_revert,
        run=_revert,
    ),
)
