"""Running one function on several threads, with reports and errors passed to the caller.

This module does not know what the threads compute, and it writes and prints nothing.
"""

import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from w2vtrain.system.stopping import ENDING, handled_by, numbers

T = TypeVar("T")

TICK_SECONDS = 1.0
"""Default time of waiting after which the caller gets None."""
GRACE_SECONDS = 1.0
"""Time that threads get to finish their current step after the work has ended. Slower threads are abandoned."""

Work = Callable[[int, threading.Event], Iterator[T]]
"""work(number, ended): a generator that thread `number` iterates over; its values are reported to the caller.

After each report, the thread ends if the work has ended. A step that takes long or waits should also check `ended`
itself, and return once it is set.
"""


@contextmanager
def held_signals() -> Iterator[None]:
    """Delay signals whose handlers may raise an exception until the end of the context.

    An exception inside threading.Thread.start deletes the new thread's entry, and the thread then ends with a
    traceback. A signal mask would not help: another thread of the process may receive the signal, and the main thread
    would still handle it.
    """
    held: list[int] = []
    signals = (number for number in numbers("SIGINT", *ENDING, "SIGUSR1") if callable(signal.getsignal(number)))
    with handled_by(lambda number, _: held.append(number), signals):
        yield
    for number in held:
        signal.raise_signal(number)


class _End(NamedTuple):
    """The last message of a thread. error: the exception that ended it, if any."""

    error: BaseException | None


@contextmanager
def parallel(work: Work[T], threads: int, name: str, tick: float = TICK_SECONDS) -> Iterator[Iterator[T | None]]:
    """Run `work` on several threads, named "NAME 0", "NAME 1", ..., and yield an iterator over their reports.

    Only one thread may use the iterator. It yields None every `tick` seconds of waiting, and ends when all threads have
    ended. It raises the first exception of any thread. Leaving the context for any reason ends the work: each thread
    ends after its current step, or is abandoned after GRACE_SECONDS seconds.

    With 0 threads, the caller's thread does the work while it iterates: to start one takes a fifth of a millisecond.
    """
    if not threads:
        yield work(0, threading.Event())
        return
    messages: queue.SimpleQueue[T | _End] = queue.SimpleQueue()
    ended = threading.Event()

    def follow(number: int) -> None:
        try:
            for report in work(number, ended):
                messages.put(report)
                if ended.is_set():
                    break
            messages.put(_End(None))
        except BaseException as error:
            messages.put(_End(error))
            ended.set()  # after the message, so that errors of other threads that this causes come later

    started: list[threading.Thread] = []
    try:
        for number in range(threads):
            thread = threading.Thread(target=follow, args=(number,), name=f"{name} {number}", daemon=True)
            with held_signals():
                thread.start()
                started.append(thread)
        reports = _reports(messages, threads, tick)
        yield reports
    finally:
        ended.set()
        end = time.monotonic() + GRACE_SECONDS
        for thread in started:
            thread.join(max(0.0, end - time.monotonic()))


def _reports(messages: "queue.SimpleQueue[T | _End]", running: int, tick: float) -> Iterator[T | None]:
    """Yield reports until all running threads have ended."""
    due = time.monotonic() + tick
    while running:
        try:
            message = messages.get(timeout=max(0.0, due - time.monotonic()))
        except queue.Empty:
            due = time.monotonic() + tick
            yield None
            continue
        if not isinstance(message, _End):
            yield message
        elif message.error is not None:
            raise message.error
        else:
            running -= 1


def in_order(work: Callable[[int], T], count: int, threads: int, name: str) -> Iterator[T]:
    """Yield work(0), ..., work(count - 1), computed on several threads, of which none is far ahead of the caller.

    At most two results per thread wait. It raises the first exception in this order. With 0 threads, the caller's
    thread does the work.
    """
    if not threads:
        yield from map(work, range(count))
        return
    pool, waiting = ThreadPoolExecutor(threads, name), deque[Future[T]]()
    try:
        for index in range(count):
            with held_signals():
                waiting.append(pool.submit(work, index))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
