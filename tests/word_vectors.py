"""Word vectors for tests of queries and evaluations, and the same vectors in gensim."""

from pathlib import Path

import numpy as np
import pytest

from w2vtrain.formats.vectors import Vectors

DATA = Path(__file__).parents[1] / "data" / "eval"
QUESTIONS = DATA / "questions-words.txt"


def vectors_of(words, matrix):
    return Vectors(list(words), np.asarray(matrix, np.float32))


def in_gensim(vectors):
    """Return gensim's KeyedVectors over the same matrix. Skips the test if gensim is not installed."""
    models = pytest.importorskip("gensim.models", reason="compares with gensim, which is not installed")
    keyed = models.KeyedVectors(vectors.matrix.shape[1])
    keyed.vectors, keyed.index_to_key = vectors.matrix, list(vectors.words)
    keyed.key_to_index = {word: index for index, word in enumerate(vectors.words)}
    keyed.next_index = len(vectors.words)
    return keyed


def put(folder, text, name="file.txt"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


def word_pairs():
    """Return (section, a, b) for each pair of words in the analogy questions."""
    section, pairs = "", {}
    for line in QUESTIONS.read_text().splitlines():
        if line.startswith(":"):
            section = line[2:]
        else:
            a, b, c, d = line.split()
            pairs[section, a, b] = pairs[section, c, d] = None
    return list(pairs)


def structured(noise, fold=str.lower, seed=0, dim=50):
    """Return the words of the questions in random order, and vectors in which analogies hold, up to the noise.

    The two words of a pair differ by a direction that all pairs of a section share.
    """
    rng = np.random.default_rng(seed)
    directions: dict[str, np.ndarray] = {}
    vectors: dict[str, np.ndarray] = {}
    for section, a, b in word_pairs():
        step = directions.setdefault(section, rng.standard_normal(dim))
        start = vectors.setdefault(fold(a), rng.standard_normal(dim))
        vectors.setdefault(fold(b), start + step + noise * rng.standard_normal(dim))
    words = list(vectors)
    rng.shuffle(words)
    return words, np.array([vectors[word] for word in words], np.float32)
