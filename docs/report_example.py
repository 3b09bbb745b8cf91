"""Make the printable report of a real project: a day's work on the Autzen cloud, by one script.

    python docs/report_example.py [AUTZEN.laz] [FOLDER]

A person opens the cloud, measures and records findings; an AI previews, edits, proposes a batch
and is refused what only people decide; the person accepts, confirms and rejects. FOLDER (default:
build/report) gets the project, the report as PDF and everything else `exportReport` writes.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from oniyanma.app import Session
from oniyanma.registry import Actor
from oniyanma.render.headless import HeadlessRenderer
from oniyanma.render.look import LIGHT

ROOT = Path(__file__).resolve().parents[1]
GROUND = 421.0  # feet
FIELD = [(637201, 852074), (637588, 851977), (637563, 851791), (637187, 851877)]
HALL = [(636469, 852003), (636889, 851906), (636864, 851673), (636433, 851769)]
STADIUM = (637380.0, 851930.0, 440.0)


class Desk:
    """One entry point of the session: calls that say what went wrong."""

    def __init__(self, session: Session, actor: Actor) -> None:
        self._session, self._handle = session, session.handle(actor)

    def try_(self, name: str, /, **args: Any) -> dict[str, Any]:
        return self._session.submit(name, args, self._handle).result()

    def __call__(self, name: str, /, **args: Any) -> dict[str, Any]:
        answer = self.try_(name, **args)
        if answer.get("ok") is False:
            raise SystemExit(f"{name}: {answer['error']['message']}")
        return answer


def place(desk: Desk, x: float, y: float, z: float = GROUND) -> list[float]:
    """The exact point nearest to a rough place."""
    found = desk("queryPoint", x=x, y=y, z=z)
    return [found["x"], found["y"], found["z"]]


def work(person: Desk, ai: Desk, cloud: Path) -> None:
    person("openCloud", path=str(cloud))
    look(person, (637380.0, 850300.0, 1500.0), STADIUM)
    person("saveBookmark", name="Stadium from the south")
    measure(person)
    findings(person, ai)
    edits(person, ai)
    look(person, (637380.0, 851929.0, 4200.0), STADIUM)
    person("saveBookmark", name="Stadium from above")
    look(person, (636300.0, 850900.0, 900.0), (636660.0, 851840.0, 430.0))
    person("saveBookmark", name="Training hall")
    look(person, (636500.0, 850500.0, 1350.0), (637150.0, 851930.0, 440.0))


def look(desk: Desk, eye: tuple[float, ...], target: tuple[float, ...]) -> None:
    up = [0, 1, 0] if abs(eye[1] - target[1]) < 10 else [0, 0, 1]
    desk("setCamera", eye=list(eye), target=list(target), up=up)


def measure(person: Desk) -> None:
    field = [place(person, x, y) for x, y in FIELD]
    person("addMeasurement", kind="distance", points=field[:2], name="Length of the field")
    person("addMeasurement", kind="area", points=field, name="Field")
    roof = place(person, 637420, 851560, 600.0)
    foot = place(person, 637420, 851450)
    person("addMeasurement", kind="height", points=[foot, roof], name="South stand")
    person("addMeasurement", kind="angle", points=[field[0], field[1], field[2]])
    hall = [[x, y, GROUND] for x, y in HALL]
    person("addMeasurement", kind="volume", points=hall, name="Training hall", full=True)
    line = [place(person, 637000, 851400), place(person, 637800, 852500)]
    person("addMeasurement", kind="profile", points=line, width=10.0, full=True, name="Bowl")


def findings(person: Desk, ai: Desk) -> None:
    tower = place(person, 637130, 852200, 520.0)
    first = ai(
        "addFinding",
        title="Floodlight mast leans to the north-east",
        position=tower,
        severity="major",
        note="The upper third is 0.8 ft off the axis of the lower two thirds.",
    )
    second = ai(
        "addFinding",
        title="Standing water beside the path",
        position=place(person, 637000, 851300),
        severity="minor",
    )
    person(
        "addFinding",
        title="Gap in the returns over the river",
        position=place(person, 637250, 850700),
        note="No returns over open water: no volume is to be taken here.",
        severity="info",
    )
    ai.try_("confirmFinding", id=first["id"], confirm=True)  # refused: people only
    person("confirmFinding", id=first["id"], note="Checked against last year's survey.")
    person("rejectFinding", id=second["id"], note="Shadow of the footbridge.")


def edits(person: Desk, ai: Desk) -> None:
    ai("selectWhere", elevation=[600.0, None])
    preview = ai("deleteSelection")
    ai("deleteSelection", confirm=True, token=preview["token"])
    batch = ai(
        "proposeBatch",
        title="Training hall to class Building",
        commands=[
            {
                "name": "selectPolygon",
                "args": {
                    "points": [list(p) for p in HALL],
                    "space": "world",
                    "zRange": [440.0, None],
                },
            },
            {"name": "reclassifySelection", "args": {"class": 6}},
            {
                "name": "addFinding",
                "args": {
                    "title": "Roof of the hall: class set by height alone",
                    "position": [636660.0, 851840.0, 480.0],
                    "severity": "minor",
                    "useSelection": True,
                },
            },
        ],
    )
    person("acceptBatch", id=batch["id"])
    ai(
        "proposeBatch",
        title="Trees along the river to class High vegetation",
        commands=[
            {"name": "selectWhere", "args": {"elevation": [460.0, 560.0]}},
            {"name": "reclassifySelection", "args": {"class": 5}},
        ],
    )
    person("selectWhere", elevation=[None, 407.0])
    person("reclassifySelection", **{"class": 7})
    person("selectWhere", elevation=[None, 415.0])
    person("hideSelection")
    person("undo")
    person("clearSelection")


def main(arguments: list[str]) -> int:
    cloud = Path(arguments[0]) if arguments else ROOT.parent / "shared" / "data" / "autzen.laz"
    folder = Path(arguments[1]) if len(arguments) > 1 else ROOT / "build" / "report"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    project = folder / "autzen.oniyanma"
    human = Actor("human", "Aiko Mori")
    model = Actor("ai", "survey-model", "Look for masts that lean and roofs that have no class.")
    with Session(project=project, renderer=HeadlessRenderer(LIGHT), actor=human) as session:
        person, ai = Desk(session, human), Desk(session, model)
        work(person, ai, cloud)
        for what, name in (
            ("measurements", "measurements.csv"),
            ("measurements", "measurements.geojson"),
            ("findings", "findings.csv"),
            ("findings", "findings.geojson"),
            ("log", "log.jsonl"),
            ("log", "log.csv"),
            ("report", "report.pdf"),
        ):
            answer = person("exportReport", path=str(folder / name), what=what)
            print(f"{answer['path']}: {answer.get('rows', answer.get('bytes'))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
