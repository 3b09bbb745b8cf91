"""Tools that click real points: measuring, findings, the section's line, the palette's picking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QMouseEvent

from oniyanma.clouds.model import Vec3
from oniyanma.scene.overlays import Line, Marker, Overlay

from ..text import tr
from .base import Host, LivePreview, Tool

CLICKS = {"point": 1, "distance": 2, "height": 2, "angle": 3}  # others end with Enter
LEAST = {"area": 3, "volume": 3, "profile": 2}


class PointsTool(Tool):
    """Clicks snap to the nearest visible point; where there is none, nothing is taken."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.points: list[Vec3] = []
        self.hover: Vec3 | None = None

    def press(self, event: QMouseEvent) -> bool:
        picked = self.host.pick(event.position())
        if picked is not None:
            self.points.append(picked)
            self.taken(event.modifiers())
        self.host.refresh()
        return True

    def move(self, event: QMouseEvent) -> None:
        self.cursor = event.position()
        self.hover = self.host.pick(event.position())
        self.moved()
        self.host.refresh()

    def taken(self, modifiers: Qt.KeyboardModifier) -> None:
        """A point was added."""

    def moved(self) -> None:
        """The point under the cursor changed."""

    def double(self, event: QMouseEvent) -> None:
        self.finish(event.modifiers())
        self.host.refresh()

    def back(self) -> None:
        if self.points:
            self.points.pop()

    def escape(self) -> None:
        if self.points:
            self.points = []
        else:
            self.host.leave_tool()

    def overlays(self) -> list[Overlay]:
        found: list[Overlay] = []
        line = [*self.points, *([self.hover] if self.hover else [])]
        if len(line) > 1:
            found.append(Line(tuple(line)))
        found += [Marker(point, "dot", size=8.0) for point in self.points]
        if self.hover is not None:
            found.append(Marker(self.hover, "ring", size=12.0))
        return found


class MeasureTool(PointsTool):
    name = "measure"
    previews_record = True

    def __init__(self, host: Host, kind: str = "distance") -> None:
        super().__init__(host)
        self.kind = kind
        self.title = {
            "point": "Point",
            "distance": "Distance",
            "height": "Height",
            "angle": "Angle",
            "area": "Area",
            "volume": "Volume",
            "profile": "Profile",
        }[kind]
        self.preview = LivePreview(host.bridge, "addMeasurement", host.refresh)

    def step(self) -> str:
        count = len(self.points)
        if self.kind == "point":
            return tr("Click a point")
        if not count:
            return tr("Click the first point")
        if self.kind in CLICKS and count == CLICKS[self.kind] - 1:
            return tr("Click the last point")
        if count >= LEAST.get(self.kind, 99):
            return tr("Click the next point, Enter finishes")
        return tr("Click the next point")

    def keys(self) -> Sequence[tuple[str, str]]:
        found = [(tr("Space"), tr("orbit")), (tr("Esc"), tr("leave"))]
        if self.points:
            found.insert(0, ("⌫", tr("last point")))
        if self.kind == "distance" and self.points:
            found.insert(0, (tr("Shift"), tr("more corners")))
        if self.kind not in CLICKS and self.points:
            found.insert(0, (tr("Enter"), tr("finish")))
        return found

    def taken(self, modifiers: Qt.KeyboardModifier) -> None:
        more = self.kind == "distance" and modifiers & Qt.KeyboardModifier.ShiftModifier
        if len(self.points) >= CLICKS.get(self.kind, 10**9) and not more:
            self._measure()

    def moved(self) -> None:
        line = [*self.points, *([self.hover] if self.hover else [])]
        need = CLICKS.get(self.kind, LEAST.get(self.kind, 2))
        if len(line) >= need and self.kind not in ("volume", "profile"):
            self.preview.show(self._args(line))
        else:
            self.preview.end()

    def finish(self, modifiers: Qt.KeyboardModifier) -> None:
        least = LEAST.get(self.kind, CLICKS.get(self.kind, 1))
        if len(self.points) >= least:
            self._measure()

    def _args(self, points: Sequence[Vec3]) -> dict[str, Any]:
        return {"kind": self.kind, "points": [list(point) for point in points]}

    def _measure(self) -> None:
        points, self.points = self.points, []
        self.preview.end()
        self.host.bridge.run("addMeasurement", self._args(points))

    def value(self) -> str:
        answer = self.preview.answer
        if not answer:
            return ""
        return str(self.host.bridge.measured(self.kind, answer))

    def overlays(self) -> list[Overlay]:
        found = super().overlays()
        line = [*self.points, *([self.hover] if self.hover else [])]
        if self.kind in ("area", "volume") and len(line) > 2:
            found[0] = Line(tuple(line), closed=True)
        return found

    def close(self) -> None:
        self.preview.end()


class FindingTool(PointsTool):
    name, title = "finding", "Finding"

    def step(self) -> str:
        return tr("Click the point the finding is about")

    def taken(self, modifiers: Qt.KeyboardModifier) -> None:
        point, self.points = self.points[-1], []
        self.host.leave_tool()
        self.host.ask("addFinding", {"position": list(point)}, tr("Finding"))


class SectionTool(PointsTool):
    name, title = "section", "Section"
    sticky = False

    def step(self) -> str:
        return (
            tr("Click the far end of the section")
            if self.points
            else tr("Click where the section begins")
        )

    def keys(self) -> Sequence[tuple[str, str]]:
        return (("⌫", tr("first point")), (tr("Space"), tr("orbit")), (tr("Esc"), tr("leave")))

    def taken(self, modifiers: Qt.KeyboardModifier) -> None:
        if len(self.points) == 2 and self.points[0][:2] != self.points[1][:2]:
            start, end = self.points
            self.points = []
            self.host.leave_tool()
            self.host.enter_section(start, end)


class PickTool(PointsTool):
    """For the palette: so many points, or any number until Enter. Esc gives none."""

    name, title = "pick", "Pick"
    sticky = False

    def __init__(self, host: Host, count: int, take: Callable[[list[list[float]]], None]) -> None:
        super().__init__(host)
        self.count = count
        self._take: Callable[[list[list[float]]], None] | None = take

    def step(self) -> str:
        if self.count == 1:
            return tr("Click a point")
        return tr("Click points, Enter takes them ({count} so far)", count=len(self.points))

    def keys(self) -> Sequence[tuple[str, str]]:
        return (
            ("←↑↓→", tr("aim")),
            (tr("Enter"), tr("take")),
            ("⌫", tr("last point")),
            (tr("Esc"), tr("none")),
        )

    def taken(self, modifiers: Qt.KeyboardModifier) -> None:
        if self.count and len(self.points) == self.count:
            self._give(self.points)

    def finish(self, modifiers: Qt.KeyboardModifier) -> None:
        if self.points:
            self._give(self.points)

    def escape(self) -> None:
        self._give([])

    def close(self) -> None:
        self._give([])

    def _give(self, points: Sequence[Vec3]) -> None:
        take, self._take = self._take, None
        if take is not None:
            self.host.leave_tool()
            take([list(point) for point in points])
