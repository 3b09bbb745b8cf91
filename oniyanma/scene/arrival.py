"""Waiting for attributes that are on their way to the resident nodes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from oniyanma.clouds.model import NodeId

PATIENCE = 30.0  # seconds; a node that never comes must not hold a command for ever


class Arrival:
    """``nodes`` that wait for attributes. The scene's thread brings them, any other may wait."""

    def __init__(self, nodes: frozenset[NodeId]) -> None:
        self.nodes = nodes
        self._over = threading.Event()

    def over(self) -> None:
        """They are there, or will not come."""
        self._over.set()

    def wait(self, check: Callable[[], None]) -> None:
        """Wait for them, on another thread than the scene's; ``check`` may raise in between."""
        end = time.monotonic() + PATIENCE
        while not self._over.wait(0.1) and time.monotonic() < end:
            check()
