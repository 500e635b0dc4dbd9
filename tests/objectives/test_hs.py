"""Hierarchical softmax: the tree that its options select, and the scores of a trained model."""

import sys

import forked
import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from reference import COUNTS, problem_of

from w2vtrain import objectives
from w2vtrain.errors import ConfigError, DataError, InputMissing
from w2vtrain.formats.vectors import write_vectors
from w2vtrain.objectives import hs
from w2vtrain.probability import dense
from w2vtrain.probability.trees import Tree, balanced, clustered, huffman, tree_from_file

PROBLEM = problem_of(COUNTS)
build = hs.Hierarchical.build


def of_hs(given):
    """Return all options."""
    return objectives.checked_options("hs", given)


@pytest.fixture
def tree_file(tmp_path):
    file = tmp_path / "paths.txt"
    comb = ["1" * i + "0" for i in range(len(COUNTS) - 1)] + ["1" * (len(COUNTS) - 1)]
    file.write_text("".join(f"{word} {path}\n" for word, path in zip(PROBLEM.words, comb, strict=True)))
    return str(file)


def vector_file(tmp_path, words, rng, name="vectors.bin"):
    matrix = rng.normal(size=(len(words), 5)).astype(np.float32)
    write_vectors(tmp_path / name, words, matrix)
    return str(tmp_path / name), matrix


def same(objective, tree):
    return all(np.array_equal(a, b) for a, b in zip(objective.arrays().values(), tree, strict=True))


def naive_log_probs(tree, output, h):
    """Return log P of all words for one hidden vector, computed node by node."""
    found = []
    for first, last in zip(tree.start[:-1], tree.start[1:], strict=True):
        turns = zip(tree.nodes[first:last], tree.codes[first:last], strict=True)
        found.append(-sum(reference.softplus((2.0 * code - 1) * (output[node] @ h)) for node, code in turns))
    return np.array(found)


# Options


def test_options_select_the_tree(tmp_path, tree_file, rng):
    assert objectives.option_defaults("hs") == {"tree": "huffman", "vectors": ""}
    file, matrix = vector_file(tmp_path, PROBLEM.words[::-1], rng)
    assert same(build(PROBLEM), huffman(COUNTS))
    assert same(build(PROBLEM, tree="balanced"), balanced(len(COUNTS)))
    assert same(build(PROBLEM, tree="cluster", vectors=file), clustered(COUNTS, matrix[::-1]))
    assert same(build(PROBLEM, tree=tree_file), tree_from_file(tree_file, PROBLEM.words))
    assert build(PROBLEM, tree=tree_file).candidate_limit == len(COUNTS) - 1


@pytest.mark.parametrize(
    "use",
    [lambda options: objectives.build("hs", PROBLEM, options), lambda options: hs.Hierarchical.check(of_hs(options))],
    ids=["build", "check"],
)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tree": "cluster"}, "tree cluster needs a file of word vectors: add options={'vectors': FILE}"),
        ({"vectors": "v.bin"}, "only tree cluster uses vectors, not huffman"),
        ({"tree": "tree.txt", "vectors": "v.bin"}, "only tree cluster uses vectors, not tree.txt"),
        ({"tree": ""}, "option tree of objective hs: expected huffman, balanced, cluster or a file name"),
    ],
)
def test_contradictory_options_are_rejected(use, options, message):
    with pytest.raises(ConfigError, match=message):
        use(options)


def test_check_files_reads_the_files_without_a_vocabulary(tmp_path, tree_file, rng):
    """Errors are found before the corpus is read, except for words that are missing from a file."""
    check = hs.Hierarchical.check_files
    file, _ = vector_file(tmp_path, ["other", "words"], rng)
    for good in ({}, {"tree": "balanced"}, {"tree": tree_file}, {"tree": "cluster", "vectors": file}):
        check(of_hs(good))
    with pytest.raises(InputMissing, match=r"hufman.*option tree of objective hs: huffman, balanced, cluster or a"):
        check(of_hs({"tree": "hufman"}))
    with pytest.raises(InputMissing, match=r"none\.bin"):
        check(of_hs({"tree": "cluster", "vectors": str(tmp_path / "none.bin")}))
    (tmp_path / "bad.txt").write_text("a 0\nb 2\n")
    with pytest.raises(DataError, match=r"bad\.txt:2: expected a word"):
        check(of_hs({"tree": str(tmp_path / "bad.txt")}))
    with pytest.raises(DataError, match=r"paths\.txt is .*(vectors|numbers)"):
        check(of_hs({"tree": "cluster", "vectors": tree_file}))


