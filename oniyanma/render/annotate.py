"""The overlay pass: lines, labels, markers and screen shapes over the points.

World places are projected in float64 with the same matrices as the points; what reaches the GPU
are triangles in pixels. Every line has a dark (or light) rim, so that it reads over any colour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.render import gl, shaderlib, sprites
from oniyanma.render.look import Theme, depth_span, floats
from oniyanma.render.sprites import Sprite
from oniyanma.scene.camera import Matrices
from oniyanma.scene.overlays import BoxOutline, Label, Line, Marker, Overlay, ScreenPolygon

Array = npt.NDArray[np.float64]
Quad = npt.NDArray[np.float32]

FLOATS = 14  # x, y · s, t · r, g, b, a · depth, hidden, length, half width · kind, phase
ATLAS = 1024  # pixels a side
_GUARD = 3.0  # lines are cut at three times the picture's half size
_DASH = 5.0  # logical pixels
_SPRITE, _FLAT, _LINE, _DASHED = 0.0, 1.0, 2.0, 3.0
_EDGES = [(i, (i + 1) % 4) for i in range(4)]
_EDGES += [(i + 4, j + 4) for i, j in _EDGES] + [(i, i + 4) for i in range(4)]


class Atlas:
    """Sprites on one texture, in shelves; emptied when full."""

    def __init__(self) -> None:
        self.texture = gl.Texture()
        self.texture.resize(ATLAS, ATLAS)
        self._at: dict[Any, tuple[int, int, Sprite]] = {}
        self._x = self._y = self._shelf = 0

    def clear(self) -> None:
        self._at.clear()
        self._x = self._y = self._shelf = 0

    def put(self, key: Any, sprite: Sprite) -> tuple[int, int, Sprite] | None:
        """Where a sprite lies; None when there is no room left."""
        height, width = sprite.pixels.shape[:2]
        if self._x + width + 1 > ATLAS:
            self._x, self._y, self._shelf = 0, self._y + self._shelf + 1, 0
        if self._y + height + 1 > ATLAS or width + 1 > ATLAS:
            return None
        self.texture.write(sprite.pixels, self._x, self._y)
        found = self._at[key] = (self._x, self._y, sprite)
        self._x += width + 1
        self._shelf = max(self._shelf, height)
        return found

    def get(self, key: Any) -> tuple[int, int, Sprite] | None:
        return self._at.get(key)


class Annotations:
    """Draws overlays. Lives in one context."""

    def __init__(self) -> None:
        self.atlas = Atlas()
        self._program = gl.Program(
            "overlay",
            shaderlib.load("overlay.vert"),
            shaderlib.load("overlay.frag"),
            ("a_place", "a_texture", "a_color", "a_line", "a_kind"),
        )
        self._buffer = gl.Buffer(6 * 4 * FLOATS * 256)

    def draw(
        self,
        overlays: Iterable[Overlay],
        lens: Matrices,
        size: tuple[int, int],
        ratio: float,
        theme: Theme,
        depth: gl.Texture,
        framebuffer: int,
        far: float,
    ) -> None:
        """Draw in order: shapes and lines first, then markers, then labels."""
        wanted = list(overlays)
        if not wanted:
            return
        build = _Build(self.atlas, lens, size, ratio, theme)
        for overlay in wanted:
            build.shape(overlay)
        for overlay in wanted:
            if isinstance(overlay, Marker):
                build.marker(overlay)
        for overlay in wanted:
            if isinstance(overlay, Label):
                build.label(overlay)
        vertices = build.vertices()
        if not len(vertices):
            return
        if vertices.nbytes > self._buffer.nbytes:
            self._buffer.delete()
            self._buffer = gl.Buffer(2 * vertices.nbytes)
        self._buffer.write(0, vertices)
        gl.begin_screen(framebuffer, *size, blend=True)
        self._program.use(
            {
                "u_size": (float(size[0]), float(size[1])),
                "u_atlas_size": float(ATLAS),
                "u_inverse_far": 1.0 / far if lens.perspective else 0.0,
                "u_dash": _DASH * ratio,
            }
        )
        self._program.sample("u_atlas", 0, self.atlas.texture)
        self._program.sample("u_depth", 1, depth)
        stride = 4 * FLOATS
        for location, (count, offset) in enumerate(((2, 0), (2, 8), (4, 16), (4, 32), (2, 48))):
            self._buffer.attribute(location, count, gl.FLOAT, stride, offset, False)
        gl.draw_triangles(len(vertices))
        gl.end(5, framebuffer)

    def delete(self) -> None:
        self.atlas.texture.delete()
        self._program.delete()
        self._buffer.delete()


class _Build:
    """Overlays to triangles."""

    def __init__(
        self, atlas: Atlas, lens: Matrices, size: tuple[int, int], ratio: float, theme: Theme
    ) -> None:
        self.atlas, self.lens, self.size, self.ratio, self.theme = atlas, lens, size, ratio, theme
        self._rims: list[Quad] = []
        self._quads: list[Quad] = []

    def vertices(self) -> Quad:
        quads = self._rims + self._quads
        return np.concatenate(quads) if quads else np.empty((0, FLOATS), np.float32)

    # -- lines ------------------------------------------------------------------------------

    def shape(self, overlay: Overlay) -> None:
        if isinstance(overlay, Line):
            points = np.asarray(overlay.points, np.float64).reshape(-1, 3)
            if overlay.closed and len(points):
                points = np.vstack([points, points[:1]])
            self._world(
                points[:-1],
                points[1:],
                overlay.color,
                overlay.width,
                overlay.hidden,
                overlay.dashed,
            )
        elif isinstance(overlay, BoxOutline):
            corners = box_corners(overlay)
            pairs = np.array(_EDGES)
            self._world(
                corners[pairs[:, 0]],
                corners[pairs[:, 1]],
                overlay.color,
                overlay.width,
                overlay.hidden,
                False,
            )
        elif isinstance(overlay, ScreenPolygon):
            self._screen(overlay)

    def _clip_space(self, points: Array) -> Array:
        m = self.lens.relative
        about = points - self.lens.eye
        return np.stack([about @ m[i, :3] + m[i, 3] for i in (0, 1, 3)], axis=1)

    def _world(
        self, starts: Array, ends: Array, color: str, width: float, hidden: float, dashed: bool
    ) -> None:
        if not len(starts):
            return
        a, b = self._clip_space(starts), self._clip_space(ends)
        kept, t0, t1 = clip_segments(a, b, self.lens.far * 1e-7 if self.lens.perspective else 0.0)
        a, b = a[kept], b[kept]
        t0, t1 = t0[kept, None], t1[kept, None]
        first, last = a + (b - a) * t0, a + (b - a) * t1
        depth0 = self._depth(starts[kept], ends[kept], t0, first)
        depth1 = self._depth(starts[kept], ends[kept], t1, last)
        half = np.array(self.size) / 2.0
        flip = np.array([1.0, -1.0])
        p = (first[:, :2] / first[:, 2:] * flip + 1.0) * half
        q = (last[:, :2] / last[:, 2:] * flip + 1.0) * half
        self._segments(p, q, depth0, depth1, color, width, hidden, dashed)

    def _depth(self, starts: Array, ends: Array, t: Array, clip: Array) -> Array:
        """What the shader takes along a line: 1 / w in perspective, else the linear depth."""
        if self.lens.perspective:
            return 1.0 / clip[:, 2]
        begin, width = depth_span(self.lens)
        at = starts + (ends - starts) * t - self.lens.eye
        return (-(at @ self.lens.rotation[2, :3]) - begin) / width

    def _segments(
        self,
        p: Array,
        q: Array,
        depth0: Array,
        depth1: Array,
        color: str,
        width: float,
        hidden: float,
        dashed: bool,
    ) -> None:
        half = max(width * self.ratio, 1.0) / 2.0
        ink = color or self.theme.ink
        halo = (*floats(self.theme.halo), 0.55)
        rim = max(self.ratio, 1.0)
        kind = _DASHED if dashed else _LINE
        tint = (*floats(ink), 1.0)
        self._rims.append(capsules(p, q, half + rim, depth0, depth1, halo, hidden, _LINE))
        self._quads.append(capsules(p, q, half, depth0, depth1, tint, hidden, kind))

    def _screen(self, overlay: ScreenPolygon) -> None:
        points = np.asarray(overlay.points, np.float64).reshape(-1, 2) * self.ratio
        if not len(points) or not np.isfinite(points).all():
            return
        if overlay.fill > 0.0 and len(points) > 2:
            tint = (*floats(overlay.color or self.theme.ink), overlay.fill)
            self._quads.append(inside(points, tint))
        if len(points) < 2 or overlay.width <= 0.0:
            return
        ring = np.vstack([points, points[:1]]) if overlay.closed else points
        none = np.zeros(len(ring) - 1)
        self._segments(
            ring[:-1], ring[1:], none, none, overlay.color, overlay.width, 1.0, overlay.dashed
        )

    # -- sprites ----------------------------------------------------------------------------

    def _project(self, at: Sequence[float]) -> tuple[float, float] | None:
        clip = self._clip_space(np.asarray([at], np.float64))[0]
        if clip[2] <= 0.0 or np.abs(clip[:2]).max() > 1.5 * clip[2]:
            return None
        x, y = clip[0] / clip[2], -clip[1] / clip[2]
        return (x + 1.0) * self.size[0] / 2.0, (y + 1.0) * self.size[1] / 2.0

    def marker(self, overlay: Marker) -> None:
        place = self._project(overlay.at)
        if place is None:
            return
        color = overlay.color or self.theme.ink
        key = (
            "marker",
            overlay.shape,
            overlay.size,
            self.ratio,
            color,
            overlay.hollow,
            self.theme.halo,
        )
        self._sprite(
            key,
            lambda: sprites.marker(
                overlay.shape, overlay.size, self.ratio, color, self.theme.halo, overlay.hollow
            ),
            place,
        )

    def label(self, overlay: Label) -> None:
        if not overlay.text:
            return
        if overlay.at is not None:
            place = self._project(overlay.at)
        elif overlay.pixel is not None:
            place = (overlay.pixel[0] * self.ratio, overlay.pixel[1] * self.ratio)
        else:
            place = None
        if place is None:
            return
        x = place[0] + overlay.offset[0] * self.ratio
        y = place[1] + overlay.offset[1] * self.ratio
        color = overlay.color or self.theme.ink
        key = (
            overlay.text,
            overlay.size,
            self.ratio,
            color,
            self.theme.halo,
            overlay.bold,
            overlay.pill,
            overlay.anchor,
        )
        self._sprite(
            key,
            lambda: sprites.text(
                overlay.text,
                overlay.size,
                self.ratio,
                color,
                self.theme.halo,
                bold=overlay.bold,
                pill=overlay.pill,
                anchor=overlay.anchor,
            ),
            (x, y),
        )

    def _sprite(self, key: Any, make: Any, place: tuple[float, float]) -> None:
        found = self.atlas.get(key) or self.atlas.put(key, make())
        if found is None:
            return
        x, y, sprite = found
        height, width = sprite.pixels.shape[:2]
        left = round(place[0]) - sprite.origin[0]
        top = round(place[1]) - sprite.origin[1]
        corners = np.array([[0, 0], [1, 0], [1, 1], [0, 0], [1, 1], [0, 1]], np.float32)
        out = np.zeros((6, FLOATS), np.float32)
        out[:, 0:2] = corners * (width, height) + (left, top)
        out[:, 2:4] = corners * (width, height) + (x, y)
        out[:, 4:8] = 1.0
        self._quads.append(out)


def box_corners(box: BoxOutline) -> Array:
    """The corners of a turned box, (8, 3): the lower four around, then the upper four."""
    low, high = np.asarray(box.min, np.float64), np.asarray(box.max, np.float64)
    center = (low + high) / 2.0
    turn = np.radians(box.rotation)
    cos, sin = np.cos(turn), np.sin(turn)
    ring = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * ((high - low)[:2] / 2.0)
    plan = np.stack([ring[:, 0] * cos - ring[:, 1] * sin, ring[:, 0] * sin + ring[:, 1] * cos], 1)
    plan += center[:2]
    return np.vstack([np.column_stack([plan, np.full(4, z)]) for z in (low[2], high[2])])


def clip_segments(a: Array, b: Array, nearest: float) -> tuple[npt.NDArray[np.bool_], Array, Array]:
    """Cut segments between clip places (x, y, w) to a guard band around the picture.

    Returns which remain and their parameters from and to (Liang and Barsky 1984, in homogeneous
    coordinates).
    """
    t0, t1 = np.zeros(len(a)), np.ones(len(a))
    planes = [(0, _GUARD), (0, -_GUARD), (1, _GUARD), (1, -_GUARD)]
    distances = [
        (a[:, 2] * abs(k) - np.sign(k) * a[:, i], b[:, 2] * abs(k) - np.sign(k) * b[:, i])
        for i, k in planes
    ]
    distances.append((a[:, 2] - nearest, b[:, 2] - nearest))
    out = np.zeros(len(a), bool)
    for da, db in distances:
        out |= (da < 0) & (db < 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = da / (da - db)
        t0 = np.where((da < 0) & (db >= 0), np.maximum(t0, t), t0)
        t1 = np.where((da >= 0) & (db < 0), np.minimum(t1, t), t1)
    return ~out & (t0 < t1), t0, t1


def capsules(
    p: Array,
    q: Array,
    half: float,
    depth0: Array,
    depth1: Array,
    color: tuple[float, float, float, float],
    hidden: float,
    kind: float,
) -> Quad:
    """Segments of half width ``half`` with round ends, six vertices each, in pixels."""
    way = q - p
    length = np.hypot(way[:, 0], way[:, 1])
    safe = np.maximum(length, 1e-9)
    along = np.where(length[:, None] > 1e-9, way / safe[:, None], (1.0, 0.0))
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    reach = half + 1.0
    out = np.zeros((len(p), 6, FLOATS), np.float32)
    out[:, :, 4:8] = color
    out[:, :, 9] = hidden
    out[:, :, 10] = length[:, None]
    out[:, :, 11] = half
    out[:, :, 12] = kind
    out[:, :, 13] = (np.cumsum(length) - length)[:, None]
    slope = (depth1 - depth0) / safe
    for i, (end, side) in enumerate(((0, -1), (1, -1), (1, 1), (0, -1), (1, 1), (0, 1))):
        base, step = (q, reach) if end else (p, -reach)
        out[:, i, 0:2] = base + along * step + across * (side * reach)
        out[:, i, 2] = (length if end else 0.0) + step
        out[:, i, 3] = side * reach
        out[:, i, 8] = np.maximum((depth1 if end else depth0) + slope * step, 0.0)
    return out.reshape(-1, FLOATS)


def inside(points: Array, color: tuple[float, float, float, float]) -> Quad:
    """The even-odd inside of a polygon (n, 2) as triangles, between the rows of its corners and of
    the places where it crosses itself."""
    ends = np.roll(points, -1, axis=0)
    rows = np.unique(np.concatenate([points[:, 1], _crossings(points, ends)]))
    top, bottom = rows[:-1, None], rows[1:, None]
    low = np.minimum(points[:, 1], ends[:, 1])
    high = np.maximum(points[:, 1], ends[:, 1])
    level = high - low < 1e-9
    active = (low <= top) & (high >= bottom) & ~level
    rise = np.where(level, 1.0, ends[:, 1] - points[:, 1])
    run = (ends[:, 0] - points[:, 0]) / rise
    middle = points[:, 0] + ((top + bottom) / 2.0 - points[:, 1]) * run
    order = np.argsort(np.where(active, middle, np.inf), axis=1)
    most = int(active.sum(axis=1).max()) // 2 * 2 if len(active) else 0
    out = []
    for column in range(0, most, 2):
        band = np.flatnonzero(active.sum(axis=1) >= column + 2)
        left, right = order[band, column], order[band, column + 1]
        y0, y1 = rows[band], rows[band + 1]
        corners = np.empty((len(band), 4, 2))
        for i, (edge, y) in enumerate(((left, y0), (right, y0), (right, y1), (left, y1))):
            corners[:, i, 0] = points[edge, 0] + (y - points[edge, 1]) * run[edge]
            corners[:, i, 1] = y
        quads = np.zeros((len(band), 6, FLOATS), np.float32)
        quads[:, :, 0:2] = corners[:, (0, 1, 2, 0, 2, 3)]
        quads[:, :, 4:8] = color
        quads[:, :, 9] = 1.0
        quads[:, :, 12] = _FLAT
        out.append(quads.reshape(-1, FLOATS))
    return np.concatenate(out) if out else np.empty((0, FLOATS), np.float32)


def _crossings(starts: Array, ends: Array) -> Array:
    """The rows at which edges of a polygon cross each other."""
    way = ends - starts
    i, j = np.triu_indices(len(starts), 2)
    turn = way[i, 0] * way[j, 1] - way[i, 1] * way[j, 0]
    gap = starts[j] - starts[i]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        t = (gap[:, 0] * way[j, 1] - gap[:, 1] * way[j, 0]) / turn
        u = (gap[:, 0] * way[i, 1] - gap[:, 1] * way[i, 0]) / turn
    met = (turn != 0.0) & (t > 0.0) & (t < 1.0) & (u > 0.0) & (u < 1.0)
    rows: Array = starts[i[met], 1] + t[met] * way[i[met], 1]
    return rows
