"""What happens when something of ours breaks: a report on disk, a sentence, and work goes on.

The project is safe by itself: every edit is stored before it is shown.
"""

from __future__ import annotations

import logging
import os
import platform
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import platformdirs

log = logging.getLogger(__name__)


def report_folder() -> Path:
    """Where reports lie: in ``ONIYANMA_DATA``, else in the user's data folder."""
    data = os.environ.get("ONIYANMA_DATA") or platformdirs.user_data_dir("oniyanma")
    return Path(data) / "crashes"


def write_report(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> Path:
    """Writes what broke and on what; raises OSError where it cannot be written."""
    folder = report_folder()
    folder.mkdir(parents=True, exist_ok=True)
    moment = datetime.now(UTC)
    path = folder / f"crash-{moment:%Y%m%d-%H%M%S-%f}.txt"
    lines = [
        "oniyanma crash report",
        f"time     {moment.isoformat()}",
        f"python   {sys.version.split()[0]}",
        f"system   {platform.platform()}",
        "",
        *traceback.format_exception(kind, error, trace),
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


class CrashHandler:
    """Takes the place of ``sys.excepthook`` while the window lives."""

    def __init__(self, tell: Callable[[str, str], None]) -> None:
        self._tell = tell
        self._before = sys.excepthook

    def install(self) -> None:
        self._before = sys.excepthook
        sys.excepthook = self.handle

    def remove(self) -> None:
        sys.excepthook = self._before

    def handle(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self._before(kind, error, trace)
            return
        log.error("unexpected error", exc_info=(kind, error, trace))
        try:
            path = str(write_report(kind, error, trace))
        except OSError as problem:
            path = str(problem)
        self._tell(f"{kind.__name__}: {error}", path)
