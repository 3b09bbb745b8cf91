"""Whether a project's clouds are still where and what they were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from oniyanma.clouds.model import CloudError
from oniyanma.clouds.open import open_source
from oniyanma.scene.state import CloudEntry, SceneState


@dataclass(frozen=True)
class SourceReport:
    """What opening a project found out about one of its clouds, for a banner.

    "moved": found by name beside the project, with the same header; it is used. "changed": it
    is there with another header; it is used, and edits may not fit. "missing": not found; its
    edits stay. ``message`` is one sentence.
    """

    cloud: str
    name: str
    path: str
    status: Literal["moved", "changed", "missing"]
    message: str


def header_hash(path: Path) -> str:
    """The header's hash by which a moved file is told from another. Raises CloudError."""
    source = open_source(path)
    try:
        return source.info.header_hash
    finally:
        source.close()


def check_sources(
    state: SceneState,
    project: Path | None,
    hash_of: Callable[[Path], str] = header_hash,
) -> tuple[SceneState, tuple[SourceReport, ...]]:
    """The state with the paths of moved clouds put right, and what there is to say."""
    entries, reports = [], []
    for entry in state.clouds:
        checked, report = _check(entry, project, hash_of)
        entries.append(checked)
        if report is not None:
            reports.append(report)
    if tuple(entries) != state.clouds:
        state = replace(state, clouds=tuple(entries))
    return state, tuple(reports)


def _check(
    entry: CloudEntry, project: Path | None, hash_of: Callable[[Path], str]
) -> tuple[CloudEntry, SourceReport | None]:
    if "://" in entry.path:
        return entry, None  # asked when it is opened

    def report(
        status: Literal["moved", "changed", "missing"], path: Path, message: str
    ) -> SourceReport:
        return SourceReport(entry.id, entry.name, str(path), status, message)

    path = Path(entry.path)
    if path.exists():
        if _matches(entry, path, hash_of):
            return entry, None
        return entry, report(
            "changed",
            path,
            f"{path} is not the file this project was made with (its header differs): check that "
            "the edits still fit.",
        )
    if project is not None:
        # The name may come from another system: its own separators decide.
        beside = project.parent / entry.path.replace("\\", "/").rsplit("/", 1)[-1]
        if beside.exists():
            if _matches(entry, beside, hash_of):
                moved = replace(entry, path=str(beside.resolve()))
                return moved, report(
                    "moved", beside, f"{entry.name} was found beside the project, at {beside}."
                )
            return entry, report(
                "missing",
                path,
                f"{path} is gone, and {beside} is another file (its header differs): open the "
                "right one to see its edits.",
            )
    return entry, report(
        "missing",
        path,
        f"{path} is gone: put it beside the project or open it from where it is now; its edits "
        "are kept.",
    )


def _matches(entry: CloudEntry, path: Path, hash_of: Callable[[Path], str]) -> bool:
    if not entry.header_hash or path.is_dir():
        return True
    try:
        return hash_of(path) == entry.header_hash
    except CloudError:
        return False
