"""Place labels beside points so that no two collide: estimate the size of texts, and leave out labels without room.

Nothing is drawn here.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

WIDTHS = (
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84,
    84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69, 61,
    69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59,
    82, 59, 59, 52, 64, 34, 64, 84,
)  # fmt: skip
"""Widths of the characters from space to ~ in DejaVu Sans, in hundredths of the font size. Few fonts are wider."""
ASCENT, DESCENT = 0.8, 0.24
"""Height of a text above and below its baseline, as fractions of the font size."""
GAP = 2.0
"""Smallest distance of two labels, in pixels."""


class Box(NamedTuple):
    """A rectangle in pixels; y grows downward."""

    left: float
    top: float
    right: float
    bottom: float


def text_width(text: str, size: float) -> float:
    """Return the width in pixels of a text in a sans-serif font of `size` pixels, at most a little too large.

    Letters of other scripts than Latin count as wide ones: 0.75 of the font size, or all of it for East Asian ones.
    """
    return size * sum(map(_advance, text)) / 100


def _advance(character: str) -> int:
    code = ord(character)
    if 32 <= code < 127:
        return WIDTHS[code - 32]
    if unicodedata.combining(character):
        return 0
    base = unicodedata.normalize("NFD", character)[0]
    if 32 <= ord(base) < 127:  # an accent does not widen a letter
        return WIDTHS[ord(base) - 32]
    return 100 if unicodedata.east_asian_width(character) in "WFA" and code > 0x1100 else 75


def place(
    points: NDArray[np.float64], texts: Sequence[str], size: float, bounds: Box, radius: float = 3.0
) -> list[Box | None]:
    """Return the box of each label, or None where there is no room: earlier labels have priority.

    A label is right of its point, left of it, above or below: where it covers the fewest other points. No box overlaps
    another, or the point of an earlier label, or leaves `bounds`.

    points (n, 2): pixels; texts: n labels, one line each; size: of the font; radius: of the points.
    """
    height, boxes = size * (ASCENT + DESCENT), np.empty((2 * len(texts), 4))
    used, placed = 0, []
    for (x, y), text in zip(points.tolist(), texts, strict=True):
        width, gap = text_width(text, size), radius + GAP
        corners = (
            (x + gap, y - height / 2), (x - gap - width, y - height / 2), (x - width / 2, y - gap - height),
            (x - width / 2, y + gap),
        )  # fmt: skip
        own = Box(x - radius, y - radius, x + radius, y + radius)
        free = None
        if not _overlaps(own, boxes[:used]):  # otherwise the point is under a label
            tried = (Box(left, top, left + width, top + height) for left, top in corners)
            possible = [box for box in tried if _inside(box, bounds) and not _overlaps(box, boxes[:used])]
            free = min(possible, key=lambda box: _covered(box, points), default=None)
        if free is not None:
            boxes[used], boxes[used + 1] = free, own
            used += 2
        placed.append(free)
    return placed


def _inside(box: Box, bounds: Box) -> bool:
    return (
        box.left >= bounds.left and box.right <= bounds.right and box.top >= bounds.top and box.bottom <= bounds.bottom
    )


def _covered(box: Box, points: NDArray[np.float64]) -> int:
    """Return how many points (n, 2) are in a box."""
    x, y = points.T
    return int(np.sum((x > box.left) & (x < box.right) & (y > box.top) & (y < box.bottom)))


def _overlaps(box: Box, boxes: NDArray[Any]) -> bool:
    """Return whether a box is nearer than GAP to one of `boxes` (n, 4)."""
    apart = (
        (boxes[:, 0] >= box.right + GAP) | (boxes[:, 2] <= box.left - GAP) | (boxes[:, 1] >= box.bottom + GAP)
        | (boxes[:, 3] <= box.top - GAP)
    )  # fmt: skip
    return not apart.all()
