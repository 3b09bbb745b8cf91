"""What the queries read beside the resident points: whole sources, and nodes once more."""

from __future__ import annotations

from oniyanma.registry import Call, Unavailable
from oniyanma.scene.fullscan import Scan, scan_of_clouds
from oniyanma.scene.nodes import ReadNode, read_node
from oniyanma.scene.sample import nothing, shown_clouds


def scan_of(call: Call, cloud: str | None = None) -> Scan:
    """A scan of the visible clouds (of the one) as the scene stands now; Unavailable if none."""
    view = call.scene.view
    shown = list(shown_clouds(view, cloud))
    if not shown:
        raise Unavailable(nothing(view, cloud))
    return scan_of_clouds(view, call.scene.store.clouds, shown)


def node_reader(call: Call) -> ReadNode:
    """Reads nodes of the open clouds again, on any thread; see `oniyanma.scene.nodes`."""
    clouds = dict(call.scene.store.clouds)
    return lambda id, names=None: read_node(clouds[id.cloud], id.key, names)
