"""Pictures as files: the command line, captureView, world files, and a few kept for comparison."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import laspy
import numpy as np
import pytest
from PIL import Image

from oniyanma.app import Session
from oniyanma.render import gl, headless
from oniyanma.render.gl import GlError
from oniyanma.render.headless import HeadlessRenderer
from oniyanma.render.main import camera, render_main, size
from oniyanma.scene.ports import SELECTED
from oniyanma.scene.state import Camera, ColorMode
from tests.render.scenes import View, above, lit, one_cloud

KEPT = Path(__file__).parent / "kept"
TOLERANCE = 3  # of 255, a channel
BAD = 0.002  # of the pixels may be further off


@pytest.fixture
def hill(tmp_path: Path) -> Path:
    """A small coloured LAS file of a hill."""
    rng = np.random.default_rng(2)
    x, y = rng.uniform(0, 40, (2, 20_000))
    header = laspy.LasHeader(version="1.4", point_format=7)
    header.scales, header.offsets = (0.001,) * 3, (600_000, 5_000_000, 0)
    las = laspy.LasData(header)
    las.x, las.y = 600_000 + x, 5_000_000 + y
    las.z = 100 + 6 * np.exp(-((x - 20) ** 2 + (y - 20) ** 2) / 90)
    las.red, las.green, las.blue = rng.integers(20_000, 65_535, (3, 20_000)).astype(np.uint16)
    path = tmp_path / "hill.las"
    las.write(path)
    return path


@pytest.fixture
def session(hill: Path) -> Iterator[Session]:
    with Session(viewport=(320, 240), allow_read=[hill.parent], inline_workers=True) as made:
        assert made.call("openCloud", path=str(hill))["ok"]
        yield made


def image(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def test_a_picture_is_drawn_from_the_command_line(hill: Path, tmp_path: Path) -> None:
    out = tmp_path / "hill.png"
    argv = [str(hill), "-o", str(out), "--size", "300x200", "--color", "elevation", "--edl"]
    assert render_main([*argv, "--camera", "top"], Session) == 0
    drawn = image(out.read_bytes())
    assert drawn.shape == (200, 300, 3)
    assert 0.2 < lit(drawn).mean() < 0.98
    view = '{"eye": [600020, 4999960, 130], "target": [600020, 5000020, 100]}'
    assert render_main([*argv, "--camera", view, "--light", "--plain"], Session) == 0
    other = image(out.read_bytes())
    assert other[:20].mean() > 200 and np.any(other != drawn)


def test_what_can_not_be_drawn_is_said_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "none.las"
    assert render_main([str(missing), "-o", str(tmp_path / "x.png")], Session) == 3
    said = capsys.readouterr().err
    assert said.startswith("oniyanma render: ") and "none.las" in said and said.count("\n") == 1
    assert not (tmp_path / "x.png").exists()


@pytest.mark.parametrize("text", ["12", "12x", "axb", "5000x100", "8x8"])
def test_a_bad_size_is_refused(text: str) -> None:
    with pytest.raises(Exception, match=r"size|pixels"):
        size(text)


@pytest.mark.parametrize("text", ["sideways", "[1, 2]", "{"])
def test_a_bad_camera_is_refused(text: str) -> None:
    with pytest.raises(Exception, match="setCamera"):
        camera(text)


def test_capture_view_answers_a_png_with_the_facts_of_its_pixels(session: Session) -> None:
    answer = session.call("captureView", width=200, height=150)
    assert answer["ok"] and answer["mediaType"] == "image/png"
    assert (answer["width"], answer["height"]) == (200, 150)
    drawn = image(base64.b64decode(answer["image"]))
    assert drawn.shape == (150, 200, 3) and lit(drawn).any()
    plain = session.call("captureView", width=200, height=150, annotations=False)
    assert np.any(image(base64.b64decode(plain["image"])) != drawn)
    assert answer["worldFile"] is None
    assert answer["unitsPerPixel"] > 0


def test_the_default_size_is_the_viewport(session: Session) -> None:
    answer = session.call("captureView")
    assert (answer["width"], answer["height"]) == (320, 240)


def test_a_world_file_takes_pixels_to_coordinates(session: Session) -> None:
    """Straight down and orthographic: A and E are the pixel, C and F the first pixel's centre."""
    session.call("setCamera", preset="top", projection="orthographic")
    session.call("fitView")
    answer = session.call("captureView", width=320, height=240, annotations=False)
    a, d, b, e, c, f = answer["worldFile"]
    assert a == pytest.approx(-e) == pytest.approx(answer["unitsPerPixel"])
    assert b == pytest.approx(0) == pytest.approx(d)
    rows, columns = np.nonzero(lit(image(base64.b64decode(answer["image"]))))
    assert c + a * columns.min() == pytest.approx(600_000, abs=3 * a)
    assert c + a * columns.max() == pytest.approx(600_040, abs=3 * a)
    assert f + e * rows.min() == pytest.approx(5_000_040, abs=3 * a)


