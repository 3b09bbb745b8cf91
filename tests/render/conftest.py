"""Pictures are drawn through EGL, with no display and no Qt, in this very process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oniyanma.render.headless import HeadlessRenderer


@pytest.fixture
def renderer() -> Iterator[HeadlessRenderer]:
    """A headless renderer of the test's own."""
    made = HeadlessRenderer()
    yield made
    made.close()
