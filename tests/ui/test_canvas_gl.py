"""The canvas on real displays: scale factors, and a context that goes while it is on screen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pytest

SCRIPT = Path(__file__).with_name("canvas_process.py")


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of 40 × 30 points on a grid, none within 4 pixels of another."""
    x, y = (a.ravel() for a in np.meshgrid(np.arange(40.0), np.arange(30.0)))
    header = laspy.LasHeader(version="1.4", point_format=6)
    header.scales, header.offsets = (0.001,) * 3, (500_000, 5_000_000, 0)
    las = laspy.LasData(header)
    las.x, las.y, las.z = 500_000 + x, 5_000_000 + y, 100 + 0 * x
    path = tmp_path_factory.mktemp("grid") / "grid.las"
    las.write(path)
    return str(path)


def run(*argv: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *argv],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@cache
def scaled(path: str, factor: str) -> dict[str, Any]:
    return run("points", path, QT_SCALE_FACTOR=factor)


@pytest.mark.parametrize("factor", ["1", "1.5", "2"])
def test_points_are_as_large_in_logical_pixels_at_every_scale_factor(
    grid: str, factor: str
) -> None:
    """FIELD_REPORTS 55: a 4-pixel point is 4 logical pixels, in a picture of physical ones."""
    found = scaled(grid, factor)
    ratio = float(factor)
    assert found["ratio"] == ratio
    assert found["viewport"] == [800, 600]
    assert found["picture"] == [round(800 * ratio), round(600 * ratio)]
    area = found["lit"] / 1200 / ratio**2
    assert area == pytest.approx(np.pi * 4, rel=0.15)


def test_the_same_lasso_takes_the_same_points_at_every_scale_factor(grid: str) -> None:
    """FIELD_REPORTS 55: places on the screen are logical pixels."""
    counts = {factor: scaled(grid, factor)["selected"] for factor in ("1", "1.5", "2")}
    assert len(set(counts.values())) == 1
    assert counts["1"] > 100


@pytest.mark.parametrize("share", ["1", "0"])
def test_a_floated_dock_shows_the_same_pixels(grid: str, share: str) -> None:
    """With shared contexts, and without, where the context really goes and all is built anew."""
    found = run("dock", grid, share)
    assert found["lit"] > 1200 * 10
    assert found["floated"] == 0 and found["docked"] == 0
    if share == "0":
        assert found["lost"] >= 1
