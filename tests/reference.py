"""Reference implementations of what the package computes fast: losses, trees, windows, training.

Tests compare the package with them. They compute in float64, one step at a time, and take what the package draws.
"""

import heapq
import importlib.util
import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from w2vtrain.architectures import architectures
from w2vtrain.config import Settings
from w2vtrain.engines.window_kernel import Windows, reach_of, read_sentence
from w2vtrain.objectives import objective_class
from w2vtrain.probability.dense import Workspace
from w2vtrain.probability.problem import Problem
from w2vtrain.probability.random_streams import draw_words, seed_stream
from w2vtrain.text.encoded import read
from w2vtrain.training import checkpoint_file, divergence, trainer
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.engine_parts import schedule_of as make_schedule
from w2vtrain.training.epoch import Order
from w2vtrain.training.events import Events
from w2vtrain.training.fingerprint import Fingerprint
from w2vtrain.training.run_files import run_config
from w2vtrain.training.state import Saved, State

OF_WORDS = [name for name, cls in architectures().items() if not cls.uses_tags()]
"""Architectures that need no documents."""
DEMO = Path(__file__).parent.parent / "data/simplewiki.txt"
COUNTS = np.array([90, 70, 40, 30, 20, 10, 9, 8, 7, 6, 5])
"""The counts of a small vocabulary."""


def zipf_text(path, seed, exponent, shape, vocabulary):
    """Write lines of words whose numbers follow Zipf's law, modulo the vocabulary; shape: lines, and words per line."""
    rng, (lines, words) = np.random.default_rng(seed), shape
    text = [" ".join(f"w{k}" for k in rng.zipf(exponent, words) % vocabulary) for _ in range(lines)]
    path.write_text("\n".join(text) + "\n")
    return path


def encode(source, *, min_count=5, max_vocab=None, vocabulary=None, threads=1, folder=None, **how):
    """Count the words of a source and encode it, with its own words unless others are given."""
    with read(source, threads=threads, folder=folder) as counted:
        return counted.encode(vocabulary or counted.vocabulary(min_count, max_vocab), **how)


def count(source, *, min_count=5, max_vocab=None, threads=1):
    """Return the vocabulary of a source and its statistics, as `vocab` finds them, which encodes nothing."""
    with read(source, threads=threads, encodes=False) as counted:
        return counted.vocabulary(min_count, max_vocab), counted.stats


def first_lines(count, path):
    """Write the first `count` lines of the demo corpus to a file, and return its path."""
    lines = DEMO.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:count]), encoding="utf-8")
    return path


