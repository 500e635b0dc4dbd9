"""Show the results of a comparison as a table (Markdown or CSV) and as a plot. Nothing is measured here."""

import csv
import io
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Results = Sequence[dict[str, Any]]


class Line:
    """The results of one contender over all seeds, and the messages of the runs that failed."""

    def __init__(self, name: str, results: Results) -> None:
        self.name = name
        self.results = [r for r in results if "test" in r]
        self.failed = [r["failed"] for r in results if "failed" in r]

    def values(self, of: Callable[[dict[str, Any]], float | None]) -> list[float]:
        """Return one value per seed, without the seeds that have none."""
        return [value for r in self.results if (value := of(r)) is not None]

    def mean(self, of: Callable[[dict[str, Any]], float | None]) -> float | None:
        """Return the mean over seeds, or None if no seed has a value."""
        values = self.values(of)
        return statistics.mean(values) if values else None

    def text(self, of: Callable[[dict[str, Any]], float | None], digits: int = 1) -> str:
        """Return the mean as text, with the range if several seeds have a value, or "-" if none has."""
        values = self.values(of)
        if not values:
            return "-"
        mean = number(statistics.mean(values), digits)
        return mean if len(values) < 2 else f"{mean} ({number(min(values), digits)}-{number(max(values), digits)})"


def number(value: float, digits: int) -> str:
    """Format a number with `digits` decimals, or in scientific notation from 10 million on."""
    return f"{value:.2g}" if abs(value) >= 1e7 else f"{value:,.{digits}f}"


def lines(results: Results) -> list[Line]:
    """Return the results grouped by contender, in the order in which the contenders were named."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for r in results:
        groups.setdefault(r["job"]["name"].rpartition(" seed ")[0], []).append(r)
    return [Line(name, group) for name, group in groups.items()]


def ratio(line: Line, base: Line | None, key: str) -> str:
    """Return the mean of a line as a multiple of the base's mean, or "-" if either is missing."""
    mine, theirs = line.mean(lambda r: r[key]), base.mean(lambda r: r[key]) if base else None
    return f"{mine / theirs:.3g}x" if mine and theirs else "-"


def table(results: Results) -> list[list[str]]:
    """Return the header and one row per contender; speeds are also given as multiples of those of `softmax`."""
    found = lines(results)
    base = next((line for line in found if line.name == "softmax"), None)
    scores = sorted({name for r in results for name in r.get("scores", {})})
    head = ["objective", "alpha", "seconds", "words/s", "training", "scored/s", "scoring", "perplexity", "unnormalized"]
    head += ["log Z mean", "log Z variance", *scores, "output parameters", "peak MiB"]
    return [head, *[_cells(line, base, scores) for line in found]]


def _cells(line: Line, base: Line | None, scores: list[str]) -> list[str]:
    if not line.results:
        return [line.name, line.failed[0], *["-"] * (11 + len(scores))]
    return [
        line.name,
        line.text(lambda r: r["job"]["settings"]["alpha"], 3),
        line.text(lambda r: r["seconds"]["training"]),
        line.text(lambda r: r["words_per_second"], 0),
        ratio(line, base, "words_per_second"),
        line.text(lambda r: r["scored_per_second"], 0),
        ratio(line, base, "scored_per_second"),
        line.text(lambda r: r["test"]["perplexity"]),
        line.text(lambda r: r["test"]["unnormalized"]),
        line.text(lambda r: r["test"]["log_z_mean"], 3),
        line.text(lambda r: r["test"]["log_z_variance"], 3),
        *[line.text(lambda r, name=name: r["scores"].get(name), 3) for name in scores],  # type: ignore[misc]
        f"{line.mean(lambda r: r['output_parameters'] / (r['vocabulary'] * r['width'])):.1%}",
        line.text(lambda r: r["peak_memory_bytes"] / 2**20, 0),
    ]


def markdown(cells: list[list[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    rows = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in cells]
    return "\n".join([rows[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *rows[1:]]) + "\n"


def comma_separated(results: Results) -> str:
    """Return a CSV table with every figure, one line per training run."""
    out = io.StringIO()
    scores = sorted({name for r in results for name in r.get("scores", {})})
    names = ["seconds", "words_per_second", "scored_per_second", "output_parameters", "peak_memory_bytes"]
    test = ["perplexity", "unnormalized", "bits", "log_z_mean", "log_z_variance", "examples", "coverage"]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["objective", "seed", "alpha", *names, *test, *scores, "failed"])
    for r in results:
        name, _, seed = r["job"]["name"].rpartition(" seed ")
        first = [name, seed, r["job"]["settings"]["alpha"]]
        if "failed" in r:
            writer.writerow([*first, *[""] * (len(names) + len(test) + len(scores)), r["failed"]])
            continue
        values = [r["seconds"]["training"], *[r[key] for key in names[1:]]]
        found = [r["test"][key] for key in test]
        writer.writerow([*first, *values, *found, *[r["scores"].get(key, "") for key in scores], ""])
    return out.getvalue()


def curves(results: Results) -> list[tuple[str, list[float], list[float]]]:
    """Return (name, seconds of training so far, held-out perplexity) of each contender, as means over seeds."""
    found = []
    for line in lines(results):
        points: list[tuple[float, float]] = []
        for r in line.results:
            spent, mine = 0.0, []
            for epoch in r["epochs"]:
                spent = epoch.get("elapsed", spent + epoch["seconds"])
                if "heldout" in epoch:
                    mine.append((spent, epoch["heldout"]["perplexity"]))
            mine = mine or [(r["seconds"]["training"], r["test"]["perplexity"])]
            points += [point for point in mine if point[1] is not None]  # JSON has no infinity
        length = len(points) // max(1, len(line.results))
        columns = [points[i::length] for i in range(length)] if length else []
        if columns:
            found.append(
                (
                    line.name,
                    [statistics.mean(p[0] for p in column) for column in columns],
                    [statistics.mean(p[1] for p in column) for column in columns],
                )
            )
    return found


def complete(result: dict[str, Any]) -> bool:
    """Return whether a result read from a file has every figure that the tables and plots need."""
    try:
        table([result]), comma_separated([result]), curves([result])
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False
    return True


def picture(results: Results, path: Path) -> None:
    """Plot held-out perplexity against seconds of training, one curve per contender; the suffix selects the format."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    figure, axes = plt.subplots(figsize=(9, 6), layout="constrained")
    colors = plt.get_cmap("tab20").colors
    for k, (name, seconds, perplexity) in enumerate(curves(results)):
        axes.plot(seconds, perplexity, marker="o", ms=4, color=colors[k % 20], ls="-" if k < 10 else "--", label=name)
    axes.set(xscale="log", yscale="log", xlabel="seconds of training", ylabel="held-out perplexity")
    for axis in (axes.xaxis, axes.yaxis):  # plain numbers: powers of ten would label too few ticks
        axis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, ncols=2)
    figure.savefig(path, dpi=120)
    plt.close(figure)
