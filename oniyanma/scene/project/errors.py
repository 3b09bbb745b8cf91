"""What can go wrong with a project file, each as one sentence for the person."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from oniyanma.registry.errors import Refused


class ProjectError(Refused):
    """A project that can't be opened, read or written: what, where, what to do.

    The door answers it as ``refused``, also when a log line or an edit could not be stored.
    """


class NewerProject(ProjectError):
    """Written by a newer version; it is left alone."""


_SENTENCES = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and try again",
    sqlite3.SQLITE_READONLY: "it can't be written; save the project to another place",
    sqlite3.SQLITE_CANTOPEN: "it can't be opened; check the folder and its permissions",
    sqlite3.SQLITE_NOTADB: "it is not an oniyanma project",
    sqlite3.SQLITE_CORRUPT: "it is damaged; open a copy from before",
    sqlite3.SQLITE_BUSY: "another program is writing to it; close that one and try again",
    sqlite3.SQLITE_IOERR: "the disk could not be read or written; check the drive and try again",
}


def sentence(error: Exception, path: Path | str) -> ProjectError:
    """The ProjectError that says what an SQLite or OS error means for the file at ``path``."""
    if isinstance(error, ProjectError):
        return error
    if isinstance(error, OSError):
        reason = f"{error.strerror or error}; check the folder, its permissions and the space left"
    else:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        reason = _SENTENCES.get(code, str(error))
    return ProjectError(f"Project {path}: {reason}.")
