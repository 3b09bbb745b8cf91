"""Runs a command on a virtual display of its own, with a small window manager for focus.

    python -m tests.display COMMAND…

Where there is no Xvfb (macOS, Windows) the command runs on the display that is there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def main(command: list[str]) -> int:
    if shutil.which("Xvfb") is None:
        return subprocess.call(command)
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "2880x1800x24", "-nolisten", "tcp"],
        pass_fds=(write,),
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as pipe:
        number = pipe.readline().strip()
    if not number:
        server.wait()
        print("The virtual display could not be started.", file=sys.stderr)  # noqa: T201
        return 2
    environment = {**os.environ, "DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb"}
    environment.pop("WAYLAND_DISPLAY", None)
    children = [server]
    if shutil.which("openbox"):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        children.append(subprocess.Popen(["openbox"], env=environment, **quiet))
    try:
        return subprocess.call(command, env=environment)
    finally:
        for child in reversed(children):
            child.terminate()
            child.wait()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
