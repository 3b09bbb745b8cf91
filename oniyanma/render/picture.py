"""Points drawn so far, with depth; and what is behind them, left out before it is rasterised.

To a software rasteriser a point's pixels are ten times as dear as its vertex, also where all of
them are hidden. So a dense picture is drawn in growing parts, and from the second on the vertex
shader compares the depth of a small point with the farthest of the pixels it may cover. What is
left out would have failed the depth test: the depths of the picture are the same to the bit. A
graphics card has such a test of its own and is not given this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oniyanma.render import gl
from oniyanma.render.arena import Counts, Slot
from oniyanma.render.look import Uniforms, Viewport

FIRST = 0.05  # of the points: the part that is drawn without the test
GROWTH = 6.0  # each part brings the points to this many times what they were before
DENSE = 3.0  # pixels drawn for each one of the picture, from which on the test pays


class Picture:
    """Points drawn so far: what of which slot, for which view and look (``key``)."""

    def __init__(self) -> None:
        self.target = gl.Target()
        self.key: Any = None
        self.done: dict[Slot, tuple[int, int]] = {}  # stamp of the slot, points drawn
        self._farthest = gl.Target()
        self._tested = 0  # points there were when it was made

    @property
    def farthest(self) -> gl.Texture:
        """Depths as of `update_farthest`."""
        return self._farthest.depth

    def holds(self, key: Any, drawable: Sequence[Slot]) -> bool:
        """Whether what was drawn is all still to be seen, unchanged: then more can be added."""
        if key != self.key:
            return False
        kept = sum(1 for s in drawable if (was := self.done.get(s)) and was[0] == s.stamp)
        return kept == len(self.done)

    def drawn(self) -> int:
        """Points drawn."""
        return sum(count for _, count in self.done.values())

    def left(self, drawable: Sequence[Slot]) -> int:
        """Points of the slots that are not drawn yet."""
        return sum(s.count for s in drawable) - self.drawn()

    def reset(self, key: Any, width: int, height: int) -> None:
        """Begin anew, empty."""
        self.target.bind(width, height)
        gl.begin_points((0, 0, width, height))
        gl.clear()
        self.key, self.done = key, {}
        self._tested = 0

    def counts(self, drawable: Sequence[Slot]) -> Counts:
        """How many points of each slot are drawn, (n,)."""
        none = (0, 0)
        return np.array([self.done.get(slot, none)[1] for slot in drawable], np.int32)

    def note(self, drawable: Sequence[Slot], counts: Counts) -> None:
        """So many points of each slot are drawn now."""
        self.done = {
            slot: (slot.stamp, count)
            for slot, count in zip(drawable, counts.tolist(), strict=True)
            if count
        }

    def update_farthest(self, program: gl.Program, corners: gl.Buffer, drawn: int) -> None:
        """Take the depths anew with `farthest.frag`, where many points came since the last time,
        ``drawn`` in all: older ones are not wrong, they let more points pass. Binds another
        framebuffer."""
        if drawn < self._tested * GROWTH / 2.0:
            return
        self._tested = drawn
        width, height = self.target.size
        self._farthest.bind(width, height)
        gl.begin_depth()
        program.use({"u_pixel": (1.0 / width, 1.0 / height)})
        program.sample("u_depth", 0, self.target.depth)
        corners.attribute(0, 2, gl.FLOAT, 8, 0, False)
        gl.draw_triangles(3)

    def behind_uniforms(self, viewport: Viewport) -> Uniforms:
        """What the vertex shader's test needs to get from positions to pixels."""
        x, y, width, height = viewport
        return {
            "u_pixels": (width / 2.0, height / 2.0, x + width / 2.0, y + height / 2.0),
            "u_pixel": (1.0 / self.target.size[0], 1.0 / self.target.size[1]),
        }

    def delete(self) -> None:
        self.target.delete()
        self._farthest.delete()
