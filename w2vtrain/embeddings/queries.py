"""Find the keys nearest to keys or vectors: one query at a time as gensim does, or many at once.

Two given keys are compared in comparisons.py. Ranking is in neighbors.py.
"""

import typing  # not "from": tests tell this overload from Numba's by its name
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from w2vtrain.embeddings.key_table import SINGLE, Key
from w2vtrain.embeddings.neighbors import largest, nearest_rows, row_cosines
from w2vtrain.embeddings.vector_edits import VectorEdits
from w2vtrain.embeddings.vector_table import Vector
from w2vtrain.errors import InvalidType, InvalidValue

Answers = list[tuple[str, float]]
"""Keys and their scores, best first."""
Part = Key | Vector | tuple[Key | Vector, float]
"""A key, an index or a vector, or a pair of one of these and its weight."""
Parts = Part | Iterable[Part] | None
COSMUL_EPSILON = 0.000001  # as in Levy and Goldberg (2014)


class Queries(VectorEdits):
    """Nearest-key queries. All of them compute cosines with one matrix product and the norms, without a copy."""

    @typing.overload
    def most_similar(
        self, positive: Parts = None, negative: Parts = None, topn: int = 10, clip_start: int = 0,
        clip_end: int | None = None, restrict_vocab: int | None = None, indexer: Any = None,
    ) -> Answers: ...  # fmt: skip
    @typing.overload
    def most_similar(
        self, positive: Parts = None, negative: Parts = None, *, topn: None, clip_start: int = 0,
        clip_end: int | None = None, restrict_vocab: int | None = None, indexer: Any = None,
    ) -> Vector: ...  # fmt: skip
    def most_similar(
        self,
        positive: Parts = None,
        negative: Parts = None,
        topn: int | None = 10,
        clip_start: int = 0,
        clip_end: int | None = None,
        restrict_vocab: int | None = None,
        indexer: Any = None,
    ) -> Answers | Vector:
        """Return the keys nearest to the mean of unit vectors, by cosine.

        Parameters
        ----------
        positive, negative : key, index, vector, pair of one of these and a weight, or sequence of these
            What to add and what to subtract. The weights are 1 and -1 by default; vectors are not normalized.
        topn : int or None, default 10
            The number of keys. None returns the cosines of all keys.
        clip_start, clip_end : int, optional
            Search only the rows from `clip_start` up to but not including `clip_end`.
        restrict_vocab : int, optional
            Search only the first rows, instead of `clip_start` and `clip_end`.
        indexer : object, optional
            An approximate index, such as `build_index` returns: its method ``most_similar(vector, n)`` returns keys and
            cosines.

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
            found = indexer.most_similar(mean, topn + len(rows))
            return [(key, cosine) for key, cosine in found if self.get_index(key) not in rows][:topn]
        start, end, _ = slice(*((0, restrict_vocab) if restrict_vocab else (clip_start, clip_end))).indices(len(self))
        cosines = row_cosines(self.vectors[start:end], self._norms()[start:end], mean)
        if topn is None:
            return cosines
        best = largest(cosines, topn + len(rows))
        return self._answers(best + start, cosines[best], rows, topn)

    def _direction(self, positive: Parts, negative: Parts) -> tuple[Vector, set[int]]:
        """Return the mean of the parts, scaled to length 1, and the rows of the keys among them."""
        parts = [_weighted(part, 1.0) for part in _listed(positive)]
        parts += [_weighted(part, -1.0) for part in _listed(negative)]
        keys = [key for key, _ in parts]
        weights = np.array([weight for _, weight in parts])
        mean = self.get_mean_vector(keys, weights, pre_normalize=True, post_normalize=True, ignore_missing=False)
        return mean, {self.get_index(key) for key in keys if not isinstance(key, np.ndarray)}

    def _answers(self, best: NDArray[np.int64], scores: Vector, rows: set[int], topn: int) -> Answers:
        """Return the first `topn` keys of the rows `best`, except for those in `rows`, and their scores."""
        found = zip(best.tolist(), scores.tolist(), strict=True)
        return [(self.index_to_key[row], score) for row, score in found if row not in rows][:topn]

    def most_similar_batch(
        self, keys: Sequence[Key] | ArrayLike, topn: int = 10, restrict_vocab: int | None = None
    ) -> list[Answers]:
        """Answer many queries at once, which is much faster than `most_similar` for each.

        Parameters
        ----------
        keys : sequence of str or int, or array_like of shape (n, d)
            Keys, or vectors.
        topn : int, default 10
            The number of answers per query.
        restrict_vocab : int, optional
            Search only the first rows.

        Returns
        -------
        list of list of (str, float)
            For each query, what `most_similar` returns, up to rounding, without zero vectors.

        Raises
        ------
        KeyError
            If a key is unknown.
        ValueError
            If the vectors have the wrong size.

        Examples
        --------
        >>> [answers[0][0] for answers in vectors.most_similar_batch(["king", "woman"], topn=1)]
        ['queen', 'man']

        """
        queries, own = self._batch(keys)
        if _none_requested(topn):
            return [[] for _ in queries]
        rows = slice(restrict_vocab or None)
        found = nearest_rows(self.vectors[rows], self._norms()[rows], queries, topn + bool(own))
        excluded: Iterable[set[int]] = ({row} for row in own) if own else (set() for _ in queries)
        return [self._answers(*best, skip, topn) for best, skip in zip(found, excluded, strict=True)]

    def _batch(self, keys: Sequence[Key] | ArrayLike) -> tuple[NDArray[np.float32], list[int]]:
        """Return the unit vectors of queries (n, d), and their rows if they are keys."""
        single = isinstance(keys, SINGLE)
        if single or (isinstance(keys, Sequence) and all(isinstance(key, SINGLE) for key in keys)):
            names: Sequence[Any] = [keys] if single else keys  # type: ignore[assignment]
            own = [self.get_index(key) for key in names]
            found, lengths = np.asarray(self.vectors[own], np.float32), np.asarray(self._norms()[own], np.float32)
        else:
            found, own = np.asarray(keys, np.float32), []
            if found.ndim != 2 or found.shape[1] != self.vector_size:
                raise InvalidValue(f"queries of shape {list(found.shape)}, expected keys or {['n', self.vector_size]}")
            lengths = np.linalg.norm(found, axis=1)
        with np.errstate(all="ignore"):
            units = np.divide(found, lengths[:, None], dtype=np.float32)
        return units, own

    @typing.overload
    def similar_by_key(self, key: Key, topn: int = 10, restrict_vocab: int | None = None) -> Answers: ...
    @typing.overload
    def similar_by_key(self, key: Key, topn: None, restrict_vocab: int | None = None) -> Vector: ...
    def similar_by_key(self, key: Key, topn: int | None = 10, restrict_vocab: int | None = None) -> Answers | Vector:
        """Return the keys nearest to a key; parameters and errors are those of `most_similar`.

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
        """Return the keys nearest to a vector; parameters and errors are those of `most_similar`.

        Examples
        --------
        >>> vectors.similar_by_vector([0, 9, 0], topn=1)
        [('man', 1.0)]

        """
        return self.most_similar(positive=[np.asarray(vector)], topn=topn, restrict_vocab=restrict_vocab)

    @typing.overload
    def most_similar_cosmul(
        self, positive: Parts = None, negative: Parts = None, topn: int = 10, restrict_vocab: int | None = None
    ) -> Answers: ...
    @typing.overload
    def most_similar_cosmul(
        self, positive: Parts = None, negative: Parts = None, *, topn: None, restrict_vocab: int | None = None
    ) -> Vector: ...
    def most_similar_cosmul(
        self,
        positive: Parts = None,
        negative: Parts = None,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> Answers | Vector:
        """Return the keys with the largest product of similarities (3CosMul, Levy and Goldberg 2014).

        With cosines shifted to (1 + cosine) / 2, the score is the product of those with `positive`, divided by the
        product of those with `negative`.

        Parameters
        ----------
        positive, negative : key, index, vector, or sequence of these
            Vectors are not normalized. At least one must be positive.
        topn : int or None, default 10
            The number of keys. None returns the scores of all keys.
        restrict_vocab : int, optional
            Search only the first rows.

        Returns
        -------
        list of (str, float), or ndarray if `topn` is None
            Keys and scores, best first, without the keys of the query.

        Raises
        ------
        KeyError
            If a key is unknown.
        ValueError
            If `positive` is empty.

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

        def product(parts: list[Any]) -> Any:
            units = [self._checked(p) if isinstance(p, np.ndarray) else self.get_vector(p, norm=True) for p in parts]
            return np.prod([(1 + row_cosines(matrix, norms, found)) / 2 for found in units], axis=0)

        others = _listed(negative)
        scores: Vector = product(keys) / (product(others) + COSMUL_EPSILON)
        if topn is None:
            return scores
        rows = {self.get_index(key) for key in [*keys, *others] if not isinstance(key, np.ndarray)}
        best = largest(scores, topn + len(rows))
        return self._answers(best, scores[best], rows, topn)


def _none_requested(topn: Any) -> bool:
    """Return whether topn is below 1, which gives no answers; raise InvalidType unless it is an integer or None."""
    if topn is not None and not isinstance(topn, int | np.integer):
        raise InvalidType(f"topn must be an integer or None, not {topn!r}")
    return topn is not None and int(topn) < 1


def _listed(parts: Parts) -> list[Any]:
    """Return one part or several as a list."""
    if parts is None:
        return []
    if isinstance(parts, SINGLE) or (isinstance(parts, np.ndarray) and parts.ndim == 1):
        return [parts]
    try:
        return list(parts)
    except TypeError:
        raise InvalidType(f"expected a key, a vector or a list of these, not {parts!r}") from None


def _weighted(part: Any, default: float) -> tuple[Any, float]:
    """Return a part of a query and its weight."""
    if isinstance(part, (*SINGLE, np.ndarray)):
        return part, default
    try:
        key, weight = part
        if isinstance(key, (*SINGLE, np.ndarray)):
            return key, float(weight)
    except (TypeError, ValueError):
        pass
    raise InvalidType(f"expected a key, a vector (ndarray), or a pair of one of these and a weight, not {part!r:.80}")
