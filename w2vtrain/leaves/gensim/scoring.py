"""What a `Word2Vec` model predicts: words from a context, and the log probability of sentences (Taddy 2015).

Nothing is learned here.
"""

import logging
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.config import WHOLE_SENTENCE
from w2vtrain.embeddings.neighbors import largest
from w2vtrain.leaves.gensim.matrices import WordMatrices
from w2vtrain.objectives.hs import TreeScorer
from w2vtrain.probability.trees import huffman

logger = logging.getLogger(__name__)


class Predictions(WordMatrices):
    """The queries of a model that need its output vectors."""

    sg: int
    cbow_mean: int
    window: int | str

    def _refuse_concatenation(self) -> None:
        """Raise RuntimeError if output vectors score concatenated vectors, of which one is a document's."""
        if self.layer1_size != self.vector_size:
            raise RuntimeError("with dm_concat=1, only a document and a whole window predict a word: use infer_vector")

    def predict_output_word(
        self, context_words_list: list[Any], topn: int | None = 10
    ) -> list[tuple[Any, np.float32]] | None:
        """Return the words that are most probable in a context, with probabilities; None without any known word.

        The probabilities are those of a softmax over the output vectors, which is not what negative sampling trains:
        they rank the words, and are not calibrated. Words may be given by their indices. Raise RuntimeError if the
        model has no output vectors of words.
        """
        if self.matrices is None or self.matrices.words is None:
            raise RuntimeError(
                "predict_output_word needs the output vectors of negative sampling: train with negative > 0"
            )
        self._refuse_concatenation()
        self.follow_words()
        rows = [row for word in context_words_list if (row := self.wv.get_index(word, -1)) >= 0]
        if not rows:
            logger.warning("no word of the context is in the vocabulary: nothing is predicted")
            return None
        hidden = self.wv.vectors[rows].sum(axis=0)
        if self.cbow_mean:
            hidden = hidden / len(rows)
        logits = (self.matrices.words @ hidden).astype(np.float64)
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        best = largest(shares, len(shares) if topn is None else max(0, topn))
        return [(self.wv.index_to_key[i], np.float32(shares[i])) for i in best.tolist()]

    def score(
        self, sentences: Iterable[Any], total_sentences: int = 1_000_000, chunksize: int = 100, queue_factor: int = 2,
        report_delay: float = 1,
    ) -> NDArray[np.float32]:  # fmt: skip
        """Return the log probability of each sentence under hierarchical softmax (Taddy 2015), at most total_sentences.

        The probability of a sentence is the product of those of its words given each context word (skip-gram) or the
        mean of the context (CBOW), with the full window. Raise RuntimeError if the model has no tree.
        """
        if self.matrices is None or self.matrices.nodes is None:
            raise RuntimeError("score needs hierarchical softmax: train with hs=1 and negative=0")
        self._refuse_concatenation()
        self.follow_words()
        ids = np.argsort(np.arange(len(self.wv))[self.matrices.order])  # from the model's rows to the trainer's
        tree = self.matrices.tree or huffman(np.sort(self.matrices.counts)[::-1])
        scorer = TreeScorer(tree, np.ascontiguousarray(self.matrices.nodes))
        scores = [self._log_prob(sentence, scorer, ids) for sentence in islice(sentences, total_sentences)]
        return np.array(scores, np.float32)

    def follow_words(self) -> None:
        """Give words that were added to `wv` output rows, and forget those of removed words."""
        assert self.matrices
        if self.is_training:
            self.matrices.require_same(self.wv)
        else:
            self.fit_matrices()

    def _log_prob(self, sentence: Any, scorer: TreeScorer, ids: NDArray[np.int64]) -> float:
        """Return the log probability of a sentence; words that the model does not have are left out, as in training."""
        rows = np.array([self.wv.key_to_index[word] for word in sentence if word in self.wv.key_to_index], np.int64)
        hidden, targets = [], []
        window = len(rows) if self.window == WHOLE_SENTENCE else int(self.window)
        for place, row in enumerate(rows.tolist()):
            context = np.r_[rows[max(0, place - window) : place], rows[place + 1 : place + 1 + window]]
            if not len(context):
                continue
            vectors = self.wv.vectors[context]
            if not self.sg:
                vectors = (vectors.mean(axis=0) if self.cbow_mean else vectors.sum(axis=0))[None]
            hidden.append(vectors)
            targets += [ids[row]] * len(vectors)
        if not hidden:
            return 0.0
        return float(scorer.log_prob(np.concatenate(hidden).astype(np.float32), np.array(targets, np.int32)).sum())
