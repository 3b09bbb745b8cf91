"""`oniyanma render FILE… -o out.png`: a picture without a display, through the same commands."""

from __future__ import annotations

import argparse
import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from oniyanma.clouds.atomic import AtomicFile
from oniyanma.exits import REFUSED
from oniyanma.registry.actor import Actor
from oniyanma.render.headless import HeadlessRenderer
from oniyanma.render.look import DARK, LIGHT

PRESETS = ("top", "bottom", "front", "back", "left", "right", "iso")
MOST = 4096  # pixels a side


PNG = b"\x89PNG\r\n\x1a\n"


class _Failed(Exception):
    """A step's answer was not ok; the message is its sentence, ``status`` the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def size(text: str) -> tuple[int, int]:
    """``"1280x720"`` as width and height."""
    width, cross, height = text.lower().partition("x")
    if not cross or not (width.isdigit() and height.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size of the form 1280x720")
    pair = (int(width), int(height))
    if not all(16 <= side <= MOST for side in pair):
        raise argparse.ArgumentTypeError(f"{text!r}: each side is 16 to {MOST} pixels")
    return pair


def camera(text: str) -> dict[str, Any]:
    """A preset's name, or the arguments of setCamera as JSON."""
    if text in PRESETS:
        return {"preset": text}
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither one of {', '.join(PRESETS)} nor the JSON object of setCamera"
        )
    return found


def parser() -> argparse.ArgumentParser:
    """The arguments of the subcommand."""
    made = argparse.ArgumentParser(
        "oniyanma render", description="Draw point clouds into a PNG file, with no display."
    )
    made.add_argument("files", nargs="+", metavar="FILE", help="cloud, folder or URL of a COPC")
    made.add_argument("-o", "--output", required=True, type=Path, metavar="PNG")
    made.add_argument("--size", type=size, default=(1280, 720), metavar="WxH", help="1280x720")
    made.add_argument(
        "--camera",
        type=camera,
        default=camera("iso"),
        metavar="PRESET|JSON",
        help=f"{', '.join(PRESETS)}; or as setCamera takes it, "
        '{"eye": [x, y, z], "target": [x, y, z]}',
    )
    made.add_argument("--color", metavar="MODE", help="rgb, elevation, intensity, classification…")
    made.add_argument("--palette", metavar="NAME", help="of the colour mode: dragonfly, viridis…")
    made.add_argument("--budget", type=int, metavar="POINTS", help="how many points may be drawn")
    made.add_argument("--point-size", type=float, metavar="PX", help="in pixels; adaptive at least")
    made.add_argument("--edl", action=argparse.BooleanOptionalAction, help="eye-dome lighting")
    made.add_argument("--light", action="store_true", help="on a light ground")
    made.add_argument("--plain", action="store_true", help="points alone: no axes, no scale bar")
    return made


def render_main(argv: list[str], make_session: Callable[..., Any]) -> int:
    """Run it. ``make_session`` builds a `Session`; 0: drawn, 1: it failed, 3: a file is refused."""
    options = parser().parse_args(argv)
    if (reason := _no_target(options.output)) is not None:
        sys.stderr.write(f"oniyanma render: {reason}\n")
        return REFUSED
    renderer = HeadlessRenderer(LIGHT if options.light else DARK)
    session = make_session(
        viewport=options.size, renderer=renderer, actor=Actor("human", "command line")
    )
    try:
        png, points = _draw(session, options)
        with AtomicFile(options.output) as target:
            target.file.write(png)
            target.commit()
    except (_Failed, OSError) as error:
        sys.stderr.write(f"oniyanma render: {error}\n")
        return error.status if isinstance(error, _Failed) else 1
    finally:
        session.close()
    width, height = options.size
    sys.stdout.write(f"{options.output}: {width} × {height} pixels, {points:,} points\n")
    return 0


def _no_target(path: Path) -> str | None:
    """Why no picture may be written there: only a picture is ever written over."""
    if path.suffix.lower() != ".png":
        return f"{path}: a picture is written as PNG; name it with the ending .png."
    if not path.parent.is_dir():
        return f"{path}: the folder {path.parent} does not exist; make it, or choose another."
    if path.exists():
        with path.open("rb") as file:
            if file.read(len(PNG)) != PNG:
                return f"{path} exists already and is no PNG picture; choose another name."
    return None


def _draw(session: Any, options: argparse.Namespace) -> tuple[bytes, int]:
    """The picture, and how many points were resident for it."""

    def call(name: str, **args: Any) -> dict[str, Any]:
        answer: dict[str, Any] = session.call(name, args)
        if not answer.get("ok"):
            _fail(name, answer)
        return answer

    for i, path in enumerate(options.files):
        call("openCloud", path=path, append=i > 0)
    if options.budget:
        call("setPointBudget", points=options.budget)
    if options.color or options.palette:
        mode = {"mode": options.color or call("getView")["color"]["mode"]}
        call("setColorMode", **mode, **({"palette": options.palette} if options.palette else {}))
    if options.point_size is not None:
        call("setPointSize", pixels=options.point_size)
    if options.edl is not None:
        call("setEyeDomeLighting", enabled=options.edl)
    call("setCamera", **options.camera)
    if "eye" not in options.camera:
        call("fitView")
    session.settle()
    picture = call(
        "captureView",
        width=options.size[0],
        height=options.size[1],
        annotations=not options.plain,
    )
    return base64.b64decode(picture["image"]), int(call("getView")["resident"]["points"])


def _fail(name: str, answer: dict[str, Any]) -> NoReturn:
    error = answer.get("error") or {}
    message = error.get("message") or f"{name} did not succeed."
    raise _Failed(message, REFUSED if name == "openCloud" else 1)
