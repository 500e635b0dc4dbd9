"""Labels of points: no two collide, whatever the points, and their estimated size is not too small."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from w2vtrain.leaves.pictures.labels import ASCENT, DESCENT, GAP, Box, place, text_width

BOUNDS = Box(0, 0, 400, 300)
NEAR = st.integers(0, 8).map(lambda steps: 100.0 + 9 * steps)
"""Coordinates of points that are so near to each other that labels compete for room."""
POINTS = st.lists(
    st.tuples(NEAR | st.floats(-20, 420), NEAR | st.floats(-20, 320), st.text("abcWM 京é", min_size=1, max_size=12)),
    max_size=40,
)


def overlap(one: Box, other: Box) -> bool:
    return (
        one.left < other.right and other.left < one.right and one.top < other.bottom and other.top < one.bottom
    )  # fmt: skip


@given(POINTS)
def test_no_label_overlaps_another_or_an_earlier_labels_point_or_leaves_the_picture(entries):
    points = np.array([(x, y) for x, y, _ in entries], float).reshape(-1, 2)
    texts = [text for _, _, text in entries]
    boxes = place(points, texts, 12, BOUNDS, radius=3)
    assert len(boxes) == len(entries)
    shown = [(box, Box(x - 3, y - 3, x + 3, y + 3)) for box, (x, y) in zip(boxes, points, strict=True) if box]
    for (one, point), (other, _) in combinations(shown, 2):
        assert not overlap(one, other)
        assert not overlap(point, other)
    for box, text in zip(boxes, texts, strict=True):
        if box:
            assert box.left >= 0
            assert box.top >= 0
            assert box.right <= 400
            assert box.bottom <= 300
            assert box.right - box.left == pytest.approx(text_width(text, 12))
            assert box.bottom - box.top == pytest.approx(12 * (ASCENT + DESCENT))


def test_earlier_labels_have_priority_and_a_free_point_is_always_labeled():
    points = np.array([[200.0, 100], [201, 100], [50, 200]])
    first, second, far = place(points, ["first", "second", "far"], 12, BOUNDS)
    assert first is not None
    assert first.left == pytest.approx(203 + GAP)  # right of its point, when nothing is there
    assert second is None
    assert far is not None


def test_a_label_may_not_cover_the_point_of_an_earlier_label():
    """There is room for the second label only on the right of its point, where the first point is."""
    points = np.array([[100.0, 100], [60, 100]])
    first, second = place(points, ["first", "mmm"], 12, Box(50, 90, 400, 110))
    assert first is not None
    assert first.left > 65 + text_width("mmm", 12) + GAP
    assert second is None
    alone = place(points[1:], ["mmm"], 12, Box(50, 90, 400, 110))[0]
    assert alone is not None
    assert alone.right > 97


def test_a_label_avoids_other_points_if_it_can():
    points = np.array([[100.0, 100], [115, 100]])
    label = place(points, ["word", "x" * 200], 12, BOUNDS)[0]
    assert label is not None
    assert label.right < 100


def test_estimated_widths_are_those_of_dejavu_sans_and_at_least_those_of_narrower_fonts():
    manager = pytest.importorskip("matplotlib.font_manager")
    font = pytest.importorskip("matplotlib.ft2font").FT2Font(manager.findfont("DejaVu Sans"))
    font.set_size(100, 72)
    for text in (
        "water",
        "WWWWWW",
        "iiiiii",
        "Zürich",
        "naïve café",
        "x-ray_0123456789",
        "".join(map(chr, range(33, 127))),
    ):
        measured = sum(font.load_char(ord(character)).linearHoriAdvance / 65536 for character in text)
        assert text_width(text, 100) == pytest.approx(measured, rel=0.03), text
    assert text_width("東京", 10) == 20  # East Asian characters are squares
    assert text_width("e\u0301", 10) == text_width("é", 10) == text_width("e", 10)
