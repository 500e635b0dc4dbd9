"""Search documents by the mean vectors of their words, with a callback that saves the model after each epoch."""

from itertools import islice
from pathlib import Path

import numpy as np
from gensim.models import FastText
from gensim.models.callbacks import CallbackAny2Vec


class Saver(CallbackAny2Vec):
    """Saves the model after each epoch."""

    def __init__(self):
        self.epoch = 0

    def on_epoch_end(self, model):
        self.epoch += 1
        model.save(f"epoch-{self.epoch}.model")


with Path("data/simplewiki.txt").open(encoding="utf-8") as file:
    documents = [words for line in islice(file, 3000) if len(words := line.lower().split()) > 3]

saver = Saver()
model = FastText(documents, vector_size=40, min_count=3, epochs=2, workers=2, bucket=20_000, callbacks=[saver])
assert saver.epoch == 2
assert len(FastText.load("epoch-1.model").wv) == len(model.wv)

vectors = np.array([model.wv.get_sentence_vector(words) for words in documents])
assert vectors.shape == (len(documents), 40)
units = vectors / np.linalg.norm(vectors, axis=1)[:, None]
query = model.wv.get_sentence_vector(documents[100])
assert int((units @ query).argmax()) == 100

rows = {word: model.wv.vectors_ngrams[model.wv.buckets_word[model.wv.key_to_index[word]]] for word in ("water", "city")}
for word, ngrams in rows.items():
    own = model.wv.vectors_vocab[model.wv.key_to_index[word]]
    assert np.allclose((own + ngrams.sum(axis=0)) / (len(ngrams) + 1), model.wv[word], atol=1e-5)
print([model.wv.index_to_key[i] for i in (model.wv.vectors @ query).argsort()[-5:]])
