"""Subsampling of frequent words: with which probability an occurrence of a word is kept."""

import numpy as np


def keep_thresholds(counts: np.ndarray, sample: float) -> np.ndarray:
    """Return thresholds (V,) uint32 that subsample frequent words as word2vec.c does.

    A token is kept if 32 random bits are <= the threshold of its word.
    """
    return np.asarray(np.floor(keep_probabilities(counts, sample) * (2**32 - 1)), np.uint32)


def keep_probabilities(counts: np.ndarray, sample: float) -> np.ndarray:
    """Return P(keep w) (V,) float64 of subsampling: min(1, (sqrt(f/t) + 1) t/f).

    f is the word's fraction of the corpus and t = `sample`; sample = 0 keeps all tokens.
    """
    if sample == 0:
        return np.ones(len(counts))
    share = counts / counts.sum() / sample
    with np.errstate(divide="ignore"):  # a word that was added to the vectors of a model has the count 0: it is kept
        return np.asarray(np.minimum(1.0, (np.sqrt(share) + 1) / share))
