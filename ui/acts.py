"""What entries do, and what is said of an answer. Every change is a command of the bridge."""

from __future__ import annotations

import base64
import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QGuiApplication, QImage

from oniyanma.scene.state import CloudEntry

from . import dialogs
from .entry import Entry
from .numbers import integer, number, significant
from .palette_rows import Row
from .text import sentence, tr
from .tools import PickTool
from .values import class_name

if TYPE_CHECKING:
    from .window import Window

PROJECT = ".oniyanma"
SHOWN_IN = {"addMeasurement": "measures", "addFinding": "findings", "saveBookmark": "views"}
EDITS = ("hideSelection", "deleteSelection", "reclassifySelection", "colorSelection")


class Acts:
    """The window's verbs. ``run`` is what each QAction calls."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._known: set[str] = set()
        self._to_open: deque[str] = deque()
        self._opening = False

    @property
    def bridge(self) -> Any:
        return self.window.bridge

    # --- entries -----------------------------------------------------------------------

    def run(self, entry: Entry) -> None:
        """Runs an entry: a window's act, a command, or a command after asking."""
        if entry.act:
            getattr(self, entry.act)()
        elif entry.ask == "tool":
            self.window.start_tool(entry.tool, entry.args, entry.id)
        elif entry.ask == "form":
            self.window.palette_.ask(entry.command, entry.args, tr(entry.title))
        elif entry.ask == "file":
            self._with_file(entry)
        elif entry.ask == "confirm":
            self.clear_edits()
        elif entry.off and self.window.is_on(entry):
            self.bridge.run(entry.command, entry.off)
        else:
            self.bridge.run(entry.command, entry.args)

    def run_row(self, row: Row) -> None:
        """What the palette hands over: window acts, tools, files, the confirmation."""
        if row.act == "ask_console":
            self.window.console.ask(str(row.args["question"]))
        elif row.act == "show_panel":
            self.window.docking.reveal(str(row.args["panel"]))
        elif row.entry is not None:
            self.run(row.entry)

    def _with_file(self, entry: Entry) -> None:
        command = entry.command
        state = self.bridge.state
        ask = self.window.dialogs
        if command == "openCloud":
            path = ask.open_file(tr("Open a point cloud"), self._folder(), tr(dialogs.CLOUD_FILTER))
        elif command == "openProject":
            path = ask.open_file(tr("Open a project"), self._folder(), tr(dialogs.PROJECT_FILTER))
        elif command == "saveProject":
            if state.project.path and entry.id == "project.save":
                self.bridge.run("saveProject", {})
                return
            suggested = str(Path(self._folder()) / f"{self._stem()}{PROJECT}")
            path = ask.save_file(tr("Save the project"), suggested, tr(dialogs.PROJECT_FILTER))
            path = path and (path if Path(path).suffix else path + PROJECT)
        else:
            suggested = str(Path(self._folder()) / f"{self._stem()}-edited.laz")
            path = ask.save_file(tr("Export points"), suggested, tr(dialogs.EXPORT_FILTER))
        if not path:
            return
        args = {**entry.args, "path": path}
        if command in ("exportCloud", "saveProject") and os.path.exists(path):
            args["overwrite"] = True  # the dialog has asked
        self.bridge.run(command, args)

    def _folder(self) -> str:
        state = self.bridge.state
        open_ = [entry.path for entry in state.clouds if self.bridge.info(entry.id) is not None]
        for path in filter(None, (*open_, state.project.path)):
            if "://" not in path:
                return str(Path(path).parent)
        recent = [path for path in self.window.settings.recent_files() if "://" not in path]
        return str(Path(recent[0]).parent) if recent else str(Path.home())

    def _stem(self) -> str:
        clouds = self.bridge.state.clouds
        return clouds[0].name.split(".")[0] if clouds else "project"

    # --- acts of the window (they change nothing of the scene) --------------------------

    def open_palette(self) -> None:
        window = self.window
        if window.palette_.isVisible():
            window.palette_.close_palette()
        else:
            window.palette_.open()

    def show_keys(self) -> None:
        self.window.sheet.open()

    def toggle_theme(self) -> None:
        self.window.keeper.toggle()

    def toggle_panels(self) -> None:
        docks = self.window.docks.values()
        shown = any(dock.isVisible() for dock in docks)
        for dock in docks:
            dock.setVisible(not shown)

    def close(self) -> None:
        self.window.close()

    def open_sample(self) -> None:
        from importlib import resources

        sample = resources.files("oniyanma.assets").joinpath("town.copc.laz")
        with resources.as_file(sample) as path:
            self.open_path(str(path))

    def about(self) -> None:
        answer = self.bridge.read("getSession") or {}
        self.window.toast.say(
            tr("oniyanma {version}", version=answer.get("version", "")),
            kind="notice",
            details=tr(
                "A point-cloud viewer in which every click, key, script and machine goes "
                "through one command registry. MIT licence."
            ),
        )

    def escape(self) -> None:
        """One step out: the tool, then flying, then the section, then the selection."""
        window = self.window
        if window.sheet.isVisible():
            window.sheet.close_sheet()
        elif window.palette_.isVisible():
            window.palette_.back()
        elif window.tool is not None:
            window.tool.escape()
            window.refresh()
        elif self.bridge.state.camera.mode == "fly":
            self.bridge.run("setCamera", {"mode": "orbit"})
        elif window.section.active:
            window.section.leave()
        elif self.bridge.state.selection.rule is not None:
            self.bridge.run("clearSelection")
        else:
            window.toast.hide()
            window.answer.hide()

    # --- files and questions -----------------------------------------------------------

    def open_path(self, path: str) -> Any:
        """A cloud or a project, by its name. Gives the answer, or the job that will have it."""
        command = "openProject" if path.endswith(PROJECT) else "openCloud"
        return self.bridge.run(command, {"path": path})

    def open_paths(self, paths: Iterable[str]) -> None:
        """One after the other, however many were dropped."""
        self._to_open.extend(paths)
        if not self._opening:
            self._open_next()

    def open_no_more(self) -> None:
        """What was dropped and is not open yet stays closed."""
        self._to_open.clear()

    def _open_next(self) -> None:
        self._opening = False
        while self._to_open:
            result = self.open_path(self._to_open.popleft())
            if not isinstance(result, Mapping):
                self._opening = True
                result.then(lambda _: self._open_next())
                return

    def locate(self, id: str) -> None:
        """Asks where a missing cloud's file is now. Its header tells whether that is the file."""
        entry, _ = self.bridge.missing()[id]
        path = self.window.dialogs.open_file(
            tr("Where is {name} now?", name=entry.name), self._folder(), tr(dialogs.CLOUD_FILTER)
        )
        if path:
            found = partial(self._located, entry, path)
            self.bridge.run("openCloud", {"path": path, "append": True}, found)

    def _located(self, entry: CloudEntry, path: str, answer: Mapping[str, Any]) -> None:
        cloud = str(answer["cloud"])
        if cloud == entry.id:
            self.window.toast.say(tr("{name} is here again, with its edits", name=entry.name))
        else:
            self.window.toast.say(
                tr(
                    "{file} is not {name}: its header differs. It is open as a cloud of its own.",
                    file=Path(path).name,
                    name=entry.name,
                ),
                kind="notice",
                button=tr("Close it"),
                act=lambda: self.bridge.run("closeCloud", {"cloud": cloud}),
                seconds=20.0,
            )

    def ask_open(self, text: str) -> str:
        return self.window.dialogs.open_file(
            tr("Choose a file"), text or self._folder(), tr(dialogs.CLOUD_FILTER)
        )

    def ask_save(self, text: str) -> str:
        return self.window.dialogs.save_file(
            tr("Choose a file"),
            text or self._folder(),
            f"{tr(dialogs.EXPORT_FILTER)};;{tr(dialogs.REPORT_FILTER)}",
        )

    def pick_points(self, count: int, take: Callable[[list[list[float]]], None]) -> None:
        self.window.set_tool(PickTool(self.window, count, take))

    def clear_edits(self) -> None:
        """The one edit that asks: how many go, and whose."""
        counts: dict[str, int] = {}
        for event in self.bridge.edits_in_force():
            who = event.actor.name or event.actor.kind
            counts[who] = counts.get(who, 0) + 1
        total = sum(counts.values())
        whose = ", ".join(f"{who}: {integer(count)}" for who, count in sorted(counts.items()))
        if total and not self.window.dialogs.confirm(
            tr("Clear all edits?"),
            tr(
                "{total} edits go ({whose}). Undo brings them back.",
                total=integer(total),
                whose=whose,
            ),
            tr("Clear {total} edits", total=integer(total)),
        ):
            return
        self.bridge.run("clearEdits")

    # --- answers -----------------------------------------------------------------------

    def answered(self, command: str, args: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """A quiet sentence for what can't be seen by itself, with Undo after an edit."""
        if command == "captureView":
            picture = QImage.fromData(base64.b64decode(answer["image"]))
            QGuiApplication.clipboard().setImage(picture)
            size = f"{integer(picture.width())} × {integer(picture.height())}"
            self.window.toast.say(tr("The picture is on the clipboard: {size} pixels", size=size))
            return
        if self.bridge.command(command).readonly:
            self.window.answer.show_answer(
                tr(self.bridge.command(command).title), plain(answer), answer
            )
            return
        say = self.window.toast.say
        text = self._sentence(command, args, answer)
        if command in EDITS and not answer.get("points"):
            say(str(answer.get("note") or tr("No point was hit.")), kind="notice")
        elif command in (
            *EDITS,
            "clearEdits",
            "deleteMeasurement",
            "deleteBookmark",
            "addMeasurement",
            "addFinding",
            "acceptBatch",
        ):
            say(text, button=tr("Undo"), act=lambda: self.bridge.run("undo"))
        elif text:
            say(text, kind="done")
        if command == "openCloud":
            self.window.settings.add_recent(self._path_of(args))
        # unsaved work that is taken up again has no place of its own yet
        if command in ("saveProject", "openProject") and self.bridge.committed.project.path:
            self.window.settings.add_recent(self.bridge.committed.project.path)
        if command in SHOWN_IN and self.window.docks:
            self.window.docks[SHOWN_IN[command]].raise_()
        self.window.panels["log"].touch()

    def _path_of(self, args: Mapping[str, Any]) -> str:
        path = str(args["path"])
        return path if "://" in path else str(Path(path).absolute())

    def _sentence(self, command: str, args: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
        hit = answer.get("points")
        points = integer(hit if isinstance(hit, int) else 0)
        if command == "hideSelection":
            return tr("Hidden: {points} points on screen", points=points)
        if command == "deleteSelection":
            return tr("Deleted: {points} points on screen", points=points)
        if command == "reclassifySelection":
            return tr(
                "{points} points are {name} now", points=points, name=class_name(int(args["class"]))
            )
        if command == "colorSelection":
            return tr("Coloured: {points} points on screen", points=points)
        if command == "clearEdits":
            return tr("All edits are cleared")
        if command in ("undo", "redo"):
            event = self.bridge.state.events[-1] if self.bridge.state.events else None
            title = (event.title if event is not None else command).partition(": ")[2]
            return (
                tr("Undone: {what}", what=title)
                if command == "undo"
                else tr("Done again: {what}", what=title)
            )
        if command == "addMeasurement":
            value = self.bridge.measured(str(args.get("kind", "")), answer)
            return tr("Measured {value}", value=value) if value else tr("Measured")
        if command == "addFinding":
            return tr("Finding recorded: {title}", title=args.get("title", ""))
        if command == "saveProject":
            return tr("Saved {name}", name=Path(self.bridge.state.project.path or "").name)
        if command in ("exportCloud", "exportReport"):
            written = answer.get("points")
            name = Path(str(args.get("path", ""))).name
            if command == "exportCloud" and written is not None:
                return tr("Exported {points} points to {name}", points=integer(written), name=name)
            return tr("Written: {name}", name=name)
        if command == "saveBookmark":
            return tr("View saved: {name}", name=args.get("name", ""))
        if command == "deleteBookmark":
            return tr("View deleted: {name}", name=args.get("name", ""))
        if command == "deleteMeasurement":
            return tr("Measurement deleted")
        if command == "acceptBatch":
            return tr("Batch applied")
        return ""

    def failed(self, command: str, args: Mapping[str, Any], error: Mapping[str, Any]) -> None:
        """One sentence, what to do in it, details on demand."""
        code = str(error.get("code", ""))
        if code == "cancelled":
            self.window.toast.say(tr("Cancelled; nothing changed."), kind="notice")
            return
        message = str(error.get("message", ""))
        plain = message.removeprefix(f"{command}: ")
        problems = "\n".join(
            f"{p.get('path')}: {p.get('given')!r} – {p.get('allowed')}"
            for p in error.get("problems", ())
        )
        kind = "notice" if code in ("unavailable", "not_ready") else "error"
        details = "\n".join(filter(None, (f"{command} · {code}", problems)))
        self.window.toast.say(sentence(plain), kind=kind, details=details)
        self.window.panels["log"].touch()

    def crashed(self, what: str, report: str) -> None:
        """After a fault of ours: where the report lies, and that nothing is lost."""
        self.window.toast.say(
            tr("Something in oniyanma broke. Your project is safe: every edit is already stored."),
            kind="error",
            details=tr("{what}\nReport: {report}", what=what, report=report),
        )

    # --- the end ----------------------------------------------------------------------

    def leaving(self) -> None:
        """Keeps a small picture of what was open, for the start screen."""
        state = self.bridge.state
        if not state.clouds or not self.window.isVisible():
            return
        picture = self.window.canvas.grabFramebuffer()
        recent = self.window.settings.recent_files()
        files = {cloud.path for cloud in state.clouds} | (
            {state.project.path} if state.project.path else set()
        )
        for path in files:
            if path in recent:
                self.window.thumbnails.keep(path, picture)


def plain(answer: Mapping[str, Any], depth: int = 0) -> str:
    """An answer as indented lines; a list of records a line each, pictures left out."""
    lines = []
    pad = "    " * depth
    for name, value in answer.items():
        if name in ("ok", "revision") and not depth:
            continue
        if isinstance(value, Mapping) and value:
            lines += [f"{pad}{name}", plain(value, depth + 1)]
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            lines.append(f"{pad}{name}")
            lines += [
                pad + "    " + "   ".join(f"{k} {_short(v)}" for k, v in item.items())
                for item in value[:60]
            ]
        else:
            lines.append(f"{pad}{name}   {_short(value)}")
    return "\n".join(lines)


def _short(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: tr("yes"), False: tr("no"), None: "–"}[value]
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return significant(value) if abs(value) < 1e4 else number(value, 3)
    if isinstance(value, list):
        return "  ".join(_short(part) for part in value[:8])
    return str(value)[:400]
