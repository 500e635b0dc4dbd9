"""Softmax whose output rows a convolutional network computes from the spelling (Jozefowicz et al. 2016).

Training stores no table of rows: each step computes the rows that its block needs. A model file has all rows.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from w2vtrain.kernels.layers import advance_highway, initial_highway, pool, retreat_highway, unpool
from w2vtrain.objectives.contract import rates
from w2vtrain.probability.characters import Spelling, spell
from w2vtrain.probability.dense import Workspace, softmax_errors, subtract_shifts
from w2vtrain.probability.noise import distinct_candidates, log_drawn, noise_distribution
from w2vtrain.probability.problem import Arrays, Options, Problem, bad_option, check_ranges

GROUP = "structure"
DEFAULTS = rates(skipgram=0.05, cbow=0.05, cbow_corrected=0.05, vlbl=0.04, block=64)

NETWORK = ("embeddings", "filters", "offsets", "projection", "mixing", "highway", "highway_offsets")
"""The parameters that all words share. They use AdaGrad, since their gradients are sums over all words of a block."""
ADAGRAD_EPSILON = 1e-12
"""Added to AdaGrad's sums of squared gradients, to avoid division by zero."""
WORDS_AT_ONCE = 2048
"""Number of words whose rows are computed at a time."""


class Forward(NamedTuple):
    """What the network has computed for n words.

    rows (n, width): the output rows. features (layers + 1, n, filters): those after pooling, then those after each
    highway layer. gates (layers, n, 2 * filters): see `advance_highway`. places (n, filters): the position in the word
    at which the filter's output is largest, or -1 if the feature is 0.
    """

    rows: np.ndarray
    features: np.ndarray
    gates: np.ndarray
    places: np.ndarray


