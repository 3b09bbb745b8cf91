"""The cut: what is resident follows from camera, viewport, budget and trees, and nothing else."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from oniyanma.clouds.lod import ViewParams, cut, fair_shares
from oniyanma.clouds.model import Hierarchy
from oniyanma.clouds.octree import empty_hierarchy, make_hierarchy

SIDE = 1000.0


def tree_of(seed: int, nodes: int, origin: float = 0.0, empty_share: float = 0.1) -> Hierarchy:
    """A random octree of about ``nodes`` nodes over a cube of 1000 units."""
    rng = np.random.default_rng(seed)
    keys = [(0, 0, 0, 0)]
    front = list(keys)
    while front and len(keys) < nodes:
        depth, x, y, z = front.pop(int(rng.integers(len(front))))
        for child in rng.permutation(8)[: rng.integers(1, 6)]:
            key = (depth + 1, 2 * x + (child & 1), 2 * y + (child >> 1 & 1), 2 * z + (child >> 2))
            keys.append(tuple(int(v) for v in key))
            front.append(keys[-1])
    counts = rng.integers(1, 20_000, len(keys))
    counts[rng.random(len(keys)) < empty_share] = 0
    tree, _ = make_hierarchy(np.array(keys, np.int32), counts, np.full(3, origin), SIDE, SIDE / 128)
    return tree


def look(
    eye: np.ndarray, at: np.ndarray, fov: float = 60.0, size: tuple[float, float] = (800, 600)
) -> ViewParams:
    """A perspective view from ``eye`` to ``at``."""
    forward = (at - eye) / np.linalg.norm(at - eye)
    side = np.cross(forward, [0.0, 0.0, 1.0])
    side = side / np.linalg.norm(side) if np.linalg.norm(side) > 1e-9 else np.array([1.0, 0, 0])
    up = np.cross(side, forward)
    view = np.eye(4)
    view[0, :3], view[1, :3], view[2, :3] = side, up, -forward
    view[:3, 3] = -view[:3, :3] @ eye
    k = 1 / np.tan(np.radians(fov) / 2)
    projection = np.zeros((4, 4))
    projection[0, 0], projection[1, 1] = k * size[1] / size[0], k
    projection[2, 2], projection[2, 3], projection[3, 2] = -1.0, -0.2, -1.0
    return ViewParams(projection @ view, (eye[0], eye[1], eye[2]), size)


points = st.tuples(*[st.floats(-1500, 2500)] * 3).map(np.array)
seeds = st.integers(0, 10_000)


@given(seeds, points, st.integers(0, 3_000_000), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_the_budget_is_never_exceeded(seed, eye, budget, clouds):
    trees = [tree_of(seed + i, 150) for i in range(clouds)]
    chosen = cut(trees, look(eye, np.full(3, SIDE / 2) + 0.5), budget)
    assert sum(int(t.counts[c].sum()) for t, c in zip(trees, chosen, strict=True)) <= budget


@given(seeds, points, st.integers(0, 3_000_000))
@settings(max_examples=60, deadline=None)
def test_with_a_node_all_its_ancestors_are_resident_and_come_first(seed, eye, budget):
    tree = tree_of(seed, 300)
    (chosen,) = cut([tree], look(eye, np.full(3, SIDE / 2) + 0.5), budget)
    place = {int(node): i for i, node in enumerate(chosen)}
    for node, i in place.items():
        above = int(tree.parents[node])
        assert above < 0 or place[above] < i


@given(seeds, points, st.integers(0, 3_000_000))
@settings(max_examples=30, deadline=None)
def test_the_same_camera_and_budget_give_the_same_cut_whatever_was_asked_before(seed, eye, budget):
    trees = [tree_of(seed, 200), tree_of(seed + 1, 200)]
    view = look(eye, np.full(3, SIDE / 2) + 0.5)
    first = cut(trees, view, budget)
    cut(trees, look(eye + 100.0, np.zeros(3)), budget // 2)
    again = cut(trees, view, budget)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


@given(seeds, points, st.floats(0.0, 0.95))
@settings(max_examples=80, deadline=None)
def test_moving_closer_never_takes_away_points_that_are_still_in_view(seed, eye, share):
    tree = tree_of(seed, 300)
    target = np.full(3, SIDE / 2) + 0.5
    if np.linalg.norm(target - eye) < 1.0:
        return
    far, near = look(eye, target), look(eye + share * (target - eye), target)
    (before,) = cut([tree], far, 1 << 60)
    (after,) = cut([tree], near, 1 << 60)
    kept = set(after.tolist())
    for node in set(before.tolist()) - kept:
        centre = (tree.mins[node] + tree.maxs[node]) / 2
        clip = near.matrix @ [*centre, 1.0]
        assert abs(clip[0]) > clip[3] or abs(clip[1]) > clip[3]


@given(st.lists(st.integers(0, 10**7), max_size=12), st.integers(0, 10**7))
@settings(max_examples=200, deadline=None)
def test_a_shared_budget_is_max_min_fair(demands, budget):
    shares = fair_shares(np.array(demands, np.int64), budget)
    assert (shares <= demands).all() and shares.sum() <= budget
    if demands:
        even = budget // len(demands)
        # nobody who asks for more than an even share gets less than one
        assert all(s >= min(d, even) for s, d in zip(shares, demands, strict=True))
        if sum(demands) > budget:
            assert budget - shares.sum() < len(demands)
            unmet = [int(s) for s, d in zip(shares, demands, strict=True) if s < d]
            assert max(unmet) - min(unmet) <= 1


def test_a_cloud_far_away_does_not_starve_the_one_in_front():
    near, far = tree_of(1, 400, empty_share=0), tree_of(1, 400, origin=50_000.0, empty_share=0)
    view = look(np.array([500.0, -800.0, 700.0]), np.array([500.0, 500.0, 500.0]))
    alone = cut([far], view, 1 << 60)[0]
    budget = 150_000
    chosen = cut([near, far], view, budget)
    spare = budget - int(far.counts[alone].sum())
    assert near.counts[chosen[0]].sum() > spare - int(near.counts.max())


def test_a_budget_that_binds_keeps_the_coarse_nodes():
    tree = tree_of(3, 400, empty_share=0)
    view = look(np.array([500.0, -800.0, 700.0]), np.array([500.0, 500.0, 500.0]))
    (all_of_it,) = cut([tree], view, 1 << 60)
    (few,) = cut([tree], view, int(tree.counts[all_of_it].sum() // 3))
    assert len(few) > 0 and np.array_equal(few, all_of_it[: len(few)])


def test_nothing_behind_the_camera_is_resident_beyond_what_holds_the_eye():
    tree = tree_of(5, 400, empty_share=0)
    view = look(np.array([500.0, -10.0, 500.0]), np.array([500.0, -500.0, 500.0]))
    (chosen,) = cut([tree], view, 1 << 60)
    assert len(chosen) == 0


def test_trees_without_nodes_and_a_budget_of_nothing_give_empty_cuts():
    view = look(np.array([0.0, -10.0, 5.0]), np.zeros(3))
    assert cut([], view, 100) == []
    (nothing,) = cut([empty_hierarchy()], view, 100)
    assert len(nothing) == 0
    (none,) = cut([tree_of(1, 20, empty_share=0)], view, 0)
    assert len(none) == 0


def test_an_orthographic_view_refines_as_it_is_zoomed_in():
    tree = tree_of(7, 2000, empty_share=0)

    def ortho(width: float) -> ViewParams:
        matrix = np.diag([2 / width, 2 / width, -1e-4, 1.0])
        matrix[:3, 3] = [-1000 / width, -1000 / width, 0.0]
        return ViewParams(matrix, (500.0, 500.0, 1e6), (800, 800), perspective=False)

    (wide,) = cut([tree], ortho(20_000.0), 1 << 60)
    (fit,) = cut([tree], ortho(1000.0), 1 << 60)
    assert 0 < len(wide) < len(fit)
    assert set(wide.tolist()) <= set(fit.tolist())


def test_a_node_without_its_parent_hangs_under_the_nearest_ancestor():
    keys = np.array([(0, 0, 0, 0), (3, 1, 2, 3), (2, 3, 3, 3)], np.int32)
    tree, order = make_hierarchy(keys, np.array([5, 7, 9]), np.zeros(3), 8.0, 1.0)
    assert tree.parents.tolist() == [-1, 0, 0]
    assert tree.counts.tolist() == [5, 9, 7] and order.tolist() == [0, 2, 1]
    assert tree.mins[2].tolist() == [1.0, 2.0, 3.0] and tree.maxs[2].tolist() == [2.0, 3.0, 4.0]
    assert tree.spacing.tolist() == [1.0, 0.25, 0.125]
