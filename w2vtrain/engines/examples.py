"""Gather examples for the block engine and for scoring, compute their hidden vectors, and update rows from gradients.

The architecture defines how rows become a hidden vector. Nothing here knows how a hidden vector is scored.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64

from w2vtrain.engines.step import examples_of
from w2vtrain.engines.windows import MODEST, gather_context, reach_of, read_sentence
from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.kernels.rows import ROW, padded_rows
from w2vtrain.objectives.contract import Contexts, Window
from w2vtrain.probability.sampling import seed_stream


class Examples(NamedTuple):
    """The E examples of a part of the text.

    Example e comes from the window of the target word targets[e]. The context words of this window are
    contexts[starts[e] : starts[e] + sizes[e]], of which the first lefts[e] come before the target. If every context
    word makes an example, numbers[e] is the index of that word in the window, otherwise 0. previous[e] is the word
    before the target in its sentence, or -1 if there is none.

    starts (E,) is int64; contexts (n,) and all others (E,) are int32.
    """

    contexts: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    lefts: np.ndarray
    numbers: np.ndarray
    targets: np.ndarray
    previous: np.ndarray

    def words(self, part: slice) -> np.ndarray:
        """Return the context word of each example in `part`, (B,). Only for architectures whose `pairs` is True."""
        return np.asarray(self.contexts[self.starts[part] + self.numbers[part]])

    def contexts_of(self, part: slice, pairs: bool) -> Contexts:
        """Return the context of each example in `part`. pairs: whether each context word makes an example."""
        starts, sizes = self.starts[part], self.sizes[part]
        if pairs:
            starts, sizes = starts + self.numbers[part], np.ones_like(sizes)
        return Contexts(self.contexts, starts, sizes)


class InputLayer(NamedTuple):
    """The part of a model that computes hidden vectors: an architecture and the input rows.

    rows (input rows, dim or more columns) float32; bias: whether a hidden vector ends with a 1.
    """

    architecture: Any
    rows: np.ndarray
    dim: int
    bias: bool

    @property
    def width(self) -> int:
        """The number of columns of a hidden vector."""
        return self.dim + self.bias

    def hidden(self, examples: Examples, first: int, H: np.ndarray) -> None:
        """Write the hidden vectors of B examples, starting with example `first`, to H (B, width)."""
        _forward(self, examples, first, H, padded_rows(1, self.width))

    def learn(self, examples: Examples, first: int, dH: np.ndarray, lr: float) -> None:
        """Update the rows, and the architecture's own arrays, at learning rate lr, from dH = -dL/dH (B, width)."""
        _backward(self, examples, first, dH, np.float32(lr), padded_rows(1, self.width))


def gather(
    tokens: np.ndarray, first: int, last: int, keep: np.ndarray, windows: Any, architecture: Any, stream: Any, work: Any
) -> Iterator[Examples]:
    """Yield the examples of tokens[first:last], which must be whole sentences, in order.

    All come at once, unless windows are wider than MODEST words on each side: then they come in parts that need no more
    memory than MODEST words would, or than one window does.

    keep: see probability.sampling.keep_thresholds; stream: (seed, epoch, chunk), which determine the random numbers;
    work: a Workspace, whose memory holds the arrays: they are valid until the next part, or the next call.
    """
    n = last - first + 2
    room = max(n * 2 * min(windows.size, MODEST), 2 * windows.reach(n))
    most = room if architecture.pairs() else n
    arrays = Examples(
        work.array("contexts", (room + ROW,), np.int32),
        work.array("starts", (most,), np.int64),
        *(work.array(name, (most,), np.int32) for name in ("sizes", "lefts", "numbers", "targets", "before")),
    )
    sentence = work.array("sentence", (last - first + windows.pads + ROW,), np.int32)
    rng, place = np.zeros(1, np.uint64), np.array([first, -1, 0])
    while place[0] < last or place[2] < place[1] or place[1] < 0:
        count, width = _gather(architecture, tokens, last, keep, windows, *stream, rng, place, room, sentence, arrays)
        yield Examples(arrays.contexts[:width], *(array[:count] for array in arrays[1:]))


@kernel()
def _gather(architecture, tokens, end, keep, windows, seed, epoch, chunk, rng, place, room, sentence, out):
    """Write examples to `out` until their context words might need more than `room`.

    Return (number of examples, number of context words). place (3,) int64: the next token, the length of the sentence
    that is being read, -1 before the first, and the next target in it.
    """
    position, length, target = place[0], place[1], place[2]
    if length < 0:
        seed_stream(rng, seed, epoch, chunk)
        length = int64(0)
    count, width = int64(0), int64(0)
    while target < length or position < end:
        if target >= length:
            position, length = read_sentence(tokens, position, end, keep, windows, rng, sentence)
            target = int64(windows.pads)
        elif width + min(2 * windows.size, length - 1) > room:
            break
        else:
            reach = reach_of(windows, rng)
            n, left = gather_context(sentence, length, target, reach, windows, out.contexts[width:])
            for number in range(min(n, examples_of(architecture, n))):
                out.starts[count], out.sizes[count], out.lefts[count] = width, n, left
                out.numbers[count], out.targets[count] = number, sentence[target]
                out.previous[count] = sentence[target - 1] if target > 0 else -1
                count += 1
            width += n
            target += 1
    place[0], place[1], place[2] = position, length, target
    return count, width


@inline
def window_of(examples, e):
    """Return the window of example e."""
    return Window(examples.contexts[examples.starts[e] :], int64(examples.sizes[e]), int64(examples.lefts[e]))


@kernel()
def _forward(layer, examples, first, H, hidden):
    """Write hidden vectors to H (B, width), starting with example `first`; hidden (1, columns) is working memory."""
    for b in range(len(H)):
        e = first + b
        layer.architecture.forward(layer.rows, window_of(examples, e), int64(examples.numbers[e]), hidden)
        for c in range(layer.dim):
            H[b, c] = hidden[0, c]
        if layer.bias:
            H[b, layer.dim] = float32(1)


@kernel()
def _backward(layer, examples, first, dH, lr, gradient):
    """Update rows from dH (B, width); gradient (1, columns) is working memory, which must start as zeros."""
    for b in range(len(dH)):
        e = first + b
        for c in range(layer.dim):
            gradient[0, c] = dH[b, c]
        layer.architecture.backward(layer.rows, window_of(examples, e), int64(examples.numbers[e]), gradient, lr)
