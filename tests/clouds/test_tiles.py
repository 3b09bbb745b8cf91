"""Folders of tiles that differ: their extra dimensions and their coordinate systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import CRS

from oniyanma.clouds.convert import convert_main
from oniyanma.clouds.export import export
from oniyanma.clouds.inspect import inspect
from oniyanma.clouds.open import open_source
from tests.clouds.making import codes, message, read, write_las
from tests.support import shared

KINDS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]


def with_extra(path: Path, name: str, kind: str, values: Any, **facts: Any) -> Path:
    """A small LAS whose points carry the extra dimension ``name`` of laspy's type ``kind``."""
    header = laspy.LasHeader(version="1.4", point_format=6)
    header.add_extra_dim(laspy.ExtraBytesParams(name, kind, **facts))
    las = laspy.LasData(header)
    las.X = las.Y = las.Z = np.arange(len(values))
    las.points.array[name] = values
    las.write(str(path))
    return path


def test_extra_dimensions_of_one_name_and_different_shape_are_both_kept(tmp_path: Path) -> None:
    """A field that is a number in one tile and an array in another stays whole in each."""
    with_extra(tmp_path / "a.las", "code", "u1", [7, 8])
    with_extra(tmp_path / "b.las", "code", "3u2", [[1, 2, 3], [4, 5, 600]])
    source = open_source(tmp_path)
    points = read(source)
    assert points["code"].tolist() == [7, 8, 0, 0]
    assert points["code_2"].tolist() == [[0, 0, 0], [0, 0, 0], [1, 2, 3], [4, 5, 600]]
    assert "code_2" in message(source.info, "tiles_differ")
    assert len(source.sample(4)) == 4


def test_extra_dimensions_of_one_name_and_different_scale_are_both_kept(tmp_path: Path) -> None:
    """Raw values under another scale would be other values."""
    for name, scale in (("a.las", 0.1), ("b.las", 0.001)):
        facts = {"scales": np.array([scale]), "offsets": np.array([0.0])}
        with_extra(tmp_path / name, "width", "i4", [50], **facts)
    source = open_source(tmp_path)
    points = read(source)
    assert (points["width"].tolist(), points["width_2"].tolist()) == ([50, 0], [0, 50])
    scales = {dim.name: dim.scale for dim in source.info.dimensions if dim.extra}
    assert scales == {"width": 0.1, "width_2": 0.001}


@settings(max_examples=25, deadline=None)
@given(
    kinds=st.lists(
        st.sampled_from(KINDS),
        min_size=2,
        max_size=4,
    )
)
def test_no_value_of_an_extra_dimension_is_lost_whatever_its_types(
    kinds: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One field where one type holds all values, else several; the values are there."""
    folder = tmp_path_factory.mktemp("kinds")
    largest = []
    for place, kind in enumerate(kinds):
        dtype = np.dtype(kind)
        value = np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max
        with_extra(folder / f"{place}.las", "value", kind, np.array([value], dtype))
        largest.append(value)
    points = read(open_source(folder))
    names = [name for name in points.dtype.names or () if name.startswith("value")]
    for place, value in enumerate(largest):
        assert any(points[name][place] == value for name in names)


def test_the_whole_corpus_as_one_folder_is_read_to_its_end() -> None:
    """All formats in one folder: a cloud with warnings of one sentence, no fault."""
    info = inspect(shared("corpus"))
    assert info.checked and info.points > 900_000
    assert {"tiles_differ", "tile_refused"} <= codes(info)
    refused = message(info, "tile_refused")
    assert refused.count(". ") == 0 and refused.endswith(".")


def test_tiles_of_one_format_and_different_scale_keep_their_values(tmp_path: Path) -> None:
    """Only the coordinates are brought to another scale."""
    write_las(tmp_path / "a.las", 10, point_format=1, intensity=np.full(10, 9))
    other = laspy.read(str(write_las(tmp_path / "b.las", 10, point_format=1, seed=2)))
    other.change_scaling(scales=[0.001] * 3)
    other.user_data[:] = 5
    other.write(str(tmp_path / "b.las"))
    points = read(open_source(tmp_path))
    assert points["intensity"][:10].tolist() == [9] * 10
    assert points["user_data"][10:].tolist() == [5] * 10


def in_system(path: Path, epsg: int | None, **more: Any) -> Path:
    """A small LAS in the coordinate system of that code; None: in one it does not name."""
    las = laspy.read(str(write_las(path, 5, **more)))
    if epsg is not None:
        las.header.add_crs(CRS.from_epsg(epsg))
    las.write(str(path))
    return path


def test_a_known_system_wins_over_an_unknown_one(tmp_path: Path) -> None:
    """Whichever tile is the first; and the records that name it go into what is written."""
    in_system(tmp_path / "a.las", None)
    in_system(tmp_path / "b.las", 25832)
    info = inspect(tmp_path)
    assert info.crs.epsg == 25832 and "crs_unknown" not in codes(info)
    assert message(info, "tiles_crs_differ").startswith("1 of 2 tiles names no coordinate system")
    for name in ("all.las", "all.copc.laz"):
        target = tmp_path / "out" / name
        target.parent.mkdir(exist_ok=True)
        result = export([open_source(tmp_path)], target, workers=0)
        assert "tiles_crs_differ" in {warning.code for warning in result.warnings}
        assert inspect(target).crs.epsg == 25832


@pytest.mark.parametrize("formats", [(7, 7), (6, 7)])
def test_clouds_of_two_systems_are_not_written_into_one_file(
    tmp_path: Path, formats: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither two files nor a folder of them; the sentence names both systems."""
    folder = tmp_path / "tiles"
    folder.mkdir()
    one = in_system(folder / "a.las", 25832, point_format=formats[0])
    two = in_system(folder / "b.las", 25833, point_format=formats[1])
    target = tmp_path / "both.copc.laz"
    for sources in ([one, two], [folder]):
        assert convert_main([*map(str, sources), str(target)]) == 3
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and not target.exists()
        assert "EPSG:25832" in err and "EPSG:25833" in err and "a file of its own" in err
    assert inspect(folder).crs.epsg == 25832
    assert "2 coordinate systems" in message(inspect(folder), "tiles_crs_differ")


def test_a_known_and_an_unknown_system_are_merged_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line for each warning on standard error: its code, then its sentence."""
    one, two = in_system(tmp_path / "a.las", None), in_system(tmp_path / "b.las", 25832)
    assert convert_main([str(one), str(two), str(tmp_path / "c.las")]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[0] for line in lines] == ["warning tiles_crs_differ"]
