"""Disk errors at any call, power loss at any moment, and full disks: data that was reported as saved survives."""

import contextlib
import errno
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import forked
import numpy as np
import pytest
from reference import first_lines, saved

from w2vtrain.embeddings.model import Model, load_model, save_model
from w2vtrain.errors import W2VError
from w2vtrain.formats.vectors import read_vectors, write_vectors
from w2vtrain.system.files import atomic_write
from w2vtrain.training import checkpoint_file
from w2vtrain.training.run_files import locked


class Disk:
    """Wrap the functions of `os` that change the disk, and call `before` and `after` around each call."""

    CALLS = ("open", "write", "fsync", "rename", "replace", "link", "mkdir", "unlink", "rmdir", "ftruncate")

    def __init__(self, monkeypatch):
        for name in self.CALLS:
            monkeypatch.setattr(os, name, self._seen(name, getattr(os, name)))

    def _seen(self, name, call):
        def seen(*args, **kwargs):
            if name == "open" and not args[1] & os.O_CREAT:
                return call(*args, **kwargs)
            self.before(name, call, args)
            result = call(*args, **kwargs)
            self.after(name, args, result)
            return result

        return seen

    def before(self, name, call, args):
        pass

    def after(self, name, args, result):
        pass


class Failing(Disk):
    """Make call `number` fail, and with `for_good` all later ones. A failing write writes half; deletions succeed."""

    def __init__(self, monkeypatch, number, code, for_good):
        super().__init__(monkeypatch)
        self.left, self.code, self.for_good, self.failed = number, code, for_good, False

    def before(self, name, call, args):
        if name in ("unlink", "rmdir"):
            return
        self.left -= 1
        if self.left == 0 or (self.left < 0 and self.for_good):
            self.failed = True
            if name == "write":
                call(args[0], memoryview(args[1])[: len(args[1]) // 2])
            raise OSError(self.code, os.strerror(self.code))


class PowerLoss(Disk):
    """Record what a folder would hold if the power failed after each call: file contents as last synced.

    `states` has two states per call: with the names in each folder as last synced, and with the current names. A state
    is {path in the folder: bytes}, without folders.
    """

    def __init__(self, monkeypatch, folder):
        self.folder, self.fresh = folder, itertools.count()
        self.numbers, self.content, self.names, self.states = {}, {}, {}, []
        for path in [folder, *sorted(folder.rglob("*"))]:
            self._born(path.stat().st_ino)
        for path in [folder, *folder.rglob("*")]:
            self._sync(path)
        super().__init__(monkeypatch)

    def _born(self, inode):
        """Give a new file a new number, because inodes are reused."""
        self.numbers[inode] = next(self.fresh)

    def _sync(self, path):
        number = self.numbers[path.stat().st_ino]
        if path.is_dir():
            self.names[number] = {entry.name: self.numbers[entry.stat().st_ino] for entry in path.iterdir()}
        else:
            self.content[number] = path.read_bytes()

    def after(self, name, args, result):
        if name in ("open", "mkdir"):
            self._born(Path(args[0]).stat().st_ino)
        elif name == "fsync":
            self._sync(Path(f"/proc/self/fd/{args[0]}").resolve())
        self.states.append((self._durable(self.numbers[self.folder.stat().st_ino]), self._named()))

    def _durable(self, number, path=""):
        found = {}
        for name, child in self.names.get(number, {}).items():
            if child in self.content:
                found[path + name] = self.content[child]
            else:
                found.update(self._durable(child, f"{path}{name}/"))
        return found

    def _named(self):
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        numbers = {path: self.numbers[path.stat().st_ino] for path in files}
        return {str(path.relative_to(self.folder)): self.content.get(numbers[path], b"") for path in files}


def restored(state, folder):
    """Create a folder with the contents of a state."""
    for name, content in state.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def arrays(k):
    return {"input": np.arange(12, dtype=np.float32).reshape(3, 4) + k, "codes": np.array([1, k], np.uint8)}


def model(k):
    rows = np.arange(12, dtype=np.float32).reshape(3, 4) + k
    return Model(["one", "two", "three"], np.array([3, 2, 1]), rows, rows, {}, {"model": "cbow"}, {"made": k})


def export(folder, k):
    made = model(k)
    write_vectors(folder / "vectors.bin", made.words, made.input, force=True)
    write_vectors(folder / "vectors.txt", made.words, made.input, force=True)
    save_model(folder / "model.safetensors", made, force=True)


def number_of(folder):
    """Return the k of the newest checkpoint of `arrays(k)` in a folder, 0 if there is none."""
    found = checkpoint_file.newest(folder, "run")
    if found is None:
        return 0
    assert found.saved == saved(found.number)
    for name, array in arrays(found.number).items():
        np.testing.assert_array_equal(found.arrays[name], array)
    return found.number


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc/self/fd")


@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_if_any_call_fails_the_old_or_the_new_data_is_intact(tmp_path, code, for_good):
    """Call 1, 2, 3, ... of saving and exporting fails, until a run has no such call."""
    results = [tmp_path / name for name in ("vectors.bin", "vectors.txt", "model.safetensors")]
    for number in itertools.count(1):
        for path in tmp_path.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for k in (1, 2):
            checkpoint_file.write(tmp_path, k, "run", saved(k), arrays(k))
        export(tmp_path, 1)
        with pytest.MonkeyPatch.context() as patch:
            disk = Failing(patch, number, code, for_good)
            try:
                checkpoint_file.write(tmp_path, 3, "run", saved(3), arrays(3))
                export(tmp_path, 2)
                raised = None
            except W2VError as error:
                raised = error
        assert raised is None or (raised.exit_code in (73, 74) and os.strerror(code) in str(raised)), raised
        assert number_of(tmp_path) in (2, 3)
        folders = [path for path in tmp_path.iterdir() if path not in results]
        assert {path.name for path in folders} <= {f"ckpt-{k:06d}.safetensors" for k in (1, 2, 3)}
        assert len(folders) >= 2
        found = [read_vectors(results[0]).matrix, read_vectors(results[1]).matrix, load_model(results[2]).output]
        steps = [int(matrix[0, 0]) for matrix in found]
        assert steps == sorted(steps, reverse=True), "files are written in order"
        for step, matrix in zip(steps, found, strict=True):
            np.testing.assert_array_equal(matrix, model(step).input)
        if not disk.failed:
            assert (number_of(tmp_path), steps) == (3, [2, 2, 2])
            break
    assert number > 20


@needs_proc
def test_a_saved_checkpoint_survives_a_power_loss(tmp_path, monkeypatch):
    """After any call, the old or the new checkpoint loads; once `save` has returned, the new one does."""
    folder, written = tmp_path / "folder", []
    folder.mkdir()
    with monkeypatch.context() as patch:
        disk = PowerLoss(patch, folder)
        with locked(folder / "vectors.run"):
            for k in (1, 2, 3, 4):
                checkpoint_file.write(folder / "vectors.run", k, "run", saved(k), arrays(k))
                written.append(len(disk.states))
    assert len(disk.states) > 25
    for i, states in enumerate(disk.states, 1):
        said = sum(i >= count for count in written)
        for names, state in zip(("synced", "all"), states, strict=True):
            there = number_of(restored(state, tmp_path / f"{i} {names}") / "vectors.run")
            assert said <= there <= said + 1, f"after call {i}, with {names} names"


@needs_proc
@pytest.mark.parametrize("force", [False, True])
def test_a_written_file_survives_a_power_loss(tmp_path, monkeypatch, force):
    old = b"old" if force else None
    if force:
        (tmp_path / "a").write_bytes(old)
    with monkeypatch.context() as patch:
        disk = PowerLoss(patch, tmp_path)
        with atomic_write(tmp_path / "a", force) as file:
            file.write(b"new" * 1_000_000)
            file.write(b"end")
    new = b"new" * 1_000_000 + b"end"
    assert len(disk.states) >= 4
    for state in itertools.chain.from_iterable(disk.states):
        assert state.get("a") in (old, new)
    assert [state.get("a") for state in disk.states[-1]] == [new, new]


# full disks


@pytest.mark.parametrize(("error", "code"), [(errno.ENOSPC, 74), (errno.EROFS, 73)])
@pytest.mark.parametrize(
    "words", [["fit", "text", "-o", "v.txt"], ["compare", "text", "-o", "out", "--heldout", "text"]]
)
def test_a_folder_that_may_be_created_later_has_the_code_of_a_full_disk(
    tmp_path, monkeypatch, w2vtrain_here, words, error, code
):
    def mkdir(*_, **__):
        raise OSError(error, os.strerror(error))

    (tmp_path / "text").write_text("a b\n" * 99)
    monkeypatch.setattr(os, "mkdir", mkdir)
    found, _, said = w2vtrain_here(words, tmp_path)
    assert (found, f"folder cannot be created: {os.strerror(error)}" in said) == (code, True), said


def test_a_file_in_place_of_the_run_folder_has_the_code_of_an_output(tmp_path, w2vtrain_here):
    for name in ("text", "v.txt.run"):
        (tmp_path / name).write_text("a b\n" * 99)
    code, _, said = w2vtrain_here(["fit", "text", "-o", "v.txt"], tmp_path)
    assert (code, "the run folder cannot be created" in said) == (73, True), said


@pytest.fixture
def small_disk(tmp_path):
    """Mount a file system of 4 MiB, and return its folder."""
    folder = tmp_path / "small"
    folder.mkdir()
    try:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip("the mount program is missing")
    if done.returncode:
        pytest.skip(f"cannot mount a file system: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return first_lines(2000, tmp_path_factory.mktemp("corpus") / "text.txt")


def command(*words):
    return [sys.executable, "-m", "w2vtrain", *map(str, words)]


def fit(text, output, *more):
    settings = ["--epochs", "4", "--threads", "1", "--vector-size", "32", "--max-vocab", "1000", "-q"]
    return command("fit", text, "-o", output, "--cache-dir", text.parent, *settings, *more)


def run(words):
    return forked.run(words, capture_output=True, text=True, check=False)


def fill(path):
    """Write to a file until the disk is full."""
    with contextlib.suppress(OSError), path.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(1 << 12))


# Every slice after the first fills the disk again, because deleting an old checkpoint frees space.
FULL = """
import contextlib, itertools, pathlib, sys, time
from w2vtrain import cli
from w2vtrain.training import checkpointing

filler = pathlib.Path(sys.argv[1])
slices, due = itertools.count(1), checkpointing.CheckpointedRun.due


def fill():
    with contextlib.suppress(OSError), filler.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(1 << 12))


def full(self):
    here = next(slices)
    while self.writer.busy:
        time.sleep(0.001)
    if here >= 2:
        fill()
    return due(self)


checkpointing.CheckpointedRun.due = full
sys.argv[1:] = sys.argv[2:]
cli.main()
"""


def error_of(done):
    (line,) = done.stderr.splitlines()
    assert line.startswith("w2vtrain: error: ")
    return line


def test_a_disk_that_fills_up_during_training_keeps_the_last_checkpoint(text, tmp_path, small_disk):
    """The partial checkpoint is deleted. When space is free again, the run resumes and gives the same bytes."""
    assert run(fit(text, tmp_path / "whole.bin")).returncode == 0
    folder = small_disk / "run"
    words = fit(text, tmp_path / "vectors.bin", "--run", folder, "--checkpoint-every", "0")
    done = run([sys.executable, "-c", FULL, small_disk / "filler", *words[3:]])
    said = done.stderr
    assert done.returncode == 74, said
    assert "No space left on device" in said
    assert " are needed and " in said
    assert len(said.splitlines()) == 1
    assert checkpoint_file.numbers(folder)
    assert {path.name[:5] for path in folder.iterdir()} == {"ckpt-", "confi", "lock", "vocab"}
    (small_disk / "filler").unlink()
    again = run(words)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "vectors.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()


def test_a_full_cache_folder_is_reported_with_the_option_that_changes_it(text, tmp_path, small_disk):
    fill(small_disk / "filler")
    done = run(fit(text, tmp_path / "vectors.bin", "--cache-dir", small_disk))
    assert done.returncode == 74, done.stderr
    line = error_of(done)
    assert f"{small_disk}: cannot write the word ids of the corpus: No space left on device" in line
    assert "--cache-dir" in line
    assert run(fit(text, tmp_path / "vectors.bin")).returncode == 0


def test_a_run_whose_results_do_not_fit_on_the_disk_is_saved(text, tmp_path, small_disk):
    """`resume` writes the results when space is free again."""
    assert run(fit(text, tmp_path / "whole.bin")).returncode == 0
    folder = tmp_path / "run"
    words = fit(text, small_disk / "vectors.bin", "--run", folder)
    done = run([sys.executable, "-c", FULL, small_disk / "filler", *words[3:]])
    assert done.returncode == 74, done.stderr
    line = error_of(done)
    assert "No space left on device" in line
    size = (tmp_path / "whole.bin").stat().st_size
    assert f"{size:,} are needed and " in line
    assert f"w2vtrain resume {folder}" in line
    assert [path.name for path in small_disk.iterdir() if not path.name.endswith(".lock")] == ["filler"]
    (small_disk / "filler").unlink()
    again = run(command("resume", folder))
    assert again.returncode == 0, again.stderr
    assert (small_disk / "vectors.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()
    assert not folder.exists()


def test_a_run_of_which_nothing_fits_on_the_disk_says_so(text, small_disk):
    words = fit(text, small_disk / "vectors.bin")
    done = run([sys.executable, "-c", FULL, small_disk / "filler", *words[3:]])
    assert done.returncode == 74, done.stderr
    assert "what was learned is lost" in error_of(done)


def test_a_run_for_whose_results_there_is_no_space_is_refused_before_it_trains(text, tmp_path, small_disk):
    fill(small_disk / "filler")
    done = run(fit(text, small_disk / "vectors.bin", "--run", tmp_path / "run"))
    assert done.returncode == 74, done.stderr
    assert re.search(r"small: checkpoints and vectors need .* but only .* choose another folder", error_of(done))
    assert not (tmp_path / "run").exists()
