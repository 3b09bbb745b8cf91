"""Pictures with no display: an OpenGL context from EGL on no surface, and the window's renderer."""

from __future__ import annotations

import ctypes
import ctypes.util
import io
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image

from oniyanma.render import gl
from oniyanma.render.facts import world_facts
from oniyanma.render.gl import GlError
from oniyanma.render.look import DARK, Theme
from oniyanma.render.renderer import FrameStats, PointRenderer
from oniyanma.scene.overlays import overlays_of
from oniyanma.scene.ports import Capture, SceneView

T = TypeVar("T")


class EglContext:
    """An OpenGL context that needs no display (Mesa's surfaceless platform, else a device's).

    Raises `GlError` where EGL or such a context is missing.
    """

    def __init__(self) -> None:
        name = ctypes.util.find_library("EGL")
        if name is None:
            raise GlError(
                "Pictures without a window need EGL, which was not found: install libegl1 and "
                "Mesa's drivers, or capture from the window."
            )
        self._egl = egl = ctypes.CDLL(name)
        pointer = ctypes.c_void_p
        egl.eglGetDisplay.restype = egl.eglCreateContext.restype = pointer
        egl.eglGetDisplay.argtypes = [pointer]
        egl.eglInitialize.argtypes = [pointer, pointer, pointer]
        egl.eglChooseConfig.argtypes = [pointer, pointer, pointer, ctypes.c_int, pointer]
        egl.eglCreateContext.argtypes = [pointer, pointer, pointer, pointer]
        egl.eglMakeCurrent.argtypes = [pointer, pointer, pointer, pointer]
        egl.eglDestroyContext.argtypes = [pointer, pointer]
        egl.eglCreatePbufferSurface.restype = pointer
        egl.eglCreatePbufferSurface.argtypes = [pointer, pointer, pointer]
        egl.eglDestroySurface.argtypes = [pointer, pointer]
        self._display = self._open_display()
        config = self._config()
        egl.eglBindAPI(0x30A2)  # EGL_OPENGL_API
        self._context = egl.eglCreateContext(self._display, config, None, None)
        if not self._context:
            raise GlError(
                f"EGL gives no OpenGL context (error 0x{egl.eglGetError():04x}): install Mesa's "
                "drivers, or capture from the window."
            )
        size = (ctypes.c_int * 5)(0x3057, 16, 0x3056, 16, 0x3038)  # width, height, none
        self._surface = egl.eglCreatePbufferSurface(self._display, config, size)
        self.make_current()

    def _open_display(self) -> Any:
        kept = os.environ.get("EGL_PLATFORM")
        os.environ["EGL_PLATFORM"] = "surfaceless"
        try:
            display = self._egl.eglGetDisplay(None)
        finally:
            if kept is None:
                del os.environ["EGL_PLATFORM"]
            else:
                os.environ["EGL_PLATFORM"] = kept
        if not display or not self._egl.eglInitialize(display, None, None):
            raise GlError(
                "EGL has no surfaceless display here: install Mesa's drivers, or capture from "
                "the window."
            )
        return display

    def _config(self) -> Any:
        attributes = (ctypes.c_int * 13)(
            *(0x3024, 8, 0x3023, 8, 0x3022, 8, 0x3021, 8),  # red, green, blue, alpha
            *(0x3040, 0x0008, 0x3033, 0x0001),  # renderable: OpenGL; surface: pbuffer
            0x3038,
        )
        config, count = ctypes.c_void_p(), ctypes.c_int()
        self._egl.eglChooseConfig(
            self._display, attributes, ctypes.byref(config), 1, ctypes.byref(count)
        )
        if not count.value:
            raise GlError("EGL has no configuration for OpenGL here: install Mesa's drivers.")
        return config

    def make_current(self) -> None:
        """Make it this thread's context."""
        if not self._egl.eglMakeCurrent(self._display, self._surface, self._surface, self._context):
            raise GlError(
                f"The EGL context can't be used here (error 0x{self._egl.eglGetError():04x}): "
                "another context is current on this thread."
            )

    def release(self) -> None:
        """Leave the thread with no context."""
        self._egl.eglMakeCurrent(self._display, None, None, None)

    def close(self) -> None:
        """Destroy it."""
        self.release()
        if self._surface:
            self._egl.eglDestroySurface(self._display, self._surface)
        self._egl.eglDestroyContext(self._display, self._context)
        self._context = self._surface = None


class HeadlessRenderer:
    """The `Renderer` port with no display. Makes its context at the first picture.

    OpenGL runs on a thread of its own, so that it never meets the context of a window on the
    caller's; the caller waits, and so nothing changes under the picture.
    """

    def __init__(self, theme: Theme = DARK) -> None:
        self.theme = theme
        self.points = PointRenderer()
        self.stats: FrameStats | None = None
        self._context: EglContext | None = None
        self._target: gl.Target | None = None
        self._thread: ThreadPoolExecutor | None = None

    def run(self, function: Callable[[], T]) -> T:
        """Call a function where this renderer's context is current, and wait for its result."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "pictures")
        return self._thread.submit(self._in_context, function).result()

    def _in_context(self, function: Callable[[], T]) -> T:
        if self._context is None:
            self._context = EglContext()
        return function()

    def pixels(
        self, view: SceneView, width: int, height: int, pixel_ratio: float = 1.0, **options: Any
    ) -> npt.NDArray[np.uint8]:
        """The scene as RGBA (height, width, 4), top row first; options as `PointRenderer.paint`."""
        options.setdefault("theme", self.theme)
        options.setdefault("max_upload", None)

        def paint() -> npt.NDArray[np.uint8]:
            if self._target is None:
                self._target = gl.Target()
            self._target.bind(width, height)
            self.stats = self.points.paint(view, (width, height), pixel_ratio, **options)
            return gl.read_pixels(width, height)

        return self.run(paint)

    def capture(self, view: SceneView, width: int, height: int, annotations: bool) -> Capture:
        """A picture of the scene as PNG, with axes, labels and markers if ``annotations``."""
        size = (width, height)
        overlays = overlays_of(view, size) if annotations else ()
        pixels = self.pixels(view, width, height, overlays=overlays)
        return Capture(png(pixels), width, height, world_facts(view, size))

    def close(self) -> None:
        """Free the context and all in it, and end its thread."""
        if self._thread is None:
            return
        if self._context is not None:
            try:
                freed = self._thread.submit(self._free)
            except RuntimeError:
                return  # the interpreter is ending: threads take no more work, and all goes
            freed.result()
        self._thread.shutdown()
        self._thread = None

    def _free(self) -> None:
        assert self._context is not None
        self.points.release()
        if self._target is not None:
            self._target.delete()
            self._target = None
        self._context.close()
        self._context = None


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """RGB of RGBA pixels as a PNG file."""
    out = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels[..., :3])).save(out, "PNG", compress_level=6)
    return out.getvalue()
