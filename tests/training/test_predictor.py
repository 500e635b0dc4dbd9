"""Parts of a language model: position weights, one-sided contexts, sentence ends, biases, decay, initial weights."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from reference import problem_of

from w2vtrain import objectives
from w2vtrain.architectures import architecture_class, architectures
from w2vtrain.architectures.cbow import Cbow
from w2vtrain.architectures.cbow_corrected import CorrectedCbow
from w2vtrain.architectures.contract import Layout
from w2vtrain.architectures.skipgram import SkipGram
from w2vtrain.config import Settings
from w2vtrain.embeddings.model import Model
from w2vtrain.engines.contract import Chunks, Schedule
from w2vtrain.engines.weights import initial_input, initial_output
from w2vtrain.engines.window_engine import Extent, make_scratch
from w2vtrain.engines.window_kernel import STRIPES, Matrices, Windows, train_chunks
from w2vtrain.engines.window_kernel import train_window as learn
from w2vtrain.errors import ConfigError, DataError
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.objectives.contract import Candidates, Window
from w2vtrain.probability.sampling import keep_thresholds
from w2vtrain.probability.trees import huffman
from w2vtrain.text.encoded import encode
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.vocabulary import Vocabulary, select
from w2vtrain.training.fit import effective
from w2vtrain.training.predictor import architecture_of, model_predictor, windows_of
from w2vtrain.training.predictor import problem_of as problem_for
from w2vtrain.training.trainer import make_engine

SIZE, DIM, WINDOW = 11, 5, 3
COUNTS = np.array([90, 70, 40, 30, 20, 10, 9, 8, 7, 6, 5])
TABLE = {"negative": 2, "learn_z": True, "z_table": 7}
VARIANTS = {
    "nce": [{"negative": 4}, {"negative": 2, "learn_z": True}, TABLE],
    "hs-neg": [{"negative": 7, "pool": 8}],
}
WINDOWS = [name for name in objectives.objectives() if objectives.engine_of(name) == "windows"]
CASES = [(name, options) for name in WINDOWS for options in VARIANTS.get(name, [{}])]
MODELS = list(architectures())


def built_architecture(name, bias, arrays=None):
    """Build an architecture; arrays: what it learns besides rows, by name."""
    return architecture_class(name).build(Layout(WINDOW, DIM, DIM + bias), arrays or {})


def parameters_of(rng, rows, bias, model="skipgram", spread=0.5):
    """Return padded input rows with a column of ones, output rows with a spare last row, the architecture's arrays."""
    w_in, w_out = padded_rows(SIZE, DIM + bias), padded_rows(rows + 1, DIM + bias)
    w_in[:, :DIM] = rng.normal(size=(SIZE, DIM)) * spread
    w_in[:, DIM : DIM + bias] = 1
    w_out[:rows, : DIM + bias] = rng.normal(size=(rows, DIM + bias)) * spread
    learned = built_architecture(model, bias).learned()
    for array in learned.values():
        array[:, :DIM] = 1 + rng.normal(size=(len(array), DIM)) * spread
    return w_in, w_out, learned


def slope(loss, array, cell):
    up, down = array.copy(), array.copy()
    up[cell] += 1e-5
    down[cell] -= 1e-5
    return (loss(up) - loss(down)) / 2e-5


