"""Naive noise-contrastive estimation. log Z may be learned, per context word or per context."""

import numpy as np
from reference import LogisticReference

from w2vtrain.probability.random_streams import hash_words


class Reference(LogisticReference):
    def __init__(self, objective):
        self.objective = objective
        self.learned = {"log_z": objective.log_z.astype(np.float64).copy()} if objective.learn_z else {}

    def places(self, words):
        """Return the entries of log_z for a context: that of its hash, or those of its words."""
        return [hash_words(words, 0, len(words), len(self.objective.log_z))] if self.objective.hashed else words

    def log_z(self, words):
        return np.mean(self.learned["log_z"][self.places(words)]) if self.learned else 0.0

    def loss(self, scores, found, words):
        return super().loss(scores - self.log_z(words), found, words)
