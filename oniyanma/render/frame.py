"""Frame control: how many points a moving frame may draw, by the frames that were measured."""

from __future__ import annotations

FIRST_GUESS = 100_000  # points: what a software rasteriser moves
LEAST = 20_000  # points, however slow the machine
TRUST = 0.35  # of a new measurement in the running one


class FrameControl:
    """Points a millisecond, learned from frames; the share of a scene that fits a budget."""

    def __init__(self) -> None:
        self._rate: float | None = None  # points a millisecond

    def measured(self, points: int, ms: float) -> None:
        """A frame of ``points`` took ``ms``. Frames too small to tell are left out."""
        if points < LEAST // 2 or ms <= 0.0:
            return
        rate = points / ms
        self._rate = rate if self._rate is None else self._rate + TRUST * (rate - self._rate)

    def points(self, budget_ms: float) -> int:
        """How many points a frame of ``budget_ms`` may draw."""
        if self._rate is None:
            return FIRST_GUESS
        return max(int(self._rate * budget_ms), LEAST)

    def share(self, points: int, budget_ms: float) -> float:
        """Which part of ``points``, above 0 to 1, a frame of ``budget_ms`` may draw."""
        return 1.0 if points <= 0 else min(self.points(budget_ms) / points, 1.0)
