"""Pictures: our own time a frame, frames against a plain draw and against peers, edits, memory.

``python bench/render.py`` measures with no display and writes bench/results/render.json. vispy's
Markers are measured with it; ``--peer-python PATH`` also measures pyvista and Open3D with the
interpreter of an environment that has them. Everything is drawn at 1280×720 from 5 million points.
``--tiled`` adds real clouds with their level of detail: a COPC of Autzen beside one of ten Autzens
(106 million points), made in the temporary folder in some minutes and 2 GB, or given as
``--tiled FILE`` (and ``--autzen FILE``).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "bench" / "results" / "render.json"
SIZE = (1280, 720)
POINTS = 5_000_000
NODES = 1_000
MB = 1 << 20
AUTZEN = ROOT.parent / "shared" / "data" / "autzen.laz"


def cloud(points: int = POINTS) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """A rolling landscape of 2 × 2 km with colours, the same for everybody."""
    rng = np.random.default_rng(11)
    x, y = rng.uniform(0.0, 2000.0, (2, points))
    z = 40.0 * np.sin(x / 190.0) * np.cos(y / 230.0) + rng.uniform(0.0, 2.0, points)
    shade = (90 + 2 * z).clip(0, 255)
    return np.stack([x, y, z], 1), np.stack([shade, shade * 0.9, 255 - shade], 1).astype(np.uint8)


def median_ms(
    function: Callable[[int], Any], rounds: int = 7, clock: Callable[[], float] = time.process_time
) -> float:
    """The median of some runs, in milliseconds of processor time (a software rasteriser's threads
    are in it, and other programs are not); one run before them does not count."""
    function(0)
    times = []
    for i in range(1, rounds + 1):
        start = clock()
        function(i)
        times.append(clock() - start)
    return statistics.median(times) * 1000.0


def side_by_side(
    one: Callable[[int], Any], other: Callable[[int], Any], rounds: int = 9
) -> tuple[float, float]:
    """Two medians as of `median_ms`, measured in turns, so that both see the same machine."""
    times: tuple[list[float], list[float]] = ([], [])
    for step in range(rounds + 1):
        for function, kept in zip((one, other), times, strict=True):
            start = time.process_time()
            function(step)
            kept.append(time.process_time() - start)
    first, second = (statistics.median(kept[1:]) * 1000.0 for kept in times)
    return first, second


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


# -- ours --------------------------------------------------------------------------------------


class View:
    """A SceneView over made-up nodes."""

    def __init__(self, points: int, nodes: int, clouds: int = 1) -> None:
        from oniyanma.clouds.model import UNKNOWN_CRS, CloudInfo, NodeId, NodeKey
        from oniyanma.scene.ports import ResidentNode
        from oniyanma.scene.state import CloudEntry, ColorMode, Display, SceneState

        xyz, rgb = cloud(points)
        order = np.argsort((xyz[:, 0] // 64).astype(int) * 100 + (xyz[:, 1] // 64).astype(int))
        xyz, rgb = xyz[order], rgb[order].astype(np.uint16)
        integers = np.rint(xyz * 1000.0).astype(np.int32)
        low, high = tuple(xyz.min(axis=0)), tuple(xyz.max(axis=0))
        self.infos: dict[str, Any] = {}
        self.nodes = []
        for i, run in enumerate(np.array_split(np.arange(points), nodes)):
            name = f"cloud{i % clouds}"
            self.infos[name] = CloudInfo(
                *(name, name, "las", "1.4", 7, points, points, low, high),  # type: ignore[arg-type]
                *((0.001,) * 3, (0.0,) * 3, UNKNOWN_CRS, (), 8, {}, {}, "none"),  # type: ignore[arg-type]
            )
            self.nodes.append(
                ResidentNode(
                    NodeId(name, NodeKey(5, i, 0, 0)),
                    np.ascontiguousarray(integers[run]),
                    {c: rgb[run, k] for k, c in enumerate(("red", "green", "blue"))},
                    np.zeros(len(run), np.uint8),
                    np.full(len(run), 2, np.uint8),
                    None,
                    1.0,
                )
            )
        self.bounds = (low, high)
        self.resident_version = 1
        display = Display(color=ColorMode("rgb"), adaptive=False, edl=False, point_size=2.0)
        entries = tuple(CloudEntry(name, name, name) for name in self.infos)
        self.state = SceneState(clouds=entries, display=display, budget=points)
        self.turn(0)

    def turn(self, step: int) -> None:
        """The camera a little further around."""
        from oniyanma.scene.state import Camera

        a = 0.7 + 0.02 * step
        eye = (1000.0 + 1900.0 * np.cos(a), 1000.0 + 1900.0 * np.sin(a), 900.0)
        self.state = replace(self.state, camera=Camera(eye, (1000.0, 1000.0, 0.0)))

    def resident(self) -> Sequence[Any]:
        return self.nodes

    def cloud_info(self, cloud: str) -> Any:
        return self.infos[cloud]

    def color_range(self, cloud: str) -> tuple[float, float]:
        return (-40.0, 42.0)

    def scene_bounds(self) -> Any:
        return self.bounds

    def display_scale(self) -> tuple[float, float, float]:
        return (1.0, 1.0, 1.0)


def ours() -> dict[str, float]:
    """All figures of our own renderer, in one process with one context."""
    from oniyanma.render.headless import HeadlessRenderer

    renderer = HeadlessRenderer()
    try:
        return renderer.run(lambda: _ours(renderer.points))
    finally:
        renderer.close()


def _ours(renderer: Any) -> dict[str, float]:
    from oniyanma.render import gl, look
    from oniyanma.render.arena import ATTRIBUTES
    from oniyanma.render.renderer import PointRenderer
    from oniyanma.scene.overlays import lens

    found: dict[str, float] = {}
    target = gl.Target()
    target.bind(*SIZE)
    view = View(POINTS, NODES)

    def frame(step: int, **options: Any) -> Any:
        view.turn(step)
        stats = renderer.paint(view, SIZE, framebuffer=target.handle, **options)
        gl.finish()
        return stats

    start = time.perf_counter()
    stats = frame(0, max_upload=None)
    found["first_s"] = time.perf_counter() - start
    found["bytes_a_point"] = stats.uploaded / POINTS
    found["whole_ms"] = median_ms(frame)

    # the same points with the same shader and one glDrawArrays
    gpu = renderer._gpu
    page = gpu.arena.pages[0]
    program = next(iter(gpu._programs.values()))
    rows = look.frame_uniforms(lens(view, SIZE))[0]
    viewport = look.wide_view(rows, SIZE, renderer.capabilities.max_viewport)[1]

    def plain(step: int) -> None:
        gl.check("before the plain draw")
        gpu.front.target.bind(*SIZE)
        gl.begin_points(viewport)
        gl.clear()
        program.use({})
        page.bind()
        gl.draw_points(0, POINTS)
        gl.end(len(ATTRIBUTES), target.handle)
        gl.finish()

    renderer._compose = lambda *_: None
    found["pass_ms"], found["plain_ms"] = side_by_side(frame, plain)
    del renderer._compose
    view.state = replace(view.state, display=replace(view.state.display, edl=True))
    found["edl_ms"] = median_ms(frame)
    view.state = replace(view.state, display=replace(view.state.display, edl=False))

    # our own time: the frame with OpenGL's drawing left out, the camera moving
    real, draw = gpu.multi_draw, gl.draw_triangles
    gpu.multi_draw = lambda firsts, counts: None
    gl.draw_triangles = lambda count: None
    clear = gl.clear
    gl.clear = lambda: None
    found["own_ms"] = median_ms(frame, 60)
    gpu.multi_draw, gl.draw_triangles, gl.clear = real, draw, clear
    start = time.process_time()
    total = 0
    for i in range(100_000):
        total += i & 7
    found["loop_ms"] = (time.process_time() - start) * 1000.0

    # at the default budget: moving, an edit of all points, another number of clouds
    renderer.release()
    view = View(2_000_000, 400)
    frame(0, max_upload=None)
    for step in range(1, 9):
        frame(step, moving=True, frame_budget_ms=50.0)

    def glide(step: int) -> None:
        frame(step, moving=True, frame_budget_ms=50.0)

    found["moving_ms"] = median_ms(glide, 15, time.perf_counter)
    found["moving_cpu_ms"] = median_ms(glide, 15)
    frame(0)

    def recode(step: int) -> None:
        for node in view.nodes:
            node.classification = np.full(len(node.xyz), step % 20, np.uint8)
            node.version += 1
        view.resident_version += 1

    sync, send = [], []
    for step in range(1, 8):
        recode(step)
        start = time.process_time()
        sent = renderer._sync(renderer._gpu, view, 1)
        sync.append(time.process_time() - start)
        assert sent == 8_000_000 and not renderer._waiting
        arena = renderer._gpu.arena
        start = time.process_time()
        for slot in arena.drawable:
            arena.pages[slot.page].state.write(slot.first * 4, slot.packed)
        send.append(time.process_time() - start)
    found["edit_ms"] = statistics.median(sync) * 1000.0
    found["send_ms"] = statistics.median(send) * 1000.0
    ten, others = View(2_000_000, 400, clouds=10), PointRenderer()

    def frame_of_ten(step: int) -> None:
        ten.turn(step)
        others.paint(ten, SIZE, framebuffer=target.handle, max_upload=None)
        gl.finish()

    several, one = side_by_side(frame_of_ten, frame)
    found["ten_clouds"] = several / one
    found["software"] = float(renderer.capabilities.software)
    found["peak_mb"] = peak_mb()
    return found


# -- real clouds -------------------------------------------------------------------------------


class Orbit:
    """A session's view, framed by `fitView`, with the camera turned about its target."""

    def __init__(self, view: Any) -> None:
        self.view, self.state = view, view.state

    def __getattr__(self, name: str) -> Any:
        return getattr(self.view, name)

    def turn(self, step: int) -> None:
        camera = self.view.state.camera
        (x, y, z), (cx, cy, _) = camera.eye, camera.target
        c, s = np.cos(0.02 * step), np.sin(0.02 * step)
        eye = (cx + (x - cx) * c - (y - cy) * s, cy + (x - cx) * s + (y - cy) * c, z)
        self.state = replace(self.view.state, camera=replace(camera, eye=eye))


