"""The few OpenGL objects a picture needs, over `vispy.gloo.gl`, in whatever context is current.

gloo's own object layer passes integer attributes as floats, draws no sub-range and queues deletes
on the collector's thread; its function layer (`vispy.gloo.gl`, OpenGL 2.1 on every platform) has
none of that, so this module stands on it and keeps no queue: what is called, happens. Everything
here belongs to one context and one thread. `vispy` is imported in this module and nowhere else.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from vispy.gloo import gl

GetProcAddress = Callable[[str], int]

POINTS = gl.GL_POINTS
TRIANGLES = gl.GL_TRIANGLES
UNSIGNED_BYTE = gl.GL_UNSIGNED_BYTE
UNSIGNED_SHORT = gl.GL_UNSIGNED_SHORT
FLOAT = gl.GL_FLOAT

_VERTEX_PROGRAM_POINT_SIZE = 0x8642
_POINT_SPRITE = 0x8861
_DEPTH_COMPONENT24 = 0x81A6
_CLAMP_TO_EDGE = 0x812F
_RGBA8 = 0x8058
_MULTISAMPLE = 0x809D
_FRAMEBUFFER_SRGB = 0x8DB9
_MAX_VERTEX_TEXTURE_IMAGE_UNITS = 0x8B4C
_MAX_VIEWPORT_DIMS = 0x0D3A
_POINT_SIZE_RANGE = 0x0B12

_SOFTWARE = ("llvmpipe", "softpipe", "swrast", "software rasterizer", "swiftshader", "gdi generic")


class GlError(RuntimeError):
    """OpenGL here can't draw the picture: what was found and what is needed."""


@dataclass(frozen=True)
class Capabilities:
    """What the current context is. ``software``: drawn by the processor, so frames are dear."""

    version: str
    renderer: str
    software: bool
    max_viewport: int
    max_point_size: float


def capabilities() -> Capabilities:
    """Read from the current context. Raises `GlError` naming the version found and needed."""
    version = str(gl.glGetParameter(gl.GL_VERSION))
    renderer = str(gl.glGetParameter(gl.GL_RENDERER))
    found = version.split(" ")[0]
    try:
        major, minor = (int(part) for part in found.split(".")[:2])
    except ValueError:
        major, minor = 0, 0
    if (major, minor) < (2, 1):
        raise GlError(
            f"OpenGL {version or 'of no version'} ({renderer or 'no renderer'}) was found and 2.1 "
            "is needed: install a graphics driver, or Mesa for drawing without a graphics card."
        )
    units = gl.glGetParameter(_MAX_VERTEX_TEXTURE_IMAGE_UNITS)
    if not isinstance(units, int) or units < 2:
        raise GlError(
            f"{renderer} can't read textures in vertex shaders, which the palettes need: install "
            "a newer graphics driver, or Mesa."
        )
    sizes = gl.glGetParameter(_POINT_SIZE_RANGE)
    return Capabilities(
        version=version,
        renderer=renderer,
        software=any(name in renderer.lower() for name in _SOFTWARE),
        max_viewport=min(gl.glGetParameter(_MAX_VIEWPORT_DIMS)),
        max_point_size=float(sizes[1]) if isinstance(sizes, tuple) else 64.0,
    )


def bound_framebuffer() -> int:
    """The framebuffer object that drawing goes to now (0: the window's own)."""
    return int(gl.glGetParameter(gl.GL_FRAMEBUFFER_BINDING))


def check(where: str) -> None:
    """Raise `GlError` if OpenGL has noted an error since the last look."""
    code = gl.glGetError()
    if code:
        while gl.glGetError():
            pass
        raise GlError(f"OpenGL error 0x{int(code):04x} {where}.")


