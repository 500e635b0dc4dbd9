"""Naive noise-contrastive estimation with noise that depends on the previous word, one target at a time."""

import numpy as np
from reference import logistic_loss


class Reference:
    def __init__(self, objective):
        self.objective, self.learned = objective, {}

    def followers(self, previous):
        """Return how often each word follows the previous word (-1 for none), in the order of their ids."""
        if previous < 0:
            return {}
        table = self.objective.pairs
        first, last = table.starts[previous : previous + 2]
        return dict(
            zip(table.words[first:last].tolist(), np.diff(table.ends[first:last], prepend=0).tolist(), strict=True)
        )

    def noise(self, previous):
        """Return the expected number of times that each word is drawn, (V,)."""
        o, unigram, after = self.objective, np.exp(self.objective.log_u.astype(np.float64)), self.followers(previous)
        if not after:
            return o.negative * unigram
        bigram = np.array([after.get(v, 0) for v in range(len(unigram))]) / sum(after.values())
        return o.bigrams * bigram + (o.negative - o.bigrams) * unigram

    def candidates(self, target, stream, previous):
        o, after, words = self.objective, self.followers(previous), [target]
        spelled = [word for word, count in after.items() for _ in range(count)]
        while len(words) <= (o.bigrams if after else 0):
            words.append(spelled[stream.below(len(spelled))])
        while len(words) <= o.negative:
            words.append(stream.alias(o.accept, o.alias))
        shifts = np.log(self.noise(previous))
        return [(word, float(k == 0), float(shifts[word])) for k, word in enumerate(words)]

    def loss(self, scores, found, words):
        return logistic_loss(scores, found)
