"""Writing the edited points at full resolution."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from oniyanma.clouds.export import ExportResult
from oniyanma.commands.arguments import CLOUD, FILES, OVERWRITE, arguments, choice, path
from oniyanma.registry import Call, Command, JobContext, Outcome, Work
from oniyanma.registry.errors import NotFound, Refused
from oniyanma.scene.export_edits import Export
from oniyanma.scene.state import CloudEntry


def _export_cloud(call: Call, args: Mapping[str, Any]) -> Work[ExportResult]:
    """Streams the sources on a worker thread, with the edits as they stand now."""
    scene, state = call.scene, call.state
    entries = _chosen(state.clouds, args.get("cloud"))
    if args.get("include") == "selection" and state.selection.rule is None:
        raise Refused("There is no selection to export: select something first.")
    clouds = []
    for entry in entries:
        cloud = scene.cloud(entry.id)
        if cloud is None:
            reason = scene.missing.get(entry.id, "it is not open")
            raise Refused(f"{entry.name} can't be exported: {reason}")
        clouds.append(cloud)
    target = Path(args["path"]).expanduser()
    _spare(target, state.clouds, state.project.path)
    what = Export(
        state,
        {entry.id: cloud.source for entry, cloud in zip(entries, clouds, strict=True)},
        args.get("include", "all"),
        scene.view.scene_bounds(),
        frozenset(
            entry.id
            for entry, cloud in zip(entries, clouds, strict=True)
            if cloud.info.color_depth == 8
        ),
    )
    overwrite = bool(args.get("overwrite", False))

    def run(job: JobContext) -> ExportResult:
        return what.run(
            target,
            format=args.get("format"),
            overwrite=overwrite,
            progress=job.progress,
            cancelled=job.cancelled,
        )

    def finish(later: Call, result: ExportResult) -> Outcome:
        answer = {
            "path": str(target.absolute()),
            "points": result.points,
            "clouds": [entry.id for entry in entries],
            "include": args.get("include", "all"),
            "logHead": later.scene.log.head()[0],
            "warnings": [{"code": w.code, "message": w.message} for w in result.warnings],
        }
        return Outcome(answer, affected={"points": result.points})

    def discard(result: ExportResult) -> None:
        if not overwrite:
            target.unlink(missing_ok=True)

    return Work(run, finish, discard)


def _chosen(entries: tuple[CloudEntry, ...], cloud: str | None) -> list[CloudEntry]:
    """The cloud asked for, or all visible ones."""
    chosen = [entry for entry in entries if entry.id == cloud or (cloud is None and entry.visible)]
    if not chosen and cloud is not None:
        raise NotFound(f"There is no cloud {cloud}: listClouds names those that are open.")
    if not chosen:
        raise Refused("No cloud is visible: show one, or say which to export.")
    return chosen


def _spare(target: Path, entries: tuple[CloudEntry, ...], project: str | None) -> None:
    """Refuse to write over any file that the scene was made from."""
    if not target.exists():
        return
    for own in (*(entry.path for entry in entries), *([project] if project else [])):
        if Path(own).exists() and Path(own).samefile(target):
            raise Refused(
                f"{target} belongs to this scene and is never written: name another file."
            )


COMMANDS: Final = (
    Command(
        name="exportCloud",
        title="Export points…",
        group=FILES,
        description="Writes the full-resolution points of the source with the edits applied. A "
        "long command with progress; the file appears whole or not at all, never over a source.",
        input_schema=arguments(
            {
                "path": path("The file to write.", "write"),
                "format": choice(
                    "File format; absent: by the file's extension.",
                    ("las", "laz", "copc", "ply", "csv"),
                ),
                "include": choice(
                    "all: every point that is not deleted, hidden ones too; visible: what the "
                    "clip and the visible classes show; selection: the selected points.",
                    ("all", "visible", "selection"),
                    default="all",
                ),
                "cloud": CLOUD,
                "overwrite": OVERWRITE,
            },
            "path",
        ),
        example={"path": "delivery/site.laz", "include": "all"},
        conditions=("has_cloud",),
        run=_export_cloud,
    ),
)
