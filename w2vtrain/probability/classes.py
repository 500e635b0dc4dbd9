"""Classes of words, for a softmax over classes and then over the words of one class: dividing words, and kernels.

The kernels handle the words of a target's class; the softmax over classes is an ordinary one (dense.py).
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.probability.problem import damaged
from w2vtrain.probability.trees import along_axis
from w2vtrain.probability.word_files import read_values, require_all

MAX_LINE_BYTES = 1 << 16
"""Maximum number of bytes per line of a file of classes."""
MAX_SIZE_RATIO = 4
"""Maximum number of words per class, as a multiple of the mean (rounded up). Classes from a file may be larger."""


class Classes(NamedTuple):
    """A division of V words into C classes, each with at least one word.

    of: (V,) int32, the class of each word. words: (V,) int32, all words, sorted by class. start: (C+1,) int64; the
    words of class c are words[start[c]:start[c+1]].
    """

    of: np.ndarray
    words: np.ndarray
    start: np.ndarray

    @classmethod
    def from_labels(cls, of: np.ndarray) -> "Classes":
        """Return the classes for labels (V,), which are 0 to C-1, each used at least once."""
        of = np.ascontiguousarray(of, np.int32)
        start = np.concatenate([[0], np.cumsum(np.bincount(of))])
        return cls(of, np.argsort(of, kind="stable").astype(np.int32), start.astype(np.int64))

    @property
    def sizes(self) -> np.ndarray:
        """The number of words of each class, (C,)."""
        return np.diff(self.start)


def by_frequency(counts: np.ndarray, count: int) -> Classes:
    """Divide words into bins of neighboring frequency, for counts (V,) in descending order.

    The bins have nearly equal sums of √frequency. Where P(c) is the probability of class c and n_c its size, Σ P(c) n_c
    words are scored per target on average; for a given number of bins, equal sums of √frequency minimize that.
    """
    return divided(_weight(counts), count)


def by_similarity(counts: np.ndarray, vectors: np.ndarray, count: int) -> Classes:
    """Divide words into clusters of similar vectors (V, d), as `trees.clustered` splits sets of words.

    Their sums of √frequency are nearly equal, as in `by_frequency`.
    """
    weight = _weight(counts)
    return divided(weight, count, along_axis(weight, vectors))


def _weight(counts: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.maximum(counts, 0.5)))


def divided(weight: np.ndarray, count: int, arrange: Callable[[np.ndarray], None] = lambda words: None) -> Classes:
    """Divide words with weights (V,) into `count` classes of nearly equal weight, by cutting sets of words in two.

    No class is empty or has more than MAX_SIZE_RATIO times the mean number of words. arrange(words) may reorder a set
    of words, in place, before it is cut.
    """
    most = MAX_SIZE_RATIO * -(-len(weight) // count)
    order, sets, starts = np.arange(len(weight)), [(0, len(weight), count)], []
    for first, last, parts in sets:
        if parts == 1:
            starts.append(first)
            continue
        words, n, left = order[first:last], last - first, parts // 2
        arrange(words)
        total = np.cumsum(weight[words])
        at = 1 + int(np.abs(total[:-1] - total[-1] * left / parts).argmin())
        at = min(max(at, left, n - (parts - left) * most), n - (parts - left), left * most)
        sets += [(first, first + at, left), (first + at, last, parts - left)]
    of = np.empty(len(weight), np.int32)
    of[order] = np.repeat(np.arange(count), np.diff([*sorted(starts), len(weight)]))
    return Classes.from_labels(of)


def classes_from_file(path: str | Path, words: Sequence[str]) -> Classes:
    """Return the classes that a file gives to `words`; it may have other words, too.

    Raise the errors of `read_classes`, and DataError if one of `words` has no class.
    """
    labels = read_classes(path)
    require_all(path, words, labels, "class")
    number: dict[str, int] = {}
    return Classes.from_labels(np.array([number.setdefault(labels[word][0], len(number)) for word in words]))


def read_classes(path: str | Path) -> dict[str, tuple[str, int]]:
    """Read a file with a word, a tab or spaces, and the name of its class per line; return word -> (name, line number).

    Raise the errors of `word_files.read_values`; a line has at most MAX_LINE_BYTES bytes.
    """
    return read_values(path, MAX_LINE_BYTES, "class", "house 17", lambda label: True)


def checked_classes(of: np.ndarray, words: int, classes: int) -> Classes:
    """Return the classes of a model with this many words and rows of classes.

    Raise DataError if they do not match, because a kernel that follows them could leave the arrays.
    """
    good = of.dtype == np.int32 and of.shape == (words,) and classes > 0 and of.min() >= 0 and of.max() < classes
    if not good or not np.bincount(of, minlength=classes).all():
        raise damaged("classes do not fit its words and output vectors")
    return Classes.from_labels(of)


@inline
def _scores(output, members, h, s):
    """Fill s (n,) with the scores of words `members` (n,) for one hidden vector h (width,)."""
    for k in range(len(members)):
        row, score = output[members[k]], s.dtype.type(0)
        for j in range(len(h)):
            score += row[j] * h[j]
        s[k] = score


@inline
def _normalize(s):
    """Replace scores s (n,) with probabilities; return log Σ exp(s)."""
    top = s[0]
    for k in range(1, len(s)):
        if s[k] > top:
            top = s[k]
    z = 0.0
    for k in range(len(s)):
        s[k] = math.exp(s[k] - top)
        z += s[k]
    for k in range(len(s)):
        s[k] /= z
    return top + math.log(z)


@kernel()
def add_log_prob(classes, output, H, targets, s, log_probs):
    """Add log P(target|its class, h) to log_probs (B,), for H (B, width). s (largest class,) is working memory."""
    for b in range(len(H)):
        c = classes.of[targets[b]]
        members = classes.words[classes.start[c] : classes.start[c + 1]]
        _scores(output, members, H[b], s)
        hit = s.dtype.type(0)
        for k in range(len(members)):
            if members[k] == targets[b]:
                hit = s[k]
        log_probs[b] += hit - _normalize(s[: len(members)])


@kernel()
def learn_words(classes, output, H, targets, order, lr, g, dH):
    """Train the words' rows with L = -log P(target|its class, h), all examples from the old rows; return the loss.

    order (B,): the examples, sorted by their targets' classes, so that each row is read and changed once. -dL/dH is
    added to dH (B, width). g (B, largest class) is working memory.
    """
    loss, first = 0.0, 0
    while first < len(order):
        c, last = classes.of[targets[order[first]]], first + 1
        while last < len(order) and classes.of[targets[order[last]]] == c:
            last += 1
        members = classes.words[classes.start[c] : classes.start[c + 1]]
        loss += _learn_class(output, members, H, targets, order[first:last], lr, g, dH)
        first = last
    return loss


@inline
def _learn_class(output, members, H, targets, examples, lr, g, dH):
    """Train on examples (n,) whose targets are all among `members`, the words of one class; return the loss."""
    loss, width = 0.0, H.shape[1]
    for b in examples:
        s = g[b, : len(members)]
        _scores(output, members, H[b], s)
        hit = 0
        while members[hit] != targets[b]:
            hit += 1
        score = s[hit]
        loss += _normalize(s) - score
        for k in range(len(members)):
            s[k] = -s[k]
        s[hit] += 1
    for k in range(len(members)):
        row = output[members[k]]
        for b in examples:
            for j in range(width):
                dH[b, j] += g[b, k] * row[j]
        for b in examples:
            step = lr * g[b, k]
            for j in range(width):
                row[j] += step * H[b, j]
    return loss
