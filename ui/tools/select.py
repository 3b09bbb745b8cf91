"""Selecting: a rectangle, a lasso (drawn or clicked), a box in the world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QMouseEvent

from oniyanma.clouds.model import Vec3
from oniyanma.scene.overlays import BoxOutline, Overlay, ScreenPolygon

from ..numbers import integer
from ..text import tr
from .base import Host, LivePreview, Tool, mode_of

DRAG = 4.0  # pixels before a press is a drag
STEP = 3.0  # pixels between the points of a drawn line


def _pairs(points: Sequence[QPointF]) -> list[list[float]]:
    return [[point.x(), point.y()] for point in points]


class _ScreenTool(Tool):
    """Common to tools that end in selectPolygon on the screen: the live count."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.preview = LivePreview(host.bridge, "selectPolygon", host.refresh)
        self.modifiers = Qt.KeyboardModifier.NoModifier

    def _args(self, points: Sequence[QPointF]) -> dict[str, Any]:
        args: dict[str, Any] = {"points": _pairs(points), "space": "screen"}
        mode = mode_of(self.modifiers)
        return args if mode == "replace" else {**args, "mode": mode}

    def _select(self, points: Sequence[QPointF]) -> None:
        args = self._args(points)
        self.preview.end()
        self.host.bridge.run("selectPolygon", args)

    def value(self) -> str:
        answer = self.preview.answer
        if answer is None or "points" not in answer:
            return ""
        return tr("{points} points", points=integer(answer["points"]))

    def close(self) -> None:
        self.preview.end()


class RectangleTool(_ScreenTool):
    name, title = "select", "Select"
    drags = True

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.start: QPointF | None = None

    def step(self) -> str:
        return tr("Drag a rectangle over the points")

    def keys(self) -> Sequence[tuple[str, str]]:
        return (
            (tr("Shift"), tr("add")),
            (tr("Alt"), tr("take away")),
            (tr("Space"), tr("orbit")),
            (tr("Esc"), tr("leave")),
        )

    def press(self, event: QMouseEvent) -> bool:
        self.start = self.cursor = event.position()
        return True

    def corners(self) -> list[QPointF]:
        assert self.start is not None
        a, b = self.start, self.cursor
        return [a, QPointF(b.x(), a.y()), b, QPointF(a.x(), b.y())]

    def move(self, event: QMouseEvent) -> None:
        self.modifiers = event.modifiers()
        super().move(event)
        if self.start is not None and (self.cursor - self.start).manhattanLength() > DRAG:
            self.preview.show(self._args(self.corners()))

    def release(self, event: QMouseEvent) -> None:
        if self.start is None:
            return
        self.cursor = event.position()
        self.modifiers = event.modifiers()
        corners, dragged = self.corners(), (self.cursor - self.start).manhattanLength() > DRAG
        self.start = None
        if dragged:
            self._select(corners)
        self.host.refresh()

    def overlays(self) -> list[Overlay]:
        if self.start is None:
            return []
        points = tuple((p.x(), p.y()) for p in self.corners())
        return [ScreenPolygon(points, fill=0.12)]

    def escape(self) -> None:
        if self.start is not None:
            self.start = None
            self.preview.end()
        else:
            self.host.leave_tool()