def test_check_opens_no_file(tmp_path):
    for options in ({"tree": str(tmp_path / "none.txt")}, {"tree": "cluster", "vectors": str(tmp_path / "none.bin")}):
        hs.Hierarchical.check(of_hs(options))
        with pytest.raises(InputMissing):
            hs.Hierarchical.check_files(of_hs(options))


def test_missing_vectors_are_zeros_unless_more_than_half_are_missing(tmp_path, rng):
    problem = problem_of(np.arange(10, 0, -1))
    file, matrix = vector_file(tmp_path, ["zz", *problem.words[5:]], rng)
    np.testing.assert_array_equal(hs.vectors_of(problem.words, file), np.vstack([np.zeros((5, 5)), matrix[1:]]))
    assert len(build(problem, tree="cluster", vectors=file).start) == 11
    file, _ = vector_file(tmp_path, ["zz", *problem.words[6:]], rng, "fewer.bin")
    with pytest.raises(DataError, match=r"fewer\.bin: no vectors for 6 of the 10 words of the vocabulary, such as 'a'"):
        build(problem, tree="cluster", vectors=file)


# Scores


@pytest.fixture(params=["huffman", "balanced", "cluster", "file"])
def tree(request, rng, tree_file):
    if request.param == "file":
        return tree_from_file(tree_file, PROBLEM.words)
    vectors = rng.normal(size=(len(COUNTS), 4))
    return {"huffman": huffman(COUNTS), "balanced": balanced(11), "cluster": clustered(COUNTS, vectors)}[request.param]


def test_candidates_are_the_nodes_of_the_path(tree):
    """A label is 1 where the path takes the turn 0. No random numbers are drawn."""
    sentence = [*range(len(COUNTS)), *range(len(COUNTS))]  # long enough for paths to be prefetched
    for position, word in enumerate(sentence):
        path = slice(tree.start[word], tree.start[word + 1])
        expected = zip(tree.nodes[path], 1 - tree.codes[path].astype(int), strict=True)
        found = reference.candidates_of(hs.Hierarchical.with_tree(tree), sentence, position, None)
        assert found == [(node, label, 0) for node, label in expected]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_match_the_naive_loop(rng, tree, dtype):
    objective = hs.Hierarchical.with_tree(tree)
    output = rng.normal(size=(10, 6)).astype(dtype)
    H, targets = rng.normal(size=(33, 6)).astype(dtype) * 2, rng.integers(0, 11, 33).astype(np.int32)
    scorer = hs.Hierarchical.scorer(PROBLEM, {}, output, objective.arrays())
    expected = np.array([naive_log_probs(tree, output, h) for h in H])
    near = {"atol": 1e-5 if dtype is np.float32 else 1e-12, "rtol": 1e-6 if dtype is np.float32 else 1e-13}
    of_targets, of_all = scorer.log_prob(H, targets), scorer.log_probs(H)
    assert of_targets.dtype == of_all.dtype == dtype
    np.testing.assert_allclose(of_all, expected, **near)
    np.testing.assert_allclose(of_targets, expected[np.arange(33), targets], **near)
    s, log_z = scorer.scores(H, targets)
    np.testing.assert_array_equal(s, of_targets)
    np.testing.assert_array_equal(log_z, np.zeros(33))


@given(st.integers(2, 200), st.sampled_from([0.0, 1.0, 30.0]), st.integers(0, 2**32 - 1))
def test_probabilities_sum_to_1(size, scale, seed):
    """The probabilities that perplexity is computed from sum to 1 within 1e-12 in float64."""
    rng = np.random.default_rng(seed)
    counts = np.sort(rng.integers(1, 1000, size))[::-1]
    output, H = rng.normal(size=(size - 1, 4)) * scale, rng.normal(size=(3, 4))
    for tree in (huffman(counts), balanced(size), clustered(counts, rng.normal(size=(size, 2)))):
        np.testing.assert_allclose(np.exp(hs.TreeScorer(tree, output).log_probs(H)).sum(axis=1), 1, atol=1e-12)


