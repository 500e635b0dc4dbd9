"""Which objective to choose for a need, a vocabulary and a time: an answer from measured runs.

measured.json summarizes the runs of docs/objectives.md; `make reference` writes it. The command `objectives` prints the
answers, and docs/generate.py writes them into the documentation. Nothing is estimated here but the number of epochs.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

MEASURED = Path(__file__).with_name("measured.json")
VECTORS = "vectors"
"""The study of word vectors; the others are of language models."""
MIN_SCORING_RATIO, MAX_LOG_Z_VARIANCE, MAX_SIZE_SHARE = 5, 0.1, 0.5
"""What counts as fast scoring, as nearly normalized, and as few output parameters: at least this multiple of a full
softmax's speed, at most this variance of log Z, and at most this share of one full row per word."""
NO_MODELS = ("neg", "block-neg")
"""Objectives whose scores are not those of a language model, so that their perplexity is high by design."""
BUDGETS = (2.0, 10.0, 40.0, 100.0, 400.0, math.inf)
"""CPU seconds of training for which the decision table has an answer."""
LEVEL_SHARE = 0.01
"""Runs whose means differ by at most this share are level: another test text or seed may change as much."""
MAX_DURATION_RATIO = 1.1
"""Runs that take up to this multiple of the CPU time of another count as equally long."""


class MeasuredRun(NamedTuple):
    """The runs of one objective, with one setting of its options and one length, in one study.

    use: objective and options, as `fit` takes them; alpha: learning rate; epochs; cpu: CPU seconds of training; speed:
    words of the text per CPU second; quality: mean, lowest and highest value over the seeds, which is the perplexity of
    test text, or for word vectors the mean of analogies and WordSim-353; scoring: the speed of scoring one word,
    relative to a full softmax; variance: of log Z; size: output parameters relative to one full row per word;
    validation: like quality, for the text that chooses among runs; None if there is no such text, or too little of it.
    """

    use: str
    alpha: float
    epochs: float
    cpu: float
    speed: float
    quality: tuple[float, float, float]
    scoring: float
    variance: float
    size: float
    validation: tuple[float, float, float] | None = None

    def choosing(self) -> tuple[float, float, float]:
        """Return what runs are ranked by: mean, lowest and highest value over the seeds."""
        return self.validation or self.quality


class Study(NamedTuple):
    """What was compared with one text: words of its vocabulary and of one epoch, the settings of all runs, the runs.

    section: the part of docs/objectives.md that has the runs, as in a link to it.
    """

    name: str
    text: str
    vocabulary: int
    words: int
    settings: dict[str, Any]
    runs: list[MeasuredRun]
    section: str = ""


NEEDS: dict[str, tuple[str, Callable[[MeasuredRun], bool]]] = {
    "vectors": ("word vectors", lambda _: True),
    "probabilities": ("probabilities of words", lambda run: run.use.split()[0] not in NO_MODELS),
    "fast-scores": (
        "nearly normalized scores, without scoring every word",
        lambda run: run.scoring >= MIN_SCORING_RATIO and run.variance <= MAX_LOG_Z_VARIANCE,
    ),
    "fast-probabilities": (
        "exact probabilities, without scoring every word",
        lambda run: run.scoring >= MIN_SCORING_RATIO and run.variance == 0,
    ),
    "small": ("few output parameters", lambda run: run.size <= MAX_SIZE_SHARE),
}
"""What users want, by the name that `--need` takes: in words, and whether a run serves it."""


@cache
def studies() -> tuple[Study, ...]:
    """Return all studies."""
    listed = json.loads(MEASURED.read_text(encoding="utf-8"))
    return tuple(map(study_from, listed))


def study_from(fields: dict[str, Any]) -> Study:
    """Return a study from plain values."""
    spread = ("quality", "validation")
    runs = [MeasuredRun(**{**run, **{key: tuple(run[key]) for key in spread if key in run}}) for run in fields["runs"]]
    return Study(**{**fields, "runs": runs})


