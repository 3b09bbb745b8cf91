"""Draws the pictures of docs/pictures from ../shared/data, through the commands and no display.

``python docs/gallery.py``; takes a minute or two the first time, while Autzen is indexed.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

from PIL import Image

from oniyanma import Actor, Session
from oniyanma.render.headless import HeadlessRenderer
from oniyanma.render.look import DARK, LIGHT, Theme

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
PICTURES = ROOT / "docs" / "pictures"
SIZE = (1440, 810)


class Studio:
    """A session with a renderer whose pictures are kept."""

    def __init__(self, path: Path, theme: Theme = DARK) -> None:
        person = Actor("human", "gallery")
        renderer = HeadlessRenderer(theme)
        self.session = Session(viewport=SIZE, renderer=renderer, actor=person)
        self.do("openCloud", path=str(path))

    def do(self, command: str, /, **args: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.session.call(command, args)
        if not answer["ok"]:
            raise SystemExit(f"{command}: {answer['error']['message']}")
        return answer

    def keep(self, name: str, annotations: bool = True) -> None:
        self.session.settle()
        width, height = SIZE
        picture = self.do("captureView", width=width, height=height, annotations=annotations)
        PICTURES.mkdir(parents=True, exist_ok=True)
        drawn = Image.open(io.BytesIO(base64.b64decode(picture["image"])))
        drawn.save(PICTURES / f"{name}.jpg", quality=88, optimize=True, progressive=True)
        print(f"{name}.jpg")

    def close(self) -> None:
        self.session.close()


def autzen() -> None:
    """The stadium from the air: colours, heights, a selection, measuring and findings."""
    studio = Studio(DATA / "autzen.laz")
    try:
        studio.do("setCamera", preset="iso")
        studio.do("fitView")
        studio.do("setColorMode", mode="rgb")
        studio.keep("autzen-rgb")
        studio.do("setColorMode", mode="elevation")
        studio.keep("autzen-elevation")
        stadium = {"eye": [635950, 850150, 1150], "target": [637200, 851350, 430]}
        studio.do("setCamera", **stadium)
        studio.keep("stadium-elevation")
        studio.do("setColorMode", mode="intensity")
        studio.keep("stadium-intensity")
        studio.do("setColorMode", mode="rgb")
        studio.do(
            "addMeasurement",
            kind="distance",
            points=[[636640, 851250, 425], [637790, 851480, 430]],
            name="Width",
        )
        studio.do(
            "addFinding",
            title="Mast without a light",
            position=[636900, 851900, 560],
            severity="major",
        )
        studio.keep("stadium-measured")
        studio.do("selectBox", min=[636700, 850900, 425], max=[637700, 851800, 700], rotation=12)
        studio.keep("stadium-selected")
        studio.do("clearSelection")
        studio.do(
            "setClip",
            box={"min": [636500, 850800, 400], "max": [637900, 851950, 620], "rotation": 12},
        )
        studio.keep("stadium-clipped")
        studio.do("setClip", clear=True)
        studio.do("setColorMode", mode="elevation", palette="viridis")
        studio.do("setCamera", preset="top", projection="orthographic")
        studio.do("fitView")
        studio.keep("autzen-map")
    finally:
        studio.close()


def lion() -> None:
    """The statue, near, on a dark and on a light ground."""
    view = {"eye": [2.3, 0.9, 1.0], "target": [-2.6, 4.0, -1.3]}
    for name, theme, mode in (
        ("lion-rgb", DARK, {"mode": "rgb"}),
        ("lion-elevation", DARK, {"mode": "elevation", "palette": "dragonfly"}),
        ("lion-light", LIGHT, {"mode": "rgb"}),
        ("lion-uniform", LIGHT, {"mode": "uniform"}),
    ):
        studio = Studio(DATA / "lion.copc.laz", theme)
        try:
            studio.do("setColorMode", **mode)
            studio.do("setCamera", **view)
            studio.keep(name)
        finally:
            studio.close()


if __name__ == "__main__":
    lion()
    autzen()
