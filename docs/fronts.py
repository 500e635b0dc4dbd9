"""Draw the pictures of docs/objectives.md: what each objective reaches, against CPU seconds of training.

A run is on the front if no run that took less time has a better result. Runs on the front have the color of their
family and a name; all others are gray.
"""

import statistics
import sys
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import yardstick

from w2vtrain.leaves.compare.comparison_tables import by_contender, cpu_seconds
from w2vtrain.leaves.compare.contenders import without_budget
from w2vtrain.leaves.figures import new_figure, plain_numbers, save_figure
from w2vtrain.objectives import group_of, objective_class

FOLDER = Path(__file__).parent
FAMILIES = {
    "structure": ("softmax, trees, classes", "#0072b2", "s"),
    "sampling": ("sampled softmax", "#00795a", "^"),
    "discrimination": ("discrimination from noise", "#c8500a", "o"),
    "self-normalization": ("log Z near 0", "#7b3f9e", "D"),
}
"""Label, color and marker of each family, by the objectives' group."""


class Point(NamedTuple):
    """A run, as means over seeds. result: perplexity, or a score."""

    objective: str
    seconds: float
    result: float


class Panel(NamedTuple):
    """One picture. studies: those of yardstick.STUDIES; is_score: whether more is better; also: named, too, in gray."""

    file: str
    studies: tuple[str, ...]
    title: str
    also: tuple[str, ...] = ()
    is_score: bool = False


PANELS = (
    Panel("ptb", ("ptb",), "10,000 words: Penn Treebank (lower is better)"),
    Panel("allwords", ("allwords", "allepochs"), "219,208 words: Wikipedia (lower is better)", ("softmax",)),
    Panel(
        "vectors", ("vectors",), "Word vectors: skip-gram on Wikipedia (higher is better)", ("nce", "hs"), is_score=True
    ),
)


def front(points: list[Point], is_score: bool) -> list[Point]:
    """Return the points that no quicker point equals or exceeds, quickest first."""
    sign, kept = -1 if is_score else 1, list[Point]()
    for point in sorted(points, key=lambda p: (p.seconds, sign * p.result)):
        if not kept or sign * point.result < sign * kept[-1].result:
            kept.append(point)
    return kept


def points_of(panel: Panel, by_study: dict[str, list[dict[str, Any]]]) -> list[Point]:
    """Return the runs of a picture. Objectives whose scores are no language model have no perplexity here."""

    def result(r: dict[str, Any]) -> float | None:
        value: float | None = r["test"]["perplexity"]
        return statistics.mean((r["scores"]["analogies"], r["scores"]["wordsim353"])) if panel.is_score else value

    found = []
    for line in (line for study in panel.studies for line in by_contender(by_study[study])):
        seconds, value = line.mean(cpu_seconds), line.mean(result)
        objective = without_budget(line.name).partition("(")[0]
        if seconds and value is not None and (panel.is_score or objective_class(objective).is_language_model()):
            found.append(Point(objective, seconds, value))
    return found


def draw(panel: Panel, points: list[Point], path: Path) -> None:
    """Draw a picture. Each objective on the front is named at its best run there."""
    figure = new_figure(figsize=(5.6, 4.4), layout="constrained")
    axes = figure.subplots()
    best = front(points, panel.is_score)
    for point in points:
        _, _, marker = FAMILIES[group_of(point.objective)]
        axes.plot(point.seconds, point.result, marker, ms=4.5, color="#b4b4b4")
    axes.plot([p.seconds for p in best], [p.result for p in best], "-", color="#555555", lw=1, zorder=3)
    for point in best:
        _, color, marker = FAMILIES[group_of(point.objective)]
        axes.plot(point.seconds, point.result, marker, ms=8, color=color, zorder=4)
    named = {point.objective: point for point in best}  # the last is the best
    before = 0.0
    for name, point in named.items():
        is_above = panel.is_score or point.seconds < 3 * before  # beside the label before it
        write_name(axes, point, FAMILIES[group_of(name)][1], is_above, panel.is_score)
        before = point.seconds
    for point in points:
        if point.objective in panel.also:
            write_name(axes, point, "#707070", True, panel.is_score)
    for label, color, marker in FAMILIES.values():
        if any(FAMILIES[group_of(p.objective)][0] == label for p in points):
            axes.plot([], [], marker, color=color, label=label)
    axes.plot([], [], "o", color="#b4b4b4", label="another was better in less time")
    axes.set(xscale="log", xlabel="CPU seconds of training, one thread")
    axes.margins(0.1, 0.14)
    plain_numbers(axes.xaxis)
    if panel.is_score:
        axes.set(ylabel="mean of analogies and WordSim-353")
    else:
        axes.set(yscale="log", ylabel="perplexity of test text")
        plain_numbers(axes.yaxis)
    figure.suptitle(panel.title, x=0.01, ha="left", fontsize="medium")
    figure.legend(
        *axes.get_legend_handles_labels(), fontsize="small", loc="outside lower center", ncols=2, frameon=False
    )
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    save_figure(figure, path, 180)


def write_name(axes: Any, point: Point, color: str, is_above: bool, is_score: bool) -> None:
    """Write the objective and the result of a point above or below it."""
    axes.annotate(
        f"{point.objective} {point.result:{'.3f' if is_score else ',.0f'}}", (point.seconds, point.result),
        xytext=(0, 8 if is_above else -8), textcoords="offset points", ha="center",
        va="bottom" if is_above else "top", color=color, weight="bold",
    )  # fmt: skip


def write() -> None:
    """Draw all pictures into docs/measured."""
    by_study = yardstick.studies()
    for panel in PANELS:
        draw(panel, points_of(panel, by_study), FOLDER / f"measured/front-{panel.file}.png")
