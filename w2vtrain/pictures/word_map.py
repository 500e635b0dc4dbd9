"""Map words in two dimensions: which words, where they are, and the map as a drawing or as a part of a web page.

projection.py finds the points, and labels.py decides which labels have room. Words are foreign data: they are only
ever shown as text.
"""

import html
from collections.abc import Sequence
from itertools import compress, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.categories import spherical_kmeans
from w2vtrain.embeddings.neighbors import Answers, nearest_rows, row_norms
from w2vtrain.formats.transforms import unit_rows
from w2vtrain.pictures.chart import COLORS, shortened
from w2vtrain.pictures.drawing import FONT, Dot, Drawing, Label, Line, visible
from w2vtrain.pictures.labels import ASCENT, Box, place, text_width, wrapped
from w2vtrain.pictures.page import embedded, escaped
from w2vtrain.pictures.projection import Points, project

MAP_WORDS, MAP_NEIGHBORS = 300, 8
"""Words on a map, and neighbors that it lists of each, by default."""
WIDTH, HEIGHT, MARGIN = 1100.0, 760.0, 24.0
"""Size of a map and the margin around its points, in pixels."""
SIZE, RADIUS, INSIDE = 12.5, 2.8, 1.5
"""Size of the labels, radius of the points, and radius of the hole of those that are rings, in pixels."""
SKIPPED = 200
"""As many of the most frequent words are not on a map by default: they are in every sentence."""
CLUSTERS, CLUSTER_WORDS, NAMING = 8, 20, 3
"""Most clusters by which words are colored, fewest words per cluster, and words that name one."""
SCRIPT, STYLE = (Path(__file__).with_suffix(suffix).read_text(encoding="utf-8") for suffix in (".js", ".css"))
"""The script and the style of pages that contain a map; both serve any number of maps."""


class WordMap(NamedTuple):
    """Words with their points.

    words: n, those that matter most first; points (n, 2): in pixels, y downward; neighbors: of each word, by cosine;
    groups: the number of the group of each word, which gives its color; names: of the groups, none if there is only
    one; caption: what the map shows, and how it was made.
    """

    words: list[str]
    points: Points
    neighbors: list[Answers]
    groups: list[int]
    names: list[str]
    caption: str


class Chosen(NamedTuple):
    """Words that a user wants on a map, their vectors (n, d), and the name of the group of each, if there are any."""

    words: Sequence[str]
    rows: NDArray[Any]
    groups: Sequence[str] = ()


def make_map(
    words: Sequence[str],
    vectors: NDArray[Any],
    chosen: Chosen | None = None,
    count: int = MAP_WORDS,
    method: str = "pca",
    seed: int = 1,
    neighbors: int = MAP_NEIGHBORS,
) -> WordMap:
    """Return a map of `count` frequent words of V, which are in descending order of frequency, or of chosen words.

    vectors (V, d): one row per word; chosen: instead of frequent words; method, seed: see `project`; neighbors: the
    number of nearest words to find for each word, among all V. Words without groups are colored by cluster.

    Raise ConfigError if the method's package is not installed, and UsageError for too few words.
    """
    if chosen is None:
        places, which = content_words(words, count)
        chosen = Chosen([words[i] for i in places], vectors[places])
    else:
        which = f"{len(chosen.words):,} chosen of {len(words):,} words"
    shown, rows = chosen.words, chosen.rows
    projection = project(rows, method, seed)
    near = _neighbors(words, vectors, shown, rows, neighbors) if neighbors else [[] for _ in shown]
    caption = f"{which}. {projection.method}."
    if chosen.groups:
        names = list(dict.fromkeys(chosen.groups))
        groups = [names.index(name) for name in chosen.groups]
    else:
        groups, names = _clusters(shown, rows, seed)
        caption += f" {len(names)} clusters by k-means." if names else ""
    return WordMap(list(shown), _fitted(projection.points), near, groups, names, caption)


def content_words(words: Sequence[str], count: int) -> tuple[list[int], str]:
    """Return the places of `count` frequent words that say something about the subject, and which these are, in words.

    They are the first words after the SKIPPED most frequent ones, or after fewer if there are too few words. Words
    without a letter, such as numbers, and of one or two Latin letters are left out. Of at most `count` words, all are
    taken.
    """
    if len(words) <= count:
        return list(range(len(words))), f"All {len(words):,} words"
    lettered = (any(map(str.isalpha, word)) and (len(word) > 2 or not word.isascii()) for word in words)
    places = list(islice(compress(range(len(words)), lettered), SKIPPED + count)) or list(
        range(min(len(words), SKIPPED + count))
    )
    skipped = min(SKIPPED, max(0, len(places) - count))
    after = f" after the first {skipped}" if skipped else ""
    places = places[skipped : skipped + count]
    return places, f"{len(places):,} most frequent{after} of {len(words):,} words"


