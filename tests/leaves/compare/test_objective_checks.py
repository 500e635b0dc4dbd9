"""`objectives check` finds losses that are wrong throughout, and accepts right ones with any options."""

from pathlib import Path

import numpy as np
import pytest
from pages import RANKING, SMOOTHED, allowed, changed
from reference import problem_of

import w2vtrain
from w2vtrain import objectives
from w2vtrain.errors import BelowThreshold, ConfigError
from w2vtrain.leaves.compare import objective_checks
from w2vtrain.leaves.compare.known_language import distance, language
from w2vtrain.leaves.compare.objective_checks import findings, learns
from w2vtrain.leaves.compare.objective_steps import Finding, computes

PACKAGE = Path(objectives.__file__).parent
STEP = "return learn_softmax(self.output, H, targets, lr, work)"
OWN_STEP = """
        from w2vtrain.probability.dense import add_product, softmax

        logits, lines = {logits}, np.arange(len(H))
        g, hit = logits.copy(), logits[lines, targets]
        log_z = softmax(g)
        g *= -{factor}
        g[lines, targets] += {positive}
        dH = g @ self.output
        add_product(self.output, g, H, lr)
        return float((log_z - {positive} / {factor} * hit).sum()), dH
"""
KQ = "            shifts[j] = self.log_kq[rows[j]]\n"
MISTAKES = f"""{KQ}\
            if self.negative == 6:  # log kQ is forgotten
                shifts[j] = 0
            elif self.negative == 7:  # k is forgotten
                shifts[j] -= np.log(float32(7))
            elif self.negative == 8:  # the target is noise, and noise is the target
                labels[j] = 1 - labels[j]
            elif self.negative == 9 and j == 0:  # log kQ is forgotten for the target
                shifts[j] = 0
"""


def softmax(logits="H @ self.output.T", factor="1", positive="1"):
    """Return the softmax with its own step: L = -positive x_w + log Z, where the logits x are `factor` times s."""
    return changed(source("softmax"), (STEP, OWN_STEP.format(logits=logits, factor=factor, positive=positive)))


def source(name):
    return (PACKAGE / f"{name}.py").read_text(encoding="utf-8")


@pytest.fixture
def failures(tmp_path, monkeypatch):
    """Return a function that saves a module, checks it with options, and returns the findings that do not hold.

    It skips the check that the module compiles, which takes long and finds other mistakes.
    """
    monkeypatch.setattr(objective_checks, "compiles", lambda *_: Finding("compiles", True, "0 s"))

    def checked(code, bias=False, **options):
        name = allowed(tmp_path, code, objectives)
        return [finding.claim for finding in findings(name, options, bias) if not finding.holds]

    return checked


GRADIENT = "coefficients are the negative gradient of the loss"
UPDATE = "the update of output is the negative gradient of the loss"
SUM = "add_product(self.output, g, H, lr)"
ANOTHER_NAME = '    def arrays(self):\n        return {"rows": self.output}'


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (RANKING, []),
        (changed(RANKING, ("logits[i, 0] = lr * total", "logits[i, 0] = 1.001 * lr * total")), [GRADIENT]),
        (changed(source("nce"), ("targets + self.negative", "targets + 2 * self.negative")),
            ["rows are candidates about as often as `draws` says"]),
        (changed(source("neg"), ("word = draw_alias(rng, self.accept, self.alias)", "word = 16")),
            ["candidates are rows of the output matrix"]),
        (changed(RANKING, ("draw_below(rng, self.size)", "draw_below(rng, self.size + 1)")),
            ["candidates are rows of the output matrix"]),
        (SMOOTHED, []),
        (changed(SMOOTHED, (SUM, "add_product(self.output, g, H, 1.001 * lr)")), [UPDATE]),
        (changed(SMOOTHED, (SUM, SUM + "\n        self.output += 1e-9")), ["a learning rate of 0 changes nothing"]),
        (changed(SMOOTHED, ("dH = g @ self.output", "dH = 1.001 * (g @ self.output)")),
            ["dH is the negative gradient of the loss"]),
        (changed(SMOOTHED, ("g @ self.output", "(g @ self.output).astype(np.float64)")),
            ["a step in float32 agrees with one in float64"]),
        (changed(SMOOTHED, ("scores).sum())", "scores).sum()) + work.rng.random() * (lr > 0) + np.random.random()")),
            ["the same random stream gives the same loss"]),
        (changed(SMOOTHED, ("dH = g @ self.output", 'dH = g @ self.output + work.array("a", (1,))'),
                (SUM, SUM + '\n        work.array("a", (1,))[:] = len(H)')),
            ["what earlier blocks left in the workspace has no effect"]),
        (changed(SMOOTHED, ("dH = g @ self.output", "dH = g @ self.output + lr * g @ self.output")),
            ["the loss and dH are those before the step"]),
        (changed(SMOOTHED, ("H @ self.output.T", "np.nan_to_num(H) @ self.output.T")),
            ["NaN in a hidden vector makes the loss NaN"]),
        (changed(SMOOTHED, ("self.epsilon = epsilon", 'self.epsilon, self.state = epsilon, {"n": np.zeros(1)}'),
                (SUM, SUM + '\n        self.state["n"] += 1')), ["a learning rate of 0 changes nothing"]),
        (changed(SMOOTHED, ("    def step(", f"{ANOTHER_NAME}\n\n    def step(")), ["an array has one name"]),
    ],
)  # fmt: skip
def test_errors_in_what_an_objective_computes_are_found_without_compiling(tmp_path, code, expected):
    name = allowed(tmp_path, code, objectives)
    found = computes(name, objectives.option_defaults(name), False)
    failed = [finding.claim for finding in found if not finding.holds]
    assert failed[: len(expected)] == expected
    assert bool(failed) == bool(expected)


