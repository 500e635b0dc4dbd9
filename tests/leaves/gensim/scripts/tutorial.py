"""Train on a corpus in memory, look at the vectors, save and load."""

import tempfile
from pathlib import Path

from gensim.models import Word2Vec

corpus = Path("data/simplewiki.txt").read_text(encoding="utf-8").splitlines()[:4000]
sentences = [line.lower().split() for line in corpus]

model = Word2Vec(sentences=sentences, vector_size=50, window=5, min_count=5, workers=2, sg=1, epochs=5, seed=1)
print(model)
print(len(model.wv), "words,", model.corpus_count, "sentences")
for index, word in enumerate(model.wv.index_to_key[:3]):
    print(f"word #{index}/{len(model.wv.index_to_key)} is {word}")
vector = model.wv["city"]
assert vector.shape == (50,)
assert "city" in model.wv
try:
    model.wv["cameroonian-xyz"]
except KeyError:
    print("the word 'cameroonian-xyz' does not appear in this model")
for first, second in [("city", "town"), ("city", "music")]:
    print(f"{first} {second} {model.wv.similarity(first, second):.2f}")
for word, cosine in model.wv.most_similar("city", topn=5):
    print(word, round(cosine, 3))
print(model.wv.most_similar(positive=["city", "country"], negative=["river"], topn=3))
print(model.wv.doesnt_match(["city", "town", "village", "music"]))

with tempfile.TemporaryDirectory() as folder:
    path = str(Path(folder) / "model.w2v")
    model.save(path)
    again = Word2Vec.load(path)
    assert (again.wv.vectors == model.wv.vectors).all()
    again.train([["hello", "world"]], total_examples=1, epochs=1)
    again.wv.save(str(Path(folder) / "vectors.kv"))
    from gensim.models import KeyedVectors

    vectors = KeyedVectors.load(str(Path(folder) / "vectors.kv"), mmap="r")
    assert vectors["city"].shape == (50,)
