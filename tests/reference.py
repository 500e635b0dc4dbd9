"""Naive, readable twins of what the package computes fast: losses, trees, samplers, windows. Tests compare with them.

Everything is float64 and one step at a time.
"""

import heapq
import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from w2vtrain.probability.dense import Workspace
from w2vtrain.probability.problem import Problem

MASK = 2**64 - 1
DEMO = Path(__file__).parent.parent / "data/simplewiki.txt"


def first_lines(count, path):
    """Real text: so many lines of the demo corpus, written to a file; returns its path."""
    lines = DEMO.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:count]), encoding="utf-8")
    return path


def problem_of(counts, **more):
    """What an objective is built for, with words a, b, c, ... , ba, bb."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(letters[int(d)] for d in np.base_repr(i, 10)) if i else "a" for i in range(len(counts))]
    return Problem(words, np.asarray(counts), **{"dim": 16, **more})


def begun(chunk=0, previous=None):
    """A workspace that has begun a chunk; previous (B,): the words before a block's targets."""
    work = Workspace()
    work.begin(1, 2, chunk)
    if previous is not None:
        work.previous = previous
    return work


def hidden_vectors(rng, size, width, lengths=1.0):
    """H (size, width), normal times lengths (size,); the last column is 1, for biases."""
    H = rng.normal(size=(size, width)) * np.reshape(lengths, (-1, 1))
    H[:, -1] = 1
    return H