class Program:
    """A linked GLSL program. ``attributes`` get the locations 0, 1, … in their order."""

    def __init__(self, name: str, vertex: str, fragment: str, attributes: Sequence[str]) -> None:
        self.name = name
        self._handle = gl.glCreateProgram()
        shaders = []
        for kind, source in ((gl.GL_VERTEX_SHADER, vertex), (gl.GL_FRAGMENT_SHADER, fragment)):
            shader = gl.glCreateShader(kind)
            gl.glShaderSource(shader, source)
            gl.glCompileShader(shader)
            if not gl.glGetShaderParameter(shader, gl.GL_COMPILE_STATUS):
                log = gl.glGetShaderInfoLog(shader)
                raise GlError(f"The shader {name} does not compile: {log}")
            gl.glAttachShader(self._handle, shader)
            shaders.append(shader)
        for location, attribute in enumerate(attributes):
            gl.glBindAttribLocation(self._handle, location, attribute)
        gl.glLinkProgram(self._handle)
        if not gl.glGetProgramParameter(self._handle, gl.GL_LINK_STATUS):
            raise GlError(
                f"The program {name} does not link: {gl.glGetProgramInfoLog(self._handle)}"
            )
        for shader in shaders:
            gl.glDetachShader(self._handle, shader)
            gl.glDeleteShader(shader)
        self._locations: dict[str, int] = {}

    def use(self, uniforms: Mapping[str, float | Sequence[float]]) -> None:
        """Make it current and set uniforms: a float, or 2 to 4 floats."""
        gl.glUseProgram(self._handle)
        for name, value in uniforms.items():
            location = self._location(name)
            if location < 0:
                continue
            if isinstance(value, (float, int)):
                gl.glUniform1f(location, value)
            elif len(value) == 4:
                gl.glUniform4f(location, *value)
            elif len(value) == 3:
                gl.glUniform3f(location, *value)
            else:
                gl.glUniform2f(location, *value)

    def sample(self, name: str, unit: int, texture: Texture) -> None:
        """Bind a texture to a unit and the sampler ``name`` to that unit; program in use."""
        location = self._location(name)
        if location >= 0:
            gl.glActiveTexture(gl.GL_TEXTURE0 + unit)
            gl.glBindTexture(gl.GL_TEXTURE_2D, texture.handle)
            gl.glUniform1i(location, unit)

    def _location(self, name: str) -> int:
        location = self._locations.get(name)
        if location is None:
            location = self._locations[name] = gl.glGetUniformLocation(self._handle, name)
        return location

    def delete(self) -> None:
        gl.glDeleteProgram(self._handle)


class Buffer:
    """A vertex buffer of a fixed size in bytes."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.handle = gl.glCreateBuffer()
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self.handle)
        gl.glBufferData(gl.GL_ARRAY_BUFFER, nbytes, gl.GL_DYNAMIC_DRAW)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, 0)

    def write(self, offset: int, data: npt.NDArray[Any]) -> None:
        """Copy an array's bytes to ``offset`` (bytes)."""
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self.handle)
        gl.glBufferSubData(gl.GL_ARRAY_BUFFER, offset, data)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, 0)

    def attribute(
        self, location: int, size: int, kind: int, stride: int, offset: int, normalized: bool
    ) -> None:
        """Feed attribute ``location`` from this buffer, in its own integer or float type."""
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self.handle)
        gl.glEnableVertexAttribArray(location)
        gl.glVertexAttribPointer(location, size, kind, normalized, stride, offset)

    def delete(self) -> None:
        gl.glDeleteBuffer(self.handle)


class Texture:
    """A 2D texture: RGBA bytes, or 24-bit depth."""

    def __init__(self, *, linear: bool = False, depth: bool = False) -> None:
        self.handle = gl.glCreateTexture()
        self.size = (0, 0)
        self._depth = depth
        gl.glBindTexture(gl.GL_TEXTURE_2D, self.handle)
        mode = gl.GL_LINEAR if linear else gl.GL_NEAREST
        gl.glTexParameteri(gl.GL_TEXTURE_2D, gl.GL_TEXTURE_MIN_FILTER, mode)
        gl.glTexParameteri(gl.GL_TEXTURE_2D, gl.GL_TEXTURE_MAG_FILTER, mode)
        gl.glTexParameteri(gl.GL_TEXTURE_2D, gl.GL_TEXTURE_WRAP_S, _CLAMP_TO_EDGE)
        gl.glTexParameteri(gl.GL_TEXTURE_2D, gl.GL_TEXTURE_WRAP_T, _CLAMP_TO_EDGE)

    def resize(self, width: int, height: int) -> None:
        """Give it a size; the contents are lost."""
        self.size = (width, height)
        gl.glBindTexture(gl.GL_TEXTURE_2D, self.handle)
        if self._depth:
            gl.glTexImage2D(
                gl.GL_TEXTURE_2D,
                0,
                _DEPTH_COMPONENT24,
                gl.GL_DEPTH_COMPONENT,
                gl.GL_UNSIGNED_INT,
                (height, width),
            )
        else:
            gl.glTexImage2D(
                gl.GL_TEXTURE_2D, 0, _RGBA8, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, (height, width)
            )

    def write(self, pixels: npt.NDArray[np.uint8], x: int = 0, y: int = 0) -> None:
        """Put RGBA bytes (h, w, 4) at a place; a first write at 0, 0 gives the size."""
        height, width = pixels.shape[:2]
        if self.size == (0, 0):
            self.resize(width, height)
        gl.glBindTexture(gl.GL_TEXTURE_2D, self.handle)
        gl.glPixelStorei(gl.GL_UNPACK_ALIGNMENT, 1)
        gl.glTexSubImage2D(gl.GL_TEXTURE_2D, 0, x, y, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, pixels)

    def delete(self) -> None:
        gl.glDeleteTexture(self.handle)


