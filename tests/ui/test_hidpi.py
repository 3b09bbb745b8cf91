"""At every scale factor of the desktop the same lasso takes the same points."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support import ROOT

SCRIPT = """
import json, sys
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from oniyanma.app import Session
from oniyanma.ui.application import make_application, open_window
from oniyanma.ui.executor import QtExecutor
app = make_application()
session = Session(executor=QtExecutor())
window = open_window(session)
window.setFixedSize(1024, 640)
window.acts.open_path(sys.argv[1])
import time
end = time.monotonic() + 60
while time.monotonic() < end and not (session.scene.settled and session.scene.state.clouds
                                      and not window.bridge.jobs and window.canvas.stats):
    app.processEvents(); time.sleep(0.01)
window.canvas.parentWidget().setFixedSize(640, 420)
for _ in range(50):
    app.processEvents(); time.sleep(0.005)
QTest.keyClick(window.canvas, Qt.Key.Key_L)
for x, y in ((250, 150), (420, 160), (400, 300), (240, 290)):
    QTest.mouseClick(window.canvas, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier,
                     QPoint(x, y))
QTest.keyClick(window.canvas, Qt.Key.Key_Return)
tally = session.scene.tally()
frame = window.canvas.grabFramebuffer()
print(json.dumps({"points": tally.points, "classes": tally.by_class(),
                  "viewport": session.scene.state.viewport, "frame": frame.width()}))
window.close(); session.close()
"""


def run_at(factor: float, cloud: Path) -> dict[str, object]:
    env = {**os.environ, "QT_SCALE_FACTOR": f"{factor:g}"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(cloud)],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def test_the_same_lasso_takes_the_same_points_at_every_scale(village: Path) -> None:
    one, half, two = (run_at(factor, village) for factor in (1, 1.5, 2))
    assert one["points"] > 100  # type: ignore[operator]
    for other, factor in ((half, 1.5), (two, 2)):
        assert other["viewport"] == one["viewport"] == [640, 420]
        assert other["frame"] == round(640 * factor)
        assert (other["points"], other["classes"]) == (one["points"], one["classes"])
