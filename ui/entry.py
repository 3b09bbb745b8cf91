"""One thing that can be done, as menus, keys, buttons and the palette share it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

Ask = Literal["no", "form", "tool", "file", "confirm"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """``menu`` is the menu's title; entries of one ``section`` stand together.

    ``ask``: "no" the arguments are complete; "form" the palette asks for the missing ones;
    "tool" a tool of the view finds them; "file" a file dialog finds ``path``; "confirm" asks
    once, with the count. ``off``: the arguments where it is on already. ``act`` is the method of
    the window for what is no command.
    """

    id: str
    title: str
    menu: str
    section: int = 0
    command: str = ""
    args: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    off: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    ask: Ask = "no"
    tool: str = ""
    act: str = ""
    icon: str = ""
    keys: tuple[str, ...] = ()
    context: bool = False
    short: str = ""  # on the tool rail and the action bar
    hint: str = ""
    checkable: bool = False


def doing(id: str, title: str, menu: str, command: str, **rest: Any) -> Entry:
    """An entry with a command behind it."""
    return Entry(id=id, title=title, menu=menu, command=command, **rest)
