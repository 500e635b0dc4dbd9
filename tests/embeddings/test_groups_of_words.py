"""Outlier detection and categories, against references that follow the definitions, and errors in their files."""

from contextlib import suppress
from itertools import permutations

import numpy as np
import pytest
from word_vectors import put, vectors_of

from w2vtrain.embeddings.categories import evaluate_categories, spherical_kmeans
from w2vtrain.embeddings.intervals import grouped_interval, wilson_interval
from w2vtrain.embeddings.outliers import evaluate_outliers, outlier_positions
from w2vtrain.errors import DataError, InputMissing, NoKnownWords


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def position(words, outlier):
    """Return the outlier's position by the definition: words in ascending order of the compactness without them."""
    everything = [*words, outlier]

    def compactness(left_out):
        rest = [row for i, row in enumerate(everything) if i != left_out]
        return np.mean([cosine(a, b) for a, b in permutations(rest, 2)])

    scores = [compactness(i) for i in range(len(everything))]
    return sum(score < scores[-1] for score in scores[:-1])


def test_outlier_positions_follow_the_definition_of_the_paper(rng):
    for _ in range(5):
        words, outliers = rng.standard_normal((6, 4)) + 0.7, rng.standard_normal((5, 4))
        found, compactness = outlier_positions(words, outliers)
        assert found.tolist() == [position(words, outlier) for outlier in outliers]
        assert compactness == pytest.approx(np.mean([cosine(a, b) for a, b in permutations(words, 2)]))


def test_outliers_of_a_folder_of_topics_are_scored_together(tmp_path):
    put(tmp_path, "A\nb b\nc\nnowhere\n\n\nodd\nnever\n\n", "1.txt")
    put(tmp_path, "\ufeffodd\nodder\r\n\r\nA\nc\n", "2.txt")
    put(tmp_path, "not a topic", "3.md")
    with suppress(OSError):  # Windows allows links to few users
        (tmp_path / "link.txt").symlink_to("1.txt")
    vectors = vectors_of(["a", "b_b", "c", "odd", "odder"], [[1, 0], [1, 0.1], [1, -0.1], [-0.1, 1], [0, 1]])
    report = evaluate_outliers(vectors, tmp_path)
    assert (report.found, report.answered, report.asked, report.topics) == (3, 3, 4, 2)
    assert (report.accuracy, report.opp) == (1.0, 1.0)
    assert report.interval == wilson_interval(3, 3)
    with pytest.raises(NoKnownWords, match="no topic has an outlier and two of its words"):
        evaluate_outliers(vectors, tmp_path, restrict_vocab=1)


def test_words_and_outliers_with_zero_vectors_are_left_out(tmp_path):
    path = put(tmp_path, "a\nb\nzero\n\nodd\nzero\n")
    vectors = vectors_of(["a", "b", "odd", "zero"], [[1, 0], [1, 0.1], [0, 1], [0, 0]])
    report = evaluate_outliers(vectors, path)
    assert (report.found, report.answered, report.asked) == (1, 1, 2)
    assert report.compactness == pytest.approx(1 / np.sqrt(1.01))
    with pytest.raises(NoKnownWords, match="no topic has an outlier and two of its words"):
        evaluate_outliers(vectors_of(vectors.words, np.zeros((4, 2))), path)


@pytest.mark.parametrize(
    "text, message",
    [("a\nb\n", "0 outliers"), ("a\n\nb\n", "1 words"), ("", "0 words"), (b"a\n\xff\n", ":2: not UTF-8")],
)  # fmt: skip
def test_a_malformed_topic_is_named(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        evaluate_outliers(vectors_of(["a", "b"], np.eye(2)), put(tmp_path, text))


def test_a_folder_without_topics_is_missing_input(tmp_path):
    with pytest.raises(InputMissing, match=r"no \.txt file"):
        evaluate_outliers(vectors_of(["a", "b"], np.eye(2)), tmp_path)


def test_groups_that_differ_widen_the_interval():
    assert grouped_interval([5, 5], [10, 10]) == wilson_interval(10, 20)
    low, high = grouped_interval([10, 0, 10, 0], [10, 10, 10, 10])
    assert low < wilson_interval(20, 40)[0]
    assert high > wilson_interval(20, 40)[1]
    assert grouped_interval([3], [7]) == wilson_interval(3, 7)


def test_separated_categories_have_purity_1_and_mixed_ones_less(tmp_path, rng):
    centers = np.eye(4) * 5
    words = [f"w{i}" for i in range(80)]
    vectors = vectors_of(words, centers[np.arange(80) % 4] + 0.3 * rng.standard_normal((80, 4)))
    lines = [f"{word.upper()}\tkind {i % 4}" for i, word in enumerate(words)]
    path = put(tmp_path, "# words\nConcept\tgroup\n" + "\n".join([*lines, "unknown\tkind 0"]))
    report = evaluate_categories(vectors, path)
    assert (report.purity, report.answered, report.asked, report.categories) == (1.0, 80, 81, 4)
    assert report.interval == wilson_interval(80, 80)
    swapped = [line.replace("kind 0", "kind 1") if i < 20 else line for i, line in enumerate(lines)]
    mixed = evaluate_categories(vectors, put(tmp_path, "\n".join(swapped), "mixed"))
    assert mixed.purity == 75 / 80  # five words of the first cluster moved to another category


def test_clusters_depend_on_the_seed_only(rng):
    rows = rng.standard_normal((50, 3))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    first = spherical_kmeans(unit, 5, 1)
    assert (first == spherical_kmeans(unit, 5, 1)).all()
    means = np.array([unit[first == k].sum(axis=0) for k in range(5)])
    assert ((unit @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T).argmax(axis=1) == first).all()


def test_equal_vectors_are_clustered_without_a_warning():
    assert set(spherical_kmeans(np.tile([1.0, 0.0], (6, 1)), 3, 1).tolist()) <= {0, 1, 2}


@pytest.mark.parametrize(
    "text, message",
    [("", "no words$"), ("a\n", ":1: expected"), ("a\tx\nb\tx", "all of the category 'x'"), ("a\t\n", ":1: expected")],
)  # fmt: skip
def test_malformed_categories_are_named(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        evaluate_categories(vectors_of(["a", "b"], np.eye(2)), put(tmp_path, text))
