"""The main window: puts canvas, rail, panels and cards together, and lets entries act."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QSize, Qt, QTimer
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QKeyEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QStackedWidget,
    QTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from oniyanma.clouds.model import Vec3

from . import theme as themes
from .actions import ACTION_BAR, BY_ID
from .acts import Acts
from .bridge import Bridge
from .canvas import Canvas
from .cards import ActionBar, AnswerCard, Banner, Notice, Toast
from .dialogs import Dialogs, QtDialogs
from .docks import Docks
from .entry import Entry
from .forms import Services
from .key_sheet import KeySheet
from .keymap import Keymap
from .lines import CloudLines
from .menus import Actions, context_menu, tool_rail
from .nav_cube import NavCube
from .numbers import decimals_of, integer
from .overlay import Overlay
from .palette import Palette
from .panels.batches import BatchesPanel
from .panels.inspector import Inspector
from .panels.lists import (
    CloudsPanel,
    EditsPanel,
    FindingsPanel,
    LogPanel,
    MeasuresPanel,
)
from .panels.views import ViewsPanel
from .section import SectionBar, SectionView
from .settings import Settings
from .start_screen import StartScreen, dropped_paths
from .statusbar import StatusBar
from .text import tr
from .thumbnails import Thumbnails
from .tools import Tool, make_tool
from .topbar import TopBar
from .values import crs_name, crs_tip

log = logging.getLogger(__name__)
BUSY_MS = 300


class Window(QMainWindow):
    """Holds widgets and hands out work. It changes nothing of the scene but through the bridge."""

    def __init__(
        self,
        bridge: Bridge,
        settings: Settings,
        keeper: themes.ThemeKeeper,
        dialogs: Dialogs | None = None,
        console: Any = None,
    ) -> None:
        super().__init__()
        self.bridge = bridge
        self.settings = settings
        self.keeper = keeper
        self.dialogs: Dialogs = dialogs or QtDialogs(self)
        self.console = console
        self.setObjectName("window")
        self.setWindowTitle("oniyanma")
        self.setAcceptDrops(True)
        self.setDockNestingEnabled(True)
        self.setMinimumSize(960, 600)
        self.resize(1280, 800)
        self.keymap = Keymap(changes=settings.get("keys", {}))
        self.acts = Acts(self)
        self.actions_ = Actions(self, self.keymap, keeper, self.acts.run)
        self.thumbnails = Thumbnails()
        self._tool: Tool | None = None
        self._tool_entry = ""
        self._closing = False
        self._flies = False

        self.top = TopBar(self.actions_, self.keymap)
        self.menus, self.field = self.top.menus, self.top.field
        self.theme_button = self.top.theme_button
        self.setMenuWidget(self.top)
        self._build_centre()
        self._build_docks()
        self._build_overlays()
        self.status = StatusBar(keeper)
        self.status.job.cancelled.connect(bridge.cancel)
        self.setStatusBar(self.status)
        self._connect()
        self.docking.restore(settings)
        self._follow()
        self._job_line()

    # --- building ----------------------------------------------------------------------

    def _build_centre(self) -> None:
        self.canvas = Canvas(self.bridge, self.keeper)
        self.overlay = Overlay(self.canvas, self.bridge, self.keeper)
        self.start = StartScreen(self.keeper)
        self.notice = Notice(self)
        self.lines = CloudLines(self.bridge, self.notice, self.acts.locate)
        picture = QWidget()
        column = QVBoxLayout(picture)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.canvas, 1)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.start)
        self.pages.addWidget(picture)
        centre = QWidget()
        outer = QVBoxLayout(centre)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self.notice)
        outer.addWidget(self.pages, 1)
        self.setCentralWidget(centre)
        self.centre = centre
        self.rail = tool_rail(self.actions_)
        self.addToolBar(Qt.ToolBarArea.LeftToolBarArea, self.rail)

    def _build_docks(self) -> None:
        bridge, keeper = self.bridge, self.keeper
        self.inspector = Inspector(bridge, keeper)
        self.panels = {
            panel.name: panel
            for panel in (
                CloudsPanel(bridge, keeper, self.acts.locate),
                EditsPanel(bridge, keeper, self.show_edit),
                FindingsPanel(bridge, keeper),
                BatchesPanel(bridge, keeper),
                MeasuresPanel(bridge, keeper),
                ViewsPanel(bridge, keeper),
                LogPanel(bridge, keeper),
            )
        }
        titled = {panel.name: (tr(panel.title), panel) for panel in self.panels.values()}
        self.docking = Docks(
            self, keeper, {"inspector": (tr("Inspector"), self.inspector), **titled}
        )
        self.docks = self.docking.all
        self.docking.add_to(self.menus["View"])

    def _build_overlays(self) -> None:
        self.cube = NavCube(self.canvas, self.bridge, self.keeper)
        self.fly_button = QToolButton(self.canvas)
        self.fly_button.setObjectName("flyButton")
        self.fly_button.setDefaultAction(self.actions_["view.fly"])
        self.fly_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        self.fly_button.setIconSize(QSize(16, 16))
        self.fly_button.setFixedSize(32, 32)
        self.fly_button.setAccessibleName(tr(BY_ID["view.fly"].title))
        self.banner = Banner(self.canvas)
        self.bar = ActionBar(
            self.canvas,
            [(self.actions_[name], tr(BY_ID[name].short)) for name in ACTION_BAR],
            self.actions_["select.clear"],
        )
        self.section_bar = SectionBar(self.canvas)
        self.section = SectionView(self.bridge, self.section_bar)
        self.toast = Toast(self.centre)
        self.answer = AnswerCard(self.centre, self.keeper)
        services = Services(self.acts.ask_open, self.acts.ask_save, self.acts.pick_points)
        self.palette_ = Palette(
            self, self.bridge, self.keymap, self.settings, self.keeper, services
        )
        self.palette_.console_ready = self.console is not None
        self.palette_.acted.connect(self.acts.run_row)
        self.palette_.closed.connect(self._focus_canvas)
        self.sheet = KeySheet(self, self.keymap)
        self.sheet.changed.connect(self._keys_changed)
        self.sheet.closed.connect(self._focus_canvas)

    def _connect(self) -> None:
        bridge = self.bridge
        bridge.state_changed.connect(self._on_state)
        bridge.live.connect(self.canvas.moved)
        bridge.told.connect(self.lines.told)
        bridge.resident_changed.connect(self._on_resident)
        bridge.answered.connect(self.acts.answered)
        bridge.failed.connect(self.acts.failed)
        bridge.jobs_changed.connect(self._job_line)
        self.canvas.hovered.connect(self._hover)
        self.canvas.painted.connect(self._painted)
        self.canvas.broken.connect(self._broken)
        self.canvas.menu_asked.connect(self.show_context_menu)
        self.canvas.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.canvas.installEventFilter(self)
        self.start.chosen.connect(lambda path: self.acts.open_paths([path]))
        self.start.browse.connect(self.actions_["file.open"].trigger)
        self.start.sample.connect(self.actions_["file.sample"].trigger)
        status = self.status
        told = (self.panels["measures"], self.inspector.point)
        for source in (status.position, status.crs, status.selected, *told):
            source.copied.connect(
                lambda text: self.toast.say(tr("Copied: {text}", text=text), seconds=2)
            )
        self._busy = QTimer(self)
        self._busy.setSingleShot(True)
        self._busy.setInterval(BUSY_MS)
        self._busy.timeout.connect(self._job_line)
        self._hover_soon = QTimer(self)
        self._hover_soon.setSingleShot(True)
        self._hover_soon.setInterval(40)
        self._hover_soon.timeout.connect(self._show_hover)
        self._hover_at = QPointF()

    # --- following the scene -----------------------------------------------------------

    def _on_state(self, before: Any, after: Any) -> None:
        if self.bridge.previewing:  # many a second: only what a gesture can change
            if before is None or before.selection != after.selection:
                self._on_resident()
            return
        self._follow()
        if before is not None and [c.id for c in before.clouds] != [c.id for c in after.clouds]:
            self.lines.opened(before, after)

    def _follow(self) -> None:
        state = self.bridge.state
        self._turn_page(bool(state.clouds))
        self.cube.setVisible(bool(state.clouds))
        undo, redo = self.bridge.undo_titles()
        self.actions_.enable(self.bridge.reason, undo, redo)
        name = state.project.path.rsplit("/", 1)[-1] if state.project.path else ""
        clouds = ", ".join(cloud.name for cloud in state.clouds[:3])
        self.setWindowTitle(" – ".join(filter(None, (name or clouds, "oniyanma"))))
        crs = self.bridge.crs()
        self.status.show_crs(crs_name(crs) if crs is not None else "", crs_tip(crs))
        self.lines.follow()
        fly = BY_ID["view.fly"]
        flies = self.is_on(fly)
        if flies != self._flies:
            self._flies = flies
            self.refresh()
        self.actions_[fly.id].setChecked(flies)
        self.fly_button.setVisible(bool(state.clouds))
        self._on_resident()

    def _turn_page(self, working: bool) -> None:
        """The start screen stands alone; with the first cloud the panels come as they were."""
        if working and self.pages.currentIndex() == 0:
            self.pages.setCurrentIndex(1)
            self.docking.bring_back()
            self.canvas.setFocus(Qt.FocusReason.OtherFocusReason)
        elif not working and not self.docking.away:
            self.docking.put_away()
            self.rail.hide()
            self.pages.setCurrentIndex(0)
            self.start.show_recent(self.thumbnails.of(self.settings.recent_files()))
            self.start.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_resident(self) -> None:
        shown, total, loading = self.bridge.shown_points()
        self.status.gauge.set(shown, total, loading)
        self.status.working(bool(self.bridge.state.clouds))
        selected = self.bridge.state.selection.rule is not None
        points = self.bridge.selected_points() if selected else None
        self.status.show_selected(points)
        if points and self._tool_quiet():  # with none on screen no button would do anything
            box = self.bridge.selection_box(self.canvas.lens())
            if box is not None:
                self.bar.show_at(integer(points), box)
                return
            self.bar.show_at(integer(points), self.canvas.rect().adjusted(0, 0, 0, -80))
        else:
            self.bar.hide()

    def _tool_quiet(self) -> bool:
        return self._tool is None or not getattr(self._tool, "points", None)

    def _painted(self, stats: Any) -> None:
        self.status.show_frame(stats.frame_ms)
        if self.bar.isVisible():
            box = self.bridge.selection_box(self.canvas.lens())
            if box is not None:
                self.bar.place(box)
        self.overlay.update()
        self.cube.update()

    def _broken(self, reason: str) -> None:
        self.notice.add(
            tr("This computer's OpenGL can't draw the picture; everything else still works."),
            details=reason,
        )

    def _job_line(self) -> None:
        jobs = list(self.bridge.jobs.values())
        indexing = self.bridge.indexing()
        line = self.status.job
        if not jobs and indexing is None:
            self._busy.stop()
            line.hide()
            return
        if not line.isVisible() and not self._busy.isActive() and self.sender() is not self._busy:
            self._busy.start()
            return
        if self._busy.isActive():
            return
        if jobs:
            facts = jobs[0]
            title = ": ".join(filter(None, (facts["title"].rstrip("…"), facts["stage"])))
            line.show_job(facts["id"], title, facts["progress"] or None, len(jobs) - 1)
        elif indexing is not None:
            line.show_job("", tr("Indexing {name}", name=indexing[0]), indexing[1])

    # --- cursor ------------------------------------------------------------------------

    def _hover(self, position: QPointF) -> None:
        self._hover_at = position
        self.overlay.cursor_at = position
        if not self._hover_soon.isActive():
            self._hover_soon.start()
        if not self.canvas.navigator.active and not getattr(self._tool, "drawing", False):
            self.inspector.point.follow(position)

    def _show_hover(self) -> None:
        info = self.bridge.first_info()
        if info is None or self.canvas.navigator.active or getattr(self._tool, "drawing", False):
            return
        picked = self.bridge.pick(self._hover_at.x(), self._hover_at.y())
        decimals = tuple(decimals_of(scale) for scale in info.scale)
        self.status.show_position(picked, self.bridge.unit(), decimals)  # type: ignore[arg-type]

    # --- tools (Host) ------------------------------------------------------------------

    def lens(self) -> Any:
        return self.canvas.lens()

    def pick(self, position: QPointF) -> Vec3 | None:
        return self.bridge.pick(position.x(), position.y())

    @property
    def tool(self) -> Tool | None:
        return self._tool

    def set_tool(self, tool: Tool | None, entry: str = "") -> None:
        """Takes up a tool, or puts the one at hand away."""
        old, self._tool = self._tool, None
        if old is not None:
            old.close()
        self._tool = tool
        self._tool_entry = entry
        for name, action in self.actions_.all.items():
            if BY_ID[name].tool:
                action.setChecked(name == entry)
        self.canvas.set_tool(tool)
        self.refresh()
        self._on_resident()
        if tool is not None:
            self.canvas.setFocus(Qt.FocusReason.OtherFocusReason)

    def start_tool(self, name: str, args: Mapping[str, Any], entry: str) -> None:
        if self._tool is not None and self._tool_entry == entry:
            self.set_tool(None)
        else:
            self.set_tool(make_tool(name, self, dict(args)), entry)

    def is_on(self, entry: Entry) -> bool:
        """Whether what a switch of the view sets is so now."""
        camera = self.bridge.state.camera
        return all(getattr(camera, name) == value for name, value in entry.args.items())

    def refresh(self) -> None:
        if self._tool is None:
            self.overlay.value = ""
            if self.is_on(BY_ID["view.fly"]) and self.bridge.state.clouds:
                self.banner.say(tr("Fly"), tr("Drag looks around"), fly_keys())
            else:
                self.banner.hide()
        else:
            self.banner.say(tr(self._tool.title), self._tool.step(), self._tool.keys())
            self.overlay.value = self._tool.value()
        self.overlay.update()

    def leave_tool(self) -> None:
        self.set_tool(None)

    def ask(self, command: str, args: dict[str, Any], title: str) -> None:
        self.palette_.ask(command, args, title)

    def enter_section(self, start: Vec3, end: Vec3) -> None:
        self.section.enter(start, end)

    def previewing_clip(self, on: bool) -> None:
        self.canvas.clip_preview = on
        self.canvas.moved()

    def show_edit(self, seq: int | None) -> None:
        """Lights what an edit hit, until another line is chosen."""
        self.overlay.lit = self.bridge.edit_points(seq) if seq is not None else None
        self.overlay.update()

    # --- events ------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        # what the widget with the focus did not want comes here before any shortcut fires
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and self._typing()
            and _plain(event)
        ):
            event.accept()  # letters and Delete are the text field's, never a shortcut
            return True
        return super().event(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.canvas and event.type() == QEvent.Type.Resize:
            self._place_overlays()
        return super().eventFilter(watched, event)

    def _typing(self) -> bool:
        focus = QApplication.focusWidget()
        return isinstance(focus, QLineEdit | QAbstractSpinBox | QPlainTextEdit | QTextEdit)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.section.active and event.key() in (Qt.Key.Key_BracketLeft, Qt.Key.Key_BracketRight):
            self.section.step(-1 if event.key() == Qt.Key.Key_BracketLeft else 1)
            return
        super().keyPressEvent(event)

    def show_context_menu(self, position: QPoint) -> None:
        selected = self.bridge.state.selection.rule is not None
        menu = context_menu(self, self.actions_, selected)
        menu.popup(position)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_paths(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        self.acts.open_paths(dropped_paths(event))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.palette_.isVisible():
            self.palette_.place()
        if self.toast.isVisible():
            self.toast.place()

    def _place_overlays(self) -> None:
        self.overlay.setGeometry(self.canvas.rect())
        self.cube.move(self.canvas.width() - self.cube.width() - 12, 12)
        middle = self.cube.x() + (self.cube.width() - self.fly_button.width()) // 2
        self.fly_button.move(middle, self.cube.geometry().bottom() + 4)
        for card in (self.banner, self.section_bar):
            if card.isVisible():
                card.place()

    def showEvent(self, event: Any) -> None:
        super().showEvent(event)
        self._place_overlays()
        self.docking.dress_tabs()

    def closeEvent(self, event: QCloseEvent) -> None:
        exporting = [f for f in self.bridge.jobs.values() if f["command"].startswith("export")]
        if (
            exporting
            and not self._closing
            and not self.dialogs.confirm(
                tr("An export is still running"),
                tr("Leaving stops it, and its file is not written."),
                tr("Leave"),
            )
        ):
            event.ignore()
            return
        self._closing = True
        self.acts.open_no_more()
        self.acts.leaving()
        self.set_tool(None)
        if self.isVisible():
            self.docking.store(self.settings)
        self.canvas.close_gl()
        self.bridge.close()
        event.accept()

    # --- keys and actions ------------------------------------------------------------------

    def _keys_changed(self) -> None:
        self.settings.set("keys", self.keymap.changes())
        self.actions_.bind()
        self.top.show_key()

    def _focus_canvas(self) -> None:
        if self.pages.currentIndex() == 1:
            self.canvas.setFocus(Qt.FocusReason.OtherFocusReason)

    def all_actions(self) -> list[QAction]:
        """Every QAction of the window, the panels' toggles among them."""
        return [
            *self.actions_.all.values(),
            *(dock.toggleViewAction() for dock in self.docks.values()),
        ]


def fly_keys() -> list[tuple[str, str]]:
    """What the banner says while flying."""
    return [
        ("W A S D", tr("move")),
        ("Q E", tr("down, up")),
        (tr("Shift"), tr("faster")),
        (tr("Esc"), tr("leave")),
    ]


def _plain(event: QKeyEvent) -> bool:
    """A key without Ctrl, Alt or Meta, other than a function key or Esc."""
    modifiers = event.modifiers() & (
        Qt.KeyboardModifier.ControlModifier
        | Qt.KeyboardModifier.AltModifier
        | Qt.KeyboardModifier.MetaModifier
    )
    function = Qt.Key.Key_F1 <= event.key() <= Qt.Key.Key_F35
    return not modifiers and not function and event.key() != Qt.Key.Key_Escape