class Target:
    """An offscreen picture: a colour and a depth texture of one size."""

    def __init__(self) -> None:
        self.color = Texture()
        self.depth = Texture(depth=True)
        self.handle = gl.glCreateFramebuffer()

    @property
    def size(self) -> tuple[int, int]:
        return self.color.size

    def bind(self, width: int, height: int) -> bool:
        """Draw into it at this size. True when it had to be made anew and so is empty."""
        fresh = self.size != (width, height)
        if fresh:
            self.color.resize(width, height)
            self.depth.resize(width, height)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.handle)
        if fresh:
            gl.glFramebufferTexture2D(
                gl.GL_FRAMEBUFFER,
                gl.GL_COLOR_ATTACHMENT0,
                gl.GL_TEXTURE_2D,
                self.color.handle,
                0,
            )
            gl.glFramebufferTexture2D(
                gl.GL_FRAMEBUFFER,
                gl.GL_DEPTH_ATTACHMENT,
                gl.GL_TEXTURE_2D,
                self.depth.handle,
                0,
            )
            status = gl.glCheckFramebufferStatus(gl.GL_FRAMEBUFFER)
            if status != gl.GL_FRAMEBUFFER_COMPLETE:
                raise GlError(
                    f"A picture of {width}×{height} pixels can't be drawn here (framebuffer "
                    f"status 0x{int(status):04x}): ask for a smaller one."
                )
        gl.glViewport(0, 0, width, height)
        return fresh

    def delete(self) -> None:
        gl.glDeleteFramebuffer(self.handle)
        self.color.delete()
        self.depth.delete()