def test_a_machine_without_opengl_gets_the_reason(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FIELD_REPORTS 59: a sentence, and everything else keeps working."""

    def none(*_: object) -> None:
        raise GlError("EGL has no surfaceless display here: install Mesa's drivers.")

    monkeypatch.setattr(headless.EglContext, "_open_display", none)
    answer = session.call("captureView")
    assert answer["error"]["code"] == "refused" and "EGL" in answer["error"]["message"]
    assert session.call("queryElevation")["ok"]


@pytest.mark.parametrize("version", ["1.1.0", "2.0 Mesa 7", "", "nonsense"])
def test_too_old_an_opengl_is_named_with_what_is_needed(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FIELD_REPORTS 59: the version that was found and the one that is needed."""
    monkeypatch.setattr(gl.gl, "glGetParameter", lambda _: version)
    with pytest.raises(GlError, match=r"2\.1 is needed") as told:
        gl.capabilities()
    assert version in str(told.value)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("cloud.copc.laz", "ending .png"),
        ("picture.gif", "ending .png"),
        ("kept.png", "no PNG picture"),
        ("nowhere/x.png", "does not exist"),
    ],
)
def test_a_picture_is_written_over_nothing_but_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, sentence: str
) -> None:
    for file in ("cloud.copc.laz", "kept.png"):
        (tmp_path / file).write_bytes(b"points")
    before = sorted(tmp_path.rglob("*"))
    argv = [str(tmp_path / "cloud.copc.laz"), "-o", str(tmp_path / name)]
    assert render_main(argv, Session) == 3
    assert sentence in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "cloud.copc.laz").read_bytes() == b"points"


def test_software_rendering_is_told(renderer: HeadlessRenderer) -> None:
    renderer.pixels(one_cloud([(0.0, 0.0, 0.0)], Camera()), 32, 32)
    found = renderer.points.capabilities
    assert found is not None and renderer.stats is not None
    assert renderer.stats.software == found.software
    assert found.software == ("llvmpipe" in found.renderer or "softpipe" in found.renderer)


def test_a_picture_leaves_no_context_behind(renderer: HeadlessRenderer) -> None:
    """Renderers don't meet: each has its thread and its context, whatever the others do."""
    view = one_cloud([(0.0, 0.0, 0.0)], above((0.0, 0.0, 0.0), 4.0))
    first = renderer.pixels(view, 32, 32)
    other = HeadlessRenderer()
    assert np.array_equal(other.pixels(view, 32, 32), first)
    assert np.array_equal(renderer.pixels(view, 32, 32), first)
    other.close()
    assert np.array_equal(renderer.pixels(view, 32, 32), first)


# -- kept pictures -----------------------------------------------------------------------------


