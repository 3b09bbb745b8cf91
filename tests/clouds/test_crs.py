"""Coordinate systems and units: what the file states, and nothing invented."""

from __future__ import annotations

import struct
from pathlib import Path

import laspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laspy.vlrs.known import WktCoordinateSystemVlr
from pyproj import CRS

from oniyanma.clouds.crs import (
    crs_from_geo_keys,
    crs_from_pyproj,
    crs_from_wkt,
    read_geo_keys,
    same_crs,
    settle,
)
from oniyanma.clouds.export import export
from oniyanma.clouds.inspect import inspect
from oniyanma.clouds.model import (
    FOOT,
    METRE,
    UNKNOWN_CRS,
    UNKNOWN_UNIT,
    US_FOOT,
    Crs,
    Unit,
)
from oniyanma.clouds.open import open_source
from tests.clouds.making import codes, write_las
from tests.support import shared

UTM12_WKT = CRS.from_epsg(32612).to_wkt("WKT1_GDAL")


def keys(**values: int) -> bytes:
    """A GeoKeyDirectory of short values, by key number (``k3072=32612``)."""
    pairs = sorted((int(name[1:]), value) for name, value in values.items())
    rows = [(key, 0, 1, value) for key, value in pairs]
    return struct.pack("<4H", 1, 1, 0, len(rows)) + b"".join(struct.pack("<4H", *r) for r in rows)


def las_with(path: Path, *vlrs: laspy.VLR, point_format: int = 3, wkt_bit: bool = False) -> Path:
    """A LAS file with the given projection records."""
    header = laspy.LasHeader(version="1.4", point_format=point_format)
    header.global_encoding.wkt = wkt_bit
    header.vlrs.extend(vlrs)
    las = laspy.LasData(header)
    las.x = las.y = las.z = np.arange(3.0)
    las.write(path)
    return path


def geo(**values: int) -> laspy.VLR:
    return laspy.VLR("LASF_Projection", 34735, "", keys(**values))


@pytest.mark.parametrize(
    ("point_format", "bit", "epsg"),
    [(3, False, 2992), (3, True, 32612), (6, False, 32612), (6, True, 32612)],
)
def test_wkt_wins_where_its_bit_is_set_or_the_format_asks_for_it(
    tmp_path: Path, point_format: int, bit: bool, epsg: int
) -> None:
    """With both records the right one is taken."""
    both = (WktCoordinateSystemVlr(UTM12_WKT), geo(k1024=1, k3072=2992))
    path = las_with(tmp_path / "a.las", *both, point_format=point_format, wkt_bit=bit)
    assert inspect(path).crs.epsg == epsg


@pytest.mark.parametrize("empty", ["", "''", '""', " \0"])
def test_an_empty_wkt_is_skipped_for_the_geotiff_keys(tmp_path: Path, empty: str) -> None:
    """An empty record never hides a full one."""
    path = las_with(
        tmp_path / "a.las",
        WktCoordinateSystemVlr(empty),
        geo(k1024=1, k3072=32612),
        wkt_bit=True,
        point_format=6,
    )
    info = inspect(path)
    assert info.crs.epsg == 32612 and "wkt_empty" in codes(info)


def test_the_projected_key_beats_the_geographic_one() -> None:
    """EPSG 32612, not 4326."""
    crs, warnings = crs_from_geo_keys(
        read_geo_keys(keys(k1024=1, k2048=4326, k3072=32612, k3076=9001), b"")
    )
    assert (crs.epsg, crs.geographic, crs.horizontal.name) == (32612, False, "m")
    assert warnings == []


def test_a_user_defined_crs_is_no_error(tmp_path: Path) -> None:
    """32767 means user-defined: no code, but the unit its keys give."""
    crs, _ = crs_from_geo_keys(
        read_geo_keys(keys(k1024=1, k2048=32767, k3072=32767, k3076=9002), b"")
    )
    assert (crs.epsg, crs.horizontal.name, crs.geographic) == (None, "ft", False)
    assert inspect(shared("corpus", "laspy_plane.laz")).crs.epsg is None


