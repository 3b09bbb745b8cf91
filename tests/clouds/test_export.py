"""Export: what was not edited is equal byte for byte, and a file appears whole or not at all."""

from __future__ import annotations

import csv
import os
import resource
import subprocess
import sys
from pathlib import Path

import laspy
import numpy as np
import plyfile
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oniyanma.clouds.export import Cancelled, ExportResult, export, format_of
from oniyanma.clouds.export_text import decimals
from oniyanma.clouds.lasfront import front_of
from oniyanma.clouds.model import CloudError
from oniyanma.clouds.open import open_source
from tests.clouds.index_support import all_records, same_points, terrain, write_las
from tests.support import ROOT, SHARED, shared

LAS_FILES = sorted(p.name for p in (SHARED / "corpus").glob("*.la[sz]"))
REFUSED = {"loaders.gl_pdrf7-v4-1.4.laz"}
WAVES_IN_LAZ = {"loaders.gl_pdrf9-1.4.laz", "loaders.gl_pdrf10-1.5.las"}


def write(source: Path | list[Path], target: Path, **options) -> ExportResult:
    paths = source if isinstance(source, list) else [source]
    opened = [open_source(str(path)) for path in paths]
    try:
        return export(opened, target, **{"workers": 0, **options})
    finally:
        for one in opened:
            one.close()


def vlrs(path: Path) -> list[tuple]:
    """Every VLR and EVLR as bytes, but those that describe the compression or the octree."""
    front = front_of(open_source(str(path)))
    try:
        return [
            (r.id, r.head[20:], b"".join(r.parts(front.file))) for r in (*front.vlrs, *front.evlrs)
        ]
    finally:
        front.close()


UNTOUCHED = [slice(4, 96), slice(131, 179)]
"""Header bytes that an export has no reason to change: ids, encoding, dates, scale, offset."""


@pytest.mark.parametrize("kind", ["las", "laz"])
@pytest.mark.parametrize("name", LAS_FILES or ["(no corpus)"])
def test_real_files_are_written_as_they_are(name, kind, tmp_path):
    source = shared("corpus", name)
    if name in REFUSED:
        with pytest.raises(CloudError):
            open_source(str(source))
        return
    target = tmp_path / f"out.{kind}"
    if kind == "laz" and name in WAVES_IN_LAZ:
        with pytest.raises(CloudError, match="waveforms"):
            write(source, target)
        assert os.listdir(tmp_path) == []
        return
    result = write(source, target)
    before, after = all_records(source), all_records(target)
    assert result.points == len(before)
    assert before.dtype == after.dtype and before.tobytes() == after.tobytes()
    assert vlrs(source) == vlrs(target)
    a, b = source.read_bytes()[:227], target.read_bytes()[:227]
    assert all(a[part] == b[part] for part in UNTOUCHED)
    assert a[105:107] == b[105:107] and a[104] & 0x3F == b[104] & 0x3F


def reclassify(record, header):
    """Ground for every point with an even X; points with X divisible by 7 are deleted."""
    x = np.asarray(record["X"])
    classes = np.array(record["classification"])
    classes[x % 2 == 0] = 2
    record["classification"] = classes
    return record, x % 7 != 0


@pytest.mark.parametrize("point_format", [0, 1, 2, 3, 4, 5, 6, 7, 8])
@pytest.mark.parametrize("kind", ["las", "laz"])
def test_an_edit_changes_what_it_names_and_nothing_else(tmp_path, point_format, kind):
    source = write_las(tmp_path / "a.las", terrain(5000), point_format=point_format, extra=True)
    target = tmp_path / f"b.{kind}"
    result = write(source, target, edit=reclassify)
    before = laspy.read(str(source)).points
    keep = np.asarray(before.X) % 7 != 0
    expected = before.array[keep].copy()
    after = laspy.read(str(target)).points
    assert result.points == len(after) == keep.sum()
    changed = np.asarray(after.X) % 2 == 0
    assert (np.asarray(after["classification"])[changed] == 2).all()
    holder = "classification" if point_format > 5 else "raw_classification"
    mask = 0xFF if point_format > 5 else 0x1F
    for array in (expected, after.array):
        array[holder][changed] &= 0xFF ^ mask
    assert expected.tobytes() == after.array.tobytes()


