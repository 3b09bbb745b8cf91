"""The scene shows the cut of its view, and counts what one sees of a selection."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oniyanma.clouds.lod import ViewParams, cut
from oniyanma.clouds.model import NodeId, NodeKey
from oniyanma.registry import Actor
from oniyanma.scene import camera as cam
from oniyanma.scene import navigation as nav
from oniyanma.scene.ports import DELETED, HIDDEN, SELECTED
from tests.scene.scene_help import ORIGIN, PERSON, SIZE, opened, visible_count, write_cloud
from tests.support import shared

BOX = {"min": [500_020.0, 5_000_020.0, 0.0], "max": [500_080.0, 5_000_070.0, 500.0]}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cloud(tmp_path_factory.mktemp("clouds") / "square.las")


def test_what_is_resident_is_the_cut_of_camera_viewport_budget_and_clouds(cloud: Path) -> None:
    with opened(cloud, viewport=(640, 360)) as (session, _):
        for args in (
            {"preset": "top"},
            {"eye": [500_000, 5_000_000, 120], "target": [500_050, 5_000_050, 100]},
        ):
            session.call("setCamera", args)
            session.settle()
            scene = session.scene
            tree = scene.cloud("c1").hierarchy
            lens = scene.lens()
            params = ViewParams(lens.world, cam.as_vec3(lens.eye), lens.viewport, lens.perspective)
            wanted = {
                NodeId("c1", NodeKey(*tree.keys[i].tolist()))
                for i in cut([tree], params, session.state.budget)[0]
            }
            assert {node.id for node in session.view.resident()} == wanted
            assert session.call("getView")["resident"]["pending"] == 0


def test_the_first_cloud_is_framed_from_a_corner_and_the_next_leaves_the_camera(
    cloud: Path, tmp_path: Path
) -> None:
    with opened(cloud) as (session, _):
        camera = session.state.camera
        _, _, forward = cam.basis(camera)
        assert np.allclose(-forward, cam.PRESETS["iso"][0], atol=0.02)
        px, _ = session.scene.lens().project(cam.corners(session.scene.bounds()))
        assert (px > 0).all() and (px < session.state.viewport).all()
        other = write_cloud(tmp_path / "other.las", 500, 2)
        session.handle(PERSON).call("openCloud", {"path": str(other)})
        assert session.state.camera == camera and len(session.state.clouds) == 2


@given(st.integers(0, 44_999), st.floats(0.2, 0.9), st.integers(1, 6))
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_count_of_a_selection_never_falls_as_the_camera_closes_in(
    cloud, which, share, steps
) -> None:
    """Towards a selected point, with a budget that does not bind."""
    with opened(cloud, viewport=(200, 150)) as (session, person):
        rng = np.random.default_rng(which)
        place = [o + float(v) for o, v in zip(ORIGIN, rng.uniform(30, 70, 3), strict=True)]
        small = {"min": [v - 3 for v in place[:2]] + [0], "max": [v + 3 for v in place[:2]] + [900]}
        counts = [person.call("selectBox", small)["points"]]
        for _ in range(steps):
            eye, target = np.array(session.state.camera.eye), np.array([*place[:2], 102.0])
            eye = target + (eye - target) * share
            person.call("setCamera", {"eye": eye.tolist(), "target": target.tolist()})
            session.settle()
            counts.append(person.call("getSelection")["points"])
        assert counts == sorted(counts)


def test_an_edit_at_the_coarsest_view_holds_for_every_point_that_comes_later(cloud: Path) -> None:
    """FIELD 44: zooming in shows no unedited point inside the region."""
    with opened(cloud, viewport=(40, 30)) as (session, person):
        before = session.call("getView")["resident"]["points"]
        person.call("selectBox", BOX)
        person.call("reclassifySelection", {"class": 20})
        session.scene.set_viewport(4000, 3000)
        session.settle()
        assert session.call("getView")["resident"]["points"] > before + 5000
        for node in session.view.resident():
            xyz = node.xyz * 0.01 + np.array(ORIGIN)
            inside = ((xyz >= BOX["min"]) & (xyz <= BOX["max"])).all(axis=1)
            assert (inside == (node.classification == 20)).all()


def test_counts_by_class_follow_edits_undo_and_filters(cloud: Path) -> None:
    with opened(cloud) as (session, person):
        start = person.call("selectBox", BOX)
        first = person.call("getSelection")
        assert start["points"] == first["points"] == visible_count(session) > 0
        assert sum(c["points"] for c in first["classes"]) == first["points"]
        person.call("selectWhere", {"classes": [2], "mode": "intersect"})
        twos = person.call("getSelection")["points"]
        assert twos == next(c["points"] for c in first["classes"] if c["class"] == 2)
        person.call("hideSelection")
        gone = person.call("getSelection")
        assert gone["points"] == 0 == visible_count(session) and "not" in gone["note"]
        person.call("undo")
        assert person.call("getSelection")["points"] == twos == visible_count(session)
        person.call("setClassVisibility", {"classes": [2], "visible": False})
        assert person.call("getSelection")["points"] == 0
        person.call("setClassVisibility", {"classes": [2], "visible": True})
        low = {"min": BOX["min"], "max": [500_050.0, *BOX["max"][1:]]}
        person.call("setClip", {"box": low})
        clipped = person.call("getSelection")
        assert 0 < clipped["points"] < twos and clipped["points"] == visible_count(session)
        assert clipped["bounds"]["max"][0] <= 500_050.0
        person.call("setCloudVisibility", {"cloud": "c1", "visible": False})
        assert person.call("getSelection")["points"] == 0


def test_hidden_classes_and_clip_at_selection_time_stay_out_when_they_show_again(
    cloud: Path,
) -> None:
    """FIELD 43: the selected set is what could be seen when it was selected."""
    with opened(cloud) as (_, person):
        person.call("setClassVisibility", {"classes": [1, 2, 3], "visible": True, "only": True})
        seen = person.call("selectBox", BOX)["points"]
        person.call("setClassVisibility", {"classes": [], "visible": False, "only": True})
        after = person.call("getSelection")
        assert after["points"] == seen and {c["class"] for c in after["classes"]} == {1, 2, 3}


def test_a_gesture_is_shown_and_leaves_nothing_behind(cloud: Path) -> None:
    with opened(cloud) as (session, person):
        person.call("selectBox", BOX)
        flags = [node.flags.copy() for node in session.view.resident()]
        log = session.scene.log.head()

        def drag() -> None:
            gesture = person.gesture("selectPolygon")
            args = {"points": [[0, 0], [640, 0], [640, 720], [0, 720]], "space": "screen"}
            assert gesture.update(args)["live"] is True
            assert session.view.state.selection != session.state.selection
            gesture.cancel()

        session._on_scene(drag)
        assert session.view.state is session.state and session.scene.log.head() == log
        for node, had in zip(session.view.resident(), flags, strict=True):
            assert (node.flags == had).all()


def test_a_live_edit_is_not_kept_on_the_nodes(cloud: Path) -> None:
    """What a gesture's log adds goes when the committed log is shown again."""
    with opened(cloud) as (session, person):
        person.call("selectBox", BOX)
        scene = session.scene

        def preview() -> None:
            from oniyanma.scene import history, selection
            from oniyanma.scene.state import PointEdit

            rule = selection.rule_now(scene.state)
            assert rule is not None
            scene.live_state = history.append_step(
                scene.state, command="x", title="x", actor=PERSON, time="t",
                edits=(PointEdit("e1", "delete", rule),),
            )  # fmt: skip
            assert any((n.flags & DELETED).any() for n in scene.view.resident())
            scene.live_state = None
            assert not any((n.flags & DELETED).any() for n in scene.view.resident())

        session._on_scene(preview)


