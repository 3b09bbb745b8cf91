"""Open any point cloud: which format a file is, and the source that reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oniyanma.clouds.model import CloudError, Source
from oniyanma.clouds.sources.las import LasSource

Opener = Callable[[Path, Mapping[str, Any]], Source]


def _open_las(path: Path, options: Mapping[str, Any]) -> Source:
    return LasSource(str(path), path.stat().st_size, lambda: path.open("rb"), path)


OPENERS: dict[str, Opener] = {".las": _open_las, ".laz": _open_las}


def open_source(
    path_or_url: str | Path, *, options: Mapping[str, Any] | None = None
) -> Source:
    """Open a point cloud of any known format.

    Args:
        path_or_url: A file of any known format.
        options: What the format can't say of itself.

    Raises:
        CloudError: it can't be opened; one sentence says what is wrong and what to do.
    """
    path = Path(path_or_url)
    given = options or {}
    opener = OPENERS.get(path.suffix.lower())
    if opener is None:
        raise CloudError(f"{path.name} has no known ending; known are {', '.join(OPENERS)}.")
    try:
        return opener(path, given)
    except OSError as error:
        raise CloudError(
            f"{path.name} can't be opened ({error.strerror or error}): check the path and its "
            "permissions."
        ) from error
