"""Which key does what: the defaults of the table, with a person's changes on top."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtGui import QKeySequence

from .actions import ENTRIES
from .entry import Entry


def normal(key: str) -> str:
    """A key as Qt writes it portably; "" where it is none Qt knows."""
    sequence = QKeySequence.fromString(key, QKeySequence.SequenceFormat.PortableText)
    text = sequence.toString(QKeySequence.SequenceFormat.PortableText)
    return text if sequence.count() and "Unknown" not in text else ""


def shown(key: str) -> str:
    """A key as this system writes it (⌘K on a Mac, Ctrl+K elsewhere)."""
    sequence = QKeySequence.fromString(key, QKeySequence.SequenceFormat.PortableText)
    return sequence.toString(QKeySequence.SequenceFormat.NativeText) or key


@dataclass(frozen=True)
class Conflict:
    """One key that two entries or more want. Nothing runs for it until it is settled."""

    key: str
    entries: tuple[str, ...]


class Keymap:
    """Forward (entry → keys) and reverse (key → entry).

    ``changes`` maps an entry's id to its keys, or to None where a default was taken away.
    """

    def __init__(
        self,
        entries: Iterable[Entry] = ENTRIES,
        changes: Mapping[str, Sequence[str] | None] | None = None,
    ) -> None:
        self._defaults = {entry.id: tuple(normal(key) for key in entry.keys) for entry in entries}
        self._changes: dict[str, tuple[str, ...]] = {}
        for entry, keys in (changes or {}).items():
            if entry in self._defaults:
                self._changes[entry] = tuple(filter(None, (normal(key) for key in keys or ())))

    def keys(self, entry: str) -> tuple[str, ...]:
        return self._changes.get(entry, self._defaults.get(entry, ()))

    def entry_of(self, key: str) -> str | None:
        """The one entry a key runs; None for no entry, or for several."""
        found = self._reverse().get(normal(key), [])
        return found[0] if len(found) == 1 else None

    def conflicts(self) -> list[Conflict]:
        return [
            Conflict(key, tuple(entries))
            for key, entries in sorted(self._reverse().items())
            if len(entries) > 1
        ]

    def rivals(self, entry: str, key: str) -> list[str]:
        """Other entries that hold a key already."""
        return [other for other in self._reverse().get(normal(key), []) if other != entry]

    def bind(self, entry: str, keys: Sequence[str]) -> None:
        """Gives an entry these keys and no others; none at all takes them away."""
        if entry not in self._defaults:
            raise ValueError(f"There is no entry {entry!r} to bind a key to.")
        wanted = []
        for key in keys:
            if not normal(key):
                raise ValueError(f"{key!r} is no key; write it like Ctrl+Shift+K.")
            wanted.append(normal(key))
        self._changes[entry] = tuple(wanted)
        if self._changes[entry] == self._defaults[entry]:
            del self._changes[entry]

    def reset(self, entry: str) -> None:
        self._changes.pop(entry, None)

    def changes(self) -> dict[str, list[str] | None]:
        """What differs from the defaults, for the settings file."""
        return {entry: list(keys) or None for entry, keys in sorted(self._changes.items())}

    def _reverse(self) -> dict[str, list[str]]:
        table: dict[str, list[str]] = defaultdict(list)
        for entry in self._defaults:
            for key in self.keys(entry):
                table[key].append(entry)
        return table
