"""Starting the window: the application, its surface format, the files asked for, the event loop."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from functools import partial
from importlib import resources
from typing import Any

from PySide6.QtCore import QCoreApplication, QLocale, Qt, QTimer, QTranslator
from PySide6.QtGui import QSurfaceFormat
from PySide6.QtWidgets import QApplication

from oniyanma.registry.actor import person
from oniyanma.scene.project import Recovery, recoverable

from . import theme as themes
from .bridge import Bridge
from .crash import CrashHandler
from .dialogs import Dialogs
from .numbers import day_and_clock, integer
from .settings import Settings
from .text import tr
from .window import Window

log = logging.getLogger(__name__)


def make_application(argv: Sequence[str] = ("oniyanma",)) -> QApplication:
    """The one QApplication, with what has to be set before it exists."""
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    # a floated dock otherwise loses every GL object
    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    surface = QSurfaceFormat()
    surface.setRenderableType(QSurfaceFormat.RenderableType.OpenGL)
    surface.setProfile(QSurfaceFormat.OpenGLContextProfile.CompatibilityProfile)
    surface.setVersion(2, 1)
    surface.setDepthBufferSize(24)
    surface.setSwapInterval(1)
    QSurfaceFormat.setDefaultFormat(surface)
    # a line drawn by hand keeps every place the mouse was at, however slow the pictures are;
    # the X11 platform switches it on again while the application is made
    every_move = Qt.ApplicationAttribute.AA_CompressHighFrequencyEvents
    QCoreApplication.setAttribute(every_move, False)
    app = QApplication(list(argv))
    QCoreApplication.setAttribute(every_move, False)
    dress(app)
    return app


def dress(app: QApplication) -> None:
    """Names, style, typeface and locale of the application."""
    app.setApplicationName("oniyanma")
    app.setApplicationDisplayName("oniyanma")
    app.setDesktopFileName("oniyanma")
    app.setStyle("Fusion")
    themes.load_fonts()
    app.setFont(themes.font())
    QLocale.setDefault(locale_of(QLocale.system()))
    load_catalogue(app)


def load_catalogue(app: QApplication, folder: str = "") -> bool:
    """Puts the texts of the locale's language in force, where there is a catalogue for it:
    ``oniyanma_<language>.qm`` in the assets' folder of translations."""
    catalogue = QTranslator(app)
    folder = folder or str(resources.files("oniyanma.assets").joinpath("translations"))
    return catalogue.load(QLocale(), "oniyanma", "_", folder) and app.installTranslator(catalogue)


def locale_of(system: QLocale) -> QLocale:
    """The system's locale; where it has none ("C"), English, so that numbers are grouped."""
    if system.language() == QLocale.Language.C:
        return QLocale(QLocale.Language.English, QLocale.Country.World)
    return system


def open_window(
    session: Any,
    *,
    dialogs: Dialogs | None = None,
    console: Any = None,
    settings: Settings | None = None,
) -> Window:
    """A window on a session, shown. The caller closes it before the session."""
    settings = settings or Settings()
    keeper = themes.ThemeKeeper(
        str(settings.get("theme", "system")), lambda choice: settings.set("theme", choice)
    )
    bridge = Bridge(session, session.handle(person()))
    window = Window(bridge, settings, keeper, dialogs, console)
    keeper.apply()
    window.show()
    offer_recovery(window)
    return window


def offer_recovery(window: Window) -> None:
    """A quiet line for work that an earlier session left unsaved, with one button."""
    for left in recoverable():
        if left.problem is not None:
            continue
        window.notice.add(
            tr(
                "Unsaved work from {time}: {clouds}, {work}.",
                time=day_and_clock(left.time),
                clouds=", ".join(left.clouds) or tr("no cloud"),
                work=_work_of(left),
            ),
            details=left.path,
            acts=[(tr("Open it"), partial(window.acts.open_path, left.path))],
        )


def _work_of(left: Recovery) -> str:
    """How many edits are in force and how many records there are, in words."""
    edits = tr("1 edit") if left.edits == 1 else tr("{n} edits", n=integer(left.edits))
    if not left.records:
        return edits if left.edits else tr("every edit undone")
    records = (
        tr("1 measurement or finding")
        if left.records == 1
        else tr("{n} measurements and findings", n=integer(left.records))
    )
    return ", ".join(([edits] if left.edits else []) + [records])


def run(session: Any, files: Sequence[str] = (), *, console: Any = None) -> int:
    """Shows the window on a session and stays until it is closed; the exit status."""
    app = make_application(sys.argv[:1])
    window = open_window(session, console=console)
    handler = CrashHandler(window.acts.crashed)
    handler.install()
    QTimer.singleShot(0, lambda: window.acts.open_paths(files))
    try:
        return app.exec()
    finally:
        handler.remove()
        window.close()
        window.deleteLater()
