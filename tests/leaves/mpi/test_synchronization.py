"""The exchange of rows: the rule that combines the ranks' changes, which rows are due, and when replicas are equal."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from reference import problem_of
from simulated import Simulated, run_ranks

from w2vtrain.architectures.contract import Architecture
from w2vtrain.engines.base import Array, Role
from w2vtrain.engines.window_kernel import Windows
from w2vtrain.errors import ConfigError
from w2vtrain.formats.subwords import Ngrams, Subwords
from w2vtrain.leaves.mpi import synchronization
from w2vtrain.leaves.mpi.row_updates import WINDOW_UPDATES, expected_updates
from w2vtrain.leaves.mpi.synchronization import (
    BASE_LIMIT_DIVISOR,
    INPUT_UPDATES,
    MIN_EXCHANGED_ROWS,
    Synchronizer,
    shares,
)
from w2vtrain.objectives import build, engine_of, objectives, option_defaults

ROWS, WIDTH = 700, 2
ROUND = 1000
"""Words that all ranks together learn in a round."""
ALONE = Simulated(0, threading.Barrier(1), [None], timeout=1.0)


class Engine:
    """An engine with one array (ROWS, WIDTH + 1), whose last column training does not change."""

    architecture = SimpleNamespace(learned=dict)
    objective = SimpleNamespace(engine="blocks")
    problem = SimpleNamespace(width=WIDTH)

    def __init__(self, seed=0, threads=1):
        self.schedule = SimpleNamespace(threads=threads)
        self.array = np.random.default_rng(seed).normal(size=(ROWS, WIDTH + 1)).astype(np.float32)

    def trained(self):
        return [Array("input", Role.INPUT, self.array)]


def updates():
    """Return updates per word: a few rows at every word, most at one in a million, in no particular order."""
    return np.random.default_rng(1).permutation(1.0 / (1 + np.arange(ROWS)) ** 3)


def synchronizer(comm, engine):
    return Synchronizer(comm, engine, {Role.INPUT: updates()}, ROUND)


def change(rank, number, size=1.0):
    return size * np.random.default_rng((rank, number)).normal(size=(ROWS, WIDTH)).astype(np.float32)


@pytest.mark.parametrize("count", [2, 3])
def test_replicas_are_combined_by_the_rule_in_numpy(count):
    """Synchronize some rounds on all ranks, and compute the same with whole matrices in float64."""
    rounds = 9

    def work(comm):
        engine = Engine()
        mine = synchronizer(comm, engine)
        for number in range(rounds):
            engine.array[:, :WIDTH] += change(comm.rank, number)
            mine.synchronize(ROUND, everything=number == rounds - 1)
        return engine.array

    found = run_ranks(count, work)

    rate, order = updates(), np.argsort(-updates(), kind="stable")
    base = max(MIN_EXCHANGED_ROWS, int((rate * ROUND > INPUT_UPDATES / BASE_LIMIT_DIVISOR).sum()))
    common = Engine().array[:, :WIDTH].astype(np.float64)
    replicas, since, at = [common.copy() for _ in range(count)], np.zeros(ROWS), 0
    for number in range(rounds):
        for rank in range(count):
            replicas[rank] += change(rank, number)
        at += 1
        due = ROWS if number == rounds - 1 else min(ROWS, base * (at & -at))
        for row in order[:due]:
            words = ROUND * (number + 1) - since[row]
            share = min(1.0, max(1 / count, INPUT_UPDATES / (rate[row] * words)))
            common[row] += share * sum(replica[row] - common[row] for replica in replicas)
            since[row] = ROUND * (number + 1)
            for replica in replicas:
                replica[row] = common[row]
        at = 0 if due == ROWS else at
    for array in found:
        np.testing.assert_allclose(array[:, :WIDTH], common, atol=1e-4)
        assert np.array_equal(array, found[0])
        assert np.array_equal(array[:, WIDTH], Engine().array[:, WIDTH])


def test_rare_rows_take_the_sum_and_the_most_frequent_the_mean():
    share = shares(np.array([1.0, 1e-9, 0.1, 0.0]), 1000, 4, 50.0)
    np.testing.assert_allclose(share, [0.25, 1.0, 0.5, 1.0])
    assert share.dtype == np.float32


def test_share_falls_with_the_words_since_the_last_exchange():
    found = [float(shares(np.array([0.1]), words, 8, 50.0)[0]) for words in (100, 500, 1000, 2000, 1 << 40)]
    np.testing.assert_allclose(found, [1, 1, 1 / 2, 1 / 4, 1 / 8])


def test_rows_of_one_rank_keep_its_changes():
    engine = Engine()
    mine, before = synchronizer(ALONE, engine), engine.array.copy()
    engine.array[:, :WIDTH] += change(0, 0)
    assert mine.synchronize(ROUND, everything=True)
    np.testing.assert_allclose(engine.array[:, :WIDTH], before[:, :WIDTH] + change(0, 0), atol=1e-5)


def test_all_ranks_start_from_the_arrays_of_rank_0():
    def work(comm):
        engine = Engine(seed=comm.rank)
        synchronizer(comm, engine)
        return engine.array

    assert all(np.array_equal(array, Engine(seed=0).array) for array in run_ranks(3, work))


def test_a_cycle_ends_when_all_rows_are_due_and_then_begins_again():
    engine = Engine()
    mine = synchronizer(ALONE, engine)
    (part,) = mine.exchanged
    due = [part.due(number) for number in range(1, 17)]
    assert due[:8] == [
        MIN_EXCHANGED_ROWS,
        2 * MIN_EXCHANGED_ROWS,
        MIN_EXCHANGED_ROWS,
        4 * MIN_EXCHANGED_ROWS,
        MIN_EXCHANGED_ROWS,
        2 * MIN_EXCHANGED_ROWS,
        MIN_EXCHANGED_ROWS,
        8 * MIN_EXCHANGED_ROWS,
    ]
    assert due[15] == ROWS
    for _ in range(2):
        assert [mine.synchronize(ROUND) for _ in range(16)] == [False] * 15 + [True]


def test_rows_that_a_round_updates_often_belong_to_the_base():
    mine = Synchronizer(ALONE, Engine(), {Role.INPUT: updates()}, 10**9)
    often = int((updates() * 1e9 > INPUT_UPDATES / BASE_LIMIT_DIVISOR).sum())
    assert MIN_EXCHANGED_ROWS < often < ROWS
    assert mine.exchanged[0].due(1) == often


def test_exchange_of_many_rows_takes_memory_for_one_message(monkeypatch):
    def work(comm):
        engine = Engine()
        mine = synchronizer(comm, engine)
        for number in range(16):
            engine.array[:, :WIDTH] += change(comm.rank, number)
            complete = mine.synchronize(ROUND)
        assert complete
        return engine.array, mine._values.size

    whole = run_ranks(2, work)[0][0]
    monkeypatch.setattr(synchronization, "VALUES_PER_MESSAGE", 20 * WIDTH)
    array, values = run_ranks(2, work)[0]
    assert values == 20 * WIDTH
    assert np.array_equal(array, whole)


def test_all_threads_of_a_rank_take_part_in_an_exchange_of_many_rows(monkeypatch):
    monkeypatch.setattr(synchronization, "MIN_ROWS_FOR_THREADS", 10)
    found = []
    for threads in (1, 3):
        with ThreadPoolExecutor(threads) as pool:
            engine = Engine(threads=threads)
            mine = Synchronizer(ALONE, engine, {Role.INPUT: updates()}, ROUND, pool if threads > 1 else None)
            engine.array[:, :WIDTH] += change(0, 0)
            mine.synchronize(ROUND)
            found.append(engine.array)
    assert np.array_equal(*found)


COUNTS = np.array([40, 20, 20, 10, 5, 5])


@pytest.mark.parametrize("name", [name for name in objectives() if engine_of(name) == "windows"])
def test_window_objectives_know_how_often_their_rows_are_candidates(name):
    options = option_defaults(name)
    text = np.array([0, 1, 2, 0, -1, 3, 0, 1, -1], np.int32)
    found = build(name, problem_of(COUNTS, tokens=text), options).draws(COUNTS / COUNTS.sum())
    nodes = [0.1, 0.2, 0.4, 0.6, 1.0] if name.startswith("hs") else []  # of the Huffman tree, from the rarest on
    np.testing.assert_allclose(found[: len(nodes)], nodes)
    if "negative" in options:
        words = found[len(nodes) :]
        assert len(words) == len(COUNTS)
        assert words.sum() == pytest.approx(1 + options["negative"])
        assert (np.diff(words) <= 1e-9).all()
    else:
        assert len(found) == len(nodes)


def trained():
    """Return the array of an engine that says how many output rows there are."""
    return [Array("output", Role.OUTPUT, np.zeros((len(COUNTS), 1)))]


@pytest.mark.parametrize("draws", [np.ones(5), np.full(6, np.nan), -np.ones(6)], ids=["too-few", "nan", "negative"])
def test_wrong_draws_of_an_objective_are_reported(draws):
    objective = SimpleNamespace(engine="windows", draws=lambda _: draws)
    engine = SimpleNamespace(windows=Windows(), objective=objective, trained=trained)
    with pytest.raises(ConfigError, match="draws returns"):
        expected_updates(engine, SimpleNamespace(counts=COUNTS), SimpleNamespace(sample=0.0))


@pytest.mark.parametrize(("pairs", "factor"), [(True, 6.0), (False, WINDOW_UPDATES)])
def test_updates_of_rows_follow_the_frequency_of_words(pairs, factor):
    """With windows of 3 words on both sides on average, a word is in 6 windows, each with two candidates here."""
    objective = SimpleNamespace(engine="windows", draws=lambda targets: 2 * targets)
    architecture = SimpleNamespace(pairs=lambda: pairs, vectors=Architecture.vectors)
    engine = SimpleNamespace(
        windows=Windows(size=5), objective=objective, architecture=architecture, trained=trained, subwords=None
    )
    found = expected_updates(engine, SimpleNamespace(counts=COUNTS), SimpleNamespace(sample=0.0))
    np.testing.assert_allclose(found[Role.INPUT], 6 * 2 * COUNTS / 100)
    np.testing.assert_allclose(found[Role.OUTPUT], factor * 2 * COUNTS / 100)


def test_the_row_of_an_ngram_is_updated_as_often_as_all_its_words():
    words = [f"w{i % 7}{i % 3}" for i in range(len(COUNTS))]
    engine = SimpleNamespace(
        windows=Windows(size=5),
        objective=SimpleNamespace(engine="blocks"),
        subwords=Subwords.of(words, Ngrams(1, 2, 50)),
    )
    found = expected_updates(engine, SimpleNamespace(counts=COUNTS), SimpleNamespace(sample=0.0))[Role.INPUT]
    own = 6 * 6.0 * COUNTS / COUNTS.sum()
    np.testing.assert_allclose(found[: len(COUNTS)], own)
    starts = engine.subwords.starts
    rows = [engine.subwords.rows[a:b] for a, b in itertools.pairwise(starts)]
    for row in range(len(COUNTS), len(found)):
        expected = sum(own[word] * (rows[word] == row).sum() for word in range(len(COUNTS)))
        assert found[row] == pytest.approx(expected)


@pytest.mark.parametrize(("size", "contexts"), [(50, 100), (51, 19), (10_000, 19)])
def test_the_words_of_a_wide_window_are_those_of_a_sentence(size, contexts):
    """Here, a sentence has 20 words on average, so a word is in the windows of 19 others."""
    objective = SimpleNamespace(engine="blocks")
    architecture = SimpleNamespace(vectors=Architecture.vectors)
    windows = Windows(size=size, shrink=False)
    engine = SimpleNamespace(windows=windows, objective=objective, architecture=architecture, subwords=None)
    text = SimpleNamespace(counts=COUNTS, words=np.array([60, 40]), tokens=np.zeros(105))
    found = expected_updates(engine, text, SimpleNamespace(sample=0.0))
    np.testing.assert_allclose(found[Role.INPUT], contexts * 6.0 * COUNTS / COUNTS.sum())


def test_arrays_without_known_updates_are_exchanged_after_every_round_as_a_mean():
    def work(comm):
        engine = Engine()
        mine = Synchronizer(comm, engine, {}, ROUND)
        engine.array[:, :WIDTH] += comm.rank
        assert mine.synchronize(ROUND)
        return engine.array[:, :WIDTH] - Engine().array[:, :WIDTH]

    for found in run_ranks(3, work):
        np.testing.assert_allclose(found, 1.0, atol=1e-5)
