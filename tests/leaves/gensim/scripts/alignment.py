"""Compare two periods: keep the words of both, and rotate the vectors of one onto those of the other (Procrustes)."""

from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors, Word2Vec

lines = [line.lower().split() for line in Path("data/simplewiki.txt").read_text(encoding="utf-8").splitlines()[:4000]]
periods = [Word2Vec(part, vector_size=30, min_count=5, workers=1, seed=1) for part in (lines[:2000], lines[2000:])]
shared = set(periods[0].wv.index_to_key) & set(periods[1].wv.index_to_key)
words = sorted(shared, key=lambda word: -sum(model.wv.get_vecattr(word, "count") for model in periods))
for model in periods:
    model.wv.vectors = np.array([model.wv.vectors[model.wv.key_to_index[word]] for word in words])
    model.wv.key_to_index = {word: row for row, word in enumerate(words)}
    model.wv.index_to_key = list(words)
    model.wv.fill_norms(force=True)
base, other = (model.wv.get_normed_vectors() for model in periods)
left, _, right = np.linalg.svd(other.T @ base)
periods[1].wv.vectors = periods[1].wv.vectors @ left @ right
periods[1].wv.fill_norms(force=True)
drift = [float(base[row] @ periods[1].wv.get_vector(word, norm=True)) for row, word in enumerate(words)]
print(f"{len(words)} words in both; the word that moved farthest is {words[int(np.argmin(drift))]!r}")
assert np.mean(drift) > float(np.mean(np.sum(base * other, axis=1)))

expected = periods[1].wv["river"].copy()
periods[1].save("aligned.model")
again = Word2Vec.load("aligned.model")
assert again.wv.index_to_key == words
assert np.allclose(again.wv["river"], expected)
again.wv.save("aligned.kv")
vectors = KeyedVectors.load("aligned.kv")
vectors["stream+river"] = expected / 2
vectors.add_vectors(["one", "two"], np.ones((2, 30), dtype=np.float32), replace=True)
vectors.fill_norms(force=True)
assert vectors.most_similar("stream+river", topn=1)[0][0] == "river"
