"""User modules that break the contract of objectives are reported in one line that says what is wrong and where.

tests/test_registry.py has the cases that are the same in every contract.
"""

import re

import numpy as np
import pytest
from pages import RANKING, SMOOTHED, allowed, changed
from reference import problem_of

from w2vtrain import objectives
from w2vtrain.errors import ConfigError

DEFAULTS = next(line for line in RANKING.splitlines() if line.startswith("DEFAULTS"))
ARGUMENTS = "errors(self, logits, window, candidates, lr)"
FIELD = "    size: int\n"
BLENDS = "\n    @staticmethod\n    def blends(architecture):\n        return True\n\n"
NO_DEFAULT = "with a number, a string, True or False as the default of"
EMPTY = f"""
from typing import NamedTuple
{DEFAULTS}


class Empty(NamedTuple):
    size: int


OBJECTIVE = Empty
"""
WITHOUT_OUTPUT = """
class SmoothedSoftmax:
    engine = "blocks"

    @classmethod
    def build(cls, problem):
        return cls()

    def step(self, H, targets, lr, work):
        return 0.0, H

    def parameters(self):
        return {}


OBJECTIVE = SmoothedSoftmax
"""


def table(text, architectures=("skipgram", "cbow", "cbow-corrected")):
    """Return RANKING with `text` as the defaults of these architectures."""
    return changed(RANKING, (DEFAULTS, f"DEFAULTS = {{name: {text} for name in {architectures}}}"))


