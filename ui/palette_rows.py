"""What the palette can offer, and how well each offer fits what was typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rapidfuzz import fuzz

from . import values
from .actions import ENTRIES, PANELS
from .entry import Entry
from .keymap import Keymap, normal, shown
from .numbers import integer
from .text import tr


@dataclass(frozen=True)
class Row:
    """One line of the palette. ``key`` is stable: it is what "used last" remembers."""

    key: str
    title: str
    group: str
    detail: str = ""
    keys: str = ""
    icon: str = ""
    command: str = ""
    args: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    entry: Entry | None = None
    act: str = ""
    reason: str = ""
    hits: str = ""
    color: str = ""
    search: str = ""
    asks_only: bool = False  # a read-only command: it shows an answer and changes nothing


def _words(text: str) -> list[str]:
    return text.replace("-", " ").replace("(", " ").replace(",", " ").split()


def rows(bridge: Any, keymap: Keymap, recent: Sequence[str], used: Sequence[str]) -> list[Row]:
    """Every offer there is now, those used last first."""
    found = [*_entries(bridge, keymap), *_commands(bridge), *_values(bridge)]
    found += [*_panels(), *_recent(recent)]
    reasons: dict[str, str] = {}
    done = []
    selected = bridge.selected_points() if bridge.state.selection.rule is not None else None
    for row in found:
        if row.command:
            if row.command not in reasons:
                schema = bridge.command(row.command).input_schema
                nothing = values.nothing_to_choose(row.command, schema, row.args, bridge.state)
                reasons[row.command] = bridge.reason(row.command) or nothing
            hits = ""
            command = bridge.command(row.command)
            acts = command.destructive and "has_selection" in command.conditions
            if acts and selected is not None:
                hits = tr("{points} points on screen", points=integer(selected))
            row = replace(row, reason=reasons[row.command], hits=hits)
        done.append(row)
    order = {key: place for place, key in enumerate(used)}
    return sorted(done, key=lambda row: order.get(row.key, len(order)))


def search(query: str, offers: Sequence[Row], limit: int = 60) -> list[Row]:
    """The offers that fit best. Whole words at their beginnings count more than letters
    somewhere; what can't run now stands behind what can."""
    query = query.strip().lower()
    if not query:
        return list(offers[:limit])
    words = query.split()
    scored = []
    for place, row in enumerate(offers):
        title = row.title.lower()
        heads = title.replace("-", " ").replace("“", "").split()
        rest = row.search.lower()
        if all(any(part.startswith(word) for part in heads) for word in words):
            score = 120.0 + 15.0 * title.startswith(query) + 10.0 * (title.rstrip("…") == query)
        elif all(any(part.startswith(word) for part in (*heads, *_words(rest))) for word in words):
            inside = sum(any(part.startswith(word) for part in heads) for word in words)
            score = 84.0 + 10.0 * inside / len(words)
        else:
            score = fuzz.WRatio(query, title) * 0.95
            if len(query) > 4:
                score = max(score, 0.8 * fuzz.partial_ratio(query, rest))
        if row.asks_only:
            score -= 20.0
        if row.command.lower() == query and not row.args:  # who knows its name means it
            score = 150.0
        if row.reason:
            score -= 6.0
        if score >= 62.0:
            scored.append((-score, place, row))
    scored.sort(key=lambda item: item[:2])
    if scored and scored[0][0] <= -100.0:  # words that fit make guesses needless
        scored = [item for item in scored if item[0] <= -80.0]
    found = [row for _, _, row in scored[:limit]]
    return [*_key_row(query, offers), *found]


def _key_row(query: str, offers: Sequence[Row]) -> list[Row]:
    """ "What is this key": the row a typed key runs."""
    key = normal(query.title() if len(query) > 1 else query.upper())
    if not key or (len(query) > 1 and "+" not in query and not query.lower().startswith("f")):
        return []
    for row in offers:
        if row.entry is not None and shown(key) in row.keys.split("  "):
            return [replace(row, detail=tr("is what {key} does", key=shown(key)))]
    return []


