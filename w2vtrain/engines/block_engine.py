"""The block engine, which trains on blocks of examples by matrix products.

It serves objectives that score many output rows per example, or all of them. It gathers examples, computes their
hidden vectors, passes these to the objective, and updates the input rows from the gradient that the objective returns.
It does not know how the objective scores them. Threads share the weights without locks, as in the window engine.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64, types
from numba.extending import overload

from w2vtrain.engines.base import Array, Engine, Role
from w2vtrain.engines.chunks import read_only
from w2vtrain.engines.initial_weights import initial_input
from w2vtrain.engines.row_cache import RowCache, enter, make_row_cache, settle
from w2vtrain.engines.window_kernel import (
    PLANNED_WORDS,
    append_tags,
    decay,
    document_of,
    examples_of,
    gather_context,
    reach_of,
    read_sentence,
)
from w2vtrain.kernels.jit import FORCED, inline, kernel
from w2vtrain.kernels.rows import ROW, padded_rows
from w2vtrain.objectives.contract import Contexts, Window
from w2vtrain.probability.dense import Workspace
from w2vtrain.probability.random_streams import seed_stream


class Examples(NamedTuple):
    """The E examples of a part of the text.

    Example e comes from the window of the target word targets[e]. The context words of this window are
    contexts[starts[e] : starts[e] + sizes[e]], of which the first lefts[e] come before the target. If every context
    word makes an example, indices[e] is the index of that word in the window, otherwise 0. previous[e] is the word
    before the target in its sentence, or -1 if there is none.

    starts (E,) is int64; contexts (n,) and all others (E,) are int32.
    """

    contexts: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    lefts: np.ndarray
    indices: np.ndarray
    targets: np.ndarray
    previous: np.ndarray

    def words(self, block: slice) -> np.ndarray:
        """Return the context word of each example in `block`, (B,). Only for architectures whose `pairs` is True."""
        return np.asarray(self.contexts[self.starts[block] + self.indices[block]])

    def contexts_of(self, block: slice, pairs: bool) -> Contexts:
        """Return the context of each example in `block`. pairs: whether each context word makes an example."""
        starts, sizes = self.starts[block], self.sizes[block]
        if pairs:
            starts, sizes = starts + self.indices[block], np.ones_like(sizes)
        return Contexts(self.contexts, starts, sizes)


class InputLayer(NamedTuple):
    """The part of a model that computes hidden vectors: an architecture and the input rows.

    rows (input rows, columns) float32; dim: the columns of a hidden vector without a bias; bias: whether a hidden
    vector ends with a 1; cache: None, or the slots in which words with subwords are kept from `hidden` until `update`.
    """

    architecture: Any
    rows: np.ndarray
    dim: int
    bias: bool
    cache: RowCache | None = None

    @property
    def width(self) -> int:
        """The number of columns of a hidden vector."""
        return self.dim + self.bias

    @property
    def _trained(self) -> np.ndarray:
        """What windows train: the rows, or the slots."""
        return self.rows if self.cache is None else self.cache.vectors

    def hidden(self, examples: Examples, first: int, H: np.ndarray) -> None:
        """Write the hidden vectors of B examples, starting with example `first`, to H (B, width)."""
        _forward(self, self._trained, examples, first, H, padded_rows(1, self.width))

    def update(self, examples: Examples, first: int, dH: np.ndarray, lr: float) -> None:
        """Update the rows, and the architecture's own arrays, at learning rate lr, from dH = -dL/dH (B, width)."""
        _backward(self, self._trained, examples, first, dH, np.float32(lr), padded_rows(1, self.width))


def gather(
    tokens: np.ndarray, first: int, last: int, keep: np.ndarray, windows: Any, architecture: Any, stream: Any, work: Any
) -> Iterator[Examples]:
    """Yield the examples of tokens[first:last], which must be whole sentences, in order.

    All come at once, unless windows are wider than PLANNED_WORDS on each side: then they come in parts that need no
    more memory than windows of that size would, or than one window does.

    keep: see probability.subsampling.keep_thresholds; stream: (seed, epoch, chunk), which determine the random numbers;
    work: a Workspace, whose memory holds the arrays: they are valid until the next part, or the next call.
    """
    n = last - first + 2
    tags = windows.tags.most if windows.tags else 0
    room = max(n * (2 * min(windows.size, PLANNED_WORDS) + tags), 2 * windows.reach(n) + tags)
    most = room if architecture.pairs() else n
    arrays = Examples(
        work.array("contexts", (room + ROW,), np.int32),
        work.array("starts", (most,), np.int64),
        *(work.array(name, (most,), np.int32) for name in ("sizes", "lefts", "indices", "targets", "previous")),
    )
    sentence = work.array("sentence", (last - first + windows.pads + ROW,), np.int32)
    rng, place = np.zeros(1, np.uint64), np.array([first, -1, 0, 0])
    while place[0] < last or place[2] < place[1] or place[1] < 0:
        count, width = _gather(
            architecture, tokens, last, keep, windows, *stream, rng, place, room, tags, sentence, arrays
        )
        yield Examples(arrays.contexts[:width], *(array[:count] for array in arrays[1:]))


