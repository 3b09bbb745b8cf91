"""A mouse gesture: live on screen while it lasts, one command and one log line at its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oniyanma.registry.actor import Actor, Surface
from oniyanma.registry.checks import allow_arguments, look_up, permit, require, validate
from oniyanma.registry.command import Outcome
from oniyanma.registry.door import Answer, Context, as_command_error, execute_command
from oniyanma.registry.errors import CommandError, NotReady, Refused
from oniyanma.registry.jobs import Job


class Gesture:
    """Begun through a handle, on the scene thread. Nothing is committed before `end`.

    A command that is read-only or gated, and one that takes long, can't be a gesture: there is
    nothing to show of it, or it must not be shown before it is confirmed. One for people only
    can, for people: a batch is looked at before it is accepted.
    """

    def __init__(self, ctx: Context, name: str, actor: Actor, surface: Surface | str) -> None:
        self._ctx = ctx
        self._name = name
        self._actor = actor
        self._surface = str(surface)
        self._args: Mapping[str, Any] | None = None
        self._over = False
        ctx.gestures.append(self)

    def update(self, args: Mapping[str, Any]) -> Answer:
        """Show what the command would do with ``args`` from the committed state.

        The answer is the command's, with ``live``: true; a mistake is answered and changes
        nothing on screen. Not logged.
        """
        if self._over:
            raise RuntimeError(f"this gesture of {self._name} is over")
        ctx = self._ctx
        call = ctx.call(self._actor, self._surface)
        try:
            entry = look_up(ctx.registry, self._name)
            command = entry.command
            permit(ctx.registry, command, call.actor, call.surface)
            given = validate(entry, args)
            allow_arguments(entry, given, call)
            if not command.ready:
                raise NotReady(f"{self._name} is not available yet in this version.")
            require(command, call)
            if command.readonly or command.destructive:
                raise Refused(f"{self._name} can't be a gesture.")
            outcome = command.run(call, given)
            if not isinstance(outcome, Outcome):
                raise Refused(f"{self._name} takes long: it can't be a gesture.")
            ctx.host.live_state = outcome.state
        except Exception as error:
            told = as_command_error(ctx, error)
            if told.code == "internal":
                raise
            return _refusal(ctx, told)
        self._args = args
        return {"ok": True, "revision": ctx.host.state.revision, "live": True, **outcome.answer}

    def refresh(self) -> None:
        """Show the last arguments on the state committed meanwhile."""
        if self._args is not None and not self._over:
            self.update(self._args)

    def end(self) -> Answer | Job | None:
        """Run it once with the last arguments; None if there were none."""
        if self._over:
            return None
        self.cancel()
        if self._args is None:
            return None
        return execute_command(self._ctx, self._name, self._args, self._actor, self._surface)

    def cancel(self) -> None:
        """Show the committed state again; nothing happened."""
        if self._over:
            return
        self._over = True
        if self in self._ctx.gestures:
            self._ctx.gestures.remove(self)
        self._ctx.host.live_state = None


def _refusal(ctx: Context, error: CommandError) -> Answer:
    return {"ok": False, "revision": ctx.host.state.revision, "error": error.as_json()}
