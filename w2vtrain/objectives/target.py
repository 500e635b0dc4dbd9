"""Softmax over the words that occur in one part of the text (Jean et al. 2015).

It draws nothing at random.
"""

import numpy as np

from w2vtrain.kernels.jit import kernel
from w2vtrain.objectives.contract import rates
from w2vtrain.probability.dense import RowObjective, Workspace, learn_subset
from w2vtrain.probability.problem import Problem, check_ranges

GROUP = "sampling"
DEFAULTS = rates(skipgram=0.05, cbow=0.05, cbow_corrected=0.05, vlbl=0.04)


class Target(RowObjective):
    """L = -log(exp(s_w) / Σ_{v in V'} exp(s_v)), V' the words of the part of the text: g_v = [v=w] - softmax(s)_v.

    Jean, Cho, Memisevic & Bengio 2015, "On using very large target vocabulary for neural machine translation", Section
    3.2.
    The text is split into parts. Each part has as many consecutive chunks as possible without exceeding `size` distinct
    words in total; a chunk with more distinct words is a part by itself. The proposal Q is uniform over V', so the
    correction terms of importance sampling cancel.

    size: τ in the paper, the maximum number of distinct words in a part.
    """

    needs_text = True

    def __init__(self, output: np.ndarray, part_of: np.ndarray, parts: list[np.ndarray]) -> None:
        super().__init__(output)
        self.part_of, self.parts = part_of, parts

    @classmethod
    def build(cls, problem: Problem, *, size: int = 8192) -> "Target":
        """Start biases, if any, at the log-frequencies of the words. Without a text, all words form one part."""
        check_ranges("target", size=(size, 2, 2**31 - 1))
        part_of, parts = cut(problem.tokens, problem.starts, len(problem.counts), size, problem.end)
        return cls(problem.initial_rows(bias=problem.log_unigram()), part_of, parts)

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        rows = self.parts[self.part_of[work.chunk]] if len(self.part_of) else np.arange(len(self.output))
        places = np.searchsorted(rows, targets)
        strange = rows[np.minimum(places, len(rows) - 1)] != targets
        if strange.any():  # targets from outside the chunk: the engine's trial step before training
            rows = np.union1d(rows, targets[strange])
            places = np.searchsorted(rows, targets)
        return learn_subset(self.output, rows, H, places, lr, work)


def cut(
    tokens: np.ndarray, starts: np.ndarray, vocabulary: int, size: int, end: int = -1
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Split a text into parts of consecutive chunks; a part of several chunks has at most `size` distinct words.

    tokens (n,) int32: word indices; -1 ends a sentence and stands for the word `end`, unless `end` is -1, too. starts
    (chunks + 1,) int64: where chunks begin. vocabulary: the number of words. Return the part of each chunk (chunks,)
    int32, and the words of each part, int32 in ascending order.
    """
    part_of = np.zeros(max(len(starts) - 1, 0), np.int32)
    seen, words = np.full(vocabulary, -1, np.int32), np.empty(vocabulary, np.int32)
    parts: list[np.ndarray] = []
    chunk = 0
    while chunk < len(part_of):
        last, count = _part(tokens, starts, chunk, size, end, len(parts), seen, words)
        part_of[chunk:last] = len(parts)
        parts.append(np.sort(words[:count]))
        chunk = last
    return part_of, parts


@kernel()
def _part(tokens, starts, chunk, size, end, number, seen, words):
    """Write the words of part `number`, which begins with `chunk`. Return (first chunk after it, number of words)."""
    first, count = chunk, 0
    while chunk < len(starts) - 1:
        before = count
        for i in range(starts[chunk], starts[chunk + 1]):
            word = tokens[i] if tokens[i] >= 0 else end
            if word >= 0 and seen[word] != number:
                seen[word] = number
                words[count] = word
                count += 1
        if count > size and chunk > first:
            return chunk, before
        chunk += 1
    return chunk, count


OBJECTIVE = Target
