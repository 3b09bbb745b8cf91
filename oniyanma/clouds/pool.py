"""Decode workers: a wish list in order of priority, worked off by processes.

Each worker has at most two requests, so a new wish list takes hold at once. A worker that dies is
replaced; the request it was at is repeated once, then reported as failed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

import numpy.typing as npt

from oniyanma.clouds.decode import NodeError, NodeFormat, NodeJob, decode_node
from oniyanma.clouds.process import Arena, receive, send, spawn
from oniyanma.clouds.worker import Files, unpack

SLOTS = 2
SLOT_BYTES = 4 << 20
MAX_DEATHS = 5
"""Workers that may die one after the other without one answer before the pool gives up."""

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Page:
    """A hierarchy page to read."""

    offset: int
    size: int


@dataclass(frozen=True, eq=False)
class Task:
    """One request: ``tag`` tells it from others and comes back with its `Outcome`."""

    tag: Hashable
    format: NodeFormat
    work: NodeJob | Page
    repeated: bool = False


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of a task: ``arrays`` ("" is xyz), or a page's ``data``, or a ``reason``."""

    tag: Hashable
    arrays: Arrays | None = None
    data: bytes | None = None
    reason: str | None = None


@dataclass(eq=False)
class _Worker:
    arena: Arena
    process: Any
    slots: list[int]
    flight: deque[tuple[Task, int]] = field(default_factory=deque)
    formats: dict[int, int] = field(default_factory=dict)
    thread: threading.Thread | None = None


