"""Modules of users that break the contract of objectives: one line says what is wrong, and where."""

import re

import numpy as np
import pytest
from pages import RANKING, SMOOTHED, changed, without
from reference import problem_of

from w2vtrain import objectives
from w2vtrain.errors import ConfigError

DEFAULTS = next(line for line in RANKING.splitlines() if line.startswith("DEFAULTS"))
ARGUMENTS = "errors(self, logits, window, candidates, lr)"
OLD = "errors(self, logits, n, m, context, width, rows, labels, shifts, lr)"
FIELD = "    size: int\n"
STEP = "def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace)"
NO_DEFAULT = "with a number, a text, True or False as the default of"
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
    """The module with other defaults for these architectures."""
    return changed(RANKING, (DEFAULTS, f"DEFAULTS = {{name: {text} for name in {architectures}}}"))


BROKEN = {
    "no class": (changed(RANKING, ("OBJECTIVE = Ranking", "")), "the module has no OBJECTIVE"),
    "no defaults": (changed(RANKING, (DEFAULTS, "")), "the module has no DEFAULTS"),
    "a number": (changed(RANKING, ("= Ranking\n", "= 7\n")), "expected a class, got 7"),
    "an instance": (changed(RANKING, ("= Ranking\n", "= Ranking(3, 5)\n")), "a class, got Ranking(size=3, negative=5)"),
    "defaults: no table": (
        changed(RANKING, (DEFAULTS, "DEFAULTS = []")),
        "DEFAULTS must be a table of settings by arc",
    ),
    "defaults: numbers": (table("0.05"), "DEFAULTS must be a table of settings by architecture"),
    "defaults: no cbow": (
        table('{"alpha": 0.05, "shuffle": True}', ("skipgram", "cbow-corrected")),
        "DEFAULTS['cbow'] has no 'alpha'",
    ),
    "defaults: no rate": (table('{"shuffle": True}'), "DEFAULTS['skipgram'] has no 'alpha'"),
    "defaults: no order": (table('{"alpha": 0.05}'), "DEFAULTS['skipgram'] has no 'shuffle'"),
    "defaults: text": (
        table('{"alpha": "big", "shuffle": True}'),
        "DEFAULTS['skipgram']: alpha: expected a number of 0.0 or more, got 'big'",
    ),
    "defaults: zero": (table('{"alpha": 0, "shuffle": True}'), "DEFAULTS['skipgram']: alpha: 0 would learn nothing"),
    "defaults: block": (table('{"alpha": 1, "shuffle": True, "block": 0}'), "DEFAULTS['skipgram']: block: expected a"),
    "defaults: unknown": (table('{"alpha": 1, "shuffle": True, "blocks": 9}'), "DEFAULTS['skipgram'] has 'blocks'; it"),
    "engine": (
        changed(RANKING, (FIELD, f'    engine = "gpu"\n{FIELD}')),
        "has engine 'gpu'; it can be windows or bloc",
    ),
    "engine: a list": (
        changed(RANKING, (FIELD, f"    engine = []\n{FIELD}")),
        "has engine []; it can be windows or blo",
    ),
    "no named tuple": (
        changed(RANKING, ("Ranking(NamedTuple)", "Ranking")),
        "is not a typing.NamedTuple, which is what",
    ),
    "no limit": (without(RANKING, "candidate_limit"), "has no candidate_limit"),
    "a limit that is a method": (
        changed(RANKING, ("    @property\n", "")),
        "has a method candidate_limit, which must be a property",
    ),
    "no errors": (without(RANKING, "errors"), f"has no {ARGUMENTS}"),
    "no candidates": (
        without(RANKING, "candidates"),
        "has no candidates(self, sentence, position, rng, rows, labels, ",
    ),
    "no build": (without(RANKING, "build"), "has no class method build(cls, problem, **options)"),
    "the old errors": (changed(RANKING, (ARGUMENTS, OLD)), f"needs {ARGUMENTS}, and has {OLD}"),
    "a renamed argument": (
        changed(RANKING, (ARGUMENTS, "errors(self, logits, window, found, lr)")),
        f"needs {ARGUMENTS}, and has errors(self, logits, window, found, lr)",
    ),
    "an argument too few": (
        changed(RANKING, (", candidates, lr)", ", candidates)")),
        f"needs {ARGUMENTS}, and has errors",
    ),
    "errors by class": (
        changed(RANKING, ("    def errors(self", "    @classmethod\n    def errors(cls")),
        f"needs {ARGUMENTS}, and has class method errors(cls, logits, window, candidates, lr)",
    ),
    "errors: a number": (without(RANKING, "errors", "    errors = 7\n"), "has errors = 7, which is not a method"),
    "an optional method": (
        changed(RANKING, (FIELD, f"{FIELD}\n    def hot_rows(self):\n        return range(0)\n\n")),
        "needs hot_rows(self, rows), and has hot_rows(self)",
    ),
    "a check that is none": (
        changed(RANKING, (FIELD, f"    check = 7\n{FIELD}")),
        "has check = 7, which is not a method",
    ),
    "build: of instances": (
        changed(RANKING, ("    @classmethod\n", "")),
        "needs class method build(cls, problem, **options), and has build(cls, problem, *, negative=5)",
    ),
    "build: by place": (changed(RANKING, ("problem: Problem, *, ", "problem: Problem, ")), f"{NO_DEFAULT} negative"),
    "build: no default": (changed(RANKING, ("int = 5", "int")), "has class method build(cls, problem, *, negative)"),
    "build: None": (changed(RANKING, ("int = 5", "int = None")), f"{NO_DEFAULT} negative"),
    "build: anything": (changed(RANKING, ("*, negative: int = 5", "**options")), f"{NO_DEFAULT} options"),
    "no step": (without(SMOOTHED, "step"), "has no step(self, H, targets, lr, work)"),
    "an old step": (
        changed(SMOOTHED, (STEP, "def step(self, H, targets, lr)")),
        "needs step(self, H, targets, lr, work), and has step(self, H, targets, lr)",
    ),
    "step: a number": (without(SMOOTHED, "step", "    step = 7\n"), "has step = 7, which is not a method"),
    "no parameters": (
        changed(SMOOTHED, ("(RowObjective)", ""), ("    def __init__", '    engine = "blocks"\n\n    def __init__')),
        "has no parameters(self)",
    ),
    "blocks: no engine": (
        changed(SMOOTHED, ("(RowObjective)", "")),
        "is not a typing.NamedTuple, which is what kernels",
    ),
}
BUILT = {
    "nothing": (changed(RANKING, ("return cls(len(problem.counts), negative)", "return None")), "has no engine"),
    "a limit of text": (
        changed(RANKING, ("return self.negative + 1\n\n    def c", "return 'six'\n\n    def c")),
        "has candid",
    ),
    "a limit of none": (
        changed(RANKING, ("return self.negative + 1\n\n    def c", "return 0\n\n    def c")),
        "has candid",
    ),
    "no output": (changed(WITHOUT_OUTPUT, ("\nclass", f"{DEFAULTS}\n\n\nclass")), "which build returns, has no output"),
}


