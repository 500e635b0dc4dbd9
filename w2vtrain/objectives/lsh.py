"""Softmax over the output rows that winner-take-all hashing retrieves (Vijayanarasimhan et al. 2015).

Training never sums over all words; exact scoring does. Retrieval is only as good as the hashing, which depends
only on how a vector's coordinates rank by size.
"""

import math
import threading
from typing import NamedTuple

import numpy as np

from w2vtrain.errors import label, spelled
from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.objectives.contract import rates
from w2vtrain.probability.dense import RowObjective, RowScorer, Workspace
from w2vtrain.probability.problem import Arrays, Options, Problem, bad_option, check_ranges

GROUP = "structure"
DEFAULTS = rates(skipgram=0.05, cbow=0.05, cbow_corrected=0.05, vlbl=0.07)
MAX_HASH_BUCKETS = 1 << 20
"""The largest number of buckets per table."""
TABLE_SIZE_RATIO, MIN_TABLE_ENTRIES = 16, 1 << 23
"""Limit on the entries of all tables: the ratio times the size of the output vectors, but at least 32 MB."""
ELEMENTS_AT_ONCE = 1 << 18
"""Number of elements permuted at a time."""
CANDIDATES_AT_ONCE = 1 << 22
"""Maximum number of candidates in memory at once: 32 MB with their coefficients."""


class Tables(NamedTuple):
    """Hash tables in which every output row is in one bucket per table.

    columns (tables, hashes, window) int32: the columns that each hash compares. rows (tables, V) int32: the output
    rows, sorted by bucket. starts (tables, buckets + 1) int32: where each bucket begins in rows. limit: the largest
    number of rows to retrieve.
    """

    columns: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    limit: int


class RetrievalBuffers(NamedTuple):
    """Working memory of `retrieve`.

    hits (V,): the number of tables in which each row was found; zeros before and after. distinct_rows (V,): the rows
    found, each once. levels (tables + 1,): how many rows have each number of hits.
    """

    hits: np.ndarray
    distinct_rows: np.ndarray
    levels: np.ndarray


@inline
def bucket(x, columns):
    """Return the bucket of a vector: in base `window`, one digit per hash, the index of the largest of its columns."""
    code, window = 0, columns.shape[1]
    for i in range(len(columns)):
        best = 0
        for k in range(1, window):
            if x[columns[i, k]] > x[columns[i, best]]:
                best = k
        code = code * window + best
    return code


@kernel()
def fill(tables, output, codes):
    """Put every output row into its bucket of each table. codes (V,) int32 is working memory."""
    for t in range(len(tables.rows)):
        starts, rows = tables.starts[t], tables.rows[t]
        starts[:] = 0
        for r in range(len(output)):
            codes[r] = bucket(output[r], tables.columns[t])
            starts[codes[r]] += 1
        for c in range(1, len(starts)):
            starts[c] += starts[c - 1]
        for r in range(len(output) - 1, -1, -1):
            starts[codes[r]] -= 1
            rows[starts[codes[r]]] = r


@inline
def retrieve(tables, h, target, scratch, candidates):
    """Write the target and the rows that share a bucket with h, chosen by `choose`. Return how many."""
    m = 0
    for t in range(len(tables.rows)):
        code = bucket(h, tables.columns[t])
        for at in range(tables.starts[t, code], tables.starts[t, code + 1]):
            r = tables.rows[t, at]
            if scratch.hits[r] == 0:
                scratch.distinct_rows[m] = r
                m += 1
            scratch.hits[r] += 1
    return choose(tables.limit, m, target, scratch, candidates)