def test_header_counts_and_bounds_are_those_of_the_points_written(tmp_path):
    source = write_las(tmp_path / "a.las", terrain(5000))
    target = tmp_path / "b.laz"
    write(source, target, edit=reclassify)
    las = laspy.read(str(target))
    assert las.header.point_count == len(las.points)
    assert np.allclose(las.header.mins, [las.x.min(), las.y.min(), las.z.min()], atol=1e-9)
    assert np.allclose(las.header.maxs, [las.x.max(), las.y.max(), las.z.max()], atol=1e-9)
    returns = np.bincount(np.asarray(las["return_number"]), minlength=16)[1:]
    assert las.header.number_of_points_by_return.tolist() == returns.tolist()


@pytest.mark.parametrize("point_format", [0, 1, 2, 3, 4, 5])
def test_a_class_the_format_cannot_hold_raises_the_format_and_warns(tmp_path, point_format):
    source = write_las(tmp_path / "a.las", terrain(3000), point_format=point_format, extra=True)
    target = tmp_path / "b.las"

    def high(record, header):
        record["classification"] = np.full(len(record), 143, np.uint8)
        return record, np.ones(len(record), bool)

    result = write(source, target, edit=high, needs_class=143)
    assert [w.code for w in result.warnings] == ["point_format_raised"]
    before, after = laspy.read(str(source)), laspy.read(str(target))
    assert after.header.version == laspy.header.Version(1, 4)
    assert (np.asarray(after.classification) == 143).all()
    for name in before.point_format.dimension_names:
        if name not in ("classification", "scan_angle_rank"):
            pair = [np.asarray(points[name]) for points in (before.points, after.points)]
            assert np.array_equal(pair[0], pair[1], equal_nan=pair[0].dtype.kind == "f"), name
    angles = np.rint(np.asarray(after["scan_angle"]) * 0.006)
    assert np.array_equal(angles, np.asarray(before["scan_angle_rank"]))


def test_a_source_and_an_existing_file_are_never_written_over(tmp_path):
    source = write_las(tmp_path / "a.las", terrain(100))
    bytes_before = source.read_bytes()
    link = tmp_path / "link.las"
    link.hardlink_to(source)
    for target in (source, link):
        with pytest.raises(CloudError, match="never written"):
            write(source, target, overwrite=True)
    other = tmp_path / "b.las"
    other.write_bytes(b"precious")
    with pytest.raises(CloudError, match="exists already"):
        write(source, other)
    assert source.read_bytes() == bytes_before and other.read_bytes() == b"precious"
    write(source, other, overwrite=True)
    assert len(all_records(other)) == 100


@pytest.mark.parametrize("kind", ["las", "laz", "copc.laz", "ply", "csv"])
def test_cancelling_leaves_nothing(tmp_path, kind):
    source = write_las(tmp_path / "a.las", terrain(1000))
    target = tmp_path / f"b.{kind}"
    with pytest.raises(Cancelled):
        write(source, target, cancelled=lambda: True)
    assert os.listdir(tmp_path) == ["a.las"]


def test_an_edit_that_fails_leaves_what_was_there(tmp_path):
    source = write_las(tmp_path / "a.las", terrain(1000))
    target = tmp_path / "b.laz"
    target.write_bytes(b"before")

    def broken(record, header):
        raise RuntimeError("a rule failed")

    for kind in ("laz", "copc", "csv"):
        with pytest.raises(RuntimeError):
            write(source, target, edit=broken, overwrite=True, format=kind)
    assert target.read_bytes() == b"before" and sorted(os.listdir(tmp_path)) == ["a.las", "b.laz"]


FULL_DISK = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
from oniyanma.clouds.export import export
from oniyanma.clouds.model import CloudError
from oniyanma.clouds.open import open_source
try:
    export([open_source(sys.argv[1])], sys.argv[2], workers=int(sys.argv[3]))
except CloudError as error:
    print(error)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit of file sizes here")
