"""A plan has settings without automatic values, which fit its inputs; all callers get the same errors."""

import numpy as np
import pytest
from reference import OF_WORDS

import w2vtrain
from w2vtrain.config import Settings
from w2vtrain.errors import ConfigError, DataError, InputMissing, NoSentences
from w2vtrain.registry import members
from w2vtrain.text.token_lists import Sentences
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan

TEXT = Inputs(["gone.txt"])


@pytest.mark.parametrize("objective", members("objectives"))
@pytest.mark.parametrize("architecture", OF_WORDS)
def test_a_plan_of_planned_settings_is_the_same(objective, architecture):
    plan = Plan.of(TEXT, Settings(objective=objective, architecture=architecture))
    assert plan.settings.alpha
    assert isinstance(plan.settings.threads, int)
    assert Plan.of(TEXT, plan.settings) == plan


def test_mistakes_in_inputs_and_in_options_are_reported_together():
    asked = Settings(patience=2, options={"negative": -5})
    with pytest.raises(ConfigError, match=r"^patience: needs .*; option negative of objective neg: -5 is not"):
        Plan.of(TEXT, asked)


def test_files_are_opened_before_anything_is_read():
    plan = Plan.of(Inputs(["gone.txt"], ["none.txt"]), Settings())
    with pytest.raises(InputMissing, match=r"gone\.txt.*; none\.txt"):
        plan.files()
    assert Plan.of(Inputs(Sentences([["a", "b"]])), Settings()).files() == []


def test_python_gets_the_errors_of_the_plan_before_the_text_is_read(tmp_path):
    (tmp_path / "text.txt").write_text("a b\n" * 9)
    text, words = str(tmp_path / "text.txt"), Vocabulary(["a", "b"], np.array([9, 9]))
    with pytest.raises(ConfigError, match="option negative"):
        w2vtrain.train("gone.txt", options={"negative": -5})
    with pytest.raises(InputMissing, match=r"none\.txt"):
        w2vtrain.train(text, heldout="none.txt")
    with pytest.raises(NoSentences, match="empty list"):
        w2vtrain.train([])
    with pytest.raises(ConfigError, match="no option"):
        w2vtrain.train(text, vocabulary=words, min_count=100, options={"nosuch": 1})
    with pytest.raises(DataError, match="min_count"):
        w2vtrain.train(text, vocabulary=words, min_count=100)
