"""What a run reads beside the corpus: a run does not resume with other files, and never overwrites or reads its own."""

import importlib.metadata
import sys
from collections import Counter
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from pages import SIDED
from reference import first_lines, stopping_after

from w2vtrain import architectures, objectives
from w2vtrain.config import Settings
from w2vtrain.errors import ConfigError
from w2vtrain.leaves.compare import comparison
from w2vtrain.leaves.compare.contenders import contenders
from w2vtrain.registry import _outside
from w2vtrain.training.inputs import chunks_of

FIT = ["fit", "text.txt", "-o", "v.txt", "--vector-size", "6", "--epochs", "3", "--threads", "1", "--min-count", "20"]
CODE = "from w2vtrain.objectives.neg import *\n"


@pytest.fixture
def w2vtrain(w2vtrain_here, tmp_path, monkeypatch):
    """Return a function that runs a command line in a new folder with a text, and returns exit code and stderr."""
    monkeypatch.chdir(tmp_path)
    text = first_lines(300, tmp_path / "text.txt").read_text(encoding="utf-8")
    words = sorted(word for word, count in Counter(text.split()).items() if count >= 20)
    codes = [f"{place:08b}" for place in range(len(words))]
    for name, order in (("tree.txt", codes), ("other", codes[::-1])):
        (tmp_path / name).write_text("".join(f"{w} {c}\n" for w, c in zip(words, order, strict=True)))
    (tmp_path / "words.txt").write_text("".join(f"{word} 50\n" for word in words))
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "held.txt").write_text(text[:3000])

    def run(*words):
        monkeypatch.setattr("w2vtrain.registry._stamps", {})  # as in a new process
        code, _, err = w2vtrain_here(words, tmp_path)
        return code, err

    return run


CHANGES = [
    (["--objective", "hs", "-O", "tree=tree.txt"], "tree.txt", lambda path: path.with_name("other").read_bytes()),
    (["--objective", "mine.py"], "mine.py", lambda path: path.read_bytes() + b"# changed\n"),
    (["--heldout", "held.txt"], "held.txt", lambda path: path.read_bytes()[:1500]),
    (["--read-vocab", "words.txt"], "words.txt", lambda path: path.read_bytes().replace(b" 50\n", b" 51\n", 1)),
]


@pytest.mark.parametrize(("options", "name", "change"), CHANGES, ids=[name for _, name, _ in CHANGES])
def test_a_run_is_not_resumed_with_another_input(w2vtrain, tmp_path, monkeypatch, options, name, change):
    with monkeypatch.context() as patch:
        stopping_after(2, patch)
        code, said = w2vtrain(*FIT, *options)
    assert code == 75, said
    path = tmp_path / name
    before = path.read_bytes()
    path.write_bytes(change(path))
    named = options if name == "mine.py" else []
    for words in ([*FIT, *options], ["resume", "v.txt.run", *named]):
        code, said = w2vtrain(*words)
        assert (code, "changed since the run began" in said) == (65, True), said
        assert options[0] != "--read-vocab" or "or another vocabulary" in said
    path.write_bytes(before)
    code, said = w2vtrain("resume", "v.txt.run", *named)
    assert code == 0, said