@pytest.mark.parametrize("kind", ["las", "laz", "copc.laz", "ply", "csv"])
def test_a_disk_that_fills_up_is_a_clear_error_and_no_half_file(tmp_path, kind):
    source = write_las(tmp_path / "a.las", terrain(40_000))
    command = [sys.executable, "-c", FULL_DISK, str(source), str(tmp_path / f"b.{kind}"), "0"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "could not be written" in done.stdout
    assert os.listdir(tmp_path) == ["a.las"]


def test_several_clouds_become_one_file(tmp_path):
    one = write_las(tmp_path / "1.las", terrain(1000, seed=1))
    two = write_las(tmp_path / "2.laz", terrain(500, seed=2))
    target = tmp_path / "b.las"
    assert write([one, two], target).points == 1500
    assert same_points(all_records(target), np.concatenate([all_records(one), all_records(two)]))


def test_clouds_of_different_scale_and_format_keep_their_coordinates(tmp_path):
    one = write_las(tmp_path / "1.las", terrain(1000, seed=1), point_format=3)
    two = write_las(
        tmp_path / "2.las", terrain(500, seed=2), point_format=6, scale=0.001, offset=(5e5, 5e6, 0)
    )
    target = tmp_path / "b.las"
    write([one, two], target)
    merged, a, b = (laspy.read(str(p)) for p in (target, one, two))
    for axis in "xyz":
        truth = np.concatenate([np.asarray(a[axis]), np.asarray(b[axis])])
        assert np.abs(np.asarray(merged[axis]) - truth).max() < 0.0006
    assert np.array_equal(merged["red"][:1000], a["red"])


def test_a_point_far_from_the_origin_survives_without_overflow(tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("207628.825 7691239.553 0.000\n")
    for kind in ("las", "laz", "copc.laz", "ply", "csv"):
        target = tmp_path / f"b.{kind}"
        write(text, target)
        source = open_source(str(target))
        (record,) = [chunk for chunk in source.records() if len(chunk)]
        ints = np.array([record.array[a][0] for a in "XYZ"])
        world = ints * source.header.scales + source.header.offsets
        assert np.allclose(world, [207628.825, 7691239.553, 0.0], atol=0.001)
        assert (ints != np.iinfo(np.int32).min).all()


def test_ply_holds_every_attribute_exactly(tmp_path):
    source = write_las(tmp_path / "a.las", terrain(2000), point_format=8, extra=True)
    target = tmp_path / "b.ply"
    result = write(source, target, edit=reclassify)
    rows = plyfile.PlyData.read(str(target))["vertex"].data
    las = laspy.read(str(source))
    keep = np.asarray(las.X) % 7 != 0
    assert len(rows) == result.points == keep.sum()
    for axis in "xyz":
        assert np.array_equal(rows[axis], np.asarray(las[axis])[keep])
    for name in las.point_format.dimension_names:
        if name not in ("X", "Y", "Z", "classification", "scan_angle"):
            assert np.array_equal(rows[name], np.asarray(las[name])[keep]), name
    steps = np.rint(rows["scan_angle"] / 0.006)  # a table's angles are degrees
    assert np.array_equal(steps, np.asarray(las["scan_angle"])[keep])
    assert "header_left_out" in {w.code for w in result.warnings}


def test_eight_bit_colours_are_bytes_in_ply(tmp_path):
    source = shared("corpus", "pdal_interesting.las")
    target = tmp_path / "b.ply"
    opened = open_source(str(source))
    for _ in opened.records():
        pass  # now the colour depth is known
    export([opened], target)
    rows = plyfile.PlyData.read(str(target))["vertex"].data
    assert rows["red"].dtype == np.uint8 and rows["red"].max() == all_records(source)["red"].max()


def test_csv_has_a_header_line_and_every_digit(tmp_path):
    source = write_las(tmp_path / "a.las", terrain(300), point_format=7, extra=True)
    target = tmp_path / "b.csv"
    write(source, target)
    with target.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    las = laspy.read(str(source))
    assert len(rows) == 300
    for axis in "XYZ":
        text = [row[axis] for row in rows]
        assert all(len(t.rpartition(".")[2]) == 2 for t in text)
        assert np.array_equal(np.array(text, float), np.round(np.asarray(las[axis.lower()]), 2))
    for name in ("intensity", "return_number", "gps_time", "red"):
        assert np.array_equal(np.array([float(row[name]) for row in rows]), np.asarray(las[name]))
    quality = np.array([float(row["quality"]) for row in rows])
    assert np.array_equal(quality.astype(np.float32), np.asarray(las["quality"]))


@given(st.integers(0, 9), st.integers(-(10**9), 10**9))
@settings(max_examples=100, deadline=None)
def test_the_digits_of_a_scale_show_every_step(power, steps):
    scale = 10.0**-power
    assert decimals(scale, steps * scale) <= power
    assert decimals(scale, 0.0) == power


def test_extra_dimensions_with_a_scale_give_their_value_in_text(tmp_path):
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.add_extra_dim(
        laspy.ExtraBytesParams("height", "i2", scales=np.array([0.5]), offsets=np.array([10.0]))
    )
    las = laspy.LasData(header)
    las.x, las.y, las.z = np.arange(3.0), np.arange(3.0), np.arange(3.0)
    las["height"] = [10.5, 11.0, 12.0]
    las.write(str(tmp_path / "a.las"))
    write(tmp_path / "a.las", tmp_path / "b.csv")
    rows = list(csv.DictReader((tmp_path / "b.csv").open()))
    assert [float(row["height"]) for row in rows] == [10.5, 11.0, 12.0]


def test_copc_is_written_with_edits_and_without_deleted_points(tmp_path):
    source = write_las(tmp_path / "a.las", terrain(20_000), extra=True)
    target = tmp_path / "b.copc.laz"
    result = write(source, target, edit=reclassify)
    las = tmp_path / "c.las"
    write(source, las, edit=reclassify)
    assert result.points == len(all_records(las))
    assert same_points(all_records(target), all_records(las))


def test_what_names_no_format_or_folder_is_refused(tmp_path):
    source = write_las(tmp_path / "a.las", terrain(10))
    for name in ("b", "b.doc"):
        with pytest.raises(CloudError, match="names no format"):
            write(source, tmp_path / name)
    with pytest.raises(CloudError, match="does not exist"):
        write(source, tmp_path / "nowhere" / "b.las")
    with pytest.raises(CloudError, match="is a folder"):
        write(source, tmp_path, format="las")
    with pytest.raises(CloudError, match="no cloud"):
        export([], tmp_path / "b.las")
    assert format_of("A.COPC.LAZ") == "copc" and format_of("a.b.laz") == "laz"


def test_paths_that_are_not_ascii_are_written(tmp_path):
    folder = tmp_path / "點雲 é ß"
    folder.mkdir()
    source = write_las(folder / "x.las", terrain(100))
    for kind in ("las", "laz", "copc.laz", "ply", "csv"):
        assert write(source, folder / f"ü.{kind}").points == 100
    assert same_points(all_records(folder / "ü.laz"), all_records(source))


def test_a_truncated_source_is_exported_as_far_as_it_goes_with_its_warning(tmp_path):
    source = shared("corpus", "pdal_perm_1.2-no-points.las")
    result = write(source, tmp_path / "b.las")
    assert result.points == 0
    assert "points_missing" in {w.code for w in result.warnings}


@pytest.mark.parametrize("kind", ["ply", "csv"])
@pytest.mark.parametrize("point_format", [3, 7])
def test_angles_and_flags_survive_a_table(tmp_path, kind, point_format):
    """A scan angle is in degrees in a table, whatever steps LAS counts it in; flags are flags."""
    path = write_las(tmp_path / "a.las", terrain(300), point_format=point_format)
    table = tmp_path / f"b.{kind}"
    export([open_source(str(path))], table)
    before, after = laspy.read(path), open_source(str(table))
    records = all_records(table)
    back = laspy.ScaleAwarePointRecord(
        records, after.header.point_format, after.header.scales, after.header.offsets
    )
    for flag in ("synthetic", "key_point", "withheld"):
        assert np.array_equal(np.asarray(back[flag]), np.asarray(before[flag]))
    if point_format == 7:
        told = np.asarray(before["scan_angle"])
        within = np.abs(told * 0.006) <= 180
        assert np.array_equal(np.asarray(back["scan_angle"])[within], told[within])
    else:
        angles = np.rint(np.asarray(back["scan_angle"]) * 0.006)
        assert np.array_equal(angles, np.asarray(before["scan_angle_rank"]))
