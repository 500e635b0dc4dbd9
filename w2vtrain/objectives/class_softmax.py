"""Softmax in two levels: over classes of words, then over the words of the target's class (Goodman 2001).

It is exactly normalized and samples nothing.
"""

import math
from dataclasses import replace

import numpy as np

from w2vtrain.errors import shown
from w2vtrain.objectives.contract import rates
from w2vtrain.probability.classes import (
    Classes,
    add_log_prob,
    by_frequency,
    by_similarity,
    checked_classes,
    classes_from_file,
    learn_words,
    read_classes,
)
from w2vtrain.probability.dense import (
    LOGITS_AT_ONCE,
    NormalizedScorer,
    Workspace,
    learn_softmax,
    log_softmax,
    log_sum_exp,
)
from w2vtrain.probability.problem import Arrays, Options, Problem, bad_option, check_ranges, damaged
from w2vtrain.probability.word_files import check_named, check_named_files, vectors_of

GROUP = "structure"
DEFAULTS = rates(skipgram=0.05, cbow=0.05, cbow_corrected=0.05, vlbl=0.05)
CLASSES = ("frequency", "cluster")


class ClassScorer(NormalizedScorer):
    """Scores of words in classes: log P(w|h) = log P(class of w|h) + log P(w|class of w, h), which is normalized.

    rows (C, width), output (V, width): the output rows of the classes and of the words.
    """

    def __init__(self, classes: Classes, rows: np.ndarray, output: np.ndarray) -> None:
        self.classes, self.rows, self.output = classes, rows, output

    def log_prob(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        logits = H @ self.rows.T
        log_probs = logits[np.arange(len(H)), self.classes.of[targets]]
        log_probs -= log_sum_exp(logits)
        add_log_prob(self.classes, self.output, H, targets, np.empty(self.classes.sizes.max(), H.dtype), log_probs)
        return np.asarray(log_probs)

    def log_probs(self, H: np.ndarray) -> np.ndarray:
        all_words = np.empty((len(H), len(self.output)), H.dtype)
        step = max(1, LOGITS_AT_ONCE // len(self.output))
        for first in range(0, len(H), step):
            block = H[first : first + step]
            upper = log_softmax(block @ self.rows.T)
            all_words[first : first + step, self.classes.words] = self._within(block) + self._spread(upper)
        return all_words

    def _within(self, H: np.ndarray) -> np.ndarray:
        """Return log P(w|class of w, h) for all words, sorted by class, (B, V)."""
        s, starts = (H @ self.output.T)[:, self.classes.words], self.classes.start[:-1]
        s -= self._spread(np.maximum.reduceat(s, starts, axis=1))
        s -= self._spread(np.log(np.add.reduceat(np.exp(s), starts, axis=1)))
        return np.asarray(s)

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Return values (B, C) of classes for each of their words, (B, V)."""
        return np.repeat(values, self.classes.sizes, axis=1)


class ClassSoftmax(ClassScorer):
    """L = -log P(c|h) - log P(w|c, h), c the class of w, both softmaxes: g_k = [k=c] - P(k|h), g_v = [v=w] - P(v|c, h).

    Goodman 2001, "Classes for fast maximum entropy training"; with classes of words of similar frequency as in Mikolov,
    Kombrink, Burget, Černocký & Khudanpur 2011, "Extensions of recurrent neural network language model". A target is
    scored against all C classes and the n words of its own class, instead of all V words. With C = √V and classes by
    frequency, that is at most about 2 √V rows. With one class or V classes, it is the full softmax.

    The scores of classes are a matrix product for the whole block. The examples of a block are then sorted by class, so
    that each word's row is read once per block.

    classes: "frequency" makes classes of words of similar frequency, with equal sums of √frequency, so that the fewest
    words are scored per target; "cluster" clusters the word vectors of an earlier run (option `vectors`); any other
    value names a file with a word, a tab, and the name of its class on each line. count: the number of classes, 0 for
    √V; no computed class has more than 4 times the mean number of words.
    """

    engine = "blocks"

    @classmethod
    def build(
        cls, problem: Problem, *, classes: str = "frequency", count: int = 0, vectors: str = ""
    ) -> "ClassSoftmax":
        """Start biases, if any, at the log-frequencies of the classes and of the words."""
        size = len(problem.counts)
        if count > size:
            raise bad_option("class-softmax", "count", f"{count:,} classes, but only {size:,} words")
        count = count or max(1, round(size**0.5))
        if classes == "frequency":
            division = by_frequency(problem.counts, count)
        elif classes == "cluster":
            division = by_similarity(problem.counts, vectors_of(problem.words, vectors), count)
        else:
            division = classes_from_file(classes, problem.words)
        bias = problem.log_unigram()
        totals = np.bincount(division.of, np.exp(bias))
        rows = replace(problem, seed=problem.seed + 1).initial_rows(len(totals), np.log(totals))
        return cls(division, rows, problem.initial_rows(bias=bias))

    @classmethod
    def check(cls, options: Options) -> None:
        classes, count = options["classes"], options["count"]
        check_named("class-softmax", "classes", options, CLASSES, shown(classes))
        if count and classes not in CLASSES:
            raise bad_option("class-softmax", "count", f"the file {shown(classes)} determines the number of classes")
        check_ranges("class-softmax", count=(count, 0, 1 << 31))

    @classmethod
    def check_files(cls, options: Options) -> None:
        check_named_files("class-softmax", "classes", options, CLASSES, read_classes)

    def untrained_loss(self) -> float:
        return math.log(len(self.classes.sizes)) + math.log(self.classes.sizes.max())

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        mine = self.classes.of[targets]
        loss, dH = learn_softmax(self.rows, H, mine, lr, work)
        order = np.argsort(mine, kind="stable")
        g = work.array("words", (len(H), int(self.classes.sizes.max())), H.dtype)
        loss += learn_words(self.classes, self.output, H, targets, order, H.dtype.type(lr), g, dH)
        return loss, dH

    def parameters(self) -> Arrays:
        return {"output": self.output, "class.rows": self.rows}

    def decayed(self) -> list[np.ndarray]:
        return [self.output, self.rows]

    @classmethod
    def can_grow(cls, options: Options) -> bool:
        """Return False: new words change the classes, and rows learned what distinguishes words within a class."""
        return False

    def arrays(self) -> Arrays:
        """Return the classes and their rows, which the model file stores in addition to `output`.

        The classes are a copy: to resume a run is to overwrite arrays, but kernels rely on classes that fit together.
        """
        return {"class.of": self.classes.of.copy(), "class.rows": self.rows}

    def structure(self) -> tuple[str, ...]:
        return ("class.of",)

    @classmethod
    def scorer(cls, problem: Problem, options: Options, output: np.ndarray, arrays: Arrays) -> ClassScorer:
        rows = arrays["class.rows"]
        if rows.ndim != 2 or rows.shape[1] != output.shape[1] or rows.dtype != output.dtype:
            raise damaged("classes do not fit its words and output vectors")
        return ClassScorer(checked_classes(arrays["class.of"], len(output), len(rows)), rows, output)


OBJECTIVE = ClassSoftmax
