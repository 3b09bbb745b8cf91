"""Clouds, edits, findings, batches, measures and the command log."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTreeWidgetItem

from oniyanma.registry.actor import Actor
from oniyanma.scene import history

from .. import theme as themes
from ..clipboard import copy_text
from ..numbers import clock, decimals_of, integer, number, percent
from ..text import tr
from ..values import crs_name
from .base import KEY, ListPanel

STATES = {
    "open": "Open",
    "confirmed": "Confirmed",
    "rejected": "Rejected",
    "withdrawn": "Withdrawn",
    "proposed": "Proposed",
    "applied": "Applied",
    "reverted": "Reverted",
}


class CloudsPanel(ListPanel):
    name, title = "clouds", "Clouds"
    columns = ("Cloud", "Points", "Reference system", "State")
    empty = "Open clouds stand here. Drop a file on the window, or press Ctrl+O."

    def __init__(self, bridge: Any, keeper: themes.ThemeKeeper, locate: Any) -> None:
        super().__init__(bridge, keeper)
        self.tree.itemChanged.connect(self._checked)
        self.tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # tiles differ in their ends
        self.button(
            tr("Frame"),
            lambda k: self.activated(k),
            fits=lambda k: bridge.info(k) is not None,
            command="fitView",
        )
        self.locate = self.button(
            tr("Locate…"), locate, fits=lambda k: k in bridge.missing(), command="locate"
        )
        self.button(
            tr("Close"), lambda k: bridge.run("closeCloud", {"cloud": k}), command="closeCloud"
        )
        bridge.resident_changed.connect(self._tick)

    def watched(self, state: Any) -> Any:
        return state.clouds, tuple(self.bridge.missing())

    def refresh(self) -> None:
        missing = self.bridge.missing()
        self.locate.setVisible(bool(missing))
        for entry in self.bridge.committed.clouds:
            info = self.bridge.info(entry.id)
            if info is None:
                _, reason = missing.get(entry.id, (entry, ""))
                item = self.row(
                    entry.id, [entry.name, "", "", tr("Missing")], tip=f"{entry.path}\n{reason}"
                )
                item.setForeground(3, self.keeper.theme.color("loss"))
                continue
            cloud = self.bridge.cloud(entry.id)
            warnings = [warning.message for warning in info.warnings]
            item = self.row(
                entry.id,
                [
                    entry.name,
                    integer(info.points),
                    crs_name(info.crs),
                    self._state(cloud, warnings),
                ],
                align=(1,),
                tip="\n".join([entry.path, *warnings]),
            )
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(
                0, Qt.CheckState.Checked if entry.visible else Qt.CheckState.Unchecked
            )
            if warnings or (cloud is not None and cloud.state == "failed"):
                role = "loss" if cloud is not None and cloud.state == "failed" else "accent_text"
                item.setForeground(3, self.keeper.theme.color(role))
                item.setToolTip(3, "\n".join(warnings))

    def _state(self, cloud: Any, warnings: list[str]) -> str:
        if cloud is not None and cloud.state == "indexing":
            return tr("Indexing {done}", done=percent(cloud.progress))
        if cloud is not None and cloud.state == "failed":
            return tr("Failed: {reason}", reason=cloud.reason)
        if warnings:
            return (
                tr("● {count} remarks", count=len(warnings))
                if len(warnings) > 1
                else tr("● 1 remark")
            )
        return tr("Ready")

    def _tick(self) -> None:
        if not self.isVisible():
            return
        for index in range(self.tree.topLevelItemCount()):
            item = self.tree.topLevelItem(index)
            cloud = self.bridge.cloud(item.data(0, KEY)) if item is not None else None
            if item is None or cloud is None:
                continue
            info = self.bridge.view.cloud_info(cloud.id)
            text = self._state(cloud, [warning.message for warning in info.warnings])
            if item.text(3) != text:
                self.tree.blockSignals(True)
                item.setText(3, text)
                item.setText(1, integer(info.points))
                self.tree.blockSignals(False)

    def _checked(self, item: QTreeWidgetItem, column: int) -> None:
        if column == 0:
            visible = item.checkState(0) == Qt.CheckState.Checked
            self.bridge.run("setCloudVisibility", {"cloud": item.data(0, KEY), "visible": visible})

    def activated(self, key: str) -> None:
        self.bridge.run("fitView", {"to": "cloud", "id": key})


class EditsPanel(ListPanel):
    name, title = "edits", "Edits"
    columns = ("Edit", "Points", "When")
    empty = (
        "Everything you change stands here and can be undone. Select points, then press C, H "
        "or Del."
    )

    def __init__(self, bridge: Any, keeper: themes.ThemeKeeper, show: Any = None) -> None:
        super().__init__(bridge, keeper)
        self._show = show
        self.tree.currentItemChanged.connect(lambda *_: self._lit())

    def watched(self, state: Any) -> Any:
        return state.events

    def refresh(self) -> None:
        events = self.bridge.committed.events
        alive = history.active_events(events)
        for event in reversed(events):
            if event.kind not in ("step", "clear"):
                continue
            points = integer(event.points) if event.points is not None else ""
            title = event.title[:1].upper() + event.title[1:]
            self.row(
                str(event.seq),
                [title, points, clock(event.time)],
                actor=event.actor,
                faded=event.seq not in alive,
                align=(1, 2),
            )

    def _lit(self) -> None:
        if self._show is not None:
            key = self.current()
            self._show(int(key) if key else None)


class FindingsPanel(ListPanel):
    name, title = "findings", "Findings"
    columns = ("Finding", "Severity", "Status")
    empty = "Remarks at a place stand here. Press N and click the point one is about."

    def __init__(self, bridge: Any, keeper: themes.ThemeKeeper) -> None:
        super().__init__(bridge, keeper)
        for title, command, fitting in (
            (tr("Confirm"), "confirmFinding", ("open", "rejected")),
            (tr("Reject"), "rejectFinding", ("open", "confirmed")),
            (tr("Withdraw"), "deleteFinding", ("open", "confirmed", "rejected")),
            (tr("Restore"), "restoreFinding", ("withdrawn",)),
        ):
            self.button(
                title,
                partial(self._decide, command),
                fits=partial(self._fits, fitting),
                command=command,
            )

    def _decide(self, command: str, key: str) -> None:
        self.bridge.run(command, {"id": key})

    def _fits(self, states: tuple[str, ...], key: str) -> bool:
        return self._status(key) in states

    def _status(self, key: str) -> str:
        finding = self.bridge.committed.findings.get(key)
        return finding.status if finding is not None else ""

    def watched(self, state: Any) -> Any:
        return state.findings

    def refresh(self) -> None:
        theme = self.keeper.theme
        for finding in self.bridge.committed.findings.values():
            color = {"confirmed": theme.done, "rejected": theme.loss}.get(finding.status, "")
            self.row(
                finding.id,
                [finding.title, tr(finding.severity.capitalize()), tr(STATES[finding.status])],
                actor=finding.author,
                faded=finding.status == "withdrawn",
                color=color,
                tip=finding.note,
            )

    def activated(self, key: str) -> None:
        self.bridge.run("fitView", {"to": "finding", "id": key})


class MeasuresPanel(ListPanel):
    name, title = "measures", "Measures"
    columns = ("Measure", "Kind", "Value")
    empty = "Distances, heights, areas and volumes stand here. Press M and click two points."

    def __init__(self, bridge: Any, keeper: themes.ThemeKeeper) -> None:
        super().__init__(bridge, keeper)
        self.tree.itemClicked.connect(self._copy)
        self.button(tr("Frame"), lambda k: self.activated(k), command="fitView")
        self.button(
            tr("Delete"),
            lambda k: bridge.run("deleteMeasurement", {"id": k}),
            command="deleteMeasurement",
        )

    def _copy(self, item: QTreeWidgetItem, column: int) -> None:
        """A click on a value copies it, as everywhere in the window."""
        if column == 2:
            self.copied.emit(copy_text(item.text(column)))

    def watched(self, state: Any) -> Any:
        return state.measurements

    def refresh(self) -> None:
        for one in self.bridge.committed.measurements.values():
            text = self.bridge.measured(one.kind, one.values)
            if one.kind == "point":
                info = self.bridge.first_info()
                scale = info.scale if info is not None else (0.001, 0.001, 0.001)
                text = "  ".join(
                    number(part, decimals_of(step))
                    for part, step in zip(one.points[0], scale, strict=True)
                )
                if unit := self.bridge.unit():
                    text = f"{text}\N{NO-BREAK SPACE}{unit}"
            self.row(
                one.id,
                [one.name or tr(one.kind.capitalize()), tr(one.kind.capitalize()), text],
                actor=one.author,
                align=(2,),
            )

    def activated(self, key: str) -> None:
        self.bridge.run("fitView", {"to": "measurement", "id": key})


class LogPanel(ListPanel):
    name, title = "log", "Log"
    columns = ("Command", "Arguments", "Outcome", "When")
    wide = 1
    empty = "Every command that ran stands here, with who gave it."
    LIMIT = 200

    def refresh(self) -> None:
        answer = self.bridge.read("getCommandLog", {"limit": self.LIMIT})
        theme = self.keeper.theme
        for line in reversed((answer or {}).get("entries", [])):
            actor = line.get("actor", {})
            arguments = "  ".join(f"{k} {_short(v)}" for k, v in line.get("arguments", {}).items())
            outcome = str(line.get("outcome", ""))
            item = self.row(
                str(line.get("seq")),
                [
                    str(line.get("command")),
                    arguments,
                    tr(outcome),
                    clock(str(line.get("time", ""))),
                ],
                actor=_actor(actor),
                align=(3,),
                tip=arguments,
            )
            if outcome in ("refused", "failed"):
                item.setForeground(2, theme.color("loss"))


def _actor(facts: dict[str, Any]) -> Actor:
    kind = facts.get("kind", "human")
    return Actor(kind, str(facts.get("name", "")), str(facts.get("instruction", "")))


def _short(value: Any) -> str:
    if isinstance(value, list) and len(value) > 4:
        return f"[{len(value)}]"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.2f}"
    if isinstance(value, list):
        return "(" + ", ".join(_short(part) for part in value) + ")"
    return str(value)[:60]
