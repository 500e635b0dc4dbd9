"""Noise-contrastive estimation with bigram noise: its draws, its shifts, and its ties to nce."""

from itertools import pairwise

import numpy as np
import pytest
from reference import COUNTS, candidates_of, problem_of
from scipy import stats

from w2vtrain import objectives
from w2vtrain.probability.random_streams import draw_alias, draw_below

SIZE = 11
LONELY = 9


@pytest.fixture(scope="module")
def text():
    """Return a text in which no word follows LONELY."""
    rng = np.random.default_rng(3)
    tokens = rng.choice(SIZE, 400, p=COUNTS / COUNTS.sum()).astype(np.int32)
    tokens[::17] = -1
    tokens[1:][tokens[:-1] == LONELY] = -1
    return tokens


def built(text, counts=COUNTS, **options):
    problem = problem_of(counts, bias=True, tokens=text)
    return objectives.objective_class("bigram-nce").build(problem, **options)


def drawn(objective, sentence, position, state):
    """Return the candidates as rows, labels and shifts, and the state of the stream after them."""
    rng = np.array([state, state], np.uint64)
    found = candidates_of(objective, sentence, position, rng)
    assert len(found) == objective.candidate_limit
    rows, labels, shifts = (np.array(part) for part in zip(*found, strict=True))
    return rows, labels, shifts, int(rng[0])


@pytest.mark.parametrize("options", [{}, {"negative": 1, "bigrams": 0}, {"negative": 7, "bigrams": 6}])
@pytest.mark.parametrize("previous", [0, 4, 10, LONELY, None])
def test_candidates_are_the_target_then_followers_of_the_previous_word_then_other_words(text, options, previous):
    """The shifts are the logarithms of how often each word is expected among the noise words."""
    objective = built(text, **options)
    after = sorted(b for a, b in pairwise(text.tolist()) if a == previous and b >= 0)
    m, k = objective.bigrams if after else 0, objective.negative
    noise = (k - m) * COUNTS / COUNTS.sum() + m * np.bincount(after, minlength=SIZE) / max(1, len(after))
    for target in range(0, SIZE, 3):
        sentence = [target] if previous is None else [5, previous, target]
        rows, labels, shifts, state = drawn(objective, sentence, len(sentence) - 1, 77 + target)
        rng = np.array([77 + target], np.uint64)
        followers = [after[draw_below(rng, len(after))] for _ in range(m)]
        others = [draw_alias(rng, objective.accept, objective.alias) for _ in range(k - m)]
        assert rows.tolist() == [target, *followers, *others]
        assert labels.tolist() == [1, *[0] * k]
        np.testing.assert_allclose(shifts, np.log(noise[rows]), atol=1e-5)
        assert state == rng[0]


@pytest.mark.parametrize("previous", [0, 6, LONELY])
def test_words_are_drawn_as_often_as_the_shifts_say(text, previous):
    """exp(shift) is the expected number of draws of a word among the k: chi-squared against the draws themselves."""
    objective = built(text, negative=50, bigrams=20)
    seen, rounds, expected = np.zeros(SIZE), 200, {}
    for k in range(rounds):
        rows, _, shifts, _ = drawn(objective, [previous, k % SIZE], 1, 1000 * k)
        seen += np.bincount(rows[1:], minlength=SIZE)
        expected |= dict(zip(rows.tolist(), np.exp(shifts.astype(np.float64)).tolist(), strict=True))
    noise = np.array([expected[v] for v in range(SIZE)])
    assert noise.sum() == pytest.approx(50, rel=1e-5)
    assert stats.chisquare(seen, seen.sum() * noise / noise.sum()).pvalue > 1e-3


def test_the_expected_coefficients_are_zero_where_the_scores_are_the_log_probabilities(text, rng):
    """That is what makes it an estimator of P(v|h), whatever the noise: summed over targets from P and their noise."""
    objective, p = built(text, negative=12, bigrams=5), rng.dirichlet(np.ones(SIZE))
    total, size, rounds = np.zeros(SIZE), np.zeros(SIZE), 3000
    for k, target in enumerate(rng.choice(SIZE, rounds, p=p)):
        rows, labels, shifts, _ = drawn(objective, [2, target], 1, 1000 * k)
        g = labels - 1 / (1 + np.exp(shifts - np.log(p[rows])))
        np.add.at(total, rows, g)
        np.add.at(size, rows, g**2)
    assert np.all(np.abs(total) < 4 * np.sqrt(size))
    assert np.all(size > 1)


def test_without_bigrams_it_is_nce(text, rng):
    """The draws, shifts, coefficients and the loss are the same."""
    plain = objectives.objective_class("nce").build(problem_of(COUNTS), negative=8, ns_exponent=0.75)
    for objective in (built(text, negative=8, bigrams=0, ns_exponent=0.75), built([], negative=8, ns_exponent=0.75)):
        for a, b in zip(drawn(objective, [3, 1], 1, 5), drawn(plain, [3, 1], 1, 5), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)
    assert [drawn(built(text, negative=8), [3, 1], 1, 5)[k].tolist() for k in range(2)] != [
        drawn(plain, [3, 1], 1, 5)[k].tolist() for k in range(2)
    ]


def test_the_end_of_a_sentence_is_a_previous_word(text):
    """With sentence ends, the noise for the first word of a sentence is the words that begin sentences."""
    problem = problem_of(COUNTS, tokens=text, end=LONELY)
    objective = objectives.objective_class("bigram-nce").build(problem, negative=40, bigrams=39)
    firsts = text[1:][(text[:-1] < 0) & (text[1:] >= 0)]
    rows, *_ = drawn(objective, [LONELY, LONELY, 3], 2, 1)
    assert set(rows[1:40].tolist()) <= {*firsts.tolist(), LONELY}


def test_two_words_and_a_text_without_pairs():
    objective = built([0, -1, 1, -1], np.array([3, 1]), negative=4, bigrams=2)
    rows, _, shifts, _ = drawn(objective, [0, 1], 1, 3)
    np.testing.assert_allclose(np.exp(shifts), np.where(rows == 0, 3.0, 1.0), rtol=1e-5)
