"""The one door: every click, key, script, AI and client goes through `execute_command`.

known? → surface → human-only → valid? → ready? → conditions → gate → run → log. The checks are
small functions (`checks.py`); the order stands in `_execute` alone. It runs on the scene thread
and never raises for what a caller did.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from oniyanma.registry.actor import Actor, Surface
from oniyanma.registry.checks import allow_arguments, look_up, permit, require, validate
from oniyanma.registry.command import Call, Command, Outcome, Work
from oniyanma.registry.errors import (
    CommandError,
    NotReady,
    Refused,
)
from oniyanma.registry.gate import Gate
from oniyanma.registry.jobs import Job, Jobs
from oniyanma.registry.lines import failure_entry, log_entry
from oniyanma.registry.log import LogEntry, LogOutcome, canonical_json
from oniyanma.registry.registry import Registered, Registry
from oniyanma.registry.schema import GATE_ARGUMENTS

if TYPE_CHECKING:
    from oniyanma.registry.gesture import Gesture

logger = logging.getLogger(__name__)

Answer = dict[str, Any]
CACHE_SIZE: Final = 64  # answers
MAX_CACHED: Final = 10_000  # items of a list; an answer with a longer one is made anew each time


class Host(Protocol):
    """Port: the scene, as far as the door needs it. All of it on the scene thread."""

    @property
    def state(self) -> Any:
        """The committed state, a frozen value with an int ``revision``."""

    @property
    def version(self) -> Hashable:
        """Differs whenever a read-only answer could: revision and what is resident."""

    live_state: Any  # what is shown; None assigned: the committed state again

    def commit(self, state: Any, entry: LogEntry) -> None:
        """Store the difference and the line in one transaction, then swap the state in with the
        next revision. Raises, and then nothing happened."""

    def append(self, entry: LogEntry) -> None:
        """A log line with no change of state."""


class Reach(Protocol):
    """Port: which paths a machine may read and write."""

    def refusal(self, path: str, access: str, state: Any) -> str | None:
        """The reason why a machine may not "read" or "write" ``path``; None: it may."""


class NoReach:
    """Where nobody said anything, machines reach no file at all."""

    def refusal(self, path: str, access: str, state: Any) -> str | None:
        return f"{path} lies in no folder that a person allowed"


def utc_now() -> str:
    """UTC, ISO 8601 with milliseconds: 2026-01-31T12:00:00.000Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class Steps:
    """What a batch's commands lead to: nothing of it is committed yet."""

    state: Any
    answers: tuple[Mapping[str, Any], ...]
    entries: tuple[LogEntry, ...]


@dataclass
class Context:
    """What one session's door works with.

    ``refusals``: exceptions of the domain whose text is an answer (``refused``), not a fault of
    ours. ``fingerprints``: named views of a state that a preview's token is bound to.
    """

    registry: Registry
    host: Host
    jobs: Jobs
    reach: Reach = field(default_factory=NoReach)
    refusals: tuple[type[BaseException], ...] = ()
    fingerprints: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    now: Callable[[], str] = utc_now
    gate: Gate = field(default_factory=Gate)
    cache: OrderedDict[Hashable, Answer] = field(default_factory=OrderedDict)
    gestures: list[Gesture] = field(default_factory=list)
    listeners: list[Callable[[Mapping[str, Any]], None]] = field(default_factory=list)

    def call(self, actor: Actor, surface: str) -> Call:
        return Call(
            scene=self.host,
            state=self.host.state,
            actor=actor,
            surface=surface,
            now=self.now(),
            context=self,
        )

    def check(self, name: str, args: Any, actor: Actor, surface: str) -> dict[str, Any]:
        """See `Call.check`."""
        entry = look_up(self.registry, name)
        permit(self.registry, entry.command, actor, surface)
        return validate(entry, args)

    def run_steps(
        self, call: Call, commands: Sequence[Mapping[str, Any]], proposed_by: Actor | None
    ) -> Steps:
        """See `Call.run_steps`."""
        state, answers, entries = call.state, [], []
        for index, step in enumerate(commands):
            name, given = str(step.get("name", "")), step.get("args", {})
            try:
                args = self.check(name, given, call.actor, call.surface)
                entry = look_up(self.registry, name)
                now = replace(call, state=state)
                allow_arguments(entry, args, now)
                if entry.command.destructive and call.actor.is_machine:
                    raise Refused(f"{name} in a batch is run by the person who accepts it.")
                outcome = self._step(now, entry, args)
            except CommandError as error:
                raise type_preserving(error, step=index, command=name) from error
            state = state if outcome.state is None else outcome.state
            answers.append(outcome.answer)
            line = log_entry(call, entry, args, "ok", outcome.affected)
            entries.append(replace(line, proposed_by=proposed_by))
        return Steps(state, tuple(answers), tuple(entries))

    def try_steps(
        self, call: Call, commands: Sequence[Mapping[str, Any]]
    ) -> list[Outcome | CommandError]:
        """See `Call.try_steps`."""
        found: list[Outcome | CommandError] = []
        state = call.state
        for step in commands:
            try:
                entry = look_up(self.registry, str(step.get("name", "")))
                args = validate(entry, step.get("args", {}))
                outcome = self._step(replace(call, state=state), entry, args)
            except Exception as error:
                found.append(as_command_error(self, error))
                break
            state = state if outcome.state is None else outcome.state
            found.append(outcome)
        return found

    def _step(self, call: Call, entry: Registered, args: dict[str, Any]) -> Outcome:
        command = entry.command
        if not command.ready:
            raise NotReady(f"{command.name} is not available yet in this version.")
        require(command, call)
        outcome = command.run(replace(call, is_step=True), without_gate(args))
        if isinstance(outcome, Work):
            raise Refused(f"{command.name} takes long: it can't be a step of a batch.")
        return outcome


