"""Reports for people and other programs."""

from __future__ import annotations

from typing import Final

from oniyanma.commands.arguments import FILES, OVERWRITE, arguments, choice, path
from oniyanma.registry import Command, not_ready

COMMANDS: Final = (
    Command(
        name="exportReport",
        title="Export report…",
        group=FILES,
        description="Writes measurements or findings as CSV or GeoJSON (by the extension), the "
        "log as JSON Lines or CSV, or the report as PDF.",
        input_schema=arguments(
            {
                "path": path("The file to write.", "write"),
                "what": choice("What to write.", ("measurements", "findings", "log", "report")),
                "overwrite": OVERWRITE,
            },
            "path",
            "what",
        ),
        example={"path": "delivery/findings.csv", "what": "findings"},
        run=not_ready,
    ),
)
