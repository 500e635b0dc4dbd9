"""Accuracy against time: what each system reaches with each number of epochs, and which setting is best within a time.

Each number of epochs is a run of its own, because the learning rate falls to zero at the end. Nothing is measured here.
"""

import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from w2vtrain.leaves.compare.measure import Measurement, groups
from w2vtrain.leaves.compare.systems import SETTING, Job, setting
from w2vtrain.leaves.figures import label_ends, new_figure, plain_numbers, save_figure
from w2vtrain.system.amounts import counted

COLORS = {"w2vtrain": "#D55E00", "gensim": "#0072B2", "fasttext": "#000000"}
"""Colors that color-blind people can tell apart (Okabe and Ito 2008)."""
STYLES = ("o-", "s--", "^:", "D-.", "v-", "x--", "+:", "*-.")
"""Lines and markers of different settings of a system."""


class Point(NamedTuple):
    """A job, whose seed is 0 here, with the median seconds of the whole job, and the scores of its seeds by name.

    unscored: the evaluation sets of which no job has a score, because the vectors have too few of their words.
    """

    job: Job
    seconds: float
    scores: dict[str, list[float]]
    unscored: Collection[str] = ()

    @property
    def curve(self) -> Job:
        """The job without its epochs, which names a curve."""
        return replace(self.job, epochs=0)

    @property
    def mean(self) -> float:
        """The mean of the scores of all evaluation sets but the unscored ones; NaN if one of these is unknown."""
        known = [statistics.mean(self.scores[name]) for name in sets(self.scores) if name not in self.unscored]
        return statistics.mean(known) if known else math.nan


def sets(scores: Iterable[str]) -> list[str]:
    """Return the names that are evaluation sets, without those of standard errors."""
    return [name for name in scores if not name.endswith("standard error")]


def points(measurements: Sequence[Measurement]) -> list[Point]:
    """Return a point for each job that has scores: curve by curve, each in the order of its epochs."""
    unsorted, scored = [], [m for m in measurements if m.scores]
    unscored = {name for m in scored for name in m.scores if all(math.isnan(other.scores[name]) for other in scored)}
    for group in groups(scored):
        scores = {name: [m.scores[name] for m in group] for name in group[0].scores}
        job, seconds = replace(group[0].job, seed=0), statistics.median(m.whole_wall for m in group)
        unsorted.append(Point(job, seconds, scores, unscored))
    order = list(dict.fromkeys(point.curve for point in unsorted))
    return sorted(unsorted, key=lambda point: (order.index(point.curve), point.job.epochs))


def best(points: Sequence[Point], limit: float) -> list[Point]:
    """Return the point with the highest mean score of each system, of those that took `limit` seconds at most.

    Of equal scores, the faster one is the best. Systems that have none are left out, as are points with an unknown
    score.
    """
    able = [point for point in points if point.seconds <= limit and not math.isnan(point.mean)]
    by_system: dict[str, list[Point]] = {}
    for point in able:
        by_system.setdefault(point.job.system, []).append(point)
    return [max(group, key=lambda point: (point.mean, -point.seconds)) for group in by_system.values()]


def equal_times(points: Sequence[Point]) -> list[str]:
    """Return one line per point of another system: the best of w2vtrain in the seconds of that point."""
    lines = []
    for point in [one for one in points if one.job.system != "w2vtrain" and not math.isnan(one.mean)]:
        theirs = f"{point.seconds:.1f} s of {point.job.system} {point.job.name} (mean score {point.mean:.4f})"
        for ours in best([one for one in points if one.job.system == "w2vtrain"], point.seconds):
            lines.append(f"in the {theirs}: w2vtrain {ours.job.name} ({ours.mean:.4f}, {ours.seconds:.1f} s)")
    return lines


def table(points: Sequence[Point]) -> list[list[str]]:
    """Return the cells of a table of all times and scores; the first row is its head."""
    return [_head(points[0]), *map(_row, points)]


def table_within(points: Sequence[Point], limits: Sequence[float]) -> list[list[str]]:
    """Return the cells of a table of the best points within limits of time, in seconds; the first row is its head."""
    rows = [[f"{limit:g}", *_row(point)] for limit in limits for point in best(points, limit)]
    return [["within s", *_head(points[0])], *rows]


