"""Writes docs/performance.md from what the benches wrote into bench/results.

A result is ``{"title", "rows": [{"what", "figure", "aim", "holds"}], "notes"}``: ``figure`` and
``aim`` are text, ``holds`` is true, false, or null where there is no aim; ``notes`` is a text or a
list of them; ``order`` (a number, optional) places it on the page.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
TARGET = ROOT / "docs" / "performance.md"

HEAD = """# Performance

Written by `bench/report.py` from `bench/results/*.json`; do not edit. `make bench` measures anew.
Figures are ratios within one run wherever they can be, because machines differ and a busy one
differs from itself.
"""

MARK = {True: "yes", False: "**no**", None: ""}


def load() -> list[dict[str, Any]]:
    """Every result, in the order of the page."""
    found = []
    for file in sorted(RESULTS.glob("*.json")):
        result = json.loads(file.read_text("utf-8"))
        result.setdefault("order", 100)
        found.append(result)
    return sorted(found, key=lambda result: (result["order"], result["title"]))


def render(results: list[dict[str, Any]]) -> str:
    """The page."""
    parts = [HEAD]
    for result in results:
        parts.append(f"\n## {result['title']}\n")
        parts.append("| what | figure | aim | holds |\n|---|---|---|---|")
        for row in result["rows"]:
            cells = [row["what"], row["figure"], row.get("aim") or "", MARK[row.get("holds")]]
            parts.append("| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |")
        notes = result.get("notes") or []
        for note in [notes] if isinstance(notes, str) else notes:
            parts.append(f"\n{note}")
    return "\n".join(parts) + "\n"


def main() -> int:
    """Writes the page; with ``--check`` only says whether it is up to date."""
    page = render(load())
    if "--check" in sys.argv:
        same = TARGET.exists() and TARGET.read_text("utf-8") == page
        print("docs/performance.md is", "up to date" if same else "out of date: make bench")
        return 0 if same else 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(page, "utf-8")
    print(f"wrote {TARGET.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