def real(paths: Sequence[str]) -> dict[str, Any]:
    """Two COPC files as the program shows them when they are opened, frames taken in turns."""
    from oniyanma.app import Session
    from oniyanma.render import gl
    from oniyanma.render.headless import HeadlessRenderer

    renderers = [HeadlessRenderer() for _ in paths]
    sessions = [Session(viewport=SIZE, allow_read=[Path(path).parent]) for path in paths]
    try:
        views = []
        for session, path in zip(sessions, paths, strict=True):
            for name, args in (("openCloud", {"path": path}), ("fitView", {})):
                answer = session.call(name, args)
                assert answer["ok"], answer
            session.settle()
            views.append(Orbit(session.view))

        def frame(which: int, step: int, **options: Any) -> Any:
            def paint() -> Any:
                if renderers[which]._target is None:
                    renderers[which]._target = gl.Target()
                target = renderers[which]._target
                target.bind(*SIZE)
                stats = renderers[which].points.paint(
                    views[which], SIZE, framebuffer=target.handle, max_upload=None, **options
                )
                gl.finish()
                return stats

            views[which].turn(step)
            return renderers[which].run(paint)

        def moving(which: int, step: int) -> Any:
            return frame(which, step, moving=True, frame_budget_ms=50.0)

        points = [frame(which, 0).points for which in (0, 1)]
        rest = side_by_side(lambda step: frame(0, step), lambda step: frame(1, step), 15)
        for step in range(8):
            moving(0, step), moving(1, step)
        busy = side_by_side(lambda step: moving(0, step), lambda step: moving(1, step), 21)
        clock = [
            median_ms(lambda step, w=w: moving(w, step), 15, time.perf_counter) for w in (0, 1)
        ]
        totals = [sum(view.cloud_info(c.id).points for c in view.state.clouds) for view in views]
        return {"totals": totals, "points": points, "rest": rest, "busy": busy, "clock": clock}
    finally:
        for each in (*renderers, *sessions):
            each.close()


