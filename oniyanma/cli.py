"""The command line: ``oniyanma [FILE…]`` opens the window, subcommands work without one.

Nothing is imported before it is needed: `oniyanma script` loads neither Qt nor OpenGL.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from oniyanma.exits import REFUSED, WRONG

_EPILOG = """\
subcommands:
  info FILE…            what a cloud's header and points say
  convert SRC… DST      write one cloud as .copc.laz, .las or .laz
  render FILE… -o PNG   a picture without a display
  script FILE|-         run commands, one JSON object a line
  commands              list the commands: --json, --markdown
  log verify PROJECT    follow a project's command log from end to end

`oniyanma SUBCOMMAND --help` says more. Exit status: 0 done, 1 failed, 2 wrong usage or no display,
3 a file was refused.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program with these arguments (default: the command line's); the exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    run = SUBCOMMANDS.get(given[0]) if given else None
    try:
        return run(given[1:]) if run is not None else _window(given)
    except BrokenPipeError:  # the reader of our output went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


# --- subcommands ---------------------------------------------------------------------------------


def _info(argv: list[str]) -> int:
    from oniyanma.clouds.main import info_main

    return info_main(argv)


def _convert(argv: list[str]) -> int:
    from oniyanma.clouds.convert import convert_main

    return convert_main(argv)


def _render(argv: list[str]) -> int:
    from oniyanma.app import Session
    from oniyanma.render.main import render_main

    return render_main(argv, Session)


def _commands(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        "oniyanma commands", description="List the commands of the program."
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="an array with every declaration")
    how.add_argument("--markdown", action="store_true", help="the page docs/commands.md")
    options = parser.parse_args(argv)

    import json

    from oniyanma.commands import build_registry
    from oniyanma.registry import commands_json
    from oniyanma.registry.docs import markdown

    registry = build_registry()
    if options.json:
        print(json.dumps(commands_json(registry), indent=2))
    elif options.markdown:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        sys.stdout.write(markdown(registry))
    else:
        width = max(len(command.name) for command in registry)
        for command in registry:
            print(f"{command.name:<{width}}  {command.title}")
    return 0


def _script(argv: list[str]) -> int:
    from oniyanma.script import script_main

    return script_main(argv)


def _log(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        "oniyanma log", description="Look after the command log of a project."
    )
    what = parser.add_subparsers(dest="what", required=True, metavar="verify")
    verify = what.add_parser("verify", help="find changed, missing, reordered and cut-off lines")
    verify.add_argument("project", metavar="PROJECT", help="a project file")
    options = parser.parse_args(argv)

    from oniyanma.registry import CommandError
    from oniyanma.scene.project import verify_project

    try:
        verdict = verify_project(options.project)
    except CommandError as error:
        print(error.message, file=sys.stderr)
        return REFUSED
    for problem in verdict.problems:
        print(problem)
    if verdict.problems:
        return 1
    print(f"{verdict.count} lines, whole and in order; head {verdict.head}")
    return 0


SUBCOMMANDS: Final[dict[str, Callable[[list[str]], int]]] = {
    "info": _info,
    "convert": _convert,
    "render": _render,
    "script": _script,
    "commands": _commands,
    "log": _log,
}


# --- the window ----------------------------------------------------------------------------------


def _window(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        "oniyanma",
        description="View, select, edit and measure point clouds. Without a subcommand: opens the "
        "window, with these files in it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="clouds, or a project file")
    parser.add_argument(
        "--allow-read", nargs="+", action="extend", default=[], metavar="DIR",
        help="folders that machines may read",
    )  # fmt: skip
    parser.add_argument(
        "--allow-write", nargs="+", action="extend", default=[], metavar="DIR",
        help="folders that machines may read and write",
    )  # fmt: skip
    parser.add_argument("--version", action="store_true", help="print the version")
    options = parser.parse_args(argv)
    if options.version:
        from importlib.metadata import version

        print(f"oniyanma {version('oniyanma')}")
        return 0
    for name in options.files:
        if "://" not in name and not set("*?[") & set(name) and not Path(name).exists():
            print(
                f"oniyanma: there is no file {name} (nor a subcommand of that name; --help lists "
                "them).",
                file=sys.stderr,
            )
            return REFUSED
    reason = no_display()
    if reason is not None:
        print(
            f"oniyanma: the window needs a display, and {reason}. Start it in a desktop session, "
            "or work without a window: oniyanma render FILE -o picture.png, oniyanma script.",
            file=sys.stderr,
        )
        return WRONG

    from oniyanma.app import Session
    from oniyanma.registry.actor import person
    from oniyanma.ui import run
    from oniyanma.ui.executor import QtExecutor

    session = Session(
        executor=QtExecutor(),
        allow_read=options.allow_read,
        allow_write=options.allow_write,
        actor=person(),
    )
    try:
        session.warm()
        return int(run(session, options.files))
    finally:
        session.close()


def no_display() -> str | None:
    """Why no window can be shown, or None where one can (as far as can be seen from here)."""
    if not sys.platform.startswith("linux"):
        return None
    if os.environ.get("QT_QPA_PLATFORM", "").split(":")[0] not in ("", "xcb", "wayland"):
        return None
    if os.environ.get("WAYLAND_DISPLAY"):
        return None
    display = os.environ.get("DISPLAY", "")
    if not display:
        return "neither DISPLAY nor WAYLAND_DISPLAY is set"
    host, _, number = display.rpartition(":")
    if host not in ("", "unix"):
        return None
    return None if _answers(number.split(".")[0]) else f"nothing answers on DISPLAY {display}"


def _answers(number: str) -> bool:
    """Whether an X server listens on a local display, by its socket file or abstract socket."""
    for address in (f"/tmp/.X11-unix/X{number}", f"\0/tmp/.X11-unix/X{number}"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(2)
            try:
                sock.connect(address)
            except OSError:
                continue
            return True
    return False


if __name__ == "__main__":
    sys.exit(main())
