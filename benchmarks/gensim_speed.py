"""Measure Word2Vec and KeyedVectors beside gensim's, and print the tables of docs/gensim.md.

    python benchmarks/gensim_speed.py training enwiki30.txt
    python benchmarks/gensim_speed.py vectors --keys 1000000

Each figure is measured in a process of its own. Nothing else should run at the same time.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TRAINING = """
import json, resource, sys, time
system, kind, sg, hs, path, epochs, workers = sys.argv[1:8]
if system == "gensim":
    from gensim.models import Word2Vec
else:
    from w2vtrain import Word2Vec

class Lines:
    def __iter__(self):
        with open(path, encoding="utf-8") as file:
            for line in file:
                yield line.split()

options = dict(vector_size=200, sg=int(sg), hs=int(hs), negative=0 if int(hs) else 5, epochs=int(epochs))
options["workers"] = int(workers)
corpus = {"corpus_file": lambda: None, "list": lambda: list(Lines()), "iterable": Lines}[kind]()
if system == "w2vtrain":
    Word2Vec([["a", "b"]] * 100, min_count=1, **options)  # compiles, or loads the compiled kernels
started = time.monotonic()
model = Word2Vec(corpus, corpus_file=path if corpus is None else None, **options)
seconds = time.monotonic() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([seconds, peak]))
"""

VECTORS = """
import json, resource, sys, time
import numpy as np
system, operation, folder, size, width = *sys.argv[1:4], *map(int, sys.argv[4:6])
started = time.process_time()
if system == "gensim":
    from gensim.models import KeyedVectors, Word2Vec
else:
    from w2vtrain import KeyedVectors, Word2Vec
imported = time.process_time() - started
saved = folder + ("/gensim.kv" if system == "gensim" else "/w2vtrain.kv")

def timed(function, repeat=1):
    times = []
    for _ in range(repeat):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return min(times)

if operation == "import":
    print(json.dumps(imported))
elif operation == "make":
    vectors = KeyedVectors(width, count=0)
    rng = np.random.default_rng(1)
    words = ["w%d" % i for i in range(size)]
    vectors.add_vectors(words, rng.standard_normal((size, width), np.float32))
    vectors.save(saved)
    if system == "gensim":
        vectors.save_word2vec_format(folder + "/vectors.bin", binary=True)
    print(json.dumps(0))
elif operation == "binary":
    print(json.dumps(timed(lambda: KeyedVectors.load_word2vec_format(folder + "/vectors.bin", binary=True), 3)))
elif operation == "load":
    print(json.dumps(timed(lambda: KeyedVectors.load(saved), 3)))
elif operation == "mapped":
    print(json.dumps(timed(lambda: KeyedVectors.load(saved, mmap="r"), 3)))
else:
    vectors = KeyedVectors.load(saved)
    vectors.fill_norms()
    words = ["w%d" % i for i in range(1, size // 10, max(1, size // 1000))]
    if operation == "query":
        print(json.dumps(timed(lambda: vectors.most_similar("w7"), 5)))
    elif operation == "batch":
        many = getattr(vectors, "most_similar_batch", None)
        run = (lambda: many(words, topn=10)) if many else (lambda: [vectors.most_similar(word) for word in words])
        print(json.dumps(timed(run, 2) / len(words)))
    else:
        with open(folder + "/questions.txt", "w") as file:
            file.write(": section\\n")
            for i in range(min(1000, size // 4)):
                print(*("w%d" % (4 * i + j) for j in range(4)), file=file)
        print(json.dumps(timed(lambda: vectors.evaluate_word_analogies(folder + "/questions.txt"))))
"""


def measured(program: str, *arguments: object) -> Any:
    """Run a program in a new process, and return what it printed last as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def alternating(rounds: int, program: str, *arguments: object) -> dict[str, list[Any]]:
    """Return what a program prints for each system, which it gets as its first argument; the systems take turns."""
    runs: dict[str, list[Any]] = {"gensim": [], "w2vtrain": []}
    for _ in range(rounds):
        for system, own in runs.items():
            own.append(measured(program, system, *arguments))
    return runs


def training(corpus: str, epochs: int, workers: int, rounds: int) -> None:
    """Print the table of training: seconds, peak memory, and how many times as fast w2vtrain is."""
    print("| model | corpus | gensim | w2vtrain | ratio | memory: gensim | w2vtrain |\n|---|---|---|---|---|---|---|")
    for sg, hs in ((1, 0), (1, 1), (0, 0), (0, 1)):
        for kind in ("corpus_file", "list", "iterable"):
            runs = alternating(rounds, TRAINING, kind, sg, hs, corpus, epochs, workers)
            seconds = {system: statistics.median(run[0] for run in own) for system, own in runs.items()}
            peak = {system: max(run[1] for run in own) / (1 << 20) for system, own in runs.items()}
            name = f"{'skip-gram' if sg else 'CBOW'} {'hs' if hs else 'neg'}"
            print(
                f"| {name} | {kind} | {seconds['gensim']:.1f} s | {seconds['w2vtrain']:.1f} s |"
                f" {seconds['gensim'] / seconds['w2vtrain']:.1f} | {peak['gensim']:.0f} MiB |"
                f" {peak['w2vtrain']:.0f} MiB |",
                flush=True,
            )


def vectors(keys: int, dim: int, rounds: int, rows: list[str]) -> None:
    """Print the table of importing, loading and querying vectors: medians of CPU seconds of alternating processes."""
    names = {
        "import": "importing the class",
        "binary": "`load_word2vec_format`, binary",
        "load": "`load` of what `save` wrote",
        "mapped": '`load(mmap="r")`',
        "query": "`most_similar`, one query",
        "batch": "`most_similar`, per query of 100 (w2vtrain: `most_similar_batch`)",
        "analogies": "`evaluate_word_analogies`, 1,000 questions",
    }
    with tempfile.TemporaryDirectory() as folder:
        alternating(1, VECTORS, "make", folder, keys, dim)
        print(f"| {keys:,} x {dim} | gensim | w2vtrain | ratio |\n|---|---|---|---|")
        for row in rows or names:
            gensim, ours = map(statistics.median, alternating(rounds, VECTORS, row, folder, keys, dim).values())
            print(f"| {names[row]} | {gensim:.3f} s | {ours:.3f} s | {gensim / ours:.2f} |", flush=True)


def main() -> None:
    """Run one of the two measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    arguments = commands.add_parser("training")
    arguments.set_defaults(run=training)
    arguments.add_argument("corpus", type=lambda name: str(Path(name).resolve()))
    arguments.add_argument("--epochs", type=int, default=3)
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=1)
    arguments = commands.add_parser("vectors")
    arguments.set_defaults(run=vectors)
    arguments.add_argument("--keys", type=int, default=1_000_000)
    arguments.add_argument("--dim", type=int, default=300)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--rows", nargs="*", default=[], help="such as load and query; by default, all")
    options = vars(parser.parse_args())
    options.pop("run")(**options)


if __name__ == "__main__":
    main()
