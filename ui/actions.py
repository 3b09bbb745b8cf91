"""What stands in menus, on the tool rail, in the context menu and under the keys, as data.

One `Entry` is one QAction, shared by every place that shows it. An entry names a registered
command with its arguments (``ask`` says how missing ones are found), or a window-only act such
as opening the palette, which can change nothing of the scene.
"""

from __future__ import annotations

from .entries_view import HELP, VIEW
from .entries_work import EDIT, FILE, FINDINGS, MEASURE, SELECT
from .entry import Entry

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
    ("W A S D Q E", "Move in fly mode; Shift faster, Esc leaves"),
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
