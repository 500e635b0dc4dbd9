"""The working memory of one thread of the window engine. What is written there, step.py and window.py decide."""

from typing import Any, NamedTuple

import numpy as np

from w2vtrain.kernels.hot_rows import HotRange, Replicas, replicate
from w2vtrain.kernels.rows import ROW, apart_zeros, padded_rows


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
    hidden: np.ndarray  # (1, d) float32: a hidden vector that is no row
    gradient: np.ndarray  # (1, d) float32: the rate times minus the slope of the loss by it
    zero: np.ndarray  # (1,) int32: the row number 0
    sink: int
    bias: int  # the column of ones in hidden vectors, -1 if there are no biases
    output_rows: int  # without replicas and sinks
    hot: HotRange
    replicas: tuple[Replicas, ...]


class Extent(NamedTuple):
    """How much memory a thread needs: context words on a side, candidates per target, words per sentence."""

    window: int
    candidates: int
    sentence: int


def make_scratch(
    w_in: Any, w_out: Any, thread: int, threads: int, extent: Extent,
    bias: int = -1, hot: range = range(0), more: tuple[Replicas, ...] = (),
) -> Scratch:  # fmt: skip
    """Memory for one of `threads` threads.

    At the end of w_out each thread has replicas of the hot rows, and behind all those one row more, the sink: padding
    points there. more: its other replicas.
    """
    output_rows = len(w_out) - threads * (len(hot) + 1)
    hot_range, replicas = replicate(w_out, output_rows, hot, thread, threads)
    width, contexts = extent.candidates + ROW, 2 * extent.window + ROW
    return Scratch(
        rng=apart_zeros((2,), np.uint64),
        sentence=apart_zeros((extent.sentence + extent.window + ROW,), np.int32),
        context=apart_zeros((contexts,), np.int32),
        rows=apart_zeros((2, width), np.int32),
        outputs=apart_zeros((width,), np.int32),
        labels=apart_zeros((2, width), np.float32),
        shifts=apart_zeros((2, width), np.float32),
        logits=apart_zeros((contexts, width), np.float32),
        hidden=padded_rows(1, w_in.shape[1]),
        gradient=padded_rows(1, w_in.shape[1]),
        zero=apart_zeros((1,), np.int32),
        sink=len(w_out) - threads + thread,
        bias=bias,
        output_rows=output_rows,
        hot=hot_range,
        replicas=(replicas, *more),
    )
