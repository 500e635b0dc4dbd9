"""Binary trees over the vocabulary: for every word, the inner nodes from the root to it and the turn at each node.

Nothing is learned here; functions that sum log-probabilities along paths take the output rows or logits as arguments.
No function is recursive, so a tree may be as deep as its number of words.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from w2vtrain.errors import DataError
from w2vtrain.kernels.jit import kernel
from w2vtrain.probability.word_files import read_values, require_all

MAX_LINE_BYTES = 1 << 20
"""Maximum number of bytes per line of a tree file: a path may have as many turns as there are words."""
POWER_ITERATIONS = 6
"""Number of power iterations to find the main axis, along which a set of words is split."""


class Tree(NamedTuple):
    """A binary tree, stored as the concatenated paths of all words.

    start: (V+1,) int64. The path of word w is nodes[start[w]:start[w+1]].
    nodes: int32, inner nodes 0..V-2 from the root, which is V-2, down; numbers decrease along every path.
    codes: uint8, the turn taken at each of these nodes, 0 or 1.
    """

    start: np.ndarray
    nodes: np.ndarray
    codes: np.ndarray

    def take(self, words: np.ndarray) -> "Tree":
        """Return the same tree for words in another order: words (V,) are their present numbers."""
        sizes = np.diff(self.start)[words]
        start = np.concatenate([[0], np.cumsum(sizes)])
        places = np.repeat(self.start[words] - start[:-1], sizes) + np.arange(start[-1])
        return Tree(start, self.nodes[places], self.codes[places])

    def without_others(self, words: np.ndarray) -> tuple["Tree", np.ndarray]:
        """Return the tree of some words, numbers (n,), in this order, without nodes that then have only one child.

        Also return a mask (V-1,) of the nodes that are left.
        """
        part = self.take(words)
        turns = [np.bincount(part.nodes, part.codes == code, len(self.start) - 2) for code in range(2)]
        kept = (turns[0] > 0) & (turns[1] > 0)
        places = kept[part.nodes]
        start, numbers = np.concatenate([[0], np.cumsum(places)])[part.start], np.cumsum(kept, dtype=np.int32) - 1
        return Tree(start, numbers[part.nodes[places]], part.codes[places]), kept

    def with_more(self, more: int) -> "Tree":
        """Return this tree with `more` words after its own, all of them beside the last one, whose leaf becomes a node.

        No other path gets longer. The new nodes come first: the numbers of all others grow by `more`.
        """
        last = len(self.start) - 2
        parent, code = self.links()
        new_parent, new_code = huffman(np.array([more] + [1] * more)).links()
        new_parent = np.concatenate([parent[:last] + 2 * more, new_parent[:-1] + last, parent[last:] + 2 * more])
        return _tree(new_parent, np.concatenate([code[:last], new_code[:-1], code[last:]]))

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        """Return each node's parent, int32, and the turn from the parent to it, uint8; both (2V-1,), words first."""
        size = len(self.start) - 1
        below = np.empty(len(self.nodes), np.int64)
        below[:-1] = self.nodes[1:] + size
        below[self.start[1:] - 1] = np.arange(size)
        parent, code = np.zeros(2 * size - 1, np.int32), np.zeros(2 * size - 1, np.uint8)
        parent[below], code[below] = self.nodes + size, self.codes
        return parent, code


def huffman(counts: np.ndarray) -> Tree:
    """Build Huffman's tree (1952) with the codes of word2vec.c, for counts (V,) in descending order.

    Sorted counts need no heap: the leaves, from the lowest count up, and the inner nodes, in order of creation, form
    two queues. Each step takes the smaller of the two heads or, on a tie, the inner node, as word2vec.c does. Raise
    ValueError if the counts are not sorted or there is only one word.
    """
    size = len(counts)
    if size < 2 or np.any(np.diff(counts) > 0):
        raise ValueError("a Huffman tree needs at least two words, in descending order of count")
    weight = np.empty(2 * size - 1, np.int64)
    weight[:size] = counts
    parent, code = np.zeros(2 * size - 1, np.int32), np.zeros(2 * size - 1, np.uint8)
    _merge(weight, parent, code, size)
    return _tree(parent, code)


