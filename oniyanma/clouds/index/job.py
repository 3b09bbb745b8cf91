"""Indexing in the background: a child process of its own, watched by a thread.

``python -m oniyanma.clouds.index.job`` takes one request on standard input and reports on
standard output. It ends at once when its input ends, so a killed parent leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from oniyanma.clouds.atomic import part_of
from oniyanma.clouds.index.facts import read_facts
from oniyanma.clouds.memtree import MemoryTree
from oniyanma.clouds.model import CloudError, CloudInfo, CloudWarning
from oniyanma.clouds.process import claim_pipes, give_way, receive, send, spawn

GO = b"g"  # what a parent writes behind its request when the index may be built

Reporter = Callable[["IndexReport"], None]


@dataclass(frozen=True)
class IndexRequest:
    """What to index into ``place`` within ``memory`` bytes; first a sample of ``sample`` points,
    where that is not 0."""

    path: str
    options: Mapping[str, Any]
    place: Path
    memory: int
    sample: int = 0


@dataclass(frozen=True, eq=False)
class Sample:
    """The coarse sample as a tree, and the facts known once it was taken."""

    tree: MemoryTree
    info: CloudInfo


@dataclass(frozen=True)
class IndexReport:
    """How far indexing is: ``progress`` 0..1, ``stage`` in words; ``info`` when done.

    While it is running, once each: ``sample``, and ``coarse``, the path of a COPC file of a finer
    sample.
    """

    state: Literal["running", "done", "failed"]
    progress: float = 0.0
    stage: str = ""
    reason: str = ""
    info: CloudInfo | None = None
    coarse: str = ""
    sample: Sample | None = None


class Indexer:
    """A process that is up and waits for one request."""

    def __init__(self) -> None:
        process = spawn("oniyanma.clouds.index.job", [])
        self.process, self.pid = process, process.pid
        self.input, self.output = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)

    def close(self) -> None:
        """Ends it, whatever it is at."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.input, self.output):
            try:
                pipe.close()
            except OSError:
                pass  # unsent bytes of a process that has ended


class IndexJob:
    """One source being indexed. ``report`` is called on a thread of the job.

    The sample is taken at once, and building waits for `begin`. Without an ``indexer`` nothing
    happens until `run_inline`.
    """

    def __init__(
        self, request: IndexRequest, report: Reporter, indexer: Indexer | None = None
    ) -> None:
        self.place = request.place
        self._request = request
        self._report = report
        self._indexer = indexer
        self._cancelled = False
        self.begun = False
        self._asked = threading.Event()
        self._sample: Sample | None = None
        self._sampled = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="oniyanma-index", daemon=True)
        if indexer is not None:
            self._thread.start()

    @property
    def pid(self) -> int | None:
        """The process id of the indexer."""
        return None if self._indexer is None else self._indexer.pid

    @property
    def coarse(self) -> Path:
        """Where the finer sample lies once there is one."""
        return coarse_place(self.place, self.pid or os.getpid())

    def sample(self) -> Sample | None:
        """Waits for the sample that was asked for; None when the indexer ended without one."""
        self._sampled.wait()
        return self._sample

    def begin(self) -> None:
        """Lets the index be built."""
        self.begun = True
        if self._indexer is None:
            return
        self._asked.wait()
        try:
            self._indexer.input.write(GO)
            self._indexer.input.flush()
        except (OSError, ValueError):
            pass  # it has ended: its report says why

    def cancel(self) -> None:
        """Stops it; the report says failed, "cancelled"."""
        self._cancelled = True
        if self._indexer is not None:
            self._indexer.process.kill()
        else:
            self._report(IndexReport("failed", reason="cancelled"))

    def close(self) -> None:
        """Stops it if it runs, and waits for its end."""
        self._cancelled = True
        if self._indexer is None:
            return
        self._indexer.process.kill()
        self._indexer.process.wait()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def run_inline(self) -> None:
        """Indexes in the caller, without any process."""
        if not self._cancelled:
            self._report(_run(self._request, self._report))

    def _listen(self) -> None:
        assert self._indexer is not None
        last: IndexReport | None = None
        try:
            try:
                send(self._indexer.input, self._request)
            finally:
                self._asked.set()
            while last is None or last.state == "running":
                last = receive(self._indexer.output)
                if last.sample is not None:
                    self._sample = last.sample
                    self._sampled.set()
                else:
                    self._report(last)
        except (EOFError, OSError):
            reason = "cancelled" if self._cancelled else self._ended()
            self._report(IndexReport("failed", reason=reason))
        finally:
            _remove_parts(self.place, self._indexer.pid)
            self._indexer.close()
            self._sampled.set()

    def _ended(self) -> str:
        assert self._indexer is not None
        status = self._indexer.process.wait()
        return (
            f"the indexing process ended unexpectedly (exit status {status}); the coarse sample "
            "stays on screen, open the cloud again to retry."
        )


