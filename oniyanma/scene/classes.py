"""Names of point classes (ASPRS LAS 1.4 R15, table 17)."""

from __future__ import annotations

from collections.abc import Mapping

CLASS_NAMES: Mapping[int, str] = {
    0: "Never classified",
    1: "Unclassified",
    2: "Ground",
    3: "Low vegetation",
    4: "Medium vegetation",
    5: "High vegetation",
    6: "Building",
    7: "Low noise",
    8: "Model key point",
    9: "Water",
    10: "Rail",
    11: "Road surface",
    12: "Overlap",
    13: "Wire, guard",
    14: "Wire, conductor",
    15: "Transmission tower",
    16: "Wire connector",
    17: "Bridge deck",
    18: "High noise",
    19: "Overhead structure",
    20: "Ignored ground",
    21: "Snow",
    22: "Temporal exclusion",
}


def class_name(number: int) -> str:
    """The ASPRS name, or what the number's range means."""
    return CLASS_NAMES.get(number, "Reserved" if number < 64 else "User class")
