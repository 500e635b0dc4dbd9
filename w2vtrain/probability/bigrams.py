"""Bigram counts (how often each word follows another), and proposal distributions that mix them with word frequencies.

Counts are made, drawn from and looked up here. Nothing is learned, and no weight of a draw is computed.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64

from w2vtrain.kernels.jit import inline
from w2vtrain.probability.noise import alias_table, noise_distribution
from w2vtrain.probability.problem import Problem
from w2vtrain.probability.random_streams import draw, draw_below, draw_words

PAIRS_PER_SORT = 1 << 24
"""Number of pairs sorted at once. In addition to the table itself, counting takes 32 bytes for each of them."""

FOLLOWER_WEIGHT = 5
"""Weight of each distinct follower against the bigrams. On the Penn Treebank, as few draws suffice as with a λ that is
learned for each frequency class; with a weight of 1, bigrams of rare words p count too much, and a quarter more draws
are needed."""
_32 = uint64(32)


class Bigrams(NamedTuple):
    """Bigram counts by first word: words[starts[v]:starts[v + 1]] are the words that follow word v, in ascending order.

    starts: (V + 1,) int64.
    words: (n,) int32.
    ends: (n,) uint32, cumulative counts for each v: how often this word, or one listed before it, follows v.
    """

    starts: np.ndarray
    words: np.ndarray
    ends: np.ndarray


def count_bigrams(tokens: np.ndarray, size: int, end: int = -1, piece: int = PAIRS_PER_SORT) -> Bigrams:
    """Count the pairs of adjacent words in sentences.

    tokens: (n,) int32 ids below `size`, with -1 between sentences.
    end: id that replaces each -1, so that pairs include it before and after each sentence. If it is -1, no pair spans
    two sentences.
    piece: number of pairs sorted at once.
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
    """Return how often the word `previous` was followed by any word."""
    last = bigrams.starts[previous + 1]
    return np.int64(bigrams.ends[last - 1]) if last > bigrams.starts[previous] else np.int64(0)


