"""Random commands by a person and an AI, while the camera moves: the points on screen are what
a slow and plain reading of the log over all points of the file says, and so are the counts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import laspy
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from oniyanma.app import Session
from oniyanma.registry import Actor
from oniyanma.rules.block import PointBlock
from oniyanma.rules.evaluate import evaluate
from oniyanma.scene import history
from oniyanma.scene.ports import CLIPPED, DELETED, HIDDEN, SELECTED
from tests.scene.scene_help import ORIGIN, PERSON, Reference, write_cloud

x = st.floats(500_000, 500_100)
y = st.floats(5_000_000, 5_000_100)
screen = st.lists(st.tuples(st.floats(-50, 370), st.floats(-50, 290)), min_size=3, max_size=9)
modes = st.sampled_from(["replace", "add", "subtract", "intersect"])
who = st.sampled_from(["person", "ai"])


class SceneMachine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = write_cloud(Path(self.folder.name) / "square.las", 24_000)
        las = laspy.read(path)
        self.gps = np.asarray(las.gps_time)
        order = np.argsort(self.gps)
        self.gps = self.gps[order]
        names = ("classification", "intensity", "return_number", "gps_time")
        attributes = {name: np.asarray(las[name])[order] for name in names}
        xyz = np.stack((las.X, las.Y, las.Z), axis=1)[order]
        block = PointBlock("c1", xyz, (0.01, 0.01, 0.01), ORIGIN, attributes)
        self.reference = Reference(block)
        self.session = Session(inline_workers=True, actor=PERSON, viewport=(320, 240))
        assert self.session.call("openCloud", path=str(path))["ok"]
        self.session._on_scene(lambda: self.session.scene.bring({"gps_time"}))
        self.handles = {
            "person": self.session.handle(PERSON),
            "ai": self.session.handle(Actor("ai", "model")),
        }

    def call(self, who: str, name: str, **args: object) -> dict:
        self.session.settle()
        answer = self.handles[who].call(name, args)
        code = answer.get("error", {}).get("code")
        fine = answer.get("ok") or answer.get("preview")
        assert fine or code in ("unavailable", "refused"), answer
        return answer

    @rule(who=who, points=screen, mode=modes)
    def lasso(self, who, points, mode) -> None:
        self.call(who, "selectPolygon", points=points, space="screen", mode=mode)

    @rule(a=st.tuples(x, y), b=st.tuples(x, y), turn=st.sampled_from([0, 33.0]), mode=modes)
    def box(self, a, b, turn, mode) -> None:
        low = [min(a[0], b[0]), min(a[1], b[1]), 100.0]
        high = [max(a[0], b[0]), max(a[1], b[1]), 110.0]
        self.call("person", "selectBox", min=low, max=high, rotation=turn, mode=mode)

    @rule(classes=st.sets(st.integers(1, 9), min_size=1, max_size=3), mode=modes)
    def where(self, classes, mode) -> None:
        self.call("ai", "selectWhere", classes=sorted(classes), mode=mode)

    @rule()
    def invert(self) -> None:
        self.call("person", "invertSelection")

    @rule(who=who, kind=st.sampled_from(["hide", "delete", "color"]))
    def edit(self, who, kind) -> None:
        more = {"color": "#10f020"} if kind == "color" else {}
        if who == "ai":
            preview = self.call(who, f"{kind}Selection", **more)
            count = preview.get("wouldAffect", {}).get("points")
            done = self.call(who, f"{kind}Selection", **more, confirm=True)
            assert done["points"] == count
        else:
            self.call(who, f"{kind}Selection", **more)

    @rule(number=st.integers(0, 9))
    def reclassify(self, number) -> None:
        self.call("person", "reclassifySelection", **{"class": number})

    @rule(who=who, steps=st.integers(1, 3))
    def undo(self, who, steps) -> None:
        self.call(who, "undo", steps=steps)

    @rule(who=who, steps=st.integers(1, 3))
    def redo(self, who, steps) -> None:
        self.call(who, "redo", steps=steps)

    @rule(kinds=st.sampled_from([None, ["delete"], ["reclassify", "hide"]]))
    def clear(self, kinds) -> None:
        self.call("person", "clearEdits", **({} if kinds is None else {"kinds": kinds}))

    @rule(name=st.sampled_from(["top", "iso", "left"]), near=st.floats(0.2, 1.5))
    def look(self, name, near) -> None:
        self.call("person", "setCamera", preset=name)
        camera = self.session.state.camera
        eye = np.array(camera.target) + (np.array(camera.eye) - camera.target) * near
        self.call("person", "setCamera", eye=eye.tolist())

    @rule(low=x, wide=st.floats(1, 80), mode=st.sampled_from(["inside", "outside"]))
    def clip(self, low, wide, mode) -> None:
        box = {"min": [low, 5_000_000, 0], "max": [low + wide, 5_000_100, 500]}
        self.call("person", "setClip", box=box, mode=mode)

    @rule()
    def unclip(self) -> None:
        self.call("person", "setClip", clear=True)

    @rule(classes=st.sets(st.integers(1, 9), max_size=2), visible=st.booleans())
    def classes(self, classes, visible) -> None:
        self.call("ai", "setClassVisibility", classes=sorted(classes), visible=visible)

    @invariant()
    def the_screen_is_what_the_log_says(self) -> None:
        self.session.settle()
        state = self.session.state
        reference = self.reference
        classes, hidden, deleted, paint = reference.at(state.events)
        reference.block.as_at = lambda p: reference.state(state.events, p)
        n = len(reference.block)
        rule_, clip = state.selection.rule, state.clip
        selected = np.zeros(n, bool) if rule_ is None else evaluate(rule_, reference.block)
        inside = np.ones(n, bool)
        if clip is not None:
            inside = evaluate(clip.shape, reference.block) == (clip.mode == "inside")
        seen = (
            selected & inside & ~hidden & ~deleted & ~np.isin(classes, list(state.hidden_classes))
        )
        counted = np.zeros(256, int)
        for node in self.session.view.resident():
            at = np.searchsorted(self.gps, node.attributes["gps_time"])
            assert (node.classification == classes[at]).all()
            assert ((node.flags & HIDDEN != 0) == hidden[at]).all()
            assert ((node.flags & DELETED != 0) == deleted[at]).all()
            assert ((node.flags & SELECTED != 0) == selected[at]).all()
            assert ((node.flags & CLIPPED != 0) == ~inside[at]).all()
            painted = node.paint if node.paint is not None else np.zeros((len(at), 4), np.uint8)
            assert (painted == paint[at]).all()
            counted += np.bincount(classes[at][seen[at]], minlength=256)
        answer = self.session.call("getSelection")
        assert answer["points"] == counted.sum()
        assert {c["class"]: c["points"] for c in answer["classes"]} == {
            int(c): int(counted[c]) for c in np.flatnonzero(counted)
        }
        if rule_ is None:
            assert answer["note"] == "No selection (select something first)"
        listed = self.session.call("listEdits")["edits"]
        in_force = {edit.id for _, edit in history.active_edits(state.events)}
        assert {e["id"] for e in listed if not e["undone"]} == in_force

    def teardown(self) -> None:
        if hasattr(self, "session"):
            self.session.close()
            self.folder.cleanup()


SceneMachine.TestCase.settings = settings(max_examples=8, stateful_step_count=20, deadline=None)
TestScene = SceneMachine.TestCase
