"""Measure what proposals near the model would bring to `is` and `sampled-softmax`, and what they cost.

`python benchmarks/proposals.py MODEL TRAIN HELDOUT`: MODEL is a language model with one output row per word, written by
`fit --save-model`; TRAIN the text that it was trained on, for the bigrams; HELDOUT the text whose contexts are used.

For an example (h, w), the gradient of the softmax with respect to the scores is g* = P(.|h) - e_w, and with respect to
h it is g*·O, with the output rows O (V, d). Each estimator makes an estimate g of g* from m draws of the example's own:

- is: g = Σ_k r_k e_{v_k} / Σ_k r_k - e_w, with r_k = exp(s_{v_k}) / Q(v_k).
- sampled: g = softmax of s_v - log E(v) over the distinct words drawn and w, minus e_w; E(v) = 1 - (1 - Q(v))^m.

The relative bias is |E[g] - g*| / |g*|, and the relative error the root of E|g - g*|² / |g*|². Both are ratios of means
over the examples. |E[g] - g*|² is estimated without bias: |mean of R estimates - g*|² minus their variance / R.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from near_model import Array, Index, Sampler, fourier, midx, quadratic, quantized, softmax, taylor
from scipy.sparse import csr_array

from w2vtrain.embeddings.model import Model, load_model
from w2vtrain.engines.block_engine import gather
from w2vtrain.kernels.jit import kernel
from w2vtrain.probability.bigrams import DrawBuffers, Proposal, draw_mixed, fixed_mixture, mixture_at
from w2vtrain.probability.dense import Workspace, learn_all, learn_subset, one_thread
from w2vtrain.probability.importance import OwnDraws
from w2vtrain.probability.sampling import log_uniform, noise_distribution
from w2vtrain.training.inputs import heldout_text
from w2vtrain.training.predictor import model_predictor, problem_of

DRAWS_PER_BATCH, ESS, CAP = 32, 25, 4096
"""As `is` with the bigram proposal draws: batches of draws, until an effective sample size, at most this many draws."""
CHAINS = 8
"""Runs of draws per example that measure how many draws reach the effective sample size."""


class Case(NamedTuple):
    """A model and examples of a text that it scores.

    rows (V, d), bias (V,): the output rows. H (C, d), targets (C,), previous (C,): the examples, in the order of the
    text. unigram (V,): word frequencies. mixture: the bigrams of the training text, mixed with them.
    """

    rows: Array
    bias: Array
    H: Array
    targets: Array
    previous: Array
    unigram: Array
    mixture: Proposal

    def some(self, which: Any) -> "Case":
        """Return the case with some of the examples."""
        return self._replace(H=self.H[which], targets=self.targets[which], previous=self.previous[which])

    def scores(self) -> Array:
        """Return the scores s_v of all words, (C, V)."""
        return self.H @ self.rows.T + self.bias

    def with_biases(self) -> tuple[Array, Array]:
        """Return H with a column of ones, (C, d + 1), and the rows with their biases, (V, d + 1)."""
        return np.column_stack([self.H, np.ones(len(self.H), self.H.dtype)]), np.column_stack([self.rows, self.bias])


def case(model: Model, train: str, heldout: str) -> Case:
    """Return the examples of the text `heldout` as a model scores them, with the bigrams of the text `train`."""
    settings, vocabulary, predictor = model_predictor(model)
    output = predictor.scorer.output
    if not settings.bias:
        output = np.column_stack([output, np.zeros(len(output), output.dtype)])
    text = heldout_text([heldout], settings, vocabulary)[0]
    keep, windows = np.full(len(vocabulary), 2**32 - 1, np.uint32), predictor.windows._replace(shrink=False)
    parts, work = [], Workspace()
    for first, last in pairwise(text.starts.tolist()):
        for part in gather(text.tokens, first, last, keep, windows, predictor.layer.architecture, (0, 0, 0), work):
            H = np.empty((len(part.targets), predictor.layer.width), np.float32)
            predictor.layer.hidden(part, 0, H)
            parts.append((H[:, : settings.vector_size], part.targets.copy(), part.previous.copy()))
    H, targets, previous = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    problem = problem_of(settings, vocabulary, heldout_text([train], settings, vocabulary)[0])
    unigram = noise_distribution(np.maximum(vocabulary.counts, 1), 1.0)
    rows, bias = output[:, : settings.vector_size].copy(), output[:, settings.vector_size].copy()
    return Case(rows, bias, H.copy(), targets, previous, unigram, fixed_mixture(problem, 1.0))


def bigram(given: Case) -> Array:
    """Return the mixture λ B(v|p) + (1 - λ) U(v) of each example, (C, V)."""
    Q, table = np.tile(given.unigram, (len(given.H), 1)), given.mixture.bigrams
    for q, p in zip(Q, given.previous.tolist(), strict=True):
        share, pairs = mixture_at(given.mixture, p)
        if pairs:
            low, high = table.starts[p], table.starts[p + 1]
            q *= 1 - share
            q[table.words[low:high]] += share * np.diff(table.ends[low:high].astype(np.int64), prepend=0) / pairs
    return Q


def by_frequency(given: Case, codewords: int, rng: np.random.Generator) -> Index:
    """Return a residual index whose k-means weighs rows by word frequency, as the sum over P nearly does."""
    return quantized(given.rows, codewords, "residual", rng, weights=given.unigram * len(given.unigram))


def proposals(
    given: Case, codewords: list[int], rng: np.random.Generator, stale: Case | None
) -> Iterator[tuple[str, Array]]:
    """Yield the name of each proposal and its probabilities (C, V). stale: the model that an outdated index is of."""
    C, H, rows, bias, most = len(given.H), given.H, given.rows, given.bias, codewords[-1]
    mixed = bigram(given)
    yield "unigram", np.tile(given.unigram, (C, 1))
    yield "log-uniform", np.tile(log_uniform(len(rows)), (C, 1))
    yield "bigram", mixed
    longer, wider = given.with_biases()
    for form in ("product", "residual"):
        index = quantized(wider, most, form, rng)
        yield f"midx {form} K={most}, as published", midx(index, longer, np.zeros_like(bias))
    for form in ("product", "residual"):
        yield f"midx {form} K={most}, exact biases", midx(quantized(rows, most, form, rng), H, bias)
    for K in codewords:
        near = midx(by_frequency(given, K, rng), H, bias)
        yield f"midx K={K}, by frequency", near
    yield f"half bigram, half midx K={most}", (mixed + near) / 2
    if stale:
        yield f"midx K={most}, outdated", midx(by_frequency(stale, most, rng), H, stale.bias)
    yield "quadratic, as published", quadratic(given.scores(), 100.0)
    yield "quadratic, Taylor", taylor(H, rows, bias)
    for nu in (1.0, 4.0):
        yield f"fourier D=1024 nu={nu:g}", fourier(H, rows, bias, 1024, nu, rng)
    yield "exact P", softmax(given.scores())
    yield "uniform", np.full((C, len(rows)), 1 / len(rows))


class Spread(NamedTuple):
    """Sums over the coordinates of R estimates around g*. bias: |E[g] - g*|²; error: E|g - g*|²."""

    bias: float
    error: float


def spread(estimates: Array, exact: Array) -> Spread:
    """Compare dense estimates (R, n) with the exact value (n,)."""
    R, mean = len(estimates), estimates.mean(axis=0)
    error, off = float(((estimates - exact) ** 2).sum() / R), float(((mean - exact) ** 2).sum())
    return Spread(off - (error - off) / (R - 1), error)


def sparse_spread(estimates: csr_array, exact: Array) -> Spread:
    """Compare sparse estimates (R, V) with the exact value (V,)."""
    R, mean = estimates.shape[0], np.asarray(estimates.sum(axis=0)).ravel() / estimates.shape[0]
    error = float((estimates.data**2).sum() / R - 2 * mean @ exact + exact @ exact)
    off = float(((mean - exact) ** 2).sum())
    return Spread(off - (error - off) / (R - 1), error)


def estimates(words: Array, p: Array, q: Array, target: int) -> dict[str, csr_array]:
    """Return the estimates of P(.|h), each (R, V), from draws (R, m); p, q (V,): P and Q."""
    (R, m), V = words.shape, len(p)
    keys, times = np.unique(words + np.arange(R)[:, None] * V, return_counts=True)
    lines, v = np.divmod(keys, V)
    weights = p[v] * times / q[v]
    share = csr_array((weights / np.bincount(lines, weights, R)[lines], (lines, v)), shape=(R, V))
    other = v != target
    lines, v = np.concatenate([lines[other], np.arange(R)]), np.concatenate([v[other], np.full(R, target)])
    weights = p[v] / -np.expm1(m * np.log1p(-q[v]))
    sampled = csr_array((weights / np.bincount(lines, weights, R)[lines], (lines, v)), shape=(R, V))
    return {"is": share, "sampled": sampled}


def drawn(q: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Return words of this shape drawn from q (V,)."""
    ends = np.cumsum(q)
    return np.asarray(np.searchsorted(ends, rng.random(shape) * ends[-1], side="right").clip(max=len(q) - 1))


