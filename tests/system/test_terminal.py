"""Tests of output to terminals, pipes and closed streams, and the entry point."""

import ast
import errno
import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import forked
import numpy as np
import pytest
from reference import first_lines
from signaled import on_terminal

import w2vtrain
from w2vtrain.commands.shell import explained
from w2vtrain.embeddings.model import Model, save_model
from w2vtrain.system import terminal
from w2vtrain.system.terminal import escaped, escaped_line
from w2vtrain.training.state import PerplexityScore

COMMAND = [sys.executable, "-m", "w2vtrain"]
PACKAGE = Path(w2vtrain.__file__).parent
SMALL = ["--vector-size", "8", "--epochs", "1", "--threads", "1", "-q"]
posix = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
linux = pytest.mark.skipif(sys.platform != "linux", reason="file names are Unicode elsewhere")
# A terminal escape sequence, an 8-bit control character, and a character that reverses the text direction.
EVIL = ["\x1b]0;title\x07", "\x9b31m", "\u202eevil"]
SHOWN = ["\\x1b]0;title\\x07", "\\x9b31m", "\\u202eevil"]


def shown(*arguments, code=0):
    """Return what a command prints on a terminal, to stdout and stderr together."""
    ended, text = on_terminal([*COMMAND, *arguments])
    assert ended == code, text
    return text.replace("\r\n", "\n")


def piped(*arguments, code=0, stdin=b"", **options):
    """Return the bytes that a command writes to stdout and to stderr."""
    words = [*COMMAND, *map(os.fsdecode, arguments)]
    run = forked.run(words, input=stdin, capture_output=True, check=False, **options)
    assert run.returncode == code, run.stderr
    return run.stdout, run.stderr


