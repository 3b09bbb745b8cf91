"""``oniyanma convert SRC… DST``: any source to COPC, LAS, LAZ, PLY or CSV."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oniyanma.clouds.export import FORMATS, ExportResult, export
from oniyanma.clouds.index.crew import Cancelled
from oniyanma.clouds.model import CloudError, Source
from oniyanma.clouds.open import open_source
from oniyanma.exits import REFUSED

INTERRUPTED = 130
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_size(text: str) -> int:
    """Bytes of a size such as ``2GiB``, ``512M`` or ``1500000000``. Raises ValueError."""
    plain = text.strip().lower().removesuffix("b").removesuffix("i")
    unit = plain[-1:] if plain[-1:].isalpha() else ""
    if unit not in UNITS:
        raise ValueError(f"{text!r} is no size; write for instance 2GiB or 512MiB")
    size = float(plain.removesuffix(unit)) * UNITS[unit]
    if not 0 < size < 1 << 60:
        raise ValueError(f"{text!r} is no size that a computer has")
    return int(size)


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="oniyanma convert",
        description="Convert point clouds of any format to COPC (.copc.laz), LAS, LAZ, PLY or CSV.",
    )
    parser.add_argument("source", nargs="+", help="files, folders or addresses; several are merged")
    parser.add_argument("target", help="the file to write; its ending says the format")
    parser.add_argument(
        "--format", choices=FORMATS, help="the format, where the ending does not say it"
    )
    parser.add_argument(
        "--memory",
        type=_size,
        default=4 << 30,
        help="limit for all processes (default 4GiB)",
    )
    parser.add_argument("--workers", type=int, default=2, help="processes for COPC (default 2)")
    parser.add_argument("--overwrite", action="store_true", help="replace the target if it exists")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    return parser


class _Bar:
    """A progress bar on standard error; silent when that is no terminal."""

    def __init__(self, quiet: bool) -> None:
        self._on = not quiet and sys.stderr.isatty()
        self._last = ""

    def __call__(self, share: float, stage: str) -> None:
        filled = round(30 * share)
        line = f"\r{stage:<10} [{'#' * filled}{' ' * (30 - filled)}] {share:4.0%}"
        if self._on and line != self._last:
            sys.stderr.write(line)
            sys.stderr.flush()
            self._last = line

    def end(self) -> None:
        if self._on and self._last:
            sys.stderr.write("\n")


def convert_main(argv: Sequence[str]) -> int:
    """Converts as ``argv`` says; 0 when written, 3 when refused, 130 when interrupted."""
    options = _parser().parse_args(list(argv))
    stop = _Stop()
    bar = _Bar(options.quiet)
    with _interrupts(stop):
        try:
            result = _convert(options, stop, bar)
        except (Cancelled, KeyboardInterrupt):
            bar.end()
            sys.stderr.write("oniyanma: cancelled; nothing was written\n")
            return INTERRUPTED
        except CloudError as error:
            bar.end()
            sys.stderr.write(f"oniyanma: {error}\n")
            return REFUSED
    bar.end()
    for warning in result.warnings:
        sys.stderr.write(f"warning {warning.code}: {warning.message}\n")
    sys.stdout.write(
        f"{options.target}: {result.points} {'point' if result.points == 1 else 'points'}\n"
    )
    return 0


def _convert(options: argparse.Namespace, stop: _Stop, bar: _Bar) -> ExportResult:
    sources: list[Source] = []
    try:
        for path in options.source:
            sources.append(open_source(path))
        stop.gently()
        return export(
            sources,
            Path(options.target),
            format=options.format,
            overwrite=options.overwrite,
            progress=bar,
            cancelled=stop.is_set,
            memory=options.memory,
            workers=max(0, options.workers),
        )
    finally:
        for source in sources:
            source.close()


class _Stop:
    """What an interrupt does: it ends opening at once, and asks writing to stop and clean up."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._gently = False
        self.is_set = self._asked.is_set

    def gently(self) -> None:
        """From now on something may have to be cleaned up. Raises KeyboardInterrupt if asked."""
        self._gently = True
        if self._asked.is_set():
            raise KeyboardInterrupt

    def __call__(self, *_: object) -> None:
        self._asked.set()
        if not self._gently:  # a large text is read to its end on opening
            raise KeyboardInterrupt


@contextlib.contextmanager
def _interrupts(stop: _Stop) -> Any:
    """While converting, interrupts go to ``stop``."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kinds = [signal.SIGINT, signal.SIGTERM]
    before = [signal.signal(kind, stop) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
