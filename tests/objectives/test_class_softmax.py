"""Softmax over classes and then words: options, the paper's formula, and damaged models."""

import numpy as np
import pytest
from reference import COUNTS, begun, hidden_vectors, problem_of

from w2vtrain import objectives
from w2vtrain.errors import ConfigError, DataError, InputMissing
from w2vtrain.formats.vectors import write_vectors
from w2vtrain.objectives import class_softmax
from w2vtrain.objectives.class_softmax import ClassSoftmax
from w2vtrain.probability.classes import by_similarity

LABELS = [1, 0, 2, 1, 1, 0, 0, 3, 1, 2, 0]


def problem(**more):
    return problem_of(COUNTS, **{"dim": 5, "bias": True, "init": 0.6, "dtype": np.float64, **more})


@pytest.fixture
def class_file(tmp_path):
    file = tmp_path / "classes.txt"
    file.write_text("".join(f"{word}\tc{c}\n" for word, c in zip(problem().words, LABELS, strict=True)))
    return str(file)


@pytest.fixture
def vector_file(tmp_path, rng):
    write_vectors(tmp_path / "v.bin", problem().words, rng.normal(size=(11, 4)).astype(np.float32))
    return str(tmp_path / "v.bin")


def block(rng, n=23):
    return hidden_vectors(rng, n, 6), rng.integers(0, 11, n).astype(np.int32)


def by_the_formula(objective, H):
    """Return P(w|h) = P(class of w|h) P(w|class of w, h), (B, V), one exponential at a time."""
    of, found = objective.classes.of, np.zeros((len(H), 11))
    for h, p in zip(H, found, strict=True):
        upper = np.exp(objective.rows @ h)
        lower = np.exp(objective.output @ h)
        for w in range(11):
            p[w] = upper[of[w]] / upper.sum() * lower[w] / lower[of == of[w]].sum()
    return found


# Options


def all_options(given):
    return objectives.checked_options("class-softmax", given)


def test_options_select_the_classes(class_file, vector_file):
    assert objectives.option_defaults("class-softmax") == {"classes": "frequency", "count": 0, "vectors": ""}
    default = ClassSoftmax.build(problem())
    assert default.rows.shape == (3, 6), "√11 classes"
    assert default.classes.of[0] == 0
    assert len(ClassSoftmax.build(problem(), count=7).rows) == 7
    clustered = ClassSoftmax.build(problem(), classes="cluster", vectors=vector_file, count=4)
    expected = by_similarity(COUNTS, np.array(class_softmax.vectors_of(problem().words, vector_file)), 4)
    assert clustered.classes.of.tolist() == expected.of.tolist()
    assert clustered.classes.of.tolist() != ClassSoftmax.build(problem(), count=4).classes.of.tolist()
    named = ClassSoftmax.build(problem(), classes=class_file).classes
    pairs = set(zip(LABELS, named.of.tolist(), strict=True))
    assert len(pairs) == len(named.sizes) == 4


@pytest.mark.parametrize(
    "use",
    [
        lambda options: objectives.build("class-softmax", problem(), options),
        lambda options: ClassSoftmax.check(all_options(options)),
    ],
    ids=["build", "check"],
)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": "cluster"}, "option vectors of objective class-softmax: classes cluster needs a file"),
        ({"vectors": "v.bin"}, "only classes cluster uses vectors, not 'frequency'"),
        ({"classes": "c.txt", "vectors": "v.bin"}, r"only classes cluster uses vectors, not 'c\.txt'"),
        ({"classes": ""}, "option classes of objective class-softmax: expected frequency, cluster or a file name"),
        ({"classes": "c.txt", "count": 3}, r"option count .*: the file 'c\.txt' determines the number of classes"),
        ({"count": -1}, "option count of objective class-softmax: -1 is not between 0 and"),
    ],
)
def test_contradictory_options_are_rejected(use, options, message):
    with pytest.raises(ConfigError, match=message):
        use(options)


def test_more_classes_than_words_are_rejected():
    ClassSoftmax.check(all_options({"count": 12}))
    with pytest.raises(ConfigError, match="option count of objective class-softmax: 12 classes, but only 11 words"):
        ClassSoftmax.build(problem(), count=12)


