"""Tests of every registered objective: gradients by finite differences, initial values, options."""

import inspect
import re
import subprocess
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest
import reference
from reference import COUNTS, begun, hidden_vectors, problem_of

from w2vtrain import objectives
from w2vtrain.architectures import architectures
from w2vtrain.errors import ConfigError
from w2vtrain.leaves.compare import objective_checks, objective_steps
from w2vtrain.objectives.contract import TUNED_ARCHITECTURES

SIZE, DIM = 11, 16
WINDOWS = [name for name in objectives.objectives() if objectives.engine_of(name) == "windows"]
BLOCKS = [name for name in objectives.objectives() if name not in WINDOWS]
BATCHES = {"samples": 5, "ess": 3.0, "cap": 19}  # up to three, and the exact sum for examples that need more
VARIANTS = {
    "adaptive-is": [BATCHES, {"samples": 5, "ess": 0.0, "cap": 5}],
    "adaptive-softmax": [{"cutoffs": "3,8", "factor": 2.0}],
    "bigram-nce": [{"negative": 7, "bigrams": 6}],
    "blackout": [{"samples": 1}, {"samples": 5}],
    "block-nce": [{"samples": 1}, {"samples": 5, "negative": 9}],
    "block-neg": [{"samples": 1}, {"samples": 4, "negative": 2}],
    "char-softmax": [{"cell": "lstm", "units": 12, "char_dim": 5}],
    "class-softmax": [{"count": 1}, {"count": 6}],
    "cnn-softmax": [{"samples": 0, "correction": 0, "widths": "2", "filters": 5, "highway": 1, "char_dim": 5}],
    "dsoftmax": [{"bands": "50:50,30:30,20:20"}, {"bands": "100:100"}],
    "hs": [{"tree": "balanced"}],
    "hs-neg": [{"negative": 7, "pool": 8}],
    "infrequent-norm": [{"gamma": 0.4}, {"gamma": 0.4, "likelihood": "full"}],
    "is": [
        BATCHES,
        {"samples": 5, "ess": 0.0, "cap": 5},
        {"proposal": "bigram", **BATCHES},
        {"proposal": "log-uniform", **BATCHES},
    ],
    "lsh": [{"hashes": 0}, {"tables": 5, "hashes": 2, "window": 3, "limit": 4}, {"limit": 7, "rebuild": 1}],
    "nce": [{"learn_z": True}, {"learn_z": True, "z_table": 5}, {"share_noise": 4}, {"pool": 4}],
    "neg": [{"pool": 4}],
    "sampled-softmax": [{"samples": 0}, {"samples": 1}, {"in_batch": True, "corrected": True}, {"samples": 5}],
    "target": [{"size": 2}],
}
"""Options that make an objective take other paths than its defaults do."""
CASES = [(name, options) for name, variants in VARIANTS.items() for options in variants]


def test_every_window_objective_has_a_reference_implementation():
    """tests/engines/test_window_engine.py compares each objective with its reference's loss, in both kinds of step."""
    for name in WINDOWS:
        assert reference.implementation_of("objectives", name), name


OUT_OF_RANGE = {
    "adaptive-is": {"samples": 0, "ess": (-1.0, 4097.0), "cap": 0, "mixture_rate": 1.5},
    "adaptive-softmax": {"factor": (0.99, 1001.0)},
    "bigram-nce": {"bigrams": (25, -2), "negative": 0},
    "blackout": {"samples": (0, 2_000_000)},
    "block-nce": {"samples": (0, 2_000_000), "negative": -1, "ns_exponent": 2.1},
    "block-neg": {"samples": (0, 2_000_000), "negative": -1, "ns_exponent": 2.1},
    "char-softmax": {"units": (0, 5000), "char_dim": (0, 5000), "net_rate": -1.0},
    "cnn-softmax": {
        "char_dim": 0, "filters": 0, "highway": 11, "correction": -1, "samples": -1, "net_rate": -0.1,
    },
    "infrequent-norm": {"gamma": (0.0, 9e-7, 1.1), "penalty": (0.0, 101.0), "likelihood": "half"},
    "is": {"samples": (-1, 2_000_000), "ess": (-0.5, 8193.0), "cap": -1, "ns_exponent": 3.0},
    "lsh": {"tables": (0, 1001), "hashes": -1, "window": 1, "rebuild": 0, "limit": -1},
    "nce": {"negative": 0, "ns_exponent": (2.1, -2.1)},
    "neg": {"negative": 0, "ns_exponent": (2.1, -2.1)},
    "sampled-softmax": {"samples": (-1, 2_000_000), "ns_exponent": -0.1},
    "selfnorm": {"penalty": (-0.1, 101.0)},
    "target": {"size": (1, -5, 2**31)},
}  # fmt: skip
"""Values of options that are refused."""
WRONG = [
    (name, option, value)
    for name, options in OUT_OF_RANGE.items()
    for option, values in options.items()
    for value in (values if isinstance(values, tuple) else (values,))
]


@pytest.mark.parametrize(("name", "option", "value"), WRONG)
def test_options_out_of_range_are_rejected_by_name(name, option, value):
    with pytest.raises(ConfigError, match=f"option {option} of objective {name}"):
        objectives.build(name, problem_of(COUNTS), {option: value})


