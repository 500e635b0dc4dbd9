"""The softmax over letters: a small recurrent network spells the word. It keeps no row for any word.

The steps of a block lie one after the other, the longest words first in each: what a step needs of the one before is
then the beginning of that one's rows, and nothing is computed for words that have ended.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..dense import Workspace, log_sum_exp, softmax_errors
from ..errors import ConfigError
from ..problem import Problem
from ..spelling import END, Spelling, spell

DEFAULTS = {
    "skipgram": {"alpha": 0.05, "shuffle": True},
    "cbow": {"alpha": 0.05, "shuffle": True},
    "cbow-corrected": {"alpha": 0.05, "shuffle": True},
}

DAMPING = 1.0
"""Added to AdaGrad's sums of squares, where gradients are sums over a block."""
PIECE, BATCH = 256, 16
"""Words and hidden vectors that are scored together: PIECE * BATCH states at once, whatever the vocabulary."""
BLOCK = 256
"""Hidden vectors whose own words are spelled together at scoring."""


class Packed(NamedTuple):
    """The letters of a block's B words, step by step: N in all, ends included, of which the first B are first letters.

    order (B,): examples by falling length; sizes (T,): words that have a letter at a step; firsts (T,): where the step
    begins; outputs (N,): the letters; lines (N,): the places in `order` that they belong to; inputs (N - B,): the
    letters before those that are not first ones, and previous (N - B,): where these stand.
    """

    order: np.ndarray
    sizes: np.ndarray
    firsts: np.ndarray
    outputs: np.ndarray
    lines: np.ndarray
    inputs: np.ndarray
    previous: np.ndarray


class Level(NamedTuple):
    """All prefixes of one length, numbered from 0, in a part of the vocabulary.

    words (m,): those that end here, and ends (m,): their prefixes; inner (k,): the prefixes that are continued. Of the
    n prefixes of the next level: parents (n,), places in `inner`, and letters (n,), what they are continued by.
    """

    words: np.ndarray
    ends: np.ndarray
    inner: np.ndarray
    parents: np.ndarray
    letters: np.ndarray


