"""Cosines, means and lengths of the rows of a matrix, and the rows nearest to a vector: all of them, or approximately.

Cosines and the order of ties equal those of gensim, bit for bit. keyed_vectors.py turns keys into rows and back.
"""

import difflib
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.formats.safetensors import row_blocks

Vector = NDArray[Any]
Answers = list[tuple[str, float]]
"""Keys and their scores, best first."""
# Queries that are answered at a time, and cosines in memory at a time: 16 MiB of float32.
QUERIES_AT_ONCE, COSINES_AT_ONCE = 256, 1 << 22
VALUES_PER_GROUP = 256
"""The number of values whose maximum `_distinct_largest` looks at first."""


def have_vectors(matrix: NDArray[Any], indices: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows (n,) of indices (n, k) of vectors in `matrix` (V, d) name no zero vector."""
    used, places = np.unique(indices, return_inverse=True)
    found: NDArray[np.bool_] = np.all(np.any(matrix[used], axis=1)[places].reshape(indices.shape), axis=1)
    return found


def row_norms(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the length of each row of `matrix` (V, d), in its dtype, without a temporary copy of the matrix.

    The squares of float32 values below 1e-23 or above 1e19 are zero or infinite: such rows are computed in float64.
    """
    norms = np.empty(len(matrix), matrix.dtype)
    with np.errstate(over="ignore", under="ignore"):
        for rows in row_blocks(matrix):
            norms[rows] = np.linalg.norm(matrix[rows], axis=1)
        odd = np.flatnonzero((norms == 0) | ~np.isfinite(norms))
        norms[odd] = np.linalg.norm(matrix[odd].astype(np.float64), axis=1)
    return norms


def row_cosines(matrix: NDArray[Any], norms: NDArray[Any], unit: NDArray[Any]) -> NDArray[Any]:
    """Return the cosine of each row of `matrix` (V, d) with the unit vector `unit` (d,); NaN for a zero row.

    Products of float16 are computed in float32.
    """
    unit = unit.astype(np.result_type(unit, np.float32), copy=False)
    with np.errstate(all="ignore"):
        cosines: NDArray[Any] = matrix @ unit / norms
    return cosines


def cosines(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Return the cosine of each pair of rows (n, d) in float64; 0 if one is all zeros."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    quotients: NDArray[np.float64] = (a * b).sum(axis=-1) / np.where(lengths > 0, lengths, 1)
    return quotients


def cosine(a: Vector, b: Vector) -> float:
    """Return the cosine of two vectors (d,), in a third of the time of `cosines`; 0 if one is all zeros."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    length = math.sqrt(a.dot(a)) * math.sqrt(b.dot(b))
    return float(a.dot(b)) / length if length else 0.0


def unit(vector: Vector) -> Vector:
    """Return a vector divided by its length, as float64; a zero vector stays as it is."""
    wide = vector.astype(np.float64)
    length = np.linalg.norm(wide)
    return wide * (1 / length) if length > 0 else wide


def weighted_sum(terms: Sequence[tuple[Any, Vector]], size: int, dtype: Any) -> Vector:
    """Return the sum of factor * vector (size,) in a dtype or, if it is not finite there, in float64."""
    total = np.zeros(size, dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        for factor, vector in terms:
            total += factor * vector
    if np.isfinite(total).all():
        return total
    wide: Vector = np.sum([float(factor) * vector.astype(np.float64) for factor, vector in terms], axis=0)
    return wide


def centrality(rows: Vector) -> Vector:
    """Return the products (n,) of rows (n, d) with their mean, scaled to length 1; in float64 if these overflow."""
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        products: Vector = rows @ unit(rows.mean(axis=0)).astype(rows.dtype)
    if np.isfinite(products).all() or rows.dtype == np.float64:
        return products
    return centrality(rows.astype(np.float64))


def largest(values: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Return the indices of the `count` largest values, largest first; NaN comes last, ties are in gensim's order."""
    if (distinct := _distinct_largest(values, count)) is not None:
        return distinct
    smallest_first = -values
    if count >= len(values):
        return np.argsort(smallest_first)
    rows = np.argpartition(smallest_first, count)[:count]
    return rows[np.argsort(smallest_first[rows])]


def _distinct_largest(values: NDArray[Any], count: int) -> NDArray[np.int64] | None:
    """Return what `largest` returns if the order is certain; None if values are few, equal or often NaN.

    At least `count` values reach the count-th largest of the maxima of groups, and they are few. Partitioning all
    values takes a fifth of the time of a query of 67,000 x 200 values, this a hundredth.
    """
    groups = len(values) // VALUES_PER_GROUP
    if not 0 < count <= groups:
        return None
    maxima = values[: groups * VALUES_PER_GROUP].reshape(groups, VALUES_PER_GROUP).max(axis=1)
    rows = np.flatnonzero(values >= np.partition(maxima, groups - count)[groups - count])
    rows = rows[np.argsort(-values[rows])]
    best = values[rows[: count + 1]]
    return None if len(rows) < count or (best[1:] == best[:-1]).any() else rows[:count]


def nearest_rows(
    matrix: NDArray[Any], norms: NDArray[Any], units: NDArray[np.float32], count: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Yield, for each unit vector of `units` (n, d), the `count` rows of largest cosine and their cosines.

    The cosines of a block of vectors and a block of rows are one matrix product, so this is much faster than one query
    at a time. Memory is bounded by COSINES_AT_ONCE. Zero rows are left out.
    """
    for start in range(0, len(units), QUERIES_AT_ONCE):
        block = units[start : start + QUERIES_AT_ONCE]
        best = [(np.empty(0, np.int64), np.empty(0, np.float32)) for _ in block]
        step = max(1, COSINES_AT_ONCE // len(block))
        for first in range(0, len(matrix), step):
            rows = slice(first, first + step)
            with np.errstate(all="ignore"):
                cosines = block @ np.asarray(matrix[rows], np.float32).T / norms[rows].astype(np.float32, copy=False)
            best = [_merged(*old, values, first, count) for old, values in zip(best, cosines, strict=True)]
        yield from best


def _merged(
    rows: NDArray[np.int64], best: NDArray[np.float32], values: NDArray[np.float32], first: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the `count` largest of `best`, found so far in `rows`, and of `values`, in the rows from `first`."""
    floor = best[-1] if len(best) == count else -np.inf
    better = np.flatnonzero(values > floor)  # few, after the first blocks; NaN is never among them
    if not len(better):
        return rows, best
    rows, best = np.concatenate([rows, better + first]), np.concatenate([best, values[better]])
    order = largest(best, count)
    return rows[order], best[order]


def close_words(words: Sequence[Any], word: str) -> list[str]:
    """Return up to 3 words that are spelled like `word`: those that differ only in case come first."""
    folded = word.casefold()
    known = [other for other in words if isinstance(other, str)]
    same = [other for other in known if other.casefold() == folded]
    # Comparing a million words takes a minute, so compare frequent words with the same first letter and similar length.
    alike = (w for w in known if abs(len(w) - len(word)) < 3 and w[:1].casefold() == folded[:1])
    near = difflib.get_close_matches(word, list(islice(alike, 5_000)), n=3)
    return list(dict.fromkeys(same + near))[:3]


class Index:
    """An approximate index over the vectors that an object had when the index was built.

    keys: its keys; graph: a usearch index of its rows, by cosine.
    """

    def __init__(self, keys: list[str], graph: Any) -> None:
        self.keys, self.graph = keys, graph

    def most_similar(self, vector: Vector, num_neighbors: int) -> Answers:
        """Return keys whose vectors are near to `vector`, and their cosines, nearest first."""
        matches = self.graph.search(np.asarray(vector, np.float32), num_neighbors)
        rows, distances = np.asarray(matches.keys).tolist(), np.asarray(matches.distances).tolist()
        return [(self.keys[row], 1 - distance) for row, distance in zip(rows, distances, strict=True)]


def build_index(keys: Sequence[str], matrix: NDArray[Any], norms: NDArray[Any], options: dict[str, Any]) -> Index:
    """Return an index of the rows of `matrix` (V, d) that are not zero. options: of ``usearch.index.Index``."""
    try:
        from usearch.index import Index as Graph
    except ImportError as error:
        raise ImportError("build_index needs the package usearch: pip install 'w2vtrain[index]'") from error
    graph = Graph(**{"ndim": matrix.shape[1], "metric": "cos", "dtype": "f32", **options})
    rows = np.flatnonzero(norms > 0)
    vectors = matrix if len(rows) == len(matrix) else matrix[rows]
    graph.add(rows.astype(np.uint64), np.ascontiguousarray(vectors, np.float32))
    return Index(list(keys), graph)
