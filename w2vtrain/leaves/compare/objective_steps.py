"""What an objective computes for one window or one block, compared with finite differences and with what it promises.

Part of the suite in objective_checks.py: nothing here compiles or trains, so these checks take a fraction of a second.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from w2vtrain.embeddings.model import Model, load_model, save_model
from w2vtrain.errors import BelowThreshold, ConfigError
from w2vtrain.leaves.compare.known_language import WORDS
from w2vtrain.objectives import engine_of, objective_class
from w2vtrain.objectives.contract import SCORER, Candidates, Contexts, Window, WindowObjective, check_candidates
from w2vtrain.probability.dense import Workspace
from w2vtrain.probability.problem import Problem

DIFFERENCE_STEP = 1e-5
COUNTS = np.array([90, 70, 40, 30, 20, 10, 9, 8, 7, 6, 5, 5, 4, 3, 3, 2])
TOKENS = np.array([0, 1, 2, 0, -1, 3, 4, 5, 6, 7, 8, -1, 9, 10, 11, 12, 13, 14, 15, 2, -1], np.int32)
MAX_GRADIENT_ERROR = 1e-5
"""The difference from finite differences, relative to the largest, at which a gradient is wrong. Correct: 1e-6."""
LEARNING_RATE = 0.05
"""The learning rate of a step, at which examples of a block that learned from each other's changes would show."""
DRAWN_TARGETS = 1500
"""Targets whose candidates are drawn."""
ROWS = "candidates are rows of the output matrix"
"""The claim without which an objective must not train."""


@dataclass(frozen=True)
class Finding:
    """The result of one check: a claim, whether it holds (None: not judged), and the figure that shows it."""

    claim: str
    holds: bool | None
    figure: str


def all_hold(name: str, checks: Callable[[bool], Iterator[Finding]]) -> list[Finding]:
    """Return the findings without and with biases. Raise BelowThreshold with the claims and figures that do not hold.

    checks: yields the findings, with biases or without them.
    """
    found = [
        replace(finding, claim=f"{finding.claim}, {'with' if bias else 'without'} biases")
        for bias in (False, True)
        for finding in checks(bias)
    ]
    failed = [f"{finding.claim}: {finding.figure}" for finding in found if finding.holds is False]
    if failed:
        raise BelowThreshold(f"{name} fails {len(failed)} of {len(found)} checks: {'; '.join(failed)}")
    return found


def computes(name: str, options: dict[str, Any], bias: bool) -> Iterator[Finding]:
    """Check what an objective computes for one window or block, without compiling or training: this is quick.

    options: all of the objective's, already checked.
    """
    checks = _check_block if engine_of(name) == "blocks" else _check_window
    yield from checks(objective_class(name), options, bias)


def sample_problem(bias: bool, dtype: type) -> Problem:
    """Return the problem of all checks: 16 words, 16 dimensions, and a text of three chunks."""
    starts = np.array([0, 5, 12, 21])
    return Problem(WORDS, COUNTS, 16, bias, 0.3, 3, dtype=dtype, tokens=TOKENS, starts=starts)


def _agree(claim: str, got: Any, expected: Any, tolerance: float) -> Finding:
    """Check that two arrays agree, relative to the largest expected value."""
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    scale = max(1e-3, float(np.abs(expected).max(initial=0.0)))
    worst = float(np.abs(got - expected).max(initial=0.0)) / scale
    return Finding(claim, bool(worst < tolerance), f"off by {worst:.1e}")


def slope(loss: Callable[[], float], array: np.ndarray, cells: Any) -> np.ndarray:
    """Return dL/d array at the flat indices `cells`, by central differences of `loss`, which reads the array.

    Raise ValueError if the array is not contiguous.
    """
    flat, slopes = array.reshape(-1), np.zeros(len(cells))
    if not np.shares_memory(flat, array):
        raise ValueError("the array must be contiguous")
    for k, cell in enumerate(cells):
        kept = flat[cell]
        flat[cell] = kept + DIFFERENCE_STEP
        above = loss()
        flat[cell] = kept - DIFFERENCE_STEP
        slopes[k] = (above - loss()) / (2 * DIFFERENCE_STEP)
        flat[cell] = kept
    return slopes


