"""Define by name how programs and papers score vectors: which words count, and what happens to unknown ones.

analogies.py and similarity.py follow these rules; their own defaults are those of gensim, with another limit.
"""

from collections.abc import Callable
from typing import NamedTuple

ANALOGY_WORDS = 30_000
"""The words among which analogies are answered unless told otherwise. The other evaluations use all words."""


class Rules(NamedTuple):
    """The rules of an evaluation.

    restrict_vocab: how many of the most frequent words count (None: all); fold: maps all forms of a word to one string
    if case is ignored; forms: whether no form of a question's words can be an answer, or only the words themselves;
    positive: whether an answer needs a similarity above 0; unknown: whether questions and pairs with unknown words
    count, as wrong answers and as pairs with the cosine 0, or are left out; semantic: how many of the first sections of
    questions are semantic (None: those whose names do not begin with "gram").
    """

    restrict_vocab: int | None
    fold: Callable[[str], str] = str.upper
    forms: bool = True
    positive: bool = False
    unknown: bool = False
    semantic: int | None = None


def ascii_upper(word: str) -> str:
    """Return the word in upper case as C's toupper does in its default locale: other letters than a to z stay."""
    return word.encode(errors="surrogatepass").upper().decode(errors="surrogatepass")


PROTOCOLS = {
    "word2vec": Rules(ANALOGY_WORDS, ascii_upper, forms=False, positive=True, semantic=5),
    "gensim": Rules(300_000),
    "full": Rules(None, unknown=True),
}
"""word2vec: the program compute-accuracy of word2vec.c, with the limit of its demonstration, 30,000 words; gensim:
`evaluate_word_analogies` and `evaluate_word_pairs` with their defaults; full: all words, and every question counts."""
PLAIN = PROTOCOLS["gensim"]
"""The rules without a protocol, except for `restrict_vocab`, which each evaluation sets itself."""
