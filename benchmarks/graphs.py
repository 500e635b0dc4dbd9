"""Compare node vectors of w2vtrain with those of node2vec, fastnode2vec and PecanPy: speed, memory and accuracy.

    python benchmarks/graphs.py make sbm.edges sbm.labels --nodes 1000000 --edges 10000000
    python benchmarks/graphs.py run sbm.edges sbm.labels --systems w2vtrain,pecanpy --peers VENV/bin/python -p 0.5 -q 2

`make` writes a stochastic block model: nodes of 50 classes, and edges of which four fifths are inside of a class. `run`
lets each system read the edges, walk and train with the same settings in a process of its own, and prints seconds, peak
memory, micro-F1 of a logistic regression that learns the labels of a tenth and of half of the nodes (on small graphs,
the mean over ten divisions), and the AUC of links: a tenth of the edges is held out, and told from pairs without an
edge by cosines. --peers names the Python in whose environment the other systems are installed: `pip install node2vec
fastnode2vec pecanpy`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

COMMON = """
import json, resource, sys, time
edges, vectors, how = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
started = time.time()
def done(write, walked=None, steps=None):
    seconds = time.time() - started
    write()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "walking": walked, "steps": steps, "peak": peak * 1024}))
def train(walks):
    from gensim.models import Word2Vec
    return Word2Vec(walks, vector_size=how["dim"], window=how["window"], sg=1, negative=5, sample=0, min_count=0,
        epochs=how["epochs"], workers=how["threads"], alpha=0.025, seed=1)
"""
PROGRAMS = {
    "w2vtrain": """
import w2vtrain
walks = w2vtrain.Walks(edges, walk_length=how["length"], walks=how["walks"], p=how["p"], q=how["q"],
    threads=how["threads"])
walks.graph
begun, steps = time.time(), 0
for block in walks.read() if how["walks_alone"] else ():
    steps += block.count(b" ") + block.count(b"\\n")
walked = time.time() - begun
started += walked
model = w2vtrain.train(walks, vector_size=how["dim"], window=how["window"], sample=0, epochs=how["epochs"],
    threads=how["threads"], alpha=0.025)
done(lambda: w2vtrain.write_vectors(vectors, model.words, model.input, force=True), walked if steps else None, steps)
""",
    "pecanpy": """
from pecanpy import pecanpy
Kind = pecanpy.FirstOrderUnweighted if how["p"] == how["q"] == 1 else pecanpy.SparseOTF
graph = Kind(p=how["p"], q=how["q"], workers=how["threads"], verbose=False)
graph.read_edg(edges, weighted=False, directed=False)
begun = time.time()
walks = graph.simulate_walks(num_walks=how["walks"], walk_length=how["length"] - 1)
walked, steps = time.time() - begun, sum(map(len, walks))
model = train(walks)
done(lambda: model.wv.save_word2vec_format(vectors), walked, steps)
""",
    "fastnode2vec": """
from fastnode2vec import Graph, Node2Vec
pairs = (line.split() for line in open(edges))
graph = Graph([(a, b) for a, b, *_ in pairs], directed=False, weighted=False)
model = Node2Vec(graph, dim=how["dim"], walk_length=how["length"], window=how["window"], p=how["p"], q=how["q"],
    workers=how["threads"], negative=5, sample=0, alpha=0.025)
model.train(epochs=how["walks"] * how["epochs"], progress_bar=False)
done(lambda: model.wv.save_word2vec_format(vectors))
""",
    "node2vec": """
import networkx
from node2vec import Node2Vec
graph = networkx.read_edgelist(edges, data=False)
begun = time.time()
model = Node2Vec(graph, dimensions=how["dim"], walk_length=how["length"], num_walks=how["walks"], p=how["p"],
    q=how["q"], workers=how["threads"], quiet=True)