def test_check_files_reads_the_files_without_a_vocabulary(tmp_path, class_file, vector_file):
    check = ClassSoftmax.check_files
    for good in ({}, {"count": 3}, {"classes": class_file}, {"classes": "cluster", "vectors": vector_file}):
        check(all_options(good))
    with pytest.raises(InputMissing, match=r"frequncy.*option classes of objective class-softmax: frequency, cluster"):
        check(all_options({"classes": "frequncy"}))
    with pytest.raises(InputMissing, match=r"none\.bin"):
        check(all_options({"classes": "cluster", "vectors": str(tmp_path / "none.bin")}))
    (tmp_path / "bad.txt").write_text("a 0\nb\n")
    with pytest.raises(DataError, match=r"bad\.txt:2: expected a word"):
        check(all_options({"classes": str(tmp_path / "bad.txt")}))


def test_hs_names_the_objective_for_classes():
    with pytest.raises(ConfigError, match=r"tree of objective hs: .*use objective='class-softmax'") as caught:
        objectives.build("hs", problem(), {"tree": "classes"})
    assert "\n" not in str(caught.value)


# Learning


@pytest.fixture(params=["frequency", "cluster", "file"])
def objective(request, class_file, vector_file):
    options = {
        "frequency": {"count": 4},
        "cluster": {"classes": "cluster", "vectors": vector_file, "count": 5},
        "file": {"classes": class_file},
    }
    return ClassSoftmax.build(problem(), **options[request.param])


def test_loss_and_scores_are_those_of_the_formula(rng, objective):
    H, targets = block(rng)
    expected = np.log(by_the_formula(objective, H))
    of_targets = expected[np.arange(23), targets]
    scorer = ClassSoftmax.scorer(problem(), {}, objective.output, objective.arrays())
    np.testing.assert_allclose(np.exp(scorer.log_probs(H)).sum(axis=1), 1, atol=1e-13)
    np.testing.assert_allclose(scorer.log_probs(H), expected, atol=1e-12)
    np.testing.assert_allclose(scorer.log_prob(H, targets), of_targets, atol=1e-12)
    np.testing.assert_allclose(scorer.raw(H, targets), of_targets, atol=1e-12)
    raw, log_z = scorer.scores(H, targets)
    np.testing.assert_allclose(raw, of_targets, atol=1e-12)
    assert not log_z.any()
    assert objective.step(H, targets, 0.0, begun())[0] == pytest.approx(-of_targets.sum(), rel=1e-13)


def test_rows_of_classes_and_of_words_start_different():
    objective = ClassSoftmax.build(problem(bias=False), count=4)
    assert not np.isclose(objective.rows, objective.output[:4]).any()


# Models


def test_scores_do_not_depend_on_the_size_of_the_blocks(rng, monkeypatch):
    objective = ClassSoftmax.build(problem(), count=4)
    H = block(rng)[0]
    whole = objective.log_probs(H)
    monkeypatch.setattr(class_softmax, "LOGITS_AT_ONCE", 25)
    np.testing.assert_allclose(objective.log_probs(H), whole, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "damaged"),
    [
        ("class.rows", np.zeros(4)),
        ("class.rows", np.zeros((4, 5))),
        ("class.rows", np.zeros((5, 6))),
        ("class.rows", np.zeros((3, 6))),
        ("class.rows", np.zeros((4, 6), np.float32)),
        ("class.rows", np.zeros((4, 6), np.int64)),
        ("class.of", np.zeros(11, np.int32)),
        ("class.of", np.arange(10, dtype=np.int32) % 4),
        ("class.of", np.arange(11, dtype=np.int64) % 4),
    ],
    ids=["flat", "narrow", "high", "low", "float32", "int64", "one-class", "short", "int64-classes"],
)
def test_damaged_classes_are_rejected(name, damaged):
    objective = ClassSoftmax.build(problem(), count=4)
    arrays = objective.arrays() | {name: damaged}
    with pytest.raises(DataError, match="the model's classes do not fit"):
        ClassSoftmax.scorer(problem(), {}, objective.output, arrays)


def test_arrays_that_are_overwritten_leave_the_classes_alone():
    """Resuming overwrites arrays in place. If the file of classes has changed, kernels must not see both divisions."""
    objective = ClassSoftmax.build(problem(), count=4)
    before = objective.classes.of.copy()
    objective.arrays()["class.of"][:] = 0
    np.testing.assert_array_equal(objective.classes.of, before)
