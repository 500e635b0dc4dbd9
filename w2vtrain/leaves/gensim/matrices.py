"""The learned matrices of a `Word2Vec` model: by gensim's names, one row per word, and on their way into the trainer.

The trainer orders words by falling count. If the model's words have the same order, its matrices are views of the
trainer's; otherwise, they are copied before and after training.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.config import Settings
from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.engines.base import Weights
from w2vtrain.engines.initial_weights import initial_input
from w2vtrain.engines.window_engine import WindowEngine
from w2vtrain.errors import InvalidValue
from w2vtrain.formats.model_file import DOCUMENTS, INPUT_ROWS, NGRAM_BUCKETS
from w2vtrain.leaves.gensim.claim import Claimable, claiming
from w2vtrain.leaves.gensim.corpora import Reading
from w2vtrain.leaves.gensim.parameters import SEED_COUNT
from w2vtrain.probability.problem import Problem
from w2vtrain.probability.trees import Tree, huffman
from w2vtrain.text.vocabulary import Vocabulary, by_count

Float32 = NDArray[np.float32]
logger = logging.getLogger(__name__)

CHANGED = (
    "a callback has changed the words of wv, the tags of dv, or the shape of their vectors: change them after train has"
    " returned"
)


class Matrices:
    """Output vectors and vectors of tree nodes.

    Input vectors are in the model's KeyedVectors `wv`. words: output vectors of words (V, layer1_size), if there is
    negative sampling; nodes: those of the inner nodes of the Huffman tree (V - 1, layer1_size), the root last, if there
    is hierarchical softmax; keys, counts: the words that have rows, and the counts from which their order and the tree
    follow; tree: in the trainer's order, None for the one that follows from the counts; order: an index that puts the
    model's rows in the trainer's order, slice(None) if both orders are equal.
    """

    kept: tuple[Settings, WindowEngine, tuple[Float32, Float32, Float32]] | None = None
    """The engine of the last call of `train` for a tiny text, its settings, and its matrices, for `readopt`."""
    warnings: frozenset[str] = frozenset()
    """The warnings of the last training, logged or not."""

    def __init__(
        self, words: Float32 | None, nodes: Float32 | None, order: NDArray[np.int64] | None, keys: list[Any],
        counts: NDArray[np.int64], tree: Tree | None = None,
    ) -> None:  # fmt: skip
        self.words, self.nodes, self.keys, self.counts, self.tree = words, nodes, keys, counts.copy(), tree
        self.is_in_order = order is None or bool((order == np.arange(len(keys))).all())
        self.order: Any = slice(None) if self.is_in_order else order
        # The trainer's vectors, and its output vectors of nodes and of words.
        self._trained: tuple[Float32, Float32, Float32] | None = None
        self._rows: tuple[Float32, NDArray[np.int32]] | None = None  # with subwords: the trainer's rows, the buckets
        self._tags: tuple[KeyedVectors, Float32] | None = None  # of documents: the model's, the trainer's rows

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy has: the arrays of the engine that is kept would not be those of the copied model."""
        return {name: value for name, value in vars(self).items() if name not in ("kept", "vocabulary", "warnings")}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words and counts in the trainer's order."""
        return Vocabulary(np.array(self.keys, object)[self.order].tolist(), self.counts[self.order])

    def recounted(self, order: NDArray[np.int64], counts: NDArray[np.int64]) -> "Matrices":
        """Return these matrices for other counts of the words, and the order that follows. The tree stays the same."""
        made = Matrices(self.words, self.nodes, order, self.keys, counts)
        made.keep_nodes(self)
        return made

    def keep_nodes(self, old: "Matrices") -> None:
        """Keep the tree of the matrices before words were added at the end, removed or recounted, and its nodes.

        New words share the leaf of the rarest word, and their nodes are zeros.
        """
        if old.nodes is None or min(len(old.keys), len(self.keys)) < 2:
            return
        more = max(0, len(self.keys) - len(old.keys))
        tree = old.tree or huffman(np.sort(old.counts)[::-1])
        before = [*np.array(old.keys, object)[old.order], *self.keys[len(old.keys) :]]
        number = {key: place for place, key in enumerate(before)}
        words = np.array([number[key] for key in np.array(self.keys, object)[self.order]])
        self.tree, kept = (tree.with_more(more) if more else tree).without_others(words)
        self.nodes = np.concatenate([np.zeros((more, old.nodes.shape[1]), np.float32), old.nodes])[kept]

    def adopt(self, wv: Any, weights: Weights, dv: KeyedVectors | None = None) -> None:
        """Copy the matrices into the trainer's, and become views of them, or remember them for `fetch`.

        dv: the vectors of documents, which become a view, too.
        """
        output = weights.output  # first the nodes, then the words, as in the objective hs-neg
        split = 0 if self.nodes is None else len(self.nodes)
        self._trained = weights.input, output[:split], output[split:]
        if INPUT_ROWS in weights.arrays:
            self._rows = weights.arrays[INPUT_ROWS], weights.arrays[NGRAM_BUCKETS]
        if dv is not None and DOCUMENTS in weights.arrays:
            self._tags = dv, weights.arrays[DOCUMENTS]
        self.give_back(wv)

    def keep(self, settings: Settings, engine: WindowEngine) -> None:
        """Keep an engine whose matrices were adopted, for `readopt`."""
        assert self._trained
        self.kept = settings, engine, self._trained

    def readopt(self, wv: Any, settings: Settings | None) -> WindowEngine | None:
        """Adopt the matrices of the engine that was kept, and return it; None if there is none for these settings.

        Nor is there one if the model has other matrices now: the old ones belong to whoever has set them aside.
        """
        kept, self.kept = self.kept, None
        if kept is None or kept[0] != settings:
            return None
        vectors, nodes, words = kept[2]
        has_nodes = self.nodes is None or self.nodes is nodes
        has_words = wv.vectors is vectors and (self.words is None or self.words is words)
        if not has_nodes or (self.is_in_order and not has_words):  # in another order, those of words are copies
            return None
        self._trained = kept[2]
        self.give_back(wv)
        return kept[1]

    def give_back(self, wv: Any) -> None:
        """Copy the model's matrices to the trainer's, except those that are views of them.

        Raise RuntimeError if callbacks have changed the words or the tags.
        """
        try:
            self._copy(wv)
        except BaseException:  # also memory, or Ctrl-C: `fetch` must not copy what the trainer has instead
            self.release()
            raise

    def _copy(self, wv: Any) -> None:
        assert self._trained
        self.require_same(wv)
        vectors, nodes, words = self._trained
        if self._rows:
            rows, buckets = self._rows
            rows[: len(wv)] = wv.vectors_vocab[self.order]
            rows[len(wv) :] = wv.ngrams.matrix[wv.ngrams.rows_of(buckets)]
        elif wv.vectors is not vectors:
            vectors[...] = wv.vectors[self.order]
            # `fetch` writes into the vectors if their order is another one.
            wv.vectors = vectors if self.is_in_order else np.require(wv.vectors, requirements="W")
        if self.nodes is not None and self.nodes is not nodes:
            nodes[...] = self.nodes
            self.nodes = nodes
        if self.words is not None and self.words is not words:
            words[...] = self.words[self.order]
            if self.is_in_order:
                self.words = words
        if self._tags:
            dv, documents = self._tags
            if dv.vectors is not documents:
                documents[...] = dv.vectors
                dv.vectors = documents

    def require_same(self, wv: Any) -> None:
        """Raise RuntimeError if callbacks have changed the words, or how many vectors of words or tags there are."""
        fits = wv.index_to_key == self.keys and np.shape(wv.vectors) == (len(self.keys), wv.vector_size)
        if not fits or (self._tags and np.shape(self._tags[0].vectors) != self._tags[1].shape):
            raise RuntimeError(CHANGED)

    def release(self) -> None:
        """Forget the trainer's matrices, after the last `fetch`."""
        self._trained = self._rows = self._tags = None

    def fetch(self, wv: Any) -> None:
        """Make the model's matrices equal to the trainer's; norms that were computed before are dropped."""
        if self._rows:
            rows, buckets = self._rows
            wv.vectors_vocab[self.order] = rows[: len(wv)]
            wv.ngrams.matrix[wv.ngrams.rows_of(buckets)] = rows[len(wv) :]
            wv.adjust_vectors()
        if self._trained and not self.is_in_order:
            vectors, _, words = self._trained
            if not self._rows:
                wv.vectors[self.order] = vectors
            if self.words is not None:
                self.words[self.order] = words
        wv.norms = None
        if self._tags:
            self._tags[0].norms = None


