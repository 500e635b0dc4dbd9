"""Binary trees over the vocabulary: for every word the inner nodes from the root to it, and the turns taken.

A tree does not know what is learned at its nodes.
"""

from typing import NamedTuple

import numpy as np

from .jit import kernel


class Tree(NamedTuple):
    """Paths of all words, one after the other.

    start (V+1,) int64: word w's path is nodes[start[w]:start[w+1]]. nodes int32: inner nodes 0..V-2, root first.
    codes uint8: the turn taken at that node, 0 or 1.
    """

    start: np.ndarray
    nodes: np.ndarray
    codes: np.ndarray

    @property
    def longest(self) -> int:
        """Nodes on the longest path."""
        return int(np.diff(self.start).max())

    def mean_path(self, counts: np.ndarray) -> float:
        """Nodes a word, weighted by counts (V,)."""
        return float(np.diff(self.start) @ counts / counts.sum())


def huffman(counts: np.ndarray) -> Tree:
    """Huffman's tree (1952), built and coded as in word2vec.c. counts (V,) must be in descending order.

    Sorted counts need no heap: leaves from the end and inner nodes in their order of creation are two queues, and the
    smaller head is taken. At equal counts the leaf goes last, as in word2vec.c.
    """
    size = len(counts)
    if size < 2 or np.any(np.diff(counts) > 0):
        raise ValueError("a Huffman tree needs two words or more, in descending order of count")
    weight = np.empty(2 * size - 1, np.int64)
    weight[:size] = counts
    parent, code = np.zeros(2 * size - 1, np.int32), np.zeros(2 * size - 1, np.uint8)
    _merge(weight, parent, code, size)
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
