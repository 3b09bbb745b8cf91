"""The project file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from oniyanma.commands.arguments import FILES, OVERWRITE, arguments, path
from oniyanma.registry import Call, Command, JobContext, Outcome, Work
from oniyanma.registry.errors import NotFound, Refused
from oniyanma.scene.project import Opened, open_project


def _open_project(call: Call, args: Mapping[str, Any]) -> Work[Opened] | Outcome:
    """Reads it on a worker thread; it takes the scene's place with the commit."""
    target = Path(args["path"]).expanduser().absolute()
    if not target.exists():
        raise NotFound(f"There is no project {target}: check the path.")
    current = call.state.project.path
    if current is not None and not call.state.project.read_only and _same(target, Path(current)):
        return Outcome({"path": current, "note": "It is the project that is open."})

    def run(job: JobContext) -> Opened:
        job.progress(0.0, f"opening {target.name}")
        return open_project(target)

    def finish(later: Call, opened: Opened) -> Outcome:
        # The window is as large as it was, whatever window the project was last seen in.
        state = replace(opened.state, viewport=later.state.viewport)
        later.scene.log.stage(opened)
        answer = {
            "path": state.project.path,
            "readOnly": state.project.read_only,
            "reason": state.project.reason,
            "clouds": [{"id": c.id, "name": c.name, "path": c.path} for c in state.clouds],
            "edits": sum(len(event.edits) for event in state.events),
            "measurements": len(state.measurements),
            "findings": len(state.findings),
            "batches": len(state.batches),
            "bookmarks": len(state.bookmarks),
            "sources": [
                {"cloud": r.cloud, "path": r.path, "status": r.status, "message": r.message}
                for r in opened.reports
            ],
        }
        return Outcome(answer, state)

    return Work(run, finish, discard=Opened.close)


def _save_project(call: Call, args: Mapping[str, Any]) -> Outcome:
    """Everything is stored already: saving folds it together, or moves to another file."""
    store, project = call.scene.log, call.state.project
    wanted = args.get("path")
    target = None if wanted is None else Path(wanted).expanduser().absolute()
    here = None if project.path is None or project.read_only else Path(project.path)
    if target is None or (here is not None and _same(target, here)):
        if project.read_only:
            raise Refused(project.reason)
        if here is None:
            raise Refused("This work is in no project file yet: say where to save it.")
        store.checkpoint()
        return Outcome({"path": str(here)})
    if not target.parent.is_dir():
        raise Refused(f"The folder {target.parent} does not exist: make it or choose another.")
    saved = store.save_as(target, call.state, overwrite=bool(args.get("overwrite", False)))
    return Outcome({"path": saved.path}, replace(call.state, project=saved))


def _same(a: Path, b: Path) -> bool:
    return a.exists() and b.exists() and a.samefile(b)


COMMANDS: Final = (
    Command(
        name="openProject",
        title="Open project…",
        group=FILES,
        description="Opens a project file with its clouds, edits, measurements, findings, "
        "batches, bookmarks and log.",
        input_schema=arguments({"path": path("The project file.", "read")}, "path"),
        example={"path": "site.oniyanma"},
        run=_open_project,
    ),
    Command(
        name="saveProject",
        title="Save project",
        group=FILES,
        description="Saves the project, or saves it as another file and goes on there.",
        input_schema=arguments(
            {
                "path": path("The file to save as; absent: where the project is.", "write"),
                "overwrite": OVERWRITE,
            }
        ),
        example={"path": "site.oniyanma"},
        run=_save_project,
    ),
)
