"""What all evaluations share: the words that count, the rules of programs and papers for them, and the report.

analogies.py and similarity.py follow these rules; their own defaults are those of gensim, with another limit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from w2vtrain.errors import NoKnownWords

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


def case_folding(case_insensitive: bool) -> Callable[[str], str]:
    """Return the function that maps all forms of a word to one string: to upper case, as gensim does, or unchanged."""
    return str.upper if case_insensitive else str


def first_indices(words: Sequence[str], fold: Callable[[str], str]) -> dict[str, int]:
    """Return the index of each folded word; if several are equal, that of the first, which is the most frequent."""
    return {fold(word): index for index, word in reversed(list(enumerate(words)))}


def among(words: Sequence[str]) -> str:
    """Return the end of a message about a set of which nothing can be answered with these words."""
    return f"among the first {len(words):,} words of the vocabulary"


def none_known(
    path: str | Path, asked: int, what: str, needs: str, words: Sequence[str], hint: str = ""
) -> NoKnownWords:
    """Return the error for a set of `asked` pairs or questions, as `what` says, of which none has what it `needs`."""
    if not asked:
        return NoKnownWords(f"{path}: the file has no {what}")
    return NoKnownWords(f"{path}: none of its {asked:,} {what} has {needs} {among(words)}{hint}")


@dataclass(frozen=True)
class Report:
    """Scores on the set in the file `path`, with the settings that a comparison with other results must state.

    task: the kind of the set; facts: the attributes that JSON has besides those of all reports, in this order.
    """

    path: str
    restrict_vocab: int | None
    case_insensitive: bool

    task: ClassVar[str]
    facts: ClassVar[tuple[str, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole report as built-in types, ready for JSON."""
        settings = {"restrict_vocab": self.restrict_vocab, "case_insensitive": self.case_insensitive}
        return {"task": self.task, "file": self.path, **settings, **{name: getattr(self, name) for name in self.facts}}
