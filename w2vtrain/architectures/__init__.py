"""Skip-gram, CBOW and position-weighted CBOW: how context words become hidden vectors, and how they learn.

They know no objective: `errors` is resolved from the objective's type when the kernel is compiled.

A step learns one window:

    learn(self, objective, w_in, w_out, context, n, rows, labels, shifts, m, lr, scratch) -> loss

with context (n,) the context words and rows, labels, shifts (m,) the candidates of the target. Matrices are as
`padded_rows` makes them. At the end of the output's stand the threads' replicas of hot rows, and one more row a thread,
the sink: padding points there with coefficient 0. Where there are biases, column `bias` of a hidden vector is 1 and an
output row's is its bias; else it is -1.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64
from numba.extending import overload

from w2vtrain.kernels.hot_rows import HotRange, Replicas, replicas_of, replicate
from w2vtrain.kernels.indices import copy_indices, repeats
from w2vtrain.kernels.jit import FORCED, inline
from w2vtrain.kernels.rows import ROW, add_to_rows, apart_zeros, padded_rows, sum_rows
from w2vtrain.kernels.tiles import make_dots, make_update, make_update_one

dots_2x6, dots_2x4, dots_2x3 = make_dots(2, 6), make_dots(2, 4), make_dots(2, 3)
dots_1x6, dots_1x4, dots_1x3 = make_dots(1, 6), make_dots(1, 4), make_dots(1, 3)
update_6, update_4, update_3 = make_update(6), make_update(4), make_update(3)
update_one_6, update_one_4, update_one_3 = make_update_one(6), make_update_one(4), make_update_one(3)


class Scratch(NamedTuple):
    """The working memory of one thread. Two rows where a window is prepared while another is learned."""

    rng: np.ndarray  # (2,) uint64: the stream, and a place in it for an objective to come back to
    sentence: np.ndarray  # (longest sentence,) int32
    context: np.ndarray  # (2 window + 2,) int32
    rows: np.ndarray  # (2, candidates + padding) int32
    outputs: np.ndarray  # (candidates + padding,) int32: where this thread finds the candidates' rows
    labels: np.ndarray  # (2, candidates + padding) float32
    shifts: np.ndarray  # (2, candidates + padding) float32, zeros unless the objective's candidates set them
    logits: np.ndarray  # (2 window + 2, candidates + padding) float32
    hidden: np.ndarray  # (2, d) float32: CBOW's mean and the gradient of it
    zero: np.ndarray  # (1,) int32: the row number 0
    left: np.ndarray  # (1,) int64: how many words of the context stand before the target
    sink: int
    output_rows: int  # without replicas and sinks
    hot: HotRange
    replicas: tuple[Replicas, ...]


def make_scratch(
    w_in: Any, w_out: Any, thread: int, threads: int, window: int, candidates: int, longest: int,
    hot: range = range(0), more: tuple[Replicas, ...] = (),
) -> Scratch:  # fmt: skip
    """Memory for one of `threads` threads.

    At the end of w_out each thread has replicas of the hot rows, and behind all those a sink. more: its other replicas.
    """
    output_rows = len(w_out) - threads * (len(hot) + 1)
    hot_range, replicas = replicate(w_out, output_rows, hot, thread, threads)
    width, contexts = candidates + ROW, 2 * window + ROW
    return Scratch(
        rng=apart_zeros((2,), np.uint64),
        sentence=apart_zeros((longest + window + ROW,), np.int32),
        context=apart_zeros((contexts,), np.int32),
        rows=apart_zeros((2, width), np.int32),
        outputs=apart_zeros((width,), np.int32),
        labels=apart_zeros((2, width), np.float32),
        shifts=apart_zeros((2, width), np.float32),
        logits=apart_zeros((contexts, width), np.float32),
        hidden=padded_rows(2, w_in.shape[1]),
        zero=apart_zeros((1,), np.int32),
        left=apart_zeros((1,), np.int64),
        sink=len(w_out) - threads + thread,
        output_rows=output_rows,
        hot=hot_range,
        replicas=(replicas, *more),
    )


def errors(self, logits, n, m, context, width, rows, labels, shifts, lr):
    """The objective's own `errors`."""
    return self.errors(logits, n, m, context, width, rows, labels, shifts, lr)


@overload(errors, jit_options=FORCED)
def _errors(self, logits, n, m, context, width, rows, labels, shifts, lr):
    return self.instance_class.errors


