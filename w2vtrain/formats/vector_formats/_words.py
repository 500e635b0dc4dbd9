"""How other programs should split text, so that they look up the words of a vocabulary, decided by these words."""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple


class Splitting(NamedTuple):
    """How to split text.

    lower: no word has upper-case letters, so that text is lower-cased. letters: all words consist of letters and
    combining marks, as `--tokenizer simple` makes them, so that all else separates words; otherwise, white space does.
    """

    lower: bool
    letters: bool


def splitting_of(words: Sequence[bytes]) -> Splitting:
    """Return how to split text for these words; `</s>` does not count."""
    texts = [word.decode() for word in words if word != b"</s>"]
    characters = set().union(*texts) if texts else set()
    return Splitting(
        all(character.lower() == character for character in characters),
        all(unicodedata.category(character)[0] in "LM" for character in characters),
    )
