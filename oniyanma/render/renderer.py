"""`PointRenderer`: a scene drawn into whatever OpenGL context is current.

Three passes: points into an offscreen picture with depth, one draw a cloud; that picture over the
background with eye-dome lighting; overlays on top. The framebuffer bound at entry is the one that
gets the result and is bound again at the end.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oniyanma.clouds.model import NodeId
from oniyanma.render import gl, look, pack, shaderlib
from oniyanma.render.annotate import Annotations
from oniyanma.render.arena import ATTRIBUTES, Arena
from oniyanma.render.frame import FrameControl
from oniyanma.render.look import DARK, Theme, Uniforms
from oniyanma.render.sprites import even_odd
from oniyanma.rules.model import Clip, Polygon
from oniyanma.scene.camera import Matrices
from oniyanma.scene.overlays import Overlay, lens
from oniyanma.scene.ports import SceneView
from oniyanma.scene.state import ColorMode

UPLOAD_BYTES = 12_000_000  # a frame, while points arrive
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
        self.points = gl.Target()
        self.classes = gl.Texture()
        self.clip_mask = gl.Texture()
        self.palettes: dict[tuple[str, str | None], gl.Texture] = {}
        self.corners = gl.Buffer(24)
        self.corners.write(0, np.array([-1, -1, 3, -1, -1, 3], np.float32))
        self.compose = gl.Program(
            "compose", shaderlib.load("screen.vert"), shaderlib.load("compose.frag"), ["a_corner"]
        )
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

    def palette(self, mode: ColorMode) -> gl.Texture:
        key = (mode.mode, mode.palette)
        found = self.palettes.get(key)
        if found is None:
            found = self.palettes[key] = gl.Texture()
            found.write(look.palette_pixels(mode))
        return found

    def delete(self) -> None:
        self.arena.delete()
        self.points.delete()
        if self.annotations is not None:
            self.annotations.delete()
        for texture in (self.classes, self.clip_mask, *self.palettes.values()):
            texture.delete()
        self.corners.delete()
        for program in (self.compose, *self._programs.values()):
            program.delete()


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

        ``moving``: draw only as many points as fit ``frame_budget_ms`` by the measured frames.
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
        resident = sum(slot.count for slot in gpu.arena.drawable)
        share = 1.0
        if moving and frame_budget_ms:
            share = self._control.share(resident, frame_budget_ms)
        gpu.points.bind(width, height)
        gl.begin_points()
        gl.clear()
        drawn = self._draw_points(gpu, view, camera, height, pixel_ratio, share, clip_preview)
        gl.end(len(ATTRIBUTES), framebuffer)
        self._compose(gpu, view, camera, (width, height), pixel_ratio, theme, framebuffer)
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
                gpu.points.depth,
                framebuffer,
                look.far_of(camera),
            )
        gl.check("while drawing the scene")
        own = time.perf_counter() - start
        frame = own
        if moving:
            gl.finish()
            frame = time.perf_counter() - start
            self._control.measured(drawn, frame * 1000.0)
        return FrameStats(
            points=drawn,
            resident=resident,
            nodes=len(gpu.arena.drawable),
            uploaded=uploaded,
            waiting=self._waiting,
            own_ms=own * 1000.0,
            frame_ms=frame * 1000.0,
            again=self._waiting > 0 or share < 1.0,
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
        channels = {c.id: self._channel(view, c.id) for c in state.clouds if c.visible}
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

    def _draw_points(
        self,
        gpu: _Gpu,
        view: SceneView,
        lens: Matrices,
        pixels: int,
        ratio: float,
        share: float,
        clip_preview: bool,
    ) -> int:
        state = view.state
        display = state.display
        common, defines = look.frame_uniforms(lens)
        if state.hidden_classes:
            defines = [*defines, "HIDE_CLASSES"]
        if clip_preview:
            more, clip_defines = look.clip_uniforms(state.clip, lens)
            common |= more
            defines = [*defines, *(clip_defines or ["CLIP_NONE"])]
            self._clip_mask(gpu, state.clip)
        class_key = (display.class_colors, state.hidden_classes)
        if class_key != gpu.class_key:
            gpu.classes.write(look.class_pixels(*class_key))
            gpu.class_key = class_key
        drawn = 0
        bound: tuple[int, gl.Program] | None = None
        for batch in gpu.arena.batches():
            info = view.cloud_info(batch.cloud)
            mode = look.color_mode(display, batch.cloud, info)
            limits = mode.range or view.color_range(batch.cloud)
            channel = self._channels.get(batch.cloud, pack.Channel())
            color, define = look.color_uniforms(mode, limits, channel, float(lens.eye[2]))
            reference = gpu.arena.reference(batch.cloud)
            size, size_defines = look.size_uniforms(display, lens, pixels, ratio, reference, share)
            program = gpu.program([*defines, *size_defines, define])
            uniforms: Uniforms = common | look.eye_uniforms(lens, info) | color | size
            program.use(uniforms)
            program.sample("u_palette", 0, gpu.palette(mode))
            program.sample("u_classes", 1, gpu.classes)
            program.sample("u_clip_mask", 2, gpu.clip_mask)
            if bound != (batch.page, program):
                gpu.arena.pages[batch.page].bind()
                bound = (batch.page, program)
            counts = batch.counts
            if share < 1.0:
                counts = np.ceil(counts * share).astype(np.int32)
            gpu.multi_draw(batch.firsts, counts)
            drawn += int(counts.sum())
        return drawn

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
    ) -> None:
        display = view.state.display
        gl.begin_screen(framebuffer, *size, blend=False)
        gpu.compose.use(
            {
                "u_pixel": (1.0 / size[0], 1.0 / size[1]),
                "u_top": look.floats(theme.top),
                "u_bottom": look.floats(theme.bottom),
                "u_radius": max(display.edl_radius * ratio, 1.0),
                "u_strength": display.edl_strength if display.edl else 0.0,
                "u_relief": look.relief(lens),
            }
        )
        gpu.compose.sample("u_color", 0, gpu.points.color)
        gpu.compose.sample("u_depth", 1, gpu.points.depth)
        gpu.corners.attribute(0, 2, gl.FLOAT, 8, 0, False)
        gl.draw_triangles(3)