def real_rows(tiled: str | None, autzen: str | None) -> list[dict[str, Any]]:
    """Autzen and ten of it, made here where they are not given."""
    import clouds

    from oniyanma.clouds.index.build import build_copc
    from oniyanma.clouds.open import open_source

    with tempfile.TemporaryDirectory(prefix="oniyanma-bench-") as temporary:
        folder = Path(temporary)
        if not autzen:
            autzen = str(folder / "autzen.copc.laz")
            build_copc(open_source(str(AUTZEN)), Path(autzen), memory=2 << 30, workers=2)
        if not tiled:
            tiled = str(folder / "tiled.copc.laz")
            clouds.tiled(AUTZEN, folder / "tiled.laz")
            build_copc(
                open_source(str(folder / "tiled.laz")), Path(tiled), memory=2 << 30, workers=2
            )
        found = measure("real", sys.executable, autzen, tiled)
    if found is None:
        raise SystemExit("the real clouds were not measured")
    (small, big), (few, many) = found["points"], found["totals"]
    rows = []
    for what, (one, ten) in (
        ("a frame at rest", found["rest"]),
        ("a moving frame, budget 50 ms", found["busy"]),
    ):
        rows.append(
            row(
                f"{TILED} {many:,} points / of {few:,}: {what}",
                f"{ten / one:.2f}× ({ten:.0f} ms / {one:.0f} ms; {big:,} / {small:,} resident)",
                "1.1×",
                ten <= 1.1 * one,
            )
        )
    one, ten = found["clock"]
    rows.append(
        row(
            f"{TILED} {many:,} points: moving, by the clock",
            f"{ten:.0f} ms a frame (of {few:,}: {one:.0f} ms)",
            "60 ms",
            ten <= 60.0,
        )
    )
    return rows


