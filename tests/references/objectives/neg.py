"""Naive negative sampling, one target at a time."""

from reference import logistic_loss, pooled


class Reference:
    """The candidates (row, label, shift) of a target, in the order drawn from the stream, and the loss of their scores.

    previous: the word before the target, -1 for none. learned: the arrays that the loss depends on; none here. places
    (optional): returns the indices in these arrays for a list of context words; by default, the words themselves. begin
    (optional): draws what the targets of a chunk share.
    """

    def __init__(self, objective):
        self.objective, self.learned, self.pool = objective, {}, []

    def begin(self, stream):
        """Draw the pool of a chunk."""
        o = self.objective
        self.pool = [stream.alias(o.accept, o.alias) for _ in o.pool]

    def candidates(self, target, stream, previous=-1):
        o = self.objective
        found, words = [(target, 1.0, 0.0)], pooled(stream, self.pool)
        while len(found) <= o.negative:
            word = next(words) if self.pool else stream.alias(o.accept, o.alias)
            if word != target:
                found.append((word, 0.0, 0.0))
        return found

    def loss(self, scores, found, words):
        """Return the loss of scores (..., m): the candidates against one hidden vector, made of these context words."""
        return logistic_loss(scores, found)
