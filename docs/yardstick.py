"""Fill the templates of docs/objectives.md and docs/measurements.md with the results in docs/measured.

benchmarks/objective_runs.py measures. generate.py writes the page.
"""

import itertools
import json
import math
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import published
from published import MISSING

from w2vtrain.leaves.compare.comparison_picture import draw
from w2vtrain.leaves.compare.comparison_tables import (
    ContenderResults,
    above_best,
    baseline,
    by_contender,
    cpu_seconds,
    epochs_of,
    factor,
    markdown,
    parameter_share,
    ranged,
    starved,
    three_digits,
    training_ratios,
)  # fmt: skip
from w2vtrain.leaves.compare.contenders import without_budget
from w2vtrain.objectives import objective_class

MEASURED = Path(__file__).parent / "measured"
DIGITS = 6
"""Significant digits of what is kept: one more than any table shows."""
EQUAL = 1e-4
"""Relative difference of perplexities, below which they count as the same."""
TIMED = {"ptb": "Penn Treebank", "epochs": "English Wikipedia, 67,791 words"}
"""The studies with several numbers of epochs, whose objectives are timed to the perplexities of the softmax."""
COMPLETE = (*TIMED, "allepochs")
"""The studies whose contenders differ in their number of epochs."""
Result = dict[str, Any]


def studies() -> dict[str, list[Result]]:
    """Return the results of each study by its name; each line of a file is one run."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in MEASURED.glob("*.jsonl")}
    return {study: [json.loads(line) for line in text.splitlines()] for study, text in texts.items()}


def results_table(results: list[Result], is_of_vectors: bool = False) -> str:
    """Return the table of one study: what each contender reaches, as means over seeds, with the range.

    is_of_vectors: with the scores of its word vectors.
    """
    if not results:
        return f"*{MISSING}*\n"
    contenders = by_contender(results)
    known = {name for r in results for name in r.get("scores", {}) if not name.endswith("standard error")}
    scores = sorted(known) if is_of_vectors else []
    above = above_best(contenders)
    is_paired = set(above.values()) != {"-"}  # earlier results have no parts
    head = ["objective", "epochs", "CPU seconds", "perplexity", *["above best"] * is_paired, *scores]
    return markdown([head, *(_row(line, [above[line.name]] * is_paired, scores) for line in contenders)])


def _row(line: ContenderResults, above: list[str], scores: list[str]) -> list[str]:
    if not line.results:
        return [f"`{line.name}`", line.failed[0].partition(":")[0], *["-"] * (2 + len(above) + len(scores))]
    return [
        f"`{line.name}`",
        f"{line.mean(epochs_of):.3g}",
        three_digits(line.mean(cpu_seconds) or 0),
        line.text(lambda r: r["test"]["perplexity"]),
        *above,
        *[line.text(lambda r, name=name: r["scores"].get(name), 3) for name in scores],  # type: ignore[misc]
    ]


def by_epochs(results: list[Result]) -> str:
    """Return the table of a study with several numbers of epochs: perplexity and CPU seconds of each complete run."""
    if not results:
        return f"*{MISSING}*\n"
    cells: dict[str, dict[int, str]] = {}
    for line in by_contender(results):
        epochs = int(re.search(r"epochs=(\d+)", line.name)[1])  # type: ignore[index]
        cells.setdefault(without_budget(line.name), {})[epochs] = _run_of(line)
    columns = sorted({epochs for runs in cells.values() for epochs in runs})
    head = ["objective", *(f"{n} {'epoch' if n == 1 else 'epochs'}" for n in columns)]
    return markdown([head, *([f"`{name}`", *(runs.get(n, "") for n in columns)] for name, runs in cells.items())])


def _run_of(line: ContenderResults) -> str:
    if not line.results:
        return line.failed[0].partition(":")[0]
    return f"{line.text(lambda r: r['test']['perplexity'])}, {three_digits(line.mean(cpu_seconds) or 0)} s"


def _scoring(line: ContenderResults) -> str:
    """Return the speed of scoring relative to a full softmax: the median over seeds, with the range."""
    return ranged([statistics.median(r["scoring"]["ratios"]) for r in line.results], factor, statistics.median)


def best(results: list[Result]) -> list[Result]:
    """Return, of runs that differ only in their epochs, those with the lowest mean perplexity on validation text.

    Runs with a time limit do not have it, and do not differ in their epochs: the test set chooses.
    """
    validated = all("validation" in r for r in results if "test" in r)

    def choosing(r: Result) -> float | None:
        perplexity: float | None = r["validation"] if validated else r["test"]["perplexity"]
        return perplexity

    chosen: dict[str, ContenderResults] = {}
    for line in by_contender(results):
        name, mean = without_budget(line.name), line.mean(choosing)
        other = chosen.get(name)
        if mean is not None and (other is None or mean < (other.mean(choosing) or math.inf)):
            chosen[name] = line
    return [
        {**r, "job": {**r["job"], "name": f"{name} seed {r['job']['settings']['seed']}"}}
        for name, line in chosen.items()
        for r in line.results
    ]


def budgets(results: list[Result]) -> dict[str, dict[int, list[tuple[float, float]]]]:
    """Return (CPU seconds, test perplexity) of runs with different epochs, by objective and seed, shortest first."""
    objectives: dict[str, dict[int, list[tuple[float, float]]]] = {}
    for r in results:
        seeds = objectives.setdefault(contender_of(r), {})
        points = seeds.setdefault(r["job"]["settings"]["seed"], [])
        if "test" in r and r["test"]["perplexity"] is not None:
            points.append((cpu_seconds(r), r["test"]["perplexity"]))
    return {name: {seed: sorted(points) for seed, points in seeds.items()} for name, seeds in objectives.items()}


def seconds_to(points: list[tuple[float, float]], target: float) -> float | None:
    """Return the CPU seconds after which training ends at a perplexity of `target`, or None if it never does.

    points: (CPU seconds, perplexity) of complete runs, shortest first. Between them, the logarithms of both are
    interpolated; a run shorter than the first is assumed not to reach the target.
    """
    for (t0, p0), (t1, p1) in itertools.pairwise(points):
        if p0 > target >= p1:
            share = math.log(p0 / target) / math.log(p0 / p1)
            return float(t0 * (t1 / t0) ** share)
    return points[0][0] if points and points[0][1] <= target else None


def targets(results: list[Result]) -> dict[int, tuple[float, float]]:
    """Return the softmax's (test perplexity, CPU seconds) by its number of epochs, fewest first."""
    name, runs_of = softmax_of(results), dict[int, list[Result]]()
    for r in results:
        epochs = re.search(r"epochs=(\d+)", r["job"]["name"])
        if epochs and contender_of(r) == name and "test" in r:
            runs_of.setdefault(int(epochs[1]), []).append(r)
    mean = statistics.mean
    return {
        n: (mean(r["test"]["perplexity"] for r in runs), mean(map(cpu_seconds, runs)))
        for n, runs in sorted(runs_of.items())
    }


