"""Writing the edited points at full resolution."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import CLOUD, FILES, OVERWRITE, arguments, choice, path
from oniyanma.registry import Command, not_ready

COMMANDS: Final = (
    Command(
        name="exportCloud",
        title="Export points…",
        group=FILES,
        description="Writes the full-resolution points of the source with the edits applied. A "
        "long command with progress; the file appears whole or not at all, never over a source.",
        input_schema=arguments(
            {
                "path": path("The file to write.", "write"),
                "format": choice(
                    "File format; absent: by the file's extension.",
                    ("las", "laz", "copc", "ply", "csv"),
                ),
                "include": choice(
                    "all: every point that is not deleted, hidden ones too; visible: what the "
                    "clip and the visible classes show; selection: the selected points.",
                    ("all", "visible", "selection"),
                    default="all",
                ),
                "cloud": CLOUD,
                "overwrite": OVERWRITE,
            },
            "path",
        ),
        example={"path": "delivery/site.laz", "include": "all"},
        conditions=("has_cloud",),
        run=not_ready,
    ),
)
