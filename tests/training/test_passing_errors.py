"""A network disk that does not answer for a moment: no file of a run is taken for damaged, and nothing is removed."""

import errno
import io
import itertools
import os
import shutil
import sys
from pathlib import Path

import pytest
from reference import first_lines, stopping

from w2vtrain import cli
from w2vtrain.errors import Stopped

FIT = ["fit", "text.txt", "-o", "v.bin", "--vector-size", "8", "--epochs", "3", "--threads", "1", "--min-count", "1"]
FIT += ["--checkpoint-every", "0"]
RESUME, EXPORT = ["resume", "v.bin.run"], ["export", "v.bin.run", "-o", "x.txt"]


class Unanswered:
    """Make call `number` that reads below a folder fail, except for the corpus."""

    def __init__(self, patch, number, code):
        self.left, self.code, self.failed = number, code, ""
        for module, name in ((os, "open"), (os, "stat"), (os, "listdir"), (os, "scandir"), (io, "open")):
            patch.setattr(module, name, self._seen(getattr(module, name), name))

    def _seen(self, call, name):
        def seen(path, *args, **kwargs):
            if (
                isinstance(path, str | Path)
                and "v.bin" in str(path)
                and not (args and name == "open" and writes(args[0]))
            ):
                self.left -= 1
                if self.left == 0:
                    self.failed = f"{name} {path}"
                    raise OSError(self.code, os.strerror(self.code), str(path))
            return call(path, *args, **kwargs)

        return seen


def writes(mode):
    return mode & os.O_CREAT if isinstance(mode, int) else "r" not in mode


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Return a function that runs a command in this process, with a call that fails, in a copy of a run's folder."""
    first_lines(100, tmp_path / "text.txt")

    def runs(words, folder, number=0, code=errno.ESTALE):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["w2vtrain", *words])
        with monkeypatch.context() as patch:
            disk = Unanswered(patch, number, code)
            with pytest.raises(SystemExit) as end:
                cli.main()
        monkeypatch.chdir(tmp_path)
        return end.value.code, capsys.readouterr().err, disk.failed

    return runs


@pytest.fixture
def stopped(run, monkeypatch, tmp_path):
    """Return the folder of a run that was stopped after two of three epochs, and the vectors of the whole run."""
    folder, whole = tmp_path / "stopped", tmp_path / "whole"
    for place in (folder, whole):
        place.mkdir()
        shutil.copy(tmp_path / "text.txt", place)
    assert run(FIT, whole)[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr("w2vtrain.commands.fit_run.train", stopping(2))
        code, said, _ = run(FIT, folder)
    assert code == Stopped.exit_code, said
    return folder, (whole / "v.bin").read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "step"),
    [
        pytest.param(FIT, errno.ESTALE, 9, id="fit"),
        pytest.param(RESUME, errno.EIO, 11, id="resume"),
        pytest.param(EXPORT, errno.EIO, 3, id="export"),
        *(pytest.param(w, errno.ESTALE, 1, id=f"{w[0]} always", marks=pytest.mark.slow) for w in (FIT, RESUME, EXPORT)),
    ],
)
def test_the_same_command_succeeds_after_any_read_has_failed_once(run, stopped, tmp_path, words, code, step):
    """Every n-th read fails until there is no such read. No command advises to remove anything that is intact."""
    folder, whole = stopped
    folder.rename(tmp_path / "kept")
    refused = 0
    for number in itertools.count(1, step):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "kept", folder, copy_function=os.link)  # with the inodes that the run has recorded
        ended, said, failed = run(words, folder, number, code)
        if not failed:
            break
        if ended:
            refused += 1
            line = said.splitlines()[-1]
            assert (ended, os.strerror(code) in line) == (74, True), (failed, ended, line)
            assert "start over" not in line
            assert "--force" not in line
            ended, said, _ = run(words, folder)
        assert ended == 0, (failed, said)
        if words[0] != "export":
            assert (folder / "v.bin").read_bytes() == whole, failed
            if (folder / "v.bin.run").exists():  # what could not be deleted: the same command does it
                ended, said, _ = run(words, folder)
                assert (ended, (folder / "v.bin").read_bytes()) == (0, whole), (failed, said)
            assert not (folder / "v.bin.run").exists()
    assert refused > 1
