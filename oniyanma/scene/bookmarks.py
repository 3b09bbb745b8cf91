"""Bookmarks: named views with a thumbnail. The same name again replaces the view it had."""

from __future__ import annotations

from typing import Any

from oniyanma.registry.actor import Actor
from oniyanma.scene import history
from oniyanma.scene.ports import Renderer
from oniyanma.scene.records import RecordError
from oniyanma.scene.state import Bookmark, Change, SceneState

THUMBNAIL = (640, 360)  # pixels: enough for a list, and for half the width of a printed page


def thumbnail(scene: Any) -> bytes:
    """A small PNG of what the scene shows; empty where nothing can draw."""
    renderer: Renderer | None = getattr(scene, "renderer", None)
    if renderer is None:
        return b""
    try:
        return renderer.capture(scene.view, *THUMBNAIL, annotations=False).png
    except RuntimeError:  # what OpenGL can't do here; the view is worth keeping without
        return b""


def save(
    state: SceneState, actor: Actor, time: str, name: str, thumbnail: bytes = b""
) -> SceneState:
    """Keep the camera of ``state`` under a name; a step of undo."""
    bookmark = Bookmark(name=name, camera=state.camera, thumbnail=thumbnail, time=time)
    change = Change("bookmarks", name, state.bookmarks.get(name), bookmark)
    title = f"save view “{name}”"
    return history.append_step(
        state, command="saveBookmark", title=title, actor=actor, time=time, changes=[change]
    )


def delete(state: SceneState, actor: Actor, time: str, name: str) -> SceneState:
    """Remove it; a step of undo. RecordError where there is none of that name."""
    bookmark = state.bookmarks.get(name)
    if bookmark is None:
        known = ", ".join(f"“{key}”" for key in list(state.bookmarks)[:10]) or "none yet"
        raise RecordError(f"There is no view “{name}”; there are: {known}.", missing=True)
    change = Change("bookmarks", name, bookmark, None)
    title = f"delete view “{name}”"
    return history.append_step(
        state, command="deleteBookmark", title=title, actor=actor, time=time, changes=[change]
    )
