"""Export at full resolution: every source point decided by the same rules as on screen.

Rules are asked about a source's own records, before clouds are merged or a point format is
raised, so that the export and the screen can't disagree; the answer is put into the records that
are written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import laspy
import numpy as np
import numpy.typing as npt

from oniyanma.clouds.export import ExportResult, export
from oniyanma.clouds.index.crew import Cancelled as Stopped
from oniyanma.clouds.model import CloudWarning, Source, Vec3
from oniyanma.registry.errors import Cancelled
from oniyanma.rules.block import Mask
from oniyanma.rules.evaluate import decide, decide_clip
from oniyanma.rules.model import Rule
from oniyanma.scene.edits import BlockState, apply_to_records
from oniyanma.scene.history import active_edits
from oniyanma.scene.ports import DELETED
from oniyanma.scene.program import EditProgram
from oniyanma.scene.sample import hidden_table
from oniyanma.scene.selection import rule_now
from oniyanma.scene.state import SceneState

Include = Literal["all", "visible", "selection"]
Opener = Callable[[], Source]


@dataclass(frozen=True)
class Export:
    """What to write, fixed on the scene thread; `run` needs nothing of the scene.

    ``sources``: openers by cloud id, in the order in which they are written. ``include``: "all"
    keeps every point that is not deleted; "visible" what is neither hidden, clipped away nor of
    a hidden class; "selection" what of the selection is visible. ``within``: the scene's bounds.
    ``eight_bit``: the clouds whose colours are 0..255 in 16-bit fields, which paint has to match.
    """

    state: SceneState
    sources: Mapping[str, Opener]
    include: Include = "all"
    within: tuple[Vec3, Vec3] | None = None
    eight_bit: frozenset[str] = frozenset()

    def run(
        self,
        path: Path,
        *,
        format: str | None = None,
        overwrite: bool = False,
        progress: Callable[[float, str], None] = lambda share, stage: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> ExportResult:
        """Write the file, whole or not at all.

        Raises CloudError (also for a full disk), registry's Cancelled.
        """
        marker = _Marker(self)
        with ExitStack() as stack:
            sources = []
            for cloud, opener in self.sources.items():
                source = opener()
                stack.callback(source.close)
                marker.watch(cloud, source)
                sources.append(source)
            try:
                result = export(
                    sources,
                    path,
                    format=format,
                    edit=marker.apply if marker.matters else None,
                    needs_class=self._highest_class(),
                    overwrite=overwrite,
                    progress=progress,
                    cancelled=cancelled,
                )
            except Stopped:
                raise Cancelled("The export was cancelled; no file was written.") from None
        return ExportResult(result.points, (*result.warnings, *marker.warnings))

    def _highest_class(self) -> int:
        classes = (
            edit.params["class"]
            for _, edit in active_edits(self.state.events)
            if edit.kind == "reclassify"
        )
        return max(classes, default=0)


@dataclass(frozen=True, eq=False)
class _Marks:
    """What becomes of a chunk's points. ``classes`` uint8 (n,) and ``paint`` uint8 (n, 4), with
    alpha 0 where nobody painted, are None where the source's own stay."""

    keep: Mask
    classes: npt.NDArray[np.uint8] | None
    paint: npt.NDArray[np.uint8] | None


class _Marker:
    """Decides each chunk as its source gives it, and applies that to the chunk that is written.

    An export takes the chunks of its sources one by one and in order; between the two there is
    never more than one.
    """

    def __init__(self, what: Export) -> None:
        self._what = what
        self._program = EditProgram(what.state.events, what.within)
        self._rule: Rule | None = None
        if what.include == "selection":
            self._rule = rule_now(what.state) or Rule(regions=())
        self._hidden = hidden_table(what.state)
        self._marks: deque[tuple[_Marks, int]] = deque()
        self._colourless = False
        self.matters = bool(self._program.edits) or what.include != "all"

    @property
    def warnings(self) -> Sequence[CloudWarning]:
        if not self._colourless:
            return ()
        return (
            CloudWarning(
                "paint_left_out",
                "The source's point format has no colour, so painted points are written without "
                "it; their class and every other value are as they should be.",
            ),
        )

    def watch(self, cloud: str, source: Source) -> None:
        """Decide what ``source`` gives from now on."""
        if not self.matters:
            return
        plain, scale = source.records, 1 if cloud in self._what.eight_bit else 257

        def records(chunk_size: int = 1_000_000) -> Iterator[laspy.PackedPointRecord]:
            self._marks.clear()
            for chunk in plain(chunk_size):
                after = apply_to_records(self._program, cloud, source.info, chunk, source.header)
                self._marks.append((self._mark(after), scale))
                yield chunk

        source.records = records  # type: ignore[method-assign]

    def apply(
        self, record: laspy.PackedPointRecord, header: laspy.LasHeader
    ) -> tuple[laspy.PackedPointRecord, Mask]:
        """The edit that `oniyanma.clouds.export.export` asks for."""
        marks, scale = self._marks.popleft()
        if len(marks.keep) != len(record):
            raise RuntimeError("an export took its chunks out of order")
        array = record.array
        if marks.classes is not None:
            if "raw_classification" in array.dtype.names:
                flags = array["raw_classification"] & 0xE0
                array["raw_classification"] = flags | (marks.classes & 0x1F)
            else:
                array["classification"] = marks.classes
        if marks.paint is not None:
            self._paint(array, marks.paint, scale)
        return record, marks.keep

    def _mark(self, after: BlockState) -> _Marks:
        classes = None if after.classification is after.base else after.classification
        return _Marks(self._keep(after), classes, after.paint)

    def _keep(self, after: BlockState) -> Mask:
        keep: Mask = (after.flags & DELETED) == 0
        if self._what.include == "all":
            return keep
        keep = (after.flags == 0) & ~self._hidden[after.classification]
        keep &= decide_clip(self._what.state.clip, after.points)
        if self._rule is not None:
            keep &= decide(self._rule, after.points)
        return keep

    def _paint(self, array: Any, paint: npt.NDArray[np.uint8], scale: int) -> None:
        painted = paint[:, 3] != 0
        if not painted.any():
            return
        if "red" not in array.dtype.names:
            self._colourless = True
            return
        for channel, name in enumerate(("red", "green", "blue")):
            array[name][painted] = paint[painted, channel].astype(np.uint16) * scale
