"""Words as padded sequences of letters, for objectives that compute probabilities from spellings.

This module neither scores nor learns. A letter is one byte of a word's UTF-8 encoding. The letters depend on the words
alone, so a model does not need to store them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

PADDING, BEGIN, END = 0, 1, 2
"""Ids of the special letters; the ids of the bytes follow."""

LONGEST = 32
"""Maximum number of bytes used per word; the rest is cut off."""


class Spelling(NamedTuple):
    """The letters of V words, at most T per word including BEGIN and END.

    letters: (V, T) uint8. Each row is BEGIN, the word's bytes, END, then PADDING. Ids from END + 1 on are the distinct
    bytes of all words, in ascending order; they fit in uint8 because UTF-8 uses only 243 byte values.
    lengths: (V,) int32, the number of letters per word, including BEGIN and END.
    size: number of distinct ids, including PADDING, BEGIN and END.
    """

    letters: np.ndarray
    lengths: np.ndarray
    size: int


def spell(words: Sequence[str], longest: int = LONGEST) -> Spelling:
    """Return the spelling of words, each cut off after its first `longest` bytes."""
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
    """All prefixes of one length in a part of the vocabulary, numbered from 0.

    words: (m,) the words of exactly this length.
    ends: (m,) the prefixes that equal these words.
    inner: (k,) the prefixes that longer words continue.
    parents: (n,) for each of the n prefixes on the next level, the index in `inner` of the prefix that it extends.
    letters: (n,) for each of these n prefixes, its last letter.
    """

    words: np.ndarray
    ends: np.ndarray
    inner: np.ndarray
    parents: np.ndarray
    letters: np.ndarray


def tries(letters: np.ndarray, lengths: np.ndarray, piece: int) -> list[list[Level]]:
    """Split the vocabulary, in alphabetical order, into parts of `piece` words; return the trie of each, by level.

    letters (V, T) uint8 are 0 from each word's length on; lengths is (V,).
    """
    letters = np.ascontiguousarray(letters)
    order = np.argsort(letters.view(f"S{letters.shape[1]}").ravel(), kind="stable")
    parts = np.split(order, range(piece, len(order), piece))
    return [_trie(letters[words], lengths[words], words) for words in parts]


def _trie(letters: np.ndarray, lengths: np.ndarray, words: np.ndarray) -> list[Level]:
    shared = np.zeros(len(words), np.intp)  # length of the prefix shared with the previous word
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
