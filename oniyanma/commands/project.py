"""The project file."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import FILES, OVERWRITE, arguments, path
from oniyanma.registry import Command, not_ready

COMMANDS: Final = (
    Command(
        name="openProject",
        title="Open project…",
        group=FILES,
        description="Opens a project file with its clouds, edits, measurements, findings, "
        "batches, bookmarks and log.",
        input_schema=arguments({"path": path("The project file.", "read")}, "path"),
        example={"path": "site.oniyanma"},
        run=not_ready,
    ),
    Command(
        name="saveProject",
        title="Save project",
        group=FILES,
        description="Saves the project, or saves it as another file and goes on there.",
        input_schema=arguments(
            {
                "path": path("The file to save as; absent: where the project is.", "write"),
                "overwrite": OVERWRITE,
            }
        ),
        example={"path": "site.oniyanma"},
        run=not_ready,
    ),
)
