"""Create weight matrices, and split them into named parts. The engines train them."""

from collections.abc import Container, Iterator
from typing import Any

import numpy as np

from w2vtrain.architectures.contract import composes
from w2vtrain.engines.contract import Array, Role, Weights
from w2vtrain.formats.model_file import INPUT_ROWS, NGRAM_BUCKETS
from w2vtrain.formats.subwords import Subwords
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


def others(objective: Any, learned: Container[str], role: Role) -> Iterator[Array]:
    """Yield the arrays of an objective that it does not learn. role: of those that are not its structure."""
    structure = objective.structure()
    for name, array in objective.arrays().items():
        if name not in learned:
            yield Array(name, Role.STRUCTURE if name in structure else role, array)


def learned_weights(
    problem: Problem, architecture: Any, rows: np.ndarray, output: np.ndarray, arrays: dict[str, np.ndarray],
    subwords: Subwords | None = None,
) -> Weights:  # fmt: skip
    """Return the parts of the matrices (rows, padded width) as views: vectors, biases, and other learned arrays.

    arrays: those of the objective, which are included. If the input rows are not the word vectors themselves, the word
    vectors are computed, and the rows are included as "input_rows", with the buckets of n-grams as "ngram_buckets".
    """
    dim, parts = problem.dim, dict(arrays)
    own = vectors = rows[:, :dim]
    if subwords or composes(architecture):
        parts[INPUT_ROWS], vectors = own, (subwords or architecture).vectors(own)
    if subwords:
        parts[NGRAM_BUCKETS] = subwords.buckets
    if problem.bias:
        parts["bias"] = output[:, dim]
    parts |= {name: array[:, :dim] for name, array in architecture.learned().items()}
    return Weights(vectors, output[:, :dim], parts)
