"""Binary paths that follow a taxonomy."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from w2vtrain.probability.trees import huffman, taxonomy_paths, tree_from_file

chains_and_counts = st.lists(
    st.tuples(st.lists(st.integers(0, 2), max_size=5), st.one_of(st.integers(0, 1000), st.just(2**63 - 1))),
    min_size=2,
    max_size=40,
)


def lengths(paths):
    return [len(path) for path in paths]


@given(chains_and_counts)
def test_paths_are_those_of_a_full_binary_tree(items):
    """No path starts with another, and every turn has an alternative: the sum of 2^-length is 1."""
    chains, counts = [chain for chain, _ in items], np.array([count for _, count in items], np.int64)
    paths = taxonomy_paths(chains, counts)
    assert all(set(path) <= {"0", "1"} for path in paths)
    assert not any(b.startswith(a) for a, b in pairwise(sorted(paths)))
    assert sum(2.0 ** -len(path) for path in paths) == pytest.approx(1)


@given(chains_and_counts)
def test_words_below_a_node_share_their_paths_to_it(items):
    """The words with the same beginning of a chain are exactly the words with some beginning of a path."""
    chains = [tuple(chain) for chain, _ in items]
    paths = taxonomy_paths(chains, np.array([min(count, 10**6) for _, count in items]))
    for start in {chain[:n] for chain in chains for n in range(1, len(chain) + 1)}:
        inside = [path for chain, path in zip(chains, paths, strict=True) if chain[: len(start)] == start]
        if len(inside) > 1:
            first, last = min(inside), max(inside)
            common = next(i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
            assert sum(path.startswith(first[:common]) for path in paths) == len(inside)


def test_children_are_divided_by_counts():
    """Worked out by hand: three animals, a plant, and a word directly below the root."""
    chains = [["animal"], ["animal"], ["animal"], ["plant"], []]
    assert lengths(taxonomy_paths(chains, np.array([40, 3, 2, 2, 6]))) == [2, 3, 3, 2, 2]
    *animals, plant, word = lengths(taxonomy_paths(chains, np.array([1, 1, 1, 2, 9])))
    assert (sorted(animals), plant, word) == ([3, 4, 4], 2, 1)


def test_a_flat_taxonomy_is_huffmans_tree(tmp_path):
    counts = np.array([50, 30, 9, 8, 8, 3, 1])
    tree = huffman(counts)
    paths = taxonomy_paths([["all"]] * 7, counts)
    assert lengths(paths) == np.diff(tree.start).tolist()
    words = [f"w{i}" for i in range(7)]
    file = tmp_path / "tree.txt"
    file.write_text("".join(f"{word} {path}\n" for word, path in zip(words, paths, strict=True)))
    assert np.diff(tree_from_file(file, words).start).tolist() == lengths(paths)


def test_the_order_of_words_does_not_matter_for_lengths(rng):
    chains = [[int(a), int(b)] for a, b in rng.integers(0, 4, (60, 2))]
    counts = rng.permutation(np.arange(1, 61) ** 2)
    order = rng.permutation(60)
    here = taxonomy_paths(chains, counts)
    there = taxonomy_paths([chains[i] for i in order], counts[order])
    assert np.dot(lengths(there), counts[order]) == np.dot(lengths(here), counts)


def test_deep_chains_need_no_recursion():
    paths = taxonomy_paths([list(range(n)) for n in range(1, 1500)], np.ones(1499, np.int64))
    assert max(map(len, paths)) == 1498


def test_one_word_is_rejected():
    with pytest.raises(ValueError, match="two words"):
        taxonomy_paths([[1]], np.array([3]))
