"""A run that starts from a trained model has the model's arrays, under the ids that its words have in the run."""

import numpy as np
import pytest

from w2vtrain.config import validated
from w2vtrain.embeddings.model import Model
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.schedule import Schedule
from w2vtrain.errors import ConfigError, DataError
from w2vtrain.formats.vectors import Vectors
from w2vtrain.objectives import objectives
from w2vtrain.text.encoded import read
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.engine_parts import architecture_of, engine_for
from w2vtrain.training.plan import effective
from w2vtrain.training.warm_start import WarmStart, union

WORDS = ["ab", "ba", "abb", "baa", "aab", "bab", "bba", "aa", "bb", "b", "a", "abab"]
COUNTS = np.arange(60, 0, -5)
MORE = ["ab", "abba", *WORDS[2:5], "ba", *WORDS[5:], "baba"]  # two new words without new letters, in another order
GROWING = [name for name, cls in objectives().items() if cls.can_grow({"z_table": 0})]
SPELLING = {"char-softmax": {"units": len(WORDS)}, "cnn-softmax": {"filters": len(WORDS)}}
FIXED = ["adaptive-softmax", "class-softmax", "dsoftmax", "hs", "hs-neg"]


def settings_of(objective="neg", **more):
    given = {"vector_size": 6, "threads": 1, "bias": True, "architecture": "vlbl", "window": 2}
    given |= {"options": {"window": 4}} if objective == "lsh" else {}
    return effective(validated({**given, "objective": objective, **more}))


def engine_of(settings, words=WORDS, counts=None):
    """Return an untrained engine for words with these counts, on a text of random words."""
    tokens = np.random.default_rng(0).integers(0, len(words), 300).astype(np.int32)
    tokens[9::10] = -1
    counts = COUNTS if counts is None else counts
    text = Chunks(tokens, np.array([0, 150, 300]), np.array([135, 135]), counts)
    return engine_for(settings, Vocabulary(list(words), counts), text, architecture_of(settings, words))


def trained(settings, /, **changes):
    """Return a model in which every learned number is random."""
    engine, rng = engine_of(settings), np.random.default_rng(3)
    for name, array in engine.state().items():
        if array.dtype.kind == "f" and not name.startswith(("noise", "state.")):
            array[...] = rng.normal(size=array.shape)
    found = engine.weights()
    arrays = {name: array.copy() for name, array in found.arrays.items()}
    about = {name: getattr(settings, name) for name in Schedule.__dataclass_fields__} | vars(settings)
    model = Model(list(WORDS), COUNTS.copy(), found.input.copy(), found.output.copy(), arrays, about)
    for name, value in changes.items():
        object.__setattr__(model, name, value)
    return model


def counts_of(words):
    return np.arange(10 * len(words), 0, -10)


@pytest.mark.parametrize("objective", objectives())
def test_with_the_words_of_the_model_every_learned_array_is_that_of_the_model(objective):
    settings = settings_of(objective)
    model, engine = trained(settings), engine_of(settings)
    facts = WarmStart.of(model).copy_to(engine, settings)
    found = engine.weights()
    np.testing.assert_array_equal(found.input, model.input)
    np.testing.assert_array_equal(found.output, model.output)
    assert found.arrays.keys() == model.arrays.keys()
    for name, array in found.arrays.items():
        np.testing.assert_array_equal(array, model.arrays[name], name)
    assert (facts["words"], facts["new_words"]) == (len(WORDS), 0)
    assert {"input", "context_weights"} <= set(facts["parts"])


@pytest.mark.parametrize("objective", GROWING)
def test_words_keep_their_rows_under_other_ids_and_new_words_keep_the_initial_rows(objective):
    settings = settings_of(objective)
    model = trained(settings)
    engine, untouched = (engine_of(settings, MORE, counts_of(MORE)) for _ in range(2))
    facts = WarmStart.of(model).copy_to(engine, settings)
    found, initial = engine.weights(), untouched.weights()
    assert (facts["words"], facts["new_words"]) == (len(WORDS), 2)
    pairs = [("input", found.input, model.input, initial.input)]
    if model.output.size and objective != "cnn-softmax":  # its rows follow from letters
        pairs.append(("output", found.output, model.output, initial.output))
        pairs.append(("bias", found.arrays["bias"], model.arrays["bias"], initial.arrays["bias"]))
    for name, mine, theirs, fresh in pairs:
        assert name in facts["parts"]
        for row, word in enumerate(MORE):
            expected = theirs[WORDS.index(word)] if word in WORDS else fresh[row]
            np.testing.assert_array_equal(mine[row], expected, f"{name} of {word}")
    if objective == "cnn-softmax":
        old = [WORDS.index(word) for word in MORE if word in WORDS]
        new = [MORE.index(word) for word in MORE if word in WORDS]
        np.testing.assert_allclose(found.output[new], model.output[old], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found.arrays["context_weights"], model.arrays["context_weights"])


