"""Makes the built-in sample: a small town, classified and coloured, as COPC.

    python assets/make_town.py assets/town.copc.laz

Everything is drawn from one seeded generator, so the same script gives the same points.
Coordinates are metres in JGD2011 / UTM zone 54N with JGD2011 heights (EPSG:6691 + 6695);
classes are those of ASPRS LAS 1.4.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import laspy
import numpy as np
import pyproj

GROUND, LOW, HIGH, BUILDING, NOISE, WATER, ROAD, WIRE, TOWER, BRIDGE = (
    2, 3, 5, 6, 7, 9, 11, 14, 15, 17,
)  # fmt: skip
ORIGIN = np.array([385_600.0, 3_947_200.0, 0.0])
SIZE = 360.0  # metres
RIVER_WIDTH = 11.0
rng = np.random.default_rng(1896)


@dataclass
class Points:
    """One piece of the town: local coordinates, colour 0..1, class, returns."""

    xyz: np.ndarray
    rgb: np.ndarray
    cls: int
    intensity: float = 0.5
    returns: tuple[int, int] = (1, 1)


def terrain(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Height of the bare earth: two hills, a valley along the river, small bumps."""
    u, v = x / SIZE, y / SIZE
    z = 31 + 16 * np.exp(-((u - 0.95) ** 2 + (v - 0.9) ** 2) / 0.06)
    z += 9 * np.exp(-((u - 0.02) ** 2 + (v - 0.75) ** 2) / 0.03)
    z += 0.35 * np.sin(9 * u + 2) * np.cos(7 * v) + 0.12 * np.sin(41 * u) * np.sin(37 * v)
    d = np.abs(river_distance(x, y))
    return z - 3.6 * np.exp(-((d / (RIVER_WIDTH * 0.8)) ** 4))


def river_distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Signed distance in plan from the river's middle, which winds from west to east."""
    return y - (78 + 16 * np.sin(x / 62.0) + 0.04 * x)


def speckle(n: int, color: tuple[float, float, float], spread: float = 0.05) -> np.ndarray:
    """A base colour with a common change of brightness a point and a little of hue."""
    shade = rng.normal(1.0, spread, (n, 1))
    return np.clip(np.array(color) * shade + rng.normal(0, spread / 4, (n, 3)), 0, 1)


STREETS_X = (60.0, 150.0, 240.0, 318.0)
STREETS_Y = (140.0, 215.0, 290.0)
STREET = 4.2  # half width


