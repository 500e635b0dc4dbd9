"""Small trainings with bounds checks in every kernel, in a process and with a cache of their own.

What the checks do not reach: the loops over rows that are written with LLVM's vectors (llvm.py, rows.py, tiles.py,
simd.py) take pointers, which have no bounds. The row that such a pointer begins at is computed in Python from an index
that other, checked arrays hold; its width is the padded width that rows.py makes.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from w2vtrain.objectives import objectives

ROOT = Path(__file__).parent.parent
CHECKED = """
import sys
import numpy as np
import w2vtrain
from w2vtrain import jit, pipeline

@jit.kernel()
def behind(array):
    return array[len(array)]

try:
    behind(np.zeros(3))
    sys.exit("kernels are not checked")
except IndexError:
    pass
text, objective = sys.argv[1:3]
common = {"objective": objective, "epochs": 1, "vector_size": 9, "window": 3, "min_count": 2, "sample": 0.01}
for more in map(eval, sys.argv[3:]):
    model = w2vtrain.train(text, heldout=text, threads=2, **common, **more)
    assert model.record["epochs"][0]["examples"] > 1000
    score, _ = pipeline.perplexity(model, [text])
    assert score.examples > 1000
"""
SMALL = [{}, {"model": "cbow"}]
LARGE = [
    {"model": "cbow", "cbow_gradient": "corrected", "max_sentence": 5, "shuffle": False},
    {"model": "cbow", "context_weights": True, "context": "left", "sentence_end": True, "bias": True},
    {"bias": True, "weight_decay": 1e-6, "sentence_end": True, "context": "right"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Text, and the cache of machine code that the tests share."""
    path = tmp_path_factory.mktemp("bounds")
    (path / "text.txt").write_text(
        (ROOT / "data/simplewiki.txt").read_text(encoding="utf-8")[:30_000], encoding="utf-8"
    )
    return path


def check(folder, objective, settings):
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder / "cache")}
    words = [sys.executable, "-c", CHECKED, str(folder / "text.txt"), objective, *map(repr, settings)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("objective", ["neg", "hs"])
def test_no_kernel_reads_or_writes_out_of_bounds(folder, objective):
    check(folder, objective, SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("objective", sorted(objectives()))
def test_no_kernel_of_any_objective_reads_or_writes_out_of_bounds(folder, objective):
    check(folder, objective, [*SMALL, *LARGE])