def learn(self, objective, w_in, w_out, context, n, rows, labels, shifts, m, lr, scratch):
    """The architecture's own `learn`."""
    return self.learn(objective, w_in, w_out, context, n, rows, labels, shifts, m, lr, scratch)


@overload(learn, jit_options=FORCED)
def _learn(self, objective, w_in, w_out, context, n, rows, labels, shifts, m, lr, scratch):
    return self.instance_class.learn


def examples(self, n):
    """Examples, that is terms of the loss, in a window of n context words."""
    return self.examples(n)


@overload(examples, jit_options=FORCED)
def _examples(self, n):
    return self.instance_class.examples


def in_turn(self):
    """Does a context word see what those before it in the window changed? The objective's own, or False."""
    return self.in_turn() if hasattr(self, "in_turn") else False


@overload(in_turn, jit_options=FORCED)
def _in_turn(self):
    return getattr(self.instance_class, "in_turn", lambda self: False)


def distinct(self):
    """Does no row stand twice among a target's candidates? The objective's own, or False: then it is looked at."""
    return self.distinct() if hasattr(self, "distinct") else False


@overload(distinct, jit_options=FORCED)
def _distinct(self):
    return getattr(self.instance_class, "distinct", lambda self: False)


@inline
def segments(rows, m, sink):
    """Cut m candidates in tiles of 6, then of 4, then of 3, with the sink in at most two places behind them.

    Returns (end of the sixes, end of the fours, end). Narrow tiles are slower a row, padding is lost altogether: for
    paths of 7 to 18 nodes this mix takes 5% less time than sixes and a three.
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
    """A row that stands twice in a tile would keep one of its two changes: add up its coefficients instead."""
    if distinct(objective) or not repeats(rows, m):
        return
    for j in range(1, m):
        for first in range(j):
            if rows[first] == rows[j]:
                for i in range(n):
                    logits[i, first] += logits[i, j]
                    logits[i, j] = float32(0)
                rows[j] = sink
                break


class SkipGram(NamedTuple):
    """Each context word predicts the target: h = its input row (Mikolov et al. 2013)."""

    window: int
    bias: int = -1

    def examples(self, n):
        """One a context word."""
        return n

    def learn(self, objective, w_in, w_out, context, n, rows, labels, shifts, m, lr, scratch):
        """All context words against all candidates: one product, one update."""
        g, outputs = scratch.logits, scratch.outputs
        replicas_of(scratch.hot, rows, m, outputs)
        sixes, fours, end = segments(outputs, m, scratch.sink)
        context[n] = context[0]  # an odd last line's neighbour in its tile: its products are not looked at
        for i in range(0, n, 2):
            for j in range(0, sixes, 6):
                dots_2x6(w_in, context, i, w_out, outputs, j, g)
            for j in range(sixes, fours, 4):
                dots_2x4(w_in, context, i, w_out, outputs, j, g)
            if fours < end:
                dots_2x3(w_in, context, i, w_out, outputs, fours, g)
        loss = errors(objective, g, n, m, context, n, rows, labels, shifts, lr)
        for i in range(n):
            for j in range(m, end):
                g[i, j] = float32(0)
        merge_candidates(objective, g, n, outputs, m, scratch.sink)
        one_by_one = in_turn(objective)
        for j in range(0, sixes, 6):
            update_6(w_in, context, n, w_out, outputs, j, g, one_by_one)
            keep_ones(w_in, context, n, self.bias)
        for j in range(sixes, fours, 4):
            update_4(w_in, context, n, w_out, outputs, j, g, one_by_one)
            keep_ones(w_in, context, n, self.bias)
        if fours < end:
            update_3(w_in, context, n, w_out, outputs, fours, g, one_by_one)
            keep_ones(w_in, context, n, self.bias)
        return loss


@inline
def keep_ones(w_in, context, n, bias):
    """An update takes the column of ones for weights; left so, the next tile's biases would learn too little."""
    if bias >= 0:
        for i in range(n):
            w_in[context[i], bias] = float32(1)


