"""A measurement: the figures computed from it, and the scores of vectors."""

import numpy as np
import pytest

from w2vtrain.errors import ConfigError, DataError, Relayed
from w2vtrain.formats.vectors import Vectors
from w2vtrain.leaves.compare import measure
from w2vtrain.leaves.compare.systems import Job
from w2vtrain.system.children import ChildEnded


def test_speeds_of_a_measurement(monkeypatch):
    def train(*_):
        training, whole = {"training_cpu": 2.0, "training_wall": 1.0}, {"whole_cpu": 3.0, "whole_wall": 2.0}
        return {"words": 10, "peak_memory": 1, **training, **whole}

    monkeypatch.setattr(measure, "run_child", train)
    monkeypatch.setattr(measure, "read_vectors", lambda _: None)
    monkeypatch.setattr(measure, "evaluate", lambda *_: {})
    measured = measure.measure(Job("gensim", "cbow", "neg", "corpus"))
    assert (measured.speed, measured.wall_speed, measured.read_speed) == (5, 10, None)
    assert measured.record()["wall_speed"] == 10


def test_warming_up_says_nothing_about_its_own_text(capfd):
    measure.warm_up(Job("w2vtrain", "cbow", "neg", "corpus", vector_size=8, threads=1))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [(Relayed("training diverged", 76), "training diverged", 76), (ChildEnded(1), "see its message above", 70)],
)
def test_a_training_that_fails_is_named_and_has_its_exit_code(monkeypatch, error, message, code):
    def fail(*_):
        raise error

    monkeypatch.setattr(measure, "run_child", fail)
    with pytest.raises(Relayed, match=f"^gensim could not train cbow with neg: {message}$") as raised:
        measure.measure(Job("gensim", "cbow", "neg", "corpus"))
    assert raised.value.exit_code == code


def test_vectors_are_scored_with_a_standard_error_of_analogies(tmp_path):
    words = ["man", "king", "woman", "queen"]
    vectors = Vectors(words, np.array([[0, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1.1]], np.float32))
    questions = tmp_path / "questions.txt"
    questions.write_text(": s\nman king woman queen\nwoman queen man king\nman woman king king\n")
    found = measure.evaluate(vectors, str(questions), ())
    assert list(found) == ["analogies", "analogies standard error"]
    assert found["analogies"] == pytest.approx(2 / 3)
    assert 0 < found["analogies standard error"] < 1


def test_a_score_that_is_undefined_is_not_a_number_and_has_a_warning(tmp_path):
    (questions, few, equal), said = (tmp_path / name for name in ("q.txt", "few.tsv", "equal.tsv")), []
    questions.write_text(": s\na b c d\n")
    few.write_text("a\tb\t1\n")
    equal.write_text("x\ty\t1\nx\tz\t1\n")
    vectors = Vectors(["x", "y", "z"], np.eye(3, dtype=np.float32))
    found = measure.evaluate(vectors, str(questions), (str(few), str(equal)), said.append)
    assert list(found) == ["analogies", "analogies standard error", "few", "equal"]
    assert np.isnan(list(found.values())).all()
    assert [text.split(" none ")[0] for text in said[:2]] == [f"no score: {questions}:", f"no score: {few}:"]
    assert "are covered, and their scores are equal" in said[2]


def test_pairs_of_rare_words_count_as_in_eval(tmp_path):
    words = [*map(str, range(300_000)), "x", "y", "z"]
    (tmp_path / "rare.tsv").write_text("x\ty\t1\nx\tz\t2\n")
    vectors = Vectors(words, np.array([*[[1.0, 0]] * 300_001, [0, 1], [1, 1]], np.float32))
    assert measure.evaluate(vectors, None, [str(tmp_path / "rare.tsv")]) == {"rare": pytest.approx(1)}


@pytest.mark.parametrize(("questions", "pairs"), [(None, ["a/men.txt", "b/men.csv"]), ("words.txt", ["analogies.txt"])])
def test_scores_of_the_same_name_are_refused(questions, pairs):
    with pytest.raises(ConfigError, match=r"pairs: two scores would have the name '(men|analogies)'"):
        measure.check_scored(questions, pairs)


@pytest.mark.parametrize("kind", ["questions", "pairs"])
def test_empty_sets_are_refused_before_training(tmp_path, kind):
    path = tmp_path / "empty.txt"
    path.write_text("# what is left of a download\n")
    with pytest.raises(DataError, match=r"empty\.txt: has no questions or pairs"):
        measure.check_scored(*((str(path), ()) if kind == "questions" else (None, [str(path)])))
