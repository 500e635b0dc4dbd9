"""The bar of the Python API counts the words of the run, and the events of the caller still arrive."""

import re

import pytest
import tqdm.auto

import w2vtrain
from w2vtrain import Events

SMALL = {"vector_size": 8, "epochs": 3, "threads": 1, "sample": 0.0}


@pytest.fixture
def bars(monkeypatch):
    """Return the bars that a run draws."""
    made = []

    class Bar(tqdm.auto.tqdm):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    return made


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("one two three four five six\n" * 200)
    return path


def test_the_bar_counts_the_words_of_all_epochs(corpus, bars, capfd):
    seen = []
    w2vtrain.train(corpus, progress=True, events=Events(training=lambda at: seen.append(at.words)), **SMALL)
    reading, training = (bar for bar in bars if bar.total)  # others say what is compiled
    assert reading.n == corpus.stat().st_size
    assert (training.n, training.total) == (3600, 3600)
    assert seen[-1] == 3600
    said = capfd.readouterr()
    assert re.search(r"training 100%\|.*\| epoch 3, ETA 0 s, [\d.]+[kM]? words/s, loss \d", said.err)
    assert not said.out


def test_there_is_no_bar_by_default_and_none_is_left_open_after_an_error(corpus, bars, capfd):
    w2vtrain.train(corpus, **SMALL)
    assert not bars
    assert capfd.readouterr() == ("", "")

    def fail(at):
        raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller"):
        w2vtrain.train(corpus, progress=True, events=Events(training=fail), **SMALL)
    assert all(bar.disable for bar in bars)  # tqdm's sign that a bar is closed
