"""Frames one after another: what is sent, kept, thinned, added, and built again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oniyanma.clouds.model import NodeKey
from oniyanma.render.arena import FreeList
from oniyanma.render.frame import LEAST, FrameControl
from oniyanma.render.headless import HeadlessRenderer
from oniyanma.render.renderer import FrameStats
from oniyanma.scene.ports import HIDDEN
from oniyanma.scene.state import Camera, ColorMode
from tests.render.scenes import View, cloud_info, lit, node, one_cloud

SIZE = (160, 120)


def cube(points: int = 60_000, parts: int = 30, seed: int = 0) -> View:
    """A cube of points seen from a corner, in ``parts`` nodes."""
    where = np.random.default_rng(seed).uniform(-5, 5, (points, 3))
    rgb = np.random.default_rng(seed + 1).integers(80, 256, (3, points)).astype(np.uint16)
    colors = dict(zip(("red", "green", "blue"), rgb, strict=True))
    camera = Camera((14.0, -15.0, 9.0), (0.0, 0.0, 0.0))
    return one_cloud(where, camera, parts=parts, attributes=colors)


def stats(renderer: HeadlessRenderer) -> FrameStats:
    assert renderer.stats is not None
    return renderer.stats


def test_the_draw_list_is_the_resident_set(renderer: HeadlessRenderer) -> None:
    view = cube()
    renderer.pixels(view, *SIZE)
    assert renderer.points.draw_list() == {n.id: len(n.xyz) for n in view.nodes}
    assert stats(renderer).points == stats(renderer).resident == 60_000
    view.load(*view.nodes[3:17])
    renderer.pixels(view, *SIZE)
    assert renderer.points.draw_list() == {n.id: len(n.xyz) for n in view.nodes}


def test_a_picture_does_not_depend_on_how_its_nodes_came(renderer: HeadlessRenderer) -> None:
    """Sent in small parts, with others coming and going: the same pixels as all at once."""
    view = cube()
    everything = view.nodes
    whole = renderer.pixels(view, *SIZE)
    other = HeadlessRenderer()
    rng = np.random.default_rng(4)
    for _ in range(6):
        some = rng.permutation(len(everything))[: rng.integers(5, 25)]
        view.load(*(everything[i] for i in sorted(some)))
        other.pixels(view, *SIZE, max_upload=50_000)
    view.load(*everything)
    for _ in range(60):
        parts = other.pixels(view, *SIZE, max_upload=50_000)
        if not stats(other).again:
            break
    assert np.array_equal(parts, whole)
    other.close()


def test_a_frame_sends_no_more_than_its_budget_and_coarse_nodes_first(
    renderer: HeadlessRenderer,
) -> None:
    view = cube()
    seen = 0
    for _ in range(30):
        renderer.pixels(view, *SIZE, max_upload=100_000)
        assert stats(renderer).uploaded <= 100_000 + 20 * 2_000
        drawn = list(renderer.points.draw_list())
        assert drawn == [n.id for n in view.nodes][: len(drawn)]
        assert len(drawn) > seen or not stats(renderer).waiting
        seen = len(drawn)
        if not stats(renderer).again:
            break
    assert seen == 30


def test_a_node_that_comes_back_is_not_sent_again(renderer: HeadlessRenderer) -> None:
    view = cube()
    everything = view.nodes
    renderer.pixels(view, *SIZE)
    view.load(*everything[:10])
    renderer.pixels(view, *SIZE)
    view.load(*everything)
    renderer.pixels(view, *SIZE)
    assert stats(renderer).uploaded == 0


def test_room_is_taken_from_the_nodes_that_were_not_drawn_for_longest(
    renderer: HeadlessRenderer,
) -> None:
    """Six budgets of points pass through one page of memory, and each picture is right."""
    where = np.random.default_rng(0).uniform(-5, 5, (600_000, 3))
    view = one_cloud(where, Camera((14.0, -15.0, 9.0), (0.0, 0.0, 0.0)), parts=60)
    view.state = replace(view.state, budget=100_000)
    nodes = view.nodes
    sizes = set()
    for start in range(0, 60, 7):
        view.load(*nodes[start : start + 8])
        picture = renderer.pixels(view, *SIZE)
        sizes.add(stats(renderer).gpu_bytes)
    fresh = HeadlessRenderer()
    assert np.array_equal(fresh.pixels(view, *SIZE), picture)
    fresh.close()
    assert len(sizes) == 1 and sizes.pop() == 1_000_000 * 20
    held = renderer.points._gpu.arena._slots  # type: ignore[union-attr]
    assert nodes[0].id not in held or len(held) == 60


def test_a_bigger_budget_adds_a_page_and_keeps_what_is_there(renderer: HeadlessRenderer) -> None:
    view = cube(1_500_000, 30)
    view.state = replace(view.state, budget=800_000)
    nodes = view.nodes
    view.load(*nodes[:15])
    renderer.pixels(view, *SIZE)
    view.load(*nodes)
    view.state = replace(view.state, budget=2_000_000)
    renderer.pixels(view, *SIZE)
    assert stats(renderer).uploaded == 750_000 * 20
    assert stats(renderer).points == 750_000  # the others are in the picture already
    assert stats(renderer).gpu_bytes == 2_500_000 * 20


def test_an_edit_of_all_points_shows_whole_in_one_frame_whatever_the_budget(
    renderer: HeadlessRenderer,
) -> None:
    """Never half: the classes of every node are sent before anything is drawn."""
    view = cube().show(color=ColorMode("classification"), point_size=2.0)
    before = renderer.pixels(view, *SIZE)
    for i, n in enumerate(view.nodes):
        view.put(i, classification=np.full(len(n.xyz), 9, np.uint8))
    after = renderer.pixels(view, *SIZE, max_upload=1000, frame_budget_ms=1.0)
    assert not stats(renderer).again
    points = lit(before)
    assert points.sum() > 1000
    assert len(np.unique(after[points][:, :3], axis=0)) == 1
    assert stats(renderer).uploaded == 60_000 * 4


def test_only_what_changed_is_sent(renderer: HeadlessRenderer) -> None:
    view = cube()
    renderer.pixels(view, *SIZE)
    view.put(4, flags=np.full(2000, HIDDEN, np.uint8))
    renderer.pixels(view, *SIZE)
    assert stats(renderer).uploaded == 2000 * 4


def test_a_lost_context_is_built_again_with_the_same_pixels(renderer: HeadlessRenderer) -> None:
    """The context goes with all that was in it; a new one shows the same."""
    view = cube().show(edl=True, adaptive=True)
    before = renderer.pixels(view, *SIZE)

    def lose() -> None:
        assert renderer._context is not None
        renderer._context.close()
        renderer._context = renderer._target = None
        renderer.points.release(lost=True)

    renderer.run(lose)
    assert np.array_equal(renderer.pixels(view, *SIZE), before)
    assert stats(renderer).uploaded == 60_000 * 20


def test_a_resized_picture_is_drawn_anew_at_its_size(renderer: HeadlessRenderer) -> None:
    view = cube()
    first = renderer.pixels(view, 160, 120)
    assert renderer.pixels(view, 90, 200).shape == (200, 90, 4)
    assert np.array_equal(renderer.pixels(view, 160, 120), first)


# -- moving and rest ---------------------------------------------------------------------------


def test_moving_frames_draw_what_fits_and_change_no_count(renderer: HeadlessRenderer) -> None:
    """A prefix of every node, and the draw list stays the resident set."""
    view = cube(400_000, 40)
    renderer.pixels(view, *SIZE)
    renderer.pixels(view, *SIZE, moving=True, frame_budget_ms=0.01)
    thin = stats(renderer)
    assert 20_000 <= thin.points < 110_000
    assert thin.resident == 400_000 and thin.again
    assert sum(renderer.points.draw_list().values()) == 400_000


@pytest.mark.parametrize("moved_first", [True, False])
def test_at_rest_the_picture_is_completed_in_parts_and_then_costs_nothing(
    renderer: HeadlessRenderer, moved_first: bool
) -> None:
    """The parts together are the picture drawn at once (but where two points are equally deep)."""
    view = cube(400_000, 40)
    renderer.pixels(view, *SIZE)
    view.look(Camera((-14.0, -15.0, 12.0), (0.0, 0.0, 0.0)))
    if moved_first:
        renderer.pixels(view, *SIZE, moving=True, frame_budget_ms=0.01)
    renderer.points._control._rate = 500.0  # points a millisecond: ten parts
    frames = 0
    while frames < 100:
        picture = renderer.pixels(view, *SIZE, frame_budget_ms=1.0)
        frames += 1
        if not stats(renderer).again:
            break
        renderer.points._control._rate = 500.0
    assert 5 < frames < 20
    renderer.pixels(view, *SIZE, frame_budget_ms=1.0)
    assert stats(renderer).points == 0 and not stats(renderer).again
    other = HeadlessRenderer()
    assert np.any(other.pixels(view, *SIZE) != picture, axis=2).sum() <= 3
    other.close()


def test_arriving_points_are_added_without_drawing_the_others_again(
    renderer: HeadlessRenderer,
) -> None:
    view = cube()
    nodes = view.nodes
    view.load(*nodes[:20])
    renderer.pixels(view, *SIZE)
    view.load(*nodes)
    renderer.pixels(view, *SIZE)
    assert stats(renderer).points == 10 * 2000


@given(st.lists(st.tuples(st.integers(1_000, 3_000_000), st.floats(0.1, 900.0)), max_size=30))
def test_the_share_follows_the_measured_frames_within_bounds(
    frames: list[tuple[int, float]],
) -> None:
    control = FrameControl()
    for points, ms in frames:
        control.measured(points, ms)
    share = control.share(5_000_000, 50.0)
    assert LEAST / 5_000_000 <= share <= 1.0
    assert control.share(100, 50.0) == 1.0
    rates = [p / ms for p, ms in frames if p >= LEAST // 2]
    if rates:
        low, high = min(rates) * 50.0, max(rates) * 50.0
        assert share <= max(high * 1.001, LEAST) / 5_000_000 or share == 1.0
        assert share >= min(low * 0.999 / 5_000_000, 1.0) - 1e-6


# -- memory ------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 60)), max_size=120))
def test_runs_never_overlap_and_all_come_back(steps: list[tuple[bool, int]]) -> None:
    """Against a plain list of taken places."""
    runs, held = FreeList(200), []
    taken: set[int] = set()
    for give, number in steps:
        if give and held:
            first, count = held.pop(number % len(held))
            runs.give(first, count)
            taken -= set(range(first, first + count))
        else:
            first = runs.take(number)
            if first is not None:
                run = set(range(first, first + number))
                assert not run & taken and max(run) < 200
                taken |= run
                held.append((first, number))
            else:
                free = "".join("x" if i in taken else "." for i in range(200))
                assert "." * number not in free
        assert runs.free == 200 - len(taken)
    for first, count in held:
        runs.give(first, count)
    assert runs.take(200) == 0


def test_a_point_takes_twenty_bytes(renderer: HeadlessRenderer) -> None:
    view = cube()
    renderer.pixels(view, *SIZE)
    assert stats(renderer).uploaded == 60_000 * 20


def test_empty_nodes_and_empty_clouds_are_drawn_as_nothing(renderer: HeadlessRenderer) -> None:
    """FIELD_REPORTS 24."""
    view = cube(100, 1)
    info = cloud_info(np.zeros((0, 3)))
    view.load(node(np.zeros((0, 3)), info, key=NodeKey(2, 0, 0, 0)))
    assert not lit(renderer.pixels(view, *SIZE)).any()
    assert stats(renderer).points == 0 and not stats(renderer).again
