"""Compare all queries of KeyedVectors with gensim's: `python tests/gensim_queries.py [VECTORS]`; random without a file.

Prints one line per query with the largest difference; the exit code is 1 if one is above TOLERANCE.
"""

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import w2vtrain

TOLERANCE = 1e-6
"""The largest absolute difference of cosines of float32, and of everything computed from them."""
DATA = Path(__file__).parent.parent / "data/eval"


def queries(keys: list[str], dim: int, seed: int = 0) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield the name of each query and the function that asks it of KeyedVectors, with random keys and vectors."""
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.choice(keys, 4, replace=False).tolist()
    u, v = rng.standard_normal((2, dim)).astype(np.float32)
    some, clip, place = rng.choice(keys, 9, replace=False).tolist(), len(keys) // 2, int(rng.integers(len(keys)))
    yield "lookup", lambda kv: [kv[a], kv[[a, b]], kv[place], kv.get_vector(c, norm=True), kv.get_index(d)]
    for topn in (0, 1, 10, len(keys), None):
        yield f"most_similar, {topn}", lambda kv, topn=topn: kv.most_similar(a, topn=topn)
        yield f"cosmul, {topn}", lambda kv, topn=topn: kv.most_similar_cosmul([a, b], [c], topn=topn)
    yield "analogy", lambda kv: kv.most_similar([a, b], [c])
    yield "weights", lambda kv: kv.most_similar([(a, 2.5), b, u], [(c, -0.3), place])
    yield "negative", lambda kv: kv.most_similar(negative=[a, v])
    yield "vectors", lambda kv: kv.most_similar(np.array([u, v]))
    yield "clip", lambda kv: kv.most_similar(a, clip_start=3, clip_end=clip)
    yield "clip, start", lambda kv: kv.most_similar(a, clip_start=3, clip_end=0)
    yield "restrict", lambda kv: kv.most_similar(a, restrict_vocab=clip)
    yield "by key", lambda kv: [kv.similar_by_key(b, 3), kv.similar_by_word(b, topn=None), kv.similar_by_vector(u)]
    yield "by vector", lambda kv: [kv.similar_by_vector(a), kv.distances(v.tolist())]
    yield "cosmul, vector", lambda kv: kv.most_similar_cosmul([a, u], [b])
    yield "mean", lambda kv: kv.get_mean_vector([a, b, u, "no such word"], [1, -2, 3, 4])
    yield (
        "mean, raw",
        lambda kv: kv.get_mean_vector([a, b], np.array([0.5, 2]), pre_normalize=False, post_normalize=True),
    )
    yield "similarity", lambda kv: [kv.similarity(a, b), kv.distance(a, b), kv.distance(a, a), kv.distances(a)]
    yield "distances", lambda kv: [kv.distances(u), kv.distances(a, [b, c]), kv.distances(v, some)]
    yield "cosine_similarities", lambda kv: kv.cosine_similarities(u, kv.vectors)
    yield "n_similarity", lambda kv: [kv.n_similarity([a, b], [c]), kv.n_similarity([a], ["no such word"])]
    yield "relative", lambda kv: kv.relative_cosine_similarity(a, kv.most_similar(a)[3][0])
    yield "rank", lambda kv: [kv.rank(a, b), kv.rank(a, a), kv.closer_than(c, d)]
    yield "given", lambda kv: kv.most_similar_to_given(a, some)
    yield "centrality", lambda kv: [kv.rank_by_centrality(some), kv.rank_by_centrality([*some, "?"], use_norm=False)]
    yield "doesnt_match", lambda kv: kv.doesnt_match(some)
    yield "norms", lambda kv: [kv.get_normed_vectors(), kv.fill_norms(), kv.norms]
    yield "subset", lambda kv: [kv.vectors_for_all([a, "?", b]).vectors, kv.vectors_for_all([a]).expandos]


def evaluations(folder: Path) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield the name of each query that reads or writes files, and the function that asks it."""
    questions, pairs = str(DATA / "questions-words.txt"), str(DATA / "wordsim353.tsv")
    for options in ({}, {"dummy4unknown": True}, {"case_insensitive": False, "restrict_vocab": 1000}):
        yield f"analogies, {options}", lambda kv, o=options: kv.evaluate_word_analogies(questions, **o)
        yield f"pairs, {options}", lambda kv, o=options: kv.evaluate_word_pairs(pairs, **o)

    def reread(kv: Any, **options: Any) -> Any:
        kv.save_word2vec_format(str(folder / "vectors"), **options)
        found = kv.load_word2vec_format(str(folder / "vectors"), binary=options.get("binary", False), limit=7)
        return [found.index_to_key, found.vectors, found.expandos]

    yield "text", reread
    yield "binary", lambda kv: reread(kv, binary=True)
    yield "prefix", lambda kv: reread(kv, prefix="x_", total_vec=9)


def difference(ours: Any, theirs: Any) -> float:
    """Return the largest difference between two results; infinity if they differ in more than numbers."""
    if isinstance(ours, np.ndarray | np.generic | float | int):
        one, two = np.asarray(ours), np.asarray(theirs)
        if one.shape != two.shape or one.dtype.kind != two.dtype.kind:
            return np.inf
        both = np.isnan(one) & np.isnan(two)
        return float(np.nan_to_num(np.abs(np.where(both, 0, one.astype(float) - two)), nan=np.inf).max(initial=0))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return difference(sorted(ours.items()), sorted(theirs.items()))
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        if len(ours) != len(theirs):
            return np.inf
        return max((difference(*pair) for pair in zip(ours, theirs, strict=True)), default=0.0)
    return 0.0 if ours == theirs else np.inf


def differences(keyed: Any, asked: Iterator[tuple[str, Callable[[Any], Any]]]) -> Iterator[tuple[str, float]]:
    """Yield each query's name and the difference between our answers and those of gensim, over the same matrix."""
    theirs = keyed.to_gensim()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, ask in asked:
            yield name, difference(ask(keyed), ask(theirs))


def main() -> int:
    """Compare with the vectors of a file, or with random ones."""
    rng = np.random.default_rng(0)
    if len(sys.argv) > 1:
        found = w2vtrain.read_vectors(sys.argv[1])
        keyed = w2vtrain.KeyedVectors.of(found.words, found.matrix)
    else:
        words = sorted({word for word in (DATA / "questions-words.txt").read_text().split() if word != ":"})
        keyed = w2vtrain.KeyedVectors.of(words, rng.standard_normal((len(words), 50)).astype(np.float32))
    keyed.set_vecattr(keyed.index_to_key[0], "count", 5)
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, size in differences(keyed, evaluations(Path(folder))):
            print(f"{size:.1e}  {name}")
            worst = max(worst, size)
    for seed in range(20):
        for name, size in differences(keyed, queries(keyed.index_to_key, keyed.vector_size, seed)):
            if not seed or size > TOLERANCE:
                print(f"{size:.1e}  {name}, seed {seed}")
            worst = max(worst, size)
    print(f"{worst:.1e}  largest difference")
    return worst > TOLERANCE


if __name__ == "__main__":
    sys.exit(main())
