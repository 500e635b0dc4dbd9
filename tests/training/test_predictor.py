"""Parts of a language model: weight decay, initial weights, what settings select, sentence ends, and predictors."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import COUNTS, encode, problem_of, schedule_of

from w2vtrain import objectives
from w2vtrain.architectures import architecture_class
from w2vtrain.architectures.cbow import Cbow
from w2vtrain.architectures.cbow_corrected import CorrectedCbow
from w2vtrain.architectures.contract import Layout
from w2vtrain.architectures.skipgram import SkipGram
from w2vtrain.config import Settings
from w2vtrain.embeddings.model import Model
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.initial_weights import initial_input, initial_output
from w2vtrain.engines.window_kernel import Windows
from w2vtrain.errors import ConfigError, DataError
from w2vtrain.probability.trees import huffman
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.vocabulary import Vocabulary, select
from w2vtrain.training.engine_parts import architecture_of, make_engine, windows_of
from w2vtrain.training.engine_parts import problem_of as problem_for
from w2vtrain.training.plan import effective
from w2vtrain.training.predictor import model_predictor

SIZE, DIM, WINDOW = 11, 5, 3

# weight decay


def words_of(rng, chunks=34, length=30):
    tokens = np.concatenate([[*rng.integers(0, SIZE, length + k % 5), -1] for k in range(chunks)]).astype(np.int32)
    starts = np.concatenate([[0], np.flatnonzero(tokens < 0) + 1])
    return Chunks(tokens, starts, np.diff(starts) - 1, COUNTS, 100)


@pytest.mark.parametrize("chunks", [34, 5])
@pytest.mark.parametrize("objective", ["nce", "softmax"])
def test_weight_decay_shrinks_every_row_but_no_bias(rng, objective, chunks):
    """Each chunk shrinks one stripe of rows for all chunks. Over the text, every row decays by the same amount."""
    text = words_of(rng, chunks)
    problem = problem_of(COUNTS, dim=DIM, bias=True, init=1.0, tokens=text.tokens, starts=text.starts)
    lr, decay = 1e-9, 1e6  # with a tiny rate and a huge decay, only the decay shows
    schedule = schedule_of(sample=0, alpha=lr, min_alpha=lr, epochs=1, weight_decay=decay)
    built = objectives.objective_class(objective).build(problem)
    architecture = architecture_class("vlbl").build(Layout(WINDOW, DIM, DIM + 1), {})
    engine = make_engine(architecture, built, problem, text, Windows(WINDOW), schedule)
    before = engine.weights()
    before = replace(before, input=before.input.copy(), output=before.output.copy(), arrays=dict(before.arrays))
    kept = {name: array.copy() for name, array in before.arrays.items()}
    order = np.arange(len(text.words))
    engine.train(order, np.full(len(order), lr), 0, 0)
    after = engine.weights()
    for old, new in ((before.input, after.input), (before.output, after.output)):
        np.testing.assert_allclose(new, old * np.exp(-lr * decay * len(text.tokens)), rtol=1e-3, atol=1e-6)
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


# from settings to windows, problem and architecture


def settings_of(**changes):
    return effective(
        Settings(**{"architecture": "cbow", "vector_size": DIM, "window": WINDOW, "threads": 1, **changes})
    )


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


UNFIT = {
    "no-context-weights": {"arrays": {"bias": np.zeros(3, "f4")}},
    "short-context-weights": {"arrays": {"bias": np.zeros(3, "f4"), "context_weights": np.ones((2, DIM), "f4")}},
    "float64-weights": {"arrays": {"bias": np.zeros(3, "f4"), "context_weights": np.ones((2 * WINDOW, DIM), "f8")}},
    "short-bias": {"arrays": {"bias": np.zeros(2, "f4"), "context_weights": np.ones((2 * WINDOW, DIM), "f4")}},
    "no-bias": {"arrays": {"context_weights": np.ones((2 * WINDOW, DIM), "f4")}},
    "output": {"output": np.zeros((2, DIM), "f4")},
    "words": {"words": ["a", "c", "b"]},
    "window": {"settings": {"window": 50}},
    "vector-size": {"settings": {"vector_size": 4}},
    "objective": {"settings": {"objective": "hs"}},
    "unknown-objective": {"settings": {"objective": "nosuch"}},
    "unknown-architecture": {"settings": {"architecture": "nosuch"}},
    "window-text": {"settings": {"window": "x"}},
    "unknown-setting": {"settings": {"color": 3}},
    "option": {"settings": {"options": {"negative": 0}}},
    "option-text": {"settings": {"options": {"negative": "many"}}},
    "unknown-option": {"settings": {"options": {"filters": 3}}},
    "lsh": {"settings": {"objective": "lsh", "options": {"tables": 1000, "hashes": 5, "window": 16}}},
    "infrequent-norm": {"settings": {"objective": "infrequent-norm", "options": {"penalty": 0.0}}},
}
"""Changes of a model by what is wrong with it."""


@pytest.mark.parametrize("changes", UNFIT.values(), ids=UNFIT)
def test_model_that_does_not_fit_its_settings_is_refused(changes):
    with pytest.raises(DataError, match="the model: its "):
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
            objectives.check_options(effective(asked), files=False)
        with pytest.raises(DataError) as refused:
            model_predictor(language_model(settings={"objective": name, "options": {option: value}}))
        assert str(refused.value) == f"the model: its settings: {caught.value}"


def test_options_missing_from_a_model_have_their_defaults():
    found = model_predictor(language_model(settings={"options": {}}))[0]
    assert found.options == objectives.option_defaults("nce")
    known = model_predictor(language_model(settings={"options": {"negative": 7}}))[0]
    assert known.options == {**objectives.option_defaults("nce"), "negative": 7}


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
