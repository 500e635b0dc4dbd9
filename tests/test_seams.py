"""Faulty architectures and objectives of a user: each is refused with a one-line error before training."""

import pytest

import w2vtrain
from w2vtrain import architectures, objectives
from w2vtrain.errors import ConfigError

ARCHITECTURE = "from w2vtrain.architectures.skipgram import SkipGram as S\nfrom typing import NamedTuple\n\n\n"
ROWS = "    def input_rows(self, words):\n        return {}\n\n"
VECTORS = "    def vectors(self, rows):\n        return rows\n"
CASES = {
    "input_rows is 3 for 4 words": ROWS.format(3) + VECTORS,
    "input_rows is 'x' for 4 words": ROWS.format("'x'") + VECTORS,
    "defines input_rows but not vectors": ROWS.format(9),
    "its array 'input' has a reserved name": "    def learned(self):\n        return {'input': self.input}\n",
    "build failed: ZeroDivisionError": "",
}


@pytest.mark.parametrize("message", CASES)
def test_faulty_architectures_are_refused_before_training(tmp_path, message):
    (tmp_path / "text").write_text("a b c d\n" * 20)
    made = "cls(1 / 0)" if "Zero" in message else "cls(__import__('numpy').zeros((2, 16), 'f4'))"
    path = tmp_path / "mine.py"
    path.write_text(
        f"{ARCHITECTURE}class Mine(NamedTuple):\n    input: object\n    forward, backward = S.forward, S.backward\n\n"
        f"    @classmethod\n    def build(cls, layout, arrays):\n        return {made}\n\n"
        f"{CASES[message]}\n\nARCHITECTURE = Mine\n"
    )
    architectures.allow_code(str(path))
    with pytest.raises(ConfigError, match=message):
        w2vtrain.train(str(tmp_path / "text"), architecture=str(path), vector_size=8, min_count=1, epochs=1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bias", "its array 'bias' has a reserved name"),
        ("rows", r"Mine \(mine.py:4\) names an array both 'output' and 'rows'; use one name"),
    ],
)
def test_arrays_of_an_objective_have_one_name_of_their_own(tmp_path, name, message):
    (tmp_path / "text").write_text("a b c d\n" * 20)
    (tmp_path / "mine.py").write_text(
        "from w2vtrain.objectives.softmax import DEFAULTS, Softmax\n\n\nclass Mine(Softmax):\n"
        f"    def arrays(self):\n        return {{'{name}': self.output}}\n\n\nOBJECTIVE = Mine\n"
    )
    objectives.allow_code(str(tmp_path / "mine.py"))
    with pytest.raises(ConfigError, match=message):
        w2vtrain.train(
            str(tmp_path / "text"), objective=str(tmp_path / "mine.py"), vector_size=8, min_count=1, epochs=1
        )


def test_copies_of_what_an_objective_learns_are_refused(tmp_path):
    (tmp_path / "text").write_text("a b c d\n" * 20)
    (tmp_path / "mine.py").write_text(
        "from w2vtrain.objectives.softmax import DEFAULTS, Softmax\n\n\nclass Mine(Softmax):\n"
        "    def parameters(self):\n        return {'output': self.output.copy()}\n\n\nOBJECTIVE = Mine\n"
    )
    objectives.allow_code(str(tmp_path / "mine.py"))
    with pytest.raises(ConfigError, match="returns a copy of the learned array 'output', not the array itself"):
        w2vtrain.train(
            str(tmp_path / "text"), objective=str(tmp_path / "mine.py"), vector_size=8, min_count=1, epochs=1
        )
