"""Saved views."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import READ, VIEW, arguments, text
from oniyanma.registry import Command, not_ready

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
        run=not_ready,
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
        run=not_ready,
    ),
    Command(
        name="deleteBookmark",
        title="Delete saved view",
        group=VIEW,
        description="Removes a saved view. Undo brings it back.",
        input_schema=arguments({"name": _NAME}, "name"),
        example={"name": "North gate"},
        conditions=("writable",),
        run=not_ready,
    ),
)
