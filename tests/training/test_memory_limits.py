"""Little address space (ulimit -v): a run fits, or ends with 71 and one line; it never spins and never aborts."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds to RLIMIT_AS")

TEXT = Path(__file__).parents[2] / "data/simplewiki.txt"
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv.pop(1)),) * 2)
from w2vtrain.cli import main
main()
"""


def limited(limit, *words, data=()):
    """Exit code, stdout and stderr of a command that may take so many bytes of addresses; data: for its stdin."""
    command = [sys.executable, "-c", LIMITED, str(limit), *map(str, words)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        for block in data:
            process.stdin.write(block)
        out, err = process.communicate(timeout=300)
    return process.returncode, out.decode(), err.decode()


def fit(folder, *more, text=TEXT):
    return ["fit", text, "-o", folder / "v.bin", "--force", "-q", "--epochs", "1", "--threads", "2", *more]


def refused(code, said):
    """Whether it was, in one line."""
    assert code in (0, 71), said
    assert len(said.splitlines()) == (code == 71), said
    return code == 71


@pytest.mark.parametrize("words", [["vocab", TEXT], ["fit", TEXT, "-o", "v.bin"], ["resume", "run"]])
def test_too_small_a_limit_is_told_before_anything_is_tried(tmp_path, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, said = limited(400 << 20, *words)
    assert refused(code, said)
    assert "the limit on the address space is 400 MiB" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_every_limit_is_enough_or_told(tmp_path):
    limits = [*range(200, 800, 100), *range(800, 1100, 25)]
    told = [refused(*limited(limit << 20, *fit(tmp_path))[::2]) for limit in limits]
    assert told == sorted(told, reverse=True), "more room never does harm"
    assert told[0]
    assert not told[-1]


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["neg", "sampled-softmax"])
def test_every_size_fits_or_is_told(tmp_path, objective):
    sizes = [100, 500, 1000, 2000, 3000, 4000, 5000, 6000, 8000]
    more = [["--vector-size", size, "--objective", objective, "--seconds", "1"] for size in sizes]
    told = [refused(*limited(1 << 30, *fit(tmp_path, *words))[::2]) for words in more]
    assert not told[0]
    assert told[-1]


def line(words):
    """A line of 1 GiB, in blocks."""
    block = b"".join(b"%039d " % (i % words) for i in range(1 << 15))
    return itertools.repeat(block, (1 << 30) // len(block))


@pytest.mark.slow
def test_a_line_of_a_gigabyte(tmp_path):
    code, _, said = limited(1 << 30, *fit(tmp_path, "--vector-size", "10", "--seconds", "2", text="-"), data=line(1000))
    assert code == 0, said
    code, out, said = limited(1 << 30, "vocab", "-", "-q", data=line(1000))
    assert code == 0, said
    assert len(out.splitlines()) == 1000


@pytest.mark.slow
def test_a_word_of_a_gigabyte(tmp_path):
    data = itertools.chain([b"a b a b "], itertools.repeat(b"x" * (1 << 20), 1 << 10), [b" a b a b a b"])
    code, out, said = limited(1 << 30, "vocab", "-", "-q", data=data)
    assert (code, out) == (0, "a 5\nb 5\n"), said