def studies_for(need: str, among: Sequence[Study]) -> list[Study]:
    """Return the studies with a run that serves a need."""
    serves = NEEDS[need][1]
    return [study for study in among if (study.name == VECTORS) == (need == VECTORS) and any(map(serves, study.runs))]


def study_for(need: str, vocabulary: int, words: int = 0) -> Study:
    """Return the study whose vocabulary is nearest to a number of words, by their ratio.

    words: those of one epoch, or 0 if they are not known. Of studies with the same vocabulary, the one whose text is
    nearest to that decides, then the one with the longest run.
    """

    def distance(study: Study) -> tuple[float, float, float]:
        length = abs(math.log(study.words / words)) if words else 0.0
        return abs(math.log(study.vocabulary / vocabulary)), length, -max(run.cpu for run in study.runs)

    return min(studies_for(need, studies()), key=distance)


def ranking(study: Study, need: str, seconds: float = math.inf) -> list[MeasuredRun]:
    """Return the runs that serve a need and took at most so many CPU seconds, the advised one first, then the best.

    Level with the best are the runs whose range over the seeds overlaps its range, or whose mean is within
    LEVEL_SHARE. Of these, the quickest is advised; if several are as quick, the best of them.
    """
    sign = -1 if need == VECTORS else 1
    able = [run for run in study.runs if NEEDS[need][1](run) and run.cpu <= seconds]
    able.sort(key=lambda run: sign * run.choosing()[0])
    if not able:
        return []
    mean, low, high = able[0].choosing()

    def is_level(run: MeasuredRun) -> bool:
        its_mean, its_low, its_high = run.choosing()
        return (its_low <= high and its_high >= low) or abs(its_mean / mean - 1) <= LEVEL_SHARE

    level = list(filter(is_level, able))
    longest = MAX_DURATION_RATIO * min(run.cpu for run in level)
    advised = next(run for run in level if run.cpu <= longest)
    return [advised, *(run for run in able if run is not advised)]


def shortest(study: Study, need: str) -> float:
    """Return the CPU seconds of the shortest run that serves a need."""
    return min(run.cpu for run in ranking(study, need))


class Answer(NamedTuple):
    """A row of the decision table: a study, the CPU seconds that the row is for, and what to use.

    softmax: the full softmax's best run within the time, or None if even the shortest took longer.
    """

    study: Study
    seconds: float
    run: MeasuredRun
    softmax: MeasuredRun | None


def decision_table(among: Sequence[Study]) -> dict[tuple[str, ...], list[Answer]]:
    """Return what to use for each need, study and time; needs with the same answers share them.

    A time is left out if a shorter one has the same answer.
    """
    tables: list[tuple[list[str], list[Answer]]] = []
    for need in NEEDS:
        answers = [answer for study in studies_for(need, among) for answer in _answers(study, need)]
        same = next((needs for needs, others in tables if others == answers), None)
        if same is None:
            tables.append(([need], answers))
        else:
            same.append(need)
    return {tuple(needs): answers for needs, answers in tables}


def _answers(study: Study, need: str) -> Iterator[Answer]:
    last = None
    for seconds in BUDGETS:
        runs = ranking(study, need, seconds)
        if runs and runs[0] != last:
            softmax = [run for run in study.runs if run.use == "softmax" and run.cpu <= seconds]
            best = min(softmax, key=lambda run: run.quality[0], default=None)
            yield Answer(study, seconds, runs[0], best)
            last = runs[0]


def weight_decay(words: int) -> float:
    """Return a weight decay for a language model trained on a text of `words` words.

    The best of those tried was 1.5e-5 with 0.9 million words, 5e-6 with 2.8 million, and 0 with 16.6 million. With
    3.6 million words of German, on which this was not chosen, it is better than 0 and 1.5e-5.
    """
    return 0.0 if words > 10_000_000 else min(1.5e-5, float(f"{14 / words:.2g}"))


def epochs_within(run: MeasuredRun, words: int, seconds: float) -> int:
    """Return how many epochs of a text of so many words fit into CPU seconds: 1 or more, at most those of the run."""
    most = max(1, round(run.epochs))
    return most if math.isinf(seconds) else max(1, min(most, math.floor(seconds * run.speed / words)))