# one window learned in float64, with the kernels run as plain Python


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("context", "left"), [([3], 1), ([3], 0), ([1, 4, 0, 6], 3), ([1, 4, 6], 0)])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_update_is_the_gradient_of_the_loss(rng, name, options, model, context, left, bias):
    """Rows, biases and the architecture's arrays change by -lr times the slope (times a factor of the reference)."""
    pairs, in_place = architecture_class(model).pairs(), architecture_class(model).in_place()
    if pairs and (not in_place or (bias and name == "hs")):
        context = context[:1]  # learned in turn, so not the gradient at the old values
    objective = objectives.objective_class(name).build(problem_of(COUNTS, dim=DIM, bias=bias), **options)
    rows = objective.output_rows(SIZE)
    w_in, w_out, learned = parameters_of(rng, rows, bias, model)
    w_in, w_out = w_in.astype(np.float64), w_out.astype(np.float64)
    learned = {key: array.astype(np.float64) for key, array in learned.items()}
    scratch = make_scratch(w_in, w_out, 0, 1, Extent(WINDOW, objective.candidate_limit, 50))
    fields = ("labels", "shifts", "logits", "hidden", "gradient")
    wide = {field: getattr(scratch, field).astype(np.float64) for field in fields}
    scratch = scratch._replace(**wide, bias=DIM if bias else -1)
    scratch.rng[0] = 12
    sentence = np.array([0, 2, 1], np.int32)
    m = objective.candidates(sentence, 1, scratch.rng, scratch.rows[0], scratch.labels[0], scratch.shifts[0])
    found = list(zip(scratch.rows[0][:m].tolist(), scratch.labels[0][:m], scratch.shifts[0][:m], strict=True))
    scratch.context[: len(context)] = context
    if options.get("learn_z"):
        objective.log_z[:] = rng.normal(size=len(objective.log_z)) * 0.3
    ref = reference.implementation_of("objectives", name)(objective)
    architecture = built_architecture(model, bias, learned)
    make_naive = reference.implementation_of("architectures", model)
    factors = getattr(make_naive(WINDOW, {}), "factors", {})

    def loss(a, o, c):
        naive = make_naive(WINDOW, {key: array[:, :DIM] for key, array in c.items()})
        total = 0.0
        for number, words in reference.parts(naive, context, left):
            h = reference.with_bias(naive.hidden(a[:, :DIM], context, left, number), bias)
            total += reference.line_of(h, o[:, : DIM + bias], found, ref, words)
        return total

    a, o, c, lr = w_in.copy(), w_out.copy(), {key: array.copy() for key, array in learned.items()}, 1e-5
    candidates = Candidates(scratch.rows[0], scratch.labels[0], scratch.shifts[0], m)
    window = Window(scratch.context, len(context), left)
    got = learn(architecture, objective, Matrices(w_in, w_out), window, candidates, lr, scratch)
    assert got == pytest.approx(loss(a, o, c), rel=1e-6)
    whole = factors["rows"](context) if "rows" in factors else 1
    for r, k in itertools.product(set(context), range(DIM)):
        expected = -whole * slope(lambda w: loss(w, o, c), a, (r, k))
        assert (w_in[r, k] - a[r, k]) / lr == pytest.approx(expected, abs=2e-3)
    for r, k in itertools.product({row for row, _, _ in found}, range(DIM + bias)):
        expected = -slope(lambda w: loss(a, w, c), o, (r, k))
        assert (w_out[r, k] - o[r, k]) / lr == pytest.approx(expected, abs=2e-3), (r, k)
    for key, array in learned.items():
        factor = factors[key](context) if key in factors else 1
        for cell in itertools.product(range(len(array)), range(DIM)):
            expected = -factor * slope(lambda w, key=key: loss(a, o, {**c, key: w}), c[key], cell)
            assert (array[cell] - c[key][cell]) / lr == pytest.approx(expected, abs=2e-4), (key, cell)
        assert (array[:, DIM:] == 0).all()
    assert (w_in[:, DIM:] == a[:, DIM:]).all(), "the column of ones or the padding has changed"


# one chunk of text learned by the kernel, with the same random draws as the naive trainer


KERNELS = [
    *((name, options, "vlbl", True) for name, options in CASES),
    *((name, {"negative": 30} if name == "nce" else {}, "skipgram", True) for name in WINDOWS if name != "hs"),
    *((name, {}, model, True) for name in WINDOWS for model in MODELS if model not in ("vlbl", "skipgram")),
    ("nce", {"negative": 4}, "vlbl", False),
]


