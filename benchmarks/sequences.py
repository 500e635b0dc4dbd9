"""Measure vectors of items, nodes, k-mers and log events beside gensim's, and print the tables of the guides.

    python benchmarks/sequences.py sessions
    python benchmarks/sequences.py graphs --edges cora.edges --labels cora.node_labels
    python benchmarks/sequences.py logs --write logs

Each row trains both systems with one thread and the same settings, once per seed; a row changes some of the suggested
settings, which are the first row. The last row has the settings that `--grid` found best for each system, on other
data. Scores are means over the seeds, and seconds are CPU seconds of training. The line below the table has the
standard errors of the paired differences between the systems. `--write DIR` writes the input instead, for the commands
of the guide.
"""

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
import sequence_data as data
from numpy.typing import NDArray

import w2vtrain
from w2vtrain.config import option

Sentences = list[list[str]]
Rows = NDArray[Any]
Scores = dict[str, float]
Settings = dict[str, Any]


MAPPED = 30
"""Nodes of each label in the groups for a map."""


class Vectors(NamedTuple):
    """Words, their vectors, of length 1, in rows, their dot products with output vectors, and the CPU seconds."""

    row_of: dict[str, int]
    rows: Rows
    inputs: Rows
    outputs: Rows
    """The vectors as they were learned."""
    products: Rows
    """Of each input vector, in rows, with each output vector, in columns; (0, 0) if there are 1,000 words or more."""
    seconds: float

    def mean(self, words: Iterable[str]) -> Rows:
        """Return the mean of the vectors of the words that have one, zeros if none has."""
        known = [self.row_of[word] for word in words if word in self.row_of]
        return self.rows[known].mean(0) if known else np.zeros(self.rows.shape[1])


class Task(NamedTuple):
    """What to train on, how to judge the vectors, the settings that the guide suggests, and changes of these."""

    sentences: Callable[[int], Sentences]
    judge: Callable[[Vectors], Scores]
    suggested: Settings
    changes: list[Settings]
    best: dict[str, Settings]
    """The changes that `--grid` found best for each system."""
    without: Scores
    """The scores that need no vectors."""
    files: dict[str, list[str]]
    """The lines of the files that `--write` writes."""


def unit(rows: Rows) -> Rows:
    """Return the rows with length 1."""
    lengths: Rows = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Rows = rows / np.maximum(lengths, 1e-12)
    return scaled


def of_w2vtrain(sentences: Sentences, settings: Settings, seed: int) -> Vectors:
    """Train on one thread."""
    started = time.process_time()
    model = w2vtrain.train(sentences, seed=seed, threads=1, **settings)
    seconds = time.process_time() - started
    return vectors_of(model.words, model.input, model.output, seconds)


def vectors_of(words: list[str], inputs: Rows, outputs: Rows, seconds: float) -> Vectors:
    """Return what the tasks ask for."""
    products = inputs @ outputs.T if len(words) < 1000 else np.zeros((0, 0))
    return Vectors({word: row for row, word in enumerate(words)}, unit(inputs), inputs, outputs, products, seconds)


def of_gensim(sentences: Sentences, settings: Settings, seed: int) -> Vectors:
    """Train gensim's Word2Vec with the same settings, on one thread."""
    from gensim.models import Word2Vec

    options: Settings = {"sg": 1, **{name: value for name, value in settings.items() if value is not None}}
    if options.get("window") == "sentence":
        options |= {"window": max(map(len, sentences)), "shrink_windows": False}
    if options.pop("architecture", "skipgram") == "cbow":
        options["sg"] = 0
    started = time.process_time()
    model = Word2Vec(sentences, seed=seed, workers=1, **options)
    seconds = time.process_time() - started
    return vectors_of(model.wv.index_to_key, model.wv.vectors, model.syn1neg, seconds)


def auc(positive: Rows, negative: Rows) -> float:
    """Return the probability that a positive score is above a negative one; ties count half."""
    order = np.sort(negative)
    below = np.searchsorted(order, positive, "left") + np.searchsorted(order, positive, "right")
    return float(below.sum() / 2 / len(positive) / len(negative))


