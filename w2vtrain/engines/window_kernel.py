"""The kernel of the window engine: read a sentence, gather each window, score it against candidates, update the rows.

Nothing here depends on a particular objective or architecture: their types determine which `candidates`, `errors`,
`forward` and `backward` are compiled in. All matrices are made by `padded_rows`. The block engine gathers its windows
with the same functions.

Which values an update uses. With `train_hidden` and one example per window (CBOW, vLBL), everything is computed from
the old values. `train_rows` (skip-gram) computes all scores of the window (`train_rows_in_parts`: of some of its
context words) from the old values, too, and an input row gets the sum of its updates (if `in_turn`, from output rows as
earlier context words left them). But it updates tile by tile and, in a tile, word by word: an output row learns from an
input row that earlier tiles, and earlier occurrences of the same context word, have already changed. The difference is
of second order in the learning rate. A tile updates up to six output rows, or three with 16 vector registers, so that
windows that repeat a word train a little differently on processors with more. word2vec.c trains on one pair after the
other, so that even the scores of a word that occurs twice differ; so does `train_hidden` with one example per context
word.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64, types, uint32, uint64
from numba.extending import overload

from w2vtrain.engines.row_cache import bring, locate, settle
from w2vtrain.kernels.jit import FORCED, inline, kernel
from w2vtrain.kernels.rows import (
    copy_indices,
    has_repeats,
    load_replicas,
    prefetch,
    replica_of,
    replicas_of,
    synchronize,
)
from w2vtrain.kernels.tiles import ROWS_AT_ONCE, make_dots, make_update, make_update_one
from w2vtrain.objectives.contract import Candidates, Window
from w2vtrain.probability.random_streams import draw, draw_below, seed_stream
from w2vtrain.text.encoded import Tags

PLANNED_WORDS = 50
"""Words on each side of a target up to which memory and work are planned for the size of the window alone. For wider
windows, they are bounded by the length of the sentences, too."""

WORDS_AT_ONCE = 20
"""Context words of a wide window that an output row learns from in one update. With a hundred or more, which have
similar rows if words are repeated, updates from old values overshoot: on sentences of 800 words, training diverged at
the default rate."""

WORDS_IN_TURN = 10
"""The same for objectives whose rows are updated in turn, in windows of more words: their scores are computed before,
so with up to 40 words at once, hs-neg diverged at the default rate. Parts cost 3% of the speed."""

TARGETS_AT_ONCE = 4
"""Consecutive words of a document that share noise words, so that pv-dbow trains 1.8 times as fast. A classifier of
reviews is then as accurate as with 1, within the standard error; with 8, it is less accurate."""

DECAY_STRIPES = 16
"""Each chunk decays every 16th row, 16 times as much: over 16 chunks, the same effect at 1/16 of the memory traffic."""


class Windows(NamedTuple):
    """Which words around a target are its context.

    The context is up to `size` words before the target (if `left`) and after it (if `right`). If `shrink`, each window
    has a random size from 1 to `size`. end: the id of the end-of-sentence word, which is predicted, too, or -1 if
    there is none; pads: how many copies of it precede the first word of a sentence. tags: those of documents, which
    are context, too, wherever the target is in its document; None, whose type Numba knows, without documents. full:
    whether each window has `size` entries on each side, -1 for those beyond its reach or the sentence.
    """

    size: int = 5
    shrink: bool = True
    left: bool = True
    right: bool = True
    end: int = -1
    pads: int = 0
    tags: Tags | None = None
    full: bool = False

    def reach(self, longest: int) -> int:
        """Return the most context words on one side of a target. longest: the most words in a sentence."""
        return self.size if self.full else min(self.size, longest + self.pads + 1)


@inline
def read_sentence(tokens, position, end, keep, windows, rng, sentence):
    """Copy one sentence without the words that subsampling drops. Return (next position, length).

    If there is an end-of-sentence word, the copy begins with `windows.pads` of it and ends with one.
    """
    length = int64(0)
    if windows.end >= 0:
        while length < windows.pads:
            sentence[length] = windows.end
            length += 1
    while position < end:
        word = tokens[position]
        position += 1
        if word < 0:
            break
        sentence[length] = word
        length += int64(uint32(draw(rng) >> uint64(32)) <= keep[word])
    if windows.end >= 0:
        sentence[length] = windows.end
        length += 1
    return position, length


@inline
def reach_of(windows, rng):
    """Return how many words on each side of a target are its context: a random number if windows shrink."""
    return windows.size - draw_below(rng, windows.size) if windows.shrink else windows.size


@inline
def gather_context(sentence, length, position, reach, windows, context):
    """Copy the words within `reach` of a position, except the word there, to `context`.

    Return (number of words, number of those before the position), with -1 for missing words if windows are full. Both
    arrays need ROW more elements than are used, because `copy_indices` copies whole vectors.
    """
    first = max(0, position - reach) if windows.left else position
    last = min(length - 1, position + reach) if windows.right else position
    left, right = position - first, last - position
    start = windows.size - left if windows.full else 0
    copy_indices(context, start, sentence, first, left)
    copy_indices(context, start + left, sentence, position + 1, right)
    if windows.full:
        context[:start] = -1
        context[windows.size + right : 2 * windows.size] = -1
        return int64(2 * windows.size), int64(windows.size)
    return int64(left + right), int64(left)


def document_of(windows: Any, tokens: Any, position: Any) -> Any:
    """Return the number of the document of the sentence that ends before `position`; 0 without documents."""


def append_tags(windows: Any, document: Any, context: Any, n: Any) -> Any:
    """Append the rows of a document's tags to n context words. Return the number of both; n without documents."""