@pytest.mark.parametrize(("name", "options", "model", "bias"), KERNELS)
def test_kernel_agrees_with_the_naive_trainer(rng, name, options, model, bias):
    """Compare all arrays after a chunk, for every context side, with and without sentence ends; cases compile once."""
    lines = [rng.integers(0, SIZE, rng.integers(1, 12)).tolist() for _ in range(10)]
    tokens = np.concatenate([[*line, -1] for line in lines]).astype(np.int32)
    fast, ref = (
        objectives.objective_class(name).build(problem_of(COUNTS, dim=DIM, bias=bias, tokens=tokens), **options)
        for _ in "ab"
    )
    ref = reference.implementation_of("objectives", name)(ref)
    keep, rows = keep_thresholds(COUNTS, 0.05), fast.output_rows(SIZE)
    for left, right, shrink, end, pads in [
        (True, False, False, 4, WINDOW),
        (True, False, True, 0, 1),
        (False, True, True, -1, 0),
        (True, True, True, 4, 2),
        (True, True, False, -1, 0),
    ]:
        windows = Windows(WINDOW, shrink, left, right, end, pads)
        w_in, w_out, learned = parameters_of(rng, rows, bias, model)
        after = {"input": w_in[:, :DIM], "output": w_out[:rows, : DIM + bias]}
        after |= {key: array[:, :DIM] for key, array in learned.items()}
        starts = {key: array.astype(np.float64) for key, array in after.items()}
        slow = {key: array.copy() for key, array in starts.items()}
        scratch = make_scratch(w_in, w_out, 0, 1, Extent(WINDOW, fast.candidate_limit, 50), DIM if bias else -1)
        lr, one, bounds = 1e-4, np.zeros(1, np.int64), np.array([0, len(tokens)])
        loss, examples = train_chunks(
            built_architecture(model, bias, learned), fast, windows, tokens, bounds, one, np.array([lr]),
            Matrices(w_in, w_out), DIM, keep, 0.0, 5, 2, scratch,
        )  # fmt: skip
        stream = reference.Stream.of_chunk(5, 2, 0)
        naive = reference.implementation_of("architectures", model)(WINDOW, {key: slow[key] for key in learned})
        matrices = slow["input"], slow["output"]
        expected = reference.train(naive, ref, lines, keep, windows, *matrices, lr, stream, bias)
        assert examples == expected[1] > 0, windows
        in_turn = architecture_class(model).pairs() and not architecture_class(model).in_place()
        tolerance = 1e-3 if in_turn else 1e-4  # the reference computes all examples of a window from the old values
        assert loss == pytest.approx(expected[0], rel=tolerance), windows
        for what, new in after.items():
            change = np.abs(slow[what] - starts[what]).max()
            assert change > 1e-6
            expected = slow[what] - starts[what]
            np.testing.assert_allclose(new - starts[what], expected, atol=0.02 * change, err_msg=f"{what}, {windows}")
        assert (w_in[:, DIM:].any(), w_out[rows].any()) == (bias, False)
        assert not any(array[:, DIM:].any() for array in learned.values())
        assert (w_in[:, DIM : DIM + bias] == 1).all()


def test_skipgram_biases_learn_the_same_in_every_tile(rng):
    """41 candidates need seven tiles; with biases as large as log frequencies, the column of ones must be 1 in each."""
    objective = objectives.objective_class("nce").build(problem_of(COUNTS, dim=DIM, bias=True), negative=40)
    w_in, w_out, _ = parameters_of(rng, SIZE, True)
    w_out[:SIZE, DIM] = -8
    rows = padded_rows(SIZE, DIM + 1)
    rows[:] = w_in
    out = w_out[:SIZE, : DIM + 1].astype(np.float64)
    scratch = make_scratch(w_in, w_out, 0, 1, Extent(WINDOW, objective.candidate_limit, 50), DIM)
    one, keep, lr = np.zeros(1, np.int64), np.full(SIZE, 2**32 - 1, np.uint32), 0.1
    windows, text = Windows(1, False, True, False), np.array([3, 7, -1], np.int32)
    train_chunks(
        SkipGram(WINDOW), objective, windows, text, np.array([0, 3]), one, np.array([lr]), Matrices(w_in, w_out), DIM,
        keep, 0.0, 5, 2, scratch,
    )  # fmt: skip
    stream = reference.Stream.of_chunk(5, 2, 0)
    for _ in range(2):
        stream.draw()
    ref = reference.implementation_of("objectives", "nce")(objective)
    ref.candidates(3, stream)
    h, expected = np.append(rows[3, :DIM].astype(np.float64), 1), out.copy()
    for r, y, s in ref.candidates(7, stream):
        expected[r] += lr * (y - reference.sigmoid(out[r] @ h - s)) * h
    np.testing.assert_allclose(w_out[:SIZE, DIM] - out[:, DIM], expected[:, DIM] - out[:, DIM], atol=2e-6)