def saved(folder, code):
    """Save a module, allow it, and return its name."""
    path = folder / "mine.py"
    path.write_text(code, encoding="utf-8")
    objectives.allow_code(str(path))
    return str(path)


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_contract_is_one_line(tmp_path, w2vtrain_here, case):
    code, message = BROKEN[case]
    exit_code, _, said = w2vtrain_here(["objectives", "check", saved(tmp_path, code)], tmp_path)
    assert exit_code == 78
    assert message in said
    assert len(said.splitlines()) == 1
    if "class " in said.partition("mine.py: ")[2][:6]:
        line = next(n for n, text in enumerate(code.splitlines(), 1) if text.startswith("class "))
        assert f" (mine.py:{line}) " in said
    with pytest.raises(ConfigError, match=re.escape(message)):
        objectives.objective_class(str(tmp_path / "mine.py"))


@pytest.mark.parametrize("case", BUILT)
def test_what_build_returns_is_verified(tmp_path, case):
    code, message = BUILT[case]
    with pytest.raises(ConfigError, match=re.escape(message)):
        objectives.build(saved(tmp_path, code), problem_of([5, 3, 2]), {})


def test_the_code_of_the_guide_keeps_the_contract(tmp_path):
    for name, code in (("ranking", RANKING), ("smoothed", SMOOTHED)):
        (tmp_path / name).mkdir()
        path = saved(tmp_path / name, code)
        assert objectives.build(path, problem_of([5, 3, 2]), objectives.option_defaults(path))


def test_what_is_left_out_is_a_default(tmp_path):
    """Ranking names nothing optional: tests/test_docs.py trains it."""
    path = saved(tmp_path, RANKING)
    built = objectives.build(path, problem_of([5, 3, 2]), {})
    assert built.engine == "windows"
    assert not built.rowless
    assert built.output_rows(3) == 3
    assert built.learned() == built.arrays() == {}
    assert built.initial_bias(problem_of([5, 3, 2])) is None
    assert len(built.hot_rows(3)) == 0
    assert (built.distinct(), built.in_turn(), built.prefetch_from(np.zeros(3, np.int32), 3)) == (False, False, 0)


BARE = '''"""The softmax, with nothing that may be left out."""
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


def test_a_block_objective_without_a_base_class_trains_like_the_shipped_one(tmp_path, w2vtrain_here):
    """It has no scorer, arrays, state or gradients of its own."""
    path = saved(tmp_path, BARE)
    (tmp_path / "text.txt").write_text("the cat sat on the mat and the dog sat on the cat\n" * 60)
    for name, out in ((path, "bare.txt"), ("softmax", "softmax.txt")):
        words = ["fit", "text.txt", "-o", out, "--objective", name, "--vector-size", "8", "--min-count", "1"]
        code, _, said = w2vtrain_here([*words, "--epochs", "2", "--alpha", "0.05", "--threads", "1"], tmp_path)
        assert code == 0, said
    assert (tmp_path / "bare.txt").read_bytes() == (tmp_path / "softmax.txt").read_bytes()


@pytest.mark.parametrize("name", objectives.objectives())
def test_shipped_objectives_keep_the_contract(name):
    assert objectives.build(name, problem_of(np.arange(12, 0, -1)), objectives.option_defaults(name))
