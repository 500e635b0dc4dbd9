"""Scores against time, from made-up measurements: points, tables, the best setting within a time, and the picture."""

import pytest

from w2vtrain.leaves.compare.measure import Measurement
from w2vtrain.leaves.compare.systems import Job
from w2vtrain.leaves.compare.tradeoff import STYLES, best, equal_times, labels, picture, points, table, table_within


def made(seconds, analogies, system="w2vtrain", seed=1, pairs=0.5, **settings):
    job = Job(system, "skipgram", "neg", "folder/corpus.txt", seed=seed, threads=1, **settings)
    scores = {"analogies": analogies, "analogies standard error": 0.9, "wordsim": pairs}
    return Measurement(job, 10, None, None, seconds, seconds, 1, scores)


FOUND = [
    made(31, 0.4, epochs=3), made(33, 0.5, epochs=3, seed=2), made(90, 0.3, "gensim", epochs=1),
    made(12, 0.1, epochs=1), made(38, 0.3, epochs=1, negative=15),
]  # fmt: skip


def test_points_are_means_over_seeds_curve_by_curve_in_the_order_of_their_epochs():
    found = points([*FOUND, Measurement(Job("w2vtrain", "cbow", "hs", "corpus.txt"), 10, None, None, 1, 1, 1, {})])
    assert [(p.job.system, p.job.negative, p.job.epochs, p.seconds) for p in found] == [
        ("w2vtrain", 5, 1, 12), ("w2vtrain", 5, 3, 32), ("gensim", 5, 1, 90), ("w2vtrain", 15, 1, 38),
    ], "a job without scores has no point"  # fmt: skip
    assert found[1].mean == pytest.approx((0.45 + 0.5) / 2), "a standard error is no score"


def test_the_best_of_each_system_within_a_time_has_the_highest_mean_score():
    def within(limit):
        return [(p.job.system, p.job.epochs, p.job.negative) for p in best(points(FOUND), limit)]

    assert within(11.9) == []
    assert within(12) == [("w2vtrain", 1, 5)]
    assert within(38) == [("w2vtrain", 3, 5)], "not the longest one"
    assert within(90) == [("w2vtrain", 3, 5), ("gensim", 1, 5)]


def test_the_best_in_the_time_of_another_system_is_a_line():
    assert equal_times(points(FOUND)) == [
        "in the 90.0 s of gensim skipgram neg, 5 noise words, 1 epoch, 1 thread (mean score 0.4000): w2vtrain skipgram"
        " neg, 5 noise words, 3 epochs, 1 thread (0.4750, 32.0 s)"
    ]
    assert equal_times(points([made(1, 0.1, "gensim"), made(2, 0.2)])) == [], "w2vtrain takes longer"


def test_tables_list_epochs_seconds_and_scores():
    head, _, ours, theirs, _ = table(points(FOUND))
    assert head[-6:] == ["epochs", "whole job s", "mean score", "analogies", "analogies standard error", "wordsim"]
    assert ours[-6:-2] == ["3", "32.0", "0.4750", "0.4500 (0.4000-0.5000)"]
    assert theirs[-6:-2] == ["1", "90.0", "0.4000", "0.3000"], "one seed has no range"
    rows = table_within(points(FOUND), [10, 20, 90])
    assert [row[:1] + row[4:5] for row in rows] == [
        ["within s", "system"], ["20", "w2vtrain"], ["90", "w2vtrain"], ["90", "gensim"],
    ]  # fmt: skip


def test_labels_have_only_what_distinguishes_the_curves():
    skipgram, gensim = (
        Job("w2vtrain", "skipgram", "neg", "c", threads=1),
        Job("gensim", "skipgram", "neg", "c", threads=1),
    )
    assert labels([skipgram, gensim]) == (["w2vtrain", "gensim"], ["skipgram", "neg", "5 noise", "1 thread"])
    cbow = Job("w2vtrain", "cbow", "hs", "c", alpha=0.1, negative=0, threads=1)
    assert labels([skipgram, cbow]) == (["w2vtrain skipgram neg 5 noise", "w2vtrain cbow hs alpha 0.1"], ["1 thread"])


def test_the_picture_has_a_panel_per_evaluation_set_and_a_curve_per_setting(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    drawn = []
    monkeypatch.setattr("w2vtrain.leaves.compare.tradeoff.save_figure", lambda figure, *_: drawn.append(figure))
    picture(points(FOUND), tmp_path / "plot.png")
    (figure,) = drawn
    assert [axes.get_title("left") for axes in figure.axes] == ["analogies", "wordsim"]
    left = figure.axes[0]
    assert left.get_xscale() == "log"
    assert [list(line.get_xdata()) for line in left.lines] == [[12, 32], [90], [38]]
    assert [list(line.get_ydata()) for line in left.lines] == [[0.1, 0.45], [0.3], [0.3]]
    ours, theirs, more = left.lines
    assert ours.get_color() == more.get_color() != theirs.get_color(), "one color per system"
    assert ours.get_marker() == theirs.get_marker() == STYLES[0][0] != more.get_marker(), "one marker per setting"
    assert {text.get_text() for text in left.texts} == {"w2vtrain 5 noise", "gensim 5 noise", "w2vtrain 15 noise"}
    assert "corpus.txt, skipgram, neg, 1 thread" in figure.get_suptitle()


def test_an_unknown_score_is_never_the_best_and_is_not_drawn(tmp_path, monkeypatch):
    """A correlation is NaN if the vectors have too few of the words."""
    pytest.importorskip("matplotlib")
    drawn = []
    monkeypatch.setattr("w2vtrain.leaves.compare.tradeoff.save_figure", lambda figure, *_: drawn.append(figure))
    nan = float("nan")
    some = points(
        [made(1, 0.1, epochs=1, pairs=nan), made(2, 0.2, epochs=2, pairs=0.4), made(3, 0.3, "gensim", pairs=nan)]
    )
    assert [p.seconds for p in best(some, 9)] == [2]
    assert [row[-3:] for row in table(some)[1:]] == [
        ["0.1000", "0.9000", "-"], ["0.2000", "0.9000", "0.4000"], ["0.3000", "0.9000", "-"],
    ]  # fmt: skip
    assert [row[-4] for row in table(some)[1:]] == ["-", "0.3000", "-"]
    assert equal_times(some) == []
    picture(some, tmp_path / "some.png")
    picture(points([made(1, 0.1, pairs=nan)]), tmp_path / "none.png")
    assert [[list(line.get_xdata()) for line in figure.axes[1].lines] for figure in drawn] == [[[2]], []]
    for figure in drawn:
        figure.canvas.draw()


def test_an_evaluation_set_without_any_score_has_no_part_in_the_mean():
    nan = float("nan")
    found = points([made(1, 0.1, epochs=1, pairs=nan), made(2, 0.2, epochs=2, pairs=nan)])
    assert [p.mean for p in found] == [0.1, 0.2]
    assert [p.seconds for p in best(found, 9)] == [2]
    assert best([p._replace(unscored=p.scores) for p in found], 9) == []
