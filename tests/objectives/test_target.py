"""Softmax over the words of one part of the corpus, and how the corpus is cut into parts."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import begun, check_same_step, hidden_vectors, problem_of

from w2vtrain import objectives

SIZE, WIDTH = 9, 6
TOKENS = np.array([0, 1, 2, -1, 0, 1, -1, 3, 4, 0, -1, 5, 6, 7, 8, -1, 0, 0, -1], np.int32)
STARTS = np.array([0, 4, 7, 11, 16, 19])


def built(name="target", tokens=TOKENS, starts=STARTS, end=-1, dtype=np.float64, **options):
    counts = np.arange(2 * SIZE, SIZE, -1)
    more = {"dim": WIDTH - 1, "bias": True, "init": 0.7, "dtype": dtype}
    problem = problem_of(counts, tokens=np.asarray(tokens, np.int32), starts=np.asarray(starts), end=end, **more)
    return objectives.objective_class(name).build(problem, **options)


def block(rng, words, size=7):
    return hidden_vectors(rng, size, WIDTH), rng.choice(words, size).astype(np.int32)


def naive_cut(tokens, starts, size, end=-1):
    """Return the parts as sets of words, and the part of each chunk."""
    parts, part_of = [], []
    for first, last in pairwise(starts):
        words = {end if w < 0 else w for w in tokens[first:last]} - {-1}
        if not parts or len(parts[-1] | words) > size:
            parts.append(words)
        else:
            parts[-1] = parts[-1] | words
        part_of.append(len(parts) - 1)
    return parts, part_of


def test_consecutive_chunks_form_parts_of_at_most_size_distinct_words():
    objective = built(size=4)
    assert [p.tolist() for p in objective.parts] == [[0, 1, 2], [0, 3, 4], [5, 6, 7, 8], [0]]
    assert objective.part_of.tolist() == [0, 0, 1, 2, 3]
    alone = built(size=2)
    assert [p.tolist() for p in alone.parts] == [[0, 1, 2], [0, 1], [0, 3, 4], [5, 6, 7, 8], [0]]
    ended = built(size=4, end=8)
    assert [p.tolist() for p in ended.parts] == [[0, 1, 2, 8], [0, 3, 4, 8], [5, 6, 7, 8], [0, 8]]


@given(
    st.lists(st.lists(st.integers(0, SIZE - 1), max_size=12), min_size=1, max_size=12),
    st.integers(2, SIZE),
    st.sampled_from([-1, 0]),
)
def test_parts_match_those_of_the_reference_implementation(chunks, size, end):
    tokens = [w for chunk in chunks for w in [*chunk, -1]]
    starts = np.cumsum([0] + [len(chunk) + 1 for chunk in chunks])
    objective = built(tokens=tokens, starts=starts, end=end, size=size)
    parts, part_of = naive_cut(tokens, starts, size, end)
    assert [set(p.tolist()) for p in objective.parts] == parts
    assert objective.part_of.tolist() == part_of
    assert all((np.diff(p) > 0).all() for p in objective.parts)
    for words, chunk_count in zip(parts, np.bincount(part_of), strict=True):
        assert len(words) <= size or chunk_count == 1


@pytest.mark.parametrize("chunk", [0, 1, 2, 3])
def test_step_is_the_softmax_over_the_words_of_the_part(rng, chunk):
    objective = built(size=4)
    words = objective.parts[objective.part_of[chunk]]
    H, targets = block(rng, words)
    output, old = objective.output, objective.output.copy()
    p = np.exp(H @ output[words].T)
    p /= p.sum(axis=1, keepdims=True)
    g = (targets[:, None] == words) - p
    loss, dH = objective.step(H, targets, 0.05, begun(chunk))
    assert loss == pytest.approx(-np.log(p[targets[:, None] == words]).sum(), rel=1e-12)
    np.testing.assert_allclose(dH, g @ old[words], atol=1e-12)
    expected = old.copy()
    expected[words] += 0.05 * g.T @ H
    np.testing.assert_allclose(output, expected, atol=1e-12)


def test_without_a_text_the_only_part_has_all_words(rng):
    """So a trained model is scored as a softmax."""
    objective, other = built(tokens=[], starts=[], size=SIZE), built("softmax")
    H, targets = block(rng, np.arange(SIZE))
    for chunk in (0, 4):
        check_same_step(objective, other, H, targets, work=partial(begun, chunk))


def test_a_target_from_outside_the_chunk_is_added_to_its_words(rng):
    objective = built(size=4)
    H, targets = block(rng, [0, 1, 8])
    targets[:2] = [1, 8]
    other = built(size=4)
    other.parts[0] = np.array([0, 1, 2, 8], np.int32)
    assert objective.step(H, targets, 0.05, begun())[0] == pytest.approx(other.step(H, targets, 0.05, begun())[0])
    np.testing.assert_allclose(objective.output, other.output, atol=1e-12)
