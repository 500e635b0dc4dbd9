"""FastText as programs for gensim use it: document vectors, unseen words, saving, and files of fastText."""

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gensim.models import FastText, KeyedVectors
from gensim.models.fasttext import load_facebook_model, load_facebook_vectors, save_facebook_model

logging.basicConfig(format="%(asctime)s : %(levelname)s : %(message)s", level=logging.INFO)


class Corpus:
    """Sentences of lower-case words, read again in each epoch."""

    def __iter__(self) -> Iterator[list[str]]:
        with Path("data/simplewiki.txt").open(encoding="utf-8") as file:
            for number, line in enumerate(file):
                if number == 4000:
                    break
                yield [word for word in line.lower().split() if word.isalpha()]


model = FastText(vector_size=40, window=5, min_count=3, workers=2, sg=1, min_n=3, max_n=5, bucket=50_000)
model.build_vocab(corpus_iterable=Corpus())
model.train(corpus_iterable=Corpus(), total_examples=model.corpus_count, epochs=3)
print(model, model.wv.min_n, model.wv.max_n, model.wv.bucket)

lines = [line for line, _ in zip(Corpus(), range(60), strict=False) if line][:50]
vectors = [np.mean([model.wv[word] for word in line], axis=0) for line in lines]
assert np.array(vectors).shape == (50, 40)
assert "waterish" not in model.wv.key_to_index
print(model.wv.most_similar("waterish", topn=5), model.wv.similarity("waterish", "water"))
print(model.wv.most_similar(positive=["kings", "woman"], negative=["man"], topn=3))
print(model.wv.doesnt_match(["water", "waterish", "music"]), model.wv.n_similarity(["waters"], ["kinglike", "king"]))
assert model.wv.get_sentence_vector(["water", "waterish"]).shape == (40,)

new = [["zebra", "zebras", "stripes"], ["zebras", "graze"]] * 20
model.build_vocab(new, update=True)
model.train(new, total_examples=len(new), epochs=model.epochs)
assert "zebras" in model.wv.key_to_index

model.save("model.gensim")
again = FastText.load("model.gensim")
np.testing.assert_allclose(again.wv["waterish"], model.wv["waterish"], atol=1e-6)
save_facebook_model(model, "model.bin")
np.testing.assert_allclose(load_facebook_vectors("model.bin")["waterish"], model.wv["waterish"], atol=1e-5)
more = load_facebook_model("model.bin")
more.train(new, total_examples=len(new), epochs=1)
model.wv.save_word2vec_format("vectors.txt")
assert len(KeyedVectors.load_word2vec_format("vectors.txt")) == len(model.wv)
