"""Reports for people and other programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from oniyanma.clouds.atomic import AtomicFile
from oniyanma.commands.arguments import FILES, OVERWRITE, arguments, choice, path
from oniyanma.registry import Args, Call, Command, InvalidArguments, Outcome, Refused, Work
from oniyanma.scene import tables
from oniyanma.scene.report_words import Facts, Pictures
from oniyanma.scene.sample import open_clouds, scene_frame, seen

FORMATS: Final[Mapping[str, tuple[str, ...]]] = {
    "measurements": (".csv", ".geojson", ".json"),
    "findings": (".csv", ".geojson", ".json"),
    "log": (".jsonl", ".csv"),
    "report": (".pdf",),
}
PICTURE: Final = (1200, 675)  # pixels: 175 to the inch in print, where labels can still be read


def _export(call: Call, args: Args) -> Outcome | Work[bytes]:
    path, what = Path(args["path"]).expanduser(), args["what"]
    kind = path.suffix.lower()
    if kind not in FORMATS[what]:
        allowed = ", ".join(FORMATS[what])
        raise InvalidArguments(
            f"exportReport: {what} can be written as {allowed}, and the path ends in {kind!r}.",
            problems=[{"path": "$.path", "given": args["path"], "allowed": f"*{allowed}"}],
        )
    _check_target(call, path, bool(args.get("overwrite")))
    head, count = call.scene.log.head()
    answer = {"path": str(path.absolute()), "what": what, "head": head, "count": count}
    if what == "report":
        return _report(call, path, answer)
    text, rows = _text(call, what, kind)
    unmake = _write(path, text.encode("utf-8"))
    return Outcome(answer | {"rows": rows}, discard=unmake)


def _check_target(call: Call, path: Path, overwrite: bool) -> None:
    """Refused where nothing can or may be written: never over a cloud or the project."""
    if path.is_dir():
        raise Refused(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise Refused(f"The folder {path.parent} does not exist; make it or choose another.")
    if not path.exists():
        return
    own = [entry.path for entry in call.state.clouds] + [call.state.project.path or ""]
    if any(one and os.path.exists(one) and os.path.samefile(one, path) for one in own):
        raise Refused(f"{path} is open here and never written over; choose another name.")
    if not overwrite:
        raise Refused(f"{path} exists already; choose another name or overwrite it.")


def _text(call: Call, what: str, kind: str) -> tuple[str, int]:
    state, frame = call.state, scene_frame(call.scene.view)
    if what == "log":
        lines, (head, count) = call.scene.log.entries(), call.scene.log.head()
        write = tables.log_csv if kind == ".csv" else tables.log_jsonl
        return write(lines, head, count), len(lines)
    if what == "measurements":
        make = tables.measurements_csv if kind == ".csv" else tables.measurements_geojson
        return make(state, frame), len(state.measurements)
    make = tables.findings_csv if kind == ".csv" else tables.findings_geojson
    return make(state, frame), len(state.findings)


def _report(call: Call, path: Path, answer: Mapping[str, Any]) -> Work[bytes]:
    """The pictures are taken here, on the scene's thread; the pages are set by a worker."""
    from oniyanma.scene.report import build  # reportlab: only who prints waits for it

    view, state = call.scene.view, call.state
    picture = b""
    if call.scene.renderer is not None:
        try:
            picture = call.scene.renderer.capture(view, *PICTURE, annotations=True).png
        except RuntimeError as error:  # what OpenGL can't do here, as a sentence
            raise Refused(str(error)) from error
    facts = Facts(
        state=state,
        lines=tuple(call.scene.log.entries()),
        head=str(answer["head"]),
        count=int(answer["count"]),
        clouds={entry.id: info for entry, info in open_clouds(view)},
        frame=scene_frame(view),
        pictures=Pictures(
            picture,
            {name: one.thumbnail for name, one in state.bookmarks.items()},
            sum(one.count for one in seen(view)),
        ),
        made=call.now,
        by=call.actor,
        version=version("oniyanma"),
    )

    def finish(later: Call, pdf: bytes) -> Outcome:
        unmake = _write(path, pdf)
        return Outcome({**answer, "bytes": len(pdf)}, discard=unmake)

    return Work(lambda job: build(facts), finish)


def _write(path: Path, data: bytes) -> Callable[[], None] | None:
    """Write a file whole or not at all; gives what takes a new one back."""
    new = not path.exists()
    with AtomicFile(path) as out:
        out.file.write(data)
        out.commit()
    return partial(path.unlink, missing_ok=True) if new else None


COMMANDS: Final = (
    Command(
        name="exportReport",
        title="Export report…",
        group=FILES,
        description="Writes measurements or findings as CSV or GeoJSON (by the extension), the "
        "log as JSON Lines or CSV, or the report as PDF.",
        input_schema=arguments(
            {
                "path": path("The file to write.", "write"),
                "what": choice("What to write.", ("measurements", "findings", "log", "report")),
                "overwrite": OVERWRITE,
            },
            "path",
            "what",
        ),
        example={"path": "delivery/findings.csv", "what": "findings"},
        run=_export,
    ),
)