def ranks_of(scores: Rows, wanted: list[int], seen: list[list[int]]) -> Rows:
    """Return the rank, from 1, of the wanted column in each row of scores, with the columns of `seen` left out."""
    for row, columns in zip(scores, seen, strict=True):
        row[columns] = -np.inf
    ranks: Rows = (scores >= scores[np.arange(len(wanted)), wanted][:, None]).sum(1)
    return ranks


def hits(ranks: Rows, of: int) -> Scores:
    """Return the hit rate at 10 and the mean reciprocal rank of `of` held-out items; those without a rank miss."""
    return {"hit rate at 10": float((ranks <= 10).sum() / of), "MRR": float((1 / ranks).sum() / of)}


DEFAULTS: Settings = {"window": 5, "sample": 0.001, "min_count": 5, "alpha": None}
"""Defaults of `fit`, and of gensim, which differ in the learning rate: 0.05 and 0.025 for skip-gram."""
GRID: list[Settings] = [{"alpha": alpha, "negative": negative} for alpha in (0.01, 0.025, 0.05) for negative in (5, 20)]
REPORTED, VALIDATION = 1, 2
"""Seeds of the data in the tables, and of the data that settings are chosen by."""


def sessions(options: argparse.Namespace) -> Task:
    """Look for the last item of each session, given the three before it, by products and by cosines.

    Items of the session itself are left out, and items without a vector count as missed.
    """
    visits = data.sessions(seed=options.data)
    known, last = [session[:-1] for session in visits], [session[-1] for session in visits]
    count = Counter(item for session in known for item in session)

    def judge(vectors: Vectors) -> Scores:
        index = vectors.row_of
        rows = [[index[item] for item in session if item in index] for session in known]
        asked = [place for place, item in enumerate(last) if item in index and rows[place]]
        wanted, seen = [index[last[place]] for place in asked], [rows[place] for place in asked]
        products = np.array([vectors.products[session[-3:]].mean(0) for session in seen])
        cosines = np.array([vectors.rows[session[-3:]].mean(0) for session in seen]) @ vectors.rows.T
        scores = hits(ranks_of(products, wanted, seen), len(visits))
        return scores | {"by cosine": hits(ranks_of(cosines, wanted, seen), len(visits))["hit rate at 10"]}

    items = {item: column for column, item in enumerate(count)}
    popular = np.tile(np.array([float(count[item]) for item in items]), (len(known), 1))
    seen = [[items[item] for item in session] for session in known]
    without = hits(ranks_of(popular, [items[item] for item in last], seen), len(visits))
    suggested = {"vector_size": 50, "window": "sentence", "sample": 0, "min_count": 1, "epochs": 5, "alpha": 0.025}
    changes: list[Settings] = [{"window": 2}, {"window": 5}, {"sample": 0.001}, {"min_count": 20}]
    changes += [{"ns_exponent": -0.5}, {"ns_exponent": 0.0}, {"ns_exponent": 1.0}, {"alpha": None}, {"negative": 20}]
    changes += [{"alpha": 0.01, "negative": 20, "epochs": 10}, DEFAULTS]
    best: dict[str, Settings] = {"w2vtrain": {"alpha": 0.01, "negative": 20}, "gensim": {"alpha": 0.01, "negative": 20}}
    files = {"train.txt": [" ".join(session) for session in known], "next.txt": last}
    return Task(lambda seed: known, judge, suggested, changes, best, without, files)