def _head(point: Point) -> list[str]:
    return [*SETTING, "whole job s", "mean score", *point.scores]


def _row(point: Point) -> list[str]:
    """Return the cells of a point; its scores are means over seeds, with their range."""
    scores = map(_ranged, point.scores.values())
    return [*setting(point.job), f"{point.seconds:.1f}", _ranged([point.mean]), *scores]


def _ranged(values: Sequence[float]) -> str:
    if any(map(math.isnan, values)):
        return "-"
    mean = f"{statistics.mean(values):.4f}"
    return f"{mean} ({min(values):.4f}-{max(values):.4f})" if len(values) > 1 else mean


def labels(jobs: Sequence[Job]) -> tuple[list[str], list[str]]:
    """Return a label for each job, of its system and what else distinguishes it, and what all jobs have in common."""
    cells = [
        (job.system, job.architecture, job.objective, f"{job.negative} noise" if job.negative else "",
         f"alpha {job.alpha:g}" if job.alpha else "", counted(job.threads, "thread"))
        for job in jobs
    ]  # fmt: skip
    differ = [len(set(column)) > 1 for column in zip(*cells, strict=True)]
    differ[0] = True
    own = [" ".join(cell for cell, differs in zip(row, differ, strict=True) if cell and differs) for row in cells]
    return own, [cell for cell, differs in zip(cells[0], differ, strict=True) if cell and not differs]


def picture(points: Sequence[Point], path: Path, colors: Mapping[str, str] = COLORS) -> None:
    """Plot each evaluation set's scores against the seconds of the whole job, with one curve per system and setting.

    Points are means over seeds, with their range. The suffix of `path` selects the format. colors: by system.
    """
    jobs = list(dict.fromkeys(point.curve for point in points))
    names, (own, common) = sets(points[0].scores), labels(jobs)
    looks = list(zip(own, _styles(jobs), (colors[job.system] for job in jobs), strict=True))
    figure = new_figure(figsize=(5 * len(names), max(4.0, 1.5 + 0.2 * len(jobs))), layout="constrained")
    epochs = ", ".join(f"{number}" for number in sorted({point.job.epochs for point in points}))
    heading = ", ".join([Path(jobs[0].corpus).name, *common])
    figure.suptitle(f"{heading}; each point is a run (epochs: {epochs})", fontsize="medium")
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        # A correlation is NaN if the vectors have too few of the words.
        known = [point for point in points if not any(map(math.isnan, point.scores[name]))]
        curves = [[(point.seconds, point.scores[name]) for point in known if point.curve == job] for job in jobs]
        _panel(axes, [(curve, *look) for curve, look in zip(curves, looks, strict=True) if curve])
        axes.set_title(name, fontsize="medium", loc="left")
    save_figure(figure, path, 120)


def _panel(axes: Any, curves: Sequence[tuple[Sequence[tuple[float, Sequence[float]]], str, str, str]]) -> None:
    """Draw curves with labels, and the range of each point.

    curves: ([(seconds, scores of the seeds), ...], label, style, color) of each.
    """
    ends = []
    for curve, label, style, color in curves:
        seconds, means = [x for x, _ in curve], [statistics.mean(scores) for _, scores in curve]
        low, high = [min(scores) for _, scores in curve], [max(scores) for _, scores in curve]
        axes.plot(seconds, means, style, color=color, ms=4, lw=1.3)
        axes.vlines(seconds, low, high, color=color, lw=0.8)
        ends.append((label, seconds[-1], means[-1]))
    axes.set(xscale="log", xlabel="seconds of the whole job")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    plain_numbers(axes.xaxis)
    label_ends(axes, ends, [color for _, _, _, color in curves], 0.045)


def _styles(jobs: Sequence[Job]) -> list[str]:
    """Return a style for each job, the same for equal settings of different systems."""
    settings = [(job.task, job.threads) for job in jobs]
    order = list(dict.fromkeys(settings))
    return [STYLES[order.index(each) % len(STYLES)] for each in settings]
