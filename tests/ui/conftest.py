"""Windows for tests: a display is needed, a Qt warning fails, dialogs answer by themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("PySide6.QtWidgets", exc_type=ImportError)

# What Qt says of this machine, not of the program.
QUIET = (
    r"propagateSizeHints|XDG_RUNTIME_DIR|QStandardPaths|Could not create.*screen saver|"
    r"failed to get the current screen resources|This plugin does not support|"
    r"Qt was built without.*|libGL|qt\.qpa\.(xcb|gl|theme|services).*|Wayland"
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/ui/" in str(item.path).replace("\\", "/"):
            item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))
            item.add_marker(pytest.mark.qt_log_ignore(QUIET))


@pytest.fixture(scope="session")
def qapp(qapp_args: Any) -> Iterator[Any]:
    """The application as the program makes it. Without a display these tests can't run."""
    if os.name == "posix" and not os.environ.get("DISPLAY"):
        pytest.fail("The window's tests need a display: run them under Xvfb (make test does).")
    from oniyanma.ui.application import make_application

    app = make_application()
    assert app.platformName() == "xcb"
    yield app


class Answers:
    """Dialogs that answer what the test told them, and remember what was asked."""

    def __init__(self) -> None:
        self.path = ""
        self.yes = True
        self.asked: list[tuple[str, ...]] = []

    def open_file(self, title: str, folder: str, filter: str) -> str:
        self.asked.append(("open", title))
        return self.path

    def save_file(self, title: str, suggested: str, filter: str) -> str:
        self.asked.append(("save", title))
        return self.path

    def confirm(self, title: str, text: str, yes: str) -> bool:
        self.asked.append(("confirm", title, text, yes))
        return self.yes


class Spy:
    """Stands at the door: every call of the window, with who made it and what the state was."""

    def __init__(self, session: Any) -> None:
        import oniyanma.handle as door
        import oniyanma.registry.gesture as gestures

        self.calls: list[tuple[str, dict[str, Any], Any]] = []
        self.session = session
        self.revision = session.scene.state.revision
        self._real = door.execute_command
        self._modules = (door, gestures)
        for module in self._modules:
            module.execute_command = self._call  # type: ignore[attr-defined]

    def _call(self, ctx: Any, name: str, args: Any, actor: Any, surface: Any) -> Any:
        command = ctx.registry[name]
        if not command.readonly:
            self.calls.append((name, dict(args or {}), actor))
        return self._real(ctx, name, args, actor, surface)

    def names(self) -> list[str]:
        """What changed something, the camera's movements left out."""
        return [name for name, _, _ in self.calls if name != "setCamera"]

    def close(self) -> None:
        for module in self._modules:
            module.execute_command = self._real  # type: ignore[attr-defined]


