"""The clouds of one session: opening, indexing in the background, nodes on request.

A `CloudStore` belongs to the scene thread: all its methods are called there. Worker processes
decode and index; what they report waits until `CloudStore.drain` applies it.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from oniyanma.clouds import cache
from oniyanma.clouds.copc import CopcFile, open_copc
from oniyanma.clouds.index.job import IndexReport
from oniyanma.clouds.model import CloudError, NodeFailed, NodeId, NodeKey, NodePoints
from oniyanma.clouds.nodecache import NodeCache
from oniyanma.clouds.opening import SMALL_CLOUD, Cloud, Opener, warned
from oniyanma.clouds.pool import DecodePool, InlinePool, Outcome, Page, Task

NODE_CACHE_BYTES = 192 << 20


class CloudStore:
    """Opens clouds and delivers their nodes in order of priority.

    ``inline`` does everything in the caller, with neither processes nor threads: `drain` and
    `wait` do the work. ``memory_limit`` bounds the indexing process and its children in bytes,
    ``node_cache_bytes`` the decoded nodes kept beside those in use.
    """

    def __init__(
        self,
        *,
        inline: bool = False,
        workers: int = 2,
        cache_dir: Path | None = None,
        memory_limit: int = 4 << 30,
        node_cache_bytes: int = NODE_CACHE_BYTES,
        small_cloud: int = SMALL_CLOUD,
    ) -> None:
        self._clouds: dict[str, Cloud] = {}
        self._cache_dir = cache_dir or cache.cache_folder()
        self._opener = Opener(self._cache_dir, memory_limit, small_cloud, inline)
        self._nodes = NodeCache(node_cache_bytes)
        self._news = threading.Condition()
        self._arrived: deque[Outcome | tuple[int, IndexReport]] = deque()
        self._inline = InlinePool(self._post) if inline else None
        self._pool: DecodePool | InlinePool = self._inline or DecodePool(workers, self._post)
        self._attributes: frozenset[str] = frozenset()
        self._wanted: dict[NodeId, None] = {}
        self._ready: dict[NodeId, NodePoints | NodeFailed] = {}
        self._local: deque[NodeId] = deque()
        self._failed: dict[tuple[NodeId, int], str] = {}
        self._closed = False
        self._warm = False
        self._numbers = itertools.count(1)
        self._coming: set[int] = set()
        self._early: dict[int, list[IndexReport]] = {}

    # -- clouds ------------------------------------------------------------------------------

    @property
    def clouds(self) -> Mapping[str, Cloud]:
        """The open clouds by id, in the order they were opened."""
        return MappingProxyType(self._clouds)

    def open(self, path: str, *, id: str, options: Mapping[str, Any] | None = None) -> Cloud:
        """Opens a cloud with the first thing to show; a large one is indexed in the background.

        Raises `CloudError` when it can't be opened.
        """
        cloud = self.prepare(path, id=id, options=options)
        self.adopt(cloud)
        return cloud

    def prepare(self, path: str, *, id: str, options: Mapping[str, Any] | None = None) -> Cloud:
        """The reading part of `open`, on any thread: a cloud to be adopted or let go of.

        Raises `CloudError` when it can't be opened.
        """
        self._pool.start()
        serial = next(self._numbers)
        self._coming.add(serial)
        try:
            return self._opener.open(
                path, id, options or {}, serial, lambda report: self._post((serial, report))
            )
        except BaseException:
            self._coming.discard(serial)
            raise

    def warm(self) -> None:
        """From now on keeps the processes that opening needs ready before they are needed."""
        self._warm = True
        self._pool.start()
        self._opener.warm()

    def adopt(self, cloud: Cloud) -> None:
        """Takes in a prepared cloud. `CloudError` where its id is in use or the store closed."""
        if cloud.id in self._clouds or self._closed:
            self.let_go(cloud)
            raise CloudError(f"a cloud with the id {cloud.id} is already open; close it first.")
        self._clouds[cloud.id] = cloud
        self._opener.adopted(cloud)
        self._coming.discard(cloud.serial)
        for report in self._early.pop(cloud.serial, ()):
            self._post((cloud.serial, report))

    def _begin_next(self) -> None:
        """Has one index built at a time: each takes all cores, and memory up to the limit."""
        jobs = [cloud.job for cloud in self._clouds.values() if cloud.job is not None]
        if jobs and not self._closed and not any(job.begun for job in jobs):
            jobs[0].begin()

    def let_go(self, cloud: Cloud) -> None:
        """Stops what a prepared cloud began that nobody adopts."""
        self._coming.discard(cloud.serial)
        self._early.pop(cloud.serial, None)
        self._opener.adopted(cloud)
        if cloud.job is not None:
            cloud.job.close()
            cloud.coarse = cloud.job.coarse
        _drop_coarse(cloud)

    def close_cloud(self, id: str) -> None:
        """Forgets a cloud and stops its indexing. An unknown id is no error."""
        cloud = self._clouds.pop(id, None)
        if cloud is None:
            return
        if cloud.job is not None:
            cloud.job.close()
            cloud.coarse = cloud.job.coarse
        _drop_coarse(cloud)
        self._nodes.drop_cloud(id)
        self._forget(id)
        self._failed = {k: v for k, v in self._failed.items() if k[0].cloud != id}

    def close(self) -> None:
        """Stops everything; nothing runs on and no memory stays shared."""
        if self._closed:
            return
        self._closed = True
        for id in list(self._clouds):
            self.close_cloud(id)
        self._opener.close()
        self._pool.close()
        self._arrived.clear()

    # -- nodes -------------------------------------------------------------------------------

    def request(self, wanted: Sequence[NodeId], attributes: frozenset[str]) -> None:
        """Asks for nodes, most important first; replaces what was asked before.

        Ask for what isn't resident yet. Nodes of the former list that aren't in this one are
        dropped unless a decoder is at them already. Attributes not named are let go of.
        """
        self._attributes = attributes
        self._nodes.keep_attributes(attributes)
        self._wanted = {}
        self._local.clear()
        old, self._ready = self._ready, {}
        tasks: list[Task] = []
        for id in wanted:
            cloud = self._clouds.get(id.cloud)
            if cloud is None or id in self._wanted:
                continue
            reason = self._failed.get((id, cloud.tree))
            generation = cloud.hierarchy.generation
            if reason is not None:
                self._ready[id] = NodeFailed(id, reason, generation)
            elif (node := self._held(cloud, id, old.get(id))) is not None:
                self._ready[id] = node
            elif cloud.memory is not None:
                self._local.append(id)
            elif cloud.copc is not None and (task := self._task(cloud, cloud.copc, id)):
                tasks += task
            else:
                continue  # a node without points
            self._wanted[id] = None
        for cloud in self._clouds.values():
            if cloud.copc is not None:
                tasks += self._pages(cloud, cloud.copc)
        self._pool.wish(tasks)

    def drain(self, max_ms: float) -> list[NodePoints | NodeFailed]:
        """What has arrived, for at most about ``max_ms`` milliseconds; at least one thing.

        Clouds change here and nowhere else: hierarchy, state, progress, info.
        """
        self._begin_next()  # not when it is adopted: what follows that wants the cores
        end = time.perf_counter() + max_ms / 1000.0
        out: list[NodePoints | NodeFailed] = []
        while self._drain_one(out) and time.perf_counter() < end:
            pass
        return out

    @property
    def pending(self) -> int:
        """Nodes asked for with `request` that `drain` has not given yet."""
        return len(self._wanted)

    @property
    def indexing(self) -> bool:
        """Whether some cloud's tree is still being built."""
        return any(cloud.state == "indexing" for cloud in self._clouds.values())

    def wait(self, timeout: float) -> bool:
        """Blocks until `drain` has something to do, at most ``timeout`` seconds; whether it has.

        Comes back at once when nothing is asked for and nothing is being indexed.
        """
        self._begin_next()
        if self._ready or self._local or self._arrived:
            return True
        if self._inline is not None:
            return self._step_inline()
        if not self.indexing and not self.pending:
            return False
        with self._news:
            return self._news.wait_for(lambda: bool(self._arrived), timeout)

    @property
    def processes(self) -> list[int]:
        """Process ids of decoders and indexers that run now."""
        jobs = [c.job.pid for c in self._clouds.values() if c.job is not None]
        return [
            *self._pool.processes,
            *(pid for pid in jobs if pid is not None),
            *self._opener.processes,
        ]

    # -- requests ----------------------------------------------------------------------------

    def _task(self, cloud: Cloud, copc: CopcFile, id: NodeId) -> list[Task]:
        tag = (id, cloud.tree, self._attributes)
        job = copc.job(id.key, sorted(self._attributes))
        if job is not None:
            return [Task(tag, copc.format, job)]
        page = copc.pages.get(id.key)
        return [] if page is None else [Task((id, cloud.tree), copc.format, Page(*page))]

    def _held(
        self, cloud: Cloud, id: NodeId, before: NodePoints | NodeFailed | None
    ) -> NodePoints | None:
        """The node with all attributes in use, if it was decoded before."""
        names = self._attributes & cloud.names
        generation = cloud.hierarchy.generation
        fresh = isinstance(before, NodePoints) and before.generation == generation
        if isinstance(before, NodePoints) and fresh and names <= before.attributes.keys():
            return before
        return self._nodes.get(id, names, generation)

    def _pages(self, cloud: Cloud, copc: CopcFile) -> list[Task]:
        return [
            Task((NodeId(cloud.id, key), cloud.tree), copc.format, Page(*page))
            for key, page in list(copc.pages.items())[:4]
            if NodeId(cloud.id, key) not in self._wanted
        ]

    def _forget(self, cloud: str) -> None:
        self._wanted = {id: None for id in self._wanted if id.cloud != cloud}
        self._ready = {id: n for id, n in self._ready.items() if id.cloud != cloud}
        self._local = deque(id for id in self._local if id.cloud != cloud)

    # -- arrivals ----------------------------------------------------------------------------

    def _post(self, news: Outcome | tuple[int, IndexReport]) -> None:
        """Called on any thread."""
        with self._news:
            self._arrived.append(news)
            self._news.notify_all()

    def _step_inline(self) -> bool:
        assert self._inline is not None
        if self._inline.step():
            return True
        for cloud in self._clouds.values():
            if cloud.state == "indexing" and cloud.job is not None:
                cloud.job.run_inline()
                return True
        return False

    def _drain_one(self, out: list[NodePoints | NodeFailed]) -> bool:
        if self._ready:
            id = next(iter(self._ready))
            out.append(self._ready.pop(id))
            self._wanted.pop(id, None)
            return True
        if self._arrived:
            news = self._arrived.popleft()
            if isinstance(news, Outcome):
                self._take(news, out)
            else:
                self._report(*news)
            return True
        if self._local:
            id = self._local.popleft()
            cloud = self._clouds[id.cloud]
            read = cloud.memory.read(id.key, self._attributes) if cloud.memory else None
            if read is not None:
                node = NodePoints(id, read[0], read[1], cloud.hierarchy.generation)
                out.append(node)
            self._wanted.pop(id, None)
            return True
        return self._inline is not None and bool(self._wanted) and self._inline.step()

    def _take(self, outcome: Outcome, out: list[NodePoints | NodeFailed]) -> None:
        id, tree = outcome.tag[0], outcome.tag[1]  # type: ignore[index]
        cloud = self._clouds.get(id.cloud)
        if cloud is None or cloud.tree != tree or cloud.copc is None:
            return
        generation = cloud.hierarchy.generation
        if outcome.reason is not None:
            self._failed[(id, tree)] = outcome.reason
            cloud.copc.pages.pop(id.key, None)
            if id in self._wanted:
                del self._wanted[id]
                out.append(NodeFailed(id, outcome.reason, generation))
        elif outcome.data is not None:
            self._grow(cloud, cloud.copc, id.key, outcome.data)
        elif outcome.arrays is not None:
            attributes = {k: v for k, v in outcome.arrays.items() if k in self._attributes}
            node = NodePoints(id, outcome.arrays[""], attributes, generation)
            self._nodes.put(node)
            if id in self._wanted and outcome.tag[2] >= self._attributes:  # type: ignore[index]
                del self._wanted[id]
                out.append(node)

    def _grow(self, cloud: Cloud, copc: CopcFile, key: NodeKey, data: bytes) -> None:
        page = copc.pages.pop(key, None)
        if page is None:
            return
        copc.add_page(page[0], data)
        cloud.hierarchy = copc.hierarchy(cloud.hierarchy.generation + 1)
        cloud.info = warned(cloud.info, copc.warnings)
        self._wanted.pop(NodeId(cloud.id, key), None)

    def _report(self, serial: int, report: IndexReport) -> None:
        cloud = next((c for c in self._clouds.values() if c.serial == serial), None)
        if cloud is None:
            if serial in self._coming:
                self._early.setdefault(serial, []).append(report)
            return
        if cloud.job is None:
            return
        cloud.progress, cloud.stage = report.progress, report.stage
        if report.state == "running":
            if report.coarse:
                self._show_coarse(cloud, Path(report.coarse))
            return
        job, cloud.job = cloud.job, None
        job.close()
        if self._warm:
            self._opener.warm()  # not before: it would take time from the index
        if report.state == "failed":
            cloud.state, cloud.reason = "failed", report.reason
            return
        try:
            copc = open_copc(str(job.place))
        except CloudError as error:
            cloud.state, cloud.reason = "failed", str(error)
            return
        self._replace(cloud, copc)
        cloud.state, cloud.info = "ready", warned(report.info or cloud.info, cloud.found)
        _drop_coarse(cloud)
        keep = frozenset(Path(c.copc.path) for c in self._clouds.values() if c.copc is not None)
        cache.trim(self._cache_dir, keep=keep)

    def _show_coarse(self, cloud: Cloud, path: Path) -> None:
        """Shows the finer sample that indexing came by on its way."""
        cloud.coarse = path
        try:
            copc = open_copc(str(path))
        except CloudError:
            return  # the index itself was there first and has taken it away
        self._replace(cloud, copc)

    def _replace(self, cloud: Cloud, copc: CopcFile) -> None:
        """Shows another tree instead of what was shown."""
        cloud.copc, cloud.memory = copc, None
        cloud.tree = next(self._numbers)
        cloud.hierarchy = copc.hierarchy(cloud.hierarchy.generation + 1)
        self._nodes.drop_cloud(cloud.id)
        self._forget(cloud.id)


def _drop_coarse(cloud: Cloud) -> None:
    """Removes the file of the finer sample."""
    if cloud.coarse is not None:
        try:
            cloud.coarse.unlink(missing_ok=True)
        except OSError:
            pass  # still open on Windows: the cache's trim takes it later
        cloud.coarse = None