def graphs(options: argparse.Namespace) -> Task:
    """Hold out a fifth of the links and tell them from pairs without one; predict labels from a tenth of the nodes."""
    if options.edges:
        links, labels = read_links(options.edges), read_labels(options.labels) if options.labels else {}
    else:
        links, labels = data.digits()
    kept, held, unlinked = split_links(links)
    if options.data == VALIDATION:
        kept, held, unlinked = split_links(kept)  # scores of the grid must not depend on the links of the tables
    degree = Counter(node for link in kept for node in link)

    def judge(vectors: Vectors) -> Scores:
        def cosines(pairs: list[data.Link]) -> Rows:
            ends = [[vectors.row_of.get(node, -1) for node in pair] for pair in pairs]
            return np.array([vectors.rows[a] @ vectors.rows[b] if min(a, b) >= 0 else 0 for a, b in ends])

        if options.links:
            return link_scores(vectors, held, unlinked)
        return {"link AUC": auc(cosines(held), cosines(unlinked))} | label_scores(labels, vectors, options.data)

    def walk(seed: int) -> Sentences:
        edges = pandas.DataFrame(kept, columns=["source", "target"])
        return list(w2vtrain.Walks(edges, walk_length=40, p=options.p, q=options.q, seed=seed))

    suggested = {"vector_size": 64, "window": 5, "sample": 0, "min_count": 1, "epochs": 1, "alpha": 0.025}
    changes: list[Settings] = [{"window": 2}, {"window": 10}, {"alpha": None}, {"negative": 20}]
    changes += [{"architecture": "cbow"}, DEFAULTS]
    product = [np.array([degree[a] * degree[b] for a, b in pairs]) for pairs in (held, unlinked)]
    without = {"link AUC": auc(*product)}
    if labels and not options.links:
        without["label F1"] = Counter(labels.values()).most_common(1)[0][1] / len(labels)
    best: dict[str, Settings] = {"w2vtrain": {"alpha": 0.01}, "gensim": {"alpha": 0.01}}
    files = {"graph.edges": [" ".join(link) for link in links], "labels.txt": [" ".join(x) for x in labels.items()]}
    files["groups.txt"] = []  # for a map: some nodes of each label
    for label in sorted(set(labels.values())):
        members = [node for node, other in labels.items() if other == label]
        files["groups.txt"] += [f": {label}", *members[:MAPPED]]
    return Task(walk, judge, suggested, changes, best, without, files)


def read_links(path: str) -> list[data.Link]:
    """Read the links of a file of edges."""
    graph = w2vtrain.Walks(path).graph
    names, arcs = graph.names, graph.arcs
    sources = np.repeat(np.arange(len(names)), np.diff(arcs.starts))
    pairs = {(names[a], names[b]) for a, b in zip(sources.tolist(), arcs.targets.tolist(), strict=True)}
    return sorted(pair for pair in pairs if pair[0] < pair[1])


def read_labels(path: str) -> dict[str, str]:
    """Read a file of nodes and their labels."""
    lines = Path(path).read_text(encoding="utf-8").replace(",", " ").splitlines()
    return dict(line.split() for line in lines)


def split_links(links: list[data.Link], share: float = 0.2) -> tuple[list[data.Link], list[data.Link], list[data.Link]]:
    """Return the links to walk on, those held out, and as many pairs without a link; no node loses its last link."""
    rng = np.random.default_rng(1)
    degree = Counter(node for link in links for node in link)
    kept: list[data.Link] = []
    held: list[data.Link] = []
    for place in rng.permutation(len(links)):
        a, b = links[place]
        if len(held) < share * len(links) and min(degree[a], degree[b]) > 1:
            held.append((a, b))
            degree[a] -= 1
            degree[b] -= 1
        else:
            kept.append((a, b))
    nodes, taken = sorted(degree), set(links)
    unlinked: list[data.Link] = []
    while len(unlinked) < len(held):
        a, b = sorted(nodes[i] for i in rng.integers(len(nodes), size=2))
        if a != b and (a, b) not in taken:
            taken.add((a, b))
            unlinked.append((a, b))
    return kept, held, unlinked


