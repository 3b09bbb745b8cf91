"""LAS and LAZ: what the header promises is held against what is there."""

from __future__ import annotations

import os
from pathlib import Path

import laspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oniyanma.clouds.inspect import inspect
from oniyanma.clouds.model import CloudError
from oniyanma.clouds.open import open_source
from oniyanma.clouds.sources.laz import decode
from tests.clouds.making import codes, message, patch, read, write_las
from tests.support import SHARED, shared

LEGACY_COUNT, COUNT, VLRS, OFFSET, EVLRS = 107, 247, 100, 96, 243


# -- colour (FIELD_REPORTS A) ------------------------------------------------------------------


def test_colour_depth_is_decided_on_all_points(tmp_path: Path) -> None:
    """A thousand black points before the first colour don't make a 16-bit cloud an 8-bit one."""
    red = np.zeros(1100, dtype=np.uint16)
    red[1001:] = 65280
    path = write_las(tmp_path / "a.las", 1100, point_format=2, version="1.2", red=red)
    source = open_source(path)
    assert read(source, chunk_size=100)["red"][-1] == 65280
    assert source.info.color_depth == 16


@pytest.mark.parametrize(
    ("top", "depth"), [(0, None), (1, 8), (249, 8), (255, 8), (256, 16), (65535, 16)]
)
def test_colour_depth_follows_the_largest_value(
    tmp_path: Path, top: int, depth: int | None
) -> None:
    """Up to 255 values are 8-bit; all zero means no colour at all, with a warning."""
    blue = np.zeros(50, dtype=np.uint16)
    blue[7] = top
    info = inspect(write_las(tmp_path / "a.las", 50, blue=blue))
    assert info.color_depth == depth
    assert ("rgb_all_zero" in codes(info)) == (top == 0)
    assert ("rgb_8_bit" in codes(info)) == (depth == 8)


def test_a_format_without_colour_has_no_colour_warning(tmp_path: Path) -> None:
    """Absent colour is no oddity."""
    info = inspect(write_las(tmp_path / "a.las", point_format=6))
    assert info.color_depth is None
    assert not codes(info) & {"rgb_all_zero", "rgb_8_bit"}


# -- bounds (B) --------------------------------------------------------------------------------


@pytest.mark.parametrize("box", [(0.0, 0.0), (1e9, -1e9), (float("nan"), float("inf"))])
def test_wrong_header_bounds_are_replaced_by_the_points_own(
    tmp_path: Path, box: tuple[float, float]
) -> None:
    """No point is dropped for lying outside the header's box, and the box is the points'."""
    path = write_las(tmp_path / "a.las")
    true = inspect(path)
    for at in (179, 195, 211):
        patch(path, at, "d", box[0])
        patch(path, at + 8, "d", box[1])
    info = inspect(path)
    assert (info.points, info.bounds_min, info.bounds_max) == (
        100,
        true.bounds_min,
        true.bounds_max,
    )
    assert "bounds_mismatch" in codes(info) and "bounds_mismatch" not in codes(true)


def test_bounds_rounded_by_less_than_a_step_are_no_mismatch(tmp_path: Path) -> None:
    """A header that rounds its box by half a step is as good as right."""
    path = write_las(tmp_path / "a.las")
    high = inspect(path).bounds_max
    assert high is not None
    patch(path, 179, "d", high[0] + 0.004)
    assert "bounds_mismatch" not in codes(inspect(path))


def test_equal_points_have_a_box_without_extent(tmp_path: Path) -> None:
    """100,000 points at one place are 100,000 points."""
    path = write_las(tmp_path / "a.laz", 100_000)
    las = laspy.read(path)
    las.X[:], las.Y[:], las.Z[:] = 5, 6, 7
    las.write(path)
    info = inspect(path)
    assert info.points == 100_000 and info.bounds_min == info.bounds_max


def test_degrees_are_said_to_be_degrees() -> None:
    """A geographic CRS is warned about, so that it can be scaled for display."""
    info = inspect(shared("corpus", "pdal_epsg_4326.las"))
    assert info.crs.geographic and info.crs.horizontal.name == "deg"
    assert "crs_geographic" in codes(info)


# -- broken and unusual files (C) --------------------------------------------------------------


