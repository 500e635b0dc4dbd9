"""Compilation is announced; code that Numba cannot compile is reported with the user's own line and the reason."""

import json
import logging
import threading
from pathlib import Path

import numpy as np
import pages
import pytest
import reference
from numba.core.errors import NumbaError
from pages import RANKING, SIDED, allowed

import w2vtrain
from w2vtrain import architectures, objectives
from w2vtrain.architectures.contract import Layout
from w2vtrain.errors import ConfigError
from w2vtrain.kernels import jit
from w2vtrain.kernels.jit import kernel
from w2vtrain.objectives.contract import Candidates, Window
from w2vtrain.text import counting
from w2vtrain.training import trainer
from w2vtrain.training.compiling import compile_engine

IMPORT = "from w2vtrain.kernels.jit import inline"
DRAW = "rows[j] = draw_below(rng, self.size)"
TOTAL = "target, total = logits[i, 0], 0.0"
HELPER = '''

@inline
def helped(x):
    """Return x."""
    return {}


OBJECTIVE = Ranking
'''


@kernel()
def _window(architecture, objective, w_in, sentence, rng, window, found, logits, hidden):
    """Call the methods that the window engine calls, but without its loops, so that this compiles in a second."""
    objective.candidates(sentence, 0, rng, found.rows, found.labels, found.shifts)
    architecture.forward(w_in, window, 0, hidden)
    loss = 0.0
    loss += objective.errors(logits, window, found, np.float32(0.1))
    architecture.backward(w_in, window, 0, hidden, np.float32(1))
    return loss


class Engine:
    """An engine that compiles one call of each method."""

    def __init__(self, objective, architecture):
        self.parts = architecture, objective

    def compile(self):
        ints, floats = np.zeros(32, np.int32), np.zeros(32, np.float32)
        found, lines = Candidates(ints, floats, floats.copy(), 6), np.zeros((1, 32), np.float32)
        _window(*self.parts, lines, ints, np.zeros(2, np.uint64), Window(ints, 1, 0), found, lines.copy(), lines.copy())


def refused(folder, objective=None, architecture=None):
    """Compile the code of an objective or architecture together with a shipped one; return the error message."""
    name = allowed(folder, objective or architecture, objectives if objective else architectures)
    built = objectives.build(name if objective else "neg", reference.problem_of([5, 3, 2]), {})
    made = architectures.build(name if architecture else "skipgram", Layout(2, 8, 8), {})
    with pytest.raises(ConfigError) as caught:
        compile_engine(Engine(built, made), built, made)
    assert isinstance(caught.value.__cause__, NumbaError), "--debug shows Numba's message"
    return str(caught.value)


def place(code, line):
    """Return the beginning of a message about a line of a module."""
    number = next(n for n, text in enumerate(code.splitlines(), 1) if text.strip() == line)
    return f"mine.py, line {number}: `{line}` cannot be compiled: "


@pytest.mark.parametrize(
    ("old", "line", "reason"),
    [
        (TOTAL, "target, total = nosuch(logits[i, 0]), 0.0", "NameError: name 'nosuch' is not defined"),
        (DRAW, "rows[j] = nosuch(rng)", "NameError: name 'nosuch' is not defined"),
        (TOTAL, "target, total = logits[i, 0], self.nosuch", "Unknown attribute 'nosuch' of type Ranking"),
        (DRAW, "rows[j] = sentence.nosuch", "Unknown attribute 'nosuch' of type array(int32, 1d, C)"),
        (DRAW, "rows[j] = draw_below(rng)", "Numba has no implementation of draw_below(array(uint64, 1d, C))"),
        (
            TOTAL,
            'target, total = logits[i, "one"], 0.0',
            "Numba has no implementation of getitem(array(float32, 2d, C)",
        ),
        (TOTAL, "target, total = np.zeros(3)[0], 0.0", "kernels cannot create arrays"),
    ],
)
def test_the_message_shows_the_line_at_fault(tmp_path, old, line, reason):
    kept = f"\n            {TOTAL}" if old == TOTAL else ""
    code = pages.changed(RANKING, (old, line + kept))
    said = refused(tmp_path, code)
    assert said.startswith(place(code, line) + reason)
    assert said.endswith(" (error.__cause__ shows Numba's full message)")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [("nosuch(x)", "NameError: name 'nosuch' is not defined"), ('x + "one"', "Numba has no implementation of add(")],
)
def test_the_message_shows_a_line_of_a_helper_function(tmp_path, value, reason):
    """It shows the line in the user's function that a method calls, not the line that calls it."""
    code = pages.changed(
        RANKING,
        (DRAW, "rows[j] = helped(sentence[position])"),
        ("\n\nOBJECTIVE = Ranking\n", HELPER.format(value)),
        ("import numpy as np\n", f"import numpy as np\n\n{IMPORT}\n"),
    )
    assert refused(tmp_path, code).startswith(place(code, f"return {value}") + reason)


def test_a_user_file_is_not_confused_with_another_file_of_the_same_name(tmp_path):
    """The objective's file has the name of this test file, which contains the kernel."""
    own = allowed(tmp_path, RANKING, objectives, Path(__file__).name)
    code = pages.changed(SIDED, ("change = step * gradient[0, c]", "change = row.nosuch"))
    built = objectives.build(own, reference.problem_of([5, 3, 2]), {})
    made = architectures.build(allowed(tmp_path, code, architectures, "sided.py"), Layout(2, 8, 8), {})
    with pytest.raises(ConfigError, match=r"^sided\.py, line \d+: `change = row\.nosuch`"):
        compile_engine(Engine(built, made), built, made)


