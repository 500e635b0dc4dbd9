"""Go on training with new text and new words."""

from pathlib import Path

from gensim.models import Word2Vec

lines = Path("data/simplewiki.txt").read_text(encoding="utf-8").splitlines()
old = [line.split() for line in lines[:2500]]
new = [line.replace("city", "citadel").split() for line in lines[2500:4000]]
model = Word2Vec(old, vector_size=40, min_count=5, workers=1, seed=3)
assert "citadel" not in model.wv
before, size = model.wv["river"].copy(), len(model.wv)
model.build_vocab(new, update=True)
assert len(model.wv) > size
assert (model.wv["river"] == before).all()
model.train(new, total_examples=model.corpus_count, epochs=model.epochs)
assert "citadel" in model.wv
assert not (model.wv["river"] == before).all()
print("citadel:", [word for word, _ in model.wv.most_similar("citadel", topn=5)])
