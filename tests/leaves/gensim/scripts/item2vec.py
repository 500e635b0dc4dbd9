"""Learn vectors of products from baskets: the order in a basket does not matter, so the window is the whole basket."""

import random

from gensim.models import Word2Vec

random.seed(1)
shelves = [[f"shelf {shelf}: item {item}" for item in range(20)] for shelf in range(8)]
baskets = [random.sample(random.choice(shelves), random.randint(3, 10)) for _ in range(4000)]
model = Word2Vec(
    sentences=baskets, vector_size=24, window=max(map(len, baskets)) * 100, min_count=1, sg=1, negative=10, sample=0,
    ns_exponent=-0.5, shrink_windows=False, epochs=10, workers=1, seed=7,
)  # fmt: skip
item = "shelf 3: item 7"
similar = [other for other, _ in model.wv.most_similar(item, topn=10)]
print(item, "->", similar[:3])
assert sum(other.startswith("shelf 3:") for other in similar) >= 9
scores = model.predict_output_word(["shelf 5: item 1", "shelf 5: item 2"], topn=5)
print(scores)
assert sum(name.startswith("shelf 5:") for name, _ in scores) >= 4
