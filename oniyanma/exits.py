"""What the program's exit status says; 0 is done, 1 failed."""

from typing import Final

WRONG: Final = 2  # wrong usage, or no display for the window
REFUSED: Final = 3  # a file was refused