def link_scores(vectors: Vectors, linked: list[data.Link], unlinked: list[data.Link]) -> Scores:
    """Return the AUC of several scores of a link, by name; each node must have a vector.

    "classified" is a logistic regression on the products of the nodes' coordinates (the Hadamard product of Grover &
    Leskovec 2016). It learns from half of the pairs and scores the others, and the other way around.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    a, b = np.array([[vectors.row_of[node] for node in pair] for pair in linked + unlinked]).T
    truth = np.arange(len(a)) < len(linked)
    inputs, outputs = vectors.inputs, vectors.outputs
    centered, hidden = unit(inputs - inputs.mean(0)), unit(inputs)
    classifier = LogisticRegression(max_iter=1000)
    halves = StratifiedKFold(2, shuffle=True, random_state=1)
    classified = cross_val_predict(classifier, inputs[a] * inputs[b], truth, cv=halves, method="decision_function")
    scores_of = {
        "input by input, cosine": (hidden[a] * hidden[b]).sum(1),
        "input by input, cosine of centered vectors": (centered[a] * centered[b]).sum(1),
        "input by input, product": (inputs[a] * inputs[b]).sum(1),
        "input by output, product": (inputs[a] * outputs[b] + inputs[b] * outputs[a]).sum(1),
        "input by input, classified": classified,
    }
    return {name: auc(scores[truth], scores[~truth]) for name, scores in scores_of.items()}


def label_scores(labels: dict[str, str], vectors: Vectors, split: int = REPORTED) -> Scores:
    """Return the micro-F1 of the labels that `predicted` gets right, nothing if there are no labels."""
    if not labels:
        return {}
    nodes = [node for node in labels if node in vectors.row_of]
    rows, names = vectors.rows[[vectors.row_of[node] for node in nodes]], np.array([labels[node] for node in nodes])
    return {"label F1": predicted(rows, names, split)}


def predicted(rows: Rows, names: Rows, seed: int = REPORTED) -> float:
    """Return the share of labels that a logistic regression predicts, learning from a tenth; mean of five splits.

    seed: decides the splits.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedShuffleSplit

    scores: list[float] = []
    for known, rest in StratifiedShuffleSplit(5, train_size=0.1, random_state=seed).split(rows, names):
        model = LogisticRegression(C=10, max_iter=200).fit(rows[known], names[known])
        scores.append(model.score(rows[rest], names[rest]))
    return statistics.mean(scores)


def kmers(options: argparse.Namespace) -> Task:
    """Ask whether a codon's nearest neighbor codes the same amino acid, and predict the families of genes."""
    sequences = genes = data.genes(seed=options.data)
    if options.proteins:
        sequences = [(family, data.translated(dna)) for family, dna in genes]
    codons = options.k == 3 and not options.proteins
    sentences = [data.kmers(sequence, options.k, options.step) for _, sequence in sequences]
    families = np.array([family for family, _ in sequences])

    def judge(vectors: Vectors) -> Scores:
        rows = np.array([vectors.mean(sentence) for sentence in sentences])
        scores = {"family F1": predicted(rows, families)}
        return {"synonyms": synonyms(vectors), **scores} if codons else scores

    suggested = {"vector_size": 32, "window": 2, "sample": 0, "min_count": 1, "epochs": 10, "alpha": 0.025}
    changes: list[Settings] = [{"sample": 0.001}, {"window": 1}, {"window": 5}]
    changes += [{"alpha": None}, {"negative": 20}, {"architecture": "cbow", "alpha": None}, DEFAULTS]
    words = sorted({word for sentence in sentences for word in sentence})
    counted = np.zeros((len(sentences), len(words)))
    columns = {word: column for column, word in enumerate(words)}
    for row, sentence in zip(counted, sentences, strict=True):
        np.add.at(row, [columns[word] for word in sentence], 1)
    without = {"synonyms": synonyms_by_chance()} if codons else {}
    without["family F1"] = predicted(unit(counted), families)
    best: dict[str, Settings] = {"w2vtrain": {"alpha": 0.025}, "gensim": {"alpha": 0.05, "negative": 20}}
    files = {
        "genes.fasta": fasta(genes),
        "proteins.fasta": fasta([(family, data.translated(dna)) for family, dna in genes]),
    }
    return Task(lambda seed: sentences, judge, suggested, changes, best, without, files)


def fasta(sequences: list[tuple[str, str]]) -> list[str]:
    """Return the lines of a FASTA file of (family, sequence)."""
    return [line for number, (family, letters) in enumerate(sequences) for line in (f">gene{number} {family}", letters)]


def synonyms(vectors: Vectors) -> float:
    """Return the share of codons with synonyms whose nearest neighbor is one of them."""
    codons = [codon for codon, amino in data.CODE.items() if amino not in "*MW" and codon in vectors.row_of]
    every = [codon for codon in vectors.row_of if data.CODE[codon] != "*"]
    cosines = (
        np.array([vectors.rows[vectors.row_of[c]] for c in codons]) @ vectors.rows[[vectors.row_of[c] for c in every]].T
    )
    cosines[np.arange(len(codons)), [every.index(codon) for codon in codons]] = -np.inf
    nearest = [every[column] for column in cosines.argmax(1)]
    return statistics.mean(data.CODE[a] == data.CODE[b] for a, b in zip(codons, nearest, strict=True))


