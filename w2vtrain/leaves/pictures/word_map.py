"""Map words in two dimensions: which words, where they are, and the map as a figure or as a part of a web page.

projection.py finds the points, and labels.py decides which labels have room. Words are foreign data: they are only
ever shown as text.
"""

from collections.abc import Sequence
from itertools import compress, filterfalse, islice
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.categories import spherical_kmeans
from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.embeddings.neighbors import Answers
from w2vtrain.formats.transforms import unit_rows
from w2vtrain.leaves.figures import new_figure
from w2vtrain.leaves.pictures.figures import COLORS, DPI, POINT
from w2vtrain.leaves.pictures.labels import ASCENT, Box, place
from w2vtrain.leaves.pictures.page import LIGHT, shortened, visible
from w2vtrain.leaves.pictures.projection import Points, project

MAP_WORDS, MAP_NEIGHBORS = 300, 8
"""Words on a map, and neighbors that it lists of each, by default."""
WIDTH, HEIGHT, MARGIN = 1100.0, 760.0, 24.0
"""Size of a map and the margin around its points, in pixels."""
SIZE, RADIUS = 12.5, 2.8
"""Size of the labels and radius of the points, in pixels."""
LEGEND_COLUMNS, MAX_NAME = 4, 36
"""Columns of the legend of a figure, and characters of a group's name there."""
LOOKS = 2 * len(COLORS)
"""Groups that look different: a color each, as a disc or a ring."""
SKIPPED = 200
"""Number of most frequent words that a map leaves out by default, because they occur in every sentence."""
CLUSTERS, CLUSTER_WORDS, NAMING = 8, 20, 3
"""Most clusters by which words are colored, fewest words per cluster, and words that name one."""
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
"""The script of pages that contain a map."""


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
    near: list[Answers] = [[] for _ in shown]
    if neighbors:
        found = KeyedVectors.of(words, vectors).most_similar_batch(rows, neighbors + 1)
        near = [
            [pair for pair in pairs if pair[0] != word][:neighbors] for word, pairs in zip(shown, found, strict=True)
        ]
    caption = f"{which}. {projection.method}."
    if chosen.groups:
        names = list(dict.fromkeys(chosen.groups))
        groups = [names.index(name) for name in chosen.groups]
        if len(names) > LOOKS:
            caption += f" Only {LOOKS} of {len(names):,} groups can be told apart: the others repeat their colors."
    else:
        groups, names = _clusters(shown, rows, seed)
        caption += f" {len(names)} clusters by k-means." if names else ""
    return WordMap(list(shown), _fitted(projection.points), near, groups, names, caption)


def content_words(words: Sequence[str], count: int) -> tuple[list[int], str]:
    """Return the places of `count` frequent words that say something about the subject, and which these are, in words.

    They are the first words after SKIPPED, or after fewer if there are too few words. Words without a letter, such as
    numbers, and of one or two Latin letters only fill what is left of `count`, as of items or nodes. Of at most `count`
    words, all are taken. The text does not call them frequent, as files of documents, for example, have another order.
    """
    if len(words) <= count:
        return list(range(len(words))), f"All {len(words):,} words"
    lettered = (any(map(str.isalpha, word)) and (len(word) > 2 or not word.isascii()) for word in words)
    places = list(islice(compress(range(len(words)), lettered), SKIPPED + count))
    if len(places) < count:
        others = filterfalse(set(places).__contains__, range(len(words)))
        places = sorted([*places, *islice(others, count - len(places))])
    skipped = min(SKIPPED, max(0, len(places) - count))
    places = places[skipped : skipped + count]
    after = f", after the first {skipped}" if skipped else ""
    return places, f"{len(places):,} of {len(words):,} words{after}"


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


