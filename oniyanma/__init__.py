"""oniyanma: a point-cloud viewer whose every click, key, script and machine is one command.

``Session`` and ``Actor`` are imported when first used: importing the package loads neither the
window nor the renderer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oniyanma.app import Session
    from oniyanma.registry.actor import Actor

__all__ = ["Actor", "Session"]

_HOMES = {"Session": "oniyanma.app", "Actor": "oniyanma.registry.actor"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