def console_row(query: str, ready: bool) -> Row:
    """What a sentence nobody knows becomes."""
    return Row(
        key="console",
        title=tr("Ask the console: “{query}”", query=query),
        group=tr("Console"),
        icon="ph.chat-circle",
        act="ask_console",
        args={"question": query},
        reason="" if ready else tr("No console is connected to this window."),
    )


def _entries(bridge: Any, keymap: Keymap) -> Iterable[Row]:
    for entry in ENTRIES:
        if entry.act in ("open_palette", "escape"):
            continue
        description = bridge.command(entry.command).description if entry.command else ""
        yield Row(
            key=entry.id,
            title=tr(entry.title),
            group=tr(entry.menu),
            keys="  ".join(shown(key) for key in keymap.keys(entry.id)),
            icon=entry.icon,
            command=entry.command,
            args=entry.args,
            entry=entry,
            act=entry.act,
            search=f"{entry.menu} {description} {entry.command}",
        )


def _commands(bridge: Any) -> Iterable[Row]:
    plain = {entry.command for entry in ENTRIES if not entry.args and not entry.tool}
    for command in bridge.registry:
        if command.name in plain:
            continue
        yield Row(
            key=f"command.{command.name}",
            title=tr(command.title),
            group=tr(command.group),
            command=command.name,
            icon="ph.info" if command.readonly else "ph.command",
            search=f"{command.group} {command.description} {command.name}",
            asks_only=command.readonly,
        )


def _values(bridge: Any) -> Iterable[Row]:
    state = bridge.state
    for choice in values.classes(state)[: len(values.CLASS_NAMES)]:
        name = values.class_name(choice.value)
        yield Row(
            key=f"class.{choice.value}",
            title=tr("Classify as {name}", name=name),
            group=tr("Edit"),
            command="reclassifySelection",
            args={"class": choice.value},
            color=choice.color,
            search=f"class {choice.value} reclassify",
        )
        yield Row(
            key=f"select.class.{choice.value}",
            title=tr("Select {name}", name=name),
            group=tr("Select"),
            command="selectWhere",
            args={"classes": [choice.value]},
            color=choice.color,
            search=f"class {choice.value}",
        )
        yield Row(
            key=f"only.class.{choice.value}",
            title=tr("Show only {name}", name=name),
            group=tr("Classes"),
            command="setClassVisibility",
            args={"classes": [choice.value], "visible": True, "only": True},
            color=choice.color,
            search=f"class {choice.value} visible",
        )
    for choice in values.bookmarks(state):
        yield Row(
            key=f"bookmark.{choice.value}",
            title=tr("Go to {name}", name=choice.title),
            group=tr("Views"),
            command="setCamera",
            args={"bookmark": choice.value},
            icon="ph.bookmark-simple",
            search="bookmark view",
        )
    for choice in values.clouds(state):
        yield Row(
            key=f"cloud.{choice.value}",
            title=tr("Frame {name}", name=choice.title),
            group=tr("Clouds"),
            detail=choice.detail,
            command="fitView",
            args={"to": "cloud", "id": choice.value},
            icon="ph.cloud",
            search="cloud fit",
        )
    for choice in values.findings()(state):
        yield Row(
            key=f"finding.{choice.value}",
            title=tr("Go to “{name}”", name=choice.title),
            group=tr("Findings"),
            detail=choice.detail,
            command="fitView",
            args={"to": "finding", "id": choice.value},
            icon="ph.flag",
            search="finding",
        )


def _panels() -> Iterable[Row]:
    for name, title in PANELS:
        yield Row(
            key=f"panel.{name}",
            title=tr("Show the panel {name}", name=tr(title)),
            group=tr("View"),
            act="show_panel",
            args={"panel": name},
            icon="ph.columns",
            search="panel dock list tab",
        )


def _recent(recent: Sequence[str]) -> Iterable[Row]:
    for path in recent:
        yield Row(
            key=f"recent.{path}",
            title=tr("Open {name}", name=Path(path).name),
            group=tr("Recent"),
            detail=str(Path(path).parent),
            command="openCloud",
            args={"path": path},
            icon="ph.clock",
            search="recent file",
        )
