"""Add words that are not in the vocabulary to vectors with n-grams, so that evaluations count them."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from w2vtrain.embeddings.datasets import case_folding
from w2vtrain.errors import DataError, spelled
from w2vtrain.formats.vectors import Vectors


def with_unseen(
    vectors: Vectors, words: Iterable[str], restrict_vocab: int | None = None, case_insensitive: bool = True
) -> Vectors:
    """Return the first vectors, followed by those of the given words that are not among them.

    A word is composed in lower case if no word of the vocabulary has an upper-case letter. Words without a known n-gram
    are left out. Raise DataError if the vectors have no n-grams.
    """
    if vectors.ngrams is None:
        raise DataError(
            "words that are not in the vocabulary need n-grams: a model that was trained with"
            f" {spelled('subwords', True)}, or one of fastText (.bin)"
        )
    kept, fold = vectors.words[:restrict_vocab], case_folding(case_insensitive)
    known, lower = {fold(word) for word in kept}, all(word == word.lower() for word in kept)
    composed = {}
    for word in dict.fromkeys(word.lower() if lower else word for word in words):
        if fold(word) not in known and (vector := vectors.ngrams.vector(word)) is not None:
            composed[word] = vector
    matrix = vectors.matrix[: len(kept)]
    if composed:
        matrix = np.concatenate([matrix, np.array(list(composed.values()), np.float32)])
    return replace(vectors, words=[*kept, *composed], matrix=matrix, counts=None)