BROKEN = {
    "no OBJECTIVE": (changed(RANKING, ("OBJECTIVE = Ranking", "")), "the module has no OBJECTIVE"),
    "no DEFAULTS": (changed(RANKING, (DEFAULTS, "")), "the module has no DEFAULTS"),
    "OBJECTIVE is a number": (changed(RANKING, ("= Ranking\n", "= 7\n")), "expected a class, got 7"),
    "OBJECTIVE is an instance": (
        changed(RANKING, ("= Ranking\n", "= Ranking(3, 5)\n")),
        "a class, got Ranking(size=3, negative=5)",
    ),
    "DEFAULTS is a list": (changed(RANKING, (DEFAULTS, "DEFAULTS = []")), "DEFAULTS must map each architecture to its"),
    "DEFAULTS holds numbers": (table("0.05"), "DEFAULTS must map each architecture to its settings"),
    "DEFAULTS lacks cbow": (
        table('{"alpha": 0.05, "shuffle": True}', ("skipgram", "cbow-corrected")),
        "DEFAULTS['cbow'] has no 'alpha'",
    ),
    "DEFAULTS lacks alpha": (table('{"shuffle": True}'), "DEFAULTS['skipgram'] has no 'alpha'"),
    "DEFAULTS lacks shuffle": (table('{"alpha": 0.05}'), "DEFAULTS['skipgram'] has no 'shuffle'"),
    "alpha is a string": (
        table('{"alpha": "big", "shuffle": True}'),
        "DEFAULTS['skipgram']: alpha: expected a number from 0.0 to 1,000,000.0, got 'big'",
    ),
    "alpha is 0": (table('{"alpha": 0, "shuffle": True}'), "DEFAULTS['skipgram']: alpha: 0 would learn nothing"),
    "block is 0": (table('{"alpha": 1, "shuffle": True, "block": 0}'), "DEFAULTS['skipgram']: block: expected a"),
    "DEFAULTS has an unknown setting": (
        table('{"alpha": 1, "shuffle": True, "blocks": 9}'),
        "DEFAULTS['skipgram'] has 'blocks'; exp",
    ),
    "an unknown engine": (
        changed(RANKING, (FIELD, f'    engine = "gpu"\n{FIELD}')),
        "has engine 'gpu'; expected windows or bloc",
    ),
    "engine is a list": (
        changed(RANKING, (FIELD, f"    engine = []\n{FIELD}")),
        "has engine []; expected windows or blo",
    ),
    "no method": (
        EMPTY,
        "has no class method build(cls, problem, **options); has no candidate_limit; has no candidates(self, sentence,"
        f" position, rng, rows, labels, shifts); has no {ARGUMENTS}",
    ),
    "no method, with blocks": (
        changed(EMPTY, (FIELD, '    engine = "blocks"\n')),
        "has no class method build(cls, problem, **options); has no step(self, H, targets, lr, work);"
        " has no parameters(self)",
    ),
    "candidate_limit is a method": (
        changed(RANKING, ("    @property\n", "")),
        "has a method candidate_limit, which must be a property",
    ),
    "an optional method with too few arguments": (
        changed(RANKING, (FIELD, f"{FIELD}\n    def hot_rows(self):\n        return range(0)\n\n")),
        "needs hot_rows(self, rows), but has hot_rows(self)",
    ),
    "errors with a renamed argument": (
        changed(RANKING, (ARGUMENTS, "errors(self, logits, window, found, lr)")),
        f"needs {ARGUMENTS}, but has errors(self, logits, window, found, lr)",
    ),
    "blends without one output row per word": (
        changed(RANKING, (FIELD, f"{FIELD}{BLENDS}    def output_rows(self, words):\n        return words - 1\n\n")),
        "returns True from blends, but does not have one output row per word",
    ),
    "build takes options by position": (
        changed(RANKING, ("problem: Problem, *, ", "problem: Problem, ")),
        f"{NO_DEFAULT} negative",
    ),
    "a build option without a default": (
        changed(RANKING, ("int = 5", "int")),
        "has class method build(cls, problem, *, negative)",
    ),
    "a build option defaults to None": (changed(RANKING, ("int = 5", "int = None")), f"{NO_DEFAULT} negative"),
    "build takes any keyword": (changed(RANKING, ("*, negative: int = 5", "**options")), f"{NO_DEFAULT} options"),
    "a block objective without engine": (
        changed(SMOOTHED, ("(RowObjective)", "")),
        "is not a typing.NamedTuple, as kernels require",
    ),
}
BUILT = {
    "None": (changed(RANKING, ("return cls(len(problem.counts), negative)", "return None")), "has no engine"),
    "candidate_limit is a string": (
        changed(RANKING, ("return self.negative + 1\n\n    def c", "return 'six'\n\n    def c")),
        "has candid",
    ),
    "candidate_limit is 0": (
        changed(RANKING, ("return self.negative + 1\n\n    def c", "return 0\n\n    def c")),
        "has candid",
    ),
    "no output": (changed(WITHOUT_OUTPUT, ("\nclass", f"{DEFAULTS}\n\n\nclass")), "which build returns, has no output"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_contract_is_reported_in_one_line(tmp_path, w2vtrain_here, case):
    code, message = BROKEN[case]
    exit_code, _, said = w2vtrain_here(["objectives", "check", allowed(tmp_path, code, objectives)], tmp_path)
    assert exit_code == 78
    assert message in said
    assert len(said.splitlines()) == 1
    if "class " in said.partition("mine.py: ")[2][:6]:
        line = next(n for n, text in enumerate(code.splitlines(), 1) if text.startswith("class "))
        assert f" (mine.py:{line}) " in said
    with pytest.raises(ConfigError, match=re.escape(message)):
        objectives.objective_class(str(tmp_path / "mine.py"))


@pytest.mark.parametrize("case", BUILT)
def test_the_instance_that_build_returns_is_verified(tmp_path, case):
    code, message = BUILT[case]
    with pytest.raises(ConfigError, match=re.escape(message)):
        objectives.build(allowed(tmp_path, code, objectives), problem_of([5, 3, 2]), {})


def test_the_modules_of_the_guide_fulfill_the_contract(tmp_path):
    for name, code in (("ranking", RANKING), ("smoothed", SMOOTHED)):
        (tmp_path / name).mkdir()
        path = allowed(tmp_path / name, code, objectives)
        assert objectives.build(path, problem_of([5, 3, 2]), objectives.option_defaults(path))


def test_omitted_members_get_their_defaults(tmp_path):
    """Ranking defines no optional member; tests/test_docs.py trains it."""
    path = allowed(tmp_path, RANKING, objectives)
    built = objectives.build(path, problem_of([5, 3, 2]), {})
    assert built.engine == "windows"
    assert not built.rowless
    assert built.output_rows(3) == 3
    assert built.learned() == built.arrays() == {}
    assert built.initial_bias(problem_of([5, 3, 2])) is None
    assert len(built.hot_rows(3)) == 0
    assert (built.distinct(), built.in_turn(), built.prefetched(np.zeros(3, np.int32), 3)) == (False, False, (0, 3))


BARE = '''"""The softmax, without any optional member."""
from w2vtrain.probability.dense import learn_softmax

DEFAULTS = {name: {"alpha": 0.05, "shuffle": True} for name in ("skipgram", "cbow", "cbow-corrected")}


class Bare:
    engine = "blocks"

    def __init__(self, output):
        self.output = output

    @classmethod
    def build(cls, problem):
        return cls(problem.initial_rows(bias=problem.log_unigram()))

    def parameters(self):
        return {"output": self.output}

    def step(self, H, targets, lr, work):
        return learn_softmax(self.output, H, targets, lr, work)


OBJECTIVE = Bare
'''


@pytest.mark.slow
def test_softmax_without_a_base_class_trains_to_the_same_bytes_as_the_built_in_one(tmp_path, w2vtrain_here):
    """It defines no scorer, arrays, state or gradients."""
    path = allowed(tmp_path, BARE, objectives)
    (tmp_path / "text.txt").write_text("the cat sat on the mat and the dog sat on the cat\n" * 60)
    for name, out in ((path, "bare.txt"), ("softmax", "softmax.txt")):
        words = ["fit", "text.txt", "-o", out, "--objective", name, "--vector-size", "8", "--min-count", "1"]
        code, _, said = w2vtrain_here([*words, "--epochs", "2", "--alpha", "0.05", "--threads", "1"], tmp_path)
        assert code == 0, said
    assert (tmp_path / "bare.txt").read_bytes() == (tmp_path / "softmax.txt").read_bytes()
