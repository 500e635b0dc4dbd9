"""Words as sequences of characters, and a recurrent network that spells them from a hidden vector, with its gradients.

A letter is one byte of a word's UTF-8 encoding. The letters depend on the words alone, so a model does not need to
store them.

In memory, the rows of a block are ordered by step: all first letters, then all second letters, and so on, each with the
longest words first. A step then needs only the first rows of the step before it, and nothing is computed for words that
have ended.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from w2vtrain.kernels.layers import Unit
from w2vtrain.probability.dense import Workspace, log_sum_exp, softmax_errors
from w2vtrain.probability.problem import Arrays

PADDING, BEGIN, END = 0, 1, 2
"""Ids of the special letters; the ids of the bytes follow."""

MAX_SPELLED_BYTES = 32
"""Maximum number of bytes used per word; the rest is cut off."""

WORDS_PER_TRIE = 256
"""Number of words whose common prefixes are found, and spelled together, at a time."""


def alphabet(words: Sequence[str]) -> bytes:
    """Return the distinct letters of words, in the order of their ids: see `Spelling`."""
    return bytes(sorted(set(b"".join(_cut(words, MAX_SPELLED_BYTES)))))


def _cut(words: Sequence[str], longest: int) -> list[bytes]:
    return [word.encode("utf-8", "surrogatepass")[:longest] for word in words]


class Spelling(NamedTuple):
    """The letters of V words, at most T per word including BEGIN and END.

    letters: (V, T) uint8. Each row is BEGIN, the word's bytes, END, then PADDING. Ids from END + 1 on are the distinct
    bytes of all words, in ascending order; they fit in uint8 because UTF-8 uses only 243 byte values.
    lengths: (V,) int32, the number of letters per word, including BEGIN and END.
    size: number of distinct ids, including PADDING, BEGIN and END.
    """

    letters: np.ndarray
    lengths: np.ndarray
    size: int


def spell(words: Sequence[str], longest: int = MAX_SPELLED_BYTES) -> Spelling:
    """Return the spelling of words, each cut off after its first `longest` bytes."""
    spelled = _cut(words, longest)
    inner = np.fromiter(map(len, spelled), np.int32, len(spelled))
    text = np.frombuffer(b"".join(spelled), np.uint8)
    alphabet, ids = np.unique(text, return_inverse=True)
    letters = np.full((len(spelled), int(inner.max(initial=0)) + 2), PADDING, np.uint8)
    place = np.arange(letters.shape[1])
    letters[:, 0] = BEGIN
    letters[(place > 0) & (place <= inner[:, None])] = ids + END + 1
    letters[np.arange(len(spelled)), inner + 1] = END
    return Spelling(letters, inner + 2, END + 1 + len(alphabet))


class Level(NamedTuple):
    """All prefixes of one length in a part of the vocabulary, numbered from 0.

    words: (m,) the words of exactly this length.
    ends: (m,) the prefixes that equal these words.
    inner: (k,) the prefixes that longer words continue.
    parents: (n,) for each of the n prefixes on the next level, the index in `inner` of the prefix that it extends.
    letters: (n,) for each of these n prefixes, its last letter.
    """

    words: np.ndarray
    ends: np.ndarray
    inner: np.ndarray
    parents: np.ndarray
    letters: np.ndarray


def tries(letters: np.ndarray, lengths: np.ndarray, piece: int) -> list[list[Level]]:
    """Split the vocabulary, in alphabetical order, into parts of `piece` words; return the trie of each, by level.

    letters (V, T) uint8 are 0 from each word's length on; lengths is (V,).
    """
    letters = np.ascontiguousarray(letters)
    order = np.argsort(letters.view(f"S{letters.shape[1]}").ravel(), kind="stable")
    parts = np.split(order, range(piece, len(order), piece))
    return [_trie(letters[words], lengths[words], words) for words in parts]


def _trie(letters: np.ndarray, lengths: np.ndarray, words: np.ndarray) -> list[Level]:
    shared = np.zeros(len(words), np.intp)  # length of the prefix shared with the previous word
    shared[1:] = np.logical_and.accumulate(letters[1:] == letters[:-1], axis=1).sum(axis=1)
    shared[0] = -1
    prefixes, levels = np.zeros(len(words), np.intp), []
    for length in range(int(lengths.max()) + 1):
        done = np.flatnonzero(lengths == length)
        new = (shared <= length) & (lengths > length)
        inner, parents = np.unique(prefixes[new], return_inverse=True)
        levels.append(Level(words[done], prefixes[done], inner, parents, letters[new, length]))
        prefixes = np.cumsum(new) - 1
    return levels


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

    def steps(self) -> list[tuple[slice, slice, slice]]:
        """Return three slices for each step after the first: the previous step's states, its states, and its gates."""
        starts, B = self.firsts.tolist(), len(self.order)
        return [
            (slice(before, before + n), slice(first, first + n), slice(first - B, first - B + n))
            for before, first, n in zip(starts, starts[1:], self.sizes[1:].tolist(), strict=False)
        ]


