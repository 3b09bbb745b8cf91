"""Run as a process of its own by `test_canvas_gl`: a real canvas under a real scale factor.

    canvas_process.py points FILE       what a window of 1000×700 logical pixels shows and selects
    canvas_process.py dock FILE SHARE   the canvas in a dock that is floated and docked again

Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import numpy as np
from oniyanma.ui.application import make_application
from oniyanma.ui.bridge import Bridge
from oniyanma.ui.canvas import Canvas
from oniyanma.ui.executor import QtExecutor
from oniyanma.ui.theme import ThemeKeeper
from PySide6.QtCore import QCoreApplication, QEventLoop, Qt, QTimer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow

from oniyanma.app import Session
from oniyanma.registry.actor import Actor


def until(done: Callable[[], bool], what: str) -> None:
    """Turn the event loop until something holds; a minute at the most."""
    late = QTimer()
    late.setSingleShot(True)
    late.start(60_000)
    while not done():
        if not late.isActive():
            raise SystemExit(f"waited a minute for {what}")
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 20)


def picture(canvas: Canvas) -> np.ndarray:
    image = canvas.grabFramebuffer().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    return rows[:, : image.width() * 3].reshape(image.height(), image.width(), 3).copy()


def settle(canvas: Canvas, session: Session) -> None:
    until(lambda: not session.scene.pump(5.0) and session.scene.settled, "the view")
    until(lambda: canvas.stats is not None and not canvas.moving, "a frame at rest")
    canvas.repaint()
    while canvas.stats.again:  # a software rasteriser draws in parts
        canvas.repaint()


def main(what: str, path: str, share: str = "1") -> dict[str, object]:
    if share == "1":
        app = make_application()
    else:  # what a window without the shared contexts would go through
        app = QApplication(["oniyanma"])
        assert not QCoreApplication.testAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    session = Session(executor=QtExecutor(), allow_read=[path], inline_workers=True)
    bridge = Bridge(session, session.handle(Actor("human", "test")))
    canvas = Canvas(bridge, ThemeKeeper("dark"))
    window = QMainWindow()
    dock = QDockWidget("canvas")
    dock.setWidget(canvas)
    window.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, dock)
    canvas.setFixedSize(800, 600)
    window.show()
    until(lambda: canvas.stats is not None, "the first frame")

    def call(name: str, **args: object) -> dict[str, object]:
        answer = session.call(name, args)
        assert answer["ok"], answer
        return dict(answer)

    call("openCloud", path=path)
    call("setColorMode", mode="uniform")
    call("setEyeDomeLighting", enabled=False)
    call("setPointSize", pixels=4, adaptive=False)
    call("setCamera", preset="top", projection="orthographic")
    call("fitView")
    settle(canvas, session)
    found: dict[str, object] = {}
    if what == "points":
        drawn = picture(canvas)
        lit = drawn.max(axis=2) > 120
        call("selectPolygon", points=[[100, 80], [610, 120], [420, 530]], space="screen")
        found = {
            "ratio": canvas.devicePixelRatioF(),
            "picture": [drawn.shape[1], drawn.shape[0]],
            "viewport": list(session.state.viewport),
            "lit": float(lit.sum()),
            "selected": call("getSelection")["points"],
        }
    else:
        before = picture(canvas)
        first = canvas.context()
        gone: list[int] = []
        first.aboutToBeDestroyed.connect(lambda: gone.append(1))
        dock.setFloating(True)
        until(dock.isFloating, "the dock to float")
        settle(canvas, session)
        floated = picture(canvas)
        dock.setFloating(False)
        settle(canvas, session)
        again = picture(canvas)
        found = {
            "lost": len(gone),
            "lit": int((before.max(axis=2) > 120).sum()),
            "floated": int(np.any(before != floated, axis=2).sum()),
            "docked": int(np.any(before != again, axis=2).sum()),
        }
    canvas.close_gl()
    window.close()
    session.close()
    app.processEvents()
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])) + "\n")
