"""Train on a corpus that is streamed from disk, in separate steps, with progress in the log."""

import logging
from pathlib import Path

from gensim.models import Word2Vec

logging.basicConfig(format="%(asctime)s : %(levelname)s : %(message)s", level=logging.INFO)


class Corpus:
    """Sentences, tokenized while they are read."""

    def __iter__(self):
        with Path("data/simplewiki.txt").open(encoding="utf-8") as file:
            for number, line in enumerate(file):
                if number == 3000:
                    break
                yield line.lower().split()


corpus = Corpus()
model = Word2Vec(vector_size=50, min_count=10, workers=2, negative=10, sample=1e-4, alpha=0.05, min_alpha=0.0001)
model.build_vocab(corpus, progress_per=1000)
words, total = model.train(corpus, total_examples=model.corpus_count, epochs=3, report_delay=1)
print(words, "of", total, "words in", round(model.total_train_time, 1), "seconds")
assert 0 < words < total