walked, steps = time.time() - begun, sum(map(len, model.walks))
model = train(model.walks)
done(lambda: model.wv.save_word2vec_format(vectors), walked, steps)
""",
}


def make(options: argparse.Namespace) -> None:
    """Write the edges of a stochastic block model, and the class of each node."""
    rng, N, classes = np.random.default_rng(1), options.nodes, 50
    labels = rng.integers(0, classes, N)
    order = np.argsort(labels, kind="stable")
    first = np.searchsorted(labels[order], np.arange(classes + 1))
    sources = rng.integers(0, N, options.edges * 21 // 20)
    size = np.diff(first)[labels[sources]]
    inside = order[first[labels[sources]] + (rng.random(len(sources)) * size).astype(np.int64)]
    targets = np.where(rng.random(len(sources)) < 0.8, inside, rng.integers(0, N, len(sources)))
    pairs = np.unique(np.minimum(sources, targets) * N + np.maximum(sources, targets))
    pairs = rng.permutation(pairs[pairs // N != pairs % N])[: options.edges]
    np.savetxt(options.file, np.stack(np.divmod(pairs, N), 1), "%d", "\t")
    np.savetxt(options.labels, np.stack([np.arange(N), labels], 1), "%d", "\t")


def pairs_of(path: str) -> list[tuple[str, str]]:
    """Return the first two fields of each line of a file."""
    lines = Path(path).read_text(encoding="utf-8").replace(",", " ").splitlines()
    return [(fields[0], fields[1]) for fields in map(str.split, lines)]


def read(path: str) -> tuple[dict[str, int], np.ndarray]:
    """Return the row of each word, and the vectors, of length 1."""
    with Path(path).open(encoding="utf-8") as file:
        count, dim = map(int, file.readline().split())
        rows, words = np.empty((count, dim), np.float32), dict[str, int]()
        for i, line in enumerate(file):
            word, *values = line.split(" ")
            words[word], rows[i] = i, np.array(values, np.float32)
    return words, rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def judge(path: str, labels: dict[str, str], held: list[tuple[str, str]]) -> dict[str, float]:
    """Return micro-F1 by the share of labels that are learned, and the AUC of held-out links."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score, roc_auc_score

    (words, rows), rng, scores = read(path), np.random.default_rng(1), {}
    known = [word for word in words if word in labels]
    for share in (0.1, 0.5):
        found = []
        for _ in range(10 if len(known) < 10_000 else 1):
            some = rng.permutation(known)[:20_000]
            X, y, n = rows[[words[word] for word in some]], np.array([labels[w] for w in some]), int(share * len(some))
            learned = LogisticRegression(max_iter=500, C=10).fit(X[:n], y[:n])
            found.append(f1_score(y[n:], learned.predict(X[n:]), average="micro"))
        scores[f"F1 {share:.0%}"] = float(np.mean(found))
    ends = np.array([(words[a], words[b]) for a, b in held if a in words and b in words])
    others = rng.integers(0, len(rows), ends.shape)
    cosines = np.concatenate([(rows[pairs[:, 0]] * rows[pairs[:, 1]]).sum(1) for pairs in (ends, others)])
    scores["link AUC"] = float(roc_auc_score(np.arange(len(cosines)) < len(ends), cosines))
    return scores


def run(options: argparse.Namespace) -> None:
    """Run each system, and print a table."""
    rng = np.random.default_rng(2)
    links = pairs_of(options.file)
    order = rng.permutation(len(links))
    held = [links[i] for i in order[: min(len(links) // 10, 100_000)]]
    how = {name: getattr(options, name) for name in ("p", "q", "threads", "dim", "window", "epochs", "length", "walks")}
    print("| system | seconds | million steps/s of the walks | peak GB | F1 10% | F1 50% | link AUC |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "kept.edges")
        kept.write_text("".join(f"{links[i][0]}\t{links[i][1]}\n" for i in np.sort(order[len(held) :])))
        for system in options.systems.split(","):
            program = sys.executable if system == "w2vtrain" else options.peers
            vectors, more = str(Path(folder, f"{system}.txt")), json.dumps({**how, "walks_alone": options.walks_alone})
            code = COMMON + PROGRAMS[system]
            words = [program, "-c", code, str(kept), vectors, more]
            environment = dict(os.environ) if system == "w2vtrain" else {**os.environ, "PYTHONPATH": ""}
            try:
                done = subprocess.run(
                    words, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=options.timeout
                )
            except subprocess.TimeoutExpired:
                print(f"| {system} | more than {options.timeout} |", flush=True)
                continue
            except subprocess.CalledProcessError as error:
                print(f"| {system} | failed: exit code {error.returncode} |", flush=True)
                continue
            took = json.loads(done.stdout.splitlines()[-1])
            scores = judge(vectors, dict(pairs_of(options.labels)), held)
            speed = f"{took['steps'] / took['walking'] / 1e6:.2f}" if took["walking"] else ""
            shown = " | ".join(f"{score:.3f}" for score in scores.values())
            print(f"| {system} | {took['seconds']:.1f} | {speed} | {took['peak'] / 1e9:.2f} | {shown} |", flush=True)


def main() -> None:
    """Make a graph, or run the systems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["make", "run"])
    parser.add_argument("file", help="file of edges")
    parser.add_argument("labels", help="file of nodes and labels")
    for name, default in (("nodes", 1_000_000), ("edges", 10_000_000), ("threads", 2), ("dim", 128), ("window", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in (("epochs", 1), ("length", 80), ("walks", 10), ("timeout", 3600)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("-p", type=float, default=1.0)
    parser.add_argument("-q", type=float, default=1.0)
    parser.add_argument("--systems", default=",".join(PROGRAMS))
    parser.add_argument("--peers", default=sys.executable, help="the Python of the other systems")
    parser.add_argument("--walks-alone", action="store_true", help="also time w2vtrain's walks without training")
    options = parser.parse_args()
    {"make": make, "run": run}[options.task](options)


if __name__ == "__main__":
    main()
