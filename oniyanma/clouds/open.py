"""Open any point cloud: which format a file is, and the source that reads it."""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oniyanma.clouds.model import CloudError, Source
from oniyanma.clouds.sources.e57 import open_e57
from oniyanma.clouds.sources.ept import EptSource
from oniyanma.clouds.sources.http import HttpFile, RangeReader, is_url, url_name
from oniyanma.clouds.sources.las import LasSource
from oniyanma.clouds.sources.pcd import open_pcd
from oniyanma.clouds.sources.ply import open_ply
from oniyanma.clouds.sources.ptx import open_ptx
from oniyanma.clouds.sources.text import open_text
from oniyanma.clouds.sources.tiles import Tile, TileSource

Opener = Callable[[Path, Mapping[str, Any]], Source]


def _open_las(path: Path, options: Mapping[str, Any]) -> Source:
    return LasSource(str(path), path.stat().st_size, lambda: path.open("rb"), path)


OPENERS: dict[str, Opener] = {
    ".las": _open_las,
    ".laz": _open_las,
    ".e57": open_e57,
    ".ply": open_ply,
    ".pcd": open_pcd,
    ".ptx": open_ptx,
    ".pts": open_text,
    ".xyz": open_text,
    ".txt": open_text,
    ".csv": open_text,
    ".asc": open_text,
}
# First bytes that tell a format whatever the file is called.
_MAGIC: tuple[tuple[bytes, Opener], ...] = (
    (b"LASF", _open_las),
    (b"ASTM-E57", open_e57),
    (b"ply\n", open_ply),
    (b"ply\r", open_ply),
    (b"# .PCD", open_pcd),
)
KNOWN = "LAS, LAZ, COPC, E57, PLY, PCD, PTX, PTS, XYZ, TXT, CSV, ept.json"


def open_source(path_or_url: str | Path, *, options: Mapping[str, Any] | None = None) -> Source:
    """Open a point cloud of any known format.

    Args:
        path_or_url: A file, an EPT set (its folder or ept.json), a folder or glob of tiles, or
            an http(s) address of a LAS, LAZ or COPC file or an ept.json.
        options: For text, ``separator`` and ``columns`` (names), where they can't be found.

    Raises:
        CloudError: it can't be opened; one sentence says what is wrong, where and what to do.
    """
    given = options or {}
    text = str(path_or_url)
    if is_url(text):
        return _open_url(text)
    path = Path(path_or_url)
    try:
        if not path.exists() and any(mark in text for mark in "*?["):
            return _open_glob(text, given)
        if path.is_dir():
            return _open_folder(path, given)
        if path.name == "ept.json":
            return EptSource(text)
        return _opener(path)(path, given)
    except OSError as error:
        raise CloudError(
            f"{path.name or text} can't be opened ({error.strerror or error}): check the path and "
            "its permissions."
        ) from error


def _opener(path: Path) -> Opener:
    """By the file's first bytes, else by the ending of its name."""
    with path.open("rb") as stream:
        head = stream.read(16)
    if not head:
        raise CloudError(f"{path.name} is empty (0 bytes): choose a file with points.")
    for magic, opener in _MAGIC:
        if head.startswith(magic):
            return opener
    known = OPENERS.get(path.suffix.lower())
    if known is None:
        raise CloudError(f"{path.name} is no point cloud of a known format: {KNOWN} can be opened.")
    return known


def _open_url(url: str) -> Source:
    if url.split("?", 1)[0].rstrip("/").endswith("ept.json"):
        return EptSource(url)
    reader = RangeReader(url)
    return LasSource(url, reader.size, lambda: HttpFile(reader))  # type: ignore[arg-type,return-value]


def _open_folder(path: Path, options: Mapping[str, Any]) -> Source:
    if (path / "ept.json").is_file():
        return EptSource(str(path))
    found = sorted(p for p in path.iterdir() if p.suffix.lower() in OPENERS and p.is_file())
    if not found:
        raise CloudError(f"{path.name} is a folder without point clouds: choose another.")
    return _open_tiles(str(path), found, options)


def _open_glob(pattern: str, options: Mapping[str, Any]) -> Source:
    found = sorted(Path(p) for p in glob.glob(pattern, recursive=True))
    found = [p for p in found if p.is_file()]
    if not found:
        raise CloudError(f"{pattern} matches no file: check the pattern.")
    return _open_tiles(pattern, found, options)


def _open_tiles(path: str, found: list[Path], options: Mapping[str, Any]) -> Source:
    if len(found) == 1:
        return open_source(found[0], options=options)
    tiles = [Tile(p.name, lambda p=p: open_source(p, options=options)) for p in found]  # type: ignore[misc]
    return TileSource(path, "tiles", tiles)


def source_name(path_or_url: str | Path) -> str:
    """What to call a cloud in messages: the last part of its path or address."""
    text = str(path_or_url)
    return url_name(text) if is_url(text) else Path(text).name or text
