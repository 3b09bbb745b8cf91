"""The scene: lasso, pick, edit and undo on resident points, against the plain NumPy way.

``python bench/scene.py`` measures on 5 million resident points of a made hilly town and writes
bench/results/scene.json. Everything is compared within one run, and the results with each other.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import laspy  # noqa: E402
import numpy as np  # noqa: E402

from oniyanma.clouds import memtree  # noqa: E402
from oniyanma.clouds.index.levels import LEAF_POINTS  # noqa: E402
from oniyanma.clouds.memtree import MemoryTree  # noqa: E402
from oniyanma.clouds.model import UNKNOWN_CRS, CloudInfo, NodeId, NodeKey, NodePoints  # noqa: E402
from oniyanma.registry.actor import Actor  # noqa: E402
from oniyanma.rules.model import Box, Prism, Where  # noqa: E402
from oniyanma.scene import camera as cam  # noqa: E402
from oniyanma.scene import history, picking, selection  # noqa: E402
from oniyanma.scene.program import EditProgram  # noqa: E402
from oniyanma.scene.resident import ResidentSet  # noqa: E402
from oniyanma.scene.state import Camera, CloudEntry, PointEdit, SceneState  # noqa: E402

RESULT = ROOT / "bench" / "results" / "scene.json"
POINTS = 5_000_000
VIEW = (1280, 720)
EDITS = 10_000
PERSON = Actor("human", "bench")
OFFSET = (500_000.0, 5_000_000.0, 0.0)


def town() -> tuple[CloudInfo, MemoryTree]:
    """A square kilometre of hills with blocks on it, in centimetres."""
    rng = np.random.default_rng(0)
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales, header.offsets = (0.01, 0.01, 0.01), OFFSET
    records = np.zeros(POINTS, header.point_format.dtype())
    x, y = rng.integers(0, 100_000, (2, POINTS))
    hills = 3000 * np.sin(x / 15_000) * np.cos(y / 22_000) + 4000
    blocks = np.where((x // 3000 + y // 3000) % 3 == 0, (x // 3000 * 37 % 11) * 150, 0)
    records["X"], records["Y"] = x, y
    records["Z"] = hills + blocks + rng.integers(0, 30, POINTS)
    records["classification"] = np.where(blocks > 0, 6, 2)
    memtree.SMALL_LEAF = LEAF_POINTS  # nodes as large as those of an index on disk
    tree = MemoryTree(header, records)
    low, high = (
        tuple(
            float(records[a].__getattribute__(end)()) * 0.01 + o
            for a, o in zip("XYZ", OFFSET, strict=True)
        )
        for end in ("min", "max")
    )
    info = CloudInfo(
        "town", "town", "las", "1.4", 6, POINTS, POINTS, low, high, (0.01,) * 3, OFFSET,
        UNKNOWN_CRS, (), None, {}, {}, "none", checked=True,
    )  # fmt: skip
    return info, tree


def filled(
    info: CloudInfo, tree: MemoryTree, state: SceneState, program: EditProgram
) -> ResidentSet:
    """All nodes resident, at a state."""
    resident = ResidentSet(lambda _: info)
    resident.show(state, program)
    keys = tree.hierarchy.keys
    for row, spacing in zip(keys.tolist(), tree.hierarchy.spacing.tolist(), strict=True):
        read = tree.read(NodeKey(*row), frozenset({"classification"}))
        assert read is not None
        resident.put(NodePoints(NodeId("c1", NodeKey(*row)), *read), spacing)
    return resident


def timed(function: Callable[[], Any], runs: int = 5) -> float:
    """Best of some runs, in seconds of this process: others on the machine do not count."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def lasso(lens: cam.Matrices) -> Prism:
    """A blob of 60 edges over the middle of the screen."""
    rng = np.random.default_rng(1)
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    radius = 210 + 60 * rng.random(60)
    corners = zip(640 + 1.4 * radius * np.cos(angle), 360 + radius * np.sin(angle), strict=True)
    polygon = tuple((float(a), float(b)) for a, b in corners)
    return Prism(polygon, tuple(lens.relative.ravel().tolist()), cam.as_vec3(lens.eye), VIEW)