@pytest.mark.parametrize("ending", ["las", "laz"])
@pytest.mark.parametrize("point_format", [1, 3, 6, 7])
def test_a_file_cut_short_opens_with_its_whole_points(
    tmp_path: Path, ending: str, point_format: int
) -> None:
    """No point is invented: what opens are the first points, bit by bit, and a warning counts."""
    version = "1.2" if point_format < 6 else "1.4"
    path = write_las(tmp_path / f"a.{ending}", 120_000, point_format=point_format, version=version)
    whole = read(open_source(path))
    size = path.stat().st_size
    with path.open("r+b") as stream:
        stream.truncate(size * 7 // 10)
    source = open_source(path)
    part = read(source)
    info = source.info
    assert 0 < len(part) < 120_000 and info.points == len(part)
    assert np.array_equal(part, whole[: len(part)])
    text = message(info, "points_missing")
    assert "120,000" in text and f"{len(part):,}" in text
    if ending == "las":
        with laspy.open(path) as reader:
            start, length = reader.header.offset_to_point_data, reader.header.point_format.size
        assert len(part) == (size * 7 // 10 - start) // length


@settings(max_examples=30, deadline=None)
@given(cut=st.integers(0, 3_000))
def test_a_cut_las_never_has_more_points_than_bytes_for_them(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    """n = floor((size - offset) / record length), whatever the header promises."""
    path = write_las(tmp_path_factory.mktemp("cut") / "a.las", 70)
    with laspy.open(path) as reader:
        start, length = reader.header.offset_to_point_data, reader.header.point_format.size
    with path.open("r+b") as stream:
        stream.truncate(cut)
    if cut < start:
        with pytest.raises(CloudError, match=r"a\.las"):
            inspect(path)
    else:
        assert inspect(path).points == min(70, (cut - start) // length)


def test_no_points_where_some_are_promised_is_said_with_both_counts() -> None:
    """0 of 1,065 points opens as an empty cloud that says so."""
    info = inspect(shared("corpus", "pdal_perm_1.2-no-points.las"))
    assert info.points == 0 and info.bounds_min is None
    assert "1,065" in message(info, "points_missing")


def test_an_evlr_offset_without_evlrs_is_ignored(tmp_path: Path) -> None:
    """start of first EVLR = file size with 0 EVLRs is harmless."""
    path = write_las(tmp_path / "a.las")
    patch(path, 235, "Q", path.stat().st_size)
    info = inspect(path)
    assert info.points == 100 and "evlr_count" not in codes(info)


@pytest.mark.parametrize("start", [0, 400, 1 << 60])
def test_evlrs_that_can_not_be_there_are_said_and_skipped(tmp_path: Path, start: int) -> None:
    """A billion EVLRs beyond the end of the file cost nothing."""
    path = write_las(tmp_path / "a.las")
    patch(patch(path, 235, "Q", start), EVLRS, "I", 1_000_000_000)
    info = inspect(path)
    assert info.points == 100 and "evlr_count" in codes(info)


def test_a_billion_vlrs_are_not_believed(tmp_path: Path) -> None:
    """The VLRs that fit before the points are read, the rest is said to be missing."""
    path = write_las(tmp_path / "a.las")
    patch(path, VLRS, "I", 4_000_000_000)
    info = inspect(path)
    assert info.points == 100
    assert "4,000,000,000" in message(info, "vlr_count")


@pytest.mark.parametrize("ending", ["las", "laz"])
def test_two_to_the_sixty_points_are_not_believed(tmp_path: Path, ending: str) -> None:
    """Only what the bytes can hold is looked for."""
    path = patch(write_las(tmp_path / f"a.{ending}"), COUNT, "Q", 1 << 60)
    info = inspect(path)
    assert info.points <= 50_000 and info.declared_points == 1 << 60
    assert "points_missing" in codes(info)


def test_bytes_between_vlrs_and_points_are_passed_over(tmp_path: Path) -> None:
    """Points begin where the header says, not behind the last VLR."""
    path = write_las(tmp_path / "a.las")
    whole = read(open_source(path))
    raw = path.read_bytes()
    at = int.from_bytes(raw[OFFSET : OFFSET + 4], "little")
    path.write_bytes(raw[:at] + b"\xdd\xcc" + raw[at:])
    patch(path, OFFSET, "I", at + 2)
    assert np.array_equal(read(open_source(path)), whole)


def test_the_64_bit_count_holds_in_las_14(tmp_path: Path) -> None:
    """Legacy count 0 is right for formats 6 and above; a differing one is said."""
    path = write_las(tmp_path / "a.las")
    assert not codes(inspect(path)) & {"legacy_count_only", "legacy_count_differs"}
    patch(path, LEGACY_COUNT, "I", 99)
    assert "legacy_count_differs" in codes(inspect(path))
    patch(patch(path, LEGACY_COUNT, "I", 100), COUNT, "Q", 0)
    info = inspect(path)
    assert info.points == 100 and "legacy_count_only" in codes(info)


@pytest.mark.parametrize("ending", ["las", "laz", "ply", "pcd", "e57", "txt", "ptx"])
def test_an_empty_file_is_called_empty(tmp_path: Path, ending: str) -> None:
    """0 bytes: 'is empty', whatever the format."""
    path = tmp_path / f"nothing.{ending}"
    path.touch()
    with pytest.raises(CloudError, match="is empty"):
        inspect(path)


@pytest.mark.parametrize("ending", ["las", "laz"])
def test_a_cloud_of_no_points_is_an_empty_cloud(tmp_path: Path, ending: str) -> None:
    """Zero points: no bounds, an empty sample, no crash."""
    path = write_las(tmp_path / f"a.{ending}", 0)
    source = open_source(path)
    assert len(read(source)) == 0 and len(source.sample(100)) == 0
    assert source.info.bounds_min is None and source.info.checked


def test_all_classes_up_to_255_are_counted(tmp_path: Path) -> None:
    """Classes above 31 and above 127 are classes like any other."""
    classes = np.repeat(np.array([0, 31, 129, 143, 255], dtype=np.uint8), 20)
    info = inspect(write_las(tmp_path / "a.laz", classification=classes))
    assert info.classes == {0: 20, 31: 20, 129: 20, 143: 20, 255: 20}


def test_flag_bits_of_a_legacy_class_byte_are_no_class(tmp_path: Path) -> None:
    """Byte 0x20 in format 0 is class 0 with the synthetic flag."""
    path = write_las(tmp_path / "a.las", 10, point_format=0, version="1.2")
    las = laspy.read(path)
    las.points.array["raw_classification"][:] = 0x20
    las.write(path)
    source = open_source(path)
    assert source.info.classes == {}  # not counted before the end
    (record,) = source.records()
    assert np.asarray(record["classification"]).tolist() == [0] * 10
    assert np.asarray(record["synthetic"]).tolist() == [1] * 10
    assert inspect(path).classes == {0: 10}


def test_returns_are_counted(tmp_path: Path) -> None:
    """Return numbers of both layouts, 15 of them in LAS 1.4."""
    numbers = np.arange(100) % 15 + 1
    info = inspect(write_las(tmp_path / "a.las", return_number=numbers))
    assert info.returns == {n: int((numbers == n).sum()) for n in range(1, 16)}
    old = write_las(
        tmp_path / "b.las", point_format=1, version="1.2", return_number=numbers % 5 + 1
    )
    assert inspect(old).returns == {n: int((numbers % 5 + 1 == n).sum()) for n in range(1, 6)}


@pytest.mark.parametrize(
    "name",
    ["loaders.gl_pdrf4-1.3.las", "loaders.gl_pdrf5-1.3.laz", "loaders.gl_pdrf9-1.4.laz",
     "loaders.gl_pdrf10-1.5.las"],
)  # fmt: skip
def test_waveform_points_open_and_their_waveforms_are_said_not_to_be_shown(name: str) -> None:
    """Formats 4, 5, 9 and 10 open with their waveform fields carried along."""
    source = open_source(shared("corpus", name))
    assert len(read(source)) == 1024
    assert "waveforms_not_shown" in codes(source.info)
    assert "wavepacket_offset" in {dim.name for dim in source.info.dimensions}


def test_records_are_the_files_own_bit_by_bit() -> None:
    """Every LAS and LAZ of the corpus gives laspy's own records, whatever the chunk size."""
    names = [
        p.name
        for p in sorted(shared("corpus").glob("*.la[sz]"))
        if "v4-1.4.laz" not in p.name and "no-points" not in p.name
    ]
    assert len(names) > 35
    for name in names:
        path = SHARED / "corpus" / name
        if path.stat().st_size > 300_000:
            continue
        theirs = laspy.read(path).points.array
        ours = read(open_source(path), chunk_size=777)
        assert ours.tobytes() == theirs.tobytes(), name


def test_a_damaged_chunk_costs_its_own_points_only(tmp_path: Path) -> None:
    """The other chunks of a LAZ are read, and the warning names the byte of the damage."""
    path = write_las(tmp_path / "a.laz", 200_000)
    source = open_source(path)
    whole = read(source)
    chunk = source.chunks[1]  # type: ignore[attr-defined]
    at = chunk.at + source.header.point_format.size + 4
    patch(path, at, "I", 0xFFFFFFFF)  # the size of its first layer
    damaged = open_source(path)
    part = read(damaged)
    assert len(part) == 150_000
    assert np.array_equal(part[:50_000], whole[:50_000])
    assert np.array_equal(part[50_000:], whole[100_000:])
    text = message(damaged.info, "points_missing")
    assert f"{chunk.at:,}" in text and "50,000 are missing" in text


def test_an_unsupported_laz_version_is_refused_by_its_name() -> None:
    """LAZ item version 4: the reason is the one lazrs gives."""
    with pytest.raises(CloudError, match="compression version: 4 is not supported"):
        inspect(shared("corpus", "loaders.gl_pdrf7-v4-1.4.laz"))


@pytest.mark.parametrize(
    ("at", "kind", "value", "said"),
    [
        (24, "B", 2, "LAS 2.4"),
        (25, "B", 9, "LAS 1.9"),
        (94, "H", 100, "header of 100 bytes"),
        (96, "I", 5, "within its header"),
        (96, "I", 1 << 31, "should begin at byte 2147483648"),
        (104, "B", 11, "point format 11"),
        (105, "H", 3, "point records of 3 bytes"),
        (131, "d", float("nan"), "X scale nan"),
        (139, "d", 0.0, "Y scale 0"),
        (171, "d", float("inf"), "Z scale"),
    ],
)
def test_an_impossible_header_is_refused_in_one_sentence(
    tmp_path: Path, at: int, kind: str, value: float, said: str
) -> None:
    """What is wrong, and at which byte."""
    path = patch(write_las(tmp_path / "a.las"), at, kind, value)
    with pytest.raises(CloudError, match=said) as caught:
        inspect(path)
    assert str(caught.value).startswith("a.las")


@pytest.mark.parametrize("name", ["點雲 é ß", "Ünïcödé", "a b'c"])
def test_a_path_beyond_ascii_opens_like_any_other(tmp_path: Path, name: str) -> None:
    """Same count, same bounds as from an ASCII path."""
    plain = inspect(write_las(tmp_path / "a.laz"))
    folder = tmp_path / name
    folder.mkdir()
    info = inspect(write_las(folder / "點雲 x.laz"))
    assert (info.points, info.bounds_min, info.bounds_max) == (
        plain.points,
        plain.bounds_min,
        plain.bounds_max,
    )


def test_a_read_only_file_opens(tmp_path: Path) -> None:
    """chmod 444 is enough."""
    path = write_las(tmp_path / "a.las")
    path.chmod(0o444)
    assert inspect(path).points == 100


def test_a_file_deleted_while_open_is_a_sentence(tmp_path: Path) -> None:
    """Reading on after the file has gone says what happened."""
    path = write_las(tmp_path / "a.las")
    source = open_source(path)
    os.remove(path)
    with pytest.raises(CloudError, match=r"a\.las can't be read any more"):
        read(source)


def test_header_hash_tells_files_apart(tmp_path: Path) -> None:
    """The same file elsewhere has the same hash, another file another."""
    first = inspect(write_las(tmp_path / "a.las"))
    (tmp_path / "b.las").write_bytes((tmp_path / "a.las").read_bytes())
    other = inspect(write_las(tmp_path / "c.las", seed=2))
    assert inspect(tmp_path / "b.las").header_hash == first.header_hash != other.header_hash


# -- attributes (D) ----------------------------------------------------------------------------


def test_gps_time_kind_follows_the_global_encoding() -> None:
    """Bit 0 set: adjusted standard time; clear: seconds of the week, and no date."""
    assert inspect(shared("corpus", "laspy_1_4_w_evlr.las")).gps_time == "adjusted"
    week = inspect(shared("corpus", "pdal_interesting.las"))
    assert week.gps_time == "week"
    odd = inspect(shared("corpus", "pdal_perm_1.1_1.las"))
    assert odd.gps_time == "week" and "gps_time_encoding" in codes(odd)


def test_gps_times_that_are_no_number_are_counted(tmp_path: Path) -> None:
    """NaN times don't spoil anything, and are said."""
    times = np.linspace(0, 1, 100)
    times[3] = np.nan
    times[7] = np.inf
    info = inspect(write_las(tmp_path / "a.las", gps_time=times))
    assert message(info, "gps_time_not_finite").startswith("2 points")


def test_extra_dimensions_carry_scale_offset_and_no_data() -> None:
    """What is needed to show raw*scale+offset, and which value means none."""
    info = inspect(shared("corpus", "pdal_1.2-empty-geotiff-vlrs.las"))
    extra = {dim.name: dim for dim in info.dimensions if dim.extra}
    assert set(extra) == {"Amplitude", "Reflectance", "Deviation"}
    assert (extra["Amplitude"].dtype, extra["Reflectance"].dtype) == ("uint16", "int16")
    assert extra["Amplitude"].scale == pytest.approx(0.01)
    assert extra["Deviation"].scale is None


def test_a_64_bit_extra_dimension_keeps_every_bit(tmp_path: Path) -> None:
    """Values and no-data value above 2^53 are exact."""
    path = tmp_path / "a.laz"
    header = laspy.LasHeader(version="1.4", point_format=6)
    header.add_extra_dim(
        laspy.ExtraBytesParams("serial", "uint64", no_data=np.array([2**64 - 1], dtype=np.uint64))
    )
    las = laspy.LasData(header)
    las.x = np.arange(5.0)
    las.y = las.z = np.zeros(5)
    las.serial = np.array([2**53 + 1, 2**63 + 1, 0, 1, 2**64 - 1], dtype=np.uint64)
    las.write(path)
    source = open_source(path)
    assert read(source)["serial"].tolist() == [2**53 + 1, 2**63 + 1, 0, 1, 2**64 - 1]
    (serial,) = [dim for dim in source.info.dimensions if dim.extra]
    assert serial.no_data == 2**64 - 1 and serial.dtype == "uint64"


def test_extra_bytes_that_describe_too_much_are_kept_without_names(tmp_path: Path) -> None:
    """A record that does not fit the points costs the names, not the points."""
    path = tmp_path / "a.las"
    header = laspy.LasHeader(version="1.4", point_format=6)
    header.add_extra_dim(laspy.ExtraBytesParams("height", "float32"))
    las = laspy.LasData(header)
    las.x = las.y = las.z = np.arange(5.0)
    las.write(path)
    raw = path.read_bytes()
    patch(path, raw.index(b"height") - 2, "B", 10)  # float64 instead of float32
    info = inspect(path)
    assert info.points == 5 and "extra_bytes_damaged" in codes(info)
    assert [dim.name for dim in info.dimensions if dim.extra] == ["ExtraBytes"]


def test_an_extra_dimension_named_like_a_field_gets_a_name_of_its_own(tmp_path: Path) -> None:
    """'intensity' as an extra dimension does not hide the real one."""
    path = tmp_path / "a.las"
    header = laspy.LasHeader(version="1.4", point_format=6)
    header.add_extra_dim(laspy.ExtraBytesParams("intensitx", "uint16"))
    las = laspy.LasData(header)
    las.x = las.y = las.z = np.arange(5.0)
    las.intensity = np.arange(5)
    las.write(path)
    path.write_bytes(path.read_bytes().replace(b"intensitx", b"intensity"))
    source = open_source(path)
    assert read(source)["intensity"].tolist() == [0, 1, 2, 3, 4]
    assert [d.name for d in source.info.dimensions if d.extra] == ["intensity_1"]


# -- samples -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["data/autzen.laz", "data/lion.copc.laz"])
def test_a_sample_is_fair(name: str) -> None:
    """Every 1/32 cell of the cube that holds 0.1 % of the points is represented."""
    source = open_source(shared(*name.split("/")))
    low, high = np.asarray(source.info.bounds_min), np.asarray(source.info.bounds_max)
    step = (high - low).max() / 32

    def cells(array: np.ndarray) -> np.ndarray:
        """How many of the records lie in each cell."""
        index = np.zeros(len(array), dtype=np.int32)
        for axis, letter in enumerate("XYZ"):
            header = source.header
            first = (header.offsets[axis] - low[axis]) / step
            place = array[letter] * np.float32(header.scales[axis] / step) + np.float32(first)
            index = index * 32 + np.clip(place.astype(np.int32), 0, 31)
        return np.bincount(index, minlength=32**3)

    sample = source.sample(200_000).array
    assert 100_000 < len(sample) <= 200_000
    held = np.zeros(32**3, dtype=np.int64)
    for record in source.records():
        held += cells(record.array)
    worth = held >= 0.001 * source.info.points
    assert int((worth & (cells(sample) == 0)).sum()) == 0 < worth.sum()


@pytest.mark.parametrize("ending", ["las", "laz"])
@pytest.mark.parametrize("count", [1, 10, 1000, 50_000, 10**9])
def test_a_sample_holds_points_of_the_file_and_no_more_than_asked(
    tmp_path: Path, ending: str, count: int
) -> None:
    """Each sampled record is one of the file's, at most ``count`` of them, spread over it."""
    path = write_las(tmp_path / f"a.{ending}", 60_000)
    source = open_source(path)
    whole = {row.tobytes() for row in read(source)}
    got = source.sample(count).array
    assert len(got) == min(count, 60_000)
    assert all(row.tobytes() in whole for row in got[:500])


@pytest.mark.parametrize("decode", [60_000, 120_000, 200_000, 350_000])
@pytest.mark.parametrize("point_format", [1, 6])
def test_a_sample_of_some_chunks_holds_no_point_twice(
    tmp_path: Path, decode: int, point_format: int
) -> None:
    """Whatever is decoded of which chunk, each record is the file's and comes once."""
    times = np.arange(300_000.0)
    version = "1.2" if point_format < 6 else "1.4"
    path = write_las(
        tmp_path / "a.laz", 300_000, point_format=point_format, version=version, gps_time=times
    )
    source = open_source(path)
    whole = read(source)
    got = source.sample_within(150_000, decode).array  # type: ignore[attr-defined]
    assert len(np.unique(got["gps_time"])) == len(got) >= min(decode // 2, 60_000)
    assert np.array_equal(got, whole[got["gps_time"].astype(int)])


@settings(max_examples=30, deadline=None)
@given(points=st.integers(1, 60_000), chunk=st.integers(0, 1))
@pytest.mark.parametrize("point_format", [1, 3, 6, 7])
def test_a_chunk_begun_gives_the_points_that_the_whole_one_begins_with(
    point_format: int, points: int, chunk: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As few bytes as are needed are read of it, and they decode to the same points."""
    path = tmp_path_factory.getbasetemp() / f"begun-{point_format}.laz"
    if not path.exists():
        rng = np.random.default_rng(5)
        version = "1.2" if point_format < 6 else "1.4"
        times = rng.uniform(-1e9, 1e9, 60_000)  # hard to compress: every byte of a point counts
        more = {"red": rng.integers(0, 65_536, 60_000)} if point_format in (3, 7) else {}
        write_las(path, 60_000, point_format=point_format, version=version, gps_time=times, **more)
    source = open_source(path)
    laz, chosen = source._laz, source.chunks[chunk]  # type: ignore[attr-defined]
    points = min(points, chosen.points)
    with path.open("rb") as stream:
        data = laz.beginning(stream, chosen, points)
    assert len(data) <= chosen.size
    got = decode(laz, [(points, data)])
    whole = read(source)[chosen.first : chosen.first + points]
    assert got.tobytes() == whole.tobytes()


def test_a_sample_gives_a_first_colour_depth(tmp_path: Path) -> None:
    """Before all points were read, the sample decides."""
    path = write_las(tmp_path / "a.laz", 1000, red=np.full(1000, 200, dtype=np.uint16))
    source = open_source(path)
    assert source.info.color_depth is None
    source.sample(100)
    assert source.info.color_depth == 8 and not source.info.checked


@pytest.mark.parametrize("point_format", [3, 7])
def test_whole_chunks_that_the_header_does_not_count_are_told(
    tmp_path: Path, point_format: int
) -> None:
    """A count that is too small hides points; nobody should believe that these were all."""
    version = "1.4" if point_format == 7 else "1.2"
    path = write_las(tmp_path / "a.laz", 120_000, point_format=point_format, version=version)
    assert "trailing_data" not in codes(inspect(path))
    at, kind = (247, "Q") if point_format == 7 else (107, "I")
    info = inspect(patch(path, at, kind, 60_000))
    assert info.points == 60_000
    assert "60,000 points" in message(info, "trailing_data")
