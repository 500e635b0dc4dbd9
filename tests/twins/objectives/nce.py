"""Naive noise-contrastive estimation, one target at a time, with log Z per context word if it is learned."""

import numpy as np
from reference import logistic_loss


class Twin:
    def __init__(self, objective):
        self.objective = objective
        self.learned = {"log_z": objective.log_z.astype(np.float64).copy()} if objective.learn_z else {}

    def candidates(self, target, stream):
        o = self.objective
        words = [target] + [stream.alias(o.accept, o.alias) for _ in range(o.negative)]
        return [(w, float(k == 0), float(o.log_kq[w])) for k, w in enumerate(words)]

    def loss(self, scores, found, words):
        log_z = np.mean(self.learned["log_z"][words]) if self.learned else 0.0
        return logistic_loss(scores - log_z, found)
