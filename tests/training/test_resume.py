"""A run stopped anywhere and resumed ends with the same bytes and the same record."""

from dataclasses import replace

import numpy as np
import pytest
from reference import StopsAt, begin, zipf_text

from w2vtrain.config import Settings
from w2vtrain.engines.window_engine import WindowEngine
from w2vtrain.errors import Stopped
from w2vtrain.objectives import engine_of, objectives
from w2vtrain.training import inputs
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan, effective
from w2vtrain.training.run_files import locked
from w2vtrain.training.trainer import train

# Options with state beyond the rows: hash tables older than the rows, learned log Z, shared noise, accumulators.
OPTIONS = {
    "lsh": {"rebuild": 150, "tables": 4, "hashes": 2, "window": 3},
    "nce": {"learn_z": True, "share_noise": 3, "pool": 64},
    "neg": {"pool": 64},
    "cnn-softmax": {"filters": 12, "char_dim": 4, "samples": 20, "highway": 1},
    "char-softmax": {},
    "adaptive-is": {},
}
MODELS = {
    "skipgram": {"architecture": "skipgram"},
    "cbow": {"architecture": "cbow"},
    "corrected": {"architecture": "cbow-corrected", "bias": True},
    "language": {"architecture": "vlbl", "context": "left", "bias": True, "sentence_end": True},
}
STOPS = (1, 3, 8)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return str(zipf_text(tmp_path_factory.mktemp("resume") / "text.txt", 4, 1.4, (120, 9), 40))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Use small chunks and slices, so that a short text has many places to stop at."""
    monkeypatch.setattr(inputs, "CHUNK_WORDS", 90)
    monkeypatch.setattr(WindowEngine, "MAX_CHUNKS_PER_CALL", 2)


def settings_of(name, model):
    more = {"vector_size": 8, "window": 2, "epochs": 2, "min_count": 1, "threads": 1, "sample": 0.01}
    return effective(Settings(objective=name, options=OPTIONS.get(name, {}), **more, **MODELS[model]))


def learned(model):
    return {"input": model.input, "output": model.output, **model.arrays}


def check_resumed(text, folder, settings, whole, stop):
    """Stop at call `stop` of `due`, resume as a new process would, and compare the result to `whole`."""
    with locked(folder):
        run = StopsAt(folder, stop)
        begin(run, settings, request={})
        with pytest.raises(Stopped):
            train(Plan.of(Inputs([text]), settings), run=run)
        again = CheckpointedRun(folder)
        begin(again, settings, request={})
        model = train(Plan.of(Inputs([text]), settings), run=again)
        again.finish()
    for name, array in learned(model).items():
        np.testing.assert_array_equal(array, learned(whole)[name], err_msg=name)
    for key in ("loss", "examples", "words"):
        assert [e[key] for e in model.record["epochs"]] == [e[key] for e in whole.record["epochs"]]


@pytest.mark.parametrize(
    ("name", "model"),
    [
        *((name, "skipgram") for name in objectives()),
        *((name, model) for name in ("neg", "hs", "nce", "softmax") for model in MODELS if model != "skipgram"),
    ],
)
def test_resume_gives_the_same_model_as_an_uninterrupted_run(text, tmp_path, name, model):
    settings = settings_of(name, model)
    whole = train(Plan.of(Inputs([text]), settings))
    for stop in STOPS:
        check_resumed(text, tmp_path / "run", settings, whole, stop)


@pytest.mark.parametrize("name", ["neg", "sampled-softmax"])
def test_resume_gives_the_same_model_with_subwords(text, tmp_path, name):
    settings = replace(settings_of(name, "skipgram"), subwords=True, bucket=300)
    whole = train(Plan.of(Inputs([text]), settings))
    assert len(whole.arrays["ngram_buckets"]) > 20
    for stop in STOPS:
        check_resumed(text, tmp_path / "run", settings, whole, stop)


@pytest.mark.parametrize("name", ["neg", "sampled-softmax"])
def test_resume_gives_the_same_model_from_every_possible_stop(text, tmp_path, name):
    """Stop at each call of `due` in turn, with both engines."""
    assert {engine_of("neg"), engine_of("sampled-softmax")} == {"windows", "blocks"}
    settings = settings_of(name, "skipgram")
    whole = train(Plan.of(Inputs([text]), settings))
    places = 0
    while True:
        try:
            check_resumed(text, tmp_path / "run", settings, whole, places + 1)
        except pytest.fail.Exception:  # the run ended without this stop: all stops are tried
            break
        places += 1
    assert places >= 10