@inline
def choose(limit, m, target, scratch, candidates):
    """Write the target and, of m rows found, the `limit` with the most hits (on ties, the first). Return how many."""
    least, ties, n = 1, m, 1
    if m > limit:
        levels = scratch.levels
        levels[:] = 0
        for i in range(m):
            levels[scratch.hits[scratch.distinct_rows[i]]] += 1
        least, above = len(levels) - 1, 0
        while above + levels[least] < limit:
            above += levels[least]
            least -= 1
        ties = limit - above
    candidates[0] = target
    for i in range(m):
        r = scratch.distinct_rows[i]
        hits = scratch.hits[r]
        scratch.hits[r] = 0
        if hits < least:
            continue
        if hits == least:
            ties -= 1
            if ties < 0:
                continue
        if r != target:
            candidates[n] = r
            n += 1
    return n


@inline
def shares(output, h, candidates, p):
    """Fill p (n,) with the softmax over candidates (n,), and return -log p[0]."""
    top = -math.inf
    for i in range(len(candidates)):
        row, score = output[candidates[i]], p.dtype.type(0)
        for c in range(len(h)):
            score += row[c] * h[c]
        p[i] = score
        if score > top:
            top = score
    first, z = p[0], 0.0
    for i in range(len(candidates)):
        p[i] = math.exp(p[i] - top)
        z += p[i]
    for i in range(len(candidates)):
        p[i] /= z
    return math.log(z) + top - first


@kernel()
def log_prob(tables, output, H, targets, scratch, candidates, p, out):
    """Fill out (B,) with log P of the targets among what H (B, width) retrieves; candidates, p (cap,) are scratch."""
    for b in range(len(H)):
        n = retrieve(tables, H[b], targets[b], scratch, candidates)
        out[b] = -shares(output, H[b], candidates[:n], p[:n])


@kernel()
def learn(tables, output, H, targets, lr, scratch, candidates, g, dH):
    """Train on B examples, all from the old rows; add -dL/dH to dH (B, width) and return the summed loss.

    candidates and g (B, cap) are working memory.
    """
    loss, width = 0.0, H.shape[1]
    for b in range(len(H)):
        n = retrieve(tables, H[b], targets[b], scratch, candidates[b])
        loss += shares(output, H[b], candidates[b, :n], g[b, :n])
        for i in range(n):
            g[b, i] = (1 if i == 0 else 0) - g[b, i]
            row = output[candidates[b, i]]
            for c in range(width):
                dH[b, c] += g[b, i] * row[c]
        if n < candidates.shape[1]:
            candidates[b, n] = -1
    for b in range(len(H)):
        for i in range(candidates.shape[1]):
            if candidates[b, i] < 0:
                break
            row, step = output[candidates[b, i]], lr * g[b, i]
            for c in range(width):
                row[c] += step * H[b, c]
    return loss


def make_tables(output: np.ndarray, columns: np.ndarray, limit: int) -> Tables:
    """Hash all output rows, and return the tables. limit: the largest number of rows to retrieve, 0 for all."""
    size, (count, hashes, window) = len(output), columns.shape
    starts = np.empty((count, window**hashes + 1), np.int32)
    tables = Tables(columns, np.empty((count, size), np.int32), starts, min(limit, size) if limit else size)
    fill(tables, output, np.empty(size, np.int32))
    return tables


