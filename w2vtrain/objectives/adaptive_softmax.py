"""Adaptive softmax: a softmax over frequent words and clusters, and one in each cluster (Grave et al. 2017).

The rare words are in the clusters. A cluster is computed only for the examples whose target is in it. Nothing is drawn
at random.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from w2vtrain.errors import ConfigError, shown
from w2vtrain.objectives.contract import rates
from w2vtrain.probability.dense import NormalizedScorer, RowScorer, Workspace, add_product, learn_softmax
from w2vtrain.probability.problem import Arrays, Options, Problem, bad_option, check_ranges, damaged

GROUP = "structure"
DEFAULTS = rates(skipgram=0.05, cbow=0.05, cbow_corrected=0.05, vlbl=0.04)
CLUSTER_COST_ROWS = 300
"""Fixed cost of a cluster, in rows of the head that take as long to compute (blocks of 32 examples, 100 columns)."""
MAX_CLUSTERS = 4
"""The largest number of clusters that `choose_cutoffs` makes; the paper finds 2 to 5 best."""
CUTOFFS_CONSIDERED = 200
"""Number of cut-offs, evenly spaced on a logarithmic scale, that `choose_cutoffs` considers."""


def read_cutoffs(cutoffs: str) -> list[int]:
    """Return the cut-offs of a text such as "2000,20000". Raise ConfigError unless they are positive and ascending."""
    try:
        numbers = [int(cutoff) for cutoff in cutoffs.split(",")] if cutoffs.strip() else []
    except ValueError:
        raise _invalid(f"{shown(cutoffs)} is not NUMBER,NUMBER,...") from None
    for before, cutoff in zip([0, *numbers], numbers, strict=False):
        if cutoff <= before:
            raise _invalid(f"{cutoff:,} must be larger than {before:,}")
    return numbers


def choose_cutoffs(counts: np.ndarray) -> list[int]:
    """Return the cut-offs with the lowest cost, or none if a softmax over all words costs less.

    counts (V,): in descending order. A product of k rows with B vectors is assumed to cost c + λ k B. The paper's model
    of a GPU (Section 4) is max(c + λ k_0 B_0, c + λ k B): its floor, below which fewer rows or vectors cost no less, is
    left out here. A cluster of k_i words that make up the share p_i of the text costs c + λ p_i B k_i, and λ B for its
    row in the head; that its rows are narrower is left out, too. Costs are in units of λ B, and c / (λ B) is
    CLUSTER_COST_ROWS. Dynamic programming finds the best cut-offs, beginning with the last one.
    """
    places = np.unique(np.geomspace(1, len(counts), CUTOFFS_CONSIDERED).astype(np.int64))
    mass = np.cumsum(np.maximum(counts, 0.5))[places - 1]
    mass /= mass[-1]
    size, share = places - places[:, None], mass - mass[:, None]
    cost = np.where(size > 0, 1 + CLUSTER_COST_ROWS + share * size, np.inf)  # of a cluster from one place to another
    cost[-1, -1] = 0
    best, ends = np.where(size[:, -1] > 0, np.inf, 0.0), []
    for _ in range(MAX_CLUSTERS):
        total = cost + best
        ends.append(total.argmin(axis=1))
        best = total.min(axis=1)
    at, cutoffs = int(np.argmin(places + best)), []
    while places[at] < len(counts):
        cutoffs.append(int(places[at]))
        at = int(ends.pop()[at])
    return cutoffs


def _invalid(reason: str) -> ConfigError:
    return bad_option("adaptive-softmax", "cutoffs", reason)


class AdaptiveScorer(NormalizedScorer):
    """Scores that are log-probabilities: those of the head, plus those of the target's cluster, if it is in one.

    head: (k + clusters, width), the rows of the k most frequent words and of the clusters. tails: the rows of each
    cluster's words, (words, d_i), with a last column of biases if there are any. projections: (d_i, width), the
    matrices that turn hidden vectors into those that a cluster's rows score. bias: whether rows end with a bias.
    output: no rows; these are in other arrays of the model.
    """

    def __init__(self, head: np.ndarray, tails: list[np.ndarray], projections: list[np.ndarray], bias: bool) -> None:
        self.head, self.tails, self.projections, self.bias = head, tails, projections, int(bias)
        self.firsts = np.cumsum([len(head) - len(tails), *map(len, tails)])
        self.output = np.zeros((0, head.shape[1]), head.dtype)

    def places(self, targets: np.ndarray) -> np.ndarray:
        """Return the rows of the head that stand for targets (B,): the words' own rows, or those of their clusters."""
        first = self.firsts[0]
        clusters = np.searchsorted(self.firsts, targets, side="right") - 1
        return np.where(clusters < 0, targets, first + clusters)

    def clusters(self, places: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield each cluster that has targets and the indices of its examples, for the rows that `places` returned."""
        for i in range(len(self.tails)):
            mine = np.flatnonzero(places == self.firsts[0] + i)
            if len(mine):
                yield i, mine

    def project(self, i: int, H: np.ndarray) -> np.ndarray:
        """Return what cluster i scores, (B, d_i + bias), for H (B, width). With biases, the last column stays 1."""
        return np.concatenate([H @ self.projections[i].T, H[:, H.shape[1] - self.bias :]], axis=1)

    def log_prob(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        places = self.places(targets)
        log_probs = RowScorer(self.head).log_prob(H, places)
        for i, mine in self.clusters(places):
            within = targets[mine] - self.firsts[i]
            log_probs[mine] += RowScorer(self.tails[i]).log_prob(self.project(i, H[mine]), within)
        return log_probs

    def log_probs(self, H: np.ndarray) -> np.ndarray:
        head = RowScorer(self.head).log_probs(H)
        all_words = np.empty((len(H), self.firsts[-1]), head.dtype)
        all_words[:, : self.firsts[0]] = head[:, : self.firsts[0]]
        for i, tail in enumerate(self.tails):
            within = RowScorer(tail).log_probs(self.project(i, H))
            all_words[:, self.firsts[i] : self.firsts[i + 1]] = within + head[:, self.firsts[0] + i, None]
        return all_words


class AdaptiveSoftmax(AdaptiveScorer):
    """L = -log P_head(w|h), or -log P_head(i|h) P_i(w|A_i h) for w in cluster i: g_v = [v=w] - P(v) in each softmax.

    Grave, Joulin, Cissé, Grangier & Jégou 2017, "Efficient softmax approximation for GPUs". The words are sorted by
    count and cut into a head and clusters. A softmax scores the words of the head and one row per cluster; each cluster
    has a softmax of its own over its words. A step computes a cluster only for the examples whose target is in it,
    which are few. The matrix A_i projects h to fewer dimensions for rarer words. All probabilities are
    exact.

    With biases, every row ends with one, and so does every row of a projection. The paper's projections have none.

    cutoffs: the number of words before each cluster, such as 2000,20000. Empty chooses the cutoffs with the lowest
    estimated cost for the text's word counts; a small vocabulary may then have no clusters, which gives the plain
    softmax. factor: cluster i projects h to dimensions / factor^i, at least 1, where i is 1 for the first cluster. The
    paper uses 4, which gave a 7% higher perplexity than 2 on the Penn Treebank with 100 dimensions.
    """

    engine, rowless = "blocks", True

    @classmethod
    def build(cls, problem: Problem, *, cutoffs: str = "", factor: float = 2.0) -> "AdaptiveSoftmax":
        """Start biases, if any, at the log-frequencies of the words and of the clusters."""
        counts = np.maximum(problem.counts, 0.5)
        cuts = read_cutoffs(cutoffs) or choose_cutoffs(problem.counts)
        if cuts and cuts[-1] >= len(counts):
            raise _invalid(f"{cuts[-1]:,} is not below the {len(counts):,} words of the vocabulary")
        words = np.split(problem.log_unigram(), cuts)
        mass = [np.log(cluster.sum() / counts.sum()) for cluster in np.split(counts, cuts)]
        bias = np.append(words[0], mass[1:]).astype(np.float32)
        tails, projections = [], []
        for i, cluster in enumerate(words[1:], 1):
            narrow = replace(problem, dim=max(1, round(problem.dim * factor**-i)), seed=problem.seed + i)
            tails.append(narrow.initial_rows(len(cluster), cluster))
            keep = replace(problem, init=narrow.dim**-0.5, seed=problem.seed + len(cuts) + i)
            projections.append(keep.initial_rows(narrow.dim))
        return cls(problem.initial_rows(len(bias), bias), tails, projections, problem.bias)

    @classmethod
    def check(cls, options: Options) -> None:
        read_cutoffs(options["cutoffs"])
        check_ranges("adaptive-softmax", factor=(options["factor"], 1, 1000))

    def untrained_loss(self) -> float:
        return math.log(len(self.head)) + math.log(max(map(len, self.tails), default=1))

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        places = self.places(targets)
        loss, dH = learn_softmax(self.head, H, places, lr, work)
        for i, mine in self.clusters(places):
            seen, projection = H[mine], self.projections[i]
            cluster_loss, dz = learn_softmax(
                self.tails[i], self.project(i, seen), targets[mine] - self.firsts[i], lr, work
            )
            change = dz[:, : len(projection)] @ projection
            change[:, H.shape[1] - self.bias :] += dz[:, len(projection) :]
            dH[mine] += change
            add_product(projection, dz[:, : len(projection)], seen, lr)
            loss += cluster_loss
        return loss, dH

    def parameters(self) -> Arrays:
        tails = {f"tails.{i}": tail for i, tail in enumerate(self.tails)}
        return {"head": self.head, **tails, **{f"projections.{i}": one for i, one in enumerate(self.projections)}}

    arrays = parameters

    def decayed(self) -> list[np.ndarray]:
        return list(self.parameters().values())

    @classmethod
    def scorer(cls, problem: Problem, options: Options, output: np.ndarray, arrays: Arrays) -> AdaptiveScorer:
        count = sum(name.startswith("tails.") for name in arrays)
        none, bias = np.empty(0), int(problem.bias)
        tails = [arrays.get(f"tails.{i}", none) for i in range(count)]
        projections = [arrays.get(f"projections.{i}", none) for i in range(count)]
        head = arrays.get("head", none)
        good = all(array.ndim == 2 and array.dtype.kind == "f" for array in (head, *tails, *projections))
        good = good and head.shape[1] == problem.width and len(head) > count
        good = good and len(head) - count + sum(map(len, tails)) == len(problem.counts)
        for tail, projection in zip(tails, projections, strict=True) if good else ():
            good = good and len(tail) > 0 and projection.shape == (tail.shape[1] - bias, problem.width)
        if not good:
            raise damaged("clusters do not fit its words and vectors")
        return AdaptiveScorer(head, tails, projections, problem.bias)


OBJECTIVE = AdaptiveSoftmax
