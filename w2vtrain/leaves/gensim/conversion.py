"""Conversions: vectors to and from gensim's classes, and a model of gensim with all that it has learned.

Only the conversion to gensim imports it: its objects are read as they are.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.errors import InvalidType, InvalidValue, shown
from w2vtrain.formats.subwords import Ngrams, NgramVectors
from w2vtrain.leaves.gensim.matrices import Matrices
from w2vtrain.leaves.gensim.parameters import check
from w2vtrain.leaves.gensim.saving import base_of
from w2vtrain.leaves.gensim.tagged_documents import vectors_of_tags
from w2vtrain.probability.trees import Tree
from w2vtrain.text.vocabulary import by_count

K = TypeVar("K", bound=KeyedVectors)
NEEDS_GENSIM = "this needs gensim, which has no release for Python 3.14 or later: pip install 'gensim>=4.4,<5'"
INTERNAL = ("code", "point", "sample_int")
"""The attributes of words that gensim keeps for its own use."""
ROUNDING = 1e-4
"""How much, relative to its size, a vector of gensim may differ from the sum of its rows."""


def vectors_to_gensim(keyed: KeyedVectors) -> Any:
    """Return gensim's vectors over the same matrix: see `KeyedVectors.to_gensim`."""
    try:
        from gensim.models import KeyedVectors as Theirs
        from gensim.models.fasttext import FastTextKeyedVectors as Composing
    except ImportError as error:
        raise ImportError(NEEDS_GENSIM) from error
    ngrams = keyed.ngrams
    kind, sizes = (Composing, ngrams.ngrams) if ngrams else (Theirs, ())
    made = kind(keyed.vector_size, *sizes, dtype=keyed.vectors.dtype)
    made.index_to_key, made.key_to_index = list(keyed.index_to_key), dict(keyed.key_to_index)
    made.vectors, made.expandos, made.next_index = keyed.vectors, dict(keyed.expandos), keyed.next_index
    if ngrams:
        made.vectors_ngrams = np.zeros((ngrams.ngrams.bucket, keyed.vector_size), np.float32)
        made.vectors_ngrams[ngrams.row_buckets] = ngrams.matrix
        made.vectors_vocab = np.array([keyed.get_ngram_vectors(key)[1][0] for key in keyed.index_to_key])
        made.recalc_char_ngram_buckets()
    return made


def vectors_from_gensim(cls: type[K], theirs: Any) -> K:
    """Return our vectors over the matrix of gensim's: see `KeyedVectors.from_gensim`."""
    if not hasattr(theirs, "index_to_key"):
        raise InvalidType(f"expected vectors of gensim 4, got {shown(theirs)}: pass model.wv, not the model")
    ngrams = None
    if getattr(theirs, "vectors_ngrams", None) is not None:
        ngrams = NgramVectors(Ngrams(theirs.min_n, theirs.max_n, theirs.bucket), theirs.vectors_ngrams)
    made = cls.of(theirs.index_to_key, theirs.vectors, ngrams=ngrams)
    made.expandos.update(theirs.expandos)
    return made


def take_over(model: Any, theirs: Any) -> None:
    """Fill an empty model from gensim's. All arrays are copied.

    Raise InvalidType for anything but a model of the same kind whose words are strings, and InvalidValue if its parts
    do not fit each other.
    """
    wv: Any = getattr(theirs, "wv", None)
    kind = base_of(type(model)).__name__
    if not hasattr(theirs, "hs") or not hasattr(wv, "index_to_key"):
        raise InvalidType(f"expected a {kind} model of gensim 4, got {shown(theirs)}")
    other = f"{type(theirs).__name__} is another model than {kind}"
    if hasattr(theirs, "dv") and kind != "Doc2Vec":
        raise InvalidType(f"{other}: KeyedVectors.from_gensim(model.wv) takes the vectors of its words")
    if not hasattr(theirs, "dv") and (kind == "Doc2Vec" or hasattr(wv, "vectors_ngrams") != (kind == "FastText")):
        fit = "FastText" if hasattr(wv, "vectors_ngrams") else "Word2Vec"
        raise InvalidType(f"{other}: use w2vtrain.{fit}.from_gensim")
    if getattr(theirs, "dm_concat", 0):
        raise InvalidValue("a model with dm_concat=1 cannot be trained on; KeyedVectors.from_gensim takes its vectors")
    for name in model.parameters:
        source = wv if name in ("min_n", "max_n", "bucket") else theirs
        if hasattr(source, name):
            setattr(model, name, getattr(source, name))
    model.vector_size = theirs.vector_size
    check(model)
    model.wv = model._keyed([], np.empty((0, model.vector_size), np.float32))
    model.wv.vectors_lockf = np.array(getattr(wv, "vectors_lockf", [1]), np.float32)
    if len(wv):
        _take_words(model, theirs)
    if kind == "Doc2Vec":
        _take_tags(model, theirs)
    if model.matrices:
        model.fit_matrices()  # words that were added to `wv` have no output vectors yet


