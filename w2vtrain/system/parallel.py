"""Run one function on several threads: what they report, the first error, a thread that falls silent, and the end.

It does not know what the threads compute, and nothing here is written or printed.
"""

import math
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from w2vtrain.errors import Stalled

T = TypeVar("T")

TICK = 1.0
"""Seconds of waiting after which the caller gets None, if it names no other number."""
GRACE = 1.0
"""Seconds that threads get for the rest of their step once the work has ended. Slower ones are left behind."""

Work = Callable[[int, threading.Event], Iterator[T]]
"""work(number, ended): a generator that thread `number` iterates; what it yields is reported to the caller.

After each report the thread ends if the work has ended. `ended` is for a step that is long, or that waits: it should
look there and return.
"""


@contextmanager
def held_signals() -> Iterator[None]:
    """Hold back signals whose handlers may raise an exception: they are handled at the end of the context.

    An exception amid threading.Thread.start takes away the new thread's entry, so that it ends with a traceback. A mask
    of signals would not do: another thread of the process may take the signal, and the main thread handle it.
    """
    held: list[int] = []
    with ExitStack() as handlers:
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"):
                number = getattr(signal, name, None)
                if number is not None and callable(handler := signal.getsignal(number)):
                    handlers.callback(signal.signal, number, handler)
                    signal.signal(number, lambda number, _: held.append(number))
        yield
    for number in held:
        signal.raise_signal(number)


class Silence(NamedTuple):
    """The silence after which a thread counts as stalled.

    seconds: without a report of one thread; message: of Stalled, in which {thread} and {seconds} are filled in.
    """

    seconds: float = math.inf
    message: str = "thread {thread} has reported nothing for {seconds:g} s"


@dataclass(frozen=True)
class _End:
    """The last message of a thread. error: what it raised, if it did."""

    error: BaseException | None


_Message = tuple[int, T | _End]
"""The number of a thread, and its report or its end."""


@contextmanager
def parallel(
    work: Work[T], threads: int, name: str, tick: float = TICK, silence: Silence | None = None
) -> Iterator[Iterator[T | None]]:
    """Run `work` on this many threads, "NAME 0", "NAME 1", ..., and give an iterator of their reports, for one caller.

    The iterator gives None each time the caller has waited there for `tick` seconds, and ends when all threads have. It
    raises the first exception of a thread, and Stalled if one was silent for too long. Leaving the context ends the
    work, whatever the reason: threads end after the step that they are in, or are left behind after GRACE seconds.
    """
    messages: queue.SimpleQueue[_Message[T]] = queue.SimpleQueue()
    ended = threading.Event()

    def follow(number: int) -> None:
        error = None
        try:
            for report in work(number, ended):
                messages.put((number, report))
                if ended.is_set():
                    break
        except BaseException as found:
            error = found
        messages.put((number, _End(error)))
        if error is not None:  # after the message: what other threads raise because of this must come later
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
        end = time.monotonic() + GRACE
        for thread in started:
            thread.join(max(0.0, end - time.monotonic()))


def _reports(
    messages: "queue.SimpleQueue[_Message[T]]", threads: int, tick: float, silence: Silence
) -> Iterator[T | None]:
    """Yield reports until all threads have ended.

    The clock of silence counts the seconds that the caller waits here, and no more of them than it asked to wait: a
    process that slept has not stalled, nor has a thread whose reports wait for a busy caller.
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
            number, found = message
            heard[number] = clock
            if not isinstance(found, _End):
                yield found
            elif found.error is not None:
                raise found.error
            else:
                del heard[number]
        if heard and clock - min(heard.values()) > silence.seconds:
            thread = min(heard, key=heard.__getitem__)
            raise Stalled(silence.message.format(thread=thread, seconds=silence.seconds))
