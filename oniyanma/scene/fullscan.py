"""Every point of the sources, with the edits applied: what answers with ``basis`` "full" read.

A `Scan` is made on the scene thread from what the scene is at that moment, and run on a worker
thread: it opens the sources again, streams them, and never looks at the scene.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import Source, Vec3
from oniyanma.clouds.opening import Cloud
from oniyanma.registry.jobs import JobContext
from oniyanma.rules.evaluate import decide_clip
from oniyanma.scene.edits import apply_to_records
from oniyanma.scene.ports import SceneView
from oniyanma.scene.program import EditProgram
from oniyanma.scene.sample import hidden_table
from oniyanma.scene.state import SceneState

Floats = npt.NDArray[np.float64]
Opener = Callable[[], Source]
CHUNK = 500_000


@dataclass(frozen=True)
class Scan:
    """What to read: sources by cloud id, and the state whose edits and filters apply."""

    state: SceneState
    sources: Mapping[str, Opener]
    within: tuple[Vec3, Vec3] | None  # bounds of the scene

    def points(
        self, job: JobContext, low: Floats | None = None, high: Floats | None = None
    ) -> Iterator[Floats]:
        """World coordinates (n, 3) of the points that can be seen, chunk by chunk.

        ``low``, ``high`` (2,): only points of this plan rectangle, both ends included. Reports
        progress and stops by `JobContext.check`.
        """
        program = EditProgram(self.state.events, self.within)
        hidden = hidden_table(self.state)
        for number, (cloud, opener) in enumerate(self.sources.items()):
            source = opener()
            try:
                total, read = max(source.info.points, 1), 0
                header = source.header
                scales, offsets = np.asarray(header.scales), np.asarray(header.offsets)
                for record in source.records(CHUNK):
                    job.check()
                    read += len(record)
                    done = (number + min(read / total, 1.0)) / len(self.sources)
                    job.progress(done, f"reading {source.info.name}")
                    if low is not None and high is not None:
                        array = record.array
                        x = array["X"] * scales[0] + offsets[0]
                        y = array["Y"] * scales[1] + offsets[1]
                        near = (x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1])
                        if not near.any():
                            continue
                        record = record[near]
                    after = apply_to_records(program, cloud, source.info, record, header)
                    mask = after.flags == 0
                    mask &= ~hidden[after.classification]
                    through = decide_clip(self.state.clip, after.points)
                    if through is not True:
                        mask &= through
                    if mask.any():
                        some = np.flatnonzero(mask)
                        yield np.column_stack([after.points.axis(i, some) for i in range(3)])
            finally:
                source.close()


def scan_of_clouds(view: SceneView, clouds: Mapping[str, Cloud], ids: Sequence[str]) -> Scan:
    """A scan of these clouds as the view stands now."""
    return Scan(view.state, {id: clouds[id].source for id in ids}, view.scene_bounds())
