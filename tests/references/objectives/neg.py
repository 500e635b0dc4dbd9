"""Naive negative sampling."""

from reference import logistic_loss


class Reference:
    """The loss of the scores of an objective's candidates (row, label, shift), which the objective itself draws.

    learned: the arrays that the loss depends on, by name; none here. places (optional): returns the indices in these
    arrays for a list of context words; by default, the words themselves.
    """

    def __init__(self, objective):
        self.objective, self.learned = objective, {}

    def loss(self, scores, found, words):
        """Return the loss of scores (..., m): the candidates against one hidden vector, made of these context words."""
        return logistic_loss(scores, found)