# weight decay


def words_of(rng, chunks=34, length=30):
    tokens = np.concatenate([[*rng.integers(0, SIZE, length + k % 5), -1] for k in range(chunks)]).astype(np.int32)
    starts = np.concatenate([[0], np.flatnonzero(tokens < 0) + 1])
    return Chunks(tokens, starts, np.diff(starts) - 1, COUNTS, 100)


@pytest.mark.parametrize("chunks", [34, 5])
@pytest.mark.parametrize("objective", ["nce", "softmax"])
def test_weight_decay_shrinks_every_row_but_no_bias(rng, objective, chunks):
    """Each chunk shrinks one stripe of rows for all chunks, so over the text every row decays by the full amount."""
    text = words_of(rng, chunks)
    problem = problem_of(COUNTS, dim=DIM, bias=True, init=1.0, tokens=text.tokens, starts=text.starts)
    lr, decay = 1e-9, 1e6  # with a tiny rate and a huge decay, only the decay shows
    schedule = Schedule(sample=0, alpha=lr, min_alpha=lr, epochs=1, weight_decay=decay)
    built = objectives.objective_class(objective).build(problem)
    engine = make_engine(built_architecture("vlbl", True), built, problem, text, Windows(WINDOW), schedule)
    before = engine.weights()
    before = replace(before, input=before.input.copy(), output=before.output.copy(), arrays=dict(before.arrays))
    kept = {name: array.copy() for name, array in before.arrays.items()}
    order = np.arange(len(text.words))
    engine.learn(order, np.full(len(order), lr), 0, 0)
    stripes, tokens = min(STRIPES, chunks), np.diff(text.starts)
    expected = np.array([-lr * decay * chunks * tokens[s::stripes].mean() for s in range(stripes)])
    np.testing.assert_allclose(expected, -lr * decay * len(text.tokens), rtol=0.1)
    after = engine.weights()
    for old, new in ((before.input, after.input), (before.output, after.output)):
        factors = np.exp(expected)[np.arange(len(old)) % stripes]
        np.testing.assert_allclose(new, old * factors[:, None], rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(after.arrays["bias"], kept["bias"], atol=1e-6)
    np.testing.assert_allclose(after.arrays["context_weights"], kept["context_weights"], atol=1e-6)
    if objective == "nce":
        assert (engine.w_in[:, DIM] == 1).all()


# initial weights


def test_initial_weights_are_normal_and_biases_are_log_frequencies():
    problem = problem_of(np.arange(5000, 0, -1), dim=30, seed=9, init=0.1, bias=True)
    w_in, w_out = initial_input(problem, 5000), initial_output(problem, 5000, 2, problem.log_unigram())
    assert w_in.shape == (5000, 32)
    assert w_out.shape == (5002, 32)
    for matrix in (w_in[:, :30], w_out[:5000, :30]):
        assert matrix.mean() == pytest.approx(0, abs=0.002)
        assert matrix.std() == pytest.approx(0.1, rel=0.01)
        assert np.abs(matrix).max() > 0.35, "normal, not uniform"
    assert abs(np.corrcoef(w_in[:, :30].ravel(), w_out[:5000, :30].ravel())[0, 1]) < 0.02
    assert (w_in[:, 30] == 1).all()
    assert not w_in[:, 31:].any()
    assert not w_out[:, 31:].any()
    assert not w_out[5000:].any()
    np.testing.assert_allclose(
        np.exp(w_out[:5000, 30].astype(np.float64)), problem.counts / problem.counts.sum(), rtol=1e-5
    )
    assert not initial_output(problem, 4999, 1)[:, 30].any(), "without frequencies, biases start at 0"
    assert initial_input(problem, 5000).tobytes() == w_in.tobytes()
    assert initial_input(replace(problem, seed=8), 5000).tobytes() != w_in.tobytes()


@pytest.mark.parametrize("name", objectives.objectives())
def test_initial_biases_predict_the_word_frequencies(name):
    """Objectives are skipped if their scores are not log probabilities (neg) or their rows are not words (hs)."""
    problem = problem_of(COUNTS, dim=DIM, bias=True)
    built = objectives.objective_class(name).build(problem)
    if name == "block-neg":
        pytest.skip("its scores are not log probabilities")
    if objectives.engine_of(name) == "blocks":
        rows = built.output
    elif (bias := built.initial_bias(problem)) is not None:
        rows = initial_output(problem, SIZE, 0, bias)
    else:
        pytest.skip("its biases start at 0")
    if not len(rows):
        pytest.skip("it does not have one row per word")
    share = np.exp(rows[:, DIM].astype(np.float64) - rows[:, DIM].max())
    np.testing.assert_allclose(share / share.sum(), COUNTS / COUNTS.sum(), rtol=1e-5)
    assert not rows[:, :DIM].any()


# from settings to windows, problem and architecture


def settings_of(**changes):
    return effective(
        Settings(**{"architecture": "cbow", "vector_size": DIM, "window": WINDOW, "threads": 1, **changes})
    )[0]


def test_settings_decide_which_words_are_context():
    vocabulary = Vocabulary(["a", "</s>", "b"], np.array([5, 3, 1]))
    assert windows_of(settings_of(), vocabulary) == Windows(WINDOW, True, True, True, -1, 0)
    assert windows_of(settings_of(context="left"), vocabulary) == Windows(WINDOW, True, True, False, -1, 0)
    assert windows_of(settings_of(context="right"), vocabulary) == Windows(WINDOW, True, False, True, -1, 0)
    ends = settings_of(sentence_end=True)
    assert windows_of(ends, vocabulary) == Windows(WINDOW, True, True, True, 1, 1)
    weighted = settings_of(sentence_end=True, architecture="vlbl")
    assert windows_of(weighted, vocabulary) == Windows(WINDOW, False, True, True, 1, WINDOW)
    assert windows_of(replace(weighted, shrink_windows=True), vocabulary).shrink
    assert (problem_for(ends, vocabulary).end, problem_for(settings_of(), vocabulary).end) == (1, -1)
    with pytest.raises(ConfigError, match="choose one of cbow, "):
        settings_of(architecture="nosuch")


def test_settings_decide_the_architecture():
    assert architecture_of(settings_of(architecture="skipgram", bias=True), []) == SkipGram(WINDOW)
    assert architecture_of(settings_of(), []) == Cbow(WINDOW)
    assert type(architecture_of(settings_of(architecture="cbow-corrected", bias=True), [])) is CorrectedCbow
    weighted = architecture_of(settings_of(architecture="vlbl", bias=True), [])
    assert weighted.context_weights.shape == (2 * WINDOW, 16)
    assert (weighted.context_weights[:, :DIM] == 1).all()
    assert not weighted.context_weights[:, DIM:].any()


# sentence ends as words


@given(
    st.lists(st.integers(1, 5), min_size=2, max_size=12), st.integers(1, 6), st.integers(0, 2**32),
)  # fmt: skip
def test_sentence_end_is_inserted_in_vocabulary_order(counts, sentences, seed):
    names = ["!", "</a>", "</s", "</sz>", "</s>x", "<", "=", "</", "z", "é", "0", "</t>"][: len(counts)]
    given_words = np.random.default_rng(seed).permutation(names).tolist()
    values = np.array(counts)
    order = select(values, lambda numbers: [given_words[i].encode() for i in numbers])
    vocabulary = Vocabulary([given_words[i] for i in order], values[order])
    found, place = vocabulary.with_sentence_end(sentences)
    both, all_counts = [*given_words, "</s>"], np.append(values, sentences)
    expected = select(all_counts, lambda numbers: [both[i].encode() for i in numbers])
    assert found.words == [both[i] for i in expected]
    assert found.counts.tolist() == all_counts[expected].tolist()
    assert found.words[place] == "</s>"


TEXT = "b a\n\n\na b zz a\n  \nb\nzz\na a a"


def ends_of(tmp_path, text=TEXT, **options):
    path = tmp_path / "text.txt"
    path.write_text(text)
    return encode(Corpus([str(path)]), sentence_end=True, folder=tmp_path, **{"min_count": 2, **options})


def test_sentence_end_counts_sentences_and_shifts_later_ids(tmp_path):
    """Empty lines and lines without a known word have no sentence end; a last line without a newline has one."""
    ids = ends_of(tmp_path)
    assert dict(zip(ids.vocabulary.words, ids.vocabulary.counts.tolist(), strict=True)) == {
        "a": 6,
        "</s>": 5,
        "b": 3,
        "zz": 2,
    }
    named = [ids.vocabulary.words[t] if t >= 0 else "." for t in ids.tokens]
    assert "".join(named) == "ba.abzza.b.zz.aaa."
    assert ids.words == 11
    plain = encode(Corpus([str(tmp_path / "text.txt")]), min_count=2, folder=tmp_path)
    assert "".join(plain.vocabulary.words[t] if t >= 0 else "." for t in plain.tokens) == "".join(named)
    assert ends_of(tmp_path, max_vocab=2).vocabulary.words == ["a", "</s>", "b"], (
        "max_vocab does not count the sentence end"
    )
    cut = ends_of(tmp_path, "a b\na b a b a", min_count=1, max_sentence=2)
    assert cut.vocabulary.counts[cut.vocabulary.index["</s>"]] == 4
    assert ends_of(tmp_path, "a b b", min_count=1).vocabulary.words == ["b", "</s>", "a"], "a single line"


def test_given_vocabulary_gets_a_sentence_end_only_if_it_lacks_one(tmp_path):
    known = Vocabulary(["</s>", "b", "a"], np.array([9, 2, 1]))
    ids = ends_of(tmp_path, vocabulary=known)
    assert ids.vocabulary is known
    assert ids.tokens.tolist() == [1, 2, -1, 2, 1, 2, -1, 1, -1, 2, 2, 2, -1]
    lacking = Vocabulary(["b", "a"], np.array([9, 0]))
    ids = ends_of(tmp_path, vocabulary=lacking)
    assert (ids.vocabulary.words, ids.vocabulary.counts.tolist()) == (["b", "</s>", "a"], [9, 4, 0])
    assert ids.tokens.tolist() == [0, 2, -1, 2, 0, 2, -1, 0, -1, 2, 2, 2, -1]


# predictors of models, and models that do not fit their settings


def language_model(**changes):
    settings = settings_of(objective="nce", context="left", architecture="vlbl", bias=True, sentence_end=True)
    rng = np.random.default_rng(0)
    parts = {
        "words": ["a", "</s>", "b"],
        "counts": np.array([3, 2, 1]),
        "input": rng.normal(size=(3, DIM)).astype("f4"),
        "output": rng.normal(size=(3, DIM)).astype("f4"),
        "arrays": {"bias": np.zeros(3, "f4"), "context_weights": np.ones((2 * WINDOW, DIM), "f4")},
        "settings": {**vars(settings), **changes.pop("settings", {})},
    }
    return Model(**(parts | changes))


def test_model_predictor_follows_the_models_settings():
    settings, vocabulary, found = model_predictor(language_model())
    assert (settings.window, len(vocabulary)) == (WINDOW, 3)
    assert found.windows == Windows(WINDOW, False, True, False, 1, WINDOW)
    assert found.layer.architecture.context_weights.shape == (2 * WINDOW, DIM)


@pytest.mark.parametrize(
    "changes",
    [
        {"arrays": {"bias": np.zeros(3, "f4")}},
        {"arrays": {"bias": np.zeros(3, "f4"), "context_weights": np.ones((2, DIM), "f4")}},
        {"arrays": {"bias": np.zeros(3, "f4"), "context_weights": np.ones((2 * WINDOW, DIM), "f8")}},
        {"arrays": {"bias": np.zeros(2, "f4"), "context_weights": np.ones((2 * WINDOW, DIM), "f4")}},
        {"arrays": {"context_weights": np.ones((2 * WINDOW, DIM), "f4")}},
        {"output": np.zeros((2, DIM), "f4")},
        {"words": ["a", "c", "b"]},
        {"settings": {"window": 50}},
        {"settings": {"vector_size": 4}},
        {"settings": {"objective": "hs"}},
        {"settings": {"objective": "nosuch"}},
        {"settings": {"architecture": "nosuch"}},
        {"settings": {"window": "x"}},
        {"settings": {"color": 3}},
        {"settings": {"options": {"negative": 0}}},
        {"settings": {"options": {"negative": "many"}}},
        {"settings": {"options": {"filters": 3}}},
        {"settings": {"objective": "lsh", "options": {"tables": 1000, "hashes": 5, "window": 16}}},
        {"settings": {"objective": "infrequent-norm", "options": {"penalty": 0.0}}},
    ],
    ids=[
        "no-context-weights",
        "short-context-weights",
        "float64-context-weights",
        "short-bias",
        "no-bias",
        "output",
        "words",
        "window",
        "vector-size",
        "objective",
        "unknown-objective",
        "unknown-architecture",
        "window-text",
        "unknown-setting",
        "option",
        "option-text",
        "unknown-option",
        "lsh",
        "infrequent-norm",
    ],
)
def test_model_that_does_not_fit_its_settings_is_refused(changes):
    with pytest.raises(DataError, match="the model's"):
        model_predictor(language_model(**changes))


@pytest.mark.parametrize("name", sorted(objectives.objectives()))
def test_options_of_a_model_pass_the_same_checks_as_settings(name):
    """An option that the command line refuses is refused in a model, too; the message names it."""
    wrong = {**dict.fromkeys(objectives.option_defaults(name), -7), "nonsense": 1}
    tree = {"tree": ""}  # any other value may name a file
    files = {"hs": tree, "hs-neg": tree, "class-softmax": {"classes": ""}}
    wrong |= files.get(name, {})
    for option, value in wrong.items():
        asked = Settings(objective=name, options={option: value})
        with pytest.raises(ConfigError, match=option) as caught:
            objectives.check_options(effective(asked)[0], files=False)
        with pytest.raises(DataError) as refused:
            model_predictor(language_model(settings={"objective": name, "options": {option: value}}))
        assert str(refused.value) == f"the model's settings: {caught.value}"


def test_options_missing_from_a_model_have_their_defaults():
    found = model_predictor(language_model(settings={"options": {}}))[0]
    assert found.options == objectives.option_defaults("nce")
    known = model_predictor(language_model(settings={"options": {"negative": 7}}))[0]
    assert known.options == {**objectives.option_defaults("nce"), "negative": 7}


def test_model_without_the_sentence_end_word_is_refused():
    with pytest.raises(DataError, match="the model's settings: sentence_end: </s> is not among the model's words"):
        model_predictor(language_model(words=["a", "c", "b"]))


def test_files_named_by_a_models_options_are_not_read(tmp_path):
    """The model contains the tree, and the file may have changed since."""
    tree = dict(zip(("tree.start", "tree.nodes", "tree.codes"), huffman(np.array([3, 2, 1])), strict=True))
    options = {"tree": "cluster", "vectors": str(tmp_path / "none.bin")}
    about = {"objective": "hs", "options": options, "architecture": "skipgram", "bias": False}
    model = language_model(output=np.zeros((2, DIM), "f4"), arrays=tree, settings=about)
    settings, _, found = model_predictor(model)
    assert settings.options == options
    raw, _ = found.scorer.scores(np.zeros((1, DIM), np.float32), np.array([0], np.int32))
    assert raw == pytest.approx(np.log(0.5))
