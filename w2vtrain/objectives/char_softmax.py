"""Softmax over letters: a small recurrent network spells the target word. It stores no output row for any word.

In memory, the rows of a block are ordered by step: all first letters, then all second letters, and so on, each with the
longest words first. A step then needs only the first rows of the step before it, and nothing is computed for words that
have ended.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from w2vtrain.errors import DataError
from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.probability.dense import Workspace, log_sum_exp, softmax_errors
from w2vtrain.probability.letters import END, Level, Spelling, spell, tries
from w2vtrain.probability.problem import Problem, check_ranges

DEFAULTS = {
    "skipgram": {"alpha": 0.05, "shuffle": True, "block": 64},
    "cbow": {"alpha": 0.05, "shuffle": True, "block": 64},
    "cbow-corrected": {"alpha": 0.05, "shuffle": True, "block": 64},
    "vlbl": {"alpha": 0.07, "shuffle": True, "block": 64},
}

DAMPING = 100.0
"""Added to AdaGrad's sums of squared gradients, which are sums over a block. With less, the first steps overshoot."""
PIECE, BATCH = 256, 16
"""Words and hidden vectors scored at a time: at most PIECE * BATCH states are in memory, for any size of vocabulary."""
AT_ONCE = 256
"""Hidden vectors whose target words are spelled together in scoring."""

HALF, ONE = np.float32(0.5), np.float32(1)
FLAT = np.float32(7.9053111)
"""tanh is 1 in float32 from here on."""
P1, P3, P5, P7 = (np.float32(p) for p in (4.89352456e-3, 6.37261929e-4, 1.48572236e-5, 5.12229709e-8))
P9, P11, P13 = (np.float32(p) for p in (-8.60467152e-11, 2.00018790e-13, -2.76076848e-16))
Q0, Q2, Q4, Q6 = (np.float32(q) for q in (4.89352519e-3, 2.26843463e-3, 1.18534706e-4, 1.19825839e-6))
"""tanh x = (P1 x + P3 x³ + ...) / (Q0 + Q2 x² + ...), error below 3e-7. Eigen's formula, which LLVM can vectorize."""


class Packed(NamedTuple):
    """The N letters of a block's B words, including the end of each word. All first letters come first (see above).

    order (B,): the examples, longest word first. sizes (T,): the number of words with a letter at each step. firsts
    (T,): the index of each step's first letter. outputs (N,): the letters. lines (N,): the word of each letter, an
    index into `order`. inputs, previous (N - B,): for each letter after the first of a word, the letter before it and
    the index of that letter.
    """

    order: np.ndarray
    sizes: np.ndarray
    firsts: np.ndarray
    outputs: np.ndarray
    lines: np.ndarray
    inputs: np.ndarray
    previous: np.ndarray


