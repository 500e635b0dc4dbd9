"""Classes of words: how words are divided, files of classes, and the kernels over the words of a class."""

import gzip
import itertools

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from w2vtrain.errors import DataError, InputMissing
from w2vtrain.probability import classes
from w2vtrain.probability.classes import (
    MAX_SIZE_RATIO,
    Classes,
    by_frequency,
    by_similarity,
    checked_classes,
    classes_from_file,
    divided,
    read_classes,
)

counts_lists = st.lists(st.integers(0, 10**6), min_size=1, max_size=60).map(lambda c: np.array(sorted(c, reverse=True)))


def zipf(size):
    return np.maximum(1_000_000 / np.arange(1, size + 1), 2).astype(np.int64)


def members(found):
    return [found.words[a:b].tolist() for a, b in itertools.pairwise(found.start)]


def mean_size(sizes, counts):
    """Return the mean number of words in the class of a target, for classes that are ranges of words."""
    per_class = np.add.reduceat(counts, np.concatenate([[0], np.cumsum(sizes)[:-1]]))
    return per_class @ sizes / counts.sum()


@given(counts_lists, st.data())
def test_classes_are_a_division_of_the_words_with_bounded_sizes(counts, data):
    """Each of C classes has a word, each word has one class, and none is larger than MAX_SIZE_RATIO times the mean."""
    size = len(counts)
    count = data.draw(st.integers(1, size))
    vectors = np.random.default_rng(size).normal(size=(size, 3)).astype(np.float32)
    for found in (by_frequency(counts, count), by_similarity(counts, vectors, count)):
        assert [a.dtype for a in found] == [np.int32, np.int32, np.int64]
        assert sorted(found.words.tolist()) == list(range(size))
        assert len(found.sizes) == count
        assert 1 <= found.sizes.min() <= found.sizes.max() <= MAX_SIZE_RATIO * -(-size // count)
        for number, words in enumerate(members(found)):
            assert words
            assert (found.of[words] == number).all()


@given(counts_lists, st.data())
def test_frequency_classes_are_ranges_of_words_from_the_most_frequent(counts, data):
    of = by_frequency(counts, data.draw(st.integers(1, len(counts)))).of
    assert of[0] == 0
    assert set(np.diff(of).tolist()) <= {0, 1}


def test_frequency_classes_have_equal_sums_of_the_square_root():
    """The mass of √count per class differs from the mean by at most the largest word of the class."""
    counts = zipf(10_000)
    found, weight = by_frequency(counts, 100), np.sqrt(counts)
    mass = np.array([weight[words].sum() for words in members(found)])
    off = np.abs(mass / mass.mean() - 1)
    assert off.max() < 0.5
    assert np.median(off) < 0.02
    assert found.sizes[0] <= 2
    assert found.sizes[-1] < MAX_SIZE_RATIO * 100, "the bound must not be what limits the rarest class here"


def test_frequency_classes_score_few_words():
    """The mean size of a target's class is S² / C with S = Σ √P(w), less than with bins of equal frequency or size."""
    counts = zipf(10_000)
    p = counts / counts.sum()
    found = mean_size(by_frequency(counts, 100).sizes, counts)
    assert found == pytest.approx(np.sqrt(p).sum() ** 2 / 100, rel=0.05)
    edges = np.searchsorted(np.cumsum(p), np.arange(1, 100) / 100)
    equal = np.diff(np.unique([0, *edges, 10_000]))
    assert found < 0.8 * mean_size(equal, counts)
    assert found < 0.8 * mean_size(np.full(100, 100), counts)


@pytest.mark.parametrize("size", [68_000, 500_000])
def test_rare_words_of_a_large_vocabulary_do_not_share_one_class(size):
    count = round(size**0.5)
    sizes = by_frequency(zipf(size), count).sizes
    assert sizes.max() <= MAX_SIZE_RATIO * -(-size // count) < 3000


def test_a_bound_on_sizes_shifts_the_classes():
    """Equal weights alone would put 793 of 800 words into one of 8 classes; 4 * 100 are allowed."""
    heavy, light = [1.0] * 8, [1e-9] * 792
    assert divided(np.array(heavy + light), 8).sizes.tolist() == [1, 1, 1, 1, 1, 1, 394, 400]
    assert divided(np.array(light + heavy), 8).sizes.tolist() == [400, 394, 1, 1, 1, 1, 1, 1]


def test_one_class_and_one_class_per_word():
    counts = np.array([90, 4, 4, 1, 0])
    assert members(by_frequency(counts, 1)) == [[0, 1, 2, 3, 4]]
    assert members(by_frequency(counts, 5)) == [[0], [1], [2], [3], [4]]


def test_clusters_are_found(rng):
    """Four groups of equal weight, far apart, are the four classes."""
    group = rng.permutation(np.repeat(np.arange(4), 16))
    centers = np.array([[50, 9, 0], [50, -9, 0], [-50, 0, 9], [-50, 0, -9]])
    found = by_similarity(np.full(64, 7), centers[group] + rng.normal(size=(64, 3)), 4)
    assert len(set(zip(group.tolist(), found.of.tolist(), strict=True))) == 4


def test_clusters_are_cut_in_proportion_to_the_classes_on_each_side(rng):
    """Three groups and three classes: the first cut is not in the middle."""
    group = rng.permutation(np.repeat(np.arange(3), 20))
    found = by_similarity(np.full(60, 7), 90.0 * group[:, None] ** 2 + rng.normal(size=(60, 1)), 3)
    assert len(set(zip(group.tolist(), found.of.tolist(), strict=True))) == 3


# Files


def written(folder, text):
    file = folder / "classes.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_a_file_gives_each_word_its_class(tmp_path):
    """Names of classes are any text; classes of other words are left out. mkcls writes such files."""
    text = "zebra\tanimal\nthe 1\n\ncat animal\r\nof\u00a0x  \t 1\nzoo z\n"
    for data in (text, b"\xef\xbb\xbf" + text.encode(), gzip.compress(text.encode())):
        found = classes_from_file(written(tmp_path, data), ["the", "cat", "of\u00a0x", "zebra"])
        assert members(found) == [[0, 2], [1, 3]]


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"a 0\nb\n", 2, "expected a word, a space and its class, such as 'house 17', got b'b'"),
        (b"a 0\n\nb 1 0\n", 3, "expected a word, a space and its class"),
        (b"a 0\nb\xff 1\n", 2, "not UTF-8 at byte 1 of the word: save the file as UTF-8"),
        (b"a 0\nb 1\xff\n", 2, "not UTF-8 at byte 1 of the class: save the file as UTF-8"),
        (b"a 0\nb 10\na 11\n", 3, "word 'a' already has a class on line 1: delete one"),
        (b"a 0\nb " + b"1" * (1 << 16), 2, "the line has more than 65,536 bytes"),
    ],
)
def test_invalid_line_raises_an_error_with_its_number(tmp_path, data, line, message):
    file = written(tmp_path, data)
    with pytest.raises(DataError, match=message) as caught:
        read_classes(file)
    assert str(caught.value).startswith(f"{file}:{line}: ")


