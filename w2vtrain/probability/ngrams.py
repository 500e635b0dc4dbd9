"""Which word follows which, and how often: counted once, drawn from, looked up.

How bigrams are mixed with other distributions is for the objectives.
"""

from typing import Any, NamedTuple

import numpy as np

from w2vtrain.kernels.jit import inline
from w2vtrain.probability.sampling import draw_below

PIECE = 1 << 24
"""Pairs that are sorted at once: beside the table itself, counting takes 32 bytes of each."""


class Bigrams(NamedTuple):
    """The words that follow word v are words[starts[v]:starts[v + 1]], ascending.

    starts (V + 1,) int64; words (n,) int32; ends (n,) uint32, how often the word v was followed by this word or one
    listed before it: a cumulative count in each row.
    """

    starts: np.ndarray
    words: np.ndarray
    ends: np.ndarray


def count_bigrams(tokens: np.ndarray, size: int, end: int = -1, piece: int = PIECE) -> Bigrams:
    """Count the pairs of neighbors in sentences; tokens (n,) int32 ids below `size`, -1 between sentences.

    end: the id that takes the place of -1, so that sentences begin behind it and end with it; -1: no pair spans two.
    """
    pairs, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    for first in range(0, len(tokens) - 1, piece):
        some = np.asarray(tokens[first : first + piece + 1], np.int64)
        some[some < 0] = end
        both = (some[:-1] >= 0) & (some[1:] >= 0)
        new, seen = np.unique(some[:-1][both] * size + some[1:][both], return_counts=True)
        pairs, place = np.unique(np.concatenate([pairs, new]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([counts, seen]), len(pairs)).astype(np.int64)
    previous, words = np.divmod(pairs, size)
    starts = np.searchsorted(previous, np.arange(size + 1))
    before = np.concatenate([[0], np.cumsum(counts)])
    ends = before[1:] - before[starts[previous]]
    return Bigrams(starts, words.astype(np.int32), ends.astype(np.uint32))


@inline
def followers(bigrams: Any, previous: Any) -> Any:
    """How often the word was followed by any."""
    last = bigrams.starts[previous + 1]
    return np.int64(bigrams.ends[last - 1]) if last > bigrams.starts[previous] else np.int64(0)


@inline
def _search(values: Any, low: Any, high: Any, least: Any, places: Any) -> None:
    """Fill places (n,): where in the ascending values[low:high] the first stands that is least[k] or more, or high.

    All take a step, then the next: one search after the other would wait for memory at each.
    """
    size = high - low
    places[:] = low
    while size > 0:
        half = (size + 1) // 2
        for k in range(len(places)):
            places[k] += half if values[places[k] + half - 1] < least[k] else 0
        size -= half


@inline
def draw_followers(rng: Any, bigrams: Any, previous: Any, least: Any, places: Any) -> None:
    """Fill places (n,): where in `words` words stand that follow, drawn as often as they did; there must be one.

    least (n,) int64 is overwritten.
    """
    low, high = bigrams.starts[previous], bigrams.starts[previous + 1]
    for k in range(len(least)):
        least[k] = draw_below(rng, bigrams.ends[high - 1]) + 1
    _search(bigrams.ends, low, high, least, places)


@inline
def find_followers(bigrams: Any, previous: Any, words: Any, places: Any) -> None:
    """Fill places (n,): where in `words` each of words (n,) stands among those that follow, -1 if it never did."""
    low, high = bigrams.starts[previous], bigrams.starts[previous + 1]
    _search(bigrams.words, low, high, words, places)
    for k in range(len(places)):
        if places[k] == high or bigrams.words[places[k]] != words[k]:
            places[k] = -1


@inline
def count_at(bigrams: Any, previous: Any, place: Any) -> Any:
    """How often the word that stands there followed; 0 for place -1."""
    if place < 0:
        return np.int64(0)
    before = np.int64(bigrams.ends[place - 1]) if place > bigrams.starts[previous] else np.int64(0)
    return np.int64(bigrams.ends[place]) - before