def in_shell(redirections, *arguments, **options):
    """Run a command with shell redirections, such as a closed stream."""
    command = ["sh", "-c", f'exec "$@" {redirections}', "sh", *COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return first_lines(300, tmp_path_factory.mktemp("corpus") / "text.txt")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "v.txt"
    path.write_text("4 2\n" + "".join(f"{word} 1 0.{k}\n" for k, word in enumerate(["king", *EVIL])))
    return path


@pytest.fixture
def foreign(tmp_path):
    """Return the path of a model whose record contains control characters and lines that imitate the output of info."""
    ones, path = np.ones((2, 2), np.float32), tmp_path / "model"
    record = {"note": "\x1b[2J\nformat 1", "a\nwords": "7", "list": [{"x": "y\nz"}], "half": "\ud800"}
    save_model(path, Model(["a", "b"], np.array([2, 1]), ones, ones, settings={"objective": "neg"}, record=record))
    return path


# control characters


def test_control_characters_are_escaped_and_other_text_is_unchanged():
    evil = "".join(map(chr, [*range(0x20), 0x7F, *range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]))
    safe = escaped(evil)
    assert safe.replace("\n", "").isprintable() is False, "the tab is kept"
    assert safe.replace("\n", "").replace("\t", "").isprintable()
    assert escaped("\x1b\x9b\u202e\udcff\ud800") == "\\x1b\\x9b\\u202e\\xff\\ud800"
    plain = "naïve\tкот 猫 \\ \u00a0 🙂 \u200d\n"
    assert escaped(plain) == plain
    assert escaped_line("a\r\nb\u2028c\td") == "a\\x0d\\x0ab\\u2028c\td"


def test_words_are_escaped_only_on_a_terminal(vectors):
    text = shown("neighbors", str(vectors), "king")
    assert all(word in text for word in SHOWN)
    assert not any(word in text for word in EVIL)
    out, err = piped("neighbors", str(vectors), "king")
    assert all(word.encode() in out for word in EVIL)
    assert err == b""


def test_error_messages_usage_errors_and_tracebacks_are_escaped():
    for code, arguments in [(66, ["info", EVIL[0]]), (2, [EVIL[0]]), (66, ["info", EVIL[0], "--debug"])]:
        text = shown(*arguments, code=code)
        assert "\x1b" not in text
        assert "\\x1b" in text
        assert piped(*arguments, code=code)[1].splitlines()[-1].startswith(b"w2vtrain: error: ")
    assert b"\\x1b]0;title" in piped("info", EVIL[0], code=66)[1], "a log is read on a terminal later"
    assert b"error: two\\x0alines cannot be opened" in piped("info", "two\nlines", code=66)[1]


@linux
def test_names_that_are_not_utf_8_are_escaped_on_a_terminal_but_not_in_a_pipe():
    assert "\\xff\\x9b" in shown("info", b"\xff\x9b", code=66)
    assert b"\xff\x9b" in piped("info", b"\xff\x9b", code=66)[1]


def test_the_record_of_a_model_cannot_forge_output_lines(foreign):
    out = piped("info", str(foreign))[0].decode()
    lines = [line.split() for line in out.splitlines()]
    assert ["format", "1"] in lines
    assert len([line for line in lines if line[0] in ("format", "words")]) == 2
    assert "\x1b[2J\\x0aformat 1" in out
    assert "x y\\x0az" in out
    assert "half               \\ud800" in out
    text = shown("info", str(foreign))
    assert "\\x1b[2J\\x0aformat 1" in text
    assert "\x1b" not in text


def test_bytes_on_standard_output_are_escaped_only_on_a_terminal(tmp_path):
    corpus = tmp_path / "corpus"
    corpus.write_bytes(b"\x1b[2J " * 3 + b"\xc2\x9b31m " * 2 + "é".encode())
    out = piped("vocab", str(corpus), "--min-count", "1", "-q")[0]
    assert out == b"\x1b[2J 3\n\xc2\x9b31m 2\n\xc3\xa9 1\n"
    assert shown("vocab", str(corpus), "--min-count", "1", "-q") == "\\x1b[2J 3\n\\x9b31m 2\né 1\n"


def test_a_character_split_between_two_writes_is_printed_whole(monkeypatch):
    class Terminal(type(sys.stdout)):
        def isatty(self):
            return True

    screen = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(screen, encoding="utf-8"))
    with terminal.binary_output() as file:
        assert file.write(b"\xc3") == 1
        file.write(memoryview(b"\xa9\x1b\xff\xc2"))
        file.write(b"\x9b\xe2\x82")
    assert screen.getvalue().decode() == "é\\x1b\\xff\\x9b\\xe2\\x82"


# streams


