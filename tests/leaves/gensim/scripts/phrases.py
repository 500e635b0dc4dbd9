"""Join words to phrases before training."""

from pathlib import Path

from gensim.models import Word2Vec
from gensim.models.phrases import ENGLISH_CONNECTOR_WORDS, Phrases

lines = Path("data/simplewiki.txt").read_text(encoding="utf-8").splitlines()[:4000]
sentences = [line.split() for line in lines]
bigrams = Phrases(sentences, min_count=5, threshold=10, connector_words=ENGLISH_CONNECTOR_WORDS)
model = Word2Vec(bigrams[sentences], vector_size=40, min_count=5, workers=1, hs=1, negative=0)
joined = [word for word in model.wv.index_to_key if "_" in word]
print(len(joined), "phrases, such as", joined[:5])
assert joined
frozen = bigrams.freeze()
spaced = [[word.replace("_", " ") for word in frozen[sentence]] for sentence in sentences]
assert any(" " in word for word in Word2Vec(spaced, vector_size=40, min_count=5).wv.index_to_key)
