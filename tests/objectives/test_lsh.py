"""Softmax over the rows that hashing retrieves: tables, retrieved rows, gradients, the softmax as a limit, threads."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest
from reference import DEMO, begun, hidden_vectors, problem_of
from scipy.special import log_softmax

import w2vtrain
from w2vtrain import objectives
from w2vtrain.errors import ConfigError
from w2vtrain.objectives.lsh import Lsh, bucket, check_size, check_window, first_entries, make_tables

SIZE, DIM = 60, 12
COUNTS = np.arange(SIZE, 0, -1)
OPTIONS = {"tables": 5, "hashes": 2, "window": 3, "rebuild": 10**9, "limit": 0}


def problem(dtype=np.float64, **more):
    return problem_of(COUNTS, **{"dim": DIM, "bias": True, "init": 0.6, "dtype": dtype, **more})


def built(dtype=np.float64, **options):
    return Lsh.build(problem(dtype), **{**OPTIONS, **options})


def block(rng, n=9, dtype=np.float64):
    return hidden_vectors(rng, n, DIM + 1).astype(dtype), rng.integers(0, SIZE, n).astype(np.int32)


def address(x, columns):
    return tuple(int(np.argmax(x[part])) for part in columns)


def naive_retrieved(output, h, columns, limit):
    """Return the rows that share a bucket with h, by decreasing number of tables, then in the order found."""
    hits = {}
    for part in columns:
        for r, row in enumerate(output):
            if address(row, part) == address(h, part):
                hits[r] = hits.get(r, 0) + 1
    found = sorted(hits, key=lambda r: -hits[r])
    return found[:limit] if limit else found


def naive_step(output, H, targets, columns, limit, lr):
    new, dH, loss = output.copy(), np.zeros_like(H), 0.0
    for b, (h, w) in enumerate(zip(H, targets, strict=True)):
        rows = sorted({int(w), *naive_retrieved(output, h, columns, limit)})
        log_p = log_softmax(output[rows] @ h)
        loss -= log_p[rows.index(w)]
        g = (np.array(rows) == w) - np.exp(log_p)
        dH[b] = g @ output[rows]
        new[rows] += lr * np.outer(g, h)
    return loss, dH, new


def test_each_table_has_every_row_once_and_in_the_right_bucket():
    objective = built()
    tables, columns = objective.tables, objective.tables.columns
    assert columns.shape == (5, 2, 3)
    assert columns.max() < DIM, "the bias must not be hashed"
    assert all(len(set(part.tolist())) == 3 for table in columns for part in table)
    for t in range(5):
        assert sorted(tables.rows[t].tolist()) == list(range(SIZE))
        assert tables.starts[t, 0] == 0
        assert tables.starts[t, -1] == SIZE
        for code in range(9):
            for r in tables.rows[t, tables.starts[t, code] : tables.starts[t, code + 1]]:
                assert address(objective.output[r], columns[t]) == (code // 3, code % 3)


def test_hashes_depend_only_on_the_order_of_coordinates(rng):
    columns = built().tables.columns
    for x in rng.normal(size=(20, DIM)):
        for part in columns:
            assert bucket(x, part) == bucket(3 * x + 2, part) == bucket(np.exp(x), part)
    assert all(bucket(np.zeros(DIM), part) == 0 for part in columns), "the first of equal coordinates counts"


@pytest.mark.parametrize("limit", [0, 1, 7, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_step_matches_the_reference_implementation(rng, dtype, limit):
    objective = built(dtype, limit=limit)
    H, targets = block(rng, dtype=dtype)
    targets[3] = targets[4]
    wide = objective.output.astype(float)
    retrieved = [naive_retrieved(wide, h, objective.tables.columns, 0) for h in H.astype(float)]
    assert max(map(len, retrieved)) > 20
    assert min(map(len, retrieved)) < SIZE
    expected = naive_step(wide, H.astype(float), targets, objective.tables.columns, limit, 0.1)
    loss, dH = objective.step(H, targets, 0.1, begun())
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    assert loss == pytest.approx(expected[0], rel=tolerance)
    np.testing.assert_allclose(dH, expected[1], atol=tolerance)
    np.testing.assert_allclose(objective.output, expected[2], atol=tolerance)


def test_a_constant_added_to_all_scores_changes_nothing(rng):
    """Even if exp of every score underflows or overflows."""
    steps = []
    for constant in (0.0, -1000.0, 1000.0):
        objective = built()
        objective.output[:, -1] += constant
        steps.append(objective.step(*block(np.random.default_rng(2)), 0.0, begun())[0])
    assert steps == pytest.approx([steps[0]] * 3)


def test_large_blocks_are_processed_in_parts(rng, monkeypatch):
    whole, parts = built(limit=20), built(limit=20)
    H, targets = block(rng)
    loss, dH = whole.step(H, targets, 0.0, begun())
    monkeypatch.setattr("w2vtrain.objectives.lsh.CANDIDATES_AT_ONCE", 50)
    part_loss, part_dh = parts.step(H, targets, 0.0, begun())
    assert part_loss == pytest.approx(loss, rel=1e-14)
    np.testing.assert_array_equal(part_dh, dH)
    again = built(limit=20)
    for objective in (parts, again):  # long after the beginning, when a few examples do not rebuild the tables
        objective.state["age"][...] = 1 << 40
    parts.step(H, targets, 0.1, begun())
    for first in range(0, 9, 2):
        again.step(H[first : first + 2], targets[first : first + 2], 0.1, begun())
    np.testing.assert_array_equal(parts.output, again.output)


def test_tables_are_rebuilt_after_the_given_number_of_examples_and_when_their_number_has_doubled(rng):
    objective = built(rebuild=27)
    first, rows = objective.tables, objective.tables.rows.copy()
    H, targets = block(rng)

    def rebuilds(rate):
        before = objective.tables
        objective.step(H, targets, rate, begun())
        return objective.tables is not before

    assert [rebuilds(0.0) for _ in range(3)] == [False] * 3, "steps at rate 0 must not count"
    assert [rebuilds(0.5) for _ in range(7)] == [True, True, True, False, False, True, False]  # after 9, 18, 27, 54
    np.testing.assert_array_equal(first.rows, rows)


def test_rebuilt_tables_have_every_row_in_its_bucket(rng):
    objective = built(rebuild=9)
    objective.step(*block(rng), 0.5, begun())
    for t, part in enumerate(objective.tables.columns):
        codes = [bucket(objective.output[r], part) for r in objective.tables.rows[t]]
        assert codes == sorted(codes)


def test_vectors_are_learned_from_fewer_examples_than_between_rebuilds():
    """Rows start at zero, in one bucket, so that most examples would retrieve nothing but their target."""
    sentences = [line.split() for line in DEMO.read_text(encoding="utf-8").splitlines()[:700]]
    settings = {"architecture": "cbow", "vector_size": 20, "epochs": 2, "threads": 1}
    vectors = w2vtrain.train(sentences, objective="lsh", **settings).vectors()
    assert np.abs(vectors).max() > 3 * 0.5 / 20, "most vectors are as they began, uniform on +-0.5 / 20"


def test_state_contains_the_tables_because_they_are_older_than_the_rows(rng):
    """A checkpoint has all that is needed to resume. Tables rebuilt from the current rows would differ."""
    objective, (H, targets) = built(rebuild=50), block(rng, 30)
    for _ in range(3):
        objective.step(H, targets, 0.5, begun())
    again = built(rebuild=50)
    for mine, theirs in ((again.parameters(), objective.parameters()), (again.state, objective.state)):
        assert mine.keys() == theirs.keys()
        for name, array in mine.items():
            array[...] = theirs[name]
    assert (make_tables(again.output, again.tables.columns, 0).rows != again.tables.rows).any()
    for _ in range(3):
        expected, got = objective.step(H, targets, 0.5, begun()), again.step(H, targets, 0.5, begun())
        assert got[0] == expected[0]
        np.testing.assert_array_equal(got[1], expected[1])
        np.testing.assert_array_equal(again.tables.rows, objective.tables.rows)


def test_threads_train_while_one_of_them_rebuilds_the_tables(rng):
    objective = built(np.float32, rebuild=10, limit=20)
    H, targets = block(rng, 32, np.float32)

    def work(thread):
        mine = begun()
        return [objective.step(H[thread::4], targets[thread::4], 0.01, mine)[0] for _ in range(200)]

    with ThreadPoolExecutor(4) as pool:
        losses = np.array(list(pool.map(work, range(4))))
    assert np.isfinite(losses).all()
    assert losses[:, -20:].mean() < losses[:, :20].mean()
    assert all(sorted(rows.tolist()) == list(range(SIZE)) for rows in objective.tables.rows)
    assert not objective.lock.locked()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("limit", [0, 7])
def test_scores_are_exact_and_log_prob_uses_the_retrieved_rows_only(rng, dtype, limit):
    objective, H, targets = built(dtype, limit=limit), *block(rng, dtype=dtype)
    options = {**OPTIONS, "limit": limit}
    scorer = Lsh.scorer(problem(dtype), options, objective.output, objective.arrays())
    wide, wide_h = objective.output.astype(float), H.astype(float)
    exact = log_softmax(wide_h @ wide.T, axis=1)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    raw, log_z = scorer.scores(H, targets)
    np.testing.assert_allclose(raw - log_z, exact[np.arange(9), targets], atol=tolerance)
    np.testing.assert_allclose(scorer.log_probs(H), exact, atol=tolerance)
    cheap = [-naive_step(wide, wide_h[[b]], targets[[b]], objective.tables.columns, limit, 0)[0] for b in range(9)]
    got = scorer.log_prob(H, targets)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, cheap, atol=tolerance)
    assert (got > exact[np.arange(9), targets]).all()


def test_a_vector_retrieves_similar_rows():
    """This is the purpose of hashing: rows near h are found far more often than others."""
    rng = np.random.default_rng(2)
    objective = Lsh.build(problem_of(np.ones(2000), dim=50, init=0.5), tables=16, hashes=3, window=8)
    near = found = 0
    for r in range(0, 2000, 40):
        h = objective.output[r].astype(float) + 0.1 * rng.normal(size=50)
        rows = set()
        for t, part in enumerate(objective.tables.columns):
            code, starts = bucket(h, part), objective.tables.starts[t]
            rows |= set(objective.tables.rows[t, starts[code] : starts[code + 1]].tolist())
        near, found = near + (r in rows), found + len(rows)
    assert near >= 49
    assert found / 50 < 0.08 * 2000


def test_tables_far_larger_than_the_output_vectors_are_rejected(rng):
    """This holds in training and when a model is loaded, and before any memory is allocated."""
    large = {**OPTIONS, "tables": 1000, "hashes": 5, "window": 16}
    Lsh.check(large)  # two million words would allow them
    check_size(2_000_000, 100, 1000, 5, 16)
    with pytest.raises(ConfigError, match=r"option tables of objective lsh: 1,000 tables of 16\^5 .*, but 60 words"):
        built(**large)
    with pytest.raises(ConfigError, match="reduce option tables"):
        Lsh.scorer(problem(), large, built().output, {})


@pytest.mark.parametrize("dim", [1, 4, 8])
def test_a_window_of_all_columns_is_refused_because_all_hashes_would_be_equal(dim):
    text = [["a", "b", "c", "d"]] * 99
    settings = {"vector_size": dim, "min_count": 1, "objective": "lsh"}
    with pytest.raises(ConfigError, match=f"option window of objective lsh: 8 is not less than vector_size {dim}"):
        w2vtrain.train(text, **settings)
    w2vtrain.train(text, **settings, options={"hashes": 0})


def test_tables_from_which_no_vector_retrieves_a_row_of_zeros_are_refused(rng):
    """The check agrees with a search among random vectors."""
    refused = 0
    for seed in range(40):
        small = problem_of(np.array([2, 1]), dim=6, seed=seed)
        columns = first_entries(small, 2, 3, 4)
        found = any(bucket(h, part) == 0 for h in rng.normal(size=(3000, 6)) for part in columns)
        with nullcontext() if found else pytest.raises(ConfigError, match="no vector would retrieve a row"):
            check_window(6, columns, 4)
        check_window(6, columns, 4, init=0.1)  # rows that are no zeros have hashes of their own
        refused += not found
    assert 0 < refused < 40


def test_more_buckets_than_an_index_can_number_are_rejected():
    with pytest.raises(ConfigError, match="buckets"):
        objectives.build("lsh", problem(), {"hashes": 7, "window": 8})


@pytest.mark.parametrize(("words", "dim"), [(2, 1), (2, 100_000), (12_000, 50), (1_000_000, 100)])
def test_tables_of_realistic_sizes_are_allowed(words, dim):
    defaults = objectives.option_defaults("lsh")
    check_size(words, dim, defaults["tables"], defaults["hashes"], defaults["window"])
    for tables, hashes, window in ((100, 3, 8), (64, 4, 16)) if words > 2 else ():
        check_size(words, dim, tables, hashes, window)


def test_permutations_do_not_depend_on_how_many_are_drawn_at_a_time(monkeypatch):
    whole = first_entries(problem(), 7, 3, 5)
    monkeypatch.setattr("w2vtrain.objectives.lsh.ELEMENTS_AT_ONCE", 2 * DIM)
    np.testing.assert_array_equal(first_entries(problem(), 7, 3, 5), whole)
    rng = np.random.default_rng([problem().seed, 2])
    order = rng.permuted(np.tile(np.arange(DIM, dtype=np.int32), (21, 1)), axis=1)
    np.testing.assert_array_equal(whole, order[:, :5].reshape(7, 3, 5))