def balanced(size: int) -> Tree:
    """Build the complete tree of V = `size` words: paths have ceil(log2 V) nodes, or one fewer for frequent words.

    Nodes are numbered as in a heap: node i has the children 2i and 2i + 1, and the words are V..2V-1.
    """
    heap = np.concatenate([np.arange(size, 2 * size), np.arange(size - 1, 0, -1)])
    return _tree((2 * size - 1 - (heap >> 1)).astype(np.int32), (heap & 1).astype(np.uint8))


def clustered(counts: np.ndarray, vectors: np.ndarray) -> Tree:
    """Build a tree that keeps similar words together, from counts (V,) and the vectors (V, d) of an earlier run.

    Each set of words is split along its main axis, at the point that best halves its total count, similar to Mnih &
    Hinton 2008, "A scalable hierarchical distributed language model". A word with at least half of the total is split
    off alone; otherwise it would stay in the middle of ever smaller sets. Frequent words thus have short paths.
    """
    weight = np.maximum(counts, 0.5)
    order, arrange = np.arange(len(counts)), along_axis(weight, vectors)

    def cut(first: int, last: int) -> int:
        words = order[first:last]
        arrange(words)
        left = np.cumsum(weight[words])
        return first + 1 + int(np.abs(2 * left[:-1] - left[-1]).argmin())

    return _grow(order, cut)


def along_axis(weight: np.ndarray, vectors: np.ndarray) -> Callable[[np.ndarray], None]:
    """Return a function that sorts a set of words, in place, by their positions along the set's main axis.

    weight (V,), vectors (V, d): of all words. A word with at least half of the set's weight comes first.
    """
    size, d = vectors.shape
    vectors, along = np.ascontiguousarray(vectors, np.float32), np.empty(size)
    start, mean, axis, pull = np.random.default_rng(1).standard_normal(d), np.empty(d), np.empty(d), np.empty(d)

    def arrange(words: np.ndarray) -> None:
        places = along[: len(words)]
        axis[:] = start
        _project(vectors, weight, words, axis, mean, pull, places)
        heaviest = weight[words].argmax()
        if 2 * weight[words[heaviest]] >= weight[words].sum():
            places[heaviest] = -np.inf
        words[:] = words[np.argsort(places, kind="stable")]

    return arrange


def tree_from_file(path: str | Path, words: Sequence[str]) -> Tree:
    """Build the tree that a file describes, leaving out words not in `words` and nodes that then have only one child.

    Raise the errors of `read_paths`, and DataError if one of `words` has no path.
    """
    paths = read_paths(path)
    require_all(path, words, paths, "path")
    order = sorted(range(len(words)), key=lambda w: paths[words[w]][0])
    sorted_paths = [paths[words[w]][0] for w in order]
    # Among adjacent paths in this order, those with the shortest common prefix separate nearest to the root.
    common = np.array([_common(a, b) for a, b in pairwise(sorted_paths)])
    return _grow(np.array(order), lambda first, last: first + 1 + int(common[first : last - 1].argmin()))


def read_paths(path: str | Path) -> dict[str, tuple[str, int]]:
    """Read a file with a word and its path (turns from the root, 0 or 1) per line; return word -> (path, line number).

    The file is UTF-8, compressed or not, with lines in any order; empty lines are ignored. Raise InputMissing, or
    DataError with the line number if a line is invalid or has more than MAX_LINE_BYTES bytes, a word occurs twice, or a
    path starts with another word's path.
    """
    paths = read_values(path, MAX_LINE_BYTES, "path", "house 0110", lambda turns: not turns.strip(b"01"))
    for (word, (turns, number)), (other, (longer, there)) in pairwise(sorted(paths.items(), key=lambda item: item[1])):
        if longer.startswith(turns):
            raise DataError(
                f"{path}:{there}: path {longer[:60]} of {other!r} starts with {turns[:60]}, the path of {word!r} on "
                f"line {number}: no path may start with another word's path, so change one of them"
            )
    return paths


def _common(a: str, b: str) -> int:
    """Return the length of the common prefix of two strings, neither of which is a prefix of the other."""
    return next(i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)