def stored_info(place: Path, info: CloudInfo) -> CloudInfo | None:
    """``info`` with what the indexer found in every point, kept with the index."""
    facts = read_facts(place)
    if facts is None:
        return None
    return replace(
        info,
        points=facts["points"],
        bounds_min=_vec(facts["bounds_min"]),
        bounds_max=_vec(facts["bounds_max"]),
        color_depth=facts["color_depth"],
        classes={int(k): v for k, v in facts["classes"].items()},
        returns={int(k): v for k, v in facts["returns"].items()},
        warnings=tuple(CloudWarning(*w) for w in facts["warnings"]),
        checked=True,
    )


def facts_of(info: CloudInfo) -> bytes:
    """What `IndexJob.stored_info` reads back, as JSON."""
    return json.dumps(
        {
            "points": info.points,
            "bounds_min": info.bounds_min,
            "bounds_max": info.bounds_max,
            "color_depth": info.color_depth,
            "classes": dict(info.classes),
            "returns": dict(info.returns),
            "warnings": [(w.code, w.message) for w in info.warnings],
        }
    ).encode()


def _vec(values: list[float] | None) -> tuple[float, float, float] | None:
    return None if values is None else (values[0], values[1], values[2])


def coarse_place(place: Path, pid: int) -> Path:
    """Where process ``pid`` puts the finer sample of an index at ``place`` as long as it is shown.

    Another program may be indexing the same cloud: nobody touches the files of another.
    """
    return place.with_name(f".{place.name}.{pid}.coarse.part")


def _remove_parts(place: Path, pid: int, coarse: bool = False) -> None:
    shown = coarse_place(place, pid)
    for part in [part_of(place, pid), part_of(shown, pid), *([shown] if coarse else [])]:
        try:
            part.unlink(missing_ok=True)
        except OSError:
            pass  # still open on Windows: the cache's trim takes it later


def _run(
    request: IndexRequest, report: Reporter, wait: Callable[[], object] | None = None
) -> IndexReport:
    """Takes the sample, ``wait``s where this is a process of its own, and builds the index.

    Without a sample to take it waits first: opening a text reads all of it.
    """
    from oniyanma.clouds.index.build import build_copc
    from oniyanma.clouds.open import open_source

    place = Path(request.place)
    try:
        if wait is not None and not request.sample:
            wait()
        source = open_source(request.path, options=dict(request.options) or None)
        if request.sample:
            record = source.sample(request.sample)
            first = Sample(MemoryTree(source.header, record.array), source.info)
            report(IndexReport("running", 0.0, "reading", sample=first))
            del record, first
        if wait is not None:
            wait()
            give_way(10)  # somebody waited for the sample only; the crew inherits it
        place.parent.mkdir(parents=True, exist_ok=True)
        result = build_copc(
            source,
            place,
            memory=request.memory,
            progress=lambda share, stage: report(IndexReport("running", share, stage)),
            cancelled=lambda: False,
            workers=0 if wait is None else 2,
            facts=facts_of,
            coarse=(
                coarse_place(place, os.getpid()),
                lambda path: report(IndexReport("running", 0.5, "building", coarse=str(path))),
            ),
        )
    except CloudError as error:
        return IndexReport("failed", reason=str(error))
    except OSError as error:
        return IndexReport(
            "failed", reason=f"{request.path} can't be indexed: {error.strerror or error}."
        )
    return IndexReport("done", 1.0, "ready", info=result.info)


def main() -> int:
    """Takes one request and indexes it; leaves when the parent does."""
    import signal

    import oniyanma.clouds.index.build
    import oniyanma.clouds.open  # noqa: F401 - before the request comes, where there is time

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = claim_pipes()
    os.environ.pop("RAYON_NUM_THREADS", None)
    try:
        request = receive(source)
    except EOFError:
        return 0

    go = threading.Event()

    def watch() -> None:
        if source.read(1) == GO:
            go.set()
            source.read(1)  # nothing more ever comes: this returns when the parent is gone
        _remove_parts(request.place, os.getpid(), coarse=True)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        send(sink, _run(request, lambda report: send(sink, report), go.wait))
    except OSError:
        return 1
    return 0


if __name__ == "__main__":
    # the messages' classes must have their importable name, not __main__'s
    from oniyanma.clouds.index.job import main as run

    code = run()
    sys.stdout.flush()
    os._exit(code)
