"""Find the words nearest to a word, and to "king - man + woman", by cosine.

Files of questions are scored in analogies.py. Answers and cosines are those of gensim's `most_similar`, bit by bit.
"""

import difflib
import math
from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, UsageError
from w2vtrain.formats.vectors import Vectors

Answers = list[tuple[str, float]]
"""Words and their cosines, the nearest first."""


class NearestWords:
    """Answer queries about one set of vectors; what all queries need is computed once.

    words: V different words; matrix: (V, d) float32; index: row by word; norms: (V,) float32, the rows' lengths.
    """

    def __init__(self, vectors: Vectors) -> None:
        self.words, self.matrix = vectors.words, vectors.matrix
        self.index = {word: row for row, word in enumerate(self.words)}
        with np.errstate(over="ignore"):
            self.norms: NDArray[np.float32] = np.linalg.norm(self.matrix, axis=1)

    def neighbors(self, word: str, topn: int = 10) -> Answers:
        """Return the `topn` words most similar to `word`, with cosines, best first; DataError for an unknown word."""
        return self._nearest([word], [], topn)

    def analogy(self, king: str, man: str, woman: str, topn: int = 10) -> Answers:
        """Return the `topn` words nearest to king - man + woman, with cosines; DataError for an unknown word."""
        return self._nearest([king, woman], [man], topn)

    def _nearest(self, positive: list[str], negative: list[str], topn: int) -> Answers:
        """Return the words nearest to the mean of the unit vectors, those of `negative` with a minus sign."""
        if topn < 1:
            raise UsageError(f"topn must be 1 or more, not {topn}")
        rows = [self._row(word) for word in positive + negative]
        signs = [1] * len(positive) + [-1] * len(negative)
        with np.errstate(all="ignore"):  # a vector of zeros has no direction: its cosine is NaN
            cosines = self.matrix @ self._direction(rows, signs) / self.norms
        best = _largest(cosines, topn + len(rows))
        answers = [(self.words[row], float(cosines[row])) for row in best.tolist() if row not in rows]
        return [(word, cosine) for word, cosine in answers[:topn] if not math.isnan(cosine)]

    def _row(self, word: str) -> int:
        if word not in self.index:
            close = ", ".join(repr(other) for other in close_words(self.words, word))
            raise DataError(f"{word!r} is not in the vocabulary" + (f"; close to it: {close}" if close else ""))
        return self.index[word]

    def _direction(self, rows: list[int], signs: list[int]) -> NDArray[np.float32]:
        """Return the mean of the signed unit vectors of `rows` (d,), itself of length 1."""
        total = np.zeros(self.matrix.shape[1], np.float32)
        for row, sign in zip(rows, signs, strict=True):
            total += sign * (self.matrix[row] / self.norms[row])
        # From here on in float64, as in gensim: its last digits depend on it.
        mean = total.astype(np.float64) / len(rows)
        length = np.linalg.norm(mean)
        return (mean * (1 / length) if length > 0 else mean).astype(np.float32)


def _largest(values: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Return the indices of the `count` largest values, largest first; NaN comes last, equal ones in gensim's order."""
    smallest_first = -values
    if count >= len(values):
        return np.argsort(smallest_first)
    found = np.argpartition(smallest_first, count)[:count]
    return found[np.argsort(smallest_first[found])]


def close_words(words: Sequence[str], word: str, count: int = 3) -> list[str]:
    """Return up to `count` of the words that are spelled like `word`: other cases first, then small differences."""
    folded = word.casefold()
    same = [other for other in words if other.casefold() == folded]
    # Comparing with a million words takes a minute: take frequent ones of about this length that begin alike.
    alike = (w for w in words if abs(len(w) - len(word)) < 3 and w[:1].casefold() == folded[:1])
    near = difflib.get_close_matches(word, list(islice(alike, 5_000)), n=count)
    return list(dict.fromkeys(same + near))[:count]