def contender_of(r: Result) -> str:
    """Return the name of a run's contender without its budget."""
    return without_budget(r["job"]["name"].partition(" seed ")[0])


def softmax_of(results: list[Result]) -> str | None:
    """Return the name of the softmax to compare with, without its budget."""
    softmax = baseline(by_contender(best(results)))
    return softmax and softmax.name


def times(results: list[Result]) -> dict[str, dict[int, str]]:
    """Return the CPU seconds to each of the softmax's perplexities, as text, by objective and the softmax's epochs."""
    goals, softmax = targets(results), softmax_of(results)
    own = {n: f"{three_digits(seconds)} s" for n, (_, seconds) in goals.items()}
    return {
        name: own if name == softmax else {n: _time(seeds, *goals[n]) for n in goals}
        for name, seeds in budgets(results).items()
    }


def _time(seeds: dict[int, list[tuple[float, float]]], target: float, spent: float) -> str:
    """Return the time to a perplexity, and how many times as fast this is as `spent` seconds, as text."""
    times = [seconds_to(points, target) for points in seeds.values()]
    reached = [time for time in times if time is not None]
    if len(reached) < len(times):
        return "-"
    at_most = "at most " if any(points[0][1] < target for points in seeds.values()) else ""
    ratio = factor(spent / statistics.mean(reached))
    return f"{at_most}{ranged(reached, three_digits)} s ({'at least ' if at_most else ''}{ratio})"


