"""Binary trees over the vocabulary: for every word the inner nodes from the root to it, and the turns taken.

What is learned at the nodes comes from outside, also where log-probabilities are summed along the paths. No function
calls itself, so that a tree may be as deep as it has words.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from w2vtrain.errors import DataError
from w2vtrain.kernels.jit import kernel
from w2vtrain.system.reading import read_lines

LONGEST_LINE = 1 << 20
"""Bytes of a line of a tree's file: a path may be as long as there are words."""
TURNS = 6
"""Power iterations for the axis that a set of words is split along."""


class Tree(NamedTuple):
    """Paths of all words, one after the other.

    start (V+1,) int64: word w's path is nodes[start[w]:start[w+1]]. nodes int32: inner nodes 0..V-2, root first; the
    root is V-2, and numbers fall along every path. codes uint8: the turn taken at that node, 0 or 1.
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

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        """The node above each and the turn to it: (2V-1,) int32 and uint8. Words come first, then inner nodes."""
        size = len(self.start) - 1
        below = np.empty(len(self.nodes), np.int64)
        below[:-1] = self.nodes[1:] + size
        below[self.start[1:] - 1] = np.arange(size)
        parent, code = np.zeros(2 * size - 1, np.int32), np.zeros(2 * size - 1, np.uint8)
        parent[below], code[below] = self.nodes + size, self.codes
        return parent, code


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
    return _tree(parent, code)


def balanced(size: int) -> Tree:
    """The complete tree of `size` words: paths of ceil(log2 V) nodes, or one less for the first and frequent words.

    It is numbered as a heap: node i has the children 2i and 2i + 1, and the words come last, V..2V-1.
    """
    if size < 2:
        raise ValueError("a tree needs two words or more")
    heap = np.concatenate([np.arange(size, 2 * size), np.arange(size - 1, 0, -1)])
    return _tree((2 * size - 1 - (heap >> 1)).astype(np.int32), (heap & 1).astype(np.uint8))


def clustered(counts: np.ndarray, vectors: np.ndarray) -> Tree:
    """A tree that keeps like words together: counts (V,), and vectors (V, d) of an earlier run.

    In the spirit of Mnih & Hinton 2008, "A scalable hierarchical distributed language model": each set of words is
    split along its main axis, where that best halves its counts. A word with half of them is split off alone, or it
    would go on standing in the middle: so frequent words have short paths.
    """
    size, d = vectors.shape
    vectors = np.ascontiguousarray(vectors, np.float32)
    weight = np.maximum(counts, 0.5)
    order, along = np.arange(size), np.empty(size)
    start, mean, axis, pull = np.random.default_rng(1).standard_normal(d), np.empty(d), np.empty(d), np.empty(d)

    def cut(first: int, last: int) -> int:
        words, places = order[first:last], along[first:last]
        axis[:] = start
        _project(vectors, weight, words, axis, mean, pull, places)
        heaviest = weight[words].argmax()
        if 2 * weight[words[heaviest]] >= weight[words].sum():
            places[heaviest] = -np.inf
        words[:] = words[np.argsort(places, kind="stable")]
        left = np.cumsum(weight[words])
        return first + 1 + int(np.abs(2 * left[:-1] - left[-1]).argmin())

    return _grow(order, cut)


def tree_from_file(path: str | Path, words: Sequence[str]) -> Tree:
    """The tree of a file that `read_paths` reads. Its other words are taken out, and nodes that decide nothing, too.

    DataError, beside that of `read_paths`, where a word has no path.
    """
    paths = read_paths(path)
    if missing := [word for word in words if word not in paths]:
        others = f" and {len(missing) - 1:,} other words" if len(missing) > 1 else ""
        raise DataError(
            f"{path}: no path for {missing[0]!r}{others} of the vocabulary: add lines of a word and its path, "
            "or take the vocabulary from the file's words"
        )
    order = sorted(range(len(words)), key=lambda w: paths[words[w]][0])
    sorted_paths = [paths[words[w]][0] for w in order]
    # Of neighbors in this order those with the fewest common turns part nearest to the root.
    common = np.array([_common(a, b) for a, b in pairwise(sorted_paths)])
    return _grow(np.array(order), lambda first, last: first + 1 + int(common[first : last - 1].argmin()))


def read_paths(path: str | Path) -> dict[str, tuple[str, int]]:
    """Read lines of a word and its path, the turns 0 and 1 from the root on: word -> path and number of the line.

    UTF-8, in any order, compressed or not; empty lines count for nothing. Raises InputMissing, or DataError naming
    the line: for what is no such line or has more than LONGEST_LINE bytes, for a word that occurs twice, and for a
    path that goes on behind another word.
    """
    paths: dict[str, tuple[str, int]] = {}
    for number, line in read_lines(path, LONGEST_LINE):
        fields = (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).split()
        if not fields:
            continue
        word, turns = _entry(fields, f"{path}:{number}")
        if word in paths:
            raise DataError(
                f"{path}:{number}: the word {word!r} has a path in line {paths[word][1]} already: keep one of them"
            )
        paths[word] = turns, number
    if not paths:
        raise DataError(f"{path} is empty: want lines of a word, a space and its path of 0 and 1")
    for (word, (turns, number)), (other, (longer, there)) in pairwise(sorted(paths.items(), key=lambda item: item[1])):
        if longer.startswith(turns):
            raise DataError(
                f"{path}:{there}: the path {longer[:60]} of {other!r} goes through the end of {turns[:60]}, the path "
                f"of {word!r} in line {number}: a word ends its branch, so change one of them"
            )
    return paths


def _entry(fields: list[bytes], where: str) -> tuple[str, str]:
    if len(fields) != 2 or fields[1].strip(b"01"):
        got = b" ".join(fields)[:80]
        raise DataError(f"{where}: want a word, a space and its path of 0 and 1, such as 'house 0110', got {got!r}")
    try:
        return fields[0].decode(), fields[1].decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8 at byte {error.start} of the word: save the file as UTF-8") from error


def _common(a: str, b: str) -> int:
    """How many characters are the same before the first that differs."""
    return next(i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)


def _grow(order: np.ndarray, cut: Callable[[int, int], int]) -> Tree:
    """Split a list of words, order (V,), until each stands alone: inner nodes are numbered level by level, root first.

    cut(first, last) -> middle, first < middle < last, splits order[first:last], which it may sort before.
    """
    size = len(order)
    if size < 2:
        raise ValueError("a tree needs two words or more")
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
    """The paths, by the node above each and the turn to it, as Tree.links gives them."""
    size = (len(parent) + 1) // 2
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
    """places (n,) <- where a set of words lies along its main axis, which is sought from `axis` (d,) on."""
    mean[:] = 0
    total = 0.0
    for w in words:
        total += weight[w]
        for j in range(len(mean)):
            mean[j] += weight[w] * vectors[w, j]
    for j in range(len(mean)):
        mean[j] /= total
    for _ in range(TURNS + 1):
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
def path_log_prob(start, nodes, codes, output, H, targets, found):
    """found (B,) <- log P(target|h): rows of output (V-1, width) give the logits at nodes, H (B, width)."""
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
        found[b] = total


@kernel()
def all_log_probs(parent, code, logits, log_sigmas, total, found):
    """found (B, V) <- log P(w|h) of all words, by logits (B, V-1) at the nodes and their log σ; total (2V-1,) is used.

    From the root down each node is looked at once, whatever the depth; parent, code: Tree.links.
    """
    size = found.shape[1]
    for b in range(len(found)):
        total[2 * size - 2] = 0
        for node in range(2 * size - 3, -1, -1):
            n = parent[node] - size
            total[node] = total[parent[node]] + log_sigmas[b, n] - code[node] * logits[b, n]
        for word in range(size):
            found[b, word] = total[word]
