"""Training with subwords: the cache between rows and windows, in both engines, beside a trainer without a cache."""

import itertools

import numpy as np
import pytest
import reference
from prepared import prepared
from reference import problem_of

from w2vtrain import architectures
from w2vtrain.architectures.contract import Layout
from w2vtrain.config import validated
from w2vtrain.engines.chunks import read_only
from w2vtrain.engines.row_cache import TARGETS_PER_CACHE
from w2vtrain.engines.window_engine import Extent, make_scratch
from w2vtrain.engines.window_kernel import Matrices, Windows, train_chunks
from w2vtrain.formats.subwords import Ngrams, Subwords
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.objectives import objective_class, objectives
from w2vtrain.probability.subsampling import keep_thresholds
from w2vtrain.training import trainer
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan, effective

DIM, SIZE = 10, 12
WORDS = ["apple", "apples", "ant", "ants", "bee", "bees", "bear", "bears", "ape", "apes", "bat", "bats"]
OBJECTIVES = [name for name in objectives() if name != "lsh"]  # which learns nothing from 12 words
ARCHITECTURES = ["skipgram", "cbow", "cbow-corrected", "cbow-sum", "vlbl"]


def rows_of(subwords, word):
    return subwords.rows[subwords.starts[word] : subwords.starts[word + 1]]


def means(subwords, rows):
    return np.array([rows[rows_of(subwords, word)].mean(axis=0) for word in range(subwords.words)])


class Composed:
    """An architecture of tests/references/architectures, on words whose vectors are means of their rows."""

    def __init__(self, base, subwords):
        self.base, self.subwords, self.pairs = base, subwords, base.pairs
        self.rate_scale = getattr(base, "rate_scale", lambda n: 1)

    def hidden(self, rows, context, left, number):
        return self.base.hidden(means(self.subwords, rows), context, left, number)

    def learn(self, rows, context, left, number, dh, rate):
        words = means(self.subwords, rows)
        before = words.copy()
        self.base.learn(words, context, left, number, dh, rate)
        for word, change in enumerate(words - before):
            np.add.at(rows, rows_of(self.subwords, word), change)


