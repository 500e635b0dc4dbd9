"""Naive noise-contrastive estimation, one target at a time. log Z may be learned, per context word or per context."""

import numpy as np
from reference import Stream, logistic_loss, pooled


class Reference:
    def __init__(self, objective):
        self.objective, self.pool = objective, []
        self.learned = {"log_z": objective.log_z.astype(np.float64).copy()} if objective.learn_z else {}

    def begin(self, stream):
        """Draw the pool of a chunk."""
        o = self.objective
        self.pool = [stream.alias(o.accept, o.alias) for _ in o.pool]

    def candidates(self, target, stream, previous=-1):
        o, words = self.objective, pooled(stream, self.pool)
        noise = [next(words) if self.pool else stream.alias(o.accept, o.alias) for _ in range(o.negative)]
        return [(w, float(k == 0), float(o.log_kq[w])) for k, w in enumerate([target, *noise])]

    def places(self, words):
        """Return the entries of log_z for a context: that of its hash, or those of its words."""
        return [Stream.hashed(words, len(self.objective.log_z))] if self.objective.hashed else words

    def log_z(self, words):
        return np.mean(self.learned["log_z"][self.places(words)]) if self.learned else 0.0

    def loss(self, scores, found, words):
        return logistic_loss(scores - self.log_z(words), found)
