"""Where indexed clouds are kept between runs: the user's cache folder, within a size limit.

``ONIYANMA_CACHE`` names another folder. A file's place depends on its path, size, time of change
and on `INDEX_VERSION`, so a changed file is indexed anew.
"""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import time
from pathlib import Path

import platformdirs

from oniyanma.clouds.model import CloudError

INDEX_VERSION = 1
"""Grows when the index of the same file would look different."""

DEFAULT_LIMIT = 50 << 30


def cache_folder() -> Path:
    """The folder of indexed clouds; it need not exist yet."""
    named = os.environ.get("ONIYANMA_CACHE")
    return Path(named) if named else Path(platformdirs.user_cache_dir("oniyanma", appauthor=False))


def cache_key(path: str, options: str = "") -> str:
    """The name of a source's place in the cache: of a file, a folder, a pattern or an address.

    ``options`` is whatever else the index depends on. Raises OSError when a file isn't there.
    """
    parts = [str(INDEX_VERSION), options]
    if path.lower().startswith(("http://", "https://")):
        parts.append(path)
    else:
        root = Path(path).resolve()
        parts.append(str(root))
        files = [root]
        if root.is_dir():
            files = sorted(root.rglob("*"))
        elif not root.exists() and glob.has_magic(path):
            files = sorted(map(Path, glob.glob(path, recursive=True)))
        for file in files:
            stat = file.stat()
            parts.append(f"{file} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def cached_file(path: str, folder: Path, options: str = "") -> Path:
    """Where the index of ``path`` lies or will lie. Raises OSError when the source isn't there."""
    return folder / f"{cache_key(path, options)}.copc.laz"


def touch(file: Path) -> None:
    """Marks a cached file as used now."""
    try:
        os.utime(file)
    except OSError:
        pass  # a read-only cache still serves


def told_size(size: int) -> str:
    """Bytes for people, in a unit that leaves a difference to be seen."""
    for unit, least in (("GB", 10**9), ("MB", 10**6)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size / 1000:.1f} kB"


def check_space(folder: Path, needed: int, what: str) -> None:
    """Raises `CloudError` unless ``folder`` has room for ``needed`` bytes of ``what``."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    free = shutil.disk_usage(place).free
    if free < needed:
        raise CloudError(
            f"{what} needs about {told_size(needed)} in {folder}, where {told_size(free)} are "
            "free; make room or name another folder."
        )


def trim(folder: Path, limit: int = DEFAULT_LIMIT, keep: frozenset[Path] = frozenset()) -> int:
    """Removes the longest unused indexes until they take at most ``limit`` bytes.

    Files in ``keep`` stay. Leftovers of writers that died are removed when they are a day old.
    Gives the bytes removed.
    """
    removed = 0
    files: list[tuple[float, int, Path]] = []
    for file in folder.glob("*") if folder.is_dir() else ():
        try:
            stat = file.stat()
        except OSError:
            continue
        if file.name.endswith(".part"):
            if time.time() - stat.st_mtime > 86_400:
                removed += _remove(file, stat.st_size)
        elif file.name.endswith(".copc.laz"):
            files.append((stat.st_mtime, stat.st_size, file))
    total = sum(size for _, size, _ in files)
    for _, size, file in sorted(files):
        if total <= limit:
            break
        if file not in keep:
            gone = _remove(file, size)
            removed += gone
            total -= gone
    return removed


def _remove(file: Path, size: int) -> int:
    try:
        file.unlink()
    except OSError:
        return 0
    return size