def _check_window(cls: Any, options: dict[str, Any], bias: bool) -> Iterator[Finding]:
    problem = sample_problem(bias, np.float32)
    objective = cls.build(problem, **options).for_threads(1)[0]
    size, limit, n = len(COUNTS), objective.candidate_limit, 3
    within = _check_rows(objective)
    yield within
    if not within.holds:
        return
    rows, labels = np.zeros(limit + 16, np.int32), np.zeros(limit + 16)
    shifts, rng, sentence = np.zeros(limit + 16), np.array([7, 7], np.uint64), np.array([3, 2, 5, 1], np.int32)
    with np.errstate(over="ignore"):  # the random stream wraps around
        objective.begin(np.array([5, 5], np.uint64))
        m = objective.candidates(sentence, 1, rng, rows, labels, shifts)
        again, other = rows.copy(), np.array([7, 7], np.uint64)
        objective.candidates(sentence, 1, other, again, labels, shifts)
    same = bool((again[:m] == rows[:m]).all() and rng[0] == other[0])
    yield Finding("the same random stream draws the same candidates", same, f"stream {int(rng[0]):x}")
    if cls.draws is not WindowObjective.draws:  # otherwise it does not say how often
        yield _check_draws(objective)
    start = np.random.default_rng(5).normal(size=(n, limit + 16))
    window, candidates = Window(np.array([3, 5, 1], np.int32), n, 2), Candidates(rows, labels, shifts, m)

    def loss(logits: np.ndarray, lr: float) -> float:
        with np.errstate(over="ignore"):  # hashes wrap around
            return float(objective.errors(logits, window, candidates, lr))

    changed = start.copy()
    cells = [i * (limit + 16) + j for i in range(n) for j in range(m)]
    expected = slope(lambda: loss(start.copy(), 0.0), start, cells)
    loss(changed, 1.0)
    claim = "coefficients are the negative gradient of the loss"
    yield _agree(claim, changed[:, :m].reshape(-1), -expected, MAX_GRADIENT_ERROR)
    output = np.random.default_rng(6).normal(size=(objective.output_rows(size), problem.width)).astype(np.float32)
    yield from _check_scorer(cls, problem, options, output, objective.arrays())


def _check_rows(objective: Any) -> Finding:
    """Check the candidates of all words, for many random streams."""
    try:
        most = check_candidates(objective, len(COUNTS))
    except ConfigError as error:
        return Finding(ROWS, False, str(error))
    return Finding(ROWS, most > 0, f"{most} of at most {objective.candidate_limit}")


def _check_draws(objective: Any) -> Finding:
    """Compare the candidates of many targets with `draws`, which need not know that noise is drawn anew if it hits."""
    rng, stream = np.random.default_rng(11), np.array([7, 7], np.uint64)
    limit, P = objective.candidate_limit, COUNTS / COUNTS.sum()
    rows, spare = np.zeros(limit + 16, np.int32), np.zeros((2, limit + 16))
    expected = np.asarray(objective.draws(P), np.float64)
    drawn = np.zeros(len(expected))
    with np.errstate(over="ignore"):  # the random stream wraps around
        for target in rng.choice(len(P), DRAWN_TARGETS, p=P).astype(np.int32):
            objective.begin(stream)
            stream[1] = stream[0]
            m = objective.candidates(np.array([target, target], np.int32), 0, stream, rows, *spare)
            np.add.at(drawn, rows[:m], 1)
    drawn /= DRAWN_TARGETS
    off = np.abs(drawn - expected) / (0.3 * expected + 5 * np.sqrt((expected + 1 / DRAWN_TARGETS) / DRAWN_TARGETS))
    total = abs(drawn.sum() / expected.sum() - 1)
    claim = "rows are candidates about as often as `draws` says"
    return Finding(
        claim, bool(off.max() < 1 and total < 0.1), f"{drawn.sum():.2f} per target, expected {expected.sum():.2f}"
    )


class Block(NamedTuple):
    """A block of B examples: hidden vectors (B, width), targets (B,), and a function that returns the Workspace of its
    chunk.
    """

    H: np.ndarray
    targets: np.ndarray
    begun: Callable[[], Workspace]

    def step(self, objective: Any, rate: float = 0.0) -> tuple[float, np.ndarray]:
        """Return the loss and dH of a step of an objective."""
        loss, dH = objective.step(self.H, self.targets, rate, self.begun())
        return float(loss), dH


def block_of(problem: Problem) -> Block:
    """Return a block of 5 examples."""
    H = np.random.default_rng(4).normal(size=(5, problem.width)) * 0.7
    if problem.bias:
        H[:, -1] = 1
    targets, previous = np.array([2, 0, 9, 4, 2], np.int32), np.array([-1, 2, 0, 9, 4], np.int32)

    def begun() -> Workspace:
        fresh = Workspace()
        fresh.begin(1, 0, 2)
        fresh.previous = previous
        return fresh

    return Block(H, targets, begun)


