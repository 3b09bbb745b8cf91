"""Opening, closing, listing and showing clouds."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from oniyanma.clouds.inspect import info_json, stored_corner
from oniyanma.clouds.model import CloudInfo
from oniyanma.commands.arguments import (
    CLOUD,
    FILES,
    READ,
    VIEW,
    arguments,
    flag,
    path,
    text,
    whole,
)
from oniyanma.registry import (
    Args,
    Call,
    Cancelled,
    Command,
    CommandError,
    Job,
    JobContext,
    NotFound,
    Outcome,
    Refused,
    Work,
)
from oniyanma.scene import attributes, camera
from oniyanma.scene.state import CloudEntry, SceneState

POLL: Final = 0.1  # seconds between two looks at how far indexing is


def _list(call: Call, args: Args) -> Outcome:
    clouds = [_cloud_json(call, entry) for entry in call.state.clouds]
    note = {} if clouds else {"note": "No cloud is open (openCloud opens one)"}
    return Outcome({"clouds": clouds, "count": len(clouds), **note})


def _cloud_json(call: Call, entry: CloudEntry) -> dict[str, Any]:
    cloud = call.scene.cloud(entry.id)
    facts: dict[str, Any] = {
        "id": entry.id,
        "name": entry.name,
        "path": entry.path,
        "visible": entry.visible,
    }
    if cloud is None:
        reason = call.scene.missing.get(entry.id, "The cloud is not open.")
        return {**facts, "state": "failed", "reason": reason}
    info = cloud.info
    bounds = call.scene.cloud_bounds(entry.id)
    facts |= {
        "format": info.format,
        "points": info.points,
        "bounds": None
        if bounds is None
        else {"min": stored_corner(bounds[0], info), "max": stored_corner(bounds[1], info)},
        "crs": {"name": info.crs.name, "epsg": info.crs.epsg},
        "unit": info.crs.horizontal.name,
        "state": cloud.state,
        "warnings": len(call.scene.cloud_info(entry.id).warnings),
    }
    if cloud.state == "indexing":
        facts |= {"progress": round(cloud.progress, 4), "stage": cloud.stage}
    if cloud.state == "failed":
        facts["reason"] = cloud.reason
    return facts


def _info(call: Call, args: Args) -> Outcome:
    if "cloud" in args:
        ids = [_known(call.state, args["cloud"]).id]
    else:
        ids = [entry.id for entry in call.state.clouds if entry.visible]
    clouds = []
    for id in ids:
        cloud = call.scene.cloud(id)
        if cloud is None:
            reason = call.scene.missing.get(id, "The cloud is not open.")
            clouds.append({"id": id, "state": "failed", "reason": reason})
        else:
            clouds.append({"id": id, "state": cloud.state, **info_json(call.scene.cloud_info(id))})
    if len(clouds) == 1:
        return Outcome(clouds[0])
    note = {} if clouds else {"note": "No cloud is open and visible (openCloud opens one)"}
    return Outcome({"clouds": clouds, **note})


def _open(call: Call, args: Args) -> Work[Any] | Outcome:
    """Read on a worker thread; on the scene with the commit, coarse, while indexing goes on."""
    given = args["path"]
    path = given if "://" in given else str(Path(given).expanduser().absolute())
    for entry in call.state.clouds:
        if entry.path == path and call.scene.cloud(entry.id) is not None:
            left = call.state.clouds if args["append"] else (entry,)
            same = left == call.state.clouds
            answer = {"cloud": entry.id, "note": f"{entry.name} is open already"}
            return Outcome(answer, None if same else replace(call.state, clouds=left))
    scene, id = call.scene, call.scene.id_for(path, call.state)

    def run(job: JobContext) -> Any:
        try:
            job.progress(0.0, "reading")
            return scene.clouds.prepare(path, id)
        except BaseException:
            scene.clouds.reserved.discard(id)
            raise

    def finish(later: Call, cloud: Any) -> Outcome:
        scene.clouds.adopt(cloud)
        return _opened(later, cloud, path, args["append"])

    return Work(run, finish, discard=scene.clouds.let_go)


def _opened(call: Call, cloud: Any, path: str, append: bool) -> Outcome:
    state: SceneState = call.state if append else replace(call.state, clouds=())
    info: CloudInfo = cloud.info
    entry = CloudEntry(cloud.id, info.name, path, header_hash=info.header_hash)
    first = not any(one.visible for one in state.clouds)
    state = replace(state, clouds=(*(c for c in state.clouds if c.id != cloud.id), entry))
    if first:
        state = _framed(call, state, info)
    answer: dict[str, Any] = {
        "cloud": cloud.id,
        "name": info.name,
        "format": info.format,
        "points": info.points,
        "state": cloud.state,
        "warnings": [
            {"code": w.code, "message": w.message}
            for w in call.scene.clouds.info(cloud.id, state.clouds).warnings
        ],
    }
    if cloud.state == "indexing" and not call.scene.inline:
        answer["job"] = _index_job(call, cloud.id, cloud).id
    return Outcome(answer, state, {"clouds": 1})


def _framed(call: Call, state: SceneState, info: CloudInfo) -> SceneState:
    """The first cloud is seen whole from a corner, in the colours it has."""
    display = replace(
        state.display, color=attributes.default_mode(info), cloud_colors=MappingProxyType({})
    )
    scale = call.scene.scale(state)
    corner = camera.preset(state.camera, "iso", scale)
    view = camera.fit(corner, call.scene.bounds(state), state.viewport, scale)
    return replace(state, display=display, camera=replace(view, mode="orbit"))


def _index_job(call: Call, id: str, cloud: Any) -> Job:
    """Indexing as a job: its progress, and the way to stop it. The cloud is on screen already."""
    scene = call.scene

    def run(job: JobContext) -> None:
        while cloud.state == "indexing" and scene.cloud(id) is cloud:
            job.check()
            job.progress(cloud.progress, cloud.stage)
            time.sleep(POLL)

    def finish(job: Job, _: Any, error: BaseException | None) -> dict[str, Any]:
        revision = scene.state.revision
        if error is not None:
            cloud.cancel()
            told = error if isinstance(error, CommandError) else Cancelled()
            return {"ok": False, "revision": revision, "error": told.as_json()}
        if cloud.state == "failed":
            told = Refused(f"{cloud.info.name} stays a coarse sample: {cloud.reason}")
            return {"ok": False, "revision": revision, "error": told.as_json()}
        return {"ok": True, "revision": revision, "cloud": id, "state": cloud.state}

    title = f"Index {cloud.info.name}"
    return call.jobs.start("openCloud", title, call.actor, call.now, run, finish)


def _close(call: Call, args: Args) -> Outcome:
    entry = _known(call.state, args["cloud"])
    left = tuple(one for one in call.state.clouds if one.id != entry.id)
    colors = {k: v for k, v in call.state.display.cloud_colors.items() if k != entry.id}
    display = replace(call.state.display, cloud_colors=MappingProxyType(colors))
    state = replace(call.state, clouds=left, display=display)
    return Outcome({"cloud": entry.id, "open": len(left)}, state, {"clouds": 1})


def _budget(call: Call, args: Args) -> Outcome:
    return Outcome({"points": args["points"]}, replace(call.state, budget=args["points"]))


def _visibility(call: Call, args: Args) -> Outcome:
    entry = _known(call.state, args["cloud"])
    clouds = tuple(
        replace(one, visible=args["visible"]) if one.id == entry.id else one
        for one in call.state.clouds
    )
    answer = {"cloud": entry.id, "visible": args["visible"]}
    return Outcome(answer, replace(call.state, clouds=clouds))


def _known(state: SceneState, id: str) -> CloudEntry:
    for entry in state.clouds:
        if entry.id == id:
            return entry
    known = ", ".join(entry.id for entry in state.clouds) or "none yet"
    raise NotFound(f"There is no cloud {id!r}; open are: {known}.")


COMMANDS: Final = (
    Command(
        name="listClouds",
        title="List clouds",
        group=READ,
        description="Lists the open clouds: id, name, path or URL, format, points, bounds, crs, "
        "unit, visible and state (indexing with progress, ready, failed with the reason).",
        input_schema=arguments(),
        example={},
        readonly=True,
        cached=False,
        run=_list,
    ),
    Command(
        name="getCloudInfo",
        title="Cloud information",
        group=READ,
        description="Header facts of a cloud: version, point format, dimensions with types, "
        "scales, offsets, counts by return, GPS time kind, CRS (name, EPSG, WKT), generating "
        "software, creation date, VLR list, and every warning found on opening.",
        input_schema=arguments({"cloud": CLOUD}),
        example={},
        conditions=("has_cloud",),
        readonly=True,
        cached=False,
        run=_info,
    ),
    Command(
        name="openCloud",
        title="Open cloud…",
        group=FILES,
        description="Opens a point cloud: a file, a folder, a glob of tiles, or the http(s) URL "
        "of a COPC. A long command with progress; answers the cloud's id and warnings.",
        input_schema=arguments(
            {
                "path": path("File, folder, glob, or http(s) URL of a COPC.", "read"),
                "append": flag(
                    "true: keep the clouds that are open; false: close them first.", default=True
                ),
            },
            "path",
        ),
        example={"path": "survey/site.laz"},
        run=_open,
    ),
    Command(
        name="closeCloud",
        title="Close cloud",
        group=FILES,
        description="Closes a cloud. Its edits stay in the project.",
        input_schema=arguments({"cloud": text("Cloud id from listClouds.")}, "cloud"),
        example={"cloud": "c1"},
        run=_close,
    ),
    Command(
        name="setPointBudget",
        title="Point budget",
        group=VIEW,
        description="Sets how many points may be resident (in the sample for the current view).",
        input_schema=arguments(
            {
                "points": whole(
                    "Most resident points.", 100_000, 200_000_000, **{"x-unit": "points"}
                )
            },
            "points",
        ),
        example={"points": 5_000_000},
        idempotent=True,
        run=_budget,
    ),
    Command(
        name="setCloudVisibility",
        title="Show or hide cloud",
        group=VIEW,
        description="Shows or hides a cloud. Hidden clouds are not drawn, selected or counted.",
        input_schema=arguments(
            {
                "cloud": text("Cloud id from listClouds."),
                "visible": flag("true: show it, false: hide it."),
            },
            "cloud",
            "visible",
        ),
        example={"cloud": "c1", "visible": False},
        idempotent=True,
        run=_visibility,
    ),
)