def first_entries(problem: Problem, tables: int, hashes: int, window: int) -> np.ndarray:
    """Return the first entries of random permutations of all columns but the bias: (tables, hashes, window) int32."""
    rng = np.random.default_rng([problem.seed, 2])
    window = min(window, problem.dim)
    entries = np.empty((tables * hashes, window), np.int32)
    step = max(1, ELEMENTS_AT_ONCE // problem.dim)
    for first in range(0, len(entries), step):
        block = entries[first : first + step]
        order = np.tile(np.arange(problem.dim, dtype=np.int32), (len(block), 1))
        block[:] = rng.permuted(order, axis=1)[:, :window]
    return entries.reshape(tables, hashes, window)


def check_window(dim: int, columns: np.ndarray, window: int, init: float = 0.0) -> None:
    """Raise ConfigError if no vector of `dim` dimensions could share a bucket with initial rows: zeros if init is 0.

    The hashes of zeros are all 0. Those of a table are 0 for a vector if the first column of each is its largest. That
    is impossible if these columns are in one another's hashes in a cycle: the powers of their matrix then never vanish.
    """
    hashes = columns.shape[1]
    if hashes and window >= dim:
        raise bad_option(
            "lsh", "window", f"{window} is not less than {label('vector_size')} {dim}: no hash would differ"
        )
    first = columns[:, :, 0]
    less = (columns[:, :, :, None] == first[:, None, None, :]).any(axis=2) & (first[:, :, None] != first[:, None, :])
    if hashes and not init and np.linalg.matrix_power(less.astype(np.float64), hashes).any(axis=(1, 2)).all():
        raise bad_option(
            "lsh", "window", f"{window} of {dim} columns: no vector would retrieve a row, so nothing would be learned:"
            f" choose a smaller one, fewer hashes, {spelled('init')} above 0 or another {spelled('seed')}"
        )  # fmt: skip


def check_size(words: int, dim: int, tables: int, hashes: int, window: int) -> None:
    """Raise ConfigError if the tables would be far larger than the output vectors (words, dim)."""
    cells = tables * (words + window**hashes + hashes * dim)
    most = max(MIN_TABLE_ENTRIES, TABLE_SIZE_RATIO * words * dim)
    if cells > most:
        need = f"{tables:,} tables of {window}^{hashes} buckets need {cells:,} entries"
        limit = f"{words:,} words of {dim:,} dimensions allow {most:,}"
        raise bad_option("lsh", "tables", f"{need}, but {limit}: reduce option tables, hashes or window")


class LshScorer(RowScorer):
    """Exact scores from all output rows, and cheap ones from the retrieved rows; the tables are built once."""

    def __init__(self, output: np.ndarray, columns: np.ndarray, limit: int) -> None:
        super().__init__(output)
        self.tables = make_tables(output, columns, limit)

    def log_prob(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return log P of the targets in the softmax over the target and the retrieved rows, (B,).

        This is an overestimate, because the words that were not retrieved are missing from Z.
        """
        cap = self.tables.limit + 1
        p, out = np.empty(cap, H.dtype), np.empty(len(H), H.dtype)
        scratch = retrieval_buffers(Workspace(), self.tables)
        log_prob(self.tables, self.output, H, targets, scratch, np.empty(cap, np.int32), p, out)
        return out


def retrieval_buffers(work: Workspace, tables: Tables) -> RetrievalBuffers:
    """Return working memory for `retrieve`, taken from the workspace."""
    count, size = tables.rows.shape
    scratch = RetrievalBuffers(
        work.array("hits", (size,), np.int32),
        work.array("distinct_rows", (size,), np.int32),
        work.array("levels", (count + 1,), np.int32),
    )
    scratch.hits[:] = 0
    return scratch


class Lsh(RowObjective):
    """L = -log (exp(s_w) / Σ_{v in R(h) ∪ {w}} exp(s_v)), R(h) by hashing: g_v = [v=w] - exp(s_v) / Σ exp(s).

    Vijayanarasimhan, Shlens, Monga & Yagnik 2015, "Deep networks with large output spaces". A winner-take-all hash of a
    vector is the position of the largest of the first `window` entries of a random permutation of its coordinates. The
    address of a bucket consists of `hashes` such hashes. Every output row is in one bucket per table, and h retrieves
    the rows that share a bucket with it in any table. All examples of a block are trained from the old rows, except
    that a block that retrieves millions of rows is processed in parts.

    Hashing pays off in scoring, where the tables already exist and a few hundred rows replace all V. In training, the
    tables become outdated and must be rebuilt repeatedly, and rows are fetched one at a time, so compare the speed with
    that of the full softmax, which multiplies matrices. Biases are not hashed. The loss is over the retrieved
    rows, so it is not comparable with that of other objectives, and may rise while more rows are retrieved.

    tables: number of hash tables. hashes: hashes per table; 0 puts all rows into one bucket. window: the number of
    columns that each hash compares, less than the number of dimensions. rebuild: number of examples between rebuilds of
    the tables, which are also rebuilt whenever the number of examples has doubled, since rows that start at zero share
    one bucket. limit: maximum number of rows to retrieve, preferring those found in the most tables; 0 means no limit.
    """

    def __init__(self, output: np.ndarray, columns: np.ndarray, rebuild: int, limit: int) -> None:
        super().__init__(output)
        self.rebuild, self.examples, self.lock = rebuild, np.zeros(1, np.int64), threading.Lock()
        self.tables = make_tables(output, columns, limit)

    @property
    def state(self) -> Arrays:
        """Return the tables and the number of examples: a checkpoint needs them, as the tables lag behind the rows."""
        return {"rows": self.tables.rows, "starts": self.tables.starts, "age": self.examples}

    def optimum(self, P: np.ndarray) -> np.ndarray | None:
        """Return P if one bucket holds all rows; otherwise the optimum depends on what the tables retrieve."""
        one_bucket = self.tables.columns.shape[1] == 0 and self.tables.limit >= len(self.output)
        return P if one_bucket else None

    @classmethod
    def build(
        cls,
        problem: Problem,
        *,
        tables: int = 16,
        hashes: int = 3,
        window: int = 8,
        rebuild: int = 50_000,
        limit: int = 1000,
    ) -> "Lsh":
        """Start biases, if any, at the log-frequencies of the words."""
        check_size(len(problem.counts), problem.dim, tables, hashes, window)
        columns = first_entries(problem, tables, hashes, window)
        check_window(problem.dim, columns, window, problem.init)
        output = problem.initial_rows(bias=problem.log_unigram())
        return cls(output, columns, rebuild, limit)

    @classmethod
    def check(cls, options: Options) -> None:
        hashes, window = options["hashes"], options["window"]
        check_ranges(
            "lsh",
            tables=(options["tables"], 1, 1000),
            hashes=(hashes, 0, 20),
            window=(window, 2, 256),
            rebuild=(options["rebuild"], 1, 1 << 40),
            limit=(options["limit"], 0, 1 << 31),
        )
        if window**hashes > MAX_HASH_BUCKETS:
            raise bad_option("lsh", "hashes", f"{window}^{hashes} buckets exceed {MAX_HASH_BUCKETS}")

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        tables, loss, dH = self.tables, 0.0, np.zeros_like(H)
        cap, scratch = tables.limit + 1, retrieval_buffers(work, tables)
        for first in range(0, len(H), max(1, CANDIDATES_AT_ONCE // cap)):
            block = slice(first, first + max(1, CANDIDATES_AT_ONCE // cap))
            candidates = work.array("candidates", (len(H[block]), cap), np.int32)
            g = work.array("logits", candidates.shape, H.dtype)
            rate = H.dtype.type(lr)
            loss += learn(tables, self.output, H[block], targets[block], rate, scratch, candidates, g, dH[block])
        if lr:
            self._grow_old(len(H))
        return loss, dH

    def refresh(self) -> None:
        self.tables = make_tables(self.output, self.tables.columns, self.tables.limit)

    def _grow_old(self, examples: int) -> None:
        """Count the examples, and rebuild the tables when due. One thread does so; the others use the old tables."""
        before = int(self.examples[0])
        self.examples[0] = before + examples
        period = min(self.rebuild, 1 << before.bit_length())
        if before // period < (before + examples) // period and self.lock.acquire(blocking=False):
            try:
                self.refresh()
            finally:
                self.lock.release()

    @classmethod
    def scorer(cls, problem: Problem, options: Options, output: np.ndarray, arrays: Arrays) -> RowScorer:
        sizes = options["tables"], options["hashes"], options["window"]
        check_size(len(output), problem.dim, *sizes)
        columns = first_entries(problem, *sizes)
        return LshScorer(output, columns, options["limit"])


OBJECTIVE = Lsh