@overload(document_of, jit_options=FORCED)
def _document_of(windows, tokens, position):
    if _has_no_tags(windows):
        return lambda windows, tokens, position: int64(0)
    return lambda windows, tokens, position: int64(-2 - tokens[position - 1])


@overload(append_tags, jit_options=FORCED)
def _append_tags(windows, document, context, n):
    return (lambda windows, document, context, n: n) if _has_no_tags(windows) else _with_tags


def _has_no_tags(windows):
    return isinstance(windows.types[windows.fields.index("tags")], types.NoneType)


def _with_tags(windows, document, context, n):
    first, last = windows.tags.starts[document], windows.tags.starts[document + 1]
    for k in range(first, last):
        context[n + k - first] = windows.tags.rows[k]
    return int64(n + last - first)


def words_at_once(size: int, in_turn: bool) -> int | None:
    """Return how many context words are trained together if windows have up to `size` words on each side; None: all.

    Half of the tags of a document count as words on each side. None, whose type Numba knows, leaves the loop over parts
    out of the kernel, which would slow it down by 2%.
    """
    if in_turn:
        return None if 2 * size <= WORDS_IN_TURN else WORDS_IN_TURN
    return None if size <= PLANNED_WORDS else WORDS_AT_ONCE


dots_2x6, dots_2x4, dots_2x3 = make_dots(2, 6), make_dots(2, 4), make_dots(2, 3)
dots_1x6, dots_1x4, dots_1x3 = make_dots(1, 6), make_dots(1, 4), make_dots(1, 3)
update_many, update_4, update_3 = make_update(ROWS_AT_ONCE), make_update(4), make_update(3)
update_one_6, update_one_4, update_one_3 = make_update_one(6), make_update_one(4), make_update_one(3)


class Matrices(NamedTuple):
    """The input rows and the output rows, followed by replicas and sinks: float32, made by `padded_rows`.

    If there are biases, one column holds 1 in every hidden vector and the bias in every output row.
    """

    input: np.ndarray
    output: np.ndarray


def examples_of(architecture, n):
    """Return the number of examples (hidden vectors) in a window with n context words."""
    return n if architecture.pairs() else 1


@overload(examples_of, jit_options=FORCED)
def _examples_of(architecture, n):
    return (lambda architecture, n: n) if architecture.instance_class.pairs() else (lambda architecture, n: 1)


