"""Files on a web server, read in ranges."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from typing import Any
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError

from oniyanma.clouds.model import CloudError

BLOCK = 256 << 10
CACHED_BLOCKS = 64
TIMEOUT = (10.0, 60.0)  # seconds to connect, to wait for data
TRIES = 3
MAX_DOCUMENT = 64 << 20
BUSY = frozenset({408, 429})  # answers that another try may better, as any from 500 on may
# Reading the raw answer raises urllib3's own errors, which requests does not translate.
FAILURES = (requests.RequestException, HTTPError)


def is_url(text: str) -> bool:
    """Whether ``text`` is an http or https address."""
    return text.lower().startswith(("http://", "https://"))


def url_name(url: str) -> str:
    """The last part of a URL's path, for messages."""
    try:
        parts = urlsplit(url)
    except ValueError:  # such as a [ without its ]
        return url
    return parts.path.rstrip("/").rsplit("/", 1)[-1] or parts.netloc


class RangeReader:
    """Byte ranges of one URL. One connection, safe to use from several threads.

    Raises:
        CloudError: the address can't be reached, or the server does not serve ranges.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = url_name(url)
        self._session = requests.Session()
        self._lock = threading.Lock()
        self._tag: str | None = None
        self.size = 0
        first = self._get(0, BLOCK, probe=True)
        self._first = first

    def read_range(self, start: int, length: int) -> bytes:
        """``length`` bytes from ``start`` on, fewer at the end of the file."""
        end = min(start + length, self.size)
        if end <= start:
            return b""
        if end <= len(self._first):
            return self._first[start:end]
        return self._get(start, end - start)

    def _get(self, start: int, length: int, *, probe: bool = False) -> bytes:
        headers = {"Range": f"bytes={start}-{start + length - 1}", "Accept-Encoding": "identity"}
        reason = ""
        for _ in range(TRIES):
            try:
                with (
                    self._lock,
                    self._session.get(
                        self.url, headers=headers, timeout=TIMEOUT, stream=True
                    ) as answer,
                ):
                    if answer.status_code >= 500 or answer.status_code in BUSY:
                        reason = f"the server answered {answer.status_code}"
                        continue
                    return self._body(answer, start, length, probe)
            except FAILURES as error:
                reason = type(error).__name__
        raise CloudError(
            f"{self.url} can't be read ({reason}): check the address and the connection."
        )

    def _body(self, answer: requests.Response, start: int, length: int, probe: bool) -> bytes:
        if answer.status_code == 416 and probe:
            raise CloudError(f"{self.name} is empty (0 bytes): choose a file with points.")
        if 400 <= answer.status_code < 500 and answer.status_code != 416:
            raise CloudError(
                f"{self.url} can't be opened (the server answered {answer.status_code}): check "
                "the address and your rights."
            )
        sent = answer.headers.get("Content-Range", "")
        total = sent.rsplit("/", 1)[-1]
        if answer.status_code != 206 or not total.isdigit():
            raise CloudError(
                f"{self.url} is on a server that does not serve ranges (it answered "
                f"{answer.status_code}): download the file and open it from disk."
            )
        if sent.split("-")[0].split()[-1:] != [str(start)]:
            raise CloudError(
                f"{self.url} is on a server that sends other bytes ({sent[:60]}) than those from "
                f"{start:,} on: download the file and open it from disk."
            )
        tag = answer.headers.get("ETag")
        if probe:
            self.size, self._tag = int(total), tag
        elif int(total) != self.size or tag != self._tag:
            raise CloudError(f"{self.url} has changed on the server: open it again.")
        wanted = min(length, self.size - start)
        data = answer.raw.read(wanted, decode_content=False)
        while len(data) < wanted:
            more = answer.raw.read(wanted - len(data), decode_content=False)
            if not more:
                raise requests.ConnectionError("short answer")
            data += more
        return bytes(data)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()


class HttpFile(io.RawIOBase):
    """A URL as a seekable binary stream, with a small cache of blocks."""

    def __init__(self, reader: RangeReader | str) -> None:
        self._reader = RangeReader(reader) if isinstance(reader, str) else reader
        self.size = self._reader.size
        self._at = 0
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def read_at(self, offset: int, size: int) -> bytes:
        """``size`` bytes from ``offset`` on, whatever the stream's position."""
        return self._reader.read_range(offset, size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._reader.size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._reader.size if size < 0 else min(self._at + size, self._reader.size)
        if end <= self._at:
            return b""
        if end - self._at > BLOCK:  # large reads go straight through
            data = self._reader.read_range(self._at, end - self._at)
        else:
            first, last = self._at // BLOCK, (end - 1) // BLOCK
            whole = b"".join(self._block(number) for number in range(first, last + 1))
            data = whole[self._at - first * BLOCK : end - first * BLOCK]
        self._at += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _block(self, number: int) -> bytes:
        if number in self._blocks:
            self._blocks.move_to_end(number)
            return self._blocks[number]
        data = self._reader.read_range(number * BLOCK, BLOCK)
        self._blocks[number] = data
        if len(self._blocks) > CACHED_BLOCKS:
            self._blocks.popitem(last=False)
        return data


def fetch(url: str) -> bytes:
    """A whole small document.

    Raises:
        CloudError: it can't be had, or is larger than 64 MiB.
    """
    try:
        with requests.get(url, timeout=TIMEOUT, stream=True) as answer:
            if answer.status_code != 200:
                raise CloudError(f"{url} can't be read (the server answered {answer.status_code}).")
            data = answer.raw.read(MAX_DOCUMENT + 1, decode_content=True)
    except FAILURES as error:
        raise CloudError(
            f"{url} can't be read ({type(error).__name__}): check the address and the connection."
        ) from error
    if len(data) > MAX_DOCUMENT:
        raise CloudError(f"{url} is larger than {MAX_DOCUMENT:,} bytes, too large for a list.")
    return bytes(data)