def plain_lasso(prism: Prism, x: Any, y: Any, z: Any) -> Any:
    """All points at once: project, then every edge of the polygon."""
    m = np.array(prism.matrix).reshape(4, 4)
    width, height = prism.viewport
    dx, dy, dz = x - prism.origin[0], y - prism.origin[1], z - prism.origin[2]

    def row(r: Any) -> Any:
        return dx * r[0] + dy * r[1] + dz * r[2] + r[3]

    w = row(m[3])
    front = (row(m[2] + m[3]) >= 0) & (w > 0)
    w[~front] = 1.0
    px, py = row((m[0] + m[3]) * (width / 2)) / w, row((m[3] - m[1]) * (height / 2)) / w
    inside = np.zeros(len(x), bool)
    xj, yj = prism.polygon[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        for xi, yi in prism.polygon:
            crossed = (yi > py) != (yj > py)
            inside ^= crossed & (px < (xj - xi) * (py - yi) / (yj - yi) + xi)
            xj, yj = xi, yi
    return inside & front


def plain_pick(lens: cam.Matrices, world: Any, px: float, py: float) -> Any:
    """Every point projected, then the front-most within reach."""
    pixels, depth = lens.project(world)
    off = np.hypot(pixels[:, 0] - px, pixels[:, 1] - py)
    near = np.flatnonzero(off <= picking.REACH)
    if not len(near):
        return None
    front = depth[near].min()
    limit = front + 2 * picking.REACH * lens.units_per_pixel(front)
    near = near[depth[near] <= limit]
    return near[np.argmin(off[near])]


def edited(state: SceneState, kind: Any, **params: Any) -> SceneState:
    rule = selection.rule_now(state)
    assert rule is not None
    edit = PointEdit(history.edit_id(history.next_seq(state)), kind, rule, params)
    return history.append_step(
        state, command=kind, title=kind, actor=PERSON, time="", edits=(edit,)
    )


def many_edits(state: SceneState, count: int) -> SceneState:
    """Small boxes all over the town, as a day of corrections leaves them."""
    rng = np.random.default_rng(2)
    events = []
    for number in range(1, count + 1):
        x, y = rng.uniform(0, 990, 2) + OFFSET[:2]
        box = Box((x, y, -100.0), (x + rng.uniform(1, 10), y + rng.uniform(1, 10), 500.0))
        one = edited(selection.joined(state, box), "reclassify", **{"class": number % 9})
        event = one.events[-1]
        rule = replace(event.edits[0].rule, at=number)
        events.append(
            replace(event, seq=number, edits=(replace(event.edits[0], id=f"e{number}", rule=rule),))
        )
    return replace(state, events=tuple(events))


def main() -> int:
    rows: list[dict[str, Any]] = []

    def row(what: str, figure: str, aim: str = "", holds: bool | None = None) -> None:
        print(f"{what:<70} {figure:<26} {aim:<14} {'' if holds is None else holds}", flush=True)
        rows.append({"what": what, "figure": figure, "aim": aim, "holds": holds})

    info, tree = town()
    camera = cam.preset(Camera(), "iso")
    bounds = (info.bounds_min, info.bounds_max)
    assert info.bounds_min is not None and info.bounds_max is not None
    camera = cam.fit(camera, (info.bounds_min, info.bounds_max), VIEW)
    state = SceneState(clouds=(CloudEntry("c1", "town", "town"),), camera=camera)
    program = EditProgram(within=bounds)  # type: ignore[arg-type]
    start = time.process_time()
    resident = filled(info, tree, state, program)
    load = time.process_time() - start
    row("resident points, nodes", f"{POINTS:,}, {len(resident)}")

    lens = cam.matrices(camera, VIEW, (info.bounds_min, info.bounds_max))
    prism = lasso(lens)
    nodes = resident.held()
    x, y, z = (np.concatenate([h.block.points.axis(i) for h in nodes]) for i in range(3))
    plain = plain_lasso(prism, x, y, z)
    slow = timed(lambda: plain_lasso(prism, x, y, z), 2)

    def select() -> None:
        # another polygon each time: nothing may be remembered from the last
        shifted = tuple((a, b + 1e-9 * time.perf_counter()) for a, b in prism.polygon)
        resident.show(selection.joined(state, replace(prism, polygon=shifted)), program)

    fast = timed(select, 9)
    chosen = selection.joined(state, prism)
    resident.show(chosen, program)
    hit = np.concatenate([h.node.flags & 8 != 0 for h in nodes])
    same = bool((hit == plain).all())
    row(
        "lasso of 60 edges over all resident points, against plain NumPy",
        f"1/{slow / fast:.0f} ({fast * 1e3:.0f} ms), {int(hit.sum()):,} hit",
        "under 1/25, same",
        same and slow / fast > 25,
    )
    count = timed(lambda: resident.tally(chosen, program).points)
    row("its count by class, when asked again", f"{count * 1e3:.2f} ms")

    world = np.stack((x, y, z), axis=1)
    rng = np.random.default_rng(3)
    places = rng.uniform((300, 200), (980, 560), (12, 2))
    agree = True
    for px, py in places[:4]:
        want, got = plain_pick(lens, world, px, py), picking.pick(nodes, lens, px, py)
        agree &= (got is None) == (want is None)
        agree &= got is None or got.position == tuple(world[want].tolist())
    scan = timed(lambda: plain_pick(lens, world, *places[0]), 3)
    picks = [timed(lambda p=p: picking.pick(nodes, lens, *p), 3) for p in places]
    pick = statistics.median(picks)
    row(
        "pick under the cursor, against a scan",
        f"1/{scan / pick:.0f} ({pick * 1e3:.1f} ms)",
        "under 1/50, same",
        agree and scan / pick > 50,
    )

    ratios = []
    for kind, params in (
        ("hide", {}), ("delete", {}), ("reclassify", {"class": 9}), ("color", {"color": "#112233"}),
    ):  # fmt: skip
        done = edited(selection.joined(state, prism), kind, **params)
        undone, _ = history.undo(done, PERSON, "")
        forward, back = [], []
        for _ in range(5):
            fresh = EditProgram(within=bounds)  # type: ignore[arg-type]
            resident.show(state, fresh)
            t = time.process_time()
            fresh.extend(done.events)
            resident.show(done, fresh)
            forward.append(time.process_time() - t)
            t = time.process_time()
            fresh.extend(undone.events)
            resident.show(undone, fresh)
            back.append(time.process_time() - t)
        ratios.append(min(back) / min(forward))
    row(
        "undo of an edit, against the edit (worst of the four kinds)",
        f"{max(ratios):.2f}×",
        "at most 1×",
        max(ratios) <= 1.0,
    )

    t = time.process_time()
    long = many_edits(state, EDITS)
    made = time.process_time() - t
    t = time.process_time()
    log = EditProgram(long.events, bounds)  # type: ignore[arg-type]
    compiled = time.process_time() - t
    t = time.process_time()
    heavy = filled(info, tree, long, log)
    loaded = time.process_time() - t
    row(
        f"loading all nodes under {EDITS:,} edits, against under none",
        f"{loaded / load:.1f}× ({loaded:.1f} s, {loaded / EDITS * 1e6:.0f} µs an edit)",
    )
    row(f"reading {EDITS:,} edits into a program", f"{compiled * 1e3:.0f} ms")
    del made

    def one_more(base: SceneState, nodes: ResidentSet, of: EditProgram) -> tuple[float, float]:
        forward, back = [], []
        for number in range(5):
            x0 = OFFSET[0] + 100.0 * number
            box = Box((x0, OFFSET[1], -100.0), (x0 + 300, OFFSET[1] + 300, 500.0))
            done = edited(selection.joined(base, box), "delete")
            undone, _ = history.undo(done, PERSON, "")
            t = time.process_time()
            of.extend(done.events)
            nodes.show(done, of)
            forward.append(time.process_time() - t)
            t = time.process_time()
            of.extend(undone.events)
            nodes.show(undone, of)
            back.append(time.process_time() - t)
            base = undone
        return min(forward), min(back)

    short = selection.joined(state, Where(elevation=(None, 0.0)))
    light = EditProgram(within=bounds)  # type: ignore[arg-type]
    resident.show(short, light)
    few, _ = one_more(short, resident, light)
    many, undo = one_more(long, heavy, log)
    row(
        f"one more edit on top of {EDITS:,}, against on top of none",
        f"{many / few:.2f}× ({many * 1e3:.0f} ms)",
        "at most 2×",
        many / few <= 2.0,
    )
    row(
        f"its undo on top of {EDITS:,}, against the edit",
        f"{undo / many:.2f}×",
        "at most 1×",
        undo <= many,
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row("peak memory of this bench", f"{peak:.0f} MiB")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    result = {
        "title": "Scene",
        "order": 30,
        "rows": rows,
        "notes": ["One process, one thread; seconds of processor time, best of some runs."],
    }
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
