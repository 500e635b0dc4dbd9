"""Find words by misspellings and inflections that the text does not have, after training in separate steps."""

from pathlib import Path

from gensim.models import FastText
from gensim.models.word2vec import LineSentence

with Path("data/simplewiki.txt").open(encoding="utf-8") as file:
    Path("text.txt").write_text("".join(line.lower() for line, _ in zip(file, range(6000), strict=False)))

corpus = LineSentence("text.txt")
model = FastText(vector_size=50, alpha=0.05, min_count=5, sg=1, min_n=3, max_n=5, bucket=50_000, workers=2, epochs=5)
model.build_vocab(corpus)
model.train(corpus, total_examples=model.corpus_count, epochs=model.epochs)
model.save("fasttext.model")
model = FastText.load("fasttext.model")

for word, typo in [("government", "goverment"), ("president", "presidnet"), ("population", "populationn")]:
    assert word in model.wv.key_to_index
    assert typo not in model.wv.key_to_index
    found = [answer for answer, _ in model.wv.most_similar(typo, topn=10)]
    print(typo, found)
    assert any(answer[:5] == word[:5] for answer in found)
    assert model.wv.similarity(word, typo) > model.wv.similarity(word, "water")
assert model.wv.n_similarity(["govern", "governmental"], ["government"]) > 0.5
assert model.wv.get_vector("unpopulated", norm=True).shape == (50,)
