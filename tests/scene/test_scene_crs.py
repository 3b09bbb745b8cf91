"""Several clouds of different coordinate systems in one scene: shown as they are, and said so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import laspy
import pytest
from pyproj import CRS

from oniyanma.app import Session
from tests.scene.scene_help import PERSON, write_cloud


def in_system(path: Path, epsg: int | None, seed: int) -> Path:
    """A small cloud in the coordinate system of that code; None: in one it does not name."""
    las = laspy.read(str(write_cloud(path, 200, seed)))
    if epsg is not None:
        las.header.add_crs(CRS.from_epsg(epsg))
    las.write(str(path))
    return path


def told(warnings: list[dict[str, Any]]) -> list[str]:
    return [one["message"] for one in warnings if one["code"] == "scene_crs_differs"]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (25832, 25833, ["EPSG:25833", "EPSG:25832"]),
        (25832, None, ["names no coordinate system", "EPSG:25832"]),
        (None, 25833, ["EPSG:25833", "names none"]),
        (25832, 25832, None),
        (None, None, None),
    ],
)
def test_a_second_cloud_in_another_system_is_opened_with_a_warning(
    tmp_path: Path, first: int | None, second: int | None, words: list[str] | None
) -> None:
    """openCloud, getCloudInfo, listClouds and what the window reads tell it; the first is none."""
    with Session(inline_workers=True, allow_read=[tmp_path], actor=PERSON) as session:
        ids, answers = [], []
        for name, epsg, seed in (("a.las", first, 1), ("b.las", second, 2)):
            path = in_system(tmp_path / name, epsg, seed)
            answers.append(session.call("openCloud", path=str(path), append=True))
            ids.append(answers[-1]["cloud"])
        assert told(answers[0]["warnings"]) == []
        found = told(answers[1]["warnings"])
        assert len(found) == (0 if words is None else 1)
        assert all(word in found[0] for word in words or ())
        facts = [session.call("getCloudInfo", cloud=id)["warnings"] for id in ids]
        assert (told(facts[0]), told(facts[1])) == ([], found)
        counts = [one["warnings"] for one in session.call("listClouds")["clouds"]]
        assert counts == [len(one) for one in facts]
        session.call("closeCloud", cloud=ids[0])
        assert told(session.call("getCloudInfo", cloud=ids[1])["warnings"]) == []
