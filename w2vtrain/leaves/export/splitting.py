"""How other programs should split text, so that they look up the words of a vocabulary, decided by these words."""

import unicodedata
from collections.abc import Sequence


def splitting_of(words: Sequence[bytes]) -> tuple[bool, bool]:
    """Return (is_lower, only_letters) of words; `</s>` does not count.

    is_lower: no word has upper-case letters, so that text is to be lower-cased. only_letters: all words consist of
    letters and combining marks, as `--tokenizer simple` makes them, so that all else separates words; otherwise, white
    space does.
    """
    texts = [word.decode() for word in words if word != b"</s>"]
    characters = set[str]().union(*texts)
    return (
        all(character.lower() == character for character in characters),
        all(unicodedata.category(character)[0] in "LM" for character in characters),
    )
