"""Saved views."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import READ, VIEW, arguments, text
from oniyanma.commands.refusals import refusing
from oniyanma.commands.words import bookmark_json
from oniyanma.registry import Args, Call, Command, Outcome
from oniyanma.scene import bookmarks


def _list(call: Call, args: Args) -> Outcome:
    views = [bookmark_json(view) for view in call.state.bookmarks.values()]
    note = {} if views else {"note": "No saved views (saveBookmark keeps the view)"}
    return Outcome({"bookmarks": views, "count": len(views), **note})


def _save(call: Call, args: Args) -> Outcome:
    replaced = args["name"] in call.state.bookmarks
    state = bookmarks.save(
        call.state, call.actor, call.now, args["name"], bookmarks.thumbnail(call.scene)
    )
    return Outcome({"name": args["name"], "replaced": replaced}, state)


def _delete(call: Call, args: Args) -> Outcome:
    with refusing():
        state = bookmarks.delete(call.state, call.actor, call.now, args["name"])
    return Outcome({"name": args["name"]}, state)


_NAME: Final = text("Name of the view.")

COMMANDS: Final = (
    Command(
        name="listBookmarks",
        title="List saved views",
        group=READ,
        description="The saved views: name, camera and time.",
        input_schema=arguments(),
        example={},
        readonly=True,
        run=_list,
    ),
    Command(
        name="saveBookmark",
        title="Save view",
        group=VIEW,
        description="Saves the view under a name, in place of one of that name.",
        input_schema=arguments({"name": _NAME}, "name"),
        example={"name": "North gate"},
        conditions=("writable",),
        idempotent=True,
        run=_save,
    ),
    Command(
        name="deleteBookmark",
        title="Delete saved view",
        group=VIEW,
        description="Removes a saved view. Undo brings it back.",
        input_schema=arguments({"name": _NAME}, "name"),
        example={"name": "North gate"},
        conditions=("writable",),
        run=_delete,
    ),
)
