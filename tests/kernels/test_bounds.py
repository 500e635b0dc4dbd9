"""Small training runs with bounds checks in every kernel, in a separate process with its own cached machine code.

The loops that are written with LLVM vectors (rows.py, tiles.py, logits.py) use raw pointers,
which have no bounds. In these loops every row number is checked (llvm.check_bounds). Columns are not, nor are
arrays of row numbers, which are read beyond the end on purpose.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from w2vtrain.objectives import objectives

ROOT = Path(__file__).parents[2]
CHECKED = """
import sys
import numpy as np
import w2vtrain
from w2vtrain.kernels import jit
from w2vtrain.training.perplexity import perplexity
from w2vtrain.kernels.rows import add_to_rows, padded_rows

@jit.kernel()
def behind(array):
    return array[len(array)]

@jit.kernel()
def add_behind(matrix, ids, n):
    add_to_rows(matrix, ids, n, matrix, np.float32(1))

matrix = padded_rows(3, 16)
add_behind(matrix, np.array([2], np.int32), 1)
rows = [np.array(i, np.int32) for i in ([3], [-1], [0])]
for wrong in [(behind, np.zeros(3)), *[(add_behind, matrix, ids, n) for ids, n in zip(rows, (1, 1, 2))]]:
    try:
        wrong[0](*wrong[1:])
    except IndexError:
        continue
    sys.exit(f"not checked: {wrong}")
text, objective = sys.argv[1:3]
common = {"objective": objective, "epochs": 1, "vector_size": 9, "window": 3, "min_count": 2, "sample": 0.01}
for more in map(eval, sys.argv[3:]):
    model = w2vtrain.train(text, heldout=text, threads=2, **common, **more)
    assert model.record["epochs"][0]["examples"] > 1000
    score = perplexity(model, [text])[0]
    assert score.examples > 1000
"""
SMALL = [{}, {"model": "cbow"}]
LARGE = [
    {"architecture": "cbow-corrected", "max_sentence": 5, "shuffle": False},
    {"architecture": "vlbl", "context": "left", "sentence_end": True, "bias": True},
    {"bias": True, "weight_decay": 1e-6, "sentence_end": True, "context": "right"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the first 30,000 characters of the demo corpus."""
    path = tmp_path_factory.mktemp("bounds")
    (path / "text.txt").write_text(
        (ROOT / "data/simplewiki.txt").read_text(encoding="utf-8")[:30_000], encoding="utf-8"
    )
    return path


def check(folder, objective, settings):
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    words = [sys.executable, "-c", CHECKED, str(folder / "text.txt"), objective, *map(repr, settings)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("objective", "settings"), [("neg", SMALL[0]), pytest.param("hs", SMALL[1], marks=pytest.mark.slow)]
)
def test_no_kernel_reads_or_writes_out_of_bounds(folder, objective, settings):
    """Check one pair of objective and model; slow tests check all pairs, whose kernels take 30 s to compile."""
    check(folder, objective, [settings])


@pytest.mark.slow
@pytest.mark.parametrize("objective", sorted(objectives()))
def test_no_kernel_of_any_objective_reads_or_writes_out_of_bounds(folder, objective):
    check(folder, objective, [*SMALL, *LARGE])
