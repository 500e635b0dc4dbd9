"""The conformance suite of objectives: what every objective must do, whatever it computes.

It compiles with each kind of architecture; its gradients match its loss, its candidates occur as often as it says, its
probabilities sum to 1, and a saved model scores as it did (objective_steps.py); and it learns a known language. The
checks use an objective only through the interface in objectives/contract.py. They measure neither its speed nor the
quality of its vectors.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from w2vtrain.architectures import architecture_class
from w2vtrain.architectures import build as build_architecture
from w2vtrain.architectures.contract import Layout
from w2vtrain.config import Settings
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.window_kernel import Windows
from w2vtrain.errors import Diverged
from w2vtrain.leaves.compare.known_language import WORDS, distance, language, trained_on_language
from w2vtrain.leaves.compare.objective_steps import COUNTS, ROWS, TOKENS, Finding, all_hold, computes, sample_problem
from w2vtrain.objectives import allow_code, build, checked_options, option_defaults
from w2vtrain.training.compiling import compile_engine
from w2vtrain.training.engine_parts import make_engine, schedule_of

MAX_KL_NATS = 0.015
"""The distance in nats from the optimum at which a loss counts as wrong. Correct: below 0.01."""
MAX_MEAN_LOG_Z = 0.3
"""The mean of |log Z| at which scores used without Z no longer count as log-probabilities. Correct: below 0.2."""


def check_objective(name: str, options: Mapping[str, Any] | None = None) -> list[Finding]:
    """Check that an objective does what every objective must do, as `w2vtrain objectives check` does.

    It must compile with skip-gram and CBOW, its gradients must match its loss, its probabilities must sum to 1, a saved
    model must score as it did, and it must learn a small text whose probabilities are known. All of this is checked
    without and with biases, which takes seconds, and longer if kernels have to be compiled.

    Parameters
    ----------
    name : str
        A name, or a file or module of your own, whose code is run.
    options : dict, optional
        Options of the objective, such as ``{"negative": 10}``; the others have their defaults.

    Returns
    -------
    list
        The result of each check: ``claim`` says what was checked, ``figure`` is what was measured, and ``holds`` is
        True, or None if the objective does not say what it converges to.

    Raises
    ------
    BelowThreshold
        If a check fails. All checks run first; the message has the claim and the figure of each one that failed.
    ConfigError
        If there is no such objective, if it lacks a method, if an option is wrong, or if Numba cannot compile it.

    Examples
    --------
    >>> import w2vtrain
    >>> findings = w2vtrain.check_objective("neg", {"negative": 3})
    >>> findings[-1].claim
    'probabilities from log_prob sum to 1 after training, with biases'

    """
    allow_code(name)
    given = checked_options(name, dict(options or {}))
    return all_hold(name, lambda bias: findings(name, given, bias))


def findings(name: str, options: dict[str, Any] | None = None, bias: bool = False) -> Iterator[Finding]:
    """Check an objective on a vocabulary of 16 words. Yield the findings one by one; the last take seconds, and are
    left out if candidates are not rows.

    name: a registered name, a file or a module. Raise ConfigError if there is no such objective, if it breaks the
    contract, if an option is wrong, or if Numba cannot compile it.
    """
    given = {**option_defaults(name), **(options or {})}
    for architecture in ("skipgram", "cbow"):
        yield compiles(architecture, name, bias, given)
    for finding in computes(name, given, bias):
        yield finding
        if finding.claim == ROWS and not finding.holds:
            return  # training would write to memory outside of the matrix
    yield from learns(name, "cbow" if bias else "skipgram", given, bias)


def learns(name: str, architecture: str, options: dict[str, Any], bias: bool) -> Iterator[Finding]:
    """Train on a language with known probabilities, and compare the result with the optimum of the objective.

    Everything else is compared with the objective's own loss; this shows whether the loss itself is right.
    """
    claim = f"{architecture} learns the known probabilities of a text"
    try:
        with np.errstate(all="ignore"):
            scored = trained_on_language(name, architecture, options, bias)
            truth = distance(language().P, scored.log_probs)
            sums = float(np.abs(scored.sums).mean())
    except Diverged as error:
        yield Finding(claim, False, str(error))
        return
    if scored.optimum is None:
        yield Finding(claim, None, f"KL divergence {truth:.4f} nats; not judged, because `optimum` returns None")
        return
    off = distance(scored.optimum, scored.log_probs)
    figure = f"KL divergence {off:.4f} nats (limit {MAX_KL_NATS})"
    if scored.optimum is not language().P:
        claim = f"{architecture} learns its optimum for a text of known probabilities"
        figure += f"; {truth:.4f} from the probabilities"
    elif off >= MAX_KL_NATS:
        figure += "; if the probabilities are not its optimum, define `optimum`"
    yield Finding(claim, off < MAX_KL_NATS, figure)
    figure = f"logarithm of the sum {sums:.4f} on average (limit {MAX_MEAN_LOG_Z})"
    yield Finding("probabilities from log_prob sum to 1 after training", sums < MAX_MEAN_LOG_Z, figure)


def compiles(architecture: str, objective: str, bias: bool, options: dict[str, Any] | None = None) -> Finding:
    """Compile an engine for this architecture and objective. Raise ConfigError, naming the line, if that fails."""
    problem, parts = sample_problem(bias, np.float32), architecture_class(architecture).concatenated(2)
    mixer = build_architecture(architecture, Layout(2, problem.dim, problem.width, WORDS), {})
    problem = replace(problem, dim=problem.dim * parts)
    built = build(objective, problem, option_defaults(objective) if options is None else options)
    text = Chunks(TOKENS, problem.starts, np.diff(problem.starts) - 1, COUNTS)
    schedule = schedule_of(Settings(alpha=0.05, min_alpha=0, threads=1, shuffle=True, block=32))
    engine = make_engine(mixer, built, problem, text, Windows(2, full=parts > 1), schedule)
    started = time.monotonic()
    compile_engine(engine, built, mixer)
    return Finding(f"compiles with {architecture} and {objective}", True, f"{time.monotonic() - started:.1f} s")