def synonyms_by_chance() -> float:
    """Return what `synonyms` is on average if the nearest neighbor is any other codon."""
    count = Counter(data.CODE.values())
    others = sum(count.values()) - count["*"] - 1
    return statistics.mean((count[amino] - 1) / others for amino in data.CODE.values() if amino not in "*MW")


def logs(options: argparse.Namespace) -> Task:
    """Rank requests by how little their events resemble their neighbors; ask which part of the service is near."""
    lines, wrong = data.logs(seed=options.data)
    events_of = data.event_sessions(lines)
    faulty = np.array([request in wrong for request in events_of])

    def judge(vectors: Vectors) -> Scores:
        strange = np.array([strangeness(events, vectors) for events in events_of.values()])
        first = faulty[np.argsort(-strange)[:100]].sum() / min(100, faulty.sum())
        return {"fault AUC": auc(strange[faulty], strange[~faulty]), "faults in the top 100": float(first)}

    count = Counter(event for events in events_of.values() for event in events)
    rare = np.array([-min(count[event] for event in events) for events in events_of.values()])
    length = np.array([len(events) for events in events_of.values()])
    suggested = {"vector_size": 16, "window": 2, "sample": 0, "min_count": 1, "epochs": 10, "alpha": 0.025}
    changes: list[Settings] = [{"sample": 0.001}, {"window": 1}, {"window": 5}, {"window": "sentence"}, {"epochs": 5}]
    changes += [{"alpha": None}, {"negative": 20}, {"ns_exponent": 0.0}]
    changes += [{"architecture": "cbow", "alpha": None}, DEFAULTS]
    without = {"fault AUC": max(auc(x[faulty], x[~faulty]) for x in (rare, length))}
    best: dict[str, Settings] = {"w2vtrain": {"negative": 20}, "gensim": {"alpha": 0.01}}
    files = {"service.log": lines, "faulty.txt": sorted(wrong)}
    return Task(lambda seed: list(events_of.values()), judge, suggested, changes, best, without, files)


def strangeness(events: list[str], vectors: Vectors) -> float:
    """Return the largest surprise of an event: minus its mean product with the events at most two places away.

    With negative sampling, the product of an input and an output vector approaches the pointwise mutual information of
    the two words, minus a constant (Levy & Goldberg 2014).
    """
    known = [vectors.row_of[event] for event in events if event in vectors.row_of]
    near = [known[max(0, place - 2) : place] + known[place + 1 : place + 3] for place in range(len(known))]
    return max((-float(vectors.products[w, c].mean()) for w, c in zip(known, near, strict=True) if c), default=0.0)


TASKS = {"sessions": sessions, "graphs": graphs, "kmers": kmers, "logs": logs}
SYSTEMS = {"w2vtrain": of_w2vtrain, "gensim": of_gensim}


class Measured(NamedTuple):
    """The scores of one row, by system and score, a value per seed, and the median of the CPU seconds."""

    scores: dict[str, dict[str, Rows]]
    seconds: dict[str, float]

    def error(self, name: str) -> float:
        """Return the standard error of the difference between the systems, paired by seed; NaN with one seed."""
        one, other = (scores[name] for scores in self.scores.values())
        return float(np.std(one - other, ddof=1) / len(one) ** 0.5) if len(one) > 1 else float("nan")


def measured(task: Task, change: dict[str, Settings], seeds: int) -> Measured:
    """Return the scores of each system with its change of the suggested settings. The systems take turns."""
    runs_of: dict[str, list[tuple[Scores, float]]] = {system: [] for system in SYSTEMS}
    for seed in range(1, seeds + 1):
        sentences = task.sentences(seed)
        for system, train in SYSTEMS.items():
            vectors = train(sentences, {**task.suggested, **change[system]}, seed)
            runs_of[system].append((task.judge(vectors), vectors.seconds))
    return Measured(
        {system: {name: np.array([scores[name] for scores, _ in runs]) for name in runs[0][0]}
         for system, runs in runs_of.items()},
        {system: statistics.median(seconds for _, seconds in runs) for system, runs in runs_of.items()},
    )  # fmt: skip


