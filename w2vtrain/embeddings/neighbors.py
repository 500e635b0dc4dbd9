"""Find the words nearest to a word or to "king - man + woman", by cosine.

Answers and cosines equal those of gensim's `most_similar`, bit for bit. analogies.py scores files of questions.
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
"""Words and their cosines, nearest first."""


class NearestWords:
    """Nearest-word queries on one set of vectors; the norms are computed only once.

    words: V distinct words; matrix: (V, d) float32; index: each word's row; norms: (V,) float32, the rows' lengths.
    """

    def __init__(self, vectors: Vectors) -> None:
        self.words, self.matrix = vectors.words, vectors.matrix
        self.index = {word: row for row, word in enumerate(self.words)}
        with np.errstate(over="ignore"):
            self.norms: NDArray[np.float32] = np.linalg.norm(self.matrix, axis=1)

    def neighbors(self, word: str, topn: int = 10) -> Answers:
        """Return the `topn` words nearest to `word`, with cosines, nearest first.

        Raise DataError for an unknown word, and UsageError if `topn` is below 1.
        """
        return self._nearest([word], [], topn)

    def analogy(self, king: str, man: str, woman: str, topn: int = 10) -> Answers:
        """Return the `topn` words nearest to king - man + woman, with cosines; errors as in `neighbors`."""
        return self._nearest([king, woman], [man], topn)

    def _nearest(self, positive: list[str], negative: list[str], topn: int) -> Answers:
        """Return the words nearest to the mean of the unit vectors, with those of `negative` subtracted."""
        if topn < 1:
            raise UsageError(f"topn must be 1 or more, not {topn}")
        rows = [self._row(word) for word in positive + negative]
        signs = [1] * len(positive) + [-1] * len(negative)
        with np.errstate(all="ignore"):  # a zero vector has no direction: its cosine is NaN
            cosines = self.matrix @ self._direction(rows, signs) / self.norms
        best = _largest(cosines, topn + len(rows))
        answers = [(self.words[row], float(cosines[row])) for row in best.tolist() if row not in rows]
        return [(word, cosine) for word, cosine in answers[:topn] if not math.isnan(cosine)]

    def _row(self, word: str) -> int:
        if word not in self.index:
            close = ", ".join(repr(other) for other in close_words(self.words, word))
            raise DataError(f"{word!r} is not in the vocabulary" + (f"; similar words: {close}" if close else ""))
        return self.index[word]

    def _direction(self, rows: list[int], signs: list[int]) -> NDArray[np.float32]:
        """Return the mean of the signed unit vectors of `rows`, scaled to length 1: (d,) float32."""
        total = np.zeros(self.matrix.shape[1], np.float32)
        for row, sign in zip(rows, signs, strict=True):
            total += sign * (self.matrix[row] / self.norms[row])
        # gensim continues in float64, which changes the last digits.
        mean = total.astype(np.float64) / len(rows)
        length = np.linalg.norm(mean)
        return (mean * (1 / length) if length > 0 else mean).astype(np.float32)


def _largest(values: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Return the indices of the `count` largest values, largest first; NaN comes last, ties are in gensim's order."""
    smallest_first = -values
    if count >= len(values):
        return np.argsort(smallest_first)
    found = np.argpartition(smallest_first, count)[:count]
    return found[np.argsort(smallest_first[found])]


def close_words(words: Sequence[str], word: str, count: int = 3) -> list[str]:
    """Return up to `count` words that are spelled like `word`: those that differ only in case come first."""
    folded = word.casefold()
    same = [other for other in words if other.casefold() == folded]
    # Comparing a million words takes a minute, so compare frequent words with the same first letter and similar length.
    alike = (w for w in words if abs(len(w) - len(word)) < 3 and w[:1].casefold() == folded[:1])
    near = difflib.get_close_matches(word, list(islice(alike, 5_000)), n=count)
    return list(dict.fromkeys(same + near))[:count]
