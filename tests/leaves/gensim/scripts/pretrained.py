"""Write a model in fastText's format, read it, and train it further on sentences with new words."""

from itertools import islice
from pathlib import Path

import numpy as np
from gensim.models.fasttext import FastText, load_facebook_model, load_facebook_vectors, save_facebook_model

with Path("data/simplewiki.txt").open(encoding="utf-8") as file:
    lines = [line.lower().split() for line in islice(file, 4000)]

first = FastText(lines, vector_size=40, min_count=5, negative=5, bucket=20_000, workers=2, epochs=2)
save_facebook_model(first, "first.bin")

vectors = load_facebook_vectors("first.bin")
for word in ("water", "waterfalls", "unwatered"):
    assert np.allclose(vectors[word], first.wv[word], atol=1e-5)

model = load_facebook_model("first.bin")
assert (model.wv.min_n, model.wv.max_n, model.wv.bucket, model.min_count) == (3, 6, 20_000, 5)
new = [["the", "glorbium", "is", "a", "metal"], ["glorbium", "and", "gold", "are", "metals"]] * 50
before, known = model.wv["glorbium"].copy(), len(model.wv)
model.build_vocab(new, update=True)
model.train(new, total_examples=len(new), epochs=model.epochs)
assert len(model.wv) > known
assert "glorbium" in model.wv.key_to_index
assert not np.allclose(model.wv["glorbium"], before)
save_facebook_model(model, "second.bin")
assert len(load_facebook_vectors("second.bin")) == len(model.wv)
print(model.wv.most_similar("glorbium", topn=3))
