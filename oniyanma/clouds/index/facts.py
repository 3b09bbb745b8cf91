"""What the indexer found in every point, kept as an extended VLR of the COPC file itself."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

USER_ID = "oniyanma"
RECORD_ID = 1
EVLR = struct.Struct("<H16sHQ32s")
MAX_FACTS = 16 << 20


def read_facts(path: Path) -> dict[str, Any] | None:
    """The facts stored in the file at ``path``; None when there are none to be read."""
    try:
        with path.open("rb") as file:
            head = file.read(375)
            start, count = struct.unpack_from("<QI", head, 235)
            for _ in range(min(count, 64)):
                file.seek(start)
                _, user, record, size, _ = EVLR.unpack(file.read(EVLR.size))
                if user.rstrip(b"\0") == USER_ID.encode() and record == RECORD_ID:
                    if size > MAX_FACTS:
                        return None
                    found = json.loads(file.read(size))
                    return found if isinstance(found, dict) else None
                start += EVLR.size + size
    except (OSError, struct.error, ValueError):
        return None
    return None