@kernel()
def _gather(architecture, tokens, end, keep, windows, seed, epoch, chunk, rng, place, room, tags, sentence, out):
    """Write examples to `out` until their context words might need more than `room`.

    Return (number of examples, number of context words). place (4,) int64: the next token, the length of the sentence
    that is being read, -1 before the first, the next target in it, and its document; tags: the most of a document.
    """
    position, length, target, document = place[0], place[1], place[2], place[3]
    if length < 0:
        seed_stream(rng, seed, epoch, chunk)
        length = int64(0)
    count, width = int64(0), int64(0)
    while target < length or position < end:
        if target >= length:
            position, length = read_sentence(tokens, position, end, keep, windows, rng, sentence)
            target, document = int64(windows.pads), document_of(windows, tokens, position)
        elif width + (2 * windows.size if windows.full else min(2 * windows.size, length - 1)) + tags > room:
            break
        else:
            reach = reach_of(windows, rng)
            n, left = gather_context(sentence, length, target, reach, windows, out.contexts[width:])
            n = append_tags(windows, document, out.contexts[width:], n)
            for index in range(min(n, examples_of(architecture, n))):
                out.starts[count], out.sizes[count], out.lefts[count] = width, n, left
                out.indices[count], out.targets[count] = index, sentence[target]
                out.previous[count] = sentence[target - 1] if target > 0 else -1
                count += 1
            width += n
            target += 1
    place[0], place[1], place[2], place[3] = position, length, target, document
    return count, width


@inline
def window_of(examples, e):
    """Return the window of example e."""
    return Window(examples.contexts[examples.starts[e] :], int64(examples.sizes[e]), int64(examples.lefts[e]))


def located(layer, window):
    """Return a window of rows, or of the slots of its words, which enter the cache."""


@overload(located, jit_options=FORCED)
def _located(layer, window):
    cache = layer.types[layer.fields.index("cache")]
    return (lambda layer, window: window) if isinstance(cache, types.NoneType) else _slots


@inline
def _slots(layer, window):
    inputs = layer.cache.inputs
    for i in range(window.n):
        inputs[i] = enter(layer.cache, layer.rows, window.context[i])
    return Window(inputs, window.n, window.left)


@kernel()
def _forward(layer, trained, examples, first, H, hidden):
    """Write hidden vectors to H (B, width), starting with example `first`; hidden (1, columns) is working memory.

    trained: the input rows, or the slots of the cache.
    """
    for b in range(len(H)):
        e = first + b
        window = located(layer, window_of(examples, e))
        layer.architecture.forward(trained, window, int64(examples.indices[e]), hidden)
        for c in range(layer.dim):
            H[b, c] = hidden[0, c]
        if layer.bias:
            H[b, layer.dim] = float32(1)


@kernel()
def _backward(layer, trained, examples, first, dH, lr, gradient):
    """Update rows from dH (B, width); gradient (1, columns) is working memory, which must start as zeros."""
    for b in range(len(dH)):
        e = first + b
        for c in range(layer.dim):
            gradient[0, c] = dH[b, c]
        window = located(layer, window_of(examples, e))
        layer.architecture.backward(trained, window, int64(examples.indices[e]), gradient, lr)
    settle(layer.cache, layer.rows)


@kernel()
def _decay(matrix, columns, chunk, chunks, step):
    decay(matrix, columns, chunk, chunks, step)


