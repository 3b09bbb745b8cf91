"""The window (Qt). Reads the scene, changes it through the door as a person, holds no logic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def run(session: Any, files: Sequence[str] = (), *, console: Any = None) -> int:
    """Shows the window on a session until it is closed; the exit status.

    ``console``: an object with ``ask(question)`` that sentences nobody knows are handed to.
    """
    from .application import run as run_application

    return run_application(session, files, console=console)
