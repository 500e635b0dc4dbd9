"""Vectors of documents, as in gensim's tutorial on Doc2Vec: each document should be nearest to its inferred vector."""

import collections
from pathlib import Path

from gensim.models.doc2vec import Doc2Vec, TaggedDocument


def read(path, tokens_only=False):
    with Path(path).open(encoding="utf-8") as file:
        for number, line in enumerate(file):
            if number == 300:
                return
            yield line.split() if tokens_only else TaggedDocument(line.split(), [number])


train_corpus, test_corpus = list(read("data/simplewiki.txt")), list(read("data/simplewiki.txt", tokens_only=True))
model = Doc2Vec(vector_size=50, min_count=2, epochs=40, dm=0)
model.build_vocab(train_corpus)
print(f"{model.wv.key_to_index['the']}: {model.wv.get_vecattr('the', 'count')}")
model.train(train_corpus, total_examples=model.corpus_count, epochs=model.epochs)
ranks = []
for document in train_corpus:
    inferred = model.infer_vector(document.words)
    sims = model.dv.most_similar([inferred], topn=len(model.dv))
    ranks.append([tag for tag, _ in sims].index(document.tags[0]))
counts = collections.Counter(ranks)
assert sum(rank < 10 for rank in ranks) > 250, counts
assert len(model.dv[0]) == len(model.infer_vector(test_corpus[0])) == 50
model.save("doc2vec.model")
again = Doc2Vec.load("doc2vec.model")
assert (again.dv[7] == model.dv[7]).all()
print(model)
