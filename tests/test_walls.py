"""The walls between the rooms, held on the installed layout (where ui/ is oniyanma.ui)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content, unpacked into a folder of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    skip = shutil.ignore_patterns(".venv*", ".git", "out", "build", "dist", "*.egg-info")
    shutil.copytree(ROOT, source, ignore=skip, symlinks=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--target", str(folder / "site"), str(source)]
    subprocess.run(command, check=True, cwd=folder)
    return folder / "site"


def run(site: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True)


def lint_imports(site: Path) -> subprocess.CompletedProcess[str]:
    tool = str(Path(sys.executable).with_name("lint-imports"))
    return run(site, tool, str(ROOT / ".ci" / "walls.ini"), "--no-cache")


def test_every_wall_stands_in_the_installed_package(installed: Path) -> None:
    answer = lint_imports(installed)
    assert answer.returncode == 0, answer.stdout


def test_a_forbidden_import_in_the_window_breaks_the_check(installed: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(installed / "oniyanma", site / "oniyanma")
    (site / "oniyanma" / "ui" / "planted.py").write_text("import oniyanma.commands\nimport vispy\n")
    answer = lint_imports(site)
    assert answer.returncode == 1
    assert "The window goes through its handle BROKEN" in answer.stdout
    assert "The renderer is the only home of vispy BROKEN" in answer.stdout


def test_every_module_imports_and_every_shader_reads_from_the_wheel(installed: Path) -> None:
    script = """
import importlib, importlib.resources, pkgutil, pathlib
import oniyanma
site = pathlib.Path.cwd()
assert pathlib.Path(oniyanma.__file__).is_relative_to(site), oniyanma.__file__
names = [m.name for m in pkgutil.walk_packages(oniyanma.__path__, "oniyanma.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
shaders = [f for f in importlib.resources.files("oniyanma.shaders").iterdir()
           if f.name.endswith((".glsl", ".vert", ".frag"))]
assert shaders and all(f.read_text(encoding="utf-8").strip() for f in shaders)
sample = importlib.resources.files("oniyanma.assets") / "town.copc.laz"
assert 1_000_000 < len(sample.read_bytes()) < 5_000_000
print(len(names))
"""
    answer = run(installed, sys.executable, "-c", script)
    assert answer.returncode == 0, answer.stderr
    assert int(answer.stdout) > 40


def test_import_oniyanma_loads_neither_qt_nor_vispy(installed: Path) -> None:
    script = (
        "import sys, oniyanma\n"
        "assert not {'PySide6', 'vispy'} & set(sys.modules), sorted(sys.modules)\n"
        "oniyanma.Session\n"
        "assert not {'PySide6', 'vispy'} & set(sys.modules)\n"
    )
    answer = run(installed, sys.executable, "-c", script)
    assert answer.returncode == 0, answer.stderr
