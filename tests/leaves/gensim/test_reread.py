"""Tests of corpora that yield other sentences each time they are read, such as random walks."""

import logging

import numpy as np
import pytest

import w2vtrain
from w2vtrain import Word2Vec

TEXT = [["red", "green", "blue"], ["cat", "dog", "cow"]] * 9
SMALL = {"vector_size": 4, "min_count": 1, "sample": 0, "workers": 1}


class Walks:
    """Sentences in which each reading joins "here" with another word."""

    def __init__(self):
        self.readings = 0

    def __iter__(self):
        self.readings += 1
        yield ["a", "b", "c", "d"]
        yield from [["here", "abcd"[self.readings % 4]]] * 30


def changed(model, before, words):
    """Return the words whose output vectors have changed."""
    return {word for word in words if (model.syn1neg[model.wv.key_to_index[word]] != before[word]).any()}


def test_each_epoch_reads_other_sentences():
    walks = Walks()
    model = Word2Vec(walks, **SMALL, epochs=3, reread=True, sg=1)
    assert walks.readings == 3  # the first one also chose the words
    assert model.train(walks, total_examples=31, epochs=2, reread=True) == (128, 128)
    assert walks.readings == 5
    model.train(walks, total_examples=31, epochs=4, reread=False)
    assert walks.readings == 6
    model.train(walks, total_examples=31, epochs=2)
    assert walks.readings == 8  # as the model was made


def test_a_subclass_may_have_another_train():
    class Mine(Word2Vec):
        def train(self, corpus_iterable, corpus_file, total_examples, total_words, epochs, callbacks):
            return super().train(corpus_iterable, total_examples=total_examples, epochs=epochs)

    walks = Walks()
    assert Mine(walks, **SMALL, epochs=3, reread=True).train_count == 1
    assert walks.readings == 3


def test_what_only_a_later_reading_has_is_learned():
    class Later:
        read = False

        def __iter__(self):
            yield from [["cat", "dog"] if self.read else ["red", "green"]] * 9
            self.read = True

    before = None
    for reread, learned in ((False, {"red", "green"}), (True, {"red", "green", "cat", "dog"})):
        model = Word2Vec(**{**SMALL, "hs": 1, "negative": 0, "sg": 1})
        model.build_vocab_from_freq(dict.fromkeys(("red", "green", "cat", "dog"), 9))
        before = model.wv.vectors.copy()
        model.train(TEXT[:1], total_examples=1, epochs=1)  # so that output vectors are not 0
        before = model.wv.vectors.copy()
        model.train(Later(), total_examples=9, epochs=2, reread=reread)
        rows = np.flatnonzero((model.wv.vectors != before).any(axis=1))
        assert {model.wv.index_to_key[row] for row in rows} == learned


def test_rates_epochs_and_losses_go_on_over_all_readings(caplog):
    class Recorder:
        def __init__(self):
            self.calls, self.rates, self.losses = [], [], []

        def on_epoch_begin(self, model):
            self.calls.append("begin")

        def on_epoch_end(self, model):
            self.calls.append("end")
            self.rates.append(model.min_alpha_yet_reached)
            self.losses.append(model.get_latest_training_loss())

    found = []
    for reread in (False, True):
        recorder = Recorder()
        with caplog.at_level(logging.INFO, "w2vtrain"):
            caplog.clear()
            Word2Vec(TEXT * 200, **SMALL, epochs=3, reread=reread, callbacks=[recorder])
        assert [record.args[0] for record in caplog.records if record.msg.startswith("EPOCH")] == [1, 2, 3]
        found.append(recorder)
    once, again = found
    assert again.calls == once.calls == ["begin", "end"] * 3
    np.testing.assert_allclose(again.rates, once.rates, rtol=0.05)
    assert 0 < again.losses[0] < again.losses[1] < again.losses[2]


def test_readings_draw_different_random_numbers():
    """Two readings of one epoch each differ from the same two epochs of two models that start from equal weights."""
    model = Word2Vec(**SMALL)
    model.build_vocab(TEXT)
    first = model.wv.vectors.copy()
    seeds = set()

    class Seeds:
        def on_epoch_end(self, model):
            seeds.add(model.wv.vectors.tobytes())
            model.wv.vectors[:], model.syn1neg[:] = first, 0

    model.train(TEXT, total_examples=18, epochs=3, start_alpha=0.05, end_alpha=0.05, reread=True, callbacks=[Seeds()])
    assert len(seeds) == 3


class UsedUp:
    """A corpus whose first reading has all sentences, as an open file without seek(0) does, and later ones `left`."""

    def __init__(self, sentences, left):
        self.sentences, self.left = sentences, left

    def __iter__(self):
        yield from self.sentences
        self.sentences = self.left


