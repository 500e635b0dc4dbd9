"""Early stopping: the best epoch on held-out text, patience, and what checkpoints store of them."""

import json
import math
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest
from reference import first_lines

from w2vtrain.commands.console import Console
from w2vtrain.config import Settings
from w2vtrain.engines.base import Weights
from w2vtrain.system.json_text import typed
from w2vtrain.training.checkpoint_file import Checkpoint
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.early_stopping import EarlyStopping
from w2vtrain.training.events import Events
from w2vtrain.training.fingerprint import Fingerprint
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan, effective
from w2vtrain.training.state import Epoch, Saved, State
from w2vtrain.training.trainer import train


def weights(value):
    found = Weights(np.full((3, 2), value), np.full((3, 2), -value), {"bias": np.full(3, value)})
    return lambda: found


def stopping(patience=None, epochs=9):
    return EarlyStopping(None, Settings(patience=patience, epochs=epochs), None, Events())


def learned_in(epoch, examples=7):
    return Epoch(epoch, 1.0, examples, 10, 1.0)


def saved(facts):
    """Return what a checkpoint says that has these facts about early stopping."""
    rest = {"state": asdict(State(epoch=9)), "corpus": asdict(Fingerprint(1, 2, [])), "epochs": [], "settings": ""}
    return typed({**rest, **facts}, Saved, "damaged")


def finish(early, *perplexities):
    for epoch, perplexity in enumerate(perplexities, early.finished + 1):
        early.finish(learned_in(epoch), SimpleNamespace(perplexity=perplexity), weights(epoch))


def test_patience_counts_the_epochs_since_the_best_one():
    early = stopping(patience=2)
    finish(early, 5.0, 4.0, 4.5)
    assert (early.finished, early.waited, early.lowest) == (3, 1, 4.0)
    assert not early.is_out_of_patience()
    finish(early, 4.0)
    assert early.is_out_of_patience(), "an equal perplexity is no improvement"
    assert early.chosen(weights(4)).input[0, 0] == 2
    finish(early, 3.9)
    assert not early.is_out_of_patience()
    assert early.chosen(weights(5)).input[0, 0] == 5


def test_any_perplexity_is_better_than_nan():
    early = stopping(patience=1)
    finish(early, math.nan, 9.0)
    assert (early.lowest, early.finished - early.waited, early.is_out_of_patience()) == (9.0, 2, False)


def test_training_does_not_stop_early_without_patience_or_held_out_text():
    early = stopping()
    finish(early, 1.0, 2.0, 3.0)
    assert not early.is_out_of_patience()
    early = stopping(patience=1)
    early.finish(learned_in(1), None, weights(1))
    assert (early.finished, early.is_out_of_patience(), early.best, early.best_epoch()) == (1, False, {}, None)


def test_an_epoch_without_an_example_is_never_the_best():
    early = stopping(patience=1)
    early.finish(learned_in(1, 0), SimpleNamespace(perplexity=3.0), weights(1))
    assert not early.is_out_of_patience(), "nothing has been learned yet"
    finish(early, math.inf)
    assert (early.finished - early.waited, early.chosen(weights(2)).input[0, 0]) == (2, 2)
    early.finish(learned_in(3, 0), SimpleNamespace(perplexity=2.0), weights(3))
    assert (early.finished - early.waited, early.chosen(weights(3)).input[0, 0]) == (2, 2)
    assert early.is_out_of_patience()


def test_the_best_weights_are_copied_except_after_the_last_epoch():
    early, learned = stopping(epochs=2), weights(1)
    early.finish(learned_in(1), SimpleNamespace(perplexity=3.0), learned)
    for array in (learned().input, learned().output, learned().arrays["bias"]):
        array[:] = 7
    assert [early.best[name].flat[0] for name in ("input", "output", "bias")] == [1, -1, 1]
    early.finish(learned_in(2), SimpleNamespace(perplexity=2.0), learned)
    assert not early.best
    assert early.chosen(learned) is learned()


@pytest.mark.parametrize("perplexities", [(), (5.0, 6.0), (5.0, 4.0), (math.inf,)])
def test_a_checkpoint_restores_the_whole_state(perplexities):
    early, again = stopping(), stopping()
    finish(early, *perplexities)
    early.seconds = 1.5
    facts = {
        name: None if value == math.inf else value for name, value in early.facts().items()
    }  # JSON has no infinity
    again.restore(saved(json.loads(json.dumps(facts))), early.best)
    assert again.facts() == early.facts()
    assert again.arrays().keys() == early.arrays().keys()
    for name, array in early.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)


class Recorder(CheckpointedRun):
    """A run that writes nothing, and records in memory what it would save."""

    def pause(self, snapshot, milestone=False):
        saved, arrays = snapshot()
        self.saved = [*getattr(self, "saved", []), (milestone, saved.state.epoch, saved.finished)]
        self.kept = Checkpoint(1, "", saved, {name: array.copy() for name, array in arrays.items()})


def test_a_run_that_stopped_early_is_saved_as_complete(tmp_path, capsys):
    """If it is resumed, it trains no further."""
    first_lines(60, tmp_path / "text.txt")
    text = [str(tmp_path / "text.txt")]
    settings = effective(Settings(vector_size=8, threads=1, epochs=30, min_count=2, objective="nce", alpha=0.2))
    settings, run = replace(settings, patience=1, min_alpha=0.2), Recorder(tmp_path)
    model = train(Plan.of(Inputs(text, text), settings), run=run)
    learned = len(model.record["epochs"])
    assert 1 < learned < 30
    assert run.saved[-2:] == [(True, learned, learned - 1), (False, learned, learned)]
    state = run.kept.saved.state
    assert (state.is_over, state.current) == (True, learned)
    assert model.record["best_epoch"] == learned - 1
    resumed, said = Recorder(tmp_path), []
    resumed.checkpoint = run.kept
    console = Console(every=0, log=lambda event: said.append(event))
    again = train(Plan.of(Inputs(text, text), settings), events=console.events(), run=resumed)
    assert [(event["event"], event["epoch"]) for event in said if event["event"] == "resumed"] == [("resumed", learned)]
    assert f"from a checkpoint after epoch {learned}, with which time or patience ran out" in capsys.readouterr().err
    assert again.record["epochs"] == model.record["epochs"]
    assert again.record["best_epoch"] == learned - 1
    np.testing.assert_array_equal(again.input, model.input)