class CharScorer:
    """Probabilities of spelled words, computed by a trained network.

    affordable: the number of hidden vectors for which log Z can be computed in reasonable time. For each log Z, the
    network must spell the whole vocabulary.
    """

    affordable = 512

    def __init__(self, theta: dict[str, np.ndarray], spelling: Spelling) -> None:
        self.theta = theta
        # Letter 0 of the network is the end of a word, which is an output but never an input. The bytes follow.
        self.letters = np.maximum(spelling.letters[:, 1:], END) - np.uint8(END)
        self.lengths = spelling.lengths - 1

    def scores(self, H: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log P(spelling of the target|h), (B,), and log Σ_v P(spelling of v|h) over the V words, (B,)."""
        raw, log_z = np.empty(len(H), H.dtype), np.empty(len(H), H.dtype)
        for first in range(0, len(H), BATCH):
            block = slice(first, first + BATCH)
            spelled = self._all_words(H[block])
            raw[block] = spelled[np.arange(len(spelled)), targets[block]]
            log_z[block] = log_sum_exp(spelled)
        return raw, log_z

    def raw(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return log P(spelling of the target|h), (B,)."""
        return self.log_prob(H, targets)

    def log_prob(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return log P(spelling of the target|h), (B,), which is normalized over all strings, not the vocabulary."""
        result, work = np.empty(len(H), H.dtype), Workspace()
        for first in range(0, len(H), AT_ONCE):
            block = slice(first, first + AT_ONCE)
            packed = self._pack(targets[block])
            logits = self._logits(self._forward(H[block][packed.order], packed, work)[0], work)
            hit = logits[np.arange(len(logits)), packed.outputs]
            result[block][packed.order] = np.bincount(packed.lines, hit - log_sum_exp(logits))
        return result

    def log_probs(self, H: np.ndarray) -> np.ndarray:
        """Return log P(w|h) for all words, (B, V), normalized over the vocabulary."""
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
        """Return each letter's input to the gates, (letters, 3 cell), computed once for all its occurrences."""
        return np.asarray(self.theta["embeddings"] @ self.theta["inputs"] + self.theta["offsets"])

    def _forward(self, H: np.ndarray, packed: Packed, work: Workspace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute the states (N, cell) for H (B, width) in packed order, and the gates and products of later steps.

        gates and products (N - B, 3 cell): see `advance`. The first step has none.
        """
        recurrent, B = self.theta["recurrent"], len(H)
        states = work.array("char.states", (len(packed.outputs), len(recurrent)), H.dtype)
        gates = work.array("char.gates", (len(packed.inputs), recurrent.shape[1]), H.dtype)
        products = work.array("char.products", gates.shape, H.dtype)
        np.dot(H, self.theta["start"], out=states[:B])
        np.tanh(states[:B], out=states[:B])
        table = self._table()
        for before, here, rows in _steps(packed):
            np.dot(states[before], recurrent, out=products[rows])
            same = packed.lines[here]  # 0, 1, 2, ...: each word continues from the same row of the previous step
            inputs, gate, following = packed.inputs[rows], gates[rows, None], states[here, None]
            advance(states[before, None], products[rows, None], same, table, inputs, gate, following)
        return states, gates, products

    def _logits(self, states: np.ndarray, work: Workspace) -> np.ndarray:
        """Return the scores of all possible next letters, (n, letters)."""
        readout = self.theta["readout"]
        logits = work.array("char.logits", (len(states), readout.shape[1]), states.dtype)
        np.dot(states, readout, out=logits)
        logits += self.theta["prior"]
        return logits

    @cached_property
    def _tries(self) -> list[list[Level]]:
        return tries(self.letters, self.lengths - 1, PIECE)

    def _all_words(self, H: np.ndarray) -> np.ndarray:
        """Return log P(spelling|h) of all words, (B, V). A prefix that words share is computed once."""
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
        """Return the states (n, B, cell) of the next level's prefixes. Children of one parent share its product."""
        recurrent, B = self.theta["recurrent"], states.shape[1]
        inner = states[level.inner]
        products = work.array("char.products", (*inner.shape[:2], recurrent.shape[1]), states.dtype)
        np.dot(inner.reshape(-1, len(recurrent)), recurrent, out=products.reshape(-1, recurrent.shape[1]))
        gates = work.array("char.gates", (len(level.parents), B, recurrent.shape[1]), states.dtype)
        following = np.empty((len(level.parents), B, len(recurrent)), states.dtype)
        advance(inner, products, level.parents, table, level.letters, gates, following)
        return following


class CharSoftmax(CharScorer):
    """L = -log P(w|h), P(w|h) = Π_t P(c_t|c_<t, h) over the letters c_1 ... c_T of w, the last of which is its end.

    Ling, Trancoso, Dyer & Black 2015, "Character-based neural machine translation", which spells words with a recurrent
    network; Ling et al. 2016, "Latent predictor networks for code generation"; Ruder 2016, "Approximating the softmax".

    Letters are bytes of UTF-8. The network is a gated recurrent unit (Cho et al. 2014): s_1 = tanh(W h),
    s_t+1 = GRU(s_t, c_t), P(c_t|...) = softmax(U s_t + b). Its reset gate is applied after the matrix product rather
    than before, so that each step needs only one product. Feeding h into every step was tried and did not help.

    cell: units of the state. char_dim: dimensions of a letter. net_rate: AdaGrad's learning rate for the network, as a
    multiple of the learning rate (its sums of squared gradients are in `state`).

    P is normalized over all strings, so strings outside the vocabulary have some of the probability. `log_prob` does
    not correct for this; `log_probs` and the log Z of `scores` normalize exactly over the vocabulary, which takes one
    step of the network for every distinct prefix of the words: 28,000 per hidden vector for 10,000 English words.

    Words with the same first 32 bytes (letters.LONGEST) share a spelling. Each has the full probability of the
    spelling, which is not divided among them, and log Z counts it once for each.
    """

    engine, rowless = "blocks", True

    def __init__(self, theta: dict[str, np.ndarray], spelling: Spelling, net_rate: float) -> None:
        super().__init__(theta, spelling)
        self.net_rate, self.state = net_rate, {name: np.zeros_like(array) for name, array in theta.items()}
        self.output = np.zeros((0, len(theta["start"])), theta["start"].dtype)

    @classmethod
    def build(cls, problem: Problem, *, cell: int = 128, char_dim: int = 32, net_rate: float = 4.0) -> "CharSoftmax":
        """Start the weights of h near 0, so that the network first learns to spell words in general."""
        cls.check({"cell": cell, "char_dim": char_dim, "net_rate": net_rate})
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

    @classmethod
    def check(cls, options: dict[str, Any]) -> None:
        """Raise ConfigError for an option that is out of range."""
        check_ranges("char-softmax", cell=(options["cell"], 1, 4096), char_dim=(options["char_dim"], 1, 4096))
        check_ranges("char-softmax", "{:g} is not between {} and {}", net_rate=(options["net_rate"], 0, 1000))

    def parameters(self) -> dict[str, np.ndarray]:
        """Return all learned arrays by name. Their size does not depend on the number of words."""
        return self.theta

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the network for the model file. Its letters need not be stored, because the words determine them."""
        return {f"char.{name}": array for name, array in self.theta.items()}

    @classmethod
    def scorer(
        cls, problem: Problem, options: dict[str, Any], output: np.ndarray, arrays: dict[str, np.ndarray]
    ) -> CharScorer:
        """Return a scorer for a trained model. Raise DataError if its arrays do not fit its options and words."""
        theta, spelling = (
            {name[5:]: array for name, array in arrays.items() if name.startswith("char.")},
            spell(problem.words),
        )
        expected = _shapes(problem.width, options["cell"], options["char_dim"], spelling.size - END)
        found = {name: array.shape for name, array in theta.items()}
        if found != expected or len({array.dtype for array in theta.values()} | {output.dtype}) > 1:
            raise DataError("the model's network does not fit its options: the file is damaged; train the model again")
        return CharScorer(theta, spelling)

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        """Train on one block: H (B, width), targets (B,). Return the summed loss and -dL/dH (B, width)."""
        loss, dH, slopes = self.gradients(H, targets, work)
        if lr:
            for name, slope in slopes.items():
                self.state[name] += slope**2
                self.theta[name] += lr * self.net_rate * slope / np.sqrt(self.state[name] + DAMPING)
        return loss, dH

    def gradients(
        self, H: np.ndarray, targets: np.ndarray, work: Workspace
    ) -> tuple[float, np.ndarray, dict[str, np.ndarray]]:
        """Return the summed loss of a block, -dL/dH (B, width), and -dL/dtheta by name."""
        theta, packed = self.theta, self._pack(targets)
        H = H[packed.order]
        states, gates, products = self._forward(H, packed, work)
        errors = self._logits(states, work)
        log_z, hit = softmax_errors(errors, packed.outputs)
        slopes = {"readout": states.T @ errors, "prior": errors.sum(axis=0)}
        by_states = work.array("char.by_states", states.shape, H.dtype)
        np.dot(errors, theta["readout"].T, out=by_states)
        for before, here, rows in reversed(_steps(packed)):
            _retreat(by_states[here], states[before], by_states[before], gates[rows], products[rows])
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
        """Return -dL/dtheta for the parameters behind the table of letters, given -dL/dgates (N - B, 3 cell)."""
        theta = self.theta
        # A matrix product adds up the rows of equal letters: letters are few, and numpy.add.at is slow.
        one_hot = work.array("char.one_hot", (len(inputs), len(theta["embeddings"])), by_gates.dtype)
        one_hot[:] = 0
        one_hot[np.arange(len(inputs)), inputs] = 1
        by_table = one_hot.T @ by_gates
        return {
            "embeddings": by_table @ theta["inputs"].T,
            "inputs": theta["embeddings"].T @ by_table,
            "offsets": by_table.sum(axis=0),
        }


def _shapes(width: int, cell: int, char_dim: int, letters: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the network's arrays by name. Kernels rely on them, since they check no bounds."""
    return {
        "start": (width, cell),
        "embeddings": (letters, char_dim),
        "inputs": (char_dim, 3 * cell),
        "recurrent": (cell, 3 * cell),
        "offsets": (3 * cell,),
        "readout": (cell, letters),
        "prior": (letters,),
    }


def _steps(packed: Packed) -> list[tuple[slice, slice, slice]]:
    """Return three slices for each step after the first: the previous step's states, its states, and its gates."""
    starts, B = packed.firsts.tolist(), len(packed.order)
    return [
        (slice(before, before + n), slice(first, first + n), slice(first - B, first - B + n))
        for before, first, n in zip(starts, starts[1:], packed.sizes[1:].tolist(), strict=False)
    ]


def advance(
    states: np.ndarray,
    products: np.ndarray,
    parents: np.ndarray,
    table: np.ndarray,
    letters: np.ndarray,
    gates: np.ndarray,
    following: np.ndarray,
) -> None:
    """Advance the recurrent unit by one letter: fill following (n, B, cell) and gates (n, B, 3 cell).

    states (k, B, cell): the previous states. products (k, B, 3 cell): states times the recurrent matrix. parents (n,):
    which of the k states each new state follows. letters (n,): the rows of table (letters, 3 cell) that it reads.
    gates: reset gate r, update gate z and candidate state c, cell columns each.
    """
    if gates.dtype == np.float32:
        _advance(states, products, parents, table, letters, gates, following)
        return
    cell = states.shape[2]
    read, kept = table[letters][:, None], products[parents]
    gates[..., : 2 * cell] = 0.5 + 0.5 * np.tanh(0.5 * (read + kept)[..., : 2 * cell])
    r, z, c = np.split(gates, 3, axis=2)
    c[:] = np.tanh(read[..., 2 * cell :] + r * kept[..., 2 * cell :])
    following[:] = c + z * (states[parents] - c)


@inline
def _tanh(x):
    x = FLAT if x > FLAT else x  # written so that NaN remains NaN
    x = -FLAT if x < -FLAT else x
    y = x * x
    odd = (((((P13 * y + P11) * y + P9) * y + P7) * y + P5) * y + P3) * y + P1
    return x * odd / (((Q6 * y + Q4) * y + Q2) * y + Q0)


@kernel()
def _advance(states, products, parents, table, letters, gates, following):
    n, B, cell = following.shape
    for i in range(n):
        read = table[letters[i]]
        for b in range(B):
            state, kept, gate, new = states[parents[i], b], products[parents[i], b], gates[i, b], following[i, b]
            # Four times faster than one loop, or one over gate[j - 2 * cell]: LLVM must see that nothing overlaps.
            for j in range(2 * cell):
                gate[j] = HALF + HALF * _tanh(HALF * (read[j] + kept[j]))
            for j in range(cell):
                gate[2 * cell + j] = _tanh(read[2 * cell + j] + gate[j] * kept[2 * cell + j])
            for j in range(cell):
                c = gate[2 * cell + j]
                new[j] = c + gate[cell + j] * (state[j] - c)


@kernel()
def _retreat(errors, states, by_states, gates, products):
    """Propagate errors (n, cell) = -dL/d following back through one step of `advance`.

    Add -dL/d states to by_states (n, cell), without the part that flows through the products. Replace gates and
    products (n, 3 cell) in place: gates by -dL/d of the table rows that were read, products by -dL/d products.
    """
    n, cell = errors.shape
    for i in range(n):
        error, state, by_state, gate, product = errors[i], states[i], by_states[i], gates[i], products[i]
        for j in range(cell):
            by_state[j] += error[j] * gate[cell + j]
        for j in range(cell):
            z, c = gate[cell + j], gate[2 * cell + j]
            gate[cell + j] = error[j] * (state[j] - c) * z * (ONE - z)
            gate[2 * cell + j] = error[j] * (ONE - z) * (ONE - c * c)
        for j in range(cell):
            r, by_c = gate[j], gate[2 * cell + j]
            gate[j] = by_c * product[2 * cell + j] * r * (ONE - r)
            product[2 * cell + j] = by_c * r
        for j in range(2 * cell):
            product[j] = gate[j]


OBJECTIVE = CharSoftmax