def options_of(settings: Settings) -> str:
    """Return settings as they are given to `fit`."""
    return " ".join(
        f"default `--{option(name)}`" if value is None else f"`--{option(name)} {value}`"
        for name, value in settings.items()
    )


def rows_of(task: Task) -> list[tuple[str, dict[str, Settings]]]:
    """Return the name of each row of the table, and the change of the suggested settings for each system."""
    same = [(options_of(change) or "suggested", dict.fromkeys(SYSTEMS, change)) for change in [{}, *task.changes]]
    return [*same, (f"at its best: {' / '.join(map(options_of, task.best.values()))}", task.best)]


def table(task: Task, rows: list[tuple[str, dict[str, Settings]]], seeds: int) -> None:
    """Print the scores and seconds of both systems, by setting, and the standard errors of the differences."""
    print(f"Suggested: {options_of(task.suggested)}\n")
    names, errors = [], dict[str, list[float]]()
    for place, (label, change) in enumerate(rows):
        warm = {**task.suggested, **change["w2vtrain"], "epochs": 1, "min_count": 1}
        of_w2vtrain(task.sentences(0)[:100], warm, 0)  # compiles
        measurement = measured(task, change, seeds)
        if place == 0:
            names = list(measurement.scores["w2vtrain"])
            print_head(names, task.without)
        for name in names:
            errors.setdefault(name, []).append(measurement.error(name))
        cells = [f"{measurement.scores[system][name].mean():.3f}" for name in names for system in SYSTEMS]
        cells += [f"{measurement.seconds[system]:.1f}" for system in SYSTEMS]
        print("|", " | ".join([label, *cells]), "|", flush=True)
    largest = ", ".join(f"{max(errors[name]):.3f} ({name})" for name in names)
    print(f"\nLargest standard error of a difference, {seeds} seeds: {largest}")


def print_head(names: list[str], without: Scores) -> None:
    """Print the names of the columns, and the row without vectors."""
    heads = [f"{name}: w2vtrain | gensim" for name in [*names, "CPU seconds"]]
    print("|", " | ".join(["settings", *heads]), "|\n|", " | ".join(["---"] * (1 + 2 * len(heads))), "|")
    print("| no vectors |", " | ".join(f"{without[n]:.3f} |" if n in without else " |" for n in names), "| | |")


def main(words: list[str] | None = None) -> None:
    """Print one table, or write the input of one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, help="print only this many rows; by default, all")
    parser.add_argument(
        "--grid", action="store_true", help="try learning rates and numbers of noise words, on data for validation"
    )
    parser.add_argument("--write", metavar="DIR", type=Path, help="write the input to this folder, and train nothing")
    parser.add_argument("--edges", help="graphs: file of edges; by default, links of similar digits")
    parser.add_argument("--links", action="store_true", help="graphs: compare scores of links instead")
    parser.add_argument("--labels", help="graphs: file of nodes and labels, for --edges")
    parser.add_argument("-p", type=float, default=1.0, help="graphs: node2vec's p")
    parser.add_argument("-q", type=float, default=1.0, help="graphs: node2vec's q")
    parser.add_argument("-k", type=int, default=3, help="kmers: letters per word")
    parser.add_argument("--proteins", action="store_true", help="kmers: of the proteins that the genes code")
    parser.add_argument("--step", type=int, default=3, help="kmers: letters from one word to the next")
    options = parser.parse_args(words)
    options.data = VALIDATION if options.grid else REPORTED
    task = TASKS[options.task](options)
    if options.write is None:
        grid = [(options_of(change), dict.fromkeys(SYSTEMS, change)) for change in GRID]
        table(task, (grid if options.grid else rows_of(task))[: options.rows], options.seeds)
        return
    options.write.mkdir(parents=True, exist_ok=True)
    for name, lines in task.files.items():
        (options.write / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        print(options.write / name)


if __name__ == "__main__":
    main()
