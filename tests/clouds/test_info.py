"""`oniyanma info`: what it prints, and with which status it ends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from oniyanma.clouds.main import info_main
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