def _fitted(points: Points) -> Points:
    """Return points (n, 2) in the pixels of a drawing: both axes have the same scale, and y grows downward."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.array([WIDTH, HEIGHT]) - 2 * MARGIN
    spans = np.where(high > low, high - low, np.inf)
    scale = min((room / spans).tolist()) or 0.0  # all points may be the same one
    pixels: Points = ((points - (low + high) / 2) * scale * (1, -1) + np.array([WIDTH, HEIGHT]) / 2).round(1)
    return pixels


def map_figure(word_map: WordMap, title: str) -> Any:
    """Return a map as a figure with a title and a legend above, and its caption below.

    Points without room have no label.
    """
    boxes = _labels(word_map)
    hidden = boxes.count(None)
    note = f" {hidden:,} words have no room for a label." if hidden else ""
    caption = wrap(word_map.caption + note, 170)
    top, bottom = 46 + 22 * -(-len(word_map.names) // LEGEND_COLUMNS), 20 + 16 * len(caption)
    height = top + HEIGHT + bottom
    figure = new_figure(figsize=(WIDTH / DPI, height / DPI), dpi=DPI)
    axes = figure.add_axes((0, bottom / height, 1, HEIGHT / height), xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.axis("off")  # what is left has the pixels of the map as its coordinates
    labeled, groups = np.array([box is not None for box in boxes]), np.array(word_map.groups)
    for group in range(max(word_map.groups) + 1):
        members = groups == group
        color, ring = COLORS[group % len(COLORS)], group // len(COLORS) % 2
        axes.scatter(
            *word_map.points[members].T, s=(2 * RADIUS * POINT) ** 2, color="white" if ring else color,
            edgecolor=color, lw=1.4 * ring * POINT, alpha=np.where(labeled[members], 1, 0.45),
        )  # fmt: skip
    for word, box in zip(word_map.words, boxes, strict=True):
        if box:
            axes.text(box.left, box.top + SIZE * ASCENT, visible(word), size=SIZE * POINT, color=LIGHT["ink"])
    left, under = MARGIN / WIDTH, 1 - 36 / height
    figure.text(left, 1 - 28 / height, shortened(visible(title), 100), size=16 * POINT, weight="bold")
    if word_map.names:
        names = [shortened(visible(name), MAX_NAME) for name in word_map.names]
        legend = figure.legend(
            axes.collections, names, loc="upper left", bbox_to_anchor=(left, under), ncols=LEGEND_COLUMNS,
            frameon=False, fontsize=12 * POINT, borderpad=0, borderaxespad=0, handlelength=0.8, handletextpad=0.4,
        )  # fmt: skip
        for dot in legend.legend_handles:  # each is like the first of its group, which may be a pale one
            dot.set_alpha([1.0])
    below = (bottom - 6) / height
    figure.text(left, below, "\n".join(caption), size=12 * POINT, va="top", linespacing=1.3, color=LIGHT["muted"])
    return figure


def _labels(word_map: WordMap) -> list[Box | None]:
    return place(word_map.points, list(map(visible, word_map.words)), SIZE, Box(2, 2, WIDTH - 2, HEIGHT - 2), RADIUS)


def map_facts(word_map: WordMap) -> dict[str, Any]:
    """Return what the template word_map.html shows of a map: it can be searched, zoomed, and asked for neighbors.

    Without the page's script, it is a picture.
    """
    looks = [f"c{group % len(COLORS) + 1}{' ring' * (group // len(COLORS) % 2)}" for group in word_map.groups]
    listed = [[[visible(other), round(cosine, 3)] for other, cosine in near] for near in word_map.neighbors]
    offsets = [
        None if box is None else (box.left - x, box.top - y + SIZE * ASCENT)
        for (x, y), box in zip(word_map.points.tolist(), _labels(word_map), strict=True)
    ]
    words = zip(word_map.words, word_map.points.tolist(), looks, listed, offsets, strict=True)
    look_of = dict(zip(word_map.groups, looks, strict=True))
    groups = [(name, look_of[group]) for group, name in enumerate(word_map.names)]
    return {
        "words": list(words), "groups": groups, "caption": word_map.caption, "width": WIDTH, "height": HEIGHT,
        "size": SIZE, "radius": RADIUS,
    }  # fmt: skip
