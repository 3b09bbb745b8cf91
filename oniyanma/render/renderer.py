"""`PointRenderer`: a scene drawn into whatever OpenGL context is current.

Three passes: points into an offscreen picture with depth, one draw a cloud; that picture over the
background with eye-dome lighting; overlays on top. The framebuffer bound at entry is the one that
gets the result and is bound again at the end.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import NodeId
from oniyanma.render import gl, look, pack, shaderlib
from oniyanma.render.annotate import Annotations
from oniyanma.render.arena import ATTRIBUTES, Arena, Counts
from oniyanma.render.frame import FrameControl
from oniyanma.render.look import DARK, Theme
from oniyanma.render.picture import DENSE, FIRST, GROWTH, Picture
from oniyanma.render.sprites import even_odd
from oniyanma.rules.model import Clip, Polygon
from oniyanma.scene.camera import Matrices
from oniyanma.scene.overlays import Overlay, lens
from oniyanma.scene.ports import SceneView
from oniyanma.scene.sample import shown_clouds
from oniyanma.scene.state import ColorMode

UPLOAD_BYTES = 12_000_000  # a frame, while points arrive
REST_MS = 80.0  # a part of a picture at rest takes about this long
CLIP_MASK = 512  # pixels a side of a polygon clip's preview


@dataclass(frozen=True)
class FrameStats:
    """What a frame was: for the gauge, the tests, and the decision to draw another.

    ``points`` drawn of ``resident``; ``nodes`` in the draw list; ``uploaded`` bytes;
    ``waiting`` nodes not sent yet; ``own_ms`` our time on the processor, ``frame_ms`` the whole
    frame until it was drawn (own_ms where nobody waited for it); ``again``: draw another frame.
    """

    points: int
    resident: int
    nodes: int
    uploaded: int
    waiting: int
    own_ms: float
    frame_ms: float
    again: bool
    software: bool
    gpu_bytes: int


class _Gpu:
    """Everything that lives in one context and dies with it."""

    def __init__(self, get_proc_address: gl.GetProcAddress | None) -> None:
        self.capabilities = gl.capabilities()
        self.multi_draw = gl.MultiDraw(get_proc_address)
        self.arena = Arena()
        self.front = Picture()
        self.back: Picture | None = None
        self.classes = gl.Texture()
        self.clip_mask = gl.Texture()
        self.palettes: dict[tuple[str, str | None], gl.Texture] = {}
        self.corners = gl.Buffer(24)
        self.corners.write(0, np.array([-1, -1, 3, -1, -1, 3], np.float32))
        self.annotations: Annotations | None = None
        self._programs: dict[frozenset[str], gl.Program] = {}
        self.class_key: Any = None
        self.clip_key: Any = None

    def program(self, defines: Sequence[str]) -> gl.Program:
        key = frozenset(defines)
        found = self._programs.get(key)
        if found is None:
            fragment = shaderlib.load("points.frag", key & {"SQUARE"})
            vertex = shaderlib.load("points.vert", key)
            found = gl.Program("points", vertex, fragment, ATTRIBUTES)
            self._programs[key] = found
        return found

    def screen(self, name: str, *defines: str) -> gl.Program:
        """A program for the whole picture, with the fragment shader ``name``."""
        key = frozenset((name, *defines))
        found = self._programs.get(key)
        if found is None:
            fragment = shaderlib.load(name, defines)
            found = gl.Program(name, shaderlib.load("screen.vert"), fragment, ["a_corner"])
            self._programs[key] = found
        return found

    def palette(self, mode: ColorMode) -> gl.Texture:
        key = (mode.mode, mode.palette)
        found = self.palettes.get(key)
        if found is None:
            found = self.palettes[key] = gl.Texture()
            found.write(look.palette_pixels(mode))
        return found

    def delete(self) -> None:
        self.arena.delete()
        self.front.delete()
        if self.back is not None:
            self.back.delete()
        if self.annotations is not None:
            self.annotations.delete()
        for texture in (self.classes, self.clip_mask, *self.palettes.values()):
            texture.delete()
        self.corners.delete()
        for program in self._programs.values():
            program.delete()


@dataclass
class _Draw:
    """One frame's wishes."""

    view: SceneView
    camera: Matrices
    size: tuple[int, int]
    ratio: float
    share: float  # of the points, while moving
    clip_preview: bool
    channels: dict[str, pack.Channel]
    thinned: bool = False  # points that can't be seen were left out

    def key(self) -> tuple[Any, ...]:
        """What a picture of points depends on beside the points."""
        state = self.view.state
        ranges = tuple(
            (id, self.view.color_range(id), self.channels.get(id)) for id in shown_clouds(self.view)
        )
        place = (self.camera.eye.tobytes(), self.camera.relative.tobytes(), self.size, self.ratio)
        display = replace(state.display, edl=False, edl_strength=0.0, edl_radius=0.0)
        clip = state.clip if self.clip_preview else None
        far = (self.camera.near, self.camera.far)
        seen = (display, state.hidden_classes, clip, self.clip_preview)
        return (place, far, seen, ranges, self.share)

    def same_camera(self, key: Any) -> bool:
        """Whether a picture was drawn from here."""
        return key is not None and key[0] == self.key()[0]

    def same_view(self, key: Any) -> bool:
        """Whether nothing but the points differs from a picture's key."""
        return key is not None and key == self.key()


