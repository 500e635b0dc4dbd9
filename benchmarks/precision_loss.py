"""Measure what float16 and int8 lose: `python benchmarks/precision_loss.py VECTORS --questions FILE --pairs FILE`.

For each dtype, the vectors are written to a .npz file and read back. Printed are the size of the file, the mean cosine
with the float32 vectors, the share of the 10 nearest neighbors of the first 10,000 words that are the same, and the
scores of analogies and word pairs.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from w2vtrain import read_vectors, write_vectors
from w2vtrain.evaluation.measure import evaluate
from w2vtrain.formats.precision import mean_cosine
from w2vtrain.formats.vector_formats import DTYPES

NEIGHBORS, MAX_QUERIES = 10, 10_000


def neighbors(matrix: NDArray[np.float32], queries: int) -> NDArray[np.int64]:
    """Return the NEIGHBORS nearest rows of each of the first rows, (queries, NEIGHBORS), without themselves."""
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True).clip(1e-30)
    nearest = []
    for start in range(0, queries, 500):
        scores = unit[start : min(start + 500, queries)] @ unit.T
        scores[np.arange(len(scores)), start + np.arange(len(scores))] = -np.inf
        nearest.append(np.argpartition(-scores, NEIGHBORS, axis=1)[:, :NEIGHBORS])
    return np.concatenate(nearest)


def main() -> None:
    """Print a row per dtype."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vectors")
    parser.add_argument("--questions", required=True)
    parser.add_argument("--pairs", required=True)
    given = parser.parse_args()
    exact = read_vectors(given.vectors)
    queries = min(MAX_QUERIES, len(exact.words))
    near = neighbors(exact.matrix, queries)
    print("dtype     bytes        cosine    same neighbors  analogies  pairs")
    for dtype in DTYPES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "v.npz")
            write_vectors(path, exact.words, exact.matrix, dtype=dtype)
            size, kept = path.stat().st_size, read_vectors(path)
        both = zip(near, neighbors(kept.matrix, queries), strict=True)
        same = np.mean([len(np.intersect1d(one, other)) / NEIGHBORS for one, other in both])
        analogies, _, pairs = evaluate(kept, given.questions, [given.pairs]).values()
        cosine = mean_cosine(exact.matrix, dtype)
        print(f"{dtype:8}  {size:11,}  {cosine:.6f}  {same:14.4f}  {analogies:9.4f}  {pairs:.4f}", flush=True)


if __name__ == "__main__":
    main()
