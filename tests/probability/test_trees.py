"""Trees over the vocabulary: their common properties, those of each kind, and files of paths."""

import gzip
from itertools import pairwise

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from w2vtrain.errors import DataError, InputMissing
from w2vtrain.probability.trees import balanced, clustered, huffman, read_paths, tree_from_file

counts_lists = st.lists(st.integers(1, 10**6), min_size=2, max_size=80).map(lambda c: np.array(sorted(c, reverse=True)))
seeds = st.integers(0, 2**32 - 1)


def from_random_file(counts, rng, folder):
    """Write a tree of random splits, with additional words and nodes that have one child; return the tree read back."""
    words = [f"w{i}" for i in range(len(counts))]
    everything = [*words, *(f"x{i}" for i in range(rng.integers(0, 5)))]
    ready, open_sets = {}, [("", list(rng.permutation(everything)))]
    while open_sets:
        path, these = open_sets.pop()
        if rng.random() < 0.1 or not path:
            path += "01"[rng.integers(2)]
        if len(these) == 1:
            ready[these[0]] = path
            continue
        at = rng.integers(1, len(these))
        open_sets += [(path + "0", these[:at]), (path + "1", these[at:])]
    return tree_from_file(written(folder, ready), words)


def mean_path(tree, counts):
    """Return the mean number of nodes per path, weighted by counts."""
    return np.diff(tree.start) @ counts / counts.sum()


def written(folder, paths):
    file = folder / "tree.txt"
    file.write_text("".join(f"{word} {path}\n" for word, path in paths.items()))
    return file


def changed(counts, rng, folder):
    """Return a tree that has gained words and lost others."""
    more, lost = rng.integers(1, 9, size=2)
    larger = clustered(np.arange(len(counts) + lost, 0, -1), rng.normal(size=(len(counts) + lost, 3))).with_more(more)
    return larger.without_others(rng.permutation(len(counts) + lost + more)[: len(counts)])[0]


