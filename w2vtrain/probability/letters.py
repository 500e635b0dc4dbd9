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


class Level(NamedTuple):
    """All prefixes of one length, numbered from 0, in a part of the vocabulary.

    words (m,): those that end here, and ends (m,): their prefixes; inner (k,): the prefixes that are continued. Of the
    n prefixes of the next level: parents (n,), places in `inner`, and letters (n,), what they are continued by.
    """

    words: np.ndarray
    ends: np.ndarray
    inner: np.ndarray
    parents: np.ndarray
    letters: np.ndarray


def tries(letters: np.ndarray, lengths: np.ndarray, piece: int) -> list[list[Level]]:
    """The vocabulary in alphabetical order, cut into parts of `piece` words, of each part the trie, level by level.

    letters (V, T) uint8 are 0 from a word's lengths (V,) on.
    """
    letters = np.ascontiguousarray(letters)
    order = np.argsort(letters.view(f"S{letters.shape[1]}").ravel(), kind="stable")
    parts = np.split(order, range(piece, len(order), piece))
    return [_trie(letters[words], lengths[words], words) for words in parts]


def _trie(letters: np.ndarray, lengths: np.ndarray, words: np.ndarray) -> list[Level]:
    shared = np.zeros(len(words), np.intp)  # letters in common with the word before: longer prefixes are new
    shared[1:] = np.logical_and.accumulate(letters[1:] == letters[:-1], axis=1).sum(axis=1)
    shared[0] = -1
    prefixes, levels = np.zeros(len(words), np.intp), []
    for length in range(int(lengths.max()) + 1):
        done = np.flatnonzero(lengths == length)
        new = (shared <= length) & (lengths > length)
        inner, parents = np.unique(prefixes[new], return_inverse=True)
        levels.append(Level(words[done], prefixes[done], inner, parents, letters[new, length]))
        prefixes = np.cumsum(new) - 1
    return levels