class PointRenderer:
    """Draws scenes. One per context; on that context's thread only.

    ``get_proc_address`` is the context's own (name → address); without it the loaded OpenGL
    library is asked.
    """

    def __init__(self, get_proc_address: gl.GetProcAddress | None = None) -> None:
        self._get_proc_address = get_proc_address
        self._gpu: _Gpu | None = None
        self._control = FrameControl()
        self._seen: Any = None
        self._waiting = 0
        self._channels: dict[str, pack.Channel] = {}

    @property
    def capabilities(self) -> gl.Capabilities | None:
        """What the context is, once something was drawn."""
        return self._gpu.capabilities if self._gpu else None

    def draw_list(self) -> dict[NodeId, int]:
        """Nodes that are drawn at rest and their points."""
        if self._gpu is None:
            return {}
        return {slot.node: slot.count for slot in self._gpu.arena.drawable}

    def release(self, *, lost: bool = False) -> None:
        """Free everything on the GPU; the context is current, unless it is ``lost`` already.

        The next `paint` builds it again, in whatever context is current then.
        """
        if self._gpu is not None and not lost:
            self._gpu.delete()
        self._gpu = None
        self._seen = None
        self._waiting = 0

    def paint(
        self,
        view: SceneView,
        size_px: tuple[int, int],
        pixel_ratio: float = 1.0,
        *,
        overlays: Sequence[Overlay] = (),
        moving: bool = False,
        frame_budget_ms: float | None = None,
        theme: Theme = DARK,
        clip_preview: bool = False,
        max_upload: int | None = UPLOAD_BYTES,
        framebuffer: int | None = None,
    ) -> FrameStats:
        """Draw the scene at ``size_px`` physical pixels.

        ``moving``: draw only as many points as fit ``frame_budget_ms`` by the measured frames. At
        rest, with a budget, a picture that takes longer is drawn in parts behind the one that is
        shown, which it replaces when it is whole; without one it is drawn at once. Points that
        arrive are added to what is there, an edit is shown whole in one frame.
        ``clip_preview``: apply the state's clip on the GPU instead of the nodes' own flags, while
        a handle is dragged. ``max_upload`` None: send every node before drawing (pictures).
        Raises `GlError` where OpenGL can't do it.
        """
        start = time.perf_counter()
        width, height = max(1, size_px[0]), max(1, size_px[1])
        if framebuffer is None:
            framebuffer = gl.bound_framebuffer()
        if self._gpu is None:
            self._gpu = _Gpu(self._get_proc_address)
        gpu = self._gpu
        viewport = (max(1, round(width / pixel_ratio)), max(1, round(height / pixel_ratio)))
        camera = lens(view, viewport)
        uploaded = self._sync(gpu, view, max_upload)
        drawable = gpu.arena.drawable
        resident = sum(slot.count for slot in drawable)
        share = 1.0
        if moving and frame_budget_ms:
            share = self._control.share(resident, frame_budget_ms)
        draw = _Draw(
            view, camera, (width, height), pixel_ratio, share, clip_preview, dict(self._channels)
        )
        drawn, left = self._points(gpu, draw, frame_budget_ms)
        gl.end(len(ATTRIBUTES), framebuffer)
        few = moving and gpu.capabilities.software
        self._compose(gpu, view, camera, (width, height), pixel_ratio, theme, framebuffer, few)
        gl.end(1, framebuffer)
        if overlays:
            if gpu.annotations is None:
                gpu.annotations = Annotations()
            gpu.annotations.draw(
                overlays,
                camera,
                (width, height),
                pixel_ratio,
                theme,
                gpu.front.target.depth,
                framebuffer,
                look.far_of(camera),
            )
        gl.check("while drawing the scene")
        own = time.perf_counter() - start
        frame = own
        if frame_budget_ms and drawn:
            gl.finish()
            frame = time.perf_counter() - start
            if not draw.thinned:
                self._control.measured(drawn, frame * 1000.0)
        return FrameStats(
            points=drawn,
            resident=resident,
            nodes=len(drawable),
            uploaded=uploaded,
            waiting=self._waiting,
            own_ms=own * 1000.0,
            frame_ms=frame * 1000.0,
            again=self._waiting > 0 or left > 0,
            software=gpu.capabilities.software,
            gpu_bytes=gpu.arena.bytes(),
        )

    def _channel(self, view: SceneView, cloud: str) -> pack.Channel:
        """The scalar to hold for a cloud; the one at hand as long as it serves the range."""
        mode = look.color_mode(view.state.display, cloud, view.cloud_info(cloud))
        limits = mode.range or view.color_range(cloud)
        wanted = pack.channel_for(mode.mode, limits)
        held = self._channels.get(cloud)
        if held is None or held.name != wanted.name or not held.holds(*limits):
            # a mode that needs no scalar keeps whatever is there
            if held is not None and mode.mode in look.MODES and mode.mode != "source":
                return held
            held = self._channels[cloud] = wanted
        return held

    def _sync(self, gpu: _Gpu, view: SceneView, max_upload: int | None) -> int:
        state = view.state
        channels = {id: self._channel(view, id) for id in shown_clouds(view)}
        seen = (view.resident_version, state.budget, channels)
        if seen == self._seen and not self._waiting:
            return 0
        synced = gpu.arena.sync(
            view.resident(),
            view.cloud_info,
            lambda cloud: channels.get(cloud) or self._channel(view, cloud),
            budget_points=state.budget,
            max_bytes=max_upload,
        )
        self._seen, self._waiting = seen, synced.waiting
        return synced.bytes

    def _points(self, gpu: _Gpu, draw: _Draw, budget_ms: float | None) -> tuple[int, int]:
        """Bring the front picture up to date; points drawn now and points still to be drawn."""
        drawable = gpu.arena.drawable
        key = draw.key()
        front = gpu.front
        if draw.share < 1.0:
            front.reset(key, *draw.size)
            return self._add(gpu, front, draw, draw.share), 1
        total = sum(slot.count for slot in drawable)
        fits = total if budget_ms is None else self._control.points(max(budget_ms, REST_MS))
        if not front.holds(key, drawable):
            if fits >= total or draw.same_view(front.key):
                front.reset(key, *draw.size)
                return self._add(gpu, front, draw, 1.0), 0
            # behind the one that is shown, which stays until this one is whole
            if not draw.same_camera(front.key):
                draw.share = fits / total / 2.0
                front.reset(draw.key(), *draw.size)
                self._add(gpu, front, draw, draw.share)
                draw.share = 1.0
            back = gpu.back = gpu.back or Picture()
            if not back.holds(key, drawable):
                back.reset(key, *draw.size)
            drawn, left = self._continue(gpu, back, draw, fits)
            if not left:
                gpu.front, gpu.back = back, front
            return drawn, left
        return self._continue(gpu, front, draw, fits)

    def _continue(self, gpu: _Gpu, picture: Picture, draw: _Draw, most: int) -> tuple[int, int]:
        left = picture.left(gpu.arena.drawable)
        if not left:
            return 0, 0
        total = sum(slot.count for slot in gpu.arena.drawable)
        share = min(1.0, (total - left + most) / total)
        drawn = self._add(gpu, picture, draw, share)
        return drawn, left - drawn

    def _add(self, gpu: _Gpu, picture: Picture, draw: _Draw, share: float) -> int:
        """Draw what a picture lacks of the first ``share`` of each node's points."""
        display = draw.view.state.display
        runs = gpu.arena.runs()
        largest = look.largest_sizes(
            *(display, draw.camera, draw.size[1], draw.ratio, draw.share), gpu.arena.extents()
        )
        tiny = float(runs.counts[largest <= look.TINY].sum()) * share
        pixels = tiny * look.fixed_size(display, draw.ratio) ** 2
        dense = gpu.capabilities.software and pixels > DENSE * math.prod(draw.size)
        before = at = picture.counts(gpu.arena.drawable)
        total, part = int(runs.counts.sum()), 0.0
        while part < share:
            there = int(at.sum())
            part = min(share, max(there / total * GROWTH, FIRST)) if dense else share
            if dense and there:
                picture.update_farthest(gpu.screen("farthest.frag"), gpu.corners, there)
                draw.thinned = True
            ends = np.maximum(at, np.ceil(runs.counts * part).astype(np.int32))
            self._add_runs(gpu, picture, draw, at, ends, largest, behind=dense and there > 0)
            at = ends
        picture.note(gpu.arena.drawable, at)
        return int(at.sum() - before.sum())

    def _add_runs(
        self,
        gpu: _Gpu,
        picture: Picture,
        draw: _Draw,
        begins: Counts,
        ends: Counts,
        largest: npt.NDArray[np.float64],
        *,
        behind: bool,
    ) -> None:
        """Draw some of each node's points; with the test of what is ``behind`` the picture."""
        runs = gpu.arena.runs()
        picture.target.bind(*draw.size)
        self._upload_tables(gpu, draw)
        more = ends > begins
        square, tested = largest <= look.SMALL, behind & (largest <= look.TINY)
        firsts, counts = runs.firsts + begins, ends - begins
        for number, (cloud, page) in enumerate(runs.owners):
            own = more & (runs.owner == number)
            for chosen, is_square, hiding in (
                (own & tested, True, picture),
                (own & square & ~tested, True, None),
                (own & ~square, False, None),
            ):
                if chosen.any():
                    ranges = firsts[chosen], counts[chosen]
                    self._draw_cloud(gpu, draw, cloud, page, is_square, hiding, ranges)

    def _upload_tables(self, gpu: _Gpu, draw: _Draw) -> None:
        state = draw.view.state
        class_key = (state.display.class_colors, state.hidden_classes)
        if class_key != gpu.class_key:
            gpu.classes.write(look.class_pixels(*class_key))
            gpu.class_key = class_key
        if draw.clip_preview:
            self._clip_mask(gpu, state.clip)

    def _draw_cloud(
        self,
        gpu: _Gpu,
        draw: _Draw,
        cloud: str,
        page: int,
        square: bool,
        hiding: Picture | None,
        ranges: tuple[Counts, Counts],
    ) -> None:
        view, camera = draw.view, draw.camera
        display = view.state.display
        info = view.cloud_info(cloud)
        mode = look.color_mode(display, cloud, info)
        limits = mode.range or view.color_range(cloud)
        channel = draw.channels.get(cloud, pack.Channel())
        uniforms, defines = look.frame_uniforms(camera)
        uniforms, viewport = look.wide_view(uniforms, draw.size, gpu.capabilities.max_viewport)
        if view.state.hidden_classes:
            defines.append("HIDE_CLASSES")
        if draw.clip_preview:
            more, clip_defines = look.clip_uniforms(view.state.clip, camera)
            uniforms |= more
            defines += clip_defines or ["CLIP_NONE"]
        color, define = look.color_uniforms(mode, limits, channel, float(camera.eye[2]))
        reference = gpu.arena.reference(cloud)
        size, size_defines = look.size_uniforms(
            display, camera, draw.size[1], draw.ratio, reference, draw.share
        )
        uniforms |= look.eye_uniforms(camera, info) | color | size
        defines += [*size_defines, define, *(["SQUARE"] if square else [])]
        if hiding is not None:
            defines.append("BEHIND")
            uniforms |= hiding.behind_uniforms(viewport)
        program = gpu.program(defines)
        gl.begin_points(viewport)
        program.use(uniforms)
        program.sample("u_palette", 0, gpu.palette(mode))
        program.sample("u_classes", 1, gpu.classes)
        program.sample("u_clip_mask", 2, gpu.clip_mask)
        if hiding is not None:
            program.sample("u_farthest", 3, hiding.farthest)
        gpu.arena.pages[page].bind()
        gl.point_sprites(not square)
        gpu.multi_draw(*ranges)

    def _clip_mask(self, gpu: _Gpu, clip: Clip | None) -> None:
        if clip is None or not isinstance(clip.shape, Polygon) or clip == gpu.clip_key:
            return
        low, high = look.clip_box(clip)
        span = np.maximum((high - low)[:2], 1e-9)
        corners = (np.asarray(clip.shape.polygon) - low[:2]) / span * CLIP_MASK
        mask = even_odd((CLIP_MASK, CLIP_MASK), corners)
        pixels: npt.NDArray[np.uint8] = np.repeat(np.asarray(mask)[..., None], 4, axis=2)
        gpu.clip_mask.write(pixels)
        gpu.clip_key = clip

    def _compose(
        self,
        gpu: _Gpu,
        view: SceneView,
        lens: Matrices,
        size: tuple[int, int],
        ratio: float,
        theme: Theme,
        framebuffer: int,
        few: bool,
    ) -> None:
        display = view.state.display
        gl.begin_screen(framebuffer, *size, blend=False)
        lit = display.edl and display.edl_strength > 0.0
        defines = ["EDL", "FEW"] if lit and few else ["EDL"] if lit else []
        program = gpu.screen("compose.frag", *defines)
        program.use(
            {
                "u_pixel": (1.0 / size[0], 1.0 / size[1]),
                "u_top": look.floats(theme.top),
                "u_bottom": look.floats(theme.bottom),
                "u_radius": max(display.edl_radius * ratio, 1.0),
                "u_strength": display.edl_strength,
                "u_relief": look.relief(lens),
            }
        )
        program.sample("u_color", 0, gpu.front.target.color)
        program.sample("u_depth", 1, gpu.front.target.depth)
        gpu.corners.attribute(0, 2, gl.FLOAT, 8, 0, False)
        gl.draw_triangles(3)
