"""What is written for others: tables that read back, and pages that say who did what."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import zlib
from dataclasses import replace
from itertools import pairwise
from typing import Any

import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oniyanma.clouds.model import FOOT, METRE, Crs
from oniyanma.registry import verify
from oniyanma.scene import tables
from oniyanma.scene.account import account
from oniyanma.scene.measure import measure
from oniyanma.scene.measuring import Wanted, keep
from oniyanma.scene.printing import shaped
from oniyanma.scene.report import build
from oniyanma.scene.report_words import Facts, Pictures
from oniyanma.scene.state import CloudEntry, SceneState
from oniyanma.scene.units import frame_of
from tests.scene.cloudy import UTM33, info
from tests.scene.records import AIKO, MODEL, Door
from tests.scene.test_batches import ROOFS

FRAME = frame_of(UTM33)
CORNERS = (
    (500_000.0, 5_300_000.0, 400.0),
    (500_010.0, 5_300_000.0, 400.0),
    (500_010.0, 5_300_010.0, 400.0),
)


def measured(state: SceneState, kind: str = "area", name: str = "") -> SceneState:
    want = Wanted(kind, CORNERS, (0.0,) * 3, FRAME)
    values = measure(kind, CORNERS, FRAME) | {"basis": "source points"}
    return keep(state, AIKO, "2026-01-02T03:04:05.000Z", want, values, name)[0]


def worked() -> Door:
    """A day's work: a batch accepted, one waiting, findings decided, an edit undone."""
    door = Door()
    first = door(MODEL, "addFinding", title="Mast leans", position=[1, 2, 3], severity="major")
    second = door(MODEL, "addFinding", title="=HYPERLINK(1)", position=[4, 5, 6])
    door(MODEL, "confirmFinding", id=first["id"])
    door(AIKO, "confirmFinding", id=first["id"], note="seen on site")
    door(AIKO, "rejectFinding", id=second["id"])
    batch = door(MODEL, "proposeBatch", title="Roofs", commands=ROOFS)
    door(AIKO, "acceptBatch", id=batch["id"])
    door(MODEL, "proposeBatch", title="Trees", commands=ROOFS[:2])
    door(AIKO, "selectWhere", classes=[1])
    door(AIKO, "reclassifySelection", **{"class": 3})
    door(AIKO, "undo")
    door.host.state = measured(door.host.state, name="Yard")
    return door


def test_measurements_as_csv_read_back_with_points_and_author() -> None:
    (row,) = csv.DictReader(io.StringIO(tables.measurements_csv(measured(SceneState()), FRAME)))
    assert (row["kind"], float(row["value"]), row["unit"]) == ("area", 50.0, "m²")
    assert float(row["squareMetres"]) == 50.0
    assert row["geometry"].startswith("POLYGON Z ((500000.0 5300000.0 400.0, ")
    assert row["crs"] == "EPSG:32633 WGS 84 / UTM zone 33N"
    assert (row["author"], row["authorKind"]) == ("Aiko", "human")


def test_coordinates_are_written_as_the_decimals_of_the_file() -> None:
    """X·scale + offset in float64 ends in stray digits; -0.7 is not -0.7000000000000001."""
    assert -70 * 0.01 != -0.7
    assert tables.tidy(-70 * 0.01) == -0.7
    assert tables.tidy(1_234_567 * 0.001 + 5_300_000) == 5_301_234.567


def test_geojson_lies_on_the_earth_where_the_crs_puts_it() -> None:
    """RFC 7946: longitude and latitude; easting 500,000 of zone 33 is 15° east."""
    (feature,) = json.loads(tables.measurements_geojson(measured(SceneState()), FRAME))["features"]
    ring = feature["geometry"]["coordinates"][0]
    assert feature["geometry"]["type"] == "Polygon"
    assert ring[0] == ring[-1]
    assert ring[0][0] == pytest.approx(15.0, abs=1e-8)
    assert ring[0][1] == pytest.approx(47.854, abs=0.01)
    assert ring[0][2] == 400.0
    turn = sum((b[0] - a[0]) * (b[1] + a[1]) for a, b in pairwise(ring))
    assert turn < 0, "the outer ring runs anticlockwise"
    assert feature["properties"]["coordinates"][0] == list(CORNERS[0])


def test_geojson_heights_in_feet_become_metres() -> None:
    frame = frame_of(Crs("x", 32633, None, METRE, FOOT))
    (feature,) = json.loads(tables.measurements_geojson(measured(SceneState()), frame))["features"]
    assert feature["geometry"]["coordinates"][0][0][2] == pytest.approx(400 * 0.3048)


def test_geojson_without_a_crs_says_so() -> None:
    text = tables.measurements_geojson(measured(SceneState()), frame_of(Crs()))
    assert "unknown" in json.loads(text)["note"]


def test_findings_as_csv_and_geojson_tell_the_last_word() -> None:
    door = worked()
    rows = list(csv.DictReader(io.StringIO(tables.findings_csv(door.state, FRAME))))
    assert (rows[0]["status"], rows[0]["lastStep"]) == ("confirmed", "confirmed")
    assert (rows[0]["lastActor"], rows[0]["lastNote"]) == ("Aiko", "seen on site")
    features = json.loads(tables.findings_geojson(door.state, FRAME))["features"]
    assert [len(f["properties"]["history"]) for f in features] == [2, 2, 1]


def test_no_text_becomes_a_formula_in_a_spreadsheet() -> None:
    rows = list(csv.DictReader(io.StringIO(tables.findings_csv(worked().state, FRAME))))
    assert rows[1]["title"] == "'=HYPERLINK(1)"


@given(st.text(max_size=20))
def test_csv_reads_back_whatever_was_written(name: str) -> None:
    text = tables.measurements_csv(measured(SceneState(), name=name or "x"), FRAME)
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert row["name"] == tables.safe(name or "x")


