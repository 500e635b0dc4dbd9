"""Hierarchical softmax and negative sampling at once, on the same hidden vectors (Mikolov et al. 2013).

Only the hierarchical softmax gives probabilities.
"""

from typing import NamedTuple

import numpy as np

from w2vtrain.kernels.logits import logistic_errors
from w2vtrain.objectives.contract import rates
from w2vtrain.objectives.hs import MISFIT, Hierarchical, TreeScorer, check_tree, check_tree_files
from w2vtrain.objectives.neg import Negative, check_noise
from w2vtrain.probability.noise_pool import AUTOMATIC
from w2vtrain.probability.problem import Arrays, Options, Problem, damaged
from w2vtrain.probability.trees import Tree

GROUP = "discrimination"
DEFAULTS = rates(skipgram=0.0375, cbow=0.075, cbow_corrected=0.15, vlbl=0.05)


class HierarchicalNegative(NamedTuple):
    """L = L_hs + L_neg, the losses of `hs` and `neg`: g_n = 1 - c_n - σ(o_n·h) of a node, g_v = label - σ(s_v).

    Mikolov, Sutskever, Chen, Corrado & Dean 2013, "Distributed representations of words and phrases and their
    compositionality". Their program word2vec.c trains like this with -hs 1 -negative 5.

    Each inner node of the tree has an output row, and so has each word; the rows of the nodes come first. The input
    rows change by the sum of both gradients, as in word2vec.c; gensim, with hs=1, changes them after each of the two
    losses. P(w|h) is computed from the tree alone, so the rows of the words affect perplexity only through the input
    rows that they train.
    """

    tree: Hierarchical  # the objective hs
    noise: Negative  # the objective neg

    @classmethod
    def build(
        cls,
        problem: Problem,
        *,
        tree: str = "huffman",
        vectors: str = "",
        negative: int = 5,
        ns_exponent: float = 0.75,
        pool: int = AUTOMATIC,
    ) -> "HierarchicalNegative":
        """tree, vectors: as for `hs`. negative, ns_exponent, pool: as for `neg`."""
        noise = Negative.build(problem, negative=negative, ns_exponent=ns_exponent, pool=pool)
        return cls(Hierarchical.build(problem, tree=tree, vectors=vectors), noise)

    def with_tree(self, tree: Tree) -> "HierarchicalNegative":
        """Return this objective over another tree of the same words."""
        return self._replace(tree=self.tree.with_tree(tree))

    @classmethod
    def check(cls, options: Options) -> None:
        check_tree("hs-neg", options)
        check_noise("hs-neg", options["negative"], options["ns_exponent"], options["pool"])

    @classmethod
    def check_files(cls, options: Options) -> None:
        check_tree_files("hs-neg", options)

    @classmethod
    def scorer(cls, problem: Problem, options: Options, output: np.ndarray, arrays: Arrays) -> TreeScorer:
        nodes = len(problem.counts) - 1
        if len(output) != 2 * nodes + 1:
            raise damaged(MISFIT)
        return Hierarchical.scorer(problem, options, output[:nodes], arrays)

    def output_rows(self, size: int) -> int:
        return 2 * size - 1

    def hot_rows(self, rows: int) -> range:
        return self.tree.hot_rows(rows // 2)

    def draws(self, targets: np.ndarray) -> np.ndarray:
        return np.concatenate([self.tree.draws(targets), self.noise.draws(targets)])

    @property
    def candidate_limit(self) -> int:
        return self.tree.candidate_limit + self.noise.candidate_limit

    def untrained_loss(self) -> float:
        return self.tree.untrained_loss() + self.noise.untrained_loss()

    def arrays(self) -> Arrays:
        return {**self.tree.arrays(), **self.noise.arrays()}

    def structure(self) -> tuple[str, ...]:
        return self.tree.structure()

    def for_threads(self, threads: int) -> "list[HierarchicalNegative]":
        return [self._replace(noise=noise) for noise in self.noise.for_threads(threads)]

    def begin(self, rng):
        self.noise.begin(rng)

    def candidates(self, sentence, position, rng, rows, labels, shifts):
        """Write the nodes of the target's path, then the target and its noise words."""
        nodes = self.tree.candidates(sentence, position, rng, rows, labels, shifts)
        words = self.noise.candidates(sentence, position, rng, rows[nodes:], labels[nodes:], shifts[nodes:])
        for j in range(nodes, nodes + words):
            rows[j] += len(self.tree.start) - 2  # the rows of the nodes come first
        return nodes + words

    def in_turn(self):
        return True

    def prefetched(self, rows, m):
        nodes = m - self.noise.negative - 1
        return self.tree.prefetched(rows, nodes)[0], nodes + self.noise.prefetched(rows, m - nodes)[1]

    def errors(self, logits, window, candidates, lr):
        return logistic_errors(logits, len(logits), candidates.m, candidates.labels, candidates.shifts, lr)


OBJECTIVE = HierarchicalNegative