class BlockEngine(Engine):
    """The input rows of one run and the loop that trains them; the objective holds its own parameters."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.w_in = initial_input(replace(self.problem, dim=self.dim), self.input_rows)
        self.layers = [self._layer() for _ in range(self.schedule.threads)]
        self.work = [Workspace() for _ in range(self.schedule.threads)]

    def _layer(self) -> InputLayer:
        """Return the input layer of one thread."""
        contexts = 2 * self.windows.reach(self.text.longest_sentence) + ROW
        words = self.schedule.block * contexts
        cache = make_row_cache(self.subwords, words, self.w_in.shape[1], contexts, -1)
        return InputLayer(self.architecture, self.w_in, self.problem.dim, self.problem.bias, cache)

    def compile(self) -> None:
        """Compile the kernels, or load them from disk, and try one step of the objective at a learning rate of 0."""
        end = -2 if self.text.tags else -1  # -2 for the first document
        one, work, layer = read_only(np.array([0, 1, end], np.int32)), Workspace(), self.layers[0]
        everything = np.full_like(self.keep, 2**32 - 1)  # otherwise subsampling could drop both words
        examples = next(gather(one, 0, 3, everything, self.windows, self.architecture, (0, 0, 0), work))
        H = np.zeros((len(examples.targets), self.problem.width), np.float32)
        layer.hidden(examples, 0, H)
        if len(H):
            work.previous = examples.previous
            work.begin(self.schedule.seed, 0, 0)
            self.objective.step(H, examples.targets, 0.0, work)
        layer.update(examples, 0, np.zeros_like(H), 0.0)
        _decay(self.w_in, self.dim, 0, 1, 0.0)

    def train(self, order: np.ndarray, rates: np.ndarray, epoch: int, thread: int) -> tuple[float, int]:
        loss, examples = 0.0, 0
        tokens, starts = self.text.read(order, epoch)
        with np.errstate(all="ignore"):  # the caller checks that the loss is finite
            for chunk, lr in zip(order.tolist(), rates.tolist(), strict=True):
                span = int(starts[chunk]), int(starts[chunk + 1])
                chunk_loss, count = self._chunk(tokens, span, chunk, lr, epoch, thread)
                loss, examples = loss + chunk_loss, examples + count
        self.restore(order, tokens, starts)
        return loss, examples

    def _chunk(
        self, tokens: np.ndarray, span: tuple[int, int], chunk: int, lr: float, epoch: int, thread: int
    ) -> tuple[float, int]:
        """Train on a chunk, which is the span (first, last) of the tokens."""
        text, s, work, (first, last) = self.text, self.schedule, self.work[thread], span
        work.begin(s.seed, epoch, chunk)
        stream = (s.seed, epoch, chunk)
        if self.chunk_decay:
            for matrix, columns in self.decayed():
                _decay(matrix, columns, chunk, len(text.words), lr * self.chunk_decay)
        loss, count = 0.0, 0
        for examples in gather(tokens, first, last, self.keep, self.windows, self.architecture, stream, work):
            count += len(examples.targets)
            for at in range(0, len(examples.targets), s.block):
                loss += self.step(examples, at, lr, thread)
        return loss, count

    def step(self, examples: Examples, at: int, lr: float, thread: int, moved: Examples | None = None) -> float:
        """Train on the block of examples that begins at `at`, and return its summed loss.

        moved: the same examples with other contexts, if the objective should stay as it is, and only the input rows of
        these contexts change.
        """
        layer, work = self.layers[thread], self.work[thread]
        block = slice(at, at + self.schedule.block)
        targets = examples.targets[block]
        H = work.array("hidden", (len(targets), self.problem.width))
        layer.hidden(examples, at, H)
        work.previous = examples.previous[block]
        lr *= self.architecture.rate_scale(int(examples.sizes[block].max()))
        loss, dH = self.objective.step(H, targets, lr if moved is None else 0.0, work)
        layer.update(examples if moved is None else moved, at, dH, lr)
        return float(loss)

    def decayed(self) -> list[tuple[np.ndarray, int]]:
        """Return the matrices that weight decay shrinks, each with its number of columns that are not biases."""
        learned = [(array, array.shape[1] - self.problem.bias) for array in self.objective.decayed()]
        return [(self.w_in, self.dim), *learned]

    def matrices(self) -> tuple[np.ndarray, np.ndarray]:
        return self.w_in, self.objective.output

    def trained(self) -> list[Array]:
        learned = {**self.architecture.learned(), **self.objective.parameters()}
        return [
            Array("input", Role.INPUT, self.w_in),
            *(Array(name, Role.OUTPUT if name == "output" else Role.LEARNED, array) for name, array in learned.items()),
            *(Array(f"state.{name}", Role.STATE, array) for name, array in self.objective.state.items()),
            *(
                Array(name, Role.STATE, array)
                for name, array in self.objective.arrays().items()
                if name not in {*learned, *self.objective.structure()}
            ),
        ]
