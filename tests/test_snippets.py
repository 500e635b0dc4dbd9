"""Every command and snippet of README.md and docs/ runs as shown.

The modules that docs/adding-*.md build step by step are tested by test_docs.py.
"""

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import bench
import click
import pytest
from snippets import LONG, PAGES, ROOT, Block, blocks, checkout, commands, fake_word2vec

from w2vtrain.cli import cli
from w2vtrain.config import resolve

GUIDED = {"docs/adding-an-objective.md", "docs/adding-an-architecture.md"}
"""Pages that test_docs.py runs."""
NOT_RUN = ("make ", "pip install .")
"""Commands that install. CI runs the targets of `make`; nothing runs `pip install .`."""
OTHERS = {"gensim": "(import|from) gensim", "annoy": "annoy", "wefe": "from wefe", "igraph": "import igraph"}
"""Packages that need not be installed: Python code in which a pattern is found runs only where they are."""
SIMILAR = {
    "docs/index.md", "docs/start.md", "docs/guides/batch-jobs.md", "docs/how-word2vec-learns.md",
    "docs/guides/evaluation.md", "docs/guides/pictures.md", "docs/guides/language-models.md", "docs/fasttext.md",
    "docs/objectives.md", "docs/guides/graphs.md", "docs/guides/documents.md", "docs/guides/large-corpora.md",
    "docs/guides/sessions.md", "docs/guides/data.md", "docs/guides/resuming.md",
    "docs/guides/phrases.md", "docs/guides/report.md", "docs/guides/taking-vectors-along.md", "docs/gensim.md",
    "docs/distributed.md", "docs/guides/extending.md",
}  # fmt: skip
"""Pages that only slow tests run: what they show is also run by other pages and by tests of the quick suite."""


def pages_with(*languages: str) -> list[str]:
    return [p for p in PAGES if p not in GUIDED and any(b.language in languages for b in blocks(p))]


def run(command: str, folder: Path, environment: dict[str, str], code: int = 0) -> None:
    """Run a command line in a folder. It must end with the exit code."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, f"{command}\n{done.stderr}"


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
@pytest.mark.parametrize(
    ("page", "corpus"),
    [
        *((page, "short") for page in pages_with("sh", "python") if page not in SIMILAR),
        *(pytest.param(page, "whole", marks=pytest.mark.slow) for page in pages_with("sh", "python")),
    ],
)
def test_commands_and_python_of_a_page_run_in_order(page, corpus, tmp_path):
    """Each page has one folder, since later commands use what earlier ones wrote. Quick runs train for a moment."""
    environment = checkout(tmp_path, 1000) if corpus == "short" else checkout(tmp_path, None)
    for block in blocks(page):
        if block.language == "python":
            if any(re.search(use, block.text) and not importlib.util.find_spec(name) for name, use in OTHERS.items()):
                continue
            done = subprocess.run(
                [sys.executable, "-c", block.text], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{block.text}\n{done.stderr}"
        if block.language != "sh" or block.text.startswith(LONG):
            continue
        for command in commands(block):
            if command.startswith(NOT_RUN):
                continue
            if corpus == "short":
                if command.startswith("w2vtrain compare"):  # which test_comparison.py runs
                    check_options(command)
                    continue
                command = re.sub(r"--seconds \d+", "--seconds 0.5", command)
                if not re.search("--epochs|^stopped", command):
                    command = re.sub("^w2vtrain (fit|compare) ", r"\g<0>--epochs 2 ", command)
            run(command, tmp_path, environment, code=75 if command.startswith("stopped ") else 0)


SCRIPTS = {"benchmarks/bench.py": bench.command}
"""The scripts whose options are checked."""


def long_blocks() -> list[Block]:
    return [b for p in PAGES for b in blocks(p) if b.language == "sh" and b.text.startswith(LONG)]


@pytest.mark.parametrize("command", [line for block in long_blocks() for line in commands(block)])
def test_long_commands_parse(command):
    check_options(command)


def check_options(command):
    """Check options, choices and ranges of a command line; files are not opened."""
    assert "\\ " not in command, "a line ends behind its backslash"
    program, *words = shlex.split(command)
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
        return
    if program == "python":
        assert (ROOT / words[0]).is_file()
        if script := SCRIPTS.get(words[0]):
            script.make_context(words[0], words[1:]).close()
        return
    assert program in ("w2vtrain", "head", "tail")
    parser: click.Command = cli
    while program == "w2vtrain" and isinstance(parser, click.Group):
        name, *words = words
        parser = parser.commands[name]
        if not isinstance(parser, click.Group):
            parser.make_context(name, words).close()


SMALLER = {r"--seeds \d+": "--seeds 1", r"--epochs [\d,]+": "--epochs 1", r"epochs=\d+": "epochs=1"}
SMALLER |= {r"--seconds \d+": "--seconds 1", r"docs/accuracy\.png": "plot.png"}
SMALLER |= {r"vector-size \d+": "vector-size 16", r"size=4096": "size=16", r"--keys \d+": "--keys 2000"}
SMALLER |= {r"--tune-seconds \d+": "--tune-seconds 1"}
ELSEWHERE = (" dict ", "gensim_suite.py")
"""Words in commands that need files from elsewhere."""


def smaller(command: str) -> str:
    """Return a command that trains for one seed, epoch or second. Objectives that are then equal are named once."""
    for pattern, replacement in SMALLER.items():
        command = re.sub(pattern, replacement, command)
    return re.sub(r'(--objectives\s+")([^"]*)', lambda m: m[1] + ", ".join(dict.fromkeys(listed(m[2]))), command)


def listed(names: str) -> list[str]:
    """Divide a list of objectives at the commas that are not in parentheses."""
    return [" ".join(name.split()) for name in re.split(r",(?![^(]*\))", names.replace("\\\n", ""))]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
@pytest.mark.parametrize(
    "block",
    [
        block for block in long_blocks()
        if not block.text.splitlines()[1].startswith("make ") and not any(word in block.text for word in ELSEWHERE)
    ],
)  # fmt: skip
def test_long_commands_run_on_a_small_corpus(block, tmp_path):
    """Corpora and programs are stand-ins, and commands run for one seed, epoch or second."""
    environment = checkout(tmp_path)
    text = (ROOT / "data/simplewiki.txt").read_text(encoding="utf-8")[:200_000].lower()
    for command in map(smaller, commands(block)):
        made = re.findall(r"(?:-o|>) (\S+)", command)
        for name in re.findall(r"(?<![\w/.=])[\w.]+\.txt", command):
            if name not in made and not (tmp_path / name).exists():
                (tmp_path / name).write_text(text, encoding="utf-8")
        for name in re.findall(r"--program [\w.]+=(\S+)", command):
            fake_word2vec(tmp_path / name)
        run(command, tmp_path, environment)


@pytest.mark.parametrize("page", pages_with("toml"))
def test_toml_snippets_are_valid_settings(page, tmp_path):
    for block in blocks(page):
        if block.language == "toml":
            (tmp_path / "settings.toml").write_text(block.text, encoding="utf-8")
            resolve({}, {}, tmp_path / "settings.toml")


def test_make_commands_on_the_pages_are_makefile_targets():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    shown = {
        w for p in PAGES for b in blocks(p) if b.language == "sh" for w in re.findall(r"^make ([\w-]+)", b.text, re.M)
    }
    assert {"demo", "test"} <= shown
    for verb in shown:
        assert re.search(rf"^{verb}:", makefile, re.M), verb