def _check_block(cls: Any, options: dict[str, Any], bias: bool) -> Iterator[Finding]:
    wide, narrow = (sample_problem(bias, dtype) for dtype in (np.float64, np.float32))
    block = block_of(wide)
    learning, exact, rounded = (_with_values(cls.build(problem, **options)) for problem in (wide, wide, narrow))
    yield from steps(learning, block)
    yield _check_float32(exact, rounded, block)
    yield from _check_scorer(cls, narrow, options, rounded.output, rounded.arrays())


def _with_values(objective: Any) -> Any:
    """Return an objective none of whose arrays is all zeros, which would hide errors in their factors."""
    for array in objective.parameters().values():
        if not array.any():
            array += (0.2 * np.random.default_rng(8).normal(size=array.shape)).astype(array.dtype)
    return objective


def steps(objective: Any, block: Block) -> Iterator[Finding]:
    """Check that steps of a block objective in float64 follow the gradient of the loss that they return.

    The objective is unchanged at the end.
    """

    def loss() -> float:
        return block.step(objective)[0]

    arrays = _arrays_of(objective)
    twice = [f"{a} and {b}" for a, b in combinations(arrays, 2) if np.shares_memory(arrays[a], arrays[b])]
    yield Finding("an array has one name", not twice, ", ".join(twice) or f"{len(arrays)} arrays")
    kept = {name: array.copy() for name, array in arrays.items()}
    first, (second, dH) = loss(), block.step(objective)
    now = _arrays_of(objective)
    same = all(np.array_equal(now[name], array) for name, array in kept.items())
    yield Finding("a learning rate of 0 changes nothing", same, f"{len(kept)} arrays")
    yield Finding("the same random stream gives the same loss", first == second, f"{first:.6f}")
    again, again_dH = _step_after_another(objective, block)
    same = again == first and np.array_equal(again_dH, dH)
    yield Finding("what earlier blocks left in the workspace has no effect", same, f"{again:.6f}")
    expected = -slope(loss, block.H, np.arange(block.H.size))
    yield _agree("dH is the negative gradient of the loss", dH.reshape(-1), expected, MAX_GRADIENT_ERROR)
    changes = gradients_of(objective, block)[2]
    _restore(objective, kept)
    yield from _check_parameters(objective.parameters(), changes, loss)
    moved, moved_dH = block.step(objective, LEARNING_RATE)
    _restore(objective, kept)
    yield _agree("the loss and dH are those before the step", [moved, *moved_dH.flat], [first, *dH.flat], 1e-9)
    wrong = block._replace(H=block.H.copy())
    wrong.H[1, 0] = np.nan
    with np.errstate(all="ignore"):
        lost = wrong.step(objective)[0]
    yield Finding("NaN in a hidden vector makes the loss NaN", bool(np.isnan(lost)), f"{lost:.6f}")
    _restore(objective, kept)  # 0 times NaN is NaN


def _arrays_of(objective: Any) -> dict[str, np.ndarray]:
    """Return all arrays of a block objective by name: those of the model, what it learns, and its state."""
    state = {f"state.{name}": array for name, array in objective.state.items()}
    return {**objective.arrays(), **objective.parameters(), **state}


def _restore(objective: Any, kept: dict[str, np.ndarray]) -> None:
    """Overwrite all arrays of a block objective with copies of what they were."""
    for name, array in _arrays_of(objective).items():
        array[...] = kept[name]
    objective.refresh()


def _step_after_another(objective: Any, block: Block) -> tuple[float, np.ndarray]:
    """Return the loss and dH of a step with the Workspace that a step on another, larger block has used."""
    work, fresh = block.begun(), block.begun()
    work.previous = np.tile(work.previous, 2)
    objective.step(np.tile(block.H[::-1], (2, 1)), np.tile(block.targets, 2), 0.0, work)
    work.rng, work.chunk, work.previous = fresh.rng, fresh.chunk, fresh.previous
    return block._replace(begun=lambda: work).step(objective)


def _check_parameters(
    arrays: dict[str, np.ndarray], changes: dict[str, np.ndarray], loss: Callable[[], float]
) -> Iterator[Finding]:
    """Compare what `gradients_of` returns for each array with the negative gradient of the loss with respect to it."""
    rng = np.random.default_rng(8)
    for name, array in arrays.items():
        change = changes[name].reshape(-1)
        cells = np.unique([*np.argsort(-np.abs(change))[:20], *rng.permutation(array.size)[:40]])
        claim = f"the update of {name} is the negative gradient of the loss"
        yield _agree(claim, change[cells], -slope(loss, array, cells), MAX_GRADIENT_ERROR)


