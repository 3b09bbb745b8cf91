"""Files cut at a random byte and with random bytes flipped never crash, hang or eat memory.

Each case goes through `oniyanma info` in a child process with a limit of memory and of time. 500
cases are spread over the formats; ONIYANMA_FUZZ=10 makes ten times as many.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import ROOT, shared

MORE = int(os.environ.get("ONIYANMA_FUZZ", "1"))
SECONDS = 30  # no case of these small files comes near
GROWTH = 900  # MiB of resident memory in all
CASES = {
    "las": (120, ["pdal_interesting.las", "pdal_extrabytes.las", "loaders.gl_points-1.4.las",
                  "loaders.gl_pdrf10-1.5.las", "laspy_1_4_w_evlr.las", "pdal_mvk-thin.las"]),
    "laz": (120, ["pdal_laszip-generated_with2bytespadding.laz", "loaders.gl_pdrf6-1.4.laz",
                  "loaders.gl_pdrf8-1.4.laz", "loaders.gl_pdrf5-1.3.laz", "laspy_plane.laz"]),
    "copc": (40, ["las-rs_autzen.copc.laz"]),
    "e57": (60, ["e57_tiny_spherical.e57", "pdal_A_B_different_dims.e57",
                 "e57_tiny_pc_and_images.e57", "pye57_testWithNormals.e57"]),
    "ply": (50, ["pdal_text_extradim.ply", "displaz_standard_ply_points.ply",
                 "loaders.gl_ripple_bin.ply"]),
    "pcd": (50, ["pypcd4_binary.pcd", "pcl_pcl_logo.pcd", "pdal_autzen-utm.pcd",
                 "pypcd4_ascii_multi_count.pcd"]),
    "ptx": (20, ["pdal_multiple-and-transform.ptx"]),
    "text": (40, ["pdal_crlf_test.txt", "pdal_test.pts", "pdal_utm17_3.txt", "pdal_data.xyz"]),
}  # fmt: skip


class Child:
    """The child process that looks at one damaged file after another."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()

    def _start(self) -> None:
        self._lines = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / "clouds" / "fuzz_child.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        threading.Thread(target=self._pump, args=(self._process, self._lines), daemon=True).start()
        assert self._answer(60.0) == "ready\n"

    @staticmethod
    def _pump(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    def _answer(self, seconds: float) -> str:
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            return ""

    def run(self, path: Path) -> dict[str, Any] | str:
        """The child's answer about ``path``, or what became of the child."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps(str(path)) + "\n")
        self._process.stdin.flush()
        line = self._answer(SECONDS)
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        status = self._process.poll()
        self.stop()
        return "hangs" if status is None else f"died with status {status}"

    def stop(self) -> None:
        """End the child."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    one = Child()
    yield one
    one.stop()


@st.composite
def damage(draw: st.DrawFn, files: list[str]) -> tuple[str, int | None, list[tuple[float, int]]]:
    """A file's name, where it is cut (per mille, or not), and which places change how."""
    name = draw(st.sampled_from(files))
    kind = draw(st.sampled_from(["cut", "head", "anywhere", "both"]))
    cut = draw(st.integers(0, 1000)) if kind in ("cut", "both") else None
    flips = []
    if kind != "cut":
        place = st.floats(0, 0.03 if kind == "head" else 1)
        flips = draw(st.lists(st.tuples(place, st.integers(1, 255)), min_size=1, max_size=8))
    return name, cut, flips


def damaged(raw: bytes, cut: int | None, flips: list[tuple[float, int]]) -> bytes:
    """``raw`` with the flips applied, then cut."""
    data = bytearray(raw)
    for place, bits in flips:
        # The first 400 bytes are worth a hit of their own in any file, however large.
        at = int(place * max(len(data), 1) if place > 0.03 else place / 0.03 * 400)
        if at < len(data):
            data[at] ^= bits
    return bytes(data if cut is None else data[: len(data) * cut // 1000])


@pytest.mark.parametrize("kind", CASES)
def test_damaged_files_open_or_are_refused(
    kind: str, child: Child, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever happens to a file, `info` ends with 0 or 3 and says one sentence in the latter."""
    count, files = CASES[kind]
    sources = {name: shared("corpus", name).read_bytes() for name in files}
    folder = tmp_path_factory.mktemp(f"fuzz_{kind}")

    @settings(
        max_examples=count * MORE,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    @given(damage(files))
    def check(case: tuple[str, int | None, list[tuple[float, int]]]) -> None:
        name, cut, flips = case
        path = folder / f"case{Path(name).suffix}"
        path.write_bytes(damaged(sources[name], cut, flips))
        answer = child.run(path)
        assert isinstance(answer, dict), f"{name} {cut} {flips}: {answer}"
        assert answer["status"] in (0, 3), f"{name} {cut} {flips}: {answer['err']}"
        if answer["status"] == 0:
            assert json.loads(answer["out"])["points"] >= 0
        else:
            assert answer["out"] == "" and answer["err"].count("\n") == 1
        assert answer["peak"] < GROWTH, f"{name} {cut} {flips}: {answer['peak']} MiB"

    check()
