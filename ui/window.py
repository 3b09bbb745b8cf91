"""The main window: puts canvas, rail, panels and cards together, and lets entries act."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QEvent, QObject, QPoint, QPointF, QSize, Qt, QTimer
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QDockWidget,
    QHBoxLayout,
    QLineEdit,
    QMainWindow,
    QMenuBar,
    QPlainTextEdit,
    QPushButton,
    QStackedWidget,
    QTabBar,
    QTabWidget,
    QTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from oniyanma.clouds.model import Vec3

from . import theme as themes
from .actions import ACTION_BAR, BY_ID, Entry
from .acts import Acts
from .bridge import Bridge
from .canvas import Canvas
from .cards import ActionBar, AnswerCard, Banner, KeyCap, Notice, Toast
from .dialogs import Dialogs, QtDialogs
from .forms import Services
from .key_sheet import KeySheet
from .keymap import Keymap, shown
from .menus import Actions, context_menu, fill_menus, tool_rail
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
from .values import crs_name

log = logging.getLogger(__name__)
LAYOUT = 4  # of the docks, for a stored layout to be trusted
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
        self._missing: set[str] = set()  # clouds a line was shown about

        self._build_top()
        self._build_centre()
        self._build_docks()
        self._build_overlays()
        self.status = StatusBar(keeper)
        self.status.job.cancelled.connect(bridge.cancel)
        self.setStatusBar(self.status)
        self._connect()
        self._restore_layout()
        self._show_palette_key()
        self._docked: QByteArray | None = None
        self._follow()
        self._job_line()

    # --- building ----------------------------------------------------------------------

    def _build_top(self) -> None:
        top = QWidget()
        top.setObjectName("topBar")
        top.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(top)
        row.setContentsMargins(8, 5, 8, 5)
        row.setSpacing(8)
        bar = QMenuBar()
        bar.setNativeMenuBar(False)
        self.menus = fill_menus(bar, self.actions_)
        self.field = QPushButton(tr("Type a command or ask…"))
        self.field.setObjectName("paletteField")
        self.field.setMinimumWidth(280)
        self.field.setMaximumWidth(440)
        self.field.clicked.connect(self.actions_["window.palette"].trigger)
        inside = QHBoxLayout(self.field)
        inside.setContentsMargins(0, 0, 8, 0)
        inside.addStretch(1)
        self.field_key = KeyCap("")
        self.field_key.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        inside.addWidget(self.field_key)
        row.addWidget(bar)
        row.addStretch(1)
        row.addWidget(self.field, 2)
        row.addStretch(1)
        self.theme_button = self._top_button("window.theme")
        self.keys_button = self._top_button("window.keys")
        row.addWidget(self.theme_button)
        row.addWidget(self.keys_button)
        self.setMenuWidget(top)

    def _top_button(self, entry: str) -> QToolButton:
        button = QToolButton()
        button.setDefaultAction(self.actions_[entry])
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        button.setIconSize(QSize(18, 18))
        button.setAccessibleName(tr(BY_ID[entry].title))
        return button

    def _build_centre(self) -> None:
        self.canvas = Canvas(self.bridge, self.keeper)
        self.overlay = Overlay(self.canvas, self.bridge, self.keeper)
        self.start = StartScreen(self.keeper)
        self.notice = Notice(self)
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
        self.docks: dict[str, QDockWidget] = {}
        right = self._dock("inspector", tr("Inspector"), self.inspector)
        self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, right)
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        first: QDockWidget | None = None
        for panel in self.panels.values():
            dock = self._dock(panel.name, tr(panel.title), panel)
            self.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
            if first is not None:
                self.tabifyDockWidget(first, dock)
            first = first or dock
        assert first is not None
        first.raise_()
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.resizeDocks([right], [304], Qt.Orientation.Horizontal)
        self.resizeDocks([first], [188], Qt.Orientation.Vertical)
        menu = self.menus["View"]
        menu.addSeparator()
        panels = menu.addMenu(tr("Panels"))
        for dock in self.docks.values():
            panels.addAction(dock.toggleViewAction())

    def _dock(self, name: str, title: str, widget: QWidget) -> QDockWidget:
        dock = QDockWidget(title, self)
        dock.setObjectName(f"dock.{name}")
        dock.setWidget(widget)
        dock.toggleViewAction().setObjectName(f"panel.{name}.toggle")
        if name != "inspector":
            grip = Grip(dock, self.keeper)
            dock.setTitleBarWidget(grip)
            dock.topLevelChanged.connect(
                lambda floating, dock=dock, grip=grip: dock.setTitleBarWidget(
                    None if floating else grip
                )
            )
        self.docks[name] = dock
        return dock

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
        bridge.told.connect(self._told)
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
        self.start.chosen.connect(self.acts.open_path)
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
            self.acts.clouds_changed(before, after)

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
        self._follow_missing()
        fly = BY_ID["view.fly"]
        flies = self.is_on(fly)
        if flies != self._flies:
            self._flies = flies
            self.refresh()
        self.actions_[fly.id].setChecked(flies)
        self.fly_button.setVisible(bool(state.clouds))
        self._on_resident()

    def _told(self, level: str, sentence: str) -> None:
        """What the scene says of itself; a missing file has a line with a way out of it."""
        if not any(reason in sentence for _, reason in self.bridge.missing().values()):
            self.notice.add(sentence)

    def _follow_missing(self) -> None:
        """One line for each cloud whose file can't be opened, until it is found."""
        missing = self.bridge.missing()
        for id in self._missing - set(missing):
            self.notice.drop(f"missing.{id}")
        for id, (entry, reason) in missing.items():
            if id not in self._missing:
                gone = "://" not in entry.path and not Path(entry.path).exists()
                folder = str(Path(entry.path).parent)
                self.notice.add(
                    tr(
                        "{name} is missing: it is no longer in {folder}",
                        name=entry.name,
                        folder=folder,
                    )
                    if gone
                    else tr("{name} can't be shown: {reason}", name=entry.name, reason=reason),
                    details=f"{entry.path}\n{reason}",
                    acts=[(tr("Locate…"), partial(self.acts.locate, id))],
                    key=f"missing.{id}",
                )
        self._missing = set(missing)

    def _turn_page(self, working: bool) -> None:
        """The start screen stands alone; with the first cloud the panels come as they were."""
        if working and (self._docked is not None or self.pages.currentIndex() == 0):
            docked, self._docked = self._docked, None
            self.pages.setCurrentIndex(1)
            if docked is not None:
                self.restoreState(docked, LAYOUT)
            self.canvas.setFocus(Qt.FocusReason.OtherFocusReason)
        elif not working and self._docked is None:
            self._docked = self.saveState(LAYOUT)
            self.pages.setCurrentIndex(0)
            for part in (self.rail, *self.docks.values()):
                part.hide()
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

    def show_panel(self, name: str) -> None:
        """Brings a panel to the front, and the keyboard into it."""
        dock = self.docks[name]
        dock.show()
        dock.raise_()
        first = next((w for w in dock.widget().findChildren(QWidget) if can_focus(w)), None)
        if first is not None:
            first.setFocus(Qt.FocusReason.OtherFocusReason)

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
        for path in dropped_paths(event):
            self.acts.open_path(path)

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
        for bar in self.findChildren(QTabBar):
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.setExpanding(False)
            bar.setDrawBase(False)

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
        self.acts.leaving()
        self.set_tool(None)
        if self.isVisible():
            self._store_layout()
        self.canvas.close_gl()
        self.bridge.close()
        event.accept()

    # --- layout, keys ------------------------------------------------------------------

    def _store_layout(self) -> None:
        self.settings.set(
            "layout",
            {
                "version": LAYOUT,
                "geometry": bytes(self.saveGeometry().toBase64().data()).decode(),
                "state": bytes((self._docked or self.saveState(LAYOUT)).toBase64().data()).decode(),
            },
        )

    def _restore_layout(self) -> None:
        stored = self.settings.get("layout")
        if isinstance(stored, dict) and stored.get("version") == LAYOUT:
            self.restoreGeometry(QByteArray.fromBase64(str(stored.get("geometry", "")).encode()))
            self.restoreState(QByteArray.fromBase64(str(stored.get("state", "")).encode()), LAYOUT)

    def _keys_changed(self) -> None:
        self.settings.set("keys", self.keymap.changes())
        self.actions_.bind()
        self._show_palette_key()

    def _show_palette_key(self) -> None:
        keys = self.keymap.keys("window.palette")
        self.field_key.setText(shown(keys[0]) if keys else "")
        self.field_key.setVisible(bool(keys))

    def _focus_canvas(self) -> None:
        if self.pages.currentIndex() == 1:
            self.canvas.setFocus(Qt.FocusReason.OtherFocusReason)

    def all_actions(self) -> list[QAction]:
        """Every QAction of the window, the panels' toggles among them."""
        return [
            *self.actions_.all.values(),
            *(dock.toggleViewAction() for dock in self.docks.values()),
        ]


def can_focus(widget: QWidget) -> bool:
    """Whether the keyboard can go there now."""
    return widget.isVisible() and bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)


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


class Grip(QWidget):
    """A slim title for docked panels, whose names stand on their tabs: drag it to move the panel
    or let it float, double-click to let it float."""

    def __init__(self, dock: QDockWidget, keeper: themes.ThemeKeeper) -> None:
        super().__init__(dock)
        self.keeper = keeper
        self.setFixedHeight(8)
        self.setToolTip(tr("Drag to move the panel, double-click to let it float"))

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.keeper.theme.color("border"))
            painter.drawRoundedRect(self.width() // 2 - 16, 3, 32, 3, 1.5, 1.5)


def crs_tip(crs: Any) -> str:
    """What stands behind the name of a reference system."""
    if crs is None:
        return ""
    parts = [
        crs.name,
        f"EPSG:{crs.epsg}" if crs.epsg else "",
        f"{crs.horizontal.name} / {crs.vertical.name}",
    ]
    return "\n".join(filter(None, parts))
