"""Work that waits for others, on many things at once."""

import contextlib
import queue
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
