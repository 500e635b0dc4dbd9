"""Train on one window: score its hidden vectors against the candidates of its target, and update all rows involved.

Nothing here depends on a particular objective or architecture: their types determine which `errors`, `forward` and
`backward` are compiled in. All matrices are made by `padded_rows`.

Which values an update uses. With `learn_hidden` and one example per window (CBOW, vLBL), everything is computed from
the old values. `learn_rows` (skip-gram) computes all scores of the window (`learn_parts`: of some of its context words)
from the old values, too, and an input row gets the sum of its updates (if `in_turn`, from output rows as earlier
context words left them). But it updates tile by tile and, in a tile, word by word: an output row learns from an input
row that earlier tiles, and earlier occurrences of the same context word, have already changed. The difference is of
second order in the learning rate. word2vec.c trains on one pair after the other, so that even the scores of a word that
occurs twice differ; so does `learn_hidden` with one example per context word.
"""

from typing import NamedTuple

import numpy as np
from numba import float32, int64, types
from numba.extending import overload

from w2vtrain.engines.windows import MODEST
from w2vtrain.kernels.hot_rows import replicas_of
from w2vtrain.kernels.indices import has_repeats
from w2vtrain.kernels.jit import FORCED, inline
from w2vtrain.kernels.tiles import make_dots, make_update, make_update_one
from w2vtrain.objectives.contract import Window

PART = 20
"""Context words of a wide window that an output row learns from in one update. With a hundred or more, which have
similar rows if words are repeated, updates from old values overshoot: on sentences of 800 words, training diverged at
the default rate."""


def at_once(size: int) -> int | None:
    """Return how many context words are learned together if windows have up to `size` words on each side; None: all.

    None, whose type Numba knows, leaves the loop over parts out of the kernel, which would slow it down by 2%.
    """
    return None if size <= MODEST else PART


dots_2x6, dots_2x4, dots_2x3 = make_dots(2, 6), make_dots(2, 4), make_dots(2, 3)
dots_1x6, dots_1x4, dots_1x3 = make_dots(1, 6), make_dots(1, 4), make_dots(1, 3)
update_6, update_4, update_3 = make_update(6), make_update(4), make_update(3)
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


def learn(architecture, objective, matrices, window, candidates, lr, scratch):
    """Train on one window and return its summed loss. The rows and the learned arrays change in place."""
    step = _step(architecture.in_place(), scratch.at_once is None)
    return step(architecture, objective, matrices, window, candidates, lr, scratch)


@overload(learn, jit_options=FORCED)
def _learn(architecture, objective, matrices, window, candidates, lr, scratch):
    together = scratch.types[scratch.fields.index("at_once")]
    return _step(architecture.instance_class.in_place(), isinstance(together, types.NoneType))


def _step(in_place, together):
    if not in_place:
        return learn_hidden
    return learn_rows if together else learn_parts


@inline
def learn_rows(architecture, objective, matrices, window, candidates, lr, scratch):
    """Train on a window whose hidden vectors are the rows of its context words."""
    return learn_together(objective, matrices, window, scratch.inputs, candidates, lr, scratch)


@inline
def learn_parts(architecture, objective, matrices, window, candidates, lr, scratch):
    """Do what `learn_rows` does with scratch.at_once context words at a time.

    The last come first, because `learn_together` overwrites the index after those that it is given.
    """
    loss, size = 0.0, scratch.at_once
    for first in range((window.n - 1) // size * size, -1, -size):
        part = Window(window.context[first:], min(size, window.n - first), max(int64(0), window.left - first))
        loss += learn_together(objective, matrices, part, scratch.inputs[first:], candidates, lr, scratch)
    return loss


@inline
def learn_together(objective, matrices, window, inputs, candidates, lr, scratch):
    """Train on context words, whose rows are the hidden vectors `inputs`, in one product and one update."""
    w_in, w_out, n, m = matrices.input, matrices.output, window.n, candidates.m
    g, outputs, bias = scratch.logits, scratch.outputs, scratch.bias
    replicas_of(scratch.hot_outputs, candidates.rows, m, outputs)
    sixes, fours, end = segments(outputs, m, scratch.sink)
    inputs[n] = inputs[0]  # fills the tile of an odd last row; its products are not used
    for i in range(0, n, 2):
        for j in range(0, sixes, 6):
            dots_2x6(w_in, inputs, i, w_out, outputs, j, g)
        for j in range(sixes, fours, 4):
            dots_2x4(w_in, inputs, i, w_out, outputs, j, g)
        if fours < end:
            dots_2x3(w_in, inputs, i, w_out, outputs, fours, g)
    loss = objective.errors(g[:n], window, candidates, lr)
    for i in range(n):
        for j in range(m, end):
            g[i, j] = float32(0)
    merge_candidates(objective, g, n, outputs, m, scratch.sink)
    one_by_one = objective.in_turn()
    for j in range(0, sixes, 6):
        update_6(w_in, inputs, n, w_out, outputs, j, g, one_by_one)
        keep_ones(w_in, inputs, n, bias)
    for j in range(sixes, fours, 4):
        update_4(w_in, inputs, n, w_out, outputs, j, g, one_by_one)
        keep_ones(w_in, inputs, n, bias)
    if fours < end:
        update_3(w_in, inputs, n, w_out, outputs, fours, g, one_by_one)
        keep_ones(w_in, inputs, n, bias)
    return loss


@inline
def learn_hidden(architecture, objective, matrices, window, candidates, lr, scratch):
    """Train on a window whose hidden vectors the architecture computes, one example at a time."""
    loss, count = 0.0, examples_of(architecture, window.n)
    rows = Window(scratch.inputs, window.n, window.left)
    lr = float32(lr * architecture.pace(window.n))
    for example in range(count):
        architecture.forward(matrices.input, rows, example, scratch.hidden)
        part = part_of(architecture, window, example)
        loss += learn_one(objective, matrices.output, part, candidates, lr, scratch)
        architecture.backward(matrices.input, rows, example, scratch.gradient, float32(1))
    return loss


@inline
def learn_one(objective, w_out, window, candidates, lr, scratch):
    """Train all candidates' rows on scratch.hidden, write lr * -dL/dh to scratch.gradient, and return the loss."""
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
        update_one_6(hidden, w_out, outputs, j, g, gradient)
    for j in range(sixes, fours, 4):
        update_one_4(hidden, w_out, outputs, j, g, gradient)
    if fours < end:
        update_one_3(hidden, w_out, outputs, fours, g, gradient)
    if bias >= 0:
        gradient[0, bias] = float32(0)
    return loss


def part_of(architecture, window, example):
    """Return the part of a window that one example uses: one context word with `pairs`, otherwise all of them."""
    if not architecture.pairs():
        return window
    return _one_word(architecture, window, example)


@overload(part_of, jit_options=FORCED)
def _part_of(architecture, window, example):
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
def keep_ones(w_in, inputs, n, bias):
    """Reset the column of ones, which an update changes like any weight: the biases of the next tile need it."""
    if bias >= 0:
        for i in range(n):
            w_in[inputs[i], bias] = float32(1)