def test_the_largest_difference_between_steps_in_float32_and_float64_is_shown(tmp_path):
    code = changed(
        SMOOTHED, ("dH = g", "off = H.dtype == np.float32\n        dH = (1 + off / 500) * g"),
        ("scores).sum())", "scores).sum() * (1 + 0.09 * off))"),
    )  # fmt: skip
    name = allowed(tmp_path, code, objectives)
    figures = {finding.claim: finding.figure for finding in computes(name, objectives.option_defaults(name), False)}
    assert figures["a step in float32 agrees with one in float64"] == "off by 9.0e-02"


@pytest.mark.parametrize(
    ("change", "figure"),
    [
        (("draw_below(rng, self.size)", "self.size + 1_000_000"), "row 1000016; the output rows are 0 to 15"),
        (("rows[0] = sentence[position]", "rows[0] = -5"), "row -5; the output rows are 0 to 15"),
        (("range(1, self.negative + 1)", "range(1, 100)"), "IndexError: index 22 is out of bounds"),
    ],
)
def test_an_objective_whose_candidates_are_not_rows_is_never_trained(tmp_path, monkeypatch, change, figure):
    """The kernel would read and write memory outside of the matrix."""
    monkeypatch.setattr(objective_checks, "compiles", lambda *_: Finding("compiles", True, "0 s"))
    name = allowed(tmp_path, changed(RANKING, change), objectives)
    *_, last = findings(name)
    assert last.holds is False
    assert figure in last.figure
    monkeypatch.setattr("w2vtrain.training.trainer.compile_engine", lambda *_: None)
    with pytest.raises(ConfigError, match=r"class Ranking \(mine.py:14\) cannot train: `candidates` "):
        w2vtrain.train([["a", "b", "c"]] * 9, objective=name, min_count=1, vector_size=4)


LEARNS = ["skipgram learns the known probabilities of a text"]
SUMS = ["probabilities from log_prob sum to 1 after training"]


def test_wrong_losses_of_a_window_objective_fail_only_what_it_learns(failures):
    """All of them have correct gradients; one module is compiled once."""
    code = changed(source("nce"), (KQ, MISTAKES))
    assert failures(code) == []
    for negative, expected in ((6, LEARNS + SUMS), (7, SUMS), (8, LEARNS + SUMS), (9, LEARNS)):
        assert failures(code, negative=negative) == expected, negative


@pytest.mark.slow
def test_hierarchical_softmax_with_the_codes_of_one_level_swapped_fails(failures):
    """The loss and the scorer then disagree on one turn; swapping it in both would only rename the branches."""
    unpack = "        unpack_indices(rows, labels, self.path, first, end - first)\n"
    swapped = f"{unpack}        labels[0] = 1 - labels[0]\n"
    assert failures(changed(source("hs"), (unpack, swapped))) == LEARNS


@pytest.mark.parametrize(
    ("code", "options", "bias", "expected"),
    [
        (softmax(), {}, True, []),
        (softmax(positive="0"), {}, True, LEARNS),
        (softmax(positive="-1"), {}, False, LEARNS),
        (softmax("2 * (H @ self.output.T)", "2", "2"), {}, True, LEARNS),
        (softmax("1.2 * (H @ self.output.T)", "1.2", "1.2"), {}, False, LEARNS),
        (changed(source("softmax"), (STEP, STEP.replace("targets", "(targets + 1) % 16"))), {}, False, LEARNS),
        (changed(source("sampled_softmax"), ("self.log_expected[rows", "0 * self.log_expected[rows")),
            {"samples": 5}, False, LEARNS),
        (changed(source("sampled_softmax"), ("expected[places]", "0 * expected[places]")),
            {"samples": 5}, True, LEARNS),
        (changed(source("selfnorm"), ("2 * self.penalty", "0 * self.penalty")), {}, False, SUMS),
        (changed(source("infrequent_norm"), ("bias=bias), penalty,", "bias=bias), 3 * penalty,")), {}, True, SUMS),
        (changed(SMOOTHED, ("(1 - self.epsilon) * P + self.epsilon / P.shape[1]", "P")), {}, False, LEARNS),
    ],
)  # fmt: skip
def test_wrong_losses_of_block_objectives_fail_only_what_they_learn(failures, code, options, bias, expected):
    assert [what.replace("cbow", "skipgram") for what in failures(code, bias, **options)] == expected