def landscape(**display: object) -> View:
    """A rolling field with a wall and a tower of steps, the same every time."""
    u, v = np.meshgrid(np.linspace(-20, 20, 260), np.linspace(-20, 20, 260))
    z = 1.5 * np.sin(u / 4) * np.cos(v / 5)
    field = np.stack([u.ravel(), v.ravel(), z.ravel()], axis=1)
    a, b = np.meshgrid(np.linspace(-6, 6, 200), np.linspace(0, 6, 100))
    wall = np.stack([a.ravel(), np.full(a.size, 3.0), b.ravel()], axis=1)
    points = np.vstack([field, wall])
    classes = np.where(np.arange(len(points)) < len(field), 2, 6).astype(np.uint8)
    classes[: len(field)][field[:, 2] > 0.8] = 5
    shade = (130 + 90 * np.sin(points[:, 0]) * np.sin(points[:, 1])).astype(np.uint16)
    colors = {"red": shade, "green": (shade * 0.9).astype(np.uint16), "blue": 255 - shade}
    eye = Camera((24.0, -30.0, 22.0), (0.0, 0.0, 0.5))
    view = one_cloud(points, eye, parts=6, spacing=0.16, classes=classes, attributes=colors)
    view.ranges["a"] = (-1.5, 4.0)
    view.show(adaptive=True, edl=True, point_size=2.0)
    return view.show(**display)


def selected() -> View:
    view = landscape(color=ColorMode("elevation"))
    for i, n in enumerate(view.nodes):
        inside = np.abs(n.xyz[:, 0]) < 5000
        view.put(i, flags=np.where(inside, SELECTED, 0).astype(np.uint8))
    return view


def from_above() -> View:
    view = landscape(color=ColorMode("elevation", None, "viridis"))
    return view.look(above((0.0, 0.0, 0.0), 42.0))


SCENES = {
    "elevation": lambda: landscape(color=ColorMode("elevation")),
    "rgb": lambda: landscape(color=ColorMode("rgb")),
    "classes": lambda: landscape(color=ColorMode("classification")),
    "uniform": lambda: landscape(color=ColorMode("uniform")),
    "selected": selected,
    "above": from_above,
    "small-points": lambda: landscape(adaptive=False, edl=False, point_size=1.0),
}


@pytest.mark.parametrize("name", SCENES)
def test_pictures_stay_as_they_were(renderer: HeadlessRenderer, name: str) -> None:
    """256×256 on the software rasteriser, no text. ONIYANMA_KEEP_PICTURES=1 keeps new ones."""
    drawn = renderer.pixels(SCENES[name](), 256, 256)[..., :3]
    assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 50
    assert renderer.stats is not None
    if not renderer.stats.software:
        return  # drawn and not flat; other machines' pixels are their own
    path = KEPT / f"{name}.png"
    if os.environ.get("ONIYANMA_KEEP_PICTURES"):
        KEPT.mkdir(exist_ok=True)
        Image.fromarray(drawn).save(path, optimize=True)
    kept = np.asarray(Image.open(path).convert("RGB")).astype(int)
    off = np.abs(kept - drawn).max(axis=2) > TOLERANCE
    if off.mean() > BAD:
        Image.fromarray(drawn).save(path.with_suffix(".actual.png"))
    assert off.mean() <= BAD


def test_few_pictures_are_kept() -> None:
    assert len(list(KEPT.glob("*.png"))) <= 20
    assert {p.stem for p in KEPT.glob("*.png") if ".actual" not in p.name} == set(SCENES)


def test_replacing_the_look_replaces_the_picture(renderer: HeadlessRenderer) -> None:
    """The kept pictures would not pass for each other."""
    view = landscape(color=ColorMode("elevation"))
    one = renderer.pixels(view, 128, 128).astype(int)
    view.state = replace(view.state, display=replace(view.state.display, color=ColorMode("rgb")))
    other = renderer.pixels(view, 128, 128).astype(int)
    assert (np.abs(one - other).max(axis=2) > TOLERANCE).mean() > 10 * BAD
