"""Importance sampling from a mixture with bigrams, adaptive or not: its steps, draws, bias and mixture weights."""

from collections import Counter
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import COUNTS, begun, check_step, hidden_vectors, problem_of
from scipy import stats

from w2vtrain import objectives
from w2vtrain.kernels.jit import kernel
from w2vtrain.probability.bigrams import DrawBuffers as Scratch
from w2vtrain.probability.bigrams import count_bigrams, draw_mixed, mixture_at

SIZE, WIDTH = 11, 6
TARGETS = np.array([0, 3, 3, 10, 1, 8, 0, 2], np.int32)
PREVIOUS = np.array([-1, 0, 3, 3, 10, 1, 9, 0], np.int32)
SOME = {"samples": 10, "ess": 4.0, "cap": 39}  # three batches
LONELY = 9
in_text = partial(begun, previous=PREVIOUS)


@kernel()
def draw_proposal(stream, proposal, previous, scratch, words):
    share, pairs = mixture_at(proposal, previous)
    draw_mixed(stream, proposal, previous, share, pairs, scratch, words)


def text(length=400, seed=3):
    """Return a text in which no word follows LONELY."""
    tokens = np.random.default_rng(seed).choice(SIZE, length, p=COUNTS / COUNTS.sum()).astype(np.int32)
    tokens[::17] = -1
    tokens[1:][tokens[:-1] == LONELY] = -1
    return tokens


def built(tokens=None, dtype=np.float64, counts=COUNTS, end=-1, name="adaptive-is", **options):
    tokens = text() if tokens is None else np.asarray(tokens, np.int32)
    problem = problem_of(counts, dim=WIDTH - 1, bias=True, init=0.7, dtype=dtype, tokens=tokens, end=end)
    return objectives.objective_class(name).build(problem, **options)


def hidden(rng):
    """Return hidden vectors from short to long, for which P ranges from flat to peaked."""
    return hidden_vectors(rng, len(TARGETS), WIDTH, np.linspace(0.05, 2, len(TARGETS)))


def fixed(**options):
    """Return `is` with the bigram proposal."""
    return built(name="is", proposal="bigram", **options)


def q_of(objective, previous, exponent=1.0):
    """Return Q(.|previous), (V,), and its term λ B, computed from the word pairs of the text.

    λ is that of the objective's own classes if it adapts, and by the formula of Collins 1999 if it does not.
    """
    unigram = COUNTS**exponent / (COUNTS**exponent).sum()
    tokens = text().tolist()
    after = Counter(b for a, b in pairwise(tokens) if a == previous >= 0 and b >= 0)
    if not after:
        return unigram, 0 * unigram
    share = after.total() / (after.total() + 5 * len(after))
    if isinstance(objective, objectives.objective_class("adaptive-is")):
        share = objective.estimator.proposal.mixture[int(np.log2(COUNTS[previous]))]
    part = share * np.array([after[v] for v in range(SIZE)]) / after.total()
    return part + (1 - share) * unigram, part


def proposed(objective, stream, previous, n):
    """Return n words that the objective draws after the word `previous`."""
    words, scratch = np.empty(n, np.int32), Scratch(*np.zeros((2, n)), *np.zeros((2, n), np.int64))
    draw_proposal(stream, objective.estimator.proposal, previous, scratch, words)
    return words.tolist()


def naive(objective, H, targets, previous, exponent=1.0):
    """Return loss, -dL/dH, -dL/d output, draws, fallbacks and the bigrams' share of the weights, one draw at a time."""
    output, loss, dH, d_output = objective.output, 0.0, np.zeros_like(H), np.zeros_like(objective.output)
    stream = begun().stream()
    draws, waiting, parts = [], [], []
    for b, (h, target) in enumerate(zip(H, targets, strict=True)):
        q, part = q_of(objective, previous[b], exponent)
        words, size = [], 0.0
        while not words or (size < objective.estimator.ess and len(words) < objective.estimator.cap):
            words += proposed(objective, stream, previous[b], objective.estimator.samples)
            r = np.exp(output[words] @ h) / q[words]
            size = r.sum() ** 2 / (r**2).sum()
        weights, log_z = r / r.sum(), np.log(r.mean())
        draws.append(len(words))
        parts.append(weights @ (part / q)[words])
        if size < objective.estimator.ess:
            waiting.append(b)
            s = output @ h
            words, weights, log_z = range(SIZE), np.exp(s) / np.exp(s).sum(), np.log(np.exp(s).sum())
        loss += log_z - output[target] @ h
        for v, g in [(target, 1.0), *zip(words, -weights, strict=True)]:
            dH[b] += g * output[v]
            d_output[v] += g * h
    return loss, dH, d_output, draws, waiting, parts


