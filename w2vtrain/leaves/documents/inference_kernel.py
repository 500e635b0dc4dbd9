"""The kernel of inference: learn the rows of new documents by window, while all other weights stay as they are.

It reads and scores windows as the window engine does. Each document has random streams of its own, seeded by its words
alone, so that its vector depends on nothing else.
"""

import numpy as np
from numba import float32, int64, uint64

from w2vtrain.engines.window_kernel import (
    append_tags,
    examples_of,
    gather_context,
    reach_of,
    read_sentence,
    train_candidates,
    window_of_example,
)
from w2vtrain.kernels.jit import kernel
from w2vtrain.objectives.contract import Candidates, Window
from w2vtrain.probability.random_streams import mix, seed_stream


@kernel()
def seeds_of(tokens: np.ndarray, starts: np.ndarray, seed: int, out: np.ndarray) -> None:
    """Write the seed of each document, tokens[starts[d] : starts[d + 1]], to out (D,) int64.

    It depends on the words and their order, and on `seed`.
    """
    for d in range(len(out)):
        state = uint64(seed)
        for i in range(starts[d], starts[d + 1]):
            if tokens[i] >= 0:
                state = mix(state + uint64(tokens[i]) + uint64(1))
        out[d] = int64(state >> uint64(1))


@kernel()
def infer_documents(
    architecture, objective, windows, tokens, starts, first, end, rates, matrices, keep, sink, still, moved, seeds,
    scratch,
):  # fmt: skip
    """Learn the rows of documents first to end - 1, each in its epochs at `rates` (E,) float64.

    starts (D + 1,) int64: the offsets of the documents, which are whole sentences; sink: an input row that takes the
    updates of context words; still (1, columns): zeros; moved: working memory, as many as scratch.context; seeds (D,):
    see `seeds_of`.
    """
    for d in range(first, end):
        for epoch in range(len(rates)):
            seed_stream(scratch.rng, seeds[d], epoch, 0)
            objective.begin(scratch.rng)
            scratch.rng[1] = scratch.rng[0]
            lr, position = float32(rates[epoch]), starts[d]
            while position < starts[d + 1]:
                position, length = read_sentence(
                    tokens, position, starts[d + 1], keep, windows, scratch.rng, scratch.sentence
                )
                for place in range(windows.pads, length):
                    infer_window(
                        architecture, objective, windows, matrices, length, place, d, lr, sink, still, moved, scratch
                    )


@kernel()
def infer_window(architecture, objective, windows, matrices, length, place, d, lr, sink, still, moved, scratch):
    """Learn the rows of a document's tags from one target."""
    sentence, context, rows, labels, shifts = (
        scratch.sentence, scratch.context, scratch.rows[0], scratch.labels[0], scratch.shifts[0]
    )  # fmt: skip
    m = int64(objective.candidates(sentence, place, scratch.rng, rows, labels, shifts))
    words, left = gather_context(sentence, length, place, reach_of(windows, scratch.rng), windows, context)
    n = append_tags(windows, d, context, words)
    if m == 0 or n == 0:
        return
    for i in range(n):
        moved[i] = sink if i < words else context[i]
    window, candidates = Window(context, n, left), Candidates(rows, labels, shifts, m)
    rate = float32(lr * architecture.rate_scale(n))
    for example in range(examples_of(architecture, n)):
        architecture.forward(matrices.input, window, example, scratch.hidden)
        own = window_of_example(architecture, window, example)
        train_candidates(objective, matrices.output, own, candidates, rate, scratch, still)
        architecture.backward(matrices.input, Window(moved, n, left), example, scratch.gradient, float32(1))
