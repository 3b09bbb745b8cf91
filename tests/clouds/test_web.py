"""Clouds on a web server, EPT sets, and tiles."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import laspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oniyanma.clouds.inspect import inspect
from oniyanma.clouds.model import CloudError
from oniyanma.clouds.open import open_source
from oniyanma.clouds.sources.http import BLOCK, HttpFile, RangeReader
from tests.clouds.making import codes, message, read, world, write_las
from tests.clouds.serving import serving
from tests.support import shared

# -- http --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["loaders.gl_ellipsoid.copc.laz", "pdal_interesting.las", "laspy_append-bug.laz"]
)
def test_a_cloud_over_http_has_the_records_of_the_local_file(name: str) -> None:
    """COPC, LAS and LAZ are read in ranges, bit for bit."""
    path = shared("corpus", name)
    with serving(path.parent) as server:
        source = open_source(f"{server.url}/{name}")
        assert read(source).tobytes() == read(open_source(path)).tobytes()
        assert source.info.format == open_source(path).info.format
        assert source.info.path == f"{server.url}/{name}"
        sent = sum(size for _, size in server.asked)
    assert sent < 2.5 * path.stat().st_size + 3 * BLOCK


def test_opening_over_http_reads_a_little_only() -> None:
    """The header costs a block or two, not the file."""
    path = shared("data", "autzen.laz")
    with serving(path.parent) as server:
        source = open_source(f"{server.url}/autzen.laz")
        assert source.info.points == 10_653_336
        assert sum(size for _, size in server.asked) <= 4 * BLOCK


def test_a_server_without_ranges_is_refused_with_what_to_do() -> None:
    """Downloading is the way out, and the sentence says so."""
    said = pytest.raises(CloudError, match=r"does not serve ranges.*download")
    with serving(shared("corpus"), ranges=False) as server, said:
        open_source(f"{server.url}/pdal_interesting.las")


def test_what_is_not_there_is_refused_with_the_servers_answer() -> None:
    """404, and a server that does not answer at all."""
    with serving(shared("corpus")) as server, pytest.raises(CloudError, match="answered 404"):
        open_source(f"{server.url}/nothing.laz")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(CloudError, match="ConnectionError"):
        open_source(f"http://127.0.0.1:{port}/a.laz")


@pytest.mark.parametrize("busy", [429, 503])
def test_a_hiccup_of_the_server_is_passed_over(tmp_path: Path, busy: int) -> None:
    """Two failures or short answers in a row are tried again; three are said."""
    path = write_las(tmp_path / "a.las", 20_000)
    with serving(tmp_path) as server:
        server.failures, server.busy = 2, busy
        reader = RangeReader(f"{server.url}/a.las")
        server.short = 2
        assert reader.read_range(300_000, 90_000) == path.read_bytes()[300_000:390_000]
        assert server.short == 0  # it was the server that was asked
        server.short = 3
        with pytest.raises(CloudError, match="can't be read"):
            reader.read_range(300_000, 90_000)
        server.failures = 3
        with pytest.raises(CloudError, match=f"answered {busy}"):
            RangeReader(f"{server.url}/a.las")


def test_a_line_that_breaks_off_is_a_refusal_of_the_cloud(tmp_path: Path) -> None:
    """Whoever reads points gets one sentence, not an error of the library that reads."""
    write_las(tmp_path / "a.las", 20_000)
    with serving(tmp_path) as server:
        source = open_source(f"{server.url}/a.las")
        server.short = 3
        with pytest.raises(CloudError, match="can't be read"):
            read(source)
        server.short = 9
        with pytest.raises(CloudError, match="can't be read"):
            open_source(f"{server.url}/a.las")
        with pytest.raises(CloudError, match="can't be read"):
            open_source(f"{server.url}/ept.json")


def test_a_server_that_sends_other_bytes_than_asked_for_is_refused(tmp_path: Path) -> None:
    """Points are never read from the wrong place."""
    write_las(tmp_path / "a.las", 20_000)
    with serving(tmp_path) as server:
        source = open_source(f"{server.url}/a.las")
        server.shift = 30
        with pytest.raises(CloudError, match="sends other bytes"):
            read(source)


@pytest.mark.parametrize("address", ["http://[::1/a.laz", "http://", "http://127.0.0.1:99999/a"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    """A typing error in an address is answered in a sentence."""
    with pytest.raises(CloudError, match="check the address"):
        open_source(address)


def test_a_file_that_changes_on_the_server_is_noticed(tmp_path: Path) -> None:
    """Half of the old file and half of the new one are never put together."""
    path = write_las(tmp_path / "a.las", 20_000)
    with serving(tmp_path) as server:
        source = open_source(f"{server.url}/a.las")
        write_las(path, 30_000, seed=5)
        with pytest.raises(CloudError, match="has changed on the server"):
            read(source)


@settings(max_examples=60, deadline=None)
@given(
    moves=st.lists(
        st.tuples(st.integers(0, 700_000), st.integers(0, 400_000)), min_size=1, max_size=8
    )
)
def test_a_web_file_reads_like_a_local_one(moves: list[tuple[int, int]], web: tuple) -> None:
    """Any seeks and reads give the file's bytes."""
    raw, stream = web
    for at, count in moves:
        stream.seek(at)
        assert stream.read(count) == raw[at : at + count]
        assert stream.tell() == at + len(raw[at : at + count])


