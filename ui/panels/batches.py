"""Proposed batches, for review: each step, what it hits, and a switch between before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QTreeWidgetItem

from .. import theme as themes
from ..numbers import integer
from ..text import tr
from .base import KEY, ListPanel
from .lists import STATES


def told(args: Mapping[str, Any]) -> str:
    """The arguments of a step in one short line."""
    parts = [f"{key} {value}" for key, value in args.items() if not isinstance(value, list | dict)]
    return ", ".join(parts)


class BatchesPanel(ListPanel):
    name, title = "batches", "Batches"
    columns = ("Batch", "Hits", "State")
    empty = "What a machine or a colleague proposes stands here until you accept it."

    def __init__(self, bridge: Any, keeper: themes.ThemeKeeper) -> None:
        super().__init__(bridge, keeper)
        self.tree.setRootIsDecorated(True)
        self._gesture: Any = None  # what is shown of a batch that nobody accepted yet
        self._looked_at = ""
        self.after = self.button(
            tr("Show after"), lambda _: None, fits=lambda k: self._state(k) == "proposed"
        )
        self.after.setCheckable(True)
        self.after.setToolTip(tr("Before and after: what the picture would be, nothing is done"))
        self.after.toggled.connect(self._show_after)
        self.button(
            tr("Accept"),
            lambda k: bridge.run("acceptBatch", {"id": k}),
            fits=lambda k: self._state(k) == "proposed",
            command="acceptBatch",
        )
        self.button(
            tr("Revert"),
            lambda k: bridge.run("revertBatch", {"id": k}),
            fits=lambda k: self._state(k) in ("proposed", "applied"),
            command="revertBatch",
        )
        self.tree.currentItemChanged.connect(lambda *_: self._follow())

    def _state(self, key: str) -> str:
        batch = self.bridge.committed.batches.get(key)
        return batch.state if batch is not None else ""

    def watched(self, state: Any) -> Any:
        return state.batches

    def refresh(self) -> None:
        if self._gesture is not None and self._state(self._looked_at) != "proposed":
            self.after.setChecked(False)
        answer = self.bridge.read("listBatches") or {}
        steps = {batch["id"]: batch for batch in answer.get("batches", ())}
        for batch in self.bridge.committed.batches.values():
            proposed = batch.state == "proposed"
            mark = "┄ " if proposed and batch.author.is_machine else ""  # not accepted yet
            found = steps.get(batch.id, {})
            points = found.get("points")
            item = self.row(
                batch.id,
                [
                    mark + batch.title,
                    "" if points is None else tr("{points} points", points=integer(points)),
                    tr(STATES[batch.state]),
                ],
                actor=batch.author,
                color=self.keeper.theme.done if batch.state == "applied" else "",
                align=(1,),
            )
            for step in found.get("commands", ()):
                self._step(item, step)
            item.setExpanded(proposed)

    def _step(self, batch: QTreeWidgetItem, step: Mapping[str, Any]) -> None:
        """A row for one command: its arguments, and how many points on screen it hits."""
        hits = step.get("hits", {}).get("points")
        text = "" if hits is None else tr("{points} on screen", points=integer(hits))
        name = self.bridge.registry[step["name"]].title
        detail = told(step["args"])
        row = QTreeWidgetItem([f"{name}  {detail}".rstrip(), text, step.get("problem", "")])
        row.setData(0, KEY, batch.data(0, KEY))
        row.setTextAlignment(1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.setFont(1, themes.font(12, tabular=True))
        row.setForeground(0, self.keeper.theme.color("muted"))
        if "problem" in step:
            row.setForeground(2, self.keeper.theme.color("loss"))
            row.setToolTip(2, step["problem"])
        batch.addChild(row)

    # before and after

    def _show_after(self, on: bool) -> None:
        if self._gesture is not None:
            self._gesture.cancel()
            self._gesture = None
        key = self.current()
        if on and key:
            self._looked_at = key
            self._gesture = self.bridge.gesture("acceptBatch")
            answer = self._gesture.update({"id": key})
            if not answer.get("ok"):
                self.after.setToolTip(answer["error"]["message"])
                self.after.setChecked(False)
        self.after.setText(tr("Show before") if self.after.isChecked() else tr("Show after"))

    def _follow(self) -> None:
        """Another batch is chosen: what was shown of the last one goes."""
        if self._gesture is not None and self.current() != self._looked_at:
            self.after.setChecked(False)

    def hideEvent(self, event: QHideEvent) -> None:
        self.after.setChecked(False)
        super().hideEvent(event)
