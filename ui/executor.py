"""The Qt main thread as the scene's thread."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QThread, Signal


class QtExecutor(QObject):
    """Runs what other threads post on the thread this was made in (port `Executor`)."""

    _posted = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._posted.connect(self._run)

    def post(self, function: Callable[[], None]) -> None:
        """Callable from any thread; the function runs on the main thread, soon."""
        self._posted.emit(function)

    def is_current(self) -> bool:
        return QThread.currentThread() is self.thread()

    def _run(self, function: Callable[[], None]) -> None:
        function()
