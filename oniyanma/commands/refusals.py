"""What the scene says no to, as the door's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from oniyanma.registry import NotFound, Refused
from oniyanma.scene.records import RecordError
from oniyanma.scene.units import MeasureError


@contextmanager
def refusing() -> Iterator[None]:
    """A missing record is ``not_found``; a step or measurement that can't be is ``refused``."""
    try:
        yield
    except RecordError as error:
        if error.missing:
            raise NotFound(str(error)) from error
        raise Refused(str(error)) from error
    except MeasureError as error:
        raise Refused(str(error)) from error