class WordMatrices(Claimable):
    """The words of a model in `wv`, which can be changed and locked, and its output vectors. `Word2Vec` sets the rest.

    matrices: None before the words are chosen. _read: a corpus that need not be read again, or cannot be, and what was
    read of it, until the words change.
    """

    vector_size: int
    seed: int
    hs: int
    negative: int

    def __init__(self) -> None:
        super().__init__()
        self.wv = self._keyed([], np.empty((0, self.vector_size), np.float32))
        self.matrices: Matrices | None = None
        self._read: tuple[Any, Reading] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy has: not a corpus that was read, which may be a generator and is on disk."""
        return {**super().__getstate__(), "_read": None}

    @property
    def layer1_size(self) -> int:
        """The columns of output vectors."""
        return self.vector_size

    def _keyed(self, words: Sequence[Any], vectors: Float32, counts: Any = None) -> KeyedVectors:
        """Return the object that holds the words and their vectors."""
        return KeyedVectors.of(words, vectors, counts)

    def prepare_weights(self, update: bool = False) -> None:
        """Give every word an initial vector or, with `update`, output vectors of zeros to the words that are new."""
        if update:
            self.update_weights()
        else:
            self.init_weights()  # of which a subclass may have its own

    def init_weights(self) -> None:
        """Reset all vectors to their initial values, but keep the vocabulary."""
        self._make_weights(update=False)

    def update_weights(self) -> None:
        """Give words that have joined the vocabulary output vectors of zeros; `build_vocab` does it, too."""
        self._make_weights(update=True)

    def _check_weights(self, update: bool) -> None:
        """Raise RuntimeError for an update of weights that there are not."""
        if update and self.matrices is None:
            raise RuntimeError("there are no weights to update: call build_vocab without update=True first")

    @claiming
    def _make_weights(self, update: bool) -> None:
        self._check_weights(update)
        rows, old = len(self.wv), self.matrices if update else None
        counts = self._counts()
        same = old if old and np.array_equal(counts, old.counts) else None  # the words have the same ids
        if same and (same.words is None, same.nodes is None) == (not self.negative, not self.hs):
            return
        self._read = self._read if same else None
        order = by_count(self.wv.index_to_key, counts)
        if old is None:  # in the trainer's order, so that the order of the words does not change what they learn
            self.wv.vectors = np.empty((rows, self.vector_size), np.float32)
            self.wv.vectors[order] = initial_vectors(rows, self.vector_size, self.seed % SEED_COUNT)
        words = grown(old.words if old else None, rows, self.layer1_size) if self.negative else None
        # Other counts mean another tree. Vectors keep more of their similarities if its nodes start at zero than with
        # the vectors of other nodes: docs/reference/gensim.md has the figures.
        nodes = grown(same.nodes if same else None, max(0, rows - 1), self.layer1_size) if self.hs else None
        tree = same.tree if same and self.hs else None
        self.matrices = Matrices(words, nodes, order, list(self.wv.index_to_key), counts, tree)

    def init_sims(self, replace: bool = False) -> None:
        """Compute the lengths of the vectors, which queries do themselves; `replace` scales all vectors to length 1.

        gensim 4 has deprecated it; there is no reason to call it.
        """
        self.wv.init_sims(replace=replace)

    @property
    def syn1neg(self) -> NDArray[np.float32]:
        """The output vectors of the words (V, layer1_size)."""
        if self.matrices is None or self.matrices.words is None:
            raise AttributeError("the model has no output vectors of words: negative is 0, or no vocabulary was built")
        return self.matrices.words

    @syn1neg.setter
    def syn1neg(self, matrix: NDArray[np.float32]) -> None:
        words = _of_shape(matrix, self.syn1neg.shape, "syn1neg")
        assert self.matrices
        self.matrices.words = words

    @property
    def syn1(self) -> NDArray[np.float32]:
        """A copy of the vectors of the tree's inner nodes, and a last row of zeros (V, layer1_size)."""
        if self.matrices is None or self.matrices.nodes is None:
            raise AttributeError("the model has no vectors of tree nodes: hs is 0, or no vocabulary was built")
        return grown(self.matrices.nodes, len(self.matrices.keys), self.matrices.nodes.shape[1])

    @syn1.setter
    def syn1(self, matrix: NDArray[np.float32]) -> None:
        rows = _of_shape(matrix, self.syn1.shape, "syn1")
        assert self.matrices
        self.matrices.nodes = rows[:-1]

    def fit_matrices(self) -> None:
        """Let the output vectors follow changes of `wv` itself: words that were added have zeros.

        If words were removed, the others may be in any order, and keep their counts and output vectors. Nodes of a tree
        keep what they have learned, see `Matrices.keep_nodes`. Changed counts change no vector and no tree. Raise
        RuntimeError if words were only moved, or if the vectors of `wv` have a different shape than before.
        """
        matrices, keys = self.matrices, self.wv.index_to_key
        assert matrices
        fewer = len(keys) < len(matrices.keys) and set(keys) <= set(matrices.keys)
        if not fewer and keys[: len(matrices.keys)] != matrices.keys:
            raise RuntimeError(
                "the words of wv were replaced or sorted in another way: save wv alone, or call build_vocab, which"
                " resets its vectors"
            )
        require_shape("wv", self.wv, self.vector_size)
        sizes = {rows.shape[1] for rows in (matrices.words, matrices.nodes) if rows is not None}
        if (matrices.words is None, matrices.nodes is None) != (not self.negative, not self.hs) or sizes != {
            self.layer1_size
        }:
            raise RuntimeError(
                "hs, negative or, with dm_concat, window has changed since the vocabulary was built: call build_vocab"
                " again"
            )
        if fewer:
            self._take_rows(matrices)
        if len(keys) != len(matrices.keys):
            self.prepare_weights(update=True)
            assert self.matrices
            self.matrices.keep_nodes(matrices)
        elif not np.array_equal(counts := self._counts(), matrices.counts):
            self.matrices, places = matrices.recounted(by_count(keys, counts), counts), np.arange(len(keys))
            corpus, reading = self._read or (None, None)
            self._read = None
            if reading and (places[self.matrices.order] == places[matrices.order]).all():  # its ids are still right
                encoded = reading.encoded and replace(reading.encoded, vocabulary=self.vocabulary())
                self._read = corpus, reading._replace(encoded=encoded)

    def _take_rows(self, matrices: Matrices) -> None:
        """Keep the output vectors and attributes of the words that are left in `wv`, in their order."""
        old = {key: row for row, key in enumerate(matrices.keys)}
        rows = np.array([old[key] for key in self.wv.index_to_key], np.int64)
        if matrices.words is not None:
            matrices.words = matrices.words[rows]
        self.wv._take_values(rows, len(old))

    def locked(self) -> NDArray[np.int64]:
        """Return the words, in the trainer's order, whose input vectors `wv.vectors_lockf` locks with the value 0.

        Raise NotImplementedError for values other than 0 and 1, and ValueError if there is not one value per word.
        """
        if not hasattr(self.wv, "vectors_lockf"):
            return np.empty(0, np.int64)
        locks = np.asarray(self.wv.vectors_lockf)
        if not ((locks == 0) | (locks == 1)).all():
            raise NotImplementedError("vectors_lockf: values must be 0 (locked) or 1, other values are not supported")
        if locks.size == 1:
            locks = np.full(len(self.wv), locks.item())
        if locks.shape != (len(self.wv),):
            raise InvalidValue(f"vectors_lockf: {locks.size:,} values for {len(self.wv):,} words")
        return np.flatnonzero(locks[self._order()] == 0)

    def estimate_memory(self, vocab_size: int | None = None, report: dict[str, int] | None = None) -> dict[str, int]:
        """Return the bytes that the words and the matrices of a vocabulary take, by name and in total."""
        rows = vocab_size or len(self.wv)
        sizes = dict(report or {}, vocab=rows * 500, vectors=rows * self.vector_size * 4)
        output = rows * self.layer1_size * 4
        sizes |= {name: output for name, used in (("syn1", self.hs), ("syn1neg", self.negative)) if used}
        sizes["total"] = sum(sizes[name] for name in ("vocab", "vectors", "syn1", "syn1neg") if name in sizes)
        return sizes

    def _counts(self) -> NDArray[np.int64]:
        """Return the words' counts (V,) in the order of the model.

        Raise RuntimeError if `wv` has none, and InvalidValue if it has those of words that were removed.
        """
        if "count" not in self.wv.expandos:
            raise RuntimeError("wv has no counts of the words: build the vocabulary with build_vocab")
        self.wv.allocate_vecattrs(["count"])
        return np.asarray(self.wv.expandos["count"], np.int64)

    def vocabulary(self) -> Vocabulary:
        """Return the words and counts in the trainer's order."""
        matrices, keys, counts = self.matrices, self.wv.index_to_key, self._counts()
        if matrices and matrices.keys == keys and np.array_equal(matrices.counts, counts):
            return matrices.vocabulary
        order = self._order()
        return Vocabulary(np.array(keys, object)[order].tolist(), counts[order])

    def _order(self) -> Any:
        return self.matrices.order if self.matrices else slice(None)


