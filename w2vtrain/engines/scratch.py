"""The working memory of a thread of the window engine. Nothing here uses it: step.py and window_engine.py do."""

from typing import Any, NamedTuple

import numpy as np

from w2vtrain.kernels.hot_rows import NONE, TOGETHER, Hot, HotRange, Replicas, replicate
from w2vtrain.kernels.rows import ROW, apart_zeros, padded_rows


class Scratch(NamedTuple):
    """The working memory of one thread. Arrays (2, ...) have one entry for the current target and one for the next."""

    rng: np.ndarray  # (2,) uint64: the state of the random stream, and a state for the objective's own use
    sentence: np.ndarray  # (longest sentence,) int32
    context: np.ndarray  # (2 window + 2,) int32: context words
    inputs: np.ndarray  # (2 window + 2,) int32: their rows, or replicas; the same array as context if there are none
    rows: np.ndarray  # (2, candidates + padding) int32
    outputs: np.ndarray  # (candidates + padding,) int32: the candidates' rows, or this thread's replicas of them
    labels: np.ndarray  # (2, candidates + padding) float32
    shifts: np.ndarray  # (2, candidates + padding) float32, zeros unless the objective's candidates set them
    logits: np.ndarray  # (context words that are learned together + padding, candidates + padding) float32
    at_once: int | None  # the most context words that are learned together; None: all of a window
    hidden: np.ndarray  # (1, columns) float32: a hidden vector that the architecture computed
    gradient: np.ndarray  # (1, columns) float32: the learning rate times -dL/dhidden
    zero: np.ndarray  # (1,) int32: the row number 0
    sink: int  # the output row that padding points to
    bias: int  # the column of ones in hidden vectors, -1 if there are no biases
    input_rows: int  # the number of input rows, without replicas
    output_rows: int  # the number of output rows, without replicas and sinks
    hot_inputs: HotRange
    hot_outputs: HotRange
    replicas: tuple[Replicas, ...]
    sync_every: int  # the number of chunks between synchronizations of the replicas


class Extent(NamedTuple):
    """The sizes of a thread's memory: context words on each side, candidates per target, words per sentence.

    together: the most context words that are learned together, or None for all of a window.
    """

    window: int
    candidates: int
    sentence: int
    together: int | None = None


def make_scratch(
    w_in: Any, w_out: Any, thread: int, threads: int, extent: Extent,
    bias: int = -1, hot: Hot = NONE, more: tuple[Replicas, ...] = (),
) -> Scratch:  # fmt: skip
    """Allocate the working memory of one of `threads` threads.

    w_in holds the input rows, then each thread's replicas of the hot ones. w_out holds the output rows, then each
    thread's replicas of the hot ones, then one more row for each thread, the sink that padding points to. bias: the
    column of ones, or -1; more: the thread's other replicas.
    """
    input_rows, output_rows = len(w_in) - threads * len(hot.inputs), len(w_out) - threads * (len(hot.outputs) + 1)
    hot_inputs, inputs = replicate(w_in, input_rows, hot.inputs, thread, threads)
    hot_outputs, outputs = replicate(w_out, output_rows, hot.outputs, thread, threads)
    width, contexts = extent.candidates + ROW, 2 * extent.window + ROW
    context = apart_zeros((contexts,), np.int32)
    return Scratch(
        rng=apart_zeros((2,), np.uint64),
        sentence=apart_zeros((extent.sentence + extent.window + ROW,), np.int32),
        context=context,
        inputs=apart_zeros((contexts,), np.int32) if hot.inputs else context,
        rows=apart_zeros((2, width), np.int32),
        outputs=apart_zeros((width,), np.int32),
        labels=apart_zeros((2, width), np.float32),
        shifts=apart_zeros((2, width), np.float32),
        logits=apart_zeros((min(contexts, (extent.together or contexts) + ROW), width), np.float32),
        at_once=extent.together,
        hidden=padded_rows(1, w_in.shape[1]),
        gradient=padded_rows(1, w_in.shape[1]),
        zero=apart_zeros((1,), np.int32),
        sink=len(w_out) - threads + thread,
        bias=bias,
        input_rows=input_rows,
        output_rows=output_rows,
        hot_inputs=hot_inputs,
        hot_outputs=hot_outputs,
        replicas=(inputs, outputs, *more),
        sync_every=max(1, TOGETHER // threads),
    )