def type_preserving(error: CommandError, **data: Any) -> CommandError:
    """The same error with more data."""
    return CommandError(error.code, error.message, **{**error.data, **data})


def execute_command(
    ctx: Context, name: str, args: Any, actor: Actor, surface: Surface | str
) -> Answer | Job:
    """Run a command, or say why not. On the scene thread; never raises for what a caller did.

    ``args``: an object of the command's schema (None: no arguments). Gives the answer, or a Job
    whose result is that answer.
    """
    call = ctx.call(actor, str(surface))
    try:
        return _execute(ctx, call, name, args)
    except BaseException as error:
        return _failed(ctx, call, name, args, error)


def _execute(ctx: Context, call: Call, name: str, args: Any) -> Answer | Job:
    entry = look_up(ctx.registry, name)
    command = entry.command
    permit(ctx.registry, command, call.actor, call.surface)
    given = validate(entry, args)
    allow_arguments(entry, given, call)
    if not command.ready:
        raise NotReady(f"{name} is not available yet in this version.", command=name)
    require(command, call)
    if command.destructive and call.actor.is_machine:
        preview = gate(ctx, entry, given, call)
        if preview is not None:
            return preview
    given = without_gate(given) if command.destructive else given
    key = cache_key(ctx, command, given, call)
    if key is not None and key in ctx.cache:
        ctx.cache.move_to_end(key)
        return {**copy_json(ctx.cache[key]), "revision": ctx.host.state.revision}
    outcome = command.run(call, given)
    if isinstance(outcome, Work):
        return _start(ctx, entry, given, call, outcome)
    return _settle(ctx, entry, given, call, outcome, key)


GATE_NOTE: Final = (
    "Not executed. To run this, call again with the same arguments plus confirm:true (undoable, "
    "but while collaborating it applies to every participant's screen immediately)"
)


def gate(ctx: Context, entry: Registered, args: Mapping[str, Any], call: Call) -> Answer | None:
    """The preview of a destructive command called by a machine; None: it may run.

    Without a token ``confirm: true`` runs. With one that no longer fits a fresh preview comes
    back with the reason.
    """
    command = entry.command
    plain_args = without_gate(args)
    prints = {key: view(call.state) for key, view in ctx.fingerprints.items()}
    note = GATE_NOTE
    token = args.get("token")
    if args.get("confirm") is True:
        if token is None:
            return None
        misfit = ctx.gate.misfit(token, command.name, plain_args, call.actor, prints)
        if misfit is None:
            return None
        note = f"The token does not fit: {misfit}. {GATE_NOTE}"
    assert command.dry_run is not None
    would_affect = dict(command.dry_run(call, plain_args))
    ctx.host.append(log_entry(call, entry, plain_args, "preview", count_of(would_affect)))
    return {
        "preview": True,
        "command": command.name,
        "revision": ctx.host.state.revision,
        "token": ctx.gate.issue(command.name, plain_args, call.actor, prints),
        "wouldAffect": would_affect,
        "note": note,
    }


def without_gate(args: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in args.items() if key not in GATE_ARGUMENTS}


def count_of(would_affect: Mapping[str, Any]) -> dict[str, int]:
    return {
        key: value
        for key, value in would_affect.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }


# --- running, committing, logging ----------------------------------------------------------------


def _settle(
    ctx: Context,
    entry: Registered,
    args: Mapping[str, Any],
    call: Call,
    outcome: Outcome,
    key: Hashable | None = None,
) -> Answer:
    """Commit what a handler returned, with its line, and make the answer."""
    command = entry.command
    if command.readonly:
        if outcome.state is not None:
            raise TypeError(f"{command.name} is read-only and returned a state")
    else:
        line = log_entry(call, entry, args, "ok", outcome.affected)
        line = replace(line, steps=outcome.steps) if outcome.steps else line
        try:
            _store(ctx, call, outcome, line)
        except BaseException:
            if outcome.discard is not None:
                outcome.discard()
            raise
    answer = {"ok": True, "revision": ctx.host.state.revision, **outcome.answer}
    if key is not None and not any(
        isinstance(value, list) and len(value) > MAX_CACHED for value in answer.values()
    ):
        ctx.cache[key] = copy_json(answer)
        if len(ctx.cache) > CACHE_SIZE:
            ctx.cache.popitem(last=False)
    return answer


def _store(ctx: Context, call: Call, outcome: Outcome, line: LogEntry) -> None:
    """State and line in one transaction; raises, and then neither is stored."""
    if outcome.state is None or outcome.state is call.state:
        ctx.host.append(line)
        return
    before = ctx.host.state
    try:
        ctx.host.commit(outcome.state, line)
    except Exception:
        if ctx.host.state is before:
            raise
        logger.exception("fault in what follows the scene")  # it was committed
    _tell(ctx)


def _tell(ctx: Context) -> None:
    """After a commit: gestures show themselves anew, and whoever listens is told. What goes
    wrong there is no fault of the command, which has run."""
    event = {"event": "revision", "revision": ctx.host.state.revision}
    follow: list[Callable[[], None]] = [gesture.refresh for gesture in ctx.gestures]
    follow += [partial(listener, event) for listener in ctx.listeners]
    for tell in follow:
        try:
            tell()
        except Exception:
            logger.exception("fault in what follows the scene")


def _start(
    ctx: Context, entry: Registered, args: Mapping[str, Any], call: Call, work: Work[Any]
) -> Job:
    def finish(job: Job, result: Any, error: BaseException | None) -> Answer:
        later = ctx.call(call.actor, call.surface)
        try:
            if error is not None:
                raise error
            try:
                if work.discard is not None:
                    job.check()
                return _settle(ctx, entry, args, later, work.finish(later, result))
            except BaseException:
                if work.discard is not None:
                    work.discard(result)
                raise
        except BaseException as failure:
            return _failed(ctx, later, entry.command.name, args, failure)

    command = entry.command
    return ctx.jobs.start(command.name, command.title, call.actor, call.now, work.run, finish)


def _failed(ctx: Context, call: Call, name: Any, args: Any, error: BaseException) -> Answer:
    """The answer and the log line of what was raised; a fault of ours with its traceback."""
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        raise error
    answer = as_command_error(ctx, error)
    outcome: LogOutcome = "refused"
    if answer.code == "internal":
        logger.error("fault in %s", str(name)[:80], exc_info=error)
        outcome = "failed"
    elif answer.code == "cancelled":
        outcome = "cancelled"
    try:
        ctx.host.append(failure_entry(call, name, args, outcome, answer))
    except Exception:
        logger.exception("the log takes no line for %s", str(name)[:80])
    return {"ok": False, "revision": ctx.host.state.revision, "error": answer.as_json()}


def as_command_error(ctx: Context, error: BaseException) -> CommandError:
    """What a caller is told of an exception."""
    if isinstance(error, CommandError):
        return error
    if isinstance(error, ctx.refusals):
        return Refused(str(error) or type(error).__name__)
    if isinstance(error, OSError):
        return Refused(_os_text(error))
    return CommandError(
        "internal",
        f"A fault of the program ({type(error).__name__}): nothing was changed; the program's "
        "log has its traceback.",
    )


def _os_text(error: OSError) -> str:
    what = error.strerror or str(error) or type(error).__name__
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{what}."


def cache_key(
    ctx: Context, command: Command, args: Mapping[str, Any], call: Call
) -> Hashable | None:
    if not (command.readonly and command.cached):
        return None
    return (command.name, canonical_json(args), ctx.host.version)


def copy_json(value: Any) -> Any:
    """A deep copy of JSON values."""
    if isinstance(value, Mapping):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [copy_json(item) for item in value]
    return value
