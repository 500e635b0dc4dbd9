"""A cache between input rows and windows: a few slots with the vectors of words in use, for words with subwords.

A word's input vector is the mean of its rows, and each of these takes the whole gradient of the mean, as in fastText.
So the mean moves by exactly that gradient, and can be trained like a row of its own: a word *enters* a slot, which then
holds its vector; when all words *leave*, each row of a word changes by as much as its slot did. A row that a word has m
times changes m times. If the mean would then move by more than two gradients, all changes are scaled so that it moves
by two: otherwise, a line of 300 equals signs, whose n-grams are in 4 rows, would take 300 gradients, and training would
diverge. A kernel trains on slots as on rows. Without subwords, a cache is None, whose type Numba knows: kernels then
use the rows themselves.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import float32, int32, int64, types
from numba.extending import overload

from w2vtrain.formats.subwords import Subwords
from w2vtrain.kernels.jit import FORCED, inline
from w2vtrain.kernels.rows import add_to_rows, apart_zeros, padded_rows, prefetch, replica_of, replicas_of, sum_rows

TARGETS_PER_CACHE = 128
"""Targets after which all words leave the cache: until then, words that share n-grams do not see each other's changes.
With 16,000 targets, training diverged; with one, it takes three times as long and scores are the same."""


class RowCache(NamedTuple):
    """The slots of one thread.

    starts (V + 1,) int64, rows int32, steps (V,) float32: see Subwords; slots (V,) int32: the slot of each word, or -1;
    words (S,) int32: the word in each slot; vectors, entered (S, columns) float32: its vector, and what that was when
    it entered; change (1, columns): working memory; inputs (n,) int32: the slots of a window; state (2,) int64: the
    number of slots in use, and that of targets since words left.
    """

    starts: np.ndarray
    rows: np.ndarray
    steps: np.ndarray
    slots: np.ndarray
    words: np.ndarray
    vectors: np.ndarray
    entered: np.ndarray
    change: np.ndarray
    inputs: np.ndarray
    state: np.ndarray
    bias: int  # the column of ones, or -1


def make_row_cache(subwords: Subwords | None, words: int, columns: int, contexts: int, bias: int) -> RowCache | None:
    """Return a cache for at most `words` different words at once, None without subwords.

    columns: of an input row; contexts: the most context words in a window; bias: the column of ones, or -1.
    """
    if subwords is None:
        return None
    words = min(words, subwords.words)
    slots = apart_zeros((subwords.words,), np.int32)
    slots[:] = -1
    return RowCache(
        subwords.starts, subwords.rows, subwords.steps, slots, apart_zeros((words,), np.int32),
        padded_rows(words, columns), padded_rows(words, columns), padded_rows(1, columns),
        apart_zeros((contexts,), np.int32), apart_zeros((2,), np.int64), bias,
    )  # fmt: skip


@inline
def enter(cache, matrix, word):
    """Return the slot of a word, which enters the cache if it is not there."""
    slot = int64(cache.slots[word])
    if slot < 0:
        slot = cache.state[0]
        cache.state[0] = slot + 1
        cache.slots[word] = int32(slot)
        cache.words[slot] = word
        first, n = cache.starts[word], cache.starts[word + 1] - cache.starts[word]
        sum_rows(cache.vectors[slot : slot + 1], matrix, cache.rows[first:], n, float32(1) / float32(n))
        if cache.bias >= 0:
            cache.vectors[slot, cache.bias] = float32(1)
        for c in range(cache.vectors.shape[1]):
            cache.entered[slot, c] = cache.vectors[slot, c]
    return slot


@inline
def leave(cache, matrix):
    """Let all words leave the cache: their rows change by as much as their slots did."""
    count = cache.state[0]
    for slot in range(count):
        word = cache.words[slot]
        if slot + 1 < count:
            prefetch_rows(cache, matrix, cache.words[slot + 1])
        for c in range(cache.vectors.shape[1]):
            cache.change[0, c] = cache.vectors[slot, c] - cache.entered[slot, c]
        first, n = cache.starts[word], cache.starts[word + 1] - cache.starts[word]
        add_to_rows(matrix, cache.rows[first:], n, cache.change, cache.steps[word])
        cache.slots[word] = int32(-1)
    cache.state[0], cache.state[1] = int64(0), int64(0)


@inline
def prefetch_rows(cache, matrix, word):
    """Prefetch the rows of a word."""
    for k in range(cache.starts[word], cache.starts[word + 1]):
        prefetch(matrix, int64(cache.rows[k]))


@inline
def _bring(cache, matrix, hot, sentence, length, position, size, first):
    """Let the words enter that the window of a target needs, and prefetch the rows of the next one."""
    begin = position + size
    if cache.state[1] >= TARGETS_PER_CACHE:
        leave(cache, matrix)
        begin = max(int64(0), position - size)
    if first:
        begin = int64(0)
    for place in range(begin, min(length, position + size + 1)):
        if place + 1 < length and cache.slots[sentence[place + 1]] < 0:
            prefetch_rows(cache, matrix, sentence[place + 1])
        enter(cache, matrix, sentence[place])
    cache.state[1] += 1


@inline
def _prefetch_next(cache, matrix, hot, sentence, length, position, size, first):
    if position + 1 + size < length:
        prefetch(matrix, replica_of(hot, sentence[position + 1 + size]))


@inline
def _locate(cache, hot, words, n, places):
    for i in range(n):
        places[i] = cache.slots[words[i]]


@inline
def _locate_rows(cache, hot, words, n, places):
    if hot.size > 0:  # otherwise, `places` is `words`, and the copy would take 3% of the time of a CBOW window
        replicas_of(hot, words, n, places)


def bring(cache: Any, matrix: Any, hot: Any, sentence: Any, length: Any, position: Any, size: Any, first: Any) -> None:
    """Get ready for the window of a target: let its words enter, or prefetch the row of the next word.

    size: the words on each side; first: whether this is the first target of its sentence. After TARGETS_PER_CACHE
    targets, all words leave, and those of the window enter again. The code is in `_bring`, and without subwords in
    `_prefetch_next`.
    """


def locate(cache: Any, hot: Any, words: Any, n: Any, places: Any) -> None:
    """Write the slots of n words, which are in the cache (`_locate`), or their rows (`_locate_rows`), to `places`."""


def settle(cache: Any, matrix: Any) -> None:
    """Let all words leave: see `leave`. Without subwords, there is nothing to do."""


@overload(bring, jit_options=FORCED)
def _choose_bring(cache, matrix, hot, sentence, length, position, size, first):
    return _prefetch_next if isinstance(cache, types.NoneType) else _bring


@overload(locate, jit_options=FORCED)
def _choose_locate(cache, hot, words, n, places):
    return _locate_rows if isinstance(cache, types.NoneType) else _locate


@overload(settle, jit_options=FORCED)
def _choose_settle(cache, matrix):
    return (lambda cache, matrix: None) if isinstance(cache, types.NoneType) else leave
