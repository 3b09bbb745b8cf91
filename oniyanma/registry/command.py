"""What a command is, and what its function gets and gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from oniyanma.registry.actor import Actor
from oniyanma.registry.errors import CommandError, NotReady
from oniyanma.registry.log import LogEntry

if TYPE_CHECKING:
    from oniyanma.registry.door import Context, Steps
    from oniyanma.registry.jobs import JobContext, Jobs
    from oniyanma.registry.registry import Registry

T = TypeVar("T")
Args = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Call:
    """What a handler gets beside its arguments.

    ``scene`` is the host; ``state`` the state to start from (the committed one, or in a batch
    what the steps before made of it); ``now`` UTC, ISO 8601. A handler writes to none of them.
    ``is_step``: one of several commands that are run at once, which can't be a `Work`.
    """

    scene: Any
    state: Any
    actor: Actor
    surface: str
    now: str
    context: Context = field(repr=False)
    is_step: bool = False

    @property
    def registry(self) -> Registry:
        return self.context.registry

    @property
    def jobs(self) -> Jobs:
        return self.context.jobs

    def check(self, name: str, args: Any) -> dict[str, Any]:
        """The normalised arguments of another command, or the CommandError it would answer for
        its name, surface, marks or arguments. Nothing runs."""
        return self.context.check(name, args, self.actor, self.surface)

    def run_steps(
        self, commands: Sequence[Mapping[str, Any]], *, proposed_by: Actor | None = None
    ) -> Steps:
        """Run ``{"name", "args"}`` commands through the door's checks on this call's state.

        Nothing is committed: the answer holds the state they lead to and their log lines, which
        go into the `Outcome` of this command (``steps``). The first that fails raises its error
        with ``step`` (its index) in the data: all or nothing. A person's call passes gates, as
        everywhere; a machine's doesn't.
        """
        return self.context.run_steps(self, commands, proposed_by)

    def try_steps(self, commands: Sequence[Mapping[str, Any]]) -> list[Outcome | CommandError]:
        """What `run_steps` would do, to be looked at: an outcome for each command, and in place
        of the first that fails its error, with which it ends. Nothing is committed or logged,
        and it is the same for everybody who may look."""
        return self.context.try_steps(self, commands)


@dataclass(frozen=True)
class Outcome:
    """What a handler did: its answer, the next state (None: unchanged) and what it affected.

    ``answer`` is a flat JSON object; the door adds ``ok`` and ``revision``. ``affected`` counts
    ``points``, ``edits``, ``findings`` … for the log. ``steps``: log lines of a batch.
    ``discard`` takes back what the handler made outside the state, a file say, where state and
    line can't be stored: a command answered as failed has left nothing.
    """

    answer: Mapping[str, Any]
    state: Any | None = None
    affected: Mapping[str, int] | None = None
    steps: tuple[LogEntry, ...] = ()
    discard: Callable[[], None] | None = None


@dataclass(frozen=True)
class Work(Generic[T]):
    """A long command: ``run`` on a worker thread, then ``finish`` on the scene thread.

    ``run`` reads what it was given (never the live scene), reports through its JobContext, and
    leaves nothing behind when it raises (`JobContext.check` raises Cancelled). ``finish`` gets a
    fresh Call with the state of that moment. ``discard`` lets go of a result that ``finish``
    could not use, or that came when the job was cancelled already; without one a result that
    is there is used.
    """

    run: Callable[[JobContext], T]
    finish: Callable[[Call, T], Outcome]
    discard: Callable[[T], None] | None = None


Handler = Callable[[Call, Args], Outcome | Work[Any]]
DryRun = Callable[[Call, Args], Mapping[str, Any]]


def not_ready(call: Call, args: Args) -> NoReturn:
    """The function of a command whose capability does not exist yet."""
    raise NotReady("This command is not available yet in this version.")


@dataclass(frozen=True, kw_only=True)
class Command:
    """One declaration: everything that is to be known of a command.

    ``input_schema``: JSON Schema 2020-12, an object with ``additionalProperties: false``; own
    keywords: ``x-unit``, ``x-unbounded`` (a number without bounds), ``x-path`` ("read" or
    "write": a machine's reach is checked at the door), ``x-people-only`` (a machine may not give
    it). ``conditions``: names, all must hold; those about there being something to act on only
    grey out read-only and gated commands, which answer with the reason instead. ``readonly``
    changes nothing. ``dry_run`` makes it destructive: a machine gets what it returns
    (``wouldAffect``) until it confirms. ``human_only``: no machine ever. ``cached``: the answer
    of a read-only command depends on nothing but arguments and the host's version.
    """

    name: str
    title: str
    group: str
    description: str
    input_schema: Mapping[str, Any]
    example: Mapping[str, Any]
    run: Handler = field(repr=False)
    conditions: tuple[str, ...] = ()
    readonly: bool = False
    dry_run: DryRun | None = field(default=None, repr=False)
    human_only: bool = False
    idempotent: bool = False
    cached: bool = True

    @property
    def destructive(self) -> bool:
        return self.dry_run is not None

    @property
    def ready(self) -> bool:
        """Whether there is something behind it (`not_ready` stands for nothing yet)."""
        return self.run is not not_ready


@dataclass(frozen=True)
class Condition:
    """A named condition with the reason given when it does not hold.

    ``soft``: it only says whether there is something to act on, so that read-only and gated
    commands answer with a reason of their own instead of ``unavailable``.
    """

    name: str
    predicate: Callable[[Any, Any], bool] = field(repr=False)  # (state, host)
    reason: str
    soft: bool = False
