"""Tests of every registered objective: gradients by finite differences, identities between objectives, options."""

import inspect
import re
import subprocess
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest
import reference
from reference import problem_of

from w2vtrain import objectives
from w2vtrain.architectures import architectures
from w2vtrain.errors import ConfigError
from w2vtrain.evaluation import objective_checks
from w2vtrain.objectives.contract import ARCHITECTURES, Candidates, Window
from w2vtrain.probability.sampling import noise_distribution

SIZE, DIM = 11, 16
COUNTS = np.array([90, 70, 40, 30, 20, 10, 9, 8, 7, 6, 5])
VARIANTS = {"nce": [{}, {"learn_z": True}, {"share_noise": 4}]}
WINDOWS = [name for name in objectives.objectives() if objectives.engine_of(name) == "windows"]
CASES = [(name, options) for name in WINDOWS for options in VARIANTS.get(name, [{}])]


def test_every_window_objective_has_a_naive_twin():
    """tests/training/test_predictor.py compares each objective with its twin's loss, in both kinds of step."""
    for name in WINDOWS:
        assert reference.twin_of("objectives", name), name


def test_nce_equals_neg_with_uniform_noise_and_k_equal_to_the_vocabulary_size(rng):
    """log(k Q) = 0, so both give the same coefficients for the same draws."""
    uniform = np.full(SIZE, 10)
    nce = objectives.objective_class("nce").build(problem_of(uniform), negative=SIZE)
    neg = objectives.objective_class("neg").build(problem_of(uniform), negative=SIZE)
    np.testing.assert_allclose(nce.log_kq, 0, atol=1e-6)
    logits = rng.normal(size=(4, SIZE + 1 + 16)).astype(np.float32)
    rows, labels = rng.integers(0, SIZE, SIZE + 17).astype(np.int32), np.zeros(SIZE + 17, np.float32)
    labels[0] = 1
    other, window = logits.copy(), Window(np.arange(4, dtype=np.int32), 4, 2)
    a = nce.errors(logits, window, Candidates(rows, labels, nce.log_kq[rows], SIZE + 1), np.float32(0.1))
    none = np.zeros(SIZE + 17, np.float32)
    b = neg.errors(other, window, Candidates(rows, labels, none, SIZE + 1), np.float32(0.1))
    assert a == pytest.approx(b, rel=1e-6)
    np.testing.assert_allclose(logits[:, : SIZE + 1], other[:, : SIZE + 1], atol=1e-7)


def test_expected_nce_gradient_approaches_that_of_the_softmax_as_k_grows():
    """With a normalized model, the angle between the expected gradients shrinks toward 0 as k grows."""
    scores = np.log(np.array([0.4, 0.3, 0.2, 0.1]))
    data, q = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.25, 0.25, 0.3, 0.2])
    exact = data - np.exp(scores)
    angles = []
    for k in (1, 10, 100, 1000, 10_000):
        p = 1 / (1 + np.exp(-(scores - np.log(k * q))))
        gradient = data * (1 - p) - k * q * p
        cosine = gradient @ exact / np.linalg.norm(gradient) / np.linalg.norm(exact)
        angles.append(np.arccos(min(1.0, cosine)))
    assert angles == sorted(angles, reverse=True)
    assert angles[-1] < 1e-3 < angles[0]


def test_share_noise_gives_neighboring_targets_the_same_noise_words():
    objective = objectives.objective_class("nce").build(problem_of(COUNTS), negative=8, share_noise=3)
    rng, sentence, drawn = np.array([3, 3], np.uint64), np.arange(9, dtype=np.int32), []
    for position in range(9):
        rows = np.zeros(30, np.int32)
        objective.candidates(sentence, position, rng, rows, np.zeros(30), np.zeros(30))
        drawn.append(rows[1:9].tolist())
    assert all(drawn[i] == drawn[i - i % 3] for i in range(9))
    assert drawn[0] != drawn[3] != drawn[6]


def test_noise_words_exclude_the_target_with_neg_but_not_with_nce():
    for name, expected in (("neg", False), ("nce", True)):
        objective = objectives.objective_class(name).build(problem_of(np.array([5, 3, 2])), negative=50)
        rng, rows = np.array([3], np.uint64), np.zeros(70, np.int32)
        m = objective.candidates(
            np.array([0], np.int32), 0, rng, rows, np.zeros(70, np.float32), np.zeros(70, np.float32)
        )
        assert m == 51
        assert rows[0] == 0
        assert (0 in rows[1:51]) is expected


def test_neg_gives_up_redrawing_if_nearly_all_noise_is_the_target():
    """Redrawing until another word comes up would take forever."""
    negative = objectives.objective_class("neg").build(problem_of([10**12, 1]), ns_exponent=2.0)
    arrays = np.zeros(2, np.uint64), np.zeros(32, np.int32), np.zeros(32, np.float32), np.zeros(32, np.float32)
    assert negative.candidates(np.array([0, 1]), 0, *arrays) == 1
    assert negative.candidates(np.array([0, 1]), 1, *arrays) == 6


@pytest.mark.parametrize("name", ["neg", "nce"])
@pytest.mark.parametrize("exponent", [2.1, -2.1, float("nan"), float("inf")])
def test_noise_exponent_out_of_range_is_rejected(name, exponent):
    with pytest.raises(ConfigError, match="ns_exponent of objective"):
        objectives.objective_class(name).build(problem_of(COUNTS), ns_exponent=exponent)


def test_a_negative_noise_exponent_favors_rare_words():
    assert objectives.objective_class("neg").build(problem_of([4, 2, 0]), ns_exponent=-1.0)
    np.testing.assert_allclose(noise_distribution(np.array([4, 2, 0]), -1.0), np.array([1, 2, 4]) / 7)