def test_a_learned_log_z_moves_with_its_word_unless_it_is_hashed():
    settings = settings_of("nce", options={"learn_z": True})
    model, engine = trained(settings), engine_of(settings, MORE, counts_of(MORE))
    WarmStart.of(model).copy_to(engine, settings)
    theirs = dict(zip(WORDS, model.arrays["log_z"], strict=True))
    np.testing.assert_array_equal(engine.weights().arrays["log_z"], [theirs.get(word, 0) for word in MORE])
    hashed = settings_of("nce", options={"learn_z": True, "z_table": 64})
    with pytest.raises(ConfigError, match="does not fit other words"):
        WarmStart.of(trained(hashed)).check(hashed, grow=True)


@pytest.mark.parametrize("objective", FIXED)
def test_new_words_or_another_order_are_refused_if_rows_are_not_words(objective):
    settings = settings_of(objective)
    start = WarmStart.of(trained(settings))
    start.check(settings, grow=False)
    with pytest.raises(ConfigError, match=f"grow_vocabulary: what objective {objective} has learned does not fit"):
        start.check(settings, grow=True)
    swapped = [WORDS[1], WORDS[0], *WORDS[2:]]
    with pytest.raises(ConfigError, match="its words differ from those of the model"):
        start.copy_to(engine_of(settings, swapped), settings)


def test_another_tree_over_the_same_words_is_refused():
    start = WarmStart.of(trained(settings_of("hs")))
    balanced = settings_of("hs", options={"tree": "balanced"})
    with pytest.raises(ConfigError, match=r"its tree\.\w+ differ from those of the model"):
        start.copy_to(engine_of(balanced), balanced)


@pytest.mark.parametrize("words", [[*WORDS, "xyz"], [word.replace("a", "c") for word in WORDS]], ids=["new", "other"])
@pytest.mark.parametrize("objective", SPELLING)
def test_other_letters_are_refused_by_objectives_that_spell(objective, words):
    settings = settings_of(objective)
    with pytest.raises(ConfigError, match=f"objective {objective}: its letters differ from those of the model"):
        WarmStart.of(trained(settings)).copy_to(engine_of(settings, words, counts_of(words)), settings)


@pytest.mark.parametrize("objective", SPELLING)
def test_a_network_with_as_many_units_as_there_are_words_does_not_follow_their_order(objective):
    settings = settings_of(objective, options=SPELLING[objective])
    model, engine = trained(settings), engine_of(settings, WORDS[::-1])
    WarmStart.of(model).copy_to(engine, settings)
    network = [name for name in model.arrays if name.startswith(("char.", "cnn.")) and name != "cnn.correction"]
    assert len(WORDS) in {len(model.arrays[name]) for name in network}
    for name in network:
        np.testing.assert_array_equal(engine.weights().arrays[name], model.arrays[name], name)


def test_counts_with_more_classes_leave_the_mixture_weights_of_the_run():
    settings = settings_of("adaptive-is")
    model, engine = trained(settings), engine_of(settings, counts=COUNTS * 100)
    assert "is.mixture" not in WarmStart.of(model).copy_to(engine, settings)["parts"]
    np.testing.assert_array_equal(engine.weights().output, model.output)


def test_another_objective_takes_the_input_vectors_and_keeps_its_own_initial_arrays():
    model, settings = trained(settings_of("hs")), settings_of("neg", architecture="skipgram")
    engine, untouched = engine_of(settings, MORE, counts_of(MORE)), engine_of(settings, MORE, counts_of(MORE))
    start = WarmStart.of(model)
    start.check(settings, grow=True)
    assert start.copy_to(engine, settings)["parts"] == ["input"]
    np.testing.assert_array_equal(engine.weights().input[MORE.index("baa")], model.input[WORDS.index("baa")])
    np.testing.assert_array_equal(engine.weights().output, untouched.weights().output)


def test_vectors_give_only_input_rows_and_leave_the_words_to_the_corpus():
    settings = settings_of("neg")
    matrix = np.random.default_rng(1).normal(size=(3, 6)).astype(np.float32)
    start, engine = WarmStart.of(Vectors(["bb", "unknown", "ab"], matrix)), engine_of(settings)
    facts = start.copy_to(engine, settings)
    assert (facts["words"], facts["new_words"], facts["parts"]) == (2, len(WORDS) - 2, ["input"])
    np.testing.assert_array_equal(engine.weights().input[WORDS.index("bb")], matrix[0])
    np.testing.assert_array_equal(engine.weights().input[WORDS.index("ab")], matrix[2])
    np.testing.assert_array_equal(engine.weights().input[1], engine_of(settings).weights().input[1])
    assert start.settings == {"vector_size": 6}
    with pytest.raises(ConfigError, match="none of the 2 words of the corpus is in the vectors"):
        start.copy_to(engine_of(settings, ["other", "words"], counts_of("ab")), settings)


