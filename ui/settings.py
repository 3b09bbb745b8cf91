"""What the window remembers between runs: theme, keys, layout, recent files. One JSON file."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import platformdirs

log = logging.getLogger(__name__)
RECENT_LIMIT = 12


def config_folder() -> Path:
    """Where settings lie: ``ONIYANMA_CONFIG``, else the user's configuration folder."""
    return Path(os.environ.get("ONIYANMA_CONFIG") or platformdirs.user_config_dir("oniyanma"))


class Settings:
    """A small dictionary on disk, written whole and atomically on every change.

    A damaged file is set aside under ``.broken`` and the defaults hold; unknown keys are kept.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or config_folder() / "window.json"
        self._values: dict[str, Any] = {}
        try:
            loaded = json.loads(self.path.read_text(encoding="utf-8"))
            if isinstance(loaded, dict):
                self._values = loaded
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            log.info("settings not readable, starting afresh: %s", error)
            try:
                self.path.replace(self.path.with_suffix(".broken"))
            except OSError:
                pass

    def get(self, key: str, default: Any = None) -> Any:
        return self._values.get(key, default)

    def set(self, key: str, value: Any) -> None:
        if self._values.get(key) == value:
            return
        self._values[key] = value
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part = self.path.with_suffix(".part")
            part.write_text(json.dumps(self._values, indent=1), encoding="utf-8")
            part.replace(self.path)
        except OSError as error:  # a read-only home must not stop the work
            log.info("settings not written: %s", error)

    def recent_files(self) -> list[str]:
        """Paths and addresses opened last, newest first."""
        return [str(item) for item in self.get("recent", []) if isinstance(item, str)]

    def add_recent(self, path: str) -> None:
        kept = [item for item in self.recent_files() if item != path]
        self.set("recent", [path, *kept][:RECENT_LIMIT])

    def used_last(self) -> list[str]:
        """Palette rows used last, newest first."""
        return [str(item) for item in self.get("palette", []) if isinstance(item, str)]

    def note_use(self, row: str) -> None:
        kept = [item for item in self.used_last() if item != row]
        self.set("palette", [row, *kept][:40])
