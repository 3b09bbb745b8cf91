"""What a command may answer instead of doing its work.

::

    CommandError(code, message, **data)
    ├── UnknownCommand     unknown_command    no such name (data: suggestions)
    ├── SurfaceDenied      surface_denied     not from this entry point (data: available)
    ├── HumanOnly          human_only         only a person may
    ├── InvalidArguments   invalid_arguments  the caller's mistake (data: problems)
    ├── Unavailable        unavailable        a condition does not hold, with the reason
    ├── NotFound           not_found          no such cloud, finding, file …
    ├── Refused            refused            the thing itself can't be done
    ├── Cancelled          cancelled          somebody stopped it
    └── NotReady           not_ready          the capability does not exist yet

A message is one sentence: what was wrong, where, what to do. Everything else that is raised is a
fault of ours and is answered as ``internal`` by the door.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

CODES: Final = frozenset(
    {
        "unknown_command",
        "surface_denied",
        "human_only",
        "invalid_arguments",
        "unavailable",
        "not_found",
        "refused",
        "cancelled",
        "not_ready",
        "internal",
    }
)


class CommandError(Exception):
    """An answer of the door that is not a success: a stable code, a sentence, more data."""

    def __init__(self, code: str, message: str, **data: Any) -> None:
        if code not in CODES:
            raise ValueError(f"unknown error code {code!r}; use one of {sorted(CODES)}")
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def as_json(self) -> dict[str, Any]:
        """The ``error`` object of an answer."""
        return {"code": self.code, "message": self.message, **self.data}


class UnknownCommand(CommandError):
    def __init__(self, message: str, *, suggestions: Sequence[str] = (), **data: Any) -> None:
        super().__init__("unknown_command", message, suggestions=list(suggestions), **data)


class SurfaceDenied(CommandError):
    def __init__(self, message: str, *, available: Sequence[str] = (), **data: Any) -> None:
        super().__init__("surface_denied", message, available=list(available), **data)


class HumanOnly(CommandError):
    def __init__(self, message: str, **data: Any) -> None:
        super().__init__("human_only", message, **data)


class InvalidArguments(CommandError):
    """``problems``: each with ``path`` (JSON path), ``given`` and ``allowed``."""

    def __init__(
        self, message: str, *, problems: Sequence[Mapping[str, Any]] = (), **data: Any
    ) -> None:
        super().__init__("invalid_arguments", message, problems=list(problems), **data)


class Unavailable(CommandError):
    def __init__(self, message: str, **data: Any) -> None:
        super().__init__("unavailable", message, **data)


class NotFound(CommandError):
    def __init__(self, message: str, **data: Any) -> None:
        super().__init__("not_found", message, **data)


class Refused(CommandError):
    def __init__(self, message: str, **data: Any) -> None:
        super().__init__("refused", message, **data)


class Cancelled(CommandError):
    def __init__(self, message: str = "Cancelled before it was done; nothing changed.") -> None:
        super().__init__("cancelled", message)


class NotReady(CommandError):
    def __init__(self, message: str, **data: Any) -> None:
        super().__init__("not_ready", message, **data)


class DeclarationError(ValueError):
    """A command's declaration is wrong: raised when it is registered, never later."""