@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@pytest.mark.parametrize(
    ("architecture", "objective"),
    [
        *((name, "neg") for name in ARCHITECTURES if name != "vlbl"),
        *(
            pytest.param(*pair, marks=pytest.mark.slow)
            for pair in [("vlbl", "neg"), *((name, "hs") for name in ARCHITECTURES)]
        ),
    ],
)
def test_the_window_engine_agrees_with_a_trainer_without_a_row_cache(rng, architecture, objective, bias):
    """At a low rate, for updates within the cache use old values. In one sentence, words do not stay to its end."""
    width = DIM + bias
    fast_architecture = architectures.architecture_class(architecture).build(Layout(3, DIM, width, WORDS), {})
    subwords = Subwords.of(WORDS, Ngrams(2, 4, 50))
    rows = subwords.input_rows(SIZE)
    assert rows < SIZE + 50
    assert len(subwords.rows) > 5 * SIZE
    lengths = [*rng.integers(1, 9, 8), TARGETS_PER_CACHE + 60, 5]
    lines = [rng.integers(0, SIZE, length).tolist() for length in lengths]
    tokens = read_only(np.concatenate([[*line, -1] for line in lines]).astype(np.int32))
    counts = np.arange(60, 60 - SIZE, -1)
    fast, ref = (objective_class(objective).build(problem_of(counts, dim=DIM, bias=bias)) for _ in "ab")
    outputs = fast.output_rows(SIZE)
    w_in, w_out = padded_rows(rows, width), padded_rows(outputs + 1, width)
    w_in[:, :DIM], w_out[:outputs, :width] = rng.normal(size=(rows, DIM)), rng.normal(size=(outputs, width))
    slow_in, slow_out = w_in[:, :DIM].astype(float), w_out[:outputs, :width].astype(float)
    before = slow_in.copy()
    if bias:
        w_in[:, DIM] = 1
    extent = Extent(3, fast.candidate_limit, 300, subwords=subwords)
    scratch = make_scratch(w_in, w_out, 0, 1, extent, DIM if bias else -1)
    one, bounds, keep = np.zeros(1, np.int64), np.array([0, len(tokens)]), keep_thresholds(counts, 0)
    _, examples = train_chunks(
        fast_architecture, fast, Windows(3), tokens, bounds, one, np.array([1e-5]), Matrices(w_in, w_out), DIM, keep,
        0.0, 5, 2, scratch,
    )  # fmt: skip
    learned = {name: array[:, :DIM].astype(float) for name, array in fast_architecture.learned().items()}
    base = reference.implementation_of("architectures", architecture)(3, learned)
    naive = Composed(base, subwords), reference.implementation_of("objectives", objective)(ref)
    expected = reference.train(*naive, lines, keep, Windows(3), slow_in, slow_out, 1e-5, (5, 2, 0), bias)
    assert examples == expected[1] > 0
    change = np.abs(slow_in - before)
    assert change.min() > 0
    np.testing.assert_allclose(w_in[:, :DIM] - before, slow_in - before, atol=0.03 * change.max())


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("subwords") / "text"
    lines = [" ".join(rng.choice(WORDS, rng.integers(2, 30))) for _ in range(400)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def trained(text, **about):
    """Train with subwords; return the model, and the input rows before and after."""
    given = {
        "subwords": True, "vector_size": DIM, "epochs": 1, "min_count": 1, "sample": 0, "window": 2, "threads": 1,
        **about,
    }  # fmt: skip
    before, settings = [], effective(validated(given))
    make = prepared(lambda engine: before.append(engine.state()["input"][:, :DIM].copy()))
    model = trainer.trained(Plan.of(Inputs([text]), settings), make=make).model()
    return model, before[0], model.arrays.get("input_rows", model.input)


@pytest.mark.parametrize(
    ("architecture", "objective"),
    [
        *(("skipgram", name) for name in OBJECTIVES if name not in ("hs", "nce")),
        ("cbow", "softmax"),
        *(
            pytest.param(*pair, marks=pytest.mark.slow)
            for pair in [
                ("skipgram", "hs"),
                ("skipgram", "nce"),
                *itertools.product(ARCHITECTURES[1:], ["neg", "softmax"]),
            ]
            if pair != ("cbow", "softmax")
        ),
    ],
)
def test_an_ngram_changes_by_the_sum_of_what_its_words_change(text, architecture, objective):
    """All rows of a word take the same gradient, and its own row belongs to no other word. With another rate, too."""
    model, before, after = trained(
        text, architecture=architecture, objective=objective, alpha=0.02, epochs=3, bucket=60
    )
    subwords = Subwords.of(model.words, Ngrams(bucket=60))
    change = (after - before).astype(np.float64)
    expected = np.stack([subwords.per_row(column) for column in change[:SIZE].T], axis=1)
    assert np.abs(expected[SIZE:]).max() > 1e-4
    np.testing.assert_allclose(change[SIZE:], expected[SIZE:], atol=1e-6 + 1e-3 * np.abs(expected).max())
    np.testing.assert_allclose(model.input, means(subwords, after), atol=1e-6)


@pytest.mark.parametrize(
    ("architecture", "objective"),
    [*itertools.product(["skipgram", "cbow"], ["neg", "softmax"]), pytest.param("vlbl", "neg", marks=pytest.mark.slow)],
)
def test_without_ngrams_subwords_change_nothing(text, architecture, objective):
    """Of 40 characters, no word has n-grams: each has one row, as without subwords."""
    same = {"architecture": architecture, "objective": objective}
    composed, _, rows = trained(text, minn=40, maxn=40, **same)
    plain, _, _ = trained(text, subwords=False, **same)
    assert len(rows) == SIZE
    np.testing.assert_allclose(composed.input, plain.input, atol=1e-4)
    np.testing.assert_allclose(composed.output, plain.output, atol=1e-4)


@pytest.mark.parametrize(
    "about",
    [
        {"threads": 2},
        {"window": "sentence"},
        {"window": 70},
        {"alpha": 0.2},
        {"bucket": 100},
        {"minn": 1, "maxn": 1},
        {"sentence_end": True},
        {"weight_decay": 0.01},
        {"threads": 2, "objective": "softmax", "block": 500},
    ],
    ids=lambda about: " ".join(f"{name} {value}" for name, value in about.items()),
)
def test_training_with_subwords_predicts_better_than_without_training(text, about):
    """The vectors stay finite, and held-out text is predicted better than by an untrained model."""
    model, before, after = trained(text, **{"epochs": 3, **about})
    assert np.isfinite(after).all()
    assert np.abs(after - before).max() > 1e-3
    losses = [epoch["loss"] for epoch in model.record["epochs"]]
    assert losses[-1] < losses[0]


def test_words_of_many_ngrams_and_long_words_are_trained(tmp_path):
    """A word of 1,000 characters has thousands of rows."""
    path = tmp_path / "text"
    path.write_text(f"{'x' * 1000} y {'ab' * 300} z\n" * 200)
    _model, _before, after = trained(str(path), bucket=2_000_000)
    assert np.isfinite(after).all()
    assert len(after) > 10