class CnnSoftmax:
    """L = -log P(w|h), s_v = o_v·h, o_v = W·highway(maxpool_t(ReLU(conv(letters of v)))) + M·u_v.

    Jozefowicz, Vinyals, Schuster, Shazeer & Wu 2016, "Exploring the limits of language modeling"; the network is that
    of Kim, Jernite, Sontag & Rush 2016, "Character-aware neural language models". Each highway layer computes
    y = t ⊙ ReLU(A x + b) + (1 - t) ⊙ x with t = σ(A_t x + b_t), and starts close to y = x.

    char_dim: dimensions of a letter, which is a byte of UTF-8. widths: widths of the filters in letters, separated by
    commas. filters: total number of filters, divided among the widths in proportion to them. highway: number of highway
    layers. correction: dimensions of the correction vector u_v; 0 means none, and words with the same first 32 bytes
    then share a row. net_rate: AdaGrad's learning rate for the shared parameters, as a multiple of the learning rate
    (its accumulators are in `state`). samples: draws per block; 0 sums over all words.

    With samples m > 0, each block draws m words with replacement from the unigram distribution Q. S is the set of words
    drawn, and the candidates of an example are its target w and the other words in S. S contains word v with
    probability 1 - (1 - Q(v))^m; the logarithm of this probability is subtracted from every candidate's score,
    including the target's. If each word were in S independently with that probability, the softmax over the candidates
    would then be exactly P(w | h, candidates) (Jean et al. 2015; TensorFlow's candidate sampling). The targets of other
    examples are candidates only if drawn, because they follow the distribution of the text given h, not Q, and no
    correction for that is known.

    With biases, each word has its own bias, and the network computes the other columns of its row.
    """

    engine = "blocks"

    def __init__(
        self,
        theta: Arrays,
        spelling: Spelling,
        sizes: dict[int, int],
        noise: np.ndarray,
        samples: int,
        net_rate: float,
    ) -> None:
        self.theta, self.state = theta, {name: np.zeros_like(theta[name]) for name in NETWORK if theta[name].size}
        self.width = theta["projection"].shape[1] + bool(theta["bias"].size)
        self.letters, self.lengths, _ = spelling
        self.words = np.arange(len(self.lengths), dtype=np.int32)
        self.widths, self.sizes = np.array(list(sizes)), np.array(list(sizes.values()))
        total = np.cumsum(noise)
        self.cumulative = total / total[-1]  # ends at exactly 1, above every draw
        self.samples, self.net_rate = samples, net_rate
        self.log_expected = log_drawn(noise, samples).astype(theta["projection"].dtype)

    @classmethod
    def build(
        cls,
        problem: Problem,
        *,
        char_dim: int = 16,
        filters: int = 256,
        widths: str = "1,2,3,4",
        highway: int = 0,
        correction: int = 16,
        samples: int = 512,
        net_rate: float = 0.2,
    ) -> "CnnSoftmax":
        """Start correction vectors at 0 and biases, if any, at the log-frequencies of the words."""
        sizes = _sizes(widths, filters)
        spelling = spell(problem.words)
        beyond = max(0, max(sizes) - spelling.letters.shape[1])  # how far the widest filter reads past a short word
        spelling = spelling._replace(letters=np.pad(spelling.letters, ((0, 0), (0, beyond))))
        theta = _start(problem, (spelling.size, char_dim), sizes, highway, correction)
        noise = noise_distribution(np.maximum(problem.counts, 0.5), 1.0)
        return cls(theta, spelling, sizes, noise, samples, net_rate)

    @classmethod
    def check(cls, options: Options) -> None:
        check_ranges(
            "cnn-softmax",
            char_dim=(options["char_dim"], 1, 1000),
            filters=(options["filters"], 1, 100_000),
            highway=(options["highway"], 0, 10),
            correction=(options["correction"], 0, 1000),
            samples=(options["samples"], 0, 1_000_000),
        )
        check_ranges("cnn-softmax", "{:g} is not between {} and {}", net_rate=(options["net_rate"], 0, 1000))
        _sizes(options["widths"], options["filters"])

    def parameters(self) -> Arrays:
        return by_model_names({name: array for name, array in self.theta.items() if array.size})

    def arrays(self) -> Arrays:
        """Return the network, so that training could continue from a model. The biases are in the output rows."""
        return {name: array for name, array in self.parameters().items() if name != "bias"}

    def network_arrays(self) -> tuple[str, ...]:
        return tuple(by_model_names(self.state))

    @property
    def output(self) -> np.ndarray:
        """All output rows (V, width), computed at each access."""
        work, rows = Workspace(), np.empty((len(self.words), self.width), self.theta["projection"].dtype)
        for first in range(0, len(rows), WORDS_AT_ONCE):
            block = slice(first, first + WORDS_AT_ONCE)
            rows[block] = self._forward(self.words[block], work).rows
        return rows

    def _forward(self, words: np.ndarray, work: Workspace) -> Forward:
        """Compute the rows of words (n,), and what is needed on the way back."""
        theta, dtype = self.theta, self.theta["projection"].dtype
        filters, dim = theta["projection"].shape
        table = work.array("cnn.table", (len(theta["embeddings"]), theta["filters"].shape[1]), dtype)
        np.dot(theta["embeddings"], theta["filters"], out=table)
        layers = len(theta["highway"])
        X = work.array("cnn.features", (layers + 1, len(words), filters), dtype)
        gates = work.array("cnn.gates", (layers, len(words), 2 * filters), dtype)
        places = work.array("cnn.places", X[0].shape, np.int32)
        line = work.array("cnn.line", (filters,), dtype)
        pool(words, self.letters, self.lengths, self.widths, self.sizes, table, theta["offsets"], line, X[0], places)
        advance_highway(X, gates, theta["highway"], theta["highway_offsets"])
        rows = work.array("cnn.rows", (len(words), self.width), dtype)
        np.matmul(X[-1], theta["projection"], out=rows[:, :dim])
        rows[:, :dim] += theta["correction"][words] @ theta["mixing"]
        if theta["bias"].size:
            rows[:, dim] = theta["bias"][words]
        return Forward(rows, X, gates, places)

    def _candidates(self, targets: np.ndarray, work: Workspace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the distinct words (n,) of a block, the positions of its targets among them, (B,), and shifts (n,).

        Shifts are to be subtracted from the scores. Words that were not drawn have an infinite shift: they are
        candidates only of examples whose target they are.
        """
        drawn = np.searchsorted(self.cumulative, work.rng.random(self.samples), side="right").astype(np.int32)
        words, places, times = distinct_candidates(drawn, targets)
        return words, places, np.where(times > 0, self.log_expected[words], self.log_expected.dtype.type(np.inf))

    def gradients(
        self, H: np.ndarray, targets: np.ndarray, work: Workspace
    ) -> tuple[float, np.ndarray, dict[str, Any]]:
        """Return the summed loss of a block, -dL/dH (B, width), and -dL/dparameter by name.

        For correction vectors and biases, it is a pair: the distinct words (n,) of the block, and their gradients.
        """
        words, own = self.words, targets
        if self.samples:
            words, own, shift = self._candidates(targets, work)
        forward = self._forward(words, work)
        rows = forward.rows
        g = np.dot(H, rows.T, out=work.array("cnn.logits", (len(H), len(words)), H.dtype))
        if self.samples:
            subtract_shifts(g, own, shift, self.log_expected[targets])
        log_z, hit = softmax_errors(g, own)
        by_rows = np.dot(g.T, H, out=work.array("cnn.by_rows", rows.shape, rows.dtype))
        loss = float((log_z - hit).sum(dtype=np.float64))
        return loss, np.dot(g, rows), by_model_names(self._backward(words, forward, by_rows, work))

    def _backward(self, words: np.ndarray, forward: Forward, by_rows: np.ndarray, work: Workspace) -> dict[str, Any]:
        """Return -dL/dtheta by name, given -dL/drows in by_rows (n, width)."""
        theta, X, dim = self.theta, forward.features, self.theta["projection"].shape[1]
        inner = by_rows[:, :dim]
        by_features = np.dot(inner, theta["projection"].T, out=work.array("cnn.by_features", X[0].shape, X.dtype))
        by_pooled, by_highway, by_highway_offsets = retreat_highway(by_features, X, forward.gates, theta["highway"])
        by_table = work.array("cnn.by_table", (len(theta["embeddings"]), theta["filters"].shape[1]), X.dtype)
        by_offsets = np.zeros_like(theta["offsets"])
        unpool(words, self.letters, self.widths, self.sizes, forward.places, by_pooled, by_table, by_offsets)
        return {
            "embeddings": by_table @ theta["filters"].T,
            "filters": theta["embeddings"].T @ by_table,
            "offsets": by_offsets,
            "highway": by_highway,
            "highway_offsets": by_highway_offsets,
            "projection": X[-1].T @ inner,
            "mixing": theta["correction"][words].T @ inner,
            "correction": (words, inner @ theta["mixing"].T),
            "bias": (words, by_rows[:, dim:].sum(axis=1)),
        }

    def untrained_loss(self) -> float:
        return math.log(len(self.lengths))

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        loss, dH, slopes = self.gradients(H, targets, work)
        if lr:
            for name, array in self.parameters().items():
                if isinstance(slopes[name], tuple):
                    words, slope = slopes[name]
                    array[words] += lr * slope
                else:
                    squares = self.state[name.removeprefix("cnn.")]
                    squares += slopes[name] ** 2
                    array += lr * self.net_rate * slopes[name] / np.sqrt(squares + ADAGRAD_EPSILON)
        return loss, dH


def by_model_names(values: dict[str, Any]) -> dict[str, Any]:
    """Return values by the names that parameters have in a model; biases are a column of its output rows."""
    return {name if name == "bias" else f"cnn.{name}": value for name, value in values.items()}


def _sizes(widths: str, filters: int) -> dict[int, int]:
    """Return the number of filters of each width: at least one, in proportion to the width, `filters` in total.

    Raise ConfigError if an option is invalid.
    """
    try:
        all_widths = sorted({int(width) for width in widths.split(",")})
    except ValueError:
        all_widths = [0]
    if not 1 <= all_widths[0] <= all_widths[-1] <= 16:
        expected = "expected comma-separated whole numbers from 1 to 16"
        raise bad_option("cnn-softmax", "widths", f"{expected}, got {widths!r}")
    if filters < len(all_widths):
        raise bad_option("cnn-softmax", "filters", f"{filters} filters are too few for {len(all_widths)} widths")
    spare = filters - len(all_widths)
    ends = [spare * sum(all_widths[:n]) // sum(all_widths) for n in range(len(all_widths) + 1)]
    return {width: 1 + ends[n + 1] - ends[n] for n, width in enumerate(all_widths)}


def _start(problem: Problem, letters: tuple[int, int], sizes: dict[int, int], highway: int, correction: int) -> Arrays:
    """Return the initial values of all parameters, by name. letters: the shape of their embeddings."""
    rng = np.random.default_rng([problem.seed, 1])
    filters = sum(sizes.values())

    def normal(*shape: int, deviation: float | np.ndarray) -> np.ndarray:
        return np.asarray(rng.standard_normal(shape) * deviation, problem.dtype)

    columns = np.concatenate([np.full(width * size, width) for width, size in sizes.items()])
    theta = {
        "embeddings": normal(*letters, deviation=1.0),
        "filters": normal(letters[1], len(columns), deviation=1 / np.sqrt(columns * letters[1])),
        "offsets": np.zeros(filters, problem.dtype),
        "projection": normal(filters, problem.dim, deviation=problem.init / np.sqrt(filters)),
        "mixing": normal(correction, problem.dim, deviation=1 / np.sqrt(problem.dim)),
        "correction": np.zeros((len(problem.counts), correction), problem.dtype),
        "bias": problem.log_unigram().astype(problem.dtype) if problem.bias else np.zeros(0, problem.dtype),
    }
    weights, offsets = initial_highway(highway, filters, rng)
    return theta | {"highway": weights.astype(problem.dtype), "highway_offsets": offsets.astype(problem.dtype)}


OBJECTIVE = CnnSoftmax
