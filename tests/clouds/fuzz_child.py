"""Runs `oniyanma info` on one path after another, for the fuzz test, under a limit of memory.

Reads one path a line from standard input and answers one JSON line: the exit status, what was
printed, and the peak of resident memory in MiB. Standard error of the libraries goes nowhere.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import traceback

from oniyanma.clouds.main import info_main
from oniyanma.clouds.model import CloudError
from oniyanma.clouds.open import open_source

LIMIT = 3 << 30


def _case(path: str) -> dict[str, object]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = info_main([path, "--json"])
        if status == 0:
            with contextlib.suppress(CloudError):
                source = open_source(path)
                assert len(source.sample(500)) <= 500
                source.close()
    return {"status": status, "out": out.getvalue(), "err": err.getvalue()}


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    print("ready", flush=True)  # noqa: T201
    for line in sys.stdin:
        try:
            answer = _case(json.loads(line))
        except BaseException:
            answer = {"status": -1, "out": "", "err": traceback.format_exc()}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(json.dumps({**answer, "peak": peak}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
