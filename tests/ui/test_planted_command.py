"""A command added to the registry is in the window's palette with no other change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from oniyanma.ui.keymap import Keymap
from oniyanma.ui.palette_rows import rows, search

import oniyanma
from oniyanma.commands import build_registry
from oniyanma.registry import Actor, Command, Outcome


def test_a_planted_command_is_offered_and_found_by_its_title(tmp_path: Any) -> None:
    planted = Command(
        name="countStorks",
        title="Count storks",
        group="Birds",
        description="Counts the storks.",
        input_schema={"type": "object", "properties": {}, "additionalProperties": False},
        example={},
        run=lambda call, args: Outcome({"storks": 0}),
    )
    with oniyanma.Session(registry=build_registry(planted), inline_workers=True) as session:
        bridge: Any = SimpleNamespace(
            registry=session.registry,
            state=session.state,
            command=session.registry.__getitem__,
            reason=lambda name: session.unavailable(name) or "",
            selected_points=lambda: None,
            handle=session.handle(Actor("human", "Aiko")),
        )
        offers = rows(bridge, Keymap(), [], [])
        (row,) = [row for row in offers if row.command == "countStorks"]
        assert (row.title, row.group, row.reason) == ("Count storks", "Birds", "")
        assert search("stork", offers)[0].command == "countStorks"