@pytest.fixture(scope="module")
def web():  # type: ignore[no-untyped-def]
    path = shared("corpus", "loaders.gl_ellipsoid.copc.laz")
    with serving(path.parent) as server:
        yield path.read_bytes(), HttpFile(RangeReader(f"{server.url}/{path.name}"))


# -- EPT ---------------------------------------------------------------------------------------


def make_ept(folder: Path, kind: str, *, promised: int | None = None) -> np.ndarray:
    """An EPT set of three tiles and two hierarchy pages from a corpus file; its records."""
    las = laspy.read(shared("corpus", "pdal_interesting.las"))
    parts = {"0-0-0-0": slice(0, 400), "1-0-0-0": slice(400, 1000), "2-1-0-0": slice(1000, 1065)}
    for sub in ("ept-data", "ept-hierarchy"):
        (folder / sub).mkdir(parents=True)
    names = ["X", "Y", "Z", "Intensity", "ReturnNumber", "Classification", "GpsTime", "Red",
             "Green", "Blue", "OriginId"]  # fmt: skip
    types = ["<i4", "<i4", "<i4", "<u2", "u1", "u1", "<f8", "<u2", "<u2", "<u2", "<u4"]
    for key, part in parts.items():
        if kind == "laszip":
            tile = laspy.LasData(las.header)
            tile.points = las.points[part]
            tile.write(str(folder / "ept-data" / f"{key}.laz"))
        else:
            rows = np.zeros(part.stop - part.start, dtype=list(zip(names, types, strict=True)))
            sources = [las.X, las.Y, las.Z, las.intensity, las.return_number, las.classification,
                       las.gps_time, las.red, las.green, las.blue]  # fmt: skip
            for name, values in zip(names, sources, strict=False):
                rows[name] = np.asarray(values)[part]
            rows["OriginId"] = 7
            (folder / "ept-data" / f"{key}.bin").write_bytes(rows.tobytes())
    pages = {
        "0-0-0-0": {"0-0-0-0": promised or 400, "1-0-0-0": -1},
        "1-0-0-0": {"1-0-0-0": 600, "2-1-0-0": 65},
    }
    for key, page in pages.items():
        (folder / "ept-hierarchy" / f"{key}.json").write_text(json.dumps(page), encoding="utf-8")
    kinds = {"i": "signed", "u": "unsigned", "f": "float"}
    schema = [
        {"name": n, "size": np.dtype(t).itemsize, "type": kinds[np.dtype(t).kind]}
        for n, t in zip(names, types, strict=True)
    ]
    for item, scale, offset in zip(schema, las.header.scales, las.header.offsets, strict=False):
        item["scale"], item["offset"] = float(scale), float(offset)
    box = [*map(float, las.header.mins), *map(float, las.header.maxs)]
    document = {"bounds": box, "boundsConforming": box, "dataType": kind, "hierarchyType": "json",
                "points": 1065, "schema": schema, "span": 128, "version": "1.0.0",
                "srs": {"authority": "EPSG", "horizontal": "2992"}}  # fmt: skip
    (folder / "ept.json").write_text(json.dumps(document), encoding="utf-8")
    return las.points.array


@pytest.mark.parametrize("kind", ["laszip", "binary"])
@pytest.mark.parametrize("how", ["folder", "file", "http"])
def test_an_ept_set_gives_every_point_once(tmp_path: Path, kind: str, how: str) -> None:
    """Local and over http, laszip and binary tiles, with a hierarchy of two pages."""
    folder = tmp_path / "點雲 set"
    theirs = make_ept(folder, kind)
    with serving(tmp_path) as server:
        place = {
            "folder": str(folder),
            "file": str(folder / "ept.json"),
            "http": f"{server.url}/點雲 set/ept.json",
        }[how]
        source = open_source(place)
        ours = read(source)
        sample = source.sample(300)
    info = source.info
    assert (info.format, info.points, info.crs.epsg) == ("ept", 1065, 2992)
    assert not codes(info) & {"tile_count", "tile_refused", "points_missing"}
    for axis in "XYZ":
        assert np.array_equal(ours[axis], theirs[axis])
    for name in ("intensity", "gps_time", "red", "green", "blue"):
        assert np.array_equal(ours[name], theirs[name])
    assert info.classes == {1: 789, 2: 276} and info.color_depth == 8
    assert len(sample) == 300
    if kind == "binary":
        assert ours["OriginId"].tolist() == [7] * 1065


def test_a_tile_that_disagrees_with_the_hierarchy_is_named(tmp_path: Path) -> None:
    """Hierarchy 450, tile 400: the points that are there are read, the tile is named."""
    make_ept(tmp_path / "set", "laszip", promised=450)
    info = inspect(tmp_path / "set")
    assert info.points == 1065
    assert "tile 0-0-0-0 should hold 450 points and holds 400" in message(info, "tile_count")