def test_the_log_as_json_lines_can_be_checked_against_its_head() -> None:
    door = worked()
    head, count = door.host.log.head()
    text = tables.log_jsonl(door.host.log.entries(), head, count)
    lines, told, number = tables.read_log_jsonl(text)
    assert (told, number) == (head, count)
    assert verify(lines, told, number).ok
    cut, _, _ = tables.read_log_jsonl("\n".join(text.splitlines()[:-2]))
    assert not verify(cut, told, number).ok
    changed = text.replace("Mast leans", "Mast stands")
    assert not verify(*tables.read_log_jsonl(changed)).ok


def test_the_log_as_csv_ends_with_its_head() -> None:
    door = worked()
    head, count = door.host.log.head()
    text = tables.log_csv(door.host.log.entries(), head, count)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == count + 1
    assert (rows[-1]["seq"], rows[-1]["hash"]) == ("head", head)
    assert rows[-2]["hash"] == head


def test_the_account_parts_what_machines_touched_from_what_people_decided() -> None:
    door = worked()
    found = account(door.state, door.host.log.entries())
    machine = [step.title for step in found.machine_steps]
    assert machine[:2] == ["add finding “Mast leans”", "add finding “=HYPERLINK(1)”"]
    assert len(machine) == 2 + 3
    assert all(step.in_force for step in found.machine_steps)
    (undone,) = (step for step in found.steps if step.title == "reclassify 7 to 3")
    assert not undone.machine
    assert not undone.in_force
    assert [(d.what, d.actor) for d in found.decisions] == [
        ("confirmed finding f1", AIKO),
        ("rejected finding f2", AIKO),
        ("accepted batch b1", AIKO),
    ]
    (model,) = (t for t in found.tallies if t.kind == "ai")
    assert model.outcomes["refused"] == 1
    assert model.proposed == 4
    assert model.instruction == "check the roofs"


def facts(door: Door, **more: Any) -> Facts:
    head, count = door.host.log.head()
    state = replace(door.state, clouds=(CloudEntry("c1", "yard.laz", "/x/yard.laz"),))
    box = ((0.0, 0.0, 0.0), (10.0, 20.0, 3.0))
    told: dict[str, Any] = {
        "state": state,
        "lines": door.host.log.entries(),
        "head": head,
        "count": count,
        "clouds": {"c1": info(1234, bounds=box)},
        "frame": FRAME,
        "pictures": Pictures(picture(), {"Gate": picture()}, 1000),
        "made": "2026-01-02T03:04:05.000Z",
        "by": AIKO,
    }
    return Facts(**(told | more))


def picture() -> bytes:
    out = io.BytesIO()
    PIL.Image.new("RGB", (64, 36), "#336699").save(out, "PNG")
    return out.getvalue()


def words(pdf: bytes) -> str:
    """The text that a report's pages show, in the order of drawing."""
    found: list[str] = []
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            drawn = zlib.decompress(base64.a85decode(stream.strip().removesuffix(b"~>")))
        except (ValueError, zlib.error):
            continue
        for shown in re.findall(rb"\(((?:\\.|[^\\)])*)\) Tj", drawn):
            plain = re.sub(rb"\\(\d{3})", lambda m: bytes([int(m[1], 8)]), shown)
            found.append(re.sub(rb"\\(.)", rb"\1", plain).decode("cp1252"))
    return re.sub(r"\s+", " ", " ".join(found))


def test_the_report_says_what_was_measured_found_touched_and_confirmed() -> None:
    pdf = build(facts(worked()))
    assert pdf.startswith(b"%PDF-")
    text = words(pdf)
    for part in (
        "yard.laz",
        "1,234",
        "Yard",
        "50.000 m²",
        "Mast leans",
        "seen on site",
        "What a machine touched, what a person confirmed",
        "model-1 (AI)",
        "accepted batch b1",
        "taken back",
        "Trees (2 commands)",
        "1 / ",
    ):
        assert part in text, part
    assert worked().host.log.head()[1] > 0


def test_the_report_shows_when_the_log_was_tampered_with() -> None:
    door = worked()
    lines = list(door.host.log.entries())
    body = {**lines[2].body, "command": "listFindings"}
    lines[2] = replace(lines[2], body=body)
    assert "The chain is broken" in words(build(facts(door, lines=lines)))
    assert "is whole" in words(build(facts(door)))


def test_an_empty_project_makes_a_report_too() -> None:
    door = Door()
    empty = facts(door, state=SceneState(), clouds={}, frame=None, pictures=Pictures())
    text = words(build(empty))
    for part in ("No cloud is open", "No findings", "Nothing was measured", "No machine ran"):
        assert part in text, part


def test_markup_and_any_script_in_a_title_are_printed_and_not_obeyed() -> None:
    door = Door()
    title = "<b>&amp; 鉄塔 ω 한글 \U0001f600 <font color='red'>"
    door(MODEL, "addFinding", title=title, position=[1, 2, 3], note="a\nb <br/> </para>")
    assert build(facts(door)).startswith(b"%PDF-")
    marked = shaped(title)
    assert marked.startswith("&lt;b&gt;&amp;amp; ")
    assert '<font name="HeiseiKakuGo-W5">鉄塔</font>' in marked
    assert "U+1F600" in marked


def test_a_long_log_is_cut_in_print_and_says_so() -> None:
    door = Door()
    state = measured(door.state, name="n")
    event, measurements = state.events[0], state.measurements
    events = tuple(replace(event, seq=n) for n in range(1, 451))
    state = replace(state, events=events, measurements=measurements)
    assert "The first 400 of 450 steps" in words(build(facts(door, state=state)))