class MultiDraw:
    """Many ranges of one buffer in one call (`glMultiDrawArrays`, OpenGL 1.4).

    ``get_proc_address`` is the context's own; without it the loaded library is asked. Where neither
    knows the function, the ranges are drawn one by one.
    """

    def __init__(self, get_proc_address: GetProcAddress | None = None) -> None:
        self._function: Callable[..., Any] | None = None
        kind = getattr(ctypes, "WINFUNCTYPE", ctypes.CFUNCTYPE)
        signature = kind(None, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
        address = get_proc_address("glMultiDrawArrays") if get_proc_address else 0
        if address:
            self._function = signature(address)
        else:
            try:
                self._function = gl.gl2._get_gl_func(
                    "glMultiDrawArrays",
                    None,
                    (ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int),
                )
            except RuntimeError:
                self._function = None

    def __call__(self, firsts: npt.NDArray[np.int32], counts: npt.NDArray[np.int32]) -> None:
        """Draw points ``firsts[i] … firsts[i] + counts[i]`` of the buffers that are bound."""
        if not len(firsts):
            return
        if len(firsts) == 1 or self._function is None:
            for first, count in zip(firsts.tolist(), counts.tolist(), strict=True):
                gl.glDrawArrays(gl.GL_POINTS, first, count)
            return
        self._function(gl.GL_POINTS, firsts.ctypes.data, counts.ctypes.data, len(firsts))


def begin_points(viewport: tuple[int, int, int, int]) -> None:
    """State for drawing opaque points into a target; ``viewport``: x, y, width, height."""
    gl.glViewport(*viewport)
    gl.glDisable(gl.GL_BLEND)
    gl.glDisable(gl.GL_SCISSOR_TEST)
    gl.glEnable(gl.GL_DEPTH_TEST)
    gl.glDepthFunc(gl.GL_LESS)
    gl.glDepthMask(True)
    gl.glColorMask(True, True, True, True)
    gl.glDisable(_FRAMEBUFFER_SRGB)
    gl.glEnable(_VERTEX_PROGRAM_POINT_SIZE)


def begin_depth() -> None:
    """State for giving every pixel of a target a depth of its own, and no colour."""
    gl.glDisable(gl.GL_BLEND)
    gl.glDisable(gl.GL_SCISSOR_TEST)
    gl.glEnable(gl.GL_DEPTH_TEST)
    gl.glDepthFunc(gl.GL_ALWAYS)
    gl.glDepthMask(True)
    gl.glColorMask(False, False, False, False)


def point_sprites(on: bool) -> None:
    """Whether fragments know where in their point they are. It costs a software rasteriser half
    as much again, so only what cuts points round asks for it."""
    (gl.glEnable if on else gl.glDisable)(_POINT_SPRITE)


def clear() -> None:
    gl.glClearColor(0.0, 0.0, 0.0, 0.0)
    gl.glClearDepth(1.0)
    gl.glClear(gl.GL_COLOR_BUFFER_BIT | gl.GL_DEPTH_BUFFER_BIT)


def begin_screen(framebuffer: int, width: int, height: int, *, blend: bool) -> None:
    """State for drawing flat triangles over the whole of a framebuffer."""
    gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, framebuffer)
    gl.glViewport(0, 0, width, height)
    gl.glDisable(gl.GL_DEPTH_TEST)
    gl.glDisable(gl.GL_SCISSOR_TEST)
    gl.glDisable(gl.GL_CULL_FACE)
    gl.glColorMask(True, True, True, True)
    gl.glDepthMask(False)
    if blend:
        gl.glEnable(gl.GL_BLEND)
        # premultiplied alpha
        gl.glBlendFunc(gl.GL_ONE, gl.GL_ONE_MINUS_SRC_ALPHA)
    else:
        gl.glDisable(gl.GL_BLEND)


def draw_triangles(count: int) -> None:
    gl.glDrawArrays(gl.GL_TRIANGLES, 0, count)


def draw_points(first: int, count: int) -> None:
    gl.glDrawArrays(gl.GL_POINTS, first, count)


def end(attributes: int, framebuffer: int) -> None:
    """Leave the context as others expect to find it."""
    for location in range(attributes):
        gl.glDisableVertexAttribArray(location)
    gl.glBindBuffer(gl.GL_ARRAY_BUFFER, 0)
    for unit in (3, 2, 1, 0):
        gl.glActiveTexture(gl.GL_TEXTURE0 + unit)
        gl.glBindTexture(gl.GL_TEXTURE_2D, 0)
    gl.glUseProgram(0)
    gl.glDisable(gl.GL_BLEND)
    gl.glDepthMask(True)
    gl.glDisable(_VERTEX_PROGRAM_POINT_SIZE)
    gl.glDisable(_POINT_SPRITE)
    gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, framebuffer)


def finish() -> None:
    """Wait until everything asked for is drawn."""
    gl.glFinish()


def read_pixels(width: int, height: int) -> npt.NDArray[np.uint8]:
    """The bound framebuffer as RGBA bytes (height, width, 4), top row first."""
    gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 1)
    data = gl.glReadPixels(0, 0, width, height, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE)
    pixels = np.frombuffer(data, np.uint8).reshape(height, width, 4)
    return np.ascontiguousarray(pixels[::-1])


def read_depth(width: int, height: int) -> npt.NDArray[np.float32]:
    """The bound framebuffer's depth, 0 near to 1 (nothing drawn), top row first."""
    gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 1)
    data = gl.glReadPixels(0, 0, width, height, gl.GL_DEPTH_COMPONENT, gl.GL_FLOAT)
    return np.ascontiguousarray(np.frombuffer(data, np.float32).reshape(height, width)[::-1])
