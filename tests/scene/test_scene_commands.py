"""What the commands of view, clip, selection and edits answer, word by word where it is fixed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.scene.scene_help import AI, opened, visible_count, write_cloud

BOX = {"min": [500_020.0, 5_000_020.0, 0.0], "max": [500_080.0, 5_000_070.0, 500.0]}
EDITS = [
    ("hideSelection", {}),
    ("deleteSelection", {}),
    ("reclassifySelection", {"class": 6}),
    ("colorSelection", {"color": "#112233"}),
]


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cloud(tmp_path_factory.mktemp("clouds") / "square.las", 5000)


@pytest.mark.parametrize(("name", "args"), EDITS)
def test_a_dry_run_of_an_edit_counts_what_it_would_hit(cloud: Path, name: str, args: dict) -> None:
    """The three answers differ: a count, nothing selected, and a rule that hits nothing here."""
    with opened(cloud) as (session, person):
        ai = session.handle(AI)
        nothing = ai.call(name, args)
        assert nothing["wouldAffect"] == {
            "points": 0,
            "note": "No selection (select something first)",
        }
        done = ai.call(name, {**args, "confirm": True})
        assert done["ok"] and done["note"] == "No selection (select something first)"
        assert not session.state.events
        person.call("selectBox", BOX)
        preview = ai.call(name, args)
        assert preview["wouldAffect"] == {
            "points": visible_count(session),
            "note": "count on a resident (currently on-screen LOD sample) basis",
        }
        done = ai.call(name, {**args, "confirm": True, "token": preview["token"]})
        assert done["points"] == preview["wouldAffect"]["points"] > 0
        person.call("selectBox", {"min": [0, 0, 0], "max": [1, 1, 1]})
        missed = ai.call(name, args)["wouldAffect"]
        assert missed["points"] == 0 and missed["note"] not in (
            nothing["wouldAffect"]["note"],
            preview["wouldAffect"]["note"],
        )


def test_a_dry_run_of_clearing_counts_edits_and_says_whose(cloud: Path) -> None:
    with opened(cloud) as (session, person):
        ai = session.handle(AI)
        assert ai.call("clearEdits")["wouldAffect"]["edits"] == 0
        person.call("selectBox", BOX)
        for name, args in EDITS[2:]:
            person.call(name, args)
        would = ai.call("clearEdits")["wouldAffect"]
        assert would == {
            "edits": 2,
            "note": "other participants' edits are cleared too while collaborating",
        }
        assert ai.call("clearEdits", {"kinds": ["color"]})["wouldAffect"]["edits"] == 1
        assert ai.call("clearEdits", {"kinds": ["color"], "confirm": True})["edits"] == 1
        listed = person.call("listEdits")["edits"]
        assert [(e["kind"], e["undone"]) for e in listed] == [
            ("reclassify", False),
            ("color", True),
        ]
        assert person.call("undo")["titles"] == ["clear 1 edit (color)"]
        assert not any(e["undone"] for e in person.call("listEdits")["edits"])


def test_an_undo_is_named_after_what_it_takes_back(cloud: Path) -> None:
    with opened(cloud) as (_, person):
        points = person.call("selectBox", BOX)["points"]
        person.call("reclassifySelection", {"class": 6})
        assert person.call("undo")["titles"] == [f"reclassify {points:,} to Building"]
        assert person.call("listEdits", {"actorKind": "ai"})["count"] == 0


WRONG = [
    ("selectBox", {"min": [1, 0, 0], "max": [0, 1, 1]}, "$.min[0]"),
    ("selectWhere", {}, "$"),
    ("selectWhere", {"elevation": [5, 1]}, "$.elevation"),
    ("selectWhere", {"attribute": {"name": "nope", "range": [0, 1]}}, "$.attribute.name"),
    ("setClip", {}, "$"),
    ("setClip", {"clear": True, "polygon": [[0, 0], [1, 0], [1, 1]]}, "$"),
    ("setClip", {"clear": True, "zRange": [0, 1]}, "$.zRange"),
    ("setClip", {"box": {"min": [0, 2, 0], "max": [1, 1, 1]}}, "$.box.min[1]"),
    ("setCamera", {"eye": [1, 2, 3], "target": [1, 2, 3]}, "$.eye"),
    ("setCamera", {"up": [0, 0, 0]}, "$.up"),
    ("fitView", {"to": "cloud"}, "$.id"),
    ("setColorMode", {"mode": "nope"}, "$.mode"),
    ("setColorMode", {"mode": "intensity", "palette": "nope"}, "$.palette"),
    ("setColorMode", {"mode": "intensity", "range": [5, 5]}, "$.range"),
]


@pytest.mark.parametrize(("name", "args", "path"), WRONG)
def test_what_makes_no_sense_is_told_with_place_and_remedy(cloud, name, args, path) -> None:
    with opened(cloud) as (session, person):
        state = session.state
        error = person.call(name, args)["error"]
        assert error["code"] == "invalid_arguments" and error["problems"][0]["path"] == path
        assert error["problems"][0]["allowed"] and session.state is state


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("closeCloud", {"cloud": "c9"}),
        ("setCloudVisibility", {"cloud": "c9", "visible": True}),
        ("getCloudInfo", {"cloud": "c9"}),
        ("setCamera", {"bookmark": "nope"}),
        ("fitView", {"to": "finding", "id": "f9"}),
        ("setColorMode", {"mode": "rgb", "cloud": "c9"}),
    ],
)
def test_what_is_not_there_is_not_found(cloud, name, args) -> None:
    with opened(cloud) as (_, person):
        assert person.call(name, args)["error"]["code"] == "not_found"


def test_the_view_answers_what_was_set(cloud: Path) -> None:
    with opened(cloud) as (session, person):
        person.call("setCamera", {"preset": "top", "projection": "orthographic", "mode": "fly"})
        person.call("setPointSize", {"pixels": 5, "adaptive": False})
        person.call("setPointBudget", {"points": 300_000})
        person.call("setEyeDomeLighting", {"enabled": False, "strength": 2})
        person.call("setClassVisibility", {"classes": [7, 18], "visible": False})
        person.call(
            "setColorMode", {"mode": "intensity", "range": [1, 9], "classColors": {"2": "#010203"}}
        )
        person.call(
            "setClip", {"polygon": [[0, 0], [9, 0], [9, 9]], "zRange": [None, 5], "mode": "outside"}
        )
        view = person.call("getView")
        assert view["projection"] == "orthographic" and view["mode"] == "fly"
        assert view["eye"][:2] == view["target"][:2] and view["eye"][2] > view["target"][2]
        assert view["pointSize"] == {"pixels": 5.0, "adaptive": False}
        assert view["budget"] == 300_000
        assert view["eyeDomeLighting"]["enabled"] is False
        assert view["hiddenClasses"] == [7, 18]
        assert view["color"]["mode"] == "intensity" and view["color"]["range"] == [1.0, 9.0]
        assert view["clip"]["zRange"] == [None, 5.0] and view["clip"]["mode"] == "outside"
        assert view["resident"]["points"] == 5000 and view["resident"]["bytes"] > 5000 * 12
        assert session.state.display.class_colors[2] == "#010203"


def test_all_classes_are_shown_or_hidden_with_one_command(cloud: Path) -> None:
    """FIELD 49 and 26: the table has 256 classes, each to be shown or hidden."""
    with opened(cloud) as (session, person):
        person.call("setClassVisibility", {"classes": [], "visible": True, "only": True})
        assert session.state.hidden_classes == frozenset(range(256))
        person.call("setClassVisibility", {"classes": [143], "visible": True})
        assert session.state.hidden_classes == frozenset(range(256)) - {143}
        person.call("setClassVisibility", {"classes": [], "visible": False, "only": True})
        assert not session.state.hidden_classes


def test_fit_frames_the_selection_a_cloud_and_a_finding(cloud: Path) -> None:
    with opened(cloud) as (session, person):
        small = {"min": [500_040.0, 5_000_040.0, 0.0], "max": [500_045.0, 5_000_045.0, 500.0]}
        assert "note" in person.call("fitView", {"to": "selection"})
        person.call("selectBox", small)
        person.call("fitView", {"to": "selection"})
        assert np.allclose(session.state.camera.target[:2], (500_042.5, 5_000_042.5), atol=2.0)
        place = [500_010.0, 5_000_090.0, 101.0]
        finding = person.call("addFinding", {"title": "a", "position": place})["id"]
        person.call("fitView", {"to": "finding", "id": finding})
        assert np.allclose(session.state.camera.target, place, atol=0.5)
        person.call("fitView", {"to": "cloud", "id": "c1"})
        assert np.allclose(session.state.camera.target[:2], (500_050, 5_000_050), atol=5.0)


def test_a_screen_polygon_with_heights_takes_only_those(cloud: Path) -> None:
    with opened(cloud) as (_, person):
        person.call("setCamera", {"preset": "top"})
        lasso = {"points": [[0, 0], [1280, 0], [1280, 720], [0, 720]], "space": "screen"}
        whole = person.call("selectPolygon", lasso)["points"]
        person.call("selectPolygon", {**lasso, "zRange": [110, None]})
        high = person.call("getSelection")
        assert 0 < high["points"] < whole and high["bounds"]["min"][2] >= 110
        person.call("selectPolygon", {**lasso, "zRange": [None, 109.99], "mode": "add"})
        assert person.call("getSelection")["points"] == whole
