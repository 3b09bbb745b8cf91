"""How long the window's thread is held, outside painting, while a large cloud is indexed.

    python bench/window.py ../shared/data/autzen.laz

A timer beats every few milliseconds; a gap between two beats, less what painting took in it, is a
stall. The window is shown (a display is needed); the index is made afresh.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BEAT_MS = 2


def main() -> int:
    cloud = sys.argv[1] if len(sys.argv) > 1 else "../shared/data/autzen.laz"
    with tempfile.TemporaryDirectory() as home:
        for name in ("CACHE", "DATA", "CONFIG"):
            os.environ[f"ONIYANMA_{name}"] = f"{home}/{name.lower()}"
        figures = measure(cloud)
    figures["peakMemoryMB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(json.dumps(figures, indent=2))
    path = Path(__file__).parent / "results" / "window.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


def measure(cloud: str) -> dict[str, Any]:
    """Opens the cloud in a window and watches the beat until everything has settled."""
    from oniyanma.ui.application import make_application, open_window
    from oniyanma.ui.executor import QtExecutor
    from PySide6.QtCore import Qt, QTimer

    from oniyanma.app import Session

    app = make_application()
    session = Session(executor=QtExecutor())
    window = open_window(session)
    canvas = window.canvas
    painted = 0.0
    paint = canvas.paintGL

    def timed() -> None:
        nonlocal painted
        start = time.perf_counter()
        paint()
        painted += time.perf_counter() - start

    canvas.paintGL = timed
    beats: list[tuple[float, float]] = []
    beat = QTimer()
    beat.setTimerType(Qt.TimerType.PreciseTimer)
    beat.setInterval(BEAT_MS)
    beat.timeout.connect(lambda: beats.append((time.perf_counter(), painted)))
    for _ in range(20):
        app.processEvents()
    beat.start()
    started = time.perf_counter()
    window.acts.open_path(cloud)
    first = None
    while time.perf_counter() - started < 300.0:
        app.processEvents()
        if first is None and window.bridge.shown_points()[0]:
            first = time.perf_counter() - started
        if first is not None and session.scene.settled and not window.bridge.jobs:
            break
        time.sleep(0.0005)
    whole = time.perf_counter() - started
    stalls = sorted(
        max(0.0, (b[0] - a[0]) - (b[1] - a[1])) * 1000.0 for a, b in itertools.pairwise(beats)
    )
    beat.stop()
    window.close()
    session.close()
    return {
        "firstPointsSeconds": round(first or 0.0, 2),
        "settledSeconds": round(whole, 1),
        "beats": len(beats),
        "stallMs": {
            "median": round(stalls[len(stalls) // 2], 1),
            "p99": round(stalls[int(len(stalls) * 0.99)], 1),
            "longest": [round(value, 1) for value in stalls[-5:]],
            "over50": sum(value > 50.0 for value in stalls),
        },
        "paintSeconds": round(painted, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
