"""Formats that are not LAS: columns become LAS 1.4 records without losing anything."""

from __future__ import annotations

import locale
import struct
from pathlib import Path

import laspy
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oniyanma.clouds.inspect import inspect
from oniyanma.clouds.model import CloudError
from oniyanma.clouds.open import open_source
from oniyanma.clouds.sources.columns import fit_scale
from tests.clouds.making import codes, message, read, text_info, world
from tests.support import shared

PLY = "ply\nformat ascii 1.0\nelement vertex {n}\n{props}\nend_header\n{rows}\n"
XYZ = "property double x\nproperty double y\nproperty double z"


def ply_text(props: str, *rows: str) -> str:
    return PLY.format(n=len(rows), props=f"{XYZ}\n{props}" if props else XYZ, rows="\n".join(rows))


# -- scale and precision -----------------------------------------------------------------------


@example(low=207628.825, width=0.0)
@example(low=-5e6, width=1e7)
@example(low=0.0, width=0.0)
@example(low=0.0, width=5e-324)
@given(low=st.floats(-1e8, 1e8), width=st.floats(0, 1e8))
def test_the_scale_is_the_finest_power_of_ten_that_fits(low: float, width: float) -> None:
    """Every value of the range is an int32, and a tenth of the scale would not do."""
    scale, offset = fit_scale(low, low + width)
    for value in (low, low + width):
        assert abs(round((value - offset) / scale)) <= 2**31 - 2
    exponent = round(np.log10(scale))
    assert scale == float(f"1e{exponent}") and exponent >= -9
    if exponent > -9:
        reach = max(abs(low - offset), abs(low + width - offset))
        assert reach / (scale / 10) > 2**31 - 2


def test_a_far_away_line_of_text_keeps_its_coordinates(tmp_path: Path) -> None:
    """207628.825 7691239.553 0.000 becomes LAS within 0.001, never INT32_MIN."""
    path = tmp_path / "far.xyz"
    path.write_text("207628.825 7691239.553 0.000\n", encoding="utf-8")
    source = open_source(path)
    points = read(source)
    assert np.allclose(world(source, points), [[207628.825, 7691239.553, 0.0]], rtol=0, atol=1e-6)
    assert points["X"][0] != -(2**31)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(
        st.tuples(*[st.floats(-1e7, 1e7).map(lambda v: round(v, 3))] * 3), min_size=1, max_size=20
    )
)
def test_text_coordinates_survive_within_the_stated_error(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, float, float]]
) -> None:
    """The error of what becomes integers is the one `info` states; bounds are the file's own."""
    path = tmp_path_factory.mktemp("text") / "a.xyz"
    path.write_text("".join(f"{x} {y} {z}\n" for x, y, z in rows), encoding="utf-8")
    source = open_source(path)
    error = source.info.extra["coordinateError"]
    got = world(source, read(source))
    assert np.abs(got - np.array(rows)).max() <= error * (1 + 1e-6) + 1e-9
    assert source.info.bounds_min == tuple(np.min(rows, axis=0))
    assert source.info.bounds_max == tuple(np.max(rows, axis=0))


def test_coordinates_that_are_no_numbers_are_dropped_and_counted(tmp_path: Path) -> None:
    """NaN, infinite and unreachable coordinates don't touch the bounds."""
    text = "1 2 3\nnan 2 3\n4 inf 3\n4 5 1e300\n7 8 9\n"
    info = text_info(tmp_path / "a.xyz", text)
    assert (info.points, info.bounds_min, info.bounds_max) == (2, (1, 2, 3), (7, 8, 9))
    assert message(info, "coordinates_not_finite").startswith("3 points")


def test_float32_coordinates_far_out_are_warned_about(tmp_path: Path) -> None:
    """PLY: double is read as double; float32 above 100,000 has lost its digits already."""
    head = "ply\nformat binary_little_endian 1.0\nelement vertex 1\n"
    for kind, code, warned in (("double", "d", False), ("float", "f", True)):
        path = tmp_path / f"{kind}.ply"
        props = "".join(f"property {kind} {axis}\n" for axis in "xyz")
        body = struct.pack(f"<3{code}", 500000.123, 5000000.456, 1.5)
        path.write_bytes(f"{head}{props}end_header\n".encode() + body)
        source = open_source(path)
        assert ("float32_coordinates" in codes(source.info)) == warned
        if not warned:
            expected = [[500000.123, 5000000.456, 1.5]]
            assert np.allclose(world(source, read(source)), expected, rtol=0, atol=1e-8)


