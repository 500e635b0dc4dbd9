"""Differentiated softmax: the full softmax with shorter output rows for rarer words (Chen, Grangier & Auli 2015).

It still sums over all words; it saves columns, not rows.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from w2vtrain.objectives.contract import rates
from w2vtrain.probability.dense import LOGITS_AT_ONCE, Workspace, add_product, log_softmax, log_sum_exp, softmax_errors
from w2vtrain.probability.problem import Arrays, Options, Problem, bad_option, damaged

GROUP = "structure"
DEFAULTS = rates(skipgram=0.05, cbow=0.05, cbow_corrected=0.05, vlbl=0.04)


def cut(bands: str, counts: np.ndarray, dim: int) -> list[tuple[int, int]]:
    """Return (words, columns) of each band. Raise ConfigError if `bands` is invalid or has more bands than columns.

    bands: such as "70:60,30:40", each band's percentage of the text and of the `dim` columns. counts (V,), descending.
    """
    try:
        shares = np.array([[float(share) for share in band.split(":")] for band in bands.split(",")])
    except ValueError:
        shares = np.zeros((0, 0))
    if shares.ndim != 2 or shares.shape[1] != 2 or not (shares > 0).all() or abs(shares.sum(axis=0) - 100).max() > 1e-6:
        form = "TEXT:COLUMNS,TEXT:COLUMNS,... in percent, with all TEXT and all COLUMNS adding up to 100"
        raise bad_option("dsoftmax", "bands", f"{bands!r} is not {form}")
    if len(shares) > dim:
        raise bad_option("dsoftmax", "bands", f"{len(shares)} bands are too many for {dim}-dimensional vectors")
    text, columns = shares[:-1].cumsum(axis=0).T / 100
    mass = np.cumsum(np.maximum(counts, 1))
    last = np.searchsorted(mass, text * mass[-1] * (1 - 1e-12)) + 1
    # Every band gets at least one column, however small its share.
    place = np.arange(1, len(shares))
    edge = np.clip(np.rint(columns * dim).astype(int), place, dim - len(shares) + place)
    edge = np.maximum.accumulate(edge - place) + place
    words, widths = np.diff(last, prepend=0, append=len(counts)), np.diff(edge, prepend=0, append=dim)
    return list(zip(words.tolist(), widths.tolist(), strict=True))


class BandScorer:
    """Scores by bands of words, each of which uses its own columns of h: s_w = o_w·h[columns of w's band] (+ b_w).

    bands: one matrix of output rows per band. bias: whether each row ends with a bias. output: no rows,
    because the bands are other arrays of the model.
    """

    def __init__(self, bands: list[np.ndarray], bias: bool) -> None:
        self.bands, self.bias = bands, int(bias)
        self.size = sum(len(band) for band in bands)
        width = sum(band.shape[1] - self.bias for band in bands) + self.bias
        self.output = np.zeros((0, width), bands[0].dtype)

    def places(self) -> Iterator[tuple[np.ndarray, slice, slice]]:
        """Yield each band with the slice of its words and the slice of its columns of h, without the bias."""
        word = column = 0
        for band in self.bands:
            words, columns = len(band), band.shape[1] - self.bias
            yield band, slice(word, word + words), slice(column, column + columns)
            word, column = word + words, column + columns

    def seen(self, H: np.ndarray, columns: slice) -> np.ndarray:
        """Return the part of H (B, width) that a band uses: its columns and, with biases, the last column of ones."""
        return np.concatenate([H[:, columns], H[:, H.shape[1] - self.bias :]], axis=1)

    def logits(self, H: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of all words, (B, V)."""
        if out is None:
            out = np.empty((len(H), self.size), H.dtype)
        for band, words, columns in self.places():
            np.matmul(self.seen(H, columns), band.T, out=out[:, words])
        return out

    def scores(self, H: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raw, log_z = np.empty(len(H), H.dtype), np.empty(len(H), H.dtype)
        step = max(1, LOGITS_AT_ONCE // self.size)
        for first in range(0, len(H), step):
            block = slice(first, first + step)
            logits = self.logits(H[block])
            raw[block] = logits[np.arange(len(logits)), targets[block]]
            log_z[block] = log_sum_exp(logits)
        return raw, log_z

    def raw(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        scores = np.empty(len(H), H.dtype)
        for band, words, columns in self.places():
            mine = (targets >= words.start) & (targets < words.stop)
            scores[mine] = np.einsum("bd,bd->b", self.seen(H[mine], columns), band[targets[mine] - words.start])
        return scores

    def log_prob(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        raw, log_z = self.scores(H, targets)
        return np.asarray(raw - log_z)

    def log_probs(self, H: np.ndarray) -> np.ndarray:
        return log_softmax(self.logits(H))


class DSoftmax(BandScorer):
    """L = -log P(w|h), s_w = o_w·h[band of w], P(w|h) = exp(s_w) / Σ_v exp(s_v): g_v = [v=w] - P(v|h).

    Chen, Grangier & Auli 2015, "Strategies for training large vocabulary neural language models": differentiated
    softmax. The words are sorted by count and cut into bands. Each band uses its own slice of h, and its output rows
    have only the columns of that slice; all other columns are 0 and not stored. Frequent words get long rows. The many
    rare words, which have few examples to learn from, get short ones. Training and scoring get faster in proportion to
    the columns saved.

    bands: TEXT:COLUMNS for each band, starting with the most frequent words. TEXT is the percentage of the text that
    the band's words make up, and COLUMNS the percentage of h's columns that the band uses. 100:100 is the softmax.
    """

    engine, rowless = "blocks", True

    @classmethod
    def build(cls, problem: Problem, *, bands: str = "80:60,15:25,5:15") -> "DSoftmax":
        """Start biases, if any, at the log-frequencies of the words."""
        first, matrices, bias = 0, [], problem.log_unigram()
        for i, (words, columns) in enumerate(cut(bands, problem.counts, problem.dim)):
            band = replace(problem, dim=columns, seed=problem.seed + i)
            matrices.append(band.initial_rows(words, bias[first : first + words]))
            first += words
        return cls(matrices, problem.bias)

    def untrained_loss(self) -> float:
        return math.log(self.size)

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        g = self.logits(H, work.array("logits", (len(H), self.size), H.dtype))
        log_z, hit = softmax_errors(g, targets)
        dH = np.zeros_like(H)
        for band, words, columns in self.places():
            change = np.dot(g[:, words], band)
            dH[:, columns] = change[:, : columns.stop - columns.start]
            dH[:, H.shape[1] - self.bias :] += change[:, columns.stop - columns.start :]
            add_product(band, g[:, words], self.seen(H, columns), lr)
        return float((log_z - hit).sum(dtype=np.float64)), dH

    def parameters(self) -> Arrays:
        return {f"bands.{i}": band for i, band in enumerate(self.bands)}

    arrays = parameters

    def decayed(self) -> list[np.ndarray]:
        return list(self.bands)

    @classmethod
    def scorer(cls, problem: Problem, options: Options, output: np.ndarray, arrays: Arrays) -> BandScorer:
        count = len(cut(options["bands"], problem.counts, problem.dim))
        bands = [arrays.get(f"bands.{i}", np.empty(0)) for i in range(count)]
        words, columns = len(problem.counts), problem.dim + count * problem.bias
        good = [band for band in bands if band.ndim == 2 and band.dtype.kind == "f" and band.shape[1] > problem.bias]
        shapes = [band.shape for band in good]
        if len(shapes) < count or tuple(map(sum, zip(*shapes, strict=True))) != (words, columns):
            raise damaged("bands do not fit its words and vectors")
        return BandScorer(bands, problem.bias)


OBJECTIVE = DSoftmax
