"""Compare given keys: similarities, distances, ranks, and which key does not match the others.

queries.py searches all keys for the nearest.
"""

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from w2vtrain.embeddings.key_table import SINGLE, Key
from w2vtrain.embeddings.queries import Queries
from w2vtrain.embeddings.vector_table import Vector, unit
from w2vtrain.errors import InvalidValue


class Comparisons(Queries):
    """Similarities between given keys, and between sets of keys."""

    @staticmethod
    def cosine_similarities(vector_1: ArrayLike, vectors_all: ArrayLike) -> Vector:
        """Return the cosines of a vector with several others; NaN for a zero vector.

        Parameters
        ----------
        vector_1 : array_like, shape (d,)
            The vector.
        vectors_all : array_like, shape (n, d)
            The others.

        Returns
        -------
        ndarray, shape (n,)

        Examples
        --------
        >>> w2vtrain.KeyedVectors.cosine_similarities([1, 0], [[3, 0], [0, 2]])
        array([1., 0.])

        """
        one, others = np.asarray(vector_1), np.asarray(vectors_all)
        with np.errstate(all="ignore"):
            found: Vector = others @ one / (np.linalg.norm(one) * np.linalg.norm(others, axis=1))
        return found

    def similarity(self, w1: Key, w2: Key) -> np.float32:
        """Return the cosine of two keys.

        Parameters
        ----------
        w1, w2 : str or int
            Keys.

        Returns
        -------
        float32

        Raises
        ------
        KeyError
            If a key is unknown.

        Examples
        --------
        >>> round(float(vectors.similarity("king", "queen")), 3)
        0.873

        """
        return cosine(self[w1], self[w2])

    def distance(self, w1: Key, w2: Key) -> np.float32:
        """Return 1 minus the cosine of two keys; errors as in `similarity`.

        Examples
        --------
        >>> vectors.distance("king", "king")
        np.float32(0.0)

        """
        return np.float32(1 - self.similarity(w1, w2))

    def distances(self, word_or_vector: Key | Vector, other_words: Iterable[Key] | None = ()) -> Vector:
        """Return 1 minus the cosines of a key or vector with other keys.

        Parameters
        ----------
        word_or_vector : str, int or ndarray of shape (d,)
            The key or vector.
        other_words : iterable of str or int, optional
            By default, all keys.

        Returns
        -------
        ndarray

        Raises
        ------
        KeyError
            If a key is unknown.

        Examples
        --------
        >>> vectors.distances("king", ["man", "king"])
        array([1., 0.], dtype=float32)

        """
        vector = self[word_or_vector] if isinstance(word_or_vector, SINGLE) else self._checked(word_or_vector)
        others = list(other_words or ())
        rows = [self.get_index(key) for key in others] if others else slice(None)
        with np.errstate(all="ignore"):
            found: Vector = 1 - self.vectors[rows] @ vector / (np.linalg.norm(vector) * self._norms()[rows])
        return found

    def closer_than(self, key1: Key, key2: Key) -> list[str]:
        """Return all keys that are closer to `key1` than `key2` is, in the order of their rows.

        Parameters
        ----------
        key1, key2 : str or int
            Keys.

        Returns
        -------
        list of str

        Raises
        ------
        KeyError
            If a key is unknown.

        Examples
        --------
        >>> vectors.closer_than("king", "woman")
        ['queen']

        """
        distances, own = self.distances(key1), self.get_index(key1)
        closer = np.flatnonzero(distances < distances[self.get_index(key2)]).tolist()
        return [self.index_to_key[row] for row in closer if row != own]

    def words_closer_than(self, word1: Key, word2: Key) -> list[str]:
        """Do what `closer_than` does; deprecated, as in gensim."""
        warnings.warn("words_closer_than is deprecated: use closer_than", DeprecationWarning, stacklevel=2)
        return self.closer_than(word1, word2)

    def rank(self, key1: Key, key2: Key) -> int:
        """Return the rank of `key2` among all keys by distance from `key1`, from 1; errors as in `closer_than`.

        Examples
        --------
        >>> vectors.rank("king", "queen")
        1

        """
        return len(self.closer_than(key1, key2)) + 1

    def most_similar_to_given(self, key1: Key, keys_list: Sequence[Key]) -> Key:
        """Return the key of a list that is most similar to `key1`.

        Parameters
        ----------
        key1 : str or int
            The key to compare with.
        keys_list : sequence of str or int
            The keys to choose from.

        Returns
        -------
        str or int

        Raises
        ------
        KeyError
            If a key is unknown.
        ValueError
            If the list is empty.

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

        Parameters
        ----------
        ws1, ws2 : sequence of str or int
            Keys.

        Returns
        -------
        float32
            0 if all keys of a list are unknown.

        Raises
        ------
        ZeroDivisionError
            If a list is empty.

        Examples
        --------
        >>> round(float(vectors.n_similarity(["king", "woman"], ["man", "queen"])), 3)
        0.909

        """
        if not (len(ws1) and len(ws2)):
            raise ZeroDivisionError("cannot compare an empty list of keys: each list needs at least one key")
        return cosine(*(self.get_mean_vector(keys, pre_normalize=False) for keys in (ws1, ws2)))

    def relative_cosine_similarity(self, wa: Key, wb: Key, topn: int = 10) -> float:
        """Return the cosine of two keys, divided by the sum of cosines of the `topn` keys nearest to `wa`.

        With `topn` 10, a value above 0.1 suggests synonyms (Leeuwenberg et al. 2016).

        Parameters
        ----------
        wa, wb : str or int
            Keys.
        topn : int, default 10
            The number of nearest keys.

        Returns
        -------
        float
            NaN if those cosines add up to zero.

        Raises
        ------
        KeyError
            If a key is unknown.

        Examples
        --------
        >>> round(vectors.relative_cosine_similarity("king", "queen", topn=1), 6)
        1.0

        """
        total = math.fsum(cosine for _, cosine in self.similar_by_key(wa, topn))
        return float(self.similarity(wa, wb)) / total if total else math.nan

    def rank_by_centrality(self, words: Iterable[Key], use_norm: bool = True) -> list[tuple[np.float32, str]]:
        """Rank keys by their similarity to the mean of all of them; unknown keys are left out.

        Parameters
        ----------
        words : iterable of str or int
            Keys.
        use_norm : bool, default True
            Divide each vector by its length before taking the mean.

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
        known: list[Any] = [word for word in words if word in self]
        if not known:
            raise InvalidValue("none of the keys is in the vocabulary: pass at least one known key")
        rows = np.array([self.get_vector(word, norm=use_norm) for word in known])
        with np.errstate(over="ignore", invalid="ignore"):  # found below
            found = centrality(rows)
        if not np.isfinite(found).all():
            found = centrality(rows.astype(np.float64))
        return sorted(zip(found, known, strict=True), reverse=True)

    def doesnt_match(self, words: Iterable[Key]) -> str:
        """Return the key that is least similar to the mean of all; errors as in `rank_by_centrality`.

        Examples
        --------
        >>> vectors.doesnt_match(["king", "queen", "man"])
        'man'

        """
        return self.rank_by_centrality(words)[-1][1]

    def wmdistance(self, document1: Iterable[str], document2: Iterable[str], norm: bool = True) -> float:
        """Return the Word Mover's Distance of two documents (Kusner et al. 2015).

        This needs the package POT: ``pip install 'w2vtrain[wmd]'``.

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

        Raises
        ------
        ImportError
            If POT is not installed.

        """
        try:
            import ot
        except ImportError as error:
            raise ImportError("wmdistance needs the package POT: pip install 'w2vtrain[wmd]'") from error
        documents = [[word for word in document if word in self] for document in (document1, document2)]
        words = sorted(set().union(*documents), key=str)
        if not all(documents):
            return math.inf
        if len(words) == 1:
            return 0.0
        from scipy.spatial.distance import cdist

        rows = np.array([self.get_vector(word, norm=norm) for word in words], np.float64)
        costs = cdist(rows, rows)
        if not np.isfinite(costs).all():  # POT would warn, and return any number
            return math.nan
        weights = [np.array([document.count(word) / len(document) for word in words]) for document in documents]
        return float(ot.emd2(*weights, costs))


def centrality(rows: Vector) -> Vector:
    """Return the products (n,) of rows (n, d) with their mean, divided by its length."""
    found: Vector = rows @ unit(rows.mean(axis=0)).astype(rows.dtype)
    return found


def cosine(a: Vector, b: Vector) -> np.float32:
    """Return the cosine of two vectors, computed in float64, so that it is exactly 1 for equal ones; 0 for a zero."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    lengths = math.sqrt((a @ a) * (b @ b))
    return np.float32(a @ b / lengths if lengths > 0 else 0.0)