@inline
def decay(matrix, columns, chunk, chunks, step):
    """Apply weight decay to the first `columns` columns of every 16th row; `chunk` decides which rows.

    step: the fraction that weights lose per chunk of mean length. Each row is decayed in one of 16 chunks, by the
    amount for all 16.
    """
    stripes = min(DECAY_STRIPES, chunks)
    turns = (chunks - chunk % stripes + stripes - 1) // stripes
    factor = float32(math.exp(-step * chunks / turns))
    for r in range(chunk % stripes, len(matrix), stripes):
        for c in range(columns):
            matrix[r, c] *= factor


@kernel()
def train_chunks(
    architecture, objective, windows, tokens, starts, order, rates, matrices, dim, keep, chunk_decay, seed, epoch,
    scratch,
):  # fmt: skip
    """Train on the chunks `order` (n,) of one epoch. Return (summed loss, number of examples).

    tokens int32: word ids, with -1 at the end of each sentence; starts (chunks + 1,) int64: the offsets of the chunks
    in tokens; rates (n,) float64: the learning rate of each chunk; keep: see probability.subsampling.keep_thresholds;
    chunk_decay: see Engine, applied to the first `dim` columns; scratch: see window_engine.Scratch. The random numbers
    depend only on (seed, epoch, chunk).
    """
    loss, examples = 0.0, 0
    load_replicas(scratch.replicas)
    for k in range(len(order)):
        chunk = order[k]
        seed_stream(scratch.rng, seed, epoch, chunk)
        objective.begin(scratch.rng)
        scratch.rng[1] = scratch.rng[0]
        lr = float32(rates[k])
        position, end = starts[chunk], starts[chunk + 1]
        if chunk_decay > 0:
            step = lr * chunk_decay
            columns = min(dim, matrices.input.shape[1])  # fewer if the architecture concatenates rows
            decay(matrices.input[: scratch.input_rows], columns, chunk, len(starts) - 1, step)
            decay(matrices.output[: scratch.output_rows], dim, chunk, len(starts) - 1, step)
        while position < end:
            position, length = read_sentence(tokens, position, end, keep, windows, scratch.rng, scratch.sentence)
            document = document_of(windows, tokens, position)
            sentence_loss, count = train_sentence(
                architecture, objective, matrices, length, windows, document, lr, scratch
            )
            loss += sentence_loss
            examples += count
        settle(scratch.cache, matrices.input)
        if (k + 1) % scratch.sync_every == 0 or k == len(order) - 1:
            synchronize(scratch.replicas)
    return loss, examples


def train_sentence(architecture, objective, matrices, length, windows, document, lr, scratch):
    """Train on the sentence in scratch. Return (summed loss, number of examples)."""
    train = _trainer_of_sentences(architecture, objective)
    return train(architecture, objective, matrices, length, windows, document, lr, scratch)


@overload(train_sentence, jit_options=FORCED)
def _train_sentence(architecture, objective, matrices, length, windows, document, lr, scratch):
    return _trainer_of_sentences(architecture.instance_class, objective.instance_class)


def _trainer_of_sentences(architecture, objective):
    return train_groups if not architecture.uses_words() and objective.shares_noise() else train_windows


@inline
def train_windows(architecture, objective, matrices, length, windows, document, lr, scratch):
    """Train on every window of a sentence."""
    sentence, context = scratch.sentence, scratch.context
    loss, examples, hot = 0.0, 0, scratch.hot_inputs
    trained = Matrices(scratch.trained, matrices.output)
    m_next = next_candidates(objective, matrices.output, scratch, length, windows.pads)
    for position in range(windows.pads, length):
        k, m, first = position & 1, m_next, position == windows.pads
        m_next = next_candidates(objective, matrices.output, scratch, length, position + 1)
        bring(scratch.cache, matrices.input, hot, sentence, length, position, windows.size, first)
        reach = reach_of(windows, scratch.rng)
        n, left = gather_context(sentence, length, position, reach, windows, context)
        n = append_tags(windows, document, context, n)
        locate(scratch.cache, hot, context, n, scratch.places)
        if n > 0 and m > 0:
            candidates = Candidates(scratch.rows[k], scratch.labels[k], scratch.shifts[k], m)
            loss += train_window(architecture, objective, trained, Window(context, n, left), candidates, lr, scratch)
            examples += examples_of(architecture, n)
    return loss, examples


