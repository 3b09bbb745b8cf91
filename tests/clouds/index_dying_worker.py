"""A decode worker that dies when it is asked for the node with the key (1, 0, 0, 0)."""

import os
import sys

from oniyanma.clouds import worker

POISON = (1, 0, 0, 0)
decode = worker.decode_node


def dying(fmt, job, read_at):
    if job.key == POISON:
        os._exit(7)
    return decode(fmt, job, read_at)


worker.decode_node = dying

if __name__ == "__main__":
    sys.exit(worker.main(sys.argv[1:]))