class Forward(NamedTuple):
    """What the network has computed for the N letters of a block of B words.

    states (N, vectors * units): see kernels.layers.Unit. gates (N - B, kept * units) and products
    (N - B, gates * units): those of the steps after the first, which has none.
    """

    states: np.ndarray
    gates: np.ndarray
    products: np.ndarray


class CharacterDecoder:
    """P(word|h) = Π_t P(c_t|c_<t, h) over the letters of the word, the last of which is its end.

    s_1 = tanh(h W), s_t+1 = unit(s_t, c_t) and P(c_t|...) = softmax(s_t U + b). The memory of an LSTM starts as h W.

    unit: the recurrent unit. theta: the network's arrays by name, with the shapes that `shapes` returns; kernels rely
    on them, since they check no bounds. spelling: the letters of the V words.
    """

    def __init__(self, unit: Unit, theta: Arrays, spelling: Spelling) -> None:
        self.unit, self.theta, self.units = unit, theta, len(theta["recurrent"])
        # Letter 0 of the network is the end of a word, which is an output but never an input. The bytes follow.
        self.letters = np.maximum(spelling.letters[:, 1:], END) - np.uint8(END)
        self.lengths = spelling.lengths - 1

    def log_prob(self, H: np.ndarray, targets: np.ndarray, work: Workspace) -> np.ndarray:
        """Return log P(spelling of the target|h), (B,)."""
        packed = self.pack(targets)
        logits = self._logits(self._forward(H[packed.order], packed, work).states, work)
        hit = logits[np.arange(len(logits)), packed.outputs]
        result = np.empty(len(H), H.dtype)
        result[packed.order] = np.bincount(packed.lines, hit - log_sum_exp(logits))
        return result

    def pack(self, targets: np.ndarray) -> Packed:
        """Return the letters of a block's target words (B,)."""
        lengths = self.lengths[targets]
        order = np.argsort(-lengths, kind="stable")
        letters = self.letters[targets[order], : lengths.max(initial=0)].T
        there = np.arange(len(letters))[:, None] < lengths[order]
        sizes, lines = there.sum(axis=1), np.nonzero(there)[1]
        firsts = np.cumsum(sizes) - sizes
        previous = np.repeat(firsts[:-1], sizes[1:]) + lines[len(targets) :]
        return Packed(order, sizes, firsts, letters[there], lines, letters[:-1][there[1:]], previous)

    def gradients(self, H: np.ndarray, targets: np.ndarray, work: Workspace) -> tuple[float, np.ndarray, Arrays]:
        """Return Σ -log P(spelling of the target|h), -dL/dH (B, width), and -dL/dtheta by name."""
        theta, packed, units = self.theta, self.pack(targets), self.units
        H = H[packed.order]
        states, gates, products = self._forward(H, packed, work)
        errors = self._logits(states, work)
        log_z, hit = softmax_errors(errors, packed.outputs)
        slopes = {"readout": states[:, :units].T @ errors, "prior": errors.sum(axis=0)}
        by_states = work.array("char.by_states", states.shape, H.dtype)
        np.matmul(errors, theta["readout"].T, out=by_states[:, :units])
        by_states[:, units:] = 0
        for before, here, rows in reversed(packed.steps()):
            self.unit.retreat(by_states[here], states[before], by_states[before], gates[rows], products[rows])
            by_states[before, :units] += products[rows] @ theta["recurrent"].T
        above = work.array("char.above", (len(gates), units), H.dtype)
        np.take(states[:, :units], packed.previous, axis=0, out=above, mode="clip")
        slopes["recurrent"] = above.T @ products
        slopes |= self._slopes_of_table(gates[:, : products.shape[1]], packed.inputs, work)
        B = len(H)
        by_start = by_states[:B, :units] * (1 - states[:B, :units] ** 2)
        if self.unit.vectors > 1:
            by_start += by_states[:B, units:]
        slopes["start"] = H.T @ by_start
        dH = np.empty_like(H)
        dH[packed.order] = by_start @ theta["start"].T
        return float((log_z - hit).sum(dtype=np.float64)), dH, slopes

    def _slopes_of_table(self, by_gates: np.ndarray, inputs: np.ndarray, work: Workspace) -> Arrays:
        """Return -dL/dtheta for the arrays behind the table of letters, given -dL/dgates (N - B, gates * units)."""
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

    def _table(self) -> np.ndarray:
        """Return each letter's input to the gates, (letters, gates * units), computed once for all its occurrences."""
        return np.asarray(self.theta["embeddings"] @ self.theta["inputs"] + self.theta["offsets"])

    def _start(self, H: np.ndarray, states: np.ndarray) -> None:
        """Fill the first states (B, vectors * units)."""
        first = H @ self.theta["start"]
        np.tanh(first, out=states[:, : self.units])
        if self.unit.vectors > 1:
            states[:, self.units :] = first

    def _forward(self, H: np.ndarray, packed: Packed, work: Workspace) -> Forward:
        """Compute the states for H (B, width) in packed order, and what is needed on the way back."""
        recurrent, N = self.theta["recurrent"], len(packed.inputs)
        states = work.array("char.states", (len(packed.outputs), self.unit.vectors * self.units), H.dtype)
        gates = work.array("char.gates", (N, self.unit.kept * self.units), H.dtype)
        products = work.array("char.products", (N, recurrent.shape[1]), H.dtype)
        self._start(H, states[: len(H)])
        table = self._table()
        for before, here, rows in packed.steps():
            np.dot(states[before, : self.units], recurrent, out=products[rows])
            same = packed.lines[here]  # 0, 1, 2, ...: each word continues from the same row of the previous step
            inputs, following, gate = packed.inputs[rows], states[here, None], gates[rows, None]
            self.unit.advance(states[before, None], products[rows, None], same, table, inputs, following, gate)
        return Forward(states, gates, products)

    def _logits(self, states: np.ndarray, work: Workspace) -> np.ndarray:
        """Return the scores of all possible next letters, (n, letters), after states (n, vectors * units)."""
        readout = self.theta["readout"]
        logits = work.array("char.logits", (len(states), readout.shape[1]), states.dtype)
        np.dot(states[:, : self.units], readout, out=logits)
        logits += self.theta["prior"]
        return logits

    @cached_property
    def tries(self) -> list[list[Level]]:
        """The tries of all words, WORDS_PER_TRIE words each."""
        return tries(self.letters, self.lengths - 1, WORDS_PER_TRIE)

    @cached_property
    def prefixes(self) -> int:
        """The number of states that `all_words` computes per hidden vector, one per prefix in each trie, "" too."""
        return len(self.tries) + sum(len(level.letters) for levels in self.tries for level in levels)

    def all_words(self, H: np.ndarray) -> np.ndarray:
        """Return log P(spelling|h) of all words, (B, V). A prefix that words share is computed once."""
        spelled, work = np.empty((len(self.lengths), len(H)), H.dtype), Workspace()
        start, table = np.empty((1, len(H), self.unit.vectors * self.units), H.dtype), self._table()
        self._start(H, start[0])
        for levels in self.tries:
            states, logs = start, np.zeros((1, len(H)), H.dtype)
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
        """Return the states (n, B, ...) of the next level's prefixes. Children of one parent share its product."""
        recurrent, unit, B = self.theta["recurrent"], self.unit, states.shape[1]
        inner, n = states[level.inner], len(level.parents)
        products = work.array("char.products", (len(inner), B, recurrent.shape[1]), states.dtype)
        outputs = inner.reshape(-1, states.shape[2])[:, : self.units]
        np.dot(outputs, recurrent, out=products.reshape(-1, recurrent.shape[1]))
        gates = work.array("char.gates", (n, B, unit.kept * self.units), states.dtype)
        following = np.empty((n, B, states.shape[2]), states.dtype)
        unit.advance(inner, products, level.parents, table, level.letters, following, gates)
        return following


def shapes(unit: Unit, units: int, width: int, char_dim: int, letters: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a network's arrays by name."""
    gates = unit.gates * units
    return {
        "start": (width, units),
        "embeddings": (letters, char_dim),
        "inputs": (char_dim, gates),
        "recurrent": (units, gates),
        "offsets": (gates,),
        "readout": (units, letters),
        "prior": (letters,),
    }
