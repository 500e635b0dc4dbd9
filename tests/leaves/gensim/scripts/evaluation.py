"""Score vectors: analogies and word similarity."""

from gensim.models import KeyedVectors, Word2Vec
from gensim.models.word2vec import LineSentence

model = Word2Vec(LineSentence("data/simplewiki.txt"), vector_size=50, min_count=5, workers=2, sg=1, epochs=2)
score, sections = model.wv.evaluate_word_analogies("data/eval/questions-words.txt", restrict_vocab=10_000)
answered = sum(len(section["correct"]) + len(section["incorrect"]) for section in sections[:-1])
print(f"{score:.1%} of {answered} analogies")
assert 0 < score <= 1
assert sections[-1]["section"] == "Total accuracy"
pearson, spearman, unknown = model.wv.evaluate_word_pairs("data/eval/wordsim353.tsv", case_insensitive=True)
print(f"Spearman {spearman[0]:.2f}, Pearson {pearson[0]:.2f}, {unknown:.0f}% of the pairs unknown")
assert spearman[0] > 0
model.wv.save_word2vec_format("vectors.bin", binary=True)
vectors = KeyedVectors.load_word2vec_format("vectors.bin", binary=True, limit=1000)
assert len(vectors) == 1000
