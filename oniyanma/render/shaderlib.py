"""Shader sources of the package: includes resolved, defines put in, nothing looked up elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

_INCLUDE = re.compile(r'^#include "([\w./]+)"$', re.MULTILINE)


class ShaderMissing(LookupError):
    """A shader file that is not in the package, or that includes itself."""


def names() -> list[str]:
    """The shader files of the package, sorted."""
    folder = files("oniyanma.shaders")
    return sorted(f.name for f in folder.iterdir() if f.name.endswith((".vert", ".frag", ".glsl")))


@cache
def _resolved(name: str, chain: tuple[str, ...] = ()) -> str:
    if name in chain:
        raise ShaderMissing(f"The shader {' → '.join((*chain, name))} includes itself.")
    try:
        text = files("oniyanma.shaders").joinpath(name).read_text(encoding="utf-8")
    except FileNotFoundError:
        by = f", included by {chain[-1]}" if chain else ""
        raise ShaderMissing(f"There is no shader {name}{by}.") from None
    return _INCLUDE.sub(lambda found: _resolved(found.group(1), (*chain, name)), text)


def load(name: str, defines: Iterable[str] = ()) -> str:
    """The source of a shader as GLSL 120, with ``defines`` set. Raises `ShaderMissing`."""
    lines = "".join(f"#define {define} 1\n" for define in sorted(defines))
    return f"#version 120\n{lines}{_resolved(name)}"