TILED = "with level of detail, a cloud of"


# -- peers -------------------------------------------------------------------------------------


def peer_vispy() -> dict[str, float]:
    """vispy's Markers, as its documentation draws a point cloud."""
    os.environ["EGL_PLATFORM"] = "surfaceless"
    import vispy

    vispy.use("egl")
    from vispy import gloo, scene

    xyz, rgb = cloud()
    before = peak_mb()
    start = time.perf_counter()
    canvas = scene.SceneCanvas(size=SIZE, show=True)
    view = canvas.central_widget.add_view()
    colors = np.concatenate([rgb / 255.0, np.ones((POINTS, 1))], axis=1).astype(np.float32)
    markers = scene.visuals.Markers(parent=view.scene)
    markers.set_data(xyz.astype(np.float32), edge_width=0, face_color=colors, size=2)
    view.camera = scene.TurntableCamera(fov=45, distance=2300, center=(1000, 1000, 0))

    def frame(step: int) -> None:
        view.camera.azimuth = step
        canvas.set_current()
        canvas.events.draw(region=None)
        gloo.read_pixels((0, 0, 1, 1))

    frame(0)
    first = time.perf_counter() - start
    ms = median_ms(frame, 3)
    return {"first_s": first, "frame_ms": ms, "bytes": (peak_mb() - before) * MB / POINTS}


def peer_pyvista() -> dict[str, float]:
    """pyvista with points drawn as points."""
    import pyvista

    xyz, rgb = cloud()
    before = peak_mb()
    start = time.perf_counter()
    plotter = pyvista.Plotter(off_screen=True, window_size=SIZE)
    mesh = pyvista.PolyData(xyz.astype(np.float32))
    mesh["rgb"] = rgb
    plotter.add_mesh(mesh, scalars="rgb", rgb=True, point_size=2, style="points")
    plotter.show(auto_close=False)

    def frame(step: int) -> None:
        plotter.camera.azimuth = step
        plotter.render()
        plotter.screenshot(return_img=True)

    frame(0)
    first = time.perf_counter() - start
    ms = median_ms(frame, 3)
    return {"first_s": first, "frame_ms": ms, "bytes": (peak_mb() - before) * MB / POINTS}


def peer_open3d() -> dict[str, float]:
    """Open3D's visualizer with no window shown."""
    import open3d

    xyz, rgb = cloud()
    before = peak_mb()
    start = time.perf_counter()
    points = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(xyz))
    points.colors = open3d.utility.Vector3dVector(rgb / 255.0)
    window = open3d.visualization.Visualizer()
    if not window.create_window(width=SIZE[0], height=SIZE[1], visible=False):
        raise SystemExit("Open3D opens no window here: it needs a display (Xvfb will do)")
    window.add_geometry(points)
    window.get_render_option().point_size = 2.0
    control = window.get_view_control()

    def frame(step: int) -> None:
        control.rotate(5.0, 0.0)
        window.poll_events()
        window.update_renderer()
        np.asarray(window.capture_screen_float_buffer(False))

    frame(0)
    first = time.perf_counter() - start
    ms = median_ms(frame, 3)
    return {"first_s": first, "frame_ms": ms, "bytes": (peak_mb() - before) * MB / POINTS}


PEERS: dict[str, tuple[Callable[[], dict[str, float]], float]] = {
    "vispy Markers": (peer_vispy, 0.35),
    "pyvista": (peer_pyvista, 0.5),
    "Open3D": (peer_open3d, 0.65),
}


def measure(name: str, python: str, *paths: str) -> dict[str, Any] | None:
    """A measurement in a process of its own; None where it fails (a peer is not installed)."""
    done = subprocess.run(
        [python, __file__, "--one", name, *paths], capture_output=True, text=True, timeout=900
    )
    if done.returncode:
        print(f"{name} could not be measured: {done.stderr.strip().splitlines()[-1:]}")
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# -- the page ----------------------------------------------------------------------------------