@inline
def _search(values: Any, low: Any, high: Any, least: Any, places: Any) -> None:
    """Set each places[k] to the index of the first of the ascending values[low:high] that is >= least[k], or to high.

    The n binary searches advance together, step by step: run separately, each would wait for memory at every step.
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
    """Draw n followers of `previous` with probabilities proportional to their counts; there must be at least one.

    places (n,) receives their positions in bigrams.words. least (n,) int64 is overwritten.
    """
    low, high = bigrams.starts[previous], bigrams.starts[previous + 1]
    for k in range(len(least)):
        least[k] = draw_below(rng, bigrams.ends[high - 1]) + 1
    _search(bigrams.ends, low, high, least, places)


@inline
def find_followers(bigrams: Any, previous: Any, words: Any, places: Any) -> None:
    """Fill places (n,) with the positions in bigrams.words of words (n,) as followers of `previous`, -1 if absent."""
    low, high = bigrams.starts[previous], bigrams.starts[previous + 1]
    _search(bigrams.words, low, high, words, places)
    for k in range(len(places)):
        if places[k] == high or bigrams.words[places[k]] != words[k]:
            places[k] = -1


@inline
def _first_at_least(values: Any, low: Any, high: Any, least: Any) -> Any:
    """Return the index of the first of the ascending values[low:high] that is >= least, or high."""
    while low < high:
        middle = (low + high) >> 1
        if np.int64(values[middle]) < least:
            low = middle + 1
        else:
            high = middle
    return low


@inline
def draw_follower(rng: Any, bigrams: Any, previous: Any) -> Any:
    """Return one follower of `previous`, drawn as by `draw_followers`, which is faster for many draws at once."""
    low, high = bigrams.starts[previous], bigrams.starts[previous + 1]
    return bigrams.words[_first_at_least(bigrams.ends, low, high, draw_below(rng, bigrams.ends[high - 1]) + 1)]


@inline
def find_follower(bigrams: Any, previous: Any, word: Any) -> Any:
    """Return the position in bigrams.words of `word` as a follower of `previous`, or -1 if it is none."""
    high = bigrams.starts[previous + 1]
    place = _first_at_least(bigrams.words, bigrams.starts[previous], high, np.int64(word))
    return place if place < high and bigrams.words[place] == word else np.int64(-1)


@inline
def count_at(bigrams: Any, previous: Any, place: Any) -> Any:
    """Return how often the word at position `place` of bigrams.words followed `previous`; 0 if place is -1."""
    if place < 0:
        return np.int64(0)
    before = np.int64(bigrams.ends[place - 1]) if place > bigrams.starts[previous] else np.int64(0)
    return np.int64(bigrams.ends[place]) - before


class Proposal(NamedTuple):
    """The proposal distribution Q(v|p) = λ B(v|p) + (1 - λ) U(v), where p is the word before the target.

    λ is mixture[class_of[p]], or 0 if the target is the first word of its sentence or no word ever followed p.

    accept, alias: the alias table of U. unigram (V,) float64: U. bigrams: the counts behind B. class_of (V,) int32: the
    class of each word. mixture (classes,) float64: λ of each class.
    """

    accept: np.ndarray
    alias: np.ndarray
    unigram: np.ndarray
    bigrams: Bigrams
    class_of: np.ndarray
    mixture: np.ndarray


class DrawBuffers(NamedTuple):
    """Working memory for a batch of n draws, (n,) each.

    parts float64: λ B. q float64: Q. places int64: indices into the bigram table. least int64: cumulative counts to
    search for in that table.
    """

    parts: np.ndarray
    q: np.ndarray
    places: np.ndarray
    least: np.ndarray


def fixed_mixture(problem: Problem, exponent: float) -> Proposal:
    """Return the mixture with λ = n / (n + FOLLOWER_WEIGHT t), where p is followed n times, by t distinct words.

    The more often a new word has followed p so far, the less the bigrams are trusted (Witten & Bell 1991, "The
    zero-frequency problem"; Collins 1999, "Head-driven statistical models for natural language parsing", for the
    factor). U is proportional to the counts to the power `exponent`.
    """
    proposal = class_mixture(problem, exponent, np.arange(len(problem.counts), dtype=np.int32), 0.0)
    starts, ends = proposal.bigrams.starts, proposal.bigrams.ends
    known = np.flatnonzero(np.diff(starts))
    n, t = ends[starts[known + 1] - 1].astype(np.float64), np.diff(starts)[known]
    proposal.mixture[known] = n / (n + FOLLOWER_WEIGHT * t)
    return proposal


def class_mixture(problem: Problem, exponent: float, class_of: np.ndarray, share: float) -> Proposal:
    """Return the mixture with λ = share for all classes of words, class_of (V,) int32.

    U is proportional to the counts to the power `exponent`. Without a text there are no bigrams.
    """
    unigram = noise_distribution(np.maximum(problem.counts, 1), exponent)
    bigrams = count_bigrams(problem.tokens, len(problem.counts), problem.end)
    return Proposal(*alias_table(unigram), unigram, bigrams, class_of, np.full(class_of.max() + 1, share))


@inline
def mixture_at(proposal, previous):
    """Return λ for the word `previous` (-1: there is none), and how often any word followed it."""
    pairs = followers(proposal.bigrams, previous) if previous >= 0 else int64(0)
    return (proposal.mixture[proposal.class_of[previous]] if pairs else 0.0), pairs


@inline
def draw_mixed(stream, proposal, previous, share, pairs, scratch, words):
    """Fill words (n,) with draws from Q(.|previous), bigram draws first, and scratch with the words' λ B and Q."""
    table, least, places = proposal.bigrams, scratch.least, scratch.places
    size = len(words)
    n = 0
    for _ in range(size):
        n += (draw(stream) >> _32) * 2.0**-32 < share
    if n:
        draw_followers(stream, table, previous, least[:n], places[:n])
        for k in range(n):
            words[k] = table.words[places[k]]
    draw_words(stream, proposal.accept, proposal.alias, words[n:])
    if pairs:
        find_followers(table, previous, words[n:], places[n:size])
    for k in range(size):
        scratch.parts[k] = share * count_at(table, previous, places[k]) / pairs if pairs else 0.0
        scratch.q[k] = scratch.parts[k] + (1 - share) * proposal.unigram[words[k]]