@inline
def train_groups(architecture, objective, matrices, length, windows, document, lr, scratch):
    """Train the tags of a document on the words of a sentence, TARGETS_AT_ONCE at a time, which share noise words.

    Each noise word then counts once for each of these targets.
    """
    loss, n = 0.0, append_tags(windows, document, scratch.context, int64(0))
    locate(scratch.cache, scratch.hot_inputs, scratch.context, n, scratch.places)
    window, rows = Window(scratch.context, n, int64(0)), Window(scratch.places, n, int64(0))
    lr = float32(lr * architecture.rate_scale(n))
    k, m_next = 0, next_group(objective, matrices.output, scratch, 0, length, windows.pads)
    for first in range(windows.pads, length, TARGETS_AT_ONCE):
        size, m, last = min(TARGETS_AT_ONCE, length - first), m_next, k
        k = 1 - last
        m_next = next_group(objective, matrices.output, scratch, k, length, first + TARGETS_AT_ONCE)
        words, labels, shifts = scratch.rows[last], scratch.labels[last], scratch.shifts[last]
        targets, noise = Candidates(words, labels, shifts, size), Candidates(words[size:], labels[size:], shifts, m)
        for example in range(n):
            own = window_of_example(architecture, window, example)
            architecture.forward(matrices.input, rows, example, scratch.hidden)
            loss += train_candidates(objective, matrices.output, own, targets, lr, scratch, scratch.hidden)
            architecture.backward(matrices.input, rows, example, scratch.gradient, float32(1))
            if m > 0:
                rate = lr * float32(size)
                loss += size * train_candidates(objective, matrices.output, own, noise, rate, scratch, scratch.hidden)
                architecture.backward(matrices.input, rows, example, scratch.gradient, float32(1))
    return loss, n * max(int64(0), length - windows.pads)


@inline
def next_group(objective, w_out, scratch, k, length, first):
    """Write the targets from position `first` on, then the noise words of the first, and prefetch the rows of both.

    Noise words that are one of the targets are left out. Return the number of the others, 0 past the sentence's end.
    """
    size = min(TARGETS_AT_ONCE, length - first)
    if size <= 0:
        return int64(0)
    sentence, rows, labels = scratch.sentence, scratch.rows[k], scratch.labels[k]
    own = size - 1  # where the first target is written, and then the last one
    m = own + objective.candidates(sentence, first, scratch.rng, rows[own:], labels[own:], scratch.shifts[k])
    _, far = objective.prefetched(rows[own:], m - own)
    for j in range(size):
        rows[j], labels[j] = sentence[first + j], float32(1)
        prefetch(w_out, replica_of(scratch.hot_outputs, rows[j]))
    end = size
    for j in range(size, m):
        is_target = False
        for i in range(size):
            is_target |= rows[i] == rows[j]
        if not is_target:
            rows[end] = rows[j]
            if j - own < far:
                prefetch(w_out, replica_of(scratch.hot_outputs, rows[j]))
            end += 1
    return int64(end - size)


@inline
def next_candidates(objective, w_out, scratch, length, position):
    """Draw the candidates of a later target and prefetch their rows. Return their number, 0 past the sentence's end."""
    if position >= length:
        return int64(0)
    k = position & 1
    rows = scratch.rows[k]
    m = objective.candidates(scratch.sentence, position, scratch.rng, rows, scratch.labels[k], scratch.shifts[k])
    first, end = objective.prefetched(rows, m)
    for j in range(first, end):
        prefetch(w_out, replica_of(scratch.hot_outputs, rows[j]))
    return int64(m)


def train_window(architecture, objective, matrices, window, candidates, lr, scratch):
    """Train on one window and return its summed loss. The rows and the learned arrays change in place."""
    train = _function_for(architecture.in_place(), scratch.words_at_once is None)
    return train(architecture, objective, matrices, window, candidates, lr, scratch)


