"""A small text whose probabilities are known exactly, and what an objective learns from it.

The probabilities come from the text alone, so they expose a loss that is wrong throughout, even if its gradients and
its scorer agree with it. They do not show speed, or what the loss does with a large vocabulary.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from w2vtrain.architectures import build as build_architecture
from w2vtrain.architectures.contract import Layout
from w2vtrain.config import Settings
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.window_kernel import Windows
from w2vtrain.objectives import build, objective_class, objective_defaults
from w2vtrain.objectives.contract import SCORER, Contexts
from w2vtrain.probability.dense import one_thread
from w2vtrain.probability.problem import Problem
from w2vtrain.training.divergence import diverged
from w2vtrain.training.engine_parts import make_engine, schedule_of
from w2vtrain.training.epoch import Order

WORDS = ["the", "of", "and", "in", "to", "a", "was", "is", "for", "on", "as", "by", "with", "he", "at", "it"]
CONTEXTS, SENTENCES_EACH, EPOCHS, SENTENCES, DIM = 8, 128, 40, 64, 16
"""Contexts, sentences per context, passes over the text, sentences per chunk, and dimensions: enough for any P(w|h)."""


class Language(NamedTuple):
    """A text of two-word sentences. The second word follows the first in exact proportion to its probability.

    contexts (C,): the words that come first; P (C, V): the probabilities of the words that follow, positive.
    """

    text: Chunks
    contexts: np.ndarray
    P: np.ndarray


class Scored(NamedTuple):
    """What an objective has learned from the language: natural logarithms of probabilities, all (C, V).

    log_probs: of the scorer's method of this name. sums (C,): the logarithm of the sum of exp(log_prob) over the words.
    optimum: the probabilities that training should converge to, or None if they are unknown.
    """

    log_probs: np.ndarray
    sums: np.ndarray
    optimum: np.ndarray | None


@cache
def language() -> Language:
    """Return the language: words of very different frequencies, in contexts that differ much."""
    rng = np.random.default_rng(3)
    weights = np.exp(2 * rng.standard_normal((CONTEXTS, len(WORDS)))) / np.arange(1, len(WORDS) + 1)
    counts = 1 + np.floor((SENTENCES_EACH - len(WORDS)) * weights / weights.sum(axis=1, keepdims=True)).astype(np.int64)
    counts[np.arange(CONTEXTS), counts.argmax(axis=1)] += SENTENCES_EACH - counts.sum(axis=1)
    first = 2 * np.arange(CONTEXTS)
    order = np.argsort(-(counts.sum(axis=0) + SENTENCES_EACH * np.isin(np.arange(len(WORDS)), first)), kind="stable")
    counts, contexts = counts[:, order], np.argsort(order)[first]
    pairs = np.repeat([[c, w] for c in contexts for w in range(len(WORDS))], counts.reshape(-1), axis=0)
    ends = np.full((len(pairs), 1), -1)
    tokens = np.concatenate([rng.permutation(pairs), ends], axis=1).reshape(-1).astype(np.int32)
    starts = np.arange(0, len(tokens) + 1, 3 * SENTENCES)
    text = Chunks(tokens, starts, np.diff(starts) // 3 * 2, np.bincount(pairs.reshape(-1)))
    return Language(text, contexts, counts / SENTENCES_EACH)


def trained_on_language(name: str, architecture: str, options: dict[str, Any], bias: bool = False) -> Scored:
    """Train an objective on the language through its engine, with its default learning rate, and score all words.

    Raise Diverged if the loss is not finite.
    """
    text, contexts, P = language()
    problem = Problem(WORDS, text.counts, DIM, bias, 0.1, 3, tokens=text.tokens, starts=text.starts)
    objective = build(name, problem, options)
    chosen = objective_defaults(name)[architecture]
    block = chosen.get("block", 32)
    schedule = schedule_of(
        Settings(sample=0, alpha=chosen["alpha"], min_alpha=0, epochs=EPOCHS, threads=1, shuffle=True, block=block)
    )
    mixer = build_architecture(architecture, Layout(1, DIM, problem.width, WORDS), {})
    engine = make_engine(mixer, objective, problem, text, Windows(1, False, True, False), schedule)
    with one_thread():
        engine.compile()
        for epoch in range(EPOCHS):
            order = Order.of(text, schedule, epoch)
            rates = schedule.rate(order.before / (EPOCHS * text.words.sum()))
            if not np.isfinite(engine.train(order.chunks, rates, epoch, 0)[0]):
                raise diverged(schedule.alpha, epoch + 1)
    weights = engine.weights()
    H, output = weights.input[contexts], weights.output
    if bias:
        H = np.column_stack([H, np.ones(len(H), np.float32)])
        output = np.column_stack([output, weights.arrays["bias"]])
    scorer = objective_class(name).scorer(problem, options, np.ascontiguousarray(output), weights.arrays)
    log_probs, sums = _predicted(scorer, np.ascontiguousarray(H), contexts)
    return Scored(log_probs, sums, objective.optimum(P))


def _predicted(scorer: Any, H: np.ndarray, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log_probs and sums as in Scored, for the hidden vectors H (C, width) of the contexts (C,)."""
    SCORER.verify(type(scorer), "scorer")
    size = len(WORDS)
    words, targets = np.repeat(contexts, size).astype(np.int32), np.tile(np.arange(size, dtype=np.int32), len(H))
    one = Contexts(words, np.arange(len(words)), np.ones(len(words), np.int32))
    each = (scorer if scorer.given is None else scorer.given(one)).log_prob(np.repeat(H, size, axis=0), targets)
    sums = np.log(np.exp(each.astype(np.float64)).reshape(len(H), size).sum(axis=1))
    return scorer.log_probs(H).astype(np.float64), sums


def distance(P: np.ndarray, log_probs: np.ndarray) -> float:
    """Return the mean of KL(P || exp(log_probs)) over the rows, in nats."""
    return float((P * (np.log(P) - log_probs)).sum(axis=1).mean())