def test_when_the_log_cannot_be_written_nothing_happened(cloud: Path, monkeypatch) -> None:
    with opened(cloud) as (session, person):
        person.call("selectBox", BOX)
        state, flags = session.state, [n.flags for n in session.view.resident()]

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(session.scene.log, "write", full)
        answer = person.call("deleteSelection")
        assert answer["ok"] is False
        monkeypatch.undo()
        assert session.state is state
        assert all(a is b.flags for a, b in zip(flags, session.view.resident(), strict=True))


def test_a_cloud_whose_file_has_gone_is_said_and_the_rest_works(
    cloud: Path, tmp_path: Path
) -> None:
    """FIELD 54: a file deleted between sessions is a message, not a crash."""
    project = tmp_path / "a.oniyanma"
    gone = write_cloud(tmp_path / "gone.las", 300, 3)
    with opened(gone, project=project) as (_, person):
        person.call("selectWhere", {"classes": [1, 2]})
        assert person.call("deleteSelection")["ok"]
    gone.unlink()
    from oniyanma.app import Session

    with Session(project=project, inline_workers=True, actor=PERSON) as session:
        listed = session.call("listClouds")["clouds"]
        assert listed[0]["state"] == "failed" and "gone.las" in listed[0]["reason"]
        assert session.call("openCloud", path=str(cloud))["cloud"] == "c2"
        assert session.call("listEdits")["count"] == 1