@overload(train_window, jit_options=FORCED)
def _train_window(architecture, objective, matrices, window, candidates, lr, scratch):
    at_once = scratch.types[scratch.fields.index("words_at_once")]
    return _function_for(architecture.instance_class.in_place(), isinstance(at_once, types.NoneType))


def _function_for(in_place, whole_window):
    if not in_place:
        return train_hidden
    return train_rows if whole_window else train_rows_in_parts


@inline
def train_rows(architecture, objective, matrices, window, candidates, lr, scratch):
    """Train on a window whose hidden vectors are the rows of its context words."""
    return train_rows_together(objective, matrices, window, scratch.places, candidates, lr, scratch)


@inline
def train_rows_in_parts(architecture, objective, matrices, window, candidates, lr, scratch):
    """Do what `train_rows` does with scratch.words_at_once context words at a time.

    The last come first, because `train_rows_together` overwrites the index after those that it is given.
    """
    loss, size = 0.0, scratch.words_at_once
    for first in range((window.n - 1) // size * size, -1, -size):
        words = Window(window.context[first:], min(size, window.n - first), max(int64(0), window.left - first))
        loss += train_rows_together(objective, matrices, words, scratch.places[first:], candidates, lr, scratch)
    return loss


@inline
def train_rows_together(objective, matrices, window, inputs, candidates, lr, scratch):
    """Train on context words, whose rows are the hidden vectors `inputs`, in one product and one update."""
    w_in, w_out, n, m = matrices.input, matrices.output, window.n, candidates.m
    g, outputs, bias = scratch.logits, scratch.outputs, scratch.bias
    replicas_of(scratch.hot_outputs, candidates.rows, m, outputs)
    sixes, fours, end = segments(outputs, m, scratch.sink)
    inputs[n] = inputs[0]  # fills the tile of an odd last row, also in `context` if that is the same array; not used
    for i in range(0, n, 2):
        for j in range(0, sixes, 6):
            dots_2x6(w_in, inputs, i, w_out, outputs, j, g)
        for j in range(sixes, fours, 4):
            dots_2x4(w_in, inputs, i, w_out, outputs, j, g)
        if fours < end:
            dots_2x3(w_in, inputs, i, w_out, outputs, fours, g)
    loss = objective.errors(g[:n], window, candidates, lr)  # g has scores before this line, lr * coefficients after it
    for i in range(n):
        for j in range(m, end):
            g[i, j] = float32(0)
    merge_candidates(objective, g, n, outputs, m, scratch.sink)
    one_by_one, repeats = objective.in_turn(), bias >= 0 and has_repeats(inputs, n)
    if repeats:
        add_up_biases(w_out, outputs, end, bias, g, n)
    for j in range(0, sixes, ROWS_AT_ONCE):
        update_many(w_in, inputs, n, w_out, outputs, j, g, one_by_one)
        keep_ones(w_in, inputs, n, bias)
    for j in range(sixes, fours, 4):
        update_4(w_in, inputs, n, w_out, outputs, j, g, one_by_one)
        keep_ones(w_in, inputs, n, bias)
    if fours < end:
        update_3(w_in, inputs, n, w_out, outputs, fours, g, one_by_one)
        keep_ones(w_in, inputs, n, bias)
    if repeats:
        for j in range(end):
            w_out[outputs[j], bias] = g[n, j]
    return loss


@inline
def train_hidden(architecture, objective, matrices, window, candidates, lr, scratch):
    """Train on a window whose hidden vectors the architecture computes, one example at a time."""
    loss, count = 0.0, examples_of(architecture, window.n)
    rows = Window(scratch.places, window.n, window.left)
    lr = float32(lr * architecture.rate_scale(window.n))
    for example in range(count):
        architecture.forward(matrices.input, rows, example, scratch.hidden)
        own_window = window_of_example(architecture, window, example)
        loss += train_candidates(objective, matrices.output, own_window, candidates, lr, scratch, scratch.hidden)
        architecture.backward(matrices.input, rows, example, scratch.gradient, float32(1))
    return loss


@inline
def train_candidates(objective, w_out, window, candidates, lr, scratch, taught):
    """Train all candidates' rows on scratch.hidden, write lr * -dL/dh to scratch.gradient, and return the loss.

    taught (1, columns): scratch.hidden, or zeros to leave the candidates' rows as they are.
    """
    g, zero, outputs, m, bias = scratch.logits, scratch.zero, scratch.outputs, candidates.m, scratch.bias
    hidden, gradient = scratch.hidden, scratch.gradient
    replicas_of(scratch.hot_outputs, candidates.rows, m, outputs)
    sixes, fours, end = segments(outputs, m, scratch.sink)
    if bias >= 0:
        hidden[0, bias] = float32(1)
    for j in range(0, sixes, 6):
        dots_1x6(hidden, zero, 0, w_out, outputs, j, g)
    for j in range(sixes, fours, 4):
        dots_1x4(hidden, zero, 0, w_out, outputs, j, g)
    if fours < end:
        dots_1x3(hidden, zero, 0, w_out, outputs, fours, g)
    loss = objective.errors(g[:1], window, candidates, lr)
    for j in range(m, end):
        g[0, j] = float32(0)
    merge_candidates(objective, g, 1, outputs, m, scratch.sink)
    for j in range(0, sixes, 6):
        update_one_6(taught, w_out, outputs, j, g, gradient)
    for j in range(sixes, fours, 4):
        update_one_4(taught, w_out, outputs, j, g, gradient)
    if fours < end:
        update_one_3(taught, w_out, outputs, fours, g, gradient)
    if bias >= 0:
        gradient[0, bias] = float32(0)
    return loss


def window_of_example(architecture, window, example):
    """Return the part of a window that one example uses: one context word with `pairs`, otherwise all of them."""
    if not architecture.pairs():
        return window
    return _one_word(architecture, window, example)


@overload(window_of_example, jit_options=FORCED)
def _window_of_example(architecture, window, example):
    if not architecture.instance_class.pairs():
        return lambda architecture, window, example: window
    return _one_word


def _one_word(architecture, window, example):
    return Window(window.context[example:], int64(1), int64(example < window.left))


@inline
def segments(rows, m, sink):
    """Divide m candidates into tiles of 6, then of 4, then of 3, padded by at most two entries of the sink.

    Return (end of the sixes, end of the fours, end). Narrow tiles are slower per row, but work on padding is wasted:
    for paths of 7 to 18 nodes, this mix takes 5% less time than tiles of 6 and one of 3.
    """
    rest = m % 6
    fours = 1 if rest == 4 or (rest == 1 and m > 6) else 2 if rest == 2 and m > 6 else 0
    threes = 1 if rest == 3 or rest == 1 or (rest == 2 and m < 6) else 0
    sixes = 6 * ((m - 4 * fours - 3 * threes + 5) // 6)
    end = sixes + 4 * fours + 3 * threes
    for j in range(m, end):
        rows[j] = sink
    return sixes, sixes + 4 * fours, end


@inline
def merge_candidates(objective, logits, n, rows, m, sink):
    """Add up the coefficients of a row that appears more than once: a tile would keep only one of its updates."""
    if objective.distinct() or not has_repeats(rows, m):
        return
    for j in range(1, m):
        for first in range(j):
            if rows[first] == rows[j]:
                for i in range(n):
                    logits[i, first] += logits[i, j]
                    logits[i, j] = float32(0)
                rows[j] = sink
                break


@inline
def add_up_biases(w_out, outputs, end, bias, g, n):
    """Compute what the biases of the candidates outputs[:end] are after an update by g[:n], in g[n].

    The first update of a repeated word changes its column of ones, and the second would then change biases by a wrong
    amount.
    """
    for j in range(end):
        g[n, j] = w_out[outputs[j], bias]
        for i in range(n):
            g[n, j] += g[i, j]


@inline
def keep_ones(w_in, inputs, n, bias):
    """Reset the column of ones, which an update changes like any weight: the biases of the next tile need it."""
    if bias >= 0:
        for i in range(n):
            w_in[inputs[i], bias] = float32(1)
