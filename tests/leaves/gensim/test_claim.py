"""Tests that only one call at a time changes a Word2Vec model."""

import copy
import threading

import numpy as np
import pytest

from w2vtrain import Word2Vec
from w2vtrain.leaves.gensim.claim import BUSY

TEXT = [["red", "green", "blue"], ["cat", "dog", "cow"]] * 9
SMALL = {"vector_size": 4, "min_count": 1, "sample": 0, "workers": 1, "epochs": 2}
CALLS = {
    "train": lambda model: model.train(TEXT, total_examples=18, epochs=1),
    "build_vocab": lambda model: model.build_vocab(TEXT),
    "update": lambda model: model.build_vocab([["new"]], update=True),
    "build_vocab_from_freq": lambda model: model.build_vocab_from_freq({"red": 2}),
    "scan_vocab": lambda model: model.scan_vocab(TEXT),
    "reset_from": lambda model: model.reset_from(model),
    "init_weights": lambda model: model.init_weights(),
}


class Waiting:
    """Sentences whose reader waits in the middle until it is told to continue."""

    def __init__(self):
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __iter__(self):
        yield from TEXT
        self.reached.set()
        assert self.go_on.wait(300)


def held(change, waiting):
    """Start `change` in a thread, wait until it reads `waiting`, and return the thread and what it will have raised."""
    raised = []

    def run():
        try:
            change()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert waiting.reached.wait(300)
    return thread, raised


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("first", ["train", "build_vocab"])
def test_a_second_thread_is_refused_at_once_and_the_first_learns_as_if_alone(first, name):
    alone, model = (Word2Vec(TEXT, **SMALL) for _ in range(2))
    changes = {
        "train": lambda model, text: model.train(text, total_examples=18, epochs=2, reread=False),
        "build_vocab": lambda model, text: model.build_vocab(text),
    }
    changes[first](alone, TEXT)
    waiting = Waiting()
    thread, raised = held(lambda: changes[first](model, waiting), waiting)
    with pytest.raises(RuntimeError, match="is being trained, or its words are being chosen") as caught:
        CALLS[name](model)
    assert "\n" not in str(caught.value)
    waiting.go_on.set()
    thread.join()
    assert not raised
    np.testing.assert_array_equal(model.wv.vectors, alone.wv.vectors)
    np.testing.assert_array_equal(model.syn1neg, alone.syn1neg)
    CALLS[name](model)  # the claim has been released


def test_of_many_threads_only_one_trains_at_a_time():
    model, start = Word2Vec(TEXT, **SMALL), threading.Barrier(8)
    outcomes, counted = [], model.train_count

    def train():
        start.wait()
        try:
            outcomes.append(model.train(TEXT, total_examples=18, epochs=2))
        except RuntimeError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=train) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    trained = [outcome for outcome in outcomes if outcome != BUSY]
    assert trained == [(108, 108)] * len(trained)
    assert model.train_count == counted + len(trained) >= counted + 1


@pytest.mark.parametrize("name", CALLS)
def test_a_callback_is_refused_and_the_training_continues(name):
    class Calling:
        refused = 0

        def on_epoch_end(self, model):
            with pytest.raises(RuntimeError, match="by the call that runs this callback"):
                CALLS[name](model)
            self.refused += 1

    calling = Calling()
    Word2Vec(TEXT, **SMALL, callbacks=[calling])
    assert calling.refused == 2


def test_the_claim_is_released_after_an_exception():
    class Failing:
        def __iter__(self):
            yield TEXT[0]
            raise ZeroDivisionError

        def on_epoch_end(self, model):
            raise ZeroDivisionError

    model = Word2Vec(TEXT, **SMALL)
    failures = (
        lambda: model.build_vocab(Failing()),
        lambda: model.train(Failing(), total_examples=1, epochs=1),
        lambda: model.train(TEXT, total_examples=18, epochs=1, callbacks=[Failing()]),
    )
    for failure in failures:
        with pytest.raises(ZeroDivisionError):
            failure()
        model.build_vocab(TEXT)
        assert model.train(TEXT, total_examples=18, epochs=1) == (54, 54)


def test_a_copy_that_a_callback_makes_can_be_trained():
    class Keeping:
        def on_epoch_end(self, model):
            self.kept = copy.deepcopy(model)

    keeping = Keeping()
    model = Word2Vec(TEXT, **SMALL, callbacks=[keeping])
    np.testing.assert_array_equal(keeping.kept.wv.vectors, model.wv.vectors)
    keeping.kept.train(TEXT, total_examples=18, epochs=1)
    assert (keeping.kept.wv.vectors != model.wv.vectors).all()
