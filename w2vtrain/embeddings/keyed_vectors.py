"""KeyedVectors: vectors by key, with the names, signatures and results of gensim's class of this name.

KeyedRows keeps keys, rows and attributes together; the queries are here. What needs only words and a matrix is
elsewhere, and the command line uses it, too: neighbors.py ranks rows, analogies.py and similarity.py evaluate.
"""

import logging
import math
import typing  # not "from": tests tell this overload from Numba's by its name
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from w2vtrain.doors import leaf
from w2vtrain.embeddings.analogies import COSMUL_EPSILON, GENSIM_CONSIDERS, Section, answer_sections, log_section
from w2vtrain.embeddings.datasets import read_plain_pairs, read_questions
from w2vtrain.embeddings.keyed_rows import SINGLE, Key, KeyedRows, builtin_errors
from w2vtrain.embeddings.neighbors import (
    Answers,
    Index,
    Vector,
    build_index,
    centrality,
    cosine,
    largest,
    nearest_rows,
    row_cosines,
    row_norms,
    unit,
    weighted_sum,
)
from w2vtrain.embeddings.similarity import correlate_pairs
from w2vtrain.errors import InvalidType, InvalidValue, MalformedFile, MissingKey, shown, spelled
from w2vtrain.formats.subwords import NgramVectors
from w2vtrain.gensim_names import with_successors

logger = logging.getLogger(__name__)
Term = Key | Vector | tuple[Key | Vector, float]
"""A key, an index or a vector, or a pair of one of these and its weight."""
Terms = Key | Vector | Iterable[Term] | None


