"""`objectives --advise`: say which objective to use for a text, and show the measured runs that say so.

evaluation/measured_runs.py has the runs and chooses among them; this module only counts the text and prints.
"""

import math
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from w2vtrain.commands.shell import imports
from w2vtrain.errors import spelled
from w2vtrain.evaluation.measured_runs import (
    MAX_DURATION_RATIO,
    NEEDS,
    VECTORS,
    MeasuredRun,
    Study,
    decision_table,
    epochs_within,
    ranking,
    shortest,
    studies,
    studies_for,
    study_for,
    weight_decay,
)  # fmt: skip
from w2vtrain.system.terminal import echo

WIDTH = 80
SHOWN_RUNS = 4
"""Runs that are shown as support, besides the softmax's."""
GLUE = "\0"
"""Stands for a space at which no line ends."""


def print_decision_table(among: Sequence[Study]) -> None:
    """Print which objective was best for each need, study and time."""
    text = (
        "Which one to use, by the words of the vocabulary and the CPU seconds of training, on one thread. Each line is"
        " the mean of three measured runs, or one run where marked with *. Its result is the perplexity, beside that of"
        " the full softmax within the same time; for word vectors, it is the mean of analogies and WordSim-353. Words"
        " are those of one epoch."
    )
    form = "  {:>7} {:>5} {:<7} {:>6} {:<25} {:>7} {:>6} {:>7}".format
    head = form("vocab.", "words", "text", "within", "use", "result", "took", "softmax")
    echo("\n" + textwrap.fill(text, WIDTH) + "\n\n" + head)
    for needs, answers in decision_table(among).items():
        echo("\n" + textwrap.fill("; ".join(NEEDS[need][0] for need in needs), WIDTH, initial_indent="  "))
        for study, seconds, run, softmax in answers:
            place = (f"{study.vocabulary:,}", millions(study.words), study.text.split()[0])
            took = f"{run.cpu:.1f} s" if run.cpu < 100 else f"{run.cpu:.0f} s"
            result = quality(run) + "*" * is_single(run)
            echo(form(*place, limit(seconds), run.use, result, took, quality(softmax) if softmax else "-"))


def describe_study(study: Study) -> str:
    """Return the vocabulary of a study, its text and the words of one epoch, as text."""
    return f"{study.vocabulary:,} words ({study.text}, {millions(study.words)} per epoch)"


def millions(words: int) -> str:
    """Return a number of words in millions, as text."""
    return f"{words / 1e6:.2g}M"


def is_single(run: MeasuredRun) -> bool:
    """Return whether a run is one, not the mean of several seeds."""
    _, low, high = run.quality
    return low == high


def limit(seconds: float) -> str:
    """Return a limit of CPU seconds as text."""
    return "any" if math.isinf(seconds) else f"{seconds:g} s"


def quality(run: MeasuredRun, with_range: bool = False) -> str:
    """Return the mean of a run's perplexity or scores, and the range over seeds, as text."""
    form = ("{:.3f}" if run.quality[0] < 1 else "{:,.1f}" if run.quality[0] < 1000 else "{:,.0f}").format
    mean, low, high = map(form, run.quality)
    return f"{mean} ({low}-{high})" if with_range and not is_single(run) else mean


def advise(corpus: str, vocabulary: int | None, need: str, seconds: float, settings: dict[str, Any]) -> None:
    """Print a `fit` command for a text, or for a vocabulary of this many words, and the measured runs that support it.

    corpus: unless a vocabulary is given; settings: of the text, such as min_count.
    """
    words = 0
    if vocabulary is None:
        vocabulary, words = sizes(corpus, settings)
    study = study_for(need, vocabulary, words)
    runs = ranking(study, need, max(seconds, MAX_DURATION_RATIO * shortest(study, need)))
    text = f"{vocabulary:,} words in the vocabulary" + f", which occur {words:,} times" * bool(words)
    named = dict.fromkeys(map(describe_study, studies_for(need, studies())))
    others = ", ".join(name for name in named if name != describe_study(study))
    echo(f"you want   {NEEDS[need][0]}\ntext       {text}\nCPU time   {limit(seconds)}, on one thread")
    source = f"measured   with {describe_study(study)}"
    if others:
        source += f"; there are runs with {others}"
    echo(textwrap.fill(source, WIDTH, subsequent_indent=" " * 11))
    echo(f"table      docs/objectives.md#{study.section}\n")
    show(study, need, runs, seconds)
    echo("\n" + textwrap.fill(" ".join(notes(study, need, seconds)), WIDTH))
    limits: dict[str, Any] = {"epochs": epochs_within(runs[0], words or study.words, seconds)}
    if "weight_decay" in study.settings:
        limits["weight_decay"] = weight_decay(words or study.words)
    longest = seconds if seconds < math.inf or runs[0].epochs >= 1 else math.ceil(runs[0].cpu)
    if longest < math.inf:
        limits |= {"seconds": f"{longest:.3g}", "threads": 1}  # then seconds of the clock are CPU seconds
    elif words:
        took = limits["epochs"] * words / runs[0].speed
        echo(f"\nThis takes about {took:.3g} CPU seconds where the runs were measured:")
    echo("\n" + command(corpus or "text.txt", study, runs[0], {**settings, **limits}))


