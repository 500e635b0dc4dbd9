"""User code runs only if the command line names it, in every command that reads names from files."""

import pytest
from pages import RANKING, SIDED, SMOOTHED, changed
from reference import stopping

import w2vtrain
from w2vtrain import architectures, objectives
from w2vtrain.errors import ConfigError

TRAIN = ["fit", "text.txt", "-o", "out.txt", "--vector-size", "8", "--min-count", "1", "--epochs", "3"]
MARK = "\nfrom pathlib import Path\n\nPath('ran').touch()\n"


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a text."""
    (tmp_path / "text.txt").write_text("the cat sat on the mat and the dog sat on the cat\n" * 60)
    return tmp_path


@pytest.fixture
def fresh(w2vtrain_here, monkeypatch, folder):
    """Return a function that runs a command as a new process would, in which no code has been named yet."""

    def run(*words):
        for of in (architectures, objectives):
            monkeypatch.setattr(of.REGISTRY, "_allowed", set())
        code, out, said = w2vtrain_here(words, folder)
        return code, out + said

    return run


@pytest.mark.parametrize("kind", ["architecture", "objective"])
@pytest.mark.parametrize("source", ["file", "environment"])
@pytest.mark.parametrize("more", [[], ["--print-config"]])
def test_code_named_in_a_file_or_the_environment_does_not_run(fresh, folder, kind, source, more, monkeypatch):
    (folder / "mine.py").write_text({"architecture": SIDED, "objective": RANKING}[kind] + MARK)
    (folder / "mine.toml").write_text(f'{kind} = "./mine.py"\n')
    if source == "environment":
        monkeypatch.setenv(f"W2VTRAIN_{kind.upper()}", "./mine.py")
    code, said = fresh(*TRAIN, *more, *(["--config", "mine.toml"] if source == "file" else []))
    assert code == 78
    refusal = f"{kind} ./mine.py is code that the command line does not name: to run it, add --{kind} ./mine.py"
    assert said.splitlines()[-1] == f"w2vtrain: error: {refusal}"
    assert not (folder / "ran").exists()


def test_code_that_changes_the_working_folder_does_not_change_which_files_the_command_line_names(fresh, folder):
    (folder / "mine.py").write_text(RANKING + "\nimport os\n\nos.mkdir('inner')\nos.chdir('inner')\n")
    code, said = fresh(*TRAIN, "--objective", "./mine.py")
    assert code == 0, said
    assert (folder / "out.txt").exists()


def test_an_error_in_user_code_names_its_line(fresh, folder):
    (folder / "mine.py").write_text(changed(SMOOTHED, ("logits, lines, share = ", "logits, lines, share = nothing")))
    number = SMOOTHED[: SMOOTHED.index("logits, lines, share = ")].count("\n") + 1
    code, said = fresh(*TRAIN, "--objective", "./mine.py")
    line = f"w2vtrain: error: {folder.resolve() / 'mine.py'}, line {number}: error in user code: NameError: "
    assert (code, line in said) == (70, True), said


def test_architecture_code_of_models_and_runs_must_be_named_again(fresh, folder, monkeypatch):
    """tests/training/test_foreign_runs.py tests the same for objectives."""
    (folder / "sided.py").write_text(SIDED)
    words = [*TRAIN, "--objective", "softmax", "--save-model", "m.safetensors", "--run", "run"]

    with monkeypatch.context() as patch:
        patch.setattr("w2vtrain.commands.fit_run.train", stopping(1))
        code, said = fresh(*words, "--architecture", "./sided.py")
        assert code == 75, said
    for again in (
        ["export", "run", "-o", "vectors.txt"],
        ["resume", "run"],
        ["perplexity", "m.safetensors", "text.txt"],
    ):
        code, said = fresh(*again)
        assert code == 78, said
        assert "sided.py is code that the command line does not name: to run it, add --architecture ./sided.py" in said
        code, said = fresh(*again, "--architecture", "./other.py")
        assert code == 78, said
        code, said = fresh(*again, "--architecture", "./sided.py")
        assert code == 0, said


def test_architectures_are_listed_and_explained(fresh, folder):
    code, out = fresh("architectures")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(architectures.architectures())
    assert all("=" in line for line in out.splitlines()), "each line has a formula"
    (folder / "sided.py").write_text(SIDED)
    for name, paper in (("vlbl", "Mnih & Kavukcuoglu 2013"), ("./sided.py", "Mnih & Kavukcuoglu 2013")):
        code, out = fresh("architectures", name)
        assert code == 0
        assert out.startswith(f"{name}\n")
        assert paper in out
    code, said = fresh("architectures", "check", "nosuch")
    assert code == 78
    assert "architecture 'nosuch': choose one of cbow" in said


def test_code_that_is_refused_has_run_once(fresh, folder):
    """Several checks of `fit` need the objective, and their messages are joined."""
    (folder / "broken.py").write_text("from pathlib import Path\nprint('x', file=Path('runs').open('a'))\n")
    code, said = fresh("fit", "text", "-o", "v.txt", "--objective", "./broken.py", "--block", "3")
    assert code == 78
    assert said.count("the module has no OBJECTIVE") == 1
    assert (folder / "runs").read_text() == "x\n"


@pytest.mark.parametrize("name", ["mine.py", "package.mine"])
def test_code_that_has_changed_since_it_was_loaded_is_refused_when_it_is_named(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / f"{name.removesuffix('.py').replace('.', '/')}.py"
    file.parent.mkdir(exist_ok=True)
    settings = {"objective": name, "vector_size": 8, "epochs": 1, "sample": 0}
    sentences = [["a", "b", "c"]] * 50
    file.write_text("an error")
    with pytest.raises(ConfigError, match="SyntaxError"):
        w2vtrain.train(sentences, **settings)
    file.write_text(RANKING)  # nothing of the file was loaded yet
    model = w2vtrain.train(sentences, **settings)
    file.write_text(f"{RANKING}\n")
    with pytest.raises(ConfigError, match=f"{name}: the file has changed since it was loaded: start Python again"):
        w2vtrain.train(sentences, **settings)
    w2vtrain.continue_training(model, sentences, 1)  # names no code


def test_a_run_takes_over_what_code_has_learned_whichever_path_leads_to_it(fresh, folder):
    (folder / "mine.py").write_text(RANKING)
    code, said = fresh(*TRAIN, "--objective", "mine.py", "--alpha", "0.02", "--save-model", "m.safetensors")
    assert code == 0, said
    more = ["fit", "text.txt", "-o", "more.txt", "--init-from", "m.safetensors", "--objective", "./mine.py"]
    code, said = fresh(*more)
    assert code == 0, said
    assert "alpha 0.02" in said
    assert "took input, output" in said
