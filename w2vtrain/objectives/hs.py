"""Hierarchical softmax over a binary tree of the words (Morin & Bengio 2005).

It is exactly normalized and samples nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from w2vtrain.errors import spelled
from w2vtrain.kernels.logits import logistic_errors
from w2vtrain.kernels.rows import HOT_NODES, prefetch_element, unpack_indices, with_room
from w2vtrain.probability.dense import LOGITS_AT_ONCE, NormalizedScorer, log_one_plus
from w2vtrain.probability.problem import Arrays, Options, Problem, bad_option, damaged
from w2vtrain.probability.trees import (
    Tree,
    all_log_probs,
    balanced,
    clustered,
    huffman,
    path_log_prob,
    read_paths,
    tree_from_file,
)
from w2vtrain.probability.word_files import check_named, check_named_files, vectors_of

GROUP = "structure"
DEFAULTS = {
    "skipgram": {"alpha": 0.025, "shuffle": False},
    "cbow": {"alpha": 0.05, "shuffle": True},
    "cbow-corrected": {"alpha": 0.1, "shuffle": True},
    "vlbl": {"alpha": 0.1, "shuffle": True},
}
TARGETS_AHEAD, NODES_PER_CACHE_LINE = 4, 16
"""How many targets ahead paths are prefetched (those of a large tree take 4 MB), and the nodes per cache line."""

CACHED_NODES = 1000
"""Nodes nearest the root that are assumed to be in cache. With 500 or 2,000, CBOW is 2% to 3% slower."""

TREES = ("huffman", "balanced", "cluster")

MISFIT = "tree does not fit its words and output vectors"
"""What is wrong with a damaged model."""


def check_tree(objective: str, options: Options) -> None:
    """Raise ConfigError if the options of an objective contradict each other. No file is opened."""
    if options["tree"] == "classes":
        instead = spelled("objective", "class-softmax")
        raise bad_option(objective, "tree", f"classes are not a binary tree: use {instead}")
    check_named(objective, "tree", options, TREES, options["tree"])


def check_tree_files(objective: str, options: Options) -> None:
    """Read the files that the options name. Raise InputMissing or DataError if no vocabulary could use them."""
    check_named_files(objective, "tree", options, TREES, read_paths)


class Hierarchical(NamedTuple):
    """L = -Σ_n log σ((1-2c_n)·o_n·h) over the inner nodes n of the word's path: g_n = 1 - c_n - σ(o_n·h).

    Morin & Bengio 2005, "Hierarchical probabilistic neural network language model"; with a Huffman tree as in Mikolov
    et al. 2013. The words are the leaves. The code c_n, 0 or 1, is the turn that the word's path takes at node n, and
    σ((1-2c_n)·o_n·h) is the probability of that turn. P(w|h) is the product of these probabilities along the path and
    sums to 1 over the words.

    tree: "huffman"; "balanced"; "cluster", which clusters the word vectors of an earlier run (option `vectors`),
    similar to Mnih & Hinton 2008, who clustered mean hidden vectors; or the name of a file in which each line has a
    word and its path, the turns 0 and 1 from the root. For "cluster", use output vectors: in a language model, words
    with similar output vectors follow similar contexts.
    """

    start: np.ndarray  # (V+1,) int64, as in Tree
    path: np.ndarray  # int32: 2 * node + label, label = 1 - code; padded in memory for SIMD reads

    @classmethod
    def with_tree(cls, tree: Tree) -> "Hierarchical":
        """Return the objective over this tree."""
        return cls(tree.start, with_room(2 * tree.nodes + (1 - tree.codes.astype(np.int32))))

    @classmethod
    def build(cls, problem: Problem, *, tree: str = "huffman", vectors: str = "") -> "Hierarchical":
        """Build the tree over the words of the problem."""
        if tree == "huffman":
            return cls.with_tree(huffman(problem.counts))
        if tree == "balanced":
            return cls.with_tree(balanced(len(problem.counts)))
        if tree == "cluster":
            return cls.with_tree(clustered(problem.counts, vectors_of(problem.words, vectors)))
        return cls.with_tree(tree_from_file(tree, problem.words))

    @classmethod
    def check(cls, options: Options) -> None:
        check_tree("hs", options)

    @classmethod
    def check_files(cls, options: Options) -> None:
        check_tree_files("hs", options)

    @classmethod
    def scorer(cls, problem: Problem, options: Options, output: np.ndarray, arrays: Arrays) -> "TreeScorer":
        return TreeScorer(Tree(*(arrays[f"tree.{name}"] for name in Tree._fields)), output)

    def output_rows(self, size: int) -> int:
        """Return the number of inner nodes, which have one output row each."""
        return size - 1

    @property
    def candidate_limit(self) -> int:
        return int(np.diff(self.start).max())

    def untrained_loss(self) -> float:
        return self.candidate_limit * math.log(2)

    def arrays(self) -> Arrays:
        nodes, codes = self.path >> 1, (1 - (self.path & 1)).astype(np.uint8)
        return {"tree.start": self.start, "tree.nodes": nodes, "tree.codes": codes}

    def structure(self) -> tuple[str, ...]:
        return ("tree.start", "tree.nodes", "tree.codes")

    def candidates(self, sentence, position, rng, rows, labels, shifts):
        """Write the nodes of the target's path with their labels, 1 - code."""
        if position + 2 * TARGETS_AHEAD < len(sentence):  # the array holds stale words after the sentence
            prefetch_element(self.start, sentence[position + 2 * TARGETS_AHEAD])
            coming = self.start[sentence[position + TARGETS_AHEAD]]
            prefetch_element(self.path, coming)
            prefetch_element(self.path, coming + NODES_PER_CACHE_LINE)
        target = sentence[position]
        first, end = self.start[target], self.start[target + 1]
        unpack_indices(rows, labels, self.path, first, end - first)
        return end - first

    def distinct(self):
        """Return True: a path never returns to a node."""
        return True

    def in_turn(self):
        """Return True: the nodes near the root are in every path, so updates from the old values overshoot.

        Updating all hidden vectors at once would lower accuracy by one percentage point.
        """
        return True

    def hot_rows(self, rows: int) -> range:
        """Return the nodes nearest the root, from the root on: it is in every path and has the highest index."""
        return range(rows - 1, max(0, rows - HOT_NODES) - 1, -1)

    def draws(self, targets: np.ndarray) -> np.ndarray:
        """Return the probability of the words below each node."""
        lengths = np.diff(self.start)
        nodes = self.path[: self.start[-1]] >> 1
        return np.bincount(nodes, np.repeat(targets, lengths), len(targets) - 1)

    def prefetched(self, rows, m):
        """Return those of the last six nodes that are not near the root, and so may not be in the cache."""
        first, near = max(0, m - 6), len(self.start) - 2 - CACHED_NODES
        while first < m and rows[first] >= near:
            first += 1
        return first, m

    def errors(self, logits, window, candidates, lr):
        return logistic_errors(logits, len(logits), candidates.m, candidates.labels, candidates.shifts, lr)