def problem_of(counts, **more):
    """Return the Problem that an objective is built for, with the words a, b, ..., j, ba, bb, ..."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(letters[int(d)] for d in np.base_repr(i, 10)) if i else "a" for i in range(len(counts))]
    return Problem(words, np.asarray(counts), **{"dim": 16, **more})


def objective_of(name, counts=COUNTS, **options):
    """Return a block objective in float64 with random output rows of 6 columns, the last of which are biases."""
    problem = problem_of(counts, dim=5, bias=True, init=0.7, dtype=np.float64)
    return objective_class(name).build(problem, **options)


def begun(chunk=0, previous=None):
    """Return a workspace in which a chunk has begun. previous (B,): the words before the targets of a block."""
    work = Workspace()
    work.begin(1, 2, chunk)
    if previous is not None:
        work.previous = previous
    return work


def drawn_words(table, count, stream=None):
    """Return the words that a step draws from an alias table: the first of a chunk, or the next of a stream."""
    words = np.empty(count, np.int32)
    draw_words(begun().stream() if stream is None else stream, *table, words)
    return words.tolist()


def draws_of(objective):
    """Return the words that the first block of a chunk draws."""
    table = objective.table if hasattr(objective, "table") else (objective.accept, objective.alias)
    return drawn_words(table, objective.samples)


def hidden_vectors(rng, size, width, lengths=1.0):
    """Return H (size, width): normal, times lengths (size,). The last column is 1, for biases."""
    H = rng.normal(size=(size, width)) * np.reshape(lengths, (-1, 1))
    H[:, -1] = 1
    return H


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softplus(x):
    return max(x, 0) + math.log1p(math.exp(-abs(x)))


def slopes(loss, array):
    """Return dL/d(array) by central differences: call loss() with each element changed in place."""
    from w2vtrain.leaves.compare import objective_steps  # a leaf, without which the core is tested, too

    return objective_steps.slope(loss, array, np.arange(array.size)).reshape(array.shape)


def check_steps(objective, H, targets, work=begun):
    """Check in float64 that steps of a block objective follow the gradient of the loss that they return."""
    from w2vtrain.leaves.compare import objective_steps

    findings = objective_steps.steps(objective, objective_steps.Block(H, targets, work))
    assert not [finding for finding in findings if not finding.holds]


def check_same_step(a, b, H, targets, rate=0.05, tolerance=1e-12, work=begun):
    """Check that a step of two block objectives gives the same loss, -dL/dH and parameters."""
    (loss, dH), (other, other_dH) = (o.step(H, targets, rate, work()) for o in (a, b))
    assert loss == pytest.approx(other, rel=tolerance)
    np.testing.assert_allclose(dH, other_dH, atol=tolerance)
    for mine, theirs in zip(a.parameters().values(), b.parameters().values(), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=tolerance)


def check_step(objective, H, targets, work, loss, dH, d_output):
    """Check the loss and dH of a step in float64, and that it adds d_output times the rate to the output rows."""
    old = objective.output.copy()
    found, found_dH = objective.step(H, targets, 0.01, work)
    assert found == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(found_dH, dH, atol=1e-12)
    np.testing.assert_allclose(objective.output - old, 0.01 * d_output, atol=1e-14)


def huffman_lengths(counts):
    """Return the code lengths of a Huffman tree, computed with a heap."""
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


def implementation_of(kind, name):
    """Return the class Reference of an objective or an architecture, from tests/references/<kind>/<name>.py."""
    path = Path(__file__).parent / "references" / kind / f"{name.replace('-', '_')}.py"
    spec = importlib.util.spec_from_file_location(f"reference_{kind}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Reference


class LogisticReference:
    """The logistic loss of the scores of candidates (row, label, shift), which the objective itself draws.

    learned: the arrays that the loss depends on, by name; none here. places (optional): returns the indices in these
    arrays for a list of context words; by default, the words themselves.
    """

    def __init__(self, objective):
        self.objective, self.learned = objective, {}

    def loss(self, scores, found, words):
        """Return the loss of scores (..., m): the candidates against one hidden vector, made of these context words.

        It is the sum of log(1 + exp(x)) - label x, with x = score - shift.
        """
        _, labels, shifts = np.transpose(found)
        x = scores - shifts
        return (np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))) - labels * x).sum(axis=-1)


def line_of(h, rows, found, objective, words):
    """Return the loss of one hidden vector, made from these context words, against the candidates."""
    return float(objective.loss(rows[[r for r, _, _ in found]] @ h, found, words))


def slopes_of_line(h, rows, found, objective, words, step=1e-5):
    """Return the loss L of one hidden vector, dL/dscore (m,), and dL/d(learned array) by (array name, index).

    The slopes are central differences.
    """
    scores = rows[[r for r, _, _ in found]] @ h
    moves = step * np.eye(len(scores))
    losses = objective.loss(scores + np.concatenate([moves, -moves, 0 * moves[:1]]), found, words)
    by_score = (losses[: len(moves)] - losses[len(moves) : -1]) / (2 * step)
    learned = {}
    for name, array in objective.learned.items():
        for place in set(getattr(objective, "places", list)(words)):
            kept, values = array[place], []
            for move in (step, -step):
                array[place] = kept + move
                values.append(float(objective.loss(scores, found, words)))
            array[place] = kept
            learned[name, place] = (values[0] - values[1]) / (2 * step)
    return float(losses[-1]), by_score, learned


def parts(architecture, context, left):
    """Return the examples of a window: (number, the context words that it is made from)."""
    if architecture.pairs:
        return [(k, [word]) for k, word in enumerate(context)]
    return [(0, context)] if context else []


def with_bias(h, bias):
    """Return a hidden vector, with a 1 appended if there are biases."""
    return np.append(h, 1.0) if bias else h


def learn_window(architecture, objective, window, found, rows, output, lr, bias=False):
    """Train on a window (context words, how many come before the target), from old values. Return (loss, examples)."""
    context, left = window
    if hasattr(architecture, "rate_scale"):
        lr *= architecture.rate_scale(len(context))
    old, loss, changes = output.copy(), 0.0, []
    old_rows = rows.copy()
    numbered = parts(architecture, context, left)
    for number, words in numbered:
        h = with_bias(architecture.hidden(old_rows, context, left, number), bias)
        part, by_score, learned = slopes_of_line(h, old, found, objective, words)
        loss += part
        changes.append((number, h, by_score, learned))
    for number, h, by_score, learned in changes:
        dh = np.zeros(len(h))
        for (row, _, _), slope in zip(found, by_score, strict=True):
            dh -= slope * old[row]
            output[row] -= lr * slope * h
        architecture.learn(rows, context, left, number, dh[: len(dh) - bias], lr)
        for (name, place), slope in learned.items():
            objective.learned[name][place] -= lr * slope
    return loss, len(numbered)


def candidates_of(objective, sentence, position, rng):
    """Return the candidates (row, label, shift) of the target at a position of a sentence, as the objective draws them.

    As in the engine, the labels hold what earlier targets left.
    """
    m = objective.candidate_limit
    arrays = np.zeros(m, np.int32), np.full(m, 9, np.float32), np.zeros(m, np.float32)
    m = objective.candidates(np.array(sentence, np.int32), position, rng, *arrays)
    return list(zip(*(array[:m].tolist() for array in arrays), strict=True))


def drawn(sentences, keep, windows, stream, objective=None, step=1):
    """Return what the package draws for one chunk, by running the functions of its kernels as plain Python.

    stream: (seed, epoch, chunk). For each sentence, return a tuple: the words that subsampling keeps, between sentence
    ends if there are any; the reach of each target's window; and the candidates of every `step`-th target, none without
    an objective. As in the window engine, the candidates of the next target are drawn before the reach of this one.
    """
    rng, found = np.zeros(2, np.uint64), []
    seed_stream(rng, *stream)
    if objective is not None:
        objective.begin(rng)
        rng[1] = rng[0]
    for words in sentences:
        kept, ended = np.zeros(len(words), np.int32), [windows.end] * (windows.end >= 0)
        _, n = read_sentence(np.array(words, np.int32), 0, len(words), keep, Windows(), rng, kept)
        padded, reaches, candidates = [windows.end] * windows.pads + kept[:n].tolist() + ended, [], []
        for position in range(windows.pads, len(padded) + 1):
            if objective is not None and position < len(padded) and (position - windows.pads) % step == 0:
                candidates.append(candidates_of(objective, padded, position, rng))
            if position > windows.pads:
                reaches.append(reach_of(windows, rng))
        found.append((padded, reaches, candidates))
    return found


def train(architecture, objective, sentences, keep, windows, rows, output, lr, stream, bias=False, tags=None):
    """Train on one chunk, with what the window engine draws for it. Return (loss, examples).

    tags: the rows of the tags of each sentence's document, if sentences belong to documents.
    """
    loss = count = 0
    sentences_drawn = drawn(sentences, keep, windows, stream, objective.objective)
    for (words, reaches, candidates), own in zip(sentences_drawn, tags or [[]] * len(sentences), strict=True):
        for (_, context, left, _), found in zip(contexts(words, windows, reaches), candidates, strict=True):
            part = learn_window(architecture, objective, (context + own, left), found, rows, output, lr, bias)
            loss, count = loss + part[0], count + part[1]
    return loss, count


def train_groups(architecture, objective, sentences, keep, windows, rows, output, lr, stream, tags, size=4):
    """Train as `train` on tags alone, where `size` consecutive targets share the noise words of the first."""
    loss = count = 0
    sentences_drawn = drawn(sentences, keep, windows, stream, objective.objective, step=size)
    for (words, _, candidates), own in zip(sentences_drawn, tags, strict=True):
        for k, found in enumerate(candidates):
            targets = words[windows.pads :][size * k : size * (k + 1)]
            noise = [one for one in found[1:] if one[0] not in targets]
            for chosen, times in ([(word, 1.0, 0.0) for word in targets], 1), (noise, len(targets)):
                part, _ = learn_window(architecture, objective, (own, 0), chosen, rows, output, times * lr)
                loss += times * part
            count += len(targets) * len(own)
    return loss, count


def contexts(words, windows, reaches):
    """Yield for each target of a sentence: (target, context words, how many come before it, word before it or -1)."""
    for t, reach in enumerate(reaches, windows.pads):
        before = words[max(0, t - reach) : t] if windows.left else []
        after = words[t + 1 : t + 1 + reach] if windows.right else []
        if windows.full:
            before = [-1] * (windows.size - len(before)) + before
            after += [-1] * (windows.size - len(after))
        yield words[t], before + after, len(before), words[t - 1] if t else -1


def examples(sentences, keep, windows, architecture, stream, tags=None):
    """Return all examples of a chunk in the order of the block engine. tags: see `train`.

    Each is (target, context words, how many come before the target, number, word before the target or -1).
    """
    return [
        (target, context + own, left, number, before)
        for (words, reaches, _), own in zip(
            drawn(sentences, keep, windows, stream), tags or [[]] * len(sentences), strict=True
        )
        for target, context, left, before in contexts(words, windows, reaches)
        for number, _ in parts(architecture, context + own, left)
    ]


def topics(rng, sentences=1500, groups=6, words=8, length=12):
    """Return the tokens and counts of sentences about one topic each, and the topic of each word.

    Words of the same topic should get similar vectors.
    """
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


def schedule_of(**given):
    """Return a schedule for one thread, with the defaults of skip-gram for what is not given."""
    settings = Settings(**{"alpha": 0.05, "min_alpha": 5e-6, "threads": 1, "shuffle": True, "block": 32, **given})
    return make_schedule(settings)


def trained(engine, text, schedule):
    """Compile an engine and train it, each thread on every n-th chunk. Return the mean loss and examples by epoch."""
    engine.compile()
    epochs, threads, total = [], schedule.threads, schedule.epochs * text.words.sum()
    for epoch in range(schedule.epochs):
        order = Order.of(text, schedule, epoch)
        rates = schedule.rate(order.before / total)
        with ThreadPoolExecutor(threads) as pool:
            work = [
                pool.submit(engine.train, order.chunks[first::threads], rates[first::threads], epoch, first)
                for first in range(threads)
            ]
        losses, examples = zip(*[one.result() for one in work], strict=True)
        if not math.isfinite(sum(losses)):
            raise divergence.diverged(schedule.alpha, epoch + 1)
        epochs.append((sum(losses) / sum(examples), sum(examples)))
    divergence.check_weights(engine.weights(), schedule.alpha, schedule.epochs, 1.0)
    return epochs


def stopping(epoch):
    """Return what takes the place of `commands.fit_run.train`, and stops the run after an epoch, as a signal would."""

    def train(plan, run, *, events, **more):
        stop = Events(epoch=lambda done, _: setattr(run, "stop_requested", done.epoch == epoch))
        return trainer.train(plan, run, events=stop, **more)

    return train


class StopsAt(CheckpointedRun):
    """A run that is asked to stop at the n-th call of `due`."""

    def __init__(self, folder, n):
        super().__init__(folder)
        self.left = n

    def due(self):
        self.left -= 1
        self.stop_requested = self.stop_requested or self.left == 0
        return self.stop_requested


def begin(run, settings, **about):
    """Begin a run that has no outputs, in its folder."""
    run.read(settings, {"cwd": "", "request": {}, **about})
    run.begin_outputs(run.config.complete)


def saved(epoch):
    """Return what a checkpoint says about a run that has completed this many epochs."""
    return Saved(State(epoch=epoch), Fingerprint(0, 0, []), [], 0, 0.0, None, 0, False, settings="")


def newest_checkpoint(folder):
    """Return the newest checkpoint of the run in a folder; None if there is no folder."""
    return checkpoint_file.newest(folder, run_config(folder).run) if folder.exists() else None


def stopping_after(epoch, patch):
    """Let runs of the command line stop after this epoch, as if a signal had requested it."""
    patch.setattr("w2vtrain.commands.fit_run.train", stopping(epoch))
