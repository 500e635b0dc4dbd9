"""Checks that every objective must pass: it compiles, its gradients match its loss, and it learns a known language.

The checks use an objective only through the interface in objectives/contract.py. They measure neither its speed nor the
quality of its vectors.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from w2vtrain.architectures import build as build_architecture
from w2vtrain.architectures.contract import Layout
from w2vtrain.engines.schedule import Schedule, Text
from w2vtrain.engines.step import Windows
from w2vtrain.errors import Diverged
from w2vtrain.evaluation.known_language import WORDS, distance, language, learned
from w2vtrain.objectives import build, engine_of, objective_class, option_defaults
from w2vtrain.objectives.contract import SCORER, Candidates, Contexts, Window
from w2vtrain.probability.dense import Workspace
from w2vtrain.probability.problem import Problem
from w2vtrain.training.compiling import compile_engine
from w2vtrain.training.trainer import make_engine

STEP = 1e-5
COUNTS = np.array([90, 70, 40, 30, 20, 10, 9, 8, 7, 6, 5, 5, 4, 3, 3, 2])
TOKENS = np.array([0, 1, 2, 0, -1, 3, 4, 5, 6, 7, 8, -1, 9, 10, 11, 12, 13, 14, 15, 2, -1], np.int32)
FAR = 0.015
"""The distance in nats from the optimum at which a loss counts as wrong. Correct: below 0.01."""
UNNORMALIZED = 0.3
"""The mean of |log Z| at which scores used without Z no longer count as log-probabilities. Correct: below 0.2."""


@dataclass(frozen=True)
class Finding:
    """The result of one check: what must hold, whether it does (None: not judged), and the figure that shows it."""

    what: str
    holds: bool | None
    figure: str


def check(name: str, options: dict[str, Any] | None = None, bias: bool = False) -> Iterator[Finding]:
    """Check an objective on a vocabulary of 16 words. Yield the findings one by one; the last take seconds.

    name: a registered name, a file or a module. Raise ConfigError if there is no such objective, if it breaks the
    contract, if an option is wrong, or if Numba cannot compile it.
    """
    given = {**option_defaults(name), **(options or {})}
    cls = objective_class(name)
    for architecture in ("skipgram", "cbow"):
        yield compiles(architecture, name, bias, given)
    checks = _check_block if engine_of(name) == "blocks" else _check_window
    yield from checks(cls, given, bias)
    yield from learns(name, "cbow" if bias else "skipgram", given, bias)


def learns(name: str, architecture: str, options: dict[str, Any], bias: bool) -> Iterator[Finding]:
    """Train on a language with known probabilities, and compare the result with the optimum of the objective.

    Everything else is compared with the objective's own loss; this shows whether the loss itself is right.
    """
    what = f"{architecture} learns the known probabilities of a text"
    try:
        with np.errstate(all="ignore"):
            found = learned(name, architecture, options, bias)
            truth = distance(language().P, found.log_probs)
            sums = float(np.abs(found.sums).mean())
    except Diverged as error:
        yield Finding(what, False, str(error))
        return
    if found.optimum is None:
        yield Finding(what, None, f"KL divergence {truth:.4f} nats; not judged, because `optimum` returns None")
        return
    off = distance(found.optimum, found.log_probs)
    figure = f"KL divergence {off:.4f} nats (limit {FAR})"
    if found.optimum is not language().P:
        what = f"{architecture} learns its optimum for a text of known probabilities"
        figure += f"; {truth:.4f} from the probabilities"
    elif off >= FAR:
        figure += "; if the probabilities are not its optimum, define `optimum`"
    yield Finding(what, off < FAR, figure)
    figure = f"logarithm of the sum {sums:.4f} on average (limit {UNNORMALIZED})"
    yield Finding("probabilities from log_prob sum to 1 after training", sums < UNNORMALIZED, figure)


def compiles(architecture: str, objective: str, bias: bool, options: dict[str, Any] | None = None) -> Finding:
    """Compile an engine for this architecture and objective. Raise ConfigError, naming the line, if that fails."""
    problem = _problem(bias, np.float32)
    built = build(objective, problem, option_defaults(objective) if options is None else options)
    layout = Layout(2, problem.dim, problem.width, WORDS)
    mixer = build_architecture(architecture, layout, {})
    text = Text(TOKENS, problem.starts, np.diff(problem.starts) - 1, COUNTS)
    engine = make_engine(mixer, built, problem, text, Windows(2), Schedule())
    started = time.monotonic()
    compile_engine(engine, built, mixer)
    return Finding(f"compiles with {architecture} and {objective}", True, f"{time.monotonic() - started:.1f} s")


def _problem(bias: bool, dtype: type, dim: int = 16) -> Problem:
    starts = np.array([0, 5, 12, 21])
    return Problem(WORDS, COUNTS, dim, bias, 0.3, 3, dtype=dtype, tokens=TOKENS, starts=starts)


def _close(got: Any, expected: Any, tolerance: float) -> tuple[bool, str]:
    """Return whether two arrays agree, relative to the largest expected value, and the difference as text."""
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    scale = max(1e-3, float(np.abs(expected).max(initial=0.0)))
    worst = float(np.abs(got - expected).max(initial=0.0)) / scale
    return bool(worst < tolerance), f"off by {worst:.1e}"


def slope(loss: Callable[[], float], array: np.ndarray, cells: Any) -> np.ndarray:
    """Return dL/d array at the flat indices `cells`, by central differences of `loss`, which reads the array.

    Raise ValueError if the array is not contiguous.
    """
    flat, slopes = array.reshape(-1), np.zeros(len(cells))
    if not np.shares_memory(flat, array):
        raise ValueError("the array must be contiguous")
    for k, cell in enumerate(cells):
        kept = flat[cell]
        flat[cell] = kept + STEP
        above = loss()
        flat[cell] = kept - STEP
        slopes[k] = (above - loss()) / (2 * STEP)
        flat[cell] = kept
    return slopes


def _check_window(cls: Any, options: dict[str, Any], bias: bool) -> Iterator[Finding]:
    problem = _problem(bias, np.float32)
    objective = cls.build(problem, **options).for_threads(1)[0]
    size, limit, n = len(COUNTS), objective.candidate_limit, 3
    rows, labels = np.zeros(limit + 16, np.int32), np.zeros(limit + 16)
    shifts, rng, sentence = np.zeros(limit + 16), np.array([7, 7], np.uint64), np.array([3, 2, 5, 1], np.int32)
    with np.errstate(over="ignore"):  # the random stream wraps around
        objective.begin(np.array([5, 5], np.uint64))
        m = objective.candidates(sentence, 1, rng, rows, labels, shifts)
        again, other = rows.copy(), np.array([7, 7], np.uint64)
        objective.candidates(sentence, 1, other, again, labels, shifts)
    inside = 0 < m <= limit and rows[:m].min() >= 0 and rows[:m].max() < objective.output_rows(size)
    yield Finding("candidates are rows of the output matrix", bool(inside), f"{m} of at most {limit}")
    same = bool((again[:m] == rows[:m]).all() and rng[0] == other[0])
    yield Finding("the same random stream draws the same candidates", same, f"stream {int(rng[0]):x}")
    start = np.random.default_rng(5).normal(size=(n, limit + 16))
    window, found = Window(np.array([3, 5, 1], np.int32), n, 2), Candidates(rows, labels, shifts, m)

    def loss(logits: np.ndarray, lr: float) -> float:
        with np.errstate(over="ignore"):  # hashes wrap around
            return float(objective.errors(logits, window, found, lr))

    changed = start.copy()
    cells = [i * (limit + 16) + j for i in range(n) for j in range(m)]
    expected = slope(lambda: loss(start.copy(), 0.0), start, cells)
    loss(changed, 1.0)
    holds, figure = _close(changed[:, :m].reshape(-1), -expected, 1e-4)
    yield Finding("coefficients are the negative gradient of the loss", holds, figure)
    output = np.random.default_rng(6).normal(size=(objective.output_rows(size), problem.width)).astype(np.float32)
    yield from _check_scorer(cls.scorer(problem, options, output, objective.arrays()), problem, np.float32)


def _check_block(cls: Any, options: dict[str, Any], bias: bool) -> Iterator[Finding]:
    problem = _problem(bias, np.float64)
    objective = cls.build(problem, **options)
    rng = np.random.default_rng(4)
    H = rng.normal(size=(5, problem.width)) * 0.7
    if bias:
        H[:, -1] = 1
    targets, previous = np.array([2, 0, 9, 4, 2], np.int32), np.array([-1, 2, 0, 9, 4], np.int32)

    def work() -> Workspace:
        fresh = Workspace()
        fresh.begin(1, 0, 2)
        fresh.previous = previous
        return fresh

    def loss() -> float:
        return float(objective.step(H, targets, 0.0, work())[0])

    before = {name: array.copy() for name, array in objective.parameters().items()}
    first, (second, dH) = loss(), objective.step(H, targets, 0.0, work())
    kept = all((array == before[name]).all() for name, array in objective.parameters().items())
    yield Finding("a learning rate of 0 changes nothing", kept, f"{len(before)} arrays")
    yield Finding("the same random stream gives the same loss", first == second, f"{first:.6f}")
    cells = np.arange(H.size)
    holds, figure = _close(dH.reshape(-1), -slope(loss, H, cells), 1e-4)
    yield Finding("dH is the negative gradient of the loss", holds, figure)
    yield from _check_parameters(objective, H, targets, loss, work)
    objective = cls.build(_problem(bias, np.float32), **options)
    with np.errstate(over="ignore"):
        objective.step(H.astype(np.float32), targets, 0.05, work())
    yield from _check_scorer(
        cls.scorer(_problem(bias, np.float32), options, objective.output, objective.arrays()), problem, np.float32
    )


def _check_parameters(
    objective: Any, H: np.ndarray, targets: np.ndarray, loss: Callable[[], float], work: Callable[[], Workspace]
) -> Iterator[Finding]:
    """Compare each array's change per unit of learning rate, or `gradients`, with the negative gradient of the loss."""
    rng = np.random.default_rng(8)
    arrays = objective.parameters()
    expected, chosen = {}, {}
    for name, array in arrays.items():
        chosen[name] = rng.permutation(array.size)[:60]
        expected[name] = -slope(loss, array, chosen[name])
    if objective.gradients is not None:
        got = objective.gradients(H, targets, work())[2]
    else:
        before, rate = {name: array.copy() for name, array in arrays.items()}, 1e-6
        objective.step(H, targets, rate, work())
        got = {name: (array - before[name]) / rate for name, array in objective.parameters().items()}
    for name in arrays:
        holds, figure = _close(_dense(got[name], arrays[name]).reshape(-1)[chosen[name]], expected[name], 1e-3)
        yield Finding(f"the update of {name} is the negative gradient of the loss", holds, figure)


