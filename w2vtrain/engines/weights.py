"""Matrices before they learn, their decay, and their parts afterwards. How they learn is the engines' business."""

import math
from typing import Any

import numpy as np
from numba import float32

from w2vtrain.architectures.contract import composes
from w2vtrain.engines.schedule import Weights
from w2vtrain.kernels.jit import inline
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.probability.problem import Problem

STRIPES = 16
"""A chunk decays every 16th row by 16 times as much: the same over 16 chunks, for a 16th of the memory traffic."""


def initial_input(problem: Problem, size: int) -> np.ndarray:
    """Input rows (size, padded width): as word2vec.c, uniform in ±1/(2 dim), or normal with deviation problem.init."""
    dim = problem.dim
    rows, rng = padded_rows(size, problem.width), np.random.default_rng(problem.seed)
    for first in range(0, size, 4096):
        block = rows[first : min(first + 4096, size), :dim]
        if problem.init:
            block[:] = rng.standard_normal(block.shape, np.float32) * np.float32(problem.init)
        else:
            block[:] = (rng.random(block.shape, np.float32) - np.float32(0.5)) / np.float32(dim)
    if problem.bias:
        rows[:, dim] = 1
    return rows


def initial_output(problem: Problem, rows: int, more: int, bias: np.ndarray | None = None) -> np.ndarray:
    """Output rows (rows + more, padded width): as problem.initial_rows, the last ones zeros."""
    padded = padded_rows(rows + more, problem.width)
    padded[:rows, : problem.width] = problem.initial_rows(rows, bias)
    return padded


def learned_weights(
    problem: Problem, architecture: Any, rows: np.ndarray, output: np.ndarray, arrays: dict[str, np.ndarray]
) -> Weights:
    """Return views of matrices (., padded width) by their parts: vectors, biases, what else was learned.

    If input rows are not the words' vectors themselves, they are among the arrays as "input_rows".
    """
    dim, parts = problem.dim, dict(arrays)
    own = vectors = rows[:, :dim]
    if composes(architecture):
        parts["input_rows"], vectors = own, architecture.vectors(own)
    if problem.bias:
        parts["bias"] = output[:, dim]
    parts |= {name: array[:, :dim] for name, array in architecture.learned().items()}
    return Weights(vectors, output[:, :dim], parts)


@inline
def decay(matrix, columns, chunk, chunks, step):
    """Rows of one stripe lose the share `step` of their first columns, and that of the chunks that pass them over."""
    stripes = min(STRIPES, chunks)
    turns = (chunks - chunk % stripes + stripes - 1) // stripes
    factor = float32(math.exp(-step * chunks / turns))
    for r in range(chunk % stripes, len(matrix), stripes):
        for c in range(columns):
            matrix[r, c] *= factor