class TreeScorer(NormalizedScorer):
    """Scores of words that are the leaves of a tree: log P(w|h) = Σ_n log σ((1-2c_n)·o_n·h), which is normalized."""

    def __init__(self, tree: Tree, output: np.ndarray) -> None:
        self.tree, self.output = tree, np.ascontiguousarray(output)
        self._parent, self._code = checked_links(tree, len(output))

    def log_prob(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        log_probs = np.empty(len(H), H.dtype)
        path_log_prob(*self.tree, self.output, np.ascontiguousarray(H), targets, log_probs)
        return log_probs

    def log_probs(self, H: np.ndarray) -> np.ndarray:
        size = len(self.output) + 1
        all_words, total = np.empty((len(H), size), H.dtype), np.empty(2 * size - 1)
        step = max(1, LOGITS_AT_ONCE // size)
        for first in range(0, len(H), step):
            logits = H[first : first + step] @ self.output.T
            all_log_probs(self._parent, self._code, logits, log_sigma(logits), total, all_words[first : first + step])
        return all_words


def stored_tree(arrays: Arrays, inner: int) -> Tree | None:
    """Return the tree of a model with `inner` inner nodes, None if it has none. Raise DataError if it is damaged.

    It may be another one than follows from the counts: that of gensim, or of a model whose counts were changed.
    """
    names = [f"tree.{name}" for name in Tree._fields]
    if not inner or not all(name in arrays for name in names):
        return None
    checked_links(tree := Tree(*(arrays[name] for name in names)), inner)
    return tree


def log_sigma(x: np.ndarray) -> np.ndarray:
    """Return log σ(x) = min(x, 0) - log(1 + exp(-|x|))."""
    e = log_one_plus(x, np.empty_like(x))
    np.subtract(np.minimum(x, 0), e, out=e)
    return e


def checked_links(tree: Tree, inner: int) -> tuple[np.ndarray, np.ndarray]:
    """Return tree.links() for a tree read from a model with `inner` inner nodes.

    Raise DataError if the arrays do not form such a tree, because a kernel that follows them could leave the arrays.
    """
    start, nodes, codes = tree
    good = start.dtype == np.int64 and nodes.dtype == np.int32 and codes.dtype == np.uint8
    good = good and start.ndim == nodes.ndim == codes.ndim == 1 and len(nodes) == len(codes) > 0
    good = good and len(start) == inner + 2 and start[0] == 0 and start[-1] == len(nodes)
    if good and np.all(np.diff(start) > 0) and nodes.min() >= 0 and nodes.max() < inner and codes.max() <= 1:
        parent, code = tree.links()
        if np.all(parent[:-1] > np.arange(2 * inner)):
            return parent, code
    raise damaged(MISFIT)


OBJECTIVE = Hierarchical
