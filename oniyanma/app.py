"""The composition root: a Session builds everything and plugs it together.

One session is one run of the program on one scene: a window, or a script. Everything that is done
in it goes through a `Handle` of its door.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from oniyanma.clouds.model import CloudError
from oniyanma.commands import build_registry
from oniyanma.handle import Handle, fulfil
from oniyanma.reach import MachineReach
from oniyanma.registry import Actor, Answer, Cancelled, Context, Jobs, Registry, Surface
from oniyanma.scene.ports import Capture, Executor, Renderer, SceneView
from oniyanma.scene.project import Store, open_or_create
from oniyanma.scene.scene import Scene
from oniyanma.scene.state import DEFAULT_VIEWPORT, SceneState
from oniyanma.thread import SceneThread

T = TypeVar("T")
SETTLE_SECONDS: Final = 600.0
SLICE_SECONDS: Final = 0.2
logger = logging.getLogger(__name__)


class Session:
    """The program without a window: `call` and `execute` run commands, `scene` is what they did.

    ``project``: a project file to open or make; None keeps the work in a recovery project, which
    a person's session leaves to be opened again, and a machine's only when it did not end well.
    ``allow_read``/``allow_write``: folders (or URLs, for reading) that machines may reach.
    ``viewport``: logical pixels; what is resident depends on it. ``inline_workers``: no worker
    processes or threads. ``executor``: the scene's thread; None: one of the session's own, and
    each `call` and `execute` then starts when the view has settled, so that counts repeat.
    ``actor`` and ``surface`` are those of `call` and `execute`.
    """

    def __init__(
        self,
        *,
        project: str | Path | None = None,
        allow_read: Iterable[str | Path] = (),
        allow_write: Iterable[str | Path] = (),
        viewport: tuple[int, int] = DEFAULT_VIEWPORT,
        inline_workers: bool = False,
        executor: Executor | None = None,
        renderer: Renderer | None = None,
        actor: Actor | None = None,
        surface: Surface | str = Surface.ALL,
        registry: Registry | None = None,
    ) -> None:
        self.registry = registry if registry is not None else build_registry()
        self.reach = MachineReach(allow_read, allow_write)
        self._own_thread = SceneThread() if executor is None else None
        self.executor: Executor = executor if executor is not None else self._own_thread  # type: ignore[assignment]
        self._closed = False
        self._waiting: deque[_Request] = deque()
        try:
            self._store, self._scene = self._on_scene(
                lambda: _build(project, viewport, inline_workers, renderer)
            )
        except BaseException:
            if self._own_thread is not None:
                self._own_thread.close()
            raise
        self.context = Context(
            registry=self.registry,
            host=self._scene,
            jobs=Jobs(self.executor.post, inline=inline_workers),
            reach=self.reach,
            refusals=(CloudError,),
            fingerprints=FINGERPRINTS,
        )
        if self._own_thread is not None:
            self._own_thread.pump = self._pump
        who = actor if actor is not None else Actor("api", "python")
        self._handle, self._passing = self.handle(who, surface), who.is_machine
        self._at_exit = _close_at_exit(self)

    # --- what is in it -----------------------------------------------------------------

    @property
    def scene(self) -> Scene:
        return self._scene

    @property
    def view(self) -> SceneView:
        """What may be read of the scene, on its thread."""
        return self._scene.view

    @property
    def state(self) -> SceneState:
        """The committed state: a frozen value, to be read from any thread."""
        return self._scene.state

    def handle(self, actor: Actor, surface: Surface | str = Surface.ALL) -> Handle:
        """The door for an entry point, with who asks and what may run bound in it."""
        return Handle(self.context, self.executor, actor, surface)

    def unavailable(self, name: str) -> str | None:
        """Why a command can't run now, as a sentence; None: its conditions hold."""
        return self._handle.unavailable(name)

    def tool_defs(self) -> list[dict[str, Any]]:
        """The commands of this session's surface as Anthropic tool-use definitions."""
        return self._handle.tool_defs()

    # --- asking ------------------------------------------------------------------------

    def call(self, name: str, args: Mapping[str, Any] | None = None, /, **more: Any) -> Answer:
        """Run a command and wait for its answer: ``session.call("queryElevation", bins=16)``."""
        given = {**(args or {}), **more}
        if self.executor.is_current():
            return self._handle.call(name, given)
        return self.submit(name, given).result()

    async def execute(
        self, name: str, args: Mapping[str, Any] | None = None, /, **more: Any
    ) -> Answer:
        """As `call`, in an event loop: ``await session.execute("queryElevation", bins=16)``."""
        return await asyncio.wrap_future(self.submit(name, {**(args or {}), **more}))

    def submit(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        handle: Handle | None = None,
    ) -> Future[Answer]:
        """Run a command when the view has settled; the future has its answer."""
        if self._closed:
            raise RuntimeError("the session is closed; start another one")
        future: Future[Answer] = Future()
        way = handle if handle is not None else self._handle
        request = _Request(way, future, name, args, time.monotonic() + SETTLE_SECONDS)
        self.executor.post(lambda: self._line_up(request))
        return future

    def _line_up(self, request: _Request) -> None:
        if self._own_thread is None:
            request.run()
            return
        self._waiting.append(request)
        if len(self._waiting) == 1:
            self._next()

    def _next(self) -> None:
        """Run the first request once the view has settled; others come in between slices."""
        if not self._waiting:  # the session was closed
            return
        request = self._waiting[0]
        try:
            ready = self._scene.settle(SLICE_SECONDS)
        except Exception:
            logger.exception("the view does not settle")
            ready = True
        if ready or time.monotonic() >= request.patience:
            self._waiting.popleft()
            request.run()
        if self._waiting:
            self.executor.post(self._next)

    def warm(self) -> None:
        """Start the processes that opening a cloud needs before they are needed."""
        self._on_scene(self._scene.clouds.warm)

    def settle(self, timeout: float = SETTLE_SECONDS) -> None:
        """Wait until everything the view needs is resident."""
        self._on_scene(lambda: self._scene.settle(timeout))

    # --- the end -----------------------------------------------------------------------

    def close(self, *, keep: bool = False) -> None:
        """Stop jobs and workers, keep the project, let go of everything. Again: nothing.

        Work in no project file goes with a machine's session, unless ``keep``; a person's stays
        to be recovered.
        """
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self._at_exit)
        jobs = self.context.jobs
        jobs.stop()
        jobs.wait()
        discard = self._passing and not keep
        self._on_scene(lambda: self._shut(discard))
        if self._own_thread is not None:
            self._own_thread.close()

    def _shut(self, discard: bool) -> None:
        revision = self._scene.state.revision
        self.context.jobs.abandon(revision)
        gone = {"ok": False, "revision": revision, "error": Cancelled().as_json()}
        while self._waiting:
            future = self._waiting.popleft().future
            if future.set_running_or_notify_cancel():
                future.set_result(gone)
        with contextlib.ExitStack() as stack:
            stack.callback(self._store.close, discard=discard and self._store.made)
            stack.callback(self._scene.close)
            stack.callback(getattr(self._scene.renderer, "close", _nothing))

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(keep=kind is not None and not issubclass(kind, SystemExit))

    # --- inside ------------------------------------------------------------------------

    def _pump(self) -> bool:
        return not self._closed and self._scene.pump(8.0)

    def _on_scene(self, function: Callable[[], T]) -> T:
        if self.executor.is_current():
            return function()
        future: Future[T] = Future()
        self.executor.post(lambda: fulfil(future, function))
        return future.result()


