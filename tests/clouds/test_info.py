"""`oniyanma info`: what it prints, and with which status it ends."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oniyanma.clouds.inspect import inspect, stored
from oniyanma.clouds.main import info_main
from oniyanma.clouds.model import CloudInfo
from oniyanma.clouds.open import open_source
from tests.clouds.making import patch, write_las
from tests.support import shared


def run(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    """Status, standard output and standard error of the command."""
    status = info_main([str(arg) for arg in args])
    out, err = capsys.readouterr()
    return status, out, err


def test_one_file_gives_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    """Every key that is promised, with the points' own values."""
    status, out, err = run(capsys, shared("corpus", "pdal_mvk-thin.las"), "--json")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert told["points"] == 6280
    assert told["bounds"]["min"] == pytest.approx([2045001.76, 1267501.19, 95.79], abs=1e-9)
    assert told["classes"] == {"1": 129, "2": 1693, "4": 141, "5": 578, "9": 37, "12": 3702}
    assert told["crs"]["epsg"] == 26995 and told["unit"] == told["crs"]["unit"] == "ftUS"
    assert told["crs"]["verticalUnit"] == "ftUS"
    assert {"code", "message"} == set(told["warnings"][0])
    expected = {"format": "las", "version": "1.2", "pointFormat": 1, "gpsTime": "week"}
    assert {key: told[key] for key in expected} == expected
    assert {dim["name"]: dim["type"] for dim in told["dimensions"]}["gps_time"] == "float64"
    assert len(told["vlrs"]) == 5 and told["vlrs"][2].startswith("LASF_Projection/34735")
    assert {"returns", "software", "created", "scale", "offset", "checked"} <= set(told)


def test_several_files_give_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    """{"clouds": […]}, in the order given."""
    names = ["pdal_interesting.las", "pdal_data.xyz"]
    status, out, _ = run(capsys, *(shared("corpus", n) for n in names), "--json")
    assert status == 0
    assert [cloud["points"] for cloud in json.loads(out)["clouds"]] == [1065, 400]


def test_a_refusal_is_status_3_and_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nothing on standard output, one line on standard error; the others are still told."""
    bad = tmp_path / "bad.las"
    bad.write_bytes(b"LASF")
    status, out, err = run(capsys, bad, "--json")
    assert (status, out) == (3, "") and err.startswith("bad.las") and err.count("\n") == 1
    good = write_las(tmp_path / "good.las")
    status, out, err = run(capsys, bad, good, "--json")
    assert status == 3 and len(json.loads(out)["clouds"]) == 1 and err.count("\n") == 1


def test_warnings_are_status_0(capsys: pytest.CaptureFixture[str]) -> None:
    """A file with oddities has opened."""
    status, out, _ = run(capsys, shared("corpus", "pdal_bad_vlr_count.las"))
    assert status == 0 and "warning   vlr_count: " in out


def test_header_reads_the_header_only(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The header's word stands unchecked, and is marked so."""
    path = patch(write_las(tmp_path / "a.las"), 179, "d", 12345.0)
    told = json.loads(run(capsys, path, "--json", "--header")[1])
    assert told["checked"] is False and told["classes"] == {}
    assert told["bounds"]["max"][0] == 12345.0 and told["points"] == 100
    assert json.loads(run(capsys, path, "--json")[1])["bounds"]["max"][0] != 12345.0


def test_json_has_no_words_of_its_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """NaN bounds in a header are null, as JSON asks."""
    path = patch(write_las(tmp_path / "a.las"), 179, "d", float("nan"))
    out = run(capsys, path, "--json", "--header")[1]
    assert json.loads(out, parse_constant=pytest.fail)["bounds"]["max"][0] is None


def test_text_options_reach_the_reader(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """--separator and --columns."""
    path = tmp_path / "a.txt"
    path.write_text("1:2:3\n4:5:6\n", encoding="utf-8")
    options = ("--separator", ":", "--columns", "z,y,x", "--json")
    told = json.loads(run(capsys, path, *options)[1])
    assert told["bounds"] == {"min": [3.0, 2.0, 1.0], "max": [6.0, 5.0, 4.0]}


def test_a_second_pass_tells_the_same(tmp_path: Path) -> None:
    """`records` may be called again: same points, no warning twice."""
    source = open_source(write_las(tmp_path / "a.laz", 1000))
    first = [np.array(record.array) for record in source.records(300)]
    told = source.info
    again = [np.array(record.array) for record in source.records(300)]
    assert [len(part) for part in first] == [300, 300, 300, 100]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert source.info == told


@cache
def example() -> CloudInfo:
    return inspect(shared("corpus", "pdal_interesting.las"))


@given(
    st.integers(-(2**31), 2**31 - 1),
    st.sampled_from([0.1, 0.01, 0.001, 1e-7, 0.025, 0.00025, 1.0, 10.0]),
    st.sampled_from([0.0, -0.0, 500_000.0, 0.005, -1234.5]),
)
def test_a_stored_coordinate_is_told_as_the_decimal_number_it_is(
    number: int, scale: float, offset: float
) -> None:
    """X * scale + offset in decimals, which float64 misses by its noise; never -0.0."""
    info = replace(example(), scale=(scale,) * 3, offset=(offset,) * 3)
    exact = float(number * Decimal(repr(scale)) + Decimal(repr(offset)))
    told = stored(number * scale + offset, info, 0)
    assert told == exact and not str(told).startswith("-0.0" if exact == 0 else "nan")


def test_what_lies_between_two_stored_coordinates_stays_as_it_is() -> None:
    """A header may say anything."""
    for value in (848_899.7049, float("inf"), -0.003):
        assert stored(value, example(), 1) == value
    assert stored(1 / 3, replace(example(), scale=(1 / 3,) * 3), 0) == 1 / 3


def test_coordinates_are_told_without_the_noise_of_floats(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As JSON the shortest number, for people with the decimals of the scale."""
    path = shared("corpus", "pdal_interesting.las")
    told = json.loads(run(capsys, path, "--json")[1])
    assert told["bounds"]["min"] == [635619.85, 848899.7, 406.59]
    assert [str(value) for value in told["offset"]] == ["0.0"] * 3
    assert "y         848899.70 .. 853535.43" in run(capsys, path)[1]


def test_a_single_point_is_told_in_the_singular(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One point has; two have."""
    for count, words in ((1, "1 point has"), (2, "2 points have")):
        gps = np.zeros(5)
        gps[:count] = np.nan
        path = write_las(tmp_path / "a.las", 5, gps_time=gps)
        assert f"gps_time_not_finite: {words} a GPS time" in run(capsys, path)[1]


def test_how_far_a_header_is_wrong_is_told_with_its_unit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where the unit is known."""
    out = run(capsys, shared("corpus", "liblas_certainty3d-color-utm-feet-navd88.las"))[1]
    assert "by up to 459.342 ftUS; the points' are used" in out
