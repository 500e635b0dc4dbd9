"""Measure vectors of documents beside gensim's Doc2Vec, and write the documents of the guide.

    python benchmarks/documents.py --write docstrings
    python benchmarks/documents.py [--train FILE --test FILE] [--seeds N] [--dimensions N] [--epochs N]

The documents of the guide are the docstrings of NumPy and SciPy, labeled by subpackage. FILE has lines with a label, a
tab, and the words of a document; by default, a fifth of the docstrings is the test. Both systems train with one thread
and the same settings (negative sampling with 5 noise words, window 5, learning rate 0.025 to 0.0001), once per seed,
each in a process of its own, in turn. Speed is in million words per CPU second of training alone.
Accuracy is that of a logistic regression, trained on the vectors of the documents, on inferred vectors of the test;
recall is the share of 500 training documents that are the nearest neighbor of their own inferred vector.
"""

import argparse
import importlib
import inspect
import json
import lzma
import multiprocessing
import re
import statistics
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SUBPACKAGES = (
    "scipy.special", "scipy.stats", "scipy.signal", "scipy.linalg", "scipy.ndimage", "scipy.optimize",
    "scipy.interpolate", "scipy.sparse", "scipy.fft", "numpy.ma", "numpy.random", "numpy.linalg",
)  # fmt: skip
MIN_WORDS = 30
RECALLED = 500
SHOWN, MAPPED = 8, 25
"""Labels, and documents of each, in the groups for a map."""
ARCHITECTURES = {
    "pv-dbow": {"dm": 0}, "pv-dbow-words": {"dm": 0, "dbow_words": 1}, "pv-dm": {"dm": 1, "dm_mean": 1},
    "pv-dm-concat": {"dm": 1, "dm_concat": 1},
}  # fmt: skip
"""With gensim's parameters."""


class Document(NamedTuple):
    """A document, the words of which are in lower case."""

    label: str
    words: list[str]
    name: str = ""


class Measured(NamedTuple):
    """Million words per CPU second, accuracy, and recall."""

    speed: float
    accuracy: float
    recall: float


def docstrings() -> list[Document]:
    """Return the docstrings of NumPy's and SciPy's functions and classes; the label is the subpackage."""
    found, seen = [], set()
    for name in SUBPACKAGES:
        module = importlib.import_module(name)
        for attribute in sorted(set(vars(module)) - {"test"}):
            value = getattr(module, attribute)
            text = inspect.getdoc(value) if callable(value) and id(value) not in seen else None
            seen.add(id(value))
            words = re.findall("[a-z]+", (text or "").lower())
            if not attribute.startswith("_") and len(words) >= MIN_WORDS:
                found.append(Document(name.rpartition(".")[2], words, f"{name}.{attribute}"))
    return found


def read(path: str) -> list[Document]:
    """Return the documents of a file, which may be compressed with xz."""
    with (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line in file]
    return [Document(label, text.split()) for label, text in rows]


