"""A local web server with or without byte ranges, for the tests of reading over http."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


class Server(ThreadingHTTPServer):
    """Serves the files below ``folder`` and remembers what was asked for."""

    daemon_threads = True

    def __init__(self, folder: Path, *, ranges: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.ranges = folder, ranges
        self.asked: list[tuple[str, int]] = []  # path, bytes sent
        self.failures = 0  # so many answers are 503 first
        self.short = 0  # so many answers break off half way
        self.shift = 0  # answers begin so many bytes behind what was asked for
        self.busy = 503  # the status of failures

    @property
    def url(self) -> str:
        """The address of the folder."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path = self.server.folder / unquote(self.path.split("?")[0]).lstrip("/")
        if self.server.failures:
            self.server.failures -= 1
            self.send_error(self.server.busy)
            return
        if not path.is_file():
            self.send_error(404)
            return
        data = path.read_bytes()
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked and self.server.ranges:
            first = int(asked.group(1)) + self.server.shift
            last = min(int(asked.group(2)), len(data) - 1)
            body = data[first : last + 1]
            self.send_response(206 if body else 416)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        else:
            body = data
            self.send_response(200)
        self.send_header("ETag", f'"{path.stat().st_mtime_ns}"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.short:
            self.server.short -= 1
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return
        self.server.asked.append((self.path, len(body)))
        self.wfile.write(body)


@contextmanager
def serving(folder: Path, *, ranges: bool = True) -> Iterator[Server]:
    """A running server on the loopback address."""
    server = Server(folder, ranges=ranges)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