def test_a_closed_cloud_opened_again_is_itself_with_its_edits(cloud: Path, tmp_path: Path) -> None:
    other = write_cloud(tmp_path / "other.las", 500, 2)
    with opened(cloud) as (session, person):
        person.call("selectBox", BOX)
        person.call("deleteSelection")
        person.call("closeCloud", {"cloud": "c1"})
        assert not session.view.resident()
        assert person.call("openCloud", {"path": str(other)})["cloud"] == "c2"
        session.settle()
        assert not any(n.flags.any() for n in session.view.resident())
        assert person.call("openCloud", {"path": str(cloud)})["cloud"] == "c1"
        session.settle()
        assert any((n.flags & DELETED).any() for n in session.view.resident() if n.id.cloud == "c1")


def test_a_new_attribute_reaches_resident_nodes_and_the_selection_that_reads_it(
    cloud: Path,
) -> None:
    with opened(cloud) as (session, person):
        assert not any("gps_time" in n.attributes for n in session.view.resident())
        answer = person.call("selectWhere", {"gpsTime": [None, 5e4]})
        session.settle()
        hit = sum(int((n.attributes["gps_time"] <= 5e4).sum()) for n in session.view.resident())
        assert answer["points"] == person.call("getSelection")["points"] == hit > 0


@pytest.mark.parametrize("projection", ["perspective", "orthographic"])
def test_a_pick_is_the_first_visible_point_a_scan_finds(cloud: Path, projection: str) -> None:
    """FIELD 9: its place is the stored integers, scaled, and nothing else."""
    with opened(cloud) as (session, person):
        person.call("setCamera", {"projection": projection})
        person.call("selectBox", BOX)
        person.call("hideSelection")
        session.settle()
        scene, rng = session.scene, np.random.default_rng(4)
        lens = scene.lens()
        nodes = session.view.resident()
        xyz = np.concatenate([n.xyz for n in nodes])
        seen = np.concatenate([n.flags & HIDDEN == 0 for n in nodes])
        world = xyz * 0.01 + np.array(ORIGIN)
        px, depth = lens.project(world)
        found = 0
        for x, y in rng.uniform((300, 150), (980, 570), (60, 2)):
            off = np.hypot(px[:, 0] - x, px[:, 1] - y)
            near = seen & (off <= 6.0)
            got = session._on_scene(lambda x=x, y=y: scene.pick(float(x), float(y)))
            if not near.any():
                assert got is None
                continue
            found += 1
            front = depth[near].min()
            limit = front + 12.0 * lens.units_per_pixel(front)
            best = np.flatnonzero(near & (depth <= limit))
            best = best[np.argmin(off[best])]
            assert got is not None and got.integers == tuple(xyz[best].tolist())
            assert got.position == tuple((xyz[best] * 0.01 + np.array(ORIGIN)).tolist())
            assert got.distance == pytest.approx(off[best], abs=1e-6)
        assert found > 20


def test_the_nearest_point_is_the_one_a_scan_finds(cloud: Path) -> None:
    with opened(cloud) as (session, person):
        person.call("setClassVisibility", {"classes": [3], "visible": False})
        nodes = session.view.resident()
        xyz = np.concatenate([n.xyz for n in nodes]) * 0.01 + np.array(ORIGIN)
        seen = np.concatenate([n.classification != 3 for n in nodes])
        rng = np.random.default_rng(4)
        for at in rng.uniform(ORIGIN, np.add(ORIGIN, (SIZE, SIZE, 20)), (40, 3)):
            far = np.sqrt(((xyz - at) ** 2).sum(axis=1))
            far[~seen] = np.inf
            got = session._on_scene(lambda at=at: session.scene.nearest(cam.as_vec3(at)))
            assert got is not None and got.distance == pytest.approx(far.min(), rel=1e-12)
            assert session.scene.nearest(cam.as_vec3(at), far.min() * 0.999) is None