DOCUMENTS = [w2vtrain.TaggedDocument(words, [number]) for number, words in enumerate(TEXT)]
MODELS = {Word2Vec: TEXT, w2vtrain.FastText: TEXT, w2vtrain.Doc2Vec: DOCUMENTS}


@pytest.mark.parametrize("kind", MODELS)
def test_a_corpus_that_is_used_up_is_an_error(kind, caplog):
    corpus, model = UsedUp(MODELS[kind], []), kind(**SMALL)
    model.build_vocab(corpus)
    before = model.wv.vectors.copy()
    for expected in ({"total_examples": 18}, {"total_words": 54}):
        with pytest.raises(
            RuntimeError, match=r"^epoch 1: there are no sentences.*read before and does not start over"
        ):
            model.train(corpus, **expected, epochs=3)
    np.testing.assert_array_equal(model.wv.vectors, before)
    assert (model.train_count, caplog.text) == (0, "")
    with caplog.at_level(logging.WARNING, "w2vtrain"):
        model.build_vocab(corpus, update=True)  # as gensim does, but not silently
    assert "the vocabulary does not change: there are no sentences" in caplog.text
    assert model.train(corpus, total_examples=model.corpus_count, epochs=3) == (0, 0)  # none are expected


@pytest.mark.parametrize("kind", MODELS)
def test_a_later_epoch_without_sentences_is_an_error_and_keeps_what_was_learned(kind):
    corpus, model = UsedUp(MODELS[kind], []), kind(**SMALL)
    model.build_vocab(MODELS[kind])
    before = model.syn1neg.copy()
    with pytest.raises(RuntimeError, match=r"^epoch 2: there are no sentences"):
        model.train(corpus, total_examples=18, epochs=3, reread=True)
    assert (model.syn1neg != before).any()
    assert (model.train_count, model.is_training) == (1, False)
    with pytest.raises(RuntimeError, match=r"^epoch 2: there are no sentences"):
        kind(UsedUp(MODELS[kind], []), **SMALL, epochs=3, reread=True)


@pytest.mark.parametrize("kind", MODELS)
def test_an_epoch_with_another_number_of_sentences_is_warned_about_as_in_gensim(kind, caplog):
    sentences = MODELS[kind]
    warnings = "EPOCH {}: supplied {} count ({}) did not equal expected count ({})".format
    with caplog.at_level(logging.WARNING, "w2vtrain"):
        kind(UsedUp(sentences, sentences[:10]), **SMALL, epochs=3, reread=True)
        assert caplog.messages == [warnings(epoch, "example", 10, 18) for epoch in (2, 3)]
        caplog.clear()
        model = kind(**SMALL, min_alpha=0.025)
        model.build_vocab(sentences)
        model.train(iter(sentences), total_examples=18, total_words=7, epochs=2)  # sentences decide if both are given
        assert not caplog.messages
        model.train(sentences[:10], total_examples=18, epochs=2)
        model.train(sentences[:10], total_words=54, epochs=2)
        assert caplog.messages == [warnings(1, "example", 10, 18), warnings(1, "raw word", 30, 54)]


def test_a_generator_cannot_be_reread():
    for read in (
        lambda: Word2Vec(iter(TEXT), **SMALL, reread=True),
        lambda: Word2Vec(TEXT, **SMALL).train(iter(TEXT), total_examples=18, epochs=2, reread=True),
    ):
        with pytest.raises(ValueError, match="reread=True needs a corpus that can be read again, not a list_iterator"):
            read()


@pytest.mark.parametrize(
    "corpus, options, noted",
    [
        (Walks, {}, True),
        (Walks, {"epochs": 1}, False),
        (Walks, {"reread": True}, False),
        (Walks, {"reread": False}, False),
        (lambda: TEXT, {}, False),
        (lambda: iter(TEXT), {}, False),
        (lambda: dict(enumerate(TEXT)).values(), {}, False),
        (lambda: np.array(TEXT), {}, False),
        (lambda: w2vtrain.LineSentence("data/simplewiki.txt", limit=9), {}, False),
    ],
    ids=["walks", "one epoch", "reread", "not reread", "list", "iterator", "values", "array", "file"],
)
def test_a_note_says_that_an_iterable_is_read_once(corpus, options, noted, caplog):
    with caplog.at_level(logging.WARNING, "w2vtrain"):
        Word2Vec(corpus(), **{**SMALL, "epochs": 2, **options})
    notes = [record.getMessage() for record in caplog.records if "reread=True" in record.getMessage()]
    assert len(notes) == noted
    assert all("\n" not in note and "read once for all 2 epochs" in note for note in notes)