def gradients_of(objective: Any, block: Block) -> tuple[float, np.ndarray, dict[str, np.ndarray]]:
    """Return what `gradients` returns or, without it, a step: the changes are per unit of learning rate."""
    arrays = objective.parameters()
    if objective.gradients is not None:
        loss, dH, gradients = objective.gradients(block.H, block.targets, block.begun())
        return loss, dH, {name: _dense(gradients[name], array) for name, array in arrays.items()}
    before = {name: array.copy() for name, array in arrays.items()}
    loss, dH = objective.step(block.H, block.targets, LEARNING_RATE, block.begun())
    return loss, dH, {name: (array - before[name]) / LEARNING_RATE for name, array in arrays.items()}


def _dense(gradient: Any, array: np.ndarray) -> np.ndarray:
    """Return a gradient with the shape of `array`; it may be given as (rows, the gradients of these rows)."""
    if not isinstance(gradient, tuple):
        return np.asarray(gradient)
    full = np.zeros_like(array)
    np.add.at(full, gradient[0], gradient[1])
    return full


def _check_float32(wide: Any, narrow: Any, block: Block) -> Finding:
    """Compare a step in float32, which training uses, with one in float64."""
    for name, array in wide.parameters().items():
        narrow.parameters()[name][...] = array
    with np.errstate(over="ignore"):
        loss, dH, changes = gradients_of(wide, block)
        other, other_dH, others = gradients_of(narrow, block._replace(H=block.H.astype(np.float32)))
    pairs = [(other, loss), (other_dH, dH), *((others[name], change) for name, change in changes.items())]
    findings = [_agree("a step in float32 agrees with one in float64", *pair, 1e-4) for pair in pairs]
    worst = min(findings, key=lambda finding: (finding.holds, -float(finding.figure.removeprefix("off by "))))
    right = isinstance(other, float) and other_dH.dtype == np.float32 and other_dH.shape == block.H.shape
    return worst if right else replace(worst, holds=False)


def _check_scorer(
    cls: Any, problem: Problem, options: dict[str, Any], output: np.ndarray, arrays: dict[str, np.ndarray]
) -> Iterator[Finding]:
    """Check the scorer of a trained model, before and after it is saved. output (rows, width), arrays: learned ones."""
    H: np.ndarray = np.random.default_rng(9).normal(size=(6, problem.width)).astype(np.float32)
    targets = np.array([0, 3, 15, 7, 7, 1], np.int32)
    contexts = Contexts(targets[::-1].copy(), np.arange(len(targets)), np.ones(len(targets), np.int32))

    def scorer_of(output: np.ndarray, arrays: dict[str, np.ndarray]) -> Any:
        scorer = cls.scorer(problem, options, output, arrays)
        SCORER.verify(type(scorer), "scorer")
        return scorer if scorer.given is None else scorer.given(contexts)

    scorer = scorer_of(output, arrays)
    log_probs = scorer.log_probs(H)
    worst = float(np.abs(np.exp(log_probs.astype(np.float64)).sum(axis=1) - 1).max())
    yield Finding("probabilities of all words sum to 1", worst < 1e-4, f"off by {worst:.1e}")
    raw, log_z = scorer.scores(H, targets)
    yield _agree("scores minus log Z are the log-probabilities", raw - log_z, log_probs[np.arange(6), targets], 1e-4)
    finite = bool(np.isfinite(scorer.log_prob(H, targets)).all())
    yield Finding("log_prob returns finite numbers", finite, f"{len(H)} targets")
    again = scorer_of(*_saved(problem, output, arrays))
    same = np.array_equal(again.log_probs(H), log_probs) and again.log_prob(H, targets).shape == (len(H),)
    yield Finding("a saved model gives the same probabilities", same, f"{len(arrays)} arrays")


def _saved(
    problem: Problem, output: np.ndarray, arrays: dict[str, np.ndarray]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the output rows and the arrays of a model that was saved and loaded again."""
    rows, columns = np.zeros((len(problem.words), problem.dim), np.float32), output[:, : problem.dim]
    bias = {"bias": output[:, problem.dim]} if problem.bias else {}
    with tempfile.TemporaryDirectory() as folder:
        model = Model(list(problem.words), problem.counts, rows, columns, {**arrays, **bias}, {}, {})
        save_model(Path(folder) / "model", model)
        loaded = load_model(Path(folder) / "model")
    if not problem.bias:
        return loaded.output, loaded.arrays
    return np.column_stack([loaded.output, loaded.arrays["bias"]]), loaded.arrays
