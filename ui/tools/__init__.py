"""Tools of the view: each turns clicks and drags into the arguments of one command."""

from __future__ import annotations

from typing import Any

from .base import Tool
from .clip import ClipTool
from .points import FindingTool, MeasureTool, PickTool, SectionTool
from .select import BoxTool, LassoTool, RectangleTool

__all__ = [
    "BoxTool",
    "ClipTool",
    "FindingTool",
    "LassoTool",
    "MeasureTool",
    "PickTool",
    "RectangleTool",
    "SectionTool",
    "Tool",
    "make_tool",
]


def make_tool(name: str, host: Any, args: dict[str, Any]) -> Tool:
    """The tool an action's table names; KeyError for none of that name."""
    kinds: dict[str, Any] = {
        "select": RectangleTool,
        "lasso": LassoTool,
        "polygon": lambda host: LassoTool(host, freehand=False),
        "box": BoxTool,
        "clip": ClipTool,
        "finding": FindingTool,
        "section": SectionTool,
        "measure": lambda host: MeasureTool(host, str(args.get("kind", "distance"))),
    }
    tool: Tool = kinds[name](host)
    return tool
