"""Work that waits for others, on many things at once, and work that Ctrl-C can leave."""

import atexit
import contextlib
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Collection
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def for_each(
    items: Collection[Item],
    work: Callable[[Item], Result],
    *,
    at_once: int,
    patience: float | None = None,
) -> dict[Item, Result]:
    """Returns the results of work on different items, on at most `at_once` of them at a time.

    Those that take longer than `patience` seconds, all together, are left out. Neither they nor an
    exception such as KeyboardInterrupt, after which no work begins, keep the process from ending.
    `work` raises nothing.
    """
    left: queue.SimpleQueue[Item] = queue.SimpleQueue()
    for item in dict.fromkeys(items):
        left.put(item)
    results: dict[Item, Result] = {}

    def take() -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                item = left.get_nowait()
                results[item] = work(item)

    threads = [
        threading.Thread(target=take, daemon=True) for _ in range(min(at_once, left.qsize()))
    ]
    end = None if patience is None else time.monotonic() + patience
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
    except BaseException:
        with contextlib.suppress(queue.Empty):
            while True:
                left.get_nowait()
        raise
    return dict(results)


_running: set[threading.Event] = set()
"""The calls of interruptible() that go on, also those that were left."""


def interruptible(call: Callable[[], Result]) -> Result:
    """Returns the result of a long call that looks at no signals itself, as those of the core.

    The call has a thread of its own, so that the main thread hears of Ctrl-C at once, and leaves
    it. What was left goes on until the process ends. In other threads, which get no signals, it is
    only called.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    results: list[Result] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        _running.add(done)
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            _running.discard(done)
            done.set()

    threading.Thread(target=work, daemon=True).start()
    done.wait()
    if errors:
        raise errors[0]
    return results[0]


@atexit.register
def _leave_calls() -> None:
    """Ends the process here, with the status of what Ctrl-C ended, if a call was left that goes on.

    It would crash in code of the core whose data Python's end removes.
    """
    if _running:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(130)
