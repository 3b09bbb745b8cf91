"""What the notice line says of clouds: a file that is missing, what was odd about one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .cards import Notice
from .text import tr


class CloudLines:
    """Follows the scene's clouds with one quiet line for each thing there is to say."""

    def __init__(self, bridge: Any, notice: Notice, locate: Callable[[str], None]) -> None:
        self.bridge = bridge
        self.notice = notice
        self.locate = locate
        self._missing: set[str] = set()  # clouds a line was shown about

    def told(self, level: str, sentence: str) -> None:
        """What the scene says of itself; a missing file has a line with a way out of it."""
        if level != "missing":
            self.notice.add(sentence)

    def follow(self) -> None:
        """One line for each cloud whose file can't be opened, until it is found."""
        missing = self.bridge.missing()
        for id in self._missing - set(missing):
            self.notice.drop(f"missing.{id}")
        for id, (entry, reason) in missing.items():
            if id not in self._missing:
                self.notice.add(
                    _sentence(entry, reason),
                    details=f"{entry.path}\n{reason}",
                    acts=[(tr("Locate…"), partial(self.locate, id))],
                    key=f"missing.{id}",
                )
        self._missing = set(missing)

    def opened(self, before: Any, after: Any) -> None:
        """What was odd about the files of new clouds."""
        known = {cloud.id for cloud in before.clouds}
        for cloud in after.clouds:
            info = self.bridge.info(cloud.id) if cloud.id not in known else None
            for warning in info.warnings if info is not None else ():
                self.notice.add(f"{cloud.name}: {warning.message}", details=warning.code)


def _sentence(entry: Any, reason: str) -> str:
    path = Path(entry.path)
    if "://" not in entry.path and not path.exists():
        return tr(
            "{name} is missing: it is no longer in {folder}",
            name=entry.name,
            folder=str(path.parent),
        )
    return tr("{name} can't be shown: {reason}", name=entry.name, reason=reason)