def test_the_colour_ramp_is_not_ruined_by_one_noise_point(tmp_path: Path) -> None:
    """FIELD 8: 1,000 points in 100..110 and one at 10000: the ramp ends below 111."""
    import laspy

    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales = (0.01, 0.01, 0.01)
    las = laspy.LasData(header)
    rng = np.random.default_rng(0)
    las.x, las.y = rng.random((2, 1001)) * 10
    las.z = np.append(rng.uniform(100, 110, 1000), 10_000)
    las.write(str(tmp_path / "noise.las"))
    with opened(tmp_path / "noise.las") as (session, _):
        low, high = session.view.color_range("c1")
        assert 100 <= low < high < 111


def test_the_first_colour_is_rgb_only_where_there_is_colour(tmp_path: Path, cloud: Path) -> None:
    """FIELD 4: all RGB zero is no colour; then classes, and height where there is one class."""
    with opened(write_cloud(tmp_path / "color.las", 300, color=True)) as (session, _):
        assert session.state.display.color.mode == "rgb"
    with opened(cloud) as (session, _):
        assert session.state.display.color.mode == "classification"
    for name in ("pdal_4_6_crop.las", "laspy_plane.laz"):
        with opened(shared("corpus", name)) as (session, _):
            assert session.state.display.color.mode != "rgb"


def test_an_edit_leaves_the_colour_mode_alone(cloud: Path) -> None:
    """FIELD 48."""
    with opened(cloud) as (session, person):
        person.call("setColorMode", {"mode": "intensity"})
        display = session.state.display
        person.call("selectBox", BOX)
        person.call("reclassifySelection", {"class": 9})
        assert session.state.display == display


def test_a_cloud_with_no_points_has_a_finite_camera_and_answers(tmp_path: Path) -> None:
    """FIELD 24."""
    with opened(write_cloud(tmp_path / "none.las", 0)) as (session, person):
        assert np.isfinite((*session.state.camera.eye, *session.state.camera.target)).all()
        assert person.call("fitView")["ok"]
        assert person.call("selectBox", BOX)["points"] == 0
        assert person.call("deleteSelection")["ok"]


def test_signals_tell_of_states_and_nodes(cloud: Path) -> None:
    with opened(cloud) as (session, person):
        states: list[tuple[int, int]] = []
        nodes: list[int] = []
        session.scene.state_changed.connect(lambda a, b: states.append((a.revision, b.revision)))
        session.scene.resident_changed.connect(lambda: nodes.append(session.view.resident_version))
        revision = session.state.revision
        person.call("selectBox", BOX)
        assert states == [(revision, revision + 1)] and len(nodes) == 1
        assert any((n.flags & SELECTED).any() for n in session.view.resident())
        person.call("setPointSize", {"pixels": 3})
        assert len(states) == 2 and len(nodes) == 1


def test_navigation_over_a_scene_keeps_its_cloud(cloud: Path) -> None:
    with opened(cloud) as (session, person):
        ground = session.scene.ground()
        moved = nav.zoom(session.state.camera, ground, session.state.camera.target, 10)
        answer = person.call("setCamera", {"eye": list(moved.eye), "target": list(moved.target)})
        assert answer["ok"] and session.state.camera == replace(moved)


def test_a_machine_takes_back_only_its_own_and_a_person_anybodys(cloud: Path) -> None:
    with opened(cloud) as (session, person):
        ai = session.handle(Actor("ai", "model"))
        person.call("selectBox", BOX)
        person.call("reclassifySelection", {"class": 7})
        preview = ai.call("deleteSelection")
        assert preview["preview"] and preview["wouldAffect"]["points"] == visible_count(session)
        assert ai.call("deleteSelection", {"confirm": True})["points"] > 0
        person.call("colorSelection", {"color": "#ff0000"})
        assert ai.call("undo")["titles"][0].startswith("delete")
        refused = ai.call("undo")
        assert (
            refused["error"]["code"] == "unavailable" and "your own" in refused["error"]["message"]
        )
        assert [t.split()[0] for t in person.call("undo", {"steps": 5})["titles"]] == [
            "paint",
            "reclassify",
        ]
        again = person.call("redo", {"steps": 9})["titles"]
        assert [t.split()[0] for t in again] == ["reclassify", "paint", "delete"]