class DecodePool:
    """Worker processes that decode what is wished for.

    ``on_outcome`` is called on threads of the pool, one call per task begun; stale wishes that
    no worker has begun are dropped silently.
    """

    def __init__(
        self,
        workers: int,
        on_outcome: Callable[[Outcome], None],
        module: str = "oniyanma.clouds.worker",
    ) -> None:
        self._count = max(1, workers)
        self._on_outcome = on_outcome
        self._module = module
        self._lock = threading.RLock()
        self._queue: deque[Task] = deque()
        self._workers: list[_Worker] = []
        self._threads: list[threading.Thread] = []
        self._formats: list[NodeFormat] = []
        self._deaths = 0
        self._closed = False

    @property
    def processes(self) -> list[int]:
        """Process ids of the workers that run now."""
        with self._lock:
            return [w.process.pid for w in self._workers]

    def start(self) -> None:
        """Starts the workers, so that they are up when the first wish comes."""
        with self._lock:
            if not self._closed:
                self._start()

    def wish(self, tasks: Iterable[Task]) -> None:
        """Replaces the wish list. What a worker has already begun goes on and isn't repeated."""
        broken: list[Task] = []
        with self._lock:
            if self._closed:
                return
            begun = {task.tag for w in self._workers for task, _ in w.flight}
            self._queue = deque(task for task in tasks if task.tag not in begun)
            if self._queue:
                self._start()
            if not self._workers:
                broken, self._queue = list(self._queue), deque()
            for worker in list(self._workers):
                self._feed(worker)
        self._give_up(broken)

    def close(self) -> None:
        """Ends all workers and waits for them."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._queue.clear()
            workers, self._workers = self._workers, []
            for worker in workers:
                worker.process.kill()
        for worker in workers:
            worker.process.wait()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        for worker in workers:
            self._release(worker)

    def _start(self) -> None:
        while len(self._workers) < self._count and self._deaths < MAX_DEATHS:
            arena = Arena(SLOTS * SLOT_BYTES)
            process = spawn(self._module, [arena.spec], arena.fds)
            worker = _Worker(arena, process, [i * SLOT_BYTES for i in range(SLOTS)])
            worker.thread = threading.Thread(
                target=self._listen, args=(worker,), name="oniyanma-decode", daemon=True
            )
            self._workers.append(worker)
            self._threads.append(worker.thread)
            worker.thread.start()

    def _feed(self, worker: _Worker) -> None:
        pipe = cast(BinaryIO, worker.process.stdin)
        while worker.slots and self._queue:
            task = self._queue.popleft()
            slot = worker.slots.pop()
            worker.flight.append((task, slot))
            number = id(task.format)
            try:
                if number not in worker.formats:
                    # the format is kept alive, so that its id stays its own
                    if not any(f is task.format for f in self._formats):
                        self._formats.append(task.format)
                    worker.formats[number] = number
                    send(pipe, ("format", number, task.format))
                if isinstance(task.work, Page):
                    send(pipe, ("page", number, task.work.offset, task.work.size))
                else:
                    send(pipe, ("node", number, task.work, slot, SLOT_BYTES))
            except OSError:
                return  # it died: its listener sees the end of the pipe and takes over

    def _listen(self, worker: _Worker) -> None:
        pipe = cast(BinaryIO, worker.process.stdout)
        room = memoryview(worker.arena.map)
        try:
            while True:
                answer = receive(pipe)
                with self._lock:
                    task, slot = worker.flight[0]
                outcome = _outcome(task, answer, room[slot : slot + SLOT_BYTES])
                with self._lock:
                    worker.flight.popleft()
                    worker.slots.append(slot)
                    self._deaths = 0
                    if not self._closed:
                        self._feed(worker)
                self._on_outcome(outcome)
        except (EOFError, OSError):
            pass
        finally:
            room.release()
        self._bury(worker)

    def _bury(self, worker: _Worker) -> None:
        """A worker's pipe ended: unless the pool closes, replace it and repeat its request."""
        worker.process.kill()
        status = worker.process.wait()
        failed: list[Outcome] = []
        broken: list[Task] = []
        with self._lock:
            if self._closed or worker not in self._workers:
                return
            self._workers.remove(worker)
            self._threads.remove(threading.current_thread())
            self._deaths += 1
            again: list[Task] = []
            for place, (task, _) in enumerate(worker.flight):
                if place > 0 or not task.repeated:
                    again.append(
                        Task(task.tag, task.format, task.work, task.repeated or place == 0)
                    )
                else:
                    reason = f"two decoders ended over it (exit status {status}); it is skipped"
                    failed.append(Outcome(task.tag, reason=reason))
            self._queue.extendleft(reversed(again))
            self._release(worker)
            if self._queue:
                self._start()
            if not self._workers:
                broken, self._queue = list(self._queue), deque()
            for other in list(self._workers):
                self._feed(other)
        for outcome in failed:
            self._on_outcome(outcome)
        self._give_up(broken)

    def _give_up(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            self._on_outcome(
                Outcome(
                    task.tag,
                    reason=f"no decoder stays alive: {MAX_DEATHS} ended one after the other",
                )
            )

    @staticmethod
    def _release(worker: _Worker) -> None:
        for pipe in (worker.process.stdin, worker.process.stdout):
            try:
                pipe.close()
            except OSError:
                pass
        worker.arena.close()


class InlinePool:
    """The same without processes: `step` decodes the next wish in the caller. For tests."""

    def __init__(self, on_outcome: Callable[[Outcome], None]) -> None:
        self._on_outcome = on_outcome
        self._queue: deque[Task] = deque()
        self._files = Files()

    processes: list[int] = []  # noqa: RUF012 - there never is one

    def start(self) -> None:
        """There is nothing to start."""

    def wish(self, tasks: Iterable[Task]) -> None:
        """Replaces the wish list."""
        self._queue = deque(tasks)

    def step(self) -> bool:
        """Works off one wish; False when there is none."""
        if not self._queue:
            return False
        task = self._queue.popleft()
        self._on_outcome(run_here(task, self._files))
        return True

    def close(self) -> None:
        self._queue.clear()
        self._files.close()


def run_here(task: Task, files: Files) -> Outcome:
    """Does one task in this process."""

    def read_at(offset: int, size: int) -> bytes:
        return files.read_at(task.format, offset, size)

    try:
        if isinstance(task.work, Page):
            return Outcome(task.tag, data=read_at(task.work.offset, task.work.size))
        xyz, attributes = decode_node(task.format, task.work, read_at)
    except NodeError as error:
        return Outcome(task.tag, reason=str(error))
    except OSError as error:
        return Outcome(task.tag, reason=f"{task.format.path} can't be read: {error}")
    return Outcome(task.tag, arrays={"": xyz, **attributes})


def _outcome(task: Task, answer: tuple[Any, ...], room: memoryview) -> Outcome:
    if answer[0] == "failed":
        return Outcome(task.tag, reason=answer[1])
    if answer[0] == "page":
        return Outcome(task.tag, data=answer[1])
    _, layout, overflow = answer
    arrays = unpack(layout, room if overflow is None else memoryview(overflow))
    return Outcome(task.tag, arrays=arrays)
