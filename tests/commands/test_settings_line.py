"""The line of settings that `fit` prints, and descriptions of models, show no value that stands for another."""

import re

import pytest

from w2vtrain.commands.fit_run import headline
from w2vtrain.commands.info import for_people
from w2vtrain.config import INIT_FROM, Settings
from w2vtrain.embeddings.model_text import facts
from w2vtrain.objectives import objectives
from w2vtrain.training.plan import effective


@pytest.mark.parametrize("name", sorted(objectives()))
def test_automatic_options_are_not_shown_as_numbers(name):
    settings = effective(Settings(objective=name, threads=2))
    line = headline(settings, "chosen", {})
    assert not re.search(r" -1\b| 0[,)]| False| ,|\(\)", line), line
    shown = dict(facts({"objective": name, "options": settings.options}, {}))["objective"]
    assert " -1" not in shown
    about = for_people({"kind": "model", "settings": {"options": settings.options}})
    assert -1 not in about["settings"]["options"].values()


def test_options_that_were_chosen_are_shown():
    settings = effective(Settings(options={"pool": 0, "negative": 7}, threads=1))
    assert "neg (negative 7, ns_exponent 0.75, pool 0)" in headline(settings, "chosen", {})
    settings = effective(Settings(objective="hs", threads=1))
    assert "hs (tree huffman), " in headline(settings, "chosen", {})


def test_settings_that_decide_how_the_text_is_read_are_shown_if_they_come_from_a_model():
    settings = effective(Settings(tokenizer="simple", min_count=2, epochs=3, threads=1))
    line = headline(settings, "chosen", dict.fromkeys(("tokenizer", "min_count", "max_sentence", "epochs"), INIT_FROM))
    assert line.endswith("; of the model: tokenizer simple, min-count 2")
    assert "tokenizer" not in headline(settings, "chosen", {"tokenizer": "command line"})
