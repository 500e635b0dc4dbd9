"""With limited address space (ulimit -v), a run succeeds or exits with 71 and one line; it never hangs or aborts."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces RLIMIT_AS")

TEXT = Path(__file__).parents[2] / "data/simplewiki.txt"
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv.pop(1)),) * 2)
from w2vtrain.cli import main
main()
"""


def limited(limit, *words, data=()):
    """Run a command with `limit` bytes of address space, `data` as stdin; return its exit code, stdout and stderr."""
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
    """Return whether a run was refused with one line and exit code 71; assert that it otherwise succeeded silently."""
    assert code in (0, 71), said
    assert len(said.splitlines()) == (code == 71), said
    return code == 71


@pytest.mark.parametrize(
    "words", [["vocab", TEXT], ["fit", TEXT, "-o", "v.bin"], ["resume", "run"]], ids=["vocab", "fit", "resume"]
)
def test_limit_too_small_for_the_libraries_is_reported_before_any_work(tmp_path, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, said = limited(400 << 20, *words)
    assert refused(code, said)
    assert "the limit on the address space is 400 MiB" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_every_limit_either_suffices_or_is_refused_with_one_line(tmp_path):
    limits = [*range(200, 800, 100), *range(800, 1100, 25)]
    refusals = [refused(*limited(limit << 20, *fit(tmp_path))[::2]) for limit in limits]
    assert refusals == sorted(refusals, reverse=True), "refused although a smaller limit suffices"
    assert refusals[0]
    assert not refusals[-1]


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["neg", "sampled-softmax"])
def test_every_vector_size_either_fits_or_is_refused_with_one_line(tmp_path, objective):
    sizes = [100, 500, 1000, 2000, 3000, 4000, 5000, 6000, 8000]
    more = [["--vector-size", size, "--objective", objective, "--seconds", "1"] for size in sizes]
    refusals = [refused(*limited(1 << 30, *fit(tmp_path, *words))[::2]) for words in more]
    assert not refusals[0]
    assert refusals[-1]


def line(words):
    """Return the blocks of a 1 GiB line in which `words` distinct words repeat."""
    block = b"".join(b"%039d " % (i % words) for i in range(1 << 15))
    return itertools.repeat(block, (1 << 30) // len(block))


@pytest.mark.slow
def test_line_of_1_gib_is_trained_on_and_counted(tmp_path):
    code, _, said = limited(1 << 30, *fit(tmp_path, "--vector-size", "10", "--seconds", "2", text="-"), data=line(1000))
    assert code == 0, said
    code, out, said = limited(1 << 30, "vocab", "-", "-q", data=line(1000))
    assert code == 0, said
    assert len(out.splitlines()) == 1000


def test_a_command_that_imports_in_two_places_needs_the_space_once(tmp_path):
    (tmp_path / "text").write_text("a b " * 9)
    assert limited(1 << 30, "vocab", tmp_path / "text", "-q", "-o", tmp_path / "words")[0] == 0


@pytest.mark.slow
def test_word_of_1_gib_is_skipped(tmp_path):
    data = itertools.chain([b"a b a b "], itertools.repeat(b"x" * (1 << 20), 1 << 10), [b" a b a b a b"])
    code, out, said = limited(1 << 30, "vocab", "-", "-q", data=data)
    assert (code, out) == (0, "a 5\nb 5\n"), said
