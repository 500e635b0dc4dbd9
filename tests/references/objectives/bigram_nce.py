"""Naive noise-contrastive estimation with noise that depends on the previous word."""

from reference import logistic_loss


class Reference:
    def __init__(self, objective):
        self.objective, self.learned = objective, {}

    def loss(self, scores, found, words):
        return logistic_loss(scores, found)