def _dense(gradient: Any, array: np.ndarray) -> np.ndarray:
    """Return a gradient with the shape of `array`; it may be given as (rows, the gradients of these rows)."""
    if not isinstance(gradient, tuple):
        return np.asarray(gradient)
    full = np.zeros_like(array)
    np.add.at(full, gradient[0], gradient[1])
    return full


def _check_scorer(scorer: Any, problem: Problem, dtype: type) -> Iterator[Finding]:
    H: np.ndarray = np.random.default_rng(9).normal(size=(6, problem.width)).astype(dtype)
    targets = np.array([0, 3, 15, 7, 7, 1], np.int32)
    SCORER.verify(type(scorer), "scorer")
    if scorer.given is not None:
        scorer = scorer.given(Contexts(targets[::-1].copy(), np.arange(6), np.ones(6, np.int32)))
    log_probs = scorer.log_probs(H)
    worst = float(np.abs(np.exp(log_probs.astype(np.float64)).sum(axis=1) - 1).max())
    yield Finding("probabilities of all words sum to 1", worst < 1e-4, f"off by {worst:.1e}")
    raw, log_z = scorer.scores(H, targets)
    holds, figure = _close(raw - log_z, log_probs[np.arange(6), targets], 1e-4)
    yield Finding("scores minus log Z are the log-probabilities", holds, figure)
    finite = bool(np.isfinite(scorer.log_prob(H, targets)).all())
    yield Finding("log_prob returns finite numbers", finite, f"{len(H)} targets")
