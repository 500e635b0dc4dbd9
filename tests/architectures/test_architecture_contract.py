"""User modules that break the contract of architectures: a one-line error says what is wrong, and where.

tests/test_registry.py has the cases that are the same in every contract.
"""

import re

import pytest
from pages import SIDED, allowed, changed, without

import w2vtrain
from w2vtrain import architectures
from w2vtrain.architectures.contract import Blend, Layout
from w2vtrain.errors import ConfigError

FORWARD = "forward(self, w_in, window, example, hidden)"
LAYOUT = Layout(3, 8, 8)
LIKE = "    @staticmethod\n    def like"
BLEND = "    @staticmethod\n    def blend():\n        return {}\n\n"
TAGS = "    @staticmethod\n    def uses_tags():\n        return True\n\n"
VECTORS = "    def vectors(self, rows):\n        return 2 * rows\n\n"
BROKEN = {
    "no class": (changed(SIDED, ("ARCHITECTURE = SidedSkipGram", "")), "the module has no ARCHITECTURE"),
    "a number": (changed(SIDED, ("= SidedSkipGram\n", "= 7\n")), "expected a class, got 7"),
    "in place": (
        changed(SIDED, ("def pairs()", "def in_place()")),
        "returns True from in_place, which requires pairs to return True, too",
    ),
    "like none": (
        changed(SIDED, ('return "skipgram"', 'return "nosuch"')),
        "returns 'nosuch' from like; choose one of skip",
    ),
    "like vlbl": (
        changed(SIDED, ('return "skipgram"', 'return "vlbl"')),
        "returns 'vlbl' from like; choose one of skip",
    ),
    "a share above 1": (
        changed(SIDED, ("import Layout", "import Blend, Layout"), (LIKE, BLEND.format("Blend(1.5, 9)") + LIKE)),
        "returns Blend(share=1.5, words=9) from blend; it must be a Blend of share 0 to 1",
    ),
    "tags beside composed words": (
        changed(SIDED, (LIKE, TAGS + VECTORS + LIKE)),
        "defines vectors, but the rows of tags follow one row per word; leave it out",
    ),
    "no Blend": (
        changed(SIDED, (LIKE, BLEND.format("0.3") + LIKE)),
        "returns 0.3 from blend; it must be a Blend of share 0 to 1",
    ),
    "no forward": (without(SIDED, "forward"), f"has no {FORWARD}"),
    "no method": (
        without(without(without(SIDED, "build"), "forward"), "backward"),
        f"has no class method build(cls, layout, arrays); has no {FORWARD}; has no backward(self, w_in, window,"
        " example, gradient, step)",
    ),
    "a renamed argument": (
        changed(SIDED, (FORWARD, "forward(self, rows, window, example, hidden)")),
        f"needs {FORWARD}, but has forward(self, rows, window, example, hidden)",
    ),
    "no named tuple": (changed(SIDED, ("(NamedTuple)", "")), "is not a typing.NamedTuple, as kernels require"),
}
BUILT = {
    "nothing": (
        changed(SIDED, ("return cls(sides)", "return None")),
        "class NoneType (builtins), which build returns, ha",
    ),
    "no field": (
        changed(SIDED, ('{"sides": self', '{"weights": self')),
        "needs learned() to return a dict of arrays by",
    ),
    "a copy": (
        changed(SIDED, ('{"sides": self.sides}', '{"sides": self.sides.copy()}')),
        "returns another array than its field sides from learned",
    ),
    "no table": (
        changed(SIDED, ('return {"sides": self.sides}', "return None")),
        "needs learned() to return a dict of arr",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_contract_raises_a_one_line_config_error(tmp_path, case):
    code, message = BROKEN[case]
    with pytest.raises(ConfigError) as caught:
        architectures.architecture_class(allowed(tmp_path, code, architectures))
    said = str(caught.value)
    assert said.startswith(f"architecture {tmp_path / 'mine.py'}: ")
    assert message in said
    if ": class " in said:
        line = next(n for n, text in enumerate(code.splitlines(), 1) if text.startswith("class "))
        assert f": class SidedSkipGram (mine.py:{line}) " in said


@pytest.mark.parametrize("case", BUILT)
def test_the_instance_that_build_returns_is_verified(tmp_path, case):
    code, message = BUILT[case]
    with pytest.raises(ConfigError, match=re.escape(message)):
        architectures.build(allowed(tmp_path, code, architectures), LAYOUT, {})


def test_methods_that_a_class_leaves_out_get_their_defaults(tmp_path):
    built = architectures.build(allowed(tmp_path, SIDED, architectures), LAYOUT, {})
    assert (built.pairs(), built.in_place(), built.fixed_positions()) == (True, False, False)
    plain = without(without(SIDED, "pairs"), "like")
    (tmp_path / "plain").mkdir()
    cls = architectures.architecture_class(allowed(tmp_path / "plain", plain, architectures))
    assert (cls.pairs(), cls.like(), cls.blend()) == (False, "cbow-corrected", Blend(0.2, 8_000_000))


def test_words_without_documents_can_be_concatenated_and_scored(tmp_path):
    code = "from w2vtrain.architectures.pv_dm_concat import PvDmConcat\n\n\nclass Positions(PvDmConcat):\n"
    code += TAGS.replace("True", "False") + "ARCHITECTURE = Positions\n"
    (tmp_path / "mine.py").write_text(code)
    asked = {"architecture": str(tmp_path / "mine.py"), "vector_size": 8, "min_count": 1, "sample": 0}
    text = [list("xay"), list("ybx")] * 400  # the words around a target leave two choices, but their places none
    model = w2vtrain.train(text, objective="softmax", window=1, heldout=text[:2], epochs=5, **asked)
    assert model.record["epochs"][-1]["heldout"]["perplexity"] < 1.2
    with pytest.raises(ConfigError, match=r"subwords: architecture .* has windows with missing words"):
        w2vtrain.train(text, subwords=True, **asked)


def test_blends_are_preferred_for_large_texts():
    blend = Blend(share=0.2, words=1000)
    assert [blend.preferred(True, words) for words in (0, 999, 1000)] == ["in", "in", "blend"]
    assert blend.preferred(False, 10**12) == "in"


@pytest.mark.parametrize("command", ["check", "fit"])
def test_commands_exit_with_code_78_on_a_broken_contract(tmp_path, w2vtrain_here, command):
    (tmp_path / "mine.py").write_text(BROKEN["no forward"][0])
    (tmp_path / "text.txt").write_text("a b c\n" * 20)
    words = {
        "check": ["architectures", "check", "./mine.py"],
        "fit": ["fit", "text.txt", "-o", "out.txt", "--architecture", "./mine.py"],
    }
    code, _, said = w2vtrain_here(words[command], tmp_path)
    assert code == 78
    assert said.startswith("w2vtrain: error: architecture ./mine.py: class SidedSkipGram (mine.py:")
    assert FORWARD in said
    assert len(said.splitlines()) == 1
