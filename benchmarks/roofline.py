"""Say how w2vtrain scales with threads, and what limits it on this machine: arithmetic, rows or coherence.

This is a roofline model (Williams, Waterman & Patterson 2009): the work that a job needs at least, as a share of what
the machine could do in the same time. Nothing is measured here: observed.py and limits.py provide the figures.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from limits import Limits
from observed import Observed

from w2vtrain.leaves.compare.measure import median_of
from w2vtrain.system.amounts import counted

LIMITING_SHARE = 0.5
"""Share of the machine's arithmetic or row bandwidth from which it is called the limit."""

LOST_SHARE = 0.25
"""Share of their speed that threads lose, from which that is called the limit: two threads then do the work of 1.5. It
is lower than LIMITING_SHARE because the loss is measured, where the other shares are the least that a job can need."""

Groups = dict[int, list[Observed]]
"""The measurements of one job by its number of threads."""


class Shares(NamedTuple):
    """What a job uses of this machine; each figure is a fraction.

    arithmetic: needed float32 operations per CPU second, of the operations per second that limits.py measured; rows:
    bytes of rows per CPU second that have to be fetched and written back, of the measured bytes per second; lost: how
    far the words per second of N threads are below N times those of one thread, by wall-clock time; lost_cpu: the same
    by CPU time, so without the time in which threads waited for a core. The last two are 0 for one thread.
    """

    arithmetic: float
    rows: float
    lost: float = 0.0
    lost_cpu: float = 0.0

    def limit(self) -> str:
        """Return what limits the job, in words: the largest share, if it is large enough."""
        loss = "coherence" if 2 * self.lost_cpu >= self.lost else "waiting for a free core"
        shares = {
            "arithmetic": (self.arithmetic, LIMITING_SHARE),
            "rows": (self.rows, LIMITING_SHARE),
            loss: (self.lost, LOST_SHARE),
        }
        if large := [(share, name) for name, (share, least) in shares.items() if share >= least]:
            return f"limited by {max(large)[1]}"
        return "limited by none of these alone; the rest is drawing, finding windows and waiting"


def scaling(measurements: Sequence[Observed]) -> list[str]:
    """Return one line per job and number of threads: the speed beside that of one thread.

    Figures are medians over seeds, by wall-clock time. Jobs that were not measured with one thread are left out.
    """
    lines = []
    for name, groups in _groups(measurements).items():
        single = groups.get(1, [])
        for threads, group in groups.items():
            if threads > 1 and (ratio := _ratio(group, single, lambda m: m.wall_speed)):
                lines.append(f"{name}: {threads} threads {ratio:.2f}x of one by wall time")
    return lines


def limiting(measurements: Sequence[Observed], limits: Limits) -> list[str]:
    """Return one line per job and number of threads: what limits the job on this machine.

    Jobs whose operations are not known are left out.
    """
    lines = []
    for job, groups in _groups(measurements).items():
        single = groups.get(1, [])
        for threads, group in groups.items():
            if (used := shares(group, single, limits)) is None:
                continue
            text = f"{job}, {counted(threads, 'thread')}: arithmetic {used.arithmetic:.0%},"
            text += f" rows {used.rows:.0%} of this machine's limits"
            if threads > 1 and single:
                text += f", {used.lost:.0%} lost with {threads} threads"
            lines.append(f"{text}: {used.limit()}")
    return lines


def shares(group: Sequence[Observed], single: Sequence[Observed], limits: Limits) -> Shares | None:
    """Return the shares of a job, medians over seeds; None if its operations or times are not known.

    group: the measurements of the job; single: those of the same job with one thread, or none. A loss is at least 0.
    """
    threads = group[0].job.threads
    flops, rows = median_of(group, lambda m: m.flops), median_of(group, lambda m: m.row_speed)
    if flops is None or rows is None:
        return None
    wall, cpu = (_ratio(group, single, of) for of in (lambda m: m.wall_speed, lambda m: m.speed))
    lost = (max(0.0, 1 - wall / threads), max(0.0, 1 - cpu)) if threads > 1 and wall and cpu else (0.0, 0.0)
    return Shares(flops / limits.flops, rows / limits.rows, *lost)


def _groups(measurements: Sequence[Observed]) -> dict[str, Groups]:
    """Return the measurements of w2vtrain by task; the number of epochs does not change the speed."""
    by_task: dict[str, Groups] = {}
    for m in measurements:
        if m.job.system == "w2vtrain":
            groups = by_task.setdefault(m.job.task, {})
            groups.setdefault(m.job.threads, []).append(m)
    return by_task


def _ratio(
    group: Sequence[Observed], other: Sequence[Observed], figure: Callable[[Observed], float | None]
) -> float | None:
    """Return the quotient of the medians of a figure."""
    above, below = median_of(group, figure), median_of(other, figure)
    return above / below if above and below else None