@pytest.mark.parametrize("kind", ["laszip", "binary"])
def test_a_missing_or_damaged_tile_is_named_and_the_others_are_read(
    tmp_path: Path, kind: str
) -> None:
    """One tile gone: its points are missing, and said so."""
    make_ept(tmp_path / "set", kind)
    ending = "laz" if kind == "laszip" else "bin"
    tile = tmp_path / "set" / "ept-data" / f"1-0-0-0.{ending}"
    tile.write_bytes(tile.read_bytes()[:100])
    info = inspect(tmp_path / "set")
    assert info.points == 465
    assert "1-0-0-0" in message(info, "tile_refused")
    assert "1,065" in message(info, "points_missing")
    tile.unlink()
    assert inspect(tmp_path / "set").points == 465


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dataType": "zstandard"}, "zstandard"),
        ({"schema": [{"name": "X", "size": 4, "type": "signed"}]}, "X, Y and Z are needed"),
        ({"schema": "none"}, "schema"),
        ({"bounds": [1, 2]}, "six numbers"),
        ({"points": "many"}, "can't be right"),
    ],
)
def test_an_ept_that_can_not_be_right_is_refused(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    """One sentence says what is wrong in ept.json."""
    make_ept(tmp_path / "set", "binary")
    path = tmp_path / "set" / "ept.json"
    document = {**json.loads(path.read_text(encoding="utf-8")), **change}
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(CloudError, match=said):
        open_source(path)


@pytest.mark.parametrize("page", ["[]", "{", '{"0-0-0-0": "x"}', '{"../../etc": 5}', "[" * 100_000])
def test_a_hierarchy_that_can_not_be_right_is_refused(tmp_path: Path, page: str) -> None:
    """No traversal of folders, no recursion without end."""
    make_ept(tmp_path / "set", "binary")
    (tmp_path / "set" / "ept-hierarchy" / "0-0-0-0.json").write_text(page, encoding="utf-8")
    with pytest.raises(CloudError, match="ept-hierarchy"):
        open_source(tmp_path / "set")


# -- tiles -------------------------------------------------------------------------------------


def test_a_folder_of_tiles_is_one_cloud(tmp_path: Path) -> None:
    """Records of tiles of one kind pass through untouched, in order of their names."""
    parts = []
    for number in range(3):
        path = write_las(tmp_path / f"tile {number} é.laz", 1000 + number, seed=number)
        parts.append(laspy.read(path).points.array)
    (tmp_path / "notes.md").write_text("not a cloud", encoding="utf-8")
    for place in (tmp_path, f"{tmp_path}/*.laz", f"{tmp_path}/tile ? é.laz"):
        source = open_source(place)
        assert read(source).tobytes() == b"".join(part.tobytes() for part in parts)
        assert (source.info.format, source.info.points) == ("tiles", 3003)
        assert len(source.sample(300)) == pytest.approx(300, abs=6)


def test_tiles_of_different_kinds_are_brought_together(tmp_path: Path) -> None:
    """Other formats, scales and offsets: each point keeps its place and its attributes."""
    write_las(tmp_path / "a.las", 50, point_format=3, version="1.2", red=np.full(50, 999))
    write_las(tmp_path / "b.laz", 60, point_format=6, classification=np.full(60, 200))
    (tmp_path / "c.xyz").write_text("500010.125 5000010.25 7.5 33\n", encoding="utf-8")
    source = open_source(tmp_path)
    points = read(source)
    expected = np.concatenate(
        [
            world(open_source(tmp_path / name), read(open_source(tmp_path / name)))
            for name in ("a.las", "b.laz", "c.xyz")
        ]
    )
    assert np.allclose(world(source, points), expected, rtol=0, atol=1e-6)
    assert points["red"].tolist() == [999] * 50 + [0] * 61
    assert points["classification"][50:110].tolist() == [200] * 60
    assert points["intensity"][110] == 33
    assert "tiles_differ" in codes(source.info)
    assert source.info.bounds_min == tuple(expected.min(axis=0)) or np.allclose(
        np.asarray(source.info.bounds_min), expected.min(axis=0), rtol=0, atol=1e-6
    )


def test_a_tile_that_is_refused_is_named_and_the_others_open(tmp_path: Path) -> None:
    """One bad tile does not take the rest away, and does not go unsaid."""
    write_las(tmp_path / "a.las", 10)
    (tmp_path / "b.las").write_bytes(b"nonsense")
    info = inspect(tmp_path)
    assert info.points == 10 and "b.las" in message(info, "tile_refused")


def test_nothing_to_open_is_refused(tmp_path: Path) -> None:
    """An empty folder and a pattern without a match."""
    with pytest.raises(CloudError, match="folder without point clouds"):
        open_source(tmp_path)
    with pytest.raises(CloudError, match="matches no file"):
        open_source(f"{tmp_path}/*.laz")


def test_a_folder_of_one_file_is_that_file(tmp_path: Path) -> None:
    """No ceremony for a single tile."""
    path = write_las(tmp_path / "a.las")
    assert open_source(tmp_path).info.path == str(path)
