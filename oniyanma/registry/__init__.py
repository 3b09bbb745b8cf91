"""The mechanism of the commands: declarations, the one door, gates, log, jobs, tool definitions.

It knows no point and no camera.
"""

from oniyanma.registry.actor import Actor, ActorKind, Surface
from oniyanma.registry.command import (
    Args,
    Call,
    Command,
    Condition,
    Outcome,
    Work,
    not_ready,
)
from oniyanma.registry.door import Answer, Context, Host, Steps, execute_command, utc_now
from oniyanma.registry.errors import (
    Cancelled,
    CommandError,
    DeclarationError,
    HumanOnly,
    InvalidArguments,
    NotFound,
    NotReady,
    Refused,
    SurfaceDenied,
    Unavailable,
    UnknownCommand,
)
from oniyanma.registry.gesture import Gesture
from oniyanma.registry.jobs import Job, JobContext, Jobs
from oniyanma.registry.log import LogEntry, LogLine, LogSink, MemoryLog, verify
from oniyanma.registry.registry import Registry
from oniyanma.registry.tools import commands_json, mcp_annotations, mcp_tools, tool_defs

__all__ = [
    "Actor",
    "ActorKind",
    "Answer",
    "Args",
    "Call",
    "Cancelled",
    "Command",
    "CommandError",
    "Condition",
    "Context",
    "DeclarationError",
    "Gesture",
    "Host",
    "HumanOnly",
    "InvalidArguments",
    "Job",
    "JobContext",
    "Jobs",
    "LogEntry",
    "LogLine",
    "LogSink",
    "MemoryLog",
    "NotFound",
    "NotReady",
    "Outcome",
    "Refused",
    "Registry",
    "Steps",
    "Surface",
    "SurfaceDenied",
    "Unavailable",
    "UnknownCommand",
    "Work",
    "commands_json",
    "execute_command",
    "mcp_annotations",
    "mcp_tools",
    "not_ready",
    "tool_defs",
    "utc_now",
    "verify",
]
