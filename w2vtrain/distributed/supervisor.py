"""Start a command until the run that it trains has finished, and start it again while the run advances.

What a run leaves on disk decides, in traces.py; the exit code of a launcher proves nothing, because some launchers end
with code 0 after a host was lost. Nothing here prints or knows the command line of `fit`.
"""

import shlex
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from w2vtrain.distributed.descendants import Family, started
from w2vtrain.distributed.traces import Ledger, Traces
from w2vtrain.errors import (
    EXIT_CODES,
    BelowThreshold,
    ConfigError,
    DataError,
    Diverged,
    InputMissing,
    OutputError,
    Stopped,
    UsageError,
    W2VError,
)
from w2vtrain.system.amounts import counted
from w2vtrain.system.stopping import INTERRUPTED, STOPPED
from w2vtrain.training.signals import handled

PERMANENT_CODES = frozenset(
    error.exit_code for error in (UsageError, DataError, InputMissing, OutputError, Diverged, ConfigError)
)
"""Exit codes of `fit` that another start would only repeat."""
IN_USE_CODE = OutputError.exit_code
"""After a restart, processes of the previous start may still hold the run's locks on other hosts."""
UNKNOWN_CODE = W2VError.exit_code
DELAY_SECONDS, MAX_DELAY_SECONDS = 1.0, 60.0
"""Between two starts: DELAY_SECONDS at first, twice as long after each start without advance, up to the maximum."""
SETTLE_SECONDS = 60.0
"""Seconds in which files that another host has written appear on shared storage: NFS clients cache folders."""
SILENCE_FACTOR = 10
"""A run that writes no heartbeat may be silent this many times longer: it changes files only at checkpoints."""
BUSY_CORES = 0.01
"""A run without a heartbeat is at work if its processes on this host used this fraction of a core."""


class GaveUp(W2VError):
    """Raised when starting the command again is of no use. The exit code is that of the last start if documented."""

    def __init__(self, message: str, code: int | None) -> None:
        super().__init__(message)
        # STOPPED would mean that the same command continues the run, and a batch script would submit it forever.
        ended = code in (0, BelowThreshold.exit_code, STOPPED, INTERRUPTED)
        self.exit_code = code if code in EXIT_CODES and not ended else UNKNOWN_CODE


@dataclass(frozen=True)
class Limits:
    """When to intervene.

    hang: seconds without a heartbeat after which a start has failed; grace: seconds from SIGTERM to SIGKILL; attempts:
    number of starts in a row without advance; stop: a command that asks the ranks to save and stop, for launchers that
    kill them on SIGTERM.
    """

    hang: float = 300.0
    grace: float = 30.0
    attempts: int = 10
    stop: str = ""


