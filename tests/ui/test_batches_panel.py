"""Reviewing what a machine proposes: its steps, what they hit, before and after, accept."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from oniyanma.registry import Actor
from oniyanma.scene.ports import DELETED

MACHINE = Actor("ai", "a model", instruction="tidy up", participant="elsewhere")
STEPS = [
    {"name": "selectWhere", "args": {"classes": [6]}},
    {"name": "reclassifySelection", "args": {"class": 17}},
    {"name": "selectWhere", "args": {"classes": [5]}},
    {"name": "deleteSelection", "args": {}},
]


def count(desk: Any, of: int) -> int:
    nodes = desk.session.view.resident()
    return sum(int(((n.classification == of) & ((n.flags & DELETED) == 0)).sum()) for n in nodes)


def propose(desk: Any) -> Any:
    handle = desk.session.handle(MACHINE)
    answer = handle.execute("proposeBatch", {"title": "Tidy", "commands": STEPS})
    assert answer["ok"], answer
    panel = desk.window.panels["batches"]
    desk.window.docks["batches"].raise_()
    desk.qtbot.waitUntil(panel.isVisible)
    panel.tree.setCurrentItem(panel.tree.topLevelItem(0))
    return panel


def press(desk: Any, panel: Any, text: str) -> None:
    button = next(b for b in panel.findChildren(QPushButton) if b.text() == text)
    assert button.isEnabled()
    desk.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    desk.settle()


def test_a_proposed_batch_shows_its_steps_and_what_each_hits(town: Any) -> None:
    buildings, trees = count(town, 6), count(town, 5)
    assert buildings and trees
    batch = propose(town).tree.topLevelItem(0)
    assert batch.text(0).startswith("┄ Tidy") and batch.text(2) == "Proposed"
    steps = [batch.child(i) for i in range(batch.childCount())]
    assert [step.text(0).split("  ")[0] for step in steps] == [
        "Select by attribute", "Classify selection", "Select by attribute", "Delete selection",
    ]  # fmt: skip
    assert steps[1].text(1) == f"{buildings:,} on screen"
    assert steps[3].text(1) == f"{trees:,} on screen"


def test_after_and_before_are_a_switch_that_does_nothing(town: Any) -> None:
    panel = propose(town)
    buildings, before = count(town, 6), town.session.scene.state
    press(town, panel, "Show after")
    assert (count(town, 6), count(town, 17), count(town, 5)) == (0, buildings, 0)
    press(town, panel, "Show before")
    assert count(town, 6) == buildings
    assert town.session.scene.state is before
    assert [name for name, _, _ in town.spy.calls if name == "acceptBatch"] == []


def test_a_person_accepts_with_one_click_and_takes_it_back_with_one_undo(town: Any) -> None:
    panel = propose(town)
    buildings = count(town, 6)
    press(town, panel, "Show after")
    press(town, panel, "Accept")
    assert count(town, 6) == 0
    assert panel.tree.topLevelItem(0).text(2) == "Applied"
    assert not panel.after.isChecked() and not panel.after.isEnabled()
    town.key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    town.settle()
    assert count(town, 6) == buildings
