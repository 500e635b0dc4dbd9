"""Train from a file, with hierarchical softmax, and compare sentences by their probability."""

from gensim.models import Word2Vec

model = Word2Vec(
    corpus_file="data/simplewiki.txt", vector_size=40, hs=1, negative=0, sg=1, workers=2, epochs=1, max_final_vocab=5000
)
assert len(model.wv) <= 5000
sentences = [
    text.split() for text in ("the city is the capital of the country", "country the of capital city the is the")
]
print(model.score(sentences, total_sentences=2))
assert model.get_latest_training_loss() >= 0
