"""Labels of curves in pictures, and the settings that Matplotlib reads."""

import os
import sys

import forked
import pytest

from w2vtrain.leaves.compare.comparison_picture import draw
from w2vtrain.leaves.figures import label_ends, new_figure, spread


def test_labels_are_spread_without_changing_their_order():
    assert spread([0.5, 0.1, 0.9], 0.1) == pytest.approx([0.5, 0.1, 0.9])
    assert spread([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.4, 0.5, 0.6])
    assert spread([0.05, 0.0, 0.02], 0.1) == pytest.approx([0.2, 0.0, 0.1]), "labels stay beside the plot"
    assert spread([0.95, 1.0, 0.98], 0.1) == pytest.approx([0.8, 1.0, 0.9])
    assert spread([0.5, 0.5, 0.5], 0.8) == pytest.approx([0.0, 0.8, 1.6])
    placed = spread([0.30, 0.31, 0.9, 0.29], 0.1)
    assert placed == pytest.approx([0.3, 0.4, 0.9, 0.2])


def test_labels_stand_at_the_ends_of_their_curves_and_do_not_widen_the_plot():
    pytest.importorskip("matplotlib")
    axes = new_figure().subplots()
    axes.set(xscale="log", xlim=(1, 100), ylim=(0, 2))
    label_ends(axes, [("low", 10, 0.5), ("high", 100, 1.5), ("same", 1, 1.5)], ["r", "g", "b"], 0.1)
    low, high, same = axes.texts
    assert [text.get_text() for text in axes.texts] == ["low", "high", "same"]
    assert low.xyann == pytest.approx((1.02, 0.25))
    assert high.xyann[1] + same.xyann[1] == pytest.approx(1.5)
    assert same.xyann[1] - high.xyann[1] == pytest.approx(0.1), "labels at one height are moved apart"
    assert (axes.get_xlim(), axes.get_ylim()) == ((1, 100), (0, 2))


def test_a_picture_without_curves_is_drawn(tmp_path):
    """Every run of a comparison may fail."""
    pytest.importorskip("matplotlib")
    draw([], "every run failed", "CPU seconds of training", tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "kind", ["bytes", pytest.param("pipe", marks=pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes"))]
)
def test_settings_of_matplotlib_in_the_working_folder_are_not_read(tmp_path, kind):
    pytest.importorskip("matplotlib")
    if kind == "pipe":
        os.mkfifo(tmp_path / "matplotlibrc")
    else:
        (tmp_path / "matplotlibrc").write_bytes(b"\xff\xfe: 1\n")
    (tmp_path / "counts").write_text("the 9\nof 5\na 1\n")
    words = [sys.executable, "-m", "w2vtrain", "plot", "counts", "counts", "-o", "c.svg"]
    env = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}  # as notebooks set it
    done = forked.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, (tmp_path / "c.svg").exists()) == (0, True), done.stderr