def test_what_does_not_fit_is_refused():
    start = WarmStart.of(trained(settings_of()), "m.safetensors")
    with pytest.raises(ConfigError, match=r"m\.safetensors has vectors of 6 dimensions, not 8"):
        start.check(settings_of(vector_size=8), grow=False)
    wide = settings_of(window=3)
    with pytest.raises(ConfigError, match=r"context_weights has shape \[4, 6\], and this run needs \[6, 6\]"):
        start.copy_to(engine_of(wide), wide)


def test_lsh_hashes_the_rows_that_it_starts_from():
    settings = settings_of("lsh")
    engine, expected = engine_of(settings), engine_of(settings)
    model = trained(settings)
    WarmStart.of(model).copy_to(engine, settings)
    expected.objective.output[...] = engine.objective.output
    expected.objective.refresh()
    np.testing.assert_array_equal(engine.objective.tables.rows, expected.objective.tables.rows)
    assert not np.array_equal(engine.objective.tables.starts, engine_of(settings).objective.tables.starts)


def test_the_settings_of_the_model_apply_unless_others_are_given():
    model = trained(settings_of("nce", alpha=0.3, epochs=7, options={"negative": 9}))
    start = WarmStart.of(model)
    found, origins = start.resolve({"window": 4}, {"W2VTRAIN_SAMPLE": "0.5"})
    assert (found.objective, found.alpha, found.window, found.sample) == ("nce", 0.3, 4, 0.5)
    assert found.options["negative"] == 9
    assert (found.epochs, found.threads, found.min_alpha) == (5, "auto", None)
    assert (origins["alpha"], origins["window"], origins["epochs"]) == ("--init-from", "command line", "default")
    other, _ = start.resolve({"architecture": "cbow"}, {})
    assert (other.architecture, other.objective, other.alpha) == ("cbow", "nce", None)
    assert other.options == found.options
    assert start.resolve({"objective": "softmax"}, {})[0].options == {}
    assert start.resolve({"negative": 3}, {})[0].options["negative"] == 3


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([-1] * 12, "the count of word 0 is -1; expected 1 or more"),
        ([*range(10, -2, -1)], "the count of word 11 is -1; expected 1 or more"),
        ([2**63 - 1, *[1] * 11], "add up to more than 2\\^62"),
        ([2**60] * 12, "add up to more than 2\\^62"),
    ],
    ids=["all negative", "one negative", "one huge", "a huge sum"],
)
def test_counts_that_no_text_can_have_are_data_errors(counts, message):
    model = trained(settings_of(), counts=np.array(counts))
    with pytest.raises(DataError, match=f"m.safetensors: .*{message}"):
        WarmStart.of(model, "m.safetensors")


def test_a_model_without_an_array_of_its_architecture_is_damaged():
    settings = settings_of()
    model = trained(settings)
    del model.arrays["context_weights"]
    with pytest.raises(DataError, match="has no array context_weights"):
        WarmStart.of(model).copy_to(engine_of(settings), settings)


def test_a_model_without_settings_gives_its_words_and_input_vectors():
    start, settings = WarmStart.of(trained(settings_of(), settings={})), settings_of()
    assert start.settings == {"vector_size": 6}
    assert start.copy_to(engine_of(settings), settings)["parts"] == ["input"]


def test_a_union_has_the_sums_of_both_counts_in_descending_order():
    mine = Vocabulary(["a", "b", "c"], np.array([9, 5, 0]))
    found = {"f": 1, "e": 4, "d": 7, "b": 6, "g": 4}
    both = union(mine, found, min_count=2)
    assert both.words == ["b", "a", "d", "e", "g", "c"]
    assert both.counts.tolist() == [11, 9, 7, 4, 4, 0]
    assert union(mine, found, min_count=2, max_vocab=4).words == ["b", "a", "d", "c"]
    assert union(mine, found, min_count=2, max_vocab=2).words == ["b", "a", "c"]  # no word of the model is dropped


def test_a_growing_vocabulary_counts_the_corpus_and_keeps_every_word(tmp_path):
    (tmp_path / "text").write_text("ab ab new new\nnew rare\n")
    start = WarmStart.of(trained(settings_of()))
    with read(Corpus([str(tmp_path / "text")])) as counted:
        grown = start.grown(counted, settings_of(min_count=3))
    assert set(grown.words) == {*WORDS, "new"}
    assert grown.counts[grown.index["ab"]] == COUNTS[0] + 2
    same = start.vocabulary()
    assert same.words == WORDS
    np.testing.assert_array_equal(same.counts, COUNTS)


def test_a_model_whose_words_are_in_another_order_is_sorted():
    model = trained(settings_of(), counts=COUNTS[::-1].copy())
    found = WarmStart.of(model).vocabulary()
    assert found.words == WORDS[::-1]
    assert (np.diff(found.counts) < 0).all()