@inline
def learn_one(objective, w_out, context, n, rows, labels, shifts, m, lr, scratch, bias):
    """One hidden vector, scratch.hidden[0], against all candidates: leaves lr * -dL/dh in scratch.hidden[1]."""
    g, zero, outputs = scratch.logits, scratch.zero, scratch.outputs
    hidden, gradient = scratch.hidden[:1], scratch.hidden[1:]
    replicas_of(scratch.hot, rows, m, outputs)
    sixes, fours, end = segments(outputs, m, scratch.sink)
    gradient[0, :] = float32(0)
    if bias >= 0:
        hidden[0, bias] = float32(1)
    for j in range(0, sixes, 6):
        dots_1x6(hidden, zero, 0, w_out, outputs, j, g)
    for j in range(sixes, fours, 4):
        dots_1x4(hidden, zero, 0, w_out, outputs, j, g)
    if fours < end:
        dots_1x3(hidden, zero, 0, w_out, outputs, fours, g)
    loss = errors(objective, g, 1, m, context, n, rows, labels, shifts, lr)
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


class Cbow(NamedTuple):
    """The mean of the context's input rows predicts the target (Mikolov et al. 2013).

    corrected: each row gets 1/n of the mean's gradient, which is what differentiation says (İrsoy, Benton & Stratos
    2021, "Corrected CBOW performs as well as skip-gram"); otherwise all of it, as word2vec.c does.
    """

    window: int
    corrected: bool
    bias: int = -1

    def examples(self, n):
        """One a window."""
        return 1

    def learn(self, objective, w_in, w_out, context, n, rows, labels, shifts, m, lr, scratch):
        """The mean against all candidates, then its gradient to every context row."""
        hidden, gradient = scratch.hidden[:1], scratch.hidden[1:]
        share = float32(1) / float32(n)
        sum_rows(hidden, w_in, context, n, share)
        loss = learn_one(objective, w_out, context, n, rows, labels, shifts, m, lr, scratch, self.bias)
        step = share if self.corrected else float32(1)
        add_to_rows(w_in, context, n, gradient, step)
        return loss


class Weighted(NamedTuple):
    """The sum of the context's input rows, each times the weights of its position: h = Σ_i c_i ⊙ r_i.

    Mnih & Kavukcuoglu 2013, "Learning word embeddings efficiently with noise-contrastive estimation" (vLBL).
    weights (2 window, padded d): first the positions before the target, nearest first, then those behind it. They
    start from 1 and learn at a tenth of the rate: every example changes them.
    """

    window: int
    weights: np.ndarray
    bias: int = -1

    def examples(self, n):
        """One a window."""
        return 1

    def learn(self, objective, w_in, w_out, context, n, rows, labels, shifts, m, lr, scratch):
        """The weighted sum against all candidates, then the gradients of rows and weights."""
        hidden, gradient, left = scratch.hidden[0], scratch.hidden[1], scratch.left[0]
        hidden[:] = float32(0)
        for i in range(n):
            row, weight = w_in[context[i]], self.weights[place(i, left, self.window)]
            for c in range(len(hidden)):
                hidden[c] += weight[c] * row[c]
        loss = learn_one(objective, w_out, context, n, rows, labels, shifts, m, lr, scratch, self.bias)
        for i in range(n):
            row, weight = w_in[context[i]], self.weights[place(i, left, self.window)]
            for c in range(len(gradient)):
                change = gradient[c] * row[c]
                row[c] += gradient[c] * weight[c]
                weight[c] += float32(0.1) * change
        return loss


def position_weights(architecture: Any) -> dict[str, np.ndarray]:
    """The position weights by their name, where there are any."""
    return {"context_weights": architecture.weights} if hasattr(architecture, "weights") else {}


@inline
def place(i, left, window):
    """The position weight of context word i, where the first `left` words stand before the target."""
    return left - 1 - i if i < left else window + i - left


class Windows(NamedTuple):
    """Which words are a target's context.

    Up to `size` words before it (if `left`) and behind it (if `right`), fewer by chance where `shrink`. end: the id of
    the word that ends every sentence and is predicted, too, or -1; `pads` of it stand before a sentence's first word.
    """

    size: int = 5
    shrink: bool = True
    left: bool = True
    right: bool = True
    end: int = -1
    pads: int = 0


@inline
def gather_context(sentence, length, position, reach, windows, context):
    """The words within `reach` of a position, without the word there. Returns how many, and how many stand before.

    Behind both arrays there is room, as indices.py says.
    """
    first = max(0, position - reach) if windows.left else position
    last = min(length - 1, position + reach) if windows.right else position
    left, right = position - first, last - position
    copy_indices(context, 0, sentence, first, left)
    copy_indices(context, left, sentence, position + 1, right)
    return int64(left + right), int64(left)