@with_successors
class KeyedVectors(KeyedRows):
    """Vectors by key, such as words: lookups, similarity queries, evaluation and files.

    Names, signatures, results and the built-in classes of errors are those of gensim's ``KeyedVectors``.

    Parameters
    ----------
    vector_size : int
        The number of dimensions, d.
    count : int, default 0
        The number of rows to allocate. `add_vector` fills them before it adds rows.
    dtype : dtype, default float32
        The type of the values. Integers are stored as float32 or, if they have more than 16 bits, float64.
    mapfile_path : None
        Has no effect in gensim, and is refused here.

    Attributes
    ----------
    vectors : ndarray, shape (V, d)
        One row per key. Call ``fill_norms(force=True)`` after changing it in place.
    norms : ndarray, shape (V,), or None
        The lengths of the rows, if they are known; see `fill_norms`.
    index_to_key : list of str
        The key of each row.
    key_to_index : dict of str to int
        The row of each key.
    vector_size : int
        The number of dimensions, d.
    expandos : dict of str to ndarray
        Attributes of keys, such as "count"; see `set_vecattr`.
    ngrams : NgramVectors or None
        The vectors of n-grams. With these, ``vectors["unseen"]`` and all queries compose the vectors of words that are
        not among the keys, and ``in`` still says whether a word is a key. A word without a known n-gram is a KeyError.

    Notes
    -----
    In all methods, a key is a str or, if no key equals it, the index of a row; a vector has the shape (d,). An unknown
    key is a KeyError that names similar keys, and a vector of the wrong size is a ValueError. `topn` is the number of
    answers, and None returns the scores of all rows as an array; `restrict_vocab` is the number of rows to search, from
    the first. Cosines of zero vectors are NaN unless a method says otherwise.

    Several threads may query the same object, but not while one of them adds, changes or sorts vectors.

    Examples
    --------
    The examples of all methods begin with these vectors.

    >>> import numpy as np
    >>> import w2vtrain
    >>> rows = np.array([[4, 0, 0], [0, 3, 0], [0, 2, 1], [4, 2, 1]], np.float32)
    >>> vectors = w2vtrain.KeyedVectors.of(["king", "man", "woman", "queen"], rows, counts=[40, 30, 20, 10])
    >>> vectors
    KeyedVectors<vector_size=3, 4 keys>

    """

    # Means.

    def get_mean_vector(
        self,
        keys: Sequence[Key | Vector] | Vector,
        weights: ArrayLike | None = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> Vector:
        """Return the weighted mean of the vectors of keys.

        Parameters
        ----------
        keys : sequence of str, int or ndarray
            Keys, indices, and vectors, which are never normalized.
        weights : sequence of float, optional
            One weight per key; 1 by default. The sum is divided by the sum of their absolute values.
        pre_normalize : bool, default True
            Divide the vector of each key by its length.
        post_normalize : bool, default False
            Divide the mean by its length.
        ignore_missing : bool, default True
            Leave out unknown keys. If all are unknown, the mean is a zero vector.

        Raises
        ------
        ValueError
            If there are no keys, or not one weight per key.
        KeyError
            If a key is unknown and `ignore_missing` is False.

        Examples
        --------
        >>> vectors.get_mean_vector(["king", "man"], weights=[1, 3], pre_normalize=False)
        array([1.  , 2.25, 0.  ], dtype=float32)

        """
        if not len(keys):
            raise InvalidValue("cannot compute the mean of no vectors: pass at least one key")
        # The types of weights are those of gensim, so that the results are the same bit for bit.
        default = np.ones(len(keys)) if weights is None else weights
        factors = default if isinstance(default, np.ndarray) else np.asarray(default, np.float32)
        if factors.shape != (len(keys),):
            raise InvalidValue(f"{len(keys)} keys and weights of shape {list(factors.shape)}: pass one weight per key")
        terms, weight = [], factors.dtype.type(0)
        for key, factor in zip(keys, factors, strict=True):
            vector = self._checked(key) if isinstance(key, np.ndarray) else self._find(key, pre_normalize)
            if vector is not None:
                terms.append((factor, vector))
                weight += abs(factor)
            elif not ignore_missing:
                raise self._unknown(key)
        total = weighted_sum(terms, self.vector_size, self.vectors.dtype)
        mean = total / weight if weight > 0 else total
        return (unit(mean) if post_normalize else mean).astype(self.vectors.dtype, copy=False)

    def get_sentence_vector(self, sentence: str | Iterable[Key]) -> Vector:
        """Return the mean of the unit vectors of the words of a sentence, as fastText and gensim do.

        Parameters
        ----------
        sentence : str or iterable of str
            Words, or text that is split at white space. Words without a vector and zero vectors are left out.

        Raises
        ------
        KeyError
            If no word is left. fastText and gensim return zeros.
        ValueError
            If there are no words.

        Examples
        --------
        >>> vectors.get_sentence_vector("king man").tolist()
        [0.5, 0.5, 0.0]

        """
        words = sentence.split() if isinstance(sentence, str) else list(sentence)
        rows = [self._find(word, norm=True) for word in words]
        units = [row for row in rows if row is not None and not np.isnan(row).any()]  # NaN: a zero vector
        if words and not units:
            raise MissingKey(f"no word of the sentence has a vector: {shown(' '.join(map(str, words)))}")
        return self.get_mean_vector(units)

    # The nearest keys. All queries compute cosines with one matrix product and the norms, without a copy.

    @typing.overload
    def most_similar(
        self, positive: Terms = None, negative: Terms = None, topn: int = 10, clip_start: int = 0,
        clip_end: int | None = None, restrict_vocab: int | None = None, indexer: Any = None,
    ) -> Answers: ...  # fmt: skip
    @typing.overload
    def most_similar(
        self, positive: Terms = None, negative: Terms = None, *, topn: None, clip_start: int = 0,
        clip_end: int | None = None, restrict_vocab: int | None = None, indexer: Any = None,
    ) -> Vector: ...  # fmt: skip
    def most_similar(
        self, positive: Terms = None, negative: Terms = None, topn: int | None = 10, clip_start: int = 0,
        clip_end: int | None = None, restrict_vocab: int | None = None, indexer: Any = None,
    ) -> Answers | Vector:  # fmt: skip
        """Return the keys nearest to the mean of unit vectors, by cosine.

        Parameters
        ----------
        positive, negative : key, index, vector, or sequence of these or of pairs of one and its weight
            What to add and what to subtract. The weights are 1 and -1 by default; vectors are not normalized.
        topn : int or None, default 10
            The number of keys. None returns the cosines of all keys.
        clip_start, clip_end : int, optional
            Search only the rows from `clip_start` up to but not including `clip_end`.
        restrict_vocab : int, optional
            Search only the first rows, instead of `clip_start` and `clip_end`.
        indexer : object, optional
            An approximate index, such as `build_index` returns: its method ``most_similar(vector, n)`` returns keys and
            cosines. It searches all rows, whatever the three parameters before it are.

        Returns
        -------
        list of (str, float), or ndarray if `topn` is None
            Keys and cosines, nearest first, without the keys of the query. The cosine of a zero vector is NaN.

        Raises
        ------
        KeyError
            If a key is unknown.
        ValueError
            If the query is empty, or a vector has the wrong size.

        Examples
        --------
        >>> [(key, round(cosine, 3)) for key, cosine in vectors.most_similar("king", topn=2)]
        [('queen', 0.873), ('man', 0.0)]
        >>> vectors.most_similar(positive=["king", "woman"], negative=["man"], topn=1)[0][0]
        'queen'

        """
        if _none_requested(topn):
            return []
        mean, rows = self._direction(positive, negative)
        if indexer is not None and topn is not None:
            near = indexer.most_similar(mean, topn + len(rows))
            return [(key, cosine) for key, cosine in near if self.get_index(key) not in rows][:topn]
        first, last = (0, restrict_vocab) if restrict_vocab else (clip_start, clip_end or None)
        start, end, _ = slice(first, last).indices(len(self))
        scores = row_cosines(self.vectors[start:end], self._norms()[start:end], mean)
        return scores if topn is None else self._best(scores, rows, topn, start)

    def _direction(self, positive: Terms, negative: Terms) -> tuple[Vector, set[int]]:
        """Return the mean of the terms, scaled to length 1, and the rows of the keys among them."""
        terms = [_weighted(term, 1.0) for term in _listed(positive)]
        terms += [_weighted(term, -1.0) for term in _listed(negative)]
        keys = [key for key, _ in terms]
        weights = np.array([weight for _, weight in terms])
        mean = self.get_mean_vector(keys, weights, pre_normalize=True, post_normalize=True, ignore_missing=False)
        return mean, self._rows(keys)

    def _rows(self, terms: Iterable[Any]) -> set[int]:
        """Return the rows of the keys in a query, which may also have vectors, and unknown keys with composed ones."""
        return {self._index(term) for term in terms if not isinstance(term, np.ndarray)} - {-1}

    def _best(self, scores: Vector, excluded: set[int], topn: int, start: int = 0) -> Answers:
        """Return the keys of the largest scores of the rows from `start`, except for the rows `excluded`."""
        best = largest(scores, topn + len(excluded))
        return self._answers(best + start, scores[best], excluded, topn)

    def _answers(self, best: NDArray[np.int64], scores: Vector, excluded: set[int], topn: int) -> Answers:
        """Return the first `topn` keys of the rows `best`, except for those in `excluded`, and their scores."""
        ranked = zip(best.tolist(), scores.tolist(), strict=True)
        answers = [(self.index_to_key[row], score) for row, score in ranked if row not in excluded]
        return [answer for answer in answers if answer[0] is not None][:topn]  # None: a free row

    def most_similar_batch(
        self, keys: Iterable[Key] | ArrayLike, topn: int = 10, restrict_vocab: int | None = None
    ) -> list[Answers]:
        """Answer many queries at once, which is much faster than `most_similar` for each.

        Parameters
        ----------
        keys : iterable of str or int, or array_like of shape (n, d)
            Keys, or vectors.
        topn, restrict_vocab : int
            The number of answers per query, and of the rows to search.

        Returns
        -------
        list of list of (str, float)
            For each query, what `most_similar` returns, up to rounding, without zero vectors.

        Examples
        --------
        >>> [answers[0][0] for answers in vectors.most_similar_batch(["king", "woman"], topn=1)]
        ['queen', 'man']

        """
        queries, own = self._batch(keys)
        if _none_requested(topn):
            return [[] for _ in queries]
        rows = slice(restrict_vocab or None)
        nearest = nearest_rows(self.vectors[rows], self._norms()[rows], queries, topn + bool(own))
        excluded: Iterable[set[int]] = ({row} for row in own) if own else (set() for _ in queries)
        return [self._answers(*best, skip, topn) for best, skip in zip(nearest, excluded, strict=True)]

    def _batch(self, keys: Any) -> tuple[NDArray[np.float32], list[int]]:
        """Return the unit vectors of queries (n, d), and their rows if they are keys."""
        single = isinstance(keys, SINGLE)
        if not isinstance(keys, (Sequence, *SINGLE)) and (given := np.asarray(keys)).dtype.kind in "UO":
            keys = given.tolist() if given.ndim else list(keys)
        if single or (isinstance(keys, Sequence) and all(isinstance(key, SINGLE) for key in keys)):
            names = [keys] if single else keys
            own = [self._index(key) for key in names]
            rows: Vector = self[names]
        else:
            rows, own = np.asarray(keys, np.float32), []
            if rows.ndim != 2 or rows.shape[1] != self.vector_size:
                raise InvalidValue(f"queries of shape {list(rows.shape)}, expected keys or {['n', self.vector_size]}")
        with np.errstate(all="ignore"):
            units = np.divide(rows, row_norms(rows)[:, None], dtype=np.float32)
        return units, own

    @typing.overload
    def similar_by_key(self, key: Key, topn: int = 10, restrict_vocab: int | None = None) -> Answers: ...
    @typing.overload
    def similar_by_key(self, key: Key, topn: None, restrict_vocab: int | None = None) -> Vector: ...
    def similar_by_key(self, key: Key, topn: int | None = 10, restrict_vocab: int | None = None) -> Answers | Vector:
        """Return the keys nearest to a key, as `most_similar` does.

        Examples
        --------
        >>> vectors.similar_by_key("man", topn=1)[0][0]
        'woman'

        """
        return self.most_similar(positive=[key], topn=topn, restrict_vocab=restrict_vocab)

    @typing.overload
    def similar_by_word(self, word: Key, topn: int = 10, restrict_vocab: int | None = None) -> Answers: ...
    @typing.overload
    def similar_by_word(self, word: Key, topn: None, restrict_vocab: int | None = None) -> Vector: ...
    def similar_by_word(self, word: Key, topn: int | None = 10, restrict_vocab: int | None = None) -> Answers | Vector:
        """Do what `similar_by_key` does.

        Examples
        --------
        >>> vectors.similar_by_word("king", topn=1)[0][0]
        'queen'

        """
        return self.similar_by_key(word, topn, restrict_vocab)

    @typing.overload
    def similar_by_vector(self, vector: ArrayLike, topn: int = 10, restrict_vocab: int | None = None) -> Answers: ...
    @typing.overload
    def similar_by_vector(self, vector: ArrayLike, topn: None, restrict_vocab: int | None = None) -> Vector: ...
    def similar_by_vector(
        self, vector: ArrayLike, topn: int | None = 10, restrict_vocab: int | None = None
    ) -> Answers | Vector:
        """Return the keys nearest to a vector, as `most_similar` does.

        Examples
        --------
        >>> vectors.similar_by_vector([0, 9, 0], topn=1)
        [('man', 1.0)]

        """
        key: Any = vector if isinstance(vector, SINGLE) else np.asarray(vector)  # gensim takes a key, too
        return self.most_similar(positive=[key], topn=topn, restrict_vocab=restrict_vocab)

    @typing.overload
    def most_similar_cosmul(
        self, positive: Terms = None, negative: Terms = None, topn: int = 10, restrict_vocab: int | None = None
    ) -> Answers: ...
    @typing.overload
    def most_similar_cosmul(
        self, positive: Terms = None, negative: Terms = None, *, topn: None, restrict_vocab: int | None = None
    ) -> Vector: ...
    def most_similar_cosmul(
        self, positive: Terms = None, negative: Terms = None, topn: int | None = 10, restrict_vocab: int | None = None
    ) -> Answers | Vector:
        """Return the keys with the largest product of similarities (3CosMul, Levy and Goldberg 2014).

        With cosines shifted to (1 + cosine) / 2, the score is the product of those with `positive`, divided by the
        product of those with `negative`.

        Parameters
        ----------
        positive, negative : key, index, vector, or sequence of these
            Vectors are not normalized. At least one must be positive, or it is a ValueError.
        topn : int or None, default 10
            The number of keys. None returns the scores of all keys.
        restrict_vocab : int, optional
            Search only the first rows.

        Returns
        -------
        list of (str, float), or ndarray if `topn` is None
            Keys and scores, best first, without the keys of the query.

        Examples
        --------
        >>> vectors.most_similar_cosmul(["king", "woman"], ["man"], topn=1)[0][0]
        'queen'

        """
        if _none_requested(topn):
            return []
        keys = _listed(positive)
        if not keys:
            raise InvalidValue("cannot compute a similarity with nothing: pass at least one positive key")
        matrix, norms = self.vectors[: restrict_vocab or None], self._norms()[: restrict_vocab or None]

        def product(terms: list[Any]) -> Any:
            units = [self._checked(t) if isinstance(t, np.ndarray) else self.get_vector(t, norm=True) for t in terms]
            return np.prod([(1 + row_cosines(matrix, norms, vector)) / 2 for vector in units], axis=0)

        others = _listed(negative)
        scores: Vector = product(keys) / (product(others) + COSMUL_EPSILON)
        return scores if topn is None else self._best(scores, self._rows([*keys, *others]), topn)

    def build_index(self, **options: Any) -> Index:
        """Return an approximate index for ``most_similar(..., indexer=index)``.

        This needs the package usearch, or it is an ImportError: ``pip install 'w2vtrain[index]'``. Zero vectors are
        left out.

        Parameters
        ----------
        **options
            Options of ``usearch.index.Index``, such as ``connectivity`` and ``expansion_search``.

        """
        return build_index(self.index_to_key, self.vectors, self._norms(), options)

    # Comparisons of given keys.

    @staticmethod
    def cosine_similarities(vector_1: ArrayLike, vectors_all: ArrayLike) -> Vector:
        """Return the cosines (n,) of a vector (d,) with several others (n, d).

        Examples
        --------
        >>> w2vtrain.KeyedVectors.cosine_similarities([1, 0], [[3, 0], [0, 2]])
        array([1., 0.])

        """
        one, others = np.asarray(vector_1), np.asarray(vectors_all)
        with np.errstate(all="ignore"):
            similar: Vector = others @ one / (np.linalg.norm(one) * np.linalg.norm(others, axis=1))
        return similar

    def similarity(self, w1: Key, w2: Key) -> np.float32:
        """Return the cosine of two keys; 0 for a zero vector.

        Examples
        --------
        >>> round(float(vectors.similarity("king", "queen")), 3)
        0.873

        """
        return np.float32(cosine(self[w1], self[w2]))

    def distance(self, w1: Key, w2: Key) -> np.float32:
        """Return 1 minus the cosine of two keys, as `similarity` computes it.

        Examples
        --------
        >>> vectors.distance("king", "king")
        np.float32(0.0)

        """
        return np.float32(1 - self.similarity(w1, w2))

    def distances(self, word_or_vector: Key | Vector, other_words: Iterable[Key] | None = ()) -> Vector:
        """Return 1 minus the cosines of a key or vector with other keys or, by default, all keys.

        Examples
        --------
        >>> vectors.distances("king", ["man", "king"])
        array([1., 0.], dtype=float32)

        """
        is_key = isinstance(word_or_vector, SINGLE)
        vector = self[word_or_vector] if is_key else self._checked(np.asarray(word_or_vector))
        others = list(other_words or ())
        rows = self[others] if others else self.vectors
        norms = row_norms(rows) if others else self._norms()
        with np.errstate(all="ignore"):
            if not 1e-15 < np.linalg.norm(vector) < 1e15:  # squares or products might be 0 or infinite in float32
                vector = unit(vector).astype(np.float32)
            apart: Vector = 1 - rows @ vector / (np.linalg.norm(vector) * norms)
        return apart

    def closer_than(self, key1: Key, key2: Key) -> list[str]:
        """Return all keys that are closer to `key1` than `key2` is, in the order of their rows.

        Examples
        --------
        >>> vectors.closer_than("king", "woman")
        ['queen']

        """
        distances, own, other = self.distances(key1), self._index(key1), self._index(key2)
        limit = distances[other] if other >= 0 else self.distances(key1, [key2])[0]
        closer = np.flatnonzero(distances < limit).tolist()
        return [self.index_to_key[row] for row in closer if row != own]

    def words_closer_than(self, word1: Key, word2: Key) -> list[str]:
        """Do what `closer_than` does; deprecated, as in gensim."""
        warnings.warn("words_closer_than is deprecated: use closer_than", DeprecationWarning, stacklevel=2)
        return self.closer_than(word1, word2)

    def rank(self, key1: Key, key2: Key) -> int:
        """Return the rank of `key2` among all keys by distance from `key1`, from 1.

        Examples
        --------
        >>> vectors.rank("king", "queen")
        1

        """
        return len(self.closer_than(key1, key2)) + 1

    def most_similar_to_given(self, key1: Key, keys_list: Sequence[Key]) -> Key:
        """Return the key of a list that is most similar to `key1`; an empty list is a ValueError.

        Examples
        --------
        >>> vectors.most_similar_to_given("king", ["man", "queen"])
        'queen'

        """
        if not len(keys_list):
            raise InvalidValue("cannot choose a key from an empty list")
        return keys_list[int(np.argmax([self.similarity(key1, key) for key in keys_list]))]

    def n_similarity(self, ws1: Sequence[Key], ws2: Sequence[Key]) -> np.float32:
        """Return the cosine of the means of two lists of keys; unknown keys are left out.

        It is 0 if all keys of a list are unknown. An empty list is a ZeroDivisionError.

        Examples
        --------
        >>> round(float(vectors.n_similarity(["king", "woman"], ["man", "queen"])), 3)
        0.909

        """
        if not (len(ws1) and len(ws2)):
            raise ZeroDivisionError("cannot compare an empty list of keys: each list needs at least one key")
        return np.float32(cosine(*(self.get_mean_vector(keys, pre_normalize=False) for keys in (ws1, ws2))))

    def relative_cosine_similarity(self, wa: Key, wb: Key, topn: int = 10) -> float:
        """Return the cosine of two keys, divided by the sum of cosines of the `topn` keys nearest to `wa`.

        With `topn` 10, a value above 0.1 suggests synonyms (Leeuwenberg et al. 2016). It is NaN if those cosines add up
        to zero.

        Examples
        --------
        >>> round(vectors.relative_cosine_similarity("king", "queen", topn=1), 6)
        1.0

        """
        total = math.fsum(cosine for _, cosine in self.similar_by_key(wa, topn))
        return float(self.similarity(wa, wb)) / total if total else math.nan

    def rank_by_centrality(self, words: Iterable[Key], use_norm: bool = True) -> list[tuple[np.float32, str]]:
        """Rank keys by their similarity to the mean of all of them.

        Unknown keys are left out, and so are zero vectors, if there are others.

        Parameters
        ----------
        words : iterable of str or int
            Keys.
        use_norm : bool, default True
            Divide each vector by its length before taking the mean. Otherwise, zero vectors count.

        Returns
        -------
        list of (float32, str)
            Dot products with the mean, scaled to length 1, and keys: the most central first.

        Raises
        ------
        ValueError
            If all keys are unknown.

        Examples
        --------
        >>> [key for _, key in vectors.rank_by_centrality(["king", "queen", "man"])]
        ['queen', 'king', 'man']

        """
        known: list[Any] = [(word, row) for word in words if (row := self._find(word, use_norm)) is not None]
        rows = [(word, row) for word, row in known if not np.isnan(row).any()] or known
        if not rows:
            raise InvalidValue("none of the keys is in the vocabulary: pass at least one known key")
        products = centrality(np.array([row for _, row in rows]))
        return sorted(zip(products, (word for word, _ in rows), strict=True), reverse=True)

    def doesnt_match(self, words: Iterable[Key]) -> str:
        """Return the key that is least similar to the mean of all, as `rank_by_centrality` ranks them.

        Examples
        --------
        >>> vectors.doesnt_match(["king", "queen", "man"])
        'man'

        """
        return self.rank_by_centrality(words)[-1][1]

    def wmdistance(self, document1: Iterable[str], document2: Iterable[str], norm: bool = True) -> float:
        """Return the Word Mover's Distance of two documents (Kusner et al. 2015).

        This needs the package POT, or it is an ImportError: ``pip install 'w2vtrain[wmd]'``.

        Parameters
        ----------
        document1, document2 : iterable of str
            The words of each document; unknown words are left out.
        norm : bool, default True
            Divide each vector by its length before computing Euclidean distances.

        Returns
        -------
        float
            Infinity if a document has no known word; NaN if a zero vector has to be divided by its length.

        """
        try:
            import ot
        except ImportError as error:
            raise ImportError("wmdistance needs the package POT: pip install 'w2vtrain[wmd]'") from error
        documents = [list(document1), list(document2)]
        row_of = {word: self._find(word, norm) for word in set().union(*documents)}
        documents = [[word for word in document if row_of[word] is not None] for document in documents]
        words = sorted(set().union(*documents), key=str)
        if not all(documents):
            return math.inf
        if len(words) == 1:
            return 0.0
        from scipy.spatial.distance import cdist

        rows = np.array([row_of[word] for word in words], np.float64)
        costs = cdist(rows, rows)
        if not np.isfinite(costs).all():  # POT would warn, and return any number
            return math.nan
        weights = [np.array([document.count(word) / len(document) for word in words]) for document in documents]
        return float(ot.emd2(*weights, costs))

    def similarity_unseen_docs(self, *args: object, **kwargs: object) -> None:
        """Refuse, as gensim does: only a Doc2Vec model can infer the vectors of documents."""
        raise NotImplementedError("similarity_unseen_docs is a method of w2vtrain.Doc2Vec, which infers the vectors")

    # Scores on evaluation sets.

    @builtin_errors()
    def evaluate_word_analogies(
        self,
        analogies: str | Path,
        restrict_vocab: int | None = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
        similarity_function: str = "most_similar",
    ) -> tuple[float, list[Section]]:
        """Answer a file of analogy questions.

        Parameters
        ----------
        analogies : str or Path
            Lines of four words, in sections that begin with a line ": NAME". Other lines are skipped.
        restrict_vocab : int, optional
            Use only the first keys, for questions and answers.
        case_insensitive : bool, default True
            Ignore case; of keys that differ only in case, the first counts.
        dummy4unknown : bool, default False
            Count questions with unknown words as incorrect, instead of skipping them.
        similarity_function : str, default "most_similar"
            The name of the method that answers, such as "most_similar_cosmul".

        Returns
        -------
        score : float
            The fraction of correct answers.
        sections : list of dict
            {"section": name, "correct": questions, "incorrect": questions} for each section; the last is the total.

        Raises
        ------
        FileNotFoundError
            If the file cannot be opened.
        ValueError
            If a question precedes the first section, or a line is not UTF-8.

        Examples
        --------
        >>> _ = Path("questions.txt").write_text(": family\\nman king woman queen\\n")
        >>> score, sections = vectors.evaluate_word_analogies("questions.txt")
        >>> score, sections[0]["correct"]
        (1.0, [('MAN', 'KING', 'WOMAN', 'QUEEN')])

        """

        def answer(questions: NDArray[np.int64], same: NDArray[np.int64]) -> NDArray[np.int64]:
            options = {"topn": GENSIM_CONSIDERS, "restrict_vocab": restrict_vocab}
            similar, answers = getattr(self, similarity_function), np.full(len(questions), -1)
            for at, (a, b, c) in enumerate(questions.tolist()):
                positive, negative = [self.index_to_key[b], self.index_to_key[c]], [self.index_to_key[a]]
                near = similar(positive=positive, negative=negative, **options)
                rows = [row for key, _ in near if (row := self._row(key)) < len(same)]
                answers[at] = next((row for row in rows if same[row] not in (a, b, c)), -1)
            return answers

        words = [str(word) for word in self.index_to_key[:restrict_vocab]]
        sections = answer_sections(
            words, self.vectors[: len(words)], read_questions(analogies, strict=False), case_insensitive,
            dummy4unknown, None if similarity_function == "most_similar" else answer,
        )  # fmt: skip
        return log_section(sections[-1]) or 0.0, sections

    @builtin_errors()
    def evaluate_word_pairs(
        self,
        pairs: str | Path,
        delimiter: str = "\t",
        encoding: str = "utf8",
        restrict_vocab: int | None = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
    ) -> tuple[Any, Any, float]:
        """Correlate cosines with the human ratings of word pairs.

        Parameters
        ----------
        pairs : str or Path
            Lines of two words and a number. Other lines, and those that begin with "#", are skipped.
        delimiter : str, default tab
            What separates the fields of a line.
        encoding : str, default "utf8"
            The encoding of the file.
        restrict_vocab, case_insensitive
            As for `evaluate_word_analogies`.
        dummy4unknown : bool, default False
            Give pairs with unknown words the similarity 0, instead of skipping them.

        Returns
        -------
        pearson, spearman : (float, float)
            Correlation and two-sided p-value, from SciPy.
        oov_ratio : float
            The percentage of pairs with unknown words.

        Raises
        ------
        FileNotFoundError
            If the file cannot be opened.
        ValueError
            If there are fewer than two pairs to compare, or a line is not in the encoding.

        Examples
        --------
        >>> _ = Path("pairs.tsv").write_text("king\\tqueen\\t8\\nking\\tman\\t2\\nman\\twoman\\t7\\n")
        >>> pearson, spearman, unknown = vectors.evaluate_word_pairs("pairs.tsv")
        >>> round(float(spearman[0]), 6), unknown
        (0.5, 0.0)

        """
        words = [str(word) for word in self.index_to_key[:restrict_vocab]]
        rated = read_plain_pairs(pairs, delimiter, encoding)
        results = correlate_pairs(words, self.vectors, rated, case_insensitive, dummy4unknown)
        if results is None:
            raise MalformedFile(
                f"{pairs}: fewer than two pairs can be compared: too few lines, unknown words, or another format"
            )
        self.log_evaluate_word_pairs(*results, pairs)
        return results

    @staticmethod
    def log_accuracy(section: Section) -> None:
        """Log the accuracy of a section of `evaluate_word_analogies` at level INFO."""
        log_section(section)

    @staticmethod
    def log_evaluate_word_pairs(pearson: Any, spearman: Any, oov: float, pairs: object) -> None:
        """Log the results of `evaluate_word_pairs` at level INFO."""
        results = (pairs, pearson[0], spearman[0], oov)
        logger.info("%s: Pearson correlation %.4f, Spearman correlation %.4f, unknown pairs %.1f%%", *results)

    # N-grams.

    def nearest_ngrams(self, word: Key | Vector, topn: int | None = 10) -> Answers:
        """Return the n-grams of keys nearest to a word or vector, by cosine; ValueError if there are no n-grams.

        N-grams that share a bucket share a vector: of these, the first of the most frequent key is named. Zero vectors
        are left out. With `topn` None, all n-grams are answers. `get_ngram_vectors` has those of one word.

        Examples
        --------
        >>> model = w2vtrain.FastText([["red", "green"], ["cat", "dog"]] * 50, vector_size=8, min_count=1, workers=1)
        >>> len(model.wv.nearest_ngrams("green", topn=3))
        3

        """
        if _none_requested(topn):
            return []
        sizes, matrix = self._ngrams().ngrams, np.asarray(self._ngrams().matrix)
        starts, buckets = sizes.buckets([str(key) for key in self.index_to_key])
        used, first = np.unique(buckets, return_index=True)
        rows = self._ngrams().rows_of(used)
        first, near = first[rows >= 0], matrix[rows[rows >= 0]]
        vector = self[word] if isinstance(word, SINGLE) else self._checked(word)
        scores = row_cosines(near, row_norms(near), unit(vector).astype(near.dtype))
        answers = []
        for best in largest(scores, len(scores) if topn is None else topn).tolist():
            key = int(np.searchsorted(starts, first[best], "right")) - 1
            answers.append((sizes.texts(str(self.index_to_key[key]))[first[best] - starts[key]], float(scores[best])))
        return [answer for answer in answers if not math.isnan(answer[1])][:topn]

    def _ngrams(self) -> NgramVectors:
        if self.ngrams is None:
            raise InvalidValue(f"there are no n-grams: train with {spelled('subwords', True)}")
        return self.ngrams

    def get_ngram_vectors(self, word: Key) -> tuple[list[str], Vector]:
        """Return the n-grams of a word and their vectors, as fastText's ``print-ngrams``.

        Parameters
        ----------
        word : str or int
            A key, an index, or a word whose vector is composed.

        Returns
        -------
        texts : list of str
            The word itself, if it is a key, then its n-grams, of which some may be equal.
        rows : ndarray, shape (n, d)
            The row of each, zeros for n-grams that are not known. Their mean is the vector of the word.

        Raises
        ------
        KeyError
            If the word has no vector.
        ValueError
            If there are no n-grams at all.

        Examples
        --------
        >>> model = w2vtrain.FastText([["red", "green"], ["cat", "dog"]] * 50, vector_size=8, min_count=1, workers=1)
        >>> texts, rows = model.wv.get_ngram_vectors("red")
        >>> texts
        ['red', '<re', '<red', '<red>', 'red', 'red>', 'ed>']
        >>> np.allclose(rows.mean(axis=0), model.wv["red"], atol=1e-6)
        True

        """
        ngrams, vector, index = self._ngrams(), self.get_vector(word), self._index(word)
        text = str(word if index < 0 else self.index_to_key[index])
        row_numbers = ngrams.rows_of(ngrams.ngrams.buckets([text])[1])
        rows = np.zeros((len(row_numbers), self.vector_size), self.vectors.dtype)
        rows[row_numbers >= 0] = ngrams.matrix[row_numbers[row_numbers >= 0]]
        texts = ngrams.ngrams.texts(text)[: len(row_numbers)]
        if index < 0:
            return texts, rows
        own = vector * np.float64(len(rows) + 1) - rows.sum(axis=0, dtype=np.float64)
        return [text, *texts], np.concatenate([own[None].astype(rows.dtype), rows])

    # gensim.

    def to_gensim(self) -> Any:
        """Return gensim's ``KeyedVectors`` over the same matrix. This needs gensim, or it is an ImportError.

        With n-grams, it is gensim's ``FastTextKeyedVectors``, whose matrix of n-grams has a row for every bucket.
        """
        return leaf("gensim").vectors_to_gensim(self)

    @classmethod
    def from_gensim(cls, keyed: Any) -> Self:
        """Return an object over the matrix of gensim's ``KeyedVectors``, with its keys, attributes and n-grams.

        Raises
        ------
        ValueError
            If the keys are not distinct, or not one per row.

        """
        made: Self = leaf("gensim").vectors_from_gensim(cls, keyed)
        return made


class TextKeyedVectors(KeyedVectors):
    """Vectors whose keys are all text: a number is the key with its digits, and never the number of a row."""

    def _key(self, key: Any) -> Any:
        return str(key) if isinstance(key, int | np.integer) else key

    def _index(self, key: Any) -> int:
        return self.key_to_index.get(self._key(key), -1)

    def _row(self, key: Any) -> int:
        return self._index(key)

    def _composed(self, key: Any) -> Vector | None:
        return super()._composed(self._key(key))


def _none_requested(topn: Any) -> bool:
    """Return whether topn is below 1, which gives no answers; raise InvalidType unless it is an integer or None."""
    if topn is not None and not isinstance(topn, int | np.integer):
        raise InvalidType(f"topn must be an integer or None, not {topn!r}")
    return topn is not None and int(topn) < 1


def _listed(terms: Terms) -> list[Any]:
    """Return one term or several as a list."""
    if terms is None:
        return []
    if isinstance(terms, SINGLE) or (isinstance(terms, np.ndarray) and terms.ndim == 1):
        return [terms]
    try:
        return list(terms)
    except TypeError:
        raise InvalidType(f"expected a key, a vector or a list of these, not {terms!r}") from None


def _weighted(term: Any, default: float) -> tuple[Any, float]:
    """Return a term of a query and its weight."""
    if isinstance(term, (*SINGLE, np.ndarray)):
        return term, default
    with suppress(TypeError, ValueError):
        key, weight = term
        if isinstance(key, (*SINGLE, np.ndarray)):
            return key, float(weight)
    raise InvalidType(f"expected a key, a vector (ndarray), or a pair of one of these and a weight, not {term!r:.80}")