@given(st.lists(st.integers(-1, 4), max_size=40), st.sampled_from([-1, 4]), st.integers(1, 7))
def test_bigram_counts_match_those_of_a_counter(tokens, end, piece):
    table = count_bigrams(np.array(tokens, np.int32), 5, end, piece)
    words = [end if w < 0 else w for w in tokens]
    expected = Counter((a, b) for a, b in pairwise(words) if min(a, b) >= 0)
    found = {}
    for v in range(5):
        row = slice(table.starts[v], table.starts[v + 1])
        counts = np.diff(table.ends[row], prepend=0).tolist()
        found |= {(v, w): n for w, n in zip(table.words[row].tolist(), counts, strict=True)}
        assert (np.diff(table.words[row]) > 0).all()
    assert found == dict(expected)
    assert len(table.words) == len(table.ends) == len(found)


@pytest.mark.parametrize("share", [0.01, 0.6, 0.99])
@pytest.mark.parametrize("previous", [-1, 0, 4, LONELY])
def test_draws_follow_the_mixture_distribution(share, previous):
    """A million draws pass a chi-square test, none is outside the vocabulary, and each comes with its correct Q."""
    objective, n = built(), 1000
    objective.estimator.proposal.mixture[:] = share
    scratch = Scratch(*np.zeros((2, n)), *np.zeros((2, n), np.int64))
    stream, words, seen = np.array([9], np.uint64), np.empty(n, np.int32), np.zeros(SIZE)
    q, part = q_of(objective, previous)
    for _ in range(1000):
        draw_proposal(stream, objective.estimator.proposal, previous, scratch, words)
        assert words.min() >= 0
        seen += np.bincount(words, minlength=SIZE)
    assert len(seen) == SIZE
    assert stats.chisquare(seen, q * seen.sum()).pvalue > 1e-4
    np.testing.assert_allclose(scratch.q, q[words], rtol=1e-12)
    np.testing.assert_allclose(scratch.parts, part[words], rtol=1e-12)


@pytest.mark.parametrize("exponent", [0.5, 1.0])
def test_step_matches_the_reference_implementation(rng, exponent):
    objective, H = built(ns_exponent=exponent, mixture_rate=0.1, **SOME), hidden(rng)
    mixture = objective.estimator.proposal.mixture
    mixture[:] = np.linspace(0.2, 0.8, len(mixture))
    loss, dH, d_output, draws, waiting, parts = naive(objective, H, TARGETS, PREVIOUS, exponent)
    assert {10, 30} <= set(draws), "one batch must suffice for some examples, and others need all"
    assert 0 < len(waiting) < draws.count(30), "some of those must fall back to the exact sum"
    expected = mixture.copy()
    for previous, part in zip(PREVIOUS, parts, strict=True):
        if previous not in (-1, LONELY):
            k = int(np.log2(COUNTS[previous]))
            expected[k] += 0.1 * (part - expected[k])
    check_step(objective, H, TARGETS, in_text(), loss, dH, d_output)
    np.testing.assert_allclose(mixture, expected, rtol=1e-12)
    assert objective.arrays()["is.mixture"] is mixture
    assert objective.arrays()["is.counts"].tolist() == [len(H), len(waiting), sum(draws)]


