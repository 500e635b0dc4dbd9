"""Compare node vectors of w2vtrain with those of node2vec, fastnode2vec and PecanPy: speed, memory and accuracy.

    python benchmarks/graphs.py make sbm.edges sbm.labels --nodes 1000000 --edges 10000000
    python benchmarks/graphs.py run sbm.edges sbm.labels --systems w2vtrain,pecanpy --peers VENV/bin/python -p 0.5 -q 2

`make` writes a stochastic block model: nodes of 50 classes, and edges of which four fifths are inside of a class. `run`
lets each system read the edges, walk and train with the same settings in a process of its own. The systems take turns,
once per seed; w2vtrain goes first with a seed that is not counted, which compiles its kernels. The table has means over
the seeds, with the standard errors of scores: CPU seconds (user and system) of the whole process, times those of the
first system (the median of the ratios of each seed), steps per CPU second while walking, peak memory, micro-F1 of a
logistic regression that learns the labels of a tenth and of half of the nodes (on small graphs, the mean over ten
divisions), and the AUC of links: a tenth of the edges is held out, by the seed, and told from pairs without an edge by
cosines. The regression sees standardized columns, and cross-validation on the learned labels chooses its penalty: with
one penalty for all systems, F1 says most about the variances of their vectors. --peers names the Python in whose
environment the other systems are installed: `pip install node2vec fastnode2vec pecanpy`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HOW = ("p", "q", "threads", "dim", "window", "epochs", "length", "walks", "alpha", "walks_alone")
"""The options that the systems are given."""
COMMON = """
import json, re, resource, sys
edges, vectors, how = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
def seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
def done(write, walked=None, steps=None, uncounted=0.0):
    write()
    with open("/proc/self/status") as status:  # ru_maxrss has the memory of the process that this one was forked from
        peak = int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1])
    print(json.dumps({"seconds": seconds() - uncounted, "walking": walked, "steps": steps, "peak": peak * 1024}))
def train(walks):
    from gensim.models import Word2Vec
    return Word2Vec(walks, vector_size=how["dim"], window=how["window"], sg=1, negative=5, sample=0, min_count=0,
        epochs=how["epochs"], workers=how["threads"], alpha=how["alpha"], seed=how["seed"])
"""
PROGRAMS = {
    "w2vtrain": """
import w2vtrain
walks = w2vtrain.Walks(edges, walk_length=how["length"], walks=how["walks"], p=how["p"], q=how["q"],
    threads=how["threads"])
arcs = walks.graph.arcs
print(sum(array.nbytes for array in arcs[:3]), "bytes of memory for the edges", file=sys.stderr)
begun, steps = seconds(), 0
for block in walks.read() if how["walks_alone"] else ():
    steps += block.count(b" ") + block.count(b"\\n")
walked = seconds() - begun
model = w2vtrain.train(walks, vector_size=how["dim"], window=how["window"], sample=0, epochs=how["epochs"],
    threads=how["threads"], alpha=how["alpha"], seed=how["seed"])
done(lambda: w2vtrain.write_vectors(vectors, model.words, model.input, force=True), walked, steps, walked)
""",
    "pecanpy": """
import numpy
from pecanpy import pecanpy
numpy.random.seed(how["seed"])
Kind = pecanpy.FirstOrderUnweighted if how["p"] == how["q"] == 1 else pecanpy.SparseOTF
graph = Kind(p=how["p"], q=how["q"], workers=how["threads"], verbose=False)
graph.read_edg(edges, weighted=False, directed=False)
graph.simulate_walks(num_walks=1, walk_length=2)  # compiles
begun = seconds()
walks = graph.simulate_walks(num_walks=how["walks"], walk_length=how["length"] - 1)
walked, steps = seconds() - begun, sum(map(len, walks))
model = train(walks)
done(lambda: model.wv.save_word2vec_format(vectors), walked, steps)
""",
    "fastnode2vec": """
from fastnode2vec import Graph, Node2Vec
graph = Graph([line.split()[:2] for line in open(edges)], directed=False, weighted=False)
model = Node2Vec(graph, dim=how["dim"], walk_length=how["length"], window=how["window"], p=how["p"], q=how["q"],
    workers=how["threads"], negative=5, sample=0, alpha=how["alpha"])
model.train(epochs=how["walks"] * how["epochs"], verbose=False)
done(lambda: model.wv.save_word2vec_format(vectors))
""",
    "node2vec": """
import networkx
from node2vec import Node2Vec
graph = networkx.read_edgelist(edges, data=False)
begun = seconds()
model = Node2Vec(graph, dimensions=how["dim"], walk_length=how["length"], num_walks=how["walks"], p=how["p"],
    q=how["q"], workers=how["threads"], quiet=True, seed=how["seed"])
walked, steps = seconds() - begun, sum(map(len, model.walks))
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


