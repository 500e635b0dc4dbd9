"""Words as padded sequences of letters, for objectives that spell. It scores nothing and learns nothing.

A letter is a byte of a word's UTF-8. All follows from the words alone, so that a model need not keep it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

PADDING, BEGIN, END = 0, 1, 2
"""The ids before the bytes'."""

LONGEST = 32
"""Bytes of a word that count; what comes after them is cut off."""


class Spelling(NamedTuple):
    """The letters of V words, at most T a word with its begin and its end.

    letters (V, T) uint8: BEGIN, the word's bytes, END, then PADDING; ids from END + 1 on are the distinct bytes of all
    words, ascending (UTF-8 has 243, so that ids fit). lengths (V,) int32: letters of each word, BEGIN and END among
    them. size: the number of different ids, PADDING, BEGIN and END among them.
    """

    letters: np.ndarray
    lengths: np.ndarray
    size: int


def spell(words: Sequence[str], longest: int = LONGEST) -> Spelling:
    """Spell words, of each its first `longest` bytes."""
    spelled = [word.encode("utf-8", "surrogatepass")[:longest] for word in words]
    inner = np.fromiter(map(len, spelled), np.int32, len(spelled))
    text = np.frombuffer(b"".join(spelled), np.uint8)
    alphabet, ids = np.unique(text, return_inverse=True)
    letters = np.full((len(spelled), int(inner.max(initial=0)) + 2), PADDING, np.uint8)
    place = np.arange(letters.shape[1])
    letters[:, 0] = BEGIN
    letters[(place > 0) & (place <= inner[:, None])] = ids + END + 1
    letters[np.arange(len(spelled)), inner + 1] = END
    return Spelling(letters, inner + 2, END + 1 + len(alphabet))
