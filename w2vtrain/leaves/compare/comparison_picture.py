"""Plot the curves of a comparison: held-out perplexity against CPU time. Nothing is measured here."""

import statistics
from collections.abc import Sequence
from pathlib import Path

from w2vtrain.leaves.compare.comparison_tables import Results, by_contender
from w2vtrain.leaves.figures import label_ends, new_figure, plain_numbers, save_figure


def curves(results: Results) -> list[tuple[str, list[float], list[float]]]:
    """Return (name, CPU seconds of training so far, held-out perplexity) of each contender, as means over seeds."""
    named = []
    for line in by_contender(results):
        points = [[p for p in r["curve"] if p["perplexity"] is not None] for r in line.results]  # JSON has no infinity
        length = min(map(len, points), default=0)  # two seeds may pass several fractions of the limit together
        if not length:
            continue
        timed = line.results[0]["job"]["settings"]["seconds"] is not None
        kept = [p[-length:] if timed else p[:length] for p in points]  # patience may end a seed's run earlier
        seconds = [statistics.mean(p[i]["seconds"] for p in kept) for i in range(length)]
        named.append((line.name, seconds, [statistics.mean(p[i]["perplexity"] for p in kept) for i in range(length)]))
    return named


def title(results: Results) -> str:
    """Return the title of the plot: the corpus, its words, the budget and the seeds."""
    done = [r for r in results if "test" in r]
    if not done:
        return "every run failed"
    trial, first = done[0]["job"], done[0]
    budgets = {(r["job"]["settings"]["seconds"], r["job"]["settings"]["epochs"]) for r in done}
    seconds, epochs = budgets.pop()
    budget = f"{seconds:g} CPU seconds" if seconds is not None else f"{epochs:,} epochs"
    seeds = len({r["job"]["settings"]["seed"] for r in done})
    parts = [
        f"{Path(trial['sources'][0]).name}: {first['corpus_words']:,} words, vocabulary {first['vocabulary']:,}",
        budget if not budgets else "several budgets",
        f"mean of {seeds} seeds" if seeds > 1 else "1 seed",
    ]
    return "; ".join(parts)


def picture(results: Results, path: Path) -> None:
    """Plot held-out perplexity against CPU seconds of training; the suffix of `path` selects the format."""
    draw(curves(results), title(results), "CPU seconds of training", path)


def draw(named_curves: Sequence[tuple[str, list[float], list[float]]], heading: str, xlabel: str, path: Path) -> None:
    """Plot curves of perplexity, given as (name, x, perplexity), with a label each. Both axes are logarithmic."""
    figure = new_figure(figsize=(10, max(5.0, 1 + 0.24 * len(named_curves))), layout="constrained")
    axes = figure.subplots()
    axes.set_title(heading, fontsize="medium", loc="left")
    axes.set(xscale="log", yscale="log", xlabel=xlabel, ylabel="perplexity")
    colors = [f"C{k % 10}" for k in range(len(named_curves))]
    for k, (_, seconds, perplexity) in enumerate(named_curves):
        axes.plot(seconds, perplexity, marker="o", ms=3, lw=1.2, color=colors[k], ls=("-", "--", ":")[k // 10 % 3])
    for axis in (axes.xaxis, axes.yaxis):
        plain_numbers(axis)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    ends = [(f"{name} {perplexity[-1]:,.1f}", x[-1], perplexity[-1]) for name, x, perplexity in named_curves]
    label_ends(axes, ends, colors, 0.028)
    save_figure(figure, path, 120)
