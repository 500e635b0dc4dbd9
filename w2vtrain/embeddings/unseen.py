"""Add words that are not in the vocabulary to vectors with n-grams, so that evaluations count them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.evaluation_rules import case_folding, first_indices
from w2vtrain.errors import DataError, spelled
from w2vtrain.formats.vectors import Vectors


def with_unseen(
    vectors: Vectors, words: Iterable[str], restrict_vocab: int | None = None, case_insensitive: bool = True
) -> Vectors:
    """Return the first vectors, followed by those of the given words that are not among them.

    Words of the vocabulary beyond the first `restrict_vocab` keep their vectors; the others are composed, in lower case
    if case is ignored and no word of the vocabulary has an upper-case letter. Words without a known n-gram are left
    out. Raise DataError if the vectors have no n-grams.
    """
    if vectors.ngrams is None:
        raise DataError(
            "words that are not in the vocabulary need n-grams: a model that was trained with"
            f" {spelled('subwords', True)}, or one of fastText (.bin)"
        )
    kept, fold = vectors.words[:restrict_vocab], case_folding(case_insensitive)
    first = first_indices(vectors.words, fold)
    lower = case_insensitive and all(word == word.lower() for word in vectors.words)
    added: dict[str, NDArray[np.float32]] = {}
    for word in dict.fromkeys(words):
        row = first.get(fold(word), -1)
        if row >= len(kept):
            added[vectors.words[row]] = vectors.matrix[row]
        elif row < 0 and (vector := vectors.ngrams.vector(word.lower() if lower else word)) is not None:
            added[word.lower() if lower else word] = vector
    matrix = vectors.matrix[: len(kept)]
    if added:
        matrix = np.concatenate([matrix, np.array(list(added.values()), np.float32)])
    return replace(vectors, words=[*kept, *added], matrix=matrix, counts=None)


def count_unseen(
    vectors: Vectors, extended: Vectors, questions: Iterable[Sequence[str]], case_insensitive: bool = True
) -> tuple[int, int]:
    """Return how many words `with_unseen` composed, and how many questions have one, of those that have all vectors."""
    fold = case_folding(case_insensitive)
    known = {*map(fold, extended.words)}
    composed = known - {*map(fold, vectors.words)}
    folded = [{*map(fold, question)} for question in questions]
    return len(composed), sum(words <= known and not words.isdisjoint(composed) for words in folded)