# -- colour and attributes ---------------------------------------------------------------------


def test_ply_diffuse_red_is_red(tmp_path: Path) -> None:
    """MeshLab's names of colours are colours."""
    props = "\n".join(f"property uchar diffuse_{c}" for c in ("red", "green", "blue"))
    (tmp_path / "a.ply").write_text(ply_text(props, "0 0 0 10 20 255"), encoding="utf-8")
    source = open_source(tmp_path / "a.ply")
    point = read(source)[0]
    assert (point["red"], point["green"], point["blue"]) == (10, 20, 255)
    assert source.info.color_depth == 8


def test_ply_float_colours_are_shares_of_255(tmp_path: Path) -> None:
    """Colour floats from 0 to 1 are scaled."""
    props = "\n".join(f"property float {c}" for c in ("red", "green", "blue"))
    text = ply_text(props, "0 0 0 0 0.5 1", "1 0 0 1 1 1")
    (tmp_path / "a.ply").write_text(text, encoding="utf-8")
    source = open_source(tmp_path / "a.ply")
    points = read(source)
    assert [p.tolist() for p in (points["red"], points["green"], points["blue"])] == [
        [0, 255],
        [128, 255],
        [255, 255],
    ]
    assert source.info.color_depth == 8


def test_a_grey_column_is_grey(tmp_path: Path) -> None:
    """Grey g is (g, g, g), not pink."""
    path = tmp_path / "a.txt"
    path.write_text("x y z grey\n0 0 0 77\n1 1 1 200\n", encoding="utf-8")
    points = read(open_source(path))
    for name in ("red", "green", "blue"):
        assert points[name].tolist() == [77, 200]


def test_ply_properties_of_its_own_become_extra_dimensions(tmp_path: Path) -> None:
    """Normals and other scalars are kept in the type of the file."""
    props = "property float nx\nproperty int serial\nproperty uchar label2\nproperty double t"
    (tmp_path / "a.ply").write_text(ply_text(props, "0 0 0 0.25 -7 9 1e-12"), encoding="utf-8")
    source = open_source(tmp_path / "a.ply")
    point = read(source)[0]
    assert (point["nx"], point["serial"], point["label2"], point["t"]) == (0.25, -7, 9, 1e-12)
    types = {dim.name: dim.dtype for dim in source.info.dimensions if dim.extra}
    assert types == {"nx": "float32", "serial": "int32", "label2": "uint8", "t": "float64"}


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_binary_byte_orders_of_ply_give_the_same_points(tmp_path: Path, order: str) -> None:
    """Little and big endian."""
    word = "little" if order == "<" else "big"
    header = (
        f"ply\nformat binary_{word}_endian 1.0\nelement camera 2\nproperty float f\n"
        f"element vertex 3\n{XYZ}\nproperty ushort intensity\nelement face 0\n"
        "property list uchar int vertex_indices\nend_header\n"
    )
    rows = [(1.5, -2.25, 3.0, 65535), (0.0, 0.5, 1e5, 0), (7.0, 8.0, 9.0, 300)]
    body = struct.pack(f"{order}2f", 9, 9) + b"".join(
        struct.pack(f"{order}3dH", *row) for row in rows
    )
    (tmp_path / "a.ply").write_bytes(header.encode() + body)
    source = open_source(tmp_path / "a.ply")
    points = read(source)
    assert np.allclose(world(source, points), [row[:3] for row in rows], rtol=0, atol=1e-6)
    assert points["intensity"].tolist() == [65535, 0, 300]


def test_intensity_that_is_no_16_bit_number_is_kept_beside_the_scaled_one() -> None:
    """PTS with negative intensity: shown from 0 to 65535, the file's own values exact."""
    source = open_source(shared("corpus", "pdal_test.pts"))
    points = read(source)
    assert points["original_intensity"].min() < 0
    assert (points["intensity"].min(), points["intensity"].max()) == (0, 65535)
    assert "intensity_scaled" in codes(source.info)
    order = np.argsort(points["original_intensity"], kind="stable")
    assert (np.diff(points["intensity"][order].astype(int)) >= 0).all()


