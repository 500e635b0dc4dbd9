import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from w2vtrain.trees import huffman

counts_lists = st.lists(st.integers(1, 10**6), min_size=2, max_size=80).map(lambda c: np.array(sorted(c, reverse=True)))


def paths(tree):
    return [
        list(zip(tree.nodes[a:b].tolist(), tree.codes[a:b].tolist(), strict=True))
        for a, b in zip(tree.start[:-1], tree.start[1:], strict=True)
    ]


@given(counts_lists)
def test_is_a_tree_of_minimal_cost(counts):
    tree = huffman(counts)
    found = paths(tree)
    lengths = np.diff(tree.start)
    assert lengths @ counts == np.array(reference.huffman_lengths(counts)) @ counts
    assert len({tuple(code for _, code in path) for path in found}) == len(counts), "codes are not different"
    assert sum(2.0 ** -len(path) for path in found) == pytest.approx(1)
    for path in found:
        assert path[0][0] == len(counts) - 2, "the root is the last inner node"
    child = {}
    for word, path in enumerate(found):
        ends = [node for node, _ in path[1:]] + [("leaf", word)]
        for (node, code), end in zip(path, ends, strict=True):
            assert child.setdefault((node, code), end) == end, "two words disagree about the tree"
    assert tree.nodes.min() == 0
    assert tree.nodes.max() == len(counts) - 2


@given(counts_lists, st.integers(0, 2**32 - 1))
def test_probabilities_sum_to_one(counts, seed):
    """Identity 3: P(w) = the product of sigma(+-o.h) along the path, for any vectors."""
    tree = huffman(counts)
    scores = np.random.default_rng(seed).normal(size=len(counts) - 1) * 3
    total = 0.0
    for path in paths(tree):
        total += np.prod([reference.sigmoid((1 - 2 * code) * scores[node]) for node, code in path])
    assert total == pytest.approx(1, abs=1e-12)


@given(counts_lists)
def test_mean_path_is_within_a_bit_of_the_entropy(counts):
    """Identity 3: H <= mean path < H + 1, and never longer than the balanced tree."""
    tree = huffman(counts)
    p = counts / counts.sum()
    entropy = -(p * np.log2(p)).sum()
    assert entropy - 1e-9 <= tree.mean_path(counts) < entropy + 1
    assert tree.mean_path(counts) <= np.ceil(np.log2(len(counts))) + 1e-9


def test_codes_are_word2vecs():
    """A tree worked out by hand: 5 3 2 1 -> lengths 1 2 3 3; the smaller child is 0, of equal ones the inner node."""
    tree = huffman(np.array([5, 3, 2, 1]))
    assert paths(tree) == [[(2, 0)], [(2, 1), (1, 1)], [(2, 1), (1, 0), (0, 1)], [(2, 1), (1, 0), (0, 0)]]


@pytest.mark.parametrize("counts", [[3], [1, 2]])
def test_refuses_what_is_no_sorted_vocabulary(counts):
    with pytest.raises(ValueError, match="descending"):
        huffman(np.array(counts))
