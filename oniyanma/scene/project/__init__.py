"""The project file: the scene kept in SQLite, the command log with it, and nothing ever lost.

`open_or_create` gives a session its `Store` (the scene's LogSink) and first state; `open_project`
and `Store.save_as` change the project; `recoverable` lists unsaved work of sessions that are
gone; `verify_project` follows the command log's hash chain.
"""

from oniyanma.scene.project.errors import NewerProject, ProjectError
from oniyanma.scene.project.places import SUFFIX, Recovery, data_folder, recoverable
from oniyanma.scene.project.rows import content
from oniyanma.scene.project.sources import SourceReport
from oniyanma.scene.project.store import (
    Opened,
    Store,
    open_or_create,
    open_project,
    open_unsaved,
    verify_project,
)

__all__ = [
    "SUFFIX",
    "NewerProject",
    "Opened",
    "ProjectError",
    "Recovery",
    "SourceReport",
    "Store",
    "content",
    "data_folder",
    "open_or_create",
    "open_project",
    "open_unsaved",
    "recoverable",
    "verify_project",
]
