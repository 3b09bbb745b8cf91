"""Working together through a relay."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import COLLABORATION, arguments, text
from oniyanma.registry import Command, not_ready

COMMANDS: Final = (
    Command(
        name="joinSession",
        title="Join session…",
        group=COLLABORATION,
        description="Joins a relay room: edits, findings and batches are shared live.",
        input_schema=arguments(
            {
                "url": text("URL of the relay.", 2000),
                "room": text("Name of the room."),
                "name": text("Your name, as the others see it."),
                "token": text("The token that lets you in.", 4096, writeOnly=True),
            },
            "url",
            "room",
            "name",
        ),
        example={"url": "wss://relay.example/", "room": "site-12", "name": "Aiko"},
        run=not_ready,
    ),
    Command(
        name="leaveSession",
        title="Leave session",
        group=COLLABORATION,
        description="Leaves the relay room. The local copy stays.",
        input_schema=arguments(),
        example={},
        idempotent=True,
        run=not_ready,
    ),
)