def _grow(order: np.ndarray, cut: Callable[[int, int], int]) -> Tree:
    """Build a tree by splitting a list of words, order (V,), until each is alone; number inner nodes level by level.

    cut(first, last) may reorder order[first:last], and returns the index, between first and last, at which to split it.
    """
    size = len(order)
    parent, code = np.zeros(2 * size - 1, np.int32), np.zeros(2 * size - 1, np.uint8)
    sets, root = [(0, size)], 2 * size - 2
    for number in range(size - 1):
        first, last = sets[number]
        middle = cut(first, last)
        for side, half in enumerate([(first, middle), (middle, last)]):
            if half[1] - half[0] == 1:
                child = order[half[0]]
            else:
                child = root - len(sets)
                sets.append(half)
            parent[child], code[child] = root - number, side
    return _tree(parent, code)


def _tree(parent: np.ndarray, code: np.ndarray) -> Tree:
    """Return the tree with these parents and turns, in the format that `Tree.links` returns."""
    size = (len(parent) + 1) // 2
    if size < 2:
        raise ValueError("a tree needs at least two words")
    start = np.zeros(size + 1, np.int64)
    _depths(parent, start, size)
    np.cumsum(start, out=start)
    nodes, codes = np.empty(start[-1], np.int32), np.empty(start[-1], np.uint8)
    _paths(parent, code, start, nodes, codes, size)
    return Tree(start, nodes, codes)


@kernel()
def _merge(weight, parent, code, size):
    leaf, inner = size - 1, size
    for new in range(size, 2 * size - 1):
        weight[new] = 0
        for side in range(2):
            if leaf >= 0 and (inner >= new or weight[leaf] < weight[inner]):
                child, leaf = leaf, leaf - 1
            else:
                child, inner = inner, inner + 1
            weight[new] += weight[child]
            parent[child], code[child] = new, side


@kernel()
def _depths(parent, start, size):
    for word in range(size):
        node = word
        while node != 2 * size - 2:
            node = parent[node]
            start[word + 1] += 1


@kernel()
def _paths(parent, code, start, nodes, codes, size):
    for word in range(size):
        node = word
        for p in range(start[word + 1] - 1, start[word] - 1, -1):
            codes[p] = code[node]
            node = parent[node]
            nodes[p] = node - size


@kernel()
def _project(vectors, weight, words, axis, mean, pull, places):
    """Fill places (n,) with the positions of a set of words along its main axis, by power iteration from axis (d,)."""
    mean[:] = 0
    total = 0.0
    for w in words:
        total += weight[w]
        for j in range(len(mean)):
            mean[j] += weight[w] * vectors[w, j]
    for j in range(len(mean)):
        mean[j] /= total
    for _ in range(POWER_ITERATIONS + 1):
        pull[:] = 0
        for i, w in enumerate(words):
            place = 0.0
            for j in range(len(mean)):
                place += (vectors[w, j] - mean[j]) * axis[j]
            places[i] = place
            place *= weight[w]
            for j in range(len(mean)):
                pull[j] += place * (vectors[w, j] - mean[j])
        square = 0.0
        for j in range(len(mean)):
            square += pull[j] * pull[j]
        if square > 0:
            for j in range(len(mean)):
                axis[j] = pull[j] / math.sqrt(square)


@kernel()
def path_log_prob(start, nodes, codes, output, H, targets, log_probs):
    """Fill log_probs (B,) with log P(target|h) for H (B, width); output (V-1, width) has one row per inner node."""
    for b in range(len(H)):
        target = targets[b]
        total = 0.0
        for p in range(start[target], start[target + 1]):
            row = output[nodes[p]]
            logit = row[0] * H[b, 0]
            for j in range(1, len(row)):
                logit += row[j] * H[b, j]
            x = logit if codes[p] else -logit
            total -= max(x, 0.0) + math.log1p(math.exp(-abs(x)))
        log_probs[b] = total


@kernel()
def all_log_probs(parent, code, logits, log_sigmas, total, log_probs):
    """Fill log_probs (B, V) with log P(w|h) of all words, from logits (B, V-1) at inner nodes and their log σ.

    Each node is visited once, whatever the depth. parent, code: Tree.links; total: working memory (2V-1,).
    """
    size = log_probs.shape[1]
    for b in range(len(log_probs)):
        total[2 * size - 2] = 0
        for node in range(2 * size - 3, -1, -1):
            n = parent[node] - size
            total[node] = total[parent[node]] + log_sigmas[b, n] - code[node] * logits[b, n]
        for word in range(size):
            log_probs[b, word] = total[word]