class Supervisor:
    """Starts one command repeatedly. say: called with a line at every start, restart and end; where: the log."""

    def __init__(
        self, command: Sequence[str], traces: Traces, limits: Limits, say: Callable[[str], None],
        where: str = "the messages above",
    ) -> None:  # fmt: skip
        self.command, self.traces, self.limits, self.say, self.where = command, traces, limits, say, where
        self.family: Family | None = None
        self.stopping = self.asked = self.killing = False
        self.hung = 0.0  # the limit in seconds if the last start was killed because it hung
        self.starts = self.failures = 0

    def run(self) -> None:
        """Return when the run has finished.

        Raise Stopped if a signal stopped it and the same command continues it, KeyboardInterrupt if nothing was saved,
        and GaveUp if starts in a row failed without advance or with an error that a restart cannot cure.
        """
        with handled(dict.fromkeys(("SIGINT", "SIGTERM", "SIGHUP"), self._stop)):
            best = self.traces.ledger()
            if self.traces.recorded() is not None:
                self.say(f"{self.traces.record} exists already: the command decides whether it belongs to this run")
            while True:
                code = self._start()
                if self._finished(code):
                    self.say(f"finished after {counted(self.starts, 'start')}")
                    return
                reached = self.traces.ledger()
                self._end_if_stopped(reached, code)
                self.failures = 0 if reached > best else self.failures + 1
                best = max(best, reached)
                self._give_up_if_useless(code)
                delay = min(MAX_DELAY_SECONDS, DELAY_SECONDS * 2 ** max(0, self.failures - 1))
                self.say(f"start {self.starts} {self._ending(code)} ({best}); start {self.starts + 1} in {delay:g} s")
                self._sleep(delay)
                self._end_if_stopped(reached)

    def _end_if_stopped(self, reached: Ledger, code: int | None = None) -> None:
        """Raise Stopped or KeyboardInterrupt if a signal asked for the end. After 75, the same command continues."""
        if self.killing or (self.stopping and code != Stopped.exit_code and not any(reached)):
            raise KeyboardInterrupt
        if self.stopping:
            raise Stopped(f"stopped ({reached}): the same command continues")

    def _give_up_if_useless(self, code: int) -> None:
        how = f"start {self.starts} {self._ending(code)}"
        if code in PERMANENT_CODES and not self.hung and (code != IN_USE_CODE or self.starts == 1):
            raise GaveUp(f"{how}, which another start cannot cure: see {self.where}, and correct the command", code)
        if self.failures >= self.limits.attempts:
            raise GaveUp(
                f"{counted(self.failures, 'start')} in a row brought no advance; {how} ({self.traces.ledger()}): see"
                f" {self.where} for the cause; then the same command continues",
                None if self.hung else code,
            )

    def _ending(self, code: int) -> str:
        """Return how the last start ended, as the end of a sentence."""
        if self.hung:
            return f"was killed after {self.hung:g} s without a sign of life"
        if code < 0:
            return f"was killed by {signal_name(-code)}"
        return f"ended with exit code {code} and without results"

    def _start(self) -> int:
        """Start the command, wait for its end, end what it left running, and return its exit code."""
        self.starts, self.hung = self.starts + 1, 0.0
        self.say(f"start {self.starts}{'' if self.starts > 1 else f': {shlex.join(self.command)}'}")
        beat = self.traces.heartbeat()
        self.family = family = Family(self.command)
        if self.stopping:  # the handler may have run before the family was known
            self._ask_to_stop()
        try:
            self._watch(family, beat)
        finally:
            left = family.end_all(0 if self.killing else self.limits.grace)
            self.family = None
        if left:
            self.say(f"warning: {counted(left, 'process')} of start {self.starts} cannot be killed")
        return family.code

    def _watch(self, family: Family, beat: int | None) -> None:
        """Wait until the command has ended or hangs. beat: the time of the last heartbeat of the previous start."""
        tick = min(self.limits.hang / 10, 5.0)
        seen, last, cpu, beats, quiet = self.traces.changes(), time.monotonic(), 0.0, False, 0.0
        while not family.wait(tick):
            self.traces.note_run()
            beats = beats or self.traces.heartbeat() != beat
            now, before = self.traces.changes(), seen
            # If this process was suspended, the command probably was, too.
            passed, last = min(time.monotonic() - last, 2 * tick), time.monotonic()
            quiet, seen = 0.0 if now != before else quiet + passed, now
            limit = self.limits.hang * (1 if beats else SILENCE_FACTOR)
            if quiet <= limit:
                continue
            used, cpu = (total := family.cpu()) - cpu, total
            if not beats and used > BUSY_CORES * quiet:  # reading or scoring a long text changes no file
                quiet = 0.0
                continue
            self.hung = limit
            family.signal(signal.SIGTERM)
            family.wait(self.limits.grace)
            family.kill()
            return

    def _ask_to_stop(self) -> None:
        """Let the ranks save and end: with the stop command, else with SIGTERM.

        SIGINT is not passed on: ranks could get it from the launcher, too, and would end on the second without saving.
        """
        if self.family and not self.asked:
            self.asked = True
            if not (self.limits.stop and started(self.limits.stop)):
                self.family.signal(signal.SIGTERM)

    def _finished(self, code: int) -> bool:
        """Return whether the results of this run are written. If the run folder is gone, give them time to appear."""
        end = time.monotonic() + SETTLE_SECONDS
        while not self.traces.finished():
            if code != 0 or self.stopping or self.traces.begun() or time.monotonic() > end:
                return False
            time.sleep(0.5)
        return True

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self.stopping and time.monotonic() < end:
            time.sleep(0.1)

    def _stop(self, number: int, _: Any) -> None:
        """Pass the first signal that asks to stop on; a second SIGINT kills the command."""
        if self.stopping and number == signal.SIGINT:
            self.killing = True
            if self.family:
                self.family.kill()
        elif not self.stopping:
            self.stopping = True
            self._ask_to_stop()


def signal_name(number: int) -> str:
    """Return the name of a signal; most realtime signals have none."""
    known = {one.value: one.name for one in signal.Signals}
    return known.get(number, f"signal {number}")