def _clusters(words: Sequence[str], rows: NDArray[Any], seed: int) -> tuple[list[int], list[str]]:
    """Return the cluster of each word by its vector (n, d), and their names: the words nearest to its center.

    The largest cluster is number 0. Without words for two clusters, there is one, without a name.
    """
    unit, k = unit_rows(rows), min(CLUSTERS, len(words) // CLUSTER_WORDS)
    if k < 2:
        return [0] * len(words), []
    found, sizes = np.unique(clusters := spherical_kmeans(unit, k, seed), return_counts=True)
    largest, names = found[np.argsort(-sizes, kind="stable")], []
    for cluster in largest.tolist():
        members = np.flatnonzero(clusters == cluster)
        near = members[np.argsort(-unit[members] @ unit[members].sum(axis=0), kind="stable")]
        names.append(", ".join(words[i] for i in near[:NAMING].tolist()))
    return np.argsort(largest)[np.searchsorted(found, clusters)].tolist(), names


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
    key = _legend(word_map)
    top = 44.0 + key.height
    boxes = _labels(word_map)
    hidden = boxes.count(None)
    note = f" {hidden:,} words have no room for a label." if hidden else ""
    caption = wrapped(word_map.caption + note, WIDTH - 2 * MARGIN, 12)
    drawing = Drawing(WIDTH, HEIGHT + top + 18 + 16 * len(caption), title)
    drawing.add(Label(MARGIN, 28, title, 16, bold=True))
    drawing.put(key, MARGIN, 38)
    drawing.add(*(Label(MARGIN, HEIGHT + top + 16 + 16 * i, line, 12, "muted") for i, line in enumerate(caption)))
    drawing.add(Line([(MARGIN, top), (WIDTH - MARGIN, top)], "line"))
    for (x, y), group, box in zip(word_map.points.tolist(), word_map.groups, boxes, strict=True):
        drawing.add(*_point(x, y + top, group, 1.0 if box else 0.45))
    for word, box in zip(word_map.words, boxes, strict=True):
        if box:
            drawing.add(Label(box.left, box.top + top + SIZE * ASCENT, word, SIZE, halo=True))
    return drawing


def _point(x: float, y: float, group: int, opacity: float = 1.0) -> list[Dot]:
    """Return the point of a word: each group has a color and, after four of them, a ring instead of a disk."""
    color, ring = COLORS[group % len(COLORS)], group // len(COLORS) % 2
    return [Dot(x, y, RADIUS, color, opacity), *([Dot(x, y, INSIDE, "bg")] if ring else [])]


def _legend(word_map: WordMap) -> Drawing:
    """Return the names of the groups beside their points, in as many lines as they need; empty if they have none."""
    x, y, items = 0.0, 14.0, Drawing(WIDTH - 2 * MARGIN, 0, "legend")
    for group, name in enumerate(word_map.names):
        short = shortened(visible(name), items.width - 20, 12)
        needed = 12 + text_width(short, 12) + 22
        if x and x + needed - 22 > items.width:
            x, y = 0.0, y + 19
        items.add(*_point(x + RADIUS, y - 4, group), Label(x + 12, y, short, 12))
        x, items.height = x + needed, y + 8
    return items


def _labels(word_map: WordMap) -> list[Box | None]:
    return place(word_map.points, list(map(visible, word_map.words)), SIZE, Box(2, 2, WIDTH - 2, HEIGHT - 2), RADIUS)


def fragment(word_map: WordMap) -> str:
    """Return a map as HTML for a page that has STYLE and SCRIPT: it can be searched, zoomed, and asked for neighbors.

    Without its script, it is a picture.
    """
    groups = []
    looks = [f"{COLORS[group % len(COLORS)]}{' ring' * (group // len(COLORS) % 2)}" for group in word_map.groups]
    for word, point, look, near, box in zip(
        word_map.words, word_map.points.tolist(), looks, word_map.neighbors, _labels(word_map), strict=True
    ):
        x, y = point
        label = f'x="{box.left - x:.1f}" y="{box.top - y + SIZE * ASCENT:.1f}"' if box else 'display="none"'
        listed = embedded([[visible(other), round(cosine, 3)] for other, cosine in near])
        groups.append(
            f'<g class="word" data-x="{x:g}" data-y="{y:g}" data-near="{html.escape(listed)}"'
            f' transform="translate({x:g} {y:g})"><circle class="{look}" r="{RADIUS:g}"/>'
            f"<text {label}>{escaped(word)}</text></g>"
        )
    shown = dict(zip(word_map.groups, looks, strict=True))
    entries = "".join(
        f'<li><svg viewBox="-4 -4 8 8" aria-hidden="true"><circle class="{shown[group]}" r="{RADIUS:g}"/></svg>'
        f"{escaped(name)}</li>"
        for group, name in enumerate(word_map.names)
    )
    label = f"Map of {len(word_map.words)} words. Arrow keys move between words, plus and minus zoom, 0 shows all."
    return "\n".join(
        [
            '<figure class="word-map">',
            '<div class="tools"><label>Find <input type="search" autocomplete="off" spellcheck="false"'
            ' placeholder="a word"></label><span class="zoom"><button type="button" data-zoom="1.5"'
            ' aria-label="Zoom in">+</button><button type="button" data-zoom="0.6667" aria-label="Zoom out">−</button>'
            '<button type="button" data-zoom="0">Show all</button></span></div>',
            f'<ul class="groups">{entries}</ul>' if entries else "",
            f'<div class="stage"><svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" tabindex="0" role="group" aria-label="{label}"'
            f' font-family="{html.escape(FONT)}" font-size="{SIZE:g}">',
            *groups,
            '</svg><div class="facts" role="status" aria-live="polite"><p class="muted">Point at a word to see its'
            " nearest neighbors, those of all words by cosine. Click to keep it selected.</p></div></div>",
            f"<figcaption>{escaped(word_map.caption)}</figcaption>\n</figure>",
        ]
    )