class Desk:
    """A window on a session of its own, with everything a test drives it by."""

    def __init__(self, qtbot: Any, window: Any, session: Any, dialogs: Answers, spy: Spy) -> None:
        self.qtbot = qtbot
        self.window = window
        self.session = session
        self.dialogs = dialogs
        self.spy = spy
        self.layout: Any = None  # of the panels, when a cloud was first shown

    def reset(self) -> None:
        """An empty scene with a log of its own, and a window as it was first shown."""
        from oniyanma.registry.log import MemoryLog
        from oniyanma.scene.state import SceneState

        window = self.window
        window.set_tool(None)
        window.section.section = window.section._before = None
        for card in (window.section_bar, window.toast, window.answer, window.notice):
            card.hide()
        window.notice._waiting.clear()
        window.palette_.close_palette()
        window.sheet.close_sheet()
        window.overlay.lit = None
        for entry in list(window.keymap.changes()):
            window.keymap.reset(entry)
        window.actions_.bind()
        window.console = None
        window.palette_.console_ready = False
        window.settings._values.clear()
        window.keeper.choose("system")
        self.dialogs.__init__()  # type: ignore[misc]
        if self.layout is not None:
            from oniyanma.ui.docks import LAYOUT

            window.restoreState(self.layout, LAYOUT)
        scene = self.session.scene
        scene.live_state = None
        scene.log = MemoryLog()
        old = scene.state
        scene._swap(SceneState(viewport=old.viewport, revision=old.revision + 1))
        if not window.isActiveWindow():
            window.activateWindow()
            self.qtbot.waitUntil(window.isActiveWindow, timeout=5000)

    @property
    def canvas(self) -> Any:
        return self.window.canvas

    @property
    def state(self) -> Any:
        return self.session.scene.state

    def settle(self, timeout: int = 60_000) -> None:
        """Waits until nothing is on its way and the last picture is painted."""
        scene = self.session.scene
        self.qtbot.waitUntil(
            lambda: (
                not scene.pump(5.0)
                and scene.settled
                and not self.window.bridge.jobs
                and not self.canvas.moving
                and not self.canvas.navigator.busy
            ),
            timeout=timeout,
        )
        self.canvas.repaint()
        while self.canvas.stats.again:  # a software rasteriser draws in parts
            self.canvas.repaint()

    def key(self, key: Any, modifier: Any = None, widget: Any = None) -> None:
        from PySide6.QtCore import Qt
        from PySide6.QtWidgets import QApplication

        target = widget or QApplication.focusWidget() or self.window
        self.qtbot.keyClick(target, key, modifier or Qt.KeyboardModifier.NoModifier)

    def type(self, text: str) -> None:
        from PySide6.QtWidgets import QApplication

        self.qtbot.keyClicks(QApplication.focusWidget(), text)

    def move(self, x: float, y: float) -> None:
        from PySide6.QtCore import QPoint

        self.qtbot.mouseMove(self.canvas, QPoint(round(x), round(y)))

    def click(self, x: float, y: float, modifier: Any = None) -> None:
        from PySide6.QtCore import QPoint, Qt

        self.move(x, y)
        self.qtbot.mouseClick(
            self.canvas,
            Qt.MouseButton.LeftButton,
            modifier or Qt.KeyboardModifier.NoModifier,
            QPoint(round(x), round(y)),
        )

    def double(self, x: float, y: float) -> None:
        from PySide6.QtCore import QPoint, Qt

        self.qtbot.mouseDClick(
            self.canvas, Qt.MouseButton.LeftButton, pos=QPoint(round(x), round(y))
        )

    def drag(self, path: Any, button: Any = None, modifier: Any = None) -> None:
        """Press at the first place, move over the others, let go at the last."""
        from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
        from PySide6.QtGui import QMouseEvent
        from PySide6.QtWidgets import QApplication

        button = button or Qt.MouseButton.LeftButton
        modifier = modifier or Qt.KeyboardModifier.NoModifier
        places = [QPoint(round(x), round(y)) for x, y in path]
        self.qtbot.mousePress(self.canvas, button, modifier, places[0])
        for place in places[1:]:
            at = QPointF(place)
            QApplication.sendEvent(
                self.canvas,
                QMouseEvent(
                    QEvent.Type.MouseMove,
                    at,
                    self.canvas.mapToGlobal(at),
                    Qt.MouseButton.NoButton,
                    button,
                    modifier,
                ),
            )
        self.qtbot.mouseRelease(self.canvas, button, modifier, places[-1])

    def press_button(self, name: str) -> None:
        """A click of the mouse on the widget of that object name."""
        from PySide6.QtCore import Qt
        from PySide6.QtWidgets import QWidget

        widget = self.window.findChild(QWidget, name)
        assert widget is not None and widget.isVisible() and widget.isEnabled(), name
        self.qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)

    def menu(self, menu: str, entry: str) -> None:
        """Two clicks of the mouse: the menu in the bar, the entry in it."""
        from PySide6.QtCore import Qt
        from PySide6.QtWidgets import QMenuBar

        bar = self.window.menuWidget().findChild(QMenuBar)
        opened = self.window.menus[menu]
        place = bar.actionGeometry(opened.menuAction()).center()
        self.qtbot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=place)
        self.qtbot.waitUntil(opened.isVisible)
        action = self.window.actions_[entry]
        where = opened.actionGeometry(action).center()
        self.qtbot.mouseClick(opened, Qt.MouseButton.LeftButton, pos=where)
        self.qtbot.waitUntil(lambda: not opened.isVisible())

    def take_row(self, text: str) -> None:
        """A click of the mouse on the palette's row of that title."""
        from PySide6.QtCore import Qt

        shown = self.window.palette_.list
        for row in range(shown.model().rowCount()):
            index = shown.model().index(row, 0)
            if text in str(index.data()):
                shown.scrollTo(index)
                self.qtbot.mouseClick(
                    shown.viewport(),
                    Qt.MouseButton.LeftButton,
                    pos=shown.visualRect(index).center(),
                )
                return
        raise AssertionError(f"the palette offers no {text!r}")

    def palette(self, text: str, *answers: str) -> None:
        """Ctrl+K, the text, Enter; then each answer and Enter."""
        from PySide6.QtCore import Qt

        self.key(Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        self.qtbot.waitUntil(self.window.palette_.line.hasFocus)
        for part in (text, *answers):
            self.type(part)
            self.key(Qt.Key.Key_Return)


@pytest.fixture(scope="session")
def village(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small cloud in metres: ground, two buildings, trees; classified, with intensity and RGB."""
    import laspy
    import numpy as np

    rng = np.random.default_rng(7)
    ground = np.column_stack((rng.uniform(0, 100, (14_000, 2)), rng.normal(50, 0.05, 14_000)))
    roofs = np.column_stack((rng.uniform((20, 20), (45, 50), (5_000, 2)), np.full(5_000, 58.0)))
    towers = np.column_stack((rng.uniform((60, 55), (75, 75), (3_000, 2)), np.full(3_000, 66.0)))
    trees = rng.normal((80, 25, 54), (5, 5, 2), (4_000, 3))
    parts = ((ground, 2), (roofs, 6), (towers, 6), (trees, 5))
    xyz = np.vstack([part for part, _ in parts])
    header = laspy.LasHeader(point_format=7, version="1.4")
    header.scales, header.offsets = [0.01] * 3, [385_000, 3_947_000, 0]
    header.add_crs(__import__("pyproj").CRS.from_epsg(6691))
    cloud = laspy.LasData(header)
    cloud.x, cloud.y, cloud.z = xyz[:, 0] + 385_600, xyz[:, 1] + 3_947_200, xyz[:, 2]
    cloud.classification = np.concatenate([np.full(len(p), c, np.uint8) for p, c in parts])
    cloud.intensity = rng.integers(100, 3_000, len(xyz))
    cloud.red, cloud.green, cloud.blue = rng.integers(8_000, 60_000, (3, len(xyz)))
    cloud.return_number = cloud.number_of_returns = np.ones(len(xyz), np.uint8)
    path = tmp_path_factory.mktemp("clouds") / "village.las"
    cloud.write(path)
    return path


def make_desk(
    qtbot: Any, settings_path: Path, size: tuple[int, int] = (1280, 800), **more: Any
) -> Desk:
    """A window on a session of its own, shown and active."""
    from oniyanma.ui.application import open_window
    from oniyanma.ui.executor import QtExecutor
    from oniyanma.ui.settings import Settings

    from oniyanma.app import Session
    from oniyanma.registry import Actor

    session = Session(executor=QtExecutor(), actor=Actor("human", "Ada"), **more)
    dialogs = Answers()
    spy = Spy(session)
    window = open_window(session, dialogs=dialogs, settings=Settings(settings_path))
    window.resize(*size)
    qtbot.waitExposed(window)
    window.activateWindow()
    qtbot.waitUntil(lambda: window.isActiveWindow(), timeout=5000)
    return Desk(qtbot, window, session, dialogs, spy)


@pytest.fixture
def desk_of(qtbot: Any, qapp: Any, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Makes windows; closes them, their sessions and the spy at the end."""
    made: list[Desk] = []

    def make(**more: Any) -> Desk:
        made.append(make_desk(qtbot, tmp_path / "window.json", **more))
        return made[-1]

    yield make
    for desk in made:
        close_desk(desk)


@pytest.fixture
def fresh_town(desk_of: Callable[..., Desk], village: Path) -> Desk:
    """A window of its own with the village in it."""
    return show_village(desk_of(), village)


@pytest.fixture(scope="module")
def shared_desks() -> Iterator[list[Desk]]:
    desks: list[Desk] = []
    yield desks
    for desk in desks:
        close_desk(desk)


@pytest.fixture
def town(
    qtbot: Any,
    qapp: Any,
    village: Path,
    shared_desks: list[Desk],
    tmp_path_factory: pytest.TempPathFactory,
) -> Desk:
    """The village in a window that a module's tests share: as new for each of them."""
    if not shared_desks:
        folder = tmp_path_factory.mktemp("shared")
        shared_desks.append(make_desk(qtbot, folder / "window.json"))
    desk = shared_desks[0]
    desk.qtbot = qtbot
    desk.reset()
    return show_village(desk, village)


def show_village(desk: Desk, village: Path) -> Desk:
    desk.window.acts.open_path(str(village))
    desk.settle()
    if desk.layout is None:
        from oniyanma.ui.docks import LAYOUT

        desk.layout = desk.window.saveState(LAYOUT)
    desk.canvas.setFocus()
    desk.spy.calls.clear()
    return desk


def close_desk(desk: Desk) -> None:
    """Closes a window and its session, once."""
    if desk.session is None:
        return
    from PySide6.QtCore import QEvent
    from PySide6.QtWidgets import QApplication

    desk.window.close()
    desk.window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    desk.spy.close()
    desk.session.close()
    desk.session = None
