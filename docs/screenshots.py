"""Makes the pictures of the documentation: the whole job, light and dark, at two sizes.

    python docs/screenshots.py [CLOUD] [OUT]

CLOUD: a real cloud (default: the built-in sample). OUT: default docs/pictures/window.
Needs a display (Xvfb does). Each size runs in a process of its own: so is the scale factor.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZES = {"1280x800": (1280, 800, 1.0), "2560x1440@2": (1280, 720, 2.0)}  # logical, factor
HERE = Path(__file__).resolve().parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cloud", nargs="?", default="")
    parser.add_argument("out", nargs="?", default=str(HERE / "pictures" / "window"))
    parser.add_argument("--one", choices=SIZES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        shoot(options.cloud, Path(options.out), options.one)
        return 0
    for size, (_, _, factor) in SIZES.items():
        with tempfile.TemporaryDirectory() as home:
            env = {
                **os.environ,
                "QT_SCALE_FACTOR": f"{factor:g}",
                "ONIYANMA_DATA": f"{home}/data",
                "ONIYANMA_CONFIG": f"{home}/config",
            }
            command = [sys.executable, __file__, options.cloud, options.out, "--one", size]
            subprocess.run(command, env=env, check=True)
    return 0


def shoot(cloud: str, out: Path, size: str) -> None:
    """Goes through the job once in the dark, taking each step in both themes."""
    from oniyanma.ui.application import make_application, open_window
    from oniyanma.ui.executor import QtExecutor

    from oniyanma.app import Session
    from oniyanma.registry import Actor

    app = make_application()
    session = Session(executor=QtExecutor(), actor=Actor("human", "surveyor"))
    window = open_window(session)
    width, height, _ = SIZES[size]
    window.resize(width, height)
    out.mkdir(parents=True, exist_ok=True)
    desk = Hand(app, session, window)
    number = 0

    def take(name: str) -> None:
        nonlocal number
        number += 1
        for theme in ("dark", "light"):
            window.keeper.choose(theme)
            desk.settle()
            picture = window.grab().toImage()
            keep(picture, out / f"{number:02}-{name}-{theme}-{size}.jpg")
        window.keeper.choose("dark")

    desk.settle()
    take("start")
    if cloud:
        window.acts.open_path(cloud)
        desk.wait(lambda: window.bridge.shown_points()[0] > 0)
        take("sample-while-indexing")
    else:
        window.acts.open_sample()
    desk.settle()
    take("opened")
    job(desk, take)
    window.close()
    session.close()


def keep(picture: Any, path: Path) -> None:
    """Writes a JPEG: small enough for a page, and true to the colours of the legend."""
    picture.save(str(path), quality=82)


class Hand:
    """Mouse and keys on the window."""

    def __init__(self, app: Any, session: Any, window: Any) -> None:
        self.app = app
        self.session = session
        self.window = window

    def wait(self, true: Callable[[], bool], seconds: float = 240.0) -> None:
        end = time.monotonic() + seconds
        while not true() and time.monotonic() < end:
            self.app.processEvents()
            time.sleep(0.01)

    def settle(self) -> None:
        """Until nothing is on its way, and the panels have caught up."""
        start = time.monotonic()
        self.wait(
            lambda: (
                time.monotonic() - start > 0.7
                and self.session.scene.settled
                and not self.window.bridge.jobs
                and not self.window.canvas.moving
            )
        )
        canvas = self.window.canvas
        canvas.repaint()
        start = time.monotonic()
        # without a graphics card a large picture is drawn in parts: until the last one
        self.wait(
            lambda: time.monotonic() - start > 0.4 and not (canvas.stats and canvas.stats.again)
        )

    def key(self, name: str, *modifiers: str) -> None:
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        held = Qt.KeyboardModifier.NoModifier
        for modifier in modifiers:
            held |= getattr(Qt.KeyboardModifier, f"{modifier}Modifier")
        focus = self.app.focusWidget() or self.window
        QTest.keyClick(focus, getattr(Qt.Key, f"Key_{name}"), held)
        self.app.processEvents()

    def type(self, text: str) -> None:
        from PySide6.QtTest import QTest

        QTest.keyClicks(self.app.focusWidget(), text)
        self.app.processEvents()

    def at(self, x: float, y: float) -> Any:
        """A place in the picture, as shares of its width and height."""
        from PySide6.QtCore import QPoint

        canvas = self.window.canvas
        return QPoint(round(canvas.width() * x), round(canvas.height() * y))

    def move(self, x: float, y: float) -> None:
        from PySide6.QtTest import QTest

        QTest.mouseMove(self.window.canvas, self.at(x, y))
        start = time.monotonic()
        self.wait(lambda: time.monotonic() - start > 0.25)

    def click(self, x: float, y: float) -> None:
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        self.move(x, y)
        QTest.mouseClick(
            self.window.canvas,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
            self.at(x, y),
        )
        self.app.processEvents()


def job(desk: Hand, take: Callable[[str], None]) -> None:
    """Colour, lasso, classify, undo, measure, section, finding, palette, keys."""
    window = desk.window
    window.notice._waiting.clear()
    window.notice.hide()
    desk.key("K", "Control")
    desk.type("elev")
    take("palette")
    desk.key("Return")
    desk.settle()
    take("colour-by-elevation")
    desk.key("1")
    desk.settle()
    desk.key("L")
    corners = ((0.47, 0.40), (0.56, 0.42), (0.57, 0.56), (0.50, 0.60), (0.45, 0.52))
    for corner in corners[:-1]:
        desk.click(*corner)
    desk.move(*corners[-1])
    take("lasso")
    desk.click(*corners[-1])
    desk.key("Return")
    desk.key("Escape")
    take("selected")
    desk.key("C")
    desk.type("buil")
    take("classify")
    desk.key("Return")
    desk.settle()
    window.docks["edits"].raise_()
    take("classified")
    desk.key("Z", "Control")
    desk.settle()
    take("undone")
    desk.key("Z", "Control", "Shift")
    desk.key("Escape")
    desk.key("7")
    desk.settle()
    desk.key("M", "Shift")
    desk.click(0.45, 0.55)
    desk.move(0.55, 0.42)
    take("measuring")
    desk.click(0.55, 0.42)
    desk.key("Escape")
    desk.settle()
    take("measured")
    desk.key("N")
    desk.click(0.52, 0.47)
    desk.type("Roof edge is missing")
    take("finding")
    desk.key("Return")
    desk.key("Return")
    desk.settle()
    take("found")
    desk.key("B", "Control")
    desk.type("The block by the river")
    desk.key("Return")
    desk.settle()
    take("view-saved")
    desk.key("1")
    desk.settle()
    desk.key("S")
    desk.click(0.40, 0.45)
    desk.move(0.60, 0.52)
    take("section-line")
    desk.click(0.60, 0.52)
    desk.settle()
    take("section")
    desk.key("Escape")
    desk.key("7")
    desk.settle()
    desk.key("X")
    desk.settle()
    take("clip")
    desk.key("X", "Shift")
    desk.key("Escape")
    window.inspector.colour.mode.setFocus()
    desk.key("K", "Control")
    desk.type("by class")
    desk.key("Return")
    desk.settle()
    take("classes")
    desk.key("F1")
    take("keys")
    desk.key("Escape")


if __name__ == "__main__":
    sys.exit(main())