def test_log_probabilities_of_certain_and_impossible_words_are_finite():
    output, H = np.array([[1.0], [1.0]]), np.array([[800.0], [-800.0]])
    scorer = hs.TreeScorer(huffman(np.array([3, 2, 1])), output)
    for found in (scorer.log_probs(H), scorer.log_probs(H.astype(np.float32))):
        assert np.isfinite(found).all()
        assert found.max() == 0
        assert found.min() <= -800
    assert scorer.log_prob(H, np.array([0, 0], np.int32)).tolist() == scorer.log_probs(H)[:, 0].tolist()


def test_scores_do_not_depend_on_the_size_of_the_blocks(rng, monkeypatch):
    scorer = hs.TreeScorer(huffman(COUNTS), rng.normal(size=(10, 4)))
    H = rng.normal(size=(50, 4))
    whole = scorer.log_probs(H)
    monkeypatch.setattr(hs, "LOGITS_AT_ONCE", 80)
    assert dense.LOGITS_AT_ONCE > 550, "the first call must not have been split into blocks"
    np.testing.assert_allclose(scorer.log_probs(H), whole, rtol=1e-12)


def test_output_and_hidden_vectors_may_be_strided_views(rng):
    wide, H = rng.normal(size=(10, 16)), rng.normal(size=(5, 12))
    targets = np.arange(5)
    a = hs.TreeScorer(huffman(COUNTS), wide[:, :6]).log_prob(H[:, ::2], targets)
    b = hs.TreeScorer(huffman(COUNTS), wide[:, :6].copy()).log_prob(H[:, ::2].copy(), targets)
    np.testing.assert_allclose(a, b, rtol=1e-12)  # compiled for each layout, so that sums may round differently


DAMAGED = {
    "start-short": lambda t: t._replace(start=t.start[:-1]),
    "start-shifted": lambda t: t._replace(start=t.start + 1),
    "start-reversed": lambda t: t._replace(start=t.start[::-1].copy()),
    "nodes-above": lambda t: t._replace(nodes=t.nodes + 1),
    "nodes-below": lambda t: t._replace(nodes=t.nodes - 1),
    "node-negative": lambda t: t._replace(nodes=np.where(np.arange(len(t.nodes)) == t.start[3] - 1, -1, t.nodes)),
    "nodes-mirrored": lambda t: t._replace(nodes=9 - t.nodes),
    "nodes-short": lambda t: t._replace(nodes=t.nodes[:-1]),
    "node-repeated": lambda t: t._replace(nodes=np.where(t.nodes == 3, 4, t.nodes)),
    "codes-short": lambda t: t._replace(codes=t.codes[:-1]),
    "fewer-words": lambda t: Tree(*huffman(COUNTS[:-1])),
}
"""Changes of a tree, by what is wrong with it."""


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_damaged_trees_are_rejected_before_a_kernel_follows_them(damage):
    tree = damage(huffman(COUNTS))
    arrays = {f"tree.{name}": array for name, array in tree._asdict().items()}
    with pytest.raises(DataError, match="tree does not fit"):
        hs.Hierarchical.scorer(PROBLEM, {}, np.zeros((10, 3)), arrays)


def test_tree_option_selects_the_tree_and_a_missing_file_is_reported(tmp_path):
    """`--tree` is an alias of an option of hs. An unknown tree is reported in one line."""
    text = tmp_path / "text.txt"
    text.write_text("a b c d e f g h\n" * 50)
    command = [sys.executable, "-m", "w2vtrain", "fit", text, "-o", tmp_path / "v.txt", "--objective", "hs"]
    done = forked.run([*command, "--tree", "balanced"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "hs (tree balanced" in done.stderr
    done = forked.run([*command, "--tree", "oak", "--force"], capture_output=True, text=True, check=False)
    assert done.returncode in (66, 78)
    assert "oak" in done.stderr
    assert len(done.stderr.splitlines()) == 1