def require_shape(name: str, keyed: KeyedVectors, width: int) -> None:
    """Raise RuntimeError if there is not one vector of `width` values per key. name: of the attribute with the keys."""
    expected = len(keyed.index_to_key), width
    if np.shape(keyed.vectors) != expected:
        raise RuntimeError(f"{name}.vectors has shape {np.shape(keyed.vectors)}; expected {expected}")


def _of_shape(matrix: Any, shape: tuple[int, ...], name: str) -> NDArray[np.float32]:
    """Return a copy of a matrix of the required shape. Raise InvalidValue for another shape."""
    values = np.array(matrix, np.float32)
    if values.shape != shape:
        raise InvalidValue(f"{name}: expected the shape {shape}, got {values.shape}")
    return values


def grown(matrix: Float32 | None, rows: int, width: int) -> Float32:
    """Return a matrix (rows, width) that begins with the rows of `matrix`; the others are 0."""
    larger: Float32 = np.zeros((rows, width), np.float32)
    if matrix is not None:
        larger[: len(matrix)] = matrix[:rows]
    return larger


def initial_vectors(rows: int, width: int, seed: int) -> Float32:
    """Return initial input vectors (rows, width), uniform in ±1/width as gensim's: twice those of `w2vtrain fit`.

    At the default learning rate, CBOW scores higher than with those of `fit`, by a point of analogies; at that of
    `fit`, there is no difference.
    """
    problem = Problem((), np.zeros(0, np.int64), width, seed=seed)
    return 2 * initial_input(problem, rows)[:, :width]
