"""Checks that every architecture must pass: it compiles, and its gradients match finite differences.

The checks use an architecture only through the interface in architectures/contract.py. They do not measure the quality
of its vectors.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from w2vtrain.architectures import allow_code, build
from w2vtrain.architectures.contract import Layout
from w2vtrain.leaves.compare.objective_checks import compiles
from w2vtrain.leaves.compare.objective_steps import Finding, all_hold, slope
from w2vtrain.objectives.contract import Window

NAMES, DIM, PADDING, WINDOW = ["the", "of", "and", "in", "to", "a", "was", "is", "for"], 6, 10, 3
CONTEXT = np.array([4, 1, 7, 4, 2], np.int32)
LEFT = 2
"""The window of the checks: its context words, one of them twice, and how many of them precede the target word."""
DISTINCT = np.array([4, 1, 7, 0, 2], np.int32)
"""A window of different words, for the check that updates use old values: a repeated word may see its first update."""
TAG = 8
"""Follows the words if windows are full, for architectures that concatenate rows."""


def check_architecture(name: str) -> list[Finding]:
    """Check that an architecture does what every architecture must do, as `w2vtrain architectures check` does.

    It must compile, return one vector per word, and update its arrays along the negative gradient and from their old
    values. All of this is checked without and with biases, which takes seconds, and longer if kernels have to be
    compiled.

    Parameters
    ----------
    name : str
        A name, or a file or module of your own, whose code is run.

    Returns
    -------
    list
        The result of each check: ``claim`` says what was checked, ``figure`` is what was measured, and ``holds`` is
        True.

    Raises
    ------
    BelowThreshold
        If a check fails. All checks run first; the message has the claim and the figure of each one that failed.
    ConfigError
        If there is no such architecture, if it lacks a method, or if Numba cannot compile it.

    Examples
    --------
    >>> import w2vtrain
    >>> findings = w2vtrain.check_architecture("skipgram")
    >>> findings[0].claim
    'compiles with skipgram and neg, without biases'

    """
    allow_code(name)
    return all_hold(name, lambda bias: findings(name, bias))


def findings(name: str, bias: bool = False) -> Iterator[Finding]:
    """Check an architecture on one window.

    name: a registered name, a file or a module. Raise ConfigError if there is no such architecture, if it breaks the
    contract, or if Numba cannot compile it.
    """
    architecture = build(name, Layout(WINDOW, DIM, DIM + bias, NAMES), {})
    for objective in ("neg", "softmax"):
        yield compiles(name, objective, bias)
    rng = np.random.default_rng(5)
    learned = {key: array.astype(np.float64) for key, array in architecture.learned().items()}
    for array in learned.values():
        array[:, :DIM] += 0.3 * rng.normal(size=(len(array), DIM))
    architecture, parts = architecture._replace(**learned), architecture.concatenated(WINDOW)
    rows = np.zeros((architecture.input_rows(len(NAMES)), DIM + PADDING))
    rows[:, :DIM] = rng.normal(size=(len(rows), DIM))
    shape = np.shape(architecture.vectors(rows[:, :DIM]))
    yield Finding("vectors returns one vector per word", shape == (len(NAMES), DIM), " x ".join(map(str, shape)))
    arrays, by_claim = {"rows": rows, **learned}, {}  # type: dict[str, np.ndarray], dict[str, Finding]
    for example in range(len(CONTEXT) if architecture.pairs() else 1):
        of_example = _check_example(architecture, arrays, _window(CONTEXT, parts), example, parts * DIM)
        old_values = _check_old_values(architecture, arrays, _window(DISTINCT, parts), example, parts * DIM)
        for finding in (*of_example, old_values):
            if by_claim.setdefault(finding.claim, finding).holds:
                by_claim[finding.claim] = finding
    yield from by_claim.values()


def _window(context: np.ndarray, parts: int) -> Window:
    """Return the window of some context words; if rows are concatenated, with a missing word and a tag."""
    if parts == 1:
        return Window(context, len(context), LEFT)
    entries = np.array([-1, *context, TAG], np.int32)
    return Window(entries, len(entries), WINDOW)


def _check_example(
    architecture: Any, arrays: dict[str, np.ndarray], window: Window, example: int, width: int
) -> Iterator[Finding]:
    """Check the hidden vector of one example, of `width` columns, and the update of each array by a gradient."""
    rows, gradient = arrays["rows"], np.zeros((1, width + PADDING))
    gradient[0, :width] = np.random.default_rng(example).normal(size=width)

    def hidden() -> np.ndarray:
        written = np.full_like(gradient, np.nan)
        architecture.forward(rows, window, example, written)
        return written

    def product() -> float:
        return float((gradient * hidden())[0, :width].sum())

    if architecture.in_place():
        same = bool((hidden()[0, :DIM] == rows[window.context[example], :DIM]).all())
        yield Finding("the hidden vector is the row of its context word", same, f"word {window.context[example]}")
    yield Finding("the hidden vector is finite", bool(np.isfinite(hidden()[0, :width]).all()), f"{width} columns")
    cells = {key: np.arange(array.size).reshape(array.shape)[:, :DIM].reshape(-1) for key, array in arrays.items()}
    slopes = {key: slope(product, array, cells[key]) for key, array in arrays.items()}
    before, step = {key: array.copy() for key, array in arrays.items()}, 1e-4
    architecture.backward(rows, window, example, gradient, step)
    for key, array in arrays.items():
        change = (array - before[key]) / step
        claim = f"the update of {key} follows the negative gradient"
        yield _proportional(claim, change[:, :DIM].reshape(-1), slopes[key])
        outside = change[:, DIM:]
        yield Finding(f"padding of {key} stays zero", not outside.any(), f"{outside.size} elements")
        array[...] = before[key]


def _check_old_values(
    architecture: Any, arrays: dict[str, np.ndarray], window: Window, example: int, width: int
) -> Finding:
    """Check that each array learns from the values that the others had before: then a change is linear in the step."""
    gradient, changes = np.random.default_rng(example).normal(size=(1, width + PADDING)), []
    gradient[:, width:] = 0
    before = {key: array.copy() for key, array in arrays.items()}
    for step in (1.0, 1e-3):
        architecture.backward(arrays["rows"], window, example, gradient, step)
        changes.append(np.concatenate([((arrays[key] - before[key]) / step).reshape(-1) for key in arrays]))
        for key, array in arrays.items():
            array[...] = before[key]
    off = float(np.abs(changes[0] - changes[1]).max()) / max(1e-3, float(np.abs(changes[1]).max()))
    return Finding("updates use the old values of all arrays", off < 1e-6, f"off by {off:.1e} in a large step")


def _proportional(claim: str, change: np.ndarray, slopes: np.ndarray) -> Finding:
    """Check that a change is a positive multiple of the expected one, since updates may be scaled, as in word2vec.c."""
    expected = float(slopes @ slopes)
    if expected == 0:
        return Finding(claim, not change.any(), "the gradient is zero")
    factor = float(change @ slopes) / expected
    off = float(np.abs(change - factor * slopes).max()) / max(1e-3, float(np.abs(slopes).max()))
    return Finding(claim, factor > 0 and off < 1e-2, f"factor {factor:.3g}, off by {off:.1e}")