def test_a_new_file_with_the_name_of_an_option_does_not_prevent_resuming(w2vtrain, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stopping_after(2, patch)
        assert w2vtrain(*FIT, "--objective", "hs")[0] == 75
    (tmp_path / "huffman").write_text("notes on trees\n")
    code, said = w2vtrain("resume", "v.txt.run")
    assert code == 0, said


@pytest.fixture
def entry_points(monkeypatch):
    """Register the objective `ours` and the architecture `two-sided`, as a package would; forget both later."""
    entries = [
        EntryPoint("ours", "my_package.ranking", objectives.REGISTRY.package),
        EntryPoint("two-sided", "my_package.sided", architectures.REGISTRY.package),
    ]
    groups, installed = {entry.group for entry in entries}, importlib.metadata.entry_points

    def found(**asked):
        """Numba asks for other groups, when it compiles for the first time."""
        group = asked.get("group")
        return [entry for entry in entries if entry.group == group] if group in groups else installed(**asked)

    monkeypatch.setattr("importlib.metadata.entry_points", found)
    for of in (objectives, architectures):
        vars(of.REGISTRY).pop("loaders", None)
    yield
    monkeypatch.undo()
    for of in (objectives, architectures):
        vars(of.REGISTRY).pop("loaders", None)


@pytest.fixture
def package(tmp_path, monkeypatch, entry_points):
    """Return the folder of the package my_package, whose class of an objective has a base in another module."""
    folder = tmp_path / "my_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "base.py").write_text("class Base:\n    pass\n")
    (folder / "ranking.py").write_text(
        "from w2vtrain.objectives.softmax import DEFAULTS, Softmax\n\nfrom my_package.base import Base\n\n\n"
        "class Mine(Base, Softmax):\n    pass\n\n\nOBJECTIVE = Mine\n"
    )
    (folder / "sided.py").write_text(SIDED)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for of in (objectives, architectures):
        for name in ("ours", "two-sided", "my_package.ranking", "my_package.sided"):
            of.REGISTRY._checked.pop(name, None)
    _outside.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "my_package"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("options", "file"),
    [
        (["--objective", "my_package.ranking"], "ranking.py"),
        (["--objective", "my_package.ranking"], "base.py"),
        (["--objective", "ours"], "ranking.py"),
        (["--objective", "softmax", "--architecture", "my_package.sided"], "sided.py"),
        (["--objective", "softmax", "--architecture", "two-sided"], "sided.py"),
    ],
)
def test_a_run_is_not_resumed_with_other_code_in_a_module(w2vtrain, package, monkeypatch, options, file):
    with monkeypatch.context() as patch:
        stopping_after(2, patch)
        code, said = w2vtrain(*FIT, *options)
    assert code == 75, said
    before, named = (package / file).read_text(encoding="utf-8"), options[-2:] if "." in options[-1] else []
    (package / file).write_text(before + "# changed\n", encoding="utf-8")
    code, said = w2vtrain("resume", "v.txt.run", *named)
    assert (code, f"{options[-1]} changed since the run began" in said) == (65, True), said
    (package / file).write_text(before, encoding="utf-8")
    code, said = w2vtrain("resume", "v.txt.run", *named)
    assert code == 0, said


def test_a_result_of_other_code_of_an_entry_point_is_not_reused(tmp_path, package, monkeypatch):
    monkeypatch.setattr(comparison, "_train_apart", lambda *_: {"failed": "training diverged", "exit_code": 76})
    settings = Settings(vector_size=8, epochs=1, threads=1)
    folder = tmp_path / "compared"

    def compared():
        about = {"settings": settings, "contenders": contenders("ours, neg"), "seeds": 1}
        return comparison.train_all(comparison.Comparison(["text"], "held", folder, **about), lambda _: None)

    contents = [result["job"]["contents"] for result in compared()]
    assert [list(found) for found in contents] == [["ours"], []], "objectives of the package are no input"
    compared()
    (package / "ranking.py").write_text((package / "ranking.py").read_text(encoding="utf-8") + "# changed\n")
    with pytest.raises(ConfigError, match="what it was trained or scored with has changed since"):
        compared()


