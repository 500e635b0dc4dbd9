"""Windows of any width, and whole sentences as windows: the settings, what is trained, and how much memory it takes."""

from itertools import pairwise

import numpy as np
import pytest
from prepared import prepared
from reference import DEMO

from w2vtrain.api import continue_training, train
from w2vtrain.config import Settings, resolve, validated
from w2vtrain.embeddings.model import load_model, save_model
from w2vtrain.errors import ConfigError
from w2vtrain.leaves.gensim.word2vec import Word2Vec
from w2vtrain.text.token_lists import Sentences
from w2vtrain.training import trainer
from w2vtrain.training.engine_parts import window_size
from w2vtrain.training.events import Events
from w2vtrain.training.inputs import Inputs, longest_sentence
from w2vtrain.training.perplexity import perplexity
from w2vtrain.training.plan import Plan, effective

SMALL = {"vector_size": 8, "min_count": 1, "sample": 0, "threads": 1, "epochs": 1}
LENGTHS = (2, 70, 9, 130, 64, 3, 120, 80)


@pytest.fixture
def sessions(rng):
    """Sentences that are longer than any window of 50 words, so that chunks and parts of them have ends in between."""
    return [[f"w{word}" for word in rng.integers(30, size=length)] for length in LENGTHS * 3]


def same(one, other):
    for name in ("input", "output"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("more", [{}, {"sentence_end": True}, {"context": "left"}], ids=str)
@pytest.mark.parametrize(
    "names",
    [
        ("skipgram", "neg"),
        pytest.param(("cbow", "hs"), marks=pytest.mark.slow),
        pytest.param(("skipgram", "block-neg"), marks=pytest.mark.slow),
        ("cbow-sum", "softmax"),
    ],
    ids=" ".join,
)
def test_a_whole_sentence_is_the_window_that_reaches_its_ends(sessions, names, more):
    shared = {**SMALL, "architecture": names[0], "objective": names[1], "alpha": 0.001, **more}
    whole = train(sessions, window="sentence", **shared)
    wide = train(sessions, window=131, shrink_windows=False, **shared)
    assert whole.settings["window"] == "sentence"
    assert whole.settings["shrink_windows"] is False
    same(whole, wide)
    if names[0] == "skipgram" and not more:
        pairs = sum(length * (length - 1) for length in LENGTHS * 3)
        assert whole.record["epochs"][0]["examples"] == pairs


@pytest.mark.parametrize("objective", ["neg", pytest.param("hs", marks=pytest.mark.slow), "softmax"])
@pytest.mark.parametrize("architecture", ["skipgram", "cbow", "cbow-sum", "vlbl"])
def test_long_sentences_with_repeated_words_do_not_diverge_at_the_default_rate(sessions, architecture, objective):
    """Updates of all rows of such a window at once overshoot, until a weight is infinite."""
    window = 131 if architecture == "vlbl" else "sentence"
    model = train(sessions, window=window, architecture=architecture, objective=objective, **{**SMALL, "epochs": 3})
    assert np.abs(model.input).max() < 10


@pytest.mark.parametrize(("objective", "window"), [("hs", 50), pytest.param("hs-neg", 20, marks=pytest.mark.slow)])
def test_nodes_near_the_root_do_not_diverge_in_windows_of_tens_of_words(objective, window):
    words = DEMO.read_text(encoding="utf-8")[:400_000].lower().split()
    texts = [words[first : first + 200] for first in range(0, len(words), 200)]
    model = train(texts, objective=objective, window=window, vector_size=48, threads=1)
    assert np.linalg.norm(model.input, axis=1).max() < 8


FULL = """
from w2vtrain.architectures.cbow_sum import CbowSum

class FullPace(CbowSum):
    def rate_scale(self, n):
        return 1.0

ARCHITECTURE = FullPace
"""


@pytest.fixture(scope="module")
def full_pace(tmp_path_factory):
    """Return the file of an architecture without the lower rate; it is one file, so that its kernels compile once."""
    path = tmp_path_factory.mktemp("rate_scale") / "full.py"
    path.write_text(FULL)
    return str(path)


@pytest.mark.parametrize("objective", ["neg", "softmax"])
@pytest.mark.parametrize(
    ("window", "length", "share"),
    [pytest.param("sentence", 11, 1, marks=pytest.mark.slow), ("sentence", 41, 4), (50, 41, 1)],
    ids=str,
)
def test_long_sums_learn_at_a_lower_rate_in_wide_windows(rng, full_pace, objective, window, length, share):
    """With 40 context words, it is 10 / 40 of the rate."""
    sentences = [[f"w{word}" for word in rng.integers(30, size=length)] for _ in range(20)]
    shared = {**SMALL, "objective": objective, "window": window, "shrink_windows": False}
    slower = train(sentences, architecture="cbow-sum", alpha=0.01, min_alpha=0.001, **shared)
    full = {"alpha": 0.01 / share, "min_alpha": 0.001 / share, **shared}
    expected = train(sentences, architecture=full_pace, **full)
    for name in ("input", "output"):
        np.testing.assert_allclose(getattr(slower, name), getattr(expected, name), rtol=1e-4, atol=1e-7, err_msg=name)


BOUNDED = ["neg", "hs", "hs-neg", "softmax", "class-softmax", "adaptive-softmax", "dsoftmax", "is", "adaptive-is"]
"""Objectives whose scores are 0 before training, so that the loss is known."""


@pytest.mark.parametrize("objective", BOUNDED)
def test_a_run_whose_loss_is_above_that_of_an_untrained_model_is_reported(sessions, objective):
    def warnings(**settings):
        found = []
        train(sessions, objective=objective, events=Events(warning=found.append), **{**SMALL, **settings})
        return found

    assert warnings() == []
    (line,) = warnings(init=5.0, alpha=0.001, epochs=2)  # large weights, as after a step that was too long
    assert line.startswith("training diverged: the loss of epoch 2, ")
    assert line.endswith("lower init (5) or alpha (0.001) or window")


@pytest.mark.parametrize("objective", BOUNDED)
def test_the_loss_before_training_is_at_most_the_untrained_loss(sessions, objective):
    """A rate of almost 0 trains nothing."""
    built = []
    model = train(sessions, objective=objective, alpha=1e-12, **SMALL)
    done = effective(Settings(objective=objective, alpha=1e-12, **SMALL))
    trainer.trained(
        Plan.of(Inputs(Sentences(sessions)), done), make=prepared(lambda engine: built.append(engine.objective))
    )
    loss, untrained = model.record["epochs"][0]["loss"], built[0].untrained_loss()
    assert loss <= untrained * 1.001  # draws vary
    if objective in ("neg", "softmax", "dsoftmax"):  # paths and classes have different lengths
        assert loss == pytest.approx(untrained, rel=1e-6)


def test_a_sentence_that_is_cut_is_several_sentences():
    line = [f"w{i % 7}" for i in range(40)]
    parts = [line[i : i + 8] for i in range(0, 40, 8)]
    same(
        train([line], window="sentence", max_sentence=8, **SMALL),
        train(parts, window="sentence", max_sentence=8, **SMALL),
    )


def test_words_that_subsampling_drops_are_no_context(sessions):
    shared = {**SMALL, "sample": 0.01, "window": "sentence"}
    found = train(sessions, **shared).record["epochs"][0]["examples"]
    assert 0 < found < train(sessions, **{**shared, "sample": 0}).record["epochs"][0]["examples"]


@pytest.mark.parametrize("objective", ["neg", "softmax"])
def test_a_saved_model_with_whole_sentences_scores_text(sessions, objective, tmp_path):
    model = train(sessions, window="sentence", objective=objective, **SMALL)
    save_model(tmp_path / "m.safetensors", model)
    again = load_model(tmp_path / "m.safetensors")
    (a, *_), (b, *_) = (perplexity(m, Sentences(sessions), threads) for m, threads in ((model, 1), (again, 2)))
    assert a.perplexity == b.perplexity
    assert a.examples == sum(length * (length - 1) for length in LENGTHS * 3)


@pytest.mark.parametrize("given", ["7", "50", "51", "100000", "sentence"])
def test_all_sources_of_settings_have_the_same_range(given, tmp_path, monkeypatch):
    toml = tmp_path / "w.toml"
    toml.write_text(f"window = {given if given.isdigit() else repr(given)}\n".replace("'", '"'))
    value = int(given) if given.isdigit() else given
    assert resolve({"window": given}, {})[0].window == value
    assert resolve({}, {"W2VTRAIN_WINDOW": given})[0].window == value
    assert resolve({}, {}, toml)[0].window == value
    assert Word2Vec(window=value).window == value


@pytest.mark.parametrize("given", [0, -1, "whole", 2.5, 2**31])
def test_other_windows_are_refused_everywhere(given):
    with pytest.raises(ConfigError, match="window: expected a whole number from 1 to 2,147,483,647 or sentence"):
        validated({"window": given})
    with pytest.raises((ValueError, TypeError), match="window must be"):
        Word2Vec(window=given)


def test_settings_that_contradict_whole_sentences_are_refused():
    with pytest.raises(ConfigError, match="window: vlbl has weights for each position of a window, so it needs a num"):
        effective(Settings(architecture="vlbl", window="sentence"))
    with pytest.raises(ConfigError, match=r"shrink_windows: .* leave it out"):
        validated({"window": "sentence", "shrink_windows": True})
    assert effective(Settings(window="sentence", shrink_windows=False)).shrink_windows is False


def test_a_model_trained_further_chooses_shrinking_for_its_new_window(sessions):
    model = train(sessions, window=3, **SMALL)
    assert model.settings["shrink_windows"] is True
    whole = continue_training(model, sessions, window="sentence", epochs=1, threads=1)
    assert (whole.settings["window"], whole.settings["shrink_windows"]) == ("sentence", False)
    again = continue_training(whole, sessions, window=4, epochs=1, threads=1)
    assert (again.settings["window"], again.settings["shrink_windows"]) == (4, True)


def test_word2vec_trains_saves_and_scores_whole_sentences(sessions, tmp_path):
    shared = {"vector_size": 8, "min_count": 1, "sample": 0, "workers": 1, "epochs": 1, "hs": 1, "negative": 0}
    whole = Word2Vec(sessions, window="sentence", **shared)
    wide = Word2Vec(sessions, window=1000, shrink_windows=False, **shared)
    np.testing.assert_array_equal(whole.wv.vectors, wide.wv.vectors)
    np.testing.assert_array_equal(whole.score(sessions[:3]), wide.score(sessions[:3]))
    whole.save(str(tmp_path / "m.safetensors"))
    again = Word2Vec.load(str(tmp_path / "m.safetensors"))
    assert again.window == "sentence"
    again.train(sessions, total_examples=len(sessions), epochs=1)


def extent_of(sentences, **settings):
    """Return the elements of a thread's working memory for context words, and for their scores."""
    found = []
    done = effective(Settings(**{**SMALL, **settings}))
    trainer.trained(
        Plan.of(Inputs(Sentences(sentences)), done), make=prepared(lambda engine: found.append(engine.workers[0][2]))
    )
    return found[0].context.size, found[0].logits.size


def test_memory_follows_the_longest_sentence_and_not_the_window(sessions):
    words, scores = extent_of(sessions, window="sentence", max_sentence=1_000_000)
    assert words < 2 * max(LENGTHS) + 50
    assert scores < extent_of(sessions, window=50)[1], "the scores of a wide window are computed in parts"
    assert extent_of(sessions, window=2**31 - 1, max_sentence=1_000_000) == (words, scores)
    assert extent_of(sessions[:1] * 20, window="sentence")[0] < 50


def test_the_longest_sentence_is_found_in_chunks_that_end_anywhere(rng):
    lengths = rng.integers(1, 40, size=30)
    tokens = np.concatenate([[*range(n), -1] for n in lengths]).astype(np.int32)
    ends = np.flatnonzero(tokens < 0) + 1
    starts = np.array([0, *ends[4::7], len(tokens)])
    assert longest_sentence(tokens, starts) == lengths.max()
    assert longest_sentence(tokens[:-1], np.array([*starts[:-1], len(tokens) - 1])) == lengths.max()
    for first, last in pairwise(starts.tolist()):
        part = tokens[first:last]
        longest = np.diff(np.flatnonzero(part < 0), prepend=-1).max() - 1
        assert longest_sentence(part, np.array([0, len(part)])) == longest
    assert longest_sentence(tokens[:0], np.zeros(1, np.int64)) == 0


def test_a_window_wider_than_any_sentence_has_weights_for_the_longest_sentence_allowed_only():
    sizes = (5, 50, 200, 201, 2**31 - 1)
    found = [window_size(Settings(window=n, max_sentence=200, architecture="vlbl")) for n in sizes]
    assert found == [5, 50, 200, 200, 200]
    assert window_size(Settings(window=50, max_sentence=10, architecture="vlbl")) == 50
    assert window_size(Settings(window="sentence", max_sentence=10)) == 11


@pytest.mark.parametrize("more", [{}, {"shrink_windows": False}], ids=str)
def test_a_window_wider_than_any_sentence_reaches_the_ends_of_a_sentence_of_any_length(more):
    """Whether sizes are drawn or not: of two billion, none is smaller than a sentence."""
    lines = [[f"w{i % 7}" for i in range(60)]] * 20
    shared = {**SMALL, "max_sentence": 60, "sentence_end": True, "alpha": 0.001}
    wide = train(lines, window=2**31 - 1, **shared, **more)
    assert wide.record["epochs"][0]["examples"] == 20 * 61 * 61
    assert train(lines, window="sentence", **shared).record["epochs"][0]["examples"] == 20 * 61 * 61