class LassoTool(_ScreenTool):
    """Clicks make corners; a drag draws freehand and closes on release."""

    name, title = "lasso", "Lasso"

    def __init__(self, host: Host, *, freehand: bool = True) -> None:
        super().__init__(host)
        self.freehand = freehand
        if not freehand:
            self.name, self.title = "polygon", "Polygon"
        self.points: list[QPointF] = []
        self.drawing = False
        self.pressed: QPointF | None = None

    def step(self) -> str:
        count = len(self.points)
        if self.drawing:
            return tr("Let go to close the line")
        if not count:
            return (
                tr("Draw around the points, or click corners")
                if self.freehand
                else tr("Click the first corner")
            )
        if count < 3:
            return tr("Click the next corner")
        return tr("Click corners, Enter closes")

    def keys(self) -> Sequence[tuple[str, str]]:
        if not self.points:
            return (
                (tr("Shift"), tr("add")),
                (tr("Alt"), tr("take away")),
                (tr("Space"), tr("orbit")),
                (tr("Esc"), tr("leave")),
            )
        return (
            (tr("Enter"), tr("close")),
            ("⌫", tr("last corner")),
            (tr("Space"), tr("orbit")),
            (tr("Esc"), tr("start again")),
        )

    def press(self, event: QMouseEvent) -> bool:
        self.cursor = self.pressed = event.position()
        self.points.append(event.position())
        self._look(event)
        return True

    def move(self, event: QMouseEvent) -> None:
        self.cursor = event.position()
        held = (event.buttons() | event.button()) & Qt.MouseButton.LeftButton
        if held and self.freehand and self.pressed is not None:
            far = (self.cursor - self.pressed).manhattanLength() > DRAG
            if (self.drawing or far) and len(self.points) >= 1:
                self.drawing = self.drawing or len(self.points) == 1
                if self.drawing and (self.cursor - self.points[-1]).manhattanLength() >= STEP:
                    self.points.append(self.cursor)
        self._look(event)

    def release(self, event: QMouseEvent) -> None:
        self.move(event)  # the place of letting go counts, even where no move came before it
        self.pressed = None
        if self.drawing:
            self.drawing = False
            if self.points[-1] != event.position():
                self.points.append(event.position())
            self.finish(event.modifiers())
            self.host.refresh()

    def double(self, event: QMouseEvent) -> None:
        self.finish(event.modifiers())
        self.host.refresh()

    def finish(self, modifiers: Qt.KeyboardModifier) -> None:
        if len(self.points) < 3:
            return
        self.modifiers = modifiers
        points, self.points = self.points, []
        self._select(points)

    def back(self) -> None:
        if self.points:
            self.points.pop()
            self._preview()

    def escape(self) -> None:
        if self.points:
            self.points = []
            self.preview.end()
        else:
            self.host.leave_tool()

    def overlays(self) -> list[Overlay]:
        if not self.points:
            return []
        line = [*self.points] if self.drawing else [*self.points, self.cursor]
        shape = tuple((p.x(), p.y()) for p in line)
        return [ScreenPolygon(shape, fill=0.10 if len(shape) > 2 else 0.0)]

    def _look(self, event: QMouseEvent) -> None:
        self.modifiers = event.modifiers()
        self._preview()
        self.host.refresh()

    def _preview(self) -> None:
        line = self.points if self.drawing else [*self.points, self.cursor]
        if len(line) >= 3 and self.points:
            self.preview.show(self._args(line))
        else:
            self.preview.end()


class BoxTool(Tool):
    """From one real point to another: their box in plan, over the whole height."""

    name, title = "box", "Box"
    drags = True

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.start: Vec3 | None = None
        self.end: Vec3 | None = None
        self.modifiers = Qt.KeyboardModifier.NoModifier
        self.preview = LivePreview(host.bridge, "selectBox", host.refresh)

    def step(self) -> str:
        if self.start is None:
            return tr("Press on a point and drag to the opposite corner")
        return tr("Let go at the opposite corner")

    def keys(self) -> Sequence[tuple[str, str]]:
        return (
            (tr("Shift"), tr("add")),
            (tr("Alt"), tr("take away")),
            (tr("Space"), tr("orbit")),
            (tr("Esc"), tr("leave")),
        )

    def press(self, event: QMouseEvent) -> bool:
        self.start = self.end = self.host.pick(event.position())
        return self.start is not None

    def move(self, event: QMouseEvent) -> None:
        self.cursor = event.position()
        self.modifiers = event.modifiers()
        if self.start is not None:
            self.end = self.host.pick(event.position()) or self.end
            if self.end != self.start:
                self.preview.show(self._args())
        self.host.refresh()

    def release(self, event: QMouseEvent) -> None:
        if self.start is None:
            return
        self.modifiers = event.modifiers()
        args, useful = self._args(), self.end != self.start
        self.start = self.end = None
        self.preview.end()
        if useful:
            self.host.bridge.run("selectBox", args)
        self.host.refresh()

    def _args(self) -> dict[str, Any]:
        assert self.start is not None and self.end is not None
        bounds = self.host.bridge.view.scene_bounds()
        low = [min(a, b) for a, b in zip(self.start, self.end, strict=True)]
        high = [max(a, b) for a, b in zip(self.start, self.end, strict=True)]
        if bounds is not None:
            low[2], high[2] = bounds[0][2], bounds[1][2]
        args: dict[str, Any] = {"min": low, "max": high}
        mode = mode_of(self.modifiers)
        return args if mode == "replace" else {**args, "mode": mode}

    def value(self) -> str:
        answer = self.preview.answer
        if answer is None or "points" not in answer:
            return ""
        return tr("{points} points", points=integer(answer["points"]))

    def overlays(self) -> list[Overlay]:
        if self.start is None or self.end is None or self.start == self.end:
            return []
        args = self._args()
        return [BoxOutline(tuple(args["min"]), tuple(args["max"]), color="#f5a623")]

    def escape(self) -> None:
        if self.start is not None:
            self.start = self.end = None
            self.preview.end()
        else:
            self.host.leave_tool()

    def close(self) -> None:
        self.preview.end()