def row(
    what: str, figure: str, aim: str | None = None, holds: bool | None = None
) -> dict[str, Any]:
    return {"what": what, "figure": figure, "aim": aim, "holds": holds}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    options.add_argument("--tiled", nargs="?", const="", help="106 million points; a COPC of them")
    options.add_argument("--autzen", help="a COPC of Autzen, for --tiled")
    options.add_argument("--peer-python", help="an interpreter that has pyvista and open3d")
    given = options.parse_args()
    if given.one:
        name, *paths = given.one
        own: dict[str, Callable[[], Any]] = {"ours": ours, "real": lambda: real(paths)}
        print(json.dumps(own[name]() if name in own else PEERS[name][0]()))
        return
    mine = measure("ours", sys.executable)
    if mine is None:
        raise SystemExit("nothing was measured")
    whole, plain, passed = mine["whole_ms"], mine["plain_ms"], mine["pass_ms"]
    rows = [
        row(
            "our own processor time a frame, 1,000 nodes, 5 M points, camera moving",
            f"{mine['own_ms']:.2f} ms ({mine['own_ms'] / mine['loop_ms']:.2f}× a loop of 100,000)",
            "3 ms",
            mine["own_ms"] <= 3.0,
        ),
        row(
            "drawing 5 M points in 1,000 nodes / one plain glDrawArrays of them",
            f"{passed / plain:.2f}× ({passed:.0f} ms / {plain:.0f} ms)",
            "1.1×",
            passed <= 1.1 * plain,
        ),
        row("a whole frame with background", f"{whole:.0f} ms"),
        row("eye-dome lighting", f"{(mine['edl_ms'] / whole - 1) * 100:+.0f} % of a frame"),
        row(
            "moving, 2 M resident points, budget 50 ms",
            f"{mine['moving_ms']:.0f} ms a frame ({mine['moving_cpu_ms']:.0f} ms of them busy)",
            "60 ms",
            mine["moving_ms"] <= 60.0,
        ),
        row(
            "2 M points in ten clouds / in one",
            f"{mine['ten_clouds']:.2f}×",
        ),
        row(
            "reclassify 2 M resident points: made ready and sent / sent alone",
            f"{mine['edit_ms'] / mine['send_ms']:.1f}× ({mine['edit_ms']:.0f} ms)",
            "5×",
            mine["edit_ms"] <= 5.0 * mine["send_ms"],
        ),
        row("bytes a point on the GPU", f"{mine['bytes_a_point']:.0f}", "20", True),
        row("first picture of 5 M points in memory", f"{mine['first_s']:.1f} s"),
        row("peak memory of this bench", f"{mine['peak_mb']:.0f} MB"),
    ]
    for name, (_, aim) in PEERS.items():
        python = sys.executable if name.startswith("vispy") else given.peer_python
        found = measure(name, python) if python else None
        if found is None:
            continue
        ratio = whole / found["frame_ms"]
        rows.append(
            row(
                f"a frame of 5 M points / {name}",
                f"{ratio:.2f}× ({whole:.0f} ms / {found['frame_ms']:.0f} ms; first picture "
                f"{found['first_s']:.1f} s, {found['bytes']:.0f} bytes a point)",
                f"{aim}×",
                ratio <= aim,
            )
        )
    if given.tiled is not None:
        rows += real_rows(given.tiled, given.autzen)
    elif RESULT.exists():  # what the long run found stays until it is run again
        old = json.loads(RESULT.read_text("utf-8"))
        rows += [each for each in old["rows"] if each["what"].startswith(TILED)]
    how = "Mesa's software rasteriser" if mine["software"] else "a graphics card"
    result = {
        "title": "Pictures",
        "order": 30,
        "rows": rows,
        "notes": [
            f"1280×720, no display, {how}; peers draw the same points 2 pixels wide. Frames are "
            "medians of processor time over all threads, but for the moving one, which is the "
            f"clock's, on a machine with {os.cpu_count()} processors. The rows of clouds with "
            "level of detail are from the last run with `--tiled`: two COPC files at the default "
            "budget, framed whole, everything resident, frames in turns."
        ],
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for each in rows:
        print(f"{each['what']}: {each['figure']}  (aim {each['aim']}: {each['holds']})")


if __name__ == "__main__":
    main()
