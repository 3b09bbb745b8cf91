"""Every file of the corpus against the right answers in its manifest."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from oniyanma.clouds.inspect import inspect
from oniyanma.clouds.model import CloudError, CloudInfo
from tests.support import SHARED, shared

_MANIFEST = SHARED / "corpus" / "manifest.json"
ENTRIES: list[dict[str, Any]] = (
    json.loads(_MANIFEST.read_text(encoding="utf-8")) if _MANIFEST.exists() else []
)
_KINDS = {"LAS": "las", "LAZ": "laz", "COPC": "copc", "E57": "e57", "PLY": "ply", "PCD": "pcd"}
_UNITS = {"9001": "m", "9002": "ft", "9003": "ftUS"}


def test_the_corpus_is_here_and_complete() -> None:
    """The manifest names 84 entries, and each file it names lies beside it."""
    shared("corpus", "manifest.json")
    assert len(ENTRIES) == 84
    assert [e["file"] for e in ENTRIES if not (SHARED / "corpus" / e["file"]).exists()] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e["file"])
def test_a_corpus_file_opens_as_its_manifest_says(entry: dict[str, Any]) -> None:
    """Count, bounds, format, classes, colour depth and CRS are right, or it is refused."""
    path = shared("corpus", *entry["file"].split("/"))
    allowed = {entry["expect"], *filter(None, [entry.get("alt_expect")])}
    if path.name == "ept.json" and not (path.parent / "ept-hierarchy").exists():
        with pytest.raises(CloudError, match=r"ept-hierarchy/0-0-0-0\.json"):
            inspect(path)  # this copy of the corpus holds no tiles: the missing part is named
        return
    try:
        info = inspect(path)
    except CloudError as error:
        assert "refuse" in allowed, f"refused: {error}"
        assert str(error).endswith((".", ":", ")")) and path.name.split(".")[0] in str(error)
        return
    opens = [answer for answer in allowed if answer.startswith("open")]
    assert opens, f"opened with {info.points} points, but should be refused: {entry['why']}"
    if allowed == {"open_with_warning"} or (info.points == 0 and entry["expect"] == "refuse"):
        assert info.warnings, "opened without a warning"
    promised = re.search(r"with (\d+) points", " ".join(opens))
    points = int(promised.group(1)) if promised and not entry["points"] else entry["points"]
    assert info.points == points
    assert info.checked
    _check_facts(entry, info)


def _check_facts(entry: dict[str, Any], info: CloudInfo) -> None:
    kind = _KINDS.get(entry["format"])
    if kind is not None:
        assert info.format == kind
    if entry["version"] and kind in ("las", "laz", "copc"):
        assert (info.version, info.point_format) == (entry["version"], entry["point_format"])
    if entry["bounds_min"] is None:
        assert info.bounds_min is None and info.bounds_max is None
    else:
        assert np.allclose(info.bounds_min, entry["bounds_min"], rtol=1e-12, atol=1e-7)
        assert np.allclose(info.bounds_max, entry["bounds_max"], rtol=1e-12, atol=1e-7)
    if entry["classes"] is not None:
        assert {str(k): v for k, v in info.classes.items()} == entry["classes"]
    if entry["rgb_bits"] is not None or kind in ("las", "laz", "copc"):
        assert info.color_depth == (entry["rgb_bits"] or None)
    if kind in ("las", "laz", "copc"):
        assert info.scale == tuple(entry["scale"])
        assert info.declared_points == entry["header_points"]
        extras = [dim.name for dim in info.dimensions if dim.extra]
        wanted = [text.split(":")[0] for text in entry["extra_dims"] or []]
        assert extras[: len(wanted)] == wanted
        assert set(extras[len(wanted) :]) <= {"ExtraBytes"}  # bytes that no record describes
        assert bool(extras) == bool(entry["extra_bytes"])
    _check_crs(entry["crs"], info)


def _check_crs(said: str, info: CloudInfo) -> None:
    """The CRS is the one the manifest names: by EPSG code, by name, or unknown."""
    crs = info.crs
    if said in ("none", "WKT ''"):
        assert (crs.name, crs.epsg) == ("unknown", None)
        return
    named = re.search(r'(?:PROJCS|PROJCRS|GEOGCS|GEOCCS|COMPD_CS)\["([^"]+)', said)
    keys = dict(re.findall(r"(\w+)=(\d+)", said))
    # WKT wins where its bit is set or the format is 6 or above, else the GeoTIFF keys do.
    wkt_wins = (info.point_format or 0) >= 6 or info.extra.get("globalEncoding", 0) & 16
    if named and (wkt_wins or not keys):
        assert crs.name.startswith(named.group(1)[:40])
        return
    code = int(keys.get("projected") or keys.get("geographic") or 0)
    assert crs.epsg == (code if 1024 <= code < 32767 else None)
    assert crs.geographic == (keys.get("model") == "2")
    if "linear_units" in keys and not crs.geographic:
        assert crs.horizontal.name == _UNITS[keys["linear_units"]]
    if "vertical_units" in keys:
        assert crs.vertical.name == _UNITS[keys["vertical_units"]]