def test_words_without_a_class_and_empty_or_missing_files_are_reported(tmp_path):
    with pytest.raises(DataError, match=r"classes\.txt: no class for 'c' and 1 other words of the vocabulary: add a"):
        classes_from_file(written(tmp_path, "a 0\nb 1\n"), ["a", "c", "b", "d"])
    with pytest.raises(DataError, match=r"classes\.txt is empty: expected lines with a word, a space and its class"):
        read_classes(written(tmp_path, "\n \n"))
    with pytest.raises(InputMissing):
        read_classes(tmp_path / "none")


@given(st.lists(st.lists(st.binary(max_size=6), max_size=3).map(b" ".join), max_size=6).map(b"\n".join))
@example(b"a 1\na")
@example(b"a 1\rb 2\n")
@example(b"\xef\xbb\xbf\na\x00 1")
def test_any_bytes_are_classes_or_an_error_of_one_line(tmp_path_factory, data):
    """An independent reading: lines of two fields, distinct words, UTF-8."""
    assume(not data.startswith(b"PK"))  # as a zip archive does
    file = written(tmp_path_factory.getbasetemp(), data)
    lines = data.split(b"\n")
    lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
    rows = [line.split() for line in lines if line.split()]
    try:
        expected = {a.decode(): b.decode() for a, b in rows}
        good = 0 < len(rows) == len(expected)
    except ValueError:
        good = False
    if good:
        assert {word: label for word, (label, _) in read_classes(file).items()} == expected
        assert len(classes_from_file(file, list(expected)).sizes) == len(set(expected.values()))
    else:
        with pytest.raises(DataError) as caught:
            read_classes(file)
        assert "\n" not in str(caught.value)


# Models and kernels


DAMAGED = {
    "int64": np.array([0, 1, 1], np.int64),
    "float32": np.array([0.0, 1, 1], np.float32),
    "matrix": np.array([[0, 1, 1]], np.int32),
    "short": np.array([0, 1], np.int32),
    "long": np.array([0, 1, 1, 0], np.int32),
    "class-empty": np.array([0, 1, 2], np.int32),
    "negative": np.array([0, -1, 1], np.int32),
    "one-class": np.array([0, 0, 0], np.int32),
    "class-0-empty": np.array([1, 1, 1], np.int32),
    "huge": np.array([0, 1, 2**31 - 1], np.int32),
}
"""Classes of words that cannot be, by what is wrong with them."""


@pytest.mark.parametrize("of", DAMAGED.values(), ids=DAMAGED)
def test_damaged_classes_are_rejected_before_a_kernel_follows_them(of):
    """The model has three words and two classes."""
    with pytest.raises(DataError, match="classes do not fit its words"):
        checked_classes(of, 3, 2)
    assert members(checked_classes(np.array([1, 0, 1], np.int32), 3, 2)) == [[1], [0, 2]]


def test_a_model_without_classes_is_rejected():
    with pytest.raises(DataError, match="classes do not fit"):
        checked_classes(np.zeros(0, np.int32), 0, 0)


def test_scores_that_would_overflow_are_finite():
    found, output = Classes.from_labels(np.array([0, 0])), np.array([[1.0], [-1.0]])
    log_probs = np.zeros(2)
    targets = np.array([0, 1], np.int32)
    classes.add_log_prob(found, output, np.full((2, 1), 800.0), targets, np.empty(2), log_probs)
    assert log_probs.tolist() == [0, -1600]