def write(folder: Path) -> None:
    """Write the docstrings as a table, and groups of their names by label, for `plot map`."""
    documents = docstrings()
    folder.mkdir(exist_ok=True)
    rows = [("name", "label", "text"), *((one.name, one.label, " ".join(one.words)) for one in documents)]
    (folder / "documents.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    groups = []
    for label, _ in Counter(document.label for document in documents).most_common(SHOWN):
        names = [document.name for document in documents if document.label == label]
        groups += [f": {label}", *names[:: -(-len(names) // MAPPED)]]
    (folder / "groups.txt").write_text("\n".join(groups) + "\n", encoding="utf-8")


def measure(
    system: str, architecture: str, train: list[Document], test: list[Document], seed: int, options: Any
) -> Measured:
    """Train one system in a process of its own, and score it."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (system, architecture, train, test, seed, options))


def _measured(
    system: str, architecture: str, train: list[Document], test: list[Document], seed: int, options: Any
) -> Measured:
    warnings.simplefilter("ignore")
    systems = {"w2vtrain": _w2vtrain, "gensim": _gensim}
    seconds, known, inferred = systems[system](architecture, train, test + train[:RECALLED], seed, options)
    new, again = inferred[: len(test)], inferred[len(test) :]
    words = sum(len(document.words) for document in train) * options.epochs
    nearest = (again @ (known / np.linalg.norm(known, axis=1, keepdims=True)).T).argmax(axis=1)
    labels = [np.array([document.label for document in part]) for part in (train, test)]
    recall = float(np.mean(nearest == np.arange(len(again))))
    return Measured(words / seconds / 1e6, accuracy(known, labels[0], new, labels[1]), recall)


def accuracy(rows: NDArray[Any], labels: NDArray[Any], new: NDArray[Any], expected: NDArray[Any]) -> float:
    """Return the accuracy of a logistic regression on new rows."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scale = StandardScaler().fit(rows)
    fitted = LogisticRegression(max_iter=1000, C=0.1).fit(scale.transform(rows), labels)
    return float(fitted.score(scale.transform(new), expected))


def _w2vtrain(
    architecture: str, train: list[Document], others: list[Document], seed: int, options: Any
) -> tuple[float, NDArray[Any], NDArray[Any]]:
    import w2vtrain
    from w2vtrain.leaves.documents.inference import Inference
    from w2vtrain.text.token_lists import Sentences

    at: dict[str, float] = {}
    events = w2vtrain.Events(
        ready=lambda _: at.update(begin=time.process_time()), epoch=lambda *_: at.update(end=time.process_time())
    )
    documents = w2vtrain.Documents([(document.words, [number]) for number, document in enumerate(train)])
    model = w2vtrain.train(
        documents, architecture=architecture, events=events, vector_size=options.dimensions, epochs=options.epochs,
        seed=seed, negative=5, window=5, min_count=options.min_count, alpha=0.025, min_alpha=0.0001, threads=1,
    )  # fmt: skip
    inferred, _ = Inference(model).vectors(Sentences([document.words for document in others]))
    return at["end"] - at["begin"], model.dv.vectors, inferred


def _gensim(
    architecture: str, train: list[Document], others: list[Document], seed: int, options: Any
) -> tuple[float, NDArray[Any], NDArray[Any]]:
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    documents = [TaggedDocument(document.words, [number]) for number, document in enumerate(train)]
    model = Doc2Vec(
        vector_size=options.dimensions, epochs=options.epochs, seed=seed, negative=5, window=5, sample=1e-3,
        min_count=options.min_count, alpha=0.025, min_alpha=0.0001, workers=1, **ARCHITECTURES[architecture],
    )  # fmt: skip
    model.build_vocab(documents)
    begin = time.process_time()
    model.train(documents, total_examples=len(documents), epochs=options.epochs)
    seconds = time.process_time() - begin
    return seconds, model.dv.vectors, np.array([model.infer_vector(document.words) for document in others])


def split(options: Any) -> tuple[list[Document], list[Document]]:
    """Return the documents to train on, and those to test with."""
    if options.train:
        return read(options.train), read(options.test)
    documents = docstrings()
    order = np.random.default_rng(0).permutation(len(documents)).tolist()
    cut = len(documents) // 5
    return [documents[i] for i in order[cut:]], [documents[i] for i in order[:cut]]


def table(options: Any) -> None:
    """Print the means over the seeds, and of accuracy and recall also the standard errors."""
    train, test = split(options)
    size = sum(len(document.words) for document in train)
    print(f"{len(train):,} documents of {size:,} words, {len(test):,} for the test\n")
    print("| architecture | system | M words per CPU second | accuracy | self-recall |")
    print("| --- | --- | --- | --- | --- |")
    for architecture in options.architectures:
        rows: dict[str, list[Measured]] = {"w2vtrain": [], "gensim": []}
        for seed in range(1, options.seeds + 1):
            for system, found in rows.items():
                found.append(measure(system, architecture, train, test, seed, options))
        for system, found in rows.items():
            speed, *scores = zip(*found, strict=True)
            cells = [f"{statistics.mean(values):.3f} ± {error(values):.3f}" for values in scores]
            print(f"| {architecture} | {system} | {statistics.median(speed):.2f} | {' | '.join(cells)} |", flush=True)
        ratios = [ours.speed / theirs.speed for ours, theirs in zip(*rows.values(), strict=True)]
        print(json.dumps({"architecture": architecture, "speed ratios": [round(ratio, 2) for ratio in ratios]}))


def error(values: Any) -> float:
    """Return the standard error of a mean, 0 of one value."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="DIR")
    parser.add_argument("--train", metavar="FILE")
    parser.add_argument("--test", metavar="FILE")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--dimensions", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--min-count", type=int, default=5)
    parser.add_argument("--architectures", nargs="+", default=list(ARCHITECTURES))
    options = parser.parse_args()
    if options.write:
        write(options.write)
    else:
        table(options)


if __name__ == "__main__":
    main()