@pytest.mark.parametrize("name", objectives.objectives())
def test_every_objective_documents_its_method_its_formula_and_its_paper(name):
    cls = objectives.objective_class(name)
    assert objectives.group_of(name), "the module has no GROUP"
    assert re.fullmatch(r"[A-Z].* \((.* )?\d{4}\)", objectives.summary(name)), "words, with the source in parentheses"
    text = inspect.getdoc(cls)
    assert "=" in text.splitlines()[0], "the first line is the formula"
    assert any(year in text for year in map(str, range(1990, 2027))), "the paper has a year"
    assert set(ARCHITECTURES) <= set(objectives.objective_defaults(name)) <= set(architectures())
    built = cls.build(problem_of(COUNTS))
    if name in WINDOWS:
        assert built.output_rows(SIZE) in (SIZE, SIZE - 1, 2 * SIZE - 1)
    assert all(isinstance(a, np.ndarray) for a in built.arrays().values())


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", objectives.objectives())
def test_every_objective_passes_the_checks_of_objectives_check(name, bias, monkeypatch):
    """A new module in the folder is tested automatically. The slow ones learn the known text without biases only."""
    if bias and objectives.engine_of(name) == "blocks":
        monkeypatch.setattr(objective_checks, "learns", lambda *_: iter(()))
    findings = list(objective_checks.check(name, bias=bias))
    assert len(findings) >= 6
    assert not [finding for finding in findings if finding.holds is False]
    assert not [finding for finding in findings if finding.holds is None and name not in ("lsh", "blackout")]


@pytest.mark.parametrize("name", ["neg", "nce"])
def test_gradients_agree_with_finite_differences_if_there_is_a_pool(name, monkeypatch):
    monkeypatch.setattr(objective_checks, "learns", lambda *_: iter(()))
    findings = list(objective_checks.check(name, {"pool": 4}))
    assert len(findings) >= 5
    assert all(finding.holds for finding in findings), findings


@pytest.fixture
def entry_point(monkeypatch):
    """Return a function that registers a module through an entry point, as another package would."""

    def register(name, module):
        entry = EntryPoint(name, module, objectives.REGISTRY.package)
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry] if group == entry.group else [])
        vars(objectives.REGISTRY).pop("loaders", None)

    yield register
    monkeypatch.undo()
    vars(objectives.REGISTRY).pop("loaders", None)


def test_an_objective_file_does_not_replace_a_module_of_the_same_name(tmp_path):
    (tmp_path / "json.py").write_text("from w2vtrain.objectives.softmax import *\nOBJECTIVE = Softmax\n")
    objectives.allow_code(str(tmp_path / "json.py"))
    assert objectives.objective_class(str(tmp_path / "json.py")) is objectives.objective_class("softmax")
    assert "loads" in vars(sys.modules["json"])


def test_an_entry_point_of_another_package_registers_an_objective(entry_point):
    entry_point("mine", "w2vtrain.objectives.neg")
    assert objectives.objectives()["mine"] is objectives.objective_class("neg")


def test_only_the_requested_objective_is_imported(entry_point):
    """Other objectives are known by name only, so it does not matter if one of them cannot be imported."""
    code = (
        "import sys; from w2vtrain import objectives; objectives.checked_options('neg', {});"
        "print(*(name for name in sys.modules if name.startswith('w2vtrain.objectives.') and 'contract' not in name))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["w2vtrain.objectives.neg"]
    entry_point("broken", "no.such.module")
    assert objectives.engine_of("neg") == "windows"
    with pytest.raises(ConfigError, match=r"choose one of adaptive-is, .*broken, .*target"):
        objectives.objective_class("softmacks")


def test_options_are_converted_and_invalid_ones_are_rejected():
    assert objectives.checked_options("neg", {"negative": "7"}) == {"negative": 7, "ns_exponent": 0.75, "pool": -1}
    assert objectives.checked_options("nce", {"learn_z": "yes"})["learn_z"] is True
    for name, given, message in [
        ("hs", {"negative": 5}, "no option 'negative'"),
        ("neg", {"negative": "5.5"}, "whole number"),
        ("neg", {"negative": "five"}, "whole number"),
        ("neg", {"ns_exponent": "x"}, "a number"),
        ("nce", {"learn_z": "perhaps"}, "true or false"),
        ("softmacks", {}, "choose one of"),
    ]:
        with pytest.raises(ConfigError, match=message):
            objectives.checked_options(name, given)
    for name in ("neg", "nce"):
        with pytest.raises(ConfigError, match="between 1 and 1000"):
            objectives.objective_class(name).build(problem_of(COUNTS), negative=0)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("is", {"ess": -2.0}, "option ess of objective is: -2.0 is not between 0 and 8192"),
        ("is", {"samples": 9000, "ess": -2.0}, "option cap of objective is: 8192 is not between 9000 and 10000000"),
        ("nce", {"share_noise": 20_000}, "option share_noise of objective nce: 20000 is not between 1 and 10,000"),
        ("cnn-softmax", {"net_rate": 2e3}, "option net_rate of objective cnn-softmax: 2000 is not between 0 and 1000"),
        ("infrequent-norm", {"gamma": 2}, "option gamma of objective infrequent-norm: 2 is not between 1e-06 and 1"),
        ("selfnorm", {"penalty": float("nan")}, "option penalty of objective selfnorm: nan is not between 0 and 100"),
    ],
)
def test_the_first_option_out_of_range_is_reported(name, given, message):
    with pytest.raises(ConfigError) as caught:
        objectives.objective_class(name).build(problem_of(COUNTS), **given)
    assert str(caught.value) == message
