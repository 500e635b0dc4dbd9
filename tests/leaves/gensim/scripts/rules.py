"""Choose the words by a rule, from counts, and start from vectors that were trained elsewhere."""

from collections import Counter
from pathlib import Path

import numpy as np
from gensim import utils
from gensim.models import Word2Vec

sentences = [line.split() for line in Path("data/simplewiki.txt").read_text(encoding="utf-8").splitlines()[:3000]]


def rule(word, count, min_count):
    """Keep the word "village", and discard numbers."""
    if word == "village":
        return utils.RULE_KEEP
    return utils.RULE_DISCARD if word.isdigit() else utils.RULE_DEFAULT


model = Word2Vec(vector_size=30, min_count=20, workers=1)
model.build_vocab(sentences, trim_rule=rule)
assert "village" in model.wv
assert not any(word.isdigit() for word in model.wv.index_to_key)

counts = Counter(word for sentence in sentences for word in sentence)
other = Word2Vec(vector_size=30, min_count=20, workers=1, sg=1)
other.build_vocab_from_freq(dict(counts))
assert other.wv.get_vecattr("the", "count") == counts["the"]
pretrained = np.full(30, 0.1, dtype=np.float32)
other.wv.vectors[other.wv.key_to_index["the"]] = pretrained
other.train(sentences, total_examples=len(sentences), epochs=1, start_alpha=1e-6, end_alpha=1e-6)
assert np.allclose(other.wv["the"], pretrained, atol=1e-3)
