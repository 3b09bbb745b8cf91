"""The indexing processes: tasks handed out, results taken in as they come.

``python -m oniyanma.clouds.index.crew`` is one of them. Every Python LAZ codec holds the
interpreter lock, so two cores need two processes.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, cast

from oniyanma.clouds.index.spill import Spill
from oniyanma.clouds.index.tasks import Hands, Setup
from oniyanma.clouds.model import CloudError
from oniyanma.clouds.process import claim_pipes, receive, send, spawn
from oniyanma.clouds.sources.laz import CodecError

POLL = 0.2


class Cancelled(CloudError):
    """The caller no longer wants it."""


class Crew:
    """``workers`` processes that do tasks of one build; 0: the caller does them itself."""

    def __init__(
        self, setup: Setup, spill: Spill, workers: int, cancelled: Callable[[], bool]
    ) -> None:
        self._cancelled = cancelled
        self._hands = Hands(setup, spill) if workers == 0 else None
        self._processes = []
        self._threads: list[threading.Thread] = []
        self._stop = threading.Event()
        for _ in range(workers):
            process = spawn("oniyanma.clouds.index.crew", [], spill.fds)
            self._processes.append(process)
            send(cast(BinaryIO, process.stdin), setup)

    def run(self, tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Results of ``tasks`` in whatever order they are done; at most a few wait at a time.

        Raises `Cancelled`, CodecError for damage in the source, `CloudError` for all else.
        """
        if self._hands is not None:
            for task in tasks:
                if self._cancelled():
                    raise Cancelled("cancelled")
                yield self._hands.do(task)
            return
        source = iter(tasks)
        lock = threading.Lock()
        results: queue.Queue[tuple[str, Any]] = queue.Queue(2 * len(self._processes))
        self._threads = [
            threading.Thread(target=self._serve, args=(p, source, lock, results), daemon=True)
            for p in self._processes
        ]
        for thread in self._threads:
            thread.start()
        working = len(self._threads)
        while working:
            if self._cancelled():
                raise Cancelled("cancelled")
            try:
                kind, value = results.get(timeout=POLL)
            except queue.Empty:
                continue
            if kind == "idle":
                working -= 1
            elif kind == "result":
                yield value
            elif kind == "codec":
                raise CodecError(value)
            elif kind == "raised":
                raise value
            else:
                raise CloudError(value)

    def close(self) -> None:
        """Ends the processes, whatever they are at."""
        self._stop.set()
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            for pipe in (process.stdin, process.stdout):
                try:
                    cast(BinaryIO, pipe).close()
                except OSError:
                    pass  # unsent bytes of a process that has ended
        if self._hands is not None:
            self._hands.close()

    def _serve(
        self,
        process: Any,
        tasks: Iterator[tuple[Any, ...]],
        lock: threading.Lock,
        results: queue.Queue[tuple[str, Any]],
    ) -> None:
        try:
            while not self._stop.is_set():
                with lock:
                    task = next(tasks, None)
                if task is None:
                    break
                send(process.stdin, task)
                del task
                if not self._put(results, receive(process.stdout)):
                    return
        except (EOFError, OSError):
            status = process.wait()
            self._put(
                results,
                (
                    "error",
                    f"an indexing process ended unexpectedly (exit status {status}); there may "
                    "be too little memory: close other programs or give it less with --memory.",
                ),
            )
        except BaseException as error:  # the source's own, raised in the caller's thread
            self._put(results, ("raised", error))
        else:
            self._put(results, ("idle", None))

    def _put(self, results: queue.Queue[tuple[str, Any]], item: tuple[str, Any]) -> bool:
        while not self._stop.is_set():
            try:
                results.put(item, timeout=POLL)
                return True
            except queue.Full:
                continue
        return False


def main() -> int:
    """Does tasks until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = claim_pipes()
    try:
        hands = Hands(receive(source))
        while True:
            task = receive(source)
            try:
                answer = ("result", hands.do(task))
            except CodecError as error:
                answer = ("codec", str(error))
            except MemoryError:
                answer = ("error", "there is too little memory for the index.")
            except CloudError as error:
                answer = ("error", str(error))
            except Exception as error:
                answer = ("error", f"indexing failed at {task[0]}: {error!r}")
            del task
            send(sink, answer)
            del answer
    except (EOFError, OSError):
        return 0


if __name__ == "__main__":
    from oniyanma.clouds.index.crew import main as run

    code = run()
    sys.stdout.flush()
    os._exit(code)
