"""Noise-contrastive estimation: shared noise words; and a learned log Z, per context word or in a hash table."""

from dataclasses import replace

import numpy as np
import pytest
from memory import traced
from reference import COUNTS, candidates_of, problem_of

import w2vtrain
from w2vtrain.config import Settings
from w2vtrain.errors import ConfigError, DataError
from w2vtrain.objectives import build, check_options, objective_class, option_defaults
from w2vtrain.objectives.contract import Candidates, Contexts, Window
from w2vtrain.probability.random_streams import hash_words
from w2vtrain.training.perplexity import perplexity
from w2vtrain.training.predictor import model_predictor

SIZE = len(COUNTS)
NCE = objective_class("nce")
CONTEXTS = [[1, 2], [2, 1], [1], [1, 2, 3]]


def contexts_of(lists):
    """Return the Contexts of lists of words."""
    sizes = np.array([len(words) for words in lists], np.int32)
    return Contexts(np.concatenate(lists).astype(np.int32), (np.cumsum(sizes) - sizes).astype(np.int64), sizes)


# Noise words.


def test_share_noise_gives_neighboring_targets_the_same_noise_words():
    objective = NCE.build(problem_of(COUNTS), negative=8, share_noise=3)
    rng = np.array([3, 3], np.uint64)
    drawn = [[row for row, _, _ in candidates_of(objective, range(9), at, rng)[1:]] for at in range(9)]
    assert all(drawn[i] == drawn[i - i % 3] for i in range(9))
    assert drawn[0] != drawn[3] != drawn[6]


# Learning log Z.


def learned_for(contexts, offsets, rng, steps=2000, **options):
    """Learn log Z alone, from scores that are log-probabilities plus the offset of their context. Return the objective.

    Targets are drawn from these probabilities, and all scores are fixed.
    """
    objective = NCE.build(problem_of(COUNTS), negative=30, learn_z=True, **options)
    logs = [np.log(rng.dirichlet(np.full(SIZE, 3.0))) for _ in contexts]
    noise, m = COUNTS / COUNTS.sum(), 31
    labels = np.zeros(m + 16, np.float32)
    labels[0] = 1
    for step in range(steps):
        for words, p, offset in zip(contexts, logs, offsets, strict=True):
            rows = np.zeros(m + 16, np.int32)
            rows[:m] = [rng.choice(SIZE, p=np.exp(p)), *rng.choice(SIZE, m - 1, p=noise)]
            logits = np.zeros((1, m + 16), np.float32)
            logits[0, :m] = p[rows[:m]] + offset
            window = Window(np.array([*words, 0], np.int32), len(words), len(words))
            found = Candidates(rows, labels, objective.log_kq[rows], m)
            objective.errors(logits, window, found, np.float32(2 / (10 + step)))
    return objective


def test_log_z_of_each_context_approaches_the_truth(rng):
    """Contexts that share all or some of their words, in different orders, have different Z."""
    offsets = np.array([1.5, -1.0, 0.5, -0.5])
    objective = learned_for(CONTEXTS, offsets, rng, z_table=1000)
    scorer = NCE.scorer(
        problem_of(COUNTS),
        {**option_defaults("nce"), "learn_z": True, "z_table": 1000},
        np.zeros((SIZE, 3), np.float32),
        objective.arrays(),
    )
    H, targets = np.zeros((4, 3), np.float32), np.zeros(4, np.int32)
    learned = -scorer.given(contexts_of(CONTEXTS)).raw(H, targets)
    np.testing.assert_allclose(learned, offsets, atol=0.15)
    assert (objective.log_z != 0).sum() == 4, "each context has one entry, and no other entry changes"


def test_log_z_of_words_cannot_distinguish_contexts_with_the_same_words(rng):
    objective = learned_for([[1, 2], [2, 1]], [1.5, -1.0], rng, steps=500)
    assert objective.log_z[1] == objective.log_z[2]
    assert np.flatnonzero(objective.log_z).tolist() == [1, 2]


TEXT = "the cat sat on the mat and a dog sat on the red cat while a red dog ran to the mat\n" * 40
SMALL = {"vector_size": 6, "window": 2, "epochs": 2, "threads": 1, "sample": 0.0, "min_count": 1, "alpha": 0.1}


