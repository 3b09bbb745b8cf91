"""``oniyanma script``: commands from a file, one JSON answer a line."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from oniyanma.app import Session
from oniyanma.clouds.model import CloudError
from oniyanma.exits import REFUSED
from oniyanma.reach import is_url
from oniyanma.registry import Actor, CommandError, Surface
from oniyanma.registry.actor import person
from oniyanma.registry.door import Answer


def viewport(text: str) -> tuple[int, int]:
    """ "1280x720" → (1280, 720); both from 16 to 16384."""
    found = re.fullmatch(r"(\d{2,5})[xX×](\d{2,5})", text)
    if found is None or not all(16 <= int(part) <= 16384 for part in found.groups()):
        raise argparse.ArgumentTypeError(f"{text!r} is no size: give it as 1280x720")
    return int(found[1]), int(found[2])


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        "oniyanma script",
        description='Run commands, one {"name": …, "args": {…}} a line, and print one JSON answer '
        "a line. Each starts when the view has settled. Stops at the first failure with status 1; "
        "a preview is no failure.",
    )
    result.add_argument("file", metavar="FILE", help="a file of JSON lines, or - for the input")
    result.add_argument(
        "--open", nargs="+", action="extend", default=[], metavar="CLOUD",
        help="clouds to open first; machines may read in their folders",
    )  # fmt: skip
    result.add_argument("--project", metavar="FILE", help="a project to open, or to make")
    result.add_argument("--surface", choices=["all", "read"], default="all", help="what may run")
    result.add_argument(
        "--viewport", type=viewport, default=(1280, 720), metavar="WxH",
        help="logical pixels of the view; what is counted depends on it (default 1280x720)",
    )  # fmt: skip
    result.add_argument(
        "--allow-read", nargs="+", action="extend", default=[], metavar="DIR",
        help="more folders the script may read",
    )  # fmt: skip
    result.add_argument(
        "--allow-write", nargs="+", action="extend", default=[], metavar="DIR",
        help="folders the script may read and write",
    )  # fmt: skip
    result.add_argument("--keep-going", action="store_true", help="go on after a failure")
    return result


def script_main(argv: list[str]) -> int:
    """0: every command was answered ok or with a preview; 1: one failed; 3: a file was refused."""
    options = parser().parse_args(argv)
    with contextlib.ExitStack() as stack:
        try:
            lines = stack.enter_context(_lines(options.file))
            session = stack.enter_context(
                Session(
                    project=options.project,
                    allow_read=[*options.allow_read, *_folders(options.open)],
                    allow_write=options.allow_write,
                    viewport=options.viewport,
                    actor=Actor("api", "script"),
                    surface=options.surface,
                )
            )
        except OSError as error:
            what = error.strerror or type(error).__name__
            return _refuse(f"{error.filename or options.file}: {what}; check the path.")
        except CloudError as error:
            return _refuse(str(error))
        except CommandError as error:
            return _refuse(error.message)
        opener = session.handle(person(), Surface.ALL)
        for path in options.open:
            answer = session.submit("openCloud", {"path": path}, opener).result()
            if not answer.get("ok"):
                return _refuse(answer["error"]["message"])
        return run_lines(session, lines, sys.stdout, keep_going=options.keep_going)


def run_lines(
    session: Session, lines: Iterable[str], out: IO[str], *, keep_going: bool = False
) -> int:
    """Run each line and write its answer; 1 when one failed, else 0."""
    status = 0
    for line in lines:
        if not line.strip():
            continue
        answer = _run_line(session, line)
        out.write(json.dumps(answer, allow_nan=False) + "\n")
        out.flush()
        if not answer.get("ok") and not answer.get("preview"):
            status = 1
            if not keep_going:
                break
    return status


def _run_line(session: Session, line: str) -> Answer:
    try:
        request: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        return _unreadable(session, f"the line is no JSON: {error}", line)
    if not isinstance(request, dict) or not isinstance(request.get("name"), str):
        return _unreadable(session, 'the line is no {"name": …, "args": {…}}', line)
    if request.keys() - {"name", "args"}:
        return _unreadable(session, "the line has more than name and args", line)
    return session.submit(request["name"], request.get("args")).result()


def _unreadable(session: Session, message: str, line: str) -> Answer:
    problem = {"path": "$", "given": line.strip()[:200], "allowed": '{"name": …, "args": {…}}'}
    error = {"code": "invalid_arguments", "message": message, "problems": [problem]}
    return {"ok": False, "revision": session.state.revision, "error": error}


@contextlib.contextmanager
def _lines(name: str) -> Iterator[Iterable[str]]:
    if name == "-":
        yield sys.stdin
    else:
        with open(name, encoding="utf-8-sig", errors="surrogateescape") as file:
            yield file


def _folders(paths: Iterable[str]) -> list[str]:
    """What may be read because a person opens it: folders, and of a file its folder."""
    return [
        path.rsplit("/", 1)[0] if is_url(path)
        else path if Path(path).is_dir()
        else str(Path(path).parent)
        for path in paths
    ]  # fmt: skip


def _refuse(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return REFUSED
