"""Naive hierarchical softmax plus negative sampling: the rows of the nodes come first, then those of the words."""

import numpy as np
from reference import implementation_of


class Reference:
    def __init__(self, objective):
        self.tree = implementation_of("objectives", "hs")(objective.tree)
        self.noise = implementation_of("objectives", "neg")(objective.noise)
        self.nodes, self.learned = len(objective.noise.accept) - 1, {}

    def begin(self, stream):
        """Draw the pool of a chunk."""
        self.noise.begin(stream)

    def candidates(self, target, stream, previous=-1):
        words = self.noise.candidates(target, stream)
        return self.tree.candidates(target, stream) + [(self.nodes + word, label, 0.0) for word, label, _ in words]

    def loss(self, scores, found, words):
        """Return -log σ(±s), summed over the turns at the nodes, the target and the noise words."""
        signs = np.array([1 if label else -1 for _, label, _ in found])
        return np.logaddexp(0, -signs * scores).sum(axis=-1)
