"""What stands in menus, on the tool rail, in the context menu and under the keys, as data.

One `Entry` is one QAction, shared by every place that shows it. An entry names a registered
command with its arguments (``ask`` says how missing ones are found), or a window-only act such
as opening the palette, which can change nothing of the scene.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

Ask = Literal["no", "form", "tool", "file", "confirm"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """``menu`` is the menu's title; entries of one ``section`` stand together.

    ``ask``: "no" the arguments are complete; "form" the palette asks for the missing ones;
    "tool" a tool of the view finds them; "file" a file dialog finds ``path``; "confirm" asks
    once, with the count. ``off``: the arguments where it is on already. ``act`` is the method of
    the window for what is no command.
    """

    id: str
    title: str
    menu: str
    section: int = 0
    command: str = ""
    args: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    off: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    ask: Ask = "no"
    tool: str = ""
    act: str = ""
    icon: str = ""
    keys: tuple[str, ...] = ()
    context: bool = False
    short: str = ""  # on the tool rail and the action bar
    hint: str = ""
    checkable: bool = False


def _command(id: str, title: str, menu: str, command: str, **rest: Any) -> Entry:
    return Entry(id=id, title=title, menu=menu, command=command, **rest)


FILE = (
    _command(
        "file.open",
        "Open…",
        "File",
        "openCloud",
        ask="file",
        icon="ph.folder-open",
        keys=("Ctrl+O",),
    ),
    Entry(
        id="file.sample",
        title="Open the sample",
        menu="File",
        act="open_sample",
        icon="ph.house-line",
    ),
    _command("file.close", "Close a cloud…", "File", "closeCloud", ask="form", icon="ph.x"),
    _command(
        "project.open",
        "Open project…",
        "File",
        "openProject",
        section=1,
        ask="file",
        icon="ph.archive-box",
    ),
    _command(
        "project.save",
        "Save project",
        "File",
        "saveProject",
        section=1,
        ask="file",
        icon="ph.floppy-disk",
        keys=("Ctrl+S",),
    ),
    _command(
        "project.saveAs",
        "Save project as…",
        "File",
        "saveProject",
        section=1,
        ask="file",
        keys=("Ctrl+Shift+S",),
    ),
    _command(
        "file.export",
        "Export points…",
        "File",
        "exportCloud",
        section=2,
        ask="file",
        icon="ph.export",
        keys=("Ctrl+E",),
    ),
    _command(
        "file.exportSelection",
        "Export the selection…",
        "File",
        "exportCloud",
        section=2,
        args={"include": "selection"},
        ask="file",
    ),
    _command(
        "file.report",
        "Export a report…",
        "File",
        "exportReport",
        section=2,
        ask="form",
        icon="ph.file-text",
    ),
    Entry(id="file.quit", title="Quit", menu="File", section=3, act="close", keys=("Ctrl+Q",)),
)

EDIT = (
    _command("edit.undo", "Undo", "Edit", "undo", icon="ph.arrow-u-up-left", keys=("Ctrl+Z",)),
    _command(
        "edit.redo",
        "Redo",
        "Edit",
        "redo",
        icon="ph.arrow-u-up-right",
        keys=("Ctrl+Shift+Z", "Ctrl+Y"),
    ),
    _command(
        "edit.classify",
        "Classify the selection…",
        "Edit",
        "reclassifySelection",
        section=1,
        ask="form",
        icon="ph.tag",
        keys=("C",),
        context=True,
        short="Class",
    ),
    _command(
        "edit.hide",
        "Hide the selection",
        "Edit",
        "hideSelection",
        section=1,
        icon="ph.eye-slash",
        keys=("H",),
        context=True,
        short="Hide",
    ),
    _command(
        "edit.delete",
        "Delete the selection",
        "Edit",
        "deleteSelection",
        section=1,
        icon="ph.trash",
        keys=("Del",),
        context=True,
        short="Delete",
    ),
    _command(
        "edit.color",
        "Colour the selection…",
        "Edit",
        "colorSelection",
        section=1,
        ask="form",
        icon="ph.paint-brush",
        context=True,
        short="Colour",
    ),
    _command(
        "edit.clear",
        "Clear all edits…",
        "Edit",
        "clearEdits",
        section=2,
        ask="confirm",
        icon="ph.eraser",
    ),
)

SELECT = (
    _command(
        "tool.select",
        "Select a rectangle",
        "Select",
        "selectPolygon",
        ask="tool",
        tool="select",
        icon="ph.selection",
        keys=("V",),
        short="Select",
        checkable=True,
        args={"space": "screen"},
    ),
    _command(
        "tool.lasso",
        "Lasso",
        "Select",
        "selectPolygon",
        ask="tool",
        tool="lasso",
        icon="mdi6.lasso",
        keys=("L",),
        short="Lasso",
        checkable=True,
        args={"space": "screen"},
    ),
    _command(
        "tool.polygon",
        "Polygon by clicks",
        "Select",
        "selectPolygon",
        ask="tool",
        tool="polygon",
        icon="ph.polygon",
        keys=("P",),
        short="Polygon",
        checkable=True,
        args={"space": "screen"},
    ),
    _command(
        "tool.box",
        "Box in the world",
        "Select",
        "selectBox",
        ask="tool",
        tool="box",
        icon="ph.cube",
        keys=("B",),
        short="Box",
        checkable=True,
    ),
    _command(
        "select.where",
        "Select by attribute…",
        "Select",
        "selectWhere",
        section=1,
        ask="form",
        icon="ph.funnel",
        keys=("Ctrl+F",),
    ),
    _command(
        "select.invert",
        "Invert the selection",
        "Select",
        "invertSelection",
        section=1,
        icon="ph.selection-inverse",
        keys=("Ctrl+I",),
        context=True,
    ),
    _command(
        "select.clear",
        "Clear the selection",
        "Select",
        "clearSelection",
        section=1,
        icon="ph.selection-slash",
        keys=("Ctrl+D",),
        context=True,
    ),
    _command(
        "select.fit",
        "Frame the selection",
        "Select",
        "fitView",
        section=1,
        args={"to": "selection"},
        icon="ph.frame-corners",
        keys=("Shift+F",),
        context=True,
    ),
)

PRESETS = ("top", "bottom", "front", "back", "left", "right", "iso")
VIEW = (
    _command(
        "view.fit",
        "Fit everything",
        "View",
        "fitView",
        args={"to": "all"},
        icon="ph.corners-out",
        keys=("F",),
        context=True,
        short="Fit",
    ),
    *(
        _command(
            f"view.{name}",
            title,
            "View",
            "setCamera",
            section=1,
            args={"preset": name},
            keys=(str(number),),
        )
        for number, (name, title) in enumerate(
            zip(
                PRESETS,
                (
                    "Top view",
                    "Bottom view",
                    "Front view",
                    "Back view",
                    "Left view",
                    "Right view",
                    "Isometric view",
                ),
                strict=True,
            ),
            1,
        )
    ),
    _command(
        "view.perspective",
        "Perspective",
        "View",
        "setCamera",
        section=2,
        args={"projection": "perspective"},
        icon="ph.cube",
    ),
    _command(
        "view.orthographic",
        "Orthographic",
        "View",
        "setCamera",
        section=2,
        args={"projection": "orthographic"},
        icon="ph.square",
    ),
    _command(
        "view.orbit",
        "Orbit",
        "View",
        "setCamera",
        section=2,
        args={"mode": "orbit"},
        icon="ph.arrows-clockwise",
    ),
    _command(
        "view.fly",
        "Fly (WASD)",
        "View",
        "setCamera",
        section=2,
        args={"mode": "fly"},
        off={"mode": "orbit"},
        icon="ph.paper-plane-tilt",
        keys=("Y",),
        checkable=True,
    ),
    _command(
        "tool.section",
        "Section…",
        "View",
        "setClip",
        section=3,
        ask="tool",
        tool="section",
        icon="ph.knife",
        keys=("S",),
        short="Section",
        checkable=True,
    ),
    _command(
        "tool.clip",
        "Clip box",
        "View",
        "setClip",
        section=3,
        ask="tool",
        tool="clip",
        icon="ph.bounding-box",
        keys=("X",),
        short="Clip",
        checkable=True,
    ),
    _command(
        "clip.clear",
        "Remove the clip",
        "View",
        "setClip",
        section=3,
        args={"clear": True},
        keys=("Shift+X",),
    ),
    *(
        _command(f"color.{mode}", title, "Colour", "setColorMode", args={"mode": mode})
        for mode, title in (
            ("rgb", "Colour as scanned"),
            ("elevation", "Colour by elevation"),
            ("intensity", "Colour by intensity"),
            ("classification", "Colour by class"),
            ("return", "Colour by return number"),
            ("source", "Colour by point source"),
            ("gpsTime", "Colour by GPS time"),
            ("uniform", "One colour"),
        )
    ),
    _command(
        "view.edlOn",
        "Eye-dome lighting on",
        "View",
        "setEyeDomeLighting",
        section=4,
        args={"enabled": True},
        icon="ph.lightbulb",
    ),
    _command(
        "view.edlOff",
        "Eye-dome lighting off",
        "View",
        "setEyeDomeLighting",
        section=4,
        args={"enabled": False},
    ),
    _command(
        "view.bookmark",
        "Bookmark this view…",
        "View",
        "saveBookmark",
        section=5,
        ask="form",
        icon="ph.bookmark-simple",
        keys=("Ctrl+B",),
    ),
    Entry(
        id="window.panels",
        title="Show or hide the panels",
        menu="View",
        section=6,
        act="toggle_panels",
        icon="ph.columns",
        keys=("Ctrl+J",),
    ),
    Entry(
        id="window.theme",
        title="Light or dark",
        menu="View",
        section=6,
        act="toggle_theme",
        icon="ph.circle-half",
    ),
)

MEASURE = (
    _command(
        "tool.measure",
        "Measure a distance",
        "Measure",
        "addMeasurement",
        ask="tool",
        tool="measure",
        args={"kind": "distance"},
        icon="ph.ruler",
        keys=("M",),
        short="Measure",
        checkable=True,
    ),
    *(
        _command(
            f"measure.{kind}",
            title,
            "Measure",
            "addMeasurement",
            ask="tool",
            tool="measure",
            args={"kind": kind},
            icon=icon,
            keys=keys,
            checkable=True,
        )
        for kind, title, icon, keys in (
            ("point", "Mark a point", "ph.crosshair", ()),
            ("height", "Measure a height", "ph.arrows-down-up", ("Shift+M",)),
            ("angle", "Measure an angle", "ph.triangle", ()),
            ("area", "Measure an area", "ph.polygon", ()),
            ("volume", "Measure a volume", "ph.cube", ()),
            ("profile", "Measure a profile", "ph.path", ()),
        )
    ),
)

FINDINGS = (
    _command(
        "tool.finding",
        "Finding at a point",
        "Findings",
        "addFinding",
        ask="tool",
        tool="finding",
        icon="ph.flag",
        keys=("N",),
        short="Finding",
        checkable=True,
    ),
    _command(
        "finding.confirm",
        "Confirm a finding…",
        "Findings",
        "confirmFinding",
        section=1,
        ask="form",
        icon="ph.check-circle",
    ),
    _command(
        "finding.reject",
        "Reject a finding…",
        "Findings",
        "rejectFinding",
        section=1,
        ask="form",
        icon="ph.x-circle",
    ),
    _command(
        "batch.accept",
        "Accept a proposed batch…",
        "Findings",
        "acceptBatch",
        section=2,
        ask="form",
        icon="ph.checks",
    ),
    _command("batch.revert", "Revert a batch…", "Findings", "revertBatch", section=2, ask="form"),
)

HELP = (
    Entry(
        id="window.palette",
        title="Type a command…",
        menu="Help",
        act="open_palette",
        icon="ph.magnifying-glass",
        keys=("Ctrl+K",),
    ),
    Entry(
        id="window.keys",
        title="Keyboard shortcuts",
        menu="Help",
        act="show_keys",
        icon="ph.keyboard",
        keys=("?", "Shift+?", "F1"),
    ),
    Entry(
        id="window.cancel",
        title="Leave, or clear the selection",
        menu="Help",
        act="escape",
        keys=("Esc",),
    ),
    Entry(id="window.about", title="About oniyanma", menu="Help", act="about", icon="ph.info"),
)

ENTRIES: tuple[Entry, ...] = (*FILE, *EDIT, *SELECT, *VIEW, *MEASURE, *FINDINGS, *HELP)
MENUS = ("File", "Edit", "Select", "View", "Colour", "Measure", "Findings", "Help")
PANELS = (
    ("inspector", "Inspector"),
    ("clouds", "Clouds"),
    ("edits", "Edits"),
    ("findings", "Findings"),
    ("batches", "Batches"),
    ("measures", "Measures"),
    ("views", "Views"),
    ("log", "Log"),
)
RAIL = (
    ("tool.select", "tool.lasso", "tool.polygon", "tool.box"),
    ("edit.classify", "edit.hide", "edit.delete"),
    ("tool.measure", "tool.section", "tool.clip", "tool.finding"),
    ("view.fit",),
)
ACTION_BAR = ("edit.hide", "edit.delete", "edit.classify", "edit.color")

# Keys a tool or the view takes while it is active; the sheet shows them, nobody can rebind them.
VIEW_KEYS: tuple[tuple[str, str], ...] = (
    ("Drag", "Orbit around the point under the cursor"),
    ("Right drag, Shift+drag", "Pan"),
    ("Wheel, pinch", "Zoom to the cursor"),
    ("Double-click", "Set the pivot"),
    ("Space + drag", "Orbit while a tool is active"),
    ("Enter", "Finish the tool's shape"),
    ("Backspace", "Take the last point back"),
    ("Shift / Alt on finishing", "Add to / take from the selection"),
    ("W A S D Q E", "Move, in fly mode only; Shift is faster, Esc leaves it"),
    ("Arrows, Shift+arrows", "Move the tool's cross, and move it finely"),
    ("Enter after arrows", "Click at the cross"),
    ("[ and ]", "Step the section back and forth"),
)


def by_id() -> dict[str, Entry]:
    """Entries by id; two with one id are a mistake found on import."""
    table: dict[str, Entry] = {}
    for entry in ENTRIES:
        if entry.id in table:
            raise ValueError(f"Two entries are called {entry.id!r}; give one another id.")
        table[entry.id] = entry
    return table


BY_ID = by_id()