def on_street(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    inside = np.zeros(x.shape, bool)
    for sx in STREETS_X:
        inside |= (np.abs(x - sx) < STREET) & (y > 118)
    inside |= np.abs(x - STREETS_X[1]) < STREET
    for sy in STREETS_Y:
        inside |= (np.abs(y - sy) < STREET) & (x > 24) & (x < 336)
    return inside


def ground(count: int) -> list[Points]:
    x, y = rng.uniform(0, SIZE, (2, count))
    z = terrain(x, y) + rng.normal(0, 0.025, count)
    d = np.abs(river_distance(x, y))
    street = on_street(x, y)
    water = (d < RIVER_WIDTH * 0.55) & ~street
    bank = (d < RIVER_WIDTH * 1.1) & ~water
    parts = []
    wet = np.column_stack([x, y, np.full(count, 27.75) + rng.normal(0, 0.015, count)])[water]
    keep = rng.random(len(wet)) < 0.6  # water returns little
    parts.append(Points(wet[keep], speckle(int(keep.sum()), (0.16, 0.30, 0.36)), WATER, 0.08))
    road = street & (d > RIVER_WIDTH * 0.9)
    xyz = np.column_stack([x, y, z])
    color = speckle(int(road.sum()), (0.36, 0.36, 0.38), 0.04)
    mid = np.zeros(count, bool)
    for sx in STREETS_X:
        mid |= (np.abs(x - sx) < 0.14) & (np.mod(y, 9) < 5)
    for sy in STREETS_Y:
        mid |= (np.abs(y - sy) < 0.14) & (np.mod(x, 9) < 5)
    color[mid[road]] = (0.93, 0.93, 0.9)
    parts.append(Points(xyz[road], color, ROAD, 0.25))
    rest = ~water & ~street
    green = np.array([0.33, 0.44, 0.22])
    dry = np.array([0.52, 0.47, 0.32])
    mix = 0.5 + 0.5 * np.sin(x / 23 + 1.3 * np.sin(y / 31))
    field = (y > 305) | ((x < 56) & (y > 145))
    stripes = np.where(field, 0.5 + 0.5 * np.sign(np.sin((x + 0.4 * y) * 1.6)), mix)
    base = green + (dry - green) * (0.25 + 0.5 * stripes)[:, None]
    base[bank] = (0.50, 0.46, 0.38)
    color = np.clip(base * rng.normal(1, 0.06, (count, 1)), 0, 1)
    parts.append(Points(xyz[rest], color[rest], GROUND, 0.6))
    grass = rest & ~bank & (rng.random(count) < 0.06)
    tuft = xyz[grass] + np.column_stack(
        [np.zeros((grass.sum(), 2)), rng.gamma(2.0, 0.16, grass.sum())]
    )
    parts.append(Points(tuft, speckle(len(tuft), (0.36, 0.50, 0.20), 0.1), LOW, 0.55))
    return parts


ROOFS = [(0.55, 0.22, 0.17), (0.24, 0.27, 0.32), (0.45, 0.40, 0.36), (0.62, 0.34, 0.22),
         (0.20, 0.33, 0.40)]  # fmt: skip
WALLS = [(0.88, 0.85, 0.78), (0.80, 0.76, 0.70), (0.72, 0.60, 0.50), (0.90, 0.90, 0.88)]


def turned(xy: np.ndarray, center: np.ndarray, degrees: float) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return xy @ np.array([[c, s], [-s, c]]) + center


def building(cx: float, cy: float, w: float, d: float, h: float, roof: str, turn: float) -> Points:
    """A house of ``w``×``d`` metres, eaves at ``h``: gable, hip or flat roof with a parapet."""
    base = float(terrain(np.array([cx]), np.array([cy]))[0])
    density = 16.0
    n = int(w * d * density)
    u, v = rng.uniform(-0.5, 0.5, (2, n)) * np.array([[w + 0.9], [d + 0.9]])
    if roof == "gable":
        z = h + 0.62 * (d / 2 - np.abs(v))
    elif roof == "hip":
        z = h + 0.55 * np.maximum(0, np.minimum(d / 2 - np.abs(v), w / 2 - np.abs(u)))
    else:
        edge = (np.abs(u) > w / 2 - 0.35) | (np.abs(v) > d / 2 - 0.35)
        z = np.where(edge, h + 0.8, h)
    color = speckle(n, ROOFS[rng.integers(len(ROOFS))] if roof != "flat" else (0.62, 0.62, 0.60))
    if roof == "gable":
        color *= np.where(v > 0, 0.86, 1.06)[:, None]
        color *= np.where(np.mod(np.abs(v), 0.9) < 0.12, 0.86, 1.0)[:, None]
    parts, colors = [np.column_stack([u, v, z])], [color]
    if roof == "flat":  # machines on the roof
        for _ in range(int(rng.integers(1, 4))):
            k = 140
            a = rng.uniform(-0.5, 0.5, (k, 3)) * (2.2, 1.6, 0) + (0, 0, h + 1.5)
            a[:, :2] += rng.uniform(-0.3, 0.3, 2) * (w, d)
            parts.append(a)
            colors.append(speckle(k, (0.75, 0.76, 0.78)))
    wall = WALLS[rng.integers(len(WALLS))]
    m = int(2 * (w + d) * h * 7)
    side = rng.random(m) * 2 * (w + d)
    x = np.where(side < w, side - w / 2, np.where(side < w + d, w / 2, np.where(
        side < 2 * w + d, side - w - d - w / 2, -w / 2)))  # fmt: skip
    y = np.where(side < w, -d / 2, np.where(side < w + d, side - w - d / 2, np.where(
        side < 2 * w + d, d / 2, side - 2 * w - d - d / 2)))  # fmt: skip
    zz = rng.uniform(0, h, m)
    window = (np.mod(zz, 3.0) > 1.0) & (np.mod(zz, 3.0) < 2.3) & (np.mod(side, 2.6) < 1.3)
    shade = np.where(window[:, None], np.array([[0.22, 0.27, 0.33]]), np.array([wall]))
    parts.append(np.column_stack([x, y, zz]))
    colors.append(np.clip(shade * rng.normal(1, 0.04, (m, 1)), 0, 1))
    xyz = np.concatenate(parts)
    xyz[:, :2] = turned(xyz[:, :2], np.array([cx, cy]), turn)
    xyz[:, 2] += base + rng.normal(0, 0.015, len(xyz))
    return Points(xyz, np.concatenate(colors), BUILDING, 0.45)


def town() -> list[Points]:
    parts = []
    for bx in (80, 105, 130, 172, 196, 220, 262, 285, 300):
        for by in (158, 198, 233, 272):
            if rng.random() < 0.12:
                continue
            w, d = rng.uniform(9, 14), rng.uniform(8, 11)
            kind = "hip" if rng.random() < 0.3 else "gable"
            cx, cy = bx + rng.uniform(-2, 2), by + rng.uniform(-2, 2)
            turn = float(rng.choice([0, 90])) + rng.normal(0, 2)
            parts.append(building(cx, cy, w, d, rng.uniform(4.2, 6.8), kind, turn))
    parts.append(building(196, 124, 34, 14, 13.5, "flat", 0))  # the school by the river
    parts.append(building(92, 124, 22, 16, 19.0, "flat", 0))
    parts.append(building(268, 124, 20, 12, 9.5, "flat", 3))
    tower = building(118, 252, 7, 7, 24.0, "hip", 0)  # the lookout
    return [*parts, tower]


def tree(x: float, y: float, height: float, conifer: bool) -> list[Points]:
    base = float(terrain(np.array([x]), np.array([y]))[0])
    n = int(50 + 20 * height)
    t = rng.random(n) ** 0.7
    angle = rng.uniform(0, 2 * np.pi, n)
    if conifer:
        radius = (1 - t) * height * 0.22 * np.sqrt(rng.random(n)) + 0.1
        z = base + 1.2 + t * (height - 1.2)
        color = (0.13, 0.29, 0.17)
    else:
        r = height * 0.34
        radius = r * np.sqrt(np.clip(1 - (2 * t - 1) ** 2, 0, 1)) * (0.55 + 0.45 * rng.random(n))
        z = base + height - 2 * r * (1 - t) * 0.95
        color = (0.26, 0.42, 0.16) if rng.random() < 0.8 else (0.62, 0.42, 0.14)
    crown = np.column_stack([x + radius * np.cos(angle), y + radius * np.sin(angle), z])
    crown += rng.normal(0, 0.12, crown.shape)
    shade = speckle(n, color, 0.14) * (0.65 + 0.5 * t)[:, None]
    k = 26
    trunk = np.column_stack([
        x + rng.normal(0, 0.13, k), y + rng.normal(0, 0.13, k),
        base + rng.uniform(0, height * 0.45, k)])  # fmt: skip
    return [
        Points(crown, np.clip(shade, 0, 1), HIGH, 0.35, (1, 3)),
        Points(trunk, speckle(k, (0.33, 0.25, 0.18)), HIGH, 0.3, (2, 3)),
    ]


def trees() -> list[Points]:
    parts: list[Points] = []
    spots = []
    for sx in STREETS_X[:3]:  # avenues
        spots += [(sx + side * 6.6, y) for y in np.arange(128, 296, 13.0) for side in (-1, 1)]
    spots += [(x, float(78 + 16 * np.sin(x / 62) + 0.04 * x + s * rng.uniform(15, 22)))
              for x in np.arange(8, 356, 9.0) for s in (-1, 1)]  # fmt: skip
    for _ in range(330):  # the wood on the hill, and single trees south of the river
        spots.append((rng.uniform(255, 358), rng.uniform(296, 358)))
    for _ in range(55):
        spots.append((rng.uniform(4, 356), rng.uniform(3, 44)))
    for x, y in spots:
        if bool(on_street(np.array([x]), np.array([y]))[0]):
            continue
        wood = x > 250 and y > 292
        parts += tree(float(x), float(y), float(rng.uniform(6, 15 if wood else 10)),
                      bool(rng.random() < (0.75 if wood else 0.15)))  # fmt: skip
    return parts


def power_line() -> list[Points]:
    """Lattice towers with six conductors hanging in catenaries, over field, river and wood."""
    parts: list[Points] = []
    towers = [(22.0, 6.0), (34.0, 122.0), (47.0, 238.0), (60.0, 354.0)]
    tops = []
    for x, y in towers:
        base = float(terrain(np.array([x]), np.array([y]))[0])
        tops.append((x, y, base))
        n = 1500
        t = np.sort(rng.random(n))
        half = 2.6 * (1 - t) ** 1.3 + 0.35
        corner = rng.integers(0, 4, n)
        brace = rng.random(n) < 0.45
        along = np.where(brace, np.abs(np.mod(t * 9, 2) - 1) * 2 - 1, 1.0)
        sx, sy = np.where(corner % 2, 1, -1), np.where(corner // 2, 1, -1)
        xyz = np.column_stack([
            x + half * np.where(corner < 2, sx, along * sx), y + half * np.where(
                corner < 2, along * sy, sy), base + t * 30])  # fmt: skip
        arms = []
        for level in (20.0, 24.0, 28.0):
            a = rng.uniform(-5.4, 5.4, 170)
            arms.append(np.column_stack([
                x + a, np.full(170, y) + rng.normal(0, 0.12, 170),
                base + level + 0.12 * (5.4 - np.abs(a))]))  # fmt: skip
        xyz = np.concatenate([xyz, *arms]) + rng.normal(0, 0.03, (n + 510, 3))
        parts.append(Points(xyz, speckle(len(xyz), (0.60, 0.62, 0.64)), TOWER, 0.8))
    for (x0, y0, z0), (x1, y1, z1) in itertools.pairwise(tops):
        for level in (20.0, 24.0, 28.0):
            for arm in (-5.2, 5.2):
                n = 620
                t = rng.random(n)
                sag = 5.5 * 4 * t * (1 - t)
                xyz = np.column_stack([
                    x0 + (x1 - x0) * t + arm, y0 + (y1 - y0) * t,
                    z0 + (z1 - z0) * t + level - 0.9 - sag])  # fmt: skip
                parts.append(Points(xyz + rng.normal(0, 0.02, xyz.shape),
                                    speckle(n, (0.16, 0.16, 0.18)), WIRE, 0.9))  # fmt: skip
    return parts


def bridge() -> list[Points]:
    x = STREETS_X[1]
    mid = 78 + 16 * np.sin(x / 62) + 0.04 * x
    n = 9000
    u, v = rng.uniform(-5.0, 5.0, n), rng.uniform(-19, 19, n)
    z = 31.6 + 0.9 * (1 - (v / 19) ** 2)
    color = speckle(n, (0.58, 0.57, 0.55), 0.04)
    color[np.abs(u) < 0.14] = (0.93, 0.93, 0.9)
    deck = np.column_stack([x + u, mid + v, z])
    m = 2600
    v = rng.uniform(-19, 19, m)
    rail = np.column_stack([
        x + rng.choice([-5.0, 5.0], m), mid + v,
        31.6 + 0.9 * (1 - (v / 19) ** 2) + rng.choice([0.4, 0.75, 1.1], m)])  # fmt: skip
    return [Points(deck, color, BRIDGE, 0.4),
            Points(rail, speckle(m, (0.75, 0.25, 0.20)), BRIDGE, 0.5)]  # fmt: skip


def cars() -> list[Points]:
    parts = []
    paints = [(0.8, 0.8, 0.82), (0.15, 0.16, 0.18), (0.65, 0.12, 0.12), (0.15, 0.28, 0.55)]
    for _ in range(46):
        along_x = rng.random() < 0.5
        s = rng.uniform(70, 310)
        x, y = (s, rng.choice(STREETS_Y) + 2.0) if along_x else (rng.choice(STREETS_X) + 2.0,
                                                                 rng.uniform(125, 300))  # fmt: skip
        n = 240
        p = rng.uniform(-0.5, 0.5, (n, 3)) * (4.4, 1.8, 0)
        p[:, 2] = np.where(np.abs(p[:, 0] + 0.2) < 1.2, 1.45, 0.95) * rng.uniform(0.75, 1, n)
        p[:, :2] = turned(p[:, :2], np.array([x, y]), 0 if along_x else 90)
        p[:, 2] += float(terrain(np.array([x]), np.array([y]))[0])
        parts.append(Points(p, speckle(n, paints[rng.integers(4)]), 1, 0.7))
    return parts


def noise() -> list[Points]:
    n = 9
    xyz = np.column_stack([rng.uniform(0, SIZE, (n, 2)), rng.uniform(52, 62, n)])
    return [Points(xyz, speckle(n, (0.9, 0.9, 0.9)), NOISE, 0.05)]


def make(count: int = 370_000) -> laspy.LasData:
    parts = [*ground(count), *town(), *trees(), *power_line(), *bridge(), *cars(), *noise()]
    xyz = np.concatenate([p.xyz for p in parts])
    sizes = [len(p.xyz) for p in parts]
    n = len(xyz)
    inside = (xyz[:, :2] >= 0).all(axis=1) & (xyz[:, :2] <= SIZE).all(axis=1)
    order = np.flatnonzero(inside)
    order = order[np.argsort(xyz[order, 0] // 90 * 1e6 + xyz[order, 1], kind="stable")]

    header = laspy.LasHeader(version="1.4", point_format=7)
    header.scales = np.full(3, 0.01)
    header.offsets = ORIGIN
    header.generating_software = "oniyanma sample town"
    header.add_crs(pyproj.CRS("EPSG:6691+6695"))
    las = laspy.LasData(header)
    las.x, las.y, las.z = (xyz + ORIGIN)[order].T
    rgb = np.concatenate([p.rgb for p in parts])[order]
    las.red, las.green, las.blue = (rgb * 31).round().astype(np.uint16).T * 2114
    las.classification = np.concatenate([np.full(len(p.xyz), p.cls, np.uint8) for p in parts])[
        order
    ]
    level = np.repeat([p.intensity for p in parts], sizes)
    las.intensity = np.clip(level * rng.normal(1, 0.12, n), 0, 1)[order] * 60 + 4
    las.return_number = np.repeat([p.returns[0] for p in parts], sizes)[order]
    las.number_of_returns = np.concatenate([np.full(len(p.xyz), p.returns[1]) for p in parts])[
        order
    ]
    strip = (xyz[order, 0] // 90).astype(np.uint16)
    las.point_source_id = 101 + strip
    las.scan_angle = (np.mod(xyz[order, 0], 90) // 9 - 5).astype(np.int16) * 667
    las.gps_time = 3.9e8 + strip * 120.0 + xyz[order, 1] // 6
    header.global_encoding.gps_time_type = laspy.header.GpsTimeType.STANDARD
    return las


def main(target: Path) -> None:
    target.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        las = Path(folder) / "town.las"
        make().write(str(las))
        command = [sys.executable, "-m", "oniyanma", "convert", str(las), str(target)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