@dataclass(frozen=True)
class _Request:
    """A command that waits for the view to settle."""

    handle: Handle
    future: Future[Answer]
    name: str
    args: Mapping[str, Any] | None
    patience: float  # until when it waits, by the monotonic clock

    def run(self) -> None:
        self.handle.run_into(self.future, self.name, self.args)


def _nothing() -> None:
    return None


def _edits(state: SceneState) -> Any:
    return len(state.events), state.findings, state.batches


FINGERPRINTS: Final[Mapping[str, Callable[[SceneState], Any]]] = {
    "selection": lambda state: state.selection,
    "edits": _edits,
}
"""What a preview's token is bound to beside command and arguments."""


def _build(
    project: str | Path | None,
    viewport: tuple[int, int],
    inline: bool,
    renderer: Renderer | None,
) -> tuple[Store, Scene]:
    store, state = open_or_create(project)
    try:
        scene = Scene(
            replace(state, viewport=viewport),
            store,
            inline=inline,
            renderer=renderer if renderer is not None else _Headless(),
        )
    except BaseException:
        store.close()
        raise
    return store, scene


class _Headless:
    """Pictures without a display; the renderer is imported with the first of them."""

    def __init__(self) -> None:
        self._renderer: Any = None

    def capture(self, view: SceneView, width: int, height: int, annotations: bool) -> Capture:
        if self._renderer is None:
            from oniyanma.render.headless import HeadlessRenderer

            self._renderer = HeadlessRenderer()
        picture: Capture = self._renderer.capture(view, width, height, annotations)
        return picture

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()


def _close_at_exit(session: Session) -> Callable[[], None]:
    """Close a session that nobody closed when the interpreter ends; hold it no longer."""
    weak = weakref.ref(session)

    def close() -> None:
        left = weak()
        if left is not None:
            left.close(keep=True)

    atexit.register(close)
    return close
