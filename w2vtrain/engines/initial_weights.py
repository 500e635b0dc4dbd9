"""Create weight matrices. The engines train them."""

import numpy as np

from w2vtrain.kernels.rows import padded_rows
from w2vtrain.probability.problem import Problem


def initial_input(problem: Problem, size: int, more: int = 0) -> np.ndarray:
    """Return initial input rows, then `more` rows of zeros: (size + more, padded width) float32.

    The values of input rows are uniform in ±1/(2 dim), as in word2vec.c, or normal with standard deviation problem.init
    if that is not 0. If there are biases, column `dim` holds ones.
    """
    dim = problem.dim
    rows, rng = padded_rows(size + more, problem.width), np.random.default_rng(problem.seed)
    for first in range(0, size, 4096):
        block = rows[first : min(first + 4096, size), :dim]
        if problem.init:
            block[:] = rng.standard_normal(block.shape, np.float32) * np.float32(problem.init)
        else:
            block[:] = (rng.random(block.shape, np.float32) - np.float32(0.5)) / np.float32(dim)
    if problem.bias:
        rows[:size, dim] = 1
    return rows


def initial_output(problem: Problem, rows: int, more: int, bias: np.ndarray | None = None) -> np.ndarray:
    """Return initial output rows (rows + more, padded width): problem.initial_rows, then `more` rows of zeros."""
    padded = padded_rows(rows + more, problem.width)
    padded[:rows, : problem.width] = problem.initial_rows(rows, bias)
    return padded
