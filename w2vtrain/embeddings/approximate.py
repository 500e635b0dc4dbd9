"""Approximate nearest keys with the package usearch, and how many of the exact answers an index finds.

queries.py takes any index with the method `most_similar(vector, n)`. This module stores none in a file.
"""

from typing import Any

import numpy as np

from w2vtrain.embeddings.keyed_evaluation import Evaluations
from w2vtrain.embeddings.queries import Answers
from w2vtrain.embeddings.vector_table import Vector
from w2vtrain.errors import InvalidValue


class Index:
    """An approximate index over the vectors that an object had when the index was built.

    keys: its keys; graph: a usearch index of its rows, by cosine.
    """

    def __init__(self, keys: list[str], graph: Any) -> None:
        self.keys, self.graph = keys, graph

    def most_similar(self, vector: Vector, num_neighbors: int) -> Answers:
        """Return keys whose vectors are near to `vector`, and their cosines, nearest first."""
        found = self.graph.search(np.asarray(vector, np.float32), num_neighbors)
        rows, distances = np.asarray(found.keys).tolist(), np.asarray(found.distances).tolist()
        return [(self.keys[row], 1 - distance) for row, distance in zip(rows, distances, strict=True)]


class ApproximateQueries(Evaluations):
    """Keyed vectors that build an approximate index and measure it."""

    def build_index(self, **options: Any) -> Index:
        """Return an approximate index for ``most_similar(..., indexer=index)``.

        This needs the package usearch: ``pip install 'w2vtrain[index]'``. Zero vectors are left out.

        Parameters
        ----------
        **options
            Options of ``usearch.index.Index``, such as ``connectivity`` and ``expansion_search``.

        Returns
        -------
        Index

        Raises
        ------
        ImportError
            If usearch is not installed.

        """
        try:
            from usearch.index import Index as Graph
        except ImportError as error:
            raise ImportError("build_index needs the package usearch: pip install 'w2vtrain[index]'") from error
        graph = Graph(**{"ndim": self.vector_size, "metric": "cos", "dtype": "f32", **options})
        rows = np.flatnonzero(self._norms() > 0)
        vectors = self.vectors if len(rows) == len(self.vectors) else self.vectors[rows]
        graph.add(rows.astype(np.uint64), np.ascontiguousarray(vectors, np.float32))
        return Index(list(self.index_to_key), graph)

    def recall(self, index: Any, n: int = 1000, topn: int = 10, seed: int = 0) -> float:
        """Return the fraction of the exact nearest keys that an index finds.

        Parameters
        ----------
        index : Index
            What `build_index` returned, or another object with the method ``most_similar(vector, n)``.
        n : int, default 1000
            The number of keys to query, drawn at random; if there are fewer, all.
        topn : int, default 10
            The number of nearest keys per query.
        seed : int, default 0
            The seed of the draw.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If `n` or `topn` is below 1, or no vector but one is nonzero.

        """
        rows = np.flatnonzero(self._norms() > 0)
        drawn = np.random.default_rng(seed).permutation(rows)[: max(0, n)].tolist()
        keys = [self.index_to_key[row] for row in drawn]
        exact = self.most_similar_batch(keys, topn)
        total = sum(map(len, exact))
        if not total:
            raise InvalidValue(f"no neighbors to find: n is {n}, topn is {topn}, and {len(rows)} vectors are nonzero")
        found = [self.most_similar(key, topn=topn, indexer=index) for key in keys]
        return sum(len(dict(a).keys() & dict(b).keys()) for a, b in zip(exact, found, strict=True)) / total
