"""Running one function on several threads, with reports and errors passed to the caller and stalls detected.

This module does not know what the threads compute, and it writes and prints nothing.
"""

import math
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from w2vtrain.errors import Stalled
from w2vtrain.system.stopping import ENDING, handled_by, numbers

T = TypeVar("T")

WAKE_SECONDS = 0.2
"""Between two looks of a thread that waits for its turn at whether the work has ended."""
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


class Silence(NamedTuple):
    """How long a thread may report nothing before it counts as stalled.

    seconds: the longest time without a report from a thread; message: the message of Stalled, as `Stalled.after`
    takes it.
    """

    seconds: float = math.inf
    message: str = "thread {thread} has reported nothing for {seconds:g} s"


@dataclass(frozen=True)
class _End:
    """The last message of a thread. error: the exception that ended it, if any."""

    error: BaseException | None


_Message = tuple[int, T | _End]
"""A thread's number, and a report of the thread or its end."""


@contextmanager
def parallel(
    work: Work[T], threads: int, name: str, tick: float = TICK_SECONDS, silence: Silence | None = None
) -> Iterator[Iterator[T | None]]:
    """Run `work` on several threads, named "NAME 0", "NAME 1", ..., and yield an iterator over their reports.

    Only one thread may use the iterator. It yields None whenever the caller has waited for `tick` seconds, and ends
    when all threads have ended. It raises the first exception of any thread, and Stalled if a thread was silent for too
    long. Leaving the context for any reason ends the work: each thread ends after its current step, or is abandoned
    after GRACE_SECONDS seconds.

    With 0 threads, the caller's thread does the work while it iterates: to start one takes a fifth of a millisecond.
    """
    if not threads:
        yield work(0, threading.Event())
        return
    messages: queue.SimpleQueue[_Message[T]] = queue.SimpleQueue()
    ended = threading.Event()

    def follow(number: int) -> None:
        error = None
        try:
            for report in work(number, ended):
                messages.put((number, report))
                if ended.is_set():
                    break
        except BaseException as failure:
            error = failure
        messages.put((number, _End(error)))
        if error is not None:  # after the message, so that errors of other threads that this causes come later
            ended.set()

    started: list[threading.Thread] = []
    try:
        for number in range(threads):
            thread = threading.Thread(target=follow, args=(number,), name=f"{name} {number}", daemon=True)
            with held_signals():
                thread.start()
                started.append(thread)
        reports = _reports(messages, threads, tick, silence or Silence())
        yield reports
    finally:
        ended.set()
        end = time.monotonic() + GRACE_SECONDS
        for thread in started:
            thread.join(max(0.0, end - time.monotonic()))


def _reports(
    messages: "queue.SimpleQueue[_Message[T]]", threads: int, tick: float, silence: Silence
) -> Iterator[T | None]:
    """Yield reports until all threads have ended.

    The clock that measures silence counts only the time that the caller waits here, and each wait only up to its
    timeout. So a process that was suspended does not count as stalled, nor does a thread whose reports wait for a busy
    caller.
    """
    clock, due = 0.0, tick
    heard = dict.fromkeys(range(threads), 0.0)
    while heard:
        longest, started, message = max(0.0, due - clock), time.monotonic(), None
        with suppress(queue.Empty):
            message = messages.get(timeout=longest)
        clock += min(time.monotonic() - started, longest)
        if message is None:
            due = clock + tick
            yield None
        else:
            number, report = message
            heard[number] = clock
            if not isinstance(report, _End):
                yield report
            elif report.error is not None:
                raise report.error
            else:
                del heard[number]
        if heard and clock - min(heard.values()) > silence.seconds:
            thread = min(heard, key=heard.__getitem__)
            raise Stalled.after(silence.seconds, thread, silence.message)


def in_order(work: Callable[[int], T], count: int, threads: int, name: str) -> Iterator[T]:
    """Yield work(0), ..., work(count - 1), computed on several threads, of which none is far ahead of the caller.

    At most two results per thread wait. It raises the first exception of any thread. threads: see `parallel`.
    """
    if not threads:
        yield from map(work, range(count))
        return
    turn, ready, done = threading.Condition(), dict[int, T](), 0

    def follow(thread: int, ended: threading.Event) -> Iterator[int]:
        for index in range(thread, count, threads):
            with turn:
                while index >= done + 2 * threads and not ended.is_set():
                    turn.wait(WAKE_SECONDS)
            if ended.is_set():
                return
            ready[index] = work(index)
            yield index

    with parallel(follow, min(threads, max(1, count)), name) as reports:
        for _ in reports:
            while done in ready:
                yield ready.pop(done)
                with turn:
                    done += 1
                    turn.notify_all()