@posix
@pytest.mark.parametrize(
    ("redirections", "arguments", "code", "message"),
    [
        (">&-", ["fit", "text.txt", "-o", "-", *SMALL], 74, "standard output cannot be written: Bad file descriptor"),
        (">&-", ["neighbors", "v.txt", "king"], 74, "standard output cannot be written: Bad file descriptor"),
        (">&-", ["--help"], 74, "standard output cannot be written: Bad file descriptor"),
        ("<&-", ["fit", "-", "-o", "w.txt", *SMALL], 66, "Bad file descriptor"),
        ("<&-", ["neighbors", "v.txt"], 66, "standard input cannot be read: Bad file descriptor"),
        ("<&-", ["neighbors", "-", "king"], 66, "standard input cannot be read: Bad file descriptor"),
        ("<&- >&-", ["neighbors", "v.txt", "king"], 74, "standard output cannot be written: Bad file descriptor"),
        ("2>&-", ["neighbors", "v.txt", "nosuchword"], 65, None),
        ("2>&-", ["fit", "text.txt", "-o", "w.txt", *SMALL[:-1]], 0, None),
        ("2>&-", ["resume", "w.txt.run"], 66, None),
    ],
)
def test_a_closed_stream_is_an_error_when_it_is_used(redirections, arguments, code, message, text, vectors, tmp_path):
    (tmp_path / "text.txt").write_bytes(text.read_bytes())
    (tmp_path / "v.txt").write_bytes(vectors.read_bytes())
    done = in_shell(redirections, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    if message is None:
        assert done.stderr == ""
    else:
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert message in done.stderr
    assert (tmp_path / "w.txt").exists() == ("fit" in arguments and code == 0)


@posix
def test_files_do_not_get_the_descriptors_of_closed_streams(vectors, tmp_path):
    """An output file opened as descriptor 2, for example, would receive the error messages."""
    program = (
        "import os; from w2vtrain.system.terminal import prepare_streams; prepare_streams(); "
        "os._exit(os.open(os.devnull, os.O_RDONLY) > 2)"
    )
    command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", program]
    assert subprocess.run(command, timeout=300).returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_standard_output_or_error(vectors, text, tmp_path, unbuffered):
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    for arguments in (
        (["--help"], ["neighbors", vectors, "king"]) if unbuffered else (["vocab", text, "-q"], ["objectives"])
    ):
        done = in_shell(">/dev/full", *arguments, env=env)
        assert done.returncode == 74
        assert done.stderr == "w2vtrain: error: standard output cannot be written: No space left on device\n"
    done = in_shell("2>/dev/full", "fit", text, "-o", tmp_path / "v.txt", *SMALL[:-1], env=env)
    assert done.returncode == 0
    assert in_shell("2>/dev/full", "info", tmp_path / "nowhere", env=env).returncode == 66


def test_an_os_error_without_a_file_name_does_not_blame_standard_output():
    code, message = explained(OSError(errno.ENOSPC, "No space left on device"))
    assert code == 74
    assert "standard output" not in message
    assert "No space left on device" in message


@posix
def test_a_full_folder_for_temporary_files_is_reported(vectors, tmp_path):
    program = 'ulimit -f 8; exec "$@"'
    command = ["sh", "-c", program, "sh", *COMMAND, "info", "-"]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, input=b"a 1\n" * 100_000, capture_output=True, env=env, timeout=300)
    assert done.returncode == 74
    assert done.stdout == b""
    line = done.stderr.decode()
    assert line.startswith(f"w2vtrain: error: {tmp_path} cannot be written: File too large")
    assert "TMPDIR" in line
    assert list(tmp_path.iterdir()) == []


# JSON


def strict_json(line):
    """Parse JSON as other programs do: NaN and infinities are errors."""

    def no_constant(name):
        raise AssertionError(name)

    return json.loads(line, parse_constant=no_constant)


def test_infinite_and_nan_perplexities_are_null_in_json(foreign, text, monkeypatch, w2vtrain_here, tmp_path):
    score = PerplexityScore(float("inf"), float("nan"), 1.0, 0.0, float("nan"), 5, 5, 0.1)
    monkeypatch.setattr("w2vtrain.training.perplexity.perplexity", lambda *_, **__: (score, None, 0.5))
    code, out, _ = w2vtrain_here(["perplexity", foreign, text, "--json", "-q"], tmp_path)
    assert code == 0
    found = strict_json(out)
    assert (found["perplexity"], found["unnormalized"], found["log_z_variance"]) == (None, None, None)
    assert found["coverage"] == 0.5


def test_every_way_to_start_the_program_uses_the_entry_point():
    root = PACKAGE.parent
    assert 'w2vtrain = "w2vtrain.__main__:main"' in (root / "pyproject.toml").read_text()
    assert "from w2vtrain.__main__ import main" in (root / "cli.py").read_text()
    tree = ast.parse((PACKAGE / "__main__.py").read_text())
    top = [name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names]
    assert set(top) <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.ImportFrom) for node in tree.body)


# the logger


def test_a_logged_warning_is_printed_on_one_line(monkeypatch, w2vtrain_here, tmp_path):
    def logs(*_, **__):
        logging.getLogger("w2vtrain").warning("two\nlines of %s", "text")
        logging.getLogger("w2vtrain.core").info("hidden")

    monkeypatch.setattr("w2vtrain.commands.objectives.print_objectives", logs)
    for _ in range(2):
        printed = w2vtrain_here(["objectives"], tmp_path)
        assert printed == (0, "", "w2vtrain: warning: two\\x0alines of text\n")
