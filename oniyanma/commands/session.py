"""What this session is, and what was done in it."""

from __future__ import annotations

from importlib import metadata
from typing import Any, Final

from oniyanma.commands.arguments import READ, arguments, choice, text, whole
from oniyanma.registry import Args, Call, Command, Outcome
from oniyanma.registry.log import actor_json


def _version() -> str:
    try:
        return metadata.version("oniyanma")
    except metadata.PackageNotFoundError:  # a source tree that was never installed
        return "unknown"


def get_session(call: Call, args: Args) -> Outcome:
    """Version, project, running jobs, who is connected, caller, collaboration, read-only."""
    project = call.state.project
    me = actor_json(call.actor)
    return Outcome(
        {
            "version": _version(),
            "project": {"path": project.path, "reason": project.reason},
            "jobs": [job.describe() for job in call.jobs.running()],
            "connected": [me],
            "actor": me,
            "surface": call.surface,
            "collaboration": {"state": "off"},
            "readOnly": bool(project.read_only),
        }
    )


def get_command_log(call: Call, args: Args) -> Outcome:
    """The last lines that fit, oldest first, with the head of the whole chain."""
    since = args.get("since")
    log = call.scene.log
    lines = log.entries(
        limit=args["limit"],
        actor_kind=args.get("actorKind"),
        command=args.get("command"),
        since=since,
    )
    head, count = log.head()
    entries: list[dict[str, Any]] = [line.as_json() for line in lines]
    return Outcome({"entries": entries, "count": count, "head": head})


COMMANDS: Final = (
    Command(
        name="getCommandLog",
        title="Command log",
        group=READ,
        description="What ran, was previewed, was refused or failed: seq, time, actor, surface, "
        "command, arguments, outcome, affected; with the count and head hash of the whole log.",
        input_schema=arguments(
            {
                "limit": whole("At most this many, the last ones.", 1, 10_000, default=100),
                "actorKind": choice("Only those of one kind of actor.", ("human", "ai", "api")),
                "command": text("Only those of one command.", 64),
                "since": whole("Only lines after this seq.", 0, 2**53),
            }
        ),
        example={"limit": 20, "actorKind": "ai"},
        readonly=True,
        cached=False,
        run=get_command_log,
    ),
    Command(
        name="getSession",
        title="Session",
        group=READ,
        description="Version, project, running jobs, who is connected, this caller's actor and "
        "surface, collaboration state, and whether the project is read-only.",
        input_schema=arguments(),
        example={},
        readonly=True,
        cached=False,
        run=get_session,
    ),
)
