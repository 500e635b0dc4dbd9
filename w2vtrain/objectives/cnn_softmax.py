"""Softmax whose output rows a small convolutional network computes from the spelling of the words.

Training stores no table of rows: each step computes the rows that its block needs. A model file has all rows.
"""

from typing import Any

import numpy as np

from w2vtrain.errors import ConfigError
from w2vtrain.kernels.jit import kernel
from w2vtrain.probability.dense import RowScorer, Workspace, softmax_errors
from w2vtrain.probability.letters import Spelling, spell
from w2vtrain.probability.problem import Problem, check_ranges
from w2vtrain.probability.sampling import noise_distribution

DEFAULTS = {
    "skipgram": {"alpha": 0.05, "shuffle": True, "block": 64},
    "cbow": {"alpha": 0.05, "shuffle": True, "block": 64},
    "cbow-corrected": {"alpha": 0.05, "shuffle": True, "block": 64},
    "vlbl": {"alpha": 0.04, "shuffle": True, "block": 64},
}

NETWORK = ("embeddings", "filters", "offsets", "projection", "mixing")
"""The parameters that all words share. They use AdaGrad, since their gradients are sums over all words of a block."""
TINY = 1e-12
"""Added to AdaGrad's sums of squared gradients, to avoid division by zero."""
BATCH = 2048
"""Number of words whose rows are computed at a time."""


