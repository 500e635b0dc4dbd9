"""Score the vectors that `fit` could write for a model on a panel of sets, and print the tables of docs/performance.md.

    python benchmarks/panel.py score SETS MODEL... > scores.jsonl
    python benchmarks/panel.py table scores.jsonl WORDS

MODEL is a file of `w2vtrain fit --save-model`. SETS is a folder with the files that the constants below name; BATS is
the folder of BATS 3.0, with a folder of categories for each group. `score` prints a line of JSON per model. `table`
prints how many points (hundredths) the candidates are above the input vectors of the same models, with standard errors:
in each set for texts of WORDS words or more, and for each text, which is recognized by its number of words.
"""

import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain import Model, load_model
from w2vtrain.embeddings.analogies import nearest_to_analogies
from w2vtrain.embeddings.datasets import first_indices
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.formats.transforms import blend
from w2vtrain.formats.vectors import Vectors

GOOGLE, BATS = "questions-words.txt", "bats"
PAIRS = ("wordsim353", "simlex999", "mturk287", "rg65", "yp130", "verb143")
SHARES = (0.0, 0.1, 0.15, 0.2, 0.3, 0.4)
"""Shares of the centered output vectors that are added to the centered input vectors."""
PARTS = ("semantic", "syntactic")
"""The parts of Google's questions, which do not count besides the whole."""
MOST_FREQUENT = 30_000

Scores = dict[str, dict[str, float]]
"""The scores of a model: for each candidate, one per set."""


def google(path: Path) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the part, "semantic" or "syntactic", and the questions of each section."""
    for section in path.read_text(encoding="utf-8").split(": ")[1:]:
        name, *questions = section.splitlines()
        yield PARTS[name.startswith("gram")], [question.split() for question in questions]


def bats(folder: Path) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the group and the questions of each category: all combinations of two pairs, with the first answers."""
    for path in sorted(folder.glob("*/*.txt")):
        lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
        pairs = [(word, answers.split("/")[0]) for word, answers in lines]
        yield f"BATS {path.parent.name.split('_')[1]}", [[*p, *q] for p in pairs for q in pairs if p != q]


def candidates(model: Model) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the name and the vectors of each candidate, the input vectors first."""
    yield "input", np.asarray(model.input)
    for share in SHARES:
        yield f"{share:g}" if share else "centered", blend(model.input, model.output, share)[:]


def answered(matrix: NDArray[np.float32], questions: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which questions (n, 4) the nearest word to b - a + c answers, as in `w2vtrain eval`; matrix (V, d)."""
    hits: NDArray[np.bool_] = nearest_to_analogies(matrix, questions[:, :3], np.arange(len(matrix))) == questions[:, 3]
    return hits


def scores(model: Model, sets: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield each candidate and its accuracy or Spearman's correlation in each set.

    Of words that differ only in case, the first counts.
    """
    rows = list(first_indices(model.words[:MOST_FREQUENT], str.lower).values())
    place = {model.words[row].lower(): i for i, row in enumerate(rows)}
    asked: dict[str, list[list[int]]] = defaultdict(list)
    for name, questions in (*google(sets / GOOGLE), *bats(sets / BATS)):
        ids = [[place.get(word.lower(), -1) for word in question] for question in questions]
        asked[name] += [four for four in ids if min(four) >= 0]
    for which, matrix in candidates(model):
        hits = {name: answered(matrix[rows], np.array(known, np.int64).reshape(-1, 4)) for name, known in asked.items()}
        hits = {"Google": np.concatenate([hits[part] for part in PARTS])} | hits
        vectors = Vectors(model.words, matrix)
        pairs = {name: evaluate_similarity(vectors, sets / f"{name}.tsv").spearman for name in PAIRS}
        yield which, {name: float(own.mean()) for name, own in hits.items()} | pairs


def score(sets: Path, paths: list[str]) -> None:
    """Print one line of JSON per model: what it is, and the scores of each candidate in each set."""
    for path in paths:
        model = load_model(path)
        result = {"model": Path(path).stem, **{key: model.settings[key] for key in ("architecture", "objective")}}
        result |= {"words": int(model.counts.sum()), "scores": dict(scores(model, sets))}
        print(json.dumps(result), flush=True)


def tables(results: list[dict[str, Any]], least: int) -> None:
    """Print the tables of each architecture and objective. The one of all sets is of texts of `least` words or more."""
    groups = defaultdict(list)
    for result in results:
        groups[result["architecture"], result["objective"]].append(result)
    for (architecture, objective), models in groups.items():
        large = [with_mean(model["scores"]) for model in models if model["words"] >= least]
        print(f"\n{architecture}, {objective}, {len(large)} models\n")
        by_set(large)
        print("\nBy words of text: the mean difference, and the lowest of a set:\n")
        by_text(models)


def by_set(models: list[Scores]) -> None:
    """Print for each set the mean score of the input vectors, and the mean differences of the others from it."""
    first, *others = models[0]
    header("set", first, *others)
    for name in models[0][first]:
        base = statistics.mean(model[first][name] for model in models)
        cells = [with_error(differences(models, which, name)) for which in others]
        print(f"| {name} | {base:.3f} | {' | '.join(cells)} |")


def by_text(models: list[dict[str, Any]]) -> None:
    """Print for each text the mean difference of each candidate, and its lowest difference in a set or part."""
    texts = defaultdict(list)
    for model in models:
        texts[model["words"]].append(with_mean(model["scores"]))
    header("words", "models", *list(models[0]["scores"])[1:])
    for words, own in sorted(texts.items()):
        cells = []
        for which in list(own[0])[1:]:
            means = {name: statistics.mean(differences(own, which, name)) for name in own[0][which]}
            cells.append(f"{means.pop('mean'):+.1f} / {min(means.values()):+.1f}")
        print(f"| {words:,} | {len(own)} | {' | '.join(cells)} |")


def header(*names: str) -> None:
    """Print the first two lines of a table."""
    print(f"| {' | '.join(names)} |\n{'|---' * len(names)}|")


def with_mean(scores: Scores) -> Scores:
    """Return the scores of a model, and for each candidate their mean over the sets."""
    return {
        which: own | {"mean": statistics.mean(value for name, value in own.items() if name not in PARTS)}
        for which, own in scores.items()
    }


def differences(models: list[Scores], which: str, name: str) -> list[float]:
    """Return how many points a candidate is above the input vectors in a set, for each model."""
    return [100 * (model[which][name] - model["input"][name]) for model in models]


def with_error(points: list[float]) -> str:
    """Return the mean, with its standard error if there are several values."""
    error = f" ± {statistics.stdev(points) / len(points) ** 0.5:.1f}" if len(points) > 1 else ""
    return f"{statistics.mean(points):+.1f}{error}"


if __name__ == "__main__":
    match sys.argv[1:]:
        case "score", sets, *paths:
            score(Path(sets), paths)
        case "table", path, least:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
            tables([json.loads(line) for line in lines], int(least))
        case _:
            sys.exit(__doc__)
