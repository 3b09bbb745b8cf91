"""The examples of the page about scripts run as they stand."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.scenes import small_cloud
from tests.support import ROOT

PAGE = (ROOT / "docs" / "scripting.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SHELL = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_cloud(tmp_path / "site.las")
    (tmp_path / "out").mkdir()
    return tmp_path


@pytest.mark.parametrize("code", PYTHON, ids=["plain", "loop"])
def test_python_of_the_page_runs(code: str, folder: Path) -> None:
    if "await" in code:
        body = "".join(f"    {line}\n" for line in code.splitlines())
        code = f"import asyncio\nasync def main():\n{body}    assert answer['ok'], answer\n"
        code += "asyncio.run(main())\n"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    if "exportCloud" in code:
        assert "4000 points written" in done.stdout and (folder / "out" / "site.laz").exists()


def test_the_command_lines_of_the_page_run(folder: Path) -> None:
    lines = [{"name": "selectWhere", "args": {"classes": [6]}}, {"name": "deleteSelection"}]
    (folder / "job.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    script, verify = (line.split()[1:] for line in SHELL)
    for args in ([*script, "--project", "site.oniyanma"], verify):
        done = subprocess.run(
            [sys.executable, "-m", "oniyanma", *args],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
    assert "whole and in order" in done.stdout