def picture(results: list[Result], text: str, path: Path) -> None:
    """Plot the test perplexity of complete runs against CPU seconds: one curve per objective, over budgets."""
    curves = []
    for name, seeds in budgets(results).items():
        length = min((len(points) for points in seeds.values()), default=0)
        columns = [[points[k] for points in seeds.values()] for k in range(length)]
        seconds, perplexity = ([statistics.mean(p[k] for p in column) for column in columns] for k in (0, 1))
        if length and objective_class(name.partition("(")[0]).is_language_model():  # others would stretch the picture
            curves.append((name, seconds, perplexity))
    draw(curves, f"{text}: each point is a complete run", "CPU seconds of training", path)


def without_z(test: dict[str, float | None]) -> float | None:
    """Return the relative difference of the unnormalized perplexity from the exact one; None if either is infinite."""
    raw, exact = test["unnormalized"], test["perplexity"]
    return abs(raw / exact - 1) if raw and exact else None


class Figures(Mapping[str, str]):
    """Single figures for the text of the page: `{f[STUDY|CONTENDER|COLUMN]}` in the template.

    A figure is the mean over seeds, with the range. CONTENDER without its epochs is the best of its runs. The columns
    are the keys of COLUMNS; `training` and `scoring`, the speeds relative to `softmax`; `gap`, how far the mean
    perplexity is above that of `softmax` with the same epochs; `above`, how far it is above the best of the study, with
    half of a 95% interval; and `to N`, the time to the softmax's perplexity after N epochs.
    """

    COLUMNS: Mapping[str, tuple[Callable[[Result], float | None], Callable[[float], str]]] = {
        "perplexity": (lambda r: r["test"]["perplexity"], "{:,.1f}".format),
        "validation": (lambda r: r["validation"], "{:,.1f}".format),
        "unnormalized": (lambda r: r["test"]["unnormalized"], "{:,.1f}".format),
        "log_z": (lambda r: r["test"]["log_z_mean"], "{:.3f}".format),
        "log_z_variance": (lambda r: r["test"]["log_z_variance"], "{:.3f}".format),
        "epochs": (epochs_of, "{:.3g}".format),
        "cpu": (cpu_seconds, three_digits),
        "seconds": (lambda r: r["seconds"]["training"], three_digits),
        "words": (lambda r: r["words_per_cpu_second"], "{:,.0f}".format),
        "gflops": (lambda r: r["words_per_cpu_second"] * r["vocabulary"] * r["width"] * 6e-9, "{:,.0f}".format),
        "parameters": (parameter_share, "{:.0%}".format),
        "analogies": (lambda r: r["scores"].get("analogies"), "{:.3f}".format),
        "wordsim353": (lambda r: r["scores"].get("wordsim353"), "{:.3f}".format),
        "vocabulary": (lambda r: r["vocabulary"], "{:,}".format),
        "corpus": (lambda r: r["corpus_words"], "{:,}".format),
        "scored": (lambda r: r["test"]["examples"], "{:,}".format),
        "left out": (lambda r: 1 - r["test"]["coverage"], "{:.1%}".format),
        "without_z": (lambda r: without_z(r["test"]), "{:.1%}".format),
    }

    def __init__(self, by_study: dict[str, list[Result]]) -> None:
        self.above = {study: above_best(by_contender(results)) for study, results in by_study.items()}
        self.times = {study: times(results) for study, results in by_study.items()}
        self.lines = {
            study: {line.name: line for line in [*by_contender(best(results)), *by_contender(results)]}
            for study, results in by_study.items()
        }

    def __getitem__(self, key: str) -> str:
        """Return a figure, or MISSING if it has not been measured. Raise KeyError for an unknown column."""
        study, name, column = key.split("|")
        line = self.lines.get(study, {}).get(name)
        if column == "training":
            base = self.lines.get(study, {}).get("softmax")
            return ranged(training_ratios(line, base), factor, statistics.median) if line and base else MISSING
        if column == "scoring":
            return _scoring(line) if line else MISSING
        if column == "gap":
            return self._gap(study, name)
        if column == "above":
            return self.above.get(study, {}).get(name, MISSING)
        if column.startswith("to "):
            return self.times.get(study, {}).get(name, {}).get(int(column.removeprefix("to ")), MISSING)
        if line and not line.results:
            return "diverged" if "diverged" in line.failed[0] else MISSING
        value, form = self.COLUMNS[column]
        return ranged(line.values(value), form) if line else MISSING

    def _gap(self, study: str, name: str) -> str:
        epochs = re.search(r"epochs=\d+", name)
        names = (name, f"softmax({epochs[0]})" if epochs else "softmax")
        lines = [self.lines.get(study, {}).get(each) for each in names]
        means = [line.mean(lambda r: r["test"]["perplexity"]) if line else None for line in lines]
        return MISSING if None in means else f"{means[0] / means[1] - 1:+.1%}"

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def machine() -> str:
    """Return which machine measured which study, as the beginning of a sentence; the first has most of them."""
    path = MEASURED / "machines.json"
    if not path.exists():
        return MISSING
    dates: dict[tuple[str, str], dict[str, str]] = {}  # of each study, by machine
    for study, facts in json.loads(path.read_text(encoding="utf-8")).items():
        key = f"{facts['cores']} cores of {facts['processor']}", facts["blas"]
        dates.setdefault(key, {})[study] = facts["date"]
    texts = []
    for (cores, blas), date_of in sorted(dates.items(), key=lambda item: -len(item[1])):
        first, last = min(date_of.values()), max(date_of.values())
        when = first if first == last else f"{first} to {last}"
        named = ", ".join(STUDIES.get(study, study) for study in date_of)
        texts.append(f"{cores} ({blas}, {when})" + f", for {named}" * bool(texts))
    return "; ".join(texts)