def needed(r: Array) -> tuple[float, float]:
    """Return how many draws reach the effective sample size, and the share of runs that do not; r (runs, CAP)."""
    totals, squares = (np.cumsum(x, axis=1)[:, DRAWS_PER_BATCH - 1 :: DRAWS_PER_BATCH] for x in (r, r**2))
    enough = totals**2 >= ESS * squares
    first = np.where(enough.any(axis=1), enough.argmax(axis=1) + 1, CAP // DRAWS_PER_BATCH) * DRAWS_PER_BATCH
    return float(first.mean()), float((~enough.any(axis=1)).mean())


def measured(given: Case, Q: Array, sizes: list[int], repeats: int, rng: np.random.Generator) -> dict[str, float]:
    """Return the distances of a proposal (C, V) from P, and the biases and errors of the estimates from its draws."""
    P, figures = softmax(given.scores()), {}
    ratio = P / Q
    figures["tv"] = float(np.abs(P - Q).sum(axis=1).mean() / 2)
    figures["kl"] = float((P * np.log(ratio.clip(1e-300))).sum(axis=1).mean())
    figures["draws"], figures["fallbacks"] = np.mean(
        [needed(x[drawn(q, (CHAINS, CAP), rng)]) for x, q in zip(ratio, Q, strict=True)], axis=0
    )
    sums: dict[str, float] = {}
    for p, q, target in zip(P, Q, given.targets.tolist(), strict=True):
        words = drawn(q, (repeats, max(sizes)), rng)
        exact_h = p @ given.rows
        full = p.copy()
        full[target] -= 1
        scale = {"h": float(((exact_h - given.rows[target]) ** 2).sum()), "o": float(full @ full)}
        for m in sizes:
            for name, g in estimates(words[:, :m], p, q, target).items():
                for part, one in (("h", spread(g @ given.rows, exact_h)), ("o", sparse_spread(g, p))):
                    for figure, value in (("bias", one.bias), ("error", one.error), ("scale", scale[part])):
                        key = f"{name} {part} {m} {figure}"
                        sums[key] = sums.get(key, 0.0) + value
    for key, value in sums.items():
        stem, figure = key.rsplit(" ", 1)
        if figure != "scale":
            figures[key] = (max(value, 0.0) / sums[f"{stem} scale"]) ** 0.5
    return figures


def block_errors(
    given: Case, Q: Array, m: int, shared: bool, block: int, repeats: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the relative error of a block's gradient of the output rows, Σ_b g_b h_bᵀ (V, d), of each estimator.

    Q (C, V): the proposal. shared: whether a block shares its draws, which must be from one Q. The errors of shared
    draws add up over the block; those of own draws partly cancel.
    """
    P, V = softmax(given.scores()), len(given.rows)
    sums = {"is": 0.0, "sampled": 0.0, "scale": 0.0}
    for at in range(0, len(P) - block + 1, block):
        lines = slice(at, at + block)
        H, targets = given.H[lines], given.targets[lines]
        full = P[lines].copy()
        full[np.arange(block), targets] -= 1
        sums["scale"] += repeats * float(((full.T @ H) ** 2).sum())
        common = drawn(Q[at], (repeats, m), rng)
        off = {name: np.empty((repeats, block, V), np.float32) for name in ("is", "sampled")}
        for b, (p, q, target) in enumerate(zip(P[lines], Q[lines], targets.tolist(), strict=True)):
            words = common if shared else drawn(q, (repeats, m), rng)
            for name, g in estimates(words, p, q, target).items():
                off[name][:, b] = g.toarray() - p
        for name, each in off.items():
            sums[name] += sum(float(((g.T @ H) ** 2).sum()) for g in each)
    return {name: (sums[name] / sums["scale"]) ** 0.5 for name in ("is", "sampled")}


@kernel()
def _draw_bigrams(previous: Any, proposal: Any, stream: Any, words: Any, scratch: Any) -> None:
    """Draw words (B, m) from the bigram mixture."""
    for b in range(len(words)):
        share, pairs = mixture_at(proposal, previous[b])
        draw_mixed(stream, proposal, previous[b], share, pairs, scratch, words[b])


def timed(call: Callable[[], Any], seconds: float = 0.5) -> float:
    """Return the CPU seconds of a call: the median of calls that take this long together, after a first one."""
    call()
    times: list[float] = []
    while sum(times) < seconds or len(times) < 3:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return float(np.median(times))


class Costs(NamedTuple):
    """CPU times in microseconds per example, of blocks of B examples and m rows.

    shared: a step on rows that the block shares. own: one on rows that each example draws from the bigram mixture.
    bigram: drawing them. midx: drawing as many from MIDX, by number of codewords.
    """

    shared: float
    own: float
    bigram: float
    midx: dict[int, float]

    def near(self, codewords: int) -> float:
        """Return the time of a step on rows that each example draws from MIDX."""
        return self.own - self.bigram + self.midx[codewords]


def costs(given: Case, B: int, m: int, samplers: dict[int, Sampler], rng: np.random.Generator) -> Costs:
    """Measure the costs of steps. The learning rate is nearly 0, so that the rows stay as they are."""
    part, work, lr, stream = given.some(slice(B)), Workspace(), 1e-9, np.zeros(1, np.uint64)
    H, output = part.with_biases()
    work.previous = part.previous
    rows, places = np.sort(rng.choice(len(output), m, replace=False)), rng.integers(m, size=B)
    own = OwnDraws(given.mixture, m, 0.0, m)
    words, q = np.empty((B, m), np.int32), np.empty((B, m))
    scratch = DrawBuffers(*np.empty((2, m)), *np.empty((2, m), np.int64))
    micro = 1e6 / B
    return Costs(
        micro * timed(partial(learn_subset, output, rows, H, places, lr, work)),
        micro * timed(partial(own.learn, output, H, part.targets, lr, work)),
        micro * timed(partial(_draw_bigrams, part.previous, given.mixture, stream, words, scratch)),
        {K: micro * timed(partial(sampler, part.H, stream, words, q)) for K, sampler in samplers.items()},
    )


def _rebuilt(given: Case, codewords: int, rng: np.random.Generator) -> Sampler:
    return Sampler(by_frequency(given, codewords, rng), given.bias)


def print_costs(given: Case, codewords: list[int], rng: np.random.Generator) -> None:
    """Print CPU times of steps, of draws, and of rebuilding an index; and operations of the other proposals."""
    samplers = {K: _rebuilt(given, K, rng) for K in codewords}
    print(f"\nmicroseconds of CPU time per example; drawing from midx with {', '.join(map(str, codewords))} codewords")
    print(f"chi-square per degree of freedom of the sampler's draws: {chi_square(given, samplers[codewords[-1]]):.3f}")
    every, output = given.with_biases()
    V, d = output.shape
    print(" block      m  shared rows  own rows (bigram)  ratio  drawing: bigram  midx")
    for B in (32, 64, 128, 256):
        exact = 1e6 / B * timed(partial(learn_all, output, every[:B], 1e-9, Workspace()))
        print(f"{B:6}  {V:5}  {exact:11.1f}")
        for m in (64, 256, 1024):
            cost = costs(given, B, m, samplers, rng)
            draws = "  ".join(f"{each:5.1f}" for each in cost.midx.values())
            ratio = cost.own / cost.shared
            line = f"{B:6}  {m:5}  {cost.shared:11.1f}  {cost.own:17.1f}  {ratio:5.1f}  {cost.bigram:15.1f}  {draws}"
            print(line, flush=True)
    for K in codewords:
        build = timed(partial(_rebuilt, given, K, rng))
        print(f"rebuilding an index with K={K}, 10 rounds of k-means: {build * 1e3:.0f} ms")
    square, h, levels = np.ones((d, d), np.float32), np.ones(d, np.float32), np.log2(V / d)
    node = 1e6 * timed(lambda: h @ square @ h, 0.1)
    print(
        f"quadratic kernel by a tree: {levels:.1f} nodes of {d * d:,} products per draw, {node:.1f} microseconds each;"
        f" the exact scores of an example: {V * d:,} products"
    )
    descent = 2 * 1024 * np.log2(V)
    print(
        f"fourier by a tree, D=1024: {descent:,.0f} products per draw, and {1024 * d + descent:,.0f} per row that"
        f" changes, where changing the row itself takes {d}"
    )


def print_blocks(given: Case, codewords: int, rng: np.random.Generator) -> None:
    """Print the error of the gradient of a block of 256 examples beside the time of a step.

    Two times are bounds: unigrams take less time to draw than bigrams, and the mixture of bigrams and MIDX needs Q of
    every draw from both, for which no time is counted.
    """
    index, at = by_frequency(given, codewords, rng), int(rng.integers(len(given.targets) - 1024))
    part, samplers = given.some(slice(at, at + 1024)), {codewords: Sampler(index, given.bias)}
    unigram, mixed, near = np.tile(given.unigram, (1024, 1)), bigram(part), midx(index, part.H, part.bias)
    print("\nblocks of 256 examples: microseconds per example, and relative error of the gradient of the output rows")
    print(f"{'':35}      m   time   is     sampled")
    plans: list[tuple[str, Array, list[int], Callable[[Costs], float]]] = [
        ("unigram, shared", unigram, [256, 1024, 2048], lambda cost: cost.shared),
        ("unigram, own", unigram, [32, 64, 128, 256], lambda cost: cost.own),
        ("bigram, own", mixed, [32, 64, 128, 256], lambda cost: cost.own),
        (f"midx K={codewords}, own", near, [32, 64, 128, 256], lambda cost: cost.near(codewords)),
        (
            f"half bigram, half midx K={codewords}, own",
            (mixed + near) / 2,
            [32, 64, 128, 256],
            lambda cost: (cost.own + cost.near(codewords)) / 2,
        ),
    ]
    for name, Q, sizes, time_of in plans:
        for m in sizes:
            cost = time_of(costs(part, 256, m, samplers, rng))
            error = block_errors(part, Q, m, "shared" in name, 256, 4, rng)
            print(f"{name:35}  {m:5}  {cost:5.1f}  {error['is']:.3f}  {error['sampled']:.3f}", flush=True)


def chi_square(given: Case, sampler: Sampler, draws: int = 200_000) -> float:
    """Return Pearson's statistic of the sampler's draws per degree of freedom: 1 if they follow `midx`.

    Raise AssertionError if the probabilities that it returns are not those of `midx`.
    """
    part = given.some(slice(8))
    Q, words, q = midx(sampler.index, part.H, given.bias), np.empty((8, draws), np.int32), np.empty((8, draws))
    sampler(part.H, np.zeros(1, np.uint64), words, q)
    np.testing.assert_allclose(q, np.take_along_axis(Q, words.astype(np.int64), axis=1), rtol=1e-3)
    expected, often = Q * draws, Q * draws > 5
    counts = np.array([np.bincount(line, minlength=Q.shape[1]) for line in words])
    return float((((counts - expected) ** 2 / expected)[often]).mean())


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("train")
    parser.add_argument("heldout")
    parser.add_argument("--stale", help="an earlier model, whose index is used for this one")
    parser.add_argument("--contexts", type=int, default=200, help="examples per seed")
    parser.add_argument("--seeds", type=int, default=3, help="seeds 1 to N of examples, draws and indexes")
    parser.add_argument("--repeats", type=int, default=32, help="estimates per example")
    parser.add_argument("--draws", default="16,64,256,1024", help="draws per estimate")
    parser.add_argument("--codewords", default="32,64,128", help="codewords per codebook of MIDX")
    parser.add_argument("--parts", default="errors,blocks,costs", help="what to measure")
    given = parser.parse_args()
    sizes, codewords = ([int(n) for n in text.split(",")] for text in (given.draws, given.codewords))
    examples = case(load_model(given.model), given.train, given.heldout)
    stale = case(load_model(given.stale), given.train, given.heldout) if given.stale else None
    with one_thread():
        if "errors" in given.parts:
            print_errors(examples, stale, given.contexts, given.seeds, given.repeats, sizes, codewords)
        if "blocks" in given.parts:
            print_blocks(examples, codewords[-1], np.random.default_rng(1))
        if "costs" in given.parts:
            print_costs(examples, codewords, np.random.default_rng(1))


def print_errors(
    examples: Case, stale: Case | None, contexts: int, seeds: int, repeats: int, sizes: list[int], codewords: list[int]
) -> None:
    """Print a line per proposal: means over seeds, and the range of the error of `is` with respect to h."""
    results: dict[str, list[dict[str, float]]] = {}
    for seed in range(1, seeds + 1):
        rng = np.random.default_rng(seed)
        sample = examples.some(np.sort(rng.choice(len(examples.targets), contexts, replace=False)))
        for name, Q in proposals(sample, codewords, rng, stale):
            results.setdefault(name, []).append(measured(sample, Q, sizes, repeats, rng))
    print(f"{contexts} contexts per seed, {seeds} seeds, {repeats} estimates per context; draws until ESS {ESS}")
    print(f"{'':34}  TV     KL                   draws          fallbacks")
    for name, each in results.items():
        tv, kl, draws, few = ([one[key] for one in each] for key in ("tv", "kl", "draws", "fallbacks"))
        print(
            f"{name:34}  {np.mean(tv):.3f}  {np.mean(kl):.3f} ({min(kl):.3f}-{max(kl):.3f})"
            f"  {np.mean(draws):4.0f} ({min(draws):.0f}-{max(draws):.0f})  {np.mean(few):.3f}"
        )
    for figure in ("error", "bias"):
        for estimator in ("is", "sampled"):
            for place, whole in (("h", "h"), ("o", "the scores")):
                print(f"\nrelative {figure}, {estimator}, with respect to {whole}")
                print(f"{'':34}" + "".join(f"  m={m:<16}" for m in sizes))
                for name, each in results.items():
                    line = f"{name:34}"
                    for m in sizes:
                        values = [one[f"{estimator} {place} {m} {figure}"] for one in each]
                        line += f"  {np.mean(values):.3f} ({min(values):.3f}-{max(values):.3f})"
                    print(line, flush=True)


if __name__ == "__main__":
    main()
