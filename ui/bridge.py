"""The window's one way to the scene: a handle of the door, with a person bound in it.

Widgets read the `SceneView` and ask the bridge for everything that changes something. Answers
come back as signals; a failed one becomes a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, QRect, QTimer, Signal

from oniyanma.clouds.model import CloudInfo, Crs, Unit, Vec3
from oniyanma.scene import history
from oniyanma.scene.camera import Matrices, corners
from oniyanma.scene.hits import places_of_step
from oniyanma.scene.overlays import decimals_of_value, places_of
from oniyanma.scene.state import CloudEntry, Event, SceneState

from .glide import Glide
from .numbers import number
from .text import tr


def _written(unit: Unit) -> str:
    """A unit as a person writes it."""
    return {"ftUS": "ft", "deg": "°", "unknown": ""}.get(unit.name, unit.name)


JUMPS = ("setCamera", "fitView")  # what a person sees the way of


class StateView:
    """The scene's view with another state in it: for pictures of less than all there is."""

    def __init__(self, view: Any, state: SceneState) -> None:
        self._view = view
        self.state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)


class Bridge(QObject):
    """Runs commands for a person and tells the widgets what came of it.

    ``handle`` is the door's (execute, gesture, cancel, subscribe); ``session`` gives the scene
    to read and the registry.
    """

    answered = Signal(str, object, object)  # command, arguments, answer
    failed = Signal(str, object, object)  # command, arguments, error object
    state_changed = Signal(object, object)  # before, after
    resident_changed = Signal()
    jobs_changed = Signal()
    live = Signal()  # a gesture of a panel changed what is shown
    told = Signal(str, str)  # level, sentence: the scene has something to say

    def __init__(self, session: Any, handle: Any) -> None:
        super().__init__()
        self.session = session
        self.handle = handle
        self.scene = session.scene
        self.registry = session.registry
        self.glide = Glide(self)
        self.jobs: dict[str, Mapping[str, Any]] = {}  # running ones, as getSession lists them
        self._closed = False
        self._unsubscribe = handle.subscribe(self._on_job)
        self._dirty = QTimer(self)
        self._dirty.setSingleShot(True)
        self._dirty.setInterval(0)
        self._dirty.timeout.connect(self.resident_changed)
        self.scene.state_changed.connect(self._on_state)
        self.scene.resident_changed.connect(self._on_resident)
        self.scene.cloud_changed.connect(self._on_resident)
        self.scene.message.connect(self._on_message)

    # reading

    @property
    def view(self) -> Any:
        return self.scene.view

    @property
    def drawn(self) -> Any:
        """The view as it is drawn: on its way to another place, where it has come to."""
        if not self.glide.active:
            return self.view
        state = self.state
        return StateView(self.view, replace(state, camera=self.glide.camera(state.camera)))

    @property
    def state(self) -> Any:
        """What is shown: the committed state, or the live one of a gesture."""
        return self.view.state

    @property
    def committed(self) -> Any:
        """What is kept: without what a running gesture only shows."""
        return self.scene.state

    @property
    def previewing(self) -> bool:
        """Whether a gesture is under way."""
        return self.scene.live_state is not None

    def command(self, name: str) -> Any:
        return self.registry[name]

    def reason(self, name: str) -> str:
        """Why a command is not available now, as one sentence; "" where it is."""
        return self.handle.unavailable(name) or ""

    def cloud(self, id: str) -> Any:
        """An open cloud, with its progress; None where it is missing."""
        return self.scene.cloud(id)

    def info(self, id: str) -> CloudInfo | None:
        """Facts of a cloud; None where its file is missing."""
        return None if self.scene.cloud(id) is None else self.view.cloud_info(id)

    def missing(self) -> dict[str, tuple[CloudEntry, str]]:
        """Clouds of the project whose files can't be opened, by id, each with why."""
        reasons = self.scene.missing
        return {
            entry.id: (entry, reasons[entry.id])
            for entry in self.committed.clouds
            if entry.id in reasons
        }

    def first_info(self) -> CloudInfo | None:
        """Facts of the first cloud that could be opened: its CRS is the scene's."""
        found = (self.info(entry.id) for entry in self.state.clouds)
        return next((info for info in found if info is not None), None)

    def dimensions(self) -> list[str]:
        """Names of what points have beside their place, over all open clouds."""
        infos = [self.info(entry.id) for entry in self.state.clouds]
        found = [d.name for info in infos if info is not None for d in info.dimensions]
        return [name for name in dict.fromkeys(found) if name.upper() not in ("X", "Y", "Z")]

    def crs(self) -> Crs | None:
        info = self.first_info()
        return None if info is None else info.crs

    def unit(self) -> str:
        """The unit of coordinates, as it is written: m, ft, °."""
        crs = self.crs()
        return "" if crs is None else _written(crs.horizontal)

    def height_unit(self) -> str:
        """The unit of heights, as it is written; "" where the file names none."""
        crs = self.crs()
        return "" if crs is None else _written(crs.vertical)

    def display_scale(self) -> Vec3:
        return self.view.display_scale()

    def measured(self, kind: str, values: Mapping[str, Any]) -> str:
        """A measurement's value with its unit, as finely as the picture tells it; "" with none."""
        value, unit = values.get("value"), str(values.get("unit") or "")
        if not isinstance(value, int | float):
            return ""
        digits = decimals_of_value(kind, value, places_of(self.view))
        return number(value, digits, "°" if unit == "deg" else unit)

    def pick(self, px: float, py: float) -> Vec3 | None:
        """The exact place of the visible point under a logical pixel."""
        picked = self.scene.pick(px, py)
        return None if picked is None else picked.position

    def selected_points(self) -> int:
        """Visible resident points of the selection that is shown."""
        return int(self.scene.tally().points)

    def selection_bounds(self) -> tuple[Vec3, Vec3] | None:
        return self.scene.extent() if self.state.selection.rule is not None else None

    def selection_box(self, lens: Matrices) -> QRect | None:
        """Where the selection is on the screen; None where nothing of it is."""
        bounds = self.selection_bounds()
        if bounds is None:
            return None
        places, depth = lens.project(corners(bounds))
        seen = places[depth > 0] if lens.perspective else places
        if not len(seen) or not np.isfinite(seen).all():
            return None
        width, height = lens.viewport
        low = np.clip(seen.min(axis=0), 0, (width, height))
        high = np.clip(seen.max(axis=0), 0, (width, height))
        return QRect(int(low[0]), int(low[1]), int(high[0] - low[0]), int(high[1] - low[1]))

    def shown_points(self) -> tuple[int, int, bool]:
        """Resident points, all points of the visible clouds, and whether more are coming."""
        shown = sum(len(node.xyz) for node in self.view.resident())
        infos = (self.info(entry.id) for entry in self.state.clouds if entry.visible)
        total = sum(info.points for info in infos if info is not None)
        return shown, total, not self.scene.settled

    def indexing(self) -> tuple[str, float] | None:
        """Name and progress of the first cloud that is still being indexed."""
        for entry in self.state.clouds:
            cloud = self.scene.cloud(entry.id)
            if cloud is not None and cloud.state == "indexing":
                return entry.name, cloud.progress
        return None

    def undo_titles(self) -> tuple[str, str]:
        """What undo and redo would do now, by name."""
        actor = self.handle.actor
        state = self.committed
        undo, redo = history.undoable(state, actor), history.redoable(state, actor)
        return (
            tr("Undo: {what}", what=history.step_title(self.state, undo[0]))
            if undo
            else tr("Undo"),
            tr("Redo: {what}", what=history.step_title(self.state, redo[0]))
            if redo
            else tr("Redo"),
        )

    def edits_in_force(self) -> list[Event]:
        """The steps whose point edits hold now, each once."""
        found = {event.seq: event for event, _ in history.active_edits(self.state.events)}
        return list(found.values())

    def section_heights(self, start: Any, end: Any, width: float) -> tuple[float, float] | None:
        """Lowest and highest point on screen in a strip along a line; None with no point."""
        line = [[float(part) for part in place[:2]] for place in (start, end)]
        answer = self.read("queryProfile", {"points": line, "width": width, "bins": 2})
        if not answer or answer.get("min") is None:
            return None
        low, high = float(answer["min"]), float(answer["max"])
        pad = max((high - low) * 0.1, 1e-3)
        return low - pad, high + pad

    def edit_points(self, seq: int) -> Any:
        """Places (n, 3) of what a step hit, some thousands at most."""
        return places_of_step(self.scene, seq)

    # doing

    def set_viewport(self, width: int, height: int) -> None:
        """The picture has another size, in logical pixels."""
        self.scene.set_viewport(width, height)

    def live_changed(self) -> None:
        """A panel's gesture changed what is shown."""
        self.live.emit()

    def run(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        then: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> Any:
        """Executes a command as this person. Gives the answer, or the job that will have it."""
        args = dict(args or {})
        shown = self.drawn.state.camera
        result = self.handle.execute(name, args)
        if name in JUMPS and self.state.clouds:
            self.glide.begin(shown, self.state.camera)
        if isinstance(result, Mapping):
            self._settle(name, args, result, then)
            return result
        result.then(lambda answer: self._settle(name, args, answer, then))
        return result

    def read(self, name: str, args: Mapping[str, Any] | None = None) -> Mapping[str, Any] | None:
        """The answer of a quick read-only command; None where it has none now."""
        result = self.handle.execute(name, dict(args or {}))
        return result if isinstance(result, Mapping) and result.get("ok") else None

    def gesture(self, name: str) -> Any:
        self.glide.stop()
        return self.handle.gesture(name)

    def cancel(self, job: str) -> None:
        self.handle.cancel(job)

    def close(self) -> None:
        """Lets go of the scene's signals and timers; answers that come later reach nobody."""
        self._closed = True
        self._unsubscribe()
        self._dirty.stop()
        self.glide.stop()
        self.scene.state_changed.disconnect(self._on_state)
        self.scene.resident_changed.disconnect(self._on_resident)
        self.scene.cloud_changed.disconnect(self._on_resident)
        self.scene.message.disconnect(self._on_message)

    # inside

    def _settle(
        self,
        name: str,
        args: Mapping[str, Any],
        answer: Mapping[str, Any],
        then: Callable[[Mapping[str, Any]], None] | None,
    ) -> None:
        if self._closed:
            return
        if answer.get("ok"):
            self.answered.emit(name, args, answer)
            if then is not None:
                then(answer)
        else:
            error = answer.get("error") or {"message": tr("Nothing was done.")}
            self.failed.emit(name, args, error)

    def _on_job(self, event: Mapping[str, Any]) -> None:
        if event.get("event") != "job":
            return
        facts = event["job"]
        if facts["state"] == "running":
            self.jobs[facts["id"]] = facts
        else:
            self.jobs.pop(facts["id"], None)
        self.jobs_changed.emit()

    def _on_state(self, before: Any, after: Any) -> None:
        self.state_changed.emit(before, after)

    def _on_message(self, level: str, sentence: str) -> None:
        self.told.emit(level, sentence)

    def _on_resident(self, *_: Any) -> None:
        if not self._dirty.isActive():
            self._dirty.start()