@pytest.mark.parametrize("name", objectives.objectives())
def test_every_objective_documents_its_method_its_formula_and_its_paper(name):
    cls = objectives.objective_class(name)
    assert objectives.group_of(name), "the module has no GROUP"
    assert re.fullmatch(r"[A-Z].* \((.* )?\d{4}\)", objectives.summary(name)), "words, with the source in parentheses"
    text = inspect.getdoc(cls)
    assert "=" in text.splitlines()[0], "the first line is the formula"
    assert any(year in text for year in map(str, range(1990, 2027))), "the paper has a year"
    assert set(TUNED_ARCHITECTURES) <= set(objectives.objective_defaults(name)) <= set(architectures())
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
    findings = list(objective_checks.findings(name, bias=bias))
    assert len(findings) >= 6
    assert not [finding for finding in findings if finding.holds is False]
    assert not [finding for finding in findings if finding.holds is None and name not in ("lsh", "blackout")]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_objectives_compute_the_right_things_with_other_options_too(name, options, bias):
    findings = list(objective_steps.computes(name, objectives.checked_options(name, options), bias))
    assert len(findings) >= 6
    assert not [finding for finding in findings if not finding.holds]


@pytest.mark.parametrize(
    ("name", "options"),
    [(name, VARIANTS[name][-1]) for name in ("adaptive-is", "blackout", "block-nce", "block-neg", "sampled-softmax")]
    + [("is", BATCHES), ("cnn-softmax", {"samples": 5}), ("infrequent-norm", {"gamma": 0.4})],
)
def test_chunks_draw_different_words(name, options):
    problem = problem_of(COUNTS, init=0.7)
    objective = objectives.objective_class(name).build(problem, **options)
    H, targets, _ = objective_steps.block_of(problem)
    losses = {
        objective.step(H.astype(np.float32), targets, 0.0, begun(k, np.array([-1, 2, 0, 9, 4])))[0] for k in (1, 2)
    }
    assert len(losses) == 2


@pytest.mark.parametrize("counts", [[0, 0], [3]])
@pytest.mark.parametrize("name", BLOCKS)
def test_one_word_and_two_words_with_counts_of_0_can_be_learned(name, counts):
    options = {"adaptive-softmax": {"cutoffs": "1"} if len(counts) > 1 else {}, "lsh": {"window": 2}}.get(name, {})
    objective = objectives.objective_class(name).build(problem_of(counts, dim=3), **options)
    targets = np.array([0, 1, 1, 0], np.int32) % len(counts)
    loss, dH = objective.step(np.ones((4, 3), np.float32), targets, 0.1, begun(previous=targets[::-1].copy()))
    assert np.isfinite(loss)
    assert dH.shape == (4, 3)
    assert np.isfinite(dH).all()


@pytest.mark.parametrize("name", [name for name in BLOCKS if name not in ("block-neg", "char-softmax")])
def test_initial_probabilities_are_word_frequencies(rng, name):
    """The scores of block-neg are not log-probabilities, and char-softmax has no biases of words."""
    problem, share = problem_of(COUNTS, dim=DIM, bias=True), COUNTS / COUNTS.sum()
    options = objectives.checked_options(name, {"cutoffs": "3,7"} if name == "adaptive-softmax" else {})
    built = objectives.objective_class(name).build(problem, **options)
    scorer = built.scorer(problem, options, built.output, built.arrays())
    H = hidden_vectors(rng, SIZE, DIM + 1).astype(np.float32)
    np.testing.assert_allclose(np.exp(scorer.log_probs(H)), np.tile(share, (SIZE, 1)), rtol=1e-4)
    if name != "lsh":  # which scores only the rows that it finds
        np.testing.assert_allclose(np.exp(scorer.log_prob(H, np.arange(SIZE, dtype=np.int32))), share, rtol=1e-4)


@pytest.mark.parametrize("name", ["nce", "bigram-nce"])
def test_initial_biases_are_log_frequencies(name):
    problem = problem_of(COUNTS, dim=DIM, bias=True)
    bias = objectives.objective_class(name).build(problem).initial_bias(problem)
    np.testing.assert_allclose(np.exp(bias), COUNTS / COUNTS.sum(), rtol=1e-5)


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
            objectives.build(name, problem_of(COUNTS), {"negative": 0})


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("is", {"ess": -2.0}, "option ess of objective is: -2.0 is not between 0 and 10000000"),
        ("is", {"ess": float("nan")}, "option ess of objective is: nan is not between 0 and 10000000"),
        ("is", {"samples": -1}, "option samples of objective is: -1 is not between 0 and 1000000"),
        ("is", {"cap": -1}, "option cap of objective is: -1 is not between 0 and 10000000"),
        (
            "is",
            {"samples": 9000},
            "option samples of objective is: 9000 is more than cap, 8192: lower samples, or raise cap",
        ),
        (
            "is",
            {"cap": 9},
            "option samples of objective is: 2048 is more than cap, 9: lower samples and ess, or raise cap",
        ),
        (
            "is",
            {"cap": 9000, "ess": 9001.0},
            "option ess of objective is: 9001.0 is more than cap, 9000: lower ess, or raise cap",
        ),
        (
            "adaptive-is",
            {"ess": 5e3},
            "option ess of objective adaptive-is: 5000.0 is more than cap, 4096: lower ess, or raise cap",
        ),
        ("nce", {"share_noise": 20_000}, "option share_noise of objective nce: 20000 is not between 1 and 10,000"),
        ("cnn-softmax", {"net_rate": 2e3}, "option net_rate of objective cnn-softmax: 2000 is not between 0 and 1000"),
        ("infrequent-norm", {"gamma": 2}, "option gamma of objective infrequent-norm: 2 is not between 1e-06 and 1"),
        ("selfnorm", {"penalty": float("nan")}, "option penalty of objective selfnorm: nan is not between 0 and 100"),
    ],
)
def test_the_first_option_out_of_range_is_reported(name, given, message):
    with pytest.raises(ConfigError) as caught:
        objectives.build(name, problem_of(COUNTS), given)
    assert str(caught.value) == message