def busy(by_study: dict[str, list[Result]]) -> str:
    """Return how many runs got too little CPU time, of how many, as text."""
    counted = [starved(results) for study, results in by_study.items() if study in STUDIES]
    return f"{sum(len(slow) for slow, _ in counted)} of {sum(runs for _, runs in counted)}"


def repetition(by_study: dict[str, list[Result]]) -> str:
    """Return how the runs of a study agree with those that repeated.json keeps from another processor, as text."""
    path = MEASURED / "repeated.json"
    if not path.exists():
        return MISSING
    kept = json.loads(path.read_text(encoding="utf-8"))
    now = {r["job"]["name"]: r for r in by_study.get(kept["study"], []) if "test" in r}
    apart = {
        name: abs(now[name]["test"]["perplexity"] / before["perplexity"] - 1) for name, before in kept["runs"].items()
        if name in now and now[name]["job"]["settings"]["alpha"] == before["alpha"]
    }  # fmt: skip
    largest: dict[str, float] = {}
    for name, difference in apart.items():
        objective = name.partition(" ")[0].partition("(")[0]
        largest[objective] = max(difference, largest.get(objective, 0.0))
    others = {name: value for name, value in largest.items() if value >= EQUAL}
    listed = ", ".join(f"`{name}` {others[name]:.1%}" for name in sorted(others, key=lambda name: -others[name]))
    equal = sum(difference < EQUAL for difference in apart.values())
    return (
        f"{len(apart)} runs were also made with the same rate on {kept['processor']} ({kept['date']}): {equal} had the"
        f" same perplexity, within {EQUAL:.2%}. The largest differences of the others are: {listed or 'none'}"
    )


STUDIES = {
    "ptb": "Penn Treebank", "trees": "trees and classes", "noise": "noise words", "decay": "weight decay",
    "middecay": "weight decay in a text of 3 million words", "longdecay": "weight decay in a text of 17 million words",
    "germandecay": "weight decay in the German text", "epochs": "time to equal perplexity with 67,791 words",
    "allepochs": "two epochs with 219,208 words", "letters": "letters for 8 epochs", "candidates": "candidates",
    "enwiki": "67,791 words", "allwords": "219,208 words", "phrases": "585,670 words and phrases", "german": "German",
    "vectors": "word vectors",
}  # fmt: skip
"""What each study is about, by its name, which is the folder of the template's command."""


def is_complete() -> bool:
    """Return whether every study has results."""
    return all((MEASURED / f"{study}.jsonl").exists() for study in STUDIES)


def rounded(value: Any) -> Any:
    """Return a JSON value with floats of DIGITS significant digits."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def parts() -> dict[str, Any]:
    """Return what the template's placeholders stand for."""
    by_study = studies()
    figures = Figures(by_study)
    tables = {
        f"{study}_table": by_epochs(results) if study in COMPLETE else results_table(results, study == "vectors")
        for study, results in ((study, by_study.get(study, [])) for study in STUDIES)
    }
    claims = {"claimed_speeds": published.speeds(figures), "verdicts": published.verdicts(figures)}
    return {
        **tables,
        **claims,
        "f": figures,
        "machine": machine(),
        "busy": busy(by_study),
        "repetition": repetition(by_study),
    }
