"""Show the results of a comparison as tables: Markdown, CSV, and plain text for a terminal.

Nothing is measured here.
"""

import csv
import io
import math
import statistics
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Results = Sequence[dict[str, Any]]
Figure = Callable[[dict[str, Any]], float | None]

TURN_TOLERANCE, PROCESS_TOLERANCE = 0.1, 0.25
"""The largest relative difference in speed that scorers with the same work should have: TURN_TOLERANCE if they take
turns in one process, PROCESS_TOLERANCE if they run in different processes, one after the other."""
MIN_CPU_SHARE = 0.85
"""Share of the CPU time available to the training threads below which the machine counts as busy."""
LOST_SECONDS = 0.5
"""Seconds that threads may lose at their start and end, however short training is."""
RESAMPLES, MIN_PARTS = 2000, 10
"""Texts that the bootstrap draws, and the fewest parts of the test text with which it says anything."""
COLUMNS = 80
"""Width of the table for a terminal."""


class ContenderResults:
    """The results of one contender over all seeds, and the messages of the runs that failed."""

    def __init__(self, name: str, results: Results) -> None:
        self.name = name
        self.results = [r for r in results if "test" in r]
        self.failed = [r["failed"] for r in results if "failed" in r]

    @property
    def label(self) -> str:
        """The name, with the number of runs that diverged if others did not: figures are of the others."""
        diverged, runs = len(self.failed), len(self.failed) + len(self.results)
        return f"{self.name} ({diverged} of {runs} runs diverged)" if 0 < diverged < runs else self.name

    def values(self, of: Figure) -> list[float]:
        """Return one value per seed, without the seeds that have none."""
        return [value for r in self.results if (value := of(r)) is not None]

    def mean(self, of: Figure) -> float | None:
        """Return the mean over seeds, or None if no seed has a value."""
        values = self.values(of)
        return statistics.mean(values) if values else None

    def text(self, of: Figure, digits: int = 1) -> str:
        """Return the mean as text, with the range if several seeds have a value, or "-" if none has."""
        return ranged(self.values(of), lambda value: number(value, digits))


def perplexity(r: dict[str, Any]) -> float:
    """Return the perplexity of a result; infinity if the training failed or JSON could not store the value."""
    value = r["test"]["perplexity"] if "test" in r else None
    return math.inf if value is None else float(value)


def number(value: float, digits: int) -> str:
    """Format a number with `digits` decimals, or in scientific notation from 10 million on."""
    return f"{value:.2g}" if abs(value) >= 1e7 else f"{value:,.{digits}f}"


def three_digits(value: float) -> str:
    """Format a number with three significant digits, such as 1,230 or 5.83."""
    return f"{float(f'{value:.3g}'):,g}"


def factor(value: float) -> str:
    """Format a multiple with three significant digits, such as 1,230x."""
    return f"{three_digits(value)}x"


def ranged(
    values: Sequence[float], form: Callable[[float], str], middle: Callable[..., float] = statistics.mean
) -> str:
    """Return the mean of values as text, with their range if they differ as text; "-" if there are none."""
    if not values:
        return "-"
    low, high = form(min(values)), form(max(values))
    to = " to " if low.startswith("-") else "-"
    return form(middle(values)) if len(values) < 2 or low == high else f"{form(middle(values))} ({low}{to}{high})"


def contender_of(trial: str) -> str:
    """Return the contender's name in that of a trial, as in `nce(alpha=0.1)` for `nce(alpha=0.1) seed 2`."""
    return trial.rpartition(" seed ")[0]


def by_contender(results: Results) -> list[ContenderResults]:
    """Return the results grouped by contender, in the order in which the contenders were named."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for r in results:
        groups.setdefault(contender_of(r["job"]["name"]), []).append(r)
    return [ContenderResults(name, group) for name, group in groups.items()]


def baseline(contenders: Sequence[ContenderResults]) -> ContenderResults | None:
    """Return the contender that speeds are compared with: `softmax`, or else the first one with options or settings."""
    named = [contender for contender in contenders if contender.name.partition("(")[0] == "softmax"]
    return next((contender for contender in named if contender.name == "softmax"), named[0] if named else None)


def training_ratios(contender: ContenderResults, base: ContenderResults | None) -> list[float]:
    """Return the words per CPU second of each seed as a multiple of the baseline's with the same seed."""
    theirs = {r["job"]["settings"]["seed"]: r["words_per_cpu_second"] for r in base.results} if base else {}
    mine = {r["job"]["settings"]["seed"]: r["words_per_cpu_second"] for r in contender.results}
    return [speed / theirs[seed] for seed, speed in mine.items() if speed and theirs.get(seed)]