def sizes(corpus: str, settings: dict[str, Any]) -> tuple[int, int]:
    """Return how many words the vocabulary of a text has, and how often they occur."""
    with imports():
        from w2vtrain.commands.console import Console
        from w2vtrain.commands.prepare import counted
        from w2vtrain.config import resolve
        from w2vtrain.training.inputs import corpus_of
    resolved, _ = resolve(settings)
    vocabulary, _ = counted(corpus_of((corpus,), resolved), resolved, Console(quiet=False))
    return len(vocabulary), int(vocabulary.counts.sum())


def show(study: Study, need: str, runs: list[MeasuredRun], seconds: float) -> None:
    """Print the advised run, the best others, and the best of the softmax, within the time and in all."""
    form = "  {:<25} {:>5} {:>6} {:>5}  {:<19} {:>7} {:>4}".format
    title = "score" if need == VECTORS else "perplexity"
    echo(form("objective", "rate", "epochs", "CPU s", title, "scoring", "size"))
    softmax = sorted((run for run in study.runs if run.use == "softmax"), key=lambda run: run.quality[0])
    reference = [*[run for run in softmax if run.cpu <= seconds][:1], *softmax[:1]]
    for run in dict.fromkeys([*(run for run in runs[:SHOWN_RUNS] if run not in softmax), *reference]):
        epochs = f"{run.epochs:.2g}" if run.epochs > 0.01 else "<0.01"
        cells = (f"{run.alpha:.2g}", epochs, f"{run.cpu:.1f}", quality(run, True), f"{run.scoring:,.0f}x")
        echo(form(run.use, *cells, f"{run.size:.0%}"))


def notes(study: Study, need: str, seconds: float) -> Iterator[str]:
    """Yield what the columns mean, and what the measured runs do not say."""
    if need == VECTORS:
        yield "The score is the mean of analogies and WordSim-353."
    yield "Each line is the mean of three runs, or one run if it has no range."
    yield "Scoring is the speed of scoring a word (with nce and its relatives,"
    yield "without normalizing), and size the output parameters, both relative to a full softmax."
    if any(run.use == "softmax" for run in study.runs):
        yield "The softmax is listed last."
    if need != VECTORS and any(run.use == "hs" for run in ranking(study, need)):
        yield "With a tree of output vectors, hs has a lower perplexity: docs/objectives.md#trees-and-classes."
    if seconds < MAX_DURATION_RATIO * shortest(study, need):
        yield f"No run that meets the need was shorter than {shortest(study, need):.1f} s."
    if (longest := max(run.cpu for run in study.runs)) < seconds:
        yield f"None of these runs was longer than {longest:.0f} s: `w2vtrain compare` measures longer ones."
    if "weight_decay" in study.settings:
        decay = study.settings["weight_decay"]
        yield f"The command has the weight decay for a text of this size; the runs had {decay:g}."


def command(corpus: str, study: Study, run: MeasuredRun, limits: dict[str, Any]) -> str:
    """Return the command that trains with the settings of a run; limits: further settings."""
    objective, *options = run.use.split(" -O ")
    settings = {**study.settings, "alpha": f"{run.alpha:.2g}", **limits}
    flags = [f"--objective {objective}", *(f"-O {pair}" for pair in options)]
    flags += [spelled(name, value) for name, value in settings.items()]
    flags += ["-o vectors.txt", *([] if study.name == VECTORS else ["--save-model model.safetensors"])]
    kept = " ".join(flag.replace(" ", GLUE) for flag in flags)
    lines = textwrap.wrap(kept, WIDTH - 6, break_long_words=False, break_on_hyphens=False)
    return " \\\n    ".join([f"w2vtrain fit {shlex.quote(corpus)}", *(line.replace(GLUE, " ") for line in lines)])
