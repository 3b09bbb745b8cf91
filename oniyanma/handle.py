"""A handle of the door: a session's commands with actor and surface bound in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from oniyanma.registry import (
    Actor,
    Answer,
    CommandError,
    Context,
    Gesture,
    Job,
    Surface,
    execute_command,
    mcp_tools,
    tool_defs,
)
from oniyanma.registry.checks import unmet
from oniyanma.scene.ports import Executor

T = TypeVar("T")


class Handle:
    """What an entry point is given. Who asks and from where can't be changed through it."""

    def __init__(
        self, ctx: Context, executor: Executor, actor: Actor, surface: Surface | str
    ) -> None:
        self._ctx = ctx
        self._executor = executor
        self._actor = actor
        self._surface = str(surface)

    @property
    def actor(self) -> Actor:
        return self._actor

    @property
    def surface(self) -> str:
        return self._surface

    def execute(self, name: str, args: Mapping[str, Any] | None = None) -> Answer | Job:
        """Run a command: its answer, or a Job on its way. From any thread but a worker of ours;
        another thread than the scene's waits for its turn."""
        return self._on_scene(lambda: self._execute(name, args))

    def submit(self, name: str, args: Mapping[str, Any] | None = None) -> Future[Answer]:
        """Run a command soon; the future has its answer, a job's when it has ended."""
        future: Future[Answer] = Future()
        self._executor.post(lambda: self.run_into(future, name, args))
        return future

    def call(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Run a command and wait for its answer, also a job's.

        On the scene thread nothing can be waited for: RuntimeError where it became a job.
        """
        if not self._executor.is_current():
            return self.submit(name, args).result(timeout)
        result = self._execute(name, args)
        if isinstance(result, Job):
            if result.answer is None:
                raise RuntimeError(f"{name} takes long: use execute on the scene's own thread")
            return result.answer
        return result

    def run_into(self, future: Future[Answer], name: str, args: Mapping[str, Any] | None) -> None:
        """On the scene thread: run, and give the answer to ``future`` when it is there."""
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = self._execute(name, args)
        except BaseException as error:  # an interrupt in the scene's thread
            future.set_exception(error)
            return
        if isinstance(result, Job):
            result.then(future.set_result)
        else:
            future.set_result(result)

    def gesture(self, name: str) -> Gesture:
        """Begin a mouse gesture of a command. On the scene thread."""
        return Gesture(self._ctx, name, self._actor, self._surface)

    def cancel(self, job: str) -> Answer:
        """Ask a job to stop: the caller's own, and any of them for a person. From any thread, at
        once."""
        revision = self._ctx.host.state.revision
        try:
            self._ctx.jobs.cancel(job, self._actor)
        except CommandError as error:
            return {"ok": False, "revision": revision, "error": error.as_json()}
        return {"ok": True, "revision": revision, "job": job}

    def unavailable(self, name: str) -> str | None:
        """Why a command can't run now, as a sentence; None: its conditions hold."""
        command = self._ctx.registry[name]
        return unmet(self._ctx.registry, command, self._ctx.host.state, self._ctx.host)

    def tool_defs(self) -> list[dict[str, Any]]:
        """The surface's commands as Anthropic tool-use definitions."""
        return tool_defs(self._ctx.registry, self._surface)

    def mcp_tools(self) -> list[dict[str, Any]]:
        """The surface's commands as MCP tools, with their annotations."""
        return mcp_tools(self._ctx.registry, self._surface)

    def subscribe(self, callback: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
        """Call back on the scene thread with ``{"event": "revision", "revision": 4}`` after each
        change of the scene and ``{"event": "job", "job": …}`` (as `getSession` lists it) after
        each of a job. Returns what ends it."""
        listeners = self._ctx.listeners
        listeners.append(callback)
        end_jobs = self._ctx.jobs.listen(lambda facts: callback({"event": "job", "job": facts}))

        def end() -> None:
            end_jobs()
            if callback in listeners:
                listeners.remove(callback)

        return end

    def _execute(self, name: str, args: Mapping[str, Any] | None) -> Answer | Job:
        return execute_command(self._ctx, name, args, self._actor, self._surface)

    def _on_scene(self, function: Callable[[], T]) -> T:
        if self._executor.is_current():
            return function()
        future: Future[T] = Future()
        self._executor.post(lambda: fulfil(future, function))
        return future.result()


def fulfil(future: Future[T], function: Callable[[], T]) -> None:
    """Give a future what a function returns or raises."""
    try:
        future.set_result(function())
    except BaseException as error:
        future.set_exception(error)
