"""Opening a cloud with the first thing to show: its tree, all its points, or a coarse sample.

LAZ codecs hold the interpreter lock, so a sample that must be decoded is taken by the process
that goes on to index the cloud: a window's thread never waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from oniyanma.clouds import cache
from oniyanma.clouds.copc import LARGE_NODE, CopcFile, open_copc
from oniyanma.clouds.index.job import (
    Indexer,
    IndexJob,
    IndexReport,
    IndexRequest,
    Sample,
    stored_info,
)
from oniyanma.clouds.memtree import MemoryTree
from oniyanma.clouds.model import CloudError, CloudInfo, CloudWarning, Hierarchy, Source
from oniyanma.clouds.open import open_source
from oniyanma.clouds.packed import joined

SMALL_CLOUD = 400_000
"""Clouds up to this many points are read whole on opening and never indexed."""

SAMPLE_POINTS = 400_000
MAX_PAGES = 64

State = Literal["indexing", "ready", "failed"]


@dataclass(eq=False)
class Cloud:
    """An open cloud.

    ``state`` is "indexing" while the coarse sample is shown, "ready" with the whole tree, or
    "failed" when indexing ended with ``reason`` (the sample stays). ``progress`` is 0..1 and
    ``stage`` says in words what is being done. ``tree`` changes when the hierarchy is replaced
    by another tree; nodes of the same ``tree`` stay valid when it only grows. ``serial`` tells
    it from a cloud that had the same id before.
    """

    id: str
    path: str
    info: CloudInfo
    hierarchy: Hierarchy
    state: State = "ready"
    progress: float = 1.0
    stage: str = ""
    reason: str = ""
    tree: int = 0
    serial: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    memory: MemoryTree | None = None
    copc: CopcFile | None = None
    job: IndexJob | None = None
    coarse: Path | None = None
    found: tuple[CloudWarning, ...] = ()  # oddities that its points don't tell

    @property
    def names(self) -> frozenset[str]:
        """Attributes that nodes of this cloud can have."""
        tree = self.memory or self.copc
        return frozenset() if tree is None else tree.format.names

    def source(self) -> Source:
        """The original file at full resolution.

        Raises `CloudError` when it has gone or another lies in its place: edits and coordinates
        on screen are of the one that was opened.
        """
        source = open_source(self.path, options=self.options or None)
        if _print_of(source.info) != _print_of(self.info):
            source.close()
            raise CloudError(
                f"{self.info.name} has been replaced or changed since it was opened: put the "
                "original back, or close the cloud and open it again."
            )
        return source

    def cancel(self) -> None:
        """Stops indexing; the coarse sample stays on screen."""
        if self.job is not None:
            self.job.cancel()


class Opener:
    """Opens clouds, on any thread.

    ``cache_dir`` holds the indexes, ``memory_limit`` bounds an indexing process and its children
    in bytes, clouds of up to ``small`` points are read whole; ``inline`` starts no process.
    """

    def __init__(self, cache_dir: Path, memory_limit: int, small: int, inline: bool) -> None:
        self._cache_dir = cache_dir
        self._memory_limit = memory_limit
        self._small = small
        self._inline = inline
        self._lock = threading.Lock()
        self._standby: Indexer | None = None
        self._jobs: dict[int, IndexJob] = {}  # by the serial of clouds nobody has adopted yet
        self._closed = False

    def warm(self) -> None:
        """Has an indexing process stand by for the next cloud."""
        with self._lock:
            if self._standby is None and not self._inline and not self._closed:
                self._standby = Indexer()

    def close(self) -> None:
        """Ends the process that stands by and what openings that nobody waits for have begun."""
        with self._lock:
            self._closed = True
            standby, self._standby = self._standby, None
            jobs = list(self._jobs.values())
            self._jobs.clear()
        if standby is not None:
            standby.close()
        for job in jobs:
            job.close()
            job.coarse.unlink(missing_ok=True)

    def adopted(self, cloud: Cloud) -> None:
        """From now on somebody else closes what indexes ``cloud``."""
        with self._lock:
            self._jobs.pop(cloud.serial, None)

    @property
    def processes(self) -> list[int]:
        """The process id of the one that stands by."""
        standby = self._standby
        return [] if standby is None else [standby.pid]

    def open(
        self,
        path: str,
        id: str,
        options: Mapping[str, Any],
        serial: int,
        report: Callable[[IndexReport], None],
    ) -> Cloud:
        """A cloud with the first thing to show; ``report`` hears of its indexing on a thread.

        Raises `CloudError` when it can't be opened.
        """
        with closing(open_source(path, options=options or None)) as source:
            same: dict[str, Any] = {"options": options, "tree": serial, "serial": serial}
            odd: tuple[CloudWarning, ...] = ()
            if source.info.format == "copc":
                copc, odd = _own_tree(path, source.info)
                if copc is not None:
                    source.sample(20_000)  # gives the colour depth a first value
                    info = warned(source.info, copc.warnings)
                    return Cloud(id, path, info, copc.hierarchy(0), copc=copc, **same)
            same["found"] = odd
            if source.info.points <= self._small:
                memory = MemoryTree(source.header, _joined(source))
                info = warned(source.info, odd)
                return Cloud(id, path, info, memory.hierarchy, memory=memory, **same)
            place = self._place(path, options, source.info)
            found = _cached(place)
            if found is not None:
                cache.touch(place)
                info = warned(stored_info(place, source.info) or source.info, odd)
                return Cloud(id, path, info, found.hierarchy(0), copc=found, **same)
            first, job = self._begun(source, path, options, place, report, serial)
            return Cloud(
                id,
                path,
                warned(first.info, odd),
                first.tree.hierarchy,
                state="indexing",
                progress=0.0,
                stage="reading",
                memory=first.tree,
                job=job,
                **same,
            )

    def _place(self, path: str, options: Mapping[str, Any], info: CloudInfo) -> Path:
        """Where the index of a cloud lies or will lie."""
        try:
            facts = f"{sorted(options.items())!r} {info.header_hash}"
            return cache.cached_file(path, self._cache_dir, facts)
        except OSError as error:
            raise CloudError(f"{path} can't be read: {error.strerror or error}.") from None

    def _begun(
        self,
        source: Source,
        path: str,
        options: Mapping[str, Any],
        place: Path,
        report: Callable[[IndexReport], None],
        serial: int,
    ) -> tuple[Sample, IndexJob]:
        """The sample, and the job that goes on to index the cloud."""
        first = _sample(source) if source.sampled or self._inline else None
        wanted = SAMPLE_POINTS if first is None else 0
        request = IndexRequest(path, options, place, self._memory_limit, sample=wanted)
        job = self._job(request, report, serial)
        if first is None:
            first = job.sample()
        if self._closed:
            job.close()
            raise _gone(path)
        return first or _sample(source), job  # without: the indexer ended, its report says why

    def _job(
        self, request: IndexRequest, report: Callable[[IndexReport], None], serial: int
    ) -> IndexJob:
        """The indexing of a cloud, by the process that stood by or a new one."""
        with self._lock:
            if self._closed:
                raise _gone(request.path)
            indexer, self._standby = self._standby, None
            if not self._inline:
                indexer = indexer or Indexer()
            job = self._jobs[serial] = IndexJob(request, report, indexer)
            return job


def _print_of(info: CloudInfo) -> tuple[object, ...]:
    """What another file in the place of this one would hardly share."""
    return info.header_hash, info.extra.get("fileSize"), info.extra.get("tiles")


def _gone(path: str) -> CloudError:
    return CloudError(f"{path} was not opened: the program is closing; open it again.")


def _sample(source: Source) -> Sample:
    record = source.sample(SAMPLE_POINTS)
    return Sample(MemoryTree(source.header, record.array), source.info)


def _joined(source: Source) -> Any:
    """All points of ``source`` as packed records."""
    return joined([c.array for c in source.records()], source.header.point_format.dtype())


def _cached(place: Path) -> CopcFile | None:
    if not place.exists():
        return None
    try:
        return open_copc(str(place))
    except CloudError:
        place.unlink(missing_ok=True)  # damaged: it is built again
        return None


def _own_tree(path: str, info: CloudInfo) -> tuple[CopcFile | None, tuple[CloudWarning, ...]]:
    """A COPC file with the tree it has; None where its points are better read without, and what
    to say of that. Of a remote one the tree is all there is to be had quickly."""
    remote = "://" in path
    try:
        copc = open_copc(path, max_pages=MAX_PAGES)
    except CloudError as error:
        if remote:
            raise
        return None, (_unusable(str(error)),)
    counts = copc.hierarchy(0).counts
    held = int(counts.sum())
    if remote or (counts.max(initial=0) <= LARGE_NODE and (copc.pages or held == info.points)):
        return copc, ()
    if copc.pages or held == info.points:
        return None, ()  # its nodes are too large to show
    return None, (_unusable(f"it names {held:,} points, the file holds {info.points:,}"),)


def _unusable(why: str) -> CloudWarning:
    return CloudWarning(
        "copc_tree_damaged",
        f"The file's COPC tree can't be used ({why.rstrip('.')}); its points were read without it.",
    )


def warned(info: CloudInfo, odd: Sequence[CloudWarning]) -> CloudInfo:
    """``info`` with what was ``odd``, each code once."""
    known = {warning.code for warning in info.warnings}
    new = tuple(w for w in odd if w.code not in known)
    return replace(info, warnings=info.warnings + new) if new else info