@pytest.mark.parametrize("exponent", [0.5, 1.0])
def test_is_with_bigrams_matches_the_reference_implementation_and_its_mixture_does_not_change(rng, exponent):
    objective, H = fixed(ns_exponent=exponent, **SOME), hidden(rng)
    mixture = objective.estimator.proposal.mixture.copy()
    loss, dH, d_output, draws, waiting, _ = naive(objective, H, TARGETS, PREVIOUS, exponent)
    assert waiting, "some must fall back to the exact sum"
    check_step(objective, H, TARGETS, in_text(), loss, dH, d_output)
    assert objective.arrays().keys() == {"is.counts"}
    assert objective.arrays()["is.counts"].tolist() == [len(H), len(waiting), sum(draws)]
    np.testing.assert_array_equal(objective.estimator.proposal.mixture, mixture)


def test_the_mixture_weight_of_is_depends_on_the_text_alone():
    """It may be nearer to 1 than one that is learned."""
    objective = fixed(tokens=[2, 8, -1] * 1000)
    for _ in range(2):
        assert objective.estimator.proposal.mixture[2] == pytest.approx(1000 / 1005)
        objective.step(np.eye(WIDTH)[[-1]], np.array([3], np.int32), 0.1, begun(previous=np.array([2], np.int32)))


@pytest.mark.parametrize(("word", "end"), [(8, 0.99), (7, 0.01)])
def test_the_mixture_weight_stays_off_0_and_1(word, end):
    """Word 8 always follows word 2 and has all of P, so λ tends to 1; word 7 never does, so λ tends to 0.

    From either end, it can come back.
    """
    objective = built([2, 8, -1] * 5, samples=50, ess=0.0, cap=50, mixture_rate=1.0)
    objective.output[:, -1] = np.where(np.arange(SIZE) == word, 0.0, -40.0)
    h, work = np.eye(WIDTH)[[-1]], begun(previous=np.array([2], np.int32))
    for _ in range(5):
        objective.step(h, np.array([word], np.int32), 1e-300, work)
    assert objective.estimator.proposal.mixture[int(np.log2(COUNTS[2]))] == pytest.approx(end)
    objective.output[:, -1] = np.where(np.arange(SIZE) == 15 - word, 0.0, -40.0)
    for _ in range(20):
        objective.step(h, np.array([word], np.int32), 1e-300, work)
    assert objective.estimator.proposal.mixture[int(np.log2(COUNTS[2]))] == pytest.approx(1 - end)


def bigram_model(objective, previous, share):
    """Make P(.|h) = share B(.|previous) + (1 - share) / V for h = (0, ..., 0, 1). Return h and P."""
    objective.estimator.proposal.mixture[:] = 1.0
    p = share * q_of(objective, previous)[0] + (1 - share) / SIZE
    objective.estimator.proposal.mixture[:] = 0.5
    objective.output[:, -1] = np.log(p)
    h = np.zeros((1, WIDTH))
    h[0, -1] = 1
    return h, p


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_the_mixture_weight_converges_to_the_smallest_divergence(share):
    """λ of the previous word's class ends where KL(P‖Q) is smallest on a grid; other classes do not change."""
    objective = built(samples=200, ess=0.0, cap=200, mixture_rate=0.02)
    h, p = bigram_model(objective, 2, share)
    H, targets = np.repeat(h, 100, axis=0), np.zeros(100, np.int32)
    work, mixture, place, found = begun(previous=np.full(100, 2, np.int32)), objective.estimator.proposal.mixture, 5, []
    for step in range(120):
        objective.step(H, targets, 1e-300, work)
        if step >= 60:
            found.append(mixture[place])
    rest = mixture[np.arange(len(mixture)) != place].copy()
    grid, divergence = np.linspace(0.01, 0.99, 99), []
    for x in grid:
        mixture[:] = x
        divergence.append((p * np.log(p / q_of(objective, 2)[0])).sum())
    assert np.mean(found) == pytest.approx(grid[np.argmin(divergence)], abs=0.05)
    assert (rest == 0.5).all()


def test_words_are_drawn_by_frequency_if_there_is_no_text(rng):
    objective, H = built([], **SOME), hidden(rng)
    loss, _, _, draws, _, parts = naive(objective, H, TARGETS, np.full(len(H), -1, np.int32))
    assert objective.step(H, TARGETS, 0.01, in_text())[0] == pytest.approx(loss)
    assert sum(draws) == objective.counts[2]
    assert not any(parts)
    assert (objective.estimator.proposal.mixture == 0.5).all()