def above_best(contenders: Sequence[ContenderResults]) -> dict[str, str]:
    """Return how far the perplexity of each contender is above the lowest, with half of a 95% interval, as text.

    The interval is that of a paired bootstrap over parts of the test text, of about a thousand words each: it says
    which differences another text of this kind would show, too, where the range over seeds says which another training
    would. "-" for contenders whose text was not scored in the same parts, and for all if that is the best.
    """
    texts = dict.fromkeys((contender.name for contender in contenders), "-")
    means = {contender.name: contender.mean(perplexity) for contender in contenders}
    losses = {contender.name: _part_losses(contender) for contender in contenders}
    best = min((mean, name) for name, mean in means.items() if mean is not None)[1] if any(means.values()) else ""
    theirs = losses.get(best)
    if theirs is None:
        return texts
    for name, mine in losses.items():
        if mine is not None and np.array_equal(mine[:, 0], theirs[:, 0]):
            texts[name] = "best" if name == best else _difference(mine, theirs)
    return texts


def _part_losses(contender: ContenderResults) -> np.ndarray | None:
    """Return the predictions and the loss of each part of the test text (P, 2), means over seeds; None without them."""
    parts = [np.array(r["test"]["parts"], np.float64) for r in contender.results if r["test"].get("parts")]
    if not parts or len(parts) < len(contender.results) or len({one.shape for one in parts}) > 1:
        return None
    mean: np.ndarray = np.mean(parts, axis=0)
    mean = mean[mean[:, 0] > 0]
    return mean if len(mean) >= MIN_PARTS and np.isfinite(mean).all() else None


