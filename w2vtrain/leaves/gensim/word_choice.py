"""Choose the words of a `Word2Vec` model from counts, by gensim's rules. No text is read here.

The rules are a minimum count, a maximum number of words, a limit on the memory of counting, and a function of the
user, the trim rule.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.probability.subsampling import keep_thresholds

RULE_DEFAULT, RULE_DISCARD, RULE_KEEP = 0, 1, 2
"""What a trim rule may return: let min_count decide, discard the word, or keep it. gensim.utils has the same values."""

Rule = Callable[[Any, int, int], int]
"""A trim rule: a function of a word, its count and the minimum count."""


def is_kept(word: Hashable, count: int, min_count: int, rule: Rule | None) -> bool:
    """Return whether a word is kept. Whatever else a trim rule returns means RULE_DEFAULT, as in gensim."""
    decision = rule(word, count, min_count) if rule else RULE_DEFAULT
    return decision == RULE_KEEP or (decision != RULE_DISCARD and count >= min_count)


class WordChoice(NamedTuple):
    """The words that are kept, in the order in which they occur, and the smallest count that keeps a word."""

    words: list[Any]
    counts: NDArray[np.int64]
    min_count: int


def chosen(raw: Mapping[Any, int], min_count: int, max_words: int | None, rule: Rule | None) -> WordChoice:
    """Return the words that the rules keep: at most `max_words`, for which `min_count` is raised if necessary.

    raw: the count of every word.
    """
    if max_words is not None and max_words < len(raw):
        min_count = max(min_count, sorted(raw.values(), reverse=True)[max_words] + 1)
    words = [word for word, count in raw.items() if is_kept(word, count, min_count, rule)]
    return WordChoice(words, np.array([raw[word] for word in words], np.int64), min_count)


def nothing_kept(raw: Mapping[Any, int], min_count: int, rule: Rule | None) -> str:
    """Return the line that says why no word of `raw` was kept, and which minimum count keeps some."""
    if not raw:
        return "there are no words to choose from: the sentences are empty, or max_vocab_size is too small"
    highest = max(raw.values())
    line = f"min_count={min_count} keeps none of the {len(raw):,} words, whose highest count is {highest:,}"
    if rule is not None:
        return f"{line}, and the trim rule keeps none"
    return f"{line}: min_count={highest} would keep {sum(count == highest for count in raw.values()):,} of them"


class Pruned:
    """Sentences, counted while they are read; the counts are pruned whenever there are more than `limit` words.

    As in gensim, each pruning raises the count that words need to survive by 1, so counts are lower bounds.
    """

    def __init__(self, sentences: Iterable[Sequence[Any]], limit: int, rule: Rule | None) -> None:
        self.sentences, self.limit, self.rule = sentences, limit, rule
        self.counts: dict[Any, int] = {}

    def __iter__(self) -> Iterator[Sequence[Any]]:
        """Yield the sentences, and count their words."""
        lowest, counts = 1, self.counts
        for sentence in self.sentences:
            for word in sentence:
                counts[word] = counts.get(word, 0) + 1
            if len(counts) > self.limit:
                for word in [word for word, count in counts.items() if not is_kept(word, count, lowest, self.rule)]:
                    del counts[word]
                lowest += 1
            yield sentence


def share(sample: float | None, total: int) -> float:
    """Return the subsampling threshold as a share of the text; from 1 on, `sample` is a number of occurrences."""
    if not sample:
        return 0.0
    return sample if sample < 1 else min(1.0, int(sample * (3 + 5**0.5) / 2) / max(1, total))


def thinning(counts: NDArray[np.int64], sample: float) -> tuple[int, int]:
    """Return how many words subsampling thins out, and how many occurrences it is expected to leave."""
    if not len(counts):
        return 0, 0
    keep = keep_thresholds(counts, sample) / (2**32 - 1)
    return int((keep < 1).sum()), round(float((counts * keep).sum()))
