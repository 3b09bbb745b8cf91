"""Keys: every default parses, none clashes, changes are kept and conflicts are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oniyanma.ui.actions import BY_ID, ENTRIES, MENUS, RAIL
from oniyanma.ui.keymap import Keymap, normal

EXPECTED = {
    "window.palette": "Ctrl+K",
    "file.open": "Ctrl+O",
    "edit.undo": "Ctrl+Z",
    "edit.redo": "Ctrl+Shift+Z",
    "project.save": "Ctrl+S",
    "file.export": "Ctrl+E",
    "tool.select": "V",
    "tool.lasso": "L",
    "tool.box": "B",
    "tool.measure": "M",
    "edit.classify": "C",
    "tool.finding": "N",
    "edit.hide": "H",
    "edit.delete": "Del",
    "view.fit": "F",
    "view.top": "1",
    "view.iso": "7",
    "window.cancel": "Esc",
    "window.keys": "?",
}


def test_every_key_of_the_table_is_one_that_qt_knows() -> None:
    assert all(normal(key) for entry in ENTRIES for key in entry.keys)


@pytest.mark.parametrize(("entry", "key"), EXPECTED.items())
def test_the_conventional_keys_do_what_people_expect(entry: str, key: str) -> None:
    keymap = Keymap()
    assert normal(key) in keymap.keys(entry)
    assert keymap.entry_of(key) == entry


def test_no_two_entries_want_one_key() -> None:
    assert Keymap().conflicts() == []


def test_a_conflict_is_shown_and_runs_neither() -> None:
    keymap = Keymap()
    assert keymap.rivals("edit.hide", "L") == ["tool.lasso"]
    keymap.bind("edit.hide", ["L"])
    (conflict,) = keymap.conflicts()
    assert conflict.key == "L"
    assert set(conflict.entries) == {"tool.lasso", "edit.hide"}
    assert keymap.entry_of("L") is None


def test_a_key_that_was_taken_away_stays_away_after_a_restart() -> None:
    keymap = Keymap()
    keymap.bind("edit.hide", [])
    again = Keymap(changes=keymap.changes())
    assert keymap.changes() == {"edit.hide": None}
    assert again.keys("edit.hide") == ()
    again.reset("edit.hide")
    assert again.keys("edit.hide") == ("H",)


def test_what_is_no_key_is_refused_with_an_example() -> None:
    with pytest.raises(ValueError, match=r"Ctrl\+Shift\+K"):
        Keymap().bind("edit.hide", ["Wibble"])
    with pytest.raises(ValueError, match="no entry"):
        Keymap().bind("edit.nothing", ["X"])


@given(
    st.dictionaries(
        st.sampled_from(sorted(BY_ID)),
        st.lists(st.sampled_from(["A", "Ctrl+Shift+P", "F5", "L", "Del"]), max_size=2),
    )
)
def test_changes_read_back_give_the_same_map(changes: dict[str, list[str]]) -> None:
    one = Keymap()
    for entry, keys in changes.items():
        one.bind(entry, keys)
    two = Keymap(changes=one.changes())
    assert all(one.keys(entry) == two.keys(entry) for entry in BY_ID)


def test_entries_stand_in_menus_there_are() -> None:
    assert {entry.menu for entry in ENTRIES} == set(MENUS)
    assert all(name in BY_ID for group in RAIL for name in group)