def test_an_error_outside_the_user_code_names_the_class(tmp_path):
    """`errors` returns a string, which its caller cannot add: no line of the user's code fails to compile."""
    said = refused(tmp_path, pages.changed(RANKING, ("return loss", 'return "x"')))
    assert said.startswith("Ranking cannot be compiled: Numba has no implementation of ")


@pytest.mark.parametrize("old", ["hidden[0, c] = side[c] * row[c]", "row[c] += change * side[c]"])
def test_the_message_shows_a_line_of_an_architecture(tmp_path, old):
    code = pages.changed(SIDED, (old, "row.nosuch = 1"))
    said = refused(tmp_path, architecture=code)
    assert said.startswith(place(code, "row.nosuch = 1"))


def test_an_undefined_name_is_found_in_the_user_file_not_in_a_shipped_objective(tmp_path):
    """Negative sampling has a variable `word`, but the architecture does not define that name."""
    code = pages.changed(SIDED, ("change = step * gradient[0, c]", "change = word"))
    assert refused(tmp_path, architecture=code).startswith(place(code, "change = word"))


def test_an_error_in_the_package_itself_is_an_internal_error():
    @kernel()
    def broken(x):
        return x.nosuch

    class Broken:
        def compile(self):
            broken(1)

    shipped = objectives.build("neg", reference.problem_of([5, 3, 2]), {})
    with pytest.raises(NumbaError):
        compile_engine(Broken(), shipped, architectures.build("skipgram", Layout(2, 8, 8), {}))


@pytest.mark.parametrize("command", ["objectives", "fit"])
@pytest.mark.parametrize("debug", [False, True])
def test_commands_show_the_line_at_fault_and_exit_with_78(tmp_path, w2vtrain_here, command, debug):
    """The error is one line; --debug adds Numba's full message."""
    code = pages.changed(RANKING, (DRAW, "rows[j] = sentence.nosuch"))
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    (tmp_path / "text.txt").write_text("a b c d\n" * 20, encoding="utf-8")
    words = {
        "objectives": ["objectives", "check", "./mine.py"],
        "fit": ["fit", "text.txt", "-o", "out.txt", "--objective", "./mine.py", "--min-count", "1", "--quiet"],
    }[command]
    exit_code, _, said = w2vtrain_here([*words, *(["--debug"] if debug else [])], tmp_path)
    assert exit_code == 78
    assert said.splitlines()[-1].startswith(f"w2vtrain: error: {place(code, 'rows[j] = sentence.nosuch')}Unknown attri")
    assert ("During: resolving callee type" in said) is debug
    assert debug or len([line for line in said.splitlines() if "error" in line]) == 1
    assert not (tmp_path / "out.txt").exists()


READER = "compiling the reader once for this processor"
TRAINING = "compiling skipgram with neg once for this processor"
SMALL = {"vector_size": 8, "epochs": 1, "min_count": 1, "threads": 1}


@pytest.fixture
def uncached(monkeypatch):
    """Let a run compile a kernel that no cache has, while a thread reads and before it trains."""

    def compiled():
        @kernel()
        def one():
            return 1

        return one()

    monkeypatch.setattr(jit, "cache_folder", lambda: None)
    read, compile_all = counting.Counting._work, trainer.compile_engine
    monkeypatch.setattr(counting.Counting, "_work", lambda *arguments: (compiled(), read(*arguments))[1])
    monkeypatch.setattr(trainer, "compile_engine", lambda *arguments: (compiled(), compiled(), compile_all(*arguments)))


def test_compilation_is_announced_once_each_for_reading_and_training(tmp_path, uncached, caplog, capsys, w2vtrain_here):
    """By an event, the log and the progress bar in Python, and by a line and an event of the log in the shell."""
    text, said = tmp_path / "text.txt", []
    text.write_text("a b c d e f g h\n" * 100)

    def heard(sentence):
        assert threading.current_thread() is threading.main_thread()
        said.append(sentence)

    with caplog.at_level(logging.INFO, "w2vtrain"):
        w2vtrain.train(text, events=w2vtrain.Events(compiling=heard), progress=True, **SMALL)
    assert said == [READER, TRAINING]
    assert [record.getMessage() for record in caplog.records] == [READER, TRAINING]
    shown = capsys.readouterr().err
    assert READER in shown
    assert TRAINING in shown
    command = ["fit", text, "-o", "v.txt", "--min-count", "1", "--log-json", "log"]
    assert f"kernel      {TRAINING}\n" in w2vtrain_here(command, tmp_path)[2]
    events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [event["message"] for event in events if event["event"] == "compiling"] == [READER, TRAINING]


def test_training_with_the_interface_of_gensim_logs_compilation(uncached, caplog):
    with caplog.at_level(logging.INFO, "w2vtrain"):
        w2vtrain.Word2Vec([["a", "b", "c", "d"]] * 20, vector_size=8, min_count=1, workers=1, sg=1)
    assert [record.getMessage() for record in caplog.records].count(TRAINING) == 1


def test_nothing_is_announced_or_printed_if_nothing_is_compiled(tmp_path, caplog, capfd):
    """A program that has not configured logging sees nothing either way, as with gensim."""
    text, said = tmp_path / "text.txt", []
    text.write_text("a b c d e f g h\n" * 100)
    w2vtrain.train(text, **SMALL)  # compiles what the cache does not have
    with caplog.at_level(logging.INFO, "w2vtrain"):
        w2vtrain.train(text, events=w2vtrain.Events(compiling=said.append), **SMALL)
    assert not said
    assert not caplog.records
    assert capfd.readouterr() == ("", "")
