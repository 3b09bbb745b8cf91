"""The window's one way to the scene: a handle of the door, with a person bound in it.

Widgets read the `SceneView` and ask the bridge for everything that changes something. Answers
come back as signals; a failed one becomes a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from .text import tr


class Bridge(QObject):
    """Runs commands for a person and tells the widgets what came of it.

    ``handle`` is the door's (execute, gesture, cancel, subscribe); ``session`` gives the scene
    to read and the registry.
    """

    answered = Signal(str, object, object)  # command, arguments, answer
    failed = Signal(str, object, object)  # command, arguments, error object
    state_changed = Signal(object, object)  # before, after
    resident_changed = Signal()
    jobs_changed = Signal()
    asked = Signal(object)  # an action row whose arguments must be asked for

    def __init__(self, session: Any, handle: Any) -> None:
        super().__init__()
        self.session = session
        self.handle = handle
        self.scene = session.scene
        self.registry = session.registry
        self.jobs: dict[str, Mapping[str, Any]] = {}  # running ones, as getSession lists them
        self._unsubscribe = handle.subscribe(self._on_job)
        self._dirty = QTimer(self)
        self._dirty.setSingleShot(True)
        self._dirty.setInterval(0)
        self._dirty.timeout.connect(self.resident_changed)
        self.scene.state_changed.connect(self._on_state)
        self.scene.resident_changed.connect(self._on_resident)

    # reading

    @property
    def view(self) -> Any:
        return self.scene.view

    @property
    def state(self) -> Any:
        """What is shown: the committed state, or the live one of a gesture."""
        return self.view.state

    def command(self, name: str) -> Any:
        return self.registry[name]

    def reason(self, name: str) -> str:
        """Why a command is not available now, as one sentence; "" where it is."""
        return self.handle.unavailable(name) or ""

    # doing

    def run(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        then: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> Any:
        """Executes a command as this person. Gives the answer, or the job that will have it."""
        args = dict(args or {})
        result = self.handle.execute(name, args)
        if isinstance(result, Mapping):
            self._settle(name, args, result, then)
            return result
        result.then(lambda answer: self._settle(name, args, answer, then))
        return result

    def read(self, name: str, args: Mapping[str, Any] | None = None) -> Mapping[str, Any] | None:
        """The answer of a quick read-only command; None where it has none now."""
        result = self.handle.execute(name, dict(args or {}))
        return result if isinstance(result, Mapping) and result.get("ok") else None

    def gesture(self, name: str) -> Any:
        return self.handle.gesture(name)

    def cancel(self, job: str) -> None:
        self.handle.cancel(job)

    def close(self) -> None:
        """Lets go of the scene's signals and timers."""
        self._unsubscribe()
        self._dirty.stop()
        self.scene.state_changed.disconnect(self._on_state)
        self.scene.resident_changed.disconnect(self._on_resident)

    # inside

    def _settle(
        self,
        name: str,
        args: Mapping[str, Any],
        answer: Mapping[str, Any],
        then: Callable[[Mapping[str, Any]], None] | None,
    ) -> None:
        if answer.get("ok"):
            self.answered.emit(name, args, answer)
            if then is not None:
                then(answer)
        else:
            error = answer.get("error") or {"message": tr("Nothing was done.")}
            self.failed.emit(name, args, error)

    def _on_job(self, event: Mapping[str, Any]) -> None:
        facts = event["job"]
        if facts["state"] == "running":
            self.jobs[facts["id"]] = facts
        else:
            self.jobs.pop(facts["id"], None)
        self.jobs_changed.emit()

    def _on_state(self, before: Any, after: Any) -> None:
        self.state_changed.emit(before, after)

    def _on_resident(self, *_: Any) -> None:
        if not self._dirty.isActive():
            self._dirty.start()