class CnnSoftmax:
    """L = -log P(w|h), s_v = o_v·h, o_v = P·maxpool_t(ReLU(conv(letters of v))) + M·c_v.

    Jozefowicz, Vinyals, Schuster, Shazeer & Wu 2016, "Exploring the limits of language modeling"; the network is that
    of Kim, Jernite, Sontag & Rush 2016, "Character-aware neural language models".

    char_dim: dimensions of a letter, which is a byte of UTF-8. widths: widths of the filters in letters, separated by
    commas. filters: total number of filters, divided among the widths in proportion to them. correction: dimensions of
    the correction vector c_v; 0 means none, so that words with the same spelling share a row. net_rate: AdaGrad's
    learning rate for the shared parameters, as a multiple of the learning rate (its accumulators are in `state`).
    samples: draws per block; 0 sums over all words.

    With samples m > 0, each block draws m words with replacement from the unigram distribution Q. S is the set of words
    drawn, and the candidates of an example are its target w and the other words in S. The logarithm of the probability
    that S contains a word, 1 - (1 - Q(v))^m, is subtracted from every candidate's score, including the target's. If
    each word were in S independently with that probability, the softmax over the candidates would then be exactly
    P(w | h, candidates) (Jean et al. 2015; TensorFlow's candidate sampling). The targets of other examples are
    candidates only if drawn, because they follow the distribution of the text given h, not Q, and no correction for
    that is known.

    With biases, each word has its own bias, and the network computes the other columns of its row.
    """

    engine = "blocks"

    def __init__(
        self,
        theta: dict[str, np.ndarray],
        spelling: Spelling,
        sizes: dict[int, int],
        noise: np.ndarray,
        samples: int,
        net_rate: float,
    ) -> None:
        self.theta, self.state = theta, {name: np.zeros_like(theta[name]) for name in NETWORK}
        self.width = theta["projection"].shape[1] + bool(theta["bias"].size)
        self.letters, self.lengths, _ = spelling
        self.words = np.arange(len(self.lengths), dtype=np.int32)
        self.widths, self.sizes = np.array(list(sizes)), np.array(list(sizes.values()))
        total = np.cumsum(noise)
        self.cumulative = total / total[-1]  # ends at exactly 1, above every draw
        self.samples, self.net_rate = samples, net_rate
        with np.errstate(divide="ignore"):  # log(0): a vocabulary of one word, or samples=0 (all words)
            self.log_expected = np.log(-np.expm1(samples * np.log1p(-noise))).astype(theta["projection"].dtype)

    @classmethod
    def build(
        cls,
        problem: Problem,
        *,
        char_dim: int = 16,
        filters: int = 256,
        widths: str = "1,2,3,4",
        correction: int = 16,
        samples: int = 512,
        net_rate: float = 0.2,
    ) -> "CnnSoftmax":
        """Start correction vectors at 0 and biases, if any, at the log-frequencies of the words."""
        given = {"char_dim": char_dim, "filters": filters, "correction": correction, "samples": samples}
        cls.check({**given, "widths": widths, "net_rate": net_rate})
        sizes = _sizes(widths, filters)
        spelling = spell(problem.words)
        beyond = max(0, max(sizes) - spelling.letters.shape[1])  # how far the widest filter reads past a short word
        spelling = spelling._replace(letters=np.pad(spelling.letters, ((0, 0), (0, beyond))))
        theta = _start(problem, spelling.size, char_dim, sizes, correction)
        noise = noise_distribution(np.maximum(problem.counts, 0.5), 1.0)
        return cls(theta, spelling, sizes, noise, samples, net_rate)

    @classmethod
    def check(cls, options: dict[str, Any]) -> None:
        """Raise ConfigError for options that are out of range."""
        check_ranges(
            "cnn-softmax",
            char_dim=(options["char_dim"], 1, 1000),
            filters=(options["filters"], 1, 100_000),
            correction=(options["correction"], 0, 1000),
            samples=(options["samples"], 0, 1_000_000),
        )
        check_ranges("cnn-softmax", "{:g} is not between {} and {}", net_rate=(options["net_rate"], 0, 1000))
        _sizes(options["widths"], options["filters"])

    def parameters(self) -> dict[str, np.ndarray]:
        """Return all learned arrays by name. They are far smaller than V rows of `width`."""
        return {name: array for name, array in self.theta.items() if array.size}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the network, so that training could continue from a model. The biases are in the output rows."""
        return {f"cnn.{name}": array for name, array in self.parameters().items() if name != "bias"}

    @property
    def output(self) -> np.ndarray:
        """All output rows (V, width), computed at each access."""
        return self.rows()

    @classmethod
    def scorer(
        cls, problem: Problem, options: dict[str, Any], output: np.ndarray, arrays: dict[str, np.ndarray]
    ) -> RowScorer:
        """Return a scorer that uses the output rows; it does not need the network."""
        return RowScorer(output)

    def rows(self, words: np.ndarray | None = None) -> np.ndarray:
        """Compute the output rows (n, width) of words (n,), or of all words."""
        words = self.words if words is None else words.astype(np.int32, copy=False)
        work, out = Workspace(), np.empty((len(words), self.width), self.theta["projection"].dtype)
        for first in range(0, len(words), BATCH):
            out[first : first + BATCH] = self._forward(words[first : first + BATCH], work)[0]
        return out

    def _forward(self, words: np.ndarray, work: Workspace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows (n, width) of words (n,), their pooled features X (n, filters), and the places of the maxima.

        A place (n, filters) is the position in the word at which the filter's output is largest, or -1 if the feature
        is 0.
        """
        theta, dtype = self.theta, self.theta["projection"].dtype
        filters, dim = theta["projection"].shape
        # The product of each letter's embedding with each position of each filter. A convolution then only adds up rows
        # of this table, which is char_dim times less work than multiplying gathered embeddings by all filters.
        table = work.array("cnn.table", (len(theta["embeddings"]), theta["filters"].shape[1]), dtype)
        np.dot(theta["embeddings"], theta["filters"], out=table)
        X = work.array("cnn.pooled", (len(words), filters), dtype)
        places = work.array("cnn.places", X.shape, np.int32)
        line = work.array("cnn.line", (filters,), dtype)
        _pool(words, self.letters, self.lengths, self.widths, self.sizes, table, theta["offsets"], line, X, places)
        rows = work.array("cnn.rows", (len(words), self.width), dtype)
        np.matmul(X, theta["projection"], out=rows[:, :dim])
        rows[:, :dim] += theta["correction"][words] @ theta["mixing"]
        if theta["bias"].size:
            rows[:, dim] = theta["bias"][words]
        return rows, X, places

    def _candidates(self, targets: np.ndarray, work: Workspace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the distinct words (n,) of a block, the positions of its targets among them, (B,), and shifts (n,).

        Shifts are to be subtracted from the scores. Words that were not drawn have an infinite shift: they are
        candidates only of examples whose target they are.
        """
        words = work.array("cnn.words", (self.samples + len(targets),), np.int32)
        words[: self.samples] = np.searchsorted(self.cumulative, work.rng.random(self.samples), side="right")
        words[self.samples :] = targets
        distinct, at = np.unique(words, return_inverse=True)
        shift = np.full(len(distinct), np.inf, self.log_expected.dtype)
        shift[at[: self.samples]] = self.log_expected[words[: self.samples]]
        return distinct, at[self.samples :], shift

    def gradients(
        self, H: np.ndarray, targets: np.ndarray, work: Workspace
    ) -> tuple[float, np.ndarray, dict[str, Any]]:
        """Return the summed loss of a block, -dL/dH (B, width), and -dL/dtheta by name.

        For "correction" and "bias", -dL/dtheta is a pair: the distinct words (n,) of the block, and their gradients.
        """
        words, own = self.words, targets
        if self.samples:
            words, own, shift = self._candidates(targets, work)
        rows, X, places = self._forward(words, work)
        g = np.dot(H, rows.T, out=work.array("cnn.logits", (len(H), len(words)), H.dtype))
        if self.samples:
            lines = np.arange(len(H))
            hit = g[lines, own] - self.log_expected[targets]
            np.subtract(g, shift, out=g)
            g[lines, own] = hit
        log_z, hit = softmax_errors(g, own)
        by_rows = np.dot(g.T, H, out=work.array("cnn.by_rows", rows.shape, rows.dtype))
        loss = float((log_z - hit).sum(dtype=np.float64))
        return loss, np.dot(g, rows), self._backward(words, X, places, by_rows, work)

    def _backward(
        self, words: np.ndarray, X: np.ndarray, places: np.ndarray, by_rows: np.ndarray, work: Workspace
    ) -> dict[str, Any]:
        """Return -dL/dtheta by name, given -dL/drows in by_rows (n, width)."""
        theta, dim = self.theta, self.theta["projection"].shape[1]
        inner = by_rows[:, :dim]
        by_pooled = np.dot(inner, theta["projection"].T, out=work.array("cnn.by_pooled", X.shape, X.dtype))
        by_table = work.array("cnn.by_table", (len(theta["embeddings"]), theta["filters"].shape[1]), X.dtype)
        by_offsets = np.zeros_like(theta["offsets"])
        _unpool(words, self.letters, self.widths, self.sizes, places, by_pooled, by_table, by_offsets)
        return {
            "embeddings": by_table @ theta["filters"].T,
            "filters": theta["embeddings"].T @ by_table,
            "offsets": by_offsets,
            "projection": X.T @ inner,
            "mixing": theta["correction"][words].T @ inner,
            "correction": (words, inner @ theta["mixing"].T),
            "bias": (words, by_rows[:, dim:].sum(axis=1)),
        }

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        """Train on one block: H (B, width), targets (B,). Return the summed loss and -dL/dH (B, width)."""
        loss, dH, slopes = self.gradients(H, targets, work)
        if lr:
            for name in NETWORK:
                self.state[name] += slopes[name] ** 2
                self.theta[name] += lr * self.net_rate * slopes[name] / np.sqrt(self.state[name] + TINY)
            for name in ("correction", "bias"):
                if self.theta[name].size:
                    words, slope = slopes[name]
                    self.theta[name][words] += lr * slope
        return loss, dH


def _sizes(widths: str, filters: int) -> dict[int, int]:
    """Return the number of filters of each width: at least one, in proportion to the width, `filters` in total.

    Raise ConfigError if an option is invalid.
    """
    try:
        found = sorted({int(width) for width in widths.split(",")})
    except ValueError:
        found = [0]
    what = "of objective cnn-softmax"
    if not 1 <= found[0] <= found[-1] <= 16:
        raise ConfigError(f"option widths {what}: expected comma-separated whole numbers from 1 to 16, got {widths!r}")
    if filters < len(found):
        raise ConfigError(f"option filters {what}: {filters} filters are too few for {len(found)} widths")
    spare = filters - len(found)
    ends = [spare * sum(found[:n]) // sum(found) for n in range(len(found) + 1)]
    return {width: 1 + ends[n + 1] - ends[n] for n, width in enumerate(found)}


def _start(
    problem: Problem, alphabet: int, char_dim: int, sizes: dict[int, int], correction: int
) -> dict[str, np.ndarray]:
    """Return the initial values of all parameters, by name."""
    rng = np.random.default_rng([problem.seed, 1])
    filters = sum(sizes.values())

    def normal(*shape: int, deviation: float | np.ndarray) -> np.ndarray:
        return np.asarray(rng.standard_normal(shape) * deviation, problem.dtype)

    columns = np.concatenate([np.full(width * size, width) for width, size in sizes.items()])
    return {
        "embeddings": normal(alphabet, char_dim, deviation=1.0),
        "filters": normal(char_dim, len(columns), deviation=1 / np.sqrt(columns * char_dim)),
        "offsets": np.zeros(filters, problem.dtype),
        "projection": normal(filters, problem.dim, deviation=problem.init / np.sqrt(filters)),
        "mixing": normal(correction, problem.dim, deviation=1 / np.sqrt(problem.dim)),
        "correction": np.zeros((len(problem.counts), correction), problem.dtype),
        "bias": problem.log_unigram().astype(problem.dtype) if problem.bias else np.zeros(0, problem.dtype),
    }


@kernel()
def _pool(words, letters, lengths, widths, sizes, table, offsets, line, pooled, places):
    """Set pooled (n, filters) to the maximum of ReLU(convolution) over the positions in each word.

    places (n, filters): the position of each maximum, -1 if it is 0. line (filters,) is working memory.
    """
    for i in range(len(words)):
        spelled, length = letters[words[i]], lengths[words[i]]
        first = column = 0
        for k in range(len(widths)):
            width, size = widths[k], sizes[k]
            best, where = pooled[i, first : first + size], places[i, first : first + size]
            z = line[:size]
            best[:] = 0
            where[:] = -1
            for t in range(max(length - width, 0) + 1):
                for f in range(size):
                    z[f] = offsets[first + f]
                for j in range(width):
                    part = table[spelled[t + j], column + j * size : column + (j + 1) * size]
                    for f in range(size):
                        z[f] += part[f]
                for f in range(size):
                    better = z[f] > best[f] or z[f] != z[f]  # NaN must not be ignored
                    best[f] = z[f] if better else best[f]
                    where[f] = t if better else where[f]
            first += size
            column += width * size


@kernel()
def _unpool(words, letters, widths, sizes, places, by_pooled, by_table, by_offsets):
    """Compute the gradients of the table and the offsets from by_pooled (n, filters), those of the pooled features.

    by_table (alphabet, columns) is overwritten; by_offsets (filters,) is added to.
    """
    by_table[:] = 0
    for i in range(len(words)):
        spelled = letters[words[i]]
        first = column = 0
        for k in range(len(widths)):
            width, size = widths[k], sizes[k]
            for f in range(size):
                t = places[i, first + f]
                if t >= 0:
                    slope = by_pooled[i, first + f]
                    by_offsets[first + f] += slope
                    for j in range(width):
                        by_table[spelled[t + j], column + j * size + f] += slope
            first += size
            column += width * size


OBJECTIVE = CnnSoftmax