def _take_words(model: Any, theirs: Any) -> None:
    """Copy the words of a model that has some, and all that belongs to them."""
    words, shape, locks = list(theirs.wv.index_to_key), np.shape(theirs.wv.vectors), model.wv.vectors_lockf
    other = next((word for word in words if not isinstance(word, str)), None)
    if other is not None:
        raise InvalidType(
            f"the word {other!r} is not a str: train gensim's model on [[str(word) for word in sentence] for sentence"
            " in sentences]; KeyedVectors.from_gensim(model.wv) takes vectors with any keys"
        )
    if shape != (len(words), model.vector_size) or "count" not in theirs.wv.expandos:
        raise InvalidValue(f"{len(words):,} words, vectors of shape {list(shape)}: some have no vector or no count")
    counts = np.zeros(len(words), np.int64)  # gensim's add_vectors adds no count
    counts[: len(theirs.wv.expandos["count"])] = theirs.wv.expandos["count"]
    model.wv = model._keyed(words, np.array(theirs.wv.vectors, np.float32), counts)
    if model.subword_settings():
        _take_ngrams(model.wv, theirs.wv)
    model.wv.vectors_lockf = locks
    model.wv.expandos.update(
        {name: values.copy() for name, values in theirs.wv.expandos.items() if name not in (*INTERNAL, "count")}
    )
    model.wv.allocate_vecattrs()
    trained = len(getattr(theirs, "syn1neg" if model.negative else "syn1", words))
    if counts[trained:].any():
        trained = len(words)  # and `_matrix` refuses them
    order = by_count(words[:trained], counts[:trained])
    outputs = _matrix(theirs, "syn1neg", trained) if model.negative else None
    nodes = _matrix(theirs, "syn1", trained)[: trained - 1] if model.hs else None
    tree = _tree(theirs.wv, order) if model.hs and trained > 1 else None
    model.matrices = Matrices(outputs, nodes, order, words[:trained], counts[:trained], tree)


def _take_tags(model: Any, theirs: Any) -> None:
    """Copy the vectors and attributes of tags, also of whole numbers that no document has."""
    model.dv = vectors_of_tags(list(theirs.dv.index_to_key), np.array(theirs.dv.vectors, np.float32))
    model.dv.expandos.update({name: values.copy() for name, values in theirs.dv.expandos.items()})


def _take_ngrams(wv: Any, theirs: Any) -> None:
    """Copy the rows of words and of all buckets, also of those that no word of the model has.

    Vectors that these rows do not yield were set, or belong to words that were added: they stay.
    """
    own, rows = (np.array(matrix, np.float32) for matrix in (theirs.vectors_vocab, theirs.vectors_ngrams))
    known, vectors = len(own), wv.vectors
    if own.shape != vectors[:known].shape or rows.shape != (wv.bucket, wv.vector_size):
        raise InvalidValue(f"vectors_vocab and vectors_ngrams have the shapes {list(own.shape)} and {list(rows.shape)}")
    wv.ngrams = NgramVectors(wv.ngrams.ngrams, rows, np.arange(wv.bucket, dtype=np.int32))
    wv.vectors_vocab = np.concatenate([own, np.zeros_like(vectors[known:])])
    wv.adjust_vectors()
    composed = wv.vectors[:known]
    set_later = np.ones(len(vectors), bool)
    difference, size = np.abs(vectors[:known] - composed).max(axis=1), np.abs(composed).max(axis=1)
    set_later[:known] = difference > ROUNDING * size
    wv.vectors[set_later] = vectors[set_later]


def _matrix(theirs: Any, name: str, rows: int) -> NDArray[np.float32]:
    """Return a copy of a matrix of gensim's model. Raise InvalidValue unless it has one row per word."""
    matrix = np.array(getattr(theirs, name, ()), np.float32)
    if matrix.shape != (rows, theirs.vector_size):
        raise InvalidValue(f"{name} has shape {list(matrix.shape)}, expected {[rows, theirs.vector_size]}")
    return matrix


def _tree(wv: Any, order: NDArray[np.int64]) -> Tree:
    """Return gensim's Huffman tree, which may differ from ours if counts are equal; order: the rows of the words."""
    paths, codes = ([wv.expandos[name][row] for row in order.tolist()] for name in ("point", "code"))
    start = np.zeros(len(order) + 1, np.int64)
    np.cumsum([len(path) for path in paths], out=start[1:])
    return Tree(start, np.concatenate(paths).astype(np.int32), np.concatenate(codes).astype(np.uint8))