def judge(path: str, labels: dict[str, str], held: list[tuple[str, str]], seed: int) -> dict[str, float]:
    """Return micro-F1 by the share of labels that are learned, and the AUC of held-out links."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score, roc_auc_score
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    (words, rows), rng, scores = read(path), np.random.default_rng(seed), {}
    known = sorted(word for word in words if word in labels)
    for share in (0.1, 0.5):
        found = []
        for _ in range(10 if len(known) < 10_000 else 1):
            some = rng.permutation(known)[:20_000]
            X, y, n = rows[[words[word] for word in some]], np.array([labels[w] for w in some]), int(share * len(some))
            regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
            penalties = {"logisticregression__C": [0.001, 0.01, 0.1, 1.0]}
            learned = GridSearchCV(regression, penalties, cv=3).fit(X[:n], y[:n])
            found.append(f1_score(y[n:], learned.predict(X[n:]), average="micro"))
        scores[f"F1 {share:.0%}"] = float(np.mean(found))
    ends = np.array([(words[a], words[b]) for a, b in held if a in words and b in words])
    others = rng.integers(0, len(rows), ends.shape)
    cosines = np.concatenate([(rows[pairs[:, 0]] * rows[pairs[:, 1]]).sum(1) for pairs in (ends, others)])
    scores["link AUC"] = float(roc_auc_score(np.arange(len(cosines)) < len(ends), cosines))
    return scores


def run(options: argparse.Namespace) -> None:
    """Run each system once per seed, and print a table."""
    links, labels, systems = pairs_of(options.file), dict(pairs_of(options.labels)), options.systems.split(",")
    measured: dict[str, list[dict[str, float]]] = {system: [] for system in systems}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in (0, *range(options.first_seed, options.first_seed + options.seeds)):
            order = np.random.default_rng(seed).permutation(len(links))
            held = [links[i] for i in order[: min(len(links) // 10, 100_000)]]
            kept = "".join(f"{links[i][0]}\t{links[i][1]}\n" for i in np.sort(order[len(held) :]))
            Path(folder, "kept.edges").write_text(kept if seed else kept[: kept.index("\n") + 1], encoding="utf-8")
            for system in systems if seed else set(systems) & {"w2vtrain"}:
                took = {} if system in failed else carry_out(system, options, folder, seed)
                if "failed" in took:
                    failed[system] = took["failed"]
                elif took and seed:
                    measured[system].append(took | judge(str(Path(folder, "vectors.txt")), labels, held, seed))
                    print(json.dumps({"system": system, "seed": seed, **measured[system][-1]}), file=sys.stderr)
    print("| system | CPU seconds | times | million steps/s | peak GB | F1 10% | F1 50% | link AUC |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    first = [took["seconds"] for took in measured[systems[0]]]
    for system, runs in measured.items():
        if system in failed:
            print(f"| {system} | {failed[system]} |")
            continue
        ratio = np.median([took["seconds"] / least for took, least in zip(runs, first, strict=True)])
        speed = f"{np.mean([took['steps'] / took['walking'] / 1e6 for took in runs]):.2f}" if runs[0]["steps"] else ""
        seconds, peak = (np.mean([took[name] for took in runs]) for name in ("seconds", "peak"))
        scores = " | ".join(shown([took[name] for took in runs]) for name in ("F1 10%", "F1 50%", "link AUC"))
        print(f"| {system} | {seconds:.1f} | {ratio:.1f} | {speed} | {peak / 1e9:.2f} | {scores} |")


def carry_out(system: str, options: argparse.Namespace, folder: str, seed: int) -> dict[str, Any]:
    """Return what a run of a system took, and leave its vectors in the folder; or under "failed", why it has none."""
    how = {name: getattr(options, name) for name in HOW} | {"seed": seed}
    files = [str(Path(folder, name)) for name in ("kept.edges", "vectors.txt")]
    words = [options.peers if system != "w2vtrain" else sys.executable, "-c", COMMON + PROGRAMS[system], *files]
    environment = dict(os.environ) if system == "w2vtrain" else {**os.environ, "PYTHONPATH": ""}
    try:
        done = subprocess.run(
            [*words, json.dumps(how)], env=environment, stdout=subprocess.PIPE, text=True, check=True,
            timeout=options.timeout,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {options.timeout}"}
    except subprocess.CalledProcessError as error:
        return {"failed": f"exit code {error.returncode}"}
    took: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return took


def shown(scores: list[float]) -> str:
    """Return a mean, with its standard error if there are several scores."""
    error = f" ± {np.std(scores, ddof=1) / len(scores) ** 0.5:.3f}" if len(scores) > 1 else ""
    return f"{np.mean(scores):.3f}{error}"


def main() -> None:
    """Make a graph, or run the systems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["make", "run"])
    parser.add_argument("file", help="file of edges")
    parser.add_argument("labels", help="file of nodes and labels")
    for name, default in (("nodes", 1_000_000), ("edges", 10_000_000), ("threads", 2), ("dim", 128), ("window", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in (("epochs", 1), ("length", 80), ("walks", 10), ("timeout", 3600), ("seeds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--first-seed", type=int, default=1, help="such as 6 to choose settings on other seeds")
    parser.add_argument("--alpha", type=float, default=0.025)
    parser.add_argument("-p", type=float, default=1.0)
    parser.add_argument("-q", type=float, default=1.0)
    parser.add_argument("--systems", default=",".join(PROGRAMS))
    parser.add_argument("--peers", default=sys.executable, help="the Python of the other systems")
    parser.add_argument("--walks-alone", action="store_true", help="also time w2vtrain's walks without training")
    options = parser.parse_args()
    {"make": make, "run": run}[options.task](options)


if __name__ == "__main__":
    main()
