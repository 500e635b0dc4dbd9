"""What a `Word2Vec` model predicts: words from a context, and the log probability of sentences (Taddy 2015).

Nothing is learned here.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.config import WHOLE_SENTENCE
from w2vtrain.objectives.hs import TreeScorer
from w2vtrain.probability.trees import huffman


def predict(model: Any, context: list[Any], topn: int) -> list[tuple[Any, float]] | None:
    """Return the `topn` most probable words in a context, with probabilities, or None without any known word.

    Words may be given by their indices. Raise RuntimeError if the model has no output vectors of words.
    """
    if not model.negative or not hasattr(model, "syn1neg"):
        raise RuntimeError("predict_output_word needs the output vectors of negative sampling: train with negative > 0")
    rows = [found for word in context if (found := _row(model, word)) is not None]
    if not rows:
        return None
    hidden = model.wv.vectors[rows].sum(axis=0)
    if model.cbow_mean:
        hidden = hidden / len(rows)
    logits = (model.syn1neg @ hidden).astype(np.float64)
    shares = np.exp(logits - logits.max())
    shares /= shares.sum()
    best = np.argsort(-shares, kind="stable")[:topn]
    return [(model.wv.index_to_key[i], float(shares[i])) for i in best.tolist()]


def _row(model: Any, word: Any) -> int | None:
    """Return the row of a word, or of an index; None if there is none."""
    if isinstance(word, int | np.integer) and not isinstance(word, bool):
        return int(word) if 0 <= word < len(model.wv) else None
    found: int | None = model.wv.key_to_index.get(word)
    return found


def score(model: Any, sentences: Iterable[Any], limit: int) -> NDArray[np.float32]:
    """Return the log probabilities of the first `limit` sentences. Raise RuntimeError if the model has no tree."""
    if not model.hs or not hasattr(model, "syn1"):
        raise RuntimeError("score needs hierarchical softmax: train with hs=1 and negative=0")
    nodes, order = model.matrices.nodes, model.matrices.order
    ids = np.arange(len(model.wv)) if order is None else np.argsort(order)  # from the model's rows to the trainer's
    tree = model.matrices.tree or huffman(np.sort(model.wv.expandos["count"])[::-1])
    scorer = TreeScorer(tree, np.ascontiguousarray(nodes))
    found = [_sentence(model, scorer, ids, sentence) for sentence in islice(sentences, limit)]
    return np.array(found, np.float32)


def _sentence(model: Any, scorer: TreeScorer, ids: NDArray[np.int64], sentence: Any) -> float:
    """Return the log probability of a sentence; words that the model does not have are left out, as in training."""
    rows = np.array([model.wv.key_to_index[word] for word in sentence if word in model.wv.key_to_index], np.int64)
    hidden, targets = [], []
    window = len(rows) if model.window == WHOLE_SENTENCE else model.window
    for place, row in enumerate(rows.tolist()):
        context = np.r_[rows[max(0, place - window) : place], rows[place + 1 : place + 1 + window]]
        if not len(context):
            continue
        vectors = model.wv.vectors[context]
        if not model.sg:
            vectors = (vectors.mean(axis=0) if model.cbow_mean else vectors.sum(axis=0))[None]
        hidden.append(vectors)
        targets += [ids[row]] * len(vectors)
    if not hidden:
        return 0.0
    return float(scorer.log_prob(np.concatenate(hidden).astype(np.float32), np.array(targets, np.int32)).sum())