@pytest.mark.parametrize(
    ("epsg", "unit", "metres"),
    [
        (2229, "ftUS", 1200 / 3937),
        (2992, "ft", 0.3048),
        (32612, "m", 1.0),
    ],
)
@pytest.mark.parametrize("version", ["WKT1_GDAL", "WKT2_2019"])
def test_one_unit_of_a_crs_has_its_true_length(
    epsg: int, unit: str, metres: float, version: str
) -> None:
    """US survey and international feet are told apart, in WKT 1 and in WKT 2 (LENGTHUNIT)."""
    crs, warnings = crs_from_wkt(CRS.from_epsg(epsg).to_wkt(version))
    assert warnings == []
    assert (crs.horizontal.name, crs.epsg) == (unit, epsg)
    assert crs.horizontal.metres == pytest.approx(metres, rel=1e-9)


def test_heights_have_their_own_unit() -> None:
    """International feet on the ground, US survey feet in height."""
    crs = inspect(shared("corpus", "las-rs_autzen.copc.laz")).crs
    assert (crs.horizontal.name, crs.vertical.name) == ("ft", "ftUS")
    assert crs.vertical.metres == pytest.approx(0.3048006096, rel=1e-9)


def test_without_a_vertical_crs_heights_take_the_horizontal_unit_with_a_warning() -> None:
    """Feet stay feet; degrees make metres."""
    feet, _ = crs_from_wkt(CRS.from_epsg(2992).to_wkt())
    settled, warnings = settle(feet, None, None)
    assert settled.vertical.name == "ft"
    assert [w.code for w in warnings] == ["no_vertical_crs"]
    degrees, _ = crs_from_wkt(CRS.from_epsg(4326).to_wkt())
    settled, warnings = settle(degrees, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    assert settled.vertical.name == "m"
    assert {w.code for w in warnings} == {"no_vertical_crs", "crs_geographic"}


def test_an_unknown_crs_is_said_to_be_unknown() -> None:
    """No guess: name, unit and heights unknown."""
    settled, warnings = settle(UNKNOWN_CRS, None, None)
    assert settled == Crs() and [w.code for w in warnings] == ["crs_unknown"]


def test_degrees_that_can_not_be_degrees_are_said() -> None:
    """A geographic CRS with X up to 226."""
    assert "crs_contradicts_points" in codes(inspect(shared("corpus", "laspy_simple1_4.las")))
    assert "crs_contradicts_points" in codes(inspect(shared("corpus", "pdal_lone-star.copc.laz")))


@pytest.mark.parametrize("folder", ["plain", "點雲 é ß"])
def test_a_prj_beside_the_file_is_used(tmp_path: Path, folder: str) -> None:
    """A side file gives the CRS where the file has none, from any path."""
    place = tmp_path / folder
    place.mkdir()
    for name in ("a.las", "b.xyz"):
        path = place / name
        if name == "a.las":
            write_las(path, point_format=1, version="1.2")
        else:
            path.write_text("1 2 3\n", encoding="utf-8")
        path.with_suffix(".prj").write_text(UTM12_WKT, encoding="utf-8")
        assert inspect(path).crs.epsg == 32612


def test_wkt_that_proj_can_not_read_is_kept_and_said(tmp_path: Path) -> None:
    """Damaged WKT: unknown, with the text and a warning."""
    path = las_with(tmp_path / "a.las", WktCoordinateSystemVlr("PROJCS[oops"), wkt_bit=True)
    info = inspect(path)
    assert (info.crs.name, info.crs.wkt) == ("unknown", "PROJCS[oops")
    assert "crs_damaged" in codes(info)


@given(directory=st.binary(max_size=200), text=st.binary(max_size=60))
def test_no_geotiff_directory_raises(directory: bytes, text: bytes) -> None:
    """Any bytes give a CRS, known or not."""
    crs, warnings = crs_from_geo_keys(read_geo_keys(directory, text))
    assert isinstance(crs, Crs) and all(w.code.startswith("crs_") for w in warnings)


@settings(deadline=None)
@given(text=st.text(max_size=80) | st.text('GEOCSPRJ[],"0. ', max_size=60).map("GEOGCS[".__add__))
def test_no_wkt_raises(text: str) -> None:
    """Any text gives a CRS, known or not."""
    crs, _ = crs_from_wkt(text)
    assert crs.epsg is None or crs.name != "unknown"


def of(text: str) -> Crs:
    return crs_from_pyproj(CRS(text))


def test_systems_are_the_same_however_they_are_written() -> None:
    """By code, by definition without its code, with a vertical system that the other lacks."""
    utm = of("EPSG:25832")
    bare = CRS(CRS("EPSG:25832").to_wkt("WKT1_GDAL").replace(',AUTHORITY["EPSG","25832"]', ""))
    assert crs_from_pyproj(bare).epsg is None
    assert same_crs(utm, crs_from_pyproj(bare)) and same_crs(utm, of("EPSG:25832+5941"))
    assert same_crs(UNKNOWN_CRS, Crs(horizontal=METRE))


def test_systems_differ_by_zone_by_unit_and_by_height() -> None:
    """And a known one from an unknown one."""
    utm = of("EPSG:25832")
    others = [of("EPSG:25833"), Crs("a", 25832, None, FOOT, FOOT), UNKNOWN_CRS]
    assert not any(same_crs(utm, other) or same_crs(other, utm) for other in others)
    assert not same_crs(of("EPSG:25832+5941"), of("EPSG:25832+5783"))


def test_a_unit_key_that_contradicts_its_system_holds_in_a_copy(tmp_path: Path) -> None:
    """COPC wants WKT, but the WKT of the code would say metres where the key says feet."""
    source = las_with(tmp_path / "a.las", geo(k1024=1, k3072=26995, k3076=9003))
    export([open_source(source)], tmp_path / "a.copc.laz", workers=0)
    for path in (source, tmp_path / "a.copc.laz"):
        info = inspect(path)
        assert (info.crs.epsg, info.crs.horizontal.name) == (26995, "ftUS")


def test_grads_are_no_length() -> None:
    """A unit of angle never turns lengths into hundredths of a metre."""
    known, _ = crs_from_wkt(CRS.from_epsg(4807).to_wkt())
    assert known.geographic and known.horizontal == Unit("grad", None)
    _, said = settle(known, None, None)
    assert any("in grads" in warning.message for warning in said)


@pytest.mark.parametrize(
    ("metres", "unit"),
    [(1200 / 3937, US_FOOT), (0.3048, FOOT), (1.0, METRE), (float("nan"), None), (-1.0, None)],
)
def test_a_linear_unit_of_its_own_has_the_size_that_its_key_says(
    metres: float, unit: Unit | None
) -> None:
    """GeoTIFF key 3077; nonsense there is an unknown unit, as is a place beyond the record."""
    rows = [(1024, 0, 1, 1), (3072, 0, 1, 32767), (3076, 0, 1, 32767), (3077, 34736, 1, 1)]
    directory = struct.pack("<16H", *[1, 1, 0, len(rows)], *sum(rows[:3], ())) + struct.pack(
        "<4H", *rows[3]
    )
    known, _ = crs_from_geo_keys(read_geo_keys(directory, b"", struct.pack("<2d", 7.0, metres)))
    assert known.horizontal == (unit or UNKNOWN_UNIT)
    known, _ = crs_from_geo_keys(read_geo_keys(directory, b"", struct.pack("<d", 7.0)))
    assert known.horizontal == UNKNOWN_UNIT