def test_a_truncated_ply_opens_with_its_whole_points(tmp_path: Path) -> None:
    """Binary PLY cut in the middle: the points before the cut, and both counts in the warning."""
    raw = shared("corpus", "loaders.gl_ripple_bin.ply").read_bytes()
    (tmp_path / "a.ply").write_bytes(raw[: len(raw) // 2])
    info = inspect(tmp_path / "a.ply")
    assert 0 < info.points < 10201
    assert "10,201" in message(info, "points_missing")


@pytest.mark.parametrize(
    "text",
    [
        "ply\nformat ascii 1.0\nelement vertex 1000000000000000000\n"
        + XYZ
        + "\nend_header\n1 2 3\n",
        "VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 1000000000000\n"
        "HEIGHT 1000\nPOINTS 1000000000000000\nDATA ascii\n1 2 3\n",
        "100000000\n100000000\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 0 0 0\n0 1 0 0\n0 0 1 0\n"
        "0 0 0 1\n1 2 3\n",
    ],
    ids=["ply", "pcd", "ptx"],
)
def test_a_header_with_an_absurd_count_costs_nothing(
    tmp_path: Path, text: str, request: pytest.FixtureRequest
) -> None:
    """10^15 and more promised points: the one that is there opens, the rest is said to miss."""
    kind = request.node.callspec.id
    info = text_info(tmp_path / f"a.{kind}", text)
    assert info.points == 1 and "points_missing" in codes(info)


# -- PCD ---------------------------------------------------------------------------------------


def test_pcd_packed_colour_and_nan_points(tmp_path: Path) -> None:
    """rgb in a float's bits is taken apart; the NaN rows of an organised cloud are dropped."""
    packed = struct.unpack("<f", struct.pack("<I", (200 << 16) | (100 << 8) | 50))[0]
    rows = [(1.0, 2.0, 3.0, packed), (np.nan, np.nan, np.nan, 0.0)]
    header = (
        "VERSION 0.7\nFIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\nWIDTH 2\n"
        "HEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2\nDATA binary\n"
    )
    body = b"".join(struct.pack("<4f", *row) for row in rows)
    (tmp_path / "a.pcd").write_bytes(header.encode() + body)
    source = open_source(tmp_path / "a.pcd")
    (point,) = read(source)
    assert (point["red"], point["green"], point["blue"]) == (200, 100, 50)
    assert message(source.info, "coordinates_not_finite").startswith("1 point was")


def test_pcd_fields_of_several_values_are_numbered() -> None:
    """COUNT 4 gives four columns."""
    info = inspect(shared("corpus", "pypcd4_ascii_multi_count.pcd"))
    extras = [dim.name for dim in info.dimensions if dim.extra]
    assert extras == [f"intensity_{i}" for i in (1, 2, 3, 4)]


# -- text --------------------------------------------------------------------------------------

ROWS = [(289814.15, 4320978.61, 170.76), (289814.64, 4320978.84, -170.5), (289815.12, 4.5, 0.25)]


@pytest.mark.parametrize("separator", [",", ";", "\t", " ", "  ", " , ", "|"])
@pytest.mark.parametrize("header", ["", "X{s}Y{s}Z", '"x"{s}"y"{s}"z"', "# x{s}y{s}z"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_separator_and_header_are_found(
    tmp_path: Path, separator: str, header: str, ending: str
) -> None:
    """Whatever stands between the numbers, and a header is never a point at 0,0,0."""
    lines = [header.format(s=separator)] if header else []
    lines += [separator.join(repr(v) for v in row) for row in ROWS]
    path = tmp_path / "a.txt"
    path.write_bytes(ending.join([*lines, ""]).encode())
    source = open_source(path)
    points = world(source, read(source))
    assert np.allclose(points, ROWS, rtol=0, atol=1e-5)
    assert "rows_skipped" not in codes(source.info)


@pytest.mark.parametrize("separator", [";", "\t", " "])
def test_decimal_commas_are_read_where_they_leave_no_doubt(tmp_path: Path, separator: str) -> None:
    """1,5;2,5;3,5 is one point."""
    text = "".join(separator.join(str(v).replace(".", ",") for v in row) + "\n" for row in ROWS)
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    source = open_source(tmp_path / "a.csv")
    assert np.allclose(world(source, read(source)), ROWS, rtol=0, atol=1e-5)


def test_the_computers_locale_plays_no_part(tmp_path: Path) -> None:
    """Under a locale with decimal commas the same file gives the same points."""
    path = shared("corpus", "pdal_crlf_test.txt")
    before = inspect(path)
    saved = locale.setlocale(locale.LC_ALL)
    wanted = ("pl_PL.UTF-8", "de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8")
    try:
        for name in wanted:
            try:
                locale.setlocale(locale.LC_ALL, name)
                break
            except locale.Error:
                continue
        after = inspect(path)
    finally:
        locale.setlocale(locale.LC_ALL, saved)
    assert (after.points, after.bounds_min, after.bounds_max) == (
        before.points,
        before.bounds_min,
        before.bounds_max,
    )


def test_columns_and_separator_may_be_given(tmp_path: Path) -> None:
    """Where nothing can be found, the caller says it."""
    path = tmp_path / "a.txt"
    path.write_text("7:1:2:3\n8:4:5:6\n", encoding="utf-8")
    options = {"separator": ":", "columns": ["intensity", "x", "y", "z"]}
    source = open_source(path, options=options)
    points = read(source)
    assert points["intensity"].tolist() == [7, 8]
    assert np.allclose(world(source, points), [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ("1 2 3", set()),
        ("1 2 3 9", {"intensity"}),
        ("1 2 3 9 8 7", {"red", "green", "blue"}),
        ("1 2 3 0.1 -0.5 0.7", {"nx", "ny", "nz"}),
        ("1 2 3 5 9 8 7", {"intensity", "red", "green", "blue"}),
        ("1 2 3 5 6", {"column_4", "column_5"}),
    ],
)
def test_columns_without_names_are_guessed_by_their_number(
    tmp_path: Path, columns: str, names: set[str]
) -> None:
    """x y z, then intensity, colours, normals."""
    path = tmp_path / "a.xyz"
    path.write_text(f"{columns}\n{columns}\n", encoding="utf-8")
    source = open_source(path)
    extras = {dim.name for dim in source.info.dimensions if dim.extra}
    point = read(source)[0]
    assert extras == names - {"intensity", "red", "green", "blue"}
    assert (source.header.point_format.id == 7) == ("red" in names)
    if "red" in names:
        assert (point["red"], point["green"], point["blue"]) == (9, 8, 7)
    if "intensity" in names:
        assert point["intensity"] == int(columns.split()[3])


def test_rows_that_do_not_fit_are_skipped_and_counted(tmp_path: Path) -> None:
    """A row with another number of values is no point; the first one's line is named."""
    info = text_info(tmp_path / "a.xyz", "1 2 3\n4 5 6\n7 8\nx y z\n\n1 1 1\n")
    assert info.points == 3
    text = message(info, "rows_skipped")
    assert text.startswith("2 rows") and "line 3" in text


@pytest.mark.parametrize(
    "text", ["X,Y,X\n0,0,0\n", "hello world\nthis is prose\n", "1 2\n3 4\n", "\n\n\n", "a b c\n"]
)
def test_text_that_is_no_table_of_points_is_refused(tmp_path: Path, text: str) -> None:
    """One sentence, with the file's name."""
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    with pytest.raises(CloudError, match=r"a\.txt"):
        inspect(tmp_path / "a.txt")


def test_large_text_is_read_in_blocks(tmp_path: Path) -> None:
    """A file of several blocks: every row once, the sample thinned evenly."""
    rows = 200_000
    values = np.arange(rows)
    path = tmp_path / "a.xyz"
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(f"{i}.5 {i * 2} {-i} {i % 200}\n" for i in values)
    source = open_source(path)
    points = read(source)
    assert len(points) == rows
    assert np.array_equal(world(source, points)[:, 1], values * 2.0)
    assert points["intensity"].tolist() == (values % 200).tolist()
    assert len(source.sample(1000)) == 1000


# -- PTX and E57 -------------------------------------------------------------------------------


def test_ptx_scans_are_transformed_into_one_system() -> None:
    """Two scans with different matrices give the same four points."""
    source = open_source(shared("corpus", "pdal_multiple-and-transform.ptx"))
    points = world(source, read(source))
    assert np.allclose(points[:4], points[4:], rtol=0, atol=1e-6)


def test_ptx_rays_without_a_hit_are_no_points(tmp_path: Path) -> None:
    """0 0 0 in a PTX means nothing came back."""
    head = "2\n1\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 0 0 0\n0 1 0 0\n0 0 1 0\n5 5 5 1\n"
    info = text_info(tmp_path / "a.ptx", head + "0 0 0 0.5\n1 2 3 0.5\n")
    assert info.points == 1 and info.bounds_min == (6, 7, 8)
    assert "invalid_points" in codes(info)


def test_e57_points_marked_invalid_are_left_out() -> None:
    """180 of 360: no phantom points at the origin."""
    info = inspect(shared("corpus", "e57_tiny_spherical.e57"))
    assert info.points == 180 and info.declared_points == 180
    assert message(info, "invalid_points").startswith("180 points")


def test_e57_poses_are_applied() -> None:
    """Translation (4, 5, 6) moves the scan."""
    info = inspect(shared("corpus", "pye57_translationWithoutRotation.e57"))
    assert (info.bounds_min, info.bounds_max) == ((4, 5, 6), (5, 6, 6))


def test_e57_scans_are_turned_then_moved(tmp_path: Path) -> None:
    """A quarter turn about z, then the translation; 16-bit colours are kept as they are."""
    pye57 = pytest.importorskip("pye57")
    path = tmp_path / "a.e57"
    data = {
        "cartesianX": np.array([1.0, 0.0]),
        "cartesianY": np.array([0.0, 1.0]),
        "cartesianZ": np.array([0.0, 2.0]),
        "colorRed": np.array([255, 1]),
        "colorGreen": np.array([0, 2]),
        "colorBlue": np.array([7, 3]),
    }
    half = np.sqrt(0.5)
    file = pye57.E57(str(path), mode="w")
    file.write_scan_raw(
        data, rotation=np.array([half, 0, 0, half]), translation=np.array([10.0, 20.0, 30.0])
    )
    file.write_scan_raw(data)
    file.close()
    source = open_source(path)
    points = read(source)
    expected = [[10, 21, 30], [9, 20, 32], [1, 0, 0], [0, 1, 2]]
    assert np.allclose(world(source, points), expected, rtol=0, atol=1e-6)
    assert points["red"].tolist() == [255, 1, 255, 1]
    assert source.info.crs.horizontal.name == "m"


def test_e57_without_the_optional_package_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pye57: the sentence says what to install."""
    import sys

    monkeypatch.setitem(sys.modules, "pye57", None)
    with pytest.raises(CloudError, match=r"oniyanma\[e57\]"):
        open_source(shared("corpus", "e57_tiny_spherical.e57"))


@pytest.mark.parametrize("suffix", ["ply", "pcd", "e57", "las", "dat"])
def test_a_format_is_known_by_its_first_bytes(tmp_path: Path, suffix: str) -> None:
    """A wrong ending of the name does not matter where the content tells."""
    path = tmp_path / f"cloud.{suffix}"
    path.write_bytes(shared("corpus", "loaders.gl_points-1.4.las").read_bytes())
    assert inspect(path).format == "las"


def test_what_is_no_point_cloud_is_refused_with_the_known_formats(tmp_path: Path) -> None:
    """A picture: one sentence that names the formats."""
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n")
    with pytest.raises(CloudError, match="LAS, LAZ, COPC, E57"):
        open_source(tmp_path / "a.png")
    with pytest.raises(CloudError, match="No such file"):
        open_source(tmp_path / "missing.las")


def test_records_of_other_formats_write_as_las(tmp_path: Path) -> None:
    """The records and header of a PLY make a LAS file that laspy reads back equal."""
    source = open_source(shared("corpus", "loaders.gl_ripple_bin.ply"))
    points = read(source)
    with laspy.open(tmp_path / "a.las", mode="w", header=source.header) as writer:
        for record in source.records():
            writer.write_points(record)
    assert laspy.read(tmp_path / "a.las").points.array.tobytes() == points.tobytes()


_TABLE = "500000.25 5000000.5 0.75\n500001.25 5000001.5 1.75\n500002.25 5000002.5 2.75\n"


@pytest.mark.parametrize("header", ["", "X Y Z\n", "# made by hand\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_line_ends_and_encodings_change_no_point(
    tmp_path: Path, header: str, end: str, encoding: str
) -> None:
    """What Windows, old Macs and spreadsheets ("Unicode text") write opens all the same."""
    path = tmp_path / "a.txt"
    path.write_bytes((header + _TABLE).replace("\n", end).encode(encoding))
    info = inspect(path)
    assert info.points == 3 and codes(info) == {"crs_unknown"}
    assert info.bounds_min == (500000.25, 5000000.5, 0.75)
    assert info.bounds_max == (500002.25, 5000002.5, 2.75)


@pytest.mark.parametrize("first", ["²", "٣", "9" * 5000, "9" * 25])
def test_a_first_line_that_only_looks_like_a_count_crashes_nothing(
    tmp_path: Path, first: str
) -> None:
    """A line of digits is a count where it can be one."""
    try:
        info = text_info(tmp_path / "a.pts", f"{first}\n1 2 3\n4 5 6\n")
    except CloudError:
        return
    assert (info.points, info.declared_points) == (2, 2)


def test_a_pts_of_several_scans_has_the_points_of_all(tmp_path: Path) -> None:
    """The counts further down are neither points nor rows that don't fit."""
    info = text_info(tmp_path / "a.pts", "2\n1 2 3 -5\n2 3 4 0\n3\n5 6 7 5\n6 7 8 6\n")
    assert (info.points, info.declared_points) == (4, 5)
    assert "rows_skipped" not in codes(info)
    assert "1 are missing" in message(info, "points_missing")


def test_a_pts_of_no_points_is_an_empty_cloud(tmp_path: Path) -> None:
    """As an empty LAS is."""
    info = text_info(tmp_path / "a.pts", "0\n")
    assert info.points == 0 and info.bounds_min is None


def test_numbers_in_quotes_and_with_fortran_exponents_are_numbers(tmp_path: Path) -> None:
    """Spreadsheets quote, old programs write 1.5D2."""
    info = text_info(tmp_path / "a.csv", '"X","Y","Z"\n"1.5","2","3"\n"2.5","3","4"\n')
    assert info.bounds_max == (2.5, 3.0, 4.0)
    info = text_info(tmp_path / "b.xyz", "1.5D2 2.5d1 3\n1.6D2 2.6D1 4\n")
    assert info.bounds_min == (150.0, 25.0, 3.0)


def test_surveyors_letters_name_coordinates_where_nothing_plainer_does(tmp_path: Path) -> None:
    """E, N and H are east, north and height; beside x, y and z they are columns of their own."""
    info = text_info(tmp_path / "a.csv", "id,N,E,H\n1,600.5,500.5,10.5\n2,601.5,501.5,11.5\n")
    assert info.bounds_min == (500.5, 600.5, 10.5)
    info = text_info(tmp_path / "b.csv", "h,x,y,z\n9,1,2,3\n8,4,5,6\n")
    assert info.bounds_min == (1.0, 2.0, 3.0)
    assert "h" in {dim.name for dim in info.dimensions}


_PTX = "{count}\n1\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 0 0 0\n0 1 0 0\n0 0 1 0\n{move} 0 0 1\n"


def _scan(move: int, rows: list[str]) -> str:
    return _PTX.format(count=len(rows), move=move) + "".join(f"{row}\n" for row in rows)


@settings(max_examples=40, deadline=None)
@given(widths=st.lists(st.sampled_from([3, 4, 7]), min_size=1, max_size=4), empty=st.booleans())
def test_ptx_scans_may_have_different_columns(
    tmp_path_factory: pytest.TempPathFactory, widths: list[int], empty: bool
) -> None:
    """Some with colour, some without, one without any point: each keeps what it has."""
    row = ["1", "2", "3", "0.5", "10", "20", "30"]
    scans = [_scan(100 * i, [" ".join(row[:w])] * 2) for i, w in enumerate(widths)]
    path = tmp_path_factory.mktemp("ptx") / "a.ptx"
    path.write_text((_scan(0, []) if empty else "") + "".join(scans))
    source = open_source(path)
    points = read(source)
    assert len(points) == source.info.declared_points == 2 * len(widths)
    assert world(source, points)[::2, 0].tolist() == [100.0 * i + 1 for i in range(len(widths))]
    if 7 in widths:
        assert points["blue"][::2].tolist() == [30 if w == 7 else 0 for w in widths]
    assert "points_missing" not in codes(source.info)


def test_a_ptx_cut_short_says_how_many_points_it_promised(tmp_path: Path) -> None:
    """Rays without a hit are not among them."""
    text = _scan(0, ["1 1 1", "0 0 0", "2 1 1", "3 1 1"])
    info = text_info(tmp_path / "a.ptx", text[: -len("3 1 1\n")])
    assert (info.points, info.declared_points) == (2, 3)
    assert "points_missing" in codes(info)
