"""Start from vectors of another corpus, lock some, and train epoch by epoch with a rate that falls by hand."""

from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors, Word2Vec

lines = [line.lower().split() for line in Path("data/simplewiki.txt").read_text(encoding="utf-8").splitlines()[:3000]]
Word2Vec(lines[:2000], vector_size=25, epochs=2, workers=1).wv.save_word2vec_format("pretrained.txt.gz")
pretrained = KeyedVectors.load_word2vec_format("pretrained.txt.gz")

model = Word2Vec(vector_size=pretrained.vector_size, min_count=2, sample=0, sg=1, workers=1)
model.build_vocab(lines[2000:])
model.wv.vectors_lockf = np.ones(len(model.wv), dtype=np.float32)
model.wv.intersect_word2vec_format("pretrained.txt.gz", lockf=1.0)
assert np.allclose(model.wv["river"], pretrained["river"])
model.wv.vectors_lockf[model.wv.key_to_index["river"]] = 0
step = (model.alpha - model.min_alpha) / 4
for _ in range(4):
    model.train(lines[2000:], total_examples=model.corpus_count, epochs=1)
    model.alpha -= step
    model.min_alpha = min(model.min_alpha, model.alpha)
assert np.allclose(model.wv["river"], pretrained["river"])
assert not np.allclose(model.wv["city"], pretrained["city"])
documents = [model.wv.get_mean_vector(line, ignore_missing=True) for line in lines[2000:2050] if line]
nearest = model.wv.similar_by_vector(np.mean(documents, axis=0), topn=3)
print("nearest to the mean of 50 lines:", nearest, "; distance of two words:", model.wv.distance("city", "town"))
print("nearer to city than music is:", model.wv.closer_than("city", "music")[:5], model.wv.rank("city", "town"))
