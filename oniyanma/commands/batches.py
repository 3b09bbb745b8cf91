"""Sets of edits that are proposed, reviewed, accepted and reverted."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import FINDINGS, READ, arguments, choice, listing, text
from oniyanma.registry import Command, not_ready

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
        run=not_ready,
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
                    1000,
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
        run=not_ready,
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
        run=not_ready,
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
        dry_run=not_ready,
        run=not_ready,
    ),
)
