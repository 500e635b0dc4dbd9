"""The Zipf-Mandelbrot law that is fitted to counts, and what --min-count and --sample leave of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from w2vtrain.errors import DataError, UsageError
from w2vtrain.formats.vectors import write_vectors
from w2vtrain.leaves.pictures.counts import captions, counts_figure, fit_law, kept_by, read_falling_counts, spaced_ranks
from w2vtrain.probability.subsampling import keep_thresholds


@pytest.mark.parametrize(("s", "q"), [(1.0, 0.0), (1.1, 2.7), (0.8, 30.0), (1.7, 100.0)])
def test_the_parameters_of_exact_counts_are_found(s, q):
    ranks = np.arange(1, 50_001)
    law = fit_law(np.asarray(np.round(1e15 / (ranks + q) ** s), np.int64))
    assert law.s == pytest.approx(s, rel=1e-3)
    assert law.q == pytest.approx(q, rel=1e-2, abs=0.01)
    assert pytest.approx(1e15, rel=2e-2) == law.C
    assert law.error < 1e-3


@given(st.lists(st.integers(1, 2**40), min_size=3, max_size=50))
def test_no_line_through_the_same_ranks_without_q_fits_better(counts):
    falling = np.array(sorted(counts, reverse=True), np.int64)
    ranks = spaced_ranks(len(falling))
    y = np.log10(falling[ranks - 1])
    slope, intercept = np.polyfit(np.log10(ranks), y, 1)
    plain = np.sqrt(np.square(y - intercept - slope * np.log10(ranks)).mean())
    law = fit_law(falling)
    assert 0 <= law.q <= len(falling) + 1
    assert law.error <= plain + 1e-9
    assert np.sqrt(np.square(y - np.log10(law.at(ranks.astype(float)))).mean()) == pytest.approx(law.error, abs=1e-6)


def test_what_is_left_is_what_training_keeps():
    counts = np.array([5000, 900, 40, 5, 4, 1, 1])
    kept = kept_by(counts, 5, 1e-2)
    assert (kept.types, kept.tokens) == (4, 5945)
    thresholds = keep_thresholds(counts[:4], 1e-2)
    assert kept.sampled == pytest.approx(float(counts[:4] @ (thresholds / 2**32)), rel=1e-6)
    assert kept_by(counts, 1, 0).sampled == counts.sum()
    text = " ".join(captions(counts, 5, 1e-2))
    assert "4 of 7 distinct words (57.1%) and 5,945 of 5,951 words (99.9%)" in text
    assert f"keeps {kept.sampled:,.0f} words per epoch" in text
    with pytest.raises(UsageError, match="leaves no word: the highest count is 5,000"):
        kept_by(counts, 5001, 0)


def test_a_vocabulary_that_was_cut_before_says_so():
    assert "occurs 5 times" in captions(np.array([50, 20, 5]), 1, 0)[-1]
    assert "occurs" not in captions(np.array([50, 20, 1]), 1, 0)[-1]


def test_every_count_is_a_point_within_the_axes():
    pytest.importorskip("matplotlib")
    counts = np.array([1000, 300, 90, 10, 2, 1])
    axes = counts_figure(counts, 2, 1e-3, "Counts", ["a sentence below"]).axes[0]
    points, law, sampled = axes.lines
    np.testing.assert_array_equal(points.get_xydata(), np.stack([np.arange(1, 7), counts], 1))
    np.testing.assert_allclose(law.get_ydata(), fit_law(counts).at(np.arange(1.0, 7)))
    assert len(sampled.get_xdata()) == 5
    assert sampled.get_ydata().sum() == pytest.approx(kept_by(counts, 2, 1e-3).sampled)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    for line in (points, sampled):
        assert left < line.get_xdata().min() <= line.get_xdata().max() < right
        assert low < line.get_ydata().min() <= line.get_ydata().max() < high
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == ["counts", "Zipf-Mandelbrot law", "after sample=0.001", "below min_count=2"]


def test_files_without_counts_are_refused(tmp_path):
    write_vectors(tmp_path / "v.txt", ["a", "b"], np.eye(2, dtype=np.float32))
    with pytest.raises(DataError, match=r"v\.txt: has no counts: name a model, or a file that `w2vtrain vocab` wrote"):
        read_falling_counts(tmp_path / "v.txt")
    (tmp_path / "text.txt").write_text("It was a dark and stormy night.\nThe end.\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"text\.txt is neither .*vocab"):
        read_falling_counts(tmp_path / "text.txt")
    with pytest.raises(DataError, match="at least 3"):
        fit_law(np.array([2, 1]))
