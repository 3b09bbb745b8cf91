"""Machines' reach: which files and addresses a machine may read and write.

A person allows folders; the folders of the open clouds and of the project can be read as well.
For writing there are none but those a person named.
"""

from __future__ import annotations

import glob
import itertools
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from oniyanma.scene.state import SceneState

MAX_MATCHES: Final = 10_000
_WILD: Final = frozenset("*?[")


class MachineReach:
    """The door's port for paths; a person in the window can allow more at any time."""

    def __init__(self, read: Iterable[str | Path] = (), write: Iterable[str | Path] = ()) -> None:
        self._read = {place(one) for one in read}
        self._write = {place(one) for one in write}

    def allow(self, path: str | Path, access: str) -> None:
        """Let machines "read", or read and "write", in a folder or below a URL."""
        (self._write if access == "write" else self._read).add(place(path))

    @property
    def readable(self) -> tuple[str, ...]:
        return tuple(sorted(self._read | self._write))

    @property
    def writable(self) -> tuple[str, ...]:
        return tuple(sorted(self._write))

    def refusal(self, path: str, access: str, state: SceneState) -> str | None:
        """Why a machine may not reach ``path``, as one sentence; None: it may.

        Links are followed: where a path leads to decides.
        """
        if access == "write":
            allowed, how = self._write, "start it with --allow-write for this folder"
        else:
            allowed = self._read | self._write | set(_open_places(state))
            how = "open it, or allow its folder"
        if is_url(path):
            inside = access == "read" and _url_inside(path, allowed)
        else:
            inside = _path_inside(path, allowed)
        if inside:
            return None
        return f"machines may not {access} {path}: ask the person who started the program to {how}."


def is_url(path: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path) is not None


def place(path: str | Path) -> str:
    """A folder in its real, absolute form (of a file: itself), or a URL as it is."""
    text = os.fspath(path)
    return text if is_url(text) else os.path.realpath(os.path.expanduser(text))


def _open_places(state: SceneState) -> Iterator[str]:
    """The folders of the open clouds and of the project."""
    paths = [cloud.path for cloud in state.clouds]
    if state.project.path is not None:
        paths.append(state.project.path)
    for path in paths:
        if is_url(path):
            yield path.rsplit("/", 1)[0]
        elif os.path.isdir(path):
            yield os.path.realpath(path)
        else:
            yield os.path.dirname(os.path.realpath(_fixed(path)))


def _fixed(path: str) -> str:
    """The part of a glob before its first wildcard component, with a name after it."""
    parts = Path(path).parts
    fixed = list(itertools.takewhile(lambda part: not _WILD & set(part), parts))
    return path if len(fixed) == len(parts) else os.path.join(*fixed, "_") if fixed else "_"


def _path_inside(path: str, allowed: set[str]) -> bool:
    if not path or "\0" in path or path.startswith("~"):
        return False
    folders = [folder for folder in allowed if not is_url(folder)]
    if not _below(os.path.realpath(path), folders):
        return False
    if not _WILD & set(path):
        return True
    if not _below(os.path.dirname(os.path.realpath(_fixed(path))), folders):
        return False
    matches = itertools.islice(glob.iglob(path, recursive=True), MAX_MATCHES)
    return all(_below(os.path.realpath(match), folders) for match in matches)


def _below(real: str, folders: Iterable[str]) -> bool:
    return any(real == f or real.startswith(f.rstrip(os.sep) + os.sep) for f in folders)


def _url_inside(url: str, allowed: set[str]) -> bool:
    asked = urlsplit(url)
    way = posixpath.normpath(unquote(asked.path))
    for one in allowed:
        if not is_url(one):
            continue
        base = urlsplit(one)
        root = posixpath.normpath(unquote(base.path) or "/").rstrip("/")
        same = (base.scheme, base.netloc) == (asked.scheme, asked.netloc)
        if same and (way == root or way.startswith(root + "/")):
            return True
    return False
