"""Map words in two dimensions: which words, where they are, and the map as a drawing or as a part of a web page.

projection.py finds the points, and labels.py decides which labels have room. Words are foreign data: they are only
ever shown as text.
"""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.neighbors import Answers, nearest_rows, row_norms
from w2vtrain.pictures.drawing import FONT, Dot, Drawing, Label, Line, visible
from w2vtrain.pictures.labels import ASCENT, Box, place
from w2vtrain.pictures.page import embedded, escaped
from w2vtrain.pictures.projection import Points, project

MAP_WORDS, MAP_NEIGHBORS = 300, 8
"""Words on a map, and neighbors that it lists of each, by default."""
WIDTH, HEIGHT, MARGIN = 1100.0, 760.0, 24.0
"""Size of a map and the margin around its points, in pixels."""
SIZE, RADIUS = 12.5, 2.8
"""Size of the labels and radius of the points, in pixels."""
SCRIPT, STYLE = (Path(__file__).with_suffix(suffix).read_text(encoding="utf-8") for suffix in (".js", ".css"))
"""The script and the style of pages that contain a map; both serve any number of maps."""


class WordMap(NamedTuple):
    """Words with their points.

    words: n, those that matter most first; points (n, 2): in pixels, y downward; neighbors: of each word, by cosine;
    caption: what the map shows, and how it was made.
    """

    words: list[str]
    points: Points
    neighbors: list[Answers]
    caption: str


def make_map(
    words: Sequence[str],
    vectors: NDArray[Any],
    chosen: tuple[Sequence[str], NDArray[Any]] | None = None,
    count: int = MAP_WORDS,
    method: str = "pca",
    seed: int = 1,
    neighbors: int = MAP_NEIGHBORS,
) -> WordMap:
    """Return a map of the first `count` of V words, which are in descending order of frequency, or of chosen words.

    vectors (V, d): one row per word; chosen: words and their vectors (n, d) instead of the first ones; method, seed:
    see `project`; neighbors: the number of nearest words to find for each word, among all V.

    Raise ConfigError if the method's package is not installed, and UsageError for too few words.
    """
    shown, rows = chosen or (words[:count], vectors[:count])
    projection = project(rows, method, seed)
    which = f"{len(shown):,} {'chosen' if chosen else 'most frequent'} of {len(words):,} words"
    if not chosen and len(shown) == len(words):
        which = f"All {len(words):,} words"
    near = _neighbors(words, vectors, shown, rows, neighbors) if neighbors else [[] for _ in shown]
    return WordMap(list(shown), _fitted(projection.points), near, f"{which}. {projection.method}.")


def _neighbors(
    words: Sequence[str], vectors: NDArray[Any], shown: Sequence[str], rows: NDArray[Any], count: int
) -> list[Answers]:
    """Return the words nearest to each of `shown`, itself excluded, with their cosines; none for a zero vector."""
    lengths = row_norms(rows)[:, None]
    units = np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)
    answers = []
    nearest = nearest_rows(vectors, row_norms(vectors), units, count + 1)
    for word, length, (places, cosines) in zip(shown, lengths, nearest, strict=True):
        pairs = [(words[i], float(cosine)) for i, cosine in zip(places.tolist(), cosines, strict=True)]
        answers.append([pair for pair in pairs if pair[0] != word][:count] if length else [])
    return answers


def _fitted(points: Points) -> Points:
    """Return points (n, 2) in the pixels of a drawing: both axes have the same scale, and y grows downward."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.array([WIDTH, HEIGHT]) - 2 * MARGIN
    spans = np.where(high > low, high - low, np.inf)
    scale = min((room / spans).tolist()) or 0.0  # all points may be the same one
    pixels: Points = ((points - (low + high) / 2) * scale * (1, -1) + np.array([WIDTH, HEIGHT]) / 2).round(1)
    return pixels


def map_drawing(word_map: WordMap, title: str) -> Drawing:
    """Return a map as a drawing with a title above and its caption below. Points without room have no label."""
    top, bottom = 44.0, 34.0
    drawing = Drawing(WIDTH, HEIGHT + top + bottom, title)
    boxes = _labels(word_map)
    hidden = boxes.count(None)
    note = f" {hidden:,} words have no room for a label." if hidden else ""
    drawing.add(Label(MARGIN, 28, title, 16, bold=True))
    drawing.add(Label(MARGIN, HEIGHT + top + 16, word_map.caption + note, 12, "muted"))
    drawing.add(Line([(MARGIN, top), (WIDTH - MARGIN, top)], "line"))
    for (x, y), box in zip(word_map.points.tolist(), boxes, strict=True):
        drawing.add(Dot(x, y + top, RADIUS, "c1", 1.0 if box else 0.45))
    for word, box in zip(word_map.words, boxes, strict=True):
        if box:
            drawing.add(Label(box.left, box.top + top + SIZE * ASCENT, word, SIZE, halo=True))
    return drawing


def _labels(word_map: WordMap) -> list[Box | None]:
    return place(word_map.points, list(map(visible, word_map.words)), SIZE, Box(2, 2, WIDTH - 2, HEIGHT - 2), RADIUS)


def fragment(word_map: WordMap) -> str:
    """Return a map as HTML for a page that has STYLE and SCRIPT: it can be searched, zoomed, and asked for neighbors.

    Without its script, it is a picture.
    """
    groups = []
    for word, point, near, box in zip(
        word_map.words, word_map.points.tolist(), word_map.neighbors, _labels(word_map), strict=True
    ):
        x, y = point
        label = f'x="{box.left - x:.1f}" y="{box.top - y + SIZE * ASCENT:.1f}"' if box else 'display="none"'
        listed = embedded([[visible(other), round(cosine, 3)] for other, cosine in near])
        groups.append(
            f'<g class="word" data-x="{x:g}" data-y="{y:g}" data-near="{html.escape(listed)}"'
            f' transform="translate({x:g} {y:g})"><circle r="{RADIUS:g}"/><text {label}>{escaped(word)}</text></g>'
        )
    label = f"Map of {len(word_map.words)} words. Arrow keys move between words, plus and minus zoom, 0 shows all."
    return "\n".join(
        [
            '<figure class="word-map">',
            '<div class="tools"><label>Find <input type="search" autocomplete="off" spellcheck="false"'
            ' placeholder="a word"></label><span class="zoom"><button type="button" data-zoom="1.5"'
            ' aria-label="Zoom in">+</button><button type="button" data-zoom="0.6667" aria-label="Zoom out">−</button>'
            '<button type="button" data-zoom="0">Show all</button></span></div>',
            f'<div class="stage"><svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" tabindex="0" role="group" aria-label="{label}"'
            f' font-family="{html.escape(FONT)}" font-size="{SIZE:g}">',
            *groups,
            '</svg><div class="facts" role="status" aria-live="polite"><p class="muted">Point at a word to see its'
            " nearest neighbors, those of all words by cosine. Click to keep it selected.</p></div></div>",
            f"<figcaption>{escaped(word_map.caption)}</figcaption>\n</figure>",
        ]
    )
