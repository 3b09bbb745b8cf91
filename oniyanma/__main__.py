"""``python -m oniyanma``."""

import sys

from oniyanma.cli import main

if __name__ == "__main__":
    sys.exit(main())