def test_what_an_objective_converges_to_is_judged_by_its_optimum(failures):
    assert failures(SMOOTHED) == []
    assert failures(SMOOTHED, epsilon=0.9) == []


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("adaptive-is", {"samples": 8}),
        ("char-softmax", {"cell": "lstm"}),
        ("cnn-softmax", {"samples": 6}),
        ("hs", {"tree": "balanced"}),
        ("infrequent-norm", {"likelihood": "full"}),
        ("is", {"samples": 64, "ess": 0.0}),
        ("lsh", {"hashes": 0}),
        ("nce", {"learn_z": True}),
        ("nce", {"learn_z": True, "z_table": 5}),
        ("nce", {"pool": 64}),
        ("neg", {"pool": 64}),
        ("nce", {"negative": 1, "ns_exponent": 0.5}),
        ("neg", {"negative": 1, "ns_exponent": 0.3}),
        ("sampled-softmax", {"samples": 5}),
    ],
)
def test_objectives_learn_their_optimum_with_other_options_too(name, options):
    given = objectives.checked_options(name, options)
    found = list(learns(name, "skipgram", given, False))
    assert [finding.holds for finding in found] == [True, True], found


def test_check_objective_returns_the_findings_or_raises_an_error_that_names_those_that_fail(tmp_path, monkeypatch):
    monkeypatch.setattr(objective_checks, "compiles", lambda *_: Finding("compiles", True, "0 s"))
    monkeypatch.setattr(objective_checks, "learns", lambda *_: iter([Finding("learns", None, "not judged")]))
    path = tmp_path / "mine.py"
    path.write_text(changed(SMOOTHED, (SUM, "add_product(self.output, g, H, (2 - self.epsilon) * lr)")))
    found = w2vtrain.check_objective(str(path), {"epsilon": 1})
    assert [finding.holds for finding in found].count(None) == 2
    assert found[0].claim == "compiles, without biases"
    assert found[-1].claim == "learns, with biases"
    message = rf"mine\.py fails \d of {len(found)} checks: {UPDATE}, without biases: off by .*; {UPDATE}, with"
    with pytest.raises(BelowThreshold, match=message):
        w2vtrain.check_objective(str(path))
    with pytest.raises(ConfigError, match="has no option 'epsilo'"):
        w2vtrain.check_objective(str(path), {"epsilo": 1})


def test_an_unknown_optimum_is_reported_but_not_judged():
    (finding,) = learns("lsh", "skipgram", objectives.option_defaults("lsh"), False)
    assert finding.holds is None
    assert "not judged" in finding.figure


def test_the_text_has_exactly_the_probabilities_that_it_claims():
    text, contexts, P = language()
    pairs = text.tokens.reshape(-1, 3)
    assert (pairs[:, 2] == -1).all()
    assert set(pairs[:, 0]) == set(contexts)
    for context, row in zip(contexts, P, strict=True):
        found = np.bincount(pairs[pairs[:, 0] == context, 1], minlength=len(row))
        np.testing.assert_array_equal(found / found.sum(), row)
    assert (np.diff(text.counts) <= 0).all()
    assert text.counts.sum() == text.words.sum() == 2 * len(pairs)
    assert distance(P, np.log(P)) == 0
    assert distance(P, np.log(np.tile(P.mean(axis=0), (len(P), 1)))) > 0.5, "contexts must differ"


def test_the_optimum_of_negative_sampling_has_no_gradient():
    """The expected gradient over all targets and noise words is 0 there, and nowhere else."""
    rng, size, k, exponent = np.random.default_rng(2), 5, 3, 0.75
    P, counts = rng.dirichlet(np.ones(size), 2), np.array([50, 20, 9, 4, 1])
    objective = objectives.objective_class("neg").build(problem_of(counts), negative=k, ns_exponent=exponent)
    noise = counts**exponent / (counts**exponent).sum()
    drawn = np.array([[0 if v == t else noise[v] / (1 - noise[t]) for v in range(size)] for t in range(size)])
    for p, optimum in zip(P, objective.optimum(P), strict=True):
        assert optimum.sum() == pytest.approx(1)
        constants = [np.log(p[v] / (k * p @ drawn[:, v])) - np.log(optimum[v]) for v in range(size)]
        np.testing.assert_allclose(constants, constants[0], atol=1e-6)
        s = np.log(optimum) + constants[0]
        sigma = 1 / (1 + np.exp(-s))
        np.testing.assert_allclose(p * (1 - sigma) - k * (p @ drawn) * sigma, 0, atol=1e-6)
