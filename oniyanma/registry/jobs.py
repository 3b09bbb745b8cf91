"""Long commands: a Job with progress, stage, cancel and result.

A job's work runs on a worker thread; what it changes is committed on the scene thread. Its answer
is the one the command would have given at once.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal, Protocol

from oniyanma.registry.actor import Actor
from oniyanma.registry.errors import Cancelled, NotFound, Refused

logger = logging.getLogger(__name__)

JobState = Literal["running", "done", "failed", "cancelled"]
MAX_RUNNING = 16
WORKERS = 4


class JobContext(Protocol):
    """What a job's work reports to and asks of its job, from the worker thread."""

    def progress(self, fraction: float, stage: str = "") -> None:
        """``fraction`` 0..1 of the whole; an empty stage keeps the last one."""

    def cancelled(self) -> bool: ...

    def check(self) -> None:
        """Raise Cancelled when somebody cancelled the job."""


class Job:
    """One long command on its way. Read from any thread; `cancel` through the handle."""

    def __init__(self, id: str, command: str, title: str, actor: Actor, started: str) -> None:
        self.id = id
        self.command = command
        self.title = title
        self.actor = actor
        self.started = started
        self.fraction = 0.0
        self.stage = ""
        self.state: JobState = "running"
        self._stop = threading.Event()
        self._answer: Future[dict[str, Any]] = Future()
        self._changed: Callable[[Job], None] = lambda job: None

    # JobContext
    def progress(self, fraction: float, stage: str = "") -> None:
        self.fraction = max(self.fraction, min(1.0, max(0.0, float(fraction))))
        if stage:
            self.stage = stage
        self._changed(self)

    def cancelled(self) -> bool:
        return self._stop.is_set()

    def check(self) -> None:
        if self._stop.is_set():
            raise Cancelled

    @property
    def done(self) -> bool:
        return self._answer.done()

    @property
    def answer(self) -> dict[str, Any] | None:
        """What the command answered; None while it runs."""
        return self._answer.result() if self._answer.done() else None

    def result(self, timeout: float | None = None) -> dict[str, Any]:
        """Wait for the answer. Never on the scene thread, which has to finish the job."""
        return self._answer.result(timeout)

    def then(self, callback: Callable[[dict[str, Any]], None]) -> None:
        """Call back with the answer once it is there: on the scene thread, or now."""
        self._answer.add_done_callback(lambda future: callback(future.result()))

    def describe(self) -> dict[str, Any]:
        """The job as `getSession` lists it."""
        return {
            "id": self.id,
            "command": self.command,
            "title": self.title,
            "progress": round(self.fraction, 4),
            "stage": self.stage,
            "state": self.state,
            "started": self.started,
            "actor": {"kind": self.actor.kind, "name": self.actor.name},
        }


def same_caller(a: Actor, b: Actor) -> bool:
    """Whether two actors are one caller: by ids and kind, a name only where there is no id."""
    return (a.kind, a.participant, a.token, a.name) == (b.kind, b.participant, b.token, b.name)


class Jobs:
    """The jobs of one session: started by the door on the scene thread.

    ``post`` runs a function on the scene thread soon. ``inline`` runs the work in the caller
    instead of a worker thread: no threads, and a Job that is done when it is returned.
    """

    def __init__(self, post: Callable[[Callable[[], None]], None], *, inline: bool = False) -> None:
        self._post = post
        self._inline = inline
        self._numbers = itertools.count(1)
        self._running: dict[str, Job] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self._told = threading.Lock()
        self._waiting: set[str] = set()  # jobs whose change is posted but not yet told

    def start(
        self,
        command: str,
        title: str,
        actor: Actor,
        started: str,
        run: Callable[[JobContext], Any],
        finish: Callable[[Job, Any, BaseException | None], dict[str, Any]],
    ) -> Job:
        """Start a job. ``finish`` makes its answer on the scene thread, from what ``run``
        returned or raised, and must not raise. Refused with too many jobs on their way."""
        if len(self._running) >= MAX_RUNNING:
            raise Refused(
                f"{len(self._running)} long commands are running: wait for one or cancel it",
                running=sorted(self._running),
            )
        job = Job(f"job{next(self._numbers)}", command, title, actor, started)
        job._changed = self._tell_soon
        self._running[job.id] = job
        self._tell(job)
        if self._inline:
            self._finish(job, finish, *_attempt(run, job))
            return job
        if self._pool is None:
            self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="oniyanma-job")

        def work() -> None:
            result, error = _attempt(run, job)
            self._post(lambda: self._finish(job, finish, result, error))

        self._pool.submit(work)
        return job

    def _finish(
        self,
        job: Job,
        finish: Callable[[Job, Any, BaseException | None], dict[str, Any]],
        result: Any,
        error: BaseException | None,
    ) -> None:
        if job.done:  # abandoned
            return
        answer = finish(job, result, error)
        if answer.get("ok") is True:
            job.fraction, job.state = 1.0, "done"
        else:
            code = answer.get("error", {}).get("code")
            job.state = "cancelled" if code == "cancelled" else "failed"
        self._running.pop(job.id, None)
        self._tell(job)
        job._answer.set_result(answer)

    def running(self) -> tuple[Job, ...]:
        """Jobs on their way, oldest first."""
        return tuple(self._running.values())

    def cancel(self, id: str, actor: Actor) -> None:
        """Ask a job to stop: its caller and any person may; NotFound, Refused."""
        job = self._running.get(id)
        if job is None:
            raise NotFound(f"no job {id!r} is running; getSession lists those that are")
        if actor.is_machine and not same_caller(actor, job.actor):
            raise Refused(f"{id} is somebody else's: only its caller or a person can cancel it")
        job._stop.set()

    def listen(self, callback: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
        """Call back with `Job.describe` on the scene thread at each change; returns the end."""
        self._listeners.append(callback)

        def end() -> None:
            if callback in self._listeners:
                self._listeners.remove(callback)

        return end

    def _tell_soon(self, job: Job) -> None:
        with self._told:
            if job.id in self._waiting:
                return
            self._waiting.add(job.id)
        self._post(lambda: self._told_now(job))

    def _told_now(self, job: Job) -> None:
        with self._told:
            self._waiting.discard(job.id)
        if not job.done:
            self._tell(job)

    def _tell(self, job: Job) -> None:
        facts = job.describe()
        for listener in tuple(self._listeners):
            try:
                listener(facts)
            except Exception:
                logger.exception("fault in what follows a job")

    def stop(self) -> None:
        """Ask every job to stop. The scene thread must go on until `wait` has returned."""
        for job in tuple(self._running.values()):
            job._stop.set()

    def abandon(self, revision: int) -> None:
        """Answer ``cancelled`` for the jobs that can't be finished any more."""
        for job in tuple(self._running.values()):
            job.state = "cancelled"
            answer = {"ok": False, "revision": revision, "error": Cancelled().as_json()}
            job._answer.set_result(answer)
        self._running.clear()

    def wait(self) -> None:
        """Wait for the worker threads to end; not on the scene thread."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)
            self._pool = None


def _attempt(run: Callable[[JobContext], Any], job: Job) -> tuple[Any, BaseException | None]:
    try:
        job.check()
        return run(job), None
    except BaseException as error:  # a panicking library raises what is no Exception
        return None, error