class Stream:
    """splitmix64, in Python integers."""

    def __init__(self, state=0):
        self.state = state

    @staticmethod
    def mix(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
        return z ^ (z >> 31)

    @classmethod
    def of_chunk(cls, seed, epoch, chunk):
        state = 0
        for part in (seed, epoch, chunk):
            state = cls.mix(state + part + 0x9E3779B97F4A7C15 & MASK)
        return cls(state)

    @classmethod
    def of_step(cls, work):
        """What a step with this workspace draws from."""
        return cls(int(work.rng.integers(1 << 64, dtype=np.uint64)))

    def draw(self):
        self.state = self.state + 0x9E3779B97F4A7C15 & MASK
        return self.mix(self.state)

    def below(self, n):
        return ((self.draw() >> 32) * n) >> 32

    def alias(self, accept, alias):
        bits = self.draw()
        i = ((bits >> 32) * len(accept)) >> 32
        return i if bits & 0xFFFFFFFF < int(accept[i]) else int(alias[i])


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softplus(x):
    return max(x, 0) + math.log1p(math.exp(-abs(x)))


def slopes(loss, array, step=1e-5):
    """dL/d(array) by central differences: loss() is taken with each element moved in place."""
    found = np.zeros(array.shape)
    for place in np.ndindex(array.shape):
        kept = array[place]
        array[place] = kept + step
        up = loss()
        array[place] = kept - step
        found[place] = (up - loss()) / (2 * step)
        array[place] = kept
    return found


def check_block_gradients(objective, H, targets, rate=1e-3, tolerance=1e-6, work=begun):
    """Identity 1 for a block objective in float64: what a step adds is -lr times the slopes of the loss it returns.

    work() is the workspace of every step. Returns by name how much every parameter learned, divided by the rate.
    """

    def step(lr=0.0):
        return objective.step(H, targets, lr, work())

    before = {name: array.copy() for name, array in objective.parameters().items()}
    _, dh = step()
    np.testing.assert_allclose(dh, -slopes(lambda: step()[0], H), atol=tolerance)
    expected = {name: -slopes(lambda: step()[0], array) for name, array in objective.parameters().items()}
    for name, array in objective.parameters().items():
        np.testing.assert_array_equal(array, before[name], err_msg=f"{name} changed at rate 0")
    _, again = step(rate)
    np.testing.assert_array_equal(again, dh)
    learned = {name: (array - before[name]) / rate for name, array in objective.parameters().items()}
    for name, change in learned.items():
        np.testing.assert_allclose(change, expected[name], atol=tolerance, err_msg=name)
    return learned


def check_same_step(a, b, H, targets, rate=0.05, tolerance=1e-12, work=begun):
    """Two block objectives learn the same of a block: losses, -dL/dH and what they have learned then."""
    (loss, dH), (other, other_dH) = (o.step(H, targets, rate, work()) for o in (a, b))
    assert loss == pytest.approx(other, rel=tolerance)
    np.testing.assert_allclose(dH, other_dH, atol=tolerance)
    for mine, theirs in zip(a.parameters().values(), b.parameters().values(), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=tolerance)


def check_float32(wide, narrow, H, targets, work=begun):
    """A block objective in float32 learns what it learns in float64, from the same rows."""
    narrow.output[:] = wide.output
    loss, dH = wide.step(H, targets, 0.05, work())
    other, other_dH = narrow.step(H.astype(np.float32), targets, 0.05, work())
    assert other_dH.dtype == np.float32
    assert other == pytest.approx(loss, rel=1e-5)
    np.testing.assert_allclose(other_dH, dH, atol=1e-5)
    np.testing.assert_allclose(narrow.output, wide.output, atol=1e-5)


def huffman_lengths(counts):
    """Code lengths of a Huffman tree, by a heap."""
    heap = [(int(c), i, (i,)) for i, c in enumerate(counts)]
    lengths = [0] * len(counts)
    heapq.heapify(heap)
    tie = len(counts)
    while len(heap) > 1:
        a, b = heapq.heappop(heap), heapq.heappop(heap)
        for leaf in a[2] + b[2]:
            lengths[leaf] += 1
        heapq.heappush(heap, (a[0] + b[0], tie, a[2] + b[2]))
        tie += 1
    return lengths


class Neg:
    """Candidates (row, label, shift) of a target, in the order of the stream's draws."""

    def __init__(self, objective):
        self.objective = objective

    def candidates(self, target, stream):
        o = self.objective
        found = [(target, 1.0, 0.0)]
        while len(found) <= o.negative:
            word = stream.alias(o.accept, o.alias)
            if word != target:
                found.append((word, 0.0, 0.0))
        return found


class Nce:
    def __init__(self, objective):
        self.objective = objective
        self.log_z = objective.log_z.astype(np.float64).copy() if objective.learn_z else None

    def candidates(self, target, stream):
        o = self.objective
        words = [target] + [stream.alias(o.accept, o.alias) for _ in range(o.negative)]
        return [(w, float(k == 0), float(o.log_kq[w])) for k, w in enumerate(words)]


class Hs:
    def __init__(self, objective):
        self.objective = objective

    def candidates(self, target, stream):
        o = self.objective
        tree = o.arrays()
        path = range(o.start[target], o.start[target + 1])
        return [(int(tree["tree.nodes"][p]), 1.0 - int(tree["tree.codes"][p]), 0.0) for p in path]


TWINS = {"neg": Neg, "nce": Nce, "hs": Hs}


def loss_of_line(h, found, w_out, z=0.0):
    """Loss of one hidden vector: sum of log(1 + exp(x)) - label x, x = o.h - shift - z."""
    return sum(softplus(w_out[r] @ h - s - z) - y * (w_out[r] @ h - s - z) for r, y, s in found)


def learn_window(model, context, found, w_in, w_out, lr, twin, corrected=False):
    """One window, all from the old values; returns its loss. Gradients are written out from the definition."""
    z = getattr(twin, "log_z", None)
    groups = [[c] for c in context] if model == "skipgram" else [context]
    old_in, old_out, old_z = w_in.copy(), w_out.copy(), None if z is None else z.copy()
    loss = 0.0
    for group in groups:
        h = np.mean([old_in[c] for c in group], axis=0)
        log_z = 0.0 if z is None else np.mean([old_z[c] for c in group])
        dh = np.zeros_like(h)
        for r, y, s in found:
            x = old_out[r] @ h - s - log_z
            loss += softplus(x) - y * x
            g = y - sigmoid(x)
            dh += g * old_out[r]
            w_out[r] += lr * g * h
            if z is not None:
                for c in group:
                    z[c] -= lr * g / len(group)
        for c in group:
            w_in[c] += lr * dh * (1 / len(group) if corrected else 1)
    return loss


def train(model, twin, sentences, keep, window, shrink, w_in, w_out, lr, stream, corrected=False):
    """One chunk as the window engine walks it: the same draws in the same order. Returns (loss, examples)."""
    loss = examples = 0
    for words in sentences:
        kept = [w for w in words if stream.draw() >> 32 <= keep[w]]
        found = twin.candidates(kept[0], stream) if kept else []
        for t in range(len(kept)):
            this = found
            if t + 1 < len(kept):
                found = twin.candidates(kept[t + 1], stream)
            reach = window - stream.below(window) if shrink else window
            context = kept[max(0, t - reach) : t] + kept[t + 1 : t + 1 + reach]
            if context:
                loss += learn_window(model, context, this, w_in, w_out, lr, twin, corrected)
                examples += len(context) if model == "skipgram" else 1
    return loss, examples


def contexts(words, windows, stream):
    """Of one sentence: (target, [(context word, its position weight)], word before the target or -1), one a target."""
    pads = [windows.end] * windows.pads if windows.end >= 0 else []
    padded = pads + words + [windows.end] * (windows.end >= 0)
    for t in range(windows.pads, len(padded)):
        reach = windows.size - stream.below(windows.size) if windows.shrink else windows.size
        near = []
        if windows.left:
            near += [(padded[t - d], d - 1) for d in range(reach, 0, -1) if t >= d]
        if windows.right:
            near += [(padded[t + d], windows.size + d - 1) for d in range(1, reach + 1) if t + d < len(padded)]
        yield padded[t], near, padded[t - 1] if t else -1


def examples(sentences, keep, windows, pairs, stream):
    """All examples as the block engine gathers them: (target, [(context word, position weight)], word before)."""
    found = []
    for words in sentences:
        kept = [w for w in words if stream.draw() >> 32 <= keep[w]]
        for target, near, before in contexts(kept, windows, stream):
            found += [(target, part, before) for part in ([[pair] for pair in near] if pairs else [near]) if part]
    return found


def hidden(near, rows, weights, bias):
    """h of one example: the mean of its context's rows, or their sum, each times the weights of its position."""
    parts = [rows[c] if weights is None else weights[place] * rows[c] for c, place in near]
    h = np.mean(parts, axis=0) if weights is None else np.sum(parts, axis=0)
    return np.append(h, 1.0) if bias else h


def topics(rng, sentences=1500, groups=6, words=8, length=12):
    """Sentences about one topic each: words of a topic should end up alike. Returns tokens, counts, topic of a word."""
    size = groups * words
    topic = np.arange(size) % groups
    lines = [rng.choice(np.flatnonzero(topic == rng.integers(groups)), length) for _ in range(sentences)]
    counts = np.bincount(np.concatenate(lines), minlength=size)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(size, np.int64)
    rank[order] = np.arange(size)
    tokens = np.concatenate([[*rank[line], -1] for line in lines]).astype(np.int32)
    return tokens, counts[order], topic[order]


def chunks(tokens, size):
    ends = np.flatnonzero(tokens < 0) + 1
    starts = np.unique(np.concatenate([[0], ends[size - 1 :: size], [len(tokens)]]))
    return starts, np.array([(tokens[a:b] >= 0).sum() for a, b in itertools.pairwise(starts)])
