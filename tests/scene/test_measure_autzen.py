"""Figures of the Autzen cloud against an independent computation over all its points."""

from __future__ import annotations

from dataclasses import dataclass

import laspy
import numpy as np
import numpy.typing as npt
import pytest

from oniyanma.clouds.open import open_source
from oniyanma.scene.fullscan import Scan
from oniyanma.scene.section import Section, SectionBins
from oniyanma.scene.state import SceneState
from oniyanma.scene.units import frame_of
from oniyanma.scene.volume import SurfaceGrid, checked_polygon, volume
from tests.support import shared

HALL = [(636469, 852003), (636889, 851906), (636864, 851673), (636433, 851769)]
LINE = [(636700.0, 851900.0), (637000.0, 851600.0), (637100.0, 851900.0)]
LOW, HIGH = np.array([636400.0, 851560.0]), np.array([637120.0, 852040.0])
WIDTH, CELL, GROUND = 6.0, 4.0, 424.0
FOOT = 0.3048


class Quiet:
    """A job that nobody watches or stops."""

    def progress(self, fraction: float, stage: str = "") -> None: ...

    def cancelled(self) -> bool:
        return False

    def check(self) -> None: ...


@dataclass(frozen=True)
class Site:
    scanned: npt.NDArray[np.float64]
    read: npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The points of a rectangle, by laspy alone, and through a scan of a file of them."""
    cut = tmp_path_factory.mktemp("autzen") / "cut.las"
    parts = []
    with (
        laspy.open(
            shared("data", "autzen.laz"), laz_backend=laspy.LazBackend.LazrsParallel
        ) as all_,
        laspy.open(cut, "w", header=all_.header) as writer,
    ):
        for chunk in all_.chunk_iterator(1_000_000):
            x, y, z = (np.asarray(v) for v in (chunk.x, chunk.y, chunk.z))
            near = (x >= LOW[0] - 50) & (x <= HIGH[0] + 50) & (y >= LOW[1]) & (y <= HIGH[1] + 9)
            keep = near & (x >= LOW[0]) & (x <= HIGH[0]) & (y <= HIGH[1])
            parts.append(np.column_stack([x, y, z])[keep])
            writer.write_points(chunk[near])
    scan = Scan(SceneState(), {"c1": lambda: open_source(str(cut))}, None)
    return Site(np.vstack(list(scan.points(Quiet(), LOW, HIGH))), np.vstack(parts))


def test_a_scan_gives_the_same_points_as_reading_the_file(site: Site) -> None:
    assert len(site.scanned) > 100_000
    assert np.array_equal(site.scanned, site.read)


def test_a_volume_agrees_with_plain_sums_over_a_finer_grid(site: Site) -> None:
    """Mean heights of 1 ft squares, empty ones by their neighbours in a row: within 0.5 %."""
    frame = frame_of(open_source(str(shared("data", "autzen.laz"))).info.crs)
    corners = np.array([(x, y, GROUND) for x, y in HALL], dtype=np.float64)
    grid = SurfaceGrid(checked_polygon(corners, frame), CELL)
    grid.add(site.scanned)
    answer = volume(grid, GROUND, frame)

    xs, ys = np.arange(LOW[0], HIGH[0], 1.0), np.arange(LOW[1], HIGH[1], 1.0)
    edges = [np.append(xs, HIGH[0]), np.append(ys, HIGH[1])]
    x, y, z = site.read.T
    total, _, _ = np.histogram2d(x, y, bins=edges, weights=z)
    count, _, _ = np.histogram2d(x, y, bins=edges)
    inside = np.ones((len(xs), len(ys)), dtype=bool)
    for (ax, ay), (bx, by) in zip(HALL, HALL[1:] + HALL[:1], strict=True):
        side = (bx - ax) * (ys + 0.5 - ay)[None, :] - (by - ay) * (xs + 0.5 - ax)[:, None]
        inside &= side < 0  # the outline runs clockwise
    with np.errstate(invalid="ignore"):
        mean = total / count
    expected = 0.0
    for row, within in zip(mean, inside, strict=True):
        known = ~np.isnan(row)
        if within.any():
            expected += float(np.interp(ys, ys[known], row[known])[within].sum())
    expected -= GROUND * inside.sum()

    assert inside.sum() == pytest.approx(answer["plan"], rel=2e-3)
    assert answer["value"] == pytest.approx(expected, rel=5e-3)
    assert answer["unit"] == "ft³"
    assert answer["cubicMetres"] == pytest.approx(answer["value"] * FOOT**3, rel=1e-12)


def test_a_section_agrees_point_by_point_with_distances_to_its_line(site: Site) -> None:
    frame = frame_of(open_source(str(shared("data", "autzen.laz"))).info.crs)
    line = np.array([(x, y, 0.0) for x, y in LINE])
    section = Section(line, WIDTH, frame)
    bins = SectionBins(section, 40)
    index, station, _ = section.locate(site.scanned[:, :2])
    bins.add(station, site.scanned[index, 2])

    best = np.full(len(site.read), np.inf)
    for n, (a, b) in enumerate(zip(line[:-1, :2], line[1:, :2], strict=True)):
        along = (b - a) / np.linalg.norm(b - a)
        size = np.linalg.norm(b - a)
        t = (site.read[:, :2] - a) @ along
        foot = a + np.clip(t, 0, size)[:, None] * along
        away = np.linalg.norm(site.read[:, :2] - foot, axis=1)
        away[(t < 0) if n == 0 else (t > size)] = np.inf
        best = np.minimum(best, away)
    near = best <= WIDTH / 2
    totals = bins.totals()
    assert bins.points == near.sum() > 1000
    assert totals["min"] == site.read[near, 2].min()
    assert totals["max"] == site.read[near, 2].max()
    assert totals["mean"] == pytest.approx(site.read[near, 2].mean(), rel=1e-12)
