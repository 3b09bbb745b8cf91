"""Fixtures for every test: a home of its own, and in CI no test is skipped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test ever touches the user's cache, settings or recovery project."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("ONIYANMA_CACHE", str(home / "cache"))
    monkeypatch.setenv("ONIYANMA_DATA", str(home / "data"))
    monkeypatch.setenv("ONIYANMA_CONFIG", str(home / "config"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Where the real input is at hand (CI), a skip is a failure: something was not tested."""
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report