class CharScorer:
    """Probabilities of spelled words, by the arrays of a trained network."""

    def __init__(self, theta: dict[str, np.ndarray], spelling: Spelling) -> None:
        self.theta = theta
        # The network's letters: 0, the end, which is written and never read, then the bytes.
        self.letters = np.maximum(spelling.letters[:, 1:], END) - np.uint8(END)
        self.lengths = spelling.lengths - 1

    def scores(self, H: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of hidden vectors H (B, width), targets (B,): log P(spelling) (B,), and of all V words log Σ P(spelling)."""
        raw, log_z = np.empty(len(H), H.dtype), np.empty(len(H), H.dtype)
        for first in range(0, len(H), BATCH):
            block = slice(first, first + BATCH)
            spelled = self._all_words(H[block])
            raw[block] = spelled[np.arange(len(spelled)), targets[block]]
            log_z[block] = log_sum_exp(spelled)
        return raw, log_z

    def log_prob(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """log P(spelling of the target|h), (B,): normalised over all strings, of which the vocabulary is a part."""
        result, work = np.empty(len(H), H.dtype), Workspace()
        for first in range(0, len(H), BLOCK):
            block = slice(first, first + BLOCK)
            packed = self._pack(targets[block])
            logits = self._logits(self._forward(H[block][packed.order], packed, work)[0], work)
            hit = logits[np.arange(len(logits)), packed.outputs]
            result[block][packed.order] = np.bincount(packed.lines, hit - log_sum_exp(logits))
        return result

    def log_probs(self, H: np.ndarray) -> np.ndarray:
        """log P(w|h) of all words, (B, V), normalised over the vocabulary."""
        result = np.empty((len(H), len(self.lengths)), H.dtype)
        for first in range(0, len(H), BATCH):
            spelled = self._all_words(H[first : first + BATCH])
            result[first : first + BATCH] = spelled
            result[first : first + BATCH] -= log_sum_exp(spelled)[:, None]
        return result

    def _pack(self, targets: np.ndarray) -> Packed:
        lengths = self.lengths[targets]
        order = np.argsort(-lengths, kind="stable")
        letters = self.letters[targets[order], : lengths.max(initial=0)].T
        there = np.arange(len(letters))[:, None] < lengths[order]
        sizes, lines = there.sum(axis=1), np.nonzero(there)[1]
        firsts = np.cumsum(sizes) - sizes
        previous = np.repeat(firsts[:-1], sizes[1:]) + lines[len(targets) :]
        return Packed(order, sizes, firsts, letters[there], lines, letters[:-1][there[1:]], previous)

    def _table(self) -> np.ndarray:
        """What each letter brings to the gates, (letters, 3 cell): there are fewer letters than places."""
        return np.asarray(self.theta["embeddings"] @ self.theta["inputs"] + self.theta["offsets"])

    def _forward(self, H: np.ndarray, packed: Packed, work: Workspace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of H (B, width) in order: states (N, cell), and of all after the first gates and products (N - B, 3 cell)."""
        recurrent, B = self.theta["recurrent"], len(H)
        states = work.array("char.states", (len(packed.outputs), len(recurrent)), H.dtype)
        gates = work.array("char.gates", (len(packed.inputs), recurrent.shape[1]), H.dtype)
        products = work.array("char.products", gates.shape, H.dtype)
        np.dot(H, self.theta["start"], out=states[:B])
        np.tanh(states[:B], out=states[:B])
        np.take(self._table(), packed.inputs, axis=0, out=gates, mode="clip")
        for before, here, rows in _steps(packed):
            np.dot(states[before], recurrent, out=products[rows])
            states[here] = advance(states[before], gates[rows], products[rows])
        return states, gates, products

    def _logits(self, states: np.ndarray, work: Workspace) -> np.ndarray:
        """Scores of the next letter, (n, letters)."""
        readout = self.theta["readout"]
        logits = work.array("char.logits", (len(states), readout.shape[1]), states.dtype)
        np.dot(states, readout, out=logits)
        logits += self.theta["prior"]
        return logits

    @cached_property
    def _tries(self) -> list[list[Level]]:
        rows = np.ascontiguousarray(self.letters)
        order = np.argsort(rows.view(f"S{rows.shape[1]}").ravel(), kind="stable")
        return [_trie(rows, self.lengths - 1, order[first : first + PIECE]) for first in range(0, len(order), PIECE)]

    def _all_words(self, H: np.ndarray) -> np.ndarray:
        """log P(spelling|h), (B, V): a prefix that words share is computed once."""
        spelled, work = np.empty((len(self.lengths), len(H)), H.dtype), Workspace()
        start, table = np.tanh(H @ self.theta["start"]), self._table()
        for levels in self._tries:
            states, logs = start[None], np.zeros((1, len(H)), H.dtype)
            for level in levels:
                logits = self._logits(states.reshape(-1, states.shape[2]), work)
                by_prefix = logits.copy().reshape(*logs.shape, -1)
                logs -= log_sum_exp(logits).reshape(logs.shape)
                spelled[level.words] = logs[level.ends] + by_prefix[level.ends, :, 0]
                above = level.inner[level.parents]
                logs = logs[above] + by_prefix[above, :, level.letters]
                states = self._children(states, level, table, work)
        return np.ascontiguousarray(spelled.T)

    def _children(self, states: np.ndarray, level: Level, table: np.ndarray, work: Workspace) -> np.ndarray:
        """States (n, B, cell) of the next level's prefixes; the product is computed once for those with one parent."""
        recurrent, B = self.theta["recurrent"], states.shape[1]
        inner = states[level.inner]
        products = work.array("char.inner", (*inner.shape[:2], recurrent.shape[1]), states.dtype)
        np.dot(inner.reshape(-1, len(recurrent)), recurrent, out=products.reshape(-1, recurrent.shape[1]))
        shape = (len(level.parents), B, recurrent.shape[1])
        gates, own = work.array("char.gates", shape, states.dtype), work.array("char.products", shape, states.dtype)
        gates[:] = table[level.letters][:, None]
        np.take(products, level.parents, axis=0, out=own, mode="clip")
        return advance(inner[level.parents], gates, own)


class CharSoftmax(CharScorer):
    """L = -log P(w|h), P(w|h) = Π_t P(c_t|c_<t, h) over the letters c_1 ... c_T of w, the last of which is its end.

    Ling, Trancoso, Dyer & Black 2015, "Character-based neural machine translation", who spell words by a recurrent
    network; Ling et al. 2016, "Latent predictor networks for code generation"; Ruder 2016, "Approximating the softmax".

    Letters are bytes of UTF-8. The network is a gated recurrent unit (Cho et al. 2014; the reset gate is applied to
    the product, so that one product a step is enough): s_1 = tanh(W h), s_t+1 = GRU(s_t, c_t), P(c_t|...) = softmax of
    U s_t + b. Handing h in again at every step was tried and gains nothing.

    cell: units of the state; char_dim: dimensions of a letter; net_rate: the network's step, by AdaGrad, as a multiple
    of the learning rate (its sums of squares are in `state`).

    P is normalised over all strings, and the strings outside the vocabulary have a part of it: `log_prob` leaves it to
    them, `scores` and `log_probs` divide by the vocabulary's part, exactly. Words that are alike in their first
    spelling.LONGEST bytes share a spelling: each of them has the spelling's whole probability, which is not split
    among them, and the vocabulary's part counts it once for each.
    """

    engine = "blocks"

    def __init__(self, theta: dict[str, np.ndarray], spelling: Spelling, net_rate: float) -> None:
        super().__init__(theta, spelling)
        self.net_rate, self.state = net_rate, {name: np.zeros_like(array) for name, array in theta.items()}
        self.output = np.zeros((0, len(theta["start"])), theta["start"].dtype)

    @classmethod
    def build(cls, problem: Problem, *, cell: int = 128, char_dim: int = 32, net_rate: float = 2.0) -> "CharSoftmax":
        """What h does starts near 0, so that the network first learns to spell words in general."""
        for name, value in (("cell", cell), ("char_dim", char_dim)):
            if not 1 <= value <= 4096:
                raise ConfigError(f"option {name} of objective char-softmax: {value} is not between 1 and 4096")
        if not 0 <= net_rate <= 1000:
            raise ConfigError(f"option net_rate of objective char-softmax: {net_rate:g} is not between 0 and 1000")
        spelling = spell(problem.words)
        letters = spelling.size - END
        rng = np.random.default_rng([problem.seed, 1])

        def normal(rows: int, columns: int, deviation: float) -> np.ndarray:
            return np.asarray(rng.standard_normal((rows, columns)) * deviation, problem.dtype)

        theta = {
            "start": normal(problem.width, cell, 0.1),
            "embeddings": normal(letters, char_dim, 1.0),
            "inputs": normal(char_dim, 3 * cell, char_dim**-0.5),
            "recurrent": normal(cell, 3 * cell, cell**-0.5),
            "offsets": np.zeros(3 * cell, problem.dtype),
            "readout": normal(cell, letters, cell**-0.5),
            "prior": np.zeros(letters, problem.dtype),
        }
        return cls(theta, spelling, net_rate)

    def parameters(self) -> dict[str, np.ndarray]:
        """Everything that is learned: how much does not depend on the number of words."""
        return self.theta

    def arrays(self) -> dict[str, np.ndarray]:
        """What the model file keeps: the network, whose letters follow from the words."""
        return {f"char.{name}": array for name, array in self.theta.items()}

    @classmethod
    def scorer(
        cls, problem: Problem, options: dict[str, Any], output: np.ndarray, arrays: dict[str, np.ndarray]
    ) -> CharScorer:
        """Scores by a trained model's arrays."""
        theta = {name[5:]: array for name, array in arrays.items() if name.startswith("char.")}
        return CharScorer(theta, spell(problem.words))

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        """Learn a block: H (B, width), targets (B,). Returns the summed loss and -dL/dH (B, width)."""
        loss, dH, slopes = self.gradients(H, targets, work)
        if lr:
            for name, slope in slopes.items():
                self.state[name] += slope**2
                self.theta[name] += lr * self.net_rate * slope / np.sqrt(self.state[name] + DAMPING)
        return loss, dH

    def gradients(
        self, H: np.ndarray, targets: np.ndarray, work: Workspace
    ) -> tuple[float, np.ndarray, dict[str, np.ndarray]]:
        """Of a block: the summed loss, -dL/dH (B, width), and -dL/dtheta by name."""
        theta, packed = self.theta, self._pack(targets)
        H = H[packed.order]
        states, gates, products = self._forward(H, packed, work)
        errors = self._logits(states, work)
        log_z, hit = softmax_errors(errors, packed.outputs)
        slopes = {"readout": states.T @ errors, "prior": errors.sum(axis=0)}
        by_states = work.array("char.by_states", states.shape, H.dtype)
        np.dot(errors, theta["readout"].T, out=by_states)
        for before, here, rows in reversed(_steps(packed)):
            by_states[before] += retreat(by_states[here], states[before], gates[rows], products[rows])
            by_states[before] += products[rows] @ theta["recurrent"].T
        above = work.array("char.above", (len(gates), states.shape[1]), H.dtype)
        np.take(states, packed.previous, axis=0, out=above, mode="clip")
        slopes["recurrent"] = above.T @ products
        slopes |= self._slopes_of_table(gates, packed.inputs, work)
        by_start = by_states[: len(H)] * (1 - states[: len(H)] ** 2)
        slopes["start"] = H.T @ by_start
        dH = np.empty_like(H)
        dH[packed.order] = by_start @ theta["start"].T
        return float((log_z - hit).sum(dtype=np.float64)), dH, slopes

    def _slopes_of_table(self, by_gates: np.ndarray, inputs: np.ndarray, work: Workspace) -> dict[str, np.ndarray]:
        """-dL/dtheta of all that makes the letters' table, from -dL/dgates (N - B, 3 cell)."""
        theta = self.theta
        # Rows of equal letters are added up by a product: letters are few, and numpy.add.at is slow.
        one_hot = work.array("char.one_hot", (len(inputs), len(theta["embeddings"])), by_gates.dtype)
        one_hot[:] = 0
        one_hot[np.arange(len(inputs)), inputs] = 1
        by_table = one_hot.T @ by_gates
        return {
            "embeddings": by_table @ theta["inputs"].T,
            "inputs": theta["embeddings"].T @ by_table,
            "offsets": by_table.sum(axis=0),
        }


def _steps(packed: Packed) -> list[tuple[slice, slice, slice]]:
    """Of each step after the first: rows of the states that it goes on from, its own, and its own among the gates."""
    starts, B = packed.firsts.tolist(), len(packed.order)
    return [
        (slice(before, before + n), slice(first, first + n), slice(first - B, first - B + n))
        for before, first, n in zip(starts, starts[1:], packed.sizes[1:].tolist(), strict=False)
    ]


def advance(previous: np.ndarray, gates: np.ndarray, products: np.ndarray) -> np.ndarray:
    """The next states (..., cell), from those before.

    gates (..., 3 cell): in place, from what the letters bring to reset gate r, update gate z and candidate c to the
    values of these; products (..., 3 cell): of the states before with the recurrent matrix.
    """
    cell = previous.shape[-1]
    switches, candidate = gates[..., : 2 * cell], gates[..., 2 * cell :]
    switches += products[..., : 2 * cell]
    switches *= 0.5  # the logistic function by tanh, which doesn't overflow
    np.tanh(switches, out=switches)
    switches *= 0.5
    switches += 0.5
    candidate += switches[..., :cell] * products[..., 2 * cell :]
    np.tanh(candidate, out=candidate)
    following = previous - candidate
    following *= switches[..., cell:]
    following += candidate
    return np.asarray(following)


def retreat(errors: np.ndarray, previous: np.ndarray, gates: np.ndarray, products: np.ndarray) -> np.ndarray:
    """-dL/d previous (n, cell) that does not go through the products, from errors (n, cell) = -dL/d following.

    In place: gates and products (n, 3 cell), as `advance` leaves them, to -dL/d of what they were before it.
    """
    cell = previous.shape[1]
    r, z, c = gates[:, :cell], gates[:, cell : 2 * cell], gates[:, 2 * cell :]
    direct = errors * z
    by_c = (errors - direct) * (1 - c * c)
    by_z = direct * (1 - z) * (previous - c)
    by_product = by_c * r
    by_r = by_product * (1 - r) * products[:, 2 * cell :]
    for part, slope in ((r, by_r), (z, by_z), (c, by_c)):
        part[:] = slope
    products[:, : 2 * cell] = gates[:, : 2 * cell]
    products[:, 2 * cell :] = by_product
    return np.asarray(direct)


def _trie(letters: np.ndarray, lengths: np.ndarray, words: np.ndarray) -> list[Level]:
    """The prefixes of these words, which are sorted by spelling, shortest first; lengths are without the end."""
    letters, lengths = letters[words], lengths[words]
    shared = np.zeros(len(words), np.intp)  # letters in common with the word before; a new prefix is longer
    shared[1:] = np.logical_and.accumulate(letters[1:] == letters[:-1], axis=1).sum(axis=1)
    shared[0] = -1
    number, levels = np.zeros(len(words), np.intp), []
    for length in range(int(lengths.max()) + 1):
        new = np.flatnonzero((shared <= length) & (lengths > length))
        inner, parents = np.unique(number[new], return_inverse=True)
        done = np.flatnonzero(lengths == length)
        levels.append(Level(words[done], number[done], inner, parents, letters[new, length]))
        number = np.cumsum((shared <= length) & (lengths > length)) - 1
    return levels


OBJECTIVE = CharSoftmax
