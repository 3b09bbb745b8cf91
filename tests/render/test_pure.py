"""What the renderer works out before any OpenGL: bytes, levels, shaders, palettes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oniyanma.clouds.model import NodeId, NodeKey
from oniyanma.render import pack, shaderlib
from oniyanma.render.detail import Details
from oniyanma.render.shaderlib import ShaderMissing
from oniyanma.scene import palettes

EXTREMES = st.integers(-(2**31), 2**31 - 1)


@given(hnp.arrays(np.int32, (7, 3), elements=EXTREMES), EXTREMES)
def test_halves_give_every_difference_of_coordinates_back(xyz: np.ndarray, eye: int) -> None:
    """What the shader does with halves, in whole numbers, is X - eye for all of int32."""
    halves = pack.places(xyz).view("<u2").reshape(7, 3, 2).astype(np.int64)
    high, low = pack.bias(eye)
    difference = (halves[..., 1] - int(high)) * 65536 + (halves[..., 0] - int(low))
    assert np.array_equal(difference, xyz.astype(np.int64) - eye)


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.floats(0.05, 1.0), st.floats(-0.5, 0.5))
def test_a_drifting_range_keeps_its_channel_and_its_precision(
    low: float, width: float, zoom: float, shift: float
) -> None:
    """A scalar's 65,535 steps leave room: no new upload for each small change of a range."""
    channel = pack.channel_for("gpsTime", (low, low + width))
    a, b = low + shift * width, low + shift * width + zoom * width
    if b - a <= 0 or low + width == low:
        return
    if channel.holds(a, b):
        factor, move = channel.range(a, b)
        step = round((a - channel.low) / channel.step)
        assert abs(step * factor + move) < 1 / 255
        assert 1 / factor >= 255


@given(st.floats(1e-6, 1e6), st.integers(0, 15))
def test_levels_halve_the_spacing(reference: float, level: int) -> None:
    assert pack.level(reference / 2**level, reference) == level


def test_levels_are_the_finest_reached_around_a_point() -> None:
    """Children, grandchildren, and back when they leave."""
    details = Details()
    root, child = NodeId("a", NodeKey(0, 0, 0, 0)), NodeId("a", NodeKey(1, 0, 0, 0))
    grand = NodeId("a", NodeKey(2, 1, 0, 0))
    line = np.arange(16, dtype=np.int32)
    xyz = np.stack([line, line * 0, line * 0], axis=1)
    details.add(root, xyz, 0)
    details.add(child, xyz[:8], 3)
    details.add(grand, xyz[4:8], 4)
    assert details.refresh([root]) == []
    assert details.refresh([root, child]) == [root]
    assert details.levels(root).tolist() == [3] * 8 + [2] * 8  # type: ignore[union-attr]
    assert set(details.refresh([root, child, grand])) == {root, child}
    assert details.levels(child).tolist() == [3] * 4 + [4] * 4  # type: ignore[union-attr]
    assert details.levels(root).tolist() == [4] * 8 + [2] * 8  # type: ignore[union-attr]
    assert set(details.refresh([root])) == {root}
    assert details.levels(root) == 0


# -- shaders -----------------------------------------------------------------------------------


def code(name: str) -> str:
    """A shader without its comments."""
    return re.sub(r"//.*", "", shaderlib.load(name))


def test_every_shader_is_reachable_and_all_vertex_shaders_write_the_point_size() -> None:
    """FIELD_REPORTS 61, and GLSL 120 throughout: macOS gives no more."""
    names = shaderlib.names()
    assert "points.vert" in names
    for name in names:
        source = shaderlib.load(name)
        assert source.startswith("#version 120\n") and "#include" not in source
        assert not re.search(r"\b(texelFetch|layout|flat|uint|in vec|out vec)\b", code(name))
        if name.endswith(".vert"):
            assert "gl_PointSize =" in source


def test_every_uniform_has_a_declaration_of_its_own() -> None:
    for name in shaderlib.names():
        for line in code(name).splitlines():
            if line.startswith("uniform"):
                assert line.count(";") == 1 and "," not in line.split(";")[0]


def test_a_missing_shader_and_a_circle_are_told() -> None:
    with pytest.raises(ShaderMissing, match=r"no shader no\.vert"):
        shaderlib.load("no.vert")
    with pytest.raises(ShaderMissing, match="includes itself"):
        shaderlib._resolved("depth.glsl", ("depth.glsl",))


# -- palettes ----------------------------------------------------------------------------------

# Machado, Oliveira and Fernandes 2009, severity 1.0: linear RGB as red-green blind eyes see it.
BLIND = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


def linear(rgb: np.ndarray) -> np.ndarray:
    c = np.asarray(rgb, float) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def oklab(rgb_linear: np.ndarray) -> np.ndarray:
    """OKLab of linear sRGB (B. Ottosson, 2020); distances near 0.02 are just to be seen."""
    lms = rgb_linear @ np.array(
        [
            [0.4122214708, 0.2119034982, 0.0883024619],
            [0.5363325363, 0.6806995451, 0.2817188376],
            [0.0514459929, 0.1073969566, 0.6299787005],
        ]
    )
    return np.cbrt(np.clip(lms, 0, None)) @ np.array(
        [
            [0.2104542553, 1.9779984951, 0.0259040371],
            [0.7936177850, -2.4285922050, 0.7827717662],
            [-0.0040720468, 0.4505937099, -0.8086757660],
        ]
    )


@pytest.mark.parametrize("name", [n for n in palettes.PALETTES if n != "turbo"])
def test_palettes_rise_in_lightness_by_even_steps(name: str) -> None:
    """Readable without colour vision: lightness never falls and no step is a jump."""
    lab = oklab(linear(palettes.palette(name)))
    steps = np.diff(lab[:, 0])
    assert steps.min() > -0.004
    distance = np.linalg.norm(np.diff(lab, axis=0), axis=1)
    assert distance[16:].max() < 4.0 * distance.mean()  # near black OKLab is uneven


@pytest.mark.parametrize("eyes", [None, *BLIND])
def test_the_classes_people_compare_are_told_apart_by_all_eyes(eyes: str | None) -> None:
    """Ground, three heights of vegetation, building, water, road, wire, noise, bridge."""
    codes = (2, 3, 4, 5, 6, 7, 9, 11, 14, 17)
    colors = linear(palettes.class_table()[list(codes)])
    if eyes:
        colors = np.clip(colors @ np.array(BLIND[eyes]).T, 0, 1)
    lab = oklab(colors)
    for i in range(len(codes)):
        for j in range(i):
            apart = np.linalg.norm(lab[i] - lab[j])
            assert apart > 0.08, (codes[i], codes[j], float(apart))


def test_unknown_palettes_and_bad_colours_are_told() -> None:
    with pytest.raises(ValueError, match="no palette is called 'sepia'"):
        palettes.palette("sepia")
    with pytest.raises(ValueError, match="not a colour"):
        palettes.rgb("red")
    assert palettes.palette_of("intensity", None) == "grey"
    assert palettes.palette_of("elevation", "cividis") == "cividis"
