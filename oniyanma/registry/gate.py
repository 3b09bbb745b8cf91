"""The tokens of the confirmation gate: what a preview counted, so that nothing else is run."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from oniyanma.registry.actor import Actor
from oniyanma.registry.jobs import same_caller

KEPT: Final = 256


@dataclass
class _Preview:
    command: str
    args: Mapping[str, Any]
    actor: Actor
    prints: Mapping[str, Any]
    used: bool = False


class Gate:
    """Tokens given out by previews, each good for one run of what was previewed."""

    def __init__(self) -> None:
        self._previews: OrderedDict[str, _Preview] = OrderedDict()

    def issue(
        self, command: str, args: Mapping[str, Any], actor: Actor, prints: Mapping[str, Any]
    ) -> str:
        """A token bound to command, arguments, caller and the named views of the state."""
        token = secrets.token_urlsafe(12)
        self._previews[token] = _Preview(command, dict(args), actor, dict(prints))
        while len(self._previews) > KEPT:
            self._previews.popitem(last=False)
        return token

    def misfit(
        self,
        token: str,
        command: str,
        args: Mapping[str, Any],
        actor: Actor,
        prints: Mapping[str, Any],
    ) -> str | None:
        """Why the token does not fit; None: it did, and is used up now."""
        preview = self._previews.get(token)
        if preview is None or not same_caller(preview.actor, actor):
            return "it was not given to you, or too long ago"
        if preview.used:
            return "it was used before"
        if preview.command != command:
            return f"it is of a preview of {preview.command}"
        if preview.args != args:
            return "the arguments are other ones than previewed"
        for name, seen in preview.prints.items():
            if seen != prints.get(name):
                return f"the {name} changed since the preview"
        preview.used = True
        return None
