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
            lambda: scene.settled and not self.window.bridge.jobs and not self.canvas.moving
            and not scene.pump(5.0),
            timeout=timeout,
        )
        self.canvas.repaint()

    def key(self, key: Any, modifier: Any = None, widget: Any = None) -> None:
        from PySide6.QtCore import Qt
        from PySide6.QtWidgets import QApplication

        target = widget or QApplication.focusWidget() or self.window
        self.qtbot.keyClick(target, key, modifier or Qt.KeyboardModifier.NoModifier)

    def type(self, text: str) -> None:
        from PySide6.QtWidgets import QApplication

        self.qtbot.keyClicks(QApplication.focusWidget(), text)

    def palette(self, text: str, *answers: str) -> None:
        """Ctrl+K, the text, Enter; then each answer and Enter."""
        from PySide6.QtCore import Qt

        self.key(Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        self.qtbot.waitUntil(self.window.palette_.line.hasFocus)
        for part in (text, *answers):
            self.type(part)
            self.key(Qt.Key.Key_Return)


@pytest.fixture
def desk_of(
    qtbot: Any, qapp: Any, tmp_path: Path
) -> Iterator[Callable[..., Desk]]:
    """Makes windows; closes them, their sessions and the spy at the end."""
    from oniyanma.app import Session
    from oniyanma.ui.application import open_window
    from oniyanma.ui.executor import QtExecutor
    from oniyanma.ui.settings import Settings

    made: list[Desk] = []

    def make(*, size: tuple[int, int] = (1280, 800), inline: bool = False, **more: Any) -> Desk:
        session = Session(executor=QtExecutor(), inline_workers=inline, **more)
        dialogs = Answers()
        spy = Spy(session)
        settings = Settings(tmp_path / "window.json")
        window = open_window(session, dialogs=dialogs, settings=settings)
        window.resize(*size)
        qtbot.waitExposed(window)
        window.activateWindow()
        qtbot.waitUntil(lambda: window.isActiveWindow(), timeout=5000)
        desk = Desk(qtbot, window, session, dialogs, spy)
        made.append(desk)
        return desk

    yield make
    for desk in made:
        close_desk(desk)


def close_desk(desk: Desk) -> None:
    """Closes a window and its session, once."""
    if desk.session is None:
        return
    desk.window.close()
    desk.window.deleteLater()
    desk.spy.close()
    desk.session.close()
    desk.session = None