MAKERS = {
    "changed": changed,
    "huffman": lambda counts, rng, folder: huffman(counts),
    "balanced": lambda counts, rng, folder: balanced(len(counts)),
    "clustered": lambda counts, rng, folder: clustered(counts, rng.normal(size=(len(counts), 3))),
    "file": from_random_file,
}
every_kind = pytest.mark.parametrize("kind", MAKERS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("trees")


def paths(tree):
    return [
        list(zip(tree.nodes[a:b].tolist(), tree.codes[a:b].tolist(), strict=True))
        for a, b in zip(tree.start[:-1], tree.start[1:], strict=True)
    ]


def codes(tree):
    return ["".join(str(code) for _, code in path) for path in paths(tree)]


def entropy(counts):
    p = counts / counts.sum()
    return -(p * np.log2(p)).sum()


@every_kind
@given(counts=counts_lists, seed=seeds)
def test_every_kind_of_tree_is_a_full_binary_tree(kind, folder, counts, seed):
    """Every word is a different leaf, no path continues another, and every inner node has two children."""
    tree = MAKERS[kind](counts, np.random.default_rng(seed), folder)
    assert (tree.start.dtype, tree.nodes.dtype, tree.codes.dtype) == (np.int64, np.int32, np.uint8)
    found, V = paths(tree), len(counts)
    ranked = sorted(codes(tree))
    assert not any(b.startswith(a) for a, b in pairwise(ranked)), "a path continues beyond a leaf"
    assert sum(2.0 ** -len(path) for path in found) == pytest.approx(1)
    child = {}
    for word, path in enumerate(found):
        assert path[0][0] == V - 2, "the root is the last inner node"
        assert all(a[0] > b[0] for a, b in pairwise(path)), "node numbers decrease along a path"
        ends = [node for node, _ in path[1:]] + [("leaf", word)]
        for (node, code), end in zip(path, ends, strict=True):
            assert child.setdefault((node, code), end) == end, "two words disagree about the tree"
    assert {node for node, _ in child} == set(range(V - 1)), "V-1 inner nodes"
    assert len(child) == 2 * (V - 1)


@every_kind
@given(counts=counts_lists, seed=seeds)
def test_following_links_up_to_the_root_gives_each_path(kind, folder, counts, seed):
    tree, V = MAKERS[kind](counts, np.random.default_rng(seed), folder), len(counts)
    parent, code = tree.links()
    for word, path in enumerate(paths(tree)):
        node, back = word, []
        while node != 2 * V - 2:
            back.append((parent[node] - V, code[node]))
            node = parent[node]
        assert back[::-1] == path


@pytest.mark.parametrize("kind", ["balanced", "clustered", "file"])
def test_nodes_near_the_root_have_neighboring_numbers(kind, folder, rng):
    """Nodes are numbered level by level from V-2 down, so that the most used rows share pages."""
    tree = MAKERS[kind](np.arange(90, 30, -1), rng, folder)
    depth = {node: i for path in paths(tree) for i, (node, _) in enumerate(path)}
    assert [depth[node] for node in range(58, -1, -1)] == sorted(depth.values())


# Huffman's tree


@given(counts_lists)
def test_huffman_tree_has_minimal_cost(counts):
    lengths = np.diff(huffman(counts).start)
    assert lengths @ counts == np.array(reference.huffman_lengths(counts)) @ counts


@given(counts_lists)
def test_mean_huffman_path_is_within_one_bit_of_the_entropy(counts):
    """H <= mean path < H + 1, and the mean path is never longer than the balanced tree's."""
    mean = mean_path(huffman(counts), counts)
    assert entropy(counts) - 1e-9 <= mean < entropy(counts) + 1
    assert mean <= mean_path(balanced(len(counts)), counts) + 1e-9


def test_huffman_codes_agree_with_word2vec_c():
    """Worked out by hand: 5 3 2 1 -> lengths 1 2 3 3. The smaller child has code 0; on a tie, the inner node has."""
    tree = huffman(np.array([5, 3, 2, 1]))
    assert paths(tree) == [[(2, 0)], [(2, 1), (1, 1)], [(2, 1), (1, 0), (0, 1)], [(2, 1), (1, 0), (0, 0)]]


@pytest.mark.parametrize("counts", [[3], [1, 2]])
def test_huffman_rejects_a_single_word_and_unsorted_counts(counts):
    with pytest.raises(ValueError, match="descending"):
        huffman(np.array(counts))


def test_a_tree_of_one_word_is_rejected(folder):
    for make in (lambda: balanced(1), lambda: clustered(np.ones(1), np.ones((1, 2)))):
        with pytest.raises(ValueError, match="two words"):
            make()
    with pytest.raises(ValueError, match="two words"):
        tree_from_file(written(folder, {"a": "0", "b": "1"}), ["a"])


# The balanced tree


@given(st.integers(2, 3000))
def test_balanced_paths_have_the_two_lengths_next_to_log2_v(size):
    """Paths have ceil(log2 V) nodes or one fewer; the first words, which are frequent, have the short ones."""
    lengths = np.diff(balanced(size).start)
    longest = (size - 1).bit_length()
    assert lengths.max() == longest
    assert lengths.min() >= longest - 1
    assert np.all(np.diff(lengths) >= 0)


def test_balanced_depth_of_ten_thousand_words_is_13_bits():
    """log2 V = 13.3; the mean over equally frequent words is at most 0.0861 more."""
    mean = mean_path(balanced(10_000), np.ones(10_000))
    assert np.log2(10_000) <= mean <= np.log2(10_000) + 0.0861


# The clustered tree


def test_well_separated_clusters_are_split_at_the_root(rng):
    """A random axis would mix them: along it, their distance of 12 is only 0.8, with noise of 1."""
    side = rng.permutation(np.repeat([0, 1], 50))
    vectors = rng.normal(size=(100, 200)) + 12 * side[:, None] * np.eye(200)[3]
    tree = clustered(np.full(100, 7), vectors)
    assert len({(s, c[0]) for s, c in zip(side.tolist(), codes(tree), strict=True)}) == 2


def test_nested_clusters_are_split_at_the_next_nodes(rng):
    """Of four clusters in two pairs, none is split before all are separated."""
    group = rng.permutation(np.repeat(np.arange(4), 16))
    centers = np.array([[50, 9, 0], [50, -9, 0], [-50, 0, 9], [-50, 0, -9]])
    tree = clustered(np.full(64, 7), centers[group] + rng.normal(size=(64, 3)))
    assert len({(g, c[:2]) for g, c in zip(group.tolist(), codes(tree), strict=True)}) == 4
    assert len({(g // 2, c[0]) for g, c in zip(group.tolist(), codes(tree), strict=True)}) == 2


def test_main_axis_is_weighted_by_counts():
    """A rare word far away does not turn the axis along which the frequent words lie."""
    counts = np.array([100, 100, 100, 100, 1])
    vectors = np.array([[-3, 0.1], [-2, -0.1], [2, 0.1], [3, -0.1], [0, 20]])
    found = codes(clustered(counts, vectors))
    assert found[0][0] == found[1][0] != found[2][0] == found[3][0]
    assert {found[0][0], found[2][0]} == {"0", "1"}


@given(counts_lists, seeds, st.sampled_from([0.0, 1e-20, 1.0, 1e20]))
def test_clustered_tree_gives_frequent_words_short_paths(counts, seed, scale):
    """H <= mean path <= H / h(1/4) + 1 for any vectors, where h is the binary entropy.

    If no word has half of the counts, a split leaves at least a quarter on each side and so decides at least h(1/4)
    bits. Splitting off a word with a fraction g >= 1/2 wastes 1 - h(g) <= g bits, once per word.
    """
    vectors = np.random.default_rng(seed).normal(size=(len(counts), 3)) * scale
    mean = mean_path(clustered(counts, vectors), counts)
    bits = entropy(counts)
    assert bits - 1e-9 <= mean <= bits / 0.8112781 + 1 + 1e-9


def test_equal_vectors_are_split_by_counts():
    """Without a main axis, words keep their order, which gives Fano's code."""
    tree = clustered(np.array([4, 4, 2, 2, 2, 2]), np.full((6, 5), 0.3))
    assert codes(tree) == ["00", "01", "100", "101", "110", "111"]


def test_words_with_zero_counts_are_split_into_halves():
    tree = clustered(np.zeros(1024, np.int64), np.zeros((1024, 2)))
    assert np.diff(tree.start).max() == 10


def test_clustered_tree_is_deterministic(rng):
    vectors, counts = rng.normal(size=(300, 6)), np.arange(300, 0, -1)
    for a, b in zip(clustered(counts, vectors), clustered(counts, vectors.copy()), strict=True):
        np.testing.assert_array_equal(a, b)


# Files


@pytest.mark.parametrize("kind", ["balanced", "clustered"])
def test_tree_written_to_a_file_is_read_back_unchanged(kind, tmp_path, rng):
    words = [f"wört{i}\u00a0" for i in range(77)]
    tree = MAKERS[kind](np.arange(77, 0, -1), rng, tmp_path)
    lines = [f"{word} {code}" for word, code in zip(words, codes(tree), strict=True)]
    file = tmp_path / "tree.txt"
    for data in (
        "\n".join(lines).encode(),
        b"\xef\xbb\xbf" + "\r\n\r\n".join(reversed(lines)).encode(),
        gzip.compress("\n".join(lines).replace(" ", " \t").encode()),
    ):
        file.write_bytes(data)
        for a, b in zip(tree, tree_from_file(file, words), strict=True):
            np.testing.assert_array_equal(a, b)


def test_words_outside_the_vocabulary_are_removed_from_the_tree(tmp_path):
    """Nodes left with one child are removed, too, including those of a file whose tree is incomplete."""
    file = written(tmp_path, {"a": "00", "x": "010", "y": "0110", "b": "0111", "c": "101", "d": "1000"})
    assert codes(tree_from_file(file, ["a", "b", "c", "d"])) == ["00", "01", "11", "10"]
    assert codes(tree_from_file(file, ["d", "b"])) == ["1", "0"]


def test_deep_trees_need_no_recursion(tmp_path):
    """Read a path of 3,000 nodes from a file, and build Huffman's tree for counts that double."""
    depth = 3000
    comb = {f"w{i}": "1" * i + "0" for i in range(depth)} | {"end": "1" * depth}
    tree = tree_from_file(written(tmp_path, comb), list(comb))
    np.testing.assert_array_equal(np.diff(tree.start), [*range(1, depth + 1), depth])
    assert np.diff(huffman(2 ** np.arange(60, -1, -1)).start).max() == 60


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"a 0\nb\n", 2, "expected a word, a space and its path"),
        (b"a 0\nb 1" + b"1" * (1 << 20), 2, "the line has more than 1,048,576 bytes"),
        (b"a 0\nb 1 0\n", 2, "expected a word, a space and its path"),
        (b"a 0\n\nb 12\n", 3, r"such as 'house 0110', got b'b 12'"),
        (b"a 0\nb \xd9\xa1\n", 2, "expected a word"),
        (b"a 0\nb\xff 1\n", 2, "not UTF-8 at byte 1 of the word: save the file as UTF-8"),
        (b"a 0\nb 10\na 11\n", 3, "word 'a' already has a path on line 1: delete one"),
        (b"a 01\nb 1\nc 0\n", 1, "path 01 of 'a' starts with 0, the path of 'c' on line 3: .* so change one"),
        (b"a 01\nb 1\nc 01\n", 3, "path 01 of 'c' starts with 01, the path of 'a' on line 1"),
    ],
)
def test_invalid_line_raises_an_error_with_its_number(tmp_path, data, line, message):
    file = tmp_path / "tree.txt"
    file.write_bytes(data)
    for read in (read_paths, lambda path: tree_from_file(path, ["a", "b"])):
        with pytest.raises(DataError, match=message) as caught:
            read(file)
        assert str(caught.value).startswith(f"{file}:{line}: ")


def test_error_names_the_words_without_a_path(tmp_path):
    file = written(tmp_path, {"a": "0", "b": "1"})
    with pytest.raises(DataError, match=r"tree\.txt: no path for 'c' of the vocabulary: add a line"):
        tree_from_file(file, ["a", "c", "b"])
    with pytest.raises(DataError, match=r"no path for 'c' and 2 other words of the vocabulary"):
        tree_from_file(file, ["a", "c", "d", "e"])


def test_empty_or_missing_file_raises_an_error(tmp_path):
    (tmp_path / "empty").write_text("\n \n")
    with pytest.raises(DataError, match="empty: expected lines"):
        read_paths(tmp_path / "empty")
    with pytest.raises(InputMissing):
        read_paths(tmp_path / "nothing")