def test_a_corpus_that_changed_is_named_rather_than_the_held_out_text(w2vtrain, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stopping_after(2, patch)
        assert w2vtrain(*FIT, "--heldout", "held.txt")[0] == 75
    (tmp_path / "text.txt").write_text((tmp_path / "text.txt").read_text(encoding="utf-8")[:-3000], encoding="utf-8")
    code, said = w2vtrain("resume", "v.txt.run")
    assert (code, "the corpus changed since the run began: " in said, "text.txt had" in said) == (65, True, True), said


def test_a_corpus_may_be_deleted_once_it_was_read(w2vtrain, tmp_path, monkeypatch):
    def read(*inputs):
        (tmp_path / "text.txt").unlink()
        return chunks_of(*inputs)

    monkeypatch.setattr("w2vtrain.training.trainer.chunks_of", read)
    code, said = w2vtrain(*FIT)
    assert code == 0, said


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that not even root can read")
def test_a_file_with_the_name_of_a_default_is_no_input(w2vtrain, tmp_path):
    (tmp_path / "huffman").symlink_to("/proc/self/mem")
    code, said = w2vtrain(*FIT, "--objective", "hs")
    assert code == 0, said


@pytest.mark.parametrize(("options", "name", "_"), CHANGES, ids=[name for _, name, _ in CHANGES])
def test_an_input_is_never_overwritten(w2vtrain, tmp_path, options, name, _):
    before = (tmp_path / name).read_bytes()
    code, said = w2vtrain(*FIT, *options, "--save-vocab", name, "--force")
    assert (code, f"{name}: is both input and output" in said) == (2, True), said
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize(
    "more", [["-o", "corpus/v.txt"], ["-o", "v.txt", "--run", "corpus/run"], ["--log-json", "corpus/l"]]
)
def test_what_a_run_writes_is_outside_of_its_texts(w2vtrain, tmp_path, more):
    """Otherwise, the run folder, and the vectors of the run before, would be read as text."""
    (tmp_path / "corpus").mkdir()
    (tmp_path / "text.txt").rename(tmp_path / "corpus/text.txt")
    for source, place in (("corpus", "is inside corpus"), ("corpus/*", "matches corpus/*")):
        trained, scored = [FIT[0], source, *FIT[2:], *more], [FIT[0], "held.txt", *FIT[2:], *more, "--heldout", source]
        for words in (trained, scored):
            code, said = w2vtrain(*words)
            assert (code, f"{place}, whose files are read as text" in said) == (2, True), said
    assert [path.name for path in (tmp_path / "corpus").iterdir()] == ["text.txt"]


def test_a_run_folder_is_named_to_resume_and_is_no_text(w2vtrain, monkeypatch):
    with monkeypatch.context() as patch:
        stopping_after(2, patch)
        assert w2vtrain(*FIT)[0] == 75
    code, said = w2vtrain("resume", "v.txt")
    assert (code, "the run folder of this output is " in said) == (66, True), said
    for sources in (["text.txt", "v.txt.run"], ["*"], ["text.txt", "v.txt.run", "--column", "text"]):
        code, said = w2vtrain("fit", *sources, "-o", "w.txt", "-q")
        assert (code, "v.txt.run: is a run folder, not text: leave it out; `w2vtrain resume" in said) == (2, True), said


# what training came to


def test_weight_decay_that_leaves_nothing_is_an_error(w2vtrain):
    code, said = w2vtrain(*FIT, "--weight-decay", "1", "--alpha", "1", "--sample", "0", "--epochs", "9")
    assert code in (65, 76), said
    assert "lower --weight-decay (1)" in said or "diverged" in said


def test_weight_decay_that_leaves_almost_nothing_of_rare_words_is_an_error(w2vtrain):
    code, said = w2vtrain("fit", "text.txt", "-o", "v.txt", "--epochs", "1", "--threads", "1", "--weight-decay", "0.05")
    assert (code, "input vectors to almost 0: lower --weight-decay (0.05)" in said) == (65, True), said


def test_a_run_with_held_out_text_whose_best_epoch_diverged_is_an_error(w2vtrain, tmp_path):
    (tmp_path / "text.txt").write_text("".join("the " * 100 + f"x{i}\n" for i in range(10)))
    (tmp_path / "held.txt").write_text("the the the x1\n")
    settings = ["--objective", "softmax", "--architecture", "cbow", "--alpha", "1e6", "--no-shrink-windows"]
    words = [*[word.replace("20", "1") for word in FIT], *settings, "--heldout", "held.txt"]
    code, said = w2vtrain(*words)
    assert (code, "diverged" in said, "try --alpha 0.1 or less, with --force" in said) == (76, True, True), said
    assert w2vtrain(*words, "--alpha", "0.1")[0] == 78
    assert w2vtrain(*words, "--alpha", "0.1", "--force")[0] == 0


def test_a_window_longer_than_a_block_can_be_compiled(w2vtrain):
    settings = [
        "--architecture",
        "vlbl",
        "--objective",
        "softmax",
        "--sentence-end",
        "--window",
        "200",
        "--alpha",
        "0.001",
    ]
    code, said = w2vtrain(*FIT, *settings, "--epochs", "1")
    assert code == 0, said
