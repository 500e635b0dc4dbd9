"""Draw a map of the most frequent words."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from gensim.models import Word2Vec
from gensim.models.word2vec import LineSentence
from sklearn.manifold import TSNE

model = Word2Vec(LineSentence("data/simplewiki.txt"), vector_size=50, workers=2, epochs=1)
vectors, labels = np.asarray(model.wv.vectors[:200]), np.asarray(model.wv.index_to_key[:200])
places = TSNE(n_components=2, random_state=0, init="pca", perplexity=20).fit_transform(vectors)
plt.figure(figsize=(8, 8))
plt.scatter(places[:, 0], places[:, 1])
for label, (x, y) in zip(labels, places, strict=True):
    plt.annotate(label, (x, y))
plt.savefig("words.png")
