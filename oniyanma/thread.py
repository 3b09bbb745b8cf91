"""A thread of the session's own for the scene, where there is no window."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Final

logger = logging.getLogger(__name__)

IDLE: Final = 0.05  # seconds between two looks at what the workers brought


class SceneThread:
    """Runs what is posted, in order, and keeps the scene going in between (port `Executor`).

    ``pump``: one turn of the scene's loop; True when there is more to do at once.
    """

    def __init__(self) -> None:
        self.pump: Callable[[], bool] | None = None
        self._gate = threading.Lock()
        self._closed = False
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="oniyanma-scene", daemon=True)
        self._thread.start()

    def post(self, function: Callable[[], None]) -> None:
        """Raises RuntimeError once it is closed: nobody would run it any more."""
        with self._gate:
            if self._closed:
                raise RuntimeError("the session is closed; start another one")
            self._tasks.put(function)

    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    def close(self) -> None:
        """Run what was posted before, then end. Not on the thread itself."""
        with self._gate:
            self._closed = True
            self._tasks.put(None)
        self._thread.join()

    def _run(self) -> None:
        more = False
        while True:
            task = self._next(more)
            if task is None:
                return
            try:
                task()
                more = self.pump() if self.pump is not None else False
            except BaseException:  # a panicking library must not end the thread
                logger.exception("fault on the scene's thread")
                more = False

    def _next(self, more: bool) -> Callable[[], None] | None:
        if self.pump is None:
            return self._tasks.get()
        try:
            return self._tasks.get(timeout=0 if more else IDLE)
        except queue.Empty:
            return _nothing


def _nothing() -> None:
    return None