def trained(tmp_path, architecture, **options):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    settings = {**SMALL, "objective": "nce", "architecture": architecture, "options": {"learn_z": True, **options}}
    return w2vtrain.train(path, **settings), str(path)


@pytest.mark.slow
def test_a_table_of_contexts_is_one_log_z_per_word_with_skipgram(tmp_path):
    """The context of an example is one word, so both learn and score the same."""
    (words, path), (table, _) = trained(tmp_path, "skipgram"), trained(tmp_path, "skipgram", z_table=10_000)
    assert words.input.tobytes() == table.input.tobytes()
    assert words.output.tobytes() == table.output.tobytes()
    entries = [hash_words([word], 0, 1, 10_000) for word in range(len(words.words))]
    assert len(set(entries)) == len(words.words)
    np.testing.assert_array_equal(table.arrays["log_z"][entries], words.arrays["log_z"])
    assert words.arrays["log_z"].all()
    a, b = (perplexity(model, [path])[0] for model in (words, table))
    assert vars(a) | {"seconds": 0} == vars(b) | {"seconds": 0}


def test_a_model_without_the_log_z_of_its_options_is_refused(tmp_path):
    model, _ = trained(tmp_path, "cbow", z_table=64)
    found = model_predictor(model)[2].scorer
    assert len(found.log_z) == 64
    log_z = model.arrays["log_z"]
    for arrays in ({}, {"log_z": log_z[:63]}, {"log_z": log_z.astype(np.float64)}, {"log_z": log_z[None]}):
        rest = {name: array for name, array in model.arrays.items() if name != "log_z"}
        with pytest.raises(DataError, match="its arrays do not match"):
            model_predictor(replace(model, arrays={**rest, **arrays}))
    plain = {**model.settings, "options": {**model.settings["options"], "z_table": 0}}
    with pytest.raises(DataError, match="its arrays do not match"):
        model_predictor(replace(model, settings=plain))


# Scoring.


@pytest.mark.parametrize("options", [{}, {"learn_z": True}, {"learn_z": True, "z_table": 20}])
def test_log_prob_needs_no_normalization(rng, options):
    """It is o_w·h minus the learned log Z of the context, and does not depend on the rows of other words."""
    problem = problem_of(COUNTS, dim=5)
    output, H = (rng.normal(size=(SIZE, 5)).astype(np.float32) for _ in "ab")
    targets, contexts = np.array([3, 0, 3, 10], np.int32), contexts_of(CONTEXTS)
    log_z = rng.normal(size=options.get("z_table", SIZE)).astype(np.float32)
    expected = (H[:4] * output[targets]).sum(axis=1)
    constants = np.zeros(4)
    if options:
        places = [[hash_words(words, 0, len(words), 20)] if "z_table" in options else words for words in CONTEXTS]
        constants = np.array([log_z[place].mean() for place in places])
        assert len(set(constants)) == (4 if "z_table" in options else 3)
    scorer = NCE.scorer(problem, {**option_defaults("nce"), **options}, output, {"log_z": log_z})
    np.testing.assert_allclose(scorer.log_prob(H[:4], targets), expected, rtol=1e-5, atol=1e-6)
    if options:
        scorer = scorer.given(contexts)
    np.testing.assert_allclose(scorer.log_prob(H[:4], targets), expected - constants, rtol=1e-5, atol=1e-6)
    raw, z = scorer.scores(H[:4], targets)
    np.testing.assert_allclose(raw, expected - constants, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(z, np.log(np.exp(H[:4] @ output.T).sum(axis=1)) - constants, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(raw - z, scorer.log_probs(H[:4])[np.arange(4), targets], rtol=1e-4, atol=1e-5)


# Options.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"z_table": -1, "learn_z": True}, "option z_table of objective nce: -1 is not between 0 and 268,435,456"),
        ({"z_table": 1 << 29, "learn_z": True}, "option z_table of objective nce: 536870912 is not between 0 and"),
        ({"z_table": 9}, "option z_table of objective nce: add learn_z=true"),
    ],
)
def test_a_table_out_of_range_or_without_learn_z_is_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        build("nce", problem_of(COUNTS), options)


def test_checking_the_options_does_not_allocate_the_table():
    options = {**option_defaults("nce"), "learn_z": True, "z_table": 1 << 28}
    with traced() as memory:
        check_options(Settings(objective="nce", options=options))
    assert memory.peak < 1 << 20
