"""The stage between input rows and windows: a few slots with the vectors of words in use, for words with subwords.

A word's input vector is the mean of its rows, and each of these takes the whole gradient of the mean, as in fastText.
So the mean moves by exactly that gradient, and can be trained like a row of its own: a word *enters* a slot, which then
holds its vector; when all words *leave*, each row of a word changes by as much as its slot did. A row that a word has m
times changes m times. If the mean would then move by more than two gradients, all changes are scaled so that it moves
by two: otherwise, a line of 300 equals signs, whose n-grams are in 4 rows, would take 300 gradients, and training would
diverge. A kernel trains on slots as on rows. Without subwords, a stage is None, whose type Numba knows: kernels then
use the rows themselves.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import float32, int32, int64, types
from numba.extending import overload

from w2vtrain.formats.subwords import Subwords
from w2vtrain.kernels.jit import FORCED, inline
from w2vtrain.kernels.rows import add_to_rows, apart_zeros, padded_rows, prefetch, replica_of, replicas_of, sum_rows

TARGETS_PER_STAGE = 128
"""Targets after which all words leave the stage: until then, words that share n-grams do not see each other's changes.
With 16,000 targets, training diverged; with one, it takes three times as long and scores are the same."""


class Stage(NamedTuple):
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


def make_stage(subwords: Subwords | None, words: int, columns: int, contexts: int, bias: int) -> Stage | None:
    """Return a stage for at most `words` different words at once, None without subwords.

    columns: of an input row; contexts: the most context words in a window; bias: the column of ones, or -1.
    """
    if subwords is None:
        return None
    words = min(words, subwords.words)
    slots = apart_zeros((subwords.words,), np.int32)
    slots[:] = -1
    return Stage(
        subwords.starts, subwords.rows, subwords.steps, slots, apart_zeros((words,), np.int32),
        padded_rows(words, columns), padded_rows(words, columns), padded_rows(1, columns),
        apart_zeros((contexts,), np.int32), apart_zeros((2,), np.int64), bias,
    )  # fmt: skip


@inline
def enter(stage, matrix, word):
    """Return the slot of a word, which enters the stage if it is not there."""
    slot = int64(stage.slots[word])
    if slot < 0:
        slot = stage.state[0]
        stage.state[0] = slot + 1
        stage.slots[word] = int32(slot)
        stage.words[slot] = word
        first, n = stage.starts[word], stage.starts[word + 1] - stage.starts[word]
        sum_rows(stage.vectors[slot : slot + 1], matrix, stage.rows[first:], n, float32(1) / float32(n))
        if stage.bias >= 0:
            stage.vectors[slot, stage.bias] = float32(1)
        for c in range(stage.vectors.shape[1]):
            stage.entered[slot, c] = stage.vectors[slot, c]
    return slot


@inline
def leave(stage, matrix):
    """Let all words leave the stage: their rows change by as much as their slots did."""
    count = stage.state[0]
    for slot in range(count):
        word = stage.words[slot]
        if slot + 1 < count:
            prefetch_rows(stage, matrix, stage.words[slot + 1])
        for c in range(stage.vectors.shape[1]):
            stage.change[0, c] = stage.vectors[slot, c] - stage.entered[slot, c]
        first, n = stage.starts[word], stage.starts[word + 1] - stage.starts[word]
        add_to_rows(matrix, stage.rows[first:], n, stage.change, stage.steps[word])
        stage.slots[word] = int32(-1)
    stage.state[0], stage.state[1] = int64(0), int64(0)


@inline
def prefetch_rows(stage, matrix, word):
    """Prefetch the rows of a word."""
    for k in range(stage.starts[word], stage.starts[word + 1]):
        prefetch(matrix, int64(stage.rows[k]))


@inline
def _bring(stage, matrix, hot, sentence, length, position, size, first):
    """Let the words enter that the window of a target needs, and prefetch the rows of the next one."""
    begin = position + size
    if stage.state[1] >= TARGETS_PER_STAGE:
        leave(stage, matrix)
        begin = max(int64(0), position - size)
    if first:
        begin = int64(0)
    for place in range(begin, min(length, position + size + 1)):
        if place + 1 < length and stage.slots[sentence[place + 1]] < 0:
            prefetch_rows(stage, matrix, sentence[place + 1])
        enter(stage, matrix, sentence[place])
    stage.state[1] += 1


@inline
def _prefetch_next(stage, matrix, hot, sentence, length, position, size, first):
    if position + 1 + size < length:
        prefetch(matrix, replica_of(hot, sentence[position + 1 + size]))


@inline
def _locate(stage, hot, words, n, places):
    for i in range(n):
        places[i] = stage.slots[words[i]]


@inline
def _locate_rows(stage, hot, words, n, places):
    if hot.size > 0:  # otherwise, `places` is `words`, and the copy would take 3% of the time of a CBOW window
        replicas_of(hot, words, n, places)


def bring(stage: Any, matrix: Any, hot: Any, sentence: Any, length: Any, position: Any, size: Any, first: Any) -> None:
    """Get ready for the window of a target: let its words enter, or prefetch the row of the next word.

    size: the words on each side; first: whether this is the first target of its sentence. After TARGETS_PER_STAGE
    targets, all words leave, and those of the window enter again. The code is in `_bring`, and without subwords in
    `_prefetch_next`.
    """


def locate(stage: Any, hot: Any, words: Any, n: Any, places: Any) -> None:
    """Write the slots of n words, which are in the stage (`_locate`), or their rows (`_locate_rows`), to `places`."""


def settle(stage: Any, matrix: Any) -> None:
    """Let all words leave: see `leave`. Without subwords, there is nothing to do."""


@overload(bring, jit_options=FORCED)
def _choose_bring(stage, matrix, hot, sentence, length, position, size, first):
    return _prefetch_next if isinstance(stage, types.NoneType) else _bring


@overload(locate, jit_options=FORCED)
def _choose_locate(stage, hot, words, n, places):
    return _locate_rows if isinstance(stage, types.NoneType) else _locate


@overload(settle, jit_options=FORCED)
def _choose_settle(stage, matrix):
    return (lambda stage, matrix: None) if isinstance(stage, types.NoneType) else leave