def _difference(parts: np.ndarray, best: np.ndarray) -> str:
    """Return the relative difference of two perplexities and half of its 95% interval, as text."""
    counts, differences = best[:, 0], parts[:, 1] - best[:, 1]
    drawn = np.random.default_rng(1).integers(len(counts), size=(RESAMPLES, len(counts)))
    with np.errstate(over="ignore"):
        ratios = np.exp(differences[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
        ratio = float(np.exp(differences.sum() / counts.sum()))
    if not np.isfinite(ratios).all():
        return "-"
    low, high = np.quantile(ratios, (0.025, 0.975))
    return f"{ratio - 1:+.1%} ± {(high - low) / 2:.1%}"


def scoring_ratios(contender: ContenderResults) -> list[float]:
    """Return the speed of scoring as a multiple of a full softmax's in the same process: all rounds of all seeds."""
    return [ratio for r in contender.results for ratio in r["scoring"]["ratios"]]


def epochs_of(r: dict[str, Any]) -> float:
    """Return the number of passes over the corpus, which is a fraction if time ran out."""
    return float(r["words_per_second"] * r["seconds"]["training"] / max(1, r["corpus_words"]))


def parameter_share(r: dict[str, Any]) -> float:
    """Return the output parameters relative to one full row per word."""
    return float(r["output_parameters"] / (r["vocabulary"] * r["width"]))


def cpu_seconds(r: dict[str, Any]) -> float:
    """Return the CPU seconds that training took, of all threads; 0 if it was too short for the system's clock."""
    speed = r["words_per_cpu_second"]
    return float(r["words_per_second"] * r["seconds"]["training"] / speed) if speed else 0.0


def starved(results: Results) -> tuple[list[float], int]:
    """Return the shares of their CPU time of the runs that got too little, 0 to 1, and the number of all runs."""
    runs = [
        (cpu_seconds(r), r["seconds"]["training"] * int(r["job"]["settings"]["threads"]))
        for r in results if "test" in r and r["words_per_cpu_second"]
    ]  # fmt: skip
    return [used / could for used, could in runs if used < MIN_CPU_SHARE * could - LOST_SECONDS], len(runs)


def busy(results: Results) -> str | None:
    """Return a warning if training got too little CPU time: something else used the machine."""
    slow, runs = starved(results)
    if not slow:
        return None
    affected = f"{len(slow)} of {runs} runs" if runs > 1 else "training"
    least = f"{'as little as' if len(slow) > 1 else 'only'} {min(slow):.0%}"
    return (
        f"the machine was busy: {affected} got {least} of the CPU time"
        " that the threads could use, so words/s is too low; CPU seconds and their ratios count"
    )


def unreliable(results: Results) -> str | None:
    """Return a warning if scorers that do the same work differ in speed: something else used the machine."""
    done = [r for r in results if "test" in r]
    turns = [1.0, *(statistics.median(r["scoring"]["ratios"]) for r in done if r["scoring"]["same"])]
    references: dict[Any, list[float]] = {}  # by size: contenders may differ in their settings
    for r in done:
        references.setdefault((r.get("vocabulary"), r.get("width")), []).append(r["scoring"]["reference"])
    for paces, bound in ((turns, TURN_TOLERANCE), *((speeds, PROCESS_TOLERANCE) for speeds in references.values())):
        if max(paces) > (1 + bound) * min(paces):
            return (
                f"the machine was busy, so ratios are unreliable: the speeds of scorers that do the same work differ by"
                f" a factor of {max(paces) / min(paces):.2f}; compare again on a quiet machine, in another folder"
            )
    return None


def table(results: Results) -> list[list[str]]:
    """Return the header and one row per contender.

    "words/s" is per wall-clock second; the columns "training" and "scoring" compare CPU time with that of `softmax`.
    """
    contenders = by_contender(results)
    base, above = baseline(contenders), above_best(contenders)
    columns: list[tuple[str, Callable[[ContenderResults], str]]] = [
        ("alpha", lambda c: ranged(c.values(lambda r: r["job"]["settings"]["alpha"]), "{:g}".format)),
        ("epochs", lambda c: ranged(c.values(epochs_of), "{:.3g}".format)),
        ("CPU seconds", lambda c: ranged(c.values(cpu_seconds), three_digits)),
        ("words/s", lambda c: c.text(lambda r: r["words_per_second"], 0)),
        ("training", lambda c: ranged(training_ratios(c, base), factor, statistics.median)),
        ("scored/s", lambda c: c.text(lambda r: r["scoring"]["per_second"], 0)),
        ("scoring", lambda c: ranged(scoring_ratios(c), factor, statistics.median)),
        ("perplexity", lambda c: c.text(perplexity)),
        ("above best", lambda c: above[c.name]),
        ("unnormalized", lambda c: c.text(lambda r: r["test"]["unnormalized"])),
        ("log Z mean", lambda c: c.text(lambda r: r["test"]["log_z_mean"], 3)),
        ("log Z variance", lambda c: c.text(lambda r: r["test"]["log_z_variance"], 3)),
        *((name, lambda c, name=name: c.text(lambda r: r["scores"].get(name), 3)) for name in score_names(results)),
        ("output parameters", lambda c: f"{c.mean(parameter_share):.1%}"),
        ("peak MiB", lambda c: c.text(lambda r: r["peak_memory_bytes"] / 2**20, 0)),
    ]
    rows = [["objective", *(head for head, _ in columns)]]
    for c in contenders:
        cells = [cell(c) for _, cell in columns] if c.results else [c.failed[0], *["-"] * (len(columns) - 1)]
        rows.append([c.label, *cells])
    return rows


def score_names(results: Results) -> list[str]:
    """Return the names of the scores of vectors that at least one run has, in alphabetical order."""
    return sorted({name for r in results for name in r.get("scores", {})})


def plain(results: Results) -> str:
    """Return the most important columns as text of at most COLUMNS columns; long names take several lines."""
    contenders = by_contender(results)
    base, done = baseline(contenders), [contender for contender in contenders if contender.results]
    rows = [["objective", "epochs", "words/s", "training", "scoring", "perplexity"]]
    rows += [[contender.name, *_plain_cells(contender, base)] for contender in done]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[0] = min(widths[0], COLUMNS - sum(widths[1:]) - 2 * len(widths[1:]))
    out = []
    for name, *cells in rows:
        short = name if len(name) <= widths[0] else name.replace("(", " (", 1)
        first, *more = textwrap.wrap(short, widths[0], subsequent_indent="  ")
        aligned = [f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True)]
        out += ["  ".join([f"{first:<{widths[0]}}", *aligned]), *more]
    for contender in contenders:
        if contender.failed:
            out += textwrap.wrap(f"{contender.label}: {contender.failed[0]}", COLUMNS, subsequent_indent="  ")
    return "\n".join(out) + "\n"


def _plain_cells(contender: ContenderResults, base: ContenderResults | None) -> list[str]:
    training, scoring = training_ratios(contender, base), scoring_ratios(contender)
    return [
        f"{contender.mean(epochs_of):.3g}",
        number(contender.mean(lambda r: r["words_per_second"]) or 0.0, 0),
        factor(statistics.median(training)) if training else "-",
        factor(statistics.median(scoring)) if scoring else "-",
        contender.text(perplexity, digits=int((contender.mean(perplexity) or 0.0) < 1000)),
    ]


def markdown(cells: list[list[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    rows = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in cells]
    return "\n".join([rows[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *rows[1:]]) + "\n"


def comma_separated(results: Results) -> str:
    """Return a CSV table with every figure, one line per training run."""
    out, scores = io.StringIO(), score_names(results)
    names = ["words_per_second", "words_per_cpu_second", "output_parameters", "peak_memory_bytes"]
    test = ["perplexity", "unnormalized", "bits", "log_z_mean", "log_z_variance", "examples", "coverage"]
    measured = ["epochs", "seconds", "cpu_seconds", "scored_per_cpu_second", "scoring_ratio", *names, *test, *scores]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["objective", "seed", "alpha", *measured, "failed"])
    for r in results:
        settings = r["job"]["settings"]
        first = [contender_of(r["job"]["name"]), settings["seed"], settings["alpha"]]
        if "failed" in r:
            writer.writerow([*first, *[""] * len(measured), r["failed"]])
            continue
        scoring = r["scoring"]
        times = [r["seconds"]["training"], cpu_seconds(r)]
        values = [epochs_of(r), *times, scoring["per_second"], statistics.median(scoring["ratios"])]
        figures = [*[r[key] for key in names], *[r["test"][key] for key in test]]
        writer.writerow([*first, *values, *figures, *[r["scores"].get(key, "") for key in scores], ""])
    return out.getvalue()
